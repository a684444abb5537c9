"""Rules after each launch of metadata: are the entries there, was it work, and from whose memory was it answered?"""

import pytest

from seatrial.model.metric import Fact, Measurement, rate
from seatrial.model.plan import StoppingRule
from seatrial.rules.launch import MAX_IDLE, QUANTA, FileCount, Launched, cache_state, launch_findings
from seatrial.rules.registry import RULES
from seatrial.workload.ageing import ageing
from seatrial.workload.base import Entries
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.semantics import posix_semantics

CLOCK_S = 1e-3
SECONDS = 2.0
THERE = Entries(1, 2000, 0)


@pytest.fixture
def create(tree_plan):
    made = rate('file_create', 2000, SECONDS, '1000.0', (1.9, SECONDS))
    measurement = Measurement((made,), 2, ('node1',), CLOCK_S)
    launched = Launched(tree_plan, tree_plan.points[0], 'create', measurement)
    return launched._replace(expected=THERE, counted=FileCount(1, 2000, {0: 2000}))


@pytest.fixture
def stat(create):
    """Statted at the servers: this node has forgotten what it made."""
    return create._replace(phase='stat', counted=create.counted._replace(sizes=None), emptied=True)


def broken(launched):
    return [each.rule for each in launch_findings(launched)]


def said(launched):
    (found,) = launch_findings(launched)
    return found.sentence


def measured(launched, **fields):
    return launched._replace(measurement=launched.measurement._replace(**fields))


def rated(launched, **fields):
    (metric,) = launched.measurement.metrics
    return measured(launched, metrics=(metric._replace(**fields),))


def test_a_good_creation_and_a_cold_stat_break_no_rule(create, stat):
    assert broken(create) == broken(stat) == []
    assert broken(create._replace(expected=None, counted=None)) == [], 'it was not counted'
    assert broken(create._replace(counted=FileCount(1, 2000, None))) == [], 'sizes were not asked for'
    assert broken(measured(create, metrics=(), facts=(Fact('f', True, 'so'),))) == [], 'it times nothing'
    assert broken(rated(create, task_seconds=())) == [], 'its engine does not tell the times of tasks'


def test_the_rules_of_every_launch_are_those_of_metadata_too(create):
    assert broken(measured(create, world_size=1)) == ['T9']
    assert broken(measured(create, hosts=('a', 'b'))) == ['T10']
    assert broken(rated(create, seconds=0.0, task_seconds=())) == ['T12']


# T4: where names and attributes come from


@pytest.mark.parametrize(
    ('point', 'phase'),
    [(None, 'create'), (None, 'remove'), (posix_operations(10, 0), 'fileop'), (posix_semantics(), 'probe')],
)
def test_what_looks_nothing_up_has_no_cache_state(create, point, phase):
    assert cache_state(create._replace(point=point or create.point, phase=phase)) == ''


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
    assert cache_state(asked._replace(emptied=emptied, kept=kept, elsewhere=elsewhere)) == expected


def test_t4_a_cached_stat_is_labelled_and_valid(stat):
    cached = stat._replace(emptied=False)
    assert broken(cached) == ['T4'] and RULES['T4'].effect == 'label'
    assert said(cached).startswith('labelled cached: the node that asks has made the entries')


def test_t4_what_keeps_names_all_the_same_is_said(stat):
    kept = stat._replace(kept='files in the cache on a local disk')
    assert broken(kept) == ['T4']
    assert said(kept).startswith('labelled unknown: files in the cache on a local disk; ')


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
    assert said(stat._replace(plan=plan, emptied=False, kept=kept)) == f'{made}; use more nodes, 4 are always enough'


def test_t4a_an_engine_that_looks_names_up_first_is_what_is_to_be_replaced(stat):
    warmed = stat._replace(warmed='fio looks every name up before its clock starts')
    assert cache_state(warmed) == 'unknown'
    assert broken(warmed) == ['T4a'] and RULES['T4a'].effect == 'label'
    assert said(warmed) == 'labelled unknown: fio looks every name up before its clock starts; use mdtest or posixops'


def test_t4_without_drop_caches_the_engine_is_not_the_first_to_be_replaced(stat):
    assert broken(stat._replace(emptied=False, warmed='fio looks every name up')) == ['T4']


# T17a: the entries


