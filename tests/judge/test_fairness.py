"""Fairness between tasks and nodes as a criterion, and what the sources' own figures come to."""

import math
from dataclasses import replace

import numpy as np
import pytest

from builders import plan_of, records_of
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import CurveRatio, Curves, Fair, PointRatio, Shape, judge_curves
from seatrial.judge.relations import lies_between, stays_below
from seatrial.judge.statistics import fairness
from seatrial.model.metric import LOWER
from seatrial.workload.sweep import AXES

SOURCE = {'id': 'X', 'words': 'it is so', 'source': 'Somebody'}
MIN_S, MAX_S, MEAN_S = 1268.0, 2244.0, 1.41 * 1268.0
SHAPE = (-1.0, 0.0, 0.5, -0.5, 0.0, 1.0)


def fermilab():
    """49 times with the shortest, the longest and the mean of Fermilab's saturated run (FN-08)."""
    rest = (49 * MEAN_S - MIN_S - MAX_S) / 47
    return [MIN_S, *(rest + (-1) ** number * 100 for number in range(46)), rest, MAX_S]


def curves(*launches, metric='read', between='tasks', values=(1.0,) * 6):
    """One point with the fairness of each launch."""
    results = [fairness([15_000_000_000] * len(times), times) for times in launches]
    by_point = {('read', '49tasks'): {between: results}}
    return Curves(
        'Check', 'ior', AXES['tasks'], {'49tasks': 49}, {metric: {'49tasks': values}}, {}, frozenset(), by_point
    )


def verdict(limit, measured, figure='time_ratio', **more):
    (result,) = judge_curves(Fair(figure=figure, limit=limit, **more, **SOURCE), measured)
    return result.relation.verdict


def test_the_49_clients_of_the_source_have_its_figures():
    evenness = fairness([15_000_000_000] * 49, fermilab())
    assert (evenness.tasks, round(evenness.time_ratio, 2), round(evenness.mean_ratio, 2)) == (49, 1.77, 1.41)
    assert evenness.time_cv < 0.20


@pytest.mark.parametrize(('limit', 'expected'), [(1.8, 'holds'), (1.77, 'holds'), (1.5, 'fails')])
def test_the_49_clients_of_the_source_pass_1_8_and_fail_1_5(limit, expected):
    assert verdict(limit, curves(*6 * [fermilab()])) == expected


def test_launches_that_differ_leave_a_limit_between_them_undecided():
    launches = [[1.0, 1.5 + 0.2 * step] for step in SHAPE]
    assert verdict(1.5, curves(*launches)) == 'undecided'
    assert verdict(1.9, curves(*launches)) == 'holds'
    assert verdict(1.2, curves(*launches)) == 'fails'


@pytest.mark.parametrize(('figure', 'limit'), [('time_ratio', 3.0), ('mean_ratio', 2.0), ('time_cv', 0.5)])
def test_each_figure_is_judged_by_itself(figure, limit):
    launches = curves(*6 * [[1.0, 3.0]])
    assert verdict(1.001 * limit, launches, figure) == 'holds'
    assert verdict(0.999 * limit, launches, figure) == 'fails'


@pytest.mark.parametrize(('limit', 'expected'), [(0.79, 'holds'), (0.81, 'fails')])
def test_jains_index_is_to_be_at_least_its_limit(limit, expected):
    """Times of 1 and 3: throughputs of 3 to 1, of which 16 / 20 were served."""
    (result,) = judge_curves(Fair(figure='jain', limit=limit, **SOURCE), curves(*6 * [[1.0, 3.0]]))
    assert result.relation.verdict == expected
    assert result.relation.sentence.startswith("Jain's index of the throughputs of the tasks 0.8 (49tasks), 90 % int")
    assert f'wanted at least {limit}' in result.relation.sentence


def test_the_interval_of_jains_index_decides_and_stands_in_its_order():
    launches = [[1.0, 3.0 + 0.5 * step] for step in SHAPE]
    (result,) = judge_curves(Fair(figure='jain', limit=0.8, **SOURCE), curves(*launches))
    assert result.relation.verdict == 'undecided'
    assert result.relation.low < result.relation.estimate < result.relation.high < 1


def test_one_of_many_points_that_may_be_above_by_chance_fails_only_with_the_doubt_shared():
    launches = [2.0 + 0.5 * step for step in SHAPE]
    assert stays_below({'a': launches}, 1.5, 'time').verdict == 'fails'
    assert stays_below({'a': launches, **{str(n): [1.0] * 6 for n in range(30)}}, 1.5, 'time').verdict == 'undecided'


