"""Rules after each launch: what makes a figure INVALID, what only labels it."""

import pytest

from seatrial.model.action import Course, Window
from seatrial.model.metric import Fact, Measurement, Metric, TaskTime, rate
from seatrial.model.plan import StoppingRule
from seatrial.model.record import BoundTasks
from seatrial.model.units import MIB
from seatrial.rules import launch
from seatrial.rules.registry import RULES
from seatrial.workload.ageing import ageing
from seatrial.workload.base import Entries, FileSpec
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import AXES

SIZE = 64 * MIB


@pytest.fixture
def write(plan, measurement):
    point = plan.points[0]
    launched = launch.Launched(plan, point, 'write', measurement)
    return launched._replace(after=dict(launched.kind.files(point)))


@pytest.fixture
def read(write):
    return write._replace(phase='read', before=write.after, storage_read_bytes=2 * SIZE)


def broken(launched):
    return [fault.rule for fault in launch.launch_findings(launched)]


@pytest.mark.parametrize(
    ('name', 'on_descriptor', 'rule'),
    [
        *[(name, True, 'F1') for name in ('EIO', 'ENOENT', 'ESTALE', 'EACCES', 'ETIMEDOUT', 'ENODEV')],
        *[(name, True, '') for name in ('EINTR', 'EAGAIN', 'EFBIG', 'EINVAL', 'EBADF', 'EFAULT')],
        *[(name, False, '') for name in ('ENOENT', 'EACCES', 'EINVAL')],
        *[('EROFS', False, 'F1'), ('ECONNREFUSED', False, 'F1'), ('ENOSPC', True, 'P9a'), ('EDQUOT', False, 'P9a')],
    ],
)
def test_what_an_open_file_refuses_is_the_storages_unless_it_is_the_callers(name, on_descriptor, rule):
    assert launch.rule_of_errno(name, on_descriptor) == rule
    assert launch.rule_of_errno(name, on_descriptor, sync=True) == ('P9a' if name in launch.NO_ROOM else 'F1')


@pytest.mark.parametrize(
    ('seconds', 'data_rate', 'rules'), [(0.049, 5000.0 * MIB, ['P4c']), (0.052, 5000.0 * MIB, []), (0.049, 0.0, [])]
)
def test_a_task_that_is_nearly_as_fast_as_it_makes_its_data_is_labelled(write, seconds, data_rate, rules):
    # 64 MiB in 51.2 ms are a quarter of 5,000 MiB/s
    tasks = tuple(task._replace(start_s=0.0, end_s=seconds) for task in write.measurement.tasks)
    launched = changed(write._replace(data_rate=data_rate), tasks=tasks)
    assert write.point.data.bytes_per_task == SIZE
    assert [rule for rule in broken(launched) if rule == 'P4c'] == rules
    assert 'P4c' not in broken(launched._replace(phase='read'))


def changed(launched, **fields):
    return launched._replace(measurement=launched.measurement._replace(**fields))


def rated(launched, **fields):
    (metric,) = launched.measurement.metrics
    return changed(launched, metrics=(metric._replace(**fields),))


@pytest.mark.parametrize(
    ('outage_s', 'failed', 'axis', 'rules'),
    [(1.6, 0.0, 'action', ['A4']), (8.6, 0.0, 'action', []), (1.6, 3.0, 'action', []), (1.6, 0.0, 'tunable', [])],
)
def test_an_action_that_no_node_waited_for_may_not_have_reached_the_load(write, outage_s, failed, axis, rules):
    course = Course(1, (), (), (), 0.0, (Window('ost2-away', 40.0, 74.0),))
    metrics = (Metric('outage', outage_s, 's'), Metric('errors', failed, ''))
    launched = write._replace(plan=write.plan._replace(axis=AXES[axis]))
    assert [rule for rule in broken(changed(launched, metrics=metrics, course=course)) if rule == 'A4'] == rules


