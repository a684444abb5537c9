"""posixops, the reads of a training: threads read batches ahead, and an accelerator that is simulated works on them.

Every task writes its files, sample after sample of random bytes, and syncs each. In an epoch a thread takes the next
batch and reads its samples; the task takes the batches in their order, and sleeps for the time that an accelerator
works on each. A sample is read into the thread's memory and not decoded; by mmap(2) Adler's checksum touches all of
it, without the interpreter's lock. On several nodes a task reads data of the next node, in all epochs.
"""

import collections
import mmap
import os
import queue
import random
import threading
import time
import zlib
from typing import Deque, Dict, List, NamedTuple, Optional, Tuple

from seatrial.engine.base import EngineError, Outcome
from seatrial.engine.posixops.work import NEW, Data, Part, Report, Span, Spec, Work, opened, read_all, write_all
from seatrial.model.metric import Measurement, Metric, TaskTime, bandwidth, rate
from seatrial.model.point import Point
from seatrial.workload.access import numbered_file, writer_of
from seatrial.workload.registry import phase_of
from seatrial.workload.training import SAMPLES, UTILISATION, batches_of, file_size, files_of

REST = ' after its first batch'


class TrainingSample(NamedTuple):
    name: str
    offset: int


def carry_out(work: Work, spec: Spec) -> None:
    phase, point = spec.phase, spec.point
    if phase_of(point, phase).makes:
        work.together(phase, lambda: _write(point, work.rank))
        return
    batches = batches_in(point, phase, work.rank, writer_of(point, work.rank))
    reader = Reader(point, batches)
    work.together(phase, lambda: reader.work_on(1))
    work.alone(phase + REST, lambda: reader.work_on(len(batches) - 1))
    reader.end()


def operations(point: Point, phase: str) -> Dict[str, int]:
    """The timed parts of a launch, with the samples of all tasks."""
    batches = batches_of(point)
    if phase_of(point, phase).makes:
        return {phase: point.tasks * sum(batches)}
    return {phase: point.tasks * batches[0], phase + REST: point.tasks * sum(batches[1:])}


def measured(phase: str, point: Point, reports: List[Report], plain: Measurement, outcome: Outcome) -> Measurement:
    """The figures of a launch whose tasks have all timed their `operations`."""
    does = phase_of(point, phase)
    rest = phase if does.makes else phase + REST
    spans = [(_span(report, phase), _span(report, rest)) for report in reports]
    first_s = min(begun.start_s for begun, _ in spans)
    seconds = max(ended.end_s for _, ended in spans) - first_s
    tasks = tuple(
        TaskTime(report.rank, report.host, point.data.bytes_per_task, begun.start_s - first_s, ended.end_s - first_s)
        for report, (begun, ended) in zip(reports, spans)
    )
    own_s = tuple(task.seconds for task in tasks)
    moved = bandwidth(phase, point.bytes_moved, seconds, f'{point.bytes_moved} B in {seconds:.6f} s')
    metrics: Tuple[Metric, ...] = (moved._replace(task_seconds=own_s),)
    if does.reads:
        samples = sum(operations(point, phase).values())
        metrics += (
            rate(phase + SAMPLES, samples, seconds, f'{samples / seconds:.3f}', own_s),
            utilisation(phase, point, [ended.end_s - ended.start_s for _, ended in spans]),
        )
    return plain._replace(metrics=metrics, bytes_moved=point.bytes_moved, tasks=tasks, fsync=does.writes)


def elsewhere(point: Point, phase: str) -> bool:
    """True if a node reads data that it has neither written nor read in an epoch before."""
    does = phase_of(point, phase)
    return point.nodes > 1 and does.reads and not does.warm


def utilisation(phase: str, point: Point, seconds: List[float]) -> Metric:
    """The mean share of these times, of each task after its first batch, in which its accelerator worked."""
    worked_s = point.time.think_s * sum(batches_of(point)[1:]) / point.training.batch
    share = sum(worked_s / task_s for task_s in seconds) / len(seconds)
    return Metric(phase + UTILISATION, share, '', seconds=max(seconds), figure=f'{share:.6f}')


def _span(report: Report, name: str) -> Span:
    (span,) = report.timed[name].spans
    assert span is not None
    return span


def _write(point: Point, rank: int) -> int:
    number = 0
    files = files_of(point, rank)
    data = Data(point.data.transfer_size, len(files) * point.training.samples_per_file)
    for file in files:
        with opened(numbered_file(file), NEW, 0o666) as descriptor:
            for _ in range(point.training.samples_per_file):
                write_all(descriptor, data.of(number))
                number += 1
            os.fsync(descriptor)
    return number


