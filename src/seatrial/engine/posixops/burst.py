"""posixops, checkpoints beside training reads: half of the tasks train, and the others write a checkpoint.

One launch, in which no part ends before the part beside it has been timed:

checkpoint          the others write a file each, in pieces of 1 MiB, sync and close it. Nobody trains
training            for as long as that took, the training reads alone
checkpoint_beside   a checkpoint once more, and the training goes on meanwhile
training_beside     the samples of that time

The training begins before it is timed, so that no accelerator waits for its first batch; parts of a batch count too.
It repeats its data set, and lets the page cache drop each sample (posix_fadvise(2)), which counters of the node prove
(P2). A task that trains reads data of a writer, on another node if there is one.
"""

import os
import threading
import time
from typing import Dict, List

from seatrial.engine.base import Outcome
from seatrial.engine.posixops import training
from seatrial.engine.posixops.training import Reader, batches_in
from seatrial.engine.posixops.work import NEW, Data, Part, Report, Spec, Work, opened, write_all
from seatrial.model.metric import Measurement, Metric, bandwidth, rate
from seatrial.model.point import Point
from seatrial.model.units import MIB
from seatrial.workload.burst import ALONE, BESIDE, CHECKPOINT, TRAINING, halves
from seatrial.workload.registry import phase_of

LEAST_BATCHES = 5  # batches that an accelerator must be able to process in the time of the training alone
BUSY, WINDOW, READ = 'busy_ns', 'window_ns', 'read_bytes'


def carry_out(work: Work, spec: Spec) -> None:
    if phase_of(spec.point, spec.phase).makes:
        training.carry_out(work, spec)
    else:
        trains, _ = halves(work.tasks)
        (_train if work.rank < trains else _save)(work, spec.point)


def operations(point: Point, phase: str) -> Dict[str, int]:
    """The timed parts of a launch, with the pieces that all tasks write."""
    if phase_of(point, phase).makes:
        return training.operations(point, phase)
    pieces = halves(point.tasks)[1] * -(-point.data.bytes_per_task // MIB)
    return {CHECKPOINT + how: pieces for how in (ALONE, BESIDE)}


def measured(phase: str, point: Point, reports: List[Report], plain: Measurement, outcome: Outcome) -> Measurement:
    """The figures of a launch, whose plain ones are the rates of its `operations`."""
    if phase_of(point, phase).makes:
        return training.measured(phase, point, reports, plain, outcome)
    trains, saves = halves(point.tasks)
    size = saves * point.data.bytes_per_task
    metrics: List[Metric] = []
    for how, written in zip((ALONE, BESIDE), plain.metrics):
        figure = f'{size} B in {written.seconds:.6f} s'
        metrics.append(bandwidth(written.name, size, written.seconds, figure))
        seen = [report.counts[how or 'alone'] for report in reports[:trains]]
        seconds = max(counts[WINDOW] for counts in seen) / 1e9
        worked = sum(counts[BUSY] / counts[WINDOW] for counts in seen) * point.training.batch / point.time.think_s
        metrics.append(rate(TRAINING + how, 0, seconds, f'{worked:.3f}')._replace(value=worked))
    read = sum(report.counts['all'][READ] for report in reports[:trains])
    return plain._replace(metrics=tuple(metrics), bytes_moved=read)


def _save(work: Work, point: Point) -> None:
    name, pieces = f'checkpoint.{work.rank}', -(-point.data.bytes_per_task // MIB)
    data = Data(MIB, pieces)

    def write() -> int:
        left = point.data.bytes_per_task
        with opened(name, NEW, 0o666) as descriptor:
            for number in range(pieces):
                write_all(descriptor, data.of(number)[:left])
                left -= MIB
            os.fsync(descriptor)
        return pieces

    def take(how: str) -> float:
        begun = time.monotonic()
        work.together(CHECKPOINT + how, write)
        return time.monotonic() - begun

    seconds = take(ALONE)
    answers = work.barrier.exchange('end the checkpoint alone', str(seconds))
    os.unlink(name)
    work.barrier.exchange('begin to train')
    time.sleep(max(LEAST_BATCHES * point.time.think_s, *map(float, answers.values())))
    work.barrier.exchange('end the training alone')
    take(BESIDE)
    work.barrier.exchange('end the checkpoint beside it')
    os.unlink(name)
    work.barrier.exchange('end')


def _train(work: Work, point: Point) -> None:
    written_by = work.rank + halves(work.tasks)[0]
    reader = Reader(point, batches_in(point, 'burst', work.rank, written_by), endless=True)
    work.together(CHECKPOINT + ALONE, None)
    work.barrier.exchange('end the checkpoint alone')
    work.doing = 'train'
    reader.work_on(1)
    over = threading.Event()
    failed: List[BaseException] = []

    def train() -> None:
        try:
            while not over.is_set():
                reader.work_on(1)
        except Exception as error:  # the thread that waits at the barrier raises it
            failed.append(error)

    accelerator = threading.Thread(target=train, daemon=True)
    accelerator.start()
    work.barrier.exchange('begin to train')
    begun = time.monotonic()
    work.barrier.exchange('end the training alone')
    alone = begun, time.monotonic()
    work.together(CHECKPOINT + BESIDE, None)
    begun = time.monotonic()
    work.barrier.exchange('end the checkpoint beside it')
    beside = begun, time.monotonic()
    over.set()
    accelerator.join()
    if failed:
        raise failed[0]
    reader.end()
    for how, (start_s, end_s) in (('alone', alone), (BESIDE, beside)):
        busy_s = sum(max(0.0, min(end, end_s) - max(begin, start_s)) for begin, end in reader.worked)
        work.counts[how] = {BUSY: round(1e9 * busy_s), WINDOW: round(1e9 * (end_s - start_s))}
    work.counts['all'] = {READ: reader.samples_read * point.data.transfer_size}
    work.barrier.exchange('end')


PART = Part(
    carry_out,
    operations,
    measured=measured,
    makes=(r'checkpoint\.\d+',),
    cannot=lambda point: 'cannot train and write checkpoints at once with one task' if point.tasks < 2 else None,
    elsewhere=training.elsewhere,
    hosts_from=0,
)
