"""Which layout, and which sizes: the best layout for each metric of a case that sweeps them, as far as it is decided;
and maps of a metric in colour. Layouts whose interval overlaps that of the one with the best mean count as equal to
it; the loss of the default is the ratio of the two means, with its interval. Nothing here decides a verdict. The
results have the names that templates/layouts.html and templates/map.html read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from seatrial.judge.statistics import SampleSummary
from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.metric import HIGHER
from seatrial.model.plan import TrialPlan
from seatrial.model.units import format_size
from seatrial.report import words
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, is_valid, percent, units_of
from seatrial.report.session import ratios
from seatrial.report.session.ratios import Ratio
from seatrial.workload.registry import kind_of
from seatrial.workload.words import by_key, counted

SHADES = 5  # shades of a field, from none to that of the map's largest mean; style.css has them


class Field(NamedTuple):
    summary: SampleSummary | None  # None if not measured or invalid
    shade: int = 0  # 0 to SHADES - 1
    best: bool = False
    alike: bool = False


class Map(NamedTuple):
    name: str  # name of the metric
    unit: Unit
    by: str  # parameter of the columns, under the name
    corner: str  # parameter of the rows
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Field, ...]], ...]


def fields(
    places: Mapping[tuple[str, str], str], metrics: Sequence[MetricResult], best: str = '', alike: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[Field, ...]], ...]]:
    """The columns, and each row with its fields. places: labels of points by (row, column); best, alike: labels"""
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


class LayoutOption(NamedTuple):
    label: str
    words: str  # its name with its settings: 'wide (c-1.S4M)'; 'default'
    metric: MetricResult
    summary: SampleSummary


def recommendations(cases: Sequence[CaseEvidence], system: str) -> list[dict[str, Any]]:
    """Every case that sweeps layouts and has a choice. unjudged: why nothing is recommended, or empty"""
    return [
        {
            'case': case.plan.case,
            'sentence': words.sentence(case),
            'choices': of_case,
            'maps': [drawn for choice in of_case if (drawn := _map(case.plan, case.result, choice)) is not None],
            'unjudged': case.result.unjudged,
        }
        for case in cases
        if not case.plan.axis.equals and any(point.layout is not None for point in case.plan.points)
        if (of_case := choices(case.plan, case.result, system))
    ]


def choices(plan: TrialPlan, result: CaseResult, system: str) -> list[dict[str, Any]]:
    """The best layout for each metric with at least two valid ones. alike: layouts equal to it, the best first"""
    points = {point.label: point for point in plan.points}
    default = next((label for label, point in points.items() if not point.layout or point.layout.is_default), None)
    units = units_of(result.metrics, system)
    in_words = {label: words.point_words(plan.axis, point) for label, point in points.items()}
    by_name = by_key(
        (metric.name, LayoutOption(metric.point, in_words[metric.point], metric, metric.summary))
        for metric in result.metrics
        if metric.summary is not None and metric.summary.mean > 0 and is_valid(metric)
    )
    return [
        _choice(kind_of(plan.kind).metric_words(name), units[options[0].metric.unit], options, default)
        for name, options in by_name.items()
        if len(options) > 1
    ]


def _choice(name: str, unit: Unit, options: Sequence[LayoutOption], default: str | None) -> dict[str, Any]:
    higher = options[0].metric.better == HIGHER
    ordered = sorted(options, key=lambda option: option.summary.mean, reverse=higher)
    best = ordered[0]
    interval = best.summary.interval
    alike = tuple(
        option
        for option in ordered[1:]
        if option.summary.interval.high >= interval.low and option.summary.interval.low <= interval.high
    )
    plain = next((option for option in options if option.label == default), None)
    figure = unit.words(best.summary.mean)
    default_words, loss = 'not measured', ''
    sentence = f'{best.words} {"has the best mean" if alike else "is the best"} with {figure}'
    if plain is best:
        default_words = 'is the best'
        sentence = f'no layout is better than the default with {figure}'
    elif plain in alike:
        default_words = 'not distinguishable'
        sentence = f'no layout is proved to be better than the default; {best.words} has the best mean, {figure}'
    elif plain is not None:
        default_words = _loss(ratios.ratio(plain.metric.values, best.metric.values))
        loss = f'; the default has {default_words}'
    others = [option.label for option in alike if option is not plain]
    if others:
        sentence += f'; {", ".join(others)} {"is" if len(others) == 1 else "are"} not distinguishable from it'
    return {
        'name': name,
        'unit': unit,
        'best': best,
        'alike': alike,
        'default_words': default_words,
        'sentence': f'{name}: {sentence}{loss}',
    }


def _loss(kept: Ratio) -> str:
    """The loss of the default against the best: '34 % less (31 % - 37 %)'."""
    if kept.estimate is None:
        return 'no comparable figure'
    ends = [abs(1 - end) for end in (kept.low, kept.high) if end is not None]
    span = f' ({percent(min(ends))} - {percent(max(ends))})' if ends else ''
    return f'{percent(abs(1 - kept.estimate))} {"less" if kept.estimate < 1 else "more"}{span}'


def _map(plan: TrialPlan, result: CaseResult, choice: Mapping[str, Any]) -> Map | None:
    """The map of a case whose layouts, except the default, have two settings each; None for others."""
    layouts = [point.layout for point in plan.points if point.layout and not point.layout.is_default]
    plain = {layout.asks: layout.name for layout in layouts if len(layout.asks) == 2}
    rows, columns = (tuple(dict.fromkeys(asks[place] for asks in plain)) for place in (0, 1))
    if len(plain) < len(layouts) or len(rows) < 2 or len(columns) < 2:
        return None
    metrics = [metric for metric in result.metrics if metric.name == choice['best'].metric.name]
    drawn = fields(plain, metrics, choice['best'].label, [option.label for option in choice['alike']])
    return Map(choice['name'], choice['unit'], 'by what the layouts ask for', 'layout', *drawn)
