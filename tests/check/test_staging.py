"""The files staged for a node: a plan, and a runner for any Python from 3.6 on, without code of the login side."""

import json
import py_compile
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from builders import plan_of
from seatrial.check.staging import NODE_ROOMS, PYTHONS, claim_records, job_line, write_runner
from seatrial.model import plan


@pytest.fixture
def names(tmp_path):
    with zipfile.ZipFile(write_runner(tmp_path)) as archive:
        return archive.namelist()


def test_the_runner_holds_every_file_of_the_node_rooms_and_nothing_of_the_login_side(names, repository):
    source = repository / 'src'
    files = [file for room in NODE_ROOMS for file in (source / 'seatrial' / room).rglob('*.py')]
    assert {str(file.relative_to(source)) for file in files} <= set(names)
    of_login_side = {name.split('/')[1] for name in names if name.count('/') > 1} - set(NODE_ROOMS)
    assert of_login_side == set()


@pytest.mark.slow
def test_the_runner_runs_without_seatrial_being_installed(tmp_path):
    argv = [sys.executable, '-I', '-S', str(write_runner(tmp_path))]
    done = subprocess.run(argv, capture_output=True, text=True, cwd='/')
    assert (done.returncode, done.stderr) == (64, 'seatrial: usage: runner.pyz [run] [remove] PLAN\n')


def test_each_job_of_a_case_has_a_new_record(tmp_path):
    plan = plan_of(records=str(tmp_path / 'cases' / 'c'))
    assert [Path(claim_records(plan).records).name for _ in range(3)] == ['c', 'c~2', 'c~3']


def test_an_incomplete_runner_is_removed_and_an_existing_one_is_not_replaced(tmp_path, monkeypatch):
    def full(*unused):
        raise OSError(28, 'No space left on device')

    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, 'write', full)
        with pytest.raises(OSError, match='No space left'):
            write_runner(tmp_path)
    assert list(tmp_path.iterdir()) == []
    write_runner(tmp_path)
    with pytest.raises(FileExistsError):
        write_runner(tmp_path)


def test_a_module_that_lies_in_the_working_directory_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / 'zipfile.py').write_text('import sys; sys.exit("imported")')
    (tmp_path / 'runner.py').write_text('import zipfile')
    line = job_line(sys.executable, tmp_path / 'runner.py', tmp_path / 'plan.json')
    monkeypatch.setenv('PYTHONPATH', ':')
    assert subprocess.run(['/bin/sh', '-c', line], cwd=tmp_path).returncode == 0


def test_a_line_of_the_job_survives_the_shell(tmp_path):
    odd = tmp_path / "a 'folder' with $HOME and\u00e9"
    odd.mkdir()
    script = odd / 'show.py'
    script.write_text('import json, sys\nprint(json.dumps(sys.argv[1:]))\n')
    line = job_line(sys.executable, script, odd / 'plan.json')
    done = subprocess.run(['/bin/sh', '-c', line], capture_output=True)
    assert json.loads(done.stdout) == ['run', 'remove', str(odd / 'plan.json')]


def test_the_runner_holds_compiled_modules_beside_their_sources(tmp_path):
    py_compile.compile(plan.__file__, doraise=True)  # Python may be configured to write no compiled files
    with zipfile.ZipFile(write_runner(tmp_path)) as archive:
        names = set(archive.namelist())
    compiled = {name[:-1] for name in names if name.endswith('.pyc')}
    assert 'seatrial/model/plan.py' in compiled
    assert compiled <= names


def on_a_node(tmp_path, *interpreters):
    """Runs the job's line on a node with these interpreters; False: one older than 3.6. Each prints its name and its
    arguments, and an old one fails the check of its version."""
    for name, is_new in interpreters:
        refuse = '' if is_new else '[ "$2" = -c ] && exit 1\n'
        (tmp_path / name).write_text(f'#!/bin/sh\n{refuse}[ "$2" = -c ] || echo "{name} $*"\n')
        (tmp_path / name).chmod(0o755)
    for name in ('sh', 'env', 'uname'):
        (tmp_path / name).symlink_to(shutil.which(name))
    line = job_line(None, Path('/records/runner.pyz'), Path('/records/plan.json'))
    return subprocess.run(['/bin/sh', '-c', line], capture_output=True, text=True, env={'PATH': str(tmp_path)})


@pytest.mark.parametrize(
    ('interpreters', 'chosen'),
    [
        ([('python3', True), ('python3.9', True)], 'python3'),
        ([('python3', False), ('python3.9', True)], 'python3.9'),
        ([('python3.6', True), ('python3.11', True)], 'python3.11'),
    ],
)
def test_the_first_interpreter_that_is_new_enough_runs_the_job(tmp_path, interpreters, chosen):
    done = on_a_node(tmp_path, *interpreters)
    assert (done.returncode, done.stdout) == (0, f'{chosen} -I /records/runner.pyz run remove /records/plan.json\n')


def test_a_node_without_a_new_enough_interpreter_fails_with_the_remedy(tmp_path):
    if Path(PYTHONS[1]).exists():
        pytest.skip(f'{PYTHONS[1]} is on this machine')
    done = on_a_node(tmp_path, ('python3', False))
    assert done.returncode == 127 and 'name one in trial.yaml: partitions, python' in done.stderr


def test_a_compiled_file_that_its_user_may_not_read_is_left_out(names, tmp_path, monkeypatch):
    compiled = {name for name in names if name.endswith('.pyc')}
    readable = {path for path in map(str, Path(plan.__file__).parents[1].rglob('*.pyc')) if '/rules/' not in path}
    monkeypatch.setattr('seatrial.check.staging.os.access', lambda path, mode: path in readable)
    (tmp_path / 'other').mkdir()
    with zipfile.ZipFile(write_runner(tmp_path / 'other')) as archive:
        assert set(names) - set(archive.namelist()) == {name for name in compiled if '/rules/' in name} != set()
