"""The curve of a case: where the axes, lines, markers and intervals lie.

Two kinds of case have one: those whose points lie on an axis of numbers, with a line a metric, and a directory that
is listed again and again, with a line a point: the curve of the client's cache. Others are drawn by dots.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.plan import TrialPlan
from seatrial.report import words
from seatrial.report.drawing.markers import STRUCK, STYLES, Mark, axis_label, figures_scale, mark_of, styles
from seatrial.report.drawing.scale import CHARACTER_WIDTH, Frame, Paper, Scale, Tick, papers, round_values
from seatrial.report.figures import Unit, compact, tick_time
from seatrial.workload.listing import pause_of
from seatrial.workload.registry import kind_of

MARGIN = 0.06
"""Of the width of the axes: free before the first and after the last point."""

ASIDE = 5.0
"""px that the markers of a metric stand beside their point, where two were measured."""

PAPERS = papers(360, 280)


@dataclass(frozen=True)
class CurveLine:
    """One metric, or one point: the strokes between its valid marks, and every mark.

    label: as people read its name; empty where it is the only point
    """

    name: str
    label: str
    style: str
    strokes: tuple[tuple[tuple[float, float], ...], ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, kw_only=True)
class Curve(Frame):
    """Everything that there is to draw.

    again_ticks: the same places on a second upright axis, at the right, where the figures have another reading
    breaks:      places on the lying axis where what is before it and what is after it are of two kinds
    """

    lines: tuple[CurveLine, ...]
    again_ticks: tuple[Tick, ...] = ()
    again_label: str = ''
    breaks: tuple[float, ...] = ()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Those of all lines."""
        return tuple(mark for line in self.lines for mark in line.marks)

    @property
    def words(self) -> str:
        """All of it in words."""
        return '; '.join(mark.words for mark in self.marks)


def is_repeated_listing(plan: TrialPlan) -> bool:
    """Whether one directory is listed again and again, with pauses: the cache of the client over time."""
    return any(point.pauses_s for point in plan.points)


def has_curve(plan: TrialPlan) -> bool:
    """Whether the points of a case make one; those that differ by more than a number do not."""
    return is_repeated_listing(plan) or (not plan.axis.named and len(plan.points) > 1)


def sheets(plan: TrialPlan, metrics: Sequence[MetricResult]) -> list[list[MetricResult]]:
    """The metrics of each drawing: of one dimension, and no more lines than there are styles."""
    found = []
    for base in dict.fromkeys(each.unit for each in metrics):
        own = [each for each in metrics if each.unit == base]
        lines = list(dict.fromkeys(styled_by(plan, each) for each in own))
        for names in words.banded(lines, len(STYLES)) if has_curve(plan) else [lines]:
            found.append([each for each in own if styled_by(plan, each) in names])
    return found


def has_metric_lines(plan: TrialPlan) -> bool:
    """Whether the metrics of a case have a line and a style each, and not its points."""
    return has_curve(plan) and not is_repeated_listing(plan)


def styled_by(plan: TrialPlan, metric: MetricResult) -> str:
    """What of a metric has one style in the drawing of its case."""
    return metric.name if has_metric_lines(plan) else metric.point


def curve(
    plan: TrialPlan, case: CaseResult, metrics: Sequence[MetricResult], unit: Unit, paper: Paper
) -> Curve | None:
    """The curve of those metrics of a case that have one dimension, or None where nothing was measured."""
    style = styles(styled_by(plan, metric) for metric in metrics)
    metrics = [metric for metric in metrics if metric.summary is not None]
    if not metrics:
        return None
    repeated = is_repeated_listing(plan)
    up = figures_scale(case, metrics, unit, paper.height - paper.bottom, paper.top)
    y_ticks = up.ticks()
    left = paper.room(y_ticks)
    again = _listing_times(plan, up, paper) if repeated else ()
    right = paper.width - (paper.room(again) if again else paper.right)
    axis = _of_listings(plan, case, left, right) if repeated else _of_sweep(plan, left, right)
    names = list(dict.fromkeys(styled_by(plan, metric) for metric in metrics))
    return Curve(
        paper=paper,
        left=left,
        right=right,
        x_ticks=_x_ticks(axis, paper),
        y_ticks=y_ticks,
        x_label=axis.label,
        y_label=axis_label(metrics, up),
        lines=tuple(
            # Intervals of several lines at one point would hide each other: each stands a little to its side.
            _line(name, style[name], ASIDE * (2 * i - len(names) + 1), case, plan, metrics, axis, up)
            for i, name in enumerate(names)
        ),
        again_ticks=again,
        again_label='for one listing' if again else '',
        breaks=axis.breaks,
    )


