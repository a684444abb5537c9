"""The curve of a case as places on paper: where the axes, lines, markers and intervals lie. The template draws them.

Colour is never the only difference: an operation has its own marker and dash pattern, and what cannot be believed or
cannot decide has its own form.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from seatrial.judge.references import ReferenceResult
from seatrial.judge.statistics import Summary
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.model.plan import TrialPlan
from seatrial.report import words
from seatrial.report.scale import Scale, Tick, scale_of

FULL, OPEN, STRUCK = 'full', 'open', 'struck'

MARGIN = 0.06
"""Of the width of the axes: free before the first and after the last point."""

ASIDE = 5.0
"""px that the markers of an operation stand beside their point, where two were measured."""

CHARACTER_WIDTH = 0.64
"""Of the font's size: digits of common sans-serif fonts are 0.52 to 0.64 wide."""

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
class Mark:
    """One metric. low, high: the ends of its interval, None where it has none; cut: those ends lie outside.

    form:   'full', 'open' (it cannot decide) or 'struck' (it cannot be believed)
    dots:   its samples
    bounds: the places of its reference's bounds, each with the side that is allowed: 1 above, -1 below
    """

    x: float
    y: float
    form: str
    low: float | None
    high: float | None
    low_cut: bool
    high_cut: bool
    dots: tuple[tuple[float, float], ...]
    bounds: tuple[tuple[float, int], ...]
    words: str


