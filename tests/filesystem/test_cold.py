"""Caches of the file systems of this machine are emptied where possible, and otherwise refused with the reason."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.filesystem import caches, posix
from seatrial.filesystem.mounts import Mount, mount_of
from seatrial.filesystem.registry import by_type
from stand_in import program

POSIX = by_type('posix')
SIZE = 8 * 1024 * 1024
BLOCK = 512  # bytes in one block of ru_inblock (getrusage(2))


@pytest.fixture
def mounted(monkeypatch):
    """A function that makes drivers see a mount of this type, and a user who may empty caches."""

    def mount(type_: str, options: str = 'rw') -> None:
        fake = Mount('/mnt', type_, 'source', options)
        for module in ('posix', 'nfs', 'glusterfs'):
            monkeypatch.setattr(f'seatrial.filesystem.{module}.look', lambda path: (fake, ''))
        monkeypatch.setattr(caches, 'why_not', lambda: '')

    return mount


@pytest.mark.parametrize(
    ('type', 'kernel_type', 'options', 'kept'),
    [
        *(('posix', kernel_type, 'rw', '') for kernel_type in ('ext4', 'xfs', 'btrfs', 'overlay')),
        ('ocfs2', 'ocfs2', 'rw', ''),
        ('nfs', 'nfs4', 'rw,vers=4.2', ''),
        ('nfs', 'nfs4', 'rw,vers=4.2,fsc', 'fsc'),
        ('nfs', 'nfs4', 'rw,vers=4.2,fsc=scratch', 'fsc'),
    ],
)
def test_where_caches_can_be_emptied_the_means_and_the_data_kept_are_named(mounted, type, kernel_type, options, kept):
    mounted(kernel_type, options)
    seen = by_type(type).cold('/mnt')
    assert seen.possible and 'drop_caches' in seen.how
    assert kept in seen.kept and bool(seen.kept) == bool(kept)


@pytest.mark.parametrize(
    ('type', 'kernel_type', 'why'),
    [
        ('posix', 'tmpfs', 'in memory'),
        ('posix', 'ramfs', 'in memory'),
        ('posix', 'zfs', 'ARC'),
        ('posix', 'fuse.sshfs', 'fuse.sshfs'),
        ('gpfs', 'gpfs', 'pagepool'),
    ],
)
def test_where_cold_reads_cannot_be_promised_there_is_a_reason(mounted, type, kernel_type, why):
    mounted(kernel_type)
    seen = by_type(type).cold('/mnt')
    assert not seen.possible and why in seen.why_not


def test_a_user_who_may_not_empty_caches_gets_the_reason_on_every_type(mounted, monkeypatch):
    mounted('ext4')
    monkeypatch.setattr(caches, 'why_not', lambda: 'only root may')
    for name in ('posix', 'nfs', 'beegfs', 'glusterfs'):
        seen = by_type(name).cold('/mnt')
        assert not seen.possible and seen.why_not == 'only root may' and seen.how == ''


def test_where_caches_cannot_be_emptied_nothing_is_dropped_and_the_reason_is_returned(mounted, monkeypatch):
    mounted('tmpfs')
    monkeypatch.setattr(caches, 'empty', lambda path, deadline_s: pytest.fail('dropped'))
    assert 'in memory' in (POSIX.empty_client_cache('/mnt') or '')
    mounted('ext4')
    monkeypatch.setattr(caches, 'empty', lambda path, deadline_s: f'not in {deadline_s:g} s')
    assert POSIX.empty_client_cache('/mnt', 7.0) == 'not in 7 s'


def test_a_file_system_that_does_not_answer_is_not_accessed_again(monkeypatch):
    monkeypatch.setattr(posix, 'unresponsive', lambda path: 'does not answer')
    monkeypatch.setattr(posix, 'mount_of', lambda path: pytest.fail('asked'))
    assert POSIX.cold('/mnt').why_not == 'does not answer'
    assert POSIX.state('/mnt') == {'mounted': 'unknown: does not answer'}


def test_a_read_after_emptying_comes_from_the_device(tmp_path, may_empty):
    if not POSIX.behaviour(str(tmp_path)).reads_are_counted or not POSIX.cold(str(tmp_path)).possible:
        pytest.skip(f'{mount_of(os.path.realpath(tmp_path))} has no cache to empty, or no counter of reads')
    file = tmp_path / 'data'
    file.write_bytes(os.urandom(SIZE))
    assert fetched_from_device(file) == 0
    assert POSIX.empty_client_cache(str(tmp_path)) is None
    assert fetched_from_device(file) >= SIZE
    assert fetched_from_device(file) == 0


def fetched_from_device(file: Path) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_inblock
    assert len(file.read_bytes()) == SIZE
    return (resource.getrusage(resource.RUSAGE_SELF).ru_inblock - before) * BLOCK


def test_data_not_yet_written_survive(tmp_path, may_empty):
    if not POSIX.cold(str(tmp_path)).possible:
        pytest.skip(POSIX.cold(str(tmp_path)).why_not)
    (tmp_path / 'dirty').write_bytes(b'x' * SIZE)
    assert POSIX.empty_client_cache(str(tmp_path)) is None
    assert (tmp_path / 'dirty').read_bytes() == b'x' * SIZE


# The kernel's caches: the check of permission drops nothing, and every fault is reported

SOURCE = str(Path(caches.__file__).parents[2])


@pytest.fixture
def drop_caches(monkeypatch, tmp_path):
    """An ordinary file in place of the kernel's, which keeps the text that is written to it."""
    file = tmp_path / 'drop_caches'
    file.write_text('0\n')
    monkeypatch.setattr(caches, 'DROP_CACHES', str(file))
    return file


def test_the_check_of_permission_drops_nothing_and_emptying_drops_all_three_caches(drop_caches, tmp_path):
    assert caches.why_not() == '' and drop_caches.read_text() == '0\n'
    assert caches.empty(str(tmp_path), 30.0) is None and drop_caches.read_text() == '3\n'


AS_NOBODY = f"""
import os, sys
sys.path.insert(0, {SOURCE!r})
from seatrial.filesystem import caches
os.setgroups([]), os.setgid(65534), os.setuid(65534)
print(caches.why_not())
print(caches.empty('/', 30.0))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason='root becomes an ordinary user here')
def test_an_ordinary_user_is_refused_before_and_after():
    done = subprocess.run([sys.executable, '-c', AS_NOBODY], capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert 'only root may' in before
    assert 'were not emptied' in after and 'ermission denied' in after


def test_a_failed_sync_is_reported_and_nothing_is_dropped(drop_caches, tmp_path):
    fault = caches.empty(str(tmp_path / 'gone'), 30.0)
    assert 'sync' in fault and 'No such file' in fault and drop_caches.read_text() == '0\n'


def test_a_failed_drop_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(caches, 'DROP_CACHES', str(tmp_path / 'no' / 'such' / 'file'))
    assert 'No such file' in caches.why_not() and str(tmp_path / 'no') in caches.why_not()
    assert caches.empty(str(tmp_path), 30.0).startswith('the caches were not emptied: sh -c')


def test_a_sync_that_hangs_is_abandoned_at_the_deadline(drop_caches, monkeypatch, tmp_path):
    program(tmp_path, monkeypatch, 'sync', 'exec sleep 60')
    fault = caches.empty(str(tmp_path), 0.2)
    assert 'did not end in time (0.2 s)' in fault and drop_caches.read_text() == '0\n'
