"""Ends of jobs that did not end by themselves: questions to Slurm, reasons in ReFrame's report, and states kept."""

import json
import os

import pytest

from builders import plan_of, records_of, start_of
from seatrial.job.sequence.recorder import Recorder, RecordReader, records_in, write_job_state
from seatrial.judge.case import judge_case
from seatrial.judge.verdict import Verdict
from seatrial.model.record import SAMPLES, line_of
from seatrial.scheduler import job_end
from seatrial.scheduler.job_end import (
    GRACE_S,
    SILENT_S,
    TAIL_BYTES,
    Patience,
    Wait,
    ask_job_state,
    complete_job_states,
    tail,
)
from seatrial.scheduler.job_state import NO_ANSWER, NO_SUCH_JOB, SILENT, UNKNOWN, WAITING, JobState

CANCELLED = JobState('CANCELLED', 0, 0, by='alice', nodes='n1', elapsed_s=12)
STATES = {
    'cancelled by alice after 12 s': CANCELLED,
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


@pytest.fixture
def ask(tmp_path):
    """ask_job_state() of the job that has its record in the test's folder."""

    def of(scheduler='squeue', job='12', patience=NO_PATIENCE, **known):
        return ask_job_state(RecordReader(str(tmp_path)), scheduler, job, tmp_path / 'none', patience, **known)

    return of


def leave(folder, end):
    recorder, records = Recorder(str(folder)), records_of(PLAN, 6 * [100.0])
    recorder.write(records.start)
    if end:
        recorder.write(records.end._replace(reason=end, why='because of x'))
    recorder.close()


@pytest.mark.parametrize('words', STATES)
def test_a_job_that_died_is_judged_with_what_slurm_says(slurm, ask, tmp_path, words):
    slurm(STATES[words])
    leave(tmp_path, end=None)
    ask()
    result = judge_case(PLAN, records_in(str(tmp_path)))
    assert result.verdict is Verdict.INCOMPLETE
    says = '' if STATES[words].state in NO_ANSWER else 'Slurm says: '
    assert result.reasons[0].startswith(f'T15: the job died: it left no end record; {says}{words}; see ')


@pytest.mark.parametrize('end', ['finished', 'refused', 'failed'])
def test_of_a_job_that_came_to_its_own_end_nobody_is_asked(slurm, ask, tmp_path, end):
    asked = slurm()
    leave(tmp_path, end)
    assert ask() is None
    assert asked == [] and not (tmp_path / 'job.json').exists()


def test_of_an_interrupted_job_slurm_is_asked_who_ended_it(slurm, ask, tmp_path):
    asked = slurm()
    leave(tmp_path, 'interrupted')
    ask()
    assert asked == [('12', '')]
    assert json.loads((tmp_path / 'job.json').read_text())['job'] == '12'


@pytest.mark.parametrize(('scheduler', 'job'), [('local', '12'), ('ssh', '12'), ('squeue', None)])
def test_without_a_job_of_slurm_nobody_is_asked(slurm, ask, scheduler, job):
    asked = slurm()
    ask(scheduler, job)
    assert asked == []


@pytest.fixture
def answers(monkeypatch):
    """Makes Slurm give these answers in turn; time passes by a minute with every answer."""

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


GOING_ON = [JobState(SILENT, reason='it sleeps'), JobState('RUNNING'), JobState('COMPLETING'), JobState('PENDING')]


@pytest.mark.parametrize('going_on', GOING_ON)
def test_the_end_of_a_job_that_may_go_on_is_waited_for(answers, ask, tmp_path, going_on):
    given = answers(going_on, going_on, CANCELLED)
    assert ask(patience=Patience(3600.0, 3600.0)) == CANCELLED
    assert len(given) == 3
    assert records_in(str(tmp_path)).job_state == 'Slurm says: cancelled by alice after 12 s'


def test_a_job_that_comes_to_its_own_end_meanwhile_has_no_state(answers, ask, tmp_path):
    answers(GOING_ON[0], at_once=lambda number: number == 2 and leave(tmp_path, 'finished'))
    assert ask(patience=Patience(1e10, 1e10)) is None
    assert not (tmp_path / 'job.json').exists()


@pytest.mark.parametrize('going_on', GOING_ON)
def test_a_job_is_not_waited_for_beyond_its_limits(answers, ask, going_on):
    given = answers(going_on)
    patience = Patience(1200.0, 0.0) if going_on.state == 'PENDING' else Patience(0.0, 1200.0)
    assert ask(patience=patience) == going_on
    assert 1 < len(given) <= 21


def test_of_a_job_that_has_begun_the_time_since_then_counts(answers, ask, tmp_path):
    recorder = Recorder(str(tmp_path))
    recorder.write(records_of(PLAN, []).start._replace(started=1_800_000_000.0 - 3600.0))
    recorder.close()
    given = answers(JobState('RUNNING'))
    ask(patience=Patience(0.0, 3600.0))
    assert len(given) == 1


@pytest.mark.parametrize('working', [False, True], ids=['nothing is heard of the job', 'it writes records'])
def test_a_slurm_that_is_gone_for_good_is_waited_for_while_the_job_writes(answers, ask, tmp_path, working):
    def write(number):
        if working and number <= 100:
            (tmp_path / 'telemetry.jsonl').touch()
            os.utime(tmp_path / 'telemetry.jsonl', (0.0, 1_800_000_000.0 + 60.0 * number))

    given = answers(GOING_ON[0], at_once=write)
    ask(patience=Patience(1e6, 1e6))
    quiet = SILENT_S / 60
    assert quiet <= len(given) - (100 if working else 0) <= quiet + 2


class Job:
    """As ReFrame's, submitted now: with each poll it has the next of these states, and it has ended if COMPLETED."""

    def __init__(self, *states):
        self.states, self.state, self.polls = states, states[0], 0
        self.scheduler, self.submit_time = self, job_end.time.time()

    def poll(self, job):
        self.polls += 1
        self.state = self.states[min(self.polls, len(self.states) - 1)]

    def finished(self):
        return self.state == 'COMPLETED'


@pytest.fixture
def minutes(monkeypatch):
    """Makes time pass by a minute with every poll."""
    clock = [1_800_000_000.0]
    monkeypatch.setattr(job_end.time, 'sleep', lambda seconds: clock.append(clock[-1] + 60.0))
    monkeypatch.setattr(job_end.time, 'time', lambda: clock[-1])


def waited(job, queue_s, job_s):
    """The wait for a job, which is over, and how often Slurm was asked."""
    wait = Wait(job, Patience(queue_s, job_s))
    job.wait()
    return wait, job.polls


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


def test_a_known_cause_comes_before_the_answer_of_slurm(slurm, ask, tmp_path):
    slurm()
    ask(known='it waited too long')
    assert records_in(str(tmp_path)).job_state == 'it waited too long; Slurm says: cancelled by alice after 12 s'


def test_of_a_long_output_the_end_counts(tmp_path):
    file = tmp_path / 'output'
    file.write_text('a' * TAIL_BYTES + 'the end')
    assert tail(file).endswith('the end') and len(tail(file)) == TAIL_BYTES


def test_a_state_that_is_no_json_is_none(tmp_path):
    (tmp_path / 'job.json').write_text('{"job_state": ')
    assert records_in(str(tmp_path)).job_state == ''


# Jobs that ReFrame gave up on: their reason is in its report, and Slurm is asked where it can know more


NEVER_BEGUN = JobState('CANCELLED', 0, 0, by='alice', restarts=0, reason='Licenses')
SBATCH = (
    "spawned process error: command 'sbatch rfm_job.sh' failed with exit code 1:\n--- stdout ---\n--- stderr ---\n"
    'sbatch: error: Batch job submission failed: Invalid qos specification\n--- stderr ---'
)
BLOCKED = 'job blocked error: [jobid=12] job cancelled because it was blocked due to reason: Licenses'


def entry_of(case):
    """The keys of ReFrame's entry that tell which case it is of."""
    system, partition = case.partition.split(':')
    where = f'{case.file_system}/{case.layout}/{case.nodes}n/nightly'
    return {'name': f'{case.check} %case={where}', 'case': where, 'system': system, 'partition': partition}


@pytest.fixture
def state_of_case(tmp_path, monkeypatch):
    """The job state of a case after ReFrame's entry of it; Slurm answers with the first word given."""
    plan = plan_of(records=str(tmp_path / 'records'))
    (tmp_path / 'records').mkdir()
    (tmp_path / 'reframe').mkdir()

    def complete(answer=NEVER_BEGUN, **entry):
        monkeypatch.setattr(job_end, 'job_state_of', lambda job, output: answer)
        if entry:
            test = {**entry_of(plan.case), 'scheduler': 'squeue', 'fail_phase': 'run', **entry}
            report = {'runs': [{'testcases': [{'name': 'without a case'}, test]}]}
            (tmp_path / 'reframe' / 'report.json').write_text(json.dumps(report))
        complete_job_states(tmp_path, [(plan, records_in(plan.records))])
        return records_in(plan.records).job_state

    complete.plan = plan
    return complete


def test_a_case_without_an_entry_has_the_reason_why_reframe_stopped(state_of_case, tmp_path):
    why = "run session stopped: file not found error: [Errno 2] No such file or directory: 'sacct'"
    (tmp_path / 'reframe.out').write_text(f'[ RUN      ] Write\nERROR: {why}\nLog file(s) saved in x\n')
    assert state_of_case() == f'ReFrame says: {why}'


@pytest.mark.parametrize('why', ['force exit error: received signal 15', 'cancelled by user'])
def test_a_reframe_that_was_asked_to_stop_is_no_reason(state_of_case, tmp_path, why):
    (tmp_path / 'reframe.out').write_text(f'ERROR: run session stopped: {why}\n')
    assert state_of_case() == ''


def test_a_report_is_read_that_names_the_case_as_before_its_profile_was_part_of_it(state_of_case):
    name = state_of_case.plan.case.name
    sentence = state_of_case(name=f'Check %case={name}', case=name, fail_reason=BLOCKED, jobid='12')
    assert sentence.startswith('ReFrame says: job b')


def test_an_answer_stored_by_the_check_is_kept(state_of_case):
    write_job_state(state_of_case.plan.records, 'Slurm says: x', '12')
    assert state_of_case(fail_reason=BLOCKED, jobid='12') == 'Slurm says: x'


def test_without_a_report_the_record_names_the_job(state_of_case, tmp_path):
    (tmp_path / 'records' / SAMPLES).write_text(line_of(start_of(state_of_case.plan)._replace(job='12')))
    assert state_of_case().startswith('Slurm says: never started')


def test_a_slurm_that_does_not_answer_is_asked_once(tmp_path, monkeypatch):
    asked, silent = [], JobState(SILENT, reason='it sleeps')
    monkeypatch.setattr(job_end, 'job_state_of', lambda job, output: (asked.append(job), silent)[1])
    plans = []
    for number in (1, 2):
        plan = plan_of(records=str(tmp_path / str(number)))
        plans.append(plan._replace(case=plan.case._replace(nodes=number)))
        (tmp_path / str(number)).mkdir()
    tests = [{**entry_of(plan.case), 'scheduler': 'slurm', 'jobid': plan.case.nodes} for plan in plans]
    (tmp_path / 'reframe').mkdir()
    (tmp_path / 'reframe' / 'report.json').write_text(json.dumps({'runs': [{'testcases': tests}]}))
    complete_job_states(tmp_path, [(plan, records_in(plan.records)) for plan in plans])
    assert len(asked) == 1
    assert {records_in(plan.records).job_state for plan in plans} == {'Slurm does not answer: it sleeps'}


@pytest.mark.parametrize(
    ('entry', 'sentence'),
    [
        (
            {'fail_reason': SBATCH, 'jobid': None},
            'Slurm says: never started: sbatch refused it: '
            'Invalid qos specification (no such QOS, or not for this account)',
        ),
        (
            {'fail_reason': BLOCKED, 'jobid': '12'},
            f'ReFrame says: {BLOCKED}; '
            'Slurm says: never started: a licence that it needs was not free; cancelled by alice',
        ),
        ({'fail_reason': 'os error: x\nat line 3', 'jobid': None}, 'ReFrame says: os error: x'),
        # The process of a local job is none of Slurm's, what cannot be planned is no error, and a verdict no reason.
        ({'fail_reason': 'os error: x', 'scheduler': 'local', 'jobid': '4711'}, 'ReFrame says: os error: x'),
        (
            {'fail_reason': 'sanity error: INCOMPLETE: no such engine', 'fail_phase': 'setup', 'jobid': None},
            'ReFrame says: no such engine',
        ),
        ({'fail_reason': 'sanity error: INCOMPLETE: T15: x', 'fail_phase': 'sanity', 'scheduler': 'local'}, ''),
        ({}, ''),
    ],
)
def test_reframes_reason_comes_first_and_then_slurms(state_of_case, entry, sentence):
    assert state_of_case(**entry) == sentence


def test_a_damaged_report_is_none(state_of_case, tmp_path):
    (tmp_path / 'reframe' / 'report.json').write_text('{"runs": [')
    assert state_of_case() == ''
