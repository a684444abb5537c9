"""Metrics that lie on no axis, one below the other on one scale: a dot with its interval for every point.

For points that differ by more than a number, and for operations of one kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.plan import TrialPlan
from seatrial.report.drawing.markers import Mark, axis_label, figures_scale, mark_of, styles
from seatrial.report.drawing.scale import CHARACTER_WIDTH, Frame, Paper, Tick, apart, papers
from seatrial.report.figures import Unit
from seatrial.workload.registry import kind_of

LANE, GAP = 21.0, 11.0
"""px of the height of a lane, and between the lanes of two metrics."""

LONGEST_LABEL = 26

PAPERS = papers(0, 0, right=20, top=8)


@dataclass(frozen=True)
class DotLane:
    """One metric at one point. mark: None where nothing was measured."""

    label: str
    style: str
    y: float
    mark: Mark | None


@dataclass(frozen=True, kw_only=True)
class Dots(Frame):
    """Everything that there is to draw. y_ticks: the labels of the lanes; names: of the metrics, at the left edge."""

    lanes: tuple[DotLane, ...]
    names: tuple[Tick, ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Those of all lanes."""
        return tuple(lane.mark for lane in self.lanes if lane.mark)

    @property
    def words(self) -> str:
        """All of it in words."""
        return '; '.join(mark.words for mark in self.marks)


def dots(plan: TrialPlan, case: CaseResult, metrics: Sequence[MetricResult], unit: Unit, paper: Paper) -> Dots | None:
    """The dots of those metrics of a case that have one dimension, or None where nothing was measured.

    On narrow paper the name of a metric stands above its lanes.
    """
    measured = [metric for metric in metrics if metric.summary is not None]
    if not measured:
        return None
    by_name: dict[str, list[MetricResult]] = {}
    for metric in metrics:
        by_name.setdefault(metric.name, []).append(metric)
    one = len(plan.points) == 1
    labels = {name: _short(kind_of(plan.kind).metric_words(name)) for name in by_name}
    left, right = _left(labels, metrics, one, paper), float(paper.width - paper.right)
    across = figures_scale(case, measured, unit, left, right)
    style = styles(point.label for point in plan.points)
    references = {reference.metric: reference for reference in case.references}
    names, lanes, y = [], [], float(paper.top)
    for name, own in by_name.items():
        names.append(Tick(y + LANE / 2, labels[name]))
        y += LANE if paper.narrow and not one else 0
        for metric in own:
            middle = y + LANE / 2
            mark = mark_of(metric, metric.summary, middle, across, references) if metric.summary else None
            lanes.append(DotLane('' if one else _short(metric.point), style[metric.point], middle, mark))
            y += LANE
        y += 0 if one else GAP
    return Dots(
        paper=replace(paper, height=y + paper.bottom),
        left=left,
        right=right,
        x_ticks=apart(across.ticks(), paper.font, paper.width),
        y_ticks=[Tick(lane.y, lane.label) for lane in lanes],
        x_label=axis_label(measured, across),
        lanes=tuple(lanes),
        names=tuple(names),
    )


def _left(labels: Mapping[str, str], metrics: Sequence[MetricResult], one: bool, paper: Paper) -> float:
    names = max(map(len, labels.values()))
    points = max(len(_short(metric.point)) for metric in metrics)
    characters = names if one else points if paper.narrow else names + points + 2
    return paper.font * CHARACTER_WIDTH * characters + 14


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f'{text[: LONGEST_LABEL - 1]}\u2026'
