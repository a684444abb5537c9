"""Scales: from a figure to its place on paper."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from seatrial.report import words

LOG_BEYOND = 20.0
"""A linear axis from zero shows a value that is less than a twentieth of the largest as nothing."""

HEADROOM = 1.05

CHARACTER_WIDTH = 0.64
"""Of the font's size: digits of common sans-serif fonts are 0.52 to 0.64 wide."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis. label is empty where it would touch its neighbour's."""

    at: float
    label: str


@dataclass(frozen=True)
class Scale:
    """A linear scale from zero, or a logarithmic one: `least` lies at `start` px and `most` at `end` px."""

    least: float
    most: float
    logarithmic: bool
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value; one outside lies at the end that it is beyond."""
        return self.start + (self.end - self.start) * max(0.0, min(1.0, self._share(value)))

    def ticks(self, count: int = 5, said: Callable[[float], str] = words.figure) -> tuple[Tick, ...]:
        """About `count` ticks at round values, each labelled as `said` says it."""
        values = log_ticks(self.least, self.most) if self.logarithmic else nice_ticks(self.most, count)
        return tuple(Tick(self(value), said(value)) for value in values)

    def _share(self, value: float) -> float:
        if not self.logarithmic:
            return (value - self.least) / (self.most - self.least)
        return math.log(value / self.least) / math.log(self.most / self.least) if value > 0 else 0.0


def scale_of(means: Sequence[float], others: Iterable[float], start: float, end: float) -> Scale:
    """The scale that shows all these values: linear, unless that would press one of the means flat."""
    values = [value for value in (*means, *others) if value > 0]
    if not values:
        return Scale(0.0, 1.0, False, start, end)
    if min(means) > 0 and max(means) / min(means) > LOG_BEYOND:
        return Scale(min(values) / HEADROOM, max(values) * HEADROOM, True, start, end)
    return Scale(0.0, max(values) * HEADROOM, False, start, end)


def apart(ticks: Sequence[Tick], font: float, end: float) -> tuple[Tick, ...]:
    """The ticks of a lying axis, without the labels that would touch the one before or reach beyond the end."""
    kept: list[Tick] = []
    taken = 0.0
    for tick in ticks:
        half = font * CHARACTER_WIDTH * len(tick.label) / 2
        clear = taken <= tick.at - half and tick.at + half <= end
        kept.append(tick if clear else replace(tick, label=''))
        taken = tick.at + half + 0.4 * font if clear else taken
    return tuple(kept)


def nice_ticks(most: float, count: int) -> list[float]:
    """0 and the multiples up to `most` of 1, 2 or 5 x 10^k, at most count + 1 values; count is at least 3."""
    rough = most / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [step * i for i in range(math.floor(most / step + 1e-9) + 1)]


def log_ticks(least: float, most: float) -> list[float]:
    """The 1, 2 and 5 x 10^k between the two; only the 10^k where those are many."""
    inside = round_values(least, most)
    decades = [10.0**power for power in _powers(least, most) if least <= 10.0**power <= most]
    return inside if len(inside) <= 8 else decades


def round_values(least: float, most: float) -> list[float]:
    """The 1, 2 and 5 x 10^k between the two, however many."""
    values = [factor * 10.0**power for power in _powers(least, most) for factor in (1, 2, 5)]
    return [value for value in values if least <= value <= most]


def _powers(least: float, most: float) -> range:
    return range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
