"""Slurm's account of a job's end: every transcript has its sentence, and whatever is cut short is not guessed at."""

import re
import signal

import pytest

from seatrial.model.ask import Answer
from seatrial.scheduler import job_state
from seatrial.scheduler.job_state import (
    NO_SUCH_JOB,
    REFUSED,
    SILENT,
    UNKNOWN,
    JobState,
    job_state_of,
    may_go_on,
    merged,
    of_sacct,
    of_sbatch,
    of_scontrol,
    of_silence,
    sentence,
    with_output,
)
from transcript import transcripts

TRANSCRIPTS = transcripts('slurm')
WITHOUT_ACCOUNTING = TRANSCRIPTS.pop('without_accounting')
OUTPUTS = {name: text for steps in TRANSCRIPTS.values() for name, text in steps.items()}
USERS = {0: 'root', 1001: 'alice'}


def printed(name, end='out'):
    return OUTPUTS[f'{name}.{end}']


def scontrol(name):
    return of_scontrol(printed(f'{name}-scontrol'))


def sacct(name):
    return of_sacct(printed(f'{name}-sacct'), number(name), USERS.__getitem__)


def number(name):
    return printed(f'{name}-sacct', 'cmd').split()[3]


def untimed(known):
    """The sentence without its seconds, which differ whenever the transcripts are made again."""
    return re.sub(r'after \d+ s', 'after N s', sentence(known))


def output(name):
    return OUTPUTS.get(f'{name}-job.out', '')


WAITS = {
    'held': 'never started: held by its user',
    'begin': 'never started: its begin time had not come',
    'drained': 'never started: the nodes that it needs are down, drained or reserved',
    'drained-nodelist': 'never started: nodes that it needs are not available (n2)',
    'dependency-never': 'never started: a job that it depends on did not end as it had to',
    'licence': 'never started: a licence that it needs was not free',
    'resources': 'never started: the nodes that it needs were not free',
    'qos-limit': 'never started: a limit of its QOS (QOSMaxNodePerJobLimit)',
    'reservation-later': 'never started: its reservation had not begun',
    'node-down-requeued': 'requeued and not started again: its begin time had not come',
}
ENDED = {
    'completed-end': 'completed with exit code 0 after N s',
    'step-ignored-end': 'completed with exit code 0 after N s',
    'reservation-end': 'completed with exit code 0 after N s',
    'controller-stopped-end': 'completed with exit code 0 after N s',
    'exit-3-end': 'failed with exit code 3 after N s',
    'step-exit-3-end': 'failed with exit code 3 after N s',
    'step-segfault-end': 'failed with exit code 139, which usually means signal 11 (SIGSEGV) after N s',
    'segfault-end': 'died of signal 11 (SIGSEGV) after N s',
    'killed-script-end': 'died of signal 9 (SIGKILL) after N s',
    'no-output-folder-end': 'failed to launch (0:53): most likely its output file or folder cannot be opened',
    'no-work-folder-end': 'failed to launch (0:53): most likely its output file or folder cannot be opened',
    'out-of-memory-end': 'ran out of memory after N s',
    'step-out-of-memory-end': 'ran out of memory after N s',
    'time-limit-end': 'timed out after N s, its time limit was 60 s',
    'time-limit-deaf-end': 'timed out after N s, its time limit was 60 s',
    'scancel-end': 'cancelled by alice after N s',
    'scancel-deaf-end': 'cancelled by alice after N s',
    'scancel-by-root-end': 'cancelled by root after N s',
    'stepd-killed-end': 'cancelled by root after N s',
    'batch-stepd-killed-end': 'a node failed after N s: it is n1',
    'node-down-end': 'node n2 failed after N s',
    'power-cut-end': 'node n2 failed after N s',
    'node-down-requeued-end': 'requeued and not started again: its begin time had not come; cancelled by root',
    'scancel-pending-end': 'never started: held by its user; cancelled by alice',
    **{
        f'{name}-cancelled-end': f'{why}; cancelled by root'
        for name, why in WAITS.items()
        if name not in ('held', 'node-down-requeued')
    },
}
ACCOUNTED = {
    'completed-soon': 'completed with exit code 0 after N s',
    'exit-3-end': 'failed with exit code 3 or 131 (sacct keeps only seven bits) after N s',
    'step-segfault-end': 'failed with exit code 11 or 139 (sacct keeps only seven bits) after N s',
    'segfault-end': 'died of signal 11 (SIGSEGV) after N s',
    'scancel-end': 'cancelled by alice after N s',
    'scancel-pending-end': 'cancelled by alice while it waited: held by its user',
    'drained-nodelist-cancelled-end': 'cancelled by root while it waited: nodes that it needs are not available',
    'licence-cancelled-end': 'cancelled by root while it waited: Slurm gives no reason',
    'node-down-requeued-end': 'cancelled by root while it waited: its begin time had not come',
    'node-down-end': 'a node failed after N s; Slurm does not say which of n[1-2]',
    'begin': 'not running: its begin time had not come; it still waits',
    'held': 'Slurm does not know the job',
    'unknown': 'Slurm does not know the job',
    'controller-forgot': 'it still runs after N s',
}
REFUSALS = {
    'bad-account': (
        'Invalid account or account/partition combination specified (no such account, or not in this partition)'
    ),
    'bad-constraint': 'Invalid feature specification (no node has such a constraint)',
    'bad-licence': 'Invalid license specification (no such licence, or fewer of it)',
    'bad-option': "unrecognized option '--no-such-option'",
    'bad-partition': 'Invalid partition name specified (no such partition); invalid partition specified: none',
    'bad-qos': 'Invalid qos specification (no such QOS, or not for this account)',
    'bad-reservation': 'Requested reservation is invalid (no such reservation)',
    'bad-value': '"many" is not a valid node count',
    'over-time': 'Requested time limit is invalid (missing or exceeds some limit)',
    'too-many-nodes': ('Node count specification invalid (more nodes than there are, or than the partition allows)'),
    'too-many-tasks': (
        'More processors requested than permitted '
        '(more tasks than its nodes, or the whole partition, have processors)'
    ),
    'too-much-memory': (
        'Requested node configuration is not available (no nodes are as it asks, or there are fewer of them); '
        'Memory specification can not be satisfied'
    ),
}


