"""`seatrial clean`: it shows what dead sessions have left, and removes that alone when it is told to."""

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from seatrial.job.directory import lock, rundir
from seatrial.scheduler.queue import QueueError
from seatrial.scheduler.session_jobs import SessionJob

SESSION, CASE = '20261121T020638-9f3a1c', 'Writes/local:default/scratch/default/1n'
# A session that is killed while it holds its storage system and works in its run directory.
KILLED = """
import os, signal, sys
from seatrial.job.directory import lock, rundir
state, target, session, case = sys.argv[1:]
lock.acquire(state, 'scratch', session)
run = rundir.create(target, session, case, ('data',))
with open(os.path.join(run.make('data'), 'data.00000000'), 'wb') as stream:
    stream.write(bytes(1 << 20))
os.kill(os.getpid(), signal.SIGKILL)
"""

LED = """
import sys
from seatrial.job.directory import orphans
for begun in (orphans.keep_heartbeat, orphans.become_leader):
    begun(*sys.argv[1:]).stop()
"""


@pytest.fixture
def target(site):
    target = site.folder / 'state' / 'trials'
    target.mkdir(parents=True)
    (target / 'precious').write_text('of somebody else')
    return target


@pytest.fixture
def killed(site, target):
    """The run directory that a killed session has left."""
    subprocess.run([sys.executable, '-c', KILLED, str(site.folder / 'state'), str(target), SESSION, CASE])
    return target / os.path.basename(rundir.path_of(str(target), SESSION, CASE))


@pytest.fixture
def clean(command, site):
    return lambda *arguments: command('clean', f'--site={site.folder}', *arguments)


def test_where_nothing_is_left_it_says_so(clean, target):
    said = clean()
    assert (said.status, said.out) == (0, 'Nothing is left behind.\n')


def test_what_a_killed_session_left_is_shown_and_stays(clean, killed):
    said = clean()
    line, remedy = said.out.splitlines()
    assert said.status == 0
    assert line.startswith(f'{killed}: 1 MiB in 1 file, {CASE}, of ')
    assert line.endswith(': removable')
    assert remedy == '1 directory and 0 locks can be removed: seatrial clean --yes'
    assert (killed / 'data' / 'data.00000000').exists()


def test_it_is_removed_with_yes_and_nothing_else_is(clean, killed, target):
    said = clean('--yes')
    assert said.status == 0
    assert f'removed {killed}' in said.out
    assert os.listdir(target) == ['precious']


def test_a_second_time_nothing_is_left(clean, killed, site):
    clean('--yes')
    for held in lock.list_locks(str(site.folder / 'state')):
        os.utime(held.path, (time.time() - lock.STALE_S - 1,) * 2)
    clean('--yes')
    assert clean('--yes').out == 'Nothing is left behind.\n'


def test_a_stale_lock_is_shown_with_its_holder_and_removed_with_yes(clean, killed, site):
    (held,) = lock.list_locks(str(site.folder / 'state'))
    os.utime(held.path, (time.time() - lock.STALE_S - 1,) * 2)
    assert f'stale lock: storage system scratch is held by session {SESSION}' in clean().out
    assert os.path.exists(held.path)
    assert 'removed the lock of scratch' in clean('--yes').out
    assert not os.path.exists(held.path)


def test_a_session_that_is_alive_is_shown_and_left(clean, target):
    run = rundir.create(str(target), SESSION, CASE, ('data',))
    said = clean('--yes')
    assert said.status == 0
    assert said.out.endswith(f': process {os.getpid()} on this host works in it\n')
    assert os.path.isdir(run.path)
    run.close()


def test_what_is_foreign_in_it_stays_and_is_named(clean, killed):
    (killed / 'notes').write_text('of somebody else')
    said = clean('--yes')
    assert said.status == 13
    assert f'left in {killed}: notes: the session did not make it' in said.out
    assert (killed / 'notes').exists()


def test_a_path_that_is_not_there_is_said_and_passed_over(clean, site):
    site.change('path: state/trials', 'path: /no/such/mount')
    said = clean()
    assert said.status == 0
    assert '/no/such/mount' in said.out


