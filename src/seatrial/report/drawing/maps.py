"""Maps: one metric of a case in colour, over two parameters, one in the rows and one in the columns.

They show layouts with two settings each, and file sizes by transfer sizes or by numbers of tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from seatrial.judge.statistics import SampleSummary
from seatrial.judge.verdict import MetricResult
from seatrial.model.metric import HIGHER
from seatrial.model.plan import TrialPlan
from seatrial.model.units import format_size
from seatrial.report import words
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, is_valid, units_of
from seatrial.workload.registry import kind_of
from seatrial.workload.words import counted

SHADES = 5
"""Of a field, from none to that of the map's largest mean; style.css has them."""


@dataclass(frozen=True)
class Field:
    """One point on a map."""

    summary: SampleSummary | None  # None if not measured or invalid
    shade: int = 0  # 0 to SHADES - 1
    best: bool = False
    alike: bool = False


@dataclass(frozen=True)
class Map:
    name: str  # of the metric
    unit: Unit
    by: str  # parameter of the columns, under the name
    corner: str  # parameter of the rows
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Field, ...]], ...]
    notes: tuple[str, ...] = ()  # what the map shows beside its figures, a sentence each


def fields(
    places: Mapping[tuple[str, str], str], metrics: Sequence[MetricResult], best: str = '', alike: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[Field, ...]], ...]]:
    """The columns, and each row with its fields. places: labels of points by (row, column); metrics: one figure for
    each point; best, alike: labels of points"""
    rows, columns = (tuple(dict.fromkeys(place[each] for place in places)) for each in (0, 1))
    known = {each.point: each.summary for each in metrics if is_valid(each)}
    largest = max((summary.mean for summary in known.values() if summary is not None), default=0.0)

    def field(label: str) -> Field:
        summary = known.get(label)
        if summary is None:
            return Field(None)
        shade = round((SHADES - 1) * summary.mean / largest) if largest > 0 else 0
        return Field(summary, shade, label == best, label in alike)

    return columns, tuple((row, tuple(field(places.get((row, column), '')) for column in columns)) for row in rows)


def surfaces(cases: Sequence[CaseEvidence], system: str) -> list[dict[str, Any]]:
    """The maps of every case over file sizes and transfer sizes or numbers of tasks, with a sentence on the case."""
    drawn = ((each, _maps(each, system)) for each in cases)
    return [
        {'case': each.plan.case, 'sentence': words.sentence(each), 'maps': maps}
        for each, maps in drawn
        if maps is not None
    ]


def _maps(evidence: CaseEvidence, system: str) -> list[Map] | None:
    plan, result = evidence.plan, evidence.result
    grid = next((found for found in (_grid(plan, *each) for each in _COLUMNS) if found), None)
    if grid is None:
        return None
    by, more, places = grid
    units, named = units_of(result.metrics, system), kind_of(plan.kind).metric_words
    maps = []
    for name in dict.fromkeys(each.name for each in result.metrics):
        own = [each for each in result.metrics if each.name == name]
        unit = units[own[0].unit]
        columns, rows = fields(places, own)
        notes = () if result.unjudged or own[0].better != HIGHER else _falls(unit.words, more, columns, rows)
        maps.append(Map(named(name), unit, f'by file size and {by}', 'file', columns, rows, notes))
    return maps


_COLUMNS: tuple[tuple[str, str, str, Callable[[int], str]], ...] = (
    ('transfer_size', 'transfer size', 'larger transfers', format_size),
    ('tasks', 'number of tasks', 'more tasks', lambda number: counted(number, 'task')),
)
"""Parameters beside the file size: of a point, as people read it, what more of it is, and a value of it."""


def _grid(
    plan: TrialPlan, field: str, by: str, more: str, shown: Callable[[int], str]
) -> tuple[str, str, dict[tuple[str, str], str]] | None:
    """The labels of the points by file size and the given field; None unless exactly these two vary."""
    own = sorted((point.value('bytes_per_task'), point.value(field), point.label) for point in plan.points)
    varied = [len({each[place] for each in own}) for place in (0, 1)]
    if plan.axis.name != 'variant' or min(varied) < 2 or len({each[:2] for each in own}) < len(own):
        return None
    return by, more, {(format_size(size), shown(other)): label for size, other, label in own}


def _falls(
    figure: Callable[[float], str],
    more: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Field]]],
) -> tuple[str, ...]:
    """Sentences on where a larger column value is slower, by separate intervals; or that it is nowhere."""
    found = []
    for row, own in rows:
        there = [
            (column, each.summary) for column, each in zip(columns, own, strict=True) if each.summary is not None
        ]
        found += [
            f'files of {row}: slower with {column} than with {before} ({figure(own_.mean)} and {figure(last.mean)})'
            for (before, last), (column, own_) in pairwise(there)
            if own_.interval.high < last.interval.low
        ]
    return tuple(found) or (f'{more} are nowhere slower',)
