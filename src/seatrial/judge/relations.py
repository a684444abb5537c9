"""Relations between measured points: each holds, fails, or is undecided by these samples.

A plain max/min over a dozen equal points exceeds a margin of 1.105 or 1.222 on many good systems (rule P19), so every
relation is judged by an interval for a ratio of means, and an interval that crosses the margin is 'undecided'.

One ratio: the logarithm of a mean has the standard error s / (mean sqrt(n)) (delta method). Two means are compared by
Welch's method (Biometrika 34, 1947), with Satterthwaite's degrees of freedom rounded down.

The largest of m ratios: the lower end is the largest of the m one-sided lower ends at 1 - alpha / m (Bonferroni; for
all pairs the interval of Ury and Wiggins 1971). The upper end is the largest of the m upper ends at 1 - alpha; it
needs no correction (intersection-union, Berger and Hsu, Statistical Science 11, 1996). Games and Howell's studentised
range is shorter but, with 6 samples, finds a difference among 13 equal points in 7 % of sweeps instead of 5 %."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, permutations, takewhile
from typing import NamedTuple

from seatrial.judge.statistics import CONFIDENCE, MIN_SAMPLES, satterthwaite
from seatrial.model.metric import HIGHER, LOWER
from seatrial.rules.stopping import t_interval, t_quantile

HOLDS, FAILS, UNDECIDED = 'holds', 'fails', 'undecided'
NO_LEAST = sys.float_info.min

Points = Mapping[str, Sequence[float]]  # the samples of each point by its label, in the order of the sweep


@dataclass(frozen=True)
class Relation:
    verdict: str  # 'holds', 'fails' or 'undecided'
    estimate: float | None  # the ratio of means that the relation is about; None with too few samples
    low: float | None  # two-sided interval of `estimate` at `confidence`, or None
    high: float | None
    confidence: float
    sentence: str


def without_figure(sentence: str, verdict: str = UNDECIDED) -> Relation:
    return Relation(verdict, None, None, None, CONFIDENCE, sentence)


def undecided(why: str) -> Relation:
    return without_figure(f'{why}: undecided')


def insensitive(points: Points, margin: float, among: str = 'points') -> Relation:
    """The largest ratio between any two points is at most `margin`. among: the plural for points, 'transfer sizes'"""
    return _bounded(points, list(permutations(points, 2)), margin, f'largest ratio between two {among}')


def does_not_degrade(points: Points, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """No point is more than `margin` times better than the last one; better: HIGHER or LOWER, of the metric."""
    subject = f'largest {_WORSENING[better]} from one of the {among} to the last'
    return _bounded(points, _to_last(points), margin, subject, better)


def degrades(points: Points, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """Some point is more than `margin` times better than the last one: the opposite of `does_not_degrade`."""
    opposite = does_not_degrade(points, margin, among, better)
    verdict = {HOLDS: FAILS, FAILS: HOLDS}.get(opposite.verdict, UNDECIDED)
    sentence = opposite.sentence.rpartition(': ')[0]
    return replace(opposite, verdict=verdict, sentence=f'{sentence}, a {_WORSENING[better]} is expected: {verdict}')


def reaches(points: Points, at: str, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """No point is more than `margin` times better than the point `at`."""
    pairs = [(label, at) for label in points if label != at]
    subject = f'largest {_WORSENING[better]} from one of the {among} to {at}'
    return _bounded(points, pairs, margin, subject, better)


def plateaus(points: Points, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """It gets better or stays: no point is more than `margin` times better than the next one, or the last."""
    pairs = list(dict.fromkeys([*pairwise(points), *_to_last(points)]))
    subject = f'largest {_WORSENING[better]} between {among}, to the next or to the last'
    return _bounded(points, pairs, margin, subject, better)


def falls_with(points: Points, by: str, spearman: float = -0.8) -> Relation:
    """The larger `by`, the smaller the figure: Spearman's coefficient is at most `spearman`, and the last point is
    below the first. It holds if the means are ordered so and the interval for last / first lies below 1. It fails if
    that interval lies above 1, or if the coefficient exceeds `spearman` even when only rises that are proved together
    (Bonferroni over all pairs) are counted. The ratio was named beforehand, so its interval needs no correction."""
    lacking = missing(points)
    if lacking:
        return undecided(lacking)
    labels = list(points)
    means = [log_mean(values, label) for label, values in points.items()]
    ratio = _ratio(means[-1], means[0])
    rank = _spearman(means, lambda one, other: 0.5 if one.log == other.log else float(one.log < other.log))
    alpha = (1 - CONFIDENCE) / 2 / math.comb(len(means), 2)
    lowest_rank = _spearman(means, lambda one, other: float(_low(other, one, alpha) > 1))
    sentence = (
        f'{labels[-1]} over {labels[0]} is {_figure(ratio.estimate)}, {_span(ratio)}, limit 1; '
        f'rank correlation with {by} {rank:.2f}, limit {spearman:g}'
    )
    limit = spearman + _ROUNDING
    return _judged(ratio.high < 1 and rank <= limit, ratio.low > 1 or lowest_rank > limit, ratio, sentence)


def lies_between(
    over: Sequence[float],
    under: Sequence[float],
    lowest: float,
    highest: float = math.inf,
    names: tuple[str, str] = ('the first', 'the second'),
    confidence: float = CONFIDENCE,
) -> Relation:
    """The mean of `over` is `lowest` (or NO_LEAST) to `highest` (or infinity) times that of `under`, inclusive."""
    if not 0 < lowest < highest:
        raise ValueError(f'a ratio is to lie between two ascending figures above 0, not {lowest} and {highest}')
    lacking = missing(dict(zip(names, (over, under), strict=True)))
    subject = f'{names[0]} over {names[1]}'
    if lacking:
        return undecided(f'{subject}: {lacking}')
    wanted = f'between {_figure(lowest)} and {_figure(highest)}'
    if lowest == NO_LEAST or math.isinf(highest):
        wanted = f'at most {_figure(highest)}' if lowest == NO_LEAST else f'at least {_figure(lowest)}'
    ratio = _ratio(log_mean(over, names[0]), log_mean(under, names[1]), confidence)
    holds, fails = lowest <= ratio.low and ratio.high <= highest, ratio.high < lowest or ratio.low > highest
    sentence = f'{subject} is {_figure(ratio.estimate)}, {_span(ratio, confidence)}, wanted {wanted}'
    return _judged(holds, fails, ratio, sentence, confidence)


def stays_above(points: Points, limit: float, subject: str) -> Relation:
    """The share, of which 1 is best, is at least `limit` at every point; judged as 1 - share by stays_below."""
    lacking = {label: [1 - value for value in values] for label, values in points.items()}
    return stays_below(lacking, 1 - limit, subject, 'at least', lambda value: 1 - value)


def stays_below(
    points: Points,
    limit: float,
    subject: str,
    wanted: str = 'at most',
    shown: Callable[[float], float] = lambda value: value,
) -> Relation:
    """The figure, lower is better, is at most `limit` at every point, by Student's intervals of the mean of
    ln(1 + figure): such figures are skewed, and samples are few. subject: its name, 'longest over shortest time';
    shown: turns the value into the figure shown to people"""
    logs = {label: [math.log1p(value) for value in values] for label, values in points.items()}
    limits = f'wanted {wanted} {_figure(shown(limit))}'
    return _everywhere(logs, (-math.inf, math.log1p(limit)), lambda log: shown(math.expm1(log)), subject, limits)


def alike(points: Mapping[str, Points], margin: float, subject: str) -> Relation:
    """None of those that worked at once has more than `margin` times what another has, at any point. points: the
    values of each launch, by name and label. Two values of one launch were taken at the same time, so Student's
    interval is of the mean logarithm of their ratio."""
    logs = {
        f'{one} over {other}{f" at {label}" if len(points) > 1 else ""}': [
            math.log(a / b) for a, b in zip(series[one], series[other], strict=True)
        ]
        for label, series in points.items()
        for one, other in combinations(series, 2)
    }
    bound = math.log(margin)
    limits = f'wanted between {_figure(1 / margin)} and {_figure(margin)}'
    return _everywhere(logs, (-bound, bound), math.exp, subject, limits)


def _everywhere(
    logs: Points, limits: tuple[float, float], shown: Callable[[float], float], subject: str, wanted: str
) -> Relation:
    """The mean of each series lies between the limits. It fails if one fails with the error probability shared
    between all (Bonferroni), and holds if each holds. The sentence names the one furthest from 0. shown: turns a mean
    into the figure shown to people"""
    lacking = _too_few(logs)
    if lacking:
        return undecided(f'{subject}: {lacking}')
    low, high = limits
    shared = 1 - (1 - CONFIDENCE) / len(logs)
    strict = [t_interval(values, shared) for values in logs.values()]
    intervals = {label: t_interval(values, CONFIDENCE) for label, values in logs.items()}
    fails = any(interval.low > high or interval.high < low for interval in strict)
    holds = not fails and all(low <= interval.low and interval.high <= high for interval in intervals.values())
    label, furthest = max(intervals.items(), key=lambda item: abs(item[1].mean))
    ratio = _Ratio(shown(furthest.mean), *sorted(map(shown, (furthest.low, furthest.high))))
    return _judged(holds, fails, ratio, f'{subject} {_figure(ratio.estimate)} ({label}), {_span(ratio)}, {wanted}')


def sustains(points: Points, least: float) -> Relation:
    """The figure, higher is better, is at least `least` at the first point; the sentence also names the last point up
    to which all intervals (Student's, of the mean) lie at `least` or above."""
    lacking = _too_few(points) if points else 'nothing was measured'
    if lacking:
        return undecided(lacking)
    intervals = {label: t_interval(values, CONFIDENCE) for label, values in points.items()}
    good = list(takewhile(lambda label: intervals[label].low >= least, intervals))
    label, below = good[-1] if good else next(iter(intervals)), list(intervals)[len(good) :]
    interval = intervals[label]
    which = f'{_figure(least)} is sustained up to {label}' if good else f'{_figure(least)} is not sustained'
    more = f'; {below[0]} has {_figure(intervals[below[0]].mean)}' if good and below else ''
    ratio = _Ratio(interval.mean, interval.low, interval.high)
    sentence = f'{which}: {label} has {_figure(ratio.estimate)}, {_span(ratio)}{more}'
    return _judged(bool(good), interval.high < least, ratio, sentence)


def unimodal(points: Points, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """The curve gets better up to one point and worse from there on: no valley between two points is deeper than
    `margin`. A valley is a point that is worse than one before and one after it; it is as deep as its lower side, and
    so are both ends of its interval. The largest valley of all triples of points is judged like the largest ratio."""
    lacking = missing(points) or ('' if len(points) > 2 else 'a peak takes three points')
    if lacking:
        return undecided(lacking)
    alpha, sign = (1 - CONFIDENCE) / 2, 1 if better == HIGHER else -1
    means = {label: log_mean(values, label) for label, values in points.items()}
    peak = max(means, key=lambda label: sign * means[label].log)
    valleys = list(combinations(means, 3))

    def depth(valley: tuple[str, str, str], side: Callable[[LogMean, LogMean], float]) -> float:
        pairs = ((means[end], means[valley[1]]) for end in (valley[0], valley[2]))
        return min(side(*(pair if better == HIGHER else pair[::-1])) for pair in pairs)

    deepest = max(valleys, key=lambda valley: depth(valley, lambda a, b: a.log - b.log))
    ratio = _Ratio(
        estimate=max(1.0, math.exp(depth(deepest, lambda a, b: a.log - b.log))),
        low=max(1.0, *(depth(valley, lambda a, b: _low(a, b, alpha / len(valleys))) for valley in valleys)),
        high=max(1.0, *(depth(valley, lambda a, b: 1 / _low(b, a, alpha)) for valley in valleys)),
    )
    which = f' at {deepest[1]}' if ratio.estimate > 1 else ''
    return _within(margin, ratio, f'best of the {among} {peak}; deepest valley {_figure(ratio.estimate)}{which}')


class LogMean(NamedTuple):
    """The logarithm of a mean, its squared standard error and the degrees of freedom of that."""

    log: float
    variance: float
    df: int


class _Ratio(NamedTuple):
    estimate: float
    low: float
    high: float


_WORSENING = {HIGHER: 'drop', LOWER: 'rise'}
_ROUNDING = 1e-9


def _to_last(points: Points) -> list[tuple[str, str]]:
    labels = list(points)
    return [(label, labels[-1]) for label in labels[:-1]]


def _bounded(
    points: Points, pairs: Sequence[tuple[str, str]], margin: float, subject: str, better: str = HIGHER
) -> Relation:
    """The largest first / second (LOWER: second / first) of these pairs, or else 1, is at most the margin."""
    if margin <= 1:
        raise ValueError(f'a margin is above 1, as in 1.222 for two means that are each known to 10 %: {margin}')
    lacking = missing(points)
    if lacking:
        return undecided(f'{subject}: {lacking}')
    alpha = (1 - CONFIDENCE) / 2
    means = {label: log_mean(values, label) for label, values in points.items()}
    if better == LOWER:
        pairs = [pair[::-1] for pair in pairs]
    above, below = max(pairs, key=lambda pair: means[pair[0]].log - means[pair[1]].log)
    ratio = _Ratio(
        estimate=max(1.0, math.exp(means[above].log - means[below].log)),
        low=max(1.0, *(_low(means[a], means[b], alpha / len(pairs)) for a, b in pairs)),
        high=max(1.0, *(1 / _low(means[b], means[a], alpha) for a, b in pairs)),
    )
    which = f' ({above} over {below})' if ratio.estimate > 1 else ''
    return _within(margin, ratio, f'{subject} {_figure(ratio.estimate)}{which}')


def _within(margin: float, ratio: _Ratio, sentence: str) -> Relation:
    span = _span(ratio, kind='simultaneous ')
    sentence = f'{sentence}, {span}, margin {_figure(margin)}'
    return _judged(ratio.high <= margin, ratio.low > margin, ratio, sentence)


def _judged(holds: bool, fails: bool, ratio: _Ratio, sentence: str, confidence: float = CONFIDENCE) -> Relation:
    """The relation about this ratio, undecided if it neither holds nor fails; the verdict ends the sentence."""
    verdict = HOLDS if holds else FAILS if fails else UNDECIDED
    return Relation(verdict, *ratio, confidence, f'{sentence}: {verdict}')


def missing(points: Points) -> str:
    """The reason why these points cannot decide anything; empty if they can."""
    return 'there is nothing to compare with fewer than two points' if len(points) < 2 else _too_few(points)


def _too_few(points: Points) -> str:
    label, values = min(points.items(), key=lambda item: len(item[1]))
    few = f'{label} has {len(values)} of the {MIN_SAMPLES} samples that a verdict needs'
    return few if len(values) < MIN_SAMPLES else ''


def log_mean(values: Sequence[float], label: str) -> LogMean:
    if min(values) <= 0:
        raise ValueError(f'{label}: a sample of {min(values):g} takes part in no ratio; a rate is above 0')
    interval = t_interval(values, CONFIDENCE)
    error = interval.half_width / t_quantile(CONFIDENCE, len(values) - 1) / interval.mean
    return LogMean(math.log(interval.mean), error * error, len(values) - 1)


def _ratio(over: LogMean, under: LogMean, confidence: float = CONFIDENCE) -> _Ratio:
    alpha = (1 - confidence) / 2
    return _Ratio(math.exp(over.log - under.log), _low(over, under, alpha), 1 / _low(under, over, alpha))


def _low(over: LogMean, under: LogMean, alpha: float) -> float:
    """The lower bound of the ratio of the two means at confidence 1 - alpha (Welch)."""
    variance, df = satterthwaite([over[1:], under[1:]])
    return math.exp(over.log - under.log - t_quantile(1 - 2 * alpha, df) * math.sqrt(variance))


def _spearman(means: Sequence[LogMean], rise: Callable[[LogMean, LogMean], float]) -> float:
    """Spearman's coefficient of the means with their order. Sum d^2 = 2 sum of the distances of inverted pairs
    (Durbin and Stuart, JRSS B 13, 1951). rise: 1 if the later of two means is larger, 1/2 if equal, else 0"""
    pairs = combinations(enumerate(means), 2)
    rises = math.fsum((j - i) * rise(earlier, later) for (i, earlier), (j, later) in pairs)
    return 12 * rises / (len(means) ** 3 - len(means)) - 1


def _span(ratio: _Ratio, confidence: float = CONFIDENCE, kind: str = '') -> str:
    return f'{confidence * 100:g} % {kind}interval {_figure(ratio.low)} to {_figure(ratio.high)}'


def _figure(ratio: float) -> str:
    return f'{ratio:.4g}'
