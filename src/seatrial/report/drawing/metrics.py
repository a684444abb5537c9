"""The metrics of a case: a curve over its points, or dots below each other if the points are not numbers. A directory
that is listed again and again has a curve too, with a line for each point: that of the client's cache."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.model.metric import LOWER
from seatrial.model.plan import TrialPlan
from seatrial.report import words
from seatrial.report.drawing import plot
from seatrial.report.figures import Unit, compact
from seatrial.workload.listing import pause_of
from seatrial.workload.registry import KINDS, kind_of

MARGIN = 0.07  # free space before the first and after the last point, as a share of the space between them
ASIDE = 5.0  # px that the marks of a metric stand beside their point, where two were measured
LANE, LONGEST_LABEL = 21.0, 26  # px of the height of a lane of dots, and characters of its label
_FORMS = {Verdict.INVALID: plot.STRUCK, Verdict.INCONCLUSIVE: plot.OPEN, Verdict.INCOMPLETE: plot.OPEN}


def is_repeated_listing(plan: TrialPlan) -> bool:
    """True if one directory is listed again and again, with pauses: the cache of the client over time."""
    return any(point.pauses_s for point in plan.points)


def has_curve(plan: TrialPlan) -> bool:
    """True if the points of a case make a curve: they differ by one number only, or are repeated listings."""
    return is_repeated_listing(plan) or (not plan.axis.named and len(plan.points) > 1)


def styled_by(plan: TrialPlan, metric: MetricResult) -> str:
    """The name that decides the style of a metric in the drawing of its case."""
    return metric.name if has_metric_lines(plan) else metric.point


def has_metric_lines(plan: TrialPlan) -> bool:
    """True if lines and styles belong to the metrics of a case, not to its points."""
    return has_curve(plan) and not is_repeated_listing(plan)


@cache
def _usual_signs() -> dict[str, str]:
    """The style of each column and metric: different within a kind as far as there are styles; reads are circles."""
    given = dict(zip(('read', 'write'), plot.STYLES, strict=False))
    for kind in KINDS.values():
        metrics = (metric.name for phase in kind.phases for metric in phase.metrics)
        names = dict.fromkeys([*(name for name, _ in kind.columns), *metrics])
        taken = {given[name] for name in names if name in given}
        for name in names:
            if name not in given:
                liked = given.get(name.partition(' ')[0], plot.STYLES[2])
                order = (liked, *plot.STYLES[2:], *plot.STYLES[:2])
                given[name] = next((style for style in order if style not in taken), liked)
                taken.add(given[name])
    return given


def signs(kind: str, metrics: Iterable[str]) -> dict[str, str]:
    """The style of each of these metrics or columns: that of its column, in every drawing."""
    column = {metric: name for name, names in kind_of(kind).columns for metric in names}
    given: dict[str, str] = {}
    for name in dict.fromkeys(metrics):
        usual = _usual_signs().get(column.get(name, name), plot.STYLES[2])
        given[name] = next((style for style in (usual, *plot.STYLES) if style not in given.values()), usual)
    return given


def styles_of(plan: TrialPlan, metrics: Iterable[MetricResult]) -> dict[str, str]:
    """The style of each line of a drawing. Points and metrics use different styles as far as these suffice."""
    names = [styled_by(plan, metric) for metric in metrics]
    if has_metric_lines(plan):
        return signs(plan.kind, names)
    half = len(plot.STYLES) // 2
    of_points = (*plot.STYLES[half:], *plot.STYLES[:half])
    return {name: of_points[i % len(of_points)] for i, name in enumerate(dict.fromkeys(names))}


def sheets(plan: TrialPlan, metrics: Sequence[MetricResult]) -> list[list[MetricResult]]:
    """The metrics of each drawing: of one dimension, and no more lines than there are styles."""
    drawings = []
    for base in dict.fromkeys(metric.unit for metric in metrics):
        of_unit = [metric for metric in metrics if metric.unit == base]
        lines = list(dict.fromkeys(styled_by(plan, metric) for metric in of_unit))
        for names in words.banded(lines, len(plot.STYLES)) if has_curve(plan) else [lines]:
            drawings.append([metric for metric in of_unit if styled_by(plan, metric) in names])
    return drawings


def charts(plan: TrialPlan, case: CaseResult, units: Mapping[str, Unit]) -> list[plot.Chart]:
    """The charts of everything measured in a case. units: by the base unit"""
    draw = _curve if has_curve(plan) else _dots
    drawn = [sheet for sheet in sheets(plan, case.metrics) if any(metric.summary for metric in sheet)]
    return [draw(plan, case, sheet, units[sheet[0].unit]) for sheet in drawn]


class _Points(NamedTuple):
    axis: plot.Scale
    places: Mapping[str, float]  # place of each point or listing by its name
    breaks: Sequence[float] = ()  # places between two kinds of points


def _curve(plan: TrialPlan, case: CaseResult, metrics: Sequence[MetricResult], unit: Unit) -> plot.Chart:
    repeated = is_repeated_listing(plan)
    points = _listings(plan, case) if repeated else _sweep(plan)
    style = styles_of(plan, metrics)
    names = list(dict.fromkeys(styled_by(plan, metric) for metric in metrics if metric.summary))
    parts: list[plot.Part] = [plot.Guide(at, 'axis break', upright=True) for at in points.breaks]
    for i, name in enumerate(names):
        of_name = [metric for metric in metrics if styled_by(plan, metric) == name]
        of_line = {metric.name if repeated else metric.point: metric for metric in of_name}
        # Intervals of several lines at one point would hide each other: each stands a little to its side.
        aside = ASIDE * (2 * i - len(names) + 1)
        there = [(key, at) for key, at in points.places.items() if key in of_line and of_line[key].summary]
        marks = {key: _mark(of_line[key], at, style[name], unit, case, aside) for key, at in there}
        label = kind_of(plan.kind).metric_words(name) if not repeated else name if len(plan.points) > 1 else ''
        parts += [plot.Curve(style[name], _strokes(points, marks), label, aside=aside), *marks.values()]
    return plot.Chart(
        x=points.axis,
        y=_figures(case, metrics, unit),
        parts=parts,
        height=300,
        words=_words_of_marks(parts),
        interval=_interval(metrics),
    )


def _sweep(plan: TrialPlan) -> _Points:
    """The logarithmic axis of a sweep, whose values double, or nearly so, or grow tenfold."""
    values = {point.label: point.at for point in plan.points}
    low, high = min(values.values()), max(values.values())
    short = high >= 1e4 and not plan.axis.unit
    labels = [compact(point.at) if short else words.point_value(plan.axis, point) for point in plan.points]
    ticks = sorted(plot.Tick(point.at, text) for point, text in zip(plan.points, labels, strict=True))
    margin = (high / low) ** MARGIN
    label = f'{plan.axis.label} (log scale)'
    axis = plot.Scale(low=low / margin, high=high * margin, ticks=ticks, label=label, logarithmic=True)
    return _Points(axis, dict(sorted(values.items(), key=lambda item: item[1])))


def _listings(plan: TrialPlan, case: CaseResult) -> _Points:
    """The axis of listings in their order; those after a pause stand apart."""
    pauses = {metric.name: pause_of(metric.name) for metric in case.metrics}
    places = {name: float(i + (pause is not None)) for i, (name, pause) in enumerate(pauses.items())}
    named = kind_of(plan.kind).metric_words
    labels = [named(name).partition(' ')[0] if pause is None else f'{pause:g} s' for name, pause in pauses.items()]
    last = max(1.0, *places.values())
    axis = plot.Scale(
        low=-MARGIN * last,
        high=(1 + MARGIN) * last,
        ticks=[plot.Tick(at, label) for at, label in zip(places.values(), labels, strict=True)],
        label='listing in a row, then after a pause of',
    )
    in_a_row = list(pauses.values()).count(None)
    return _Points(axis, places, [float(in_a_row)] if 0 < in_a_row < len(pauses) else [])


def _strokes(points: _Points, marks: Mapping[str, plot.Mark]) -> list[list[tuple[float, float]]]:
    """Lines through the valid marks in their order, interrupted at breaks."""

    def run_of(key: str) -> tuple[bool, int]:
        valid = key in marks and marks[key].form != plot.STRUCK
        return valid, sum(points.places[key] > at for at in points.breaks)

    runs = groupby(points.places, run_of)
    strokes = [[(points.places[key], marks[key].figure) for key in keys] for (valid, _), keys in runs if valid]
    return [stroke for stroke in strokes if len(stroke) > 1]


def _dots(plan: TrialPlan, case: CaseResult, metrics: Sequence[MetricResult], unit: Unit) -> plot.Chart:
    """A dot with its interval for every metric at every point, one below the other on one scale."""
    one = len(plan.points) == 1
    style = styles_of(plan, case.metrics)
    ticks: list[plot.Tick] = []
    marks = []
    for name in dict.fromkeys(metric.name for metric in metrics):
        head = _short(kind_of(plan.kind).metric_words(name))
        ticks += [] if one else [plot.Tick(len(ticks) + 0.5, head, heads=True)]
        for metric in (one for one in metrics if one.name == name):
            at = len(ticks) + 0.5
            ticks.append(plot.Tick(at, head, heads=True) if one else plot.Tick(at, _short(metric.point)))
            if metric.summary:
                marks.append(_mark(metric, at, style[metric.point], unit, case))
    return plot.Chart(
        x=_figures(case, metrics, unit),
        y=plot.Scale(low=len(ticks), high=0.0, ticks=ticks),
        parts=marks,
        height=LANE * len(ticks),
        words=_words_of_marks(marks),
        lying=True,
        interval=_interval(metrics),
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f'{text[: LONGEST_LABEL - 1]}\u2026'


def _words_of_marks(parts: Sequence[plot.Part]) -> str:
    return '; '.join(part.words for part in parts if isinstance(part, plot.Mark))


def _interval(metrics: Sequence[MetricResult]) -> str:
    confidence = next(metric.summary.interval.confidence for metric in metrics if metric.summary)
    return f'{100 * confidence:g} % interval of the mean'


def _figures(case: CaseResult, metrics: Sequence[MetricResult], unit: Unit) -> plot.Scale:
    """The axis of the figures. It may cut an interval of three samples, or a reference far above."""
    summaries = [metric.summary for metric in metrics if metric.summary]
    greatest = max(summary.maximum for summary in summaries)
    bounds = [bound for metric in metrics for bound, _ in _bounds(metric, case)]
    intervals = [summary.interval for summary in summaries if math.isfinite(summary.interval.log_half_width)]
    others = [end for summary in summaries for end in (summary.minimum, summary.maximum)]
    others += [min(interval.high, 1.25 * greatest) for interval in intervals]
    others += [bound for bound in bounds if bound <= 3 * greatest]
    note = 'lower is better' if all(metric.better == LOWER for metric in metrics if metric.summary) else ''
    return plot.figures_scale([summary.mean for summary in summaries], others, unit, note)


def _mark(metric: MetricResult, at: float, style: str, unit: Unit, case: CaseResult, aside: float = 0.0) -> plot.Mark:
    summary = metric.summary
    assert summary, 'it was measured'
    form, interval = _FORMS.get(metric.verdict, plot.FULL), summary.interval
    has_interval = form != plot.STRUCK and math.isfinite(interval.high)
    invalid = 'invalid, ' if form == plot.STRUCK else ''
    span = f', {100 * interval.confidence:g} % interval {unit.figure(interval.low)} to {unit.figure(interval.high)}'
    return plot.Mark(
        at=at,
        figure=summary.mean,
        style=style,
        form=form,
        words=f'{metric.metric}: {invalid}mean {unit.words(summary.mean)}{span if has_interval else ""}'
        f'{", one sample: no interval" if summary.n == 1 else ""}, '
        f'n = {summary.n}, {metric.verdict.value}',
        low=interval.low if has_interval else None,
        high=interval.high if has_interval else None,
        samples=() if form == plot.STRUCK else metric.values,
        bounds=_bounds(metric, case),
        aside=aside,
        label={plot.STRUCK: 'invalid', plot.OPEN: 'cannot decide'}.get(form, ''),
    )


def _bounds(metric: MetricResult, case: CaseResult) -> list[tuple[float, int]]:
    compared = [reference for reference in case.references if reference.metric == metric.metric]
    ends = [end for reference in compared for end in ((reference.low, 1), (reference.high, -1))]
    return [(bound, side) for bound, side in ends if bound is not None]