def batches_in(point: Point, phase: str, rank: int, writer: int) -> List[List[TrainingSample]]:
    """The batches of one writer's data. A random order follows from phase and task: each epoch has another."""
    files = files_of(point, writer)
    offsets = range(0, file_size(point), point.data.transfer_size)
    samples = [TrainingSample(numbered_file(file), offset) for file in files for offset in offsets]
    if point.data.order == 'random':
        random.Random(f'{phase} {rank}').shuffle(samples)
    left = iter(samples)
    return [[next(left) for _ in range(number)] for number in batches_of(point)]


class Reader:
    """Threads that read batches ahead, in their order; endless: after the last batch from the first one on again.
    worked: start and end of the accelerator's work on each batch, by this node's CLOCK_MONOTONIC."""

    def __init__(self, point: Point, batches: List[List[TrainingSample]], endless: bool = False) -> None:
        self._point, self._batches, self._endless = point, batches, endless
        self._asked = self._next = 0
        # batches that are to be read, each with the event that is set once it is read
        self._wanted: 'queue.Queue[Optional[Tuple[List[TrainingSample], threading.Event]]]' = queue.Queue()
        self._there: Deque[threading.Event] = collections.deque()
        self._failed: List[BaseException] = []
        self.worked: List[Tuple[float, float]] = []
        readers = range(min(point.data.queue_depth, len(batches)))
        self._threads = [threading.Thread(target=self._read, daemon=True) for _ in readers]

    def work_on(self, number: int) -> int:
        """Take the next `number` batches and work on each; returns the number of their samples."""
        if not self._asked:
            for thread in self._threads:
                thread.start()
            for _ in range(self._point.training.prefetch):
                self._ask()
        samples = 0
        for _ in range(number):
            self._there.popleft().wait()
            if self._failed:
                raise self._failed[0]
            self._ask()
            taken = len(self._batches[self._next % len(self._batches)])
            begun = time.monotonic()
            time.sleep(self._point.time.think_s * taken / self._point.training.batch)
            self.worked.append((begun, time.monotonic()))
            samples += taken
            self._next += 1
        return samples

    def end(self) -> None:
        for _ in self._threads:
            self._wanted.put(None)
        for thread in self._threads:
            thread.join()

    @property
    def samples_read(self) -> int:
        """Samples that were read, also those that the task did not take; valid once the reader has ended."""
        rounds, rest = divmod(self._asked, len(self._batches))
        return rounds * sum(map(len, self._batches)) + sum(map(len, self._batches[:rest]))

    def _ask(self) -> None:
        if self._endless or self._asked < len(self._batches):
            self._there.append(threading.Event())
            self._wanted.put((self._batches[self._asked % len(self._batches)], self._there[-1]))
            self._asked += 1

    def _read(self) -> None:
        source = _Source(self._point)
        for batch, there in iter(self._wanted.get, None):
            try:
                for sample in batch:
                    source.read(sample)
                    if self._endless:  # the storage must deliver it again the next time
                        source.forget(sample)
            except (EngineError, OSError) as error:
                self._failed.append(error)
            there.set()
        source.close()


class _Source:
    def __init__(self, point: Point) -> None:
        self._size, self._name, self._descriptor = point.data.transfer_size, '', -1
        self._is_mapped = point.data.interface == 'mmap'
        self._buffer = bytearray(0 if self._is_mapped else self._size)

    def read(self, sample: TrainingSample) -> None:
        """Reads all bytes of the sample. Raises EngineError and OSError."""
        if sample.name != self._name:
            self.close()
            self._descriptor = os.open(sample.name, os.O_RDONLY)
            self._name = sample.name
        size = (self._touch if self._is_mapped else self._fetch)(sample.offset)
        if size != self._size:
            there = f'{sample.name} has {size} B of a sample from {sample.offset} on'
            raise EngineError('T17', f'{there}, not {self._size}')

    def forget(self, sample: TrainingSample) -> None:
        """Let the page cache drop the sample that was read last. Raises OSError."""
        os.posix_fadvise(self._descriptor, sample.offset, self._size, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._name, self._descriptor = '', -1

    def _fetch(self, offset: int) -> int:
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        return read_all(self._descriptor, self._buffer)

    def _touch(self, offset: int) -> int:
        there = os.fstat(self._descriptor).st_size - offset
        if there < self._size:
            return there
        before = offset % mmap.ALLOCATIONGRANULARITY
        length = before + self._size
        whole = mmap.mmap(self._descriptor, length, access=mmap.ACCESS_READ, offset=offset - before)
        with whole, memoryview(whole) as view, view[before:] as sample:
            zlib.adler32(sample)
        return self._size


PART = Part(carry_out, operations, measured=measured, elsewhere=elsewhere, hosts_from=0)
