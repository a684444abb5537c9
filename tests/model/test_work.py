"""What is the same of a case whether it moves bytes or works on names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import SIZE
from seatrial.model.namespace import LISTING, OPERATIONS, SEMANTICS, TREE, Trees, expand_trees
from seatrial.model.tree import MetadataTree, TreePoint, entries
from seatrial.model.units import MIB
from seatrial.model.work import Launch, amount, footprint, measures, preparations, sized, unit
from seatrial.model.workload import AccessPattern, Geometry, Sweep, expand, files_of, preparation, resized

MFWA = AccessPattern('multiple', 'whole')
SFSA = AccessPattern('single', 'segment', 'strided')
SFWA = AccessPattern('single', 'whole', operations=('read',))
FLAT = MetadataTree(files_per_directory=1000, bytes_per_file=3901)
DEEP = MetadataTree(4, 5, files_per_directory=3, bytes_per_file=40960, subtrees='private')
OBJECTS = expand(Sweep('objects', (2, 4), SIZE), Geometry(1, 3), SIZE)
SHARES = st.integers(1, 10_000)
FLAT_TREES = st.builds(
    MetadataTree,
    depth=st.just(0),
    branching=st.just(1),
    files_per_directory=st.integers(0, 50),
    empties_per_directory=st.integers(0, 50),
    bytes_per_file=st.integers(0, 5000),
    subtrees=st.sampled_from(['shared', 'private']),
)


def point(tree, tasks=3):
    return TreePoint('label', 1, tasks, tasks, tree)


# What a launch measures


def test_an_operation_on_bytes_is_its_only_metric():
    assert measures(MFWA, 'read', OBJECTS[0]) == ('read',)


def test_a_phase_on_names_has_the_metrics_of_its_entries():
    assert measures(TREE, 'create', point(FLAT._replace(empties_per_directory=2))) == (
        'directory_create',
        'file_create',
    )


@pytest.mark.parametrize(
    ('workload', 'said'), [(MFWA, 'MiB/s'), (TREE, 'ops/s'), (LISTING, 'entries/s'), (SEMANTICS, 'facts')]
)
def test_every_metric_of_a_workload_has_its_unit(workload, said):
    assert unit(workload) == said


def test_the_time_of_a_launch_grows_with_its_bytes_or_with_its_entries():
    assert amount(OBJECTS[0]) == 3 * SIZE
    assert amount(point(DEEP)) == 3 * (781 + 2343)


# With another share of each client


@given(st.integers(1, 64))
def test_a_point_on_bytes_is_resized(granules):
    assert sized(OBJECTS[0], 'objects', granules * MIB) == resized(OBJECTS[0], 'objects', granules * MIB)


def test_bytes_that_do_not_divide_are_an_error():
    with pytest.raises(ValueError, match='do not divide'):
        sized(OBJECTS[0], 'objects', 3)


@given(FLAT_TREES, SHARES, st.integers(1, 9))
def test_every_client_puts_its_share_into_a_flat_tree_of_each_kind_that_it_has(tree, share, tasks):
    was, now = point(tree, tasks), sized(point(tree, tasks), 'tree', share)
    assert now.entries.files == (share * tasks if was.entries.files else 0)
    assert now.entries.empties == (share * tasks if was.entries.empties else 0)


@given(FLAT_TREES, SHARES)
def test_nothing_else_of_a_tree_changes_with_its_share(tree, share):
    other = sized(point(tree), 'tree', share)
    numbers = {
        'files_per_directory': tree.files_per_directory,
        'empties_per_directory': tree.empties_per_directory,
    }
    assert other._replace(tree=other.tree._replace(**numbers)) == point(tree)


@given(FLAT_TREES, SHARES, SHARES)
def test_the_share_before_leaves_no_trace(tree, share, before):
    assert sized(sized(point(tree), 'tree', before), 'tree', share) == sized(point(tree), 'tree', share)


@given(SHARES)
def test_a_tree_of_levels_is_that_of_the_plan_whatever_the_share(share):
    assert sized(point(DEEP), 'tree', share) == point(DEEP)


@given(FLAT_TREES)
def test_no_share_leaves_a_tree_as_the_plan_has_it(tree):
    assert sized(point(tree), 'tree', 0) == point(tree)


# What is made before


@pytest.mark.parametrize('workload', [MFWA, SFSA, MFWA._replace(operations=('write',))])
def test_a_pattern_that_writes_makes_its_own_files(workload):
    assert preparations(workload, OBJECTS) == []


def test_one_set_of_files_serves_every_point_of_a_pattern_that_only_reads():
    points = expand(Sweep('clients', (1, 2, 3), SIZE, objects=3), Geometry(1, 3), SIZE // 64 * 48)
    pattern = MFWA._replace(operations=('read',))
    (launch,) = preparations(pattern, points)
    assert launch == Launch(preparation(pattern, points[2])[0], 'write', points[2])


def test_every_directory_that_is_listed_is_made_by_itself():
    points = [point(FLAT, 1)._replace(label=label) for label in ('a', 'b')]
    assert preparations(LISTING, points) == [Launch(LISTING, 'create', each) for each in points]


@pytest.mark.parametrize('workload', [TREE, OPERATIONS, SEMANTICS])
def test_the_other_kinds_of_metadata_make_what_they_look_at(workload):
    assert preparations(workload, [point(FLAT)]) == []


# What is on disk at once

PATTERNS = st.sampled_from([MFWA, SFSA, SFWA, MFWA._replace(operations=('read',))])
CLIENTS = Sweep('clients', (1, 2, 4), SIZE, objects=8)


@given(PATTERNS, st.integers(1, 40).map(lambda n: n * 8))
def test_the_bytes_of_a_pattern_are_those_of_its_largest_point(pattern, share):
    points = expand(CLIENTS, Geometry(1, 4), 8)
    there = [sum(file.size for file in files_of(pattern, sized(each, 'clients', share))) for each in points]
    assert footprint(pattern, tuple(points), share)[0] == max(there)


@given(PATTERNS)
def test_the_inodes_of_a_pattern_are_no_fewer_than_its_files(pattern):
    points = expand(CLIENTS, Geometry(1, 4), 8)
    assert footprint(pattern, tuple(points), 8)[1] >= max(len(files_of(pattern, each)) for each in points)


TREES = FLAT_TREES | st.builds(
    MetadataTree,
    depth=st.integers(1, 3),
    branching=st.integers(1, 3),
    files_per_directory=st.integers(0, 5),
    empties_per_directory=st.integers(0, 5),
    bytes_per_file=st.integers(0, 5000),
)


@given(st.lists(TREES, min_size=1, max_size=4), st.integers(0, 100), st.integers(1, 5))
def test_the_trees_of_a_case_are_there_one_after_the_other(trees, share, tasks):
    points = tuple(point(tree, tasks) for tree in trees)
    there = [sized(each, 'tree', share) for each in points]
    assert footprint(TREE, points, share) == (
        max(each.bytes_in_files for each in there),
        max(entries(each.tree, tasks).inodes for each in there),
    )


def test_the_directories_that_are_listed_are_there_together():
    trees = Trees(tuple((str(n), MetadataTree(files_per_directory=n)) for n in (10, 100)), 'entries', tasks=1)
    points = tuple(expand_trees(trees, Geometry(1, 1)))
    assert footprint(LISTING, points, 0) == (0, 10 + 100 + 2)


def test_operations_need_room_for_a_second_name_and_a_directory_beside_every_file():
    files = point(FLAT, 4)
    assert footprint(OPERATIONS, (files,), 500) == (4 * 500 * 3901, 3 * (4 * 500 + 1))


def test_promises_need_a_handful_of_inodes():
    assert footprint(SEMANTICS, (point(MetadataTree(), 2),), 0) == (2 * MIB, 64)
