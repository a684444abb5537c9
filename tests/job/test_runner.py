"""The runner where nothing fails: what is launched, in which order, how often, and with how many bytes.

A stand-in for fio is launched whose figures are exactly what a test wants (tests/stubs/fio.py).
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.check.staging import write_runner
from seatrial.job import __main__ as command
from seatrial.job import runner
from seatrial.job.recorder import AlreadyRecorded
from seatrial.judge.verdict import Verdict
from seatrial.model.plan import Limits, Sizing, StoppingRule
from seatrial.model.record import SAMPLES
from seatrial.model.units import KIB
from seatrial.model.workload import AccessPattern
from seatrial.rules.case import measured

pytestmark = pytest.mark.usefixtures('short_launches')

WRITES = AccessPattern('multiple', 'whole', operations=('write',))
SFWA = AccessPattern('single', 'whole', operations=('read',))
UNTIL_SHORT = StoppingRule(0.10, least=4, most=8, extra=2, budget_s=600.0)
SIZE = 64 * KIB
SLOW = SIZE / 0.01  # B/s: 64 KiB take 10 ms
# Bytes a client are found out: 50 ms are meant, and 30 ms are the least.
ADAPTED = Sizing(SIZE, SIZE, target_s=0.05, min_s=0.03)
NOISY = {'seconds': 0.04, 'runtime_ms': [10, 40]}


class Clock:
    """The module time, for the runner alone: its clock jumps by an hour once so many launches have begun."""

    def __init__(self, log, launches):
        self._log, self._launches = Path(log), launches

    def __getattr__(self, name):
        return getattr(time, name)

    def monotonic(self):
        begun = len(self._log.read_text().splitlines()) if self._log.exists() else 0
        return time.monotonic() + (3600.0 if begun >= self._launches else 0.0)


def blocks_of(ran):
    """The points of each block in the order in which they were measured."""
    blocks = {}
    for sample in ran.measured:
        labels = blocks.setdefault((sample.sizing, sample.block), [])
        if sample.point not in labels:
            labels.append(sample.point)
    return list(blocks.values())


def counts(ran):
    return {name: len(samples) for name, samples in measured(ran.plan, ran.records).items()}


# What is launched


def test_every_point_is_measured_as_often_as_the_plan_says(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio()))
    assert counts(ran) == {'write@2objects': 2, 'read@2objects': 2, 'write@4objects': 2, 'read@4objects': 2}
    assert (ran.end.reason, ran.result.verdict) == ('finished', Verdict.PASS)


def test_every_launch_is_one_line_of_the_record_in_its_order(lab, stub_fio):
    fio = stub_fio()
    ran = lab.run(lab.plan(fio))
    launched = [line.split()[-1] for line in Path(f'{fio}.log').read_text().splitlines()]
    assert [os.path.basename(path) for path in launched] == [f'{each.raw}.fio' for each in ran.records.samples]


def test_a_record_begins_with_the_start_and_ends_with_the_end(lab, stub_fio):
    plan = lab.plan(stub_fio())
    lab.run(plan)
    kinds = [json.loads(line)['record'] for line in Path(plan.records, SAMPLES).read_text().splitlines()]
    assert (kinds[0], kinds[-1], kinds.count('start'), kinds.count('end')) == ('start', 'end', 1, 1)


def test_the_first_launches_are_warm_ups_on_other_files_than_those_measured(lab, stub_fio):
    fio = stub_fio()
    ran = lab.run(lab.plan(fio))
    stages = [sample.stage for sample in ran.records.samples]
    where = [os.path.basename(line.split()[2]) for line in Path(f'{fio}.log').read_text().splitlines()]
    assert stages[:2] == ['warmup', 'warmup']
    assert [{'warmup': 'warmup', 'measured': 'data'}[stage] for stage in stages] == where


def test_the_files_of_a_pattern_that_only_reads_are_prepared_once_and_never_measured(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(), workload=SFWA))
    stages = [(sample.stage, sample.operation) for sample in ran.records.samples]
    assert stages[:3] == [('prepare', 'write'), ('warmup', 'read'), ('prepare', 'write')]
    assert stages[3:] == [('measured', 'read')] * 4


def test_the_figure_of_a_sample_is_that_of_the_engine(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(('measured', {'seconds': 0.02})), tasks=2))
    assert {sample.measurement.seconds for sample in ran.measured} == {0.02}
    assert {sample.measurement.bytes_moved for sample in ran.measured} == {2 * SIZE}


@pytest.mark.parametrize('workload', [WRITES, SFWA], ids=lambda workload: workload.name)
def test_nothing_is_left_in_the_data_directories_when_the_run_has_ended(lab, stub_fio, workload):
    ran = lab.run(lab.plan(stub_fio(), workload=workload))
    assert os.listdir(os.path.join(ran.records.start.run_directory, 'data')) == []
    assert os.listdir(os.path.join(ran.records.start.run_directory, 'warmup')) == []


# In which order


def test_a_block_holds_every_unfinished_point_once(lab, stub_fio):
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-write@4objects', NOISY))
    ran = lab.run(lab.plan(fio, workload=WRITES, values=(2, 4, 8), stopping=UNTIL_SHORT))
    assert [sorted(block) for block in blocks_of(ran)] == 6 * [['2objects', '4objects', '8objects']] + 2 * [
        ['4objects']
    ]
    assert all(len(each) == len(set(each)) for each in blocks_of(ran))


def test_the_order_of_the_points_comes_from_the_seed_of_the_plan(lab, stub_fio):
    orders = []
    for check, seed in (('A', 1), ('B', 1), ('C', 2)):
        plan = lab.plan(stub_fio(), check=check, workload=WRITES, values=(1, 2, 4, 8, 16), seed=seed)
        orders.append(blocks_of(lab.run(plan)))
    assert orders[0] == orders[1] != orders[2]


def test_the_order_differs_between_blocks(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(), workload=WRITES, values=(1, 2, 4, 8, 16)))
    first, second = blocks_of(ran)
    assert first != second


def test_the_seed_is_in_the_record(lab, stub_fio):
    assert lab.run(lab.plan(stub_fio(), seed=41)).records.start.seed == 41


# How often


def test_a_converged_point_gets_the_extra_repetitions_that_it_is_owed(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(), values=(2,), stopping=UNTIL_SHORT))
    assert counts(ran) == {'write@2objects': 6, 'read@2objects': 6}
    assert ran.end.stopped == {'2objects': 'converged'}


def test_a_point_is_repeated_until_both_of_its_operations_are_known(lab, stub_fio):
    # Launches 3, 5, 7, ... are the measured writes: their figures are constant, those of the reads are not.
    fio = stub_fio(('', {'seconds': 0.04}), ('measured-read', {'runtime_ms': [10, 10, 40, 40]}))
    ran = lab.run(lab.plan(fio, values=(2,), stopping=UNTIL_SHORT))
    assert counts(ran) == {'write@2objects': 8, 'read@2objects': 8}
    assert ran.end.stopped == {'2objects': 'exhausted'}


def test_a_point_that_never_converges_is_inconclusive_and_keeps_all_its_samples(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(('', NOISY)), workload=WRITES, values=(2,), stopping=UNTIL_SHORT))
    assert ran.result.verdict is Verdict.INCONCLUSIVE
    assert len(ran.result.metrics[0].values) == UNTIL_SHORT.most


def test_no_launch_begins_after_the_budget(lab, stub_fio, monkeypatch):
    fio = stub_fio(('', NOISY))
    monkeypatch.setattr(runner, 'time', Clock(f'{fio}.log', launches=4))
    ran = lab.run(lab.plan(fio, workload=WRITES, values=(2, 4), stopping=UNTIL_SHORT))
    assert (len(ran.records.samples), ran.end.stopped) == (4, {'2objects': 'budget', '4objects': 'budget'})


def test_points_that_the_budget_left_unfinished_are_inconclusive(lab, stub_fio, monkeypatch):
    fio = stub_fio(('', NOISY))
    monkeypatch.setattr(runner, 'time', Clock(f'{fio}.log', launches=4))
    result = lab.run(lab.plan(fio, workload=WRITES, values=(2, 4), stopping=UNTIL_SHORT)).result
    assert [metric.verdict for metric in result.metrics] == [Verdict.INCONCLUSIVE] * 2
    assert 'budget' in result.reasons[0]


def test_points_that_the_budget_never_reached_are_incomplete(lab, stub_fio, monkeypatch):
    fio = stub_fio(('', NOISY))
    monkeypatch.setattr(runner, 'time', Clock(f'{fio}.log', launches=2))
    result = lab.run(lab.plan(fio, workload=WRITES, values=(2, 4), stopping=UNTIL_SHORT)).result
    assert (result.verdict, result.reasons[0][:2]) == (Verdict.INCOMPLETE, 'T5')


def test_a_profile_without_precision_measures_every_point_once_whatever_the_budget(lab, stub_fio):
    plan = lab.plan(stub_fio())
    ran = lab.run(plan._replace(stopping=plan.stopping._replace(budget_s=0.0)))
    assert set(counts(ran).values()) == {1}
    assert (ran.end.stopped, ran.result.verdict) == ({'2objects': 'budget', '4objects': 'budget'}, Verdict.PASS)


# With how many bytes


def test_bytes_that_the_site_has_fixed_are_moved_as_they_are(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(), sizing=ADAPTED._replace(pinned=SIZE)))
    assert {sample.per_client for sample in ran.records.samples} == {SIZE}
    assert ran.records.sized.reason == 'fixed by the site or the profile'


def test_bytes_are_enlarged_in_the_warm_up_until_a_launch_lasts_as_long_as_is_meant(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(('', {'rate': SLOW})), sizing=ADAPTED))
    assert ran.records.sized.per_client == 5 * SIZE
    assert {sample.per_client for sample in ran.measured} == {5 * SIZE}
    assert ran.records.sized.number == 1


def test_the_warm_up_grows_by_no_more_than_sixteen_times_a_round(lab, stub_fio):
    ran = lab.run(lab.plan(stub_fio(), values=(1,), workload=WRITES, sizing=ADAPTED))
    sizes = [sample.per_client for sample in ran.records.samples if sample.stage == 'warmup']
    assert sizes[:2] == [SIZE, 16 * SIZE]


def test_a_measured_launch_that_is_too_short_leads_to_a_second_size(lab, stub_fio):
    fio = stub_fio(('warmup', {'seconds': 0.05}), ('measured', {'rate': SLOW}))
    ran = lab.run(lab.plan(fio, workload=WRITES, sizing=ADAPTED))
    # 1.25 x 64 KiB x 50 ms / 10 ms, in whole granules of 64 KiB
    assert (ran.records.sized.number, ran.records.sized.per_client) == (2, 7 * SIZE)


def test_samples_of_a_size_that_was_given_up_do_not_count(lab, stub_fio):
    fio = stub_fio(('warmup', {'seconds': 0.05}), ('measured', {'rate': SLOW}))
    ran = lab.run(lab.plan(fio, workload=WRITES, sizing=ADAPTED))
    assert [sample.sizing for sample in ran.measured] == [1, 2, 2, 2, 2]
    assert counts(ran) == {'write@2objects': 2, 'write@4objects': 2}
    assert {sample.per_client for each in measured(ran.plan, ran.records).values() for sample in each} == {7 * SIZE}


def test_there_are_at_most_three_sizes(lab, stub_fio):
    fio = stub_fio(('warmup', {'seconds': 0.05}), ('measured', {'seconds': 0.02}))
    ran = lab.run(lab.plan(fio, workload=WRITES, values=(1,), sizing=ADAPTED))
    assert ran.records.sized.number == runner.SIZES_MOST
    assert ran.end.reason == 'finished'


def test_no_size_goes_beyond_the_limits_of_the_site(lab, stub_fio):
    limits = Limits(2 * 3 * SIZE + 1024 * KIB, 1000)
    ran = lab.run(lab.plan(stub_fio(('', {'rate': SLOW})), sizing=ADAPTED, target={'limits': limits}))
    assert ran.records.sized.per_client == 3 * SIZE
    assert 'limits or free space allow no more' in ran.records.sized.reason


def test_data_that_compress_make_the_case_invalid_unless_the_site_knows_better(lab, stub_fio):
    fio = stub_fio(('', {'fault': 'zeros'}))
    assert lab.run(lab.plan(fio, check='A', target={'compresses': None})).result.reasons[0][:2] == 'P4'
    assert lab.run(lab.plan(fio, check='B')).result.verdict is Verdict.PASS


# The command on the node


def test_the_remove_step_leaves_nothing_of_a_finished_run(lab, stub_fio):
    path, before = lab.write(lab.plan(stub_fio())), lab.surroundings()
    assert command.main(['run', path]) == 0
    assert len(lab.left()) == 1
    assert command.main(['remove', path]) == 0
    assert lab.left() == []
    assert lab.surroundings() == before


def test_the_removal_is_in_the_record(lab, stub_fio):
    plan = lab.plan(stub_fio())
    path = lab.write(plan)
    command.main(['run', path])
    command.main(['remove', path])
    ran = lab.ran(plan)
    assert (ran.records.removal.left, ran.records.removal.removed_directories) == ((), 3)
    assert not any('not removed' in label for label in ran.result.labels)


def test_a_record_is_never_overwritten(lab, stub_fio, capsys):
    plan = lab.plan(stub_fio())
    lab.run(plan)
    before = Path(plan.records, SAMPLES).read_bytes()
    with pytest.raises(AlreadyRecorded):
        lab.run(plan)
    assert command.main(['run', lab.write(plan)]) == 64
    assert 'plan the case again' in capsys.readouterr().err
    assert Path(plan.records, SAMPLES).read_bytes() == before


@pytest.mark.parametrize('arguments', [[], ['run'], ['measure', 'plan.json'], ['run', 'a', 'b']])
def test_a_wrong_command_line_is_answered_with_the_usage(arguments, capsys):
    assert command.main(arguments) == 64
    assert 'usage: runner.pyz run|remove PLAN' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('{', 'plan.json: Expecting'),
        ('[]', 'plan.json: TrialPlan: an object is expected, not list'),
        ('{"schema": 99}', 'schema: 99 is not 1, the one that is read here'),
        ('{"schema": 1}', 'missing from TrialPlan'),
    ],
)
def test_a_plan_of_another_form_is_refused_in_one_line(tmp_path, capsys, text, said):
    (tmp_path / 'plan.json').write_text(text)
    assert command.main(['run', str(tmp_path / 'plan.json')]) == 64
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_plan_that_is_not_there_is_named(tmp_path, capsys):
    assert command.main(['remove', str(tmp_path / 'plan.json')]) == 64
    assert 'No such file' in capsys.readouterr().err


@pytest.mark.parametrize('python', [sys.executable, 'python3.6'])
def test_the_zipapp_carries_a_plan_out_without_seatrial_being_installed(lab, stub_fio, tmp_path, python):
    if shutil.which(python) is None or subprocess.run([python, '-c', 'pass'], stderr=subprocess.DEVNULL).returncode:
        pytest.skip(f'{python} is not installed')
    plan = lab.plan(stub_fio(('measured', {'seconds': 0.5})), values=(2,), workload=WRITES)
    zipapp, path = str(write_runner(tmp_path)), lab.write(plan)
    clean = {'PATH': os.environ['PATH'], 'HOME': os.environ.get('HOME', '/')}
    done = [subprocess.run([python, '-sE', zipapp, step, path], env=clean) for step in ('run', 'remove')]
    assert [each.returncode for each in done] == [0, 0]
    assert lab.ran(plan).result.verdict is Verdict.PASS
    assert lab.left() == []
