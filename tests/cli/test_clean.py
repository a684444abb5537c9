"""`seatrial clean`: it lists what dead sessions have left, and removes only that, and only with --yes."""

import contextlib
import errno
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from fuse_lab import dead
from local_site import executable
from seatrial.cli.clean import SILENT
from seatrial.job.directory import lock, orphans, removal, rundir
from seatrial.scheduler.queue import QueueError
from seatrial.scheduler.session_jobs import SessionJob

SESSION, CASE = '20261121T020638-9f3a1c', 'Writes/local:default/scratch/default/1n'


def in_a_process(work, *arguments):
    """Runs `work` in a forked process, which is then killed; a new Python would take longer to start."""
    pid = os.fork()
    if pid == 0:
        try:
            work(*arguments)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


def measure(state, target, case=CASE, kept=False):
    """Hold the storage system and work in a run directory."""
    lock.acquire(str(state), 'scratch', SESSION)
    run = rundir.create(str(target), SESSION, case, ('data',), ('data[.][0-9]+',), kept=kept)
    Path(run.make('data'), 'data.00000000').write_bytes(bytes(1 << 20))


def leave(state, target):
    """Makes the run directory of a job, and writes the heartbeat of its session once."""
    orphans.keep_heartbeat(str(state), SESSION).stop()
    rundir.create(str(target), SESSION, CASE, ('data',), (), state=str(state)).make('data')


def lead(state):
    """Lead the session for a moment, with a job that beats."""
    for begun in (orphans.keep_heartbeat, orphans.become_leader):
        begun(str(state), SESSION).stop()


@pytest.fixture(autouse=True)
def no_wait_is_announced(monkeypatch):
    """No command prints that it waits; on a busy machine any command might."""
    monkeypatch.setattr('seatrial.report.terminal.SILENT_S', 600.0)


@pytest.fixture
def target(site):
    target = site.folder / 'state' / 'trials'
    target.mkdir(parents=True)
    (target / 'precious').write_text('of somebody else')
    return target


@pytest.fixture
def killed(site, target):
    """The run directory that a killed session has left."""
    in_a_process(measure, site.folder / 'state', target)
    return target / os.path.basename(rundir.path_of(str(target), SESSION, CASE))


def forget_locks(site):
    for held in lock.list_locks(str(site.folder / 'state')):
        os.unlink(held.path)


def test_what_a_killed_session_left_is_shown_and_stays(clean, killed):
    done = clean()
    line, lock, remedy = done.out.splitlines()
    assert done.status == 13  # for the lock, which would stay
    assert lock.startswith(f'{SILENT}: storage system scratch is held by session {SESSION}')
    assert line.startswith(f'{killed}: 1 MiB in 1 file, {CASE}, of ')
    assert line.endswith(': removable')
    assert remedy == '1 directory and 0 locks can be removed: seatrial clean --yes'
    assert (killed / 'data' / 'data.00000000').exists()


def test_where_a_server_with_parts_of_files_is_away_it_says_what_is_unknown(clean, killed, target, site, monkeypatch):
    monkeypatch.setattr(orphans, 'LOOK_S', 1.0)
    monkeypatch.setattr(removal, 'REMOVAL_S', 1.0)
    younger = f'{CASE}/2'
    in_a_process(measure, site.folder / 'state', target, younger)
    with dead(killed / 'data'):
        done = clean('--yes')
    gone = done.out.index(f'removed {rundir.path_of(str(target), SESSION, younger)}')
    assert gone < done.out.index(f'left in {killed}')
    assert f'{killed}: size unknown (its files could not be sized within 1 s; is a server down?)' in done.out
    assert done.status == 13 and f'left in {killed}: ' in done.out and 'its removal did not end' in done.out


def test_it_is_removed_with_yes_and_nothing_else_is(clean, killed, target, site):
    forget_locks(site)
    done = clean('--yes')
    assert (done.status, f'removed {killed}' in done.out) == (0, True)
    assert os.listdir(target) == ['precious']
    assert clean('--yes').out == 'Nothing is left behind.\n'