@pytest.mark.parametrize('name', ENDED)
def test_the_end_of_a_job_has_its_sentence(name):
    known = with_output(merged(scontrol(name), sacct(name)), output(name))
    assert untimed(known) == ENDED[name]


@pytest.mark.parametrize('name', WAITS)
def test_a_waiting_job_has_its_reason(name):
    assert sentence(merged(scontrol(name), sacct(name))) == f'{WAITS[name]}; it still waits'


def test_a_job_held_after_a_failed_launch_has_that_reason():
    known = of_scontrol(WITHOUT_ACCOUNTING['controller-forgot-next-end-scontrol.out'])
    assert sentence(known) == 'requeued and not started again: held after its launch failed; it still waits'


@pytest.mark.parametrize('name', ACCOUNTED)
def test_accounting_alone_has_its_sentence(name):
    assert untimed(sacct(name)) == ACCOUNTED[name]


@pytest.mark.parametrize('name', REFUSALS)
def test_a_refusal_of_sbatch_has_its_reason(name):
    known = of_sbatch(printed(f'{name}-sbatch', 'err'))
    assert known.state == REFUSED
    assert sentence(known) == f'never started: sbatch refused it: {REFUSALS[name]}'


AWAY = {
    'controller-killed': 'Slurm does not answer: Unable to contact slurm controller (connect failure)',
    'munge-dead': (
        'Slurm does not answer: munge does not serve this host: Failed to connect to "/tmp/lab/run/munge.socket": '
        'Connection refused'
    ),
}


@pytest.mark.parametrize('name', AWAY)
def test_a_slurm_that_is_away_is_no_refusal(name):
    assert sentence(of_sbatch(printed(f'{name}-sbatch', 'err'))) == AWAY[name]


@pytest.mark.parametrize(
    ('before', 'kept'),
    [
        ('sbatch: error: QOSMaxWallDurationPerJobLimit\n', '; QOSMaxWallDurationPerJobLimit'),
        ('sbatch: error: lua: no project given\n', '; lua: no project given'),
        ('sbatch: lua: welcome\nsbatch: error: no project given\n', '; no project given'),
        ('sbatch: Your project has run dry\n', '; Your project has run dry'),
        ('', ''),
    ],
)
def test_the_reason_of_a_refusal_is_in_earlier_errors_of_sbatch_or_else_in_its_notes(before, kept):
    refused = of_sbatch(f'{before}sbatch: error: Batch job submission failed: Unspecified error\n')
    assert sentence(refused) == f'never started: sbatch refused it: Unspecified error{kept}'


