"""One trial at a time per storage system; a stale lock is reported, never taken over."""

import errno
import functools
import hashlib
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.job.directory import lock, owner
from seatrial.job.directory.lock import STALE_S, LockError, LockHeld, acquire, break_stale, list_locks
from seatrial.job.directory.owner import on_this_machine, running, this_owner
from stand_in import Altered

STORAGE = 'lustre01'
Os = functools.partial(Altered, os)


@pytest.fixture
def state(tmp_path):
    return str(tmp_path)


def path_in(state):
    return os.path.join(state, 'locks', f'{STORAGE}.json')


def aged(held, seconds):
    """Let the last heartbeat be so long ago."""
    then = time.time() - seconds
    os.utime(held.path, (then, then))
    return held


def abandoned(state, pid, session='dead', storage=STORAGE):
    """A stale lock whose process has ended."""
    held = acquire(state, storage, session)
    held._heartbeat.stop()
    data = json.loads(Path(held.path).read_text())
    data['holder']['pid'] = pid
    Path(held.path).write_text(json.dumps(data))
    return aged(held, STALE_S + 60)


def test_a_lock_is_a_file_in_the_state_directory_until_it_is_released(state):
    assert list_locks(state) == []
    with acquire(state, STORAGE, 'a') as held:
        assert (held.path, held.lost()) == (path_in(state), None)
        assert json.loads(Path(held.path).read_text())['storage_system'] == STORAGE
    assert os.listdir(os.path.join(state, 'locks')) == []
    held.release()
    with acquire(state, STORAGE, 'b') as again:
        held.release()
        assert again.created and again.lost() is None


def test_another_session_cannot_take_it_and_leaves_no_draft_behind(state):
    with acquire(state, STORAGE, 'a'), acquire(state, 'lustre02', 'b'):
        with pytest.raises(LockHeld):
            acquire(state, STORAGE, 'b')
        assert sorted(os.listdir(os.path.join(state, 'locks'))) == [f'{STORAGE}.json', 'lustre02.json']


def test_the_same_session_holds_it_again_refreshes_it_and_does_not_give_it_back(state):
    with acquire(state, STORAGE, 'a') as first:
        with acquire(state, STORAGE, 'a', interval_s=0.01) as second:
            assert (first.created, second.created) == (True, False)
            aged(first, 10000)
            until(lambda: time.time() - os.stat(first.path).st_mtime < 5000)
        with pytest.raises(LockHeld):
            acquire(state, STORAGE, 'b')


def test_a_session_of_the_same_name_of_another_user_is_another(state, monkeypatch):
    with acquire(state, STORAGE, 'a'):
        other = os.geteuid() + 1
        monkeypatch.setattr(lock, 'os', Os(geteuid=lambda: other))
        with pytest.raises(LockHeld):
            acquire(state, STORAGE, 'a')


def test_a_refusal_names_the_holder_the_time_and_the_remedy(state, monkeypatch):
    monkeypatch.setenv('SLURM_JOB_ID', '4711')
    holder = rf'{STORAGE} is held by session nightly of \S+ \({os.uname().nodename}, job 4711\) since 20[-0-9: ]+'
    refusal = pytest.raises(LockHeld, match=f'{holder}; its last heartbeat was .* ago; wait until it ends$')
    with acquire(state, STORAGE, 'nightly'), refusal:
        acquire(state, STORAGE, 'b')


def test_a_stale_lock_is_reported_with_the_remedy_and_not_taken_over(state, ended):
    abandoned(state, ended)
    before = Path(path_in(state)).read_bytes()
    with pytest.raises(LockHeld, match='16 min ago: it is stale, but was not taken over; `seatrial clean`'):
        acquire(state, STORAGE, 'b')
    assert Path(path_in(state)).read_bytes() == before


