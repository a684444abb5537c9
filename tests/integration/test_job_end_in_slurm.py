"""Jobs that do not end by themselves, in a real Slurm with accounting, which knows who cancelled them."""

import re
import time

import pytest

from slurm_lab import WAIT_S, order, wait_for

pytestmark = pytest.mark.needs('sbatch', 'slurmctld', 'munge')

INCOMPLETE = 13
# A job that preempts all others.
URGENT = ('sbatch', '--parsable', '--qos=urgent', '--nodes=2', '--wrap=sleep 600', '--output=/dev/null')


@pytest.fixture
def slurm(accounting_slurm):
    yield accounting_slurm
    accounting_slurm.heal()


def reason(ended):
    """The reason why the only case is INCOMPLETE."""
    assert (ended.status, ended.case['verdict']) == (INCOMPLETE, 'INCOMPLETE'), ended.output
    return ended.case['reasons'][0]


@pytest.mark.parametrize('scheduler', [pytest.param('squeue', marks=pytest.mark.long), 'slurm'])
def test_a_job_that_is_cancelled_is_incomplete_and_it_is_said_by_whom(slurm, hangs, scheduler):
    running = slurm.site(hangs, scheduler=scheduler).begin()
    slurm.ask('scancel', running.measuring())
    who = slurm.ask('id', '-un').strip()
    why = reason(running.ended())
    assert why.startswith('T15: interrupted by SIGTERM; ')
    assert f'; Slurm says: cancelled by {who} after ' in why
    assert slurm.jobs() == []


@pytest.mark.long
def test_a_job_whose_node_fails_is_incomplete_and_says_which(slurm, hangs):
    running = slurm.site(hangs).begin()
    running.measuring()
    slurm.ask('scontrol', 'update', 'nodename=n1', 'state=down', 'reason=trial')
    why = reason(running.ended())
    assert 'Slurm says: a node failed after ' in why
    assert ': it is n1; ' in why
    assert slurm.jobs() == []


@pytest.mark.long
@pytest.mark.parametrize('scheduler', ['squeue', 'slurm'])
def test_a_job_that_is_preempted_is_incomplete_and_says_so(slurm, hangs, scheduler):
    running = slurm.site(hangs, scheduler=scheduler).begin()
    running.measuring()
    urgent = slurm.ask(*URGENT)
    assert 'Slurm says: preempted by another job after ' in reason(running.ended())
    assert slurm.jobs() == [urgent.strip()]


@pytest.mark.long
def test_plain_reframe_ends_too_once_its_job_is_preempted(slurm, hangs):
    local = slurm.site(hangs, scheduler='slurm')
    plain = local.begin_plain()
    wait_for('it measures', lambda: list(local.state.glob('sessions/*/cases/*/raw/*measured*.fio')))
    urgent = slurm.ask(*URGENT)
    output, _ = plain.communicate(timeout=WAIT_S)
    assert plain.returncode == 1
    assert re.search('INCOMPLETE: T15: .*; Slurm says: preempted by another job after ', output), output
    wait_for('the preempted job has gone', lambda: slurm.jobs() == [urgent.strip()])


@pytest.mark.long
def test_a_job_that_is_suspended_after_its_begin_does_not_wait_in_the_queue(slurm, hangs):
    order(hangs, ('measured', {'seconds': 0.5}))
    running = slurm.site(hangs, queue_limit='5s').begin()
    job = running.measuring()
    slurm.ask('scontrol', 'suspend', job)
    time.sleep(8.0)  # longer than the queue_limit, and for several questions of ReFrame
    slurm.ask('scontrol', 'resume', job)
    ended = running.ended()
    assert (ended.case['verdict'] == 'INCOMPLETE', ended.output.count('longer than the queue_limit')) == (False, 0), (
        ended.output
    )


@pytest.mark.long
def test_a_requeued_job_waits_no_longer_than_the_queue_limit(slurm, hangs):
    """Slurm lets a job that was requeued wait for two minutes before it may begin again."""
    running = slurm.site(hangs, '--requeue', queue_limit='15s').begin()
    slurm.ask('scontrol', 'requeue', running.measuring())
    why = reason(running.ended())
    assert '; it waited in the queue for longer than the queue_limit of trial.yaml, 15 s; ' in why
    assert 'Slurm says: requeued and not started again: ' in why
    assert slurm.jobs() == []


@pytest.mark.long
def test_a_job_that_slurm_begins_anew_is_incomplete_and_says_so(slurm, hangs):
    running = slurm.site(hangs, '--requeue').begin()
    job = running.measuring()
    slurm.ask('scontrol', 'requeue', job)
    wait_for(
        'it waits again', lambda: slurm.ask('squeue', '--noheader', f'--jobs={job}', '--format=%T') == 'PENDING\n'
    )
    slurm.ask('scontrol', 'update', f'JobId={job}', 'StartTime=now')
    why = reason(running.ended())
    assert re.search('; Slurm says: .*, after 1 requeue', why), why
    assert slurm.jobs() == []


def test_a_job_that_sbatch_refuses_is_incomplete_and_says_why(slurm, hangs):
    ended = slurm.site(hangs, '--partition=none').run()
    before = 'T15: the job left no record; Slurm says: never started: sbatch refused it: '
    assert reason(ended).startswith(f'{before}Invalid partition name specified (no such partition)')
    assert slurm.jobs() == []


def test_after_a_crash_clean_cancels_the_sessions_job_and_nobody_elses(slurm, hangs):
    local = slurm.site(hangs)
    running = local.begin()
    job = running.measuring()
    running.kill()
    others = [
        slurm.ask('sbatch', '--parsable', f'--comment={comment}', '--wrap=sleep 600', '--output=/dev/null').strip()
        for comment in ('seatrial:20200101T000000-abcdef', 'nobody', f'not-seatrial:{running.folder.name}')
    ]
    shown = local.seatrial('clean')
    assert shown.returncode == 0, shown.stderr
    jobs = [line for line in shown.stdout.splitlines() if line.startswith('job ')]
    session = running.folder.name
    assert jobs == [f'job {job} of session {session}, running on n1: its session is dead: it can be cancelled']
    assert '1 job can be cancelled: seatrial clean --yes' in shown.stdout
    assert sorted(slurm.jobs()) == sorted([job, *others])
    done = local.seatrial('clean', '--yes')
    assert (done.returncode, f'cancelled job {job}\n' in done.stdout) == (0, True), done.stdout + done.stderr
    assert sorted(slurm.jobs()) == sorted(others)
