"""Jobs that ReFrame gave up on: their reason is taken from its report, and Slurm is asked where it can know more."""

import json

import pytest
from seatrial.scheduler.reframe_report import complete_job_states

from builders import plan_of, start_of
from seatrial.job.sequence.recorder import records_in, write_job_state
from seatrial.model.record import SAMPLES, line_of
from seatrial.scheduler import reframe_report
from seatrial.scheduler.job_state import SILENT, JobState

CANCELLED = JobState('CANCELLED', 0, 0, by='alice', restarts=0, reason='Licenses')
SBATCH = (
    "spawned process error: command 'sbatch rfm_job.sh' failed with exit code 1:\n--- stdout ---\n--- stderr ---\n"
    'sbatch: error: Batch job submission failed: Invalid qos specification\n--- stderr ---'
)
BLOCKED = 'job blocked error: [jobid=12] job cancelled because it was blocked due to reason: Licenses'


def entry_of(case):
    """What ReFrame's entry of a case says of which it is."""
    system, partition = case.partition.split(':')
    where = f'{case.file_system}/{case.layout}/{case.nodes}n/nightly'
    return {'name': f'{case.check} %case={where}', 'case': where, 'system': system, 'partition': partition}


@pytest.fixture
def said_of(tmp_path, monkeypatch):
    """The job state of a case after ReFrame's entry of it; Slurm answers with the first word given."""
    plan = plan_of(records=str(tmp_path / 'records'))
    (tmp_path / 'records').mkdir()
    (tmp_path / 'reframe').mkdir()

    def complete(answer=CANCELLED, **entry):
        monkeypatch.setattr(reframe_report, 'job_state_of', lambda job, output: answer)
        if entry:
            test = {**entry_of(plan.case), 'scheduler': 'squeue', 'fail_phase': 'run', **entry}
            report = {'runs': [{'testcases': [{'name': 'without a case'}, test]}]}
            (tmp_path / 'reframe' / 'report.json').write_text(json.dumps(report))
        complete_job_states(tmp_path, [(plan, records_in(plan.records))])
        return records_in(plan.records).job_state

    complete.plan = plan
    return complete


def test_of_cases_without_an_entry_it_is_said_why_reframe_gave_up_the_rest(said_of, tmp_path):
    why = "run session stopped: file not found error: [Errno 2] No such file or directory: 'sacct'"
    (tmp_path / 'reframe.out').write_text(f'[ RUN      ] Write\nERROR: {why}\nLog file(s) saved in x\n')
    assert said_of() == f'ReFrame says: {why}'


@pytest.mark.parametrize('why', ['force exit error: received signal 15', 'cancelled by user'])
def test_a_reframe_that_was_asked_to_stop_is_no_reason(said_of, tmp_path, why):
    (tmp_path / 'reframe.out').write_text(f'ERROR: run session stopped: {why}\n')
    assert said_of() == ''


def test_a_report_is_read_that_names_the_case_as_before_its_profile_was_part_of_it(said_of):
    name = said_of.plan.case.name
    sentence = said_of(name=f'Check %case={name}', case=name, fail_reason=BLOCKED, jobid='12')
    assert sentence.startswith('ReFrame says: job b')


def test_what_the_check_has_asked_already_stays(said_of):
    write_job_state(said_of.plan.records, 'Slurm says: x', '12')
    assert said_of(fail_reason=BLOCKED, jobid='12') == 'Slurm says: x'


def test_without_a_report_the_record_names_the_job(said_of, tmp_path):
    (tmp_path / 'records' / SAMPLES).write_text(line_of(start_of(said_of.plan)._replace(job='12')))
    assert said_of().startswith('Slurm says: never started')


def test_a_slurm_that_does_not_answer_is_asked_once(tmp_path, monkeypatch):
    asked, silent = [], JobState(SILENT, reason='it sleeps')
    monkeypatch.setattr(
        reframe_report,
        'job_state_of',
        lambda job, output: (asked.append(job), silent)[1],
    )
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
def test_reframes_reason_comes_first_and_then_slurms(said_of, entry, sentence):
    assert said_of(**entry) == sentence


def test_a_damaged_report_is_none(said_of, tmp_path):
    (tmp_path / 'reframe' / 'report.json').write_text('{"runs": [')
    assert said_of() == ''
