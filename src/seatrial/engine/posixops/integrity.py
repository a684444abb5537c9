"""posixops, integrity: tasks write data in one of many ways, and another task compares them byte for byte.

Up to three tasks take part, on as many nodes if there are. The last one reads files that it has not opened before and
that were synced and closed, past the cache if possible: NFS guarantees as much.
Data that differ are lost or changed (rule F2), and their file stays. The data are those of engine/proof.py.
"""

import errno
import fcntl
import mmap
import os
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Tuple

from seatrial.engine.base import EngineError
from seatrial.engine.posixops.interactive import remove_tree
from seatrial.engine.posixops.task_pair import Broken, Seen, Step, Turns
from seatrial.engine.posixops.work import Guarantee, Work, declared, opened, write_all
from seatrial.engine.proof import damage, data_of, differs, read_there, window_of
from seatrial.model.metric import Fact
from seatrial.model.units import MIB
from seatrial.workload.semantics import INTEGRITY as ROOT
from seatrial.workload.words import listed

TEAM = 3
SMALL = (1, 511, 512, 4095, 4096, 4097, 65537)  # bytes; most differ by one byte from the size of a sector or page
LARGE = 16 * MIB
MIDDLE = 300_007  # bytes; many pages, the last of them not full
SEGMENT, SEGMENTS = 65536, 8  # bytes of a segment, and segments of each task in the shared file
ODD = 47_008  # bytes of a transfer, as in IO500's ior-hard: aligned to neither pages nor stripes
ROUNDS = 5  # times that each task writes under a lock


class Pattern(Turns):
    """One way to write, from the view of one task: the ranks that write in turn (writers) or at once (together)."""

    # Errors of a file system that has no such call.
    refusals = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL, errno.EPERM, errno.ENOLCK)

    def __init__(self, work: Work, key: str, name: str) -> None:
        super().__init__(work.barrier, work.rank, f'{ROOT}.{key[:12]}/{name}')
        self._work, self._key, self._name = work, key, name
        hosts, ranks = work.hosts, range(work.tasks)
        nodes = [rank for rank in ranks if hosts[rank] not in hosts[:rank]][:TEAM]
        several = len(nodes) > 1
        self.reader = nodes[-1] if several else ranks[:TEAM][-1]
        # Its node would have cached the files as they were before another node changed them.
        away = [rank for rank in ranks if rank != self.reader and not (several and hosts[rank] == hosts[self.reader])]
        self.writers = sorted(away, key=lambda rank: rank not in nodes)[: TEAM - 1] or [self.reader]
        self.together = self.writers if len(nodes) == TEAM else sorted({self.writers[0], self.reader})
        self._wrote: List[int] = []
        self._compared, self._past = 0, True

    def carry_out(self, attempt: Callable[['Pattern'], None]) -> Fact:
        """Raises OSError where a call fails, and EngineError F2 where data differ."""
        self._work.doing = f'{self._name}, file {self.path()}'
        self._turn('make a directory', {0: (lambda: os.mkdir(self._directory),)})
        try:
            attempt(self)
            how = 'past its cache' if self._past else 'perhaps from its cache'
            where = f'written on {self._hosts(self._wrote)} and read on {self._hosts([self.reader])}'
            seen: Seen = (True, f'{self._compared} B {where}, {how}')
        except Broken as refused:
            seen = refused.holds, str(refused)
        self._turn('remove its files', {0: (lambda: remove_tree(self._directory),)})
        return Fact(self._name, *seen)

    def data(self, size: int, what: object = '') -> bytes:
        return data_of(self._key, f'{self._name} {what}', 0, size)

    def write(self, doing: str, step: Step, turn: int = 0) -> None:
        writer = self.writers[turn % len(self.writers)]
        self._wrote.append(writer)
        self._turn(doing, {writer: (step,)})

    def write_together(self, doing: str, step: Callable[[int], Any]) -> List[Any]:
        """These ranks do their steps at once; each gets its place among them. Returns the results in that order."""
        self._wrote += self.together
        self._barrier.wait(doing)
        results = self._turn(doing, {rank: (partial(step, place),) for place, rank in enumerate(self.together)})
        return [results[rank] for rank in self.together]

    def compare(self, *wanted: bytes, name: str = 'f') -> None:
        """The reader compares a file with its content; of several `wanted` any one is valid."""
        results = self._turn('read it', {self.reader: (lambda: self._is_read_directly(self.path(name), wanted),)})
        self._compared += len(wanted[0])
        self._past = self._past and results[self.reader]

    def _broken(self, rank: int, doing: str, why: str) -> Broken:
        return Broken(f'the file system cannot {doing}: {why}', None)

    def _is_read_directly(self, path: str, wanted: Tuple[bytes, ...]) -> bool:
        """True if it was read past the cache. Raises OSError, EngineError F2 for a content not in `wanted`."""
        window, content, past = window_of(MIB), b'', True
        with opened(path, os.O_RDONLY) as descriptor:
            while len(content) <= len(wanted[0]):
                part, direct = read_there(descriptor, len(content), MIB, window)
                content, past = content + part, past and direct
                if len(part) < MIB:
                    break
        if content in wanted:
            return past
        nearest = max((differs(path, 0, whole, content) for whole in wanted), key=lambda seen: seen.offset)
        sentence, evidence = damage(nearest, self._hosts(self._wrote), self._hosts([self.reader]))
        raise EngineError('F2', f'{self._name}: {sentence}', evidence)

    def _hosts(self, ranks: List[int]) -> str:
        return listed(sorted({self._work.hosts[rank] for rank in ranks}))


