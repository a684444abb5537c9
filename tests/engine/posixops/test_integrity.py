"""Integrity: every pattern finds a storage that loses or changes data, and accuses none that keeps them (tasks are
threads)."""

import errno
import fcntl
import os
import threading

import pytest

from seatrial.engine.base import EngineError
from seatrial.engine.posixops import integrity
from seatrial.engine.posixops.integrity import MIDDLE, ODD, WAYS_TO_WRITE, Pattern
from seatrial.engine.posixops.work import Work
from seatrial.engine.proof import data_of
from seatrial.model.metric import Fact
from stand_in import Altered, in_threads

KEY = '0123456789abcdef'
PATTERNS = {way.name: attempt for way, attempt in WAYS_TO_WRITE.items()}
HOSTS = ('a', 'b', 'c')
WRITES, READS, OPENS = integrity.write_all, integrity.read_there, integrity.opened


class Locks:
    """Of fcntl(2), between threads. reaching: from one to the other."""

    def __init__(self, reaching=True):
        self.lock, self.reaching = threading.Lock(), reaching

    def lockf(self, descriptor, how):
        if self.reaching and how == fcntl.LOCK_UN:
            self.lock.release()
        elif self.reaching and not self.lock.acquire(blocking=how == fcntl.LOCK_EX, timeout=-1):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def pattern(name, hosts=HOSTS):
    """The result of each task for one pattern: a fact, or the error that it raised."""

    def act(rank, seat):
        work = Work(rank, len(hosts))
        work.hosts, work.barrier = hosts, seat
        return Pattern(work, KEY, name).carry_out(PATTERNS[name])

    return in_threads(len(hosts), act)


def flipped(descriptor, data):
    WRITES(descriptor, memoryview(bytes([data[0] ^ 1]) + bytes(data[1:])))


def by(rank, call, instead):
    return lambda *arguments: (instead if threading.current_thread().name == rank else call)(*arguments)


def misread(descriptor, offset, size, window):
    part, past = READS(descriptor, offset, size, window)
    return part[:-1] + bytes(byte ^ 1 for byte in part[-1:]), past


def longer(descriptor, offset, size, window):
    part, past = READS(descriptor, offset, size, window)
    return part + b'old', past


def torn(descriptor, data):
    """Of one writer the lower half stays, of the other the upper one."""
    upper = os.lseek(descriptor, 0, os.SEEK_CUR) >= MIDDLE // 2
    if upper == (threading.current_thread().name == '0'):
        WRITES(descriptor, data)


def nothing(*arguments):
    """A call that says that it has been done."""


def without_append(path, flags):
    return OPENS(path, flags & ~os.O_APPEND)