@dataclass(frozen=True)
class Line:
    """One operation: the strokes between its believable points, and every mark."""

    operation: str
    strokes: tuple[tuple[tuple[float, float], ...], ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Curve:
    """Everything that there is to draw. left: where the lying axis begins, in px."""

    paper: Paper
    left: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    y_label: str
    lines: tuple[Line, ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Those of all lines."""
        return tuple(mark for line in self.lines for mark in line.marks)

    @property
    def words(self) -> str:
        """All of it in words."""
        return '; '.join(mark.words for mark in self.marks)


def curve(plan: TrialPlan, case: CaseResult, paper: Paper) -> Curve | None:
    """The curve of a case, or None where nothing was measured."""
    metrics = [metric for metric in case.metrics if metric.summary is not None]
    if not metrics:
        return None
    references = {reference.metric: reference for reference in case.references}
    up = _up(metrics, references, paper)
    y_ticks = up.ticks()
    left = paper.font * (1.9 + CHARACTER_WIDTH * max(len(tick.label) for tick in y_ticks)) + TICK_GAP
    across = _across(case.curves.values, left, paper)
    operations = [each for each in plan.workload.operations if any(metric.operation == each for metric in metrics)]
    return Curve(
        paper=paper,
        left=left,
        x_ticks=_x_ticks(plan, across, paper),
        y_ticks=y_ticks,
        x_label=f'{words.AXIS_LABELS[plan.axis]}{" (log scale)" if len(across) > 1 else ""}',
        y_label=f'{metrics[0].unit}{" (log scale)" if up.logarithmic else ""}',
        lines=tuple(_line(each, operations, case, across, up, references) for each in operations),
    )


def _across(values: Mapping[str, int], left: float, paper: Paper) -> dict[str, float]:
    """Places on the lying axis by label. The values of a sweep double, or nearly so: the axis is logarithmic."""
    low, high = math.log2(min(values.values())), math.log2(max(values.values()))
    width = paper.width - left - paper.right
    if low == high:
        return dict.fromkeys(values, left + width / 2)
    margin = MARGIN * width
    scale = (width - 2 * margin) / (high - low)
    return {label: left + margin + (math.log2(value) - low) * scale for label, value in values.items()}


def _up(metrics: Sequence[MetricResult], references: Mapping[str, ReferenceResult], paper: Paper) -> Scale:
    """The upright axis. It need not hold all of an interval of three samples, nor a reference far above."""
    summaries = [metric.summary for metric in metrics if metric.summary]
    greatest = max(each.maximum for each in summaries)
    ends = [min(each.interval.high, 1.25 * greatest) for each in summaries if math.isfinite(each.interval.half_width)]
    bounds = [bound for metric in metrics for bound, _ in _bounds(references.get(metric.metric))]
    others = [
        *(each.minimum for each in summaries),
        *(each.maximum for each in summaries),
        *ends,
        *(bound for bound in bounds if bound <= 3 * greatest),
    ]
    return scale_of([each.mean for each in summaries], others, paper.height - paper.bottom, paper.top)


def _x_ticks(plan: TrialPlan, across: Mapping[str, float], paper: Paper) -> tuple[Tick, ...]:
    """A tick at every point. The last has its label, and before it every second or third if all would touch."""
    places = sorted(((across[point.label], words.point_value(plan, point)) for point in plan.points), reverse=True)
    every = next(step for step in range(1, len(places) + 1) if _apart(places[::step], paper))
    return tuple(Tick(x, '' if i % every else label) for i, (x, label) in enumerate(places))[::-1]


def _apart(places: Sequence[tuple[float, str]], paper: Paper) -> bool:
    """Whether these labels, from right to left, stand clear of each other."""
    return all(
        right - left > paper.font * (CHARACTER_WIDTH * (len(one) + len(other)) / 2 + 0.5)
        for (right, one), (left, other) in pairwise(places)
    )


def _line(
    operation: str,
    operations: Sequence[str],
    case: CaseResult,
    across: Mapping[str, float],
    up: Scale,
    references: Mapping[str, ReferenceResult],
) -> Line:
    # Intervals of two operations at one point would hide each other: each stands a little to its side.
    aside = ASIDE * (2 * operations.index(operation) - len(operations) + 1)
    marks: list[Mark] = []
    strokes: list[list[tuple[float, float]]] = [[]]
    for metric in case.metrics:
        if metric.operation != operation:
            continue
        if metric.summary is not None:
            marks.append(_mark(metric, metric.summary, across[metric.point] + aside, up, references))
        if metric.summary is None or marks[-1].form == STRUCK:
            strokes.append([])
        else:
            strokes[-1].append((marks[-1].x, marks[-1].y))
    return Line(operation, tuple(tuple(each) for each in strokes if len(each) > 1), tuple(marks))


def _mark(
    metric: MetricResult, summary: Summary, x: float, up: Scale, references: Mapping[str, ReferenceResult]
) -> Mark:
    form = {Verdict.INVALID: STRUCK, Verdict.INCONCLUSIVE: OPEN, Verdict.INCOMPLETE: OPEN}.get(metric.verdict, FULL)
    interval = summary.interval
    has_interval = form != STRUCK and math.isfinite(interval.half_width)
    believed = 'cannot be believed, ' if form == STRUCK else ''
    span = f', {100 * interval.confidence:g} % interval {words.figure(interval.low)} to {words.figure(interval.high)}'
    return Mark(
        x=x,
        y=up(summary.mean),
        form=form,
        low=up(interval.low) if has_interval else None,
        high=up(interval.high) if has_interval else None,
        low_cut=interval.low < up.least,
        high_cut=interval.high > up.most,
        dots=() if form == STRUCK else _dots(metric.values, x, up),
        bounds=tuple(
            (up(bound), side)
            for bound, side in _bounds(references.get(metric.metric))
            if up.least <= bound <= up.most
        ),
        words=f'{metric.metric}: {believed}mean {words.figure(summary.mean)} {metric.unit}'
        f'{span if has_interval else ""}, n = {summary.n}, {metric.verdict.value}',
    )


def _dots(values: Sequence[float], x: float, up: Scale) -> tuple[tuple[float, float], ...]:
    """The samples from left to right in the order in which they were taken, so that a drift is seen."""
    if len(values) < 2:
        return ()
    step = min(1.6, 10.0 / len(values))
    return tuple((x + step * (i - (len(values) - 1) / 2), up(value)) for i, value in enumerate(values))


def _bounds(reference: ReferenceResult | None) -> list[tuple[float, int]]:
    if reference is None:
        return []
    return [(bound, side) for bound, side in ((reference.low, 1), (reference.high, -1)) if bound is not None]
