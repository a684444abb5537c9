"""The curve of a case as places on paper: where the axes, lines, markers and intervals lie. The template draws them.

Colour is never the only difference: an operation has its own marker and dash pattern, and what cannot be believed or
cannot decide has its own form.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from seatrial.judge.references import ReferenceResult
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.model.plan import TrialPlan
from seatrial.report import words

LOG_BEYOND = 20.0
"""A linear axis from zero shows a value that is less than a twentieth of the largest as nothing."""

FULL, OPEN, STRUCK = 'full', 'open', 'struck'
CHARACTER_WIDTH = 0.58
"""Of the font's size: digits of common sans-serif fonts are 0.52 to 0.64 wide."""


@dataclass(frozen=True)
class Paper:
    """The size of a drawing and what is left free around the axes, in px."""

    width: int
    height: int
    left: int
    right: int = 14
    top: int = 12
    bottom: int = 46
    font: float = 13.0


WIDE = Paper(820, 360, left=66)
NARROW = Paper(330, 280, left=52, right=10, font=12.0)


@dataclass(frozen=True)
class Tick:
    """A mark on an axis. label is empty where it would touch its neighbour's."""

    at: float
    label: str


@dataclass(frozen=True)
class Mark:
    """One metric. low, high: the ends of its interval, None where it has none; cut: those ends lie outside.

    form: 'full', 'open' (it cannot decide) or 'struck' (it cannot be believed)
    bounds: the places of its reference's bounds
    """

    x: float
    y: float
    form: str
    low: float | None
    high: float | None
    low_cut: bool
    high_cut: bool
    dots: tuple[tuple[float, float], ...]
    bounds: tuple[float, ...]
    words: str


