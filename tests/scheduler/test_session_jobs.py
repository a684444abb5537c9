"""The jobs of sessions in Slurm's queue: which are whose, and what is cancelled."""

import os
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from seatrial.job.directory.orphans import become_leader
from seatrial.scheduler import session_jobs
from seatrial.scheduler.queue import QueueError
from seatrial.scheduler.session_jobs import SessionJob, comment_option, has_one_queue, read_jobs, submits_to_slurm
from seatrial.site.load import load

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


@pytest.mark.parametrize(('access', 'has'), [("'--partition=a'", True), ("'--clusters=b'", False), ("'-Mb'", False)])
def test_a_partition_of_another_cluster_has_another_queue(repository, tmp_path, access, has):
    for file in (repository / 'site-config' / 'lab').iterdir():
        if file.is_file():
            (tmp_path / file.name).write_text(file.read_text())
    settings = tmp_path / 'settings.py'
    added = f"\nfor each in site_configuration['systems'][0]['partitions']:\n    each['access'] = [{access}]\n"
    settings.write_text(settings.read_text() + added)
    assert has_one_queue(load(tmp_path)) is has


class Queue:
    """Stands for Slurm: answers of squeue one after the other, and what was cancelled."""

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


def test_what_is_left_is_cancelled_said_and_waited_for(queue, site, screen, tmp_path):
    other = '20261121T020638-000000'
    become_leader(str(tmp_path), other).stop()
    others = running(5, session=other) + running(6, session='20261121T020638-ffffff')
    queue.answers = [running(3, 4) + others, running(4, state='COMPLETING') + others, others]
    session_jobs.cancel_all(screen, site, SESSION)
    assert (queue.cancelled, queue.answers) == (['3', '4'], [])
    log = screen.export_text().splitlines()
    assert log == [f'cancelled at the end of its session: job {n} of session {SESSION}, running on n1' for n in '34']


def test_what_is_left_is_cancelled_before_anything_is_said(queue, site):
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


def test_a_slurm_that_stays_away_is_said(queue, site, screen, monkeypatch):
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
