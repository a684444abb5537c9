"""Metrics that lie on no axis, one below the other on one scale: a dot with its interval for every point.

For trees that differ by more than a number, and for operations of one kind. The template draws the places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seatrial.judge.references import ReferenceResult
from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.plan import TrialPlan
from seatrial.report import trees
from seatrial.report.marks import Mark, figures_scale, mark_of, styles
from seatrial.report.scale import CHARACTER_WIDTH, Scale, Tick, apart

LANE, GAP = 21.0, 11.0
"""px of the height of a lane, and between the lanes of two metrics."""

LONGEST_LABEL = 26


@dataclass(frozen=True)
class Sheet:
    """The width of a drawing and its margins, in px. stacked: the metric's name stands above its lanes."""

    width: int
    font: float
    stacked: bool
    right: int = 22
    top: int = 8
    bottom: int = 46


WIDE = Sheet(820, 13.0, False)
NARROW = Sheet(330, 12.0, True, right=16)


@dataclass(frozen=True)
class Lane:
    """One metric. mark: its x is on the axis of the figures; None where nothing was measured."""

    label: str
    style: str
    y: float
    mark: Mark | None


@dataclass(frozen=True)
class Group:
    """The lanes of one kind of operation. label: its name, to be written at y."""

    label: str
    y: float
    lanes: tuple[Lane, ...]


@dataclass(frozen=True)
class Dots:
    """Everything that there is to draw; left: where the axis begins, lanes: where their labels end, in px."""

    sheet: Sheet
    height: float
    left: float
    ticks: tuple[Tick, ...]
    label: str
    groups: tuple[Group, ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Those of all groups."""
        return tuple(lane.mark for group in self.groups for lane in group.lanes if lane.mark)

    @property
    def words(self) -> str:
        """All of it in words."""
        return '; '.join(mark.words for mark in self.marks)


def dots(plan: TrialPlan, case: CaseResult, sheet: Sheet) -> Dots | None:
    """The dots of a case, or None where nothing was measured."""
    measured = [metric for metric in case.metrics if metric.summary is not None]
    if not measured:
        return None
    by_name: dict[str, list[MetricResult]] = {}
    for metric in case.metrics:
        by_name.setdefault(metric.operation, []).append(metric)
    one = len(plan.points) == 1
    left = _left(by_name, one, sheet)
    across = figures_scale(case, measured, left, sheet.width - sheet.right)
    style = styles(point.label for point in plan.points)
    references = {reference.metric: reference for reference in case.references}
    groups, y = [], float(sheet.top)
    for name, metrics in by_name.items():
        groups.append(_group(name, metrics, y, style, across, references, sheet, one))
        y = groups[-1].lanes[-1].y + LANE / 2 + (0 if one else GAP)
    return Dots(
        sheet=sheet,
        height=y + sheet.bottom,
        left=left,
        ticks=apart(across.ticks(), sheet.font, sheet.width),
        label=f'{measured[0].unit}{" (log scale)" if across.logarithmic else ""}',
        groups=tuple(groups),
    )


def _left(by_name: Mapping[str, Sequence[MetricResult]], one: bool, sheet: Sheet) -> float:
    names = max(len(_short(trees.metric_label(name))) for name in by_name)
    points = max(len(_short(metric.point)) for metrics in by_name.values() for metric in metrics)
    characters = names if one else points if sheet.stacked else names + points + 2
    return sheet.font * CHARACTER_WIDTH * characters + 14


def _group(
    name: str,
    metrics: Sequence[MetricResult],
    top: float,
    style: Mapping[str, str],
    across: Scale,
    references: Mapping[str, ReferenceResult],
    sheet: Sheet,
    one: bool,
) -> Group:
    label = _short(trees.metric_label(name))
    begin = top + (LANE if sheet.stacked and not one else 0)
    lanes = [
        Lane('' if one else _short(metric.point), style[metric.point], begin + LANE * (i + 0.5), None)
        for i, metric in enumerate(metrics)
    ]
    marked = [
        replace(lane, mark=_turned(mark_of(metric, metric.summary, lane.y, across, references)))
        if metric.summary
        else lane
        for lane, metric in zip(lanes, metrics, strict=True)
    ]
    return Group(label, top + LANE / 2, tuple(marked))


def _turned(mark: Mark) -> Mark:
    """The mark of an upright scale for one that lies."""
    return replace(mark, x=mark.y, y=mark.x, dots=tuple((y, x) for x, y in mark.dots))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f'{text[: LONGEST_LABEL - 1]}\u2026'