@pytest.mark.parametrize(
    ('measured', 'why'),
    [
        (curves(*6 * [[1.0]]), 'no launch of several tasks of which the engine tells the times'),
        (curves(*6 * [[1.0, 2.0]], between='nodes'), 'no launch of several tasks'),
        (curves(*6 * [[1.0, 2.0]], values=()), 'no launch of several tasks'),
        (curves(*5 * [[1.0, 2.0]]), '49tasks has 5 of the 6 samples that a verdict needs'),
    ],
)
def test_what_was_not_measured_often_enough_or_not_by_several_is_undecided(measured, why):
    (result,) = judge_curves(Fair(figure='time_ratio', limit=1.5, **SOURCE), measured)
    assert result.relation.verdict == 'undecided' and why in result.relation.sentence


@pytest.mark.parametrize('wrong', [{'figure': 'longest'}, {'between': 'racks'}])
def test_a_figure_that_there_is_not_cannot_be_declared(wrong):
    declared = replace(Fair(figure='time_ratio', limit=1.5, **SOURCE), **wrong)
    text = declared.fault(Shape(('read',), 'x'))
    assert 'is none of time_ratio, mean_ratio, time_cv, jain between tasks or nodes or groups' in text


def test_a_node_is_as_slow_as_the_slowest_of_its_tasks():
    plan = plan_of()
    records = records_of(plan, 6 * [100.0])
    samples = []
    for sample in records.samples:
        measurement = sample.measurement
        first = measurement.tasks[0]
        times = [('node1', 1.0), ('node1', 2.0), ('node2', 3.0), ('node2', 4.0)]
        tasks = tuple(first._replace(rank=rank, host=host, end_s=end) for rank, (host, end) in enumerate(times))
        samples.append(sample._replace(measurement=measurement._replace(tasks=tasks)))
    one = judge_case(plan, records._replace(samples=tuple(samples))).metrics[0]
    assert one.fairness['nodes'][0].time_ratio == 2.0
    assert one.median_fairness('time_ratio') == 4.0


# The sources' own figures


ONE_SIGMA = 0.6827  # of a normal distribution, within one standard error


def around(mean, error, count=21):
    """So many samples with this mean and this error of it."""
    shape = np.linspace(-1, 1, count)
    return list(mean + error * math.sqrt(count) * shape / shape.std(ddof=1))


def compared(expectation, over, under):
    measured = Curves(
        'Check',
        'ior',
        AXES['layout'],
        {'4MiB-3': 0, 'one': 1},
        {'read': {'4MiB-3': over, 'one': under}},
        {'read': 'higher'},
    )
    (result,) = judge_curves(expectation, measured)
    return result.relation


@pytest.mark.parametrize(
    ('striped', 'plain', 'gain', 'within'),
    [((13.71, 0.03), (13.02, 0.05), 1.053, 'undecided'), ((12.81, 0.01), (12.27, 0.08), 1.044, 'holds')],
    ids=['FCL', 'ITB'],
)
def test_the_gain_of_stripes_at_fermilab_is_significant_and_below_6_per_cent(striped, plain, gain, within):
    """FN-09. Of the larger one our 90 % interval ends at 6.1 %, so that it is no proof of less than 6 %.

    The source's errors are of a mean, one standard error each; that of the gain follows from both. 5.3 % and 0.5 %:
    its own interval ends at 5.8 %.
    """
    points = {'at': '4MiB-3', 'than': 'one', **SOURCE}
    result = compared(PointRatio(**points), around(*striped), around(*plain))
    assert result.verdict == 'holds' and result.low > 1.03
    assert result.estimate == pytest.approx(gain, abs=0.0005) and result.estimate < 1.06
    assert (
        compared(PointRatio(lowest=1.0, highest=1.06, **points), around(*striped), around(*plain)).verdict == within
    )
    judged = lies_between(around(*striped), around(*plain), 1.0, 1.06, confidence=ONE_SIGMA)
    assert judged.verdict == 'holds'
    error = gain * math.hypot(*(error_of / mean for mean, error_of in (striped, plain)))
    assert judged.high - judged.estimate == pytest.approx(error, rel=0.05)


def test_the_listing_of_the_source_is_14_1_times_as_fast_from_the_cache():
    """GP-04: 0.466 s, then 0.033 s."""
    times = {'ls_first': {'891': around(0.466, 0.001, 6)}, 'ls_fourth': {'891': around(0.033, 0.0001, 6)}}
    measured = Curves('Check', 'posixops', AXES['tree'], {'891': 0}, times, dict.fromkeys(times, LOWER))
    (result,) = judge_curves(CurveRatio(metric='ls_fourth', than='ls_first', lowest=5.0, **SOURCE), measured)
    assert result.relation.verdict == 'holds' and result.relation.estimate == pytest.approx(14.1, abs=0.03)
