"""Scales and axes: from a figure to its place on paper. The templates draw the places."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from seatrial.report.figures import NUMBER, Unit, figure

LOG_BEYOND = 20.0
"""A linear axis from zero shows a value that is less than a twentieth of the largest as nothing."""

HEADROOM = 1.05

CHARACTER_WIDTH = 0.64
"""Of the font's size: digits of common sans-serif fonts are 0.52 to 0.64 wide."""

TICK_GAP = 8.0
"""px between the upright axis and the labels of its ticks."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis. label: empty where it would touch its neighbour's; anchor: its part that lies at `at`."""

    at: float
    label: str
    anchor: str = 'middle'


@dataclass(frozen=True)
class Paper:
    """The size of a drawing and what is left free around its axes, in px; to their left it is what labels need."""

    width: int
    height: float
    right: int = 14
    top: int = 12
    bottom: int = 46
    font: float = 13.0

    @property
    def narrow(self) -> bool:
        """Whether it is for a telephone."""
        return self.width < 500

    def room(self, ticks: Sequence[Tick]) -> float:
        """What the labels of an upright axis and its name need beside it, in px."""
        longest = max((len(tick.label) for tick in ticks), default=0)
        return self.font * (1.9 + CHARACTER_WIDTH * longest) + TICK_GAP


def papers(height: float, narrow_height: float, **margins: int) -> dict[str, Paper]:
    """Both sizes of a drawing, by their names in style.css."""
    return {
        'wide': Paper(820, height, **margins),
        'narrow': replace(Paper(330, narrow_height, right=10, font=12.0), **margins),
    }


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The axes of a drawing. left, right: where the lying axis begins and ends, in px."""

    paper: Paper
    left: float
    right: float
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    x_label: str
    y_label: str = ''


@dataclass(frozen=True)
class Scale:
    """A linear scale from zero, or a logarithmic one: `low` lies at `start` px and `high` at `end` px.

    unit: what its ticks are round in; all values are in the base unit
    """

    low: float
    high: float
    logarithmic: bool
    start: float
    end: float
    unit: Unit = NUMBER

    def __call__(self, value: float) -> float:
        """The place of a value; one outside lies at the end that it is beyond."""
        return self.start + (self.end - self.start) * max(0.0, min(1.0, self._share(value)))

    def ticks(self, count: int = 5, said: Callable[[float], str] = figure) -> tuple[Tick, ...]:
        """About `count` ticks at round values, each labelled as `said` says it."""
        low, high, size = self.unit.of(self.low), self.unit.of(self.high), self.unit.size
        values = log_ticks(low, high) if self.logarithmic else nice_ticks(high, count)
        return tuple(Tick(self(value * size), said(value)) for value in values)

    def _share(self, value: float) -> float:
        if not self.logarithmic:
            return (value - self.low) / (self.high - self.low)
        return math.log(value / self.low) / math.log(self.high / self.low) if value > 0 else 0.0


def scale_of(means: Sequence[float], others: Iterable[float], start: float, end: float, unit: Unit = NUMBER) -> Scale:
    """The scale that shows all these values: linear, unless that would press one of the means flat."""
    values = [value for value in (*means, *others) if value > 0]
    if not values:
        return Scale(0.0, unit.size, False, start, end, unit)
    if min(means) > 0 and max(means) / min(means) > LOG_BEYOND:
        return Scale(min(values) / HEADROOM, max(values) * HEADROOM, True, start, end, unit)
    return Scale(0.0, max(values) * HEADROOM, False, start, end, unit)


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


def nice_ticks(high: float, count: int) -> list[float]:
    """0 and the multiples up to `high` of 1, 2 or 5 x 10^k, at most count + 1 values; count is at least 3."""
    rough = high / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [step * i for i in range(math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """The 1, 2 and 5 x 10^k between the two; only the 10^k where those are many."""
    inside = round_values(low, high)
    decades = [10.0**power for power in _powers(low, high) if low <= 10.0**power <= high]
    return inside if len(inside) <= 8 else decades


def round_values(low: float, high: float) -> list[float]:
    """The 1, 2 and 5 x 10^k between the two, however many."""
    values = [factor * 10.0**power for power in _powers(low, high) for factor in (1, 2, 5)]
    return [value for value in values if low <= value <= high]


def _powers(low: float, high: float) -> range:
    return range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
