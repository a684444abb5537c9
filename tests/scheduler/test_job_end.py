"""When Slurm is asked about a job, and what is kept of its answer."""

import json
import os
from pathlib import Path

import pytest

from builders import plan_of, records_of
from seatrial.job.sequence.recorder import Recorder, RecordReader, records_in
from seatrial.judge.case import judge_case
from seatrial.judge.verdict import Verdict
from seatrial.scheduler import job_end
from seatrial.scheduler.job_end import (
    GRACE_S,
    SILENT_S,
    TAIL_BYTES,
    Patience,
    Wait,
    ask_job_state,
    tail,
)
from seatrial.scheduler.job_state import NO_ANSWER, NO_SUCH_JOB, SILENT, UNKNOWN, WAITING, JobState

CANCELLED = JobState('CANCELLED', 0, 0, by='alice', nodes='n1', elapsed_s=12)
STATES = {
    'cancelled by alice after 12 s': CANCELLED,
    'failed with exit code 127 after 0 s': JobState('FAILED', 127, 0, elapsed_s=0),
    'completed with exit code 0 after 3 s': JobState('COMPLETED', 0, 0, elapsed_s=3),
    'timed out after 75 s, its time limit was 60 s': JobState('TIMEOUT', elapsed_s=75, limit_s=60),
    'node n2 failed after 7 s': JobState('NODE_FAIL', node='n2', elapsed_s=7),
    'ran out of memory after 7 s': JobState('OUT_OF_MEMORY', elapsed_s=7),
    'preempted by another job after 7 s': JobState('PREEMPTED', elapsed_s=7),
    'Slurm does not know the job': JobState(NO_SUCH_JOB),
    'Slurm does not answer: it sleeps': JobState(SILENT, reason='it sleeps'),
    "Slurm's answer about the job cannot be parsed": JobState(UNKNOWN),
}
PLAN = plan_of()
NO_PATIENCE = Patience(0.0, 0.0)


@pytest.fixture
def slurm(monkeypatch):
    """Let Slurm answer with a state; the jobs that were asked for, with their outputs."""
    asked = []

    def play(answer=CANCELLED):
        monkeypatch.setattr(job_end, 'job_state_of', lambda job, output: (asked.append((job, output)), answer)[1])
        return asked

    return play


def leave(folder, end):
    recorder, records = Recorder(str(folder)), records_of(PLAN, 6 * [100.0])
    recorder.write(records.start)
    if end:
        recorder.write(records.end._replace(reason=end, why='because of x'))
    recorder.close()


@pytest.mark.parametrize('words', STATES)
def test_a_job_that_died_is_judged_with_what_slurm_says(slurm, tmp_path, words):
    slurm(STATES[words])
    leave(tmp_path, end=None)
    ask_job_state(RecordReader(str(tmp_path)), 'squeue', '12', tmp_path / 'none', NO_PATIENCE)
    result = judge_case(PLAN, records_in(str(tmp_path)))
    assert result.verdict is Verdict.INCOMPLETE
    says = '' if STATES[words].state in NO_ANSWER else 'Slurm says: '
    assert result.reasons[0].startswith(f'T15: the job died: it left no end record; {says}{words}; see ')


@pytest.mark.parametrize('end', ['finished', 'refused', 'failed'])
def test_of_a_job_that_came_to_its_own_end_nobody_is_asked(slurm, tmp_path, end):
    asked = slurm()
    leave(tmp_path, end)
    assert ask_job_state(RecordReader(str(tmp_path)), 'squeue', '12', tmp_path / 'none', NO_PATIENCE) is None
    assert asked == [] and not (tmp_path / 'job.json').exists()


def test_of_an_interrupted_job_slurm_is_asked_who_ended_it(slurm, tmp_path):
    asked = slurm()
    leave(tmp_path, 'interrupted')
    ask_job_state(RecordReader(str(tmp_path)), 'squeue', '12', tmp_path / 'none', NO_PATIENCE)
    assert asked == [('12', '')]
    assert json.loads((tmp_path / 'job.json').read_text())['job'] == '12'


@pytest.mark.parametrize(('scheduler', 'job'), [('local', '12'), ('ssh', '12'), ('squeue', None)])
def test_without_a_job_of_slurm_nobody_is_asked(slurm, tmp_path, scheduler, job):
    asked = slurm()
    ask_job_state(RecordReader(str(tmp_path)), scheduler, job, tmp_path / 'none', NO_PATIENCE)
    assert asked == []


@pytest.fixture
def answers(monkeypatch):
    """Let Slurm give these answers one after the other, and time pass by a minute with each."""

    def play(*states, at_once=lambda number: None):
        clock = iter(range(10**6))
        given = []

        def job_state_of(job, output):
            at_once(len(given))
            given.append(states[min(len(given), len(states) - 1)])
            return given[-1]

        monkeypatch.setattr(job_end, 'job_state_of', job_state_of)
        monkeypatch.setattr(job_end.time, 'sleep', lambda seconds: None)
        monkeypatch.setattr(job_end.time, 'time', lambda: 1_800_000_000.0 + 60.0 * next(clock))
        return given

    return play


GOING_ON = [
    JobState(SILENT, reason='it sleeps'),
    JobState('RUNNING'),
    JobState('COMPLETING'),
    JobState('PENDING'),
]


@pytest.mark.parametrize('going_on', GOING_ON)
def test_the_end_of_a_job_that_may_go_on_is_waited_for(answers, tmp_path, going_on):
    given = answers(going_on, going_on, CANCELLED)
    patience = Patience(3600.0, 3600.0)
    assert ask_job_state(RecordReader(str(tmp_path)), 'squeue', '12', tmp_path / 'none', patience) == CANCELLED
    assert len(given) == 3
    assert records_in(str(tmp_path)).job_state == 'Slurm says: cancelled by alice after 12 s'


