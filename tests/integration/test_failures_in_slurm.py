"""Failures around a session in a real Slurm: each ends with the right verdict and sentence, and nothing is left."""

import os
import re
import signal
from pathlib import Path

import pytest

from seatrial.job.sequence.recorder import records_in
from slurm_lab import WAIT_S, order, reframes_of, wait_for

pytestmark = [pytest.mark.long, pytest.mark.needs('sbatch', 'slurmctld', 'munge')]

INVALID, INCOMPLETE = 11, 13


@pytest.fixture
def site(slurm, hangs):
    """A site on the lab without accounting; no job of it is left, and no directory that `clean` does not list."""
    sites = []

    def make(*options, **settings):
        sites.append(slurm.site(hangs, *options, **settings))
        return sites[-1]

    yield make
    assert slurm.jobs() == []
    for local in sites:
        output = local.seatrial('clean').stdout
        assert [name for name in local.left() if name not in output] == []


def incomplete(ended):
    """The reason why the only case is INCOMPLETE, which is the same in the results, the terminal and JUnit."""
    assert (ended.status, ended.case['verdict']) == (INCOMPLETE, 'INCOMPLETE'), ended.output
    reason = ended.case['reasons'][0]
    assert reason in ended.output
    assert reason in ended.junit
    return reason


def measured(running):
    """The number of samples of measured launches."""
    return sum(record.get('stage') == 'measured' for record in running.recorded())


def test_a_job_is_cancelled_and_without_accounting_it_is_not_guessed_by_whom(site, slurm):
    running = site().begin()
    slurm.ask('scancel', running.measuring())
    reason = incomplete(running.ended())
    assert reason.startswith('T15: interrupted by SIGTERM; ')
    assert 'Slurm says: cancelled by somebody whom accounting does not name, after ' in reason


def test_all_nodes_are_drained_and_the_job_does_not_wait_for_ever(site, slurm):
    slurm.ask('scontrol', 'update', 'nodename=n[1-2]', 'state=drain', 'reason=trial')
    # A slurmctld that is busy has not looked at the job yet, and gives another reason or none.
    assert re.match(
        'T15: the job left no record; it waited in the queue for longer than the queue_limit of trial.yaml, 5 s; '
        'Slurm says: never started: (the nodes that it needs are down, drained or reserved|'
        'jobs of a higher priority came first|Slurm gives no reason); cancelled',
        incomplete(site(queue_limit='5s').run()),
    )


def test_the_slurmstepd_of_a_launch_is_killed_and_the_launch_ends_at_its_limit(site, slurm):
    """Slurm itself notices nothing: the step stays in its queue as running, and srun waits."""
    running = site(nodes=2, tasks=1, launcher='srun', launch_limit_s=10.0).begin()
    job = running.measuring()
    wait_for('the step runs', lambda: f'{job}.' in slurm.ask('squeue', '--steps', '--noheader', '--format=%i %N'))
    slurm.signal('KILL', 'n2:slurmstepd')
    ended = running.ended()
    assert (ended.status, ended.case['verdict']) == (INVALID, 'INVALID'), ended.output
    words = 'write@512KiB: INVALID: E2: it did not end within [0-9]+ s; it was ended'
    assert re.match(words, ended.case['reasons'][0])


def test_the_slurmstepd_of_the_batch_script_is_killed(site, slurm, hangs):
    """Slurm notices after three minutes. The case takes longer, as its figures differ, and the script goes on."""
    order(hangs, ('measured', {'seconds': 45.0, 'runtime_ms': [25000, 45000]}))
    local = site()
    running = local.begin()
    running.measuring()
    slurm.signal('KILL', 'n1:slurmstepd')
    words = 'T15: the job died: it left no end record; Slurm says: a node failed after [0-9]+ s: it is n1; '
    assert re.match(words, incomplete(running.ended(600.0)))
    wait_for('the runner has stopped', lambda: running.recorded()[-1].get('reason') == 'refused')
    assert 'the lock ' in running.recorded()[-1]['why']
    wait_for('it has removed its files', lambda: local.left() == [])


def test_a_job_comes_to_its_time_limit(site):
    """A minute is the least, and Slurm looks every half minute."""
    reason = incomplete(site('--time=1').run())
    assert re.search(r'Slurm says: timed out after [0-9]+ s, its time limit was 60 s', reason)


def test_munge_is_down_before_the_session(site, slurm):
    slurm.signal('KILL', 'munged')
    running = site().begin()
    wait_for('ReFrame has failed', lambda: (running.folder / 'reframe' / 'report.json').exists())
    slurm.up()
    reason = incomplete(running.ended())
    assert 'Slurm does not answer: munge does not serve this host: Failed to connect to ' in reason


