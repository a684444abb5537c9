"""Configurations, which are labelled sessions: a table of capacity, duration, read and write; and the choice."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

import polars as pl

from seatrial.history.provenance import CASE, percent_words, spanned
from seatrial.history.rows import OF_ONE_SESSION
from seatrial.judge.choice import FigureColumn, Figures, Spread, Winner, spread
from seatrial.model.metric import HIGHER, LOWER
from seatrial.model.units import BINARY
from seatrial.report.comparison.before_after import FAMILY, READ, WRITE, family_of
from seatrial.report.figures import Unit, common_unit

CAPACITY = 'capacity'
COLUMNS = (
    FigureColumn(CAPACITY, 'B'),
    FigureColumn('duration', 's', LOWER),
    FigureColumn('read', 'B/s'),
    FigureColumn('write', 'B/s'),
)
_KEY = (*CASE, 'metric', 'cache')


class Configurations(NamedTuple):
    figures: Mapping[str, Figures]
    metrics: Mapping[str, int]  # number of metrics in the mean of a column
    full: Mapping[str, tuple[int, ...]]  # least and largest used_percent of a configuration; not part of the choice

    @property
    def spreads(self) -> list[tuple[FigureColumn, Spread | None]]:
        return [(column, spread(column, self.figures)) for column in COLUMNS]


def configurations(sides: Mapping[str, pl.DataFrame], capacities: Mapping[str, float]) -> Configurations:
    """The configurations from the rows of their sessions. duration: from the first launch to the end of the last one,
    median over the sessions; read, write: geometric mean of the metrics common to all configurations that have any.
    The names of layouts or file systems are ignored if every configuration has one. capacities: in bytes, if known"""
    configured = ('file_system', 'layout')
    single = [name for name in configured if all(rows[name].n_unique() == 1 for rows in sides.values())]
    sides = {name: rows.with_columns(pl.lit('').alias(field) for field in single) for name, rows in sides.items()}
    by_name: dict[str, dict[str, float | None]] = {
        name: {CAPACITY: capacities.get(name), 'duration': _duration_s(rows)} for name, rows in sides.items()
    }
    metrics: dict[str, int] = {}
    for column, family in (('read', READ), ('write', WRITE)):
        means = {name: of_family for name, rows in sides.items() if (of_family := _means(rows, family))}
        common = set.intersection(*map(set, means.values())) if means else set()
        metrics[column] = len(common)
        for name in sides:
            logarithms = [math.log(means[name][key]) for key in common] if name in means else []
            by_name[name][column] = math.exp(fmean(logarithms)) if logarithms else None
    return Configurations(by_name, metrics, {name: spanned(rows['used_percent']) for name, rows in sides.items()})


def _duration_s(rows: pl.DataFrame) -> float | None:
    length = pl.duration(microseconds=(pl.col('seconds').fill_null(0.0) * 1e6).cast(pl.Int64))
    ends = (
        rows.filter(pl.col('started').is_not_null())
        .group_by('session')
        .agg(((pl.col('started') + length).max() - pl.col('started').min()).dt.total_microseconds().alias('us'))
    )
    return median(ends['us'].to_list()) / 1e6 if ends.height else None


def _means(rows: pl.DataFrame, family: str) -> dict[tuple[Any, ...], float]:
    """The mean over sessions of the session means, for each metric of a family."""
    valid = pl.col('valid') & (pl.col('metric_verdict') != 'INVALID') & (pl.col('value') > 0)
    means = (
        rows.filter(~OF_ONE_SESSION, valid, unit='B/s', better=HIGHER)
        .with_columns(pl.col('cache').fill_null(''))
        .group_by(*_KEY, 'session')
        .agg(pl.col(FAMILY).first(), pl.col('value').mean())
        .group_by(_KEY)
        .agg(pl.col(FAMILY).first(), pl.col('value').mean())
    )
    return {
        tuple(row[name] for name in _KEY): row['value']
        for row in means.iter_rows(named=True)
        if family_of(row) == family
    }


def unit_of(column: FigureColumn, figures: Mapping[str, Figures], system: str = BINARY) -> Unit:
    """The unit in which a column is shown. A size has the unit of a bandwidth without '/s'."""
    known = [value for row in figures.values() if (value := row.get(column.name)) is not None]
    return common_unit(known, 'B/s' if column.unit == 'B' else column.unit, system)


def words(column: FigureColumn, value: float | None, unit: Unit) -> str:
    """'4.24 GiB/s', or 'unknown'."""
    if value is None:
        return 'unknown'
    text = unit.words(value)
    return text.removesuffix('/s') if column.unit == 'B' else text


def sentences(choices: Configurations, chosen: Winner | None, column: FigureColumn | None, system: str) -> list[str]:
    """The table in sentences: minimum, maximum, difference and winner of each column; then the choice."""
    lines = []
    for shown, ends in choices.spreads:
        unit = unit_of(shown, choices.figures, system)
        if ends is None:
            lines.append(f'{shown.name}: not measured for any configuration')
            continue
        low, high, difference = (words(shown, end, unit) for end in (ends.low[1], ends.high[1], ends.difference))
        unknown = f'; not measured for {", ".join(ends.unknown)}' if ends.unknown else ''
        lines.append(
            f'{shown.name}: min {low} ({ends.low[0]}), max {high} ({ends.high[0]}), difference {difference}, '
            f'{100 * ends.share:.1f} % of the maximum; winner {ends.winner}{unknown}'
        )
    if chosen is None or column is None:
        return lines
    lines += [f'{name} misses {", ".join(missed)}' for name, missed in chosen.missed.items()]
    if chosen.unmeasured:
        lines.append(f'{column.name} was not measured for {", ".join(chosen.unmeasured)}, so it cannot be chosen')
    lines.append(f'chosen for {column.name}: {chosen.chosen or "none"}')
    beginning = f'BUT whether {chosen.chosen} meets'
    return lines + [f'{beginning} {text} is unknown: it has no such figure' for text in chosen.unknown]


def to_json(choices: Configurations, chosen: Winner | None, column: FigureColumn | None) -> Mapping[str, Any]:
    """The table and the choice as plain values, in base units."""
    return {
        'configurations': choices.figures,
        'metrics': choices.metrics,
        'used_percent': choices.full,
        'columns': {
            shown.name: ends and {**ends._asdict(), 'difference': ends.difference, 'share_of_maximum': ends.share}
            for shown, ends in choices.spreads
        },
        'choice': chosen and column and {'by': column.name, **chosen._asdict()},
    }


def table(choices: Configurations, system: str) -> Sequence[tuple[str, ...]]:
    """A row for each configuration: name, figures in words, and fullness."""
    units = {column: unit_of(column, choices.figures, system) for column in COLUMNS}
    rows = []
    for name, figures in choices.figures.items():
        cells = (words(column, figures.get(column.name), unit) for column, unit in units.items())
        rows.append((name, *cells, percent_words(choices.full[name])))
    return rows
