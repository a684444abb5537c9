import pytest

from seatrial.model.record import Finding
from seatrial.report.lanes import believed, lanes


def cases_of(make, *bases, **more):
    plans = [make.plan(f'Check{i}') for i in range(len(bases))]
    return [
        make.case(plan, make.records(plan, make.even_rates(plan, base), **more)).result
        for plan, base in zip(plans, bases, strict=True)
    ]


def test_all_checks_share_one_scale(make):
    slow, fast = lanes(cases_of(make, 100.0, 400.0)).rows
    assert [lane.operation for lane in slow] == ['read', 'write']
    # 100, 200, 400 and 800 MiB/s on an axis from zero.
    zero = 2 * slow[1].low - slow[0].low
    assert [each.low - zero for each in (fast[1], fast[0])] == pytest.approx(
        [4 * (slow[1].low - zero), 8 * (slow[1].low - zero)]
    )


def test_a_lane_reaches_from_the_least_to_the_greatest_mean(make):
    plan = make.plan()
    rates = make.even_rates(plan)
    rates['write@32objects'] = [2 * rate for rate in rates['write@32objects']]
    write = lanes([make.case(plan, make.records(plan, rates)).result]).rows[0][1]
    assert write.high > write.low


def test_what_cannot_be_believed_takes_no_part(make):
    plan = make.plan()
    wrong = {'read@8objects': [Finding('T18', 'invalid', 'too little')]}
    rates = make.even_rates(plan) | {'read@8objects': [9999.0] * 6}
    case = make.case(plan, make.records(plan, rates, wrong)).result
    assert len(believed(case, 'read')) == 2
    assert max(believed(case, 'read')) < 1100


def test_without_a_figure_there_are_no_lanes(make):
    plan = make.plan()
    assert lanes([make.case(plan, make.records(plan, {})).result]) is None