@pytest.mark.parametrize('content', ['', '{', '[]', '{"format": 1}', '[' * 50000, None, 'no end'])
def test_a_lock_file_that_cannot_be_read_is_held_by_somebody(state, content):
    os.mkdir(os.path.join(state, 'locks'))
    os.mkfifo(path_in(state)) if content is None else Path(path_in(state)).write_text(content)
    if content == 'no end':
        os.truncate(path_in(state), 2**40)  # more than any memory holds
    with pytest.raises(LockHeld):
        acquire(state, STORAGE, 'a')


def test_a_missing_state_directory_is_not_made(state):
    with pytest.raises(LockError, match='does not exist on .*share'):
        acquire(os.path.join(state, 'gone'), STORAGE, 'a')
    assert os.listdir(state) == []


@pytest.mark.parametrize(
    ('call', 'error', 'words'),
    [('link', errno.EPERM, 'not permitted.*link there'), ('fsync', errno.ENOSPC, 'No space left')],
)
def test_where_no_lock_can_be_made_no_draft_is_left_behind(state, monkeypatch, call, error, words):
    monkeypatch.setattr(lock, 'os', Os(**{call: Mock(side_effect=OSError(error, os.strerror(error)))}))
    with pytest.raises(LockError, match=words):
        acquire(state, STORAGE, 'a')
    assert os.listdir(os.path.join(state, 'locks')) == []


def test_text_of_others_is_shown_in_characters_that_every_locale_can_print(state):
    with acquire(state, 'é\n\x1b[2J', 'a'), pytest.raises(LockHeld) as refusal:
        acquire(state, 'é\n\x1b[2J', 'b')
    assert str(refusal.value).isascii()
    assert str(refusal.value).isprintable()


def test_a_link_that_was_made_though_the_answer_was_lost_counts(state, monkeypatch):
    def link(draft, path):
        os.link(draft, path)
        raise FileExistsError(17, 'File exists')

    monkeypatch.setattr(lock, 'os', Os(link=link))
    with acquire(state, STORAGE, 'a') as held:
        assert held.created


def test_others_can_read_who_holds_it_whatever_the_umask(state):
    before = os.umask(0o077)
    try:
        held = acquire(state, STORAGE, 'a')
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(held.path).st_mode) == 0o644
    held.release()


@pytest.mark.parametrize(('mode', 'made'), [(0o755, 0o755), (0o777, 0o755), (0o700, 0o700)])
def test_whoever_may_look_into_the_state_directory_sees_the_locks_and_may_not_take_them(state, mode, made):
    os.chmod(state, mode)
    acquire(state, STORAGE, 'a').release()
    assert stat.S_IMODE(os.stat(os.path.join(state, 'locks')).st_mode) == made


