"""Two sets of sessions, before and after: what has become better or worse, and what has stayed the same.

The ratio after / before of the means of a metric is computed as a difference of logarithms. A session is one value,
the mean of its repetitions, because these share nodes, other users and the state of the servers. Student's interval
for the difference of two groups has one spread for both (Jain, The Art of Computer Systems Performance Analysis,
1991, 13.4.2), so one side may have a single session. If both have one, the interval has the spread of repetitions
alone (Welch), and only a count is decided. Sides measured in turn are paired: a round is one value, the difference of
its two sessions (Jain, 13.4.1). A family (data write, data read, metadata, ...) has the mean of its metrics.

If one side was measured after the other, a drift over the sessions looks like a difference. The trend within both
sides has one slope (analysis of covariance); a difference of which it makes EXPLAINS or more stays undecided.

A difference is named by chance in at most LEVEL of the comparisons: half of LEVEL is for the few families (Holm,
Scandinavian Journal of Statistics 6, 1979), half for the metrics (Benjamini and Hochberg, JRSS B 57, 1995, which
holds for metrics that rise and fall together: Benjamini and Yekutieli, Annals of Statistics 29, 2001).
statistics.md says how often they are right."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

from seatrial.judge.relations import UNDECIDED
from seatrial.judge.statistics import LARGEST_LOG, holm, satterthwaite
from seatrial.model.metric import HIGHER
from seatrial.rules.stopping import t_interval, t_quantile, t_within
from seatrial.workload.words import by_key

BETTER, SAME, WORSE = 'better', 'same', 'worse'
ORDER = (WORSE, BETTER, UNDECIDED, SAME)  # the verdicts, the most important one first
CONFIDENCE = 0.95
LEVEL = 0.05
EFFECT = 0.05  # the smallest effect that matters, by default

EXPLAINS = 0.45  # the share of a difference that a drift over the sessions must make to explain it

Sessions = Mapping[str, Sequence[float]]
"""The samples of each session by its name, in the base unit, all above 0. The names sort by time."""


@dataclass(frozen=True)
class Series:
    group: str  # the family it belongs to
    before: Sessions
    after: Sessions
    better: str = HIGHER
    steers: bool = True  # True if the family counts it
    counts: bool = False  # True for a count that does not vary by itself, such as guarantees that hold

    @cached_property
    def logs(self) -> tuple[Mapping[str, float], ...]:
        """The logarithm of each session's mean on both sides, centred, and signed so that more is better."""
        sign = _sign(self)
        sides = [
            # Many sessions have a single value: no call for its mean.
            {name: sign * math.log(values[0] if len(values) == 1 else _mean(values)) for name, values in side.items()}
            for side in (self.before, self.after)
        ]
        centre = fmean(_mean(side.values()) for side in sides)
        return tuple({name: value - centre for name, value in side.items()} for side in sides)


@dataclass(frozen=True)
class MetricChange:
    """The change of a metric or a family: BETTER, WORSE, SAME or UNDECIDED."""

    verdict: str
    ratio: float  # the ratio after / before; for a family, how many times better it is: above 1 is better
    low: float | None  # interval at CONFIDENCE, or None; without the spread between sessions unless `between`
    high: float | None
    chance: float | None  # probability of such a difference by chance; None without the spread between sessions
    sessions: tuple[int, int]  # numbers of sessions that have it before and after
    between: bool
    # the ratio that a drift over the sessions alone would cause, where the change is UNDECIDED for that reason
    drift: float | None = None

    @property
    def size(self) -> float:
        """Distance from no change; the same for a half and for the double."""
        return abs(math.log(self.ratio))


