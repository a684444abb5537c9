"""The evidence of a launch on its node: counts of entries, emptied caches, and cold or cached reads and stats."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders import FLAT, MFWA, SIZES, moved, plan_of
from seatrial.engine.base import Command, Engine, EngineError
from seatrial.engine.fio.access import Fio
from seatrial.engine.ior import Ior
from seatrial.filesystem.base import Behaviour, Cold, Exchanged
from seatrial.filesystem.posix import Posix
from seatrial.job.sequence import evidence
from seatrial.job.sequence.clients import Clients
from seatrial.job.sequence.evidence import Evidence, Setup
from seatrial.model.metric import Measurement, TaskTime, bandwidth, rate
from seatrial.workload.access import data_access
from seatrial.workload.base import Entries, Launch
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.registry import kind_of
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import PHASES

TREE = FLAT.changed(files_per_directory=3, bytes_per_file=5, scales=False)
LISTING = listing(6)
OPERATIONS, SEMANTICS = posix_operations(3, 5), posix_semantics()
ONE = {'access': SIZES, 'listing': Sweep('entries', (6,))}
NOTHING = Command('node', (('true',),), {}, ())


class Driver(Posix):
    """A file system whose caches can be emptied; it notes the paths, and returns the fault."""

    def __init__(self, fault=None):
        self.fault, self.emptied = fault, []

    def cold(self, path):
        return Cold('by a word')

    def empty_client_cache(self, path, deadline_s=0.0):
        self.emptied.append(path)
        return self.fault


def evidence_of(run, plan, phase='read', point=None, named=(), **setup):
    """The evidence of a launch of this point, or of the plan's first point."""
    usual = {'engine': Engine(), 'driver': Driver(), 'behaviour': Behaviour(), 'cold': False, 'kept': ''}
    return Evidence(
        Setup(plan=plan, run=run, **{**usual, **setup}), Launch(phase, point or plan.points[0]), 'data', named
    )


