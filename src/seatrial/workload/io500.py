"""IO500's phases in their order, in one launch of its own program, and its score where its rules were kept
(io500.org): each phase that writes goes on to its stone wall at 300 s, and then until every task has done as much as
the fastest. Shorter phases are measured too, and have no score. No score from here is a submission."""

from math import exp, log, sqrt
from typing import Optional, Sequence, Tuple

from seatrial.model.metric import Measurement, Metric, MetricType
from seatrial.model.plan import Sizing
from seatrial.model.point import DataPart, Point, TimePart
from seatrial.model.units import GIB, KIB, MIB, Size, approximate_size, in_bytes
from seatrial.workload.access import Access, writing
from seatrial.workload.base import CREATE, READ, REMOVE, UNKNOWN, WRITE, Effort, Footprint, Phase

PHASE = 'io500'
BANDWIDTHS = ('ior_easy_write', 'ior_hard_write', 'ior_easy_read', 'ior_hard_read')
RATES = (
    *('mdtest_easy_write', 'mdtest_hard_write', 'find', 'mdtest_easy_stat', 'mdtest_hard_stat'),
    *('mdtest_easy_delete', 'mdtest_hard_read', 'mdtest_hard_delete'),
)
BESIDE = 'ior_rnd4k_easy_read'  # random reads of 4 KiB for as long as the stone wall; they do not count for the score
BANDWIDTH, RATE, SCORE = 'io500_bandwidth', 'io500_iops', 'io500_score'
TRANSFER_SIZE = 2 * MIB  # bytes of a transfer of ior-easy
HARD_BYTES, SMALL_BYTES = 47008, 3901  # bytes of a transfer of ior-hard, and of a file of mdtest-hard
FILE_SHARE = 64 * KIB  # bytes_per_task for each file of a task in both mdtests: 64 GiB give a million, as in IO500
STONE_WALL_S = 300  # seconds, as IO500's rules require
WALLS = 16  # the most stone walls that a launch may last: four phases write, each with its wear-out, beside others


def io500(bytes_per_task: Size, stone_wall_s: int = STONE_WALL_S) -> Point:
    """The workload. bytes_per_task: the most that a task writes in each IOR, enough to reach the stone wall."""
    data = DataPart(transfer_size=TRANSFER_SIZE, bytes_per_task=in_bytes(bytes_per_task))
    return Point('io500', (PHASE,), data=data, time=TimePart(float(WALLS * stone_wall_s)))


_METRICS = (
    *(MetricType(name, 'B/s') for name in (*BANDWIDTHS, BESIDE, BANDWIDTH)),
    *(MetricType(name, 'op/s') for name in (*RATES, RATE)),
    MetricType(SCORE, ''),
)


