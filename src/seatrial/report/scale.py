"""Scales: from a figure to its place on paper."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seatrial.report import words

LOG_BEYOND = 20.0
"""A linear axis from zero shows a value that is less than a twentieth of the largest as nothing."""

HEADROOM = 1.05


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

    def ticks(self, count: int = 5) -> tuple[Tick, ...]:
        """About `count` ticks at round values."""
        values = log_ticks(self.least, self.most) if self.logarithmic else nice_ticks(self.most, count)
        return tuple(Tick(self(value), words.figure(value)) for value in values)

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


def nice_ticks(most: float, count: int) -> list[float]:
    """0 and the multiples up to `most` of 1, 2 or 5 x 10^k, at most count + 1 values; count is at least 3."""
    rough = most / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [step * i for i in range(math.floor(most / step + 1e-9) + 1)]


def log_ticks(least: float, most: float) -> list[float]:
    """The 1, 2 and 5 x 10^k between the two; only the 10^k where those are many."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    inside = [value for power in powers for factor in (1, 2, 5) if least <= (value := factor * 10.0**power) <= most]
    decades = [10.0**power for power in powers if least <= 10.0**power <= most]
    return inside if len(inside) <= 8 else decades