def test_a_message_of_another_program_is_no_refusal():
    assert of_sbatch('srun: error: n2: task 1: Terminated\n') is None


@pytest.mark.parametrize('name', [*AWAY, 'unknown', 'controller-forgot'])
def test_an_error_of_scontrol_has_its_sentence(name):
    assert sentence(of_silence(printed(f'{name}-scontrol', 'err'))) == AWAY.get(name, 'Slurm does not know the job')


def test_who_cancelled_a_job_is_not_guessed_without_accounting():
    assert untimed(scontrol('scancel-end')) == 'cancelled by somebody whom accounting does not name, after N s'
    assert sentence(scontrol('begin-cancelled-end')).endswith('; cancelled by somebody whom accounting does not name')


@pytest.mark.parametrize('name', ['node-down-end', 'scancel-end', 'begin'])
def test_cut_short_inside_a_line_nothing_false_is_read(name):
    text = printed(f'{name}-scontrol')
    assert {of_scontrol(text[:count]) for count in range(len(text))} <= {job_state.UNREADABLE, of_scontrol(text)}
    text, job = printed(f'{name}-sacct'), number(name)
    nothing = {job_state.UNREADABLE, JobState(NO_SUCH_JOB)}
    answers = {of_sacct(text[:count], job, str) for count in range(len(text))}
    assert answers <= {*nothing, of_sacct(text, job, str)}


@pytest.mark.parametrize('text', ['', '\n', 'a\n', '|\n|\n', 'JobId=1\n JobState=SOMETHING_NEW\n', '\0\n'])
def test_anything_else_is_unknown(text):
    assert of_scontrol(text) == of_sacct(text, '1') == job_state.UNREADABLE
    assert sentence(of_scontrol(text)) == "Slurm's answer about the job cannot be parsed"


def test_a_jobs_name_is_not_taken_for_its_state():
    text = printed('exit-3-end-scontrol')
    named = text.replace('JobName=exit-3.sh', 'JobName=x JobState=COMPLETED ExitCode=0:0')
    assert named != text and of_scontrol(named) == of_scontrol(text)


NEW = JobState(UNKNOWN, reason='EXPEDITING')


def test_a_state_that_slurm_may_add_is_unknown_and_named():
    assert of_scontrol(printed('exit-3-end-scontrol').replace('=FAILED', '=EXPEDITING')) == NEW
    assert of_sacct(printed('exit-3-end-sacct').replace('|FAILED|', '|EXPEDITING|'), '2') == NEW
    assert sentence(NEW) == 'Slurm reports the state EXPEDITING, which Seatrial does not know'


def test_a_new_state_counts_unless_accounting_knows_the_end():
    waits, preempted = JobState('PENDING'), JobState('PREEMPTED')
    assert [merged(NEW, accounted) for accounted in (waits, preempted)] == [NEW, preempted]


STATES = """BOOT_FAIL CANCELLED COMPLETED COMPLETING CONFIGURING DEADLINE FAILED LAUNCH_FAILED NODE_FAIL OUT_OF_MEMORY
    PENDING POWER_UP_NODE PREEMPTED RECONFIG_FAIL REQUEUED REQUEUE_FED REQUEUE_HOLD RESIZING RESV_DEL_HOLD REVOKED
    RUNNING SIGNALING SPECIAL_EXIT STAGE_OUT STOPPED SUSPENDED TIMEOUT UPDATE_DB"""

EVERY_STATE = (*STATES.split(), UNKNOWN, NO_SUCH_JOB, SILENT, REFUSED)


@pytest.mark.parametrize('state', EVERY_STATE)
def test_every_state_has_a_sentence(state):
    for nodes in ('', 'n1', 'n[1-2]'):
        for restarts in (None, 0, 2):
            assert sentence(JobState(state, 1, 0, nodes=nodes, restarts=restarts)).strip()


def test_cgroups_words_for_a_lack_of_memory_count_only_from_slurm_itself():
    failed = JobState('FAILED', 0, 9)
    slurms = 'slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch. Some of your processes may have'
    assert with_output(failed, slurms).state == 'OUT_OF_MEMORY'
    assert with_output(failed, f'my program: {slurms}') == failed


