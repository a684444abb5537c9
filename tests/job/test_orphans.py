"""Run directories that nobody works in any more, and those of which that cannot be said."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.job import orphans
from seatrial.job.lock import STALE_S
from seatrial.job.orphans import find, heartbeat_of
from seatrial.job.rundir import MARKER, RunDirectoryError, create, remove

SESSION, CASE = 'nightly-1', 'Check/lab:io/scratch/default/1n'


@pytest.fixture
def state(tmp_path):
    (tmp_path / 'state').mkdir()
    return str(tmp_path / 'state')


@pytest.fixture
def parent(tmp_path):
    (tmp_path / 'parent').mkdir()
    return str(tmp_path / 'parent')


def made(parent, session=SESSION, **maker):
    """A run directory with three files, of a maker who differs from this process."""
    run = create(parent, session, CASE, ('data',))
    run.make('data')
    for number in range(3):
        Path(run.path, 'data', str(number)).write_bytes(b'x' * 100)
    data = json.loads(Path(run.path, MARKER).read_text())
    data['maker'].update(maker)
    Path(run.path, MARKER).write_text(json.dumps(data))
    run.close()
    return run.path


def beat(state, seconds_ago, session=SESSION):
    path = Path(heartbeat_of(state, session))
    path.parent.mkdir(parents=True)
    path.touch()
    os.utime(path, (time.time() - seconds_ago,) * 2)


def ended_pid():
    child = subprocess.Popen([sys.executable, '-c', ''])
    child.wait()
    return child.pid


def the_one(parent, state):
    (orphan,) = find([parent], state)
    return orphan


def test_a_run_directory_is_found_with_what_is_in_it(parent, state):
    path = made(parent, time=time.time() - 3600)
    orphan = the_one(parent, state)
    assert (orphan.path, orphan.session, orphan.case) == (path, SESSION, CASE)
    assert (orphan.files, orphan.size_bytes, orphan.host) == (3, 300, os.uname().nodename)
    assert 3600 <= orphan.age_s < 7200


def test_what_was_found_can_be_removed_by_its_path_and_session(parent, state):
    made(parent)
    orphan = the_one(parent, state)
    assert remove(orphan.path, orphan.session).left == ()
    assert find([parent], state) == []


def test_a_process_that_runs_on_this_host_is_alive(parent, state):
    made(parent)
    assert f'process {os.getpid()}' in (the_one(parent, state).alive or '')


def test_a_process_that_ended_on_this_host_is_dead(parent, state):
    made(parent, pid=ended_pid())
    assert the_one(parent, state).alive is None


def test_another_process_with_the_same_pid_does_not_keep_it_alive(parent, state):
    made(parent, pid_start=1)
    assert the_one(parent, state).alive is None


@pytest.mark.parametrize('elsewhere', [{'host': 'nid00001'}, {'machine': 'an earlier boot'}])
def test_a_session_of_another_machine_with_a_recent_heartbeat_is_alive(parent, state, elsewhere):
    made(parent, **elsewhere)
    beat(state, 30)
    assert 'heard of 30 s ago' in (the_one(parent, state).alive or '')


def test_a_session_of_another_machine_with_a_stale_heartbeat_is_dead(parent, state):
    made(parent, host='nid00001')
    beat(state, STALE_S + 60)
    assert the_one(parent, state).alive is None


def test_a_session_of_another_machine_without_a_heartbeat_is_taken_to_be_alive(parent, state):
    made(parent, host='nid00001')
    assert 'cannot be asked' in (the_one(parent, state).alive or '')


def test_a_run_directory_of_this_user_is_not_foreign(parent, state):
    made(parent)
    assert the_one(parent, state).foreign is None


def test_a_run_directory_of_another_user_is_foreign(parent, state, monkeypatch):
    made(parent)
    owner = os.geteuid()

    class Os:
        geteuid = staticmethod(lambda: owner + 1)

        def __getattr__(self, name):
            return getattr(os, name)

    monkeypatch.setattr(orphans, 'os', Os())
    assert 'who can remove it' in (the_one(parent, state).foreign or '')


def test_what_has_no_valid_marker_is_not_listed(parent, state):
    os.mkdir(os.path.join(parent, 'seatrial-x'))
    Path(parent, 'seatrial-file').touch()
    path = made(parent)
    os.symlink(path, os.path.join(parent, 'seatrial-link'))
    assert [orphan.path for orphan in find([parent], state)] == [path]


def test_a_directory_with_a_marker_but_another_name_is_not_listed(parent, state):
    os.rename(made(parent), os.path.join(parent, 'keep'))
    assert find([parent], state) == []


def test_what_is_not_named_like_a_run_directory_is_not_even_opened(parent, state, monkeypatch):
    looked_at = []
    monkeypatch.setattr(orphans, 'found_at', looked_at.append)
    os.mkdir(os.path.join(parent, 'home'))
    assert find([parent], state) == []
    assert looked_at == []


def test_a_run_directory_deeper_in_the_tree_is_not_looked_for(parent, state):
    os.mkdir(os.path.join(parent, 'seatrial-x'))
    made(os.path.join(parent, 'seatrial-x'))
    assert find([parent], state) == []


def test_the_oldest_come_first(parent, state):
    made(parent, 'young', time=time.time() - 10)
    made(parent, 'old', time=time.time() - 1000)
    assert [orphan.session for orphan in find([parent], state)] == ['old', 'young']


def test_a_parent_that_is_configured_under_two_names_is_looked_at_once(parent, state, tmp_path):
    made(parent)
    os.symlink(parent, tmp_path / 'link')
    assert len(find([parent, str(tmp_path / 'link')], state)) == 1


def test_several_parents_are_looked_at(parent, state, tmp_path):
    made(parent)
    (tmp_path / 'other').mkdir()
    made(str(tmp_path / 'other'))
    assert len(find([parent, str(tmp_path / 'other')], state)) == 2


def test_a_parent_that_cannot_be_listed_is_an_error_not_an_empty_list(parent, state):
    with pytest.raises(RunDirectoryError, match='gone: No such file'):
        find([os.path.join(parent, 'gone')], state)


def test_looking_changes_nothing(parent, state):
    made(parent, pid=ended_pid())
    before = sorted((path, os.lstat(path).st_mtime_ns) for path in map(str, Path(parent).rglob('*')))
    find([parent], state)
    assert sorted((path, os.lstat(path).st_mtime_ns) for path in map(str, Path(parent).rglob('*'))) == before
