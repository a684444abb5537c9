"""Selects the part of a Darshan log to replay: one file system of its mount table, and there one set of files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seatrial.filesystem.mounts import is_below
from seatrial.judge.darshan_counters import contradiction, weighed
from seatrial.judge.issued import (
    ALL,
    HARDLY_ANY,
    NEARLY_ALL,
    SAME_BYTES,
    DarshanLog,
    Record,
    calls_of,
    is_moved,
    issued_of,
    order_of,
    prefix_of,
)
from seatrial.model.issued import Done, Issued
from seatrial.model.units import approximate_size
from seatrial.workload.words import by_key

OPERATIONS = {'write': 'WRITTEN', 'read': 'READ'}
_OF_OTHERS = {'write': 'READ', 'read': 'WRIT'}  # part of the names of the other operation's counters

_DISKS = 'ext2 ext3 ext4 xfs btrfs zfs jfs f2fs reiserfs vfat iso9660 squashfs erofs overlay aufs rootfs'
_MEMORY = 'tmpfs ramfs devtmpfs devpts mqueue hugetlbfs proc sysfs cgroup cgroup2 debugfs tracefs configfs'
LOCAL = frozenset(f'{_DISKS} {_MEMORY}'.split())  # kernel types of a node's own disks, and of its memory
_INTERFACES = {'H5D': 'hdf5', 'PNETCDF_VAR': 'netcdf'}

MOST = 0.5  # share of a file system's bytes below which a part does not represent the application


class Underivable(Exception):
    """A log of which no check can be made; the message is one sentence of why."""


@dataclass(frozen=True)
class FileSet:
    """A set of files with one pattern."""

    issued: Issued
    records: tuple[Record, ...]  # whose transfers count
    known: Mapping[str, bool]  # whether the order of an operation is known
    touched: Mapping[str, int]  # bytes of its files up to the last one that an operation touched
    strides: int  # number of forward steps of equal length
    largest: int  # most bytes that one task moved, 0 if unknown
    beside: int  # bytes of the other parts
    others: int  # number of the other parts


def on_one_mount(log: DarshanLog, mount: str | None, folders: Sequence[str]) -> tuple[DarshanLog, str, list[str]]:
    """The records of the chosen file system, its mount point, and sentences on what is left out. A node's own disk is
    left out if files lie on any other file system; one that moved HARDLY_ANY of the bytes needs no choice. Raises
    Underivable if several are left, or counters contradict each other."""
    by_mount = by_key((_mount_of(record.file, log), record) for record in log.records)
    moved = {place: bytes_of(records) for place, records in by_mount.items() if any(is_moved(one) for one in records)}
    distant = [place for place in moved if place[1] not in LOCAL and place[0] not in ('', '/')]
    chosen = [place for place in moved if place[0] == mount] if mount is not None else distant or list(moved)
    if fault := contradiction(replace(log, records=tuple(one for place in chosen for one in by_mount[place]))):
        raise Underivable(f'its counters contradict each other: {fault}')
    if mount is not None and not chosen:
        raise Underivable(f'the log shows no bytes moved on the mount {mount}; it shows {_listed(moved) or "none"}')
    if len(chosen) > 1:
        large = [place for place in chosen if moved[place] > HARDLY_ANY * sum(moved[one] for one in chosen)]
        meant = [place for place in large if any(is_below(folder, place[0]) for folder in folders)]
        chosen = meant if len(meant) == 1 and distant else large
    if len(chosen) > 1:
        raise Underivable(f'its files lie on several file systems ({_listed(moved, chosen)}); choose with --mount')
    rest = [place for place in moved if place not in chosen]
    remarks = [f'{_listed(moved, rest)}: left out, as no part of the file system that is replayed.'] if rest else []
    records = tuple(record for place in chosen for record in by_mount[place])
    libraries = tuple(record for record in log.libraries if _mount_of(record.file, log) in chosen)
    return replace(log, records=records, libraries=libraries), chosen[0][0] if chosen else '', remarks


def main_part(log: DarshanLog, operation: str | None) -> FileSet:
    """The part that moved the most bytes. Raises Underivable if none moved any."""
    parts = in_parts(_only(log, operation) if operation else log)
    if not parts:
        raise Underivable(_why_nothing(log, operation))
    issued, files = parts[0][1], {record.file for record in parts[0][0].records}
    records = [record for record in log.records if record.file in files]
    through = {record.file for record in records if record.module == 'MPI-IO' and is_moved(record)}
    leading = tuple(record for record in records if (record.module == 'MPI-IO') == (record.file in through))
    of_tasks = Counter[int]()
    for record in leading if issued.sharing == 'multiple' else ():
        of_tasks[record.rank] += bytes_of([record], operation)
    moved, *beside = [sum(done.bytes_moved for done in pattern.done) for _, pattern in parts]
    if moved < MOST * (moved + sum(beside)):
        share = 100 * moved / (moved + sum(beside))
        raise Underivable(f'no access pattern moves half of its bytes; the largest set of files moves {share:.0f} %')
    part = FileSet(
        issued,
        leading,
        {done.operation: done.order != '' or done.transitions == 0 for done in issued.done},
        {way: sum(touched_by(records, way).values()) for way in OPERATIONS},
        _strides_alike(records),
        max(of_tasks.values(), default=0),
        sum(beside),
        len(beside),
    )
    return _by_datasets(part, log, records) or part


def in_parts(log: DarshanLog) -> list[tuple[DarshanLog, Issued]]:
    """The log in parts that each have one pattern, largest bytes first; parts without bytes are left out. A shared
    file is a part of its own; files of single processes with the same operations and sizes form one part."""
    groups: dict[object, list[Record]] = {}
    for file, records in by_key((record.file, record) for record in log.records).items():
        ranks = {record.rank for record in records}
        alone = len(ranks) == 1 and (ALL not in ranks or log.processes == 1)
        sizes = [weighed(records, way).most_common(1) for way in OPERATIONS]
        alike = tuple(size[0][0] if size else 0 for size in sizes)
        groups.setdefault(alike if alone else file, []).extend(records)
    logs = [replace(log, records=tuple(records)) for records in groups.values()]
    parts = [(part, issued) for part in logs if (issued := issued_of([part])).done]
    return sorted(parts, key=lambda part: -sum(done.bytes_moved for done in part[1].done))


def bytes_of(records: Sequence[Record], operation: str | None = None) -> int:
    """Bytes moved by POSIX or, if it has none, by MPI-IO."""
    words = [OPERATIONS[operation]] if operation else list(OPERATIONS.values())
    posix, mpiio = (
        sum(record.counters.get(f'{prefix}_BYTES_{word}', 0) for record in records for word in words)
        for prefix in ('POSIX', 'MPIIO')
    )
    return posix or mpiio


def _mount_of(file: str, log: DarshanLog) -> tuple[str, str]:
    """Mount point and kernel type of the file's file system; both empty if the log does not tell."""
    return max((mount for mount in log.mounts if is_below(file, mount[0])), key=lambda m: len(m[0]), default=('', ''))


