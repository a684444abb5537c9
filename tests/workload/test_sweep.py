"""Sweeps: the points that they expand to in an allocation, and what is impossible in one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.layout import Layout
from seatrial.model.point import PART_OF, Allocation, Point
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.access import data_access
from seatrial.workload.base import MAX_TASKS
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.registry import fault_of
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import (
    ALL_NODES,
    AXES,
    MAX_GROUPS,
    Sweep,
    SweepSite,
    examples,
    expand,
    group_size,
    labels,
    layouts_in,
    narrowed,
    placement,
    powers_of_two,
    subsample,
    sweep_fault,
    tasks_by_sizes,
)
from seatrial.workload.tree import metadata_tree

MFWA = data_access('multiple')
FLAT = metadata_tree(files_per_directory=1000)
SIZES = Sweep('transfer_size', powers_of_two('1MiB', '1GiB'))
TASKS = Sweep('tasks', (1, 2, 4, 8, 16, 24, 32, 40))
TREES = Sweep('tree', (('shared', {}), ('private', {'subtrees': 'private'})))
LAYOUTS = Sweep('layout', (Layout('one'), Layout('two')))
OSTS = Sweep('ost')
NODES = Sweep('node')
ON_TARGETS = SweepSite(pinned=(Layout('ost0000'), Layout('ost0003')))
CHECKS = [
    (MFWA, SIZES),
    (MFWA, TASKS),
    (MFWA, LAYOUTS),
    (MFWA, NODES),
    (MFWA, OSTS),
    (data_access('single', operations=('read',), tasks=6), SIZES),
    (FLAT, TREES),
    (FLAT, Sweep('entries', (10, 20))),
    (FLAT._replace(tasks=3), TASKS),
    (FLAT, Sweep('mdt')),
    (listing(10, (0.5,)), Sweep('entries', (10, 100))),
    (posix_operations(216, '4KiB'), TREES),
    (posix_semantics(), Sweep('tree', (('two-tasks', {}),))),
]
ALLOCATIONS = st.builds(Allocation, st.integers(1, 50), st.integers(1, 50))


def test_the_transfer_sizes_of_the_source_are_11_points_with_the_same_bytes():
    points = expand(SIZES, MFWA, Allocation(40, 1))
    assert [point.data.transfers for point in points] == [2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2]
    assert {point.bytes_moved for point in points} == {40 * 2 * GIB}
    assert [(point.label, point.at) for point in (points[0], points[-1])] == [('1MiB', MIB), ('1GiB', GIB)]


def test_the_numbers_of_tasks_of_the_source_keep_the_transfer_size():
    points = expand(TASKS, data_access('multiple', transfer_size='64MiB'), Allocation(40, 1))
    assert [(point.tasks, point.nodes) for point in points] == [(n, n) for n in TASKS.values]
    assert {(point.data.transfers, point.data.transfer_size) for point in points} == {(32, 64 * MIB)}
    assert [point.label for point in points[:3]] == ['1task', '2tasks', '4tasks']


def test_a_tree_differs_in_what_its_pair_says_and_in_nothing_else():
    shared, private = expand(TREES, FLAT, Allocation(2, 4))
    assert (shared.label, private.label, private.at) == ('shared', 'private', 1.0)
    assert private.changed(subtrees='shared', label='shared', at=0.0) == shared


@pytest.mark.parametrize(
    ('axis', 'labels_of_two'),
    [('queue_depth', ['qd1', 'qd32']), ('tasks', ['1task', '32tasks']), ('entries', ['1', '32'])],
)
def test_every_number_has_a_label(axis, labels_of_two):
    assert labels(Sweep(axis, (1, 32))) == labels_of_two


def test_a_layout_is_the_points_own():
    points = expand(LAYOUTS, MFWA, Allocation(1, 1))
    assert [(point.label, point.layout) for point in points] == [('one', Layout('one')), ('two', Layout('two'))]
    assert (layouts_in(LAYOUTS), layouts_in(SIZES)) == (LAYOUTS.values, ())


def test_a_sweep_over_targets_has_a_point_for_each_of_the_site_and_none_without():
    points = expand(OSTS, MFWA, Allocation(2, 2), ON_TARGETS)
    assert [(point.layout, point.tasks) for point in points] == [(layout, 4) for layout in ON_TARGETS.pinned]
    assert [point.label for point in points] == labels(OSTS, ON_TARGETS) == ['ost0000', 'ost0003']
    assert expand(OSTS, MFWA, Allocation(2, 2)) == labels(OSTS) == []


@pytest.mark.parametrize(
    ('nodes', 'groups'), [(2, [1, 1]), (8, [1] * 8), (9, [2, 2, 2, 2, 1]), (64, [8] * 8), (5000, [625] * 8)]
)
def test_a_node_sweep_has_all_nodes_at_once_and_then_each_of_at_most_eight_groups(nodes, groups):
    first, *others = expand(NODES, MFWA, Allocation(nodes, 4))
    assert (first.label, first.first_node, first.nodes, first.tasks) == (ALL_NODES, 0, nodes, 4 * nodes)
    assert [point.nodes for point in others] == groups
    assert [point.first_node for point in others] == [n * group_size(nodes) for n in range(len(groups))]
    assert [point.label for point in others[:2]] == ['group01', 'group02']
    assert all((point.tasks, point.tasks_per_node) == (4 * point.nodes, 4) for point in others)


@given(st.integers(2, 6000))
def test_every_node_is_in_one_group(nodes):
    _, *groups = expand(NODES, MFWA, Allocation(nodes, 1))
    assert len(groups) <= MAX_GROUPS
    there = [node for point in groups for node in range(point.first_node, point.first_node + point.nodes)]
    assert there == list(range(nodes))


@given(st.sampled_from(CHECKS), ALLOCATIONS)
def test_every_point_is_placed_evenly_inside_the_allocation_with_a_label_of_its_own(check, largest):
    template, sweep = check
    points = expand(sweep, template, largest, ON_TARGETS if sweep.axis in ('ost', 'mdt') else SweepSite())
    for point in points:
        assert point.tasks == point.nodes * point.tasks_per_node
        assert 1 <= point.nodes <= largest.nodes - point.first_node
        assert 1 <= point.tasks_per_node <= largest.tasks_per_node
        assert sweep.axis in ('tasks', 'node') or point.tasks == (template.tasks or largest.tasks)
        assert fault_of(point) is None
    assert len({point.label for point in points}) == len({point.at for point in points}) == len(points)
    assert [point.at for point in points] == sorted(point.at for point in points)


@given(st.integers(1, 200), ALLOCATIONS)
def test_a_placement_is_even_inside_the_allocation_and_the_widest(tasks, largest):
    even = [n for n in range(1, largest.nodes + 1) if tasks % n == 0 and tasks // n <= largest.tasks_per_node]
    placed = placement(tasks, largest)
    assert (placed is None) == (not even)
    if placed is not None:
        assert placed.nodes == max(even)
        assert placed.tasks == tasks


@pytest.mark.parametrize(('template', 'sweep'), CHECKS)
def test_a_sweep_of_the_checks_is_possible_and_has_examples_that_contradict_nothing(template, sweep):
    assert sweep_fault(sweep) is None
    points = examples(sweep, template)
    assert [fault_of(point) for point in points] == [None] * len(points)
    assert [point.label for point in points] == (labels(sweep) or [''])


@pytest.mark.parametrize(
    ('sweep', 'fault'),
    [
        (Sweep('objects', (1,)), "'objects' cannot be swept"),
        (Sweep(['tasks'], (1,)), "['tasks'] cannot be swept"),
        (Sweep('tasks', 4), 'the values are 4; write them in parentheses: (1, 2, 4)'),
        (Sweep('tasks'), 'a sweep over numbers of tasks needs values'),
        (Sweep('tasks', (1, 0)), '0 is not one of the numbers of tasks; write whole numbers from 1 to 1000000'),
        (Sweep('tasks', (MAX_TASKS + 1,)), f'{MAX_TASKS + 1} is not one of the numbers of tasks'),
        (Sweep('transfer_size', ('64KiB', '1Mb')), "'1Mb' is not one of the transfer sizes"),
        (Sweep('transfer_size', ('1MiB', MIB)), "'1MiB' is given twice"),
        (Sweep('entries', ('1KiB',)), "'1KiB' is not one of the numbers of entries"),
        (Sweep('entries', (10**400,)), '1000'),
        (Sweep('layout', (Layout(), 'wide')), "'wide' is not a layout"),
        (Sweep('layout', (Layout('a b'),)), "'a b' cannot be a label; write letters, digits, _ . and -"),
        (Sweep('layout'), 'a sweep over layouts needs values'),
        (Sweep('ost', (0, 1)), 'the values of ost are set by the site; leave them out'),
        (Sweep('tree', (('shared',),)), "('shared',) is not a tree"),
        (Sweep('tree', (('shared', 'private'),)), "('shared', 'private') is not a tree"),
        (Sweep('tree', (('a', {'subtree': 'private'}),)), "'subtree' is not a parameter that trees can change"),
        (Sweep('tree', (('a', {1: 2, 'b': 3}),)), '1 is not a parameter that trees can change'),
        (Sweep('tree', ((5, {}),)), '5 cannot be a label'),
        (Sweep('tree', (('a@b', {}),)), "'a@b' cannot be a label"),
        (Sweep('tree', (('a', {}), ('a', {}))), "'a' is given twice"),
    ],
)
def test_an_impossible_sweep_is_a_sentence(sweep, fault):
    assert (sweep_fault(sweep) or '').startswith(fault)


PARAMETERS = st.sampled_from(sorted(PART_OF))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(Layout()) | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(PARAMETERS | st.sampled_from(Point._fields) | st.text() | st.integers(), inner)
    ),
    max_leaves=6,
)
FIELDS = st.dictionaries(PARAMETERS, ANYTHING | st.integers(-1, 200), max_size=2)
VALUES = st.one_of(
    st.lists(ANYTHING).map(tuple),
    st.lists(st.integers(), min_size=1, unique=True).map(tuple),
    st.dictionaries(st.sampled_from('abcde@'), FIELDS, min_size=1, max_size=3).map(lambda trees: (*trees.items(),)),
    ANYTHING,
)


@given(
    st.builds(Sweep, st.sampled_from([*AXES, 'objects']) | ANYTHING, VALUES),
    st.sampled_from([MFWA, FLAT, listing(1), posix_operations(1, 0), posix_semantics()]),
)
def test_whatever_is_swept_there_are_points_that_can_be_judged_or_a_sentence(sweep, template):
    if sweep_fault(sweep) is None:
        points = examples(sweep, template)
        assert points
        assert all(': ' in (fault_of(point) or ': ') for point in points)


@pytest.mark.parametrize(('most', 'left'), [(None, TASKS.values), (40, TASKS.values), (5, (1, 2, 4)), (0, ())])
def test_a_value_of_the_site_is_the_only_one_and_numbers_of_tasks_above_its_most_are_left_out(most, left):
    assert narrowed(TASKS, {'transfer_size': 4 * MIB}, most).values == left
    assert narrowed(SIZES, {}, most) == SIZES
    assert narrowed(SIZES, {'transfer_size': 4 * MIB}, most).values == (4 * MIB,)


@given(st.lists(st.integers(), min_size=1, max_size=40, unique=True), st.integers(0, 50))
def test_a_subsample_keeps_order_both_ends_and_count(values, count):
    values = tuple(sorted(values))
    chosen = subsample(values, count)
    assert list(chosen) == sorted(set(chosen))
    assert set(chosen) <= set(values)
    assert len(chosen) == (len(values) if count == 0 else min(count, len(values)))
    assert chosen[-1] == values[-1]
    assert len(chosen) == 1 or chosen[0] == values[0]


@given(st.integers(1, 1 << 40), st.integers(1, 1 << 50))
def test_powers_of_two_double_from_the_first_up_to_the_last(first, last):
    values = powers_of_two(first, last)
    assert values == tuple(first << n for n in range(len(values)))
    assert all(value <= last for value in values)
    assert first << len(values) > last
    assert powers_of_two('64KiB', '256KiB') == (64 * KIB, 128 * KIB, 256 * KIB) and powers_of_two(0, 8) == ()


def test_numbers_of_tasks_by_file_sizes_are_one_sweep_of_which_only_what_fits_is_placed():
    sweep = tasks_by_sizes((1, 4), ('1MiB', '1GiB'))
    assert labels(sweep) == ['1task-1MiB', '1task-1GiB', '4tasks-1MiB', '4tasks-1GiB']
    placed = [(one.nodes, one.tasks, one.data.bytes_per_task) for one in expand(sweep, MFWA, Allocation(2, 2))]
    assert placed == [(1, 1, MIB), (1, 1, GIB), (2, 4, MIB), (2, 4, GIB)]
    assert [point.tasks for point in expand(sweep, MFWA, Allocation(1, 2))] == [1, 1]
