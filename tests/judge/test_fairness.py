"""Fairness between tasks, nodes and groups of nodes: figures of a launch, and what a criterion makes of them."""

import math

import numpy as np
import pytest

from builders import plan_of, records_of
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import Curves, Fair, GroupsAlike, judge_curves
from seatrial.judge.relations import alike, stays_below
from seatrial.judge.statistics import by_group, fairness, fairness_of_groups, group_rates
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.metric import TaskTime
from seatrial.model.plan import NodeGroup
from seatrial.workload.sweep import AXES

SOURCE = {'id': 'X', 'words': 'it is so', 'source': 'Somebody'}
MIN_S, MAX_S, MEAN_S = 1268.0, 2244.0, 1.41 * 1268.0
SHAPE = (-1.0, 0.0, 0.5, -0.5, 0.0, 1.0)


def fermilab():
    """49 times with the shortest, the longest and the mean of Fermilab's saturated run (FN-08)."""
    rest = (49 * MEAN_S - MIN_S - MAX_S) / 47
    return [MIN_S, *(rest + (-1) ** number * 100 for number in range(46)), rest, MAX_S]


def curves(*launches, between='tasks', values=(1.0,) * 6):
    """One point with the fairness of each launch."""
    results = [fairness([15_000_000_000] * len(times), times) for times in launches]
    fair, samples = {('read', '49tasks'): {between: results}}, {'read': {'49tasks': values}}
    return Curves('Check', 'ior', AXES['tasks'], {'49tasks': 49}, samples, {}, frozenset(), fair)


def judged(limit, measured, figure='time_ratio'):
    (result,) = judge_curves(Fair(figure=figure, limit=limit, **SOURCE), measured)
    return result.relation


def test_the_49_clients_of_the_source_have_its_figures():
    evenness = fairness([15_000_000_000] * 49, fermilab())
    assert (evenness.tasks, round(evenness.time_ratio, 2), round(evenness.mean_ratio, 2)) == (49, 1.77, 1.41)
    assert evenness.time_cv < 0.20


FERMILAB = curves(*6 * [fermilab()])
SCATTERED = curves(*([1.0, 1.5 + 0.2 * step] for step in SHAPE))
ONE_TO_THREE = curves(*6 * [[1.0, 3.0]])  # throughputs of 3 to 1, of which 16 / 20 were served


@pytest.mark.parametrize(
    ('measured', 'figure', 'limit', 'expected'),
    [
        *((FERMILAB, 'time_ratio', limit, word) for limit, word in ((1.8, 'holds'), (1.77, 'holds'), (1.5, 'fails'))),
        (SCATTERED, 'time_ratio', 1.5, 'undecided'),
        (SCATTERED, 'time_ratio', 1.9, 'holds'),
        (SCATTERED, 'time_ratio', 1.2, 'fails'),
        *((ONE_TO_THREE, 'time_ratio', limit, word) for limit, word in ((3.003, 'holds'), (2.997, 'fails'))),
        *((ONE_TO_THREE, 'mean_ratio', limit, word) for limit, word in ((2.002, 'holds'), (1.998, 'fails'))),
        *((ONE_TO_THREE, 'time_cv', limit, word) for limit, word in ((0.5005, 'holds'), (0.4995, 'fails'))),
        *((ONE_TO_THREE, 'jain', limit, word) for limit, word in ((0.79, 'holds'), (0.81, 'fails'))),
    ],
)
def test_each_figure_is_judged_by_itself_and_of_jains_index_more_is_better(measured, figure, limit, expected):
    assert judged(limit, measured, figure).verdict == expected


def test_the_interval_of_jains_index_decides_and_stands_in_its_order():
    relation = judged(0.79, ONE_TO_THREE, 'jain')
    assert relation.sentence.startswith("Jain's index of the throughputs of the tasks 0.8 (49tasks), 90 % int")
    assert 'wanted at least 0.79' in relation.sentence
    relation = judged(0.8, curves(*([1.0, 3.0 + 0.5 * step] for step in SHAPE)), 'jain')
    assert relation.verdict == 'undecided'
    assert relation.low < relation.estimate < relation.high < 1


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
    relation = judged(1.5, measured)
    assert relation.verdict == 'undecided' and why in relation.sentence


# Groups of nodes that worked at once

GROUPS = (NodeGroup('front', ('n1', 'n2')), NodeGroup('back', ('n3.cluster', 'n4')))


def tasks(**seconds):
    """A launch: on each node a task for each of its times, of 120 bytes."""
    by_host = [(host, taken_s) for host, every in seconds.items() for taken_s in every]
    return [TaskTime(rank, host, 120, 0.0, taken_s) for rank, (host, taken_s) in enumerate(by_host)]


def launches(ratio=1.0, noise=0.0, common=0.0):
    """Six, in which tasks of `front` take 2 s and those of `back` so many times as long; all of a launch vary too."""
    return [
        tasks(n1=[2.0 * (1 + common * step)], n3=[2.0 * ratio * (1 + common * step) * (1 + noise * other)])
        for step, other in zip(SHAPE, SHAPE[::-1], strict=True)
    ]


def case(every, *expectations, groups=GROUPS):
    """A case in whose repetitions these launches were, at each point; the expectations are criteria."""
    plan = plan_of(groups=groups)
    records = records_of(plan, 6 * [100.0])
    samples = []
    for sample in records.samples:
        measurement = sample.measurement._replace(tasks=tuple(every[sample.repetition % len(every)]))
        samples.append(sample._replace(measurement=measurement))
    ids = frozenset(expectation.id for expectation in expectations)
    return judge_case(plan, records._replace(samples=samples), Criteria(expectations, ids))