def test_a_job_that_comes_to_its_own_end_meanwhile_has_no_state(answers, tmp_path):
    answers(GOING_ON[0], at_once=lambda number: number == 2 and leave(tmp_path, 'finished'))
    assert ask_job_state(RecordReader(str(tmp_path)), 'squeue', '12', tmp_path / 'none', Patience(1e10, 1e10)) is None
    assert not (tmp_path / 'job.json').exists()


@pytest.mark.parametrize('going_on', GOING_ON)
def test_it_is_not_waited_for_longer_than_it_may_last(answers, tmp_path, going_on):
    pending = going_on.state == 'PENDING'
    given = answers(going_on)
    patience = Patience(1200.0, 0.0) if pending else Patience(0.0, 1200.0)
    assert ask_job_state(RecordReader(str(tmp_path)), 'squeue', '12', tmp_path / 'none', patience) == going_on
    assert 1 < len(given) <= 21


def test_of_a_job_that_has_begun_the_time_since_then_counts(answers, tmp_path):
    recorder = Recorder(str(tmp_path))
    recorder.write(records_of(PLAN, []).start._replace(started=1_800_000_000.0 - 3600.0))
    recorder.close()
    given = answers(JobState('RUNNING'))
    ask_job_state(RecordReader(str(tmp_path)), 'squeue', '12', tmp_path / 'none', Patience(0.0, 3600.0))
    assert len(given) == 1


@pytest.mark.parametrize(
    'working', [False, True], ids=['a job of which nothing is heard', 'a job that writes records']
)
def test_a_slurm_that_is_gone_for_good_is_waited_for_while_the_job_writes(answers, tmp_path, working):
    def write(number):
        if working and number <= 100:
            (tmp_path / 'telemetry.jsonl').touch()
            os.utime(tmp_path / 'telemetry.jsonl', (0.0, 1_800_000_000.0 + 60.0 * number))

    given = answers(GOING_ON[0], at_once=write)
    ask_job_state(RecordReader(str(tmp_path)), 'squeue', '12', tmp_path / 'none', Patience(1e6, 1e6))
    quiet = SILENT_S / 60
    assert quiet <= len(given) - (100 if working else 0) <= quiet + 2


class Scheduler:
    """As ReFrame's: a job has the next of these states with each poll, and has ended once it is COMPLETED."""

    def __init__(self, states):
        self.states, self.polls = states, 0

    def poll(self, job):
        self.polls += 1
        job.state = self.states[min(self.polls, len(self.states) - 1)]

    def finished(self, job):
        return job.state == 'COMPLETED'


class Job:
    """As ReFrame's, submitted now."""

    def __init__(self, *states):
        self.scheduler, self.state, self.submit_time = Scheduler(states), states[0], job_end.time.time()

    def finished(self):
        return self.scheduler.finished(self)


@pytest.fixture
def minutes(monkeypatch):
    """Let time pass by a minute with each poll."""
    clock = [1_800_000_000.0]
    monkeypatch.setattr(job_end.time, 'sleep', lambda seconds: clock.append(clock[-1] + 60.0))
    monkeypatch.setattr(job_end.time, 'time', lambda: clock[-1])


def waited(job, queue_s, job_s):
    """The wait for a job, which is over, and how often Slurm was asked."""
    wait = Wait(job, Patience(queue_s, job_s))
    job.wait()
    return wait, job.scheduler.polls


@pytest.mark.parametrize('state', ['COMPLETED', 'PREEMPTED', 'REVOKED'])
def test_reframe_waits_for_a_job_until_it_has_ended(minutes, state):
    wait, polls = waited(Job('PENDING', 'RUNNING', state), 600.0, 600.0)
    assert (polls, wait.passed, wait.overdue) == (2, '', False)


@pytest.mark.parametrize('state', ['RUNNING', 'SUSPENDED', 'STOPPED', 'STAGE_OUT', 'EXPEDITING', None])
def test_reframe_waits_for_no_job_beyond_its_limits(minutes, state):
    wait, polls = waited(Job(state), 300.0, 300.0)
    assert (polls, wait.overdue) == ((600.0 + GRACE_S) / 60.0, True)


@pytest.mark.parametrize('state', WAITING)
@pytest.mark.parametrize('before', [(), ('RUNNING',)], ids=['submitted', 'requeued'])
def test_a_job_waits_in_the_queue_no_longer_than_the_queue_limit(minutes, state, before):
    wait, polls = waited(Job(*before, state), 300.0, 1e6)
    assert (polls, wait.overdue) == (300.0 / 60.0, False)
    assert wait.passed == 'it waited in the queue for longer than the queue_limit of trial.yaml, 300 s'


def test_what_is_known_besides_comes_first(slurm, tmp_path):
    slurm()
    ask_job_state(RecordReader(str(tmp_path)), 'squeue', '12', tmp_path / 'none', NO_PATIENCE, 'it waited too long')
    assert records_in(str(tmp_path)).job_state == 'it waited too long; Slurm says: cancelled by alice after 12 s'


def test_of_a_long_output_the_end_counts(tmp_path):
    file = Path(tmp_path / 'output')
    file.write_text('a' * TAIL_BYTES + 'the end')
    assert tail(file).endswith('the end') and len(tail(file)) == TAIL_BYTES


def test_a_state_that_is_no_json_is_none(tmp_path):
    (tmp_path / 'job.json').write_text('{"job_state": ')
    assert records_in(str(tmp_path)).job_state == ''
