"""The course of a scenario: its throughput over time, with its actions and their failures."""

from collections.abc import Sequence
from typing import Any

from seatrial.model.action import Course, Window
from seatrial.report.drawing.plot import Box, Chart, Curve, Guide, Stroke, figures_scale, steps_line, time_scale
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, common_unit, seconds
from seatrial.workload.words import counted


def courses(evidence: CaseEvidence, system: str) -> list[dict[str, Any]]:
    """The course of the last measured launch at each point, in the order of the plan, with its actions in words."""
    by_point: dict[str, dict[int, Course]] = {point.label: {} for point in evidence.plan.points}
    for sample in (sample for samples in evidence.samples.values() for sample in samples):
        if sample.measurement and sample.measurement.course and sample.valid:
            by_point[sample.point.label][sample.repetition] = sample.measurement.course
    views = []
    for label, by_repetition in by_point.items():
        if by_repetition:
            launches = [course for _, course in sorted(by_repetition.items())]
            unit = common_unit((max(launches[-1].mean),), 'B/s', system)
            actions = [_action_words(windows) for windows in zip(*(run.windows for run in launches), strict=True)]
            views.append({'point': label, 'chart': _chart(launches[-1], unit), 'actions': actions})
    return views


def _action_words(launches: Sequence[Window]) -> str:
    """An action in the last launch; its count in each launch."""
    window = launches[-1]
    length = seconds(window.end_s - window.start_s)
    text = f'{window.name}: {length}, from {seconds(window.start_s)} on'
    if window.back_s is None:
        text += '; not back at 90 % before the next action or the end.'
    else:
        text += f'; back at 90 % {seconds(window.back_s - window.end_s)} after its undo.'
    if not any(launch.uncounted or launch.counted is not None for launch in launches):
        return text
    rose = (f'unknown (it {launch.uncounted})' if launch.uncounted else str(launch.counted) for launch in launches)
    return f'{text} Its count rose in each launch by: {", ".join(rose)}.'


def _chart(course: Course, unit: Unit) -> Chart:
    step_s = course.step_s
    lost = f', calls failed in {counted(len(course.failed), "step")}' if course.failed else ''
    mean = f'written and read, mean of {seconds(step_s)}' if step_s > 1 else 'written and read'
    return Chart(
        x=time_scale(0.0, step_s * len(course.mean), 'the load began'),
        y=figures_scale([max(*course.mean, course.wanted)], unit=unit),
        parts=[
            *(
                Box(action.end_s, action.back_s, 'timed', label='until it is back')
                for action in course.windows
                if action.back_s is not None
            ),
            *(
                Box(action.start_s, action.end_s, 'pause stall', number=str(number), label='action')
                for number, action in enumerate(course.windows, 1)
            ),
            Guide(course.wanted, 'least', label='90 % of the rate before'),
            Curve('read', _steps(course.mean, step_s), mean),
            *([Curve('third', _steps(course.lowest, step_s), 'lowest second of the mean')] if step_s > 1 else []),
            *(
                Box(i * step_s, (i + 1) * step_s, 'launch', 'write', lane=0, label='calls failed')
                for i in course.failed
            ),
        ],
        height=190,
        lanes=['failed'] if course.failed else [],
        words=f'at most {unit.words(max(course.mean))}, at least {unit.words(min(course.lowest))}, '
        f'{counted(len(course.windows), "action")}{lost}',
    )


def _steps(rates: Sequence[float], step_s: float) -> Sequence[Stroke]:
    return steps_line([(i * step_s, (i + 1) * step_s, rate) for i, rate in enumerate(rates)])