LOOKS = """#!{python} -IS
import sys
code, sys.argv = sys.argv[4], ['-c', *sys.argv[5:]]
sys.path.insert(0, sys.argv[1])
from seatrial.filesystem import mounts
mounts.MOUNTINFO = {mountinfo!r}
exec(code)
"""
"""An interpreter for the processes that look at run directories, which see the mounts of this file."""


@pytest.mark.parametrize(
    ('mounted', 'more', 'stays'),
    [
        ('fuse pvfs2fuse#tcp://s1:3334/fs', '', ''),
        ('fuse pvfs2fuse#tcp://s1:3334/fs', 'precious', 'data/precious: the session did not make it'),
        ('fuse.sshfs host:', '', ''),
        ('xfs /dev/sdb1', '', 'copied or moved'),
    ],
)
def test_where_inode_numbers_do_not_last_owner_name_and_contents_show_whose_it_is(
    clean, killed, target, site, tmp_path, monkeypatch, mounted, more, stays
):
    mountinfo = tmp_path / 'mountinfo'
    mountinfo.write_text(f'22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 0:50 / {target} rw - {mounted} rw\n')
    looks = LOOKS.format(python=sys.executable, mountinfo=str(mountinfo))
    python = executable(tmp_path / 'python', looks)
    monkeypatch.setattr(sys, 'executable', str(python))
    (killed / 'data' / (more or 'data.00000001')).touch()
    marker = killed / rundir.MARKER
    marker.write_text(json.dumps({**json.loads(marker.read_text()), 'inode': 1, 'marker_inode': 2}))
    forget_locks(site)
    done = clean('--yes')
    assert (killed.exists(), bool(done.status), stays in done.out) == (bool(stays), bool(stays), True)


def test_what_is_kept_stays_while_another_session_measures_beside_it(clean, site, target):
    in_a_process(measure, site.folder / 'state', target, CASE, True)
    forget_locks(site)
    other = lock.acquire(str(site.folder / 'state'), 'scratch', '20261122T020638-9f3a1c')
    meanwhile = clean('--yes')
    assert 'session 20261122T020638-9f3a1c may measure beside it' in meanwhile.out
    assert len(os.listdir(target)) == 2
    other.release()
    assert clean('--yes').status == 0 and os.listdir(target) == ['precious']


def test_a_stale_lock_is_shown_with_its_holder_and_removed_with_yes(clean, killed, site):
    (held,) = lock.list_locks(str(site.folder / 'state'))
    os.utime(held.path, (time.time() - lock.STALE_S - 1,) * 2)
    assert f'stale lock: storage system scratch is held by session {SESSION}' in clean().out
    assert os.path.exists(held.path)
    assert 'removed the lock of scratch' in clean('--yes').out
    assert not os.path.exists(held.path)


def test_a_session_that_is_alive_is_shown_and_left(clean, target):
    run = rundir.create(str(target), SESSION, CASE, ('data',), ())
    done = clean('--yes')
    assert done.status == 0
    assert done.out.endswith(f': process {os.getpid()} on this host works in it\n')
    assert os.path.isdir(run.path)
    run.close()


@pytest.fixture
def between(site):
    """The run directory of a job whose run has ended, and whose removal has not begun.

    This process leads its session. It lies in no state directory, as a file system under test.
    """
    site.change('path: state/trials', 'path: scratch')
    for name in ('state', 'scratch'):
        (site.folder / name).mkdir()
    in_a_process(leave, site.folder / 'state', site.folder / 'scratch')
    heartbeat = orphans.become_leader(str(site.folder / 'state'), SESSION)
    (path,) = (site.folder / 'scratch').iterdir()
    yield path
    heartbeat.stop()


@pytest.fixture
def elsewhere(site, between, command):
    """clean of a second site, whose file system is the same one."""
    folder = site.folder.with_name('second')
    (folder / 'state').mkdir(parents=True)
    shutil.copy(site.settings, folder)
    (folder / 'trial.yaml').write_text(site.trial.read_text().replace('path: scratch', f'path: {between.parent}'))
    return lambda *arguments: command('clean', f'--site={folder}', *arguments)


def its_leader_dies(site):
    leader = Path(orphans.leader_of(str(site.folder / 'state'), SESSION))
    leader.write_text(json.dumps({**json.loads(leader.read_text()), 'pid_start': 1}))