def until(condition):
    """Wait for something that must come; the test runner's own patience is the limit."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError('it did not come within a minute')


def test_the_heartbeat_does_not_refresh_the_lock_of_another(state):
    held = acquire(state, STORAGE, 'a')
    os.unlink(held.path)
    with acquire(state, STORAGE, 'b') as other:
        aged(other, 10000)
        held._renew()
        assert time.time() - os.stat(other.path).st_mtime > 5000
    held.release()


def test_a_heartbeat_survives_a_state_directory_that_is_away_and_ends_when_it_is_stopped():
    beat = Mock(side_effect=OSError(5, 'Input/output error'))
    heartbeat = lock.Heartbeat(beat, 0.001)
    until(lambda: beat.call_count > 2)
    heartbeat.stop()
    until(lambda: not heartbeat._thread.is_alive())


NO_RENAME = Mock(side_effect=AssertionError('the lock was moved'))


@pytest.mark.parametrize('session', ['b', 'a'], ids=['another', 'the same, again'])
def test_releasing_never_even_moves_another_lock(state, monkeypatch, session):
    held = acquire(state, STORAGE, 'a')
    os.unlink(held.path)
    with acquire(state, STORAGE, session) as other, monkeypatch.context() as patch:
        patch.setattr(lock, 'os', Os(rename=NO_RENAME))
        held.release()
        assert other.lost() is None


def test_releasing_never_removes_a_lock_that_was_taken_at_that_very_moment(state, monkeypatch):
    held = acquire(state, STORAGE, 'a')
    others = []

    def rename(path, aside):
        os.unlink(path)
        others.append(acquire(state, STORAGE, 'b'))
        os.rename(path, aside)

    monkeypatch.setattr(lock, 'os', Os(rename=rename))
    held.release()
    assert others[0].lost() is None
    assert os.listdir(os.path.join(state, 'locks')) == [f'{STORAGE}.json']
    others[0].release()


def test_a_state_directory_that_is_away_does_not_spoil_the_end_of_a_job(state, monkeypatch):
    held = acquire(state, STORAGE, 'a')
    monkeypatch.setattr(lock, 'os', Os(rename=Mock(side_effect=OSError(5, 'Input/output error'))))
    held.release()
    assert [held.storage_system for held in list_locks(state)] == [STORAGE]


def test_a_clock_that_is_ahead_makes_no_lock_stale(state, monkeypatch):
    with_it = acquire(state, STORAGE, 'session-1')
    now = time.time
    monkeypatch.setattr(lock.time, 'time', lambda: now() + STALE_S + 60)
    (held,) = list_locks(state)
    assert not held.stale
    with_it.release()


def test_a_refusal_after_a_reboot_does_not_advise_to_wait_for_an_end(state):
    held = abandoned(state, os.getpid())
    data = json.loads(Path(held.path).read_text())
    data['holder'].update(machine='00000000-0000-4000-8000-000000000000 pid:[4026531836]')
    Path(held.path).write_text(json.dumps(data))
    aged(held, lock.HEARTBEAT_S + 5)
    with pytest.raises(LockHeld, match='its process has ended: .* `seatrial clean` removes it in 2 min'):
        acquire(state, STORAGE, 'b')


@pytest.mark.parametrize(
    ('silent_s', 'runs', 'stale', 'removed'),
    [
        (0, True, False, False),
        (3 * lock.HEARTBEAT_S + 60, True, False, False),
        (STALE_S - 60, True, False, False),
        (STALE_S + 60, True, True, False),
        (3 * lock.HEARTBEAT_S - 60, False, False, False),
        (3 * lock.HEARTBEAT_S + 60, False, True, True),
        (STALE_S + 60, False, True, True),
    ],
)
def test_when_a_lock_is_stale_and_when_it_is_removed(state, ended, monkeypatch, silent_s, runs, stale, removed):
    aged(abandoned(state, os.getpid() if runs else ended), silent_s)
    if not removed:
        monkeypatch.setattr(lock, 'os', Os(rename=NO_RENAME))
    assert [held.stale for held in list_locks(state)] == [stale]
    assert len(break_stale(state)) == removed
    assert len(list_locks(state)) == 1 - removed


def test_a_stale_lock_of_another_user_is_not_removed(state, ended, monkeypatch):
    abandoned(state, ended)
    other = os.geteuid() + 1
    monkeypatch.setattr(lock, 'os', Os(geteuid=lambda: other))
    assert [bool(held.foreign) for held in list_locks(state)] == [True]
    assert break_stale(state) == []


def test_a_lock_that_came_back_to_life_while_it_was_looked_at_is_not_removed(state, ended, monkeypatch):
    held = abandoned(state, ended)

    def rename(path, aside):
        os.utime(path)
        os.rename(path, aside)

    monkeypatch.setattr(lock, 'os', Os(rename=rename))
    assert break_stale(state) == []
    assert os.path.exists(held.path)


def test_a_lock_that_cannot_be_looked_at_when_it_is_aside_is_put_back(state, ended, monkeypatch):
    held = abandoned(state, ended)
    before = Path(held.path).read_bytes()

    def opened(path, *arguments):
        if os.path.basename(path).startswith('.'):
            raise OSError(5, 'Input/output error')
        return os.open(path, *arguments)

    monkeypatch.setattr(lock, 'os', Os(open=opened))
    assert break_stale(state) == []
    assert Path(held.path).read_bytes() == before


def test_a_stale_lock_file_of_this_user_that_cannot_be_read_is_removed(state):
    os.mkdir(os.path.join(state, 'locks'))
    Path(path_in(state)).write_text('{')
    os.utime(path_in(state), (0, 0))
    assert [held.holder for held in break_stale(state)] == [None]
    assert list_locks(state) == []


@pytest.mark.parametrize(
    ('storage_system', 'name'),
    [
        ('lustre01', 'lustre01'),
        ('a/b', 'a%2Fb'),
        ('..', '%2E.'),
        ('', '%'),
        ('a b~c%', 'a%20b%7Ec%25'),
        ('é\n', '%C3%A9%0A'),
        ('x' * 300, 'x' * 135 + '~' + hashlib.sha256(b'x' * 300).hexdigest()),
    ],
)
def test_a_storage_system_has_the_same_safe_file_name_everywhere(storage_system, name):
    assert lock._file_name(storage_system) == name + '.json'


@given(st.text(st.characters(), max_size=400))
def test_any_text_is_a_file_name_that_is_safe_and_not_hidden(storage_system):
    name = lock._file_name(storage_system)
    assert not {'/', '\0'} & set(name) and not name.startswith('.') and len(os.fsencode(name)) <= 255


@given(st.text(st.characters(), max_size=400), st.text(st.characters(), max_size=400))
def test_other_storage_systems_have_other_file_names(first, second):
    assert (lock._file_name(first) == lock._file_name(second)) == (first == second)


RACER = """
import sys, time
from seatrial.job.directory.lock import LockHeld, acquire
for line in sys.stdin:
    start, state = line.split()
    while time.monotonic() < float(start):
        pass
    try:
        acquire(state, 'race', sys.argv[1])
        print('won', flush=True)
    except LockHeld:
        print('held', flush=True)