@pytest.mark.parametrize(
    ('cores', 'of_job', 'words'),
    [
        (('0', '0', '0', '0'), 4, 'on n1 4 tasks share 1 core, and 3 of 4 have no task; '),
        (('0-1', '0-1', '0', '1'), 8, 'on n1 4 tasks share 2 cores, and 6 of 8 have no task; '),
        (('0', '0', '1-7', '1-7'), 8, 'on n1 2 tasks share 1 core, and 5 of 8 have no task; '),
        (('0', '1', '2', '3'), 4, None),
        (('0-3',) * 4, 4, None),
        (('0-1',) * 4, 2, None),  # there are no others
        (('4-7',) * 4, 2, None),  # another node can have more than the first
        (('0', '0'), 0, None),  # how many there are is not known
        (('0', '7\x1b['), 4, None),
    ],
)
def test_tasks_that_share_cores_are_labelled_where_others_have_no_task(write, cores, of_job, words):
    launched = write._replace(bound=(BoundTasks(('n1',), cores),), cores=of_job)
    shared = [fault for fault in launch.launch_findings(launched) if fault.rule == 'P23']
    assert [fault.effect for fault in shared] == ['label'] * (words is not None)
    assert all(fault.sentence.startswith(words) for fault in shared)


def test_a_write_without_fsync_and_another_number_of_tasks_or_nodes_are_invalid(write, read):
    assert broken(write) == broken(read) == []
    assert broken(changed(write, fsync=False)) == ['P1']
    assert broken(changed(read, fsync=False)) == []
    assert broken(changed(write, world_size=1)) == ['T9']
    assert broken(changed(write, hosts=('a', 'b'))) == ['T10']


@pytest.mark.parametrize(
    ('share', 'direct', 'cache', 'rules'),
    [
        (0.94, False, 'cached', ['P2']),
        *((share, False, 'cold', []) for share in (0.951, 1.0, 1.24)),
        *((share, False, 'unknown', ['T3']) for share in (1.26, 50.0, None)),
        (None, True, 'cold', []),
    ],
)
def test_a_read_is_cold_by_o_direct_or_where_storage_saw_all_of_it_and_no_more(read, share, direct, cache, rules):
    from_storage = None if share is None else int(share * 2 * SIZE)
    launched = changed(read, direct=direct)._replace(storage_read_bytes=from_storage)
    assert (launch.cache_state(launched), broken(launched)) == (cache, rules)
    assert all(RULES[rule].effect == 'label' for rule in rules)
    if share and cache == 'unknown':
        assert 'nothing shows whose it was' in RULES['T3'].check(launched)


def test_what_a_counter_shows_is_cold_only_where_the_device_is_the_storage(read):
    for launched in (read, changed(read, direct=True)):
        virtual = launched._replace(below='vda is a virtual disk')
        in_memory = launched._replace(memory='tmpfs keeps its files')
        states = [launch.cache_state(state_of) for state_of in (launched, virtual, in_memory)]
        assert states == ['cold', 'unknown', 'cached']
        assert (broken(virtual), broken(in_memory)) == (['T3'], ['P2'])
    assert RULES['T3'].check(virtual).startswith('vda is a virtual disk; server_cache_bytes in trial.yaml says')


def test_a_file_that_two_tasks_of_a_node_read_is_fetched_once_and_so_half_cached(read):
    point = read.point.changed(files='single', phases=('read',))
    one = dict(read.kind.files(point))
    shared = read._replace(point=point, before=one, after=one, storage_read_bytes=SIZE)
    assert launch.cache_state(shared) == 'cached'
    assert 'only 50 %' in launch.launch_findings(shared)[0].sentence


def test_t10_another_node_than_the_one_that_was_named_is_invalid(write):
    assert broken(write._replace(meant=('node1.cluster',))) == []
    named = write._replace(meant=('node2',))
    assert broken(named) == ['T10']
    assert 'ran on node1 and not on node2' in launch.launch_findings(named)[0].sentence


@pytest.mark.parametrize(
    ('axis', 'apart_s', 'rules'), [('transfer_size', 0.2, ['T21']), ('node', 0.2, []), ('node', 0.3, ['T21'])]
)
def test_t21_tasks_began_together_or_in_a_node_sweep_nearly_so(write, axis, apart_s, rules):
    first, second = write.measurement.tasks
    tasks = (first._replace(host='a'), second._replace(host='b', start_s=apart_s, end_s=first.end_s + apart_s))
    two = changed(write, tasks=tasks, hosts=('a', 'b'))
    two = two._replace(plan=two.plan._replace(axis=AXES[axis]), point=two.point._replace(nodes=2, tasks_per_node=1))
    assert broken(two) == rules
    smoke = two._replace(plan=two.plan._replace(stopping=two.plan.stopping._replace(fixed=True)))
    assert [rule for rule in broken(smoke) if rule.startswith('T21')] == ['T21a'] * len(rules)