@pytest.fixture(params=['clean', 'elsewhere'])
def either(request):
    """clean of the session's own site, and of the second one."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def not_yet_marked(site, target):
    """The run directory of a job that was killed before it wrote the marker. This process leads its session.

    The heartbeat of the session is so old that the session counts as dead.
    """
    state = str(site.folder / 'state')
    lead(state)
    os.utime(orphans.heartbeat_of(state, SESSION), (time.time() - lock.STALE_S - 1,) * 2)
    path = Path(rundir.path_of(str(target), SESSION, CASE))
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(params=['between, clean', 'between, elsewhere', 'not_yet_marked, clean'])
def unremoved(request):
    """The run directory of a session that this process leads, and the command that finds it."""
    path, command = request.param.split(', ')
    return request.getfixturevalue(path), request.getfixturevalue(command)


def test_of_a_session_that_is_led_nothing_is_removed(unremoved):
    path, clean = unremoved
    done = clean('--yes')
    assert (done.status, path.exists()) == (0, True), done.out
    assert f': process {os.getpid()} on this host leads its session\n' in done.out


def test_what_a_session_has_left_is_removed_once_its_leader_has_died(unremoved, site):
    path, clean = unremoved
    its_leader_dies(site)
    done = clean('--yes')
    assert (done.status, path.exists()) == (0, False), done.out


def test_a_leader_that_runs_here_keeps_it_however_long_it_is_silent(between, either, site):
    """Such as the leader of a contract between two allocations."""
    leader = orphans.leader_of(str(site.folder / 'state'), SESSION)
    os.utime(leader, (time.time() - 10 * lock.STALE_S,) * 2)
    assert (either('--yes').status, between.exists()) == (0, True)


def test_a_leader_on_another_host_that_is_silent_keeps_it_until_it_counts_as_dead(between, either, site):
    leader = Path(orphans.leader_of(str(site.folder / 'state'), SESSION))
    leader.write_text(json.dumps({**json.loads(leader.read_text()), 'host': 'n9'}))
    os.utime(leader, (time.time() - lock.MISSED_S - 60,) * 2)
    done = either('--yes')
    assert (done.status, between.exists()) == (13, True), done.out
    assert done.out.endswith(' s ago; if it stays silent it counts as dead in 11 min\n')


NOT_KNOWN = {
    'sessions is not there; is its file system mounted?': lambda state: state.rename(state.with_name('moved')),
    'leader.json: it cannot be read': lambda state: Path(orphans.leader_of(str(state), SESSION)).write_text('{'),
    'others may write to': lambda state: (state / 'sessions').chmod(0o777),
}


@pytest.mark.parametrize('words', NOT_KNOWN)
def test_where_it_cannot_be_known_who_leads_it_a_second_site_leaves_it(between, elsewhere, site, words):
    its_leader_dies(site)
    NOT_KNOWN[words](site.folder / 'state')
    done = elsewhere('--yes')
    assert (done.status, between.exists()) == (13, True), done.out
    (line,) = done.out.splitlines()
    assert words in line and line.endswith('; if nothing of it runs, remove it by hand')


def test_of_a_session_that_is_not_known_here_it_stays_for_as_long_as_a_job_may_be_silent(clean, target):
    path = Path(rundir.path_of(str(target), SESSION, CASE))
    path.mkdir()
    assert (clean('--yes').status, path.exists()) == (13, True)
    os.utime(path, (time.time() - lock.STALE_S - 1,) * 2)
    assert (clean('--yes').status, path.exists()) == (0, False)


def test_an_empty_directory_of_another_name_stays(clean, target):
    path = target / 'seatrial-results-00000000'
    path.mkdir()
    os.utime(path, (time.time() - lock.STALE_S - 1,) * 2)
    assert (clean('--yes').status, path.exists()) == (13, True)


def test_what_is_foreign_in_it_stays_and_is_named(clean, killed):
    notes = [killed / 'notes', killed / 'data' / 'notes', killed / 'data' / 'results' / 'data.00000000']
    notes[2].parent.mkdir()
    for path in notes:
        path.write_text('of somebody else')
    shown = clean()
    assert (shown.status, f'{rundir.NOT_MADE}\n' in shown.out) == (13, True), shown.out
    done = clean('--yes')
    assert done.status == 13
    for name in ('notes', 'data/notes', 'data/results'):
        assert f'left in {killed}: {name}: the session did not make it\n' in done.out
    assert [path.read_text() for path in notes] == ['of somebody else'] * 3
    assert sorted(os.listdir(killed / 'data')) == ['notes', 'results']


@pytest.fixture
def queue(monkeypatch):
    """Jobs that are in Slurm's queue, and those that were cancelled."""
    jobs = [SessionJob('12', SESSION, 'RUNNING', 'n1', None), SessionJob('9', SESSION, 'PENDING', '', 'x leads it')]
    cancelled = []

    def cancel(screen, site, jobs):
        cancelled.extend(job.id for job in jobs)
        return cancel.left

    cancel.left = []
    slurm()(None, None, monkeypatch)
    monkeypatch.setattr('seatrial.cli.clean.session_jobs.jobs_of_sessions', lambda site: jobs)
    monkeypatch.setattr('seatrial.cli.clean.session_jobs.cancel', cancel)
    return SimpleNamespace(queued=jobs, jobs=cancelled, cancel=cancel)


