import pytest

from seatrial.model.record import Finding
from seatrial.report.lanes import ROLES, believed, lanes, role_style


def cases_of(make, *bases, **more):
    plans = [make.plan(f'Check{i}') for i in range(len(bases))]
    return [
        make.case(plan, make.records(plan, make.even_rates(plan, base), **more)).result
        for plan, base in zip(plans, bases, strict=True)
    ]


def test_all_checks_share_one_scale(make):
    slow, fast = lanes(cases_of(make, 100.0, 400.0)).rows
    assert [lane.role for lane in slow] == ['read', 'write']
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


@pytest.fixture(scope='module')
def session(make):
    return make.metadata()


def of_check(session, check):
    return [case.result for case in session.cases if case.plan.case.check == check]


@pytest.mark.parametrize(
    ('check', 'role', 'mean'),
    [
        ('FileMetadata', 'create', 9000.0),
        ('FileMetadata', 'remove', 14000.0),
        ('FdtreePrivate', 'create', 9000.0),
        ('AttributeCache', 'first', 1913.0),
        ('AttributeCache', 'again', 27000.0),
        ('LargeDirectory', 'again', 900e3),
    ],
)
def test_a_metadata_check_has_its_figures_in_roles(session, check, role, mean):
    assert believed(of_check(session, check)[0], role)[0] == pytest.approx(mean)


def test_the_removal_among_posix_operations_is_unlink(session):
    case = of_check(session, 'PosixOperations')[0]
    (unlink,) = [metric.summary.mean for metric in case.metrics if metric.operation == 'unlink']
    assert believed(case, 'remove') == [unlink]


def test_a_role_that_a_check_does_not_measure_is_empty(session):
    assert believed(of_check(session, 'FdtreePrivate')[0], 'stat') == []


def test_the_lanes_of_a_row_lie_below_each_other_in_styles_of_their_own(session):
    (row, *_) = lanes(of_check(session, 'FileMetadata')).rows
    assert [lane.role for lane in row] == ['create', 'stat', 'read', 'remove']
    assert [lane.y for lane in row] == sorted({lane.y for lane in row})
    assert len({lane.style for lane in row}) == 4


def test_what_is_counted_has_no_lanes(session):
    assert lanes(of_check(session, 'PosixSemantics')) is None


def test_reads_and_writes_look_as_everywhere():
    assert [role_style('MiB/s', role) for role in ROLES['MiB/s']] == ['read', 'write']
