"""Slurm's answers on jobs and partitions, which are bytes, and the jobs of sessions in its queue."""

import os
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import stand_in
from seatrial.job.directory.orphans import become_leader
from seatrial.model.units import MIB
from seatrial.scheduler import session_jobs
from seatrial.scheduler.partitions import SlurmPartition, nodes_to_leave_out, parse_sinfo
from seatrial.scheduler.queue import QueuedJob, QueueError, crontab, jobs_named, own_jobs
from seatrial.scheduler.session_jobs import SessionJob, comment_option, has_one_queue, read_jobs, submits_to_slurm
from seatrial.site.load import load


@pytest.fixture
def says(tmp_path, monkeypatch):
    """A program of Slurm that prints these bytes."""

    def make(program, answer, status=0):
        (tmp_path / 'answer').write_bytes(answer)
        stand_in.program(tmp_path, monkeypatch, program, f'cat {tmp_path}/answer\nexit {status}')

    return make


def test_bytes_that_are_not_utf8_are_read(says):
    says('squeue', b'12|PENDING|Begin|/srv/Pr\xe4fung.sh\n')
    (job,) = own_jobs('x')
    assert os.fsencode(job.command) == b'/srv/Pr\xe4fung.sh'
    says('scrontab', b'# Pr\xe4fung\n')
    assert os.fsencode(crontab()) == b'# Pr\xe4fung\n'


def test_a_refusal_in_other_letters_can_be_printed(says):
    says('squeue', b'Pr\xe4fung\n', status=1)
    with pytest.raises(QueueError, match='squeue ended with 1: Pr') as caught:
        jobs_named('x')
    str(caught.value).encode('utf-8')


def test_a_line_that_is_no_job_is_none(says):
    says('squeue', b'12|PENDING|Begin|/srv/run.sh x\nsecond line\n\n13|RUNNING|None|/srv/run.sh y\n')
    assert [(job.id, job.command) for job in own_jobs('x')] == [('12', '/srv/run.sh x'), ('13', '/srv/run.sh y')]


def test_the_line_of_the_one_cluster_that_is_asked_is_no_job_and_several_are_refused(says):
    says('squeue', b'CLUSTER: a\n12|PENDING|Begin\n')
    assert jobs_named('x') == [QueuedJob('12', 'PENDING', 'Begin')]
    says('squeue', b'CLUSTER: a\n12|PENDING|Begin\n\nCLUSTER: b\n')
    with pytest.raises(QueueError, match='squeue shows the clusters a, b; name one in SLURM_CLUSTERS'):
        jobs_named('x')


# Partitions


SAID = """\
compute|60|128|257000|1-00:00:00
compute|4|64|515000|1-00:00:00
debug*|2|128|257000+|30:00
long|64|64+|257000|infinite
"""


def test_unlike_nodes_of_a_partition_are_counted_together_and_the_smallest_is_meant():
    assert parse_sinfo(SAID)[1] == SlurmPartition('compute', 64, 64, 257_000 * MIB, 86_400.0)


@pytest.mark.parametrize(
    ('limit', 'seconds'),
    [('infinite', None), ('30:00', 1800.0), ('12:30:05', 45_005.0), ('2-00:00:00', 172_800.0), ('0:45', 45.0)],
)
def test_a_time_limit_is_in_seconds_or_there_is_none(limit, seconds):
    assert parse_sinfo(f'p|1|2|3000|{limit}\n')[0].limit_s == seconds


def test_the_default_partition_comes_first_and_what_is_the_least_of_several_is_read():
    assert [(row.name, row.cpus) for row in parse_sinfo(SAID)] == [('debug', 128), ('compute', 64), ('long', 64)]


@pytest.mark.parametrize('listing', ['p|1|2|1|1\n', 'p|1|2|1|1\np|3|2|3000|1\n', 'p|3|2|3000|1\np|1|2|1|1\n'])
def test_memory_that_slurm_was_not_given_is_unknown_and_not_1_mib(listing):
    assert parse_sinfo(listing)[0].memory is None


def test_a_line_that_is_not_of_sinfo_is_quoted():
    with pytest.raises(QueueError, match='not understood: compute of 4 nodes'):
        parse_sinfo('compute of 4 nodes\n')


# Nodes that the next allocation leaves out


FOUR = 'n1 compute*\nn2 compute*\nn3 compute*\nn4 compute*\nn5 io\n'


