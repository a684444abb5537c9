"""The access pattern that Darshan's counters show: files, sharing, order, sizes. Pure functions.

The counters and how they are counted: darshan-runtime/lib/darshan-posix.c and darshan-mpiio.c of Darshan 3.4. For one
process and file, POSIX_SEQ_READS counts reads that begin anywhere behind the last byte read before,
POSIX_CONSEC_READS those that begin right behind it; a first read at offset 0 is neither, one further on is
sequential. A record of rank -1 is the sum over all processes (the maximum of POSIX_MAX_BYTE_*); Darshan writes it for
a file that all have opened."""

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seatrial.model.issued import MIXED, Done, Issued, Share

ALL = -1  # the rank of a record that is the sum over all processes

NEARLY_ALL = 0.9  # share of the transitions for an order to have a name; chosen, the real ones are 0.99 and more
HARDLY_ANY = 0.1
RANDOM_FORWARD = (0.25, 0.75)  # shares of the transitions; a random order has a half, give or take 0.05 of RANDOM_MIN
RANDOM_FOLLOWING = 0.25  # share of the transitions; a random order has one for each task
RANDOM_MIN = 32  # transitions, for an order to be called random
SAME_BYTES = 0.02  # share by which headers and the like may blur the extent

_WORDS = {'write': ('WRITES', 'BYTES_WRITTEN'), 'read': ('READS', 'BYTES_READ')}
_KINDS = ('INDEP', 'COLL', 'SPLIT', 'NB')  # MPI-IO calls: independent, collective, split collective, nonblocking


@dataclass(frozen=True)
class Record:
    """Counters of one process, or of all (rank ALL), for one file and interface, 'POSIX' or 'MPI-IO'; or for one
    dataset of a file, 'file:name', accessed through a library: 'H5D' (HDF5) or 'PNETCDF_VAR'."""

    module: str
    file: str
    rank: int
    counters: Mapping[str, int]


class Unreplayed(NamedTuple):
    """Bytes moved without a record of their pattern: by STDIO (fopen(3)), DFS, DAOS, or known from HEATMAP alone."""

    module: str
    written: int
    read: int
    partial: bool = False


@dataclass(frozen=True)
class DarshanLog:
    version: str
    processes: int
    partial: bool  # Darshan ran out of memory for records and says so
    records: tuple[Record, ...]
    unreplayed: tuple[Unreplayed, ...] = ()
    libraries: tuple[Record, ...] = ()  # records of datasets; the records of POSIX and MPI-IO contain their bytes too
    mounts: tuple[tuple[str, str], ...] = ()  # path and kernel type of each mount of the node


def issued_of(logs: Sequence[DarshanLog], within: str = '', links: Mapping[str, str] | None = None) -> Issued:
    """The I/O that the processes of one launch did below the directory `within`, or everywhere. Only processes that
    moved bytes count, but every fsync of their files counts, also by a process around an engine that has none. logs:
    one log of an MPI program, or one for each process of another; links: the targets of links in `within` by name"""
    files: dict[str, _DarshanFile] = {}
    syncs: Counter[str] = Counter()  # by the name of every file that was opened
    processes = 0
    for log in logs:
        records = [
            (name, record) for record in log.records if (name := _name(record.file, within, links or {})) is not None
        ]
        for name, record in records:
            syncs[name] += sum(record.counters.get(counter, 0) for counter in ('POSIX_FSYNCS', 'POSIX_FDSYNCS'))
        if len(logs) > 1 and not any(is_moved(record) for _, record in records):
            continue
        everyone = frozenset(range(processes, processes + log.processes))
        for name, record in records:
            tasks = everyone if record.rank == ALL else frozenset((processes + record.rank,))
            files.setdefault(name, _DarshanFile([])).parts.append(_Part(tasks, record))
        processes += log.processes
    moving = {name: file for name, file in files.items() if any(is_moved(part.record) for part in file.parts)}
    synced = sum(syncs[name] for name in moving)
    return _summed([*moving.values()], processes, len(syncs), any(log.partial for log in logs), synced)


