"""The reads of a training: an accelerator works on one batch of samples while the next ones are read ahead. A task
stands for an accelerator, as in MLPerf Storage, and sleeps for the time of a batch, less for a last one that is not
full. Utilisation is its share of time asleep, from the first batch's end on (DLIO 2.0.0, compute_metrics_train)."""

from math import gcd, inf
from typing import List, Optional, Sequence, Tuple

from seatrial.model.metric import MetricType
from seatrial.model.plan import Sizing
from seatrial.model.point import Point, TrainingPart
from seatrial.model.units import Size, approximate_size, in_bytes, round_up
from seatrial.workload.access import FORM, Access, data_access, numbered_file, writing
from seatrial.workload.base import CREATE, READ, WRITE, Effort, FileSpec, Footprint, Phase
from seatrial.workload.words import counted

FIRST, NEXT = 'first_epoch', 'next_epoch'
NAMES = ('write', FIRST, NEXT)
SAMPLES, UTILISATION = '_samples', '_utilisation'  # of metrics: samples a second; use of the accelerators
INTERFACES = ('posix', 'mmap')
ORDERS = ('random', 'contiguous')
MIN_BATCHES = 2  # batches of an epoch: the first one counts for no utilisation


def training(
    sample: Size,
    batch: int,
    batch_s: float,
    read_threads: int,
    samples_per_file: int = 1,
    prefetch: int = 0,
    order: str = 'random',
    interface: str = 'posix',
    bytes_per_task: Size = 0,
) -> Point:
    """The workload of a check of a training. Sizes as numbers of bytes or as '64GiB'; the rest as in point.py.
    sample: bytes of a sample; batch: samples of a batch; batch_s: seconds that an accelerator works on a batch;
    read_threads: threads of each accelerator, which read whole batches; prefetch: 0 is one batch for each of them;
    order: 'random' over all samples of a task, or 'contiguous': file after file; bytes_per_task: an accelerator's
    share of the data set, in whole files; 0: MIN_BATCHES; profiles and sites choose"""
    size = in_bytes(sample)
    point = data_access('multiple', 'whole', order, NAMES, size, in_bytes(bytes_per_task), interface).changed(
        kind='training',
        queue_depth=read_threads,
        think_s=batch_s,
        samples_per_file=samples_per_file,
        batch=batch,
        prefetch=prefetch or read_threads,
    )
    if point.data.bytes_per_task:
        return point
    return point.changed(bytes_per_task=round_up(_least(point), _granule(point)))


def _of_epoch(name: str) -> Tuple[MetricType, ...]:
    more = MetricType(name + SAMPLES, 'op/s'), MetricType(name + UTILISATION, '', steers=False)
    return (MetricType(name, 'B/s'), *more)