# The trials, in the order of the functions below. Data that differ are a failure (rule F2) and no fact.
WAYS_TO_WRITE: Dict[Guarantee, Callable[[Pattern], None]] = {}
_way = partial(declared, WAYS_TO_WRITE)


def carry_out(work: Work) -> Tuple[Fact, ...]:
    key = work.barrier.exchange('agree on a key', os.urandom(16).hex() if work.rank == 0 else '')[0]
    root = f'{ROOT}.{key[:12]}'
    if work.rank == 0:
        os.mkdir(root)
    facts = tuple(Pattern(work, key, way.name).carry_out(attempt) for way, attempt in WAYS_TO_WRITE.items())
    if work.rank == 0:
        os.rmdir(root)
    return facts


def _put(path: str, pieces: Iterable[Tuple[int, bytes]], flags: int = 0) -> None:
    with opened(path, os.O_WRONLY | os.O_CREAT | flags) as descriptor:
        for offset, data in pieces:
            os.lseek(descriptor, offset, os.SEEK_SET)
            write_all(descriptor, memoryview(data))
        os.fsync(descriptor)


def _pieces(data: bytes, size: int, first: int = 0, stride: int = 1) -> List[Tuple[int, bytes]]:
    """Pieces of that size: every `stride`-th one, beginning with `first`."""
    return [(at, data[at : at + size]) for at in range(first * size, len(data), stride * size)]


@_way('files of 1 B to 64 KiB are read back as they were written', 'POSIX.1 write()')
def _small_files(pattern: Pattern) -> None:
    def write() -> None:
        for size in SMALL:
            _put(pattern.path(f'f{size}'), [(0, pattern.data(size, size))])

    pattern.write('write small files', write)
    for size in SMALL:
        pattern.compare(pattern.data(size, size), name=f'f{size}')


@_way('a file of 16 MiB is read back as it was written', 'POSIX.1 write()')
def _large_file(pattern: Pattern) -> None:
    data = pattern.data(LARGE)
    pattern.write('write a large file', lambda: _put(pattern.path(), _pieces(data, MIB)))
    pattern.compare(data)


@_way('a file of unaligned transfers is read back as it was written', 'POSIX.1 write()')
def _unaligned(pattern: Pattern) -> None:
    data = pattern.data(20 * ODD + 1)
    backwards = _pieces(data, ODD)[::-1]
    pattern.write('write unaligned transfers', lambda: _put(pattern.path(), backwards))
    pattern.compare(data)


@_way('a file that tasks write at once is read back as it was written', 'POSIX.1 write()')
def _shared_file(pattern: Pattern) -> None:
    tasks = len(pattern.together)
    data = pattern.data(tasks * SEGMENTS * SEGMENT)
    pattern.write_together(
        'write to a shared file', lambda place: _put(pattern.path(), _pieces(data, SEGMENT, place, tasks))
    )
    pattern.compare(data)


@_way('files that tasks write at once are read back as written', 'POSIX.1 write()')
def _separate_files(pattern: Pattern) -> None:
    pattern.write_together(
        'write files of their own', lambda place: _put(pattern.path(f'f{place}'), [(0, pattern.data(MIDDLE, place))])
    )
    for place in range(len(pattern.together)):
        pattern.compare(pattern.data(MIDDLE, place), name=f'f{place}')


@_way('what tasks append one after the other follows each other', 'POSIX.1 write(), O_APPEND')
def _appends(pattern: Pattern) -> None:
    # Each writer once, or the only one again: no node has an older end of the file in its cache.
    parts = [pattern.data(ODD, turn) for turn in range(TEAM - 1)]
    for turn, part in enumerate(parts):
        pattern.write('append', partial(_put, pattern.path(), [(0, part)], os.O_APPEND), turn)
    pattern.compare(b''.join(parts))


