"""posixops, a task's part in a metadata tree: directories and files are made, statted, read and removed.

A tree's root is `tree`, or `tree.RANK` where every task has its own; its directories are d0, d1, ... in each other.
In every directory a task puts its files f.RANK.0, ... and its empty directories e.RANK.0, ... The first task makes
and removes the directories of a shared tree, as with mdtest.

One after the other are timed, each from a common beginning on: directories of the tree, empty directories, files; the
other way round where they are removed. Making a file is open(O_CREAT|O_EXCL), write, fsync where it is asked for, and
close; reading it is open, read and close; the others are the one call. Finding is IO500's: every entry is listed,
each directory by one task, and of the files whose names have 01 in them the size is looked at.

On several nodes stat and find work on what a task 1 node further has made, read 2 and remove 3, or less.
"""

import itertools
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from seatrial.engine.base import EngineError
from seatrial.engine.posixops.work import Data, Part, Spec, Work, partner, read_all, write_all
from seatrial.model.point import Point
from seatrial.workload.base import CREATE, FIND, READ, REMOVE, STAT
from seatrial.workload.registry import phase_of, phases_of
from seatrial.workload.tree import operations

SOUGHT = '01'  # pfind's -name '*01*', as IO500 calls it


class TreeShare(NamedTuple):
    """The entries that one task makes: the tree's directories, parents first, and names in each of them."""

    directories: Tuple[str, ...]
    empties: Tuple[str, ...]
    files: Tuple[str, ...]


def carry_out(work: Work, spec: Spec) -> None:
    phase, point = spec.phase, spec.point
    mine = share(point, spec.directory, owner(work, phase))
    for entry, act in _acts(phase, point, mine, work.rank):
        metric = f'{entry}_{phase}'
        if entry == 'tree' and point.tree.subtrees == 'shared' and work.rank:
            act = None
        if metric in operations(point, phase):
            work.together(metric, act)
        elif entry == 'tree':
            work.untimed(metric, act)


def nodes_away(phase: str, nodes: int) -> int:
    """The distance in nodes to the entries of a phase: never a node's own ones if there is another node."""
    later = _LATER[phase]
    return 1 + (later - 1) % (nodes - 1) if later and nodes > 1 else 0


def owner(work: Work, phase: str) -> int:
    """The task on whose entries this one works in a phase. Raises EngineError."""
    away = nodes_away(phase, len(set(work.hosts)))
    return partner(work.rank, work.hosts, away) if away else work.rank


def share(point: Point, root: str, rank: int) -> TreeShare:
    level = [f'{root}.{rank}' if point.tree.subtrees == 'private' else root]
    directories = list(level)
    for _ in range(point.tree.depth):
        level = [f'{parent}/d{number}' for parent in level for number in range(point.tree.branching)]
        directories += level
    return TreeShare(
        tuple(directories),
        tuple(f'/e.{rank}.{number}' for number in range(point.tree.empties_per_directory)),
        tuple(f'/f.{rank}.{number}' for number in range(point.tree.files_per_directory)),
    )


_LATER = {CREATE: 0, STAT: 1, FIND: 1, READ: 2, REMOVE: 3}
Acts = List[Tuple[str, Optional[Callable[[], int]]]]


def _acts(phase: str, point: Point, mine: TreeShare, rank: int) -> Acts:
    size, files, empties = point.tree.bytes_per_file, mine.files, mine.empties
    listed = mine.directories if point.tree.subtrees == 'private' else mine.directories[rank :: point.tasks]
    made = len(mine.directories) * len(files) if phase_of(point, phase).makes else 0
    data = Data(size, made)
    by_phase: Dict[str, Acts] = {
        CREATE: [
            ('tree', lambda: _call_for_all(os.mkdir, mine.directories)),
            ('directory', lambda: _call_for_all(os.mkdir, _paths(mine, empties))),
            ('file', lambda: _make_files(_paths(mine, files), data, point.tree.fsync)),
        ],
        STAT: [
            ('directory', lambda: _call_for_all(os.stat, _paths(mine, empties))),
            ('file', lambda: _stat_files(_paths(mine, files), size)),
        ],
        FIND: [('file', (lambda: _find_files(listed, size)) if listed else None)],
        READ: [('file', lambda: _read_files(_paths(mine, files), size))],
        REMOVE: [
            ('file', lambda: _call_for_all(os.unlink, _paths(mine, files))),
            ('directory', lambda: _call_for_all(os.rmdir, _paths(mine, empties))),
            ('tree', lambda: _call_for_all(os.rmdir, reversed(mine.directories))),
        ],
    }
    return by_phase[phase]


def _paths(mine: TreeShare, names: Tuple[str, ...]) -> Iterator[str]:
    return (directory + name for directory in mine.directories for name in names)


def _call_for_all(call: Callable[[str], Any], paths: Iterable[str]) -> int:
    number = 0
    for path in paths:
        call(path)
        number += 1
    return number


def _make_files(paths: Iterable[str], data: Data, fsync: bool) -> int:
    number, path, has_bytes = 0, '', data.size > 0
    try:
        for path in paths:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            if has_bytes:
                write_all(descriptor, data.of(number))
            if fsync:
                os.fsync(descriptor)
            os.close(descriptor)
            number += 1
    except OSError as error:
        error.filename = path
        raise
    return number


def _stat_files(paths: Iterable[str], size: int) -> int:
    number = 0
    for path in paths:
        length = os.stat(path).st_size
        if length != size:
            raise EngineError('T17', f'{path} has {length} B, not {size} B')
        number += 1
    return number


def _find_files(directories: Iterable[str], size: int) -> int:
    number = 0
    for directory in directories:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    length = entry.stat(follow_symlinks=False).st_size if SOUGHT in entry.name else size
                    if length != size:
                        raise EngineError('T17', f'{entry.path} has {length} B, not {size} B')
                    number += 1
    return number


def _read_files(paths: Iterable[str], size: int) -> int:
    number, path, buffer = 0, '', bytearray(size)
    try:
        for path in paths:
            descriptor = os.open(path, os.O_RDONLY)
            if size:
                length = read_all(descriptor, buffer)
                if length != size:
                    raise EngineError('T17', f'{path} ends after {length} B of {size} B')
            os.close(descriptor)
            number += 1
    except OSError as error:
        error.filename = path
        raise
    return number


def _elsewhere(point: Point, phase: str) -> bool:
    current = phase_of(point, phase)
    earlier = itertools.takewhile(lambda other: other != current, phases_of(point))
    seen = {0, *(nodes_away(other.name, point.nodes) for other in earlier if FIND not in other.does)}
    # The task that lists a directory of a shared tree has files of its own in it.
    listed = point.tree.subtrees == 'shared' and FIND in current.does
    return not listed and nodes_away(phase, point.nodes) not in seen


PART = Part(carry_out, operations, makes=(r'tree(\.\d+)?', r'd\d+|[ef]\.\d+\.\d+'), elsewhere=_elsewhere)
