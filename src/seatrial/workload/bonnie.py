"""Bonnie's file: one task writes it, updates it in place, reads it and seeks in it, in one launch, and removes it. No
read is known to be cold, so the file must be larger than the node's memory (P16), as Bonnie++ asks for itself."""

from typing import Optional, Sequence

from seatrial.model.metric import MetricType
from seatrial.model.point import Point
from seatrial.model.units import Size
from seatrial.workload.access import OF_FILES, Access, data_access, through
from seatrial.workload.base import CREATE, READ, REMOVE, UNKNOWN, WRITE, Footprint, Phase

PHASE = 'bonnie'
SEEKERS = 5  # processes that seek, each with the file open for itself: DefaultSeekProcCount of bonnie.h
UPDATED = 10  # one in so many seeks writes back what it has read: UpdateSeek of bonnie.h


def bonnie_file(transfer_size: Size = '1MiB', bytes_per_task: Size = '2GiB') -> Point:
    """The workload. Sizes as numbers of bytes or as '64KiB'; the file is the source's 2 GB (Calderon), or larger."""
    file = data_access('multiple', operations=('write',), transfer_size=transfer_size, bytes_per_task=bytes_per_task)
    return file._replace(kind='bonnie', phases=(PHASE,), tasks=1)


_METRICS = (  # bandwidths of the file's bytes, each counted once, and seeks a second of all seekers
    *(MetricType(name, 'B/s') for name in ('write', 'update', 'read')),
    MetricType('seeks', 'op/s'),
)
_IN_TURN = tuple(metric.name for metric in _METRICS)


class Bonnie(Access):
    name = 'bonnie'
    words = "Bonnie's file"
    title = 'Files used again'
    parameters = OF_FILES
    of_trial = ('transfer_size',)
    by_darshan = False
    bytes_known = False
    phases = (Phase(PHASE, (CREATE, WRITE, READ, REMOVE), metrics=_METRICS, in_turn=_IN_TURN, title=words),)

    def fault(self, point: Point) -> Optional[str]:
        data = point.data
        if point.tasks != 1:
            return f"tasks: {point.tasks}; Bonnie's file is that of one task"
        if point.phases != (PHASE,) or data.direct:
            return f'phases: {list(point.phases)}; all is one phase, {PHASE}, through the page cache'
        if (data.files, data.extent, data.order, data.interface) != ('multiple', 'whole', 'contiguous', 'posix'):
            return 'files: the task has a file of its own, and goes through it in order with POSIX calls'
        return super().fault(point._replace(phases=('write',)))

    def sentence(self, points: Sequence[Point]) -> str:
        seeking = f'has {SEEKERS} processes seek in it{through(points[0])}'
        return (
            f'One task writes a file, reads each transfer and writes it back in place, reads the file, and {seeking}'
        )

    def amount(self, point: Point) -> int:
        return point.bytes_moved

    def totals(self, point: Point) -> str:
        return Access().totals(self.as_access(point))

    def footprint(self, points: Sequence[Point]) -> Footprint:
        return Access().footprint([self.as_access(point) for point in points])

    def cache_of(self, metric: str, launch: str) -> str:
        return launch if metric == 'write' else UNKNOWN

    def as_access(self, point: Point) -> Point:
        return point._replace(kind='access', phases=('write',))


def seeks_of(point: Point) -> int:
    """The number of seeks: that of the file's transfers, so that their time grows with it; one a seeker at least."""
    return max(SEEKERS, point.data.transfers)