@_way('what was cut off a file does not come back when it grows', 'POSIX.1 ftruncate()')
def _truncates(pattern: Pattern) -> None:
    data, kept = pattern.data(MIDDLE), MIDDLE // 3

    def shorten() -> None:
        with opened(pattern.path(), os.O_WRONLY) as descriptor:
            os.ftruncate(descriptor, kept)
            os.ftruncate(descriptor, MIDDLE)
            os.fsync(descriptor)

    pattern.write('write a file', lambda: _put(pattern.path(), [(0, data)]))
    pattern.write('make it shorter and longer again', shorten, turn=1)
    pattern.compare(data[:kept] + bytes(MIDDLE - kept))


@_way('overwritten parts are new, and what lies between them is old', 'POSIX.1 write()')
def _overwrites(pattern: Pattern) -> None:
    old, new = pattern.data(MIDDLE, 'old'), pattern.data(MIDDLE, 'new')
    parts = _pieces(new, 5003, first=1, stride=3)
    whole = bytearray(old)
    for offset, part in parts:
        whole[offset : offset + len(part)] = part
    pattern.write('write a file', lambda: _put(pattern.path(), [(0, old)]))
    pattern.write('overwrite parts of it', lambda: _put(pattern.path(), parts), turn=1)
    pattern.compare(bytes(whole))


@_way('what was written through a shared mapping is in the file', 'POSIX.1 msync()')
def _mapped(pattern: Pattern) -> None:
    data = pattern.data(MIDDLE)

    def write() -> None:
        with opened(pattern.path(), os.O_RDWR | os.O_CREAT) as descriptor:
            os.ftruncate(descriptor, MIDDLE)
            with mmap.mmap(descriptor, MIDDLE, mmap.MAP_SHARED) as mapping:
                mapping[:] = data
                mapping.flush()
            os.fsync(descriptor)

    pattern.write('write through a mapping', write)
    pattern.compare(data)


@_way('a file that was renamed over another has its own data', 'POSIX.1 rename()')
def _renamed(pattern: Pattern) -> None:
    old, new = pattern.data(MIDDLE, 'old'), pattern.data(MIDDLE, 'new')

    def replace() -> None:
        _put(pattern.path('new'), [(0, new)])
        os.rename(pattern.path('new'), pattern.path())

    pattern.write('write a file', lambda: _put(pattern.path(), [(0, old)]))
    pattern.write('rename another over it', replace, turn=1)
    pattern.compare(new)


@_way('writers that keep each other out leave the data of one', 'POSIX.1 fcntl()')
def _locked_writers(pattern: Pattern) -> None:
    """All write all of the file, in pieces, each time under one lock: it must hold the data of one of them. Not where
    locks do not reach from one to the other (OCFS2 with o2cb, Lustre's localflock, NFS's local_lock)."""
    held: List[int] = []

    def hold(place: int) -> None:
        if place == 0:
            held.append(os.open(pattern.path(), os.O_RDWR | os.O_NOFOLLOW))
            fcntl.lockf(held[0], fcntl.LOCK_EX)

    def is_kept_out(place: int) -> bool:
        if place == 0:
            return True
        with opened(pattern.path(), os.O_RDWR) as descriptor:
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):  # EAGAIN, EACCES: lockf(3)
                return True
            fcntl.lockf(descriptor, fcntl.LOCK_UN)
        return False

    def release(place: int) -> None:
        for descriptor in held:
            fcntl.lockf(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def write(place: int) -> None:
        with opened(pattern.path(), os.O_RDWR) as descriptor:
            for number in range(ROUNDS):
                pieces = _pieces(pattern.data(MIDDLE, f'{place} {number}'), ODD)
                fcntl.lockf(descriptor, fcntl.LOCK_EX)
                for offset, data in pieces:
                    os.lseek(descriptor, offset, os.SEEK_SET)
                    write_all(descriptor, memoryview(data))
                os.fsync(descriptor)
                fcntl.lockf(descriptor, fcntl.LOCK_UN)

    pattern.write('make a file', lambda: _put(pattern.path(), []))
    pattern.write_together('lock it', hold)
    kept_out = pattern.write_together('try to lock it too', is_kept_out)
    pattern.write_together('unlock it', release)
    if False in kept_out:
        raise Broken('the file system cannot keep these tasks apart by a lock of fcntl(2)', None)
    pattern.write_together('write under a lock', write)
    last = ROUNDS - 1
    pattern.compare(*(pattern.data(MIDDLE, f'{place} {last}') for place in range(len(pattern.together))))
