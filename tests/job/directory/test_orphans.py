"""Run directories that no process uses any more, and those of which that is not known."""

import errno
import json
import os
import re
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from fuse_lab import dead
from seatrial.job.directory import lock, orphans
from seatrial.job.directory.lock import STALE_S
from seatrial.job.directory.orphans import become_leader, heartbeat_of, leader_alive, leader_of
from seatrial.job.directory.rundir import MARKER, RunDirectoryError, create

SESSION, CASE = 'nightly-1', 'Check/lab:io/scratch/default/1n'
ANY = (r'[^/]*',)


def folder(name):
    @pytest.fixture(name=name)
    def make(tmp_path):
        (tmp_path / name).mkdir()
        return str(tmp_path / name)

    return make


# Of this site the directories of its state and of its runs, and the state of another one.
state, parent, home = map(folder, ('state', 'parent', 'home'))


def made(parent, session=SESSION, case=CASE, home='', kept=False, **owner):
    """A run directory with three files, of an owner who differs from this process. home: the state of its site."""
    run = create(parent, session, case, ('data',), ANY, kept, home)
    run.make('data')
    for number in range(3):
        Path(run.path, 'data', str(number)).write_bytes(b'x' * 100)
    data = json.loads(Path(run.path, MARKER).read_text())
    data['maker'].update(owner)
    Path(run.path, MARKER).write_text(json.dumps(data))
    run.close()
    return run.path


def beat(state, seconds_ago, session=SESSION):
    path = Path(heartbeat_of(state, session))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - seconds_ago,) * 2)


def searched(parents, state, queued=None, session=''):
    """As `look`, without sizes, in this process."""
    paths = orphans._candidates(parents, session)
    return orphans._together([orphans._search(path, state, queued, session) for path in paths])


def the_one(parent, *arguments):
    (orphan,) = searched([parent], *arguments).orphans
    return orphan


@pytest.fixture
def opened(monkeypatch):
    """The run directories whose markers are read."""
    paths, marker_at = [], orphans.marker_at
    monkeypatch.setattr(orphans, 'marker_at', lambda path: (paths.append(path), marker_at(path))[1])
    return paths


def test_a_run_directory_is_found_with_what_is_in_it(parent, state):
    path = made(parent, time=time.time() - 3600)
    orphan = the_one(parent, state)
    assert (orphan.path, orphan.session, orphan.case) == (path, SESSION, CASE)
    assert (orphan.files, orphan.size_bytes, orphan.host) == (None, None, os.uname().nodename)
    assert 3600 <= orphan.age_s < 7200


@pytest.mark.parametrize('session', ['', SESSION])
def test_a_process_that_can_be_left_behind_finds_the_same_and_sizes_it(parent, state, session):
    made(parent)
    (orphan,) = orphans.look([parent], state, session=session).orphans
    assert orphan._replace(age_s=0.0) == the_one(parent, state)._replace(files=3, size_bytes=300, age_s=0.0)


def test_a_marker_that_no_server_delivers_is_reported_as_unreadable_and_hides_no_other(parent, state, monkeypatch):
    paths = [made(parent, case=CASE + number) for number in '123']
    monkeypatch.setattr(orphans, 'LOOK_S', 2.0)
    with dead(Path(paths[1])):
        search = orphans.look([parent], state)
        with pytest.raises(RunDirectoryError, match='could not be read within 2 s; is a server down'):
            orphans.look([parent], state, session=SESSION)
    assert {(orphan.path, orphan.files) for orphan in search.orphans} == {(paths[0], 3), (paths[2], 3)}
    assert search.unread == (f'{paths[1]}: what lies in it could not be read within 2 s; is a server down?',)


def test_a_parent_that_cannot_be_listed_is_an_error_and_not_an_empty_list(parent, state):
    for session in ('', SESSION):
        with pytest.raises(RunDirectoryError, match='gone: No such file.*is the file system mounted'):
            orphans.look([os.path.join(parent, 'gone')], state, None, session)