@pytest.fixture
def lab(tmp_path):
    """A site with one partition, as far as these tests read it."""

    def make(scheduler='slurm', access=()):
        partition = {'name': 'compute', 'scheduler': scheduler, 'access': list(access)}
        configuration = {'systems': [{'name': 'lab', 'partitions': [partition]}]}
        (tmp_path / 'settings.py').write_text(f'site_configuration = {configuration!r}\n')
        return SimpleNamespace(folder=tmp_path, trial_file=SimpleNamespace(partitions=['lab:compute']))

    return make


@pytest.fixture
def left_out(tmp_path, monkeypatch, lab):
    """The nodes left out for this answer of sinfo, after allocations on these nodes."""

    def ask(shown, used, wanted, status=0, **partition):
        script = f'echo "$@" > {tmp_path}/asked\nprintf "{shown}"\nexit {status}'
        stand_in.program(tmp_path, monkeypatch, 'sinfo', script)
        return nodes_to_leave_out(lab(**partition), 'lab:compute', used, wanted)

    return ask


def test_those_of_the_latest_allocations_are_left_out_as_far_as_there_are_enough(left_out):
    assert left_out(FOUR, [('n1',), ('n2',)], 2) == ('n2', 'n1')
    assert left_out(FOUR, [('n1',), ('n2',), ('n3',)], 2) == ('n3', 'n2')
    assert left_out(FOUR, [('n1',)], 4) == left_out(FOUR, [], 1) == ()


def test_nodes_of_other_partitions_are_not_counted(left_out, tmp_path):
    assert left_out(FOUR, [('n1', 'n2', 'n3', 'n4')], 2) == ('n1', 'n2')
    assert left_out('n5 io\n', [('n5',)], 1, access=['--partition=io']) == ()
    assert '--partition=io' in (tmp_path / 'asked').read_text()


def test_without_slurm_or_its_answer_none_is_left_out(left_out):
    assert left_out(FOUR, [('n1',)], 1, scheduler='local') == ()
    assert left_out(FOUR, [('n1',)], 1, status=1) == ()


# The jobs of sessions: which are whose, and what is cancelled

SESSION = '20261121T020638-9f3a1c'
OWN = os.geteuid()


def read(text, user=1001):
    return read_jobs(text, user, lambda session: None)


def test_a_job_with_a_sessions_mark_is_its():
    job = SessionJob('12', SESSION, 'RUNNING', 'n[1-2]', None)
    assert read(f'12|1001|RUNNING|n[1-2]|seatrial:{SESSION}\n') == [job]
    assert job.words == f'job 12 of session {SESSION}, running on n[1-2]'
    assert job._replace(state='PENDING', nodes='').words == f'job 12 of session {SESSION}, pending'


MARK = comment_option(SESSION).removeprefix('--comment=')


@pytest.mark.parametrize('comment', [MARK, f'project=x,{MARK}', f'{MARK} cpu:3', f'a;{MARK}'])
def test_the_mark_is_what_jobs_are_submitted_with_and_what_a_site_adds_does_no_harm(comment):
    assert len(read(f'12|1001|RUNNING|n1|{comment}\n')) == 1


@pytest.mark.parametrize(
    'line',
    [
        '',
        '12|1001|RUNNING|n1|',
        '12|1001|RUNNING|n1|(null)',
        f'12|1002|RUNNING|n1|seatrial:{SESSION}',
        f'12|1001|RUNNING|n1|not-seatrial:{SESSION}',
        f'12|1001|RUNNING|n1|seatrial:{SESSION}0',
        f'12|1001|RUNNING|n1|seatrial:{SESSION}/../x',
        '12|1001|RUNNING|n1|seatrial:',
        f'12|1001|RUNNING|seatrial:{SESSION}',
    ],
)
def test_any_other_job_is_nobodys(line):
    assert read(f'{line}\n') == []


@given(st.text(alphabet=f'|:-T0123456789abcdef \nseatrial{SESSION}', max_size=200))
def test_nothing_that_squeue_could_print_is_a_job_of_another_user(text):
    assert all(f'{job.id}|1001|{job.state}|{job.nodes}|' in text for job in read(text))


@pytest.mark.parametrize(('name', 'slurms'), [('lab', True), ('example-lustre', True), ('local', False)])
def test_slurm_is_asked_where_a_partition_is_slurms(repository, name, slurms):
    assert submits_to_slurm(load(repository / 'site-config' / name)) is slurms


