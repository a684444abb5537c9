"""posixops, contention: single calls of all tasks at once, each timed, interpreter included.

    append        write(2) of one record to a file that all tasks have opened with O_APPEND. No sync: a log has none.
                  "No intervening file modification operation shall occur between changing the file offset and the
                  write" (POSIX.1 write()): afterwards every record is there once, and whole. NFS has no append, and
                  its clients lose records so (open(2), O_APPEND)
    lock          an fcntl lock on the next part of a file (F_SETLKW), read and write of a counter in it, and release
                  of the part before. There is one part more than there are tasks, which follow each other in a ring
                  without passing: each lock is handed over from another task, one at a time. Tridgell's ping_pong
                  of Samba's CTDB does so. Afterwards the counters have every change
    open_create   open(O_CREAT|O_EXCL) of one more file, all of which stay open
    open_write    pwrite(2) of one record to the next of them, round robin
    open_close    close(2)

What POSIX guarantees of appends and locks is a fact beside the figures, as those of semantics.py.
"""

import fcntl
import os
import resource
from typing import Callable, Dict, List, Optional, Tuple

from seatrial.engine.base import EngineError
from seatrial.engine.posixops.work import Guarantee, Part, Spec, Work
from seatrial.model.metric import Fact
from seatrial.model.point import Point
from seatrial.workload.contention import APPEND, CALLS, COUNTER, LOCK, ROUNDS, calls_of

SHARED = 'data'
SPARE = 64  # descriptors that a task has open, or may need, beside its files

CONTENDED: Dict[str, Guarantee] = {  # the fact beside the figures of each phase that has one
    APPEND: Guarantee(
        'appends_whole', 'records that all tasks append at once are all complete', 2, 'POSIX.1 write(), O_APPEND'
    ),
    LOCK: Guarantee('locks_exclude', 'no change that tasks make under a lock of fcntl is lost', 2, 'POSIX.1 fcntl()'),
}


def carry_out(work: Work, spec: Spec) -> None:
    shared = _SHARED.get(spec.phase)
    if shared is None:
        _hold_open(work, spec.point)
        return
    size, contend, compare = shared

    def make() -> None:
        with open(SHARED, 'xb') as file:
            file.write(bytes(size * (work.tasks + 1)))

    work.untimed('make the file', make if work.rank == 0 else None)
    contend(work, spec.point)
    seen = ''
    if work.rank == 0:
        work.doing = 'compare what came of it'
        seen = compare(work.tasks, spec.point)
        os.unlink(SHARED)
    seen = work.barrier.exchange('compare', seen)[0]
    work.facts = (Fact(CONTENDED[spec.phase].name, not seen[0].isdigit(), seen),)


