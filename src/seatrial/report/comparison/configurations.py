"""Labelled sessions as configurations: capacity, duration, read and write of each in one table, and the choice."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

import polars as pl

from seatrial.history.provenance import CASE, percent_full, percent_words
from seatrial.history.rows import OF_ONE_SESSION
from seatrial.judge.choice import FigureColumn, Figures, Spread, Winner, front, spread
from seatrial.model.metric import HIGHER, LOWER
from seatrial.model.units import BINARY
from seatrial.report.comparison.before_after import READ, WRITE, family_of
from seatrial.report.figures import Unit, common_unit

CAPACITY = 'capacity'
COLUMNS = (
    FigureColumn(CAPACITY, 'B'),
    FigureColumn('duration', 's', LOWER),
    FigureColumn('read', 'B/s'),
    FigureColumn('write', 'B/s'),
)
_FAMILIES = {'read': READ, 'write': WRITE}
_KEY = (*CASE, 'metric', 'cache')
_CONFIGURED = ('file_system', 'layout')


class Configurations(NamedTuple):
    figures: Mapping[str, Figures]
    metrics: Mapping[str, int]  # by column the number of metrics whose mean it is
    full: Mapping[str, tuple[int, ...]]  # by configuration, percent_full of its rows: nothing wins by it

    @property
    def spreads(self) -> list[tuple[FigureColumn, Spread | None]]:
        return [(column, spread(column, self.figures)) for column in COLUMNS]

    @property
    def front(self) -> list[str]:
        """The configurations that no other beats in every column known for all; empty without such a column."""
        common = [each for each in COLUMNS if all(own.get(each.name) is not None for own in self.figures.values())]
        return front(common, self.figures) if common else []


def configurations(sides: Mapping[str, pl.DataFrame], capacities: Mapping[str, float]) -> Configurations:
    """The configurations from the rows of their sessions. capacities: in bytes, where known

    duration: from the first launch to the end of the last, the median of the sessions
    read, write: the geometric mean of the metrics that exist for all configurations which have any
    Names of layouts or file systems do not matter if each configuration has only one.
    """
    alone = [each for each in _CONFIGURED if all(rows[each].n_unique() == 1 for rows in sides.values())]
    sides = {name: rows.with_columns(pl.lit('').alias(each) for each in alone) for name, rows in sides.items()}
    found: dict[str, dict[str, float | None]] = {
        name: {CAPACITY: capacities.get(name), 'duration': _duration_s(rows)} for name, rows in sides.items()
    }
    metrics: dict[str, int] = {}
    for column, family in _FAMILIES.items():
        means = {name: own for name, rows in sides.items() if (own := _means(rows, family))}
        common = set.intersection(*(set(own) for own in means.values())) if means else set()
        metrics[column] = len(common)
        for name in sides:
            logarithms = [math.log(means[name][key]) for key in common] if name in means else []
            found[name][column] = math.exp(fmean(logarithms)) if logarithms else None
    return Configurations(found, metrics, {name: percent_full(rows) for name, rows in sides.items()})


def _duration_s(rows: pl.DataFrame) -> float | None:
    lasted = pl.duration(microseconds=(pl.col('seconds').fill_null(0.0) * 1e6).cast(pl.Int64))
    ends = (
        rows.filter(pl.col('started').is_not_null())
        .group_by('session')
        .agg(((pl.col('started') + lasted).max() - pl.col('started').min()).dt.total_microseconds().alias('us'))
    )
    return median(ends['us'].to_list()) / 1e6 if ends.height else None


def _means(rows: pl.DataFrame, family: str) -> dict[tuple[Any, ...], float]:
    """The mean over sessions of the session means, for each metric of a family."""
    usable = rows.filter(
        ~OF_ONE_SESSION
        & pl.col('valid')
        & (pl.col('metric_verdict') != 'INVALID')
        & (pl.col('value') > 0)
        & (pl.col('unit') == 'B/s')
        & (pl.col('better') == HIGHER)
    ).with_columns(pl.col('cache').fill_null(''))
    kinds = ('axis', 'kind', 'unit', 'operation')
    means = (
        usable.group_by(*_KEY, 'session')
        .agg(pl.col(*kinds).first(), pl.col('value').mean())
        .group_by(_KEY)
        .agg(pl.col(*kinds).first(), pl.col('value').mean())
    )
    return {
        tuple(row[name] for name in _KEY): row['value']
        for row in means.iter_rows(named=True)
        if family_of(row) == family
    }


def unit_of(column: FigureColumn, figures: Mapping[str, Figures], system: str = BINARY) -> Unit:
    """The unit in which a column is shown. Sizes have the units of bandwidths, without the second."""
    known = [value for own in figures.values() if (value := own.get(column.name)) is not None]
    return common_unit(known, 'B/s' if column.unit == 'B' else column.unit, system)


def words(column: FigureColumn, value: float | None, unit: Unit) -> str:
    """'4.24 GiB/s', or 'unknown'."""
    if value is None:
        return 'unknown'
    said = unit.words(value)
    return said.removesuffix('/s') if column.unit == 'B' else said


def sentences(found: Configurations, chosen: Winner | None, column: FigureColumn | None, system: str) -> list[str]:
    """The table in sentences: for each column its ends, their difference and its winner; then the choice."""
    said = []
    for each, own in found.spreads:
        unit = unit_of(each, found.figures, system)
        if own is None:
            said.append(f'{each.name}: unknown of all')
            continue
        line = (
            f'{each.name}: min {words(each, own.low[1], unit)} ({own.low[0]}), max {words(each, own.high[1], unit)} '
            f'({own.high[0]}), difference {words(each, own.difference, unit)}, {100 * own.share:.1f} % of the maximum'
        )
        unknown = f'; unknown of {", ".join(own.unknown)}' if own.unknown else ''
        said.append(f'{line}; winner {own.winner}{unknown}')
    if found.front:
        said.append(f'no other is better in every figure that all have: {", ".join(found.front)}')
    if chosen is None or column is None:
        return said
    for name, missed in chosen.missed.items():
        said.append(f'{name} misses {", ".join(missed)}')
    if chosen.unmeasured:
        said.append(f'{column.name} is unknown of {", ".join(chosen.unmeasured)}: it cannot be chosen')
    said.append(f'chosen for {column.name}: {chosen.chosen or "none"}')
    for text in chosen.unknown:
        said.append(f'BUT it is unknown whether it meets {text}: {chosen.chosen} has no such figure')
    return said


def to_json(found: Configurations, chosen: Winner | None, column: FigureColumn | None) -> Mapping[str, Any]:
    """The table and the choice as plain values, in base units."""
    return {
        'configurations': found.figures,
        'metrics': found.metrics,
        'used_percent': found.full,
        'columns': {
            each.name: own and {**own._asdict(), 'difference': own.difference, 'share_of_maximum': own.share}
            for each, own in found.spreads
        },
        'front': found.front,
        'choice': chosen and column and {'by': column.name, **chosen._asdict()},
    }


def table(found: Configurations, system: str) -> Sequence[tuple[str, ...]]:
    """A row for each configuration: name, figures in words, and fullness."""
    units = {each: unit_of(each, found.figures, system) for each in COLUMNS}
    return [
        (name, *(words(each, own.get(each.name), units[each]) for each in COLUMNS), percent_words(found.full[name]))
        for name, own in found.figures.items()
    ]
