"""The guarantees of POSIX: each trial fails on a file system that breaks it, and on no other. The two tasks are
threads; the file system is broken by replacing calls of os, fcntl and mmap as the trials see them."""

import ctypes
import errno
import fcntl
import mmap
import os
import shutil
import threading
import time
from types import SimpleNamespace

import pytest

from seatrial.engine.barrier import TaskBarrier
from seatrial.engine.posixops import permissions, semantics, task_pair
from seatrial.engine.posixops.semantics import GUARANTEES
from seatrial.engine.posixops.task_pair import Pair
from stand_in import Altered, in_threads

OTHER = '1'  # the name of its thread
TRIALS = {guarantee.name: attempt for guarantee, attempt in GUARANTEES.items()}


def facts(name, hosts=('a', 'b')):
    """The facts of both tasks on one guarantee."""
    return in_threads(2, lambda rank, seat: Pair(seat, rank, hosts).trial(name, TRIALS[name]))


def fails_with(number):
    def fail(*arguments, **more):
        raise OSError(number, os.strerror(number))

    return fail


def nothing(*arguments, **more):
    """A call that reports success and does nothing."""


def without(flag):
    return lambda path, flags, mode=0o777: os.open(path, flags & ~flag, mode)


def refusing(flag, number):
    return lambda path, flags, mode=0o777: fails_with(number)() if flags & flag else os.open(path, flags, mode)


def by_other(call, instead):
    return lambda *arguments: (instead if threading.current_thread().name == OTHER else call)(*arguments)


def gap(new, path):
    os.unlink(path)
    time.sleep(0.005)
    os.rename(new, path)


def counting_no_directory(old, new):
    if not os.path.isdir(old):
        os.rename(old, new)


def answering(result):
    return lambda name, use_errno: SimpleNamespace(fallocate=lambda *arguments: result)


def stat(**fields):
    return lambda path: SimpleNamespace(**fields)


HOLE = semantics.HOLE


