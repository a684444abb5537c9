"""The runner without failures: its launches, and the command on the node that carries a plan out."""

import functools
import json
import operator
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builders import SMALL
from seatrial.check.staging import write_runner
from seatrial.engine.dispatch import place_here
from seatrial.job import __main__ as command
from seatrial.judge.verdict import Verdict
from seatrial.model.record import SAMPLES, BoundTasks
from seatrial.rules.case import binding
from seatrial.workload.access import data_access

pytestmark = pytest.mark.usefixtures('short_launches')

WRITES = data_access('multiple', operations=('write',))
SFWA = data_access('single', operations=('read',))


def test_every_launch_is_one_line_of_the_record_and_the_first_are_warm_ups_on_other_files(lab, stub_fio):
    fio = stub_fio()
    ran = lab.run(lab.plan(fio))
    stages = [sample.stage for sample in ran.records.samples]
    log = [line.split() for line in Path(f'{fio}.log').read_text().splitlines()]
    where = [os.path.basename(words[2]) for words in log]
    assert [os.path.basename(words[-1]) for words in log] == [f'{sample.raw}.fio' for sample in ran.records.samples]
    lines = Path(ran.plan.records, SAMPLES).read_text().splitlines()
    kinds = [json.loads(line)['record'] for line in lines]
    assert (kinds[0], kinds[-1], kinds.count('start'), kinds.count('end')) == ('start', 'end', 1, 1)
    assert stages[:2] == ['warmup', 'warmup']
    assert [{'warmup': 'warmup', 'measured': 'data'}[stage] for stage in stages] == where
    here = place_here(0)
    alike = BoundTasks((here.host.partition('.')[0],), (here.cores, here.cores))
    assert {sample.bound for sample in ran.records.samples} == {(alike,)}
    assert ran.result.binding == binding(ran.records.samples)


def test_the_remove_step_leaves_nothing_of_a_finished_run(lab, stub_fio):
    plan = lab.plan(stub_fio(), **SMALL)
    path, before = lab.write(plan), lab.surroundings()
    assert command.main(['run', path]) == 0
    assert len(lab.left()) == 1
    assert command.main(['remove', path]) == 0
    assert lab.left() == []
    assert lab.surroundings() == before
    ran = lab.ran(plan)
    assert (ran.records.removal.left, ran.records.removal.removed_directories) == ((), 3)
    assert not any('not removed' in label for label in ran.result.labels)


def test_a_record_is_never_overwritten(lab, stub_fio, capfd):
    plan = lab.plan(stub_fio(), **SMALL)
    lab.run(plan)
    before = Path(plan.records, SAMPLES).read_bytes()
    assert command.main(['run', lab.write(plan)]) == 64
    assert 'plan the case again' in capfd.readouterr().err
    assert Path(plan.records, SAMPLES).read_bytes() == before


@pytest.mark.parametrize('arguments', [[], ['run'], ['measure', 'plan.json'], ['run', 'a', 'b']])
def test_a_wrong_command_line_is_answered_with_the_usage(arguments, capsys):
    assert command.main(arguments) == 64
    assert 'usage: runner.pyz [run] [remove] PLAN' in capsys.readouterr().err


@pytest.mark.parametrize('name', ['', '..', 'plan.json'])
def test_a_plan_that_others_may_change_is_not_carried_out(lab, capsys, name):
    path = lab.write(lab.plan('fio'))
    before = lab.surroundings()
    Path(path).parent.joinpath(name).chmod(0o777)
    assert command.main(['run', path]) == 64
    assert 'others may write to ' in capsys.readouterr().err
    assert lab.surroundings() == before


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (None, 'No such file'),
        ('[]', 'plan.json: TrialPlan: an object is expected, not list'),
        ('{"schema": 99}', 'schema: 99 is neither 3 nor 2, which are read here'),
    ],
)
def test_a_plan_of_another_form_is_refused_in_one_line(tmp_path, capsys, text, words):
    if text is not None:
        (tmp_path / 'plan.json').write_text(text)
    assert command.main(['run', str(tmp_path / 'plan.json')]) == 64
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ('keys', 'value', 'words', 'steps'),
    [
        (['points'], [], 'points: there are none', ('run', 'remove')),
        (['points', 0, 'kind'], 'mining', "points[0].kind: 'mining' is not a kind", ('run', 'remove')),
        (['target', 'type'], 'weka', "target.type: 'weka' is not a file-system type", ('run', 'remove')),
        (['engines', 0, 'name'], 'mining', "engines[0].name: 'mining' is not an engine", ('run',)),
    ],
)
def test_a_plan_with_a_name_that_is_not_registered_is_refused(lab, capsys, keys, value, words, steps):
    path = lab.write(lab.plan('fio'))
    plan, before = json.loads(Path(path).read_text()), lab.surroundings()
    *way, last = keys
    functools.reduce(operator.getitem, way, plan)[last] = value
    Path(path).write_text(json.dumps(plan))
    for step in steps:
        assert command.main([step, path]) == 64
        assert capsys.readouterr().err.startswith(f'seatrial: {path}: {words}')
    assert lab.surroundings() == before


@pytest.mark.parametrize('python', [sys.executable, 'python3.6'])
def test_the_zipapp_carries_a_plan_out_where_seatrial_is_not_installed(lab, stub_fio, tmp_path, python):
    if shutil.which(python) is None or subprocess.run([python, '-c', 'pass'], stderr=subprocess.DEVNULL).returncode:
        pytest.skip(f'{python} is not installed')
    plan = lab.plan(stub_fio(('measured', {'seconds': 0.5})), workload=WRITES, **SMALL)
    zipapp, path = str(write_runner(tmp_path)), lab.write(plan)
    clean = {'PATH': os.environ['PATH'], 'HOME': os.environ.get('HOME', '/')}
    assert subprocess.run([python, '-sE', zipapp, 'run', 'remove', path], env=clean).returncode == 0
    assert lab.ran(plan).result.verdict is Verdict.MEASURED
    assert lab.left() == []
