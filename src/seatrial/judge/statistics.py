"""Statistics of the samples of one metric, and how evenly tasks, nodes and groups of nodes (racks, partitions) were
served. The value of a metric is the mean; the others show how far to trust it; statistics.md in plain words."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from seatrial.model.metric import HIGHER, TaskTime
from seatrial.model.plan import NodeGroup
from seatrial.rules.places import short
from seatrial.rules.stopping import Interval, t_interval, t_quantile
from seatrial.workload.words import by_key

CONFIDENCE = 0.90
FAMILY = 0.05  # probability of a false FAIL among all criteria that are judged together (Holm)
MIN_FOR_INTERVAL = 3  # fewer samples have no interval, and decide nothing
MIN_SAMPLES = 6  # fewer samples compare no points: the stopping rule's minimum and the repetitions after its stop
SLOW = 0.75  # times the median: a slow launch is worse. At 5 % noise it is five standard deviations away

MIN_SERIES = 5  # series from which the correlation of a case is estimated at least: in fewer, chance looks alike
CLEARLY = 1.4
"""Standard errors above that of independent repetitions, from which on a correlation widens the intervals. Chosen by
simulation (statistics.md): a lower one widens intervals of independent repetitions, a higher one misses correlated
ones."""
MAX_CORRELATION = 0.6  # six samples with more look like a drift, which has its own label (Summary.drifting)


class MeanInterval(NamedTuple):
    """The mean of figures that vary by factors, as rates and times do: no end of its interval is negative."""

    mean: float
    log_half_width: float  # half width of the interval for the logarithm of the mean; infinite under three samples
    n: int
    confidence: float

    @property
    def low(self) -> float:
        return self.mean * math.exp(-self.log_half_width)

    @property
    def high(self) -> float:
        return self.mean * math.exp(self.log_half_width) if self.log_half_width < LARGEST_LOG else math.inf

    @property
    def wider_by(self) -> float:
        """Distance of the upper end from the mean, as a share of the mean."""
        return math.expm1(self.log_half_width) if self.log_half_width < LARGEST_LOG else math.inf


LARGEST_LOG = 700.0  # the largest logarithm of a number that a float can hold, rounded down


@dataclass(frozen=True)
class SampleSummary:
    """The samples of one metric, in their unit. Quantiles are linear (Hyndman and Fan 1996, type 7)."""

    n: int
    mean: float
    median: float
    stdev: float | None  # standard deviation of a sample (n - 1); None for one value
    cv: float | None  # stdev / |mean|, a fraction; None for one value or a mean of zero
    minimum: float
    maximum: float
    p5: float
    p25: float
    p75: float
    p95: float
    interval: MeanInterval  # interval for the mean, as verdicts use it: see verdict_interval
    # correlation of each sample with the next one; None under three samples or where all are equal
    lag1: float | None
    drifting: bool  # lag1 is higher than in 95 % of independent series (Moran 1948); the interval is then too short


@dataclass(frozen=True)
class Fairness:
    """The fairness between tasks, nodes or groups of nodes of one launch: 1, 1, 0 and 1 if all are equal."""

    tasks: int  # how many they are
    time_ratio: float  # the longest time over the shortest
    mean_ratio: float  # the mean time over the shortest
    time_cv: float  # standard deviation of the times over their mean; over n, not n - 1: these are all tasks
    jain: float  # (sum x)^2 / (n sum x^2) of the tasks' throughputs x: from 1/n, one was served, to 1


@dataclass(frozen=True)
class GroupRate:
    """The mean rate of a task of one group of nodes, in B/s."""

    name: str
    # nodes, tasks: how many of the group took part
    nodes: int
    tasks: int
    values: tuple[float, ...]  # the mean rate of the group's tasks in each repetition, each task over its own time
    rate: MeanInterval  # the mean of all repetitions
    over: float | None = None  # ratio to the first group; None for the first itself
    low: float | None = None  # low, high: interval of `over` at CONFIDENCE; infinite under three repetitions
    high: float | None = None


def summary(values: Sequence[float], confidence: float = CONFIDENCE, correlation: float = 0.0) -> SampleSummary:
    """The statistics of these samples, in the order in which they were taken. correlation: of neighbouring
    repetitions of the case, which widens the interval. Raises ValueError for no samples."""
    interval = verdict_interval(values, confidence, correlation)
    ordered = sorted(values)
    stdev = statistics.stdev(values) if len(values) > 1 else None
    lag1 = _lag1(values)
    return SampleSummary(
        n=len(values),
        mean=interval.mean,
        median=statistics.median(ordered),
        stdev=stdev,
        cv=None if stdev is None or interval.mean == 0 else stdev / abs(interval.mean),
        minimum=ordered[0],
        maximum=ordered[-1],
        p5=quantile(ordered, 0.05),
        p25=quantile(ordered, 0.25),
        p75=quantile(ordered, 0.75),
        p95=quantile(ordered, 0.95),
        interval=interval,
        lag1=lag1,
        # Moran, Some Theorems on Time Series II, Biometrika 35: mean -1/n, variance (n - 2)^2 / (n^2 (n - 1)).
        drifting=lag1 is not None and lag1 + 1 / len(values) > _NORMAL_95 * _moran_error(len(values)),
    )


def verdict_interval(
    values: Sequence[float], confidence: float = CONFIDENCE, correlation: float = 0.0
) -> MeanInterval:
    """The interval for the mean that a verdict is made of: student_interval, by the logarithm of the mean. Its
    standard error is that of the mean over the mean (delta method): lognormal series get fewer wrong FAILs
    (statistics.md). Figures are 0 or more; if all are 0, it has no width. Raises ValueError for no samples."""
    plain = student_interval(values, confidence, correlation)
    of_log = plain.half_width / plain.mean if plain.mean > 0 else 0.0
    return MeanInterval(plain.mean, of_log, plain.n, confidence)


def student_interval(values: Sequence[float], confidence: float = CONFIDENCE, correlation: float = 0.0) -> Interval:
    """Student's interval for the mean, with n - 2 degrees of freedom and not n - 1: one pays for a stop that waited
    for a short interval (of normal points with up to 8 % noise, 88.5 to 91.5 % are covered at 90 % nominal, instead
    of 87.7 to 90.1 %; statistics.md). Infinite under three samples. The correlation of neighbouring repetitions
    widens it (see `widening`). Raises ValueError for no samples."""
    plain = t_interval(values, confidence)
    if plain.n < MIN_FOR_INTERVAL:
        return plain._replace(half_width=math.inf)
    factor = t_quantile(confidence, plain.n - 2) / t_quantile(confidence, plain.n - 1)
    return plain._replace(half_width=plain.half_width * factor * widening(correlation, plain.n))


NOISE = 0.30
"""The standard deviation, of a logarithm, by which allocations are assumed to differ until the history of a site
shows it (history/noise.py): two or three cannot show it. Its effect is measured in docs/explanation/statistics.md."""

SEEN_SHARE = 0.2  # share of the error probability for the interval by the observed scatter, not by the assumed noise


def between_allocations(
    figures: Sequence[float], confidence: float = CONFIDENCE, noise: float = NOISE
) -> tuple[float, float, float]:
    """The geometric mean of independent figures, and its interval, whose ends are never negative. Both come from
    logarithms, for bandwidths, rates and times vary by factors. If a figure is 0, they are the mean and Student's
    interval. Raises StatisticsError for a single figure."""
    if min(figures) <= 0:
        plain = t_interval(figures, confidence)
        return plain.mean, plain.low, plain.high
    # Of ratios, so that the unit of the figures changes not a bit of what is decided.
    logs = [math.log(figure / figures[0]) for figure in figures]
    mean = figures[0] * math.exp(statistics.fmean(logs))
    factor = math.exp(half_width_between(statistics.stdev(logs), len(logs), confidence, noise))
    return mean, mean / factor, mean * factor


def half_width_between(scatter: float, n: int, confidence: float, noise: float = NOISE) -> float:
    """The half width of the interval for the mean logarithm of n figures. scatter: their standard deviation; noise:
    what allocations differ by at least

    The narrower of two: z max(noise, scatter) / sqrt(n), which decides a clear margin by two allocations, and
    Student's t scatter / sqrt(n), which decides a small one where many agree. They share the chance of an error, so
    that both together keep it (Bonferroni): at the bound 1 to 4 % are wrongly met at 90 %, and 7 % where the noise is
    40 % (docs/explanation/statistics.md)."""
    chance = 1 - confidence
    assumed = statistics.NormalDist().inv_cdf(1 - (1 - SEEN_SHARE) * chance / 2) * max(noise, scatter)
    return min(assumed, t_quantile(1 - SEEN_SHARE * chance, n - 1) * scatter) / math.sqrt(n)


def quantile_interval(values: Sequence[float], share: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The two-sided interval for a quantile of any distribution; its ends are samples, or infinite. The number of n
    independent samples below the quantile is binomial (David and Nagaraja, Order Statistics, 2003, 7.1). The 90 %
    interval for p10 has a lower end from 29 samples on, that for the median from 5."""
    ordered, n, tail = sorted(values), len(values), (1 - confidence) / 2
    below = [place for place in range(n) if 1 - binomial_tail(n, share, place + 1) <= tail]
    above = [place for place in range(n) if binomial_tail(n, share, place + 1) <= tail]
    return (ordered[below[-1]] if below else -math.inf), (ordered[above[0]] if above else math.inf)


