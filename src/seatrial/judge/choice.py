"""A table of several configurations of one file system: the winner of each column, and the choice under requirements.
An unknown figure wins nothing, and no requirement counts it as missed or as met: a configuration can be chosen
although a required figure of it is unknown; the report then says so. Shares are of the maximum, as those of read and
write are in the table of Belyakov et al. for ten pools of Lustre on ZFS."""

import operator
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from seatrial.model.metric import HIGHER
from seatrial.model.units import in_base

Figures = Mapping[str, float | None]  # figures by column, in the base unit; None or absent is unknown
_RELATIONS = {'>=': operator.ge, '<=': operator.le}
_FORM = re.compile(r'\s*([a-z]+)\s*(>=|<=)\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]*)\s*', re.ASCII)


class FigureColumn(NamedTuple):
    name: str
    unit: str  # base unit: B, s, B/s or op/s
    better: str = HIGHER  # HIGHER or LOWER


class Spread(NamedTuple):
    # low, high: the name of the configuration, and its figure
    low: tuple[str, float]
    high: tuple[str, float]
    winner: str
    unknown: tuple[str, ...]  # configurations without a figure in this column

    @property
    def difference(self) -> float:
        return self.high[1] - self.low[1]

    @property
    def share(self) -> float:
        return self.difference / self.high[1] if self.high[1] else 0.0


class Requirement(NamedTuple):
    column: str
    relation: str  # '>=' or '<='
    value: float  # figure in the base unit
    text: str

    def met(self, figure: float | None) -> bool | None:
        return None if figure is None else bool(_RELATIONS[self.relation](figure, self.value))


class Winner(NamedTuple):
    chosen: str | None  # None if no configuration is left
    unknown: tuple[str, ...]  # requirements for which its figure is unknown
    missed: Mapping[str, tuple[str, ...]]  # requirements missed by each configuration
    unmeasured: tuple[str, ...]  # configurations without the figure to choose by


def requirement(text: str, columns: Sequence[FigureColumn]) -> Requirement:
    """Parses a requirement such as 'capacity>=2500TB'. Raises ValueError that names the valid form."""
    match, units = _FORM.fullmatch(text), {column.name: column.unit for column in columns}
    if match is None or match[1] not in units:
        raise ValueError(f"'{text}' is no requirement; write one of {', '.join(units)}, >= or <=, a figure and unit")
    name, relation, figure, unit = match.groups()
    base = units[name]
    return Requirement(name, relation, quantity_of(figure, unit, base), text.strip())


def quantity_of(figure: str, unit: str, base: str) -> float:
    """The figure in the base unit. Raises ValueError for a unit of another dimension."""
    # Sizes have the units of bandwidths, without the second.
    converted = in_base(float(figure), f'{unit}/s' if base == 'B' else unit)
    if converted.unit != ('B/s' if base == 'B' else base):
        raise ValueError(f"'{figure}{unit}' is not in a unit of {base}")
    return converted.value


def spread(column: FigureColumn, configurations: Mapping[str, Figures]) -> Spread | None:
    """The range of the known figures of a column; None if none is known."""
    known = {name: value for name, row in configurations.items() if (value := row.get(column.name)) is not None}
    if not known:
        return None
    low, high = (pick(known.items(), key=lambda item: item[1]) for pick in (min, max))
    unknown = tuple(name for name in configurations if name not in known)
    return Spread(low, high, (high if column.better == HIGHER else low)[0], unknown)


def choice(
    column: FigureColumn, configurations: Mapping[str, Figures], requirements: Sequence[Requirement] = ()
) -> Winner:
    """The best of the column among the configurations that miss no requirement."""
    missed = {
        name: tuple(wanted.text for wanted in requirements if wanted.met(figures.get(wanted.column)) is False)
        for name, figures in configurations.items()
    }
    misses = {name: texts for name, texts in missed.items() if texts}
    left = {name: figures for name, figures in configurations.items() if name not in misses}
    best = spread(column, left)
    if best is None:
        return Winner(None, (), misses, tuple(left))
    known = left[best.winner]
    unknown = tuple(wanted.text for wanted in requirements if wanted.met(known.get(wanted.column)) is None)
    return Winner(best.winner, unknown, misses, best.unknown)
