import math
from itertools import pairwise

import pytest

from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria
from seatrial.model.record import Finding
from seatrial.model.units import MIB
from seatrial.model.workload import AccessPattern, Sweep, powers_of_two
from seatrial.report.curve import NARROW, OPEN, STRUCK, WIDE, curve

READ_WHOLE = AccessPattern('single', 'whole', operations=('read',))
TRANSFERS = Sweep('transfer_size', powers_of_two(1024, 4 * MIB), 64 * MIB)
WRONG = Finding('T18', 'invalid', 'client 1 moved too little')


@pytest.fixture
def plan(make):
    return make.plan()


def drawn(make, plan, rates=None, criteria=None, paper=WIDE, **more):
    case = make.case(plan, make.records(plan, rates or make.even_rates(plan), **more), criteria or Criteria())
    return curve(plan, case.result, paper)


def marks_of(found):
    return {mark.words.partition(':')[0]: mark for mark in found.marks}


def test_every_operation_has_a_line_and_every_metric_a_mark(make, plan):
    found = drawn(make, plan)
    assert [line.operation for line in found.lines] == ['write', 'read']
    assert set(marks_of(found)) == set(plan.metrics)


def test_values_that_double_stand_at_equal_distances(make):
    plan = make.plan(pattern=READ_WHOLE, sweep=TRANSFERS)
    places = [tick.at for tick in drawn(make, plan).x_ticks]
    steps = [after - before for before, after in pairwise(places)]
    assert len(places) == 13
    assert steps == pytest.approx([steps[0]] * 12)


def test_labels_that_would_touch_are_left_out_evenly(make):
    plan = make.plan(pattern=READ_WHOLE, sweep=TRANSFERS)
    shown = [i for i, tick in enumerate(drawn(make, plan, paper=NARROW).x_ticks) if tick.label]
    assert shown[-1] == 12
    assert len({after - before for before, after in pairwise(shown)}) == 1
    assert 3 <= len(shown) < 13


def test_the_axis_says_what_it_measures_and_its_scale(make, plan):
    found = drawn(make, plan)
    assert (found.x_label, found.y_label) == ('objects per client (log scale)', 'MiB/s')


def test_a_single_point_stands_in_the_middle(make):
    plan = make.plan(sweep=Sweep('objects', (8,), 64 * MIB))
    found = drawn(make, plan)
    middle = (found.left + WIDE.width - WIDE.right) / 2
    assert [tick.at for tick in found.x_ticks] == [middle]
    assert found.x_label == 'objects per client'


def test_two_operations_stand_beside_each_other_and_one_stands_on_its_point(make, plan):
    marks = marks_of(drawn(make, plan))
    assert marks['read@8objects'].x - marks['write@8objects'].x == 10.0
    alone = make.plan(pattern=READ_WHOLE)
    found = drawn(make, alone)
    assert [mark.x for mark in found.marks] == [tick.at for tick in found.x_ticks]


def test_the_interval_is_that_of_the_verdict(make, plan):
    case = make.case(plan, make.records(plan, make.even_rates(plan, spread=0.1)))
    interval = case.result.metrics[0].summary.interval
    mark = marks_of(curve(plan, case.result, WIDE))['write@2objects']
    # The axis is linear from zero: shares of heights are shares of figures.
    assert (mark.low - mark.y) / (WIDE.height - WIDE.bottom - mark.y) == pytest.approx(
        interval.half_width / interval.mean
    )


def test_a_single_sample_has_neither_interval_nor_dots(make, plan):
    found = drawn(make, plan, {name: [100.0] for name in plan.metrics})
    assert all((mark.low, mark.dots) == (None, ()) for mark in found.marks)


def test_the_samples_are_dots_in_the_order_of_their_repetitions(make, plan):
    rates = make.even_rates(plan) | {'write@2objects': [500.0, 510.0, 505.0, 495.0, 502.0, 498.0]}
    dots = marks_of(drawn(make, plan, rates))['write@2objects'].dots
    assert [x for x, _ in dots] == sorted(x for x, _ in dots)
    assert min(range(6), key=lambda i: dots[i][1]) == 1


def test_an_interval_that_leaves_the_paper_is_cut_and_shown_so(make, plan):
    rates = make.even_rates(plan) | {'read@2objects': [10.0, 1000.0, 1200.0]}
    mark = marks_of(drawn(make, plan, rates))['read@2objects']
    assert (mark.low_cut, mark.high_cut) == (True, True)
    assert WIDE.top <= mark.high <= mark.low <= WIDE.height - WIDE.bottom


def test_what_cannot_be_believed_is_struck_and_no_line_leads_to_it(make, plan):
    found = drawn(make, plan, findings={'read@8objects': [WRONG]})
    assert {name for name, mark in marks_of(found).items() if mark.form == STRUCK} == {
        'read@8objects',
        'write@8objects',
    }
    assert all(line.strokes == () for line in found.lines)
    assert all((mark.low, mark.dots) == (None, ()) for mark in found.marks if mark.form == STRUCK)


def test_a_line_goes_on_beyond_what_cannot_be_believed(make):
    plan = make.plan(sweep=Sweep('objects', (2, 4, 8, 16, 32), 64 * MIB))
    found = drawn(make, plan, findings={'write@8objects': [WRONG]})
    assert [len(stroke) for line in found.lines for stroke in line.strokes] == [2, 2, 2, 2]


def test_what_cannot_decide_is_open(make, plan):
    rates = make.even_rates(plan) | {'read@2objects': [1000.0 * (1 + 0.9 * (i % 2)) for i in range(20)]}
    rates['write@2objects'] = rates['read@2objects']
    marks = marks_of(drawn(make, plan, rates))
    assert (marks['read@2objects'].form, marks['read@8objects'].form) == (OPEN, 'full')


def test_a_bound_of_a_reference_opens_to_the_side_that_is_allowed(make, plan):
    reference = Reference('write@2objects', 500.0, -0.1, 0.2, 'MiB/s', 'baseline', '2026-11-01')
    mark = marks_of(drawn(make, plan, criteria=Criteria(references=(reference,))))['write@2objects']
    (low, low_side), (high, high_side) = mark.bounds
    assert (low_side, high_side) == (1, -1)
    assert low > mark.y > high


def test_everything_lies_on_the_paper(make):
    for case in make.varied().cases:
        for paper in (WIDE, NARROW):
            found = curve(case.plan, case.result, paper)
            for mark in found.marks if found else ():
                ends = [end for end in (mark.low, mark.high) if end is not None]
                ys = [mark.y, *ends, *(y for _, y in mark.dots), *(y for y, _ in mark.bounds)]
                assert all(paper.top <= y <= paper.height - paper.bottom for y in ys)
                assert all(math.isfinite(x) and found.left <= x <= paper.width - paper.right for x, _ in mark.dots)


def test_nothing_measured_draws_nothing(make, plan):
    case = make.case(plan, make.records(plan, {}))
    assert curve(plan, case.result, WIDE) is None


def test_the_curve_is_told_in_words_too(make, plan):
    assert 'read@2objects: mean 1000 MiB/s, 90 % interval' in drawn(make, plan).words
