"""Changes of the level in a series of nights: the night, the size, and the chance that it is noise.

The place is the one with the largest Student's t between the nights before and after it; then both parts are searched
in the same way until none is left (binary segmentation: Vostrikova, Soviet Mathematics Doklady 24, 1981). The chance
is that of the t, times the number of places in the whole series (Bonferroni), for the place was picked after the
fact. This holds for nights that are independent: a level that drifts, as on a file system that fills up, is reported
as one or several steps. docs/explanation/statistics.md says how often it is right.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from seatrial.rules.stopping import t_within

MIN_NIGHTS = 3  # on each side of a change: fewer are a bad night or two


class LevelChange(NamedTuple):
    first: int  # number of the first value on the new level
    chance: float  # probability of such a change in a series without one


def changes(values: Sequence[float], level: float) -> list[LevelChange]:
    """The changes in a series of logarithms, in its order, that chance produces with probability `level` at most."""
    found: list[LevelChange] = []
    places, parts = len(values) - 2 * MIN_NIGHTS + 1, [(0, len(values))]
    while parts:
        start, end = parts.pop()
        place = _largest(values[start:end], places)
        if place is not None and place.chance <= level:
            first = start + place.first
            found.append(LevelChange(first, place.chance))
            parts += [(start, first), (first, end)]
    return sorted(found)


def _largest(values: Sequence[float], among: int) -> LevelChange | None:
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


_ROUNDING = 1e-9
