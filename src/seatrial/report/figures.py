"""Figures for people: three significant digits, and one unit for all that are compared."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from seatrial.judge.verdict import MetricResult, Verdict
from seatrial.model.units import BINARY, duration, in_base, in_unit, unit_for
from seatrial.workload.words import by_key

NARROW_SPACE = '\u202f'
GROUPED = 9999.5  # larger figures have grouped digits (10 400): a unit in which they are smaller is preferred
_LETTERS = ((1e9, 1e9, 'G'), (1e6, 1e6, 'M'), (1e4, 1e3, 'k'), (1e3, 1.0, ''))


class Unit(NamedTuple):
    """The unit in which figures are shown; they are given in its base unit. name: 'GiB/s'; empty for a number"""

    name: str = ''

    @property
    def size(self) -> float:
        return in_base(1.0, self.name).value

    def of(self, value: float) -> float:
        return in_unit(value, self.name)

    def figure(self, value: float) -> str:
        return figure(self.of(value))

    def span(self, low: float, high: float) -> str:
        """'1.20 \u2013 1.26', or one figure if both read the same."""
        return ' \u2013 '.join(dict.fromkeys((self.figure(low), self.figure(high))))

    def words(self, value: float) -> str:
        return f'{self.figure(value)} {self.name}'.rstrip()


NUMBER = Unit()


def common_unit(values: Iterable[float], base: str, system: str) -> Unit:
    """The unit for figures that are compared: the best one for the smallest in which the largest is still short."""
    ordered = sorted(abs(value) for value in values if value and math.isfinite(value)) or [0.0]
    names = list(dict.fromkeys(unit_for(value, base, system) for value in ordered))
    return Unit(next((name for name in names if in_unit(ordered[-1], name) < GROUPED), names[-1]))


def units_of(metrics: Iterable[MetricResult], system: str) -> dict[str, Unit]:
    """The unit for the means of these metrics, by the base unit of their dimension."""
    means = by_key((metric.unit, metric.summary.mean if metric.summary else 0.0) for metric in metrics)
    return {base: common_unit(values, base, system) for base, values in means.items()}


def is_valid(metric: MetricResult) -> bool:
    """True if it has a mean that may be used."""
    return metric.summary is not None and metric.verdict is not Verdict.INVALID


def cache_words(metrics: Iterable[MetricResult]) -> str:
    """The origin of figures, if not the servers: 'cached', 'partly cached', 'cache unknown'; else empty."""
    seen = {metric.cache for metric in metrics}
    if seen & {'cached', 'mixed'}:
        return 'cached' if seen == {'cached'} else 'partly cached'
    return 'cache unknown' if 'unknown' in seen else ''


def figure(value: float) -> str:
    """A figure with three significant digits: 0.523, 5.23, 52.3, 523, 5230, 52 300."""
    if not math.isfinite(value):
        return '\u2013'
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    if abs(value) >= GROUPED:
        return f'{round(value, digits):,.0f}'.replace(',', NARROW_SPACE)
    return f'{round(value, digits):.{min(max(0, digits), 6)}f}'


def compact(value: float) -> str:
    """A round figure in a narrow place: 500, 20k, 1M."""
    least, factor, letter = next((row for row in _LETTERS if value >= row[0]), (0.0, 1.0, ''))
    return f'{value / factor:g}{letter}' if least else figure(value)


def percent(share: float) -> str:
    """A share as per cent, with one decimal below 10: 4.2 %, 37 %."""
    return f'{100 * share:.1f} %' if abs(share) < 0.0995 else f'{100 * share:.0f} %'


def seconds(value: float) -> str:
    """A duration: 0.81 s, 45 s, 12 min, 3.5 h."""
    return f'{value:.2f} s' if value < 10 else duration(value)


def brief(value: float, base: str = 's', system: str = BINARY) -> str:
    """One figure by itself, in its best unit: 1.23 s, 33.4 \u00b5s, 5.2 GiB/s."""
    return common_unit((value,), base, system).words(value)