@pytest.mark.parametrize(
    ('clock_s', 'seconds', 'rule'),
    [
        (0.001, 0.0, 'T12'),
        (0.001, 0.001, 'T19'),
        (0.001, 0.099, 'T19'),
        (0.001, 0.1, ''),
        (0.0001, 0.009, 'T19'),
        (0.0001, 0.01, ''),
        (0.01, 0.49, 'T19'),
        (0.01, 0.5, ''),
    ],
)
def test_t19_a_region_has_100_ticks_of_whatever_clock_or_half_a_second(write, clock_s, seconds, rule):
    short = rated(changed(write, clock_s=clock_s), seconds=seconds)
    assert broken(short) == ([rule] if rule else [])
    smoke = short._replace(plan=write.plan._replace(stopping=write.plan.stopping._replace(fixed=True)))
    assert broken(smoke) == ([rule.replace('T19', 'T19b')] if rule else [])
    assert RULES['T19b'].effect == 'label'


def test_t17_files_must_be_in_full_before_a_read_and_after_every_operation(write, read):
    name = min(read.before)
    assert broken(read._replace(before={})) == ['T17']
    assert broken(read._replace(before={**read.before, name: 1})) == ['T17']
    assert broken(read._replace(after={})) == ['T17']
    assert broken(write._replace(after={**write.after, 'other': 1})) == ['T17']


def test_t17_names_a_file_and_both_sizes():
    expected = [FileSpec('a', 2), FileSpec('b', 2)]
    assert launch.files_fault(expected, {'a': 2, 'b': 2}) is None
    assert launch.files_fault(expected, {'a': 2, 'b': 1}) == 'b has 1 B, not 2 B'
    assert launch.files_fault(expected, {'a': 2}) == '1 of 2 files are missing (b)'
    assert 'does not know (c)' in (launch.files_fault(expected, {'a': 2, 'b': 2, 'c': 0}) or '')


def test_t18_the_bytes_of_each_task_count_and_not_only_their_sum(write):
    tasks = (TaskTime(0, 'h', SIZE + 1, 0.0, 1.0), TaskTime(1, 'h', SIZE - 1, 0.0, 1.0))
    assert broken(changed(write, tasks=tasks)) == ['T18']
    assert broken(changed(write, bytes_moved=SIZE)) == ['T18']


@pytest.mark.parametrize(
    ('lived_s', 'beside_s', 'rules'), [(13.5, 0.25, []), (13.6, 0.25, ['T24']), (13.6, 0.4, []), (0.0, 0.0, [])]
)
def test_an_engine_times_its_launch_but_for_the_start_up(write, lived_s, beside_s, rules):
    # 2 s and half of them, 1 s, and twice the start-up
    assert broken(rated(write, seconds=2.0)._replace(lived_s=lived_s, beside_s=beside_s)) == rules


@pytest.mark.parametrize(('share', 'rules'), [(0.099, ['P16b']), (0.1, []), (0.9, [])])
def test_p16b_tasks_that_mostly_think_are_labelled_to_test_no_storage(write, share, rules):
    (metric,) = write.measurement.metrics
    waiting = Metric('randread_waiting', share, '', 'lower', metric.seconds)
    thinking = changed(write, metrics=(metric, waiting))
    assert broken(thinking) == rules
    assert RULES['P16b'].effect == 'label'


# Metadata: are the entries there, was it work, and from whose memory was it answered?

CLOCK_S = 1e-3
SECONDS = 2.0
THERE = Entries(1, 2000, 0)


@pytest.fixture
def create(tree_plan):
    made = rate('file_create', 2000, SECONDS, '1000.0', (1.9, SECONDS))
    measurement = Measurement((made,), 2, ('node1',), CLOCK_S)
    launched = launch.Launched(tree_plan, tree_plan.points[0], 'create', measurement)
    return launched._replace(expected=THERE, counted=launch.FileCount(1, 2000, {0: 2000}))


@pytest.fixture
def stat(create):
    """Statted at the servers: this node has forgotten what it made."""
    return create._replace(phase='stat', counted=create.counted._replace(sizes=None), emptied=True)


def words_of(launched):
    (fault,) = launch.launch_findings(launched)
    return fault.sentence


def test_a_good_creation_and_a_cold_stat_break_no_rule(create, stat):
    assert broken(create) == broken(stat) == []
    assert broken(create._replace(expected=None, counted=None)) == [], 'it was not counted'
    assert broken(create._replace(counted=launch.FileCount(1, 2000, None))) == [], 'sizes were not asked for'
    assert broken(changed(create, metrics=(), facts=(Fact('f', True, 'so'),))) == [], 'it times nothing'
    assert broken(rated(create, task_seconds=())) == [], 'its engine does not tell the times of tasks'


