"""Data access: what contradicts itself, what is on disk, and what stays the same when a point is resized."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring import MFWA, SFSA, SFSA_STRIDED, SFWA
from seatrial.model.metric import Measurement, MetricType, bandwidth
from seatrial.model.plan import Sizing
from seatrial.model.point import Allocation
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.access import MIN_GRANULE, data_access, file_name, name_of, writer_of, writers
from seatrial.workload.base import Effort, FileSpec, Launch
from seatrial.workload.registry import exact_bytes, fault_of, kind_of, share_for, weight
from seatrial.workload.sweep import Sweep, expand, powers_of_two

CLASSES = (SFWA, MFWA, SFSA, SFSA_STRIDED)
ACCESS = kind_of('access')
HERE = Allocation(2, 3)


def placed(template, nodes=2, tasks_per_node=3, **changes):
    """The point of a template on all of an allocation."""
    return template.changed(nodes=nodes, tasks=nodes * tasks_per_node, tasks_per_node=tasks_per_node, **changes)


@st.composite
def points(draw, templates=CLASSES):
    """A point of one of the classes that contradicts nothing."""
    size, transfers = draw(st.sampled_from([1, KIB, 4 * KIB, 100_000, MIB])), draw(st.integers(1, 40))
    template = draw(st.sampled_from(templates)).changed(transfer_size=size, bytes_per_task=transfers * size)
    point = placed(template, draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    assert fault_of(point) is None
    return point


@pytest.mark.parametrize(
    ('template', 'fault'),
    [
        (MFWA.changed(files='many'), "files: 'many' is not valid"),
        (MFWA.changed(extent='half'), "extent: 'half' is not valid"),
        (MFWA.changed(order='sorted'), "order: 'sorted' is not valid"),
        (MFWA.changed(interface='nfs'), "interface: 'nfs' is not valid"),
        (MFWA._replace(phases=('read', 'write')), 'operations: '),
        (data_access('single'), 'operations: '),
        (MFWA.changed(extent='segment'), 'extent: '),
        (MFWA.changed(order='strided'), 'order: '),
        (MFWA.changed(collective=True), 'collective: '),
        (MFWA.changed(direct=True, interface='hdf5'), 'direct: '),
        (MFWA.changed(passes=2), 'passes: 2; '),
        (MFWA._replace(phases=('read',)).changed(passes=0), 'passes: 0; '),
        (MFWA.changed(transfer_size=0), 'transfer_size: 0 B '),
        (MFWA.changed(bytes_per_task=KIB), 'bytes_per_task: '),
        (MFWA.changed(bytes_per_task=MIB + 1), 'bytes_per_task: '),
    ],
)
def test_a_contradiction_is_named_with_its_field(template, fault):
    assert (fault_of(template) or '').startswith(fault)


def test_the_classes_have_the_names_of_the_literature_and_those_that_people_use():
    assert [name_of(workload) for workload in (SFWA, MFWA)] == ['SFWA (whole shared file)', 'MFWA (file per process)']
    names = [f'SFSA {order} (single shared file)' for order in ('contiguous', 'strided')]
    assert [name_of(workload) for workload in (SFSA, SFSA_STRIDED)] == names


def test_where_opening_is_asked_for_its_share_is_a_metric_and_so_is_the_bandwidth_of_a_node():
    point = placed(data_access('multiple', opening=True), nodes=4)
    names = [metric.name for metric in ACCESS.metrics(point, 'write')]
    assert names == ['write', 'write_per_node', 'write_open_share']
    measured = Measurement((bandwidth('write', 800, 2.0, ''),), point.tasks, ())
    (per_node,) = ACCESS.derived(point, 'write', measured)
    assert (per_node.name, per_node.value, per_node.unit) == ('write_per_node', 100.0, 'B/s')
    assert ACCESS.derived(placed(MFWA), 'write', measured) == ()
    assert ACCESS.metrics(placed(MFWA), 'write') == (MetricType('write', 'B/s'),)


@pytest.mark.parametrize(('interface', 'metadata'), [('posix', 0), ('hdf5', 2048), ('netcdf', 512)])
def test_files_on_disk_are_those_of_the_class_with_the_metadata_of_their_format(interface, metadata):
    mfwa, *shared = (placed(point, bytes_per_task=MIB, interface=interface) for point in (MFWA, SFSA_STRIDED, SFWA))
    assert ACCESS.files(mfwa) == tuple(FileSpec(f'data.{n:08d}', MIB + metadata) for n in range(6))
    assert [ACCESS.files(point) for point in shared] == [
        (FileSpec('data', 6 * MIB + metadata),),
        (FileSpec('data', MIB + metadata),),
    ]
    proved = ACCESS.as_access(mfwa.changed(collective=bool(metadata))).data  # without a format
    assert (proved.interface, proved.collective) == ('posix', False)


@given(points())
def test_every_task_has_its_file_among_those_on_disk(point):
    names = {file.name for file in ACCESS.files(point)}
    assert {file_name(point, rank) for rank in range(point.tasks)} == names


@given(points())
def test_no_task_moves_more_than_is_on_disk_and_together_they_move_all_of_it(point):
    there = sum(file.size for file in ACCESS.files(point))
    assert point.data.bytes_per_task <= there <= ACCESS.amount(point) == point.bytes_moved


@given(st.lists(points(), min_size=1, max_size=4))
def test_the_footprint_of_a_case_holds_the_files_of_its_largest_point(case):
    same = {name: case[0].value(name) for name in ('files', 'extent', 'order', 'transfer_size', 'bytes_per_task')}
    case = [point.changed(**same) for point in case]
    footprint = ACCESS.footprint(case)
    for files in map(ACCESS.files, case):
        assert footprint.bytes >= sum(file.size for file in files) and footprint.inodes >= len(files)


def test_a_file_that_all_tasks_read_may_have_a_name_for_each_of_them():
    assert ACCESS.footprint([placed(SFWA, bytes_per_task=MIB)]) == (MIB, 7)


@given(points([SFWA, *(workload._replace(phases=('read',)) for workload in (MFWA, SFSA, SFSA_STRIDED))]))
def test_the_preparation_writes_exactly_the_files_that_the_read_needs(point):
    (launch,) = ACCESS.preparations([point])
    assert launch == Launch('write', writers(point))
    assert fault_of(launch.point) is None
    assert ACCESS.files(launch.point) == ACCESS.files(point)
    assert ACCESS.phase('write').writes and not ACCESS.phase('write').reads and launch.point.tasks <= point.tasks
    assert launch.point.label == point.label


def test_one_set_of_files_serves_every_point_and_is_that_of_most_tasks():
    swept = expand(Sweep('tasks', (1, 2, 3)), SFWA, HERE)
    assert ACCESS.preparations(swept) == [Launch('write', writers(swept[2]))]
    assert ACCESS.preparations([placed(MFWA)]) == []  # what writes makes its own


def test_a_file_that_does_not_divide_between_the_tasks_is_written_by_one():
    point = placed(SFWA, transfer_size=4 * KIB, bytes_per_task=28 * KIB)
    assert (writers(point).nodes, writers(point).tasks, writers(point).data.bytes_per_task) == (1, 1, 28 * KIB)
    point = placed(SFWA, transfer_size=4 * KIB, bytes_per_task=24 * KIB)
    assert (writers(point).tasks, writers(point).data.bytes_per_task) == (6, 4 * KIB)


@given(points(), st.integers(1, 100))
def test_a_resized_point_moves_other_bytes_and_means_the_same(point, transfers):
    share = transfers * point.data.transfer_size
    new = ACCESS.resized(point, share)
    assert new.changed(bytes_per_task=point.data.bytes_per_task) == point
    assert exact_bytes(new) == new.data.bytes_per_task == share
    assert new.data.transfers == transfers
    assert fault_of(new) is None


def test_bytes_that_do_not_divide_are_an_error():
    with pytest.raises(ValueError, match='65537 bytes a task do not divide by 1048576'):
        ACCESS.resized(MFWA._replace(phases=('read',)), 65537)


@given(points(), st.integers(1, 1 << 40))
def test_the_share_for_a_working_set_is_the_least_with_which_the_files_have_it(point, working_set):
    share = share_for(point, working_set)
    one = point.changed(transfer_size=1)

    def there(size):
        return sum(file.size for file in ACCESS.files(one.changed(bytes_per_task=size)))

    assert there(share) >= working_set > there(share - 1)


def sizes(*values):
    return expand(Sweep('transfer_size', values), MFWA, HERE)


SOME = Effort(first_bytes=128 * MIB, target_s=5.0, min_s=0.5)


def blocks(most):
    """Transfer sizes in blocks."""
    return st.lists(st.integers(1, most), min_size=1, max_size=5, unique=True)


@given(blocks(40), st.integers(1, 50), st.integers(1, 8))
def test_every_multiple_of_the_granule_fits_every_point(numbers, times, first):
    swept = sizes(*(number * 16 * KIB for number in numbers))
    sizing = ACCESS.sizing(swept, SOME._replace(first_bytes=first * 64 * MIB), None)
    assert sizing.first > 0 == sizing.first % sizing.granule
    assert sizing.granule >= MIN_GRANULE
    for point in swept:
        assert fault_of(ACCESS.resized(point, times * sizing.granule)) is None


def test_the_sweep_of_the_source_starts_with_what_the_profile_says_in_steps_of_16_mib():
    sizing = ACCESS.sizing(sizes(*powers_of_two(KIB, 4 * MIB)), SOME._replace(working_set=True), None)
    assert sizing == Sizing(128 * MIB, 16 * MIB, 5.0, 0.5, working_set=True)
    assert not sizing.fixed
    # The largest transfer is the least step; without bytes of a profile those of the source are taken, or the site's.
    sizing = ACCESS.sizing(sizes(MIB, 64 * MIB), SOME._replace(first_bytes=100 * MIB), None)
    assert (sizing.first, sizing.granule) == (128 * MIB, 64 * MIB)
    sizing = ACCESS.sizing(sizes(MIB), Effort(min_s=0.5), None)
    assert (sizing.first, sizing.target_s, sizing.fixed) == (2 * GIB, 0.0, True)
    sizing = ACCESS.sizing(sizes(MIB), SOME, 8 * MIB)
    assert (sizing.first, sizing.pinned, sizing.fixed, sizing.target_s) == (8 * MIB, 8 * MIB, True, 5.0)


@pytest.mark.parametrize('pinned', [None, 8 * MIB])
def test_a_check_that_does_not_scale_has_its_own_share_in_every_profile(pinned):
    fixed = [placed(data_access('multiple', bytes_per_task='40MiB', scales=False))]
    sizing = ACCESS.sizing(fixed, SOME, pinned)
    assert (sizing.first, sizing.pinned) == (40 * MIB, 40 * MIB)
    assert ACCESS.fits(fixed[0].changed(transfer_size=40 * MIB), SOME._replace(first_bytes=1), 1)
    assert ACCESS.resized(fixed[0], MIB) == fixed[0]


def test_a_share_that_a_site_fixes_is_rounded_down_to_whole_transfers_of_each_point_that_writes():
    swept = sizes(48 * KIB, 64 * KIB, 7 * MIB)
    fitting = [point for point in swept if ACCESS.fits(point, SOME, 8 * MIB)]
    assert fitting == swept[:2]
    sizing = ACCESS.sizing(fitting, SOME, 8 * MIB)
    rounded = [ACCESS.resized(point, sizing.first) for point in fitting]
    assert [point.data.bytes_per_task for point in rounded] == [8160 * KIB, 8 * MIB]
    assert ACCESS.footprint(rounded).bytes == 8 * MIB * HERE.tasks
    assert [ACCESS.fits(point._replace(phases=('read',)), SOME, 8 * MIB) for point in swept] == [False, True, False]


@given(blocks(300), st.integers(1, 2**30))
def test_whatever_share_a_site_fixes_no_point_that_is_measured_is_impossible(numbers, pinned):
    fitting = [point for point in sizes(*(number * KIB for number in numbers)) if ACCESS.fits(point, SOME, pinned)]
    for point in fitting:
        resized = ACCESS.resized(point, ACCESS.sizing(fitting, SOME, pinned).first)
        assert fault_of(resized) is None
        assert 0.95 * pinned <= resized.data.bytes_per_task <= pinned


@pytest.mark.parametrize(
    ('effort', 'pinned', 'number'), [(Effort(), None, 2), (SOME, None, 1), (SOME, MIB, 1), (SOME, 4 * GIB, 3)]
)
def test_a_transfer_that_is_more_than_a_task_moves_is_left_out(effort, pinned, number):
    swept = sizes(MIB, GIB, 4 * GIB)
    assert [point for point in swept if ACCESS.fits(point, effort, pinned)] == swept[:number]


def test_the_shortest_launch_is_that_of_the_fewest_tasks_with_the_largest_transfers():
    swept = [*expand(Sweep('tasks', (2, 1)), MFWA, HERE), *sizes(4 * MIB)]
    assert min(swept, key=weight).label == '1task'
    assert min(sizes(KIB, 4 * MIB, MIB), key=weight).label == '4MiB'


@given(st.integers(2, 6), st.integers(1, 6))
def test_on_several_nodes_every_task_reads_what_another_node_has_written_and_all_is_read(nodes, tasks_per_node):
    point = placed(MFWA, nodes, tasks_per_node)
    read = [writer_of(point, rank) for rank in range(point.tasks)]
    assert sorted(read) == list(range(point.tasks))
    assert all(rank // tasks_per_node != writer // tasks_per_node for rank, writer in enumerate(read))
    assert [writer_of(placed(MFWA, 1, 3), rank) for rank in range(3)] == [0, 1, 2]  # on one node its own
