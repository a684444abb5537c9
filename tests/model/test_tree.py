"""Metadata trees and the exact numbers that they come to."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.codec import from_json, to_json
from seatrial.model.tree import (
    LEAST_DIRECTORIES,
    PHASES,
    Entries,
    Fact,
    MetadataTree,
    Rate,
    TreeMeasurement,
    TreePoint,
    entries,
    levels,
    operations,
    tree_fault,
)
from seatrial.model.units import KIB

FDTREE_1 = MetadataTree(4, 5, files_per_directory=3, bytes_per_file=40 * KIB, subtrees='private')
FDTREE_2 = MetadataTree(1, 1, files_per_directory=1000, bytes_per_file=2_048_000, subtrees='private')
PLAIN = MetadataTree(files_per_directory=1000, empties_per_directory=1000)

TREES = st.builds(
    MetadataTree,
    depth=st.integers(0, 4),
    branching=st.integers(1, 4),
    files_per_directory=st.integers(0, 5),
    empties_per_directory=st.integers(0, 5),
    bytes_per_file=st.integers(0, 5000),
    subtrees=st.sampled_from(['shared', 'private']),
)
CLIENTS = st.integers(1, 5)


def walk(tree, clients):
    """Every entry as a recursion makes it: (kind, level of the directory that it is, or that it lies in)."""

    def inside(level, makers):
        yield 'directory', level
        for _ in range(makers):
            yield from [('file', level)] * tree.files_per_directory
            yield from [('empty', level)] * tree.empties_per_directory
        if level < tree.depth:
            for _ in range(tree.branching):
                yield from inside(level + 1, makers)

    if tree.subtrees == 'shared':
        return list(inside(0, clients))
    return [entry for _ in range(clients) for entry in inside(0, 1)]


@given(TREES, CLIENTS)
def test_the_levels_are_those_of_a_recursion(tree, clients):
    made = walk(tree, clients)
    assert levels(tree, clients) == tuple(
        Entries(*(made.count((kind, level)) for kind in ('directory', 'file', 'empty')))
        for level in range(tree.depth + 1)
    )


@given(TREES, CLIENTS)
def test_the_entries_are_those_of_a_recursion(tree, clients):
    assert entries(tree, clients).inodes == len(walk(tree, clients))


@given(TREES, CLIENTS)
def test_everything_that_is_created_is_removed(tree, clients):
    created, removed = operations(tree, 'create', clients), operations(tree, 'remove', clients)
    assert list(created.values()) == list(removed.values())


@given(TREES, CLIENTS)
def test_one_operation_is_counted_for_every_entry_except_a_tree_of_few_directories(tree, clients):
    there = entries(tree, clients)
    few = entries(tree, 1).directories < LEAST_DIRECTORIES
    expected = there.files + there.empties if few else there.inodes
    assert sum(operations(tree, 'create', clients).values()) == expected


@given(TREES, CLIENTS)
def test_the_share_of_one_client_is_the_same_in_either_kind_of_tree(tree, clients):
    share = entries(tree, 1)
    there = entries(tree, clients)
    assert (there.files, there.empties) == (clients * share.files, clients * share.empties)


def test_the_first_scenario_of_fdtree_is_exact_to_the_file():
    assert entries(FDTREE_1, 1) == Entries(781, 2343, 0)
    assert TreePoint('1', 1, 1, 1, FDTREE_1).bytes_in_files == 93_720 * KIB


def test_the_second_scenario_of_fdtree_is_exact_to_the_file():
    assert entries(FDTREE_2, 1) == Entries(2, 2000, 0)
    assert TreePoint('1', 1, 1, 1, FDTREE_2).bytes_in_files == 4_000_000 * KIB


def test_private_trees_have_all_of_it_once_a_client():
    point = TreePoint('48 clients', 6, 48, 8, FDTREE_1)
    assert point.entries == Entries(48 * 781, 48 * 2343, 0)


def test_a_shared_tree_has_its_directories_once():
    point = TreePoint('48 clients', 6, 48, 8, FDTREE_1._replace(subtrees='shared'))
    assert point.entries == Entries(781, 48 * 2343, 0)


def test_plain_mdtest_is_one_directory_with_files_and_directories():
    assert entries(PLAIN, 48) == Entries(1, 48_000, 48_000)


def test_the_levels_of_the_first_scenario():
    assert [level.directories for level in levels(FDTREE_1, 1)] == [1, 5, 25, 125, 625]


def test_the_metrics_of_the_phases():
    tree = FDTREE_1._replace(empties_per_directory=3)
    assert {phase: list(operations(tree, phase, 1)) for phase in PHASES} == {
        'create': ['tree_create', 'directory_create', 'file_create'],
        'stat': ['directory_stat', 'file_stat'],
        'read': ['file_read'],
        'remove': ['tree_remove', 'directory_remove', 'file_remove'],
    }


def test_a_root_that_stands_alone_is_no_metric():
    assert operations(PLAIN, 'create', 2) == {'directory_create': 2000, 'file_create': 2000}


def test_files_alone_have_no_metric_of_directories():
    assert operations(FDTREE_2._replace(subtrees='shared'), 'create', 2) == {'file_create': 4000}


@pytest.mark.parametrize(('branching', 'counts'), [(LEAST_DIRECTORIES - 2, False), (LEAST_DIRECTORIES - 1, True)])
def test_a_tree_is_a_metric_from_its_hundredth_directory_on(branching, counts):
    tree = MetadataTree(1, branching, files_per_directory=1, subtrees='private')
    assert entries(tree, 1).directories == branching + 1
    assert ('tree_create' in operations(tree, 'create', 48)) is counts, 'of one client, however many there are'


@pytest.mark.parametrize(
    'tree',
    [
        FDTREE_1,
        FDTREE_2,
        PLAIN,
        PLAIN._replace(phases=('stat',)),
        MetadataTree(empties_per_directory=1, phases=('create', 'stat', 'remove')),
        MetadataTree(depth=2, branching=10, phases=('create', 'remove')),
    ],
)
def test_the_trees_of_the_sources_contradict_nothing(tree):
    assert tree_fault(tree) is None


@pytest.mark.parametrize(
    ('tree', 'words'),
    [
        (PLAIN._replace(depth=-1), 'depth is -1; it is 0 or more'),
        (FDTREE_1._replace(branching=0), 'branching is 0; it is 1 or more'),
        (PLAIN._replace(files_per_directory=-1), 'files_per_directory is -1'),
        (PLAIN._replace(empties_per_directory=-1), 'empties_per_directory is -1'),
        (PLAIN._replace(bytes_per_file=-1), 'bytes_per_file is -1'),
        (PLAIN._replace(subtrees='own'), "subtrees is 'own'; it can be shared or private"),
        (PLAIN._replace(phases=()), 'phases are []'),
        (PLAIN._replace(phases=('create', 'rename')), 'drawn from create, stat, read, remove'),
        (PLAIN._replace(phases=('stat', 'create')), 'in this order'),
        (PLAIN._replace(phases=('create', 'create')), 'phases are'),
        (PLAIN._replace(branching=2), 'depth 0 leaves the root alone'),
        (MetadataTree(empties_per_directory=1, bytes_per_file=1), '1 bytes are to be written to each file'),
        (MetadataTree(empties_per_directory=1, fsync=True), 'synced'),
        (MetadataTree(empties_per_directory=1), 'nothing to read'),
        (MetadataTree(), 'nothing to create'),
        (MetadataTree(depth=2, branching=10, phases=('create', 'stat')), 'nothing to stat'),
        (MetadataTree(depth=1, branching=10, phases=('create', 'remove')), 'nothing to create'),
    ],
)
def test_a_contradiction_is_named(tree, words):
    assert words in (tree_fault(tree) or '')


def test_a_rate_counts_the_operations_of_all_clients():
    assert Rate('file_create', 4686, 2.0, '2343.000').per_second == 2343.0


def test_the_wait_at_the_barrier_is_what_the_slowest_client_leaves():
    assert Rate('file_stat', 52, 0.008, '6500.000', (0.001, 0.002)).waiting_share == pytest.approx(0.75)


def test_an_engine_that_does_not_tell_the_clients_times_shows_no_wait():
    assert Rate('tree_create', 2, 0.008, '250.000').waiting_share == 0.0


def test_the_seconds_of_a_launch_are_its_shortest_timed_region():
    rates = (Rate('file_create', 4, 2.0, ''), Rate('directory_create', 4, 0.5, ''))
    assert TreeMeasurement(rates, 1, ('h',), 1e-6).seconds == 0.5


def test_a_launch_that_times_nothing_has_no_seconds():
    assert TreeMeasurement((), 1, ('h',), 1e-6, (Fact('f', True, 'it was so'),)).seconds == 0.0


def test_the_figures_of_a_launch_are_the_rates_of_its_metrics():
    rates = (Rate('file_create', 4, 2.0, ''), Rate('directory_create', 4, 0.5, ''))
    assert TreeMeasurement(rates, 1, ('h',), 1e-6).figures('create') == {'file_create': 2.0, 'directory_create': 8.0}


def test_of_facts_those_are_counted_that_hold():
    facts = (Fact('a', True, 's'), Fact('b', False, 's'), Fact('c', None, 's'), Fact('d', True, 's'))
    assert TreeMeasurement((), 1, ('h',), 1e-6, facts).figures('probe') == {'holding': 2.0}


@given(TREES, CLIENTS)
def test_a_point_survives_its_json_form(tree, tasks):
    point = TreePoint('label', 1, tasks, tasks, tree)
    assert from_json(TreePoint, json.loads(json.dumps(to_json(point)))) == point