# T4: where names and attributes come from


@pytest.mark.parametrize(
    ('point', 'phase'),
    [(None, 'create'), (None, 'remove'), (posix_operations(10, 0), 'fileop'), (posix_semantics(), 'probe')],
)
def test_what_looks_nothing_up_has_no_cache_state(create, point, phase):
    assert launch.cache_state(create._replace(point=point or create.point, phase=phase)) == ''


@pytest.mark.parametrize(('point', 'phase'), [(None, 'stat'), (None, 'read'), (listing(10), 'list')])
@pytest.mark.parametrize(
    ('emptied', 'kept', 'elsewhere', 'expected'),
    [
        (True, '', False, 'cold'),
        (True, 'files in the cache on a local disk', False, 'unknown'),
        (False, '', False, 'cached'),
        (False, 'files in the cache on a local disk', False, 'cached'),
        (False, '', True, 'cold'),
        (True, '', True, 'cold'),
    ],
)
def test_a_lookup_is_as_cold_as_the_memory_of_the_node(create, point, phase, emptied, kept, elsewhere, expected):
    asked = create._replace(point=point or create.point, phase=phase)
    assert launch.cache_state(asked._replace(emptied=emptied, kept=kept, elsewhere=elsewhere)) == expected


@pytest.mark.parametrize(
    ('allowed', 'kept', 'why'),
    [
        (False, '', 'trial.yaml does not allow drop_caches'),
        (True, 'only root may', 'only root may'),
        (True, '', None),
    ],
)
def test_t4_names_what_stands_in_the_way_and_asks_for_nothing_that_is_so_already(stat, allowed, kept, why):
    plan = stat.plan._replace(target=stat.plan.target._replace(drop_caches=allowed))
    because = f' ({why})' if why else ''
    made = f'labelled cached: the node that asks has made the entries{because}'
    cached = stat._replace(plan=plan, emptied=False, kept=kept)
    assert broken(cached) == ['T4'] and RULES['T4'].effect == 'label'
    assert words_of(cached) == f'{made}; use more nodes, 4 are always enough'


def test_t4a_an_engine_that_looks_names_up_first_is_what_is_to_be_replaced(stat):
    warmed = stat._replace(warmed='fio looks every name up before its clock starts')
    assert launch.cache_state(warmed) == 'unknown'
    assert broken(warmed) == ['T4a'] and RULES['T4a'].effect == 'label'
    assert words_of(warmed) == f'labelled unknown: {warmed.warmed}; use mdtest or posixops'
    assert broken(warmed._replace(emptied=False)) == ['T4'], 'without drop_caches the engine is not the first'


# T17a: the entries


@pytest.mark.parametrize(
    ('phase', 'expected', 'size', 'counted', 'sentence'),
    [
        ('create', THERE, 0, (1, 1999, {0: 1999}), 'after create there are 1999 files, not 2000'),
        ('create', THERE, 0, (1, 2001, {0: 2001}), 'after create there are 2001 files, not 2000'),
        ('create', THERE, 0, (2, 2000, {0: 2000}), 'after create there are 2 directories, not 1'),
        ('create', THERE, 0, (0, 2000, {0: 2000}), 'after create there are 0 directories, not 1'),
        ('create', THERE, 0, (1, 2000, {0: 1998, 7: 2}), 'after create 2 files have 7 B, not 0 B'),
        ('create', THERE, 3901, (1, 2000, {0: 2000}), 'after create 2000 files have 0 B, not 3901 B'),
        ('create', THERE, 3901, (1, 2000, {3901: 2000}), None),
        # empty directories count with those of the tree
        ('create', Entries(1, 2000, 40), 0, (1, 2000, {0: 2000}), 'after create there are 1 directories, not 41'),
        ('create', Entries(1, 2000, 40), 0, (41, 2000, {0: 2000}), None),
        ('remove', Entries(0, 0, 0), 0, (0, 0, None), None),
        ('remove', Entries(0, 0, 0), 0, (0, 1, None), 'after remove there are 1 files, not 0'),
        ('remove', Entries(0, 0, 0), 0, (1, 0, None), 'after remove there are 1 directories, not 0'),
    ],
)
def test_t17a_entries_that_are_not_all_there_are_invalid(create, phase, expected, size, counted, sentence):
    point = create.point.changed(bytes_per_file=size)
    launched = create._replace(phase=phase, point=point, expected=expected, counted=launch.FileCount(*counted))
    faults = [(fault.rule, fault.effect) for fault in launch.launch_findings(launched)]
    assert faults == [('T17a', 'invalid')] * bool(sentence)
    assert not sentence or words_of(launched).startswith(sentence)


