"""What goes to the node: a plan and one file that any Python since 3.6 runs, with nothing of the login side in it."""

import json
import py_compile
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from seatrial.check.staging import NODE_ROOMS, job_lines, write_runner
from seatrial.model import plan


@pytest.fixture
def names(tmp_path):
    with zipfile.ZipFile(write_runner(tmp_path)) as archive:
        return archive.namelist()


def test_the_runner_holds_every_file_of_the_node_rooms(names, repository):
    source = repository / 'src'
    there = {str(file.relative_to(source)) for room in NODE_ROOMS for file in source.glob(f'seatrial/{room}/*.py')}
    assert there <= set(names)


def test_the_runner_holds_nothing_of_the_login_side(names):
    assert {name.split('/')[1] for name in names if name.count('/') > 1} == set(NODE_ROOMS)


def test_the_runner_runs_without_seatrial_being_installed(tmp_path):
    argv = [sys.executable, '-I', '-S', str(write_runner(tmp_path))]
    done = subprocess.run(argv, capture_output=True, text=True, cwd='/')
    assert (done.returncode, done.stderr) == (64, 'seatrial: usage: runner.pyz run|remove PLAN\n')


def test_a_runner_that_is_there_is_not_replaced(tmp_path):
    write_runner(tmp_path)
    with pytest.raises(FileExistsError):
        write_runner(tmp_path)


def test_the_job_carries_the_plan_out_and_then_removes_what_it_made():
    folder = Path("/records/it's a case")
    carry_out, remove = job_lines('python3', folder / 'runner.pyz', folder / 'plan.json')
    assert shlex.split(carry_out)[-4:] == ['python3', f'{folder}/runner.pyz', 'run', f'{folder}/plan.json']
    assert shlex.split(remove)[-4:] == ['python3', f'{folder}/runner.pyz', 'remove', f'{folder}/plan.json']


def test_a_line_of_the_job_survives_the_shell(tmp_path):
    odd = tmp_path / "a 'folder' with $HOME and\u00e9"
    odd.mkdir()
    script = odd / 'show.py'
    script.write_text('import json, sys\nprint(json.dumps(sys.argv[1:]))\n')
    line, _ = job_lines(sys.executable, script, odd / 'plan.json')
    done = subprocess.run(['/bin/sh', '-c', line], capture_output=True)
    assert json.loads(done.stdout) == ['run', str(odd / 'plan.json')]


def test_what_is_compiled_already_travels_beside_its_source(tmp_path):
    py_compile.compile(plan.__file__, doraise=True)  # Python itself may have been told to write none
    with zipfile.ZipFile(write_runner(tmp_path)) as archive:
        names = set(archive.namelist())
    compiled = {name[:-1] for name in names if name.endswith('.pyc')}
    assert 'seatrial/model/plan.py' in compiled
    assert compiled <= names