def order_of(transitions: int, following: int, forward: int) -> str:
    """The order of transfers: `transitions` of them follow another one, `following` of these begin right behind it
    and `forward` anywhere behind it. Empty without transitions; 'mixed' if none fits or the numbers are too small."""
    if transitions == 0:
        return ''
    if following >= NEARLY_ALL * transitions:
        return 'contiguous'
    if forward >= NEARLY_ALL * transitions and following <= HARDLY_ANY * transitions:
        return 'strided'
    low, high = (share * transitions for share in RANDOM_FORWARD)
    half_forward = low <= forward <= high and following <= RANDOM_FOLLOWING * transitions
    return 'random' if transitions >= RANDOM_MIN and half_forward else MIXED


@dataclass(frozen=True)
class _Part:
    tasks: frozenset[int]
    record: Record


@dataclass(frozen=True)
class _DarshanFile:
    parts: list[_Part]

    def sum_of(self, module: str, name: str) -> int:
        return sum(part.record.counters.get(name, 0) for part in self.parts if part.record.module == module)

    @property
    def asked(self) -> list[_Part]:
        """The calls that were asked for: those of MPI-IO if any, which may move bytes by other processes."""
        module = 'MPI-IO' if self.by_mpiio else 'POSIX'
        return [part for part in self.parts if part.record.module == module]

    def tasks(self, operation: str) -> frozenset[int]:
        return frozenset[int]().union(*(part.tasks for part in self.asked if calls_of(part.record, operation)))

    def calls(self, operation: str) -> int:
        return sum(calls_of(part.record, operation) for part in self.asked)

    def bytes_moved(self, operation: str) -> int:
        records, moved = [part.record for part in self.asked], _WORDS[operation][1]
        return sum(record.counters.get(f'{prefix_of(record)}_{moved}', 0) for record in records)

    @property
    def by_mpiio(self) -> bool:
        return any(part.record.module == 'MPI-IO' and is_moved(part.record) for part in self.parts)

    @property
    def size(self) -> int:
        """Bytes up to the last one touched; only POSIX counts it."""
        names = ('POSIX_MAX_BYTE_WRITTEN', 'POSIX_MAX_BYTE_READ')
        return 1 + max(part.record.counters.get(name, 0) for part in self.parts for name in names)

    def merged(self, operation: str) -> bool:
        """True if MPI-IO may have issued other transfers than it was asked for."""
        word, moved = _WORDS[operation]
        return self.by_mpiio and (
            self.sum_of('POSIX', f'POSIX_{word}') != self.calls(operation)
            or self.sum_of('POSIX', f'POSIX_{moved}') != self.bytes_moved(operation)
        )


def _summed(files: list[_DarshanFile], processes: int, opened: int, partial: bool, syncs: int) -> Issued:
    operations = [operation for operation in _WORDS if any(file.calls(operation) for file in files)]
    tasks = [frozenset[int]().union(*(file.tasks(operation) for operation in operations)) for file in files]
    sharing = _sharing(tasks)
    extent = _extent(files, operations, sharing)
    by_mpiio = any(file.by_mpiio for file in files)
    calls = {
        kind: sum(file.sum_of('MPI-IO', f'MPIIO_{kind}_{word}') for file in files for word, _ in _WORDS.values())
        for kind in _KINDS
    }
    transfers = sum(file.sum_of('POSIX', f'POSIX_{word}') for file in files for word, _ in _WORDS.values())
    misaligned = sum(file.sum_of('POSIX', 'POSIX_FILE_NOT_ALIGNED') for file in files)
    units = [part.record.counters.get('POSIX_FILE_ALIGNMENT', 0) for file in files for part in file.parts]
    return Issued(
        processes=processes,
        tasks=len(frozenset[int]().union(*tasks)),
        opened=opened,
        files=len(files),
        sharing=sharing,
        extent=extent,
        interface='mpiio' if by_mpiio else 'posix',
        collective=by_mpiio and 2 * (calls['COLL'] + calls['SPLIT']) > sum(calls.values()),
        size=sum(file.size for file in files),
        done=tuple(_done(files, operation, extent) for operation in operations),
        sizes=_sizes(files, operations),
        alignment=max([0, *units]),
        misaligned=misaligned / transfers if transfers else 0.0,
        partial=partial,
        syncs=syncs,
    )


