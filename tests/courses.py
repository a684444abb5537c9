"""Scenarios that were not run: the rows of their tasks, the transcript of their actions, and a case made of them."""

import json

import builders
from seatrial.engine.posixops.scenario_figures import VERIFIED, ScenarioRow, bound_s, figures, line_of_row
from seatrial.model.action import Step, line_of_step
from seatrial.workload.scenario import scenario

MIB = 1 << 20


def scenario_of(before_s, action_s, after_s, times=1, name='oss3-away'):
    """The point, as it was launched on two nodes."""
    point = scenario(before_s, action_s, after_s, times)
    actions = tuple(each._replace(name=name) for each in point.actions)
    return point.changed(label=name, tasks=2, nodes=2, tasks_per_node=1, actions=actions)


def rows_of(point, dead_s=0.0, rate=64, share_after=1.0, errors=False):
    """What a task prints that moves so many MiB/s, but not in an action and dead_s after it; share_after: from the
    first action on."""
    at_s = 0.0
    while at_s < point.duration_s:
        end_s = bound_s(point, at_s)
        dead = next((e for e in point.actions if e.at_s <= at_s < e.at_s + e.for_s + dead_s), None)
        back = next((e for e in point.actions if at_s <= e.at_s + e.for_s + dead_s < end_s), None)
        share = 0 if dead else share_after if at_s > point.actions[0].at_s else 1
        done = int(rate * share * (end_s - at_s) * (1 + 0.1 * (int(at_s) * 7 % 5 - 2)))
        gaps = ((back.at_s, back.at_s + back.for_s + dead_s),) if back else ()
        failed = {'EIO': 10} if dead and errors else {}
        yield line_of_row(
            ScenarioRow(at_s, end_s - at_s, done, done * MIB, 0.1, failed, {'60': done} if done else {}, gaps)
        )
        at_s = end_s
    yield f'["{VERIFIED}",1000]'


def transcript_of(point):
    """All actions at their times."""
    lines = [json.dumps({'skew_s': 0.0}) + '\n']
    for each in point.actions:
        lines.append(line_of_step(Step(each.name, 'start', each.at_s, each.at_s + 0.3, '')))
        lines.append(line_of_step(Step(each.name, 'undo', each.at_s + each.for_s, each.at_s + each.for_s + 0.4, '')))
    return ''.join([*lines, json.dumps({'complete': True}) + '\n'])


def measured_of(point, **rows):
    """The measurement of a launch of the point."""
    tasks = [rows_of(point, **rows), rows_of(point, **rows)]
    metrics, course = figures(point, tasks, ('n1', 'n2'), transcript_of(point))
    return builders.Measurement(metrics, 2, ('n1', 'n2'), course=course)
