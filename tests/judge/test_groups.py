"""Groups of nodes that worked at once: what a task of each had, their ratio, and what a criterion makes of it."""

import math

import numpy as np
import pytest

from builders import plan_of, records_of
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import Fair, GroupsAlike
from seatrial.judge.groups import between, rates, split
from seatrial.judge.relations import alike
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.metric import TaskTime
from seatrial.model.plan import NodeGroup

FRONT, BACK = NodeGroup('front', ('n1', 'n2')), NodeGroup('back', ('n3.cluster', 'n4'))
GROUPS = (FRONT, BACK)
SHAPE = (-1.0, 0.0, 0.5, -0.5, 0.0, 1.0)
SOURCE = {'words': 'it is so', 'source': 'Somebody'}


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


def case(every, *expectations, groups=GROUPS, enforced=True):
    """A case of one metric at each point, in whose repetitions these launches were."""
    plan = plan_of(groups=groups)
    records = records_of(plan, 6 * [100.0])
    number = {sample.launch: 0 for sample in records.samples}
    samples = []
    for sample in records.samples:
        seconds = every[number[sample.launch] % len(every)]
        number[sample.launch] += 1
        samples.append(sample._replace(measurement=sample.measurement._replace(tasks=tuple(seconds))))
    ids = frozenset(expectation.id for expectation in expectations) if enforced else frozenset()
    return judge_case(plan, records._replace(samples=tuple(samples)), Criteria(expectations, ids))


def test_a_node_is_found_in_its_group_by_its_name_with_and_without_a_domain_and_one_of_none_is_left_out():
    result = split(tasks(n4=[1.0], n3=[1.0], **{'n1.cluster': [1.0]}, n9=[1.0]), GROUPS)
    assert {name: [task.host for task in members] for name, members in result.items()} == {
        'front': ['n1.cluster'],
        'back': ['n4', 'n3'],
    }


def test_a_group_has_the_mean_of_its_tasks_however_many_they_are():
    (front, back) = rates([tasks(n1=[2.0], n3=[1.0, 2.0], n4=[4.0])] * 6, GROUPS)
    assert (front.nodes, front.tasks, front.rate.mean, front.over) == (1, 1, 60.0, None)
    assert (back.nodes, back.tasks, back.rate.mean) == (2, 3, pytest.approx((120 + 60 + 30) / 3))
    assert back.over == pytest.approx(70 / 60)


def test_what_both_groups_have_in_common_in_a_launch_does_not_widen_their_ratio():
    back = rates(launches(ratio=1.25, common=0.3), GROUPS)[1]
    assert (back.low, back.over, back.high) == pytest.approx((0.8, 0.8, 0.8))
    assert back.rate.log_half_width > 0.1


def test_the_ratio_has_an_interval_over_the_repetitions():
    back = rates(launches(ratio=1.25, noise=0.05), GROUPS)[1]
    assert 0.75 < back.low < back.over < back.high < 0.85
    few = rates(launches()[:2], GROUPS)[1]
    assert (few.low, few.high) == (0.0, math.inf)


@pytest.mark.parametrize(
    'every', [[], [tasks(n1=[1.0], n2=[1.0])] * 6, [tasks(n1=[1.0], n3=[1.0])] * 5 + [tasks(n1=[1.0])]]
)
def test_a_single_group_and_groups_that_did_not_work_in_every_launch_are_not_compared(every):
    assert rates(every, GROUPS) == ()


def test_a_group_that_has_moved_nothing_is_not_compared():
    idle = [task._replace(bytes_moved=0 if task.host == 'n3' else 120) for task in tasks(n1=[1.0], n3=[1.0])]
    assert rates([idle] * 6, GROUPS) == ()


def test_fairness_between_groups_is_that_of_their_mean_times():
    result = between(tasks(n1=[1.0, 3.0], n3=[3.0]), GROUPS)
    assert (result.tasks, result.time_ratio) == (2, 1.5)
    assert between(tasks(n1=[1.0, 3.0]), GROUPS) is None


def test_every_metric_has_its_groups_and_their_fairness_and_without_groups_none():
    result = case(launches(ratio=1.25)).metrics[0]
    assert [group.name for group in result.groups] == ['front', 'back']
    assert [fairnes.time_ratio for fairnes in result.fairness['groups']] == pytest.approx([1.25] * 6)
    plain = case(launches(ratio=1.25), groups=()).metrics[0]
    assert plain.groups == () and 'groups' not in plain.fairness


@pytest.mark.parametrize(
    ('ratio', 'noise', 'limit', 'expected'),
    [
        (1.05, 0.01, 1.15, Verdict.PASS),
        (1.3, 0.01, 1.15, Verdict.FAIL),
        (1.3, 0.01, 1.4, Verdict.PASS),
        (1 / 1.3, 0.01, 1.15, Verdict.FAIL),
        (1.15, 0.05, 1.15, Verdict.INCONCLUSIVE),
    ],
)
def test_an_enforced_limit_for_the_ratio_decides_by_its_interval(ratio, noise, limit, expected):
    result = case(launches(ratio, noise), GroupsAlike(id='FN-04', limit=limit, **SOURCE))
    assert result.verdict is expected
    (text,) = {expectation.relation.sentence.partition(' (')[0] for expectation in result.expectations}
    assert text.startswith('bandwidth of a task,')


def test_fairness_between_groups_is_a_criterion_too():
    limits = {1.2: Verdict.FAIL, 1.3: Verdict.PASS}
    for limit, expected in limits.items():
        wanted = Fair(id='X', figure='time_ratio', between='groups', limit=limit, **SOURCE)
        assert case(launches(1.25), wanted).verdict is expected


def test_where_no_groups_worked_a_criterion_is_undecided_and_says_what_is_missing():
    result = case(launches(), GroupsAlike(id='FN-04', limit=1.15, **SOURCE), groups=())
    assert result.verdict is Verdict.INCONCLUSIVE
    assert 'no launch on several groups of nodes (groups of a partition in trial.yaml)' in result.reasons[0]


def test_the_groups_of_the_source_are_3_per_cent_apart_and_within_15():
    """FN-08 and FN-04: 9.0 +- 0.2 and 9.3 +- 0.1 MB/s a client, of launches in which nothing is common."""
    shape = np.array(SHAPE) / np.std(SHAPE, ddof=1) * math.sqrt(6)
    itb, fcl = 9.0 + 0.2 * shape, 9.3 + 0.1 * shape[::-1]
    rates = {'49tasks': {'ITB': itb.tolist(), 'FCL': fcl.tolist()}}
    assert alike(rates, 1.05, 'x').estimate == pytest.approx(9.0 / 9.3, rel=0.005)
    assert alike(rates, 1.05, 'x').verdict == 'undecided' and alike(rates, 1.15, 'x').verdict == 'holds'


def test_the_doubt_is_shared_between_all_pairs_and_points():
    off = (np.exp(0.1 + 0.1 * np.array(SHAPE))).tolist()
    one = {'a': {'front': [1.0] * 6, 'back': off}}
    assert alike(one, 1.03, 'x').verdict == 'fails'
    many = {**one, **{str(n): {'front': [1.0] * 6, 'back': [1.0] * 6} for n in range(40)}}
    assert alike(many, 1.03, 'x').verdict == 'undecided'


def test_five_launches_decide_nothing():
    assert alike({'a': {'front': [1.0] * 5, 'back': [1.0] * 5}}, 1.5, 'x').verdict == 'undecided'
