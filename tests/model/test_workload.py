"""Patterns, sweeps and the points that they expand to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.units import GIB, KIB, MIB
from seatrial.model.workload import (
    AccessPattern,
    FileSpec,
    Geometry,
    Sweep,
    expand,
    files_of,
    group_size,
    left_out,
    on_groups,
    over_nodes,
    pattern_fault,
    placement,
    powers_of_two,
    preparation,
    resized,
    subsample,
)

SFWA = AccessPattern('single', 'whole', operations=('read',))
MFWA = AccessPattern('multiple', 'whole')
STRIDED = AccessPattern('single', 'segment', 'strided')
OBJECTS = Sweep('objects', powers_of_two(2, 2048), 2 * GIB)
CLIENTS = Sweep('clients', (1, 2, 4, 8, 16, 24, 32, 40), 2 * GIB, objects=32)


def test_the_classes_have_the_names_of_the_literature():
    contiguous = AccessPattern('single', 'segment')
    assert [p.name for p in (SFWA, MFWA, contiguous, STRIDED)] == ['SFWA', 'MFWA', 'SFSA contiguous', 'SFSA strided']


@pytest.mark.parametrize('pattern', [SFWA, MFWA, STRIDED, AccessPattern('single', 'segment')])
def test_the_classes_contradict_nothing(pattern):
    assert pattern_fault(pattern) is None


@pytest.mark.parametrize(
    ('pattern', 'word'),
    [
        (AccessPattern('many', 'whole'), 'files'),
        (AccessPattern('single', 'whole'), 'over each other'),
        (AccessPattern('multiple', 'segment'), 'segments'),
        (MFWA._replace(order='strided'), 'strided'),
        (MFWA._replace(operations=()), 'operations'),
        (MFWA._replace(operations=('read', 'write')), 'before it is written'),
        (MFWA._replace(operations=('write', 'write')), 'twice'),
        (MFWA._replace(collective=True), 'MPI-IO'),
        (MFWA._replace(interface='hdf5'), 'interface'),
    ],
)
def test_a_contradiction_is_named(pattern, word):
    assert word in (pattern_fault(pattern) or '')


def test_the_objects_sweep_of_the_source_has_eleven_points_at_constant_bytes():
    points = expand(OBJECTS, Geometry(40, 1), 2 * GIB)
    assert [point.objects for point in points] == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]
    assert {point.bytes_moved for point in points} == {40 * 2 * GIB}
    assert points[0].transfer_size == GIB and points[-1].transfer_size == MIB
    assert points[0].label == '2objects'


def test_the_clients_sweep_of_the_source_holds_32_objects_of_64_mib():
    points = expand(CLIENTS, Geometry(40, 1), 2 * GIB)
    assert [point.tasks for point in points] == [1, 2, 4, 8, 16, 24, 32, 40]
    assert {(point.objects, point.transfer_size) for point in points} == {(32, 64 * MIB)}
    assert [point.nodes for point in points] == [1, 2, 4, 8, 16, 24, 32, 40]


def test_clients_that_do_not_fit_are_left_out_and_said():
    assert [point.tasks for point in expand(CLIENTS, Geometry(2, 4), 2 * GIB)] == [1, 2, 4, 8]
    assert left_out(CLIENTS, Geometry(2, 4), 2 * GIB) == [16, 24, 32, 40]


def test_a_transfer_size_sweep_is_labelled_by_size():
    sweep = Sweep('transfer_size', powers_of_two(KIB, 4 * MIB), 2 * GIB)
    labels = [point.label for point in expand(sweep, Geometry(1, 2), 2 * GIB)]
    assert len(labels) == 13 and labels[0] == '1KiB' and labels[-1] == '4MiB'


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 50))
def test_a_placement_is_even_and_inside_the_allocation(clients, nodes, tasks_per_node):
    placed = placement(clients, Geometry(nodes, tasks_per_node))
    if placed is None:
        even = [n for n in range(1, nodes + 1) if clients % n == 0 and clients // n <= tasks_per_node]
        assert not even
    else:
        assert placed.nodes * placed.tasks_per_node == clients
        assert placed.nodes <= nodes and placed.tasks_per_node <= tasks_per_node


@given(st.lists(st.integers(), min_size=1, max_size=40, unique=True), st.integers(0, 50))
def test_a_subsample_keeps_order_both_ends_and_count(values, count):
    values = tuple(sorted(values))
    chosen = subsample(values, count)
    assert list(chosen) == sorted(set(chosen))
    assert set(chosen) <= set(values)
    assert len(chosen) == (len(values) if count == 0 else min(count, len(values)))
    if len(chosen) > 1:
        assert chosen[0] == values[0] and chosen[-1] == values[-1]


def test_three_points_of_the_objects_sweep_are_the_ends_and_the_middle():
    assert subsample(OBJECTS.values, 3) == (2, 64, 2048)


@given(st.sampled_from([OBJECTS, CLIENTS]), st.integers(1, 64))
def test_resizing_holds_what_the_sweep_holds(sweep, granules):
    size = granules * 16 * MIB
    for point in expand(sweep, Geometry(8, 8), 16 * MIB):
        new = resized(point, sweep.axis, size)
        assert new.objects == point.objects
        assert new.objects * new.transfer_size == new.bytes_per_client == size


def test_resizing_a_transfer_size_point_changes_the_objects():
    point = expand(Sweep('transfer_size', (64 * KIB,), GIB), Geometry(1, 2), MIB)[0]
    assert resized(point, 'transfer_size', 4 * MIB).objects == 64
    with pytest.raises(ValueError, match='do not divide'):
        resized(point, 'transfer_size', 65 * KIB)


def test_files_on_disk_are_those_of_the_pattern():
    point = expand(OBJECTS, Geometry(1, 3), 16 * MIB)[0]
    assert files_of(MFWA, point) == [FileSpec(f'data.{rank:08d}', 16 * MIB) for rank in range(3)]
    assert files_of(STRIDED, point) == [FileSpec('data', 48 * MIB)]
    assert files_of(SFWA, point) == [FileSpec('data', 16 * MIB)]


@given(st.integers(1, 7), st.sampled_from([KIB, 64 * KIB, 4 * MIB]), st.integers(1, 9))
def test_a_file_that_all_clients_read_is_prepared_whole(tasks, transfer_size, objects):
    sweep = Sweep('transfer_size', (transfer_size,), GIB)
    point = expand(sweep, Geometry(1, tasks), transfer_size * objects)[0]
    pattern, writers = preparation(SFWA, point)
    assert pattern_fault(pattern) is None and pattern.operations == ('write',)
    assert files_of(pattern, writers) == files_of(SFWA, point)
    assert writers.objects * writers.transfer_size == writers.bytes_per_client


@pytest.mark.parametrize(
    ('nodes', 'groups'),
    [(2, [1, 1]), (8, [1] * 8), (9, [2, 2, 2, 2, 1]), (64, [8] * 8), (5000, [625] * 8)],
)
def test_a_node_sweep_has_all_nodes_at_once_and_then_each_of_at_most_eight_groups(nodes, groups):
    first, *others = expand(on_groups(over_nodes(2 * GIB, MIB), nodes), Geometry(nodes, 4), 64 * MIB)
    assert (first.label, first.first_node, first.nodes, first.tasks) == ('all', 0, nodes, 4 * nodes)
    assert [point.nodes for point in others] == groups
    assert [point.first_node for point in others] == [n * group_size(nodes) for n in range(len(groups))]
    assert [point.label for point in others[:2]] == ['group01', 'group02']
    assert all((point.tasks, point.objects) == (4 * point.nodes, 64) for point in others)


@given(st.integers(2, 6000))
def test_every_node_is_in_one_group(nodes):
    _, *groups = expand(on_groups(over_nodes(2 * GIB, MIB), nodes), Geometry(nodes, 1), MIB)
    assert [node for point in groups for node in range(point.first_node, point.first_node + point.nodes)] == list(
        range(nodes)
    )
