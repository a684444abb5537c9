"""What the samples of one metric say, and how evenly the tasks of one launch were served.

The value of a metric is the mean; what stands beside it is for people to see how far the mean may be trusted.
docs/statistics.md says in plain words what the interval means and what it does not.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from seatrial.rules.stopping import Interval, t_interval, t_quantile

CONFIDENCE = 0.90
MIN_SAMPLES = 6
"""Fewer samples decide nothing: the minimum of the stopping rule and the repetitions that follow its stop."""


@dataclass(frozen=True)
class Summary:
    """The samples of one metric, in the unit of the samples.

    stdev:    of a sample (n - 1); None for one value
    cv:       stdev / |mean|, a fraction; None for one value or a mean of zero
    p5 .. p95: quantiles, linear between order statistics (Hyndman and Fan 1996, type 7)
    interval: for the mean, as verdicts use it: see verdict_interval
    lag1:     correlation of each sample with the next one; None under three samples or where all are equal
    drifting: whether lag1 is higher than in 95 % of independent series (Moran 1948); the interval is then too short
    """

    n: int
    mean: float
    median: float
    stdev: float | None
    cv: float | None
    minimum: float
    maximum: float
    p5: float
    p25: float
    p75: float
    p95: float
    interval: Interval
    lag1: float | None
    drifting: bool


@dataclass(frozen=True)
class Fairness:
    """How evenly the tasks of one launch were served; 1, 0 and 1 where all were equal, or there was one.

    time_ratio: the longest time over the shortest
    time_cv:    standard deviation of the times over their mean; the tasks are all there are, so over n, not n - 1
    jain:       (sum x)^2 / (n sum x^2) of the tasks' throughputs x: from 1/n, one was served, to 1
    """

    tasks: int
    time_ratio: float
    time_cv: float
    jain: float


def summary(values: Sequence[float], confidence: float = CONFIDENCE) -> Summary:
    """The statistics of these samples, in the order in which they were taken. Raises ValueError for none."""
    interval = verdict_interval(values, confidence)
    ordered = sorted(values)
    stdev = statistics.stdev(values) if len(values) > 1 else None
    lag1 = _lag1(values)
    return Summary(
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
        drifting=lag1 is not None and _drifts(lag1, len(values)),
    )


def verdict_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The interval for the mean that a verdict is made of: Student's, with n - 2 degrees of freedom and not n - 1.

    One degree of freedom pays for a stop that waited for a short interval: of normal points with up to 8 % noise,
    88.5 to 91.5 % are covered at 90 % nominal, instead of 87.7 to 90.1 % (docs/statistics.md). Infinite under three
    samples. Raises ValueError for none.
    """
    plain = t_interval(values, confidence)
    if plain.n < 3:
        return plain._replace(half_width=math.inf)
    widening = t_quantile(confidence, plain.n - 2) / t_quantile(confidence, plain.n - 1)
    return plain._replace(half_width=plain.half_width * widening)


def fairness(bytes_moved: Sequence[int], seconds: Sequence[float]) -> Fairness:
    """The evenness of one launch from what each task moved and how long it took.

    Jain, Chiu and Hawe, A Quantitative Measure of Fairness and Discrimination, DEC-TR-301, 1984. Raises ValueError
    without tasks, for a time that is not above zero, or where no task moved a byte.
    """
    if not seconds or len(bytes_moved) != len(seconds):
        raise ValueError(f'fairness needs bytes and seconds of each task: {len(bytes_moved)} and {len(seconds)}')
    if min(seconds) <= 0 or min(bytes_moved) < 0 or max(bytes_moved) == 0:
        raise ValueError('fairness needs times above zero and a task that moved something')
    rates = [moved / taken for moved, taken in zip(bytes_moved, seconds, strict=True)]
    return Fairness(
        tasks=len(seconds),
        time_ratio=max(seconds) / min(seconds),
        time_cv=statistics.pstdev(seconds) / statistics.fmean(seconds),
        jain=math.fsum(rates) ** 2 / (len(rates) * math.fsum(rate * rate for rate in rates)),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that this share of the ascending values stays below, linear between order statistics (type 7)."""
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


def _drifts(lag1: float, n: int) -> bool:
    """Moran, Some Theorems on Time Series II, Biometrika 35: mean -1/n, variance (n - 2)^2 / (n^2 (n - 1))."""
    return lag1 + 1 / n > _NORMAL_95 * (n - 2) / (n * math.sqrt(n - 1))


_NORMAL_95 = statistics.NormalDist().inv_cdf(0.95)