class Io500(Access):
    name = 'io500'
    words = 'IO500'
    title = 'IO500'
    parameters = ('transfer_size', 'bytes_per_task', 'duration_s')
    of_trial = ()
    by_darshan = False
    once = True
    by_time = True
    bytes_known = False
    phases = (Phase(PHASE, (CREATE, WRITE, READ, REMOVE), metrics=_METRICS, in_turn=(*BANDWIDTHS, BESIDE, *RATES)),)

    def fault(self, point: Point) -> Optional[str]:
        data = point.data
        if point.phases != (PHASE,):
            return f'phases: {list(point.phases)}; all is one phase, {PHASE}'
        if data.transfer_size != TRANSFER_SIZE:
            return f'transfer_size: {data.transfer_size} B; the rules have {TRANSFER_SIZE} B'
        if data.bytes_per_task < TRANSFER_SIZE or data.bytes_per_task % TRANSFER_SIZE:
            return f'bytes_per_task: {data.bytes_per_task} B are no whole number of transfers of {TRANSFER_SIZE} B'
        if not WALLS <= point.time.duration_s <= WALLS * 10 * STONE_WALL_S:
            return f'duration_s: {point.time.duration_s:g} s; it is {WALLS} times the stone wall, of 1 s or more'
        return None

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        """The metrics of every phase, and the score where the stone wall is that of the rules."""
        types, of_rules = self.phase(phase).metrics, (BANDWIDTH, RATE, SCORE)
        return types if _by_rules(point) else tuple(metric for metric in types if metric.name not in of_rules)

    def derived(self, point: Point, phase: str, measurement: Measurement) -> Tuple[Metric, ...]:
        """The score, as calc_score of main.c: geometric means in GiB/s and kIOPS; none if a phase was invalid."""
        if not _by_rules(point) or phase != PHASE:
            return ()
        of = {metric.name: metric for metric in measurement.metrics}
        if any(name not in of or of[name].value <= 0 for name in (*BANDWIDTHS, *RATES)):
            return ()
        bandwidth, rate = (geometric_mean([of[name].value for name in names]) for names in (BANDWIDTHS, RATES))
        seconds = self.phase(phase).timed_s(measurement)
        return (
            Metric(BANDWIDTH, bandwidth, 'B/s', seconds=seconds),
            Metric(RATE, rate, 'op/s', seconds=seconds),
            Metric(SCORE, score_of(bandwidth, rate), '', seconds=seconds),
        )

    def sentence(self, points: Sequence[Point]) -> str:
        wall = f'a stone wall at {stone_wall_s(points[0])} s'
        rules = 'by its rules; not a submission' if _by_rules(points[0]) else f'its rules ask for {STONE_WALL_S} s'
        return f'All tasks go through the phases of IO500, with {wall} ({rules})'

    def title_of(self, point: Point) -> str:
        return 'IO500, not a submission' if _by_rules(point) else 'phases of IO500, without a score'

    def metric_words(self, metric: str) -> str:
        words = metric.replace('io500_', '').replace('_', ' ')
        return f'{words} (not a submission)' if metric == SCORE else words

    def totals(self, point: Point) -> str:
        return f'at most {approximate_size(point.data.bytes_per_task)} a task in each of two ways, and small files'

    def adapted(self, point: Point, effort: Effort) -> Point:
        return point.changed(duration_s=min(point.time.duration_s, WALLS * (effort.target_s or STONE_WALL_S)))

    def fits(self, point: Point, effort: Effort, pinned: Optional[int]) -> bool:
        return (pinned or point.data.bytes_per_task) % TRANSFER_SIZE == 0

    def sizing(self, points: Sequence[Point], effort: Effort, pinned: Optional[int]) -> Sizing:
        """Its time ends a phase: the bytes are the most that it may need."""
        share = points[0].data.bytes_per_task if pinned is None else pinned
        return Sizing(share, TRANSFER_SIZE, 0.0, 0.0, pinned=share)

    def footprint(self, points: Sequence[Point]) -> Footprint:
        """The files of both IORs and both mdtests at once."""
        tasks, share = max((point.tasks, point.data.bytes_per_task) for point in points)
        files = 2 * tasks * files_per_task(points[0])
        return Footprint(2 * tasks * share + files * SMALL_BYTES, files + 4 * tasks + 16)

    def cache_of(self, metric: str, launch: str) -> str:
        """UNKNOWN for reads: IO500 empties caches only for root, and tasks read what the next node has written."""
        writes = metric.endswith(('_write', '_delete'))
        return launch if writes else UNKNOWN

    def as_access(self, point: Point) -> Point:
        return writing(point, TRANSFER_SIZE, point.data.bytes_per_task)


def stone_wall_s(point: Point) -> int:
    """Seconds after which a phase that writes stops, but for its wear-out."""
    return int(point.time.duration_s // WALLS)


def files_per_task(point: Point) -> int:
    """The most files of a task in each of the two mdtests."""
    return max(1, point.data.bytes_per_task // FILE_SHARE)


def geometric_mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def score_of(bandwidth: float, rate: float) -> float:
    """The score of a bandwidth (B/s) and a rate (op/s): the root of their product in GiB/s and kIOPS."""
    return sqrt(bandwidth / GIB * rate / 1000)


def _by_rules(point: Point) -> bool:
    return stone_wall_s(point) >= STONE_WALL_S
