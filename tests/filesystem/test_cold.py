"""Cold caches on the file systems of this machine: emptied where that is possible, refused with the reason else."""

import os
import resource
from pathlib import Path

import pytest

from seatrial.filesystem import caches, posix
from seatrial.filesystem.mounts import Mount, mount_of
from seatrial.filesystem.registry import by_type

POSIX = by_type('posix')
SIZE = 8 * 1024 * 1024
BLOCK = 512  # bytes, of ru_inblock (getrusage(2))


@pytest.fixture
def mounted(monkeypatch):
    """Make the driver believe in a mount; and in a user who may."""

    def mount(type_: str, options: str = 'rw') -> None:
        seen = Mount('/mnt', type_, 'source', options)
        for module in ('posix', 'nfs', 'glusterfs'):
            monkeypatch.setattr(f'seatrial.filesystem.{module}.look', lambda path: (seen, ''))
        monkeypatch.setattr(caches, 'why_not', lambda: '')

    return mount


@pytest.mark.parametrize('type_', ['ext4', 'xfs', 'btrfs', 'overlay'])
def test_where_the_kernel_alone_caches_it_is_possible_and_the_means_is_said(mounted, type_):
    mounted(type_)
    seen = POSIX.cold('/mnt')
    assert seen.possible and 'drop_caches' in seen.how and seen.kept == ''


@pytest.mark.parametrize('type_', ['tmpfs', 'ramfs'])
def test_in_memory_no_read_is_ever_cold(mounted, type_):
    mounted(type_)
    assert not POSIX.cold('/mnt').possible and 'in memory' in POSIX.cold('/mnt').why_not


def test_the_cache_of_zfs_is_not_promised(mounted):
    mounted('zfs')
    assert 'ARC' in POSIX.cold('/mnt').why_not


def test_what_a_client_caches_is_not_known_to_posix(mounted):
    mounted('fuse.sshfs')
    assert 'fuse.sshfs' in POSIX.cold('/mnt').why_not


def test_nfs_keeps_a_cache_on_disk_only_where_it_is_mounted_with_one(mounted):
    mounted('nfs4', 'rw,vers=4.2,fsc')
    assert by_type('nfs').cold('/mnt').possible and 'fsc' in by_type('nfs').cold('/mnt').kept
    mounted('nfs4', 'rw,vers=4.2,fsc=scratch')
    assert 'fsc' in by_type('nfs').cold('/mnt').kept
    mounted('nfs4', 'rw,vers=4.2')
    assert by_type('nfs').cold('/mnt').kept == ''


def test_ocfs2_keeps_nothing_outside_of_the_kernel(mounted):
    mounted('ocfs2')
    assert by_type('ocfs2').cold('/mnt').possible and by_type('ocfs2').cold('/mnt').kept == ''


def test_gpfs_is_never_promised_and_beegfs_with_a_reservation(mounted):
    mounted('gpfs')
    assert 'pagepool' in by_type('gpfs').cold('/mnt').why_not
    assert by_type('beegfs').cold('/mnt').possible and 'buffers' in by_type('beegfs').cold('/mnt').kept


def test_who_may_not_empty_is_told_on_every_type(mounted, monkeypatch):
    mounted('ext4')
    monkeypatch.setattr(caches, 'why_not', lambda: 'only root may')
    for name in ('posix', 'nfs', 'beegfs', 'glusterfs'):
        seen = by_type(name).cold('/mnt')
        assert not seen.possible and seen.why_not == 'only root may' and seen.how == ''


def test_where_it_is_not_possible_nothing_is_dropped_and_the_reason_comes_back(mounted, monkeypatch):
    mounted('tmpfs')
    monkeypatch.setattr(caches, 'empty', lambda path, deadline_s: pytest.fail('dropped'))
    assert 'in memory' in (POSIX.empty_client_cache('/mnt') or '')


def test_a_fault_midway_comes_back_as_it_is(mounted, monkeypatch):
    mounted('ext4')
    monkeypatch.setattr(caches, 'empty', lambda path, deadline_s: f'not in {deadline_s:g} s')
    assert POSIX.empty_client_cache('/mnt', 7.0) == 'not in 7 s'


def test_a_file_system_that_does_not_answer_is_not_asked_further(monkeypatch):
    monkeypatch.setattr(posix, 'unresponsive', lambda path: 'does not answer')
    monkeypatch.setattr(posix, 'mount_of', lambda path: pytest.fail('asked'))
    assert POSIX.cold('/mnt').why_not == 'does not answer'
    assert POSIX.state('/mnt') == {'mounted': 'unknown: does not answer'}


def test_a_read_after_emptying_comes_from_the_device(tmp_path, may_empty):
    if not POSIX.behaviour(str(tmp_path)).reads_are_counted or not POSIX.cold(str(tmp_path)).possible:
        pytest.skip(f'{mount_of(os.path.realpath(tmp_path))} has no cache to empty, or no counter')
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


def test_what_is_not_yet_written_survives(tmp_path, may_empty):
    if not POSIX.cold(str(tmp_path)).possible:
        pytest.skip(POSIX.cold(str(tmp_path)).why_not)
    (tmp_path / 'dirty').write_bytes(b'x' * SIZE)
    assert POSIX.empty_client_cache(str(tmp_path)) is None
    assert (tmp_path / 'dirty').read_bytes() == b'x' * SIZE


@pytest.mark.skipif(not Path('/dev/shm').is_dir(), reason='/dev/shm is not there')
def test_tmpfs_of_this_machine_is_refused():
    assert 'tmpfs' in POSIX.cold('/dev/shm').why_not