"""


@pytest.mark.slow
def test_of_two_processes_that_race_for_a_lock_exactly_one_wins_every_time(tmp_path):
    pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'text': True, 'bufsize': 1}
    racers = [subprocess.Popen([sys.executable, '-c', RACER, session], **pipes) for session in ('a', 'b')]
    for number in range(50):
        (tmp_path / str(number)).mkdir()
        start = time.monotonic() + 0.005
        for racer in racers:
            racer.stdin.write(f'{start} {tmp_path}/{number}\n')
        assert sorted(racer.stdout.readline() for racer in racers) == ['held\n', 'won\n']
    for racer in racers:
        racer.communicate()
        assert racer.returncode == 0


# Who made something, and whether that process still runs


def test_a_process_runs_here_unless_it_has_ended_or_another_has_got_its_pid(ended):
    here = this_owner('s')
    assert running(here) is on_this_machine(here) is True
    assert running(here._replace(pid=ended)) is running(here._replace(pid_start=here.pid_start - 1)) is False
    for other in ({'host': 'elsewhere'}, {'machine': 'another boot'}, {'machine': ''}):
        assert running(here._replace(**other)) is None


def test_a_process_that_waits_to_be_reaped_is_not_running(monkeypatch):
    here = this_owner('s')
    monkeypatch.setattr(owner, '_process', lambda pid: ('Z', here.pid_start))
    assert running(here) is False


def test_without_proc_no_process_can_be_seen(monkeypatch):
    monkeypatch.setattr(owner, '_machine', lambda: '')
    assert running(this_owner('s')) is None


def test_another_users_process_that_is_not_in_proc_may_be_hidden(ended, monkeypatch):
    dead = this_owner('s')._replace(pid=ended)
    monkeypatch.setattr(os, 'geteuid', lambda: dead.uid + 1)
    assert running(dead) is None
