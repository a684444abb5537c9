"""Questions to Slurm, whose answers are bytes."""

import os

import pytest

from seatrial.scheduler.queue import QueuedJob, QueueError, crontab, jobs_named, own_jobs


@pytest.fixture
def says(tmp_path, monkeypatch):
    """A program of Slurm that prints these bytes."""

    def make(program, answer, status=0):
        (tmp_path / 'answer').write_bytes(answer)
        (tmp_path / program).write_text(f'#!/bin/sh\ncat {tmp_path}/answer\nexit {status}\n')
        (tmp_path / program).chmod(0o755)
        monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')

    return make


def test_what_is_no_utf8_is_read_all_the_same(says):
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
    assert own_jobs('x') == [
        QueuedJob('12', 'PENDING', 'Begin', '/srv/run.sh x'),
        QueuedJob('13', 'RUNNING', 'None', '/srv/run.sh y'),
    ]
