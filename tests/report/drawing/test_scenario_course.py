"""The course of a scenario: its throughput over time and its actions, in the page."""

import re
from dataclasses import replace

import pytest

from courses import measured_of, rows_of, scenario_of
from seatrial.engine.posixops.scenario_figures import row_of
from seatrial.model.action import MAX_STEPS
from seatrial.model.units import BINARY
from seatrial.report.drawing.scenario_course import LOWEST, MEAN, PAPERS, courses
from seatrial.report.session.page import page

SHORT = scenario_of(30, 10, 60)
LONG = scenario_of(3600, 120, 12 * 3600 - 3720, 6, 'mds-away')  # 72 h


def drawn(make, point, **rows):
    (view,) = courses(make.scenarios((point, measured_of(point, **rows))), BINARY)
    return view


def px(drawing, second, point):
    return drawing.left + (drawing.right - drawing.left) * second / point.duration_s


def test_a_short_one_is_drawn_second_by_second_with_its_action_and_return(make):
    view = drawn(make, SHORT, dead_s=5)
    drawing = view.drawings['wide']
    assert (view.step_s, list(drawing.lines)) == (1, [MEAN])
    (block,) = drawing.blocks
    assert block.x == pytest.approx(px(drawing, 30, SHORT), abs=0.1)
    assert block.width == pytest.approx(px(drawing, 10.4, SHORT) - drawing.left, abs=0.1)
    ((x, width),) = drawing.returns
    assert x == pytest.approx(block.x + block.width) and width > 0
    bottom = drawing.paper.height - drawing.paper.bottom
    down = [x for stroke in drawing.lines[MEAN] for x, y in stroke if y == bottom]
    assert min(down) == pytest.approx(px(drawing, 30, SHORT)) and max(down) == pytest.approx(px(drawing, 45, SHORT))


def test_an_outage_of_two_minutes_is_seen_in_72_hours(make):
    view = drawn(make, LONG)
    assert view.step_s == 72 * 3600 / MAX_STEPS
    lowest = [y for stroke in view.drawings['wide'].lines[LOWEST] for _, y in stroke]
    paper = PAPERS['wide']
    assert lowest.count(paper.height - paper.bottom) >= 2 * 6
    assert len(view.actions) == len(view.drawings['wide'].blocks) == 6
    assert 'at least 0 MiB/s' in view.words and '6 actions' in view.words


def test_what_never_came_back_is_said_and_has_no_return(make):
    view = drawn(make, SHORT, share_after=0.5)
    assert view.drawings['narrow'].returns == [] and 'not back at 90 %' in view.actions[0]


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
    assert view.actions[0].endswith('by: 7, 0, unknown (it exited with 2).')
    (view,) = courses(case, BINARY)
    assert 'count' not in view.actions[0]


def test_times_in_which_calls_failed_are_marked_in_the_action(make):
    drawing = drawn(make, SHORT, errors=True).drawings['wide']
    assert drawing.failed[0][0] == pytest.approx(px(drawing, 30, SHORT)) and len(drawing.failed) == 10
    assert not drawn(make, SHORT).failed


def test_every_scenario_of_a_case_is_in_the_page(make):
    other = SHORT.changed(label='mds-away', actions=tuple(e._replace(name='mds-away') for e in SHORT.actions))
    case = make.scenarios(*((each, measured_of(each)) for each in (SHORT, other)))
    html = page(make.session(case))
    assert re.findall(r'throughput of ([\w-]+):', html) == ['oss3-away'] * 2 + ['mds-away'] * 2
    assert html.count('<figure class="course">') == 2


def test_a_case_that_is_no_scenario_has_none(make):
    plan = make.plan()
    assert courses(make.case(plan, make.records(plan, make.even_rates(plan))), BINARY) == []


@pytest.mark.parametrize('point', [SHORT, LONG])
def test_the_steps_hold_all_bytes_that_were_acknowledged(point):
    course = measured_of(point, rate=1000).course
    moved = 2 * sum(row_of(line).bytes_moved for line in list(rows_of(point, rate=1000))[:-1])
    assert sum(course.mean) * course.step_s == pytest.approx(moved, rel=0.001)
    assert all(low <= mean for low, mean in zip(course.lowest, course.mean, strict=True))