def too_few(point: Point) -> Optional[str]:
    """A hard limit of open files that is too low for the point, as a clause, or None."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most == resource.RLIM_INFINITY or point.tree.files_per_directory + SPARE <= most:
        return None
    return f'cannot hold {point.tree.files_per_directory} files open: a process may have {most} (ulimit -Hn)'


def _append(work: Work, point: Point) -> None:
    records = [record_of(work.rank, number, point.data.transfer_size) for number in range(calls_of(point))]
    work.untimed('open the file', None)
    descriptor = os.open(SHARED, os.O_WRONLY | os.O_APPEND)

    def append(record: bytes) -> None:
        if os.write(descriptor, record) != len(record):
            raise EngineError('E1', f'not all of {len(record)} B were appended in one call')

    work.time_calls('append', append, records)
    os.close(descriptor)
    work.untimed('close the file', None)


def record_of(rank: int, number: int, size: int) -> bytes:
    """A line of `size` bytes that no other task and no other call appends."""
    head = f'{rank}.{number}.'
    return (head * (size // len(head) + 1))[: size - 1].encode() + b'\n'


def _appended(tasks: int, point: Point) -> str:
    """The contents of the file, as a clause that begins with a number if a record is missing or repeated."""
    calls, size = calls_of(point), point.data.transfer_size
    with open(SHARED, 'rb') as file:
        lines = file.read().splitlines(True)
    meant = {record_of(rank, number, size) for rank in range(tasks) for number in range(calls)}
    lost, strange = len(meant - set(lines)), len(lines) - len(meant & set(lines))
    if lost or strange:
        return f'{lost} of {len(meant)} records were lost or truncated, and {strange} lines are damaged or duplicates'
    return f'all {len(meant)} records are there once, complete'


def _lock(work: Work, point: Point) -> None:
    slots, last = work.tasks + 1, calls_of(point) - 1
    work.untimed('open the file', None)
    descriptor = os.open(SHARED, os.O_RDWR)

    def move(number: int) -> None:
        at = number % slots * COUNTER
        fcntl.lockf(descriptor, fcntl.LOCK_EX, COUNTER, at)
        changes = int.from_bytes(os.pread(descriptor, COUNTER, at), 'little') + 1
        os.pwrite(descriptor, changes.to_bytes(COUNTER, 'little'), at)
        if number:
            fcntl.lockf(descriptor, fcntl.LOCK_UN, COUNTER, (number - 1) % slots * COUNTER)
        if number == last:
            fcntl.lockf(descriptor, fcntl.LOCK_UN, COUNTER, at)

    work.time_calls('lock', move, range(last + 1))
    os.close(descriptor)
    work.untimed('close the file', None)


def _changed(tasks: int, point: Point) -> str:
    """The contents of the counters, as a clause that begins with a number where changes are missing."""
    meant = tasks * calls_of(point)
    descriptor = os.open(SHARED, os.O_RDWR)
    fcntl.lockf(descriptor, fcntl.LOCK_EX)  # a client of NFS asks the server again when it gets a lock
    counters = os.pread(descriptor, COUNTER * (tasks + 1), 0)
    os.close(descriptor)
    made = sum(int.from_bytes(counters[at : at + COUNTER], 'little') for at in range(0, len(counters), COUNTER))
    if made == meant:
        return f'all {meant} changes under a lock are there'
    return f'{meant - made} of {meant} changes were lost'


def _hold_open(work: Work, point: Point) -> None:
    fault = too_few(point)
    if fault is not None:
        raise EngineError('E1', fault)
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = point.tree.files_per_directory + SPARE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    work.untimed('begin', None)  # no task writes if one may not open so many files
    where, size = f'd{work.rank}', point.data.transfer_size
    names = [f'{where}/f{number}' for number in range(point.tree.files_per_directory)]
    record, held = os.urandom(size), []  # type: bytes, List[int]
    work.untimed('make a directory', lambda: os.mkdir(where))
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
    work.time_calls('open_create', lambda name: held.append(os.open(name, flags, 0o666)), names)

    def write(number: int) -> None:
        if os.pwrite(held[number % len(held)], record, number // len(held) * size) != size:
            raise EngineError('E1', f'not all of {size} B were written in one call')

    work.time_calls('open_write', write, range(calls_of(point)))
    work.time_calls('open_close', os.close, held)
    work.untimed('compare and remove', lambda: _remove(where, names, record * ROUNDS))


def _remove(where: str, names: List[str], content: bytes) -> None:
    for name in names:
        with open(name, 'rb') as file:
            if file.read() != content:
                raise EngineError('F2', f'{name} is not as it was written', {'file': name})
        os.unlink(name)
    os.rmdir(where)


_SHARED: Dict[str, Tuple[int, Callable[[Work, Point], None], Callable[[int, Point], str]]] = {
    APPEND: (0, _append, _appended),
    LOCK: (COUNTER, _lock, _changed),
}
"""Phases in which tasks share a file: its bytes for each of them and one more, who contends, and who compares."""


def _planned(point: Point, phase: str) -> Dict[str, int]:
    calls = dict.fromkeys(('append', 'lock', 'open_write'), calls_of(point))
    return {name: point.tasks * calls.get(name, point.tree.files_per_directory) for name in CALLS[phase]}


PART = Part(
    carry_out,
    _planned,
    facts={phase: (guarantee,) for phase, guarantee in CONTENDED.items()},
    makes=(r'[df]\d+',),
    cannot=too_few,
)
