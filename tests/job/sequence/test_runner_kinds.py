"""The runner with metadata and random I/O: its launches, the number of files that it determines, and its record."""

import os
import shutil

import pytest

from builders import ONCE
from seatrial.engine.base import Command
from seatrial.engine.base import Engine as AnyEngine
from seatrial.engine.posixops.semantics import GUARANTEES
from seatrial.engine.registry import Choice
from seatrial.filesystem import posix
from seatrial.filesystem.base import Cold
from seatrial.filesystem.posix import Posix
from seatrial.job.directory import rundir
from seatrial.job.sequence import start, survey
from seatrial.judge.verdict import Verdict
from seatrial.model.metric import Measurement, rate
from seatrial.model.plan import Sizing, StoppingRule
from seatrial.model.units import MIB
from seatrial.workload.base import Entries
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.random import random_access
from seatrial.workload.registry import planned_metrics
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import PHASES as ALL_PHASES
from seatrial.workload.tree import levels_total, metadata_tree

pytestmark = pytest.mark.slow

PHASES = ('create', 'stat', 'remove')
FLAT = metadata_tree(PHASES, files_per_directory=20, scales=True)
DEEP = metadata_tree(PHASES, 2, 3, files_per_directory=2, subtrees='private')
EMPTY, FULL = ('empty', {}), ('full', {'bytes_per_file': 4096})
ONE, TWO = Sweep('tree', (EMPTY,)), Sweep('tree', (EMPTY, FULL))
PAIR = Sweep('tasks', (2,))
CASES = {
    'tree': (FLAT._replace(phases=ALL_PHASES), Sweep('tree', (FULL,))),
    'levels': (DEEP, Sweep('tree', (('deep', {}),))),
    'operations': (posix_operations(20, 4096), PAIR),
    'listing': (listing(20), Sweep('entries', (20,))),
    'semantics': (posix_semantics(), PAIR),
}
RATE = 1000.0  # entries a second of all tasks together
UNTIL_SHORT = StoppingRule(0.10, minimum=2, maximum=4, extra=1, budget_s=600.0)


class Engine(AnyEngine):
    """An engine with the rate RATE, whose tasks wait for each other for a share of the time."""

    name = 'posixops'

    def __init__(self, waiting=0.0):
        self.waiting = waiting

    def parse_version(self, text):
        return '1'

    def command(self, program, phase, point, raw, seed):
        self.stage = os.path.basename(raw).split('-')[1]
        return Command('node', ((program,),), {}, ())

    def entries(self, point, phase):
        return Entries(0, 0, 0)

    def measure(self, phase, point, command, outcome):
        number = levels_total(point, point.tasks).files
        task_seconds = (number / RATE * (1 - self.waiting),) * point.tasks
        made = rate(f'file_{phase}', number, number / RATE, '', task_seconds)
        return Measurement((made,), point.tasks, ('node1',), 1e-9)


@pytest.fixture
def stand_in(monkeypatch):
    """Lets this engine measure, whichever programs are installed."""

    def choose(engine):
        monkeypatch.setattr(survey, 'choose', lambda *unused: Choice(engine, shutil.which('true'), ()))
        return engine

    return choose


def launched(ran):
    return [(sample.stage, sample.phase) for sample in ran.records.samples]


def shares(ran, stage):
    """The files of a task in each launch of a stage."""
    points = [sample.point for sample in ran.records.samples if sample.stage == stage]
    return [point.tree.files_per_directory or point.tree.empties_per_directory for point in points]


def test_directories_that_are_listed_are_made_once_and_never_measured(lab):
    ran = lab.run(lab.plan_of_metadata(listing(20), Sweep('entries', (20, 40))))
    before = [('prepare', 'create'), ('warmup', 'list'), *2 * [('prepare', 'create')]]
    assert launched(ran) == [*before, *4 * [('measured', 'list')]]
    assert ran.result.verdict is Verdict.MEASURED