class Watched:
    """The evidence of one launch, with the run, driver and counts that it is taken from."""

    def __init__(self, run, workload, phase, sweep=None, nodes=1, driver=None, **setup):
        plan = plan_of(workload, sweep or ONE.get(workload.kind, Sweep('tree', (('one', {}),))))
        tasks = workload.tasks or 2 * nodes
        self.point = plan.points[0]._replace(nodes=nodes, tasks=tasks, tasks_per_node=tasks // nodes)
        self.run, self.driver, self.counts = run, driver or Driver(), []
        counted = SimpleNamespace(path_of=run.path_of, open=run.open, file_count=self._file_count)
        self.of = evidence_of(counted, plan, phase, self.point, driver=self.driver, **setup)

    def _file_count(self, name, with_sizes):
        self.counts.append(with_sizes)
        return self.run.file_count(name, with_sizes)

    def seen(self, command=NOTHING):
        """The evidence after a launch in which everything but the entries is in order."""
        self.of.make_ready(command)
        made = rate('file_create', 6, 2.0, '3.000')
        hosts = tuple(f'node{number}' for number in range(self.point.nodes))
        return self.of.seen(Measurement((made,), self.point.tasks, hosts, 1e-9), 0, 0.0, 0.0, ())


@pytest.fixture
def watch(run):
    return lambda *arguments, **changes: Watched(run, *arguments, **changes)


def fill(run, files=6, size=5):
    """Make the entries of two tasks: one directory with their files."""
    run.make('data/tree')
    for number in range(files):
        Path(run.path_of('data'), 'tree', str(number)).write_bytes(bytes(size))


def lay(run, point):
    """Make the files of a point in full, for a read."""
    for file in kind_of(point.kind).files(point):
        with open(os.path.join(run.path_of('data'), file.name), 'wb') as stream:
            stream.truncate(file.size)


def rules(seen):
    return [finding.rule for finding in seen.findings if finding.effect != 'label']


def test_a_write_is_refused_where_files_exist_and_a_read_where_files_are_missing(run):
    with pytest.raises(EngineError, match='T17: before the read 2 of 2 files are missing'):
        evidence_of(run, plan_of()).make_ready(NOTHING)
    evidence_of(run, plan_of(), 'write').make_ready(NOTHING)
    for name in ('data.00000001', 'data.00000000'):
        Path(run.path_of('data'), name).touch()
    with pytest.raises(EngineError, match=r'T17: before the write 2 files are there already \(data.00000000\)'):
        evidence_of(run, plan_of(), 'write').make_ready(NOTHING)


@pytest.mark.parametrize(('forgets', 'cold', 'emptied'), [(False, True, 1), (False, False, 0), (True, True, 0)])
def test_before_a_read_a_nodes_caches_are_emptied_where_that_is_allowed_and_needed(run, forgets, cold, emptied):
    driver, plan = Driver(), plan_of(READS)
    lay(run, plan.points[0])
    evidence_of(run, plan, driver=driver, cold=cold, forgets=forgets).make_ready(NOTHING)
    assert driver.emptied == emptied * [run.path_of('data')]


# Data in the memory of one of several nodes


READS = data_access('single', operations=('read',), bytes_per_task='64MiB')


@pytest.fixture
def read(run, monkeypatch):
    """The evidence of a read on two nodes, and the requests to them; share: of the bytes, as clients count."""

    def launched(workload, engine, fault=None, hosts=('n1', 'n1', 'n2', 'n2'), nodes=2, named=(), share=None):
        asked = []

        def answer(*arguments):
            asked.append(arguments)
            return Clients(fault, None if share is None else int((len(asked) - 1) * share * point.bytes_moved))

        monkeypatch.setattr(evidence, 'clients', answer)
        driver = Driver()
        driver.exchanged = lambda path: Exchanged(None if share is None else 0)
        plan = plan_of(workload)
        point = plan.points[0]._replace(nodes=nodes, tasks=4, tasks_per_node=4 // nodes)
        lay(run, point)
        behaviour = Behaviour(reads_are_counted=share is None)
        of = evidence_of(run, plan, 'read', point, named, engine=engine, driver=driver, behaviour=behaviour)
        of.make_ready(NOTHING)
        tasks = tuple(TaskTime(rank, host, point.data.bytes_per_task, 0.0, 2.0) for rank, host in enumerate(hosts))
        metric = bandwidth('read', point.bytes_moved, 2.0, '')
        measurement = Measurement((metric,), 4, ('n1', 'n2'), bytes_moved=point.bytes_moved, tasks=tasks)
        return of.seen(measurement, 0, 0.0, 0.0, ()), asked

    return launched


ENGINES = pytest.mark.parametrize('engine', [Ior(), Fio()], ids=['ior', 'fio'])


@ENGINES
def test_files_that_were_made_once_are_forgotten_on_all_nodes_before_every_read(read, run, engine):
    seen, asked = read(READS, engine)
    assert [(plan.case.check, *rest) for plan, *rest in asked] == [('Check', run.path_of('data'), True, ())]
    assert seen.cache == 'unknown'
    seen, _ = read(READS, engine, 'n2: data: Permission denied')
    (sentence,) = [finding.sentence for finding in seen.findings if finding.rule == 'P2']
    assert seen.cache == 'cached' and 'n2: data: Permission denied; ' in sentence


def test_where_one_node_is_named_that_node_forgets(read):
    _, asked = read(MFWA, Ior(), nodes=1, named=('n2',), hosts=('n2',) * 4)
    assert [named for *_, named in asked] == [('n2',)]


@ENGINES
def test_data_that_another_node_has_just_written_need_not_be_forgotten(read, engine):
    seen, asked = read(MFWA, engine)
    assert (seen.cache, asked) == ('unknown', [])


@pytest.mark.parametrize(
    ('workload', 'forget', 'share', 'state'),
    [
        (MFWA, False, 1.0, 'cold'),
        (MFWA, False, 0.0, 'cached'),
        (READS, True, 1.0, 'cold'),
        (READS, True, 0.0, 'cached'),
    ],
)
def test_the_counters_of_all_clients_show_the_source_of_a_read(read, workload, forget, share, state):
    seen, asked = read(workload, Ior(), share=share)
    assert seen.cache == state
    assert [question[2] for question in asked] == [forget, False]


def test_counters_that_contradict_themselves_make_a_read_unknown_with_the_reason(run):
    driver, plan = Driver(), plan_of(READS)
    driver.exchanged = lambda path: Exchanged(contradiction=f'those of {path} contradict themselves')
    lay(run, plan.points[0])
    of = evidence_of(run, plan, driver=driver)
    of.make_ready(NOTHING)
    seen = of.seen(moved(plan.points[0], 1e8, 'read'), 0, 0.0, 0.0, ())
    assert (seen.cache, seen.storage_read_bytes) == ('unknown', None)
    (sentence,) = [finding.sentence for finding in seen.findings if finding.rule == 'T3']
    assert 'whether the bytes came from storage: those of /scratch contradict themselves; ' in sentence


def test_tasks_that_are_placed_round_robin_read_data_of_their_node_and_are_labelled(read):
    seen, _ = read(MFWA, Fio(), hosts=('n1.site', 'n2.site', 'n1.site', 'n2.site'))
    assert seen.cache == 'cached'
    (label,) = [finding for finding in seen.findings if finding.rule == 'P2']
    assert 'task 0 read on n1 what was written there; have the launcher fill node after node' in label.sentence


@pytest.mark.parametrize(
    ('files', 'size', 'broken'), [(6, 5, []), (5, 5, ['T17a']), (7, 5, ['T17a']), (6, 4, ['T17a'])]
)
def test_missing_surplus_and_short_files_break_t17a(run, watch, files, size, broken):
    fill(run, files, size)
    assert rules(watch(TREE, 'create').seen()) == broken


def test_an_engine_declares_the_entries_that_it_leaves_beside_the_plan(run, watch):
    fill(run)
    run.make('data/more')
    assert rules(watch(TREE, 'create').seen()) == ['T17a']
    engine = Engine()
    engine.entries = lambda point, phase: Entries(2, 6, 0)
    assert rules(watch(TREE, 'create', engine=engine).seen()) == []


def test_operations_and_guarantees_must_leave_no_entry(run, watch):
    workloads = (OPERATIONS, SEMANTICS)
    assert [rules(watch(workload, workload.phases[0]).seen()) for workload in workloads] == [[], []]
    fill(run)
    assert [rules(watch(workload, workload.phases[0]).seen()) for workload in workloads] == [['T17a'], ['T17a']]


@pytest.mark.parametrize('phase', PHASES)
def test_one_node_counts_after_every_phase_and_asks_for_sizes_after_creation(watch, phase):
    watched = watch(TREE, phase)
    watched.seen()
    assert watched.counts == [phase == 'create']


@pytest.mark.parametrize(
    ('phases', 'counted'),
    [
        (PHASES, ['read', 'remove']),
        (('create', 'stat', 'remove'), ['stat', 'remove']),
        (('create', 'remove'), ['create', 'remove']),
    ],
)
def test_several_nodes_count_only_from_the_last_phase_that_asks_so_that_caches_stay_cold(watch, phases, counted):
    counted_in = []
    for phase in phases:
        watched = watch(TREE._replace(phases=phases), phase, nodes=2)
        watched.seen()
        counted_in += [phase] * len(watched.counts)
        assert True not in watched.counts, 'sizes are attributes'
    assert counted_in == counted


def test_one_directory_to_list_is_counted_after_its_making_and_several_are_not(watch):
    counts = {}
    for entries in ((6,), (6, 12)):
        for phase in ('create', 'list'):
            watched = watch(LISTING, phase, Sweep('entries', entries))
            watched.seen()
            counts[len(entries), phase] = len(watched.counts)
    assert counts == {(1, 'create'): 1, (1, 'list'): 0, (2, 'create'): 0, (2, 'list'): 0}


def test_directories_that_an_engine_wants_are_made_for_the_owner_alone(run, watch):
    watch(TREE, 'create').of.make_ready(NOTHING._replace(directories=('tree', 'tree/0')))
    for name in ('tree', 'tree/0'):
        assert stat.S_IMODE(os.stat(run.path_of(f'data/{name}')).st_mode) == 0o700


@pytest.mark.parametrize(
    ('workload', 'phase', 'asks'),
    [
        *((workload, phase, True) for workload, phase in ((TREE, 'stat'), (TREE, 'read'), (LISTING, 'list'))),
        *((workload, phase, False) for workload, phase in ((TREE, 'create'), (TREE, 'remove'), (LISTING, 'create'))),
        *((workload, workload.phases[0], False) for workload in (OPERATIONS, SEMANTICS)),
    ],
)
def test_caches_are_emptied_before_phases_that_ask_and_before_no_other(run, watch, workload, phase, asks):
    watched = watch(workload, phase, cold=True)
    assert watched.seen().cache == ('cold' if asks else '')
    assert watched.driver.emptied == [run.path_of('data')] * asks


def test_if_caches_could_not_be_emptied_a_stat_is_cached_and_labelled_with_the_reason(watch):
    seen = watch(TREE, 'stat', cold=True, driver=Driver('sync did not end in time')).seen()
    assert seen.cache == 'cached'
    (sentence,) = [finding.sentence for finding in seen.findings if finding.rule == 'T4']
    assert 'sync did not end in time' in sentence


@pytest.mark.parametrize(('fault', 'cache'), [(None, 'cold'), ('n2: drop_caches failed', 'cached')])
def test_a_stat_of_several_nodes_is_cold_if_all_of_them_emptied_their_caches(watch, monkeypatch, fault, cache):
    asked = []
    monkeypatch.setattr(evidence, 'clients', lambda *words: (asked.append(words[2:]), Clients(fault, None))[1])
    watched = watch(TREE, 'stat', nodes=2, cold=True)
    assert (watched.seen().cache, asked, watched.driver.emptied) == (cache, [(True, ())], [])


@pytest.mark.parametrize(
    ('counted', 'host', 'broken'),
    [
        ((1000, 1000 + 64), '', True),
        ((1000, 1000 + 2**27), '', False),
        ((1000, 64), '', False),
        ((None, 64), '', False),
        ((1000, None), '', False),
        ((1000, 1000 + 64), 'elsewhere', False),
    ],
)
def test_the_bytes_that_left_the_node_during_a_write_are_compared_with_the_claimed_bytes(run, counted, host, broken):
    plan, driver, counts = plan_of(), Driver(), iter(counted)
    driver.exchanged = lambda path: Exchanged(sent=next(counts))
    of = evidence_of(run, plan, 'write', driver=driver)
    of.make_ready(NOTHING)
    measurement = moved(plan.points[0], 1e8)._replace(hosts=(host or os.uname().nodename,))
    assert ('T25' in rules(of.seen(measurement, 0, 0.0, 0.0, ()))) == broken