class _LyingAxis(NamedTuple):
    """The place and the label of each key, and where it breaks."""

    places: dict[str, float]
    labels: dict[str, str]
    label: str
    breaks: tuple[float, ...] = ()


def _of_sweep(plan: TrialPlan, left: float, right: float) -> _LyingAxis:
    """The values of a sweep double, or nearly so, or grow tenfold: the axis is logarithmic."""
    values = {point.label: point.at for point in plan.points}
    low, high = math.log2(min(values.values())), math.log2(max(values.values()))
    is_long = max(values.values()) >= 1e4 and not plan.axis.unit
    labels = {
        point.label: compact(point.at) if is_long else words.point_value(plan.axis, point) for point in plan.points
    }
    margin = MARGIN * (right - left)
    scale = (right - left - 2 * margin) / (high - low)
    places = {label: left + margin + (math.log2(value) - low) * scale for label, value in values.items()}
    return _LyingAxis(places, labels, f'{plan.axis.label} (log scale)')


def _of_listings(plan: TrialPlan, case: CaseResult, left: float, right: float) -> _LyingAxis:
    """Listings in their order, those that follow a pause apart from those that follow each other."""
    names = list(dict.fromkeys(metric.name for metric in case.metrics))
    pauses = [pause_of(name) for name in names]
    paused = [pause is not None for pause in pauses]
    steps = [i + after for i, after in enumerate(paused)]
    margin = MARGIN * (right - left)
    step = (right - left - 2 * margin) / max(1, steps[-1])
    places = {name: left + margin + step * at for name, at in zip(names, steps, strict=True)}
    labels = {
        name: kind_of(plan.kind).metric_words(name).partition(' ')[0] if pause is None else f'{pause:g} s'
        for name, pause in zip(names, pauses, strict=True)
    }
    breaks = (left + margin + step * paused.index(True),) if True in paused and not paused[0] else ()
    return _LyingAxis(places, labels, 'listing in a row, then after a pause of', breaks)


def _x_ticks(axis: _LyingAxis, paper: Paper) -> tuple[Tick, ...]:
    """A tick at every point. The last has its label, and before it every second or third if all would touch."""
    places = sorted(((place, axis.labels[key]) for key, place in axis.places.items()), reverse=True)
    every = next(step for step in range(1, len(places) + 1) if _apart(places[::step], paper))
    return tuple(Tick(x, '' if i % every else label) for i, (x, label) in enumerate(places))[::-1]


def _apart(places: Sequence[tuple[float, str]], paper: Paper) -> bool:
    """Whether these labels, from right to left, stand clear of each other."""
    return all(
        right - left > paper.font * (CHARACTER_WIDTH * (len(one) + len(other)) / 2 + 0.5)
        for (right, one), (left, other) in pairwise(places)
    )


def _listing_times(plan: TrialPlan, up: Scale, paper: Paper) -> tuple[Tick, ...]:
    """How long one listing takes at the places of the upright axis; none where directories differ in size."""
    sizes = {point.tree.files_per_directory for point in plan.points}
    if len(sizes) != 1:
        return ()
    entries = sizes.pop()
    ticks: list[Tick] = []
    for time_s in round_values(entries / up.high, entries / max(up.low, up.high / 50)):
        place = up(entries / time_s)
        # From the shortest time, at the top, downwards: the times of a linear axis crowd at its foot.
        if not ticks or place - ticks[-1].at > 1.3 * paper.font:
            ticks.append(Tick(place, tick_time(time_s)))
    return tuple(ticks)


def _line(
    name: str,
    style: str,
    aside: float,
    case: CaseResult,
    plan: TrialPlan,
    metrics: Sequence[MetricResult],
    axis: _LyingAxis,
    up: Scale,
) -> CurveLine:
    references = {reference.metric: reference for reference in case.references}
    repeated = is_repeated_listing(plan)
    own = {each.name if repeated else each.point: each for each in metrics if styled_by(plan, each) == name}
    marks: list[Mark] = []
    strokes: list[list[tuple[float, float]]] = [[]]
    crossed = list(axis.breaks)
    for at, place in axis.places.items():
        if crossed and place > crossed[0]:
            strokes.append([])
            crossed.pop(0)
        metric = own.get(at)
        if metric is not None and metric.summary is not None:
            marks.append(mark_of(metric, metric.summary, place + aside, up, references))
        if metric is None or marks[-1].form == STRUCK:
            strokes.append([])
        else:
            strokes[-1].append((marks[-1].at, marks[-1].mean))
    label = kind_of(plan.kind).metric_words(name) if not repeated else name if len(plan.points) > 1 else ''
    drawn = tuple(tuple(each) for each in strokes if len(each) > 1)
    return CurveLine(name, label, style, drawn, tuple(marks))