@pytest.mark.parametrize('kind', CASES)
def test_every_metric_of_a_kind_is_measured_and_nothing_is_left_or_touched(lab, kind):
    before = lab.surroundings()
    ran = lab.run(lab.plan_of_metadata(*CASES[kind], stopping=ONCE))
    assert ran.result.verdict is Verdict.MEASURED and set(ran.counts) == set(planned_metrics(ran.plan))
    counts = {metric.operations for sample in ran.measured for metric in sample.measurement.metrics}
    assert kind != 'levels' or (counts, ran.records.sized.per_task) == ({2 * 13 * 2}, 0)
    assert kind != 'operations' or all(len(metric.percentiles_s) == 3 for metric in ran.result.metrics)
    guarantees = [guarantee.name for guarantee in GUARANTEES] if kind == 'semantics' else []
    assert [fact.name for fact in ran.result.facts] == guarantees
    for name in ('data', 'warmup'):
        assert os.listdir(os.path.join(ran.records.start.run_directory, name)) == []
    assert lab.surroundings() == before


def test_a_file_of_somebody_else_makes_the_case_invalid_and_stays(lab, stand_in):
    class Untidy(Engine):
        def measure(self, phase, point, command, outcome):
            if self.stage == 'measured':
                with open(os.path.join(self.data, 'foreign'), 'w'):
                    pass
            return super().measure(phase, point, command, outcome)

    engine = stand_in(Untidy())
    plan = lab.plan_of_metadata(FLAT, ONE, files=20)
    engine.data = os.path.join(rundir.path_of(str(lab.target), plan.session, plan.case.name), 'data')
    ran = lab.run(plan)
    assert ran.result.verdict is Verdict.INVALID
    assert 'T17a: after create there are 1 files, not 0' in ran.result.reasons[0]
    left = 'data/foreign: the session did not make it'
    assert (ran.end.reason, ran.end.why.endswith(f'; left: {left}')) == ('refused', True), ran.end.why
    removal = rundir.remove(ran.records.start.run_directory, plan.session)
    assert removal.left == (left,)
    assert os.listdir(engine.data) == ['foreign']


SIZING = Sizing(100, 1, target_s=2.0, min_s=0.5)


def test_the_warm_up_adds_files_until_a_phase_lasts_for_the_target_time(lab, stand_in):
    stand_in(Engine())
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, sizing=SIZING))
    assert shares(ran, 'warmup') == 3 * [100] + 3 * [1000], 'two tasks with 1000 each at 1000 a second take 2 s'
    assert set(shares(ran, 'measured')) == {1000}
    assert ran.records.sized.reason == '1000 files a task took 2.00 s; 2 s are meant'


def test_a_phase_in_which_tasks_waited_does_not_end_the_warm_up(lab, stand_in):
    stand_in(Engine(waiting=0.5))
    plan = lab.plan_of_metadata(FLAT, ONE, files=20, stopping=UNTIL_SHORT)
    ran = lab.run(plan)
    warm = [sample for sample in ran.records.samples if sample.stage == 'warmup']
    assert len(warm) == 3 and all(sample.valid for sample in warm)
    assert ran.end.reason == 'finished'
    assert ran.result.reasons[0].startswith('file_create@empty: INVALID: T20: file_create: phase too short')


class Cleared(Posix):
    """A file system that reports this node's caches as emptied, and empties nothing."""

    def cold(self, path):
        return Cold('by a word')

    def empty_client_cache(self, path, deadline_s=0.0):
        return None

    def behaviour(self, path):
        return super().behaviour(path)._replace(below='')


@pytest.mark.parametrize(('allowed', 'cache'), [(True, 'cold'), (False, 'cached')])
def test_a_stat_is_cold_only_where_the_site_lets_caches_be_emptied(lab, stand_in, monkeypatch, allowed, cache):
    stand_in(Engine())
    monkeypatch.setattr(start, 'by_type', lambda name: Cleared())
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, files=20, target={'drop_caches': allowed}))
    assert {sample.phase: sample.cache for sample in ran.measured} == {'create': '', 'stat': cache, 'remove': ''}
    monkeypatch.setattr(Cleared, 'cold', lambda self, path: Cold('', 'only root may empty them'))
    shut = lab.run(lab.plan_of_metadata(FLAT, TWO, files=20, check='Shut', target={'drop_caches': allowed}))
    (label,) = [label for label in shut.result.labels if label.startswith('T4')]
    assert ('only root may empty them' in label) is allowed


