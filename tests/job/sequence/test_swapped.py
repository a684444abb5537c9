"""A run directory that is swapped for a copy whose links lead elsewhere: nothing outside of it changes."""

import contextlib
import ctypes
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from seatrial.check.staging import write_runner
from seatrial.job.directory import rundir
from seatrial.job.launch import processes
from stand_in import Altered

NOBODY, STRANGER = 65534, 65533  # whose session it is, and another user


def exchange(one, other):
    """renameat2(2) with RENAME_EXCHANGE: at no moment is there none of them."""
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), one)


def imitate(run, copy, victim):
    """A copy of a run directory, as far as a path can tell, whose data directories are those of a victim."""
    os.mkdir(copy)
    shutil.copy(os.path.join(run, rundir.MARKER), copy)
    for name in ('data', 'warmup'):
        os.symlink(victim, os.path.join(copy, name))


# What a stranger does who sees no more than the name of the run directory: swap it for a directory whose data
# directories are a victim's, and swap it back, at random moments and when a process begins, until standard input
# ends. Prints the number of tries and of swaps, and what kept it from more.
SWAPPER = f"""
import ctypes, os, random, select, sys, time
{inspect.getsource(exchange)}
run, copy, victim, rng, tries, swaps, why = *sys.argv[1:4], random.Random(int(sys.argv[4])), 0, 0, ''
def stopped():
    return bool(select.select([sys.stdin], [], [], rng.random() * 0.02)[0])
def processes():
    with open('/proc/loadavg') as stream:
        return stream.read().split()[-1]
while not os.path.exists(run) and not stopped():
    pass
while os.path.exists(run) and not stopped():
    tries += 1
    try:
        if not os.path.exists(copy):
            os.mkdir(copy)
            for name in ('data', 'warmup'):
                os.symlink(victim, os.path.join(copy, name))
        known, late = processes(), time.monotonic() + rng.choice((0, 0.2))
        while time.monotonic() < late and processes() == known:
            pass
        exchange(run, copy)
        time.sleep(rng.random() * 0.003)
        exchange(run, copy)
        swaps += 1
    except OSError as error:
        why = error.strerror
print(tries, swaps, why)
"""


def victim_in(lab):
    made = lab.base / 'shared' / 'victim'
    made.mkdir()
    for name in ('data.00000000', 'data.00000001'):
        (made / name).write_text('precious')
    return made


@pytest.fixture
def victim(lab):
    return str(victim_in(lab))


def test_an_engine_that_starts_while_it_is_swapped_works_in_the_right_one(lab, stub_fio, victim, monkeypatch):
    plan, start, copy = lab.plan(stub_fio()), subprocess.Popen, str(lab.base / 'copy')
    run = rundir.path_of(plan.target.path, plan.session, plan.case.name)
    before, swaps = lab.surroundings(), []

    def swapped(*arguments, **options):
        if not swaps:
            imitate(run, copy, victim)
        exchange(run, copy)
        swaps.append(arguments)
        try:
            return start(*arguments, **options)
        finally:
            exchange(run, copy)

    monkeypatch.setattr(processes, 'subprocess', Altered(subprocess, Popen=swapped))
    ran = lab.run(plan)
    assert lab.surroundings() == before
    assert (ran.end.reason, len(swaps)) == ('finished', len(ran.records.samples))
    assert all(sample.measurement for sample in ran.records.samples)


def test_one_that_is_swapped_while_an_engine_works_ends_the_session(lab, stub_fio, victim, monkeypatch):
    plan, start = lab.plan(stub_fio()), subprocess.Popen
    run = rundir.path_of(plan.target.path, plan.session, plan.case.name)
    before = lab.surroundings()

    def swapped(*arguments, **options):
        process = start(*arguments, **options)
        imitate(run, str(lab.base / 'copy'), victim)
        exchange(run, str(lab.base / 'copy'))
        return process

    monkeypatch.setattr(processes, 'subprocess', Altered(subprocess, Popen=swapped))
    ran = lab.run(plan)
    assert lab.surroundings() == before
    assert (ran.end.reason, list(ran.records.samples)) == ('refused', [])
    assert 'it was replaced by another' in ran.end.why


