"""The runner with metadata: what is launched, how many files are found out, and what the record has of it.

Where figures must be exact, an engine stands in that is as fast as a test wants and touches nothing; elsewhere
posixops does the work.
"""

import os
import shutil

import pytest

from seatrial.engine.base import Command
from seatrial.engine.base import Engine as AnyEngine
from seatrial.engine.posixops.guarantees import GUARANTEES
from seatrial.engine.registry import Choice
from seatrial.filesystem.base import Cold
from seatrial.filesystem.posix import Posix
from seatrial.job.directory import rundir
from seatrial.job.sequence import sampling, start, survey
from seatrial.judge.verdict import Verdict
from seatrial.model.metric import Measurement, rate
from seatrial.model.plan import Limits, Sizing, StoppingRule
from seatrial.rules.before import peak
from seatrial.workload.base import Entries
from seatrial.workload.listing import listing
from seatrial.workload.operations import FILEOP, posix_operations
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
    'tree': (FLAT, TWO),
    'operations': (posix_operations(20, 4096), PAIR),
    'listing': (listing(20), Sweep('entries', (20,))),
    'semantics': (posix_semantics(), PAIR),
}
RATE = 1000.0  # entries a second of all tasks together
UNTIL_SHORT = StoppingRule(0.10, minimum=4, maximum=8, extra=2, budget_s=600.0)


class Engine(AnyEngine):
    """It works at RATE, times `faster` in some stage; `seconds` replaces the time of a phase, one after the other."""

    name = 'posixops'

    def __init__(self, faster=None, seconds=None, waiting=0.0):
        self.faster, self.seconds, self.waiting = faster or {}, seconds or {}, waiting
        self.launched = []

    def cannot(self, point):
        return None

    def version_argv(self, program):
        return [program]

    def parse_version(self, text):
        return '1'

    def command(self, program, phase, point, raw, seed):
        self.stage = os.path.basename(raw).split('-')[1]
        self.launched.append((self.stage, phase, point))
        return Command('node', ((program,),), {}, ())

    def entries(self, point, phase):
        return Entries(0, 0, 0)

    def measure(self, phase, point, command, outcome):
        number = levels_total(point, point.tasks).files
        seconds = number / RATE / self.faster.get(self.stage, 1.0)
        if self.stage == 'measured' and self.seconds.get(phase):
            seconds = self.seconds[phase].pop(0)
        task_seconds = (seconds * (1 - self.waiting),) * point.tasks
        made = rate(f'file_{phase}', number, seconds, '', task_seconds)
        return Measurement((made,), point.tasks, ('node1',), 1e-9)


@pytest.fixture
def stand_in(monkeypatch):
    """Let this engine measure, whatever is installed."""

    def choose(engine):
        monkeypatch.setattr(survey, 'choose', lambda *unused: Choice(engine, shutil.which('true'), ()))
        return engine

    return choose


def shares(ran, stage):
    """The files of a task in each launch of a stage."""
    points = [sample.point for sample in ran.records.samples if sample.stage == stage]
    return [point.tree.files_per_directory or point.tree.empties_per_directory for point in points]


# What is launched


def test_every_phase_of_every_tree_is_measured_as_often_as_the_plan_says(lab):
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, files=20))
    assert (ran.end.reason, ran.result.verdict, ran.result.reasons) == ('finished', Verdict.MEASURED, ())
    assert ran.counts == {f'file_{phase}@{label}': 2 for label in ('empty', 'full') for phase in PHASES}


def test_the_phases_of_a_repetition_follow_each_other_at_one_point(lab):
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, files=20))
    launched = [(sample.phase, sample.point.label) for sample in ran.measured]
    assert [phase for phase, _ in launched] == 4 * list(PHASES)
    assert all(len({point for _, point in launched[n : n + 3]}) == 1 for n in range(0, 12, 3))


def test_the_warm_up_is_of_the_smallest_tree(lab, stand_in):
    engine = stand_in(Engine())
    lab.run(lab.plan_of_metadata(FLAT, Sweep('tree', (FULL, EMPTY)), files=20))
    assert [(phase, point.label) for stage, phase, point in engine.launched if stage == 'warmup'] == [
        (phase, 'empty') for phase in PHASES
    ]


