"""Relations between measured points: each holds, fails, or is undecided by these samples.

A naive max/min over a dozen equal points exceeds a margin of 1.105 or 1.222 on many good systems (rule P19), so every
relation is judged by an interval for a ratio of means, and a straddling interval is 'undecided'.

One comparison. The logarithm of a mean has the standard error s / (mean sqrt(n)) (delta method), which is what the
stopping rule bounds; two of them are compared as Welch does, with Satterthwaite's degrees of freedom rounded down
(Welch, Biometrika 34, 1947): points have unequal n and may have unequal variances.

The largest of m ratios. The lower end is the largest of the m one-sided lower ends at 1 - alpha / m (Bonferroni; for
all pairs this is the interval of Ury and Wiggins 1971, next to Tamhane's T2 of 1979): none lies above its true ratio,
and so not above the largest, with probability 1 - alpha. The upper end needs no such correction: it is the largest of
the m upper ends at 1 - alpha, one of which belongs to the truly largest ratio (intersection-union, Berger and Hsu,
Statistical Science 11, 1996). Games and Howell's studentised range is shorter but, with the 6 samples that a point
may have, finds a difference among 13 equal points in 7 % of sweeps instead of 5 % (docs/explanation/statistics.md).
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, permutations, takewhile
from typing import NamedTuple

from seatrial.judge.statistics import CONFIDENCE, MIN_SAMPLES
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


def undecided(why: str) -> Relation:
    return Relation(UNDECIDED, None, None, None, CONFIDENCE, f'{why}: undecided')


def insensitive(points: Points, margin: float, among: str = 'points') -> Relation:
    """The largest ratio between any two points is at most `margin`. among: the plural for points, 'transfer sizes'"""
    return _bounded(points, list(permutations(points, 2)), margin, f'largest ratio between two {among}')


def does_not_degrade(points: Points, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """No point is more than `margin` times better than the last one; better: HIGHER or LOWER, of the metric."""
    subject = f'largest {_WORSENING[better]} from one of the {among} to the last'
    return _bounded(points, _worsenings(_to_last(points), better), margin, subject)


def degrades(points: Points, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """Some point is more than `margin` times better than the last one: the opposite of `does_not_degrade`."""
    found = does_not_degrade(points, margin, among, better)
    verdict = {HOLDS: FAILS, FAILS: HOLDS}.get(found.verdict, UNDECIDED)
    said = found.sentence.rpartition(': ')[0]
    return replace(found, verdict=verdict, sentence=f'{said}, a {_WORSENING[better]} is expected: {verdict}')


def reaches(points: Points, at: str, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """No point is more than `margin` times better than the point `at`."""
    pairs = _worsenings([(label, at) for label in points if label != at], better)
    subject = f'largest {_WORSENING[better]} from one of the {among} to {at}'
    return _bounded(points, pairs, margin, subject)


def plateaus(points: Points, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """It gets better or stays: no point is more than `margin` times better than the next one, or the last."""
    pairs = _worsenings(list(dict.fromkeys([*pairwise(points), *_to_last(points)])), better)
    subject = f'largest {_WORSENING[better]} between {among}, to the next or to the last'
    return _bounded(points, pairs, margin, subject)


def falls_with(points: Points, by: str, spearman: float = -0.8) -> Relation:
    """The larger `by`, the smaller the figure: Spearman's coefficient is at most `spearman`, and the last point is
    below the first.

    It holds if the means are ordered so and the interval for last / first lies below 1. It fails if that interval
    lies above 1, or if the coefficient exceeds `spearman` even when only rises that are proved together (Bonferroni
    over all pairs) are counted. The interval is of one ratio that was named beforehand: no correction is due.
    """
    lacking = missing(points)
    if lacking:
        return undecided(lacking)
    means = {label: log_mean(values, label) for label, values in points.items()}
    labels = list(points)
    ratio = _ratio(means[labels[-1]], means[labels[0]], (1 - CONFIDENCE) / 2)
    rank = _spearman(list(means.values()))
    if ratio.high < 1 and rank <= spearman + _ROUNDING:
        verdict = HOLDS
    elif ratio.low > 1 or _min_spearman(list(means.values()), (1 - CONFIDENCE) / 2) > spearman + _ROUNDING:
        verdict = FAILS
    else:
        verdict = UNDECIDED
    sentence = (
        f'{labels[-1]} over {labels[0]} is {_figure(ratio.estimate)}, {_span(ratio, CONFIDENCE)}, limit 1; '
        f'rank correlation with {by} {rank:.2f}, limit {spearman:g}: {verdict}'
    )
    return Relation(verdict, ratio.estimate, ratio.low, ratio.high, CONFIDENCE, sentence)


def at_least(
    over: Sequence[float],
    under: Sequence[float],
    times: float,
    names: tuple[str, str] = ('the first', 'the second'),
    confidence: float = CONFIDENCE,
) -> Relation:
    """The mean of `over` is at least `times` that of `under`; `names` are those of the two: ('read', 'write')."""
    return lies_between(over, under, times, math.inf, names, confidence)


def lies_between(
    over: Sequence[float],
    under: Sequence[float],
    lowest: float,
    highest: float,
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
    ratio = _ratio(log_mean(over, names[0]), log_mean(under, names[1]), (1 - confidence) / 2)
    if lowest <= ratio.low and ratio.high <= highest:
        verdict = HOLDS
    else:
        verdict = FAILS if ratio.high < lowest or ratio.low > highest else UNDECIDED
    sentence = f'{subject} is {_figure(ratio.estimate)}, {_span(ratio, confidence)}, wanted {wanted}: {verdict}'
    return Relation(verdict, ratio.estimate, ratio.low, ratio.high, confidence, sentence)


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
    """The figure, lower is better, is at most `limit` at every point. subject: its name, 'longest over shortest time'

    Student's intervals of the mean of ln(1 + figure): such figures are skewed, and samples are few. It fails if one
    point fails with the error probability shared between all (Bonferroni), and holds if each point holds.

    shown: turns the value into the figure shown to people
    """
    lacking = _too_few(points)
    if lacking:
        return undecided(f'{subject}: {lacking}')
    logs = {label: [math.log1p(value) for value in values] for label, values in points.items()}
    shared = 1 - (1 - CONFIDENCE) / len(points)
    found = {label: t_interval(values, CONFIDENCE) for label, values in logs.items()}
    fails = any(math.expm1(t_interval(values, shared).low) > limit for values in logs.values())
    holds = all(math.expm1(each.high) <= limit for each in found.values())
    verdict = FAILS if fails else HOLDS if holds else UNDECIDED
    label = max(found, key=lambda label: found[label].mean)
    estimate, *ends = (shown(math.expm1(end)) for end in (found[label].mean, found[label].low, found[label].high))
    worst = _Ratio(estimate, *sorted(ends))
    sentence = (
        f'{subject} {_figure(worst.estimate)} ({label}), {_span(worst, CONFIDENCE)}, wanted {wanted} '
        f'{_figure(shown(limit))}: {verdict}'
    )
    return Relation(verdict, worst.estimate, worst.low, worst.high, CONFIDENCE, sentence)


def alike(points: Mapping[str, Points], margin: float, subject: str) -> Relation:
    """None of those that worked at once has more than `margin` times what another has, at any point.

    points: the values of each launch, by name and label. Two values of one launch share its moment: Student's
    interval of the mean logarithm of their ratio. It fails if one pair fails at one point with the error probability
    shared between all (Bonferroni), and holds if each does.
    """
    logs = {
        f'{one} over {other}{f" at {label}" if len(points) > 1 else ""}': [
            math.log(a / b) for a, b in zip(own[one], own[other], strict=True)
        ]
        for label, own in points.items()
        for one, other in combinations(own, 2)
    }
    lacking = _too_few(logs)
    if lacking:
        return undecided(f'{subject}: {lacking}')
    shared = 1 - (1 - CONFIDENCE) / len(logs)
    found = {label: t_interval(values, CONFIDENCE) for label, values in logs.items()}
    strict = [t_interval(values, shared) for values in logs.values()]
    bound = math.log(margin)
    fails = any(each.low > bound or each.high < -bound for each in strict)
    holds = all(-bound <= each.low and each.high <= bound for each in found.values())
    verdict = FAILS if fails else HOLDS if holds else UNDECIDED
    label = max(found, key=lambda label: abs(found[label].mean))
    worst = _Ratio(*(math.exp(end) for end in (found[label].mean, found[label].low, found[label].high)))
    sentence = (
        f'{subject} {_figure(worst.estimate)} ({label}), {_span(worst, CONFIDENCE)}, wanted between '
        f'{_figure(1 / margin)} and {_figure(margin)}: {verdict}'
    )
    return Relation(verdict, worst.estimate, worst.low, worst.high, CONFIDENCE, sentence)


def sustains(points: Points, least: float) -> Relation:
    """The figure, higher is better, is at least `least` at the first point; the sentence also names the last point up
    to which all intervals (Student's, of the mean) lie at `least` or above."""
    lacking = _too_few(points) if points else 'nothing was measured'
    if lacking:
        return undecided(lacking)
    found = {label: t_interval(values, CONFIDENCE) for label, values in points.items()}
    labels = list(found)
    good = list(takewhile(lambda label: found[label].low >= least, labels))
    own = found[labels[0]]
    verdict = HOLDS if good else FAILS if own.high < least else UNDECIDED
    shown = good[-1] if good else labels[0]
    at = found[shown]
    which = f'{_figure(least)} is sustained up to {good[-1]}' if good else f'{_figure(least)} is not sustained'
    span = _span(_Ratio(at.mean, at.low, at.high), CONFIDENCE)
    more = (
        f'; {labels[len(good)]} has {_figure(found[labels[len(good)]].mean)}' if 0 < len(good) < len(labels) else ''
    )
    sentence = f'{which}: {shown} has {_figure(at.mean)}, {span}{more}: {verdict}'
    return Relation(verdict, at.mean, at.low, at.high, CONFIDENCE, sentence)


def unimodal(points: Points, margin: float, among: str = 'points', better: str = HIGHER) -> Relation:
    """The curve gets better up to one point and worse from there on: no valley between two points is deeper than
    `margin`.

    A valley is a point that is worse than one before and one after it, and as deep as its lower side. Each end of its
    interval is the lower one of both sides; the largest valley of all triples of points is judged as the largest
    ratio is.
    """
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
    estimate = max(1.0, math.exp(depth(deepest, lambda a, b: a.log - b.log)))
    low = max(1.0, *(depth(valley, lambda a, b: _low(a, b, alpha / len(valleys))) for valley in valleys))
    high = max(1.0, *(depth(valley, lambda a, b: 1 / _low(b, a, alpha)) for valley in valleys))
    verdict = HOLDS if high <= margin else FAILS if low > margin else UNDECIDED
    which = f' at {deepest[1]}' if estimate > 1 else ''
    span = _span(_Ratio(estimate, low, high), CONFIDENCE, 'simultaneous ')
    sentence = (
        f'best of the {among} {peak}; deepest valley {_figure(estimate)}{which}, {span}, '
        f'margin {_figure(margin)}: {verdict}'
    )
    return Relation(verdict, estimate, low, high, CONFIDENCE, sentence)


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


def _worsenings(pairs: Sequence[tuple[str, str]], better: str) -> list[tuple[str, str]]:
    """Pairs of an earlier and a later point, ordered so that first / second is above 1 if it gets worse."""
    return [pair if better == HIGHER else pair[::-1] for pair in pairs]


def _to_last(points: Points) -> list[tuple[str, str]]:
    labels = list(points)
    return [(label, labels[-1]) for label in labels[:-1]]


def _bounded(points: Points, pairs: Sequence[tuple[str, str]], margin: float, subject: str) -> Relation:
    """The relation that the largest ratio first / second of these pairs, or else 1, is at most the margin."""
    if margin <= 1:
        raise ValueError(f'a margin is above 1, as in 1.222 for two means that are each known to 10 %: {margin}')
    lacking = missing(points)
    if lacking:
        return undecided(f'{subject}: {lacking}')
    alpha = (1 - CONFIDENCE) / 2
    means = {label: log_mean(values, label) for label, values in points.items()}
    above, below = max(pairs, key=lambda pair: means[pair[0]].log - means[pair[1]].log)
    found = _Ratio(
        estimate=max(1.0, math.exp(means[above].log - means[below].log)),
        low=max(1.0, *(_low(means[a], means[b], alpha / len(pairs)) for a, b in pairs)),
        high=max(1.0, *(1 / _low(means[b], means[a], alpha) for a, b in pairs)),
    )
    verdict = HOLDS if found.high <= margin else FAILS if found.low > margin else UNDECIDED
    which = f' ({above} over {below})' if found.estimate > 1 else ''
    sentence = (
        f'{subject} {_figure(found.estimate)}{which}, {_span(found, CONFIDENCE, "simultaneous ")}, '
        f'margin {_figure(margin)}: {verdict}'
    )
    return Relation(verdict, found.estimate, found.low, found.high, CONFIDENCE, sentence)


def missing(points: Points) -> str:
    """The reason why these points cannot decide anything; empty if they can."""
    if len(points) < 2:
        return 'there is nothing to compare with fewer than two points'
    return _too_few(points)


def _too_few(points: Points) -> str:
    label, values = min(points.items(), key=lambda item: len(item[1]))
    if len(values) < MIN_SAMPLES:
        return f'{label} has {len(values)} of the {MIN_SAMPLES} samples that a verdict needs'
    return ''


def log_mean(values: Sequence[float], label: str) -> LogMean:
    if min(values) <= 0:
        raise ValueError(f'{label}: a sample of {min(values):g} takes part in no ratio; a rate is above 0')
    interval = t_interval(values, CONFIDENCE)
    error = interval.half_width / t_quantile(CONFIDENCE, len(values) - 1) / interval.mean
    return LogMean(math.log(interval.mean), error * error, len(values) - 1)


def _ratio(over: LogMean, under: LogMean, alpha: float) -> _Ratio:
    return _Ratio(math.exp(over.log - under.log), _low(over, under, alpha), 1 / _low(under, over, alpha))


def _low(over: LogMean, under: LogMean, alpha: float) -> float:
    """The lower bound of the ratio of the two means at confidence 1 - alpha (Welch)."""
    variance = over.variance + under.variance
    if variance == 0:
        return math.exp(over.log - under.log)
    df = variance**2 / (over.variance**2 / over.df + under.variance**2 / under.df)
    return math.exp(over.log - under.log - t_quantile(1 - 2 * alpha, int(df + _ROUNDING)) * math.sqrt(variance))


def _spearman(means: Sequence[LogMean]) -> float:
    """Spearman's coefficient of the means with their order."""
    return _from_rises(
        len(means), {(i, j): (1 + _sign(means[j].log - means[i].log)) / 2 for i, j in _places(len(means))}
    )


def _min_spearman(means: Sequence[LogMean], alpha: float) -> float:
    """The smallest coefficient that the true means can have: only rises that are proved together count."""
    pairs = _places(len(means))
    return _from_rises(
        len(means), {(i, j): float(_low(means[j], means[i], alpha / len(pairs)) > 1) for i, j in pairs}
    )


def _from_rises(count: int, rises: Mapping[tuple[int, int], float]) -> float:
    """Spearman's coefficient from every pair of places: 1 for a rise, 1/2 for a tie, 0 for a fall. Sum d^2 = 2 sum of
    the distances of inverted pairs (Durbin and Stuart, JRSS B 13, 1951)."""
    return 12 * math.fsum((j - i) * rise for (i, j), rise in rises.items()) / (count**3 - count) - 1


def _places(count: int) -> list[tuple[int, int]]:
    return list(combinations(range(count), 2))


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)


def _span(ratio: _Ratio, confidence: float, kind: str = '') -> str:
    return f'{confidence * 100:g} % {kind}interval {_figure(ratio.low)} to {_figure(ratio.high)}'


def _figure(ratio: float) -> str:
    return f'{ratio:.4g}'
