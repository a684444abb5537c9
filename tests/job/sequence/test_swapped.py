"""A run directory that is swapped for a copy whose links lead elsewhere: nothing outside of it changes."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.job.directory import rundir
from seatrial.job.launch import processes

SWAPS = 200
# Swaps two directories and swaps them back, at random moments, until its standard input ends; prints how often.
SWAPPER = """
import os, random, select, sys, time
sys.path.insert(0, sys.argv[1])
from test_swapped import exchange, imitate
run, copy, victim, rng, swaps = *sys.argv[2:5], random.Random(int(sys.argv[5])), 0
def stopped():
    return bool(select.select([sys.stdin], [], [], rng.random() * 0.02)[0])
while not os.path.exists(os.path.join(run, 'data')) and not stopped():
    pass
while not stopped():
    if not swaps:
        imitate(run, copy, victim)
    exchange(run, copy)
    time.sleep(rng.random() * 0.003)
    exchange(run, copy)
    swaps += 1
print(swaps)
"""


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


@pytest.fixture
def victim(lab):
    made = lab.base / 'shared' / 'victim'
    made.mkdir()
    for name in ('data.00000000', 'data.00000001'):
        (made / name).write_text('precious')
    return str(made)


def test_an_engine_that_starts_while_it_is_swapped_works_in_the_right_one(lab, stub_fio, victim, monkeypatch):
    plan, start, copy = lab.plan(stub_fio()), processes._process, str(lab.base / 'copy')
    run = rundir.path_of(plan.target.path, plan.session, plan.case.name)
    before, swaps = lab.surroundings(), []

    def swapped(*arguments):
        if not swaps:
            imitate(run, copy, victim)
        exchange(run, copy)
        swaps.append(arguments)
        try:
            return start(*arguments)
        finally:
            exchange(run, copy)

    monkeypatch.setattr(processes, '_process', swapped)
    ran = lab.run(plan)
    assert lab.surroundings() == before
    assert (ran.end.reason, len(swaps)) == ('finished', len(ran.records.samples))
    assert all(sample.measurement for sample in ran.records.samples)


def test_one_that_is_swapped_while_an_engine_works_ends_the_session(lab, stub_fio, victim, monkeypatch):
    plan, start = lab.plan(stub_fio()), processes._process
    run = rundir.path_of(plan.target.path, plan.session, plan.case.name)
    before = lab.surroundings()

    def swapped(*arguments):
        process = start(*arguments)
        imitate(run, str(lab.base / 'copy'), victim)
        exchange(run, str(lab.base / 'copy'))
        return process

    monkeypatch.setattr(processes, '_process', swapped)
    ran = lab.run(plan)
    assert lab.surroundings() == before
    assert (ran.end.reason, list(ran.records.samples)) == ('refused', [])
    assert 'it was replaced by another' in ran.end.why


@pytest.mark.long
def test_swaps_at_random_moments_change_nothing_outside(lab, stub_fio, victim):
    fio, before, swaps, sessions = stub_fio(), lab.surroundings(), 0, 0
    while swaps < SWAPS:
        sessions += 1
        plan = lab.plan(fio, check=f'Check{sessions}')
        run = rundir.path_of(plan.target.path, plan.session, plan.case.name)
        argv = [sys.executable, '-c', SWAPPER, str(Path(__file__).parent), run, str(lab.base / f'copy{sessions}')]
        swapper = subprocess.Popen(
            [*argv, victim, str(sessions)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            lab.run(plan)
        finally:
            said, _ = swapper.communicate('\n')
        assert swapper.returncode == 0
        swaps += int(said)
        assert lab.surroundings() == before, (sessions, swaps)
    assert sessions > 1