def test_jobs_of_sessions_are_shown_and_stay(clean, queue, target):
    done = clean()
    assert done.out.splitlines() == [
        f'job 9 of session {SESSION}, pending: x leads it',
        f'job 12 of session {SESSION}, running on n1: its session is dead: it can be cancelled',
        '1 job can be cancelled: seatrial clean --yes',
    ]
    assert queue.jobs == []


def test_jobs_are_in_the_order_of_their_numbers_also_arrays_and_heterogeneous_ones(clean, queue, target):
    queue.queued[:] = [queue.queued[0]._replace(id=number) for number in ('102', '12+1', '9_4', '12+0')]
    lines = clean().out.splitlines()
    assert [line.split()[1] for line in lines[:4]] == ['9_4', '12+1', '12+0', '102']


def test_with_yes_those_of_dead_sessions_are_cancelled(clean, queue, target):
    done = clean('--yes')
    assert (done.status, queue.jobs) == (0, ['12'])
    assert done.out.endswith('cancelled job 12\n')


def test_while_slurm_takes_its_time_it_says_what_it_waits_for(clean, queue, target, monkeypatch):
    monkeypatch.setattr('seatrial.report.terminal.SILENT_S', 0.01)
    monkeypatch.setattr('seatrial.cli.clean.session_jobs.jobs_of_sessions', lambda site: time.sleep(0.5) or [])
    assert 'squeue' in clean().out.splitlines()[0]


@pytest.fixture
def interrupted(site, target, killed):
    """The run directory of a job on a node, whose session was interrupted a moment ago."""
    marker = killed / rundir.MARKER
    data = json.loads(marker.read_text())
    data['maker'].update(host='n1', job='12')
    marker.write_text(json.dumps(data))
    in_a_process(lead, site.folder / 'state')
    forget_locks(site)
    return killed


@pytest.mark.parametrize('jobs', [[], ['12']], ids=['no job', 'its job in the queue'])
def test_what_an_interrupted_session_left_is_removed_at_once_with_its_job(clean, queue, interrupted, jobs):
    del queue.queued[len(jobs) :]
    done = clean('--yes')
    assert (done.status, queue.jobs, f'removed {interrupted}\n' in done.out) == (0, jobs, True), done.out


def test_with_it_goes_the_lock_of_its_session_at_once(clean, queue, interrupted, site):
    queue.queued.clear()
    held = lock.acquire(str(site.folder / 'state'), 'scratch', SESSION)
    done = clean('--yes')
    assert (done.status, 'lock in use: ' in done.out, 'removed the lock' in done.out) == (0, True, False), done.out
    owner = json.loads(Path(held.path).read_text())
    owner['holder']['pid_start'] -= 1
    Path(held.path).write_text(json.dumps(owner))
    done = clean('--yes')
    assert (done.status, 'removed the lock of scratch\n' in done.out) == (0, True), done.out
    assert clean().out == 'Nothing is left behind.\n'
    held.release()


