"""ci/test: what each form of it runs, and which of them bring packages and labs."""

import os
import shutil
import subprocess

import pytest

NOTES = '#!/bin/sh\necho "${0##*/} $*" >>"$SEATRIAL_NOTES"\n'
NAMES = 'lab-gluster', 'lab-ceph', 'lab-slurm', 'lab-kernels'
LABS = [f'{name} {verb}' for name in NAMES for verb in ('up', 'down')]


@pytest.fixture
def ran(repository, tmp_path, monkeypatch):
    """Run ci/test in a tree whose programs only note how they were called; returns what was noted."""
    (tmp_path / 'ci').mkdir()
    for name in ('ci/test', 'ci/environment', 'pyproject.toml'):
        shutil.copy(repository / name, tmp_path / name)
    programs, own = tmp_path / 'bin', tmp_path / '.venv' / 'bin'
    for folder, names in (
        (programs, ('apt-get', 'dpkg-query', 'id')),
        (own, ('ruff', 'mypy', 'python')),
        (tmp_path / 'ci', ('environment-modules', *NAMES)),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / name).write_text(NOTES)
            (folder / name).chmod(0o755)
    (programs / 'id').write_text('#!/bin/sh\necho 0\n')
    sums = subprocess.run(
        ['cksum'], stdin=(tmp_path / 'pyproject.toml').open(), capture_output=True, text=True
    ).stdout
    (tmp_path / '.venv' / 'seatrial-installed').write_text(f'dev {sums.strip()} {tmp_path}')
    notes = tmp_path / 'notes'
    monkeypatch.setenv('SEATRIAL_NOTES', str(notes))
    monkeypatch.setenv('PATH', f'{programs}:{os.environ["PATH"]}')

    def run(*arguments):
        subprocess.run([tmp_path / 'ci' / 'test', *arguments], capture_output=True, check=True, timeout=60)
        return notes.read_text().splitlines()

    return run


@pytest.mark.parametrize(
    ('arguments', 'pytest_has'),
    [
        (['--fast'], '--fast'),
        (['tests/model'], 'tests/model'),
        (['--fast', 'tests/model', '-x'], '--fast tests/model -x'),
        (['--full', 'tests/model'], '--long tests/model'),
    ],
)
def test_a_run_of_a_part_brings_neither_packages_nor_labs(ran, arguments, pytest_has):
    noted = ran(*arguments)
    assert noted[-1].split() == ['python', '-m', 'pytest', '-n', '2', '--dist', 'worksteal', *pytest_has.split()]
    assert {line.split()[0] for line in noted} == {'ruff', 'mypy', 'python'}


@pytest.mark.parametrize(('arguments', 'pytest_has'), [([], []), (['--full'], ['--long'])])
def test_a_run_of_all_brings_the_packages_and_has_each_lab_up_and_down_for_its_own(ran, arguments, pytest_has):
    noted = ran(*arguments)
    assert noted[-1].split() == ['python', '-m', 'pytest', '-n', '2', '--dist', 'worksteal', *pytest_has]
    assert [' '.join(line.split()[:2]) for line in noted if line.startswith('lab-')] == LABS
    assert any(line.startswith('apt-get install -y') and ' chromium' in line for line in noted)
