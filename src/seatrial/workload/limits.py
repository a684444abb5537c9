"""Limits reached in the middle of a write: of a quota, or of a file system. Their room is read before."""

from typing import Sequence

from seatrial.model.metric import LOWER, MetricType
from seatrial.model.point import DataPart, FillPart, Point, TimePart
from seatrial.model.units import MIB, duration
from seatrial.workload.base import Footprint, Phase
from seatrial.workload.semantics import DOES, HOLDING, Semantics

QUOTA_BYTES, QUOTA_INODES, ALL_BYTES, ALL_INODES = 'quota_bytes', 'quota_inodes', 'all_bytes', 'all_inodes'
WORDS = {
    QUOTA_BYTES: 'a quota of bytes',
    QUOTA_INODES: 'a quota of inodes',
    ALL_BYTES: 'the space of the file system',
    ALL_INODES: 'the inodes of the file system',
}

_HURTS = dict.fromkeys((ALL_BYTES, ALL_INODES), 'fills all of')

TAKEN, BEYOND, UNUSED = 'taken', 'beyond', 'unused'
_METRICS = (  # number of facts that hold; amounts written in all, written beyond the limit, and left at the refusal
    *(MetricType(figure, '') for figure in (HOLDING, TAKEN)),
    *(MetricType(figure, '', LOWER) for figure in (BEYOND, UNUSED)),
)

FLOOR = 0.05  # share of the bytes and inodes of a file system that stay free for others, whatever a quota leaves
OVER = {'bytes': 64 * MIB, 'inodes': 1000}  # that all tasks together try beyond a limit that does not hold


def until(limit: str, within_s: float = 600.0) -> Point:
    """All tasks write until the limit refuses more, or until they give up after within_s seconds."""
    time = TimePart(duration_s=within_s)
    return Point('limits', (limit,), scales=False, data=DataPart(), time=time, fill=FillPart())


def of_quota(phase: str) -> bool:
    return phase in (QUOTA_BYTES, QUOTA_INODES)


def counted_in(phase: str) -> str:
    """The unit of the limit: 'bytes' or 'inodes'."""
    return phase.split('_')[1]


def room_of(point: Point) -> int:
    """The room that the limit leaves all tasks together, in bytes or inodes."""
    return point.data.working_set if counted_in(point.phases[0]) == 'bytes' else point.fill.inodes


class WriteLimits(Semantics):
    name = 'limits'
    words = 'limits'
    title = 'Limits'
    parameters = ('working_set', 'inodes', 'duration_s')
    once = True
    no_share = 'what the limit leaves'
    phases = tuple(
        Phase(name, DOES, metrics=_METRICS, fills=counted_in(name), hurts=_HURTS.get(name, ''), title=title)
        for name, title in WORDS.items()
    )

    def sentence(self, points: Sequence[Point]) -> str:
        point = points[0]
        what = 'writes' if counted_in(point.phases[0]) == 'bytes' else 'makes files'
        within = duration(point.time.duration_s)
        return f'Every task {what} until {WORDS[point.phases[0]]} allows no more, for {within} at most'

    def totals(self, point: Point) -> str:
        return f'what {WORDS[point.phases[0]]} leaves'

    def resized(self, point: Point, share: int) -> Point:
        """The share is the room that the limit leaves all tasks together."""
        if counted_in(point.phases[0]) == 'bytes':
            return point.changed(working_set=share)
        return point.changed(inodes=share)

    def footprint(self, points: Sequence[Point]) -> Footprint:
        """Empty, because P9b compares the room that the limit leaves when the case begins."""
        return Footprint(0, 0)

    def amount(self, point: Point) -> int:
        return 0

    def metric_words(self, metric: str) -> str:
        words = {TAKEN: 'taken until the limit', BEYOND: 'taken beyond the limit', UNUSED: 'left when it refused'}
        return words.get(metric, metric)