def test_files_that_have_bytes_can_be_read_too(lab):
    tree = FLAT._replace(phases=ALL_PHASES)
    ran = lab.run(lab.plan_of_metadata(tree, Sweep('tree', (FULL,)), files=20))
    assert (set(ran.counts), ran.result.verdict) == (
        {f'file_{phase}@full' for phase in ALL_PHASES},
        Verdict.MEASURED,
    )


def test_a_tree_of_levels_is_carried_out_as_it_is(lab):
    ran = lab.run(lab.plan_of_metadata(DEEP, Sweep('tree', (('deep', {}),))))
    assert ran.result.verdict is Verdict.MEASURED
    assert {metric.operations for sample in ran.measured for metric in sample.measurement.metrics} == {2 * 13 * 2}
    assert ran.records.sized.per_task == 0


def test_every_posix_operation_is_measured_in_one_launch(lab):
    ran = lab.run(lab.plan_of_metadata(*CASES['operations']))
    assert [sample.phase for sample in ran.measured] == 2 * ['fileop']
    assert set(ran.counts) == {f'{name}@2tasks' for name in FILEOP}
    assert all(len(each.percentiles_s) == 3 for each in ran.result.metrics)


def test_directories_that_are_listed_are_made_once_and_never_measured(lab):
    ran = lab.run(lab.plan_of_metadata(listing(20), Sweep('entries', (20, 40))))
    stages = [(sample.stage, sample.phase) for sample in ran.records.samples]
    assert stages[:2] == [('prepare', 'create'), ('warmup', 'list')]
    assert stages[2:4] == 2 * [('prepare', 'create')]
    assert stages[4:] == 4 * [('measured', 'list')]
    assert ran.result.verdict is Verdict.MEASURED


def test_guarantees_are_tried_and_the_facts_are_in_the_record(lab):
    ran = lab.run(lab.plan_of_metadata(*CASES['semantics']))
    assert [fact.name for fact in ran.result.facts] == [each.name for each in GUARANTEES]
    assert (ran.result.verdict, ran.result.metrics[0].unit) == (Verdict.MEASURED, '')


@pytest.mark.parametrize('kind', CASES)
def test_nothing_is_left_in_the_data_directories_and_nothing_else_is_touched(lab, kind):
    before = lab.surroundings()
    ran = lab.run(lab.plan_of_metadata(*CASES[kind]))
    for name in ('data', 'warmup'):
        assert os.listdir(os.path.join(ran.records.start.run_directory, name)) == []
    assert lab.surroundings() == before


def test_a_workload_that_no_engine_knows_is_refused_with_the_reason(lab, stub_fio):
    plan = lab.plan_of_metadata(*CASES['semantics'])
    ran = lab.run(plan._replace(engines=lab.plan(stub_fio(), check='Other').engines))
    assert ran.end.reason == 'refused'
    assert 'E0: no engine can measure POSIX semantics here (fio: measures data access, ' in ran.end.why


# Entries that are not as they should be


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


# How many files


FOUND_OUT = Sizing(100, 1, target_s=2.0, min_s=0.5)


def test_files_that_the_site_has_fixed_are_made_as_they_are(lab, stand_in):
    stand_in(Engine())
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, files=7))
    assert shares(ran, 'measured') == 12 * [7]
    assert ran.records.sized.reason == 'fixed by the site or the profile'


def test_files_are_found_out_in_the_warm_up_until_a_phase_lasts_as_long_as_is_meant(lab, stand_in):
    stand_in(Engine())
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, sizing=FOUND_OUT))
    assert shares(ran, 'warmup') == 3 * [100] + 3 * [1000], 'two tasks with 1000 each at 1000 a second take 2 s'
    assert set(shares(ran, 'measured')) == {1000}
    assert ran.records.sized.reason == '1000 files a task took 2.00 s; 2 s are meant'


def test_the_shortest_phase_decides(lab, stand_in):
    class Faster(Engine):
        def measure(self, phase, point, command, outcome):
            self.faster = {self.stage: 4.0 if phase == 'stat' else 1.0}
            return super().measure(phase, point, command, outcome)

    stand_in(Faster())
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, sizing=FOUND_OUT))
    assert set(shares(ran, 'measured')) == {4000}


def test_no_number_of_files_goes_beyond_the_inodes_of_the_site(lab, stand_in):
    stand_in(Engine())
    plan = lab.plan_of_metadata(FLAT, TWO, sizing=FOUND_OUT, target={'limits': Limits(1 << 30, 1000)})
    ran = lab.run(plan)
    (share,) = set(shares(ran, 'measured'))
    assert peak(plan, share)['inodes'] <= 1000 < peak(plan, share + 1)['inodes']
    assert 'limits or free space allow no more' in ran.records.sized.reason