def compared(
    series: Sequence[Series], effect: float = EFFECT, paired: bool = False, drifts: bool = False
) -> tuple[dict[str, MetricChange], list[MetricChange]]:
    """The changes of the families by group, and of the metrics in the order of the series. effect: the smallest
    relative change that matters: a ratio within 1 / (1 + effect) to 1 + effect is SAME; paired: sessions of the same
    name on both sides are a pair, others are not used; drifts: a difference that a drift of its family explains is
    UNDECIDED; pairs have no drift. Raises ValueError for an effect of 0 or less, or a series that lacks a side."""
    if effect <= 0:
        raise ValueError(f'the smallest effect that matters is above 0: {effect}')
    margin = math.log1p(effect)
    groups = by_key((metric.group, metric) for metric in series if metric.steers and not metric.counts)
    sides_of = {group: _sides(members) for group, members in groups.items()}
    families = {group: _difference(members, sides_of[group], paired) for group, members in groups.items()}
    drift_of = {group: _drift(*sides) for group, sides in sides_of.items() if drifts and not paired}
    level = holm([_chance(difference) for difference in families.values()], len(families), LEVEL / 2)
    metrics = [(metric, _difference([metric], _sides([metric]), paired)) for metric in series]
    of_metrics = _benjamini_hochberg([_chance(difference) for metric, difference in metrics if not metric.counts])
    return (
        {
            group: _change(difference, margin, level, 1, drift_of.get(group, 0.0))
            for group, difference in families.items()
        },
        [
            _counted(metric, difference)
            if metric.counts
            else _change(difference, margin, of_metrics, _sign(metric), drift_of.get(metric.group, 0.0))
            for metric, difference in metrics
        ],
    )


_Sides = tuple[Mapping[str, float], Mapping[str, float]]  # the level in each session before and after


class _Difference(NamedTuple):
    log: float  # logarithm of the ratio
    error: float  # its standard error, infinite if unknown
    df: int
    sessions: tuple[int, int]

    @property
    def between(self) -> bool:
        return sum(self.sessions) > 2


def _difference(members: Sequence[Series], sides_of: _Sides, paired: bool) -> _Difference:
    """The difference of the mean of these metrics, whose levels are sides_of; a session may lack some of them."""
    earlier, later = sides_of
    if paired:
        return _of_pairs({name: later[name] - value for name, value in earlier.items() if name in later})
    sides = [(side.values(), _mean(side.values())) for side in (earlier, later)]
    log, sessions = sides[1][1] - sides[0][1], (len(earlier), len(later))
    df = sum(sessions) - 2
    if not df:
        error, df = _of_repetitions(members)
        return _Difference(log, error, df, sessions)
    spread = math.fsum((value - mean) ** 2 for values, mean in sides for value in values) / df
    error = math.sqrt(spread * (1 / len(earlier) + 1 / len(later)))
    return _Difference(log, error, df, sessions)


def _sides(members: Sequence[Series]) -> _Sides:
    if not all(metric.before and metric.after for metric in members):
        raise ValueError('a metric is compared where both sides have it')
    return _of_sessions([metric.logs[0] for metric in members]), _of_sessions([metric.logs[1] for metric in members])