def _listed(moved: Mapping[tuple[str, str], int], which: Sequence[tuple[str, str]] | None = None) -> str:
    sizes = {place: approximate_size(moved[place]) for place in (moved if which is None else which)}
    return ', '.join(f'{size} on {" ".join(place).strip() or "no mount"}' for place, size in sizes.items())


def _why_nothing(log: DarshanLog, operation: str | None) -> str:
    went = [by for by in log.unreplayed if (by.read if operation == 'read' else by.written + by.read)]
    if went:
        sizes = ', '.join(f'{by.module} {approximate_size(by.written + by.read)}' for by in went)
        return f'all of its bytes were moved through modules without an access pattern that can be replayed: {sizes}'
    return f'the log shows no bytes moved{f" by a {operation}" if operation else ""}, so it has no access pattern'


def _only(log: DarshanLog, operation: str) -> DarshanLog:
    """The log with the counters of one operation alone; counters that may be of either operation are left out."""

    def alone(record: Record) -> Record:
        other = 'read' if operation == 'write' else 'write'
        left_out = (_OF_OTHERS[operation], *(['NOT_ALIGNED'] if calls_of(record, other) else []))
        kept = {name: value for name, value in record.counters.items() if not any(word in name for word in left_out)}
        return replace(record, counters=kept)

    return replace(log, records=tuple(alone(record) for record in log.records))


def touched_by(records: Sequence[Record], operation: str) -> dict[str, int]:
    """Bytes of each file up to the last one that the operation touched, which only POSIX counts. Darshan leaves out a
    last byte at offset 0, like every counter that is 0."""
    moved, last = (f'POSIX_{what}{OPERATIONS[operation]}' for what in ('BYTES_', 'MAX_BYTE_'))
    ends: dict[str, int] = {}
    for record in records:
        if record.counters.get(moved):
            ends[record.file] = max(ends.get(record.file, 0), record.counters.get(last, 0) + 1)
    return ends


def _strides_alike(records: Sequence[Record]) -> int:
    """Forward steps that skip about as much as the most frequent one: a header in front of data changes a little."""
    counts = Counter[int]()
    for record in records:
        for n in range(1, 5):
            stride, count = (record.counters.get(f'POSIX_STRIDE{n}_{what}', 0) for what in ('STRIDE', 'COUNT'))
            counts[stride] += count
    usual = max(counts, key=lambda stride: counts[stride], default=0)
    return sum(count for stride, count in counts.items() if abs(stride - usual) <= SAME_BYTES * usual)


def _by_datasets(part: FileSet, log: DarshanLog, posix: Sequence[Record]) -> FileSet | None:
    """The part as HDF5 or PnetCDF saw it, if each of its files has one dataset that was moved contiguously."""
    files = {record.file for record in posix}
    datasets = tuple(one for one in log.libraries if is_moved(one) and one.file.rpartition(':')[0] in files)
    if len({one.module for one in datasets}) != 1 or len({one.file for one in datasets}) != part.issued.files:
        return None
    prefix, done = prefix_of(datasets[0]), []
    counters = [(name, value) for one in datasets for name, value in one.counters.items()]
    collective = sum(value for name, value in counters if 'COLL' in name and 'OPENS' not in name) > 0
    for operation in (issue.operation for issue in part.issued.done):
        moved = sum(one.counters.get(f'{prefix}_BYTES_{OPERATIONS[operation]}', 0) for one in datasets)
        calls = sum(calls_of(one, operation) for one in datasets)
        steps = max(0, calls - max(part.issued.tasks, len(datasets)))
        following = sum(record.counters.get(f'POSIX_CONSEC_{operation.upper()}S', 0) for record in posix)
        sizes = weighed(datasets, operation).most_common(1)
        below = next(issue.bytes_moved for issue in part.issued.done if issue.operation == operation)
        clear = bool(sizes) and sizes[0][1] >= NEARLY_ALL * moved >= NEARLY_ALL**2 * below
        if not clear or order_of(steps, following, following) not in ('', 'contiguous'):
            return None
        done.append(Done(operation, moved, calls, 'contiguous' if steps else '', steps, 1.0, 1.0))
    interface = _INTERFACES[datasets[0].module]
    issued = part.issued._replace(interface=interface, collective=collective, done=tuple(done))
    return replace(part, issued=issued, records=datasets, known=dict.fromkeys(part.known, True))