@pytest.fixture
def queue(monkeypatch):
    """Jobs that are in Slurm's queue, and those that were cancelled."""
    jobs = [SessionJob('12', SESSION, 'RUNNING', 'n1', None), SessionJob('9', SESSION, 'PENDING', '', 'x leads it')]
    cancelled = []

    def cancel(screen, site, jobs):
        cancelled.extend(job.id for job in jobs)
        return cancel.left

    cancel.left = []
    cancelled_by = SimpleNamespace(found=jobs, jobs=cancelled, cancel=cancel)
    monkeypatch.setattr('seatrial.cli.clean.has_queue', lambda site: True)
    monkeypatch.setattr('seatrial.cli.clean.jobs_of_sessions', lambda site: jobs)
    monkeypatch.setattr('seatrial.cli.clean.cancel', cancel)
    return cancelled_by


def test_jobs_of_sessions_are_shown_and_stay(clean, queue, target):
    said = clean()
    assert said.out.splitlines() == [
        f'job 9 of session {SESSION}, pending: x leads it',
        f'job 12 of session {SESSION}, running on n1: its session is dead: it can be cancelled',
        '1 job can be cancelled: seatrial clean --yes',
    ]
    assert queue.jobs == []


def test_jobs_are_in_the_order_of_their_numbers_also_arrays_and_heterogeneous_ones(clean, queue, target):
    queue.found[:] = [queue.found[0]._replace(id=number) for number in ('102', '12+1', '9_4', '12+0')]
    lines = clean().out.splitlines()
    assert [line.split()[1] for line in lines[:4]] == ['9_4', '12+1', '12+0', '102']


def test_with_yes_those_of_dead_sessions_are_cancelled(clean, queue, target):
    said = clean('--yes')
    assert (said.status, queue.jobs) == (0, ['12'])
    assert said.out.endswith('cancelled job 12\n')


def test_locks_that_cannot_be_listed_are_no_error_of_seatrials_own(clean, monkeypatch):
    def denied(state):
        raise lock.LockError(f'{state}/locks: Permission denied')

    monkeypatch.setattr(lock, 'list_locks', denied)
    said = clean()
    assert (said.status, 'locks: Permission denied' in said.err, 'report it' in said.err) == (64, True, False)


def test_a_job_that_does_not_end_is_no_success(clean, queue, target):
    queue.cancel.left = [SessionJob('12', SESSION, 'RUNNING', 'n1', None)]
    said = clean('--yes')
    assert (said.status, 'cancelled job' in said.out) == (13, False)


def test_a_slurm_that_does_not_answer_is_said_and_the_rest_is_shown(clean, queue, killed, monkeypatch):
    def away(site):
        raise QueueError('squeue sleeps')

    monkeypatch.setattr('seatrial.cli.clean.jobs_of_sessions', away)
    said = clean()
    assert said.out.startswith('jobs are unknown: squeue sleeps\n')
    assert str(killed) in said.out


@pytest.fixture
def interrupted(site, target, killed):
    """What a job on a node left, whose session was interrupted a moment ago."""
    marker = killed / rundir.MARKER
    data = json.loads(marker.read_text())
    data['maker'].update(host='n1', job='12')
    marker.write_text(json.dumps(data))
    argv = [sys.executable, '-c', LED, str(site.folder / 'state'), SESSION]
    subprocess.run(argv, check=True)
    for held in lock.list_locks(str(site.folder / 'state')):
        os.unlink(held.path)
    return killed


def test_what_an_interrupted_session_left_is_removed_at_once(clean, queue, interrupted):
    queue.found.clear()
    said = clean('--yes')
    assert (said.status, f'removed {interrupted}\n' in said.out) == (0, True), said.out


def test_it_is_removed_together_with_the_job_that_is_still_in_the_queue(clean, queue, interrupted):
    del queue.found[1:]
    said = clean('--yes')
    assert (said.status, queue.jobs, f'removed {interrupted}\n' in said.out) == (0, ['12'], True), said.out


def test_while_its_job_does_not_end_it_stays(clean, queue, interrupted):
    queue.cancel.left = queue.found[:1]
    said = clean('--yes')
    assert (said.status, interrupted.exists()) == (13, True)


def test_where_slurm_cannot_be_asked_it_is_said_when_to_come_again(clean, interrupted):
    said = clean('--yes')
    assert (said.status, interrupted.exists()) == (13, True)
    assert said.out.endswith('; if it stays silent it counts as dead in 15 min\n')


def test_where_no_partition_is_slurms_it_is_not_asked(clean, target, monkeypatch):
    monkeypatch.setattr('seatrial.cli.clean.jobs_of_sessions', None)
    assert clean().out == 'Nothing is left behind.\n'