@pytest.mark.parametrize(('access', 'has'), [('--partition=a', True), ('--clusters=b', False), ('-Mb', False)])
def test_a_partition_of_another_cluster_has_another_queue(lab, access, has):
    assert has_one_queue(lab(access=[access])) is has


class Queue:
    """Stands in for Slurm: gives answers of squeue in turn, and records cancelled jobs."""

    def __init__(self, monkeypatch):
        self.answers, self.cancelled = [], []
        monkeypatch.setattr(session_jobs, 'asked', self.asked)
        monkeypatch.setattr(session_jobs.time, 'sleep', lambda seconds: None)
        monkeypatch.setattr(session_jobs.shutil, 'which', lambda program: program)
        monkeypatch.setattr(session_jobs, 'submits_to_slurm', lambda site: True)

    def asked(self, program, *arguments):
        if program == 'scancel':
            assert arguments[0] == f'--user={OWN}'
            self.cancelled += arguments[1:]
            return ''
        assert f'--user={OWN}' in arguments
        answer = self.answers.pop(0)
        if isinstance(answer, QueueError):
            raise answer
        return answer


@pytest.fixture
def queue(monkeypatch):
    return Queue(monkeypatch)


@pytest.fixture
def site(tmp_path):
    """The state directory with the session in it."""
    become_leader(str(tmp_path), SESSION).stop()
    return SimpleNamespace(state=str(tmp_path), session_folder=(tmp_path / 'sessions').joinpath)


@pytest.fixture
def screen():
    return Console(record=True, width=200)


def running(*numbers, state='RUNNING', session=SESSION):
    return ''.join(f'{number}|{OWN}|{state}|n1|seatrial:{session}\n' for number in numbers)


def test_remaining_jobs_are_cancelled_printed_and_waited_for(queue, site, screen, tmp_path):
    other = '20261121T020638-000000'
    become_leader(str(tmp_path), other).stop()
    others = running(5, session=other) + running(6, session='20261121T020638-ffffff')
    queue.answers = [running(3, 4) + others, running(4, state='COMPLETING') + others, others]
    session_jobs.cancel_all(screen, site, SESSION)
    assert (queue.cancelled, queue.answers) == (['3', '4'], [])
    log = screen.export_text().splitlines()
    assert log == [f'cancelled at the end of its session: job {n} of session {SESSION}, running on n1' for n in '34']


def test_remaining_jobs_are_cancelled_before_anything_is_printed(queue, site):
    class Gone(Console):
        def print(self, *words, **options):
            raise BrokenPipeError

    queue.answers = [running(3)]
    with pytest.raises(BrokenPipeError):
        session_jobs.cancel_all(Gone(), site, SESSION)
    assert queue.cancelled == ['3']


def test_a_job_that_is_ending_is_waited_for_and_not_cancelled(queue, site, screen):
    queue.answers = [running(3, state='COMPLETING'), running(3, state='COMPLETING'), '']
    session_jobs.cancel_all(screen, site, SESSION)
    assert (queue.cancelled, queue.answers, screen.export_text()) == ([], [], '')


def test_a_slurm_that_is_away_is_asked_again(queue, site, screen):
    queue.answers = [QueueError('it sleeps'), QueueError('it sleeps'), running(3), '']
    session_jobs.cancel_all(screen, site, SESSION)
    assert queue.cancelled == ['3']


def test_a_slurm_that_stays_silent_is_reported(queue, site, screen, monkeypatch):
    monkeypatch.setattr(session_jobs, 'ASK_S', 0.0)
    queue.answers = [QueueError('it sleeps')]
    session_jobs.cancel_all(screen, site, SESSION)
    assert screen.export_text() == 'jobs may still be running: it sleeps; later run `seatrial clean`\n'


def test_a_job_that_does_not_end_is_named(queue, site, screen, monkeypatch):
    monkeypatch.setattr(session_jobs, 'END_S', 1.5)
    monkeypatch.setattr(session_jobs.time, 'monotonic', iter(range(100)).__next__)
    queue.answers = [running(3)] * 9
    session_jobs.cancel_all(screen, site, SESSION)
    assert f'\njob 3 of session {SESSION}, running on n1, does not end; ' in screen.export_text()