def begin(user, *argv, **more):
    """Begin this as a user who is in no other group."""
    return subprocess.Popen(argv, cwd='/', user=user, group=user, extra_groups=[], **more)


def runs_for_nobody(python):
    with contextlib.suppress(OSError):
        return begin(NOBODY, python, '-c', 'pass', stderr=subprocess.DEVNULL).wait() == 0
    return False


def give_to_nobody(*folders):
    for folder in folders:
        for file in (folder, *folder.rglob('*')):
            os.chown(file, NOBODY, NOBODY)


@pytest.fixture
def attacked(laboratory, make_stub_fio):
    """A session of nobody's while a stranger swaps its run directory: what it leaves, and what the stranger says."""
    if os.geteuid():
        pytest.skip('only root can begin processes of other users')
    python = next(filter(runs_for_nobody, (sys.executable, '/usr/bin/python3')), None)
    if python is None:
        pytest.skip('no Python here that the user nobody may run')
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield attacks_in(laboratory(Path(name)), python, make_stub_fio)


def attacks_in(lab, python, make_stub_fio):
    fio, zipapp, sessions = make_stub_fio(lab.base / 'stubs', python=python), write_runner(lab.base), []
    victim = victim_in(lab)
    give_to_nobody(lab.base / 'stubs', lab.state, victim)
    before = lab.surroundings()

    def attack(mode, opened=False):
        sessions.append(mode)
        plan = lab.plan(fio, check=f'Check{len(sessions)}')
        file = lab.write(plan)
        give_to_nobody(lab.state)
        run = rundir.path_of(plan.target.path, plan.session, plan.case.name)
        lab.target.chmod(mode)
        os.chown(lab.target, NOBODY if opened else 0, -1)
        argv = [python, '-c', SWAPPER, run, f'{run}.copy', str(victim), str(len(sessions))]
        pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'text': True}
        with begin(STRANGER, *argv, **pipes) as swapper:
            session = begin(NOBODY, python, '-sE', str(zipapp), 'run', file)
            while opened and session.poll() is None and not os.path.exists(run):
                time.sleep(0.01)
            if opened:
                lab.target.chmod(0o777)
            session.wait()
            tries, swaps, why = swapper.communicate('\n')[0].rstrip('\n').split(' ', 2)
        begin(NOBODY, python, '-sE', str(zipapp), 'remove', file).wait()
        lab.target.chmod(0o755)
        os.chown(lab.target, 0, -1)
        assert swapper.returncode == 0
        assert lab.surroundings() == before, (len(sessions), tries, swaps)
        return lab.ran(plan), int(tries), int(swaps), why

    return attack


def test_in_a_directory_with_the_sticky_bit_a_stranger_can_swap_nothing(attacked):
    ran, tries, swaps, why = attacked(0o1777)
    assert (ran.end.reason, swaps, why) == ('finished', 0, 'Operation not permitted')
    assert tries > 0 and ran.records.removal.left == ()


def test_in_one_that_is_open_to_strangers_nothing_is_even_made(attacked):
    ran, tries, swaps, why = attacked(0o777)
    assert ran.end.reason == 'refused' and ran.end.why.startswith('S4: ')
    assert (tries, swaps, why, ran.records.samples) == (0, 0, '', [])


@pytest.mark.parametrize('number', [5, pytest.param(200, marks=pytest.mark.long)])
def test_in_one_that_is_opened_after_the_check_swaps_change_nothing_outside(attacked, number):
    seen, done = 0, 0
    while done < number or not seen:
        ran, _, swaps, _ = attacked(0o755, opened=True)
        done += swaps
        seen += ran.end.reason == 'refused'
        assert seen or done < 50 * number
