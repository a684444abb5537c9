"""Metadata trees: the exact numbers that they come to, and what contradicts itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.plan import Sizing
from seatrial.model.units import KIB, MIB
from seatrial.workload.base import Effort, Entries, rates
from seatrial.workload.registry import entries_after, fault_of, kind_of, metrics_at
from seatrial.workload.tree import MAX_DEPTH, MIN_DIRECTORIES, levels, levels_total, metadata_tree, operations

TREE = kind_of('tree')
FDTREE_1 = metadata_tree(depth=4, branching=5, files_per_directory=3, bytes_per_file='40KiB', subtrees='private')
FDTREE_2 = metadata_tree(depth=1, files_per_directory=1000, bytes_per_file=2_048_000, subtrees='private')
PLAIN = metadata_tree(files_per_directory=1000, empties_per_directory=1000, scales=True)


def trees(most_levels, most_files, **more):
    """Trees of up to so many levels, with as many files in each directory, and as many empty directories."""
    shape = {'depth': st.integers(0, most_levels), 'branching': st.integers(1, 1 + most_levels)}
    files = {f'{what}_per_directory': st.integers(0, most_files) for what in ('files', 'empties')}
    more = {'bytes_per_file': st.integers(0, 5000), 'subtrees': st.sampled_from(['shared', 'private']), **more}
    return st.builds(metadata_tree, **{**shape, **files, **more})


TREES, FLAT_TREES = trees(4, 5, branching=st.integers(1, 4)), trees(0, 50, scales=st.just(True))
TASKS = st.integers(1, 5)
SHARES = st.integers(1, 10_000)


def placed(tree, tasks=3):
    return tree._replace(label='label', nodes=1, tasks=tasks, tasks_per_node=tasks)


def walk(tree, tasks):
    """Every entry as a recursion makes it: (kind, level of the directory that it is, or that it lies in)."""

    def inside(level, makers):
        yield 'directory', level
        for _ in range(makers):
            yield from [('file', level)] * tree.tree.files_per_directory
            yield from [('empty', level)] * tree.tree.empties_per_directory
        if level < tree.tree.depth:
            for _ in range(tree.tree.branching):
                yield from inside(level + 1, makers)

    if tree.tree.subtrees == 'shared':
        return list(inside(0, tasks))
    return [entry for _ in range(tasks) for entry in inside(0, 1)]


@given(TREES, TASKS)
def test_the_levels_are_those_of_a_recursion(tree, tasks):
    made = walk(tree, tasks)
    assert levels(tree, tasks) == tuple(
        Entries(*(made.count((kind, level)) for kind in ('directory', 'file', 'empty')))
        for level in range(tree.tree.depth + 1)
    )
    assert levels_total(tree, tasks).inodes == TREE.amount(placed(tree, tasks)) == len(made)


@pytest.mark.parametrize(('size', 'takes'), [(0, 0), (1, 4096), (4096, 4096), (4097, 8192)])
def test_a_small_file_takes_whole_blocks(size, takes):
    point = placed(PLAIN.changed(bytes_per_file=size), tasks=2)
    assert TREE.footprint([point]).bytes == 2 * 1000 * takes


@given(TREES, TASKS)
def test_one_operation_is_counted_for_every_entry_except_a_tree_of_few_directories(tree, tasks):
    there = levels_total(tree, tasks)
    few = levels_total(tree, 1).directories < MIN_DIRECTORIES
    expected = there.files + there.empties if few else there.inodes
    assert sum(operations(tree, 'create', tasks).values()) == expected


@given(TREES, TASKS)
def test_the_share_of_one_task_is_the_same_in_either_kind_of_tree(tree, tasks):
    share, there = levels_total(tree, 1), levels_total(tree, tasks)
    assert (there.files, there.empties) == (tasks * share.files, tasks * share.empties)


@pytest.mark.parametrize(
    ('tree', 'there', 'size'),
    [
        (FDTREE_1, Entries(781, 2343, 0), 93_720 * KIB),
        (FDTREE_2, Entries(2, 2000, 0), 4_000_000 * KIB),
        (PLAIN, Entries(1, 1000, 1000), 0),  # mdtest without options
    ],
)
def test_the_scenarios_of_the_sources_are_exact_to_the_file(tree, there, size):
    assert levels_total(tree, 1) == there
    assert TREE.moved(placed(tree, 1), 'create')[0] == size


def test_a_phase_measures_a_rate_of_each_kind_of_entry():
    names = 'tree_create directory_create file_create directory_stat file_stat file_read tree_remove directory_remove'
    point = placed(FDTREE_1.changed(empties_per_directory=3))
    assert metrics_at(point) == rates([*names.split(), 'file_remove'])


def test_a_root_that_stands_alone_is_no_metric_nor_are_directories_where_there_are_files_alone():
    assert operations(PLAIN, 'create', 2) == {'directory_create': 2000, 'file_create': 2000}
    assert operations(FDTREE_2.changed(subtrees='shared'), 'create', 2) == {'file_create': 4000}


@pytest.mark.parametrize(('branching', 'counts'), [(98, False), (99, True)])
def test_a_tree_is_a_metric_from_its_hundredth_directory_on(branching, counts):
    tree = metadata_tree(depth=1, branching=branching, files_per_directory=1, subtrees='private')
    assert levels_total(tree, 1).directories == branching + 1
    assert ('tree_create' in operations(tree, 'create', 48)) is counts, 'of one task, however many there are'


@pytest.mark.parametrize(
    ('tree', 'fault'),
    [
        (PLAIN.changed(depth=-1), 'depth: -1 '),
        (PLAIN.changed(depth=MAX_DEPTH + 1), 'depth: 101 '),
        (FDTREE_1.changed(branching=0), 'branching: 0 '),
        (PLAIN.changed(files_per_directory=-1), 'files_per_directory: -1 '),
        (PLAIN.changed(empties_per_directory=-1), 'empties_per_directory: -1 '),
        (PLAIN.changed(bytes_per_file=-1), 'bytes_per_file: -1 '),
        (PLAIN.changed(subtrees='own'), "subtrees: 'own' is not valid; it can be shared or private"),
        (PLAIN._replace(phases=('stat', 'create')), "phases: ['stat', 'create']; they are drawn from create, stat,"),
        (PLAIN.changed(branching=2), 'branching: 2, and depth 0 leaves the root alone'),
        (metadata_tree(empties_per_directory=1, bytes_per_file=1), 'bytes_per_file: '),
        (metadata_tree(empties_per_directory=1, fsync=True), 'fsync: '),
        (metadata_tree(empties_per_directory=1), 'phases: there is nothing to read'),
        (metadata_tree(), 'phases: there is nothing to create'),
        (metadata_tree(('create', 'stat'), depth=2, branching=10), 'phases: there is nothing to stat'),
        (metadata_tree(('create', 'remove'), depth=1, branching=10), 'phases: there is nothing to create'),
    ],
)
def test_a_contradiction_is_named_with_its_field(tree, fault):
    assert (fault_of(placed(tree)) or '').startswith(fault)


@given(FLAT_TREES, SHARES, st.integers(1, 9))
def test_every_task_puts_its_share_into_a_flat_tree_of_each_kind_that_it_has(tree, share, tasks):
    was, now = levels_total(tree, tasks), levels_total(TREE.resized(placed(tree, tasks), share), tasks)
    assert now.files == (share * tasks if was.files else 0)
    assert now.empties == (share * tasks if was.empties else 0)


@given(FLAT_TREES, SHARES, SHARES)
def test_nothing_else_of_a_tree_changes_with_its_share_and_the_share_before_leaves_no_trace(tree, before, share):
    point = placed(tree)
    new = TREE.resized(TREE.resized(point, before), share)
    assert new == TREE.resized(point, share)
    same = ('files_per_directory', 'empties_per_directory')
    assert new.changed(**{name: point.value(name) for name in same}) == point


@pytest.mark.parametrize('tree', [FDTREE_1._replace(scales=True), PLAIN._replace(scales=False)])
@given(share=SHARES)
def test_a_tree_of_levels_or_one_that_does_not_scale_is_that_of_the_plan_whatever_the_share(tree, share):
    assert TREE.resized(placed(tree), share) == placed(tree)


@given(st.lists(TREES, min_size=1, max_size=4), TASKS)
def test_the_trees_of_a_case_are_there_one_after_the_other(trees, tasks):
    points = [placed(tree, tasks) for tree in trees]
    alone = [TREE.footprint([point]) for point in points]
    assert TREE.footprint(points) == (max(room.bytes for room in alone), max(room.inodes for room in alone))
    assert all(room.bytes >= TREE.moved(point, 'create')[0] for room, point in zip(alone, points, strict=True))
    assert [room.inodes for room in alone] == [entries_after(point, 'create').inodes for point in points]


SOME = Effort(files=1000, phase_s=1.0)


@pytest.mark.parametrize(('effort', 'pinned', 'first'), [(SOME, 300, 300), (Effort(), None, 0), (Effort(), 300, 300)])
def test_the_files_of_a_tree_are_found_out_unless_they_are_those_of_the_site_or_the_source(effort, pinned, first):
    assert TREE.sizing([placed(PLAIN)], SOME, None) == Sizing(1000, 1, 1.0, 0.25)
    sizing = TREE.sizing([placed(PLAIN)], effort, pinned)
    assert sizing == Sizing(first, 1, 0.0, 0.0, pinned=pinned)
    assert sizing.fixed
    # One that does not scale has the files of the check, whatever the site says.
    assert TREE.sizing([placed(FDTREE_2)], SOME, pinned) == Sizing(0, 1, 0.0, 0.0)


LARGE_TREES = trees(4, 5, files_per_directory=st.integers(1, 2000), bytes_per_file=st.integers(0, 4 * MIB))


@given(st.integers(0, 1 << 34), LARGE_TREES)
def test_a_tree_is_shrunk_to_the_bytes_of_a_profile_as_little_as_possible(tree_bytes, tree):
    taken = TREE.adapted(tree, Effort(tree_bytes=tree_bytes))
    assert 1 <= taken.tree.files_per_directory <= tree.tree.files_per_directory
    assert taken.changed(files_per_directory=tree.tree.files_per_directory) == tree
    if not tree_bytes:
        assert taken == tree
    elif taken.tree.files_per_directory > 1:
        assert TREE.moved(placed(taken, 1), 'create')[0] <= tree_bytes
    if taken != tree:
        more = taken.changed(files_per_directory=taken.tree.files_per_directory + 1)
        assert TREE.moved(placed(more, 1), 'create')[0] > tree_bytes
