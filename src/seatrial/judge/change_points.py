"""Finds the step in a curve over sizes, and the changes of level in a series of nights: where, how surely, how high.

A curve is modelled by two power laws (lines on logarithmic axes) with a step between two neighbouring points: two
levels would show a step in every curve that rises. The step is where the sum of squares round the lines is smallest
(Quandt, JASA 53, 1958). Each point counts by the logarithm of its mean, because alignment can move a point that
repeats well. The interval of the step is Student's for the difference of two lines (Draper and Smith, Applied
Regression Analysis, 1998), with the error probability shared between all places (Bonferroni). The interval of the
place holds all places that the likelihood ratio does not reject (Siegmund, Int. Statistical Review 56, 1988).

In a series of nights, the change is where Student's t between the nights before and after is largest; both parts are
then searched in the same way (binary segmentation: Vostrikova, Soviet Mathematics Doklady 24, 1981). The probability
of a change is that of its t, times the number of places in the whole series (Bonferroni), for independent nights: a
level that drifts is reported as one or several steps. docs/explanation/statistics.md says how often both are right.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import fmean, linear_regression
from typing import NamedTuple

from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED, Points, Relation, log_mean, missing
from seatrial.model.metric import HIGHER
from seatrial.rules.stopping import t_quantile, t_within

CONFIDENCE = 0.95
MIN_SIDE = 3  # points on each side of a step: any two are on a line
MIN_POINTS = 2 * MIN_SIDE + 1  # two lines are four figures: three points are left to show the scatter
MIN_NIGHTS = 3  # nights on each side of a change: fewer are a bad night or two
_ROUNDING = 1e-9


@dataclass(frozen=True)
class CurveStep:
    """The step of a curve between two points: how many times better the upper line is than the lower one there."""

    below: str  # labels of the two points between which the step lies
    above: str
    ratio: float
    low: float  # interval of the ratio, simultaneous over all places of the curve
    high: float

    @property
    def is_significant(self) -> bool:
        return self.low > 1 + _ROUNDING or self.high < 1 - _ROUNDING


@dataclass(frozen=True)
class Steps:
    every: tuple[CurveStep, ...]
    likeliest: CurveStep
    places: tuple[CurveStep, ...]  # those in the interval of the likeliest place


def steps(points: Points, values: Mapping[str, float], better: str = HIGHER) -> Steps:
    """The steps of a curve of at least MIN_POINTS points, whose sizes above 0 are `values`."""
    labels, sign = sorted(points, key=values.__getitem__), 1 if better == HIGHER else -1
    means = [log_mean(points[label], label) for label in labels]
    sizes, logs = [math.log(values[label]) for label in labels], [sign * mean.log for mean in means]
    fits = [_fit(sizes, logs, place) for place in range(MIN_SIDE, len(labels) - MIN_SIDE + 1)]
    df, least = len(labels) - 4, fmean(mean.variance for mean in means)
    t = t_quantile(1 - (1 - CONFIDENCE) / len(fits), df)
    every = []
    for fit, (below, above) in zip(fits, list(pairwise(labels))[MIN_SIDE - 1 :], strict=False):
        error = t * math.sqrt(max(fit.squares / df, least))
        low = min(height - error * deviation for height, deviation in fit.gaps)
        high = max(height + error * deviation for height, deviation in fit.gaps)
        every.append(CurveStep(below, above, *map(math.exp, (fmean(height for height, _ in fit.gaps), low, high))))
    best = min(fit.squares for fit in fits)
    limit = best + t_quantile(CONFIDENCE, df) ** 2 * max(best / df, least)
    places = tuple(step for step, fit in zip(every, fits, strict=True) if fit.squares <= limit)
    return Steps(tuple(every), every[[fit.squares for fit in fits].index(best)], places)


def changes_between(
    points: Points,
    values: Mapping[str, float],
    first: float,
    last: float,
    times: float,
    among: str = 'points',
    better: str = HIGHER,
) -> Relation:
    """Holds if the change point lies between the sizes `first` and `last` and the curve above it is at least `times`
    better. Fails if it lies elsewhere, is smaller, or if no place between the two can have a step of `times`."""
    lacking = missing(points)
    if not lacking and len(points) < MIN_POINTS:
        lacking = f'{len(points)} {among} of the {MIN_POINTS} that a change point needs'
    curve = None if lacking else steps(points, values, better)
    places = curve.every if curve else ()
    wanted = [place for place in places if first <= values[place.below] and values[place.above] <= last]
    if not curve or not wanted:
        lacking = lacking or f'fewer than {MIN_SIDE} {among} on a side of where a change point is expected'
        return Relation(UNDECIDED, None, None, None, CONFIDENCE, f'{lacking}: undecided')
    step = curve.likeliest
    inside = [place in wanted for place in curve.places]
    if step.is_significant:
        holds, fails = all(inside) and step.low >= times, not any(inside) or step.high < times
        where = f'{curve.places[0].below}-{curve.places[-1].above}'
        subject = f'change point between {step.below} and {step.above} ({CONFIDENCE * 100:g} % interval {where})'
    else:
        holds, fails = False, all(place.high < times for place in wanted)
        subject = f'no change point; the likeliest is between {step.below} and {step.above}'
    verdict = FAILS if fails else HOLDS if holds else UNDECIDED
    sentence = (
        f'{subject}: {step.ratio:.4g} times as good above it, {CONFIDENCE * 100:g} % simultaneous interval '
        f'{step.low:.4g} to {step.high:.4g}, wanted at least {times:.4g} between {wanted[0].below} and '
        f'{wanted[-1].above}: {verdict}'
    )
    return Relation(verdict, step.ratio, step.low, step.high, CONFIDENCE, sentence)


class _Fit(NamedTuple):
    # height of the right line above the left one, and its standard deviation relative to that of a point, at the last
    # point of the left line and at the first point of the right one
    gaps: list[tuple[float, float]]
    squares: float  # sum of squares round both lines


class _Line(NamedTuple):
    slope: float
    centre: tuple[float, float]
    number: int
    spread: float
    squares: float

    def at(self, size: float) -> tuple[float, float]:
        """The height of the line at this size, and its variance over that of a point."""
        away = size - self.centre[0]
        return self.centre[1] + self.slope * away, 1 / self.number + away * away / self.spread


def _fit(sizes: Sequence[float], logs: Sequence[float], place: int) -> _Fit:
    below, above = _line(sizes[:place], logs[:place]), _line(sizes[place:], logs[place:])
    gaps = []
    for size in sizes[place - 1 : place + 1]:
        (under, one), (over, other) = below.at(size), above.at(size)
        gaps.append((over - under, math.sqrt(one + other)))
    return _Fit(gaps, below.squares + above.squares)


def _line(sizes: Sequence[float], logs: Sequence[float]) -> _Line:
    slope, intercept = linear_regression(sizes, logs)
    centre = fmean(sizes), fmean(logs)
    spread = math.fsum((size - centre[0]) ** 2 for size in sizes)
    squares = math.fsum((log - intercept - slope * size) ** 2 for size, log in zip(sizes, logs, strict=True))
    return _Line(slope, centre, len(sizes), spread, squares)


class LevelChange(NamedTuple):
    first: int  # number of the first value on the new level
    chance: float  # probability of such a change in a series without one


def changes(values: Sequence[float], level: float) -> list[LevelChange]:
    """The changes in a series of logarithms, in its order, that chance produces with probability `level` at most."""
    level_changes: list[LevelChange] = []
    places, parts = len(values) - 2 * MIN_NIGHTS + 1, [(0, len(values))]
    while parts:
        start, end = parts.pop()
        place = _likeliest(values[start:end], places)
        if place is not None and place.chance <= level:
            first = start + place.first
            level_changes.append(LevelChange(first, place.chance))
            parts += [(start, first), (first, end)]
    return sorted(level_changes)


def _likeliest(values: Sequence[float], among: int) -> LevelChange | None:
    """The most likely change, however likely; None for too few values. among: places in the whole series"""
    n = len(values)
    places = range(MIN_NIGHTS, n - MIN_NIGHTS + 1)
    if not places:
        return None
    middle = math.fsum(values) / n
    sums = list(accumulate(value - middle for value in values))
    whole = math.fsum((value - middle) ** 2 for value in values)
    # The sum of squares that a step explains; what it leaves is the spread.
    explained = {place: sums[place - 1] ** 2 * n / (place * (n - place)) for place in places}
    first = max(explained, key=explained.__getitem__)
    left = whole - explained[first]
    if explained[first] <= _ROUNDING**2 * n:
        return LevelChange(first, 1.0)
    if left <= _ROUNDING**2 * n:
        return LevelChange(first, 0.0)
    t = math.sqrt(explained[first] * (n - 2) / left)
    return LevelChange(first, min(1.0, among * (1 - t_within(t, n - 2))))