def test_a_case_that_needs_more_inodes_than_the_site_allows_is_refused_before_anything_is_made(lab, stand_in):
    stand_in(Engine())
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, files=1000, target={'limits': Limits(1 << 30, 1000)}))
    assert ran.end.reason == 'refused'
    assert 'P9: the case needs 2009 inodes' in ran.end.why
    assert lab.left() == []


@pytest.mark.parametrize('phase', PHASES)
def test_a_measured_phase_that_is_too_short_leads_to_more_files(lab, stand_in, phase):
    stand_in(Engine(seconds={phase: [0.25]}))
    limits = Limits(1 << 30, 100_000)
    ran = lab.run(lab.plan_of_metadata(FLAT, ONE, sizing=FOUND_OUT, target={'limits': limits}))
    # 1.25 x 1000 files x 2 s / 0.25 s
    assert (ran.records.sized.number, ran.records.sized.per_task) == (2, 10_000)
    assert ran.counts == dict.fromkeys(planned_metrics(ran.plan), 2)


def test_a_phase_in_which_tasks_waited_is_no_reason_to_give_the_warm_up_up(lab, stand_in):
    stand_in(Engine(waiting=0.5))
    plan = lab.plan_of_metadata(FLAT, ONE, files=20, stopping=UNTIL_SHORT)
    ran = lab.run(plan)
    warm = [sample for sample in ran.records.samples if sample.stage == 'warmup']
    assert len(warm) == 3 and all(sample.valid for sample in warm)
    assert ran.end.reason == 'finished'
    assert ran.result.reasons[0].startswith('file_create@empty: INVALID: T20: file_create: phase too short')


def test_a_point_is_repeated_until_every_metric_of_it_is_known(lab, stand_in):
    stand_in(Engine(seconds={'stat': [1.0, 9.0, *10 * [1.0]]}))
    plan = lab.plan_of_metadata(FLAT, ONE, files=20, stopping=UNTIL_SHORT)
    ran = lab.run(plan)
    assert set(ran.counts.values()) == {UNTIL_SHORT.maximum}
    assert ran.end.stopped == {'empty': 'exhausted'}
    assert [bool(metric.why) for metric in ran.result.metrics] == [False, True, False]


# Whether a stat is cold, and how long a launch may last


class Cleared(Posix):
    """A file system of which this node's caches can be emptied; nothing is emptied."""

    def cold(self, path):
        return Cold('by a word')

    def empty_client_cache(self, path, deadline_s=0.0):
        return None


@pytest.mark.parametrize(('allowed', 'cache'), [(True, 'cold'), (False, 'cached')])
def test_a_stat_is_cold_only_where_the_site_lets_caches_be_emptied(lab, stand_in, monkeypatch, allowed, cache):
    stand_in(Engine())
    monkeypatch.setattr(start, 'by_type', lambda name: Cleared())
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, files=20, target={'drop_caches': allowed}))
    assert {(sample.phase, sample.cache) for sample in ran.measured} == {
        ('create', ''),
        ('stat', cache),
        ('remove', ''),
    }


def test_caches_that_cannot_be_emptied_although_the_site_allows_it_are_said_with_the_reason(
    lab, stand_in, monkeypatch
):
    class Shut(Posix):
        def cold(self, path):
            return Cold('', 'only root may empty them')

    stand_in(Engine())
    monkeypatch.setattr(start, 'by_type', lambda name: Shut())
    ran = lab.run(lab.plan_of_metadata(FLAT, TWO, files=20, target={'drop_caches': True}))
    (label,) = [label for label in ran.result.labels if label.startswith('T4')]
    assert 'only root may empty them' in label


def test_a_launch_may_last_its_pauses_longer(lab, stand_in, monkeypatch):
    limits = []

    def carried(*arguments):
        limits.append(arguments[-2])
        return carry_out(*arguments)

    carry_out = sampling.carry_out
    monkeypatch.setattr(sampling, 'carry_out', carried)
    for check, pauses_s in (('A', ()), ('B', (500.0, 1000.0))):
        stand_in(Engine())
        lab.run(lab.plan_of_metadata(listing(20, pauses_s), Sweep('entries', (20,)), check=check))
    first, with_pauses = limits[0], limits[len(limits) // 2]
    assert with_pauses == first + 1500.0


# On the node