def _sharing(tasks: list[frozenset[int]]) -> str:
    """The sharing of files: each used by one task, or one by all."""
    if not tasks:
        return ''
    if all(len(of_file) == 1 for of_file in tasks):
        return 'multiple'
    return 'single' if len(tasks) == 1 else MIXED


def _extent(files: list[_DarshanFile], operations: list[str], sharing: str) -> str:
    """The extent by bytes moved: every task moves the whole of its file, or all together move it once."""
    extents = set()
    for operation in operations:
        size = sum(file.size for file in files if file.calls(operation))
        moved = sum(file.bytes_moved(operation) for file in files)
        tasks = max(len(file.tasks(operation)) for file in files)
        if sharing == 'single' and tasks > 1 and _near(moved, size):
            extents.add('segment')
        else:
            extents.add('whole' if _near(moved, size * tasks) else '')
    return extents.pop() if len(extents) == 1 else ''


def _near(one: int, other: int) -> bool:
    return abs(one - other) <= SAME_BYTES * other


def _done(files: list[_DarshanFile], operation: str, extent: str) -> Done:
    word, _ = _WORDS[operation]
    transitions = following = forward = 0
    for file in files:
        calls, starts = file.calls(operation), len(file.tasks(operation))
        # A first transfer that is not at offset 0 counts as sequential: of segments all but that of the first task.
        first = starts - 1 if extent == 'segment' else 0
        transitions += max(0, calls - starts)
        following += file.sum_of('POSIX', f'POSIX_CONSEC_{word}')
        forward += max(0, file.sum_of('POSIX', f'POSIX_SEQ_{word}') - (first if calls else 0))
    known = not any(file.merged(operation) for file in files)
    return Done(
        operation=operation,
        bytes_moved=sum(file.bytes_moved(operation) for file in files),
        transfers=sum(file.calls(operation) for file in files),
        order=order_of(transitions, following, forward) if known else '',
        transitions=transitions,
        following=min(1.0, following / transitions) if transitions and known else 0.0,
        forward=min(1.0, forward / transitions) if transitions and known else 0.0,
    )


def _sizes(files: list[_DarshanFile], operations: list[str]) -> tuple[Share, ...]:
    """Transfer sizes, the most frequent first, from the four most frequent of every record (POSIX_ACCESS1 to 4, or
    MPIIO_ACCESS1 to 4). Darshan keeps one table for reads and writes together."""
    total = sum(file.calls(operation) for file in files for operation in operations)
    counts: Counter[int] = Counter()
    for record in (part.record for file in files for part in file.asked):
        for size, count, _ in frequent_sizes(record):
            counts[size] += count
    return tuple(Share(size, count / total) for size, count in sorted(counts.items(), key=lambda x: (-x[1], -x[0])))


def is_moved(record: Record) -> bool:
    return any(calls_of(record, operation) for operation in _WORDS)


def calls_of(record: Record, operation: str) -> int:
    prefix, word = prefix_of(record), _WORDS[operation][0]
    return sum(record.counters.get(f'{prefix}_{kind}{word}', 0) for kind in ('', *(f'{name}_' for name in _KINDS)))


def prefix_of(record: Record) -> str:
    return 'MPIIO' if record.module == 'MPI-IO' else record.module


def frequent_sizes(record: Record) -> list[tuple[int, int, int]]:
    """(size, count, number of the counter) of the most frequent sizes of transfers."""
    names = [(f'{prefix_of(record)}_ACCESS{n}', n) for n in range(1, 5)]
    rows = [(record.counters.get(f'{x}_ACCESS', 0), record.counters.get(f'{x}_COUNT', 0), n) for x, n in names]
    return [row for row in rows if row[1] > 0]


def _name(file: str, within: str, links: Mapping[str, str]) -> str | None:
    """The name of the file below `within`, with links resolved; None if it lies elsewhere."""
    if not within:
        return file
    name = posixpath.relpath(file, within) if file.startswith(within.rstrip('/') + '/') else None
    return links.get(name, name) if name is not None else None
