"""Whose a directory is, and who else may put things into it."""

import os

import pytest

from seatrial.model.owned import shared, user_name


def test_a_user_that_the_node_does_not_know_is_named_by_number():
    assert user_name(4294967294 - 7) == 'uid 4294967287'


@pytest.mark.parametrize('mode', [0o700, 0o750, 0o755])
def test_what_only_its_user_may_write_to_is_nobody_elses(tmp_path, mode):
    tmp_path.chmod(mode)
    assert shared(str(tmp_path)) is None


@pytest.mark.parametrize('mode', [0o770, 0o702, 0o777, 0o1777])
def test_what_others_may_write_to_is_ended_by_chmod_of_its_user(tmp_path, mode):
    tmp_path.chmod(mode)
    found = shared(str(tmp_path))
    assert (found.why, found.by_chmod) == (f'others may write to {tmp_path} (mode {mode:04o})', True)


def test_of_another_user_it_is_not(tmp_path, monkeypatch):
    if os.geteuid() == 0:
        os.chown(tmp_path, 1234, 1234)
    else:
        monkeypatch.setattr(os, 'geteuid', lambda: 1234)
    found = shared(str(tmp_path))
    assert (f'{tmp_path} belongs to ' in found.why, found.by_chmod) == (True, False)


def test_what_is_not_there_is_nobodys(tmp_path):
    assert shared(str(tmp_path / 'none')) is None
