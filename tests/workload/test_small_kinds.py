"""The kinds of workload with few parameters: what is contradictory, what is on disk, and what is measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.metric import Measurement, Metric, MetricType, TaskTime, bandwidth
from seatrial.model.plan import Sizing
from seatrial.model.point import Allocation
from seatrial.model.units import GIB, KIB, MIB
from seatrial.site.profile import ACCEPTANCE, NIGHTLY
from seatrial.workload import io500
from seatrial.workload.access import Access
from seatrial.workload.base import UNKNOWN, Effort
from seatrial.workload.bonnie import PHASE, SEEKERS, bonnie_file, seeks_of
from seatrial.workload.contention import APPEND, HEAD, LEAST, LOCK, OPEN, calls_of, contention
from seatrial.workload.devices import bytes_of_each, part_of, raw_devices
from seatrial.workload.interactive import BUILD, GIT, STEPS, TREES, VENV, entries_of, interactive_use
from seatrial.workload.listing import listing
from seatrial.workload.operations import FILEOP, posix_operations
from seatrial.workload.registry import fault_of, kind_of, metrics_at
from seatrial.workload.reuse import file_reuse
from seatrial.workload.semantics import posix_integrity, posix_semantics
from seatrial.workload.sweep import Sweep, expand, surface

CALLS = posix_operations(500, '4KiB')._replace(tasks=4, tasks_per_node=4)


DEVICES = kind_of('device')
TWO_DEVICES = ('/dev/sda', '/dev/sdb')
RAW = raw_devices().changed(devices=TWO_DEVICES, tasks=4, tasks_per_node=4, transfer_size=MIB, bytes_per_task=GIB)


def test_tasks_are_dealt_to_the_devices_in_turn_and_read_on_from_each_other():
    parts = [part_of(RAW, rank) for rank in range(4)]
    assert parts == [('/dev/sda', 0), ('/dev/sdb', 0), ('/dev/sda', GIB), ('/dev/sdb', GIB)]
    assert bytes_of_each(RAW) == 2 * GIB


def test_the_files_stay_while_devices_are_read_and_contents_are_proved_on_them_alone():
    assert DEVICES.phase('device').needs and not DEVICES.phase('device').reads
    assert {file.name[:5] for file in DEVICES.files(RAW)} == {'data.'}
    proved = DEVICES.as_access(RAW)
    assert (fault_of(proved), proved.kind, proved.data.devices) == (None, 'access', ())


ONE_FILE = bonnie_file()._replace(label='1MiB', tasks_per_node=1)
BONNIE = kind_of('bonnie')


def test_its_file_is_there_while_it_runs_and_not_afterwards():
    assert BONNIE.footprint([ONE_FILE]) == Access().footprint([BONNIE.as_access(ONE_FILE)])
    assert BONNIE.footprint([ONE_FILE]).bytes == 2 * GIB
    assert BONNIE.files(ONE_FILE) == ()
    assert not BONNIE.phase(PHASE).needs and not BONNIE.phase(PHASE).makes and not BONNIE.preparations([ONE_FILE])


def test_no_read_of_it_is_known_to_be_cold():
    states = {metric.name: BONNIE.cache_of(metric.name, '') for metric in BONNIE.metrics(ONE_FILE, PHASE)}
    assert states == {'write': '', 'update': UNKNOWN, 'read': UNKNOWN, 'seeks': UNKNOWN}


def test_a_launch_lasts_as_long_as_its_parts_together():
    measurement = Measurement((bandwidth('write', 10, 2.0, ''), bandwidth('read', 10, 1.0, '')), 1, ('node1',))
    assert (BONNIE.phase(PHASE).timed_s(measurement), Access().phase('write').timed_s(measurement)) == (3.0, 1.0)


def test_each_transfer_is_sought_once_on_average_and_each_seeker_has_one():
    assert seeks_of(ONE_FILE) == ONE_FILE.data.transfers
    assert seeks_of(ONE_FILE.changed(bytes_per_task=ONE_FILE.data.transfer_size)) == SEEKERS


REUSE = kind_of('reuse')
AGAIN = file_reuse([phase.name for phase in REUSE.phases])._replace(nodes=1, tasks=2, tasks_per_node=2)


def test_an_update_reads_and_writes_all_bytes_and_a_second_read_forgets_nothing():
    size = AGAIN.bytes_moved
    assert REUSE.moved(AGAIN, 'update') == (size, size)
    assert (REUSE.moved(AGAIN, 'rewrite'), REUSE.moved(AGAIN, 'reread')) == ((size, 0), (0, size))


def test_a_surface_has_every_transfer_size_that_fits_into_the_file():
    labels = [label for label, _ in surface(('64KiB', '1MiB'), ('4KiB', '256KiB')).values]
    assert labels == ['64KiB-4KiB', '1MiB-4KiB', '1MiB-256KiB']


def test_the_stone_wall_does_not_wait_for_the_last_task_and_one_alone_has_none():
    tasks = (TaskTime(0, 'node1', 100, 0.0, 1.0), TaskTime(1, 'node1', 100, 0.0, 2.0))
    measurement = Measurement((bandwidth('write', 200, 2.0, ''),), 2, ('node1',), tasks=tasks)
    (wall,) = REUSE.derived(AGAIN, 'write', measurement)
    assert (wall.name, wall.value, wall.seconds) == ('write_stonewall', 150.0, 2.0)
    assert [metric.name for metric in REUSE.metrics(AGAIN, 'write')] == ['write', 'write_stonewall']
    assert REUSE.derived(AGAIN, 'write', measurement._replace(tasks=(tasks[0], tasks[0]._replace(end_s=0.0)))) == ()
    alone = AGAIN._replace(tasks=1, tasks_per_node=1)
    assert [metric.name for metric in REUSE.metrics(alone, 'write')] == ['write']
    assert REUSE.derived(alone, 'write', measurement._replace(tasks=tasks[:1])) == ()


def contended(workload, tasks=4):
    return workload._replace(label='here', tasks=tasks, tasks_per_node=tasks)


POINTS = {
    APPEND: contended(contention(APPEND, 2000, '256B')),
    LOCK: contended(contention(LOCK, 2000)),
    OPEN: contended(contention(OPEN, record='4KiB', open_files=50)),
}


@pytest.mark.parametrize(
    ('does', 'tasks', 'calls'),
    [(LOCK, 1, 2000), (LOCK, 2, 1000), (LOCK, 20, LEAST), (APPEND, 1000, LEAST), (OPEN, 1, 200), (OPEN, 1000, 200)],
)
def test_tasks_share_the_calls_that_follow_each_other_but_for_enough_of_a_percentile(does, tasks, calls):
    assert calls_of(contended(POINTS[does], tasks)) == calls


INTERACTIVE = kind_of('interactive')
UNPACKED = interactive_use(2, 5, 50, '8KiB')._replace(tasks=4, tasks_per_node=4)


def test_a_step_handles_all_entries_an_import_and_programs_the_files_and_a_virtual_environment_is_one():
    every_step = dict.fromkeys(('untar', 'import', 'find', 'du', 'rm'), 4 * (1550 + 31))
    assert entries_of(UNPACKED, TREES) == {**every_step, 'import': 4 * 1550}
    assert entries_of(UNPACKED, GIT) == {'git_clone': 4 * 1550, 'git_status': 4 * 1550}
    assert entries_of(UNPACKED, VENV) == {'venv_create': 4, 'pip_install': 4 * 1550, 'package_import': 4 * 1550}
    assert entries_of(UNPACKED, BUILD) == {'compile': 4 * 1550}


@pytest.mark.parametrize('does', [GIT, VENV, BUILD])
def test_there_is_room_for_what_programs_make_beside_the_files(does):
    plain, beside = INTERACTIVE.footprint([UNPACKED]), INTERACTIVE.footprint([UNPACKED._replace(phases=(does,))])
    assert beside.bytes > 3 * plain.bytes and beside.inodes > 3 * plain.inodes


def placed(nodes, tasks=2, workload=None, per_node=8):
    (point,) = expand(Sweep('tree', (('two', {}),)), workload or posix_semantics(tasks), Allocation(nodes, per_node))
    return point


def intact(nodes, per_node=8):
    return placed(nodes, workload=posix_integrity(), per_node=per_node)


@pytest.mark.parametrize(('nodes', 'per_node'), [(1, 2), (2, 1), (4, 1)])
def test_the_tasks_are_on_two_nodes_where_there_are(nodes, per_node):
    assert placed(nodes).tasks_per_node == per_node
    assert fault_of(placed(nodes)) is None


@pytest.mark.parametrize(
    ('point', 'sentence'),
    [
        (placed(1), 'The guarantees of POSIX are tried by 2 tasks on one node, one after the other'),
        (placed(2), 'The guarantees of POSIX are tried by 2 tasks on 2 nodes, one after the other'),
        (placed(1, 1), 'The guarantees of POSIX are tried by one task, one after the other'),
        (intact(2, 1), 'Files are written in many ways by 2 tasks on 2 nodes, and compared byte for byte'),
    ],
)
def test_what_a_case_does_is_one_sentence(point, sentence):
    assert kind_of('semantics').sentence([point]) == sentence


@pytest.mark.parametrize(('nodes', 'tasks'), [(1, 8), (3, 24)])
def test_integrity_is_proved_by_all_tasks_of_the_case(nodes, tasks):
    assert (intact(nodes).nodes, intact(nodes).tasks, fault_of(intact(nodes))) == (nodes, tasks, None)
    assert kind_of('semantics').title_of(intact(nodes)) == 'integrity of data'


IO500 = kind_of('io500')
PHASES = io500.io500('64GiB')._replace(label='all', tasks=2, tasks_per_node=2)


def test_a_night_has_no_time_for_the_rules_and_so_no_score():
    night, acceptance = (IO500.adapted(PHASES, profile.effort) for profile in (NIGHTLY, ACCEPTANCE))
    assert (io500.stone_wall_s(night), io500.stone_wall_s(acceptance)) == (5, io500.STONE_WALL_S)
    scored = [io500.SCORE in {metric.name for metric in metrics_at(point)} for point in (night, acceptance)]
    assert scored == [False, True]
    assert 'not a submission' in IO500.sentence([acceptance]) and 'not a submission' in IO500.metric_words(
        io500.SCORE
    )


def test_the_bytes_of_a_task_bound_all_that_lies_there():
    assert io500.files_per_task(PHASES) == 2**20
    footprint = IO500.footprint([PHASES])
    assert footprint.bytes == 2 * 2 * 64 * GIB + 2 * 2 * 2**20 * 3901 and footprint.inodes > 2 * 2 * 2**20
    assert IO500.files(PHASES) == () and not IO500.preparations([PHASES])


def test_the_site_chooses_the_bytes_and_no_warm_up_does():
    sizing = IO500.sizing([PHASES], ACCEPTANCE.effort, 8 * GIB)
    assert (sizing.first, sizing.fixed) == (8 * GIB, True)
    assert IO500.sizing([PHASES], ACCEPTANCE.effort, None).first == 64 * GIB


def test_without_one_of_its_phases_there_is_no_score():
    def scores(metrics):
        return IO500.derived(PHASES, io500.PHASE, Measurement(tuple(metrics), 2, ('node1',)))

    metrics = [Metric(name, 1.0, 'B/s', seconds=300.0) for name in io500.BANDWIDTHS]
    metrics += [Metric(name, 1.0, 'op/s', seconds=300.0) for name in io500.RATES]
    assert len(scores(metrics)) == 3
    assert scores(metrics[1:]) == scores([metrics[0]._replace(value=0.0), *metrics[1:]]) == ()


def test_what_reads_is_not_known_to_be_cold():
    unknown = {metric.name for metric in metrics_at(PHASES) if IO500.cache_of(metric.name, '') == UNKNOWN}
    assert unknown >= {'ior_easy_read', 'mdtest_hard_stat', 'find'}
    assert unknown.isdisjoint({'ior_easy_write', 'mdtest_hard_delete'})


@given(st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=12))
def test_a_geometric_mean_lies_between_the_least_and_the_largest(values):
    assert min(values) * (1 - 1e-9) <= io500.geometric_mean(values) <= max(values) * (1 + 1e-9)


@pytest.mark.parametrize(
    ('point', 'names', 'unit'),
    [
        (CALLS, FILEOP, 'op/s'),
        *((UNPACKED._replace(phases=(does,)), steps, 'op/s') for does, steps in STEPS.items()),
        (placed(1), ('holding',), ''),
    ],
)
def test_one_launch_measures_every_step(point, names, unit):
    assert metrics_at(point) == tuple(MetricType(name, unit) for name in names)
    assert point.kind != 'interactive' or list(names) == list(entries_of(point, point.phases[0]))
    assert fault_of(point) is None and len(set(names)) == len(names)


@pytest.mark.parametrize(
    ('point', 'size', 'inodes'),
    [
        (CALLS, 4 * 500 * 4 * KIB, 3 * (4 * 500 + 1)),  # a second name and a directory beside every file
        (POINTS[APPEND], 2000 * 256, 1),
        (contended(POINTS[APPEND], 1000), 1000 * LEAST * 256, 1),
        (POINTS[LOCK], 5 * 8, 1),
        (POINTS[OPEN], 200 * 16 * KIB, 204),
        (UNPACKED, 4 * 1550 * 8 * KIB, 4 * (1550 + 31)),
        (placed(1), 2 * MIB, 64),
        (intact(1, 2), 18 * MIB, 64),
    ],
)
def test_there_is_room_for_all_that_it_makes_and_nothing_before_it(point, size, inodes):
    assert kind_of(point.kind).footprint([point]) == (size, inodes)
    assert kind_of(point.kind).preparations([point]) == []


@pytest.mark.parametrize('point', [CALLS, UNPACKED, placed(1), listing(10)])
def test_no_profile_and_no_site_changes_what_a_check_says(point):
    kind, effort = kind_of(point.kind), Effort(files=1000, first_bytes=MIB, phase_s=1.0)
    assert kind.sizing([point], effort, 300) == Sizing(0, 1, 0.0, 0.0)
    assert kind.resized(point, 300) == kind.adapted(point, effort) == point


NO_RECORD = 'B cannot be numbered'
FAULTS = [
    (posix_operations(0, 0), {}, 'files_per_directory: POSIX operations needs at least one file'),
    (posix_operations(1, 0, 'own'), {}, "subtrees: 'own' is not valid; it can be shared or private"),
    (RAW, {'tasks': 3}, 'tasks: 3 cannot be dealt to 2 devices alike'),
    (RAW, {'nodes': 2}, 'nodes: 2; devices are read on one node'),
    (RAW, {'direct': False}, 'all with O_DIRECT'),
    (RAW, {'phases': ('device',)}, "phases: ['device']; they are write, read, device"),
    (RAW, {'interface': 'mpiio'}, 'O_DIRECT is not passed on by MPI-IO'),
    (ONE_FILE, {'tasks': 2}, 'tasks: '),
    (ONE_FILE, {'phases': ('write',)}, 'phases: '),
    (ONE_FILE, {'direct': True}, 'phases: '),
    (ONE_FILE, {'interface': 'mpiio'}, 'files: '),
    (ONE_FILE, {'bytes_per_task': 1}, 'bytes_per_task: '),
    (AGAIN, {'phases': ('read', 'reread')}, 'phases: '),
    (AGAIN, {'phases': ('write', 'read', 'update', 'reread')}, 'phases: '),
    (AGAIN, {'phases': ('write', 'reread')}, 'phases: '),
    (AGAIN, {'order': 'random'}, 'files: '),
    (AGAIN, {'bytes_per_task': 1}, 'bytes_per_task: '),
    (POINTS[APPEND], {'phases': (APPEND, LOCK)}, "phases: ['append', 'lock']; contention has one of append, lock, "),
    (POINTS[APPEND], {'transfer_size': HEAD - 1}, f'transfer_size: a record of {HEAD - 1} {NO_RECORD}; write {HEAD}'),
    (POINTS[OPEN], {'transfer_size': 0}, f'transfer_size: a record of 0 {NO_RECORD}'),
    (POINTS[OPEN], {'files_per_directory': 0}, 'files_per_directory: 0 files are held open; open alone has some'),
    (POINTS[LOCK], {'files_per_directory': 5}, 'files_per_directory: 5 files are held open; open alone has some'),
    (POINTS[LOCK], {'working_set': 7}, 'working_set: 7 B are no call of 8 B'),
    (UNPACKED, {'subtrees': 'shared'}, "subtrees: 'shared' trees are not unpacked and removed by each task;"),
    (UNPACKED, {'files_per_directory': 0}, 'files_per_directory: interactive use needs at least one file in each'),
    (UNPACKED, {'depth': -1}, 'depth: -1 is too few; it is 0 or more'),
    (PHASES, {'phases': ('write',)}, 'phases: '),
    (PHASES, {'transfer_size': 4096}, 'transfer_size: '),
    (PHASES, {'bytes_per_task': 3 * MIB}, 'bytes_per_task: '),
    (PHASES, {'duration_s': 1.0}, 'duration_s: '),
    (PHASES, {'files': 'multiple'}, 'files: '),
]


@pytest.mark.parametrize(('point', 'changes', 'fault'), FAULTS)
def test_a_contradiction_is_named_with_its_field(point, changes, fault):
    assert fault in fault_of(point.changed(**changes))
