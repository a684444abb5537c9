"""Interactive use by the real git, pip, make and cc: two tasks on the disk of the test."""

import os
import shutil

import pytest

from measuring import point
from seatrial.engine.base import EngineError
from seatrial.engine.posixops import interactive
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.posixops.interactive import _compare, _names, _run, carry_out
from seatrial.engine.posixops.work import Spec, Work
from seatrial.workload.interactive import BUILD, GIT, STEPS, VENV, entries_of, interactive_use

pytestmark = [pytest.mark.slow, pytest.mark.needs('git', 'make', 'cc')]

FOREIGN = {
    GIT: ('GIT_DIR', '/no/such/repository'),
    VENV: ('PIP_NO_BINARY', ':all:'),
    BUILD: ('MAKEFLAGS', '--dry-run'),
}
"""Settings of a user that would break a step, by step."""


def used(does):
    return interactive_use(1, 2, 4, '2KiB', does)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize('does', [GIT, pytest.param(VENV, marks=pytest.mark.long), BUILD])
def test_every_step_handles_what_is_planned_whatever_a_user_has_set_and_leaves_nothing(disk, monkeypatch, does):
    monkeypatch.setenv(*FOREIGN[does])
    at = point(used(does), 2 if does != VENV else 1)
    metrics = disk.launch(does, at).metrics
    assert [metric.name for metric in metrics] == list(STEPS[does])
    assert {metric.name: metric.operations for metric in metrics} == entries_of(at, does)
    assert list(disk.data.iterdir()) == []


@pytest.mark.parametrize(('does', 'program'), [(GIT, 'git'), (BUILD, 'make')])
def test_a_missing_program_is_named_before_anything_is_written(disk, monkeypatch, does, program):
    monkeypatch.setenv('PATH', '/no/such/directory')
    rule, sentence = disk.refused(does, point(used(does)))
    assert rule == 'E1' and sentence.endswith(f': {program} is not installed on this node')
    assert list(disk.data.iterdir()) == []


def test_without_ensurepip_the_refusal_names_it(monkeypatch):
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    why = 'cannot make a virtual environment: Python is without ensurepip here (on Debian: python3-venv)'
    assert PosixOps().cannot(point(used(VENV))) == why
    assert PosixOps().cannot(point(used(GIT))) is None


def alone(does):
    carry_out(Work(0, 1), Spec(does, point(used(does), 1)))


def test_a_program_that_fails_is_quoted(monkeypatch):
    monkeypatch.setattr(interactive, '_make_sources', lambda root, at: os.mkdir(root))
    with pytest.raises(EngineError, match=r"E1: make exited with 2: 'make: \*\*\* No targets specified"):
        alone(BUILD)


def test_a_built_program_that_prints_something_else_is_refused(monkeypatch):
    monkeypatch.setattr(interactive, '_run', lambda home, *argv, feed=b'': '27\n')
    with pytest.raises(EngineError, match="E1: the built program prints '27', not 66"):
        alone(BUILD)


def test_a_clone_that_has_changes_is_refused(monkeypatch):
    def run(home, *argv, feed=b''):
        printed = _run(home, *argv, feed=feed)
        return ' M f0\n' if 'status' in argv else printed

    monkeypatch.setattr(interactive, '_run', run)
    with pytest.raises(EngineError, match='E1: git status finds changes in a clone that nobody changed: M f0'):
        alone(GIT)


def test_a_clone_without_a_file_or_with_one_cut_short_is_refused():
    at = point(used(GIT), 1)
    root = f'{os.getcwd()}/programs.0'
    for name in _names(at):
        os.makedirs(os.path.dirname(f'{root}/clone/{name}'), exist_ok=True)
        with open(f'{root}/clone/{name}', 'wb') as file:
            file.write(bytes(2048))
    _compare(root, at)
    os.truncate(f'{root}/clone/d1/f2', 2047)
    with pytest.raises(EngineError, match='T17: .*/clone has other files than its repository, or of other sizes'):
        _compare(root, at)
    shutil.rmtree(f'{root}/clone/d1')
    with pytest.raises(EngineError, match='T17'):
        _compare(root, at)