def test_munge_goes_down_during_a_job_and_the_job_is_waited_for(site, slurm, hangs):
    order(hangs, ('measured', {'seconds': 3.0}))
    running = site().begin()
    running.measuring()
    slurm.signal('KILL', 'munged')
    wait_for('it measures on', lambda: measured(running) >= 2)
    slurm.up()
    ended = running.ended()
    assert (ended.status, ended.case['verdict']) == (0, 'MEASURED'), ended.output


@pytest.fixture
def without_sacct(tmp_path):
    """A PATH that has everything but sacct."""
    folder = tmp_path / 'bin'
    folder.mkdir()
    for place in reversed(os.environ['PATH'].split(os.pathsep)):
        for program in Path(place).glob('*'):
            if program.name != 'sacct':
                (folder / program.name).unlink(missing_ok=True)
                (folder / program.name).symlink_to(program)
    return str(folder)


def test_without_sacct_reframes_scheduler_of_that_kind_gives_up_and_its_job_is_cancelled(site, without_sacct):
    ended = site(path=without_sacct, scheduler='slurm').run()
    assert re.search(r'cancelled at the end of its session: job [0-9]+ of session \S+, ', ended.output)
    reason = incomplete(ended)
    missing = "file not found error: [Errno 2] No such file or directory: 'sacct'; "
    assert f'ReFrame says: run session stopped: {missing}' in reason


def test_a_second_session_on_the_same_file_system_measures_nothing(site):
    shared = site()
    first = shared.begin()
    first.measuring()
    second = shared.run()
    words = f'storage system scratch is held by session {first.folder.name}'
    assert (second.status, words in second.output) == (INCOMPLETE, True), second.output
    plain = shared.begin_plain()
    output, _ = plain.communicate(timeout=WAIT_S)
    assert (plain.returncode, 'Reason: sanity error: INCOMPLETE: T15: ' in output) == (1, True), output
    files = shared.state.glob('sessions/*/cases/*/samples.jsonl')
    (record,) = [records_in(str(file.parent)) for file in files if first.folder not in file.parents]
    assert words in next(finding.sentence for finding in record.start.findings if finding.rule == 'P6')
    assert (record.end.reason, list(record.samples)) == ('refused', [])
    assert first.process.poll() is None
    first.process.send_signal(signal.SIGTERM)
    incomplete(first.ended())


def test_a_session_that_is_told_to_stop_leaves_no_job_and_clean_leaves_a_living_one_alone(site, slurm):
    local = site()
    running = local.begin()
    job = running.measuring()
    where = f'running on n1: process {running.process.pid} on this '
    assert f'job {job} of session {running.folder.name}, {where}' in local.seatrial('clean', '--yes').stdout
    assert slurm.jobs() == [job]
    running.process.send_signal(signal.SIGINT)
    ended = running.ended()
    assert slurm.jobs() == []
    assert incomplete(ended).startswith('T15: interrupted by SIGTERM; ')
    assert local.left() != []
    done = local.seatrial('clean', '--yes')
    assert (done.returncode, local.left()) == (0, []), done.stdout + done.stderr


def test_every_signal_is_answered_while_slurmctld_is_stopped(site, slurm):
    running = site().begin()
    running.measuring()
    slurm.signal('STOP', 'slurmctld')
    answer = 'SIGINT: no more launches; ReFrame has 90 s to end its job, and Slurm 6 min to release it\n'
    for count in (1, 2, 3):
        running.process.send_signal(signal.SIGINT)
        wait_for('it is answered', lambda count=count: running.output.count(answer) == count, lambda: running.output)
    slurm.signal('CONT', 'slurmctld')
    incomplete(running.ended())


def test_a_session_without_a_reader_whose_reframe_is_killed_leaves_no_job(site):
    reading, writing = os.pipe()
    running = site().begin(stdout=writing)
    os.close(writing)
    running.measuring()
    os.close(reading)
    for pid in reframes_of(running.folder):
        os.kill(pid, signal.SIGKILL)
    ended = running.ended()
    assert (ended.status, ended.case['verdict'], ended.output) == (INCOMPLETE, 'INCOMPLETE', '')


def test_reframe_begins_no_case_of_a_session_that_has_died(site, hangs):
    order(hangs, ('measured', {'seconds': 1.0}))
    running = site(checks=2).begin()
    running.measuring()
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait(WAIT_S)
    wait_for('ReFrame ends', lambda: not reframes_of(running.folder))
    assert len(list(running.folder.glob('cases/*/samples.jsonl'))) == 1
