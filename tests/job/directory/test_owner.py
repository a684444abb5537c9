"""Who made something, and whether that process still runs."""

import os
import subprocess
import sys

import pytest

from seatrial.job.directory import owner
from seatrial.job.directory.owner import on_this_machine, running, this_owner


@pytest.fixture
def ended():
    """A process that has ended, as a owner of this machine."""
    child = subprocess.Popen([sys.executable, '-c', ''])
    child.wait()
    return this_owner('s')._replace(pid=child.pid)


def test_this_process_is_seen_running():
    assert running(this_owner('s')) is True


def test_a_process_that_ended_is_seen_not_running(ended):
    assert running(ended) is False


def test_another_process_that_got_the_same_pid_is_not_taken_for_the_maker():
    here = this_owner('s')
    assert running(here._replace(pid_start=here.pid_start - 1)) is False


def test_a_process_that_waits_to_be_reaped_is_not_running(monkeypatch):
    here = this_owner('s')
    monkeypatch.setattr(owner, '_process', lambda pid: ('Z', here.pid_start))
    assert running(here) is False


@pytest.mark.parametrize('other', [{'host': 'elsewhere'}, {'machine': 'another boot'}, {'machine': ''}])
def test_a_process_of_another_machine_or_boot_cannot_be_seen(other):
    assert running(this_owner('s')._replace(**other)) is None


def test_without_proc_no_process_can_be_seen(monkeypatch):
    monkeypatch.setattr(owner, '_machine', lambda: '')
    assert running(this_owner('s')) is None


def test_another_users_process_that_is_not_in_proc_may_be_hidden(ended, monkeypatch):
    monkeypatch.setattr(os, 'geteuid', lambda: ended.uid + 1)
    assert running(ended) is None


def test_the_job_is_slurms(monkeypatch):
    monkeypatch.setenv('SLURM_JOB_ID', '4711')
    assert this_owner('s').job == '4711'


def test_this_process_is_of_this_machine():
    assert on_this_machine(this_owner('s'))