def samples_for(share: float, confidence: float = CONFIDENCE) -> int:
    """The number of samples from which on the interval for this quantile has both ends."""
    return math.ceil(math.log((1 - confidence) / 2) / math.log(max(share, 1 - share)))


def binomial_tail(n: int, share: float, least: int) -> float:
    """The probability of at least `least` successes in n trials, each with the probability `share`."""
    return math.fsum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(least, n + 1))


def correlation_of(series: Iterable[Sequence[float]]) -> float:
    """The correlation of neighbouring repetitions that the points of one case have in common, from 0 up: the mean of
    the lag-1 coefficients of all series, weighted by their lengths and corrected by their expectation c - (1 + 4 c) /
    n (Marriott and Pope, Biometrika 41, 1954). It is 0 unless it is CLEARLY above what independent repetitions give.
    Series that are too short for a verdict, or of equal samples, do not count."""
    coefficients = [
        (len(values), lag1) for values in series if len(values) >= MIN_SAMPLES and (lag1 := _lag1(values)) is not None
    ]
    if len(coefficients) < MIN_SERIES:
        return 0.0
    total = sum(n for n, _ in coefficients)
    above = (math.fsum(n * lag1 for n, lag1 in coefficients) + len(coefficients)) / total
    error = math.sqrt(math.fsum((n * _moran_error(n)) ** 2 for n, _ in coefficients)) / total
    return min(above / (1 - 4 * len(coefficients) / total), MAX_CORRELATION) if above > CLEARLY * error else 0.0


