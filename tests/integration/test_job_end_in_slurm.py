"""Jobs that do not end by themselves, in a real Slurm with accounting, which knows who cancelled them."""

import re

import pytest

from slurm_lab import order, wait_for

pytestmark = pytest.mark.needs('sbatch', 'slurmctld', 'munge')

INCOMPLETE = 13


@pytest.fixture
def fio(make_stub_fio, tmp_path):
    """A stand-in whose measured launches hang until their job ends."""
    return make_stub_fio(tmp_path / 'stubs', ('measured', {'seconds': 600.0}))


@pytest.fixture
def slurm(accounting_slurm):
    yield accounting_slurm
    accounting_slurm.heal()


def reason(ended):
    """Why the only case is INCOMPLETE."""
    assert (ended.status, ended.case['verdict']) == (INCOMPLETE, 'INCOMPLETE'), ended.output
    return ended.case['reasons'][0]


@pytest.mark.parametrize('scheduler', ['squeue', 'slurm'])
def test_a_job_that_is_cancelled_is_incomplete_and_it_is_said_by_whom(slurm, fio, scheduler):
    running = slurm.site(fio, scheduler=scheduler).begin()
    slurm.ask('scancel', running.measuring())
    who = slurm.ask('id', '-un').strip()
    said = reason(running.ended())
    assert said.startswith('T15: interrupted by SIGTERM; ')
    assert f'; Slurm says: cancelled by {who} after ' in said
    assert slurm.jobs() == []


def test_a_job_whose_engine_heeds_no_signal_is_incomplete_and_it_is_said_by_whom(slurm, fio):
    order(fio, ('measured', {'fault': 'hang-hard'}))
    running = slurm.site(fio).begin()
    slurm.ask('scancel', running.measuring())
    who = slurm.ask('id', '-un').strip()
    assert f'; Slurm says: cancelled by {who} after ' in reason(running.ended())
    assert slurm.jobs() == []


def test_a_job_whose_node_fails_is_incomplete_and_says_which(slurm, fio):
    running = slurm.site(fio).begin()
    running.measuring()
    slurm.ask('scontrol', 'update', 'nodename=n1', 'state=down', 'reason=trial')
    said = reason(running.ended())
    assert 'Slurm says: a node failed after ' in said
    assert ': it is n1; ' in said
    assert slurm.jobs() == []


def test_a_job_that_slurm_begins_anew_is_incomplete_and_says_so(slurm, fio):
    running = slurm.site(fio, '--requeue').begin()
    job = running.measuring()
    slurm.ask('scontrol', 'requeue', job)
    wait_for(
        'it waits again', lambda: slurm.ask('squeue', '--noheader', f'--jobs={job}', '--format=%T') == 'PENDING\n'
    )
    slurm.ask('scontrol', 'update', f'JobId={job}', 'StartTime=now')
    said = reason(running.ended())
    assert re.search('; Slurm says: .*, after 1 requeue', said), said
    assert slurm.jobs() == []


def test_a_job_that_sbatch_refuses_is_incomplete_and_says_why(slurm, fio):
    assert reason(slurm.site(fio, '--partition=none').run()).startswith(
        'T15: the job left no record; Slurm says: never started: sbatch refused it: '
        'Invalid partition name specified (no such partition)'
    )
    assert slurm.jobs() == []
