"""Measurements of one launch by an engine: metrics, and the evidence beside them, in base units. A metric is a
bandwidth (B/s), a rate (op/s), a time (s), a ratio or a count (no unit)."""

from typing import Dict, NamedTuple, Optional, Tuple

from seatrial.model.action import Course

HIGHER, LOWER = 'higher', 'lower'
PERCENTILES = (0.50, 0.95, 0.99)  # percentiles of single operations, unless others are given
QUANTA = 100  # ticks of the engine's clock in a timed region, at least: one tick is then 1 %
LONG_S = 0.5  # seconds that are enough for any clock
UNNAMED = 'unnamed-'  # how the names of hosts begin that an engine counted and did not name


class MetricType(NamedTuple):
    name: str
    unit: str  # the base unit of its dimension
    better: str = HIGHER  # HIGHER or LOWER
    steers: bool = True  # True if repetitions go on until it is precise; False for a tail latency, for example


class Metric(NamedTuple):
    name: str
    value: float  # figure in the base unit
    unit: str
    better: str = HIGHER
    seconds: float = 0.0  # its timed region, from the first task's start to the last one's end; 0 for a count
    operations: int = 0  # operations of all tasks together; 0: they were not counted
    figure: str = ''  # the engine's own figure, verbatim
    # seconds of a single operation, by 'p50', 'p99.9'; empty where operations were not timed singly
    percentiles_s: Dict[str, float] = {}  # noqa: RUF012 (a value; nobody changes it)
    task_seconds: Tuple[float, ...] = ()  # seconds of each task, by rank; empty if the engine does not report them
    censored: bool = False  # the launch ended before what was timed did: the true value is above this, no figure

    @property
    def idle_share(self) -> float:
        """The share of the time in which even the slowest task had finished and waited at the barrier."""
        return 1.0 - max(self.task_seconds) / self.seconds if self.task_seconds and self.seconds else 0.0


class TaskTime(NamedTuple):
    """The bytes of one task, and its times in seconds since the first task's start."""

    rank: int
    host: str
    bytes_moved: int
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


class NodeTime(NamedTuple):
    """The tasks of one node in a launch, reduced from their TaskTimes. Host names are without a domain."""

    host: str
    tasks: int
    bytes_moved: int
    median_s: float  # of the seconds that its tasks took
    longest_s: float

    @property
    def bandwidth(self) -> float:
        """Bytes of all tasks of the node over the longest of their times, in B/s."""
        return self.bytes_moved / self.longest_s


class Fact(NamedTuple):
    """One guarantee of POSIX."""

    name: str
    holds: Optional[bool]  # None where it could not be tried
    seen: str  # the observation, as a clause


class Histogram(NamedTuple):
    """Counts by class, beside the distribution that was intended."""

    name: str
    unit: str  # unit of what is classed: 'B', or empty
    ends: Tuple[int, ...]  # the upper end of each class, which belongs to it
    counts: Tuple[int, ...]  # how many lie in each class
    targets: Tuple[float, ...]  # their share in the intended distribution, as a fraction

    @staticmethod
    def json_keys() -> Dict[str, str]:
        return {'counts': 'found'}


class Measurement(NamedTuple):
    metrics: Tuple[Metric, ...]
    world_size: int
    hosts: Tuple[str, ...]
    clock_s: float = 0.0  # the resolution of the engine's clock, and what clocks of several nodes can be apart
    bytes_moved: int = 0  # bytes of all tasks; 0 for metadata
    tasks: Tuple[TaskTime, ...] = ()  # times of all tasks, where the engine gives them
    nodes: Tuple[NodeTime, ...] = ()  # a node sweep has these in place of the tasks
    fsync: bool = False  # True if a write's sync lies inside the timed region
    direct: bool = False  # True if O_DIRECT was in effect
    facts: Tuple[Fact, ...] = ()
    course: Optional[Course] = None  # throughput over time of a scenario
    histograms: Tuple[Histogram, ...] = ()  # what an ageing has filled in

    @property
    def seconds(self) -> float:
        """The shortest timed region; 0 where nothing was timed."""
        return min((metric.seconds for metric in self.metrics if metric.unit), default=0.0)

    @property
    def figures(self) -> Dict[str, float]:
        """Values by metric, without those that took no time (T12) or whose end nobody saw (A2)."""
        timed = (metric for metric in self.metrics if metric.seconds > 0 or not metric.unit)
        return {metric.name: metric.value for metric in timed if not metric.censored}

    @property
    def censored(self) -> Dict[str, Metric]:
        return {metric.name: metric for metric in self.metrics if metric.censored}

    def sharp(self, name: str) -> bool:
        """False where a metric was timed over fewer than QUANTA clock ticks and less than LONG_S: too short."""
        metric = self.metric(name)
        return not (metric and metric.unit and 0 < metric.seconds < min(LONG_S, QUANTA * self.clock_s))

    def metric(self, name: str) -> Optional[Metric]:
        return next((metric for metric in self.metrics if metric.name == name), None)


def percentile_name(share: float) -> str:
    return f'p{100 * share:.10g}'


def bandwidth(name: str, bytes_moved: int, seconds: float, figure: str) -> Metric:
    """Bytes of all tasks over the time from the first start to the last end; no time gives 0 B/s (T12)."""
    return Metric(name, bytes_moved / seconds if seconds > 0 else 0.0, 'B/s', HIGHER, seconds, 0, figure)


def rate(
    name: str,
    operations: int,
    seconds: float,
    figure: str,
    task_seconds: Tuple[float, ...] = (),
    percentiles_s: Optional[Dict[str, float]] = None,
) -> Metric:
    """Operations of all tasks over the time from the first start to the last end; no time gives 0 op/s (T12)."""
    value = operations / seconds if seconds > 0 else 0.0
    return Metric(name, value, 'op/s', HIGHER, seconds, operations, figure, percentiles_s or {}, task_seconds)