# Of each pattern: what the storage does in place of the call, and the offset from which the file differs.
LIES = [
    *((name, {'write_all': flipped}, 0) for name in PATTERNS if name != 'mapped'),
    ('large_file', {'read_there': misread}, 2**20 - 1),
    ('small_files', {'read_there': longer}, 1),
    ('shared_file', {'write_all': by('1', WRITES, nothing)}, 65536),
    ('separate_files', {'write_all': by('1', WRITES, nothing)}, 0),
    ('appends', {'opened': without_append}, 0),
    ('appends', {'write_all': by('1', WRITES, nothing)}, ODD),
    ('truncates', {'os': Altered(os, ftruncate=nothing)}, MIDDLE // 3),
    ('overwrites', {'write_all': by('1', WRITES, nothing)}, 5003),
    ('mapped', {'mmap': Altered(integrity.mmap, MAP_SHARED=integrity.mmap.MAP_PRIVATE)}, 0),
    ('renamed', {'os': Altered(os, rename=nothing)}, 0),
    ('locked_writers', {'write_all': torn}, None),
]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    folder = tmp_path / f'integrity.{KEY[:12]}'
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(integrity, 'fcntl', Altered(fcntl, lockf=Locks().lockf))
    return folder


@pytest.mark.parametrize(('name', 'lies', 'offset'), LIES, ids=[f'{n}-{"-".join(lie)}-{at}' for n, lie, at in LIES])
@pytest.mark.slow
def test_a_lie_is_a_failure_of_the_storage_and_the_file_is_kept(monkeypatch, place, name, lies, offset):
    for what, instead in lies.items():
        monkeypatch.setattr(integrity, what, instead)
    error = pattern(name)[-1]
    assert isinstance(error, EngineError), error
    evidence = error.evidence
    assert (error.rule, evidence['reader']) == ('F2', 'c')
    assert set(evidence['writer'].split(', ')) <= {'a', 'b', 'a and b'}
    assert int(evidence['offset']) == offset or offset is None
    assert evidence['expected'] != evidence['found']
    assert all(value in error.sentence for value in evidence.values())
    assert (place / name / evidence['file'].split('/')[-1]).exists()


def test_the_expected_bytes_and_the_bytes_read_are_reported(monkeypatch):
    monkeypatch.setattr(integrity, 'write_all', flipped)
    evidence = pattern('large_file')[-1].evidence
    expected = data_of(KEY, 'large_file ', 0, 16)
    assert evidence['expected'] == expected.hex()
    assert evidence['found'] == (bytes([expected[0] ^ 1]) + expected[1:]).hex()


@pytest.mark.parametrize('hosts', [('a',), ('a', 'a'), ('a', 'b'), ('a', 'a', 'b', 'b'), HOSTS])
@pytest.mark.parametrize('name', sorted(PATTERNS))
@pytest.mark.slow
def test_on_a_storage_that_keeps_the_data_all_patterns_hold_and_nothing_is_left(place, name, hosts):
    facts = pattern(name, hosts)
    assert facts == [facts[0]] * len(hosts) and facts[0].holds is True
    assert list(place.iterdir()) == []
    assert name in {lied_about for lied_about, *_ in LIES}


@pytest.mark.parametrize(
    ('hosts', 'writers', 'together', 'reader'),
    [
        (('a',), [0], [0], 0),
        (('a', 'a'), [0], [0, 1], 1),
        (('a', 'a', 'a', 'a'), [0, 1], [0, 2], 2),
        (('a', 'b'), [0], [0, 1], 1),
        (('a', 'a', 'b', 'b'), [0, 1], [0, 2], 2),
        (('a', 'a', 'b', 'b', 'c', 'c'), [0, 2], [0, 2], 4),
    ],
)
def test_the_tasks_are_of_as_many_nodes_as_can_be_and_no_writer_is_of_the_readers(hosts, writers, together, reader):
    work = Work(0, len(hosts))
    work.hosts = hosts
    seen = Pattern(work, KEY, 'appends')
    assert (seen.writers, seen.together, seen.reader) == (writers, together, reader)


def test_a_call_that_the_file_system_does_not_have_is_reported_and_is_no_failure(monkeypatch, place):
    def refuse(*arguments):
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    monkeypatch.setattr(integrity, 'mmap', Altered(integrity.mmap, mmap=refuse))
    fact = Fact('mapped', None, 'the file system cannot write through a mapping: No such device')
    assert pattern('mapped') == [fact] * 3
    assert list(place.iterdir()) == []


def test_writers_whom_no_lock_keeps_apart_accuse_nobody(monkeypatch, place):
    """As on OCFS2 with o2cb between two nodes; they could leave the data of both."""
    monkeypatch.setattr(integrity, 'fcntl', Altered(fcntl, lockf=Locks(reaching=False).lockf))
    monkeypatch.setattr(integrity, 'write_all', torn)
    fact = Fact('locked_writers', None, 'the file system cannot keep these tasks apart by a lock of fcntl(2)')
    assert pattern('locked_writers') == [fact] * 3
    assert list(place.iterdir()) == []


def test_a_call_that_the_storage_fails_ends_the_task_that_made_it(monkeypatch):
    def fail(*arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(integrity, 'write_all', by('1', WRITES, fail))
    assert [getattr(error, 'errno', None) for error in pattern('appends')] == [None, errno.EIO, None]