@pytest.mark.parametrize(
    ('owner', 'heard_s', 'alive'),
    [
        ({}, None, 'process {}'),
        ({'pid_start': 1}, None, None),
        ({'host': 'nid1'}, 30, 'heard of 30 s ago'),
        ({'machine': 'an earlier boot'}, 30, 'heard of 30 s ago'),
        ({'host': 'nid1'}, STALE_S + 60, None),
    ],
)
def test_a_process_lives_that_is_seen_here_or_whose_session_is_heard_of(parent, state, owner, heard_s, alive):
    made(parent, **owner)
    if heard_s is not None:
        beat(state, heard_s)
    reason = the_one(parent, state).alive
    assert reason is None if alive is None else alive.format(os.getpid()) in reason


def test_a_session_of_another_machine_without_a_heartbeat_is_taken_to_be_alive(parent, state):
    made(parent, host='nid00001')
    orphan = the_one(parent, state)
    assert orphan.over and 'cannot be asked' in orphan.alive and 'remove it by hand' in orphan.alive


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can give a directory away')
@pytest.mark.parametrize('session', ['', SESSION])
def test_nothing_that_another_user_wrote_is_read(parent, state, session, monkeypatch):
    """A marker that no terminal can print, and a file of 1 TiB that takes no room, in a directory of our session."""
    path = made(parent, owner='\ud800')
    with open(os.path.join(path, 'data', 'sparse'), 'wb') as stream:
        stream.truncate(1 << 40)
    os.chown(path, 1234, 1234)
    monkeypatch.setattr(orphans, 'marker_at', None)
    assert searched([parent], state, None, session) == orphans.Search((), (), ('uid 1234',))


def test_what_has_neither_marker_nor_name_of_a_run_directory_is_not_even_opened(parent, state, opened):
    path = made(parent)
    os.mkdir(os.path.join(parent, 'seatrial-x'))
    Path(parent, 'seatrial-file').touch()
    os.symlink(path, os.path.join(parent, 'seatrial-link'))
    os.rename(made(parent, case='other'), os.path.join(parent, 'keep'))
    made(os.path.join(parent, 'seatrial-x'))
    search = searched([parent], state)
    assert ([orphan.path for orphan in search.orphans], search.unread) == ([path], ())
    assert os.path.join(parent, 'keep') not in opened


def test_one_that_cannot_be_statted_is_reported(parent, state, monkeypatch):
    path = made(parent)
    monkeypatch.setattr(os, 'lstat', Mock(side_effect=OSError(errno.ESTALE, 'Stale file handle')))
    assert searched([parent], state).unread == (f'{path}: Stale file handle',)


def test_a_parent_that_is_configured_under_two_names_is_looked_at_once_and_the_oldest_come_first(parent, home, state):
    made(parent, 'young')
    os.symlink(parent, os.path.join(home, 'link'))
    made(home, 'old', time=time.time() - 1000)
    orphans_in = searched([parent, os.path.join(home, 'link'), home], state).orphans
    assert [orphan.session for orphan in orphans_in] == ['old', 'young']


def test_into_those_of_other_sessions_nobody_looks_for_the_ones_of_a_session(parent, state, opened):
    ours, other = made(parent), made(parent, session=f'{SESSION}0')
    assert the_one(parent, state, None, f'{SESSION}0').path == other and opened == [other]
    assert the_one(parent, state, None, SESSION).path == ours


def test_where_one_may_write_but_not_list_none_of_a_session_is_found(parent, state, monkeypatch):
    made(parent)
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES), parent)
    monkeypatch.setattr(orphans.os, 'listdir', Mock(side_effect=denied))
    assert searched([parent], state, None, SESSION) == orphans.NOTHING
    with pytest.raises(RunDirectoryError, match='Permission denied'):
        searched([parent], state)


def leading(state, seconds_ago=0.0, **owner):
    """The leader of the session, who differs from this process."""
    become_leader(state, SESSION).stop()
    path = Path(leader_of(state, SESSION))
    path.write_text(json.dumps({**json.loads(path.read_text()), **owner}))
    os.utime(path, (time.time() - seconds_ago,) * 2)


