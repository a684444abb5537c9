"""Recommends layouts: for every case that sweeps them the best one for each metric, as far as it is decided. Layouts
whose interval overlaps that of the one with the best mean count as equal to it; the loss of the file system's default
is the ratio of the two means, with its interval. Nothing here decides a verdict. The result has the names that
templates/layouts.html reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seatrial.judge.statistics import SampleSummary
from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.layout import Layout
from seatrial.model.metric import HIGHER
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.report import words
from seatrial.report.drawing.maps import Map, fields
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, is_valid, percent, units_of
from seatrial.report.session import ratios
from seatrial.report.session.ratios import Ratio
from seatrial.workload.registry import kind_of
from seatrial.workload.words import by_key


@dataclass(frozen=True)
class LayoutOption:
    label: str
    words: str  # its name with its settings: 'wide (c-1.S4M)'; 'default'
    metric: MetricResult
    summary: SampleSummary


def recommendations(cases: Sequence[CaseEvidence], system: str) -> list[dict[str, Any]]:
    """Every case that sweeps layouts and has a choice, in their order. choices: for each metric; maps: of metrics
    that have one; unjudged: why nothing is recommended, or empty"""
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
    """The best layout for each metric of a case with at least two valid layouts. alike: layouts equal to it, the best
    first; default_words: the loss of the default"""
    points = {point.label: point for point in plan.points}
    default = next((label for label, point in points.items() if _layout(point).is_default), None)
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


def _layout(point: Point) -> Layout:
    return point.layout or Layout()


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
    layouts = [layout for layout in map(_layout, plan.points) if not layout.is_default]
    plain = {layout.asks: layout.name for layout in layouts if len(layout.asks) == 2}
    rows, columns = (tuple(dict.fromkeys(asks[place] for asks in plain)) for place in (0, 1))
    if len(plain) < len(layouts) or len(rows) < 2 or len(columns) < 2:
        return None
    metrics = [metric for metric in result.metrics if metric.name == choice['best'].metric.name]
    drawn = fields(plain, metrics, choice['best'].label, [option.label for option in choice['alike']])
    return Map(choice['name'], choice['unit'], 'by what the layouts ask for', 'layout', *drawn)
