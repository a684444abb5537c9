"""The suspects that are measured again, and the nodes and targets that are measured beside them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import MFWA, names, node_plan, plan_of
from seatrial.filesystem.lustre.layout import striped
from seatrial.job.sequence import confirm
from seatrial.model.point import Allocation
from seatrial.rules.outliers import CONTROLS
from seatrial.workload.sweep import AXES, Sweep, SweepSite, expand, group_size

systems = st.integers(2, 300).flatmap(
    lambda count: st.tuples(
        st.just(names(count)),
        st.sets(st.sampled_from(names(count)), min_size=1, max_size=max(1, count // 3)).map(sorted),
        st.integers(0, 1000),
    )
)


@given(systems)
def test_every_suspect_is_in_one_group_with_at_least_as_many_others_and_there_are_enough_controls(drawn):
    nodes, suspects, seed = drawn
    groups = confirm.regrouped(suspects, nodes, random.Random(seed))
    assert groups == confirm.regrouped(suspects, nodes, random.Random(seed))
    placed = [node for group in groups for node in group if node in suspects]
    assert sorted(placed) == suspects
    for group in groups:
        slow = [node for node in group if node in suspects]
        assert 2 <= len(group) <= confirm.LARGEST_GROUP or len(nodes) == 2
        assert len(set(group)) == len(group)
        assert 2 * len(slow) <= len(group)
    controls = {node for group in groups for node in group} - set(suspects)
    assert len(controls) >= min(CONTROLS, len(nodes) - len(suspects))


@given(st.integers(0, 1000))
def test_a_suspect_is_grouped_with_nodes_of_other_groups_than_before(seed):
    nodes = names(64)
    groups = confirm.regrouped(['n9'], nodes, random.Random(seed))
    (group,) = [group for group in groups if 'n9' in group]
    old = {node: place // group_size(64) for place, node in enumerate(nodes)}
    assert [node for node in group if old[node] == old['n9']] == ['n9']


@pytest.mark.parametrize(
    ('nodes', 'sizes'),
    [
        (names(3), [2, 2]),  # one node is in both groups
        (names(4), [2, 2]),
        (names(5000), [confirm.LARGEST_GROUP]),
        (tuple(f'{name}.cluster' for name in names(4)), [2, 2]),
    ],
)
def test_a_suspect_has_partners_and_where_nodes_are_few_all_are_measured(nodes, sizes):
    groups = confirm.regrouped(['n3'], nodes, random.Random(1))
    assert [len(group) for group in groups] == sizes and groups[0][0] in ('n3', 'n3.cluster')
    assert len(nodes) > 4 or {node for group in groups for node in group} == set(nodes)


def test_the_points_of_a_node_sweep_name_the_nodes_in_their_new_order():
    plan = node_plan(6, 2)
    again = confirm.measured_again(plan, ['n3'], names(6), random.Random(1))
    for point in again.points:
        assert (point.tasks, point.tasks_per_node) == (2 * point.nodes, 2)
        assert point.label not in [planned.label for planned in plan.points]
    placed = [again.nodes[point.first_node : point.first_node + point.nodes] for point in again.points]
    assert tuple(node for group in placed for node in group) == again.nodes
    assert 'n3' in placed[0]


def of_osts(count):
    pinned = tuple(striped(f'ost{n:04d}', osts=(n,)) for n in range(count))
    return plan_of(axis=AXES['ost'], points=tuple(expand(Sweep('ost'), MFWA, Allocation(1, 2), SweepSite(pinned))))


@pytest.mark.parametrize(('targets', 'expected'), [(4, 4), (64, 1 + CONTROLS)])
def test_targets_are_measured_again_beside_some_that_are_not_suspected(targets, expected):
    plan = of_osts(targets)
    again = confirm.measured_again(plan, ['ost0002'], ('here',), random.Random(1))
    labels = [point.label for point in again.points]
    assert 'ost0002' in labels
    assert len(set(labels)) == len(labels) == expected
    assert again.nodes == ('here',)


def taken(points, slow):
    """The time of these points, in launches of a usual node or target; one of a slow one takes SLOWER of them."""
    return sum(confirm.SLOWER if slow(point) else 1 for point in points)


@given(st.integers(2, 200), st.integers(0, 1000))
def test_a_target_that_takes_four_times_as_long_has_time_to_be_measured_and_measured_again(targets, seed):
    plan = of_osts(targets)
    again = confirm.measured_again(plan, ['ost0001'], ('here',), random.Random(seed))
    times = [taken(points, lambda point: point.label == 'ost0001') for points in (plan.points, again.points)]
    assert tuple(times) == confirm.needed('OST', targets)
    assert confirm.kept_share(plan) * sum(times) == pytest.approx(times[1])


@given(st.integers(4, 300), st.integers(0, 1000))
def test_a_node_that_takes_four_times_as_long_has_time_to_be_measured_and_measured_again(nodes, seed):
    plan = node_plan(nodes)
    again = confirm.measured_again(plan, ['n1'], names(nodes), random.Random(seed))
    times = [
        taken(points, lambda point, order=order: 'n1' in order[point.first_node :][: point.nodes])
        for points, order in ((plan.points, names(nodes)), (again.points, again.nodes))
    ]
    room = confirm.needed('node', len(plan.points))
    assert times[0] == room[0]
    assert times[1] <= room[1]


@pytest.mark.parametrize('suspect', ['ost0002', 'ost0040'])
def test_a_target_is_measured_again_beside_those_of_its_kind(suspect):
    plan = of_osts(60)
    kinds = {point.label: 'flash' if int(point.label[3:]) < 20 else 'not flash' for point in plan.points}
    again = confirm.measured_again(plan, [suspect], (), random.Random(1), kinds)
    assert {kinds[point.label] for point in again.points} == {kinds[suspect]}
    assert len(again.points) == 1 + CONTROLS
