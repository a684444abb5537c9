"""Emptying the kernel's caches: permission is asked without dropping anything, and a fault is never silent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.filesystem import caches

SOURCE = str(Path(caches.__file__).parents[2])


@pytest.fixture
def drop_caches(monkeypatch, tmp_path):
    """A file in its place, so that what is written can be seen."""
    file = tmp_path / 'drop_caches'
    file.write_text('0\n')
    monkeypatch.setattr(caches, 'DROP_CACHES', str(file))
    return file


def test_to_ask_whether_one_may_drops_nothing(drop_caches):
    assert caches.why_not() == ''
    assert drop_caches.read_text() == '0\n'


def test_emptying_drops_pages_dentries_and_inodes(drop_caches, tmp_path):
    assert caches.empty(str(tmp_path), 30.0) is None
    assert drop_caches.read_text() == '3\n'


def test_who_may_not_is_told_which_file_and_why(monkeypatch, tmp_path):
    monkeypatch.setattr(caches, 'DROP_CACHES', str(tmp_path / 'none'))
    assert 'No such file' in caches.why_not() and str(tmp_path / 'none') in caches.why_not()


AS_NOBODY = f"""
import os, sys
sys.path.insert(0, {SOURCE!r})
from seatrial.filesystem import caches
os.setgroups([]), os.setgid(65534), os.setuid(65534)
print(caches.why_not())
print(caches.empty('/', 30.0))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason='root becomes an ordinary user here')
def test_an_ordinary_user_may_not_and_is_told_so_before_and_after():
    done = subprocess.run([sys.executable, '-c', AS_NOBODY], capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert 'only root may' in before
    assert 'were not emptied' in after and 'ermission denied' in after


def test_a_sync_that_fails_is_said_and_nothing_is_dropped(drop_caches, tmp_path):
    fault = caches.empty(str(tmp_path / 'gone'), 30.0)
    assert fault is not None and 'sync' in fault and 'No such file' in fault
    assert drop_caches.read_text() == '0\n'


def test_a_drop_that_fails_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(caches, 'DROP_CACHES', str(tmp_path / 'no' / 'such' / 'file'))
    fault = caches.empty(str(tmp_path), 30.0)
    assert fault is not None and fault.startswith('the caches were not emptied: sh -c')


def test_a_sync_that_hangs_is_left_at_the_deadline(drop_caches, monkeypatch, tmp_path):
    hang = tmp_path / 'sync'
    hang.write_text('#!/bin/sh\nexec sleep 60\n')
    hang.chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    fault = caches.empty(str(tmp_path), 0.2)
    assert fault is not None and 'did not end in time (0.2 s)' in fault
    assert drop_caches.read_text() == '0\n'
