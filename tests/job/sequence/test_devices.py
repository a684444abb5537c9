"""The raw devices that a site names, as a node sees them: each fault in words, and none is opened to write."""

import os
import stat

import pytest

from seatrial.job.sequence import survey
from seatrial.job.sequence.survey import devices_fault

MIB = 2**20


@pytest.fixture
def disks(tmp_path, monkeypatch):
    """Files that pass for block devices of their size; what each is opened with."""
    opened = []
    real = os.stat

    def make(*sizes):
        paths = []
        for number, size in enumerate(sizes):
            path = tmp_path / f'sd{number}'
            path.write_bytes(bytes(size))
            paths.append(str(path))
        return paths

    def like_a_device(path, **how):
        found = real(path, **how)
        if not str(path).startswith(str(tmp_path)):
            return found
        return os.stat_result([stat.S_IFBLK | 0o660, *found[1:10]], {'st_rdev': found.st_ino})

    def watched(path, flags, *more):
        opened.append((path, flags))
        return real_open(path, flags, *more)

    real_open = os.open
    monkeypatch.setattr(survey.os, 'stat', like_a_device)
    monkeypatch.setattr(survey.os, 'open', watched)
    return make, opened


def test_devices_that_are_large_enough_have_no_fault_and_are_opened_to_read(disks):
    make, opened = disks
    paths = make(MIB, 2 * MIB)
    assert devices_fault(paths, MIB) is None
    assert opened == [(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths]


def test_a_device_that_is_not_there_is_named():
    assert devices_fault(['/dev/no-such-disk'], 1) == '/dev/no-such-disk is not there: No such file or directory'


def test_a_plain_file_and_a_character_device_are_no_block_devices(tmp_path):
    (tmp_path / 'disk').touch()
    for path in (str(tmp_path / 'disk'), '/dev/null'):
        assert devices_fault([path], 0) == f'{path} is not a block device'


def test_a_device_that_nobody_else_may_read_is_named(disks, monkeypatch):
    make, _ = disks
    (path,) = make(MIB)

    def refuse(path, flags):
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr(survey.os, 'open', refuse)
    assert devices_fault([path], 1) == f'{path} cannot be read: Permission denied'


def test_two_names_of_one_device_are_told(disks, tmp_path):
    make, _ = disks
    (path,) = make(MIB)
    os.symlink(path, tmp_path / 'again')
    assert devices_fault([path, str(tmp_path / 'again')], 1) == f'{tmp_path}/again and {path} are one device'


def test_a_device_that_is_too_small_is_told_with_the_remedy(disks):
    make, opened = disks
    (path,) = make(MIB)
    assert devices_fault([path], 2 * MIB) == (
        f'{path} has 1 MiB, and 2 MiB are to be read of it: write less for bytes_per_task in its trial'
    )
    assert len(opened) == 1


def test_a_case_without_devices_asks_nothing():
    assert devices_fault((), 0) is None
