"""The course of a scenario: its throughput over time, with the actions and what failed in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seatrial.model.action import Course, Window
from seatrial.report.drawing.scale import HEADROOM, Frame, Paper, Scale, papers
from seatrial.report.drawing.timeline import PauseBlock, TimeAxis, blocks, strokes
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, common_unit, seconds
from seatrial.workload.words import counted

PAPERS = papers(280, 250, bottom=62)

MEAN, LOWEST = 'read', 'third'
"""The styles of the two lines."""


@dataclass(frozen=True, kw_only=True)
class CourseDrawing(Frame):
    """Everything that there is to draw.

    lines: by style, their strokes; blocks: the actions; returns: x and width from each undo until throughput was back
    wanted: y of the throughput that counts as back; failed: x and width of each time in which calls failed
    """

    lines: Mapping[str, Sequence[Sequence[tuple[float, float]]]]
    blocks: Sequence[PauseBlock]
    returns: Sequence[tuple[float, float]]
    wanted: float
    failed: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class CourseView:
    """The course at one point. step_s: seconds of a step of the lines; words: all of it; actions: each, in words."""

    point: str
    step_s: int
    words: str
    actions: Sequence[str]
    failed: bool
    drawings: Mapping[str, CourseDrawing]


def courses(evidence: CaseEvidence, system: str) -> list[CourseView]:
    """Those of the launches that were measured, in the order of the plan."""
    found: dict[str, dict[int, Course]] = {}
    for sample in (sample for own in evidence.samples.values() for sample in own):
        if sample.measurement and sample.measurement.course and sample.valid:
            found.setdefault(sample.point.label, {})[sample.repetition] = sample.measurement.course
    labels = [point.label for point in evidence.plan.points if point.label in found]
    return [_view(label, [found[label][number] for number in sorted(found[label])], system) for label in labels]


def _view(point: str, launches: Sequence[Course], system: str) -> CourseView:
    course = launches[-1]
    unit = common_unit((max(course.mean),), 'B/s', system)
    away = counted(len(course.windows), 'action')
    lost = f', calls failed in {counted(len(course.failed), "step")}' if course.failed else ''
    return CourseView(
        point=point,
        step_s=course.step_s,
        words=f'at most {unit.words(max(course.mean))}, at least {unit.words(min(course.lowest))}, {away}{lost}',
        actions=[_action_words(each) for each in zip(*(launch.windows for launch in launches), strict=True)],
        failed=bool(course.failed),
        drawings={name: _drawing(course, unit, paper) for name, paper in PAPERS.items()},
    )


def _action_words(launches: Sequence[Window]) -> str:
    """An action in the last launch; its count in each of them."""
    window = launches[-1]
    length = seconds(window.end_s - window.start_s)
    said = f'{window.name}: {length}, from {seconds(window.start_s)} on'
    if window.back_s is None:
        said += '; not back at 90 % before the next one or the end.'
    else:
        said += f'; back at 90 % {seconds(window.back_s - window.end_s)} after its undo.'
    if not any(each.uncounted or each.counted is not None for each in launches):
        return said
    rose = (f'unknown (it {each.uncounted})' if each.uncounted else str(each.counted) for each in launches)
    return f'{said} Its count rose, launch by launch, by: {", ".join(rose)}.'


def _drawing(course: Course, unit: Unit, paper: Paper) -> CourseDrawing:
    step_s, end_s = course.step_s, course.step_s * len(course.mean)
    bottom = paper.height - paper.bottom
    highest = max(max(course.mean), course.wanted)
    up = Scale(0.0, highest * HEADROOM or unit.size, False, bottom, paper.top + paper.font, unit)
    y_ticks = up.ticks(4)
    left, right = paper.room(y_ticks), float(paper.width - paper.right)
    axis = TimeAxis.of(0.0, end_s, left, right, paper)
    at = axis.at
    lines = {MEAN: course.mean}
    if step_s > 1:
        lines[LOWEST] = course.lowest
    return CourseDrawing(
        paper=paper,
        left=left,
        right=right,
        x_ticks=axis.ticks,
        y_ticks=y_ticks,
        x_label=f'{axis.name} since the load began',
        y_label=unit.name,
        lines={
            style: strokes([(at(i * step_s), at((i + 1) * step_s), up(rate)) for i, rate in enumerate(rates)])
            for style, rates in lines.items()
        },
        blocks=blocks([(at(each.start_s), at(each.end_s), 'stall') for each in course.windows]),
        returns=[
            (at(each.end_s), at(each.back_s) - at(each.end_s)) for each in course.windows if each.back_s is not None
        ],
        wanted=up(course.wanted),
        failed=[(at(i * step_s), max(1.0, at((i + 1) * step_s) - at(i * step_s))) for i in course.failed],
    )