def test_a_node_is_as_slow_as_the_slowest_of_its_tasks():
    one = case([tasks(node1=[1.0, 2.0], node2=[3.0, 4.0])]).metrics[0]
    assert one.fairness['nodes'][0].time_ratio == 2.0
    assert one.median_fairness('time_ratio') == 4.0


def test_a_node_is_found_in_its_group_by_its_name_with_and_without_a_domain_and_one_of_none_is_left_out():
    result = by_group(tasks(n4=[1.0], n3=[1.0], **{'n1.cluster': [1.0]}, n9=[1.0]), GROUPS)
    hosts = {name: [task.host for task in members] for name, members in result.items()}
    assert hosts == {'front': ['n1.cluster'], 'back': ['n4', 'n3']}


def test_a_group_has_the_mean_of_its_tasks_however_many_they_are():
    (front, back) = group_rates([tasks(n1=[2.0], n3=[1.0, 2.0], n4=[4.0])] * 6, GROUPS)
    assert (front.nodes, front.tasks, front.rate.mean, front.over) == (1, 1, 60.0, None)
    assert (back.nodes, back.tasks, back.rate.mean) == (2, 3, pytest.approx((120 + 60 + 30) / 3))
    assert back.over == pytest.approx(70 / 60)


def test_the_ratio_has_an_interval_over_the_repetitions_which_no_common_factor_of_a_launch_widens():
    back = group_rates(launches(ratio=1.25, common=0.3), GROUPS)[1]
    assert (back.low, back.over, back.high) == pytest.approx((0.8, 0.8, 0.8))
    assert back.rate.log_half_width > 0.1
    back = group_rates(launches(ratio=1.25, noise=0.05), GROUPS)[1]
    assert 0.75 < back.low < back.over < back.high < 0.85
    few = group_rates(launches()[:2], GROUPS)[1]
    assert (few.low, few.high) == (0.0, math.inf)


BOTH = tasks(n1=[1.0], n3=[1.0])


@pytest.mark.parametrize(
    'every',
    [
        [],
        [tasks(n1=[1.0], n2=[1.0])] * 6,
        [BOTH] * 5 + [tasks(n1=[1.0])],
        [[task._replace(bytes_moved=0 if task.host == 'n3' else 120) for task in BOTH]] * 6,
    ],
    ids=['none', 'one group', 'not in every launch', 'one has moved nothing'],
)
def test_groups_that_did_not_all_work_in_every_launch_are_not_compared(every):
    assert group_rates(every, GROUPS) == ()


def test_fairness_between_groups_is_that_of_their_mean_times():
    result = fairness_of_groups(tasks(n1=[1.0, 3.0], n3=[3.0]), GROUPS)
    assert (result.tasks, result.time_ratio) == (2, 1.5)
    assert fairness_of_groups(tasks(n1=[1.0, 3.0]), GROUPS) is None


def test_every_metric_has_its_groups_and_their_fairness_and_without_groups_none():
    result = case(launches(ratio=1.25)).metrics[0]
    assert [group.name for group in result.groups] == ['front', 'back']
    assert [evenness.time_ratio for evenness in result.fairness['groups']] == pytest.approx([1.25] * 6)
    plain = case(launches(ratio=1.25), groups=()).metrics[0]
    assert plain.groups == () and 'groups' not in plain.fairness


@pytest.mark.parametrize(
    ('ratio', 'noise', 'wanted', 'expected'),
    [
        (1.05, 0.01, GroupsAlike(limit=1.15, **SOURCE), Verdict.PASS),
        (1.3, 0.01, GroupsAlike(limit=1.15, **SOURCE), Verdict.FAIL),
        (1.3, 0.01, GroupsAlike(limit=1.4, **SOURCE), Verdict.PASS),
        (1 / 1.3, 0.01, GroupsAlike(limit=1.15, **SOURCE), Verdict.FAIL),
        (1.15, 0.05, GroupsAlike(limit=1.15, **SOURCE), Verdict.INCONCLUSIVE),
        (1.25, 0.0, Fair(figure='time_ratio', between='groups', limit=1.2, **SOURCE), Verdict.FAIL),
        (1.25, 0.0, Fair(figure='time_ratio', between='groups', limit=1.3, **SOURCE), Verdict.PASS),
    ],
)
def test_an_enforced_limit_for_groups_decides_by_its_interval(ratio, noise, wanted, expected):
    result = case(launches(ratio, noise), wanted)
    subject = (
        'bandwidth of a task,' if isinstance(wanted, GroupsAlike) else 'longest over shortest time of the groups'
    )
    assert result.verdict is expected
    assert all(expectation.relation.sentence.startswith(subject) for expectation in result.expectations)


def test_where_no_groups_worked_a_criterion_is_undecided_and_says_what_is_missing():
    result = case(launches(), GroupsAlike(limit=1.15, **SOURCE), groups=())
    assert result.verdict is Verdict.INCONCLUSIVE
    assert 'no launch on several groups of nodes (groups of a partition in trial.yaml)' in result.reasons[0]


def test_the_groups_of_the_source_are_3_per_cent_apart_and_within_15():
    """FN-08 and FN-04: 9.0 +- 0.2 and 9.3 +- 0.1 MB/s a client, of launches in which nothing is common."""
    shape = np.array(SHAPE) / np.std(SHAPE, ddof=1) * math.sqrt(6)
    itb, fcl = 9.0 + 0.2 * shape, 9.3 + 0.1 * shape[::-1]
    rates = {'49tasks': {'ITB': itb.tolist(), 'FCL': fcl.tolist()}}
    assert alike(rates, 1.05, 'x').estimate == pytest.approx(9.0 / 9.3, rel=0.005)
    assert alike(rates, 1.05, 'x').verdict == 'undecided' and alike(rates, 1.15, 'x').verdict == 'holds'
