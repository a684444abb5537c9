"""The curve of a case as places on paper: where the axes, lines, markers and intervals lie. The template draws them.

Two kinds of case have one: those whose points lie on an axis of numbers, with a line an operation, and a directory
that is listed again and again, with a line a point: the curve of the client's cache. Others are drawn by dots.py.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.namespace import Namespace, pause_of
from seatrial.model.plan import TrialPlan
from seatrial.model.tree import TreePoint
from seatrial.model.workload import NAMED
from seatrial.report import trees, words
from seatrial.report.marks import STRUCK, Mark, figures_scale, mark_of, styles
from seatrial.report.scale import CHARACTER_WIDTH, Scale, Tick, round_values

MARGIN = 0.06
"""Of the width of the axes: free before the first and after the last point."""

ASIDE = 5.0
"""px that the markers of an operation stand beside their point, where two were measured."""

TICK_GAP = 8.0
"""px between the upright axis and the labels of its ticks."""


@dataclass(frozen=True)
class Paper:
    """The size of a drawing and what is left free around its axes, in px; to their left it is what labels need."""

    width: int
    height: int
    right: int = 14
    top: int = 12
    bottom: int = 46
    font: float = 13.0


WIDE = Paper(820, 360)
NARROW = Paper(330, 280, right=10, font=12.0)


@dataclass(frozen=True)
class Line:
    """One operation, or one point: the strokes between its believable marks, and every mark.

    label: as people read its name; empty where it is the only point
    """

    name: str
    label: str
    style: str
    strokes: tuple[tuple[tuple[float, float], ...], ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Curve:
    """Everything that there is to draw. left, right: where the lying axis begins and ends, in px.

    again_ticks: the same places on a second upright axis, at the right, where the figures have another reading
    breaks:      places on the lying axis where what is before it and what is after it are of two kinds
    """

    paper: Paper
    left: float
    right: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
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


def has_curve(plan: TrialPlan) -> bool:
    """Whether the points of a case make one; those that differ by more than a number do not."""
    if isinstance(plan.workload, Namespace):
        return trees.is_repeated_listing(plan) or (plan.axis == 'entries' and len(plan.points) > 1)
    return plan.axis not in NAMED


def curve(plan: TrialPlan, case: CaseResult, paper: Paper) -> Curve | None:
    """The curve of a case that has one, or None where nothing was measured."""
    metrics = [metric for metric in case.metrics if metric.summary is not None]
    if not metrics:
        return None
    up = figures_scale(case, metrics, paper.height - paper.bottom, paper.top)
    y_ticks = up.ticks()
    left = paper.font * 1.9 + _room(y_ticks, paper)
    again = _listing_times(plan, up, paper) if trees.is_repeated_listing(plan) else ()
    right = paper.width - (paper.font * 1.9 + _room(again, paper) if again else paper.right)
    axis = _of_listings(case, left, right) if trees.is_repeated_listing(plan) else _of_sweep(plan, case, left, right)
    by_line = _by_line(plan, metrics)
    style = styles(by_line)
    return Curve(
        paper=paper,
        left=left,
        right=right,
        x_ticks=_x_ticks(axis, paper),
        y_ticks=y_ticks,
        x_label=axis.label,
        y_label=f'{metrics[0].unit}{" (log scale)" if up.logarithmic else ""}',
        lines=tuple(_line(name, style, case, plan, axis, up) for name in by_line),
        again_ticks=again,
        again_label='for one listing' if again else '',
        breaks=axis.breaks,
    )


class _Axis(NamedTuple):
    """The lying axis: the place and the label of each key, and where it breaks."""

    places: dict[str, float]
    labels: dict[str, str]
    label: str
    breaks: tuple[float, ...] = ()


def _room(ticks: Sequence[Tick], paper: Paper) -> float:
    """What the labels of an upright axis need beside it, in px."""
    return paper.font * CHARACTER_WIDTH * max((len(tick.label) for tick in ticks), default=0) + TICK_GAP


def _key(plan: TrialPlan, metric: MetricResult) -> tuple[str, str]:
    """The line of a metric, and what it stands at on the lying axis."""
    return (metric.point, metric.operation) if trees.is_repeated_listing(plan) else (metric.operation, metric.point)


def _by_line(plan: TrialPlan, metrics: Sequence[MetricResult]) -> list[str]:
    return list(dict.fromkeys(_key(plan, metric)[0] for metric in metrics))


def _of_sweep(plan: TrialPlan, case: CaseResult, left: float, right: float) -> _Axis:
    """The values of a sweep double, or nearly so, or grow tenfold: the axis is logarithmic."""
    values = case.curves.values
    low, high = math.log2(min(values.values())), math.log2(max(values.values()))
    labels = {point.label: words.point_value(plan, point) for point in plan.points}
    if plan.axis == 'entries':
        labels = {label: words.compact(value) for label, value in values.items()}
    label = words.AXIS_LABELS[plan.axis]
    if low == high:
        return _Axis(dict.fromkeys(values, (left + right) / 2), labels, label)
    margin = MARGIN * (right - left)
    scale = (right - left - 2 * margin) / (high - low)
    places = {label: left + margin + (math.log2(value) - low) * scale for label, value in values.items()}
    return _Axis(places, labels, f'{label} (log scale)')


def _of_listings(case: CaseResult, left: float, right: float) -> _Axis:
    """Listings in their order, those that follow a pause apart from those that follow each other."""
    names = list(dict.fromkeys(metric.operation for metric in case.metrics))
    paused = [pause_of(name) is not None for name in names]
    steps = [i + after for i, after in enumerate(paused)]
    margin = MARGIN * (right - left)
    step = (right - left - 2 * margin) / max(1, steps[-1])
    places = {name: left + margin + step * at for name, at in zip(names, steps, strict=True)}
    labels = {name: trees.listing_tick(name) for name in names}
    breaks = (left + margin + step * paused.index(True),) if True in paused and not paused[0] else ()
    return _Axis(places, labels, 'listing in a row, then after a pause of', breaks)


def _x_ticks(axis: _Axis, paper: Paper) -> tuple[Tick, ...]:
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
    sizes = {point.entries.files for point in plan.points if isinstance(point, TreePoint)}
    if len(sizes) != 1:
        return ()
    entries = sizes.pop()
    ticks: list[Tick] = []
    for time_s in round_values(entries / up.most, entries / max(up.least, up.most / 50)):
        place = up(entries / time_s)
        # From the shortest time, at the top, downwards: the times of a linear axis crowd at its foot.
        if not ticks or place - ticks[-1].at > 1.3 * paper.font:
            ticks.append(Tick(place, words.tick_time(time_s)))
    return tuple(ticks)


def _line(name: str, style: Mapping[str, str], case: CaseResult, plan: TrialPlan, axis: _Axis, up: Scale) -> Line:
    # Intervals of several lines at one point would hide each other: each stands a little to its side.
    aside = ASIDE * (2 * list(style).index(name) - len(style) + 1)
    references = {reference.metric: reference for reference in case.references}
    marks: list[Mark] = []
    strokes: list[list[tuple[float, float]]] = [[]]
    crossed = list(axis.breaks)
    for metric in case.metrics:
        line, at = _key(plan, metric)
        if line != name:
            continue
        if crossed and axis.places[at] > crossed[0]:
            strokes.append([])
            crossed.pop(0)
        if metric.summary is not None:
            marks.append(mark_of(metric, metric.summary, axis.places[at] + aside, up, references))
        if metric.summary is None or marks[-1].form == STRUCK:
            strokes.append([])
        else:
            strokes[-1].append((marks[-1].x, marks[-1].y))
    label = trees.metric_label(name)
    if trees.is_repeated_listing(plan):
        label = name if len(style) > 1 else ''
    drawn = tuple(tuple(each) for each in strokes if len(each) > 1)
    return Line(name, label, style[name], drawn, tuple(marks))