@pytest.mark.parametrize('restarts, end', [(None, ''), (0, ''), (1, ', after 1 requeue'), (3, ', after 3 requeues')])
def test_the_end_of_a_requeued_job_has_the_number_of_requeues(restarts, end):
    known = JobState('FAILED', 3, 0, nodes='n1', elapsed_s=5, restarts=restarts)
    assert sentence(known) == f'failed with exit code 3 after 5 s{end}'
    cancelled = JobState('CANCELLED', 0, 15, by='root', nodes='n1', elapsed_s=5, restarts=restarts)
    assert sentence(cancelled) == f'cancelled by root after 5 s{end}'


def test_the_newest_of_several_lines_of_a_requeued_job_counts():
    lines = printed('scancel-end-sacct').splitlines(keepends=True)
    older = lines[1].replace('CANCELLED by 1001', 'NODE_FAIL')
    assert of_sacct(''.join([lines[0], older, *lines[1:]]), number('scancel-end'), str).state == 'CANCELLED'


@pytest.fixture
def slurm(monkeypatch):
    """Answers of programs by the first word of the command; those asked are listed."""
    asked = []

    def play(**answers):
        def ask(argv, deadline_s):
            asked.append(argv)
            return answers.get(argv[0])

        monkeypatch.setattr(job_state, 'ask', ask)
        monkeypatch.setattr(job_state, 'SETTLE_S', 0.0)
        monkeypatch.setattr(job_state.time, 'sleep', lambda seconds: None)
        return asked

    return play


HANGS, HANGS_AND_SAYS_WHY = Answer('', None), Answer('', None, printed('munge-dead-scontrol', 'err'))


@pytest.mark.parametrize(
    ('answers', 'expected'),
    [
        ({}, 'Slurm does not answer: scontrol is not on the PATH'),
        ({'scontrol': HANGS, 'sacct': HANGS}, 'Slurm does not answer: scontrol has not answered for 20 s'),
        ({'scontrol': HANGS_AND_SAYS_WHY, 'sacct': HANGS_AND_SAYS_WHY}, AWAY['munge-dead']),
        (
            {'scontrol': Answer(printed('scancel-end-scontrol'), 0)},  # without sacct it is enough
            'cancelled by somebody whom accounting does not name, after N s',
        ),
    ],
    ids=['no Slurm', 'it hangs', 'it hangs and has said why', 'no sacct'],
)
def test_a_program_that_is_missing_or_does_not_answer_is_named(slurm, answers, expected):
    slurm(**answers)
    assert untimed(job_state_of('1')) == expected


def test_a_job_may_go_on_unless_slurm_says_that_it_has_ended_or_there_is_no_slurm(slurm):
    over = 'BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT'
    ended = {state for state in EVERY_STATE if not may_go_on(JobState(state))}
    assert ended == {*over.split(), NO_SUCH_JOB, REFUSED, UNKNOWN}
    slurm()
    assert not may_go_on(job_state_of('1'))


def test_accounting_is_asked_where_scontrol_has_forgotten_the_job(slurm):
    slurm(scontrol=Answer('', 1, printed('unknown-scontrol', 'err')), sacct=Answer(printed('scancel-end-sacct'), 0))
    assert job_state_of(number('scancel-end')).state == 'CANCELLED'


def test_accounting_is_not_asked_for_what_scontrol_says_itself(slurm):
    asked = slurm(scontrol=Answer(printed('exit-3-end-scontrol'), 0))
    assert job_state_of('2').exit_code == 3
    assert [argv[0] for argv in asked] == ['scontrol']


def test_of_several_nodes_those_that_are_down_are_named_where_slurm_does_not_say_which_failed(slurm):
    asked = slurm(scontrol=Answer(printed('node-down-end-scontrol'), 0), sinfo=Answer('n2\n', 0))
    assert 'n2 is down now' in sentence(job_state_of('1'))
    assert '--nodes=n[1-2]' in asked[-1]


def test_signals_have_their_names_where_they_have_one():
    assert sentence(JobState('FAILED', 0, int(signal.SIGBUS))) == f'died of signal {int(signal.SIGBUS)} (SIGBUS)'
    assert sentence(JobState('FAILED', 0, 60)) == 'died of signal 60'