@dataclass(frozen=True)
class Line:
    """One operation: the strokes between its believable points, and every mark."""

    operation: str
    strokes: tuple[tuple[tuple[float, float], ...], ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Curve:
    """Everything that there is to draw. logarithmic: whether the upright axis is; words: all of it in words."""

    paper: Paper
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    y_label: str
    logarithmic: bool
    lines: tuple[Line, ...]
    words: str

    @property
    def forms(self) -> frozenset[str]:
        """The forms of marks that occur."""
        return frozenset(mark.form for line in self.lines for mark in line.marks)

    @property
    def has_bounds(self) -> bool:
        """Whether a reference's bound is drawn."""
        return any(mark.bounds for line in self.lines for mark in line.marks)


def curve(plan: TrialPlan, case: CaseResult, paper: Paper) -> Curve | None:
    """The curve of a case, or None where nothing was measured."""
    metrics = [metric for metric in case.metrics if metric.summary is not None]
    if not metrics:
        return None
    references = {reference.metric: reference for reference in case.references}
    across = _Across([case.curves.values[point.label] for point in plan.points], paper)
    up = _up(metrics, references, paper)
    operations = [operation for operation, _ in groupby(sorted(metrics, key=_order(plan)), lambda m: m.operation)]
    lines = tuple(_line(operation, metrics, case, across, up, references, operations) for operation in operations)
    return Curve(
        paper=paper,
        x_ticks=_x_ticks(plan, case, across, paper),
        y_ticks=up.ticks,
        x_label=f'{words.AXIS_LABELS[plan.axis]}{" (log scale)" if across.spread else ""}',
        y_label=f'{metrics[0].unit}{" (log scale)" if up.logarithmic else ""}',
        logarithmic=up.logarithmic,
        lines=lines,
        words='; '.join(mark.words for line in lines for mark in line.marks),
    )


def nice_ticks(most: float, count: int) -> list[float]:
    """0 and multiples of 1, 2 or 5 x 10^k up to the first at or above `most`, at most about `count` of them."""
    rough = most / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [step * i for i in range(math.ceil(most / step - 1e-9) + 1)]


def log_ticks(least: float, most: float) -> list[float]:
    """1, 2 and 5 x 10^k from the last at or below `least` to the first at or above `most`; only 10^k if many."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    every = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
    low = max(tick for tick in every if tick <= least * (1 + 1e-9))
    high = min([tick for tick in every if tick >= most * (1 - 1e-9)] or [10.0**last])
    inside = [tick for tick in every if low <= tick <= high]
    return inside if len(inside) <= 8 else [10.0**power for power in range(first, last + 1)]


class _Across:
    """Places on the lying axis. The values of a sweep double, or nearly so: the axis is logarithmic."""

    def __init__(self, values: Sequence[int], paper: Paper) -> None:
        self._low, high = math.log2(min(values)), math.log2(max(values))
        self.spread = high - self._low
        self._margin = 0.06 * (paper.width - paper.left - paper.right) if self.spread else 0.0
        self._from = paper.left + self._margin
        self._width = paper.width - paper.left - paper.right - 2 * self._margin

    def __call__(self, value: float) -> float:
        share = (math.log2(value) - self._low) / self.spread if self.spread else 0.5
        return self._from + share * self._width


@dataclass(frozen=True)
class _Up:
    """Places on the upright axis."""

    least: float
    most: float
    logarithmic: bool
    paper: Paper

    def __call__(self, value: float) -> float:
        height = self.paper.height - self.paper.top - self.paper.bottom
        return self.paper.height - self.paper.bottom - height * max(0.0, min(1.0, self._share(value)))

    def _share(self, value: float) -> float:
        if not self.logarithmic:
            return (value - self.least) / (self.most - self.least)
        if value <= 0:
            return 0.0
        return math.log(value / self.least) / math.log(self.most / self.least)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        if self.logarithmic:
            values = log_ticks(self.least, self.most)
        else:
            values = nice_ticks(self.most, 5)
        return tuple(Tick(self(value), words.figure(value) if value else '0') for value in values)


def _up(metrics: Sequence[MetricResult], references: Mapping[str, ReferenceResult], paper: Paper) -> _Up:
    """The upright axis: linear from zero, unless that would press something flat."""
    summaries = [metric.summary for metric in metrics if metric.summary]
    greatest = max(each.maximum for each in summaries)
    bounds = [bound for metric in metrics for bound in _bounds(references.get(metric.metric)) if bound > 0]
    # An interval of three samples can be wider than everything else together; it is cut then, and shown so.
    ends = [min(each.interval.high, 1.25 * greatest) for each in summaries if math.isfinite(each.interval.high)]
    most = max([greatest, *ends, *(bound for bound in bounds if bound <= 3 * greatest)])
    means = [each.mean for each in summaries]
    if most <= 0:
        return _Up(0.0, 1.0, False, paper)
    if min(means) > 0 and max(means) / min(means) > LOG_BEYOND:
        ticks = log_ticks(min(each.minimum for each in summaries if each.minimum > 0), most)
        return _Up(ticks[0], ticks[-1], True, paper)
    return _Up(0.0, nice_ticks(most, 5)[-1], False, paper)


def _line(
    operation: str,
    metrics: Sequence[MetricResult],
    case: CaseResult,
    across: _Across,
    up: _Up,
    references: Mapping[str, ReferenceResult],
    operations: Sequence[str],
) -> Line:
    # Intervals of two operations at one point would hide each other: each stands a little to its side.
    aside = 5.0 * (2 * operations.index(operation) - len(operations) + 1)
    own = [metric for metric in metrics if metric.operation == operation]
    marks = [_mark(metric, across(case.curves.values[metric.point]) + aside, up, references) for metric in own]
    order = [metric.point for metric in case.metrics if metric.operation == operation]
    strokes: list[list[tuple[float, float]]] = [[]]
    by_point = dict(zip((metric.point for metric in own), marks, strict=True))
    for label in order:
        mark = by_point.get(label)
        if mark is None or mark.form == STRUCK:
            strokes.append([])
        else:
            strokes[-1].append((mark.x, mark.y))
    return Line(operation, tuple(tuple(each) for each in strokes if len(each) > 1), tuple(marks))


def _mark(metric: MetricResult, x: float, up: _Up, references: Mapping[str, ReferenceResult]) -> Mark:
    summary = metric.summary
    assert summary is not None
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
        bounds=tuple(up(bound) for bound in _bounds(references.get(metric.metric)) if up.least <= bound <= up.most),
        words=f'{metric.metric}: {believed}mean {words.figure(summary.mean)} {metric.unit}'
        f'{span if has_interval else ""}, n = {summary.n}, {metric.verdict.value}',
    )


def _dots(values: Sequence[float], x: float, up: _Up) -> tuple[tuple[float, float], ...]:
    """The samples from left to right in the order in which they were taken, so that a drift is seen."""
    step = min(1.6, 10.0 / len(values))
    return tuple((x + step * (i - (len(values) - 1) / 2), up(value)) for i, value in enumerate(values))


def _bounds(reference: ReferenceResult | None) -> list[float]:
    return [bound for bound in (reference.low, reference.high) if bound is not None] if reference else []


def _x_ticks(plan: TrialPlan, case: CaseResult, across: _Across, paper: Paper) -> tuple[Tick, ...]:
    """A tick at every point; the last label always stands, and from the left each that does not touch another."""
    places = [(across(case.curves.values[point.label]), words.point_value(plan, point)) for point in plan.points]
    widths = [CHARACTER_WIDTH * paper.font * len(label) for _, label in places]
    last_start = places[-1][0] - widths[-1] / 2
    ticks, free_from = [], -math.inf
    for i, (x, label) in enumerate(places):
        start, end = x - widths[i] / 2, x + widths[i] / 2
        shown = i == len(places) - 1 or (start > free_from and end + paper.font / 2 < last_start)
        free_from = end + paper.font / 2 if shown else free_from
        ticks.append(Tick(x, label if shown else ''))
    return tuple(ticks)


def _order(plan: TrialPlan) -> 'callable':  # type: ignore[valid-type]
    return lambda metric: plan.workload.operations.index(metric.operation)