class Training(Access):
    """Each task writes its part of a data set, and then reads it in two epochs, the first of them cold."""

    name = 'training'
    words = 'training reads'
    title = 'Training'
    spaced = True
    columns = ()
    parameters = (*FORM, 'queue_depth', 'think_s', *TrainingPart._fields)
    of_trial: Tuple[str, ...] = ('interface',)
    by_darshan = False
    heavier = ''
    phases: Tuple[Phase, ...] = (
        Phase('write', (CREATE, WRITE), metrics=(MetricType('write', 'B/s'),), title='training reads'),
        Phase(FIRST, (READ,), metrics=_of_epoch(FIRST)),
        Phase(NEXT, (READ,), metrics=_of_epoch(NEXT), warm='the epoch before has read it there'),
    )

    def fault(self, point: Point) -> Optional[str]:
        data = point.data
        if point.phases != tuple(phase.name for phase in self.phases):
            return f'phases: {list(point.phases)}; a training has {", ".join(phase.name for phase in self.phases)}'
        for field, allowed in (('interface', INTERFACES), ('order', ORDERS)):
            if getattr(data, field) not in allowed:
                return f"{field}: '{getattr(data, field)}' is not valid in training; it can be {' or '.join(allowed)}"
        if data.files != 'multiple' or data.extent != 'whole':
            return 'files: each task reads files of its own in full; write multiple and whole'
        for field in ('transfer_size', 'samples_per_file', 'batch', 'queue_depth', 'prefetch'):
            if point.value(field) < 1:
                return f'{field}: {point.value(field)} is not valid; write a number from 1'
        think_s = point.time.think_s
        if not 0 < think_s < inf:
            return f'think_s: an accelerator that takes {think_s:g} s has no utilisation; write a time above 0'
        return _share_fault(point, data.bytes_per_task)

    def sentence(self, points: Sequence[Point]) -> str:
        point = points[0]
        size, files = approximate_size(point.data.transfer_size), counted(point.training.samples_per_file, 'sample')
        how = f'{counted(point.data.queue_depth, "thread")} reading ahead'
        how += ' by mmap(2)' if point.data.interface == 'mmap' else ''
        batches = f'batches of {point.training.batch}, each worked on for {1000 * point.time.think_s:g} ms'
        return f'Every task writes samples of {size}, {files} a file, and reads them twice, in {batches}, with {how}'

    def fits(self, point: Point, effort: Effort, pinned: Optional[int]) -> bool:
        """Always true: a share that is too small for a profile is enlarged to MIN_BATCHES."""
        return True

    def adapted(self, point: Point, effort: Effort) -> Point:
        """The point with smaller batches where MIN_BATCHES exceed the profile's bytes; the time a sample stays."""
        most = effort.first_bytes // (MIN_BATCHES * point.data.transfer_size)
        if effort.working_set or not effort.first_bytes or point.training.batch <= most:
            return point
        batch = max(1, most)
        return point.changed(batch=batch, think_s=point.time.think_s * batch / point.training.batch)

    def sizing(self, points: Sequence[Point], effort: Effort, pinned: Optional[int]) -> Sizing:
        """The share of a task: whole files, in whole batches where these divide, and MIN_BATCHES at least."""
        point = points[0]
        fault = _share_fault(point, pinned) if pinned is not None else None
        if fault:
            raise ValueError(fault.partition(': ')[2])
        granule = _granule(point)
        if pinned is not None or not effort.first_bytes:
            share = point.data.bytes_per_task if pinned is None else pinned
            return Sizing(share, file_size(point), effort.target_s, effort.min_s, effort.working_set, pinned)
        first = round_up(max(effort.first_bytes, _least(point)), granule)
        return Sizing(first, granule, effort.target_s, effort.min_s, effort.working_set)

    def resized(self, point: Point, share: int) -> Point:
        return point.changed(bytes_per_task=share)

    def files(self, point: Point) -> Tuple[FileSpec, ...]:
        size = file_size(point)
        return tuple(FileSpec(numbered_file(number), size) for number in range(point.bytes_moved // size))

    def footprint(self, points: Sequence[Point]) -> Footprint:
        widest = max(points, key=lambda point: point.bytes_moved)
        return Footprint(widest.bytes_moved, widest.bytes_moved // file_size(widest))

    def as_access(self, point: Point) -> Point:
        share = point.data.bytes_per_task
        largest = next(size for size in range(min(share, 2**20), 0, -1) if share % size == 0)
        return writing(point, largest, share)


def file_size(point: Point) -> int:
    return point.data.transfer_size * point.training.samples_per_file


def files_of(point: Point, rank: int) -> range:
    """The numbers of the files that a task writes."""
    files = point.data.bytes_per_task // file_size(point)
    return range(rank * files, (rank + 1) * files)


def batches_of(point: Point) -> List[int]:
    """The number of samples of each batch of a task, in an epoch."""
    samples = point.data.bytes_per_task // point.data.transfer_size
    return [min(point.training.batch, samples - first) for first in range(0, samples, point.training.batch)]


def step(point: Point) -> int:
    """The bytes of which a task's share is a multiple, for any kind that moves data."""
    return round_up(_least(point), _granule(point)) if point.training else point.data.transfer_size


def buffers(point: Point) -> int:
    """Bytes that the tasks of a node take for their data: a sample a thread, two a writer; 0 without training."""
    return point.tasks_per_node * max(point.data.queue_depth, 2) * point.data.transfer_size if point.training else 0


def _least(point: Point) -> int:
    return MIN_BATCHES * point.training.batch * point.data.transfer_size


def _granule(point: Point) -> int:
    """The bytes of which a task's share is a multiple: a file, or the larger of file and batch where they divide."""
    one, other = sorted((point.training.samples_per_file, point.training.batch))
    whole = one > 0 and gcd(one, other) == one
    return point.data.transfer_size * (other if whole else point.training.samples_per_file) or 1


def _share_fault(point: Point, share: int) -> Optional[str]:
    if share < _least(point):
        batch = approximate_size(point.training.batch * point.data.transfer_size)
        return f'bytes_per_task: {share} B are fewer than {MIN_BATCHES} batches of {batch}'
    if share % file_size(point):
        return f'bytes_per_task: {share} B are no whole number of files of {file_size(point)} B'
    return None