def widening(correlation: float, n: int) -> float:
    """The factor by which the standard error of the mean of n samples exceeds s / sqrt(n) if neighbours correlate so.
    In a first-order autoregression the mean varies more (Bayley and Hammersley, JRSS Supplement 8, 1946), and s,
    which comes from the same few neighbours, less."""
    if correlation == 0 or n < 2:
        return 1.0
    more = 1 + 2 * math.fsum((1 - k / n) * correlation**k for k in range(1, n))
    return math.sqrt(more * (n - 1) / (n - more))


def holm(chances: Sequence[float], count: int, family: float = FAMILY) -> float:
    """Holm's level: the largest chance at which one of `count` criteria is missed. chances: of those that missed;
    family: the probability of a single false one"""
    levels = [(chance, family / (count - place)) for place, chance in enumerate(sorted(chances))]
    return next((level for chance, level in levels if chance > level), family)


def satterthwaite(parts: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """The variance of a sum of independent parts and its degrees of freedom, rounded down (Satterthwaite)."""
    variance = math.fsum(part for part, _ in parts)
    if not variance:
        return 0.0, min(df for _, df in parts)
    return variance, max(1, int(variance**2 / math.fsum(part**2 / df for part, df in parts) + 1e-9))


def slow_launches(values: Sequence[float], better: str = HIGHER) -> int:
    """The number of launches too slow to be noise: worse than the median by more than the factor 1 / SLOW."""
    middle = statistics.median(values)
    return sum(value < SLOW * middle if better == HIGHER else SLOW * value > middle for value in values)


def fairness(bytes_moved: Sequence[int], seconds: Sequence[float]) -> Fairness:
    """The evenness of one launch from the bytes and the time of each task. Jain, Chiu and Hawe, A Quantitative
    Measure of Fairness and Discrimination, DEC-TR-301, 1984. Raises ValueError without tasks, for a time that is not
    above zero, or where no task moved a byte."""
    if not seconds or len(bytes_moved) != len(seconds):
        raise ValueError(f'fairness needs bytes and seconds of each task: {len(bytes_moved)} and {len(seconds)}')
    if min(seconds) <= 0 or min(bytes_moved) < 0 or max(bytes_moved) == 0:
        raise ValueError('fairness needs times above zero and a task that moved something')
    rates = [moved / taken for moved, taken in zip(bytes_moved, seconds, strict=True)]
    return Fairness(
        tasks=len(seconds),
        time_ratio=max(seconds) / min(seconds),
        mean_ratio=statistics.fmean(seconds) / min(seconds),
        time_cv=statistics.pstdev(seconds) / statistics.fmean(seconds),
        jain=math.fsum(rates) ** 2 / (len(rates) * math.fsum(rate * rate for rate in rates)),
    )


def by_group(tasks: Sequence[TaskTime], groups: Sequence[NodeGroup]) -> dict[str, list[TaskTime]]:
    """The tasks by group, in the order of the groups; empty groups and nodes outside any group are left out."""
    of = {short(host): group.name for group in groups for host in group.hosts}
    members = by_key((of[short(task.host)], task) for task in tasks if short(task.host) in of)
    return {group.name: members[group.name] for group in groups if group.name in members}


def fairness_of_groups(tasks: Sequence[TaskTime], groups: Sequence[NodeGroup]) -> Fairness | None:
    """The fairness between the groups of one launch; None if fewer than two worked. A group counts with the mean
    bytes and the mean time of its tasks, since groups may differ in size."""
    members = by_group(tasks, groups).values()
    if len(members) < 2:
        return None
    moved = [round(statistics.fmean(task.bytes_moved for task in of_group)) for of_group in members]
    return fairness(moved, [statistics.fmean(task.seconds for task in of_group) for of_group in members])


def group_rates(
    launches: Sequence[Sequence[TaskTime]], groups: Sequence[NodeGroup], correlation: float = 0.0
) -> tuple[GroupRate, ...]:
    """The rates of the groups over the repetitions of one point. Empty if only one group worked, or one has moved
    nothing. Groups are compared launch by launch, by Student's interval of the logarithms of their ratio. launches:
    the tasks of each repetition; correlation: of neighbouring repetitions, as in verdict_interval"""
    every = [by_group(tasks, groups) for tasks in launches]
    names = list(every[0]) if every else []
    if len(names) < 2 or any(list(members) != names for members in every):
        return ()
    series = {
        name: [statistics.fmean(task.bytes_moved / task.seconds for task in members[name]) for members in every]
        for name in names
    }
    if min(map(min, series.values())) <= 0:
        return ()
    compared = []
    for name, values in series.items():
        tasks, rate = every[0][name], verdict_interval(values, correlation=correlation)
        group = GroupRate(name, len({short(task.host) for task in tasks}), len(tasks), tuple(values), rate)
        if name != names[0]:
            logs = [math.log(value / first) for value, first in zip(values, series[names[0]], strict=True)]
            interval = student_interval(logs, correlation=correlation)
            over, low, high = map(math.exp, (interval.mean, interval.low, interval.high))
            group = replace(group, over=over, low=low, high=high)
        compared.append(group)
    return tuple(compared)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile `share` of ascending values, linear between order statistics (type 7)."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _lag1(values: Sequence[float]) -> float | None:
    mean = statistics.fmean(values)
    away = [value - mean for value in values]
    spread = math.fsum(a * a for a in away)
    if len(values) < 3 or spread == 0:
        return None
    return math.fsum(a * b for a, b in pairwise(away)) / spread


def _moran_error(n: int) -> float:
    return (n - 2) / (n * math.sqrt(n - 1))


_NORMAL_95 = statistics.NormalDist().inv_cdf(0.95)
