"""Fairness between tasks and nodes as a criterion."""

from dataclasses import replace

import pytest

from builders import plan_of, records_of
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import Curves, Fair, Shape, judge_curves
from seatrial.judge.relations import stays_below
from seatrial.judge.statistics import fairness
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