AS_ROOT = dict.fromkeys(('setgroups', 'setgid', 'setuid'), nothing)  # a file system that allows its users every call
# Breaches by guarantee: the module that the trial sees, the names that are replaced, and words of the fact.
BREACHES = [
    ('read_after_close', os, {'read': lambda fd, size: b''}, "read '' instead of 'written'"),
    ('read_before_close', os, {'read': lambda fd, size: b'before'}, "read 'before' instead of 'behind'"),
    ('overwrite_in_place', os, {'pwrite': lambda fd, data, at: len(data)}, 'read 8192 B, 100 of them wrong'),
    ('append', os, {'open': without(os.O_APPEND)}, "read 'three' instead of 'one two three'"),
    ('append_at_once', os, {'open': without(os.O_APPEND)}, 'of 400 records were lost or truncated'),
    ('write_at_once', os, {'pwrite': by_other(os.pwrite, lambda fd, data, at: len(data))},
     '64000 B of 128000 B were lost'),
    ('truncate_on_open', os, {'open': without(os.O_TRUNC)}, 'found 7 B in it'),
    ('mmap_shared', mmap, {'MAP_SHARED': mmap.MAP_PRIVATE}, "read 'ooo' instead of 'new'"),
    ('mmap_shared', os, {'pread': fails_with(errno.EPERM)}, 'write to the mapping: Operation not permitted'),
    ('rename_over', os, {'rename': nothing}, 'the old name is still there'),
    ('rename_over', os, {'read': lambda fd, size: b'old'}, "read 'old' instead of 'new'"),
    ('rename_without_gap', os, {'rename': gap}, 'missed it in'),
    ('name_after_miss', os, {'path': Altered(os.path, lexists=lambda path: False)}, 'did not find it'),
    ('name_after_miss', os, {'path': Altered(os.path, lexists=lambda path: True)}, 'found it before it was made'),
    ('listing', os, {'listdir': lambda path: []}, 'then [] with the file there'),
    ('untar', os, {'lstat': lambda path: os.lstat('.')}, '40 of 40 files differ, the first in its size'),
    ('untar', os, {'read': lambda fd, size: b'?'}, 'the first in its bytes'),
    ('exclusive_create', os, {'open': without(os.O_EXCL)}, '40 were created twice and 0 by nobody'),
    ('fsync_and_rename', os, {'fsync': fails_with(errno.EINVAL)}, 'could not write a new one and sync it: Invalid'),
    ('fsync_and_rename', os, {'read': lambda fd, size: b'old'}, "read 'old' instead of 'new'"),
    ('unlink_by_another', os, {'pread': fails_with(errno.ESTALE)}, 'could not read what it has open: Stale'),
    ('unlink_by_another', os, {'pread': lambda fd, size, at: b''}, "read '' after its removal"),
    ('unlink_by_another', os, {'unlink': nothing}, 'its name is still there'),
    ('flock', fcntl, {'flock': nothing}, 'both held it at one time'),
    ('flock', fcntl, {'flock': fails_with(errno.ENOSYS)}, 'the first task could not lock it: Function not impl'),
    ('flock', fcntl, {'flock': by_other(fcntl.flock, fails_with(errno.EWOULDBLOCK))},
     'was refused after the release too'),
    ('fcntl_lock', fcntl, {}, 'both held it at one time'),  # two threads are one process, which shares its locks
    ('fcntl_lock', fcntl, {'lockf': fails_with(errno.ENOLCK)}, 'the first task could not lock it: No locks'),
    ('fcntl_lock', fcntl, {'lockf': by_other(nothing, fails_with(errno.EACCES))}, 'refused after the release too'),
    ('chmod', os, {'chmod': nothing}, 'saw 0644 instead of 0640'),
    ('chown', os, {'chown': fails_with(errno.EPERM)}, 'could not set its owner and group: Operation not permitted'),
    ('chown', os, {'stat': by_other(os.stat, stat(st_uid=7, st_gid=8))}, 'saw 7:8 instead'),
    ('times', os, {'utime': nothing}, 'where it was set back to 1000000000'),
    ('times', os, {'write': lambda fd, data: len(data)}, 'before a write and'),
    ('times', os, {'chmod': nothing}, 'ctime did not change in 0.1 s'),
    ('times', os, {'stat': by_other(os.stat, stat(st_mtime=7.0, st_ctime_ns=0))}, 'where it was set back to'),
    ('times_after_2038', os, {'utime': lambda path, times: os.utime(path, (0, 0))}, 'mtime is 0, where it was set'),
    ('hard_links', os, {'link': shutil.copy}, 'saw 1 names of two files, then 1'),
    ('hard_links', os, {'link': fails_with(errno.EPERM)}, 'could not give it a second name: Operation not permitted'),
    ('symlinks', os, {'symlink': fails_with(errno.EPERM)}, 'could not link to it: Operation not permitted'),
    ('symlinks', os, {'readlink': lambda path: 'g'}, "it leads to 'g'"),
    ('unlink_of_open_file', os, {'pread': fails_with(errno.ESTALE)}, 'could not read what it has open: Stale'),
    ('full_directory', os, {'rmdir': nothing}, 'removed it'),
    ('links_after_renames', os, {'rename': nothing}, 'to the first task a file has 2 names, after a rename'),
    ('links_after_renames', os, {'stat': by_other(os.stat, stat(st_nlink=2))}, 'to another task'),
    ('links_after_renames', os, {'rename': counting_no_directory}, 'counted [3, 3] links of two directories instead'),
    ('permissions', os, {'geteuid': lambda: 1000}, 'opened a file of mode 0'),
    ('permissions', os, AS_ROOT, 'open() for reading of a file 0600 by user 61001 (in no group of the'),
    ('fifo_permissions', os, AS_ROOT, 'open(O_RDWR) of a FIFO 0600 by user 61001 (in no group of the'),
    ('directory_permissions', os, AS_ROOT, 'was not refused, where EACCES is due'),
    ('sticky_directories', os, AS_ROOT, 'was not refused, where EPERM or EACCES is due'),
    ('set_group_id', os, {'stat': stat(st_uid=0, st_gid=7)}, 'st_gid is 7 and not 61002'),
    ('ownership', os, AS_ROOT, 'st_uid is 0 and not 61000'),
    ('paths_of_4095_bytes', os, {'makedirs': fails_with(errno.ENAMETOOLONG)}, 'could not make a file: File name too'),
    ('sparse_files', os, {'stat': stat(st_size=HOLE, st_blocks=HOLE // 512)}, 'one byte written take 16777216 B'),
    ('sparse_files', os, {'read': lambda fd, size: b'?' * size}, 'the hole does not read as zeros'),
    ('zero_fill', os, {'truncate': nothing}, 'read 10 B of 100 B, 5 of them wrong'),
    ('fallocate', ctypes, {'CDLL': answering(-1), 'get_errno': lambda: errno.EOPNOTSUPP}, 'reserve space: Opera'),
    ('fallocate', ctypes, {'CDLL': answering(0)}, 'the file has 0 B of 1 MiB'),
    ('xattr', os, {'setxattr': fails_with(errno.ENOTSUP)}, 'could not set an attribute: Operation not supported'),
    ('xattr', os, {'removexattr': nothing, 'setxattr': nothing, 'getxattr': lambda path, name: b'kept',
                   'listxattr': lambda path: ['user.seatrial']}, 'still there after its removal'),
    ('names_of_255_bytes', os, {'listdir': lambda path: ['n' * 143]}, 'listed names of [143] bytes'),
    ('case_of_letters', os, {'open': lambda path, flags, mode=0o777: os.open(path.lower(), flags, mode)},
     'f and F are one file'),
    ('direct_io', os, {'open': refusing(os.O_DIRECT, errno.EINVAL)}, 'could not write with O_DIRECT: Invalid'),
    ('direct_io', os, {'open': without(os.O_DIRECT), 'readv': lambda fd, pages: 0}, 'with O_DIRECT 0 B'),
]  # fmt: skip

IN_ONE_PROCESS = {'fcntl_lock'}  # keeps no lock from its own threads
OF_USERS = {guarantee.name for guarantee in permissions.GUARANTEES}
OF_THE_MACHINE = {'sparse_files', 'fallocate', 'xattr', 'direct_io'} | (OF_USERS if os.geteuid() else set())


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    (tmp_path / 'semantics').mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(semantics, 'RACE_S', 0.05)
    monkeypatch.setattr(semantics, 'COARSEST_S', 0.1)
    return tmp_path


@pytest.mark.parametrize(
    ('name', 'module', 'names', 'words'), BREACHES, ids=[f'{b[0]}-{"-".join(b[2]) or "threads"}' for b in BREACHES]
)
def test_a_breach_is_reported_by_both_tasks_and_leaves_nothing(monkeypatch, place, name, module, names, words):
    of_users = name in OF_USERS
    if of_users and 'geteuid' not in names and os.geteuid():
        pytest.skip('needs root')
    monkeypatch.setattr(permissions if of_users else semantics, module.__name__, Altered(module, **names))
    one, other = facts(name)
    assert (one, one.holds) == (other, False)
    assert words in one.seen
    assert list((place / 'semantics').iterdir()) == []


@pytest.mark.parametrize('at_first', [errno.ENOTEMPTY, errno.EISDIR])  # EISDIR: stat of a directory gave EIO
def test_a_name_that_comes_late_is_removed_with_the_rest(monkeypatch, place, at_first):
    late = place / 'semantics' / 'chmod' / 'late'

    def rmtree(directory):
        if not late.exists():
            late.touch()
            fails_with(at_first)()
        shutil.rmtree(directory)

    monkeypatch.setattr(task_pair, 'shutil', Altered(shutil, rmtree=rmtree))
    one, other = facts('chmod')
    assert one.holds and other.holds
    assert not late.parent.exists()


def test_every_guarantee_has_a_breach():
    assert set(TRIALS) == {breach[0] for breach in BREACHES}


@pytest.mark.parametrize('name', sorted(TRIALS))
def test_on_a_file_system_that_keeps_its_guarantees_all_hold_and_nothing_is_left(name, place):
    one, other = facts(name)
    assert list((place / 'semantics').iterdir()) == []
    if name not in IN_ONE_PROCESS | OF_THE_MACHINE:
        assert (one.holds, one) == (True, other), one.seen


def test_no_descriptor_stays_open():
    before = set(os.listdir('/proc/self/fd'))
    for name in ('flock', 'unlink_by_another', 'read_before_close'):
        facts(name)
    assert set(os.listdir('/proc/self/fd')) == before


def test_a_file_that_cannot_be_closed_breaks_the_guarantee_it_was_open_for(place, monkeypatch):
    """As seen with GlusterFS, where another task has removed the file."""

    def close(descriptor):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, 'No such file or directory')

    monkeypatch.setattr(task_pair, 'os', Altered(os, close=close))
    one, other = facts('unlink_by_another')
    assert (one, one.holds) == (other, False)
    words = 'the first task could not close what it had open: No such file or directory'
    assert one.seen == f'it was read after its removal; {words}'
    assert list((place / 'semantics').iterdir()) == []


@pytest.mark.parametrize(
    ('hosts', 'who'), [(('a', 'a'), 'another task on the same node'), (('a', 'b'), 'another task on another node')]
)
def test_a_fact_names_the_place_of_the_other_task(hosts, who):
    assert facts('read_after_close', hosts)[0].seen == f'{who} read what was written'


@pytest.mark.parametrize(
    ('hosts', 'other'), [(('a',), 0), (('a', 'a', 'a'), 1), (('a', 'a', 'b', 'b'), 2), (('a', 'b', 'a', 'b'), 1)]
)
def test_the_other_task_is_the_first_of_another_node_or_the_next_of_this_one(hosts, other):
    assert Pair(TaskBarrier(), 0, hosts)._second == other


class TestRoot:
    """The trials of root, and the reasons why they cannot be made."""

    @pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
    def test_root_gives_a_file_away(self):
        assert facts('chown')[0].seen.endswith('saw the file given to nobody')

    @pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
    def test_a_squashed_root_sets_the_same_owner(self, monkeypatch):
        def squashed(path, uid, gid):
            if uid != os.stat(path).st_uid:
                raise PermissionError(errno.EPERM, 'Operation not permitted')

        monkeypatch.setattr(semantics, 'os', Altered(os, chown=squashed))
        assert facts('chown')[0].seen.endswith('as root may not give a file away here')

    @pytest.mark.parametrize(
        ('names', 'why'),
        [
            ({'geteuid': lambda: 1000}, 'it needs root, to act as two users'),
            ({'setgroups': fails_with(errno.EPERM)}, 'root cannot switch to another user here (EPERM)'),
            ({'geteuid': lambda: 0, 'stat': stat(st_uid=65534)}, 'the file system takes root for nobody'),
            ({'setgroups': lambda groups: os.setgroups([])}, 'chown() of its file to a group of its own gave EPERM'),
        ],
    )
    def test_a_task_that_cannot_act_as_two_users_reports_the_reason(self, monkeypatch, names, why):
        if os.geteuid() and 'stat' in names:
            pytest.skip('needs root')
        monkeypatch.setattr(permissions, 'os', Altered(os, **names))
        fact = facts('ownership')[0]
        assert fact.holds is None
        assert fact.seen.startswith(why if os.geteuid() == 0 or 'geteuid' in names else 'it needs root')


def test_blocks_that_count_nothing_show_no_hole(monkeypatch):
    monkeypatch.setattr(semantics, 'os', Altered(os, stat=stat(st_size=HOLE, st_blocks=1)))
    assert facts('sparse_files')[0].holds is None