def rebooted(site, killed, silent_s, host='', beat_s=None):
    """The host of a session (by default this one) has booted since; beat_s: heartbeat age of a job elsewhere."""
    state = site.folder / 'state'
    in_a_process(lead, state)
    (held,) = lock.list_locks(str(state))
    leader, heartbeat = orphans.leader_of(str(state), SESSION), orphans.heartbeat_of(str(state), SESSION)
    for path, key in ((killed / rundir.MARKER, 'maker'), (Path(held.path), 'holder'), (Path(leader), None)):
        data = json.loads(path.read_text())
        owner = data[key] if key else data
        owner.update(host=host or os.uname().nodename, machine='00000000-0000-4000-8000-000000000000 pid:[1]')
        path.write_text(json.dumps(data))
    for path in (held.path, leader, heartbeat):
        silent = silent_s if beat_s is None or path == leader else beat_s
        os.utime(path, (time.time() - silent,) * 2)
    return held.path


@pytest.mark.parametrize(
    ('silent_s', 'beat_s', 'removed'),
    [
        (5, None, False),
        (65, None, False),
        (lock.MISSED_S + 60, None, True),
        (lock.STALE_S - 60, None, True),
        (lock.STALE_S - 60, 30, False),  # a job of its session beats elsewhere
    ],
)
def test_after_a_reboot_all_goes_after_three_missed_beats_and_until_then_it_is_said_that_it_will(
    clean, site, killed, silent_s, beat_s, removed
):
    held = rebooted(site, killed, silent_s, beat_s=beat_s)
    done = clean('--yes')
    expected = (0, False, False) if removed else (13, True, True)
    assert (done.status, killed.exists(), os.path.exists(held)) == expected, done.out
    assert removed or beat_s or ('it counts as dead in ' in done.out and SILENT in done.out)


@pytest.mark.parametrize(('silent_s', 'status'), [(lock.MISSED_S - 60, 0), (lock.MISSED_S + 60, 13)])
def test_what_is_silent_on_another_host_is_no_success_for_it_cannot_be_judged(clean, site, killed, silent_s, status):
    held = rebooted(site, killed, silent_s, 'n9')
    assert clean().status == status
    done = clean('--yes')
    assert (done.status, killed.exists(), os.path.exists(held)) == (status, True, True), done.out
    assert ('lock in use' in done.out, SILENT in done.out) == (status == 0, status == 13), done.out


def test_while_its_job_does_not_end_it_stays(clean, queue, interrupted):
    queue.cancel.left = queue.queued[:1]
    done = clean('--yes')
    assert (done.status, interrupted.exists(), 'cancelled job' in done.out) == (13, True, False)


def test_where_slurm_cannot_be_asked_it_is_said_when_to_come_again(clean, interrupted):
    done = clean('--yes')
    assert (done.status, interrupted.exists()) == (13, True)
    assert done.out.endswith('; if it stays silent it counts as dead in 15 min\n')


def test_where_no_partition_is_slurms_it_is_not_asked(clean, target, monkeypatch):
    monkeypatch.setattr('seatrial.cli.clean.session_jobs.jobs_of_sessions', None)
    done = clean()
    assert (done.status, done.out) == (0, 'Nothing is left behind.\n')


def test_a_lock_of_a_session_that_is_led_is_in_use(clean, site, target):
    state = str(site.folder / 'state')
    with lock.acquire(state, 'scratch', SESSION):
        orphans.become_leader(state, SESSION).stop()
        done = clean('--yes')
    assert (done.status, done.out.startswith('lock in use: storage system scratch')) == (0, True), done.out


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can give a directory away')
def test_directories_of_others_disable_nothing(clean, killed, site):
    """One with a marker that no terminal can print, one with the session's prefix and 1 TiB that takes no room."""
    forget_locks(site)
    for name, marker in (('0' * 8, '{"case": "\\ud800"}'), ('1' * 8, (killed / rundir.MARKER).read_text())):
        foreign = killed.parent / f'seatrial-{SESSION}-{name}'
        foreign.mkdir()
        (foreign / rundir.MARKER).write_text(marker)
        with open(foreign / 'sparse', 'wb') as stream:
            stream.truncate(1 << 40)
        os.chown(foreign / rundir.MARKER, 1234, 1234)
        os.chown(foreign, 1234, 1234)
    done = clean('--yes')
    others = f'{killed.parent}: run directories of uid 1234: only they can remove them'
    assert (done.status, done.out.splitlines()[0], f'removed {killed}\n' in done.out) == (0, others, True), done.out
    assert clean().out == f'{others}\nNothing of yours is left behind.\n'


