"""The course of a scenario: its throughput over time and its actions, in the page."""

import re
from dataclasses import replace

import pytest

from builders import measured_of, rows_of, scenario_of
from seatrial.engine.posixops.scenario_figures import row_of
from seatrial.model.units import BINARY
from seatrial.report.drawing.plot import Box, Curve, Guide
from seatrial.report.drawing.timeline import courses
from seatrial.report.session.page import page

SHORT = scenario_of(30, 10, 60)
LONG = scenario_of(3600, 120, 12 * 3600 - 3720, 6, 'mds-away')  # 72 h


def drawn(make, point, **rows):
    (view,) = courses(make.scenarios((point, measured_of(point, **rows))), BINARY)
    return view


def boxes_of(view, label):
    return [part for part in view['chart'].parts if isinstance(part, Box) and part.label == label]


def lines_of(view):
    return {part.label: part.strokes for part in view['chart'].parts if isinstance(part, Curve)}


def test_a_short_one_is_drawn_second_by_second_with_its_action_and_return(make):
    view = drawn(make, SHORT, dead_s=5)
    failed = boxes_of(drawn(make, SHORT, errors=True), 'calls failed')
    assert (failed[0].start, len(failed), boxes_of(view, 'calls failed')) == (30, 10, [])
    (strokes,) = lines_of(view).values()
    (action,), (back,) = boxes_of(view, 'action'), boxes_of(view, 'until it is back')
    assert (action.start, action.end, action.number) == (30.0, pytest.approx(40.4), '1')
    assert action.end == back.start < back.end
    down = [x for stroke in strokes for x, rate in stroke if rate == 0]
    assert (min(down), max(down)) == (30.0, 45.0)
    assert [part.label for part in view['chart'].parts if isinstance(part, Guide)] == ['90 % of the rate before']


def test_an_outage_of_two_minutes_is_seen_in_72_hours(make):
    view = drawn(make, LONG)
    mean, lowest = lines_of(view)
    assert (mean, lowest) == ('written and read, mean of 12 min', 'lowest second of the mean')
    assert sum(rate == 0 for stroke in lines_of(view)[lowest] for _, rate in stroke) >= 2 * 6
    assert len(view['actions']) == len(boxes_of(view, 'action')) == 6
    assert 'at least 0 MiB/s' in view['chart'].words and '6 actions' in view['chart'].words


def test_what_never_came_back_is_said_and_has_no_return(make):
    view = drawn(make, SHORT, share_after=0.5)
    assert boxes_of(view, 'until it is back') == [] and 'not back at 90 %' in view['actions'][0]


def test_the_count_of_every_launch_is_said_with_its_action(make):
    case = make.scenarios((SHORT, measured_of(SHORT)))
    (one, *more) = next(iter(case.samples.values()))
    assert not more

    def launch(number, **counted):
        course = one.measurement.course
        course = course._replace(windows=(course.windows[0]._replace(**counted),))
        return one._replace(repetition=number, measurement=one.measurement._replace(course=course))

    launches = [launch(1, counted=0), launch(2, uncounted='exited with 2'), launch(0, counted=7)]
    (view,) = courses(replace(case, samples={'during': launches, 'before': launches}), BINARY)
    assert view['actions'][0].endswith('by: 7, 0, unknown (it exited with 2).')
    (view,) = courses(case, BINARY)
    assert 'count' not in view['actions'][0]


def test_every_scenario_of_a_case_is_in_the_page(make):
    other = SHORT.changed(label='mds-away', actions=tuple(e._replace(name='mds-away') for e in SHORT.actions))
    case = make.scenarios(*((point, measured_of(point)) for point in (SHORT, other)))
    html = page(make.session(case))
    assert re.findall(r'throughput of ([\w-]+):', html) == ['oss3-away'] * 2 + ['mds-away'] * 2
    assert courses(make.measured(), BINARY) == [], 'a case that is no scenario has none'


@pytest.mark.parametrize('point', [SHORT, LONG])
def test_the_steps_hold_all_bytes_that_were_acknowledged(point):
    course = measured_of(point, rate=1000).course
    moved = 2 * sum(row_of(line).bytes_moved for line in list(rows_of(point, rate=1000))[:-1])
    assert sum(course.mean) * course.step_s == pytest.approx(moved, rel=0.001)
    assert all(low <= mean for low, mean in zip(course.lowest, course.mean, strict=True))