@pytest.mark.parametrize(
    ('counted', 'sentence'),
    [
        (FileCount(1, 1999, {0: 1999}), 'after create there are 1999 files, not 2000'),
        (FileCount(1, 2001, {0: 2001}), 'after create there are 2001 files, not 2000'),
        (FileCount(2, 2000, {0: 2000}), 'after create there are 2 directories, not 1'),
        (FileCount(0, 2000, {0: 2000}), 'after create there are 0 directories, not 1'),
        (FileCount(1, 2000, {0: 1998, 7: 2}), 'after create 2 files have 7 B, not 0 B'),
    ],
)
def test_t17a_entries_that_are_not_all_there_are_invalid(create, counted, sentence):
    assert broken(create._replace(counted=counted)) == ['T17a'] and RULES['T17a'].effect == 'invalid'
    assert said(create._replace(counted=counted)).startswith(sentence)


def test_t17a_empty_directories_count_with_those_of_the_tree(create):
    both = create._replace(expected=Entries(1, 2000, 40))
    assert broken(both) == ['T17a']
    assert broken(both._replace(counted=FileCount(41, 2000, {0: 2000}))) == []
    filled = create._replace(point=create.point._replace(bytes_per_file=3901))
    assert broken(filled) == ['T17a']
    assert broken(filled._replace(counted=FileCount(1, 2000, {3901: 2000}))) == []


def test_t17a_files_of_an_ageing_have_one_of_its_sizes(create):
    own = create.point
    point = ageing(2001, sizes=(5, 700))._replace(label=own.label, tasks=own.tasks, tasks_per_node=own.tasks_per_node)
    filled = create._replace(point=point, phase='fill')
    assert broken(filled._replace(counted=FileCount(1, 2000, {5: 1500, 700: 500}))) == []
    assert 'not one of 2 sizes' in said(filled._replace(counted=FileCount(1, 2000, {5: 1999, 6: 1})))


def test_t17a_nothing_is_left_after_a_removal(create):
    removed = create._replace(phase='remove', expected=Entries(0, 0, 0))
    assert broken(removed._replace(counted=FileCount(0, 0, None))) == []
    assert broken(removed._replace(counted=FileCount(0, 1, None))) == ['T17a']
    assert broken(removed._replace(counted=FileCount(1, 0, None))) == ['T17a']


# T19a: the clock


@pytest.mark.parametrize(('ticks', 'rules'), [(QUANTA - 1, ['T19a']), (QUANTA, []), (QUANTA + 1, [])])
def test_t19a_a_phase_is_a_hundred_ticks_of_its_clock(create, ticks, rules):
    seconds = ticks * CLOCK_S
    assert broken(rated(create, seconds=seconds, task_seconds=(seconds,))) == rules


def test_t19a_any_of_the_phases_of_a_launch_can_be_too_short(create):
    (made,) = create.measurement.metrics
    short = made._replace(name='directory_create', seconds=0.01, task_seconds=())
    both = measured(create, metrics=(made, short))
    assert 'directory_create took 0.0100 s by a clock that counts 0.001 s' in said(both)


# T20: work, not waiting


@pytest.mark.parametrize(('share', 'rules'), [(MAX_IDLE - 0.001, []), (MAX_IDLE + 0.001, ['T20'])])
def test_t20_a_tenth_of_the_time_may_be_waiting_and_no_more(create, share, rules):
    slowest = SECONDS * (1 - share)
    assert broken(rated(create, task_seconds=(slowest / 2, slowest))) == rules


def test_t20_the_wait_is_said_with_its_metric(create):
    waiting = rated(create, task_seconds=(0.2, 0.5))
    assert said(waiting).startswith('file_create: phase too short (2 s): 75 % idle; ')


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
    assert said(short).startswith('file_create took 0.0100 s by a clock that counts 0.001 s; ')
    assert said(waiting).startswith('file_create: phase too short (2 s): 75 % idle; ')


def test_t26_a_guarantee_that_calls_break_while_they_are_timed_is_labelled_with_what_was_seen(create):
    lost = measured(create, facts=(Fact('appends_whole', False, '3 of 20 records were lost or cut'),))
    assert broken(lost) == ['T26'] and RULES['T26'].effect == 'label'
    assert said(lost).startswith('appends_whole does not hold: 3 of 20 records were lost or cut')
    for holds in (True, None):
        assert broken(measured(create, facts=(Fact('appends_whole', holds, ''),))) == []


def test_t26_where_guarantees_are_all_that_is_asked_for_they_are_no_label(create):
    asked = create._replace(point=posix_semantics(2)._replace(tasks=2), phase='probe', expected=None, counted=None)
    assert broken(measured(asked, metrics=(), facts=(Fact('flock', False, 'no'),))) == []