def _of_sessions(logs: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """The mean of these metrics in each session that has at least one of them."""
    if len(logs) == 1:
        return logs[0]
    names = list(logs[0])
    if all(list(of_metric) == names for of_metric in logs):  # nearly always: no list for each session is built
        levels = zip(*(of_metric.values() for of_metric in logs), strict=True)
        return {name: _mean(values) for name, values in zip(names, levels, strict=True)}
    by_session = by_key(pair for of_metric in logs for pair in of_metric.items())
    return {name: _mean(values) for name, values in by_session.items()}


def _drift(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """The difference between the means that the trend from session to session within both sides would cause."""
    place = {name: number for number, name in enumerate(sorted({*before, *after}))}
    along = across = 0.0
    for side in (before, after):
        middle, level = fmean(place[name] for name in side), fmean(side.values())
        along += math.fsum((place[name] - middle) ** 2 for name in side)
        across += math.fsum((place[name] - middle) * (value - level) for name, value in side.items())
    apart = fmean(place[name] for name in after) - fmean(place[name] for name in before)
    return across / along * apart if along else 0.0


def _of_pairs(rounds: Mapping[str, float]) -> _Difference:
    n = len(rounds)
    if not n:
        raise ValueError('a paired metric is compared where a round has both sides of it')
    log = fmean(rounds.values())
    if n == 1:
        return _Difference(log, math.inf, 1, (1, 1))
    spread = math.fsum((value - log) ** 2 for value in rounds.values()) / (n - 1)
    return _Difference(log, math.sqrt(spread / n), n - 1, (n, n))


def _of_repetitions(members: Sequence[Series]) -> tuple[float, int]:
    """The standard error of the mean difference by the repetitions, and its degrees of freedom: n - 2 a series."""
    parts = []
    sides = [side for metric in members for side in (metric.before, metric.after)]
    for values in (samples for side in sides for samples in side.values()):
        if len(values) < 3:
            return math.inf, 1
        interval = t_interval(values, CONFIDENCE)
        error = interval.half_width / t_quantile(CONFIDENCE, interval.n - 1) / interval.mean / len(members)
        parts.append((error * error, interval.n - 2))
    variance, df = satterthwaite(parts)
    return math.sqrt(variance), df


_ROUNDING = 1e-9


def _mean(values: Collection[float]) -> float:
    """The mean, as statistics.fmean, which takes twice as long for a few values; often there is only one."""
    return next(iter(values)) if len(values) == 1 else math.fsum(values) / len(values)


def _sign(series: Series) -> int:
    return 1 if series.better == HIGHER else -1


def _chance(difference: _Difference) -> float:
    """The probability of a difference this large by chance; 1 where the spread between sessions is unknown."""
    if not difference.between or abs(difference.log) <= _ROUNDING:
        return 1.0
    return 1 - t_within(abs(difference.log) / difference.error, difference.df) if difference.error else 0.0


def _benjamini_hochberg(chances: Sequence[float]) -> float:
    """The largest chance of a difference that is named: on average LEVEL / 2 of these at most are false; -1: none."""
    levels = [(chance, LEVEL / 2 * place / len(chances)) for place, chance in enumerate(sorted(chances), 1)]
    return max((chance for chance, level in levels if chance <= level), default=-1.0)


def _change(difference: _Difference, margin: float, level: float, sign: int, drift: float) -> MetricChange:
    """The change as a ratio after / before. level: the largest chance of a difference that is named; sign: 1 if more
    is better, -1 if less is; drift: as a logarithm"""
    verdict, low, high, explained = UNDECIDED, None, None, None
    chance = _chance(difference)
    if math.isfinite(difference.error):
        half = t_quantile(CONFIDENCE, difference.df) * difference.error
        if difference.between and max(abs(difference.log - half), abs(difference.log + half)) <= margin + _ROUNDING:
            verdict = SAME
        elif chance <= level and drift / difference.log >= EXPLAINS:
            explained = _ratio(sign * drift)
        elif chance <= level:
            verdict = BETTER if difference.log > 0 else WORSE
        low, high = sorted(_ratio(sign * (difference.log + side)) for side in (-half, half))
    ratio, between = _ratio(sign * difference.log), difference.between
    return MetricChange(
        verdict, ratio, low, high, chance if between else None, difference.sessions, between, explained
    )


def _counted(series: Series, difference: _Difference) -> MetricChange:
    """The change of a count: any difference is a change, unless the count varied within a side."""
    before, after = (
        {value for samples in side.values() for value in samples} for side in (series.before, series.after)
    )
    ratio = _ratio(_sign(series) * difference.log)
    verdict = UNDECIDED
    if before == after:
        verdict = SAME
    elif len(before) == len(after) == 1:
        verdict = BETTER if difference.log > 0 else WORSE
    return MetricChange(verdict, ratio, None, None, None, difference.sessions, difference.between)


def _ratio(log: float) -> float:
    """The ratio, finite and above 0 however wide the interval of few sessions is."""
    return math.exp(max(-LARGEST_LOG, min(LARGEST_LOG, log)))