def unanswering(place, answers=False):
    """The site's target or state directory is a FUSE file system without a server."""

    def way(site, target, monkeypatch):
        monkeypatch.setattr('seatrial.model.ask.ANSWER_S', 0.5)
        return dead({'target': target, 'state': site.folder / 'state'}[place], answers)

    return way


def says(old, new):
    """Replaces a text in trial.yaml."""
    return lambda site, target, monkeypatch: site.change(old, new.format(target))


def stale(site, target, monkeypatch):
    fault = OSError(errno.ESTALE, os.strerror(errno.ESTALE))
    monkeypatch.setattr(orphans.os, 'listdir', mock.Mock(side_effect=fault))


def made(name):
    """A directory of this session that contains a directory of this name."""
    return lambda site, target, monkeypatch: (target / f'seatrial-{SESSION}-00000000' / name).mkdir(parents=True)


def broken(site, target, monkeypatch):
    run = rundir.create(str(target), SESSION, CASE, ('data',), ())
    run.close()
    Path(run.path_of(rundir.MARKER)).write_text('')


def slurm(has_queue=True, has_one_queue=True, asleep=False):
    """The site submits to a Slurm of this kind."""

    def way(site, target, monkeypatch):
        answers = {'submits_to_slurm': True, 'has_queue': has_queue, 'has_one_queue': has_one_queue}
        for name, answer in {**answers, 'jobs_of_sessions': []}.items():
            monkeypatch.setattr(f'seatrial.cli.clean.session_jobs.{name}', lambda site, answer=answer: answer)
        if asleep:
            away = mock.Mock(side_effect=QueueError('squeue sleeps'))
            monkeypatch.setattr('seatrial.cli.clean.session_jobs.jobs_of_sessions', away)

    return way


PATH = 'path: state/trials'
UNSEEN = {
    'gone': (says(PATH, 'path: /no/such/mount'), 'no such file or directory'),
    'hung': (unanswering('target'), 'does not answer within'),
    'disconnected': (unanswering('target', answers=True), 'not connected'),
    'stale': (stale, 'stale file handle'),
    'another type': (says('type: posix', 'type: nfs'), 'trial.yaml says type nfs, but its mount is'),
    'not mounted': (says(PATH, f'{PATH}, mount: {{}}'), 'nothing is mounted at'),
    'unmarked': (made('theirs'), f'it has no {rundir.MARKER}'),
    'marked by a directory': (made(rundir.MARKER), f'its {rundir.MARKER} is none: no regular file'),
    'broken': (broken, f'its {rundir.MARKER} is none'),
    'no state': (lambda site, *_: shutil.rmtree(site.folder / 'state'), 'sessions and locks are unknown'),
    'state hung': (unanswering('state'), 'sessions and locks are unknown'),
    'no locks': (lambda site, *_: (site.folder / 'state' / 'locks').write_text(''), 'locks are unknown'),
    'no answer of Slurm': (slurm(asleep=True), 'jobs are unknown: squeue sleeps'),
    'no squeue': (slurm(has_queue=False), 'jobs are unknown: squeue is not installed'),
    'several clusters': (slurm(has_one_queue=False), 'jobs of other clusters are unknown'),
}


@pytest.mark.parametrize(('way', 'reason'), UNSEEN.values(), ids=list(UNSEEN))
def test_what_cannot_be_looked_at_is_said_with_the_reason(clean, site, target, monkeypatch, way, reason):
    context = way(site, target, monkeypatch)
    with context if isinstance(context, contextlib.AbstractContextManager) else contextlib.nullcontext():
        shown, removing = clean(), clean('--yes')
    for done in (shown, removing):
        assert done.status == 13
        assert reason in done.out.lower() or reason in done.out
        assert 'left behind' not in done.out.replace('more may be left behind', '')