def test_t17a_files_of_an_ageing_have_one_of_its_sizes(create):
    old = create.point
    point = ageing(2001, sizes=(5, 700))._replace(label=old.label, tasks=old.tasks, tasks_per_node=old.tasks_per_node)
    filled = create._replace(point=point, phase='fill')
    assert broken(filled._replace(counted=launch.FileCount(1, 2000, {5: 1500, 700: 500}))) == []
    assert 'not one of 2 sizes' in words_of(filled._replace(counted=launch.FileCount(1, 2000, {5: 1999, 6: 1})))


# T19a: the clock


@pytest.mark.parametrize(
    ('ticks', 'rules'), [(launch.QUANTA - 1, ['T19a']), (launch.QUANTA, []), (launch.QUANTA + 1, [])]
)
def test_t19a_a_phase_is_a_hundred_ticks_of_its_clock(create, ticks, rules):
    seconds = ticks * CLOCK_S
    assert broken(rated(create, seconds=seconds, task_seconds=(seconds,))) == rules


def test_t19a_any_of_the_phases_of_a_launch_can_be_too_short(create):
    (made,) = create.measurement.metrics
    short = made._replace(name='directory_create', seconds=0.01, task_seconds=())
    both = changed(create, metrics=(made, short))
    assert 'directory_create took 0.0100 s, timed with a resolution of 0.001 s' in words_of(both)


# T20: work, not waiting


@pytest.mark.parametrize(('share', 'rules'), [(launch.MAX_IDLE - 0.001, []), (launch.MAX_IDLE + 0.001, ['T20'])])
def test_t20_a_tenth_of_the_time_may_be_waiting_and_no_more(create, share, rules):
    slowest = SECONDS * (1 - share)
    assert broken(rated(create, task_seconds=(slowest / 2, slowest))) == rules


@pytest.fixture(params=['smoke', 'operations'])
def lenient(request, create):
    """Where a phase may be short: in a smoke test, and where each operation is timed by itself."""
    if request.param == 'operations':
        return create._replace(point=posix_operations(1000, 0)._replace(tasks=2), phase='fileop')
    fixed = StoppingRule(0.1, minimum=4, maximum=4, extra=0, fixed=True)
    return create._replace(plan=create.plan._replace(stopping=fixed))


def test_t20a_what_may_be_short_is_labelled_and_valid(lenient):
    short = rated(lenient, seconds=0.01, task_seconds=(0.01,))
    waiting = rated(lenient, task_seconds=(0.2, 0.5))
    assert broken(lenient) == []
    assert broken(short) == broken(waiting) == ['T20a'] and RULES['T20a'].effect == 'label'
    assert words_of(short).startswith('file_create took 0.0100 s, timed with a resolution of 0.001 s; ')
    assert words_of(waiting).startswith('file_create: phase too short (2 s): 75 % idle; ')


def test_t26_a_guarantee_that_calls_break_while_they_are_timed_is_labelled_with_what_was_seen(create):
    lost = changed(create, facts=(Fact('appends_whole', False, '3 of 20 records were lost or cut'),))
    assert broken(lost) == ['T26'] and RULES['T26'].effect == 'label'
    assert words_of(lost).startswith('appends_whole does not hold: 3 of 20 records were lost or cut')
    for holds in (True, None):
        assert broken(changed(create, facts=(Fact('appends_whole', holds, ''),))) == []


LOCAL = 'a client keeps locks to itself'


@pytest.mark.parametrize(
    ('name', 'holds', 'local', 'rules'),
    [
        ('flock', True, LOCAL, ['P25']),
        ('fcntl_lock', True, LOCAL, ['P25']),
        ('flock', False, LOCAL, []),  # nor is this T26's, where guarantees are all that is asked for
        ('chmod', True, LOCAL, []),
        ('flock', True, '', []),
    ],
)
def test_p25_a_lock_that_holds_where_clients_keep_locks_to_themselves_is_a_label(create, name, holds, local, rules):
    asked = create._replace(point=posix_semantics(2)._replace(tasks=2), phase='probe', expected=None, counted=None)
    launched = changed(asked, metrics=(), facts=(Fact(name, holds, ''),))._replace(local_locks=local)
    assert broken(launched) == rules
