"""`seatrial clean`: it shows what dead sessions have left, and removes that alone when it is told to."""

import os
import subprocess
import sys
import time

import pytest

from seatrial.job import lock, rundir

SESSION, CASE = '20261121T020638-9f3a1c', 'Objects/local:default/scratch/default/1n'
# A session that is killed while it holds its storage system and works in its run directory.
KILLED = """
import os, signal, sys
from seatrial.job import lock, rundir
state, target, session, case = sys.argv[1:]
lock.acquire(state, 'scratch', session)
run = rundir.create(target, session, case, ('data',))
with open(os.path.join(run.make('data'), 'data.00000000'), 'wb') as stream:
    stream.write(bytes(1 << 20))
os.kill(os.getpid(), signal.SIGKILL)
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
    line, mend = said.out.splitlines()
    assert said.status == 0
    assert line.startswith(f'{killed}: 1 MiB in 1 files, {CASE}, of ')
    assert line.endswith(': removable')
    assert mend == '1 directories and 0 locks can be removed: seatrial clean --yes'
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
