"""Maps: one metric of a case in colour, over two parameters, one in the rows and one in the columns. They show
layouts with two settings each, and file sizes by transfer sizes or by numbers of tasks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seatrial.judge.statistics import SampleSummary
from seatrial.judge.verdict import MetricResult
from seatrial.model.plan import TrialPlan
from seatrial.model.units import format_size
from seatrial.report import words
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, is_valid, units_of
from seatrial.workload.registry import kind_of
from seatrial.workload.words import by_key, counted

SHADES = 5  # shades of a field, from none to that of the map's largest mean; style.css has them


@dataclass(frozen=True)
class Field:
    summary: SampleSummary | None  # None if not measured or invalid
    shade: int = 0  # 0 to SHADES - 1
    best: bool = False
    alike: bool = False


@dataclass(frozen=True)
class Map:
    name: str  # name of the metric
    unit: Unit
    by: str  # parameter of the columns, under the name
    corner: str  # parameter of the rows
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Field, ...]], ...]


def fields(
    places: Mapping[tuple[str, str], str], metrics: Sequence[MetricResult], best: str = '', alike: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[Field, ...]], ...]]:
    """The columns, and each row with its fields. places: labels of points by (row, column); metrics: one figure for
    each point; best, alike: labels of points"""
    rows, columns = (tuple(dict.fromkeys(place[end] for place in places)) for end in (0, 1))
    known = {metric.point: metric.summary for metric in metrics if is_valid(metric)}
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
    drawn = []
    for case in cases:
        by, places = _grid(case.plan)
        if places:
            units, named = units_of(case.result.metrics, system), kind_of(case.plan.kind).metric_words
            by_name = by_key((metric.name, metric) for metric in case.result.metrics)
            maps = [
                Map(named(name), units[metrics[0].unit], f'by file size and {by}', 'file', *fields(places, metrics))
                for name, metrics in by_name.items()
            ]
            drawn.append({'case': case.plan.case, 'sentence': words.sentence(case), 'maps': maps})
    return drawn


_COLUMNS: tuple[tuple[str, str, Callable[[int], str]], ...] = (
    ('transfer_size', 'transfer size', format_size),
    ('tasks', 'number of tasks', lambda number: counted(number, 'task')),
)
"""Parameters beside the file size: of a point, as people read it, and a value of it."""


def _grid(plan: TrialPlan) -> tuple[str, dict[tuple[str, str], str]]:
    """The parameter that alone varies beside the file size, and the labels of the points by both; else empty."""
    for field, by, shown in _COLUMNS:
        points = sorted((point.value('bytes_per_task'), point.value(field), point.label) for point in plan.points)
        varied = [len({point[place] for point in points}) for place in (0, 1)]
        if plan.axis.name == 'variant' and min(varied) > 1 and len({point[:2] for point in points}) == len(points):
            return by, {(format_size(size), shown(value)): label for size, value, label in points}
    return '', {}