ELSEWHERE = {'host': 'nid00001', 'job': '12'}


@pytest.mark.parametrize(
    ('queued', 'owner', 'leader'),
    [
        (None, ELSEWHERE, {}),  # nobody could be asked
        ({SESSION}, ELSEWHERE, {}),
        (set(), {**ELSEWHERE, 'job': ''}, {}),
        (set(), ELSEWHERE, {'pid': os.getpid()}),
        (set(), ELSEWHERE, {'host': 'n9'}),
    ],
)
def test_otherwise_it_is_alive_and_it_is_said_for_how_long(parent, state, ended, queued, owner, leader):
    made(parent, **owner)
    beat(state, 72)
    leading(state, **{'pid': ended, **leader})
    orphan = the_one(parent, state, queued)
    why = r'its session was heard of [0-9]+ s ago; if it stays silent it counts as dead in 1[0-4] min'
    assert orphan.over is not bool(leader) and re.fullmatch(why, orphan.alive)


def test_of_another_site_the_heartbeat_counts_that_lies_in_its_own_state(parent, state, home):
    made(parent, home=home, **ELSEWHERE)
    beat(home, 30)
    assert 'heard of 30 s ago' in the_one(parent, state).alive
    beat(home, STALE_S + 60)
    assert the_one(parent, state).alive is None


def test_the_queue_of_this_site_shows_nothing_about_the_sessions_of_another(parent, state, ended, home):
    made(parent, home=home, **ELSEWHERE)
    beat(home, 12)
    leading(home, pid=ended)
    assert 'its session was heard of ' in the_one(parent, state, set()).alive


def test_what_is_kept_stays_while_a_session_of_its_own_site_may_measure_beside_it(parent, state, ended, home):
    made(parent, home=home, kept=True, pid=ended)
    leading(home, pid=ended)
    with lock.acquire(home, 'scratch', 'nightly-2'):
        assert the_one(parent, state).alive == 'it is kept, and session nightly-2 may measure beside it'
    assert the_one(parent, state).alive is None


def test_one_that_an_earlier_version_marked_is_judged_by_the_state_of_this_site(parent, state, ended):
    assert 'state' not in json.loads(Path(made(parent, pid=ended), MARKER).read_text())
    leading(state)
    assert the_one(parent, state).alive == f'process {os.getpid()} on this host leads its session'


@pytest.fixture
def ahead(monkeypatch):
    """This host's clock is ahead of that of the server of its files."""
    monkeypatch.setattr(orphans.time, 'time', lambda now=time.time: now() + 2 * STALE_S)


def test_a_clock_that_is_ahead_makes_no_leader_dead(state, ahead, monkeypatch):
    leading(state, 2 * STALE_S, host='n9')
    assert 'on n9, which leads its session, was heard of ' in leader_alive(state, SESSION)
    leading(state, 4 * STALE_S, host='n9')
    assert leader_alive(state, SESSION) is None
    assert os.listdir(os.path.dirname(leader_of(state, SESSION))) == [os.path.basename(leader_of(state, SESSION))]


def test_a_clock_that_is_ahead_makes_no_run_directory_removable(parent, state, ahead):
    made(parent, host='nid00001')
    beat(state, 2 * STALE_S)
    assert 'its session was heard of ' in (the_one(parent, state).alive or '')


def test_where_no_file_can_be_made_this_hosts_clock_counts(state, monkeypatch):
    leading(state, STALE_S + 1, host='n9')
    refused = Mock(side_effect=OSError(errno.EROFS, 'Read-only file system'))
    monkeypatch.setattr(lock.tempfile, 'TemporaryFile', refused)
    assert leader_alive(state, SESSION) is None


@pytest.mark.parametrize('text', ['', '{', '[]', '{"pid": 1}', '\xff'])
def test_a_damaged_leader_is_not_taken_for_dead(state, text):
    assert 'who leads its session is not known' in leader_alive(state, SESSION)
    leading(state)
    Path(leader_of(state, SESSION)).write_text(text, encoding='latin-1')
    assert 'who leads its session is not known' in leader_alive(state, SESSION)