def test_the_time_limit_of_a_launch_includes_its_pauses(lab, stand_in, before_launch):
    limits = []
    before_launch(lambda *arguments: limits.append(arguments[-2]))
    for check, pauses_s in (('A', ()), ('B', (500.0, 1000.0))):
        stand_in(Engine())
        lab.run(lab.plan_of_metadata(listing(20, pauses_s), Sweep('entries', (20,)), check=check))
    first, with_pauses = limits[0], limits[len(limits) // 2]
    assert with_pauses == first + 1500.0


# Random I/O: its files are written once and read in full

DEPTHS = Sweep('queue_depth', (1, 4))


def random_plan(lab, fio, phases=('randread',), duration_s=0.05, **how):
    workload = random_access(phases, 2 * MIB, duration_s=duration_s, **how)
    return lab.plan(fio, workload=workload, sweep=DEPTHS, size=MIB)


@pytest.mark.usefixtures('short_launches')
class TestARun:
    def test_its_files_are_written_before_the_warm_up_and_before_all_points_and_never_again(self, lab, stub_fio):
        ran = lab.run(random_plan(lab, stub_fio(), ('randread', 'randwrite')))
        once, points, repetitions = ['randread', 'randwrite'], 2, 2
        assert launched(ran) == [
            ('prepare', 'write'),
            *(('warmup', phase) for phase in once),
            ('prepare', 'write'),
            *(('measured', phase) for phase in once * points * repetitions),
        ]
        assert ran.result.verdict is Verdict.MEASURED

    def test_its_preparation_has_no_metric_and_its_points_have_all_of_theirs(self, lab, stub_fio):
        ran = lab.run(random_plan(lab, stub_fio(), ('randrw',), read_share=0.7))
        ways = [f'randrw_{way}{suffix}' for way in ('read', 'write') for suffix in ('', '_iops', '_latency', '_p99')]
        assert set(ran.counts) > {f'{metric}@{label}' for metric in ways for label in ('qd1', 'qd4')}
        assert set(ran.counts.values()) == {2}

    @pytest.mark.parametrize(('direct', 'cache'), [(True, {'cold'}), (False, {'cached', 'unknown'})])
    def test_only_direct_reads_are_cold(self, lab, stub_fio, monkeypatch, direct, cache):
        """P2: the stand-in reads data that this node has just written."""
        monkeypatch.setattr(posix, 'below_device', lambda place: '')
        plan = random_plan(lab, stub_fio(), direct=direct)
        ran = lab.run(plan._replace(points=plan.points[:1]))
        assert ran.measured and {sample.cache for sample in ran.measured} <= cache

    def test_sparse_files_are_never_read(self, lab, stub_fio):
        """T22: random reads over sparse files are answered without the storage."""
        ran = lab.run(random_plan(lab, stub_fio(('prepare-write', {'fault': 'zeros'}))))
        assert launched(ran) == [('prepare', 'write')]
        assert (ran.end.reason, 'T22: ' in ran.end.why, ran.result.verdict) == ('refused', True, Verdict.INCOMPLETE)

    def test_a_file_that_has_lost_a_byte_makes_its_launch_invalid_and_later_ones_are_not_made(self, lab, stub_fio):
        """T17: fio would remove the file."""
        fio = stub_fio(('measured-randread@qd1', {'fault': 'cut-file'}))
        ran = lab.run(random_plan(lab, fio))
        after = next(sample for sample in ran.measured if sample.point.label == 'qd1')
        (invalid,) = [finding for finding in after.findings if finding.effect == 'invalid']
        assert 'after the randread data.00000001 has 1048575 B, not 1048576 B' in invalid.sentence
        assert invalid.rule == 'T17'
        for sample in ran.measured[ran.measured.index(after) + 1 :]:
            assert (sample.measurement, sample.findings[0].rule) == (None, 'T17')
            assert sample.findings[0].sentence.startswith('before the randread ')
        assert ran.result.verdict is Verdict.INVALID
