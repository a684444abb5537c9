"""The kinds of metadata cases: their points, what they measure, and what contradicts itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.namespace import (
    FILEOP,
    KINDS,
    LISTING,
    OPERATIONS,
    SEMANTICS,
    TREE,
    Namespace,
    Trees,
    cache_of,
    expand_trees,
    is_first,
    listing_metrics,
    metrics_of,
    namespace_fault,
    pause_of,
    unit_of,
)
from seatrial.model.tree import PHASES, MetadataTree, TreePoint
from seatrial.model.workload import Geometry

FILES = MetadataTree(files_per_directory=891)
BOTH = FILES._replace(empties_per_directory=10)
DEEP = MetadataTree(4, 5, files_per_directory=3, subtrees='private')
WORKLOADS = (TREE, OPERATIONS, LISTING, SEMANTICS)
TWO = Trees((('shared', FILES), ('private', FILES._replace(subtrees='private'))))


def point(tree=FILES, tasks=1, pauses_s=()):
    return TreePoint('label', 1, tasks, tasks, tree, pauses_s)


def test_every_kind_has_a_workload_a_name_and_a_unit():
    assert tuple(each.kind for each in WORKLOADS) == KINDS
    assert len({each.name for each in WORKLOADS}) == len(KINDS)
    assert [unit_of(each) for each in WORKLOADS] == ['ops/s', 'ops/s', 'entries/s', 'facts']


# Points


def test_every_tree_is_a_point_with_all_clients_of_the_allocation():
    points = expand_trees(TWO, Geometry(2, 4))
    assert [(each.label, each.tree) for each in points] == list(TWO.trees)
    assert {(each.nodes, each.tasks, each.tasks_per_node) for each in points} == {(2, 8, 4)}


def test_fewer_clients_are_spread_as_widely_as_in_a_sweep():
    (only,) = expand_trees(Trees((('one', FILES),), tasks=2), Geometry(4, 8))
    assert (only.nodes, only.tasks, only.tasks_per_node) == (2, 2, 1)


@pytest.mark.parametrize(('tasks', 'largest'), [(9, Geometry(2, 4)), (5, Geometry(2, 4)), (2, Geometry(1, 1))])
def test_clients_that_do_not_fit_evenly_give_no_points(tasks, largest):
    assert expand_trees(TWO._replace(tasks=tasks), largest) == []


def test_every_point_has_the_pauses_of_the_sweep():
    points = expand_trees(TWO._replace(pauses_s=(0.5, 10.0)), Geometry(1, 1))
    assert [each.pauses_s for each in points] == [(0.5, 10.0)] * 2


@given(st.integers(0, 40), st.integers(1, 8), st.integers(1, 8))
def test_the_points_are_inside_the_allocation_and_even(tasks, nodes, tasks_per_node):
    for each in expand_trees(TWO._replace(tasks=tasks), Geometry(nodes, tasks_per_node)):
        assert each.tasks == (tasks or nodes * tasks_per_node) == each.nodes * each.tasks_per_node
        assert each.nodes <= nodes and each.tasks_per_node <= tasks_per_node


# Contradictions


@pytest.mark.parametrize(
    ('workload', 'good'),
    [
        (TREE, point(BOTH, 48)),
        (TREE, point(DEEP)),
        (Namespace('tree', ('create', 'remove')), point(DEEP._replace(phases=('create', 'remove')))),
        (OPERATIONS, point(FILES, 8)),
        (OPERATIONS, point(FILES._replace(subtrees='private', bytes_per_file=4096))),
        (LISTING, point(FILES)),
        (LISTING, point(FILES, pauses_s=(1.0,))),
        (SEMANTICS, point(MetadataTree(), 2)),
    ],
)
def test_a_point_of_its_kind_contradicts_nothing(workload, good):
    assert namespace_fault(workload, good) is None


@pytest.mark.parametrize(
    ('workload', 'wrong', 'fault'),
    [
        (TREE, point(FILES._replace(phases=('create',))), f"its phases are ['create'], not {list(PHASES)}"),
        (TREE, point(FILES._replace(bytes_per_file=-1)), 'bytes_per_file is -1; it is 0 or more'),
        (OPERATIONS, point(DEEP), 'POSIX operations wants files in one directory, and nothing else'),
        (OPERATIONS, point(BOTH), 'POSIX operations wants files in one directory, and nothing else'),
        (LISTING, point(MetadataTree()), 'the listing of a directory wants files in one directory, and nothing else'),
        (LISTING, point(FILES, 2), 'one client lists, not 2'),
    ],
)
def test_a_contradiction_is_named(workload, wrong, fault):
    assert namespace_fault(workload, wrong) == fault


# Metrics


@pytest.mark.parametrize(
    ('phase', 'metrics'),
    [
        ('create', ('directory_create', 'file_create')),
        ('stat', ('directory_stat', 'file_stat')),
        ('read', ('file_read',)),
        ('remove', ('directory_remove', 'file_remove')),
    ],
)
def test_a_phase_of_a_tree_measures_every_kind_of_its_entries(phase, metrics):
    assert metrics_of(TREE, phase, point(BOTH, 8)) == metrics


def test_a_tree_of_many_directories_is_measured_too():
    assert metrics_of(TREE, 'create', point(DEEP)) == ('tree_create', 'file_create')


def test_one_launch_measures_every_operation_of_fileop_and_rename():
    assert metrics_of(OPERATIONS, 'fileop', point()) == FILEOP
    assert 'rename' in FILEOP and len(set(FILEOP)) == len(FILEOP)


def test_a_listing_with_pauses_measures_four_passes_and_one_after_each_pause():
    assert metrics_of(LISTING, 'list', point(pauses_s=(0.5, 10.0))) == (
        'ls_first',
        'ls_second',
        'ls_third',
        'ls_fourth',
        'ls_after_0.5s',
        'ls_after_10s',
    )


def test_a_listing_without_pauses_measures_names_and_attributes_twice():
    assert metrics_of(LISTING, 'list', point()) == ('names_first', 'stat_first', 'names_second', 'stat_second')


def test_of_promises_only_their_number_is_a_metric():
    assert metrics_of(SEMANTICS, 'probe', point(MetadataTree(), 2)) == ('holding',)


@given(st.lists(st.integers(1, 10_000).map(lambda n: n / 4), unique=True, max_size=6))
def test_no_two_metrics_of_a_listing_have_the_same_name(pauses_s):
    names = listing_metrics(tuple(pauses_s))
    assert len(set(names)) == len(names)


@pytest.mark.parametrize('workload', WORKLOADS)
def test_no_name_of_a_metric_breaks_the_form_of_reframes_references(workload):
    names = [
        name
        for operation in workload.operations
        for name in metrics_of(workload, operation, point(DEEP._replace(empties_per_directory=1), 2, (0.5,)))
    ]
    assert names and not any(set(name) & set('@: ') for name in names)


PAUSES = (0.5, 1.0, 10.0)


def test_only_the_first_listing_finds_what_nobody_has_asked_for():
    every = [*listing_metrics(PAUSES), *listing_metrics(()), 'file_stat', 'stat']
    assert [name for name in every if is_first(name)] == [
        'ls_first', 'names_first', 'stat_first', 'file_stat', 'stat',
    ]  # fmt: skip


def test_the_pause_before_a_listing_is_in_its_name():
    assert [pause_of(name) for name in listing_metrics(PAUSES)] == [None] * 4 + list(PAUSES)


@pytest.mark.parametrize('launch', ['cold', 'cached', 'unknown'])
def test_what_the_launch_has_listed_before_is_neither_cold_nor_cached(launch):
    assert (cache_of('ls_first', launch), cache_of('file_stat', launch)) == (launch, launch)
    assert cache_of('ls_fourth', launch) == cache_of('ls_after_10s', launch) == 'listed before'


def test_what_looks_at_nothing_has_no_cache():
    assert cache_of('file_create', '') == ''
