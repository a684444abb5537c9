"""posixops, interactive use: a task unpacks a tree of its own; then trees are read and removed as programs do it.

    untar   tarfile extracts an archive that lies in memory: directories, files, their modes and times
    import  every task goes through the tree of the first, as CPython's FileFinder imports a package with all its
            modules: a listing of each directory, then stat, open, fstat and read of each file (importlib,
            _bootstrap_external). On many nodes that is a module storm
    find    all names, by the types that the listing gives: no stat
    du      lstat of all entries
    rm      as `rm -r`: a listing of each directory, unlink of each file, rmdir

On several nodes find and du are of a tree that a task of the next node has made, and rm of one of the node after.
"""

import io
import os
import tarfile
from typing import List

from seatrial.engine.posixops.tree import owner, share
from seatrial.engine.posixops.work import Data, Failure, Work
from seatrial.model.point import Point


def carry_out(work: Work, point: Point) -> None:
    """One task's part, but for those of programs.py. Leaves nothing behind. Raises Failure and OSError."""
    packed = _archive(point, work.rank)
    work.together('untar', lambda: unpack(packed))
    work.together('import', lambda: _import('tree.0', point.tree.bytes_per_file))
    made, left = (f'tree.{owner(work, phase)}' for phase in ('stat', 'remove'))
    work.together('find', lambda: 1 + len(entries_in(made)))
    work.together(
        'du', lambda: sum(bool(each.stat(follow_symlinks=False)) for each in entries_in(made)) + bool(os.lstat(made))
    )
    work.together('rm', lambda: remove_tree(left))


def _archive(point: Point, rank: int) -> bytes:
    mine, packed = share(point, 'tree', rank), io.BytesIO()
    data = Data(point.tree.bytes_per_file, len(mine.directories) * len(mine.files))
    with tarfile.open(fileobj=packed, mode='w') as archive:
        for number, directory in enumerate(mine.directories):
            archive.addfile(archive_entry(directory, 0o755, 0, kind=tarfile.DIRTYPE))
            for place, name in enumerate(mine.files):
                entry = archive_entry(directory + name, 0o644, point.tree.bytes_per_file)
                archive.addfile(entry, io.BytesIO(data.of(number * len(mine.files) + place)))
    return packed.getvalue()


def archive_entry(
    name: str, mode: int, size: int, mtime: int = 1000000000, kind: bytes = tarfile.REGTYPE
) -> tarfile.TarInfo:
    """A tar entry owned by the current user; mtime: in Unix time."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.size, entry.mtime = kind, mode, size, mtime
    entry.uid, entry.gid = os.getuid(), os.getgid()
    return entry


def unpack(packed: bytes, directory: str = '.') -> int:
    """Extract a whole archive; returns the number of entries."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        # Newer versions warn, or change modes, unless they are told that the archive is trusted.
        archive.extraction_filter = getattr(tarfile, 'fully_trusted_filter', None)
        archive.extractall(directory, numeric_owner=True)
        return len(archive.getmembers())


def _import(root: str, size: int) -> int:
    number, waiting = 0, [root]
    while waiting:
        directory = waiting.pop()
        for name in os.listdir(directory):
            path = f'{directory}/{name}'
            if not name.startswith('f.'):
                waiting.append(path)
                continue
            os.stat(path)
            with open(path, 'rb') as module:
                found = len(module.read())
            if found != size:
                raise Failure('T17', f'{path} has {found} B, not {size} B')
            number += 1
    return number


def entries_in(root: str) -> 'List[os.DirEntry[str]]':
    """All entries below a directory, by the types that the listing gives. Raises OSError."""
    found: List['os.DirEntry[str]'] = []
    waiting = [root]
    while waiting:
        with os.scandir(waiting.pop()) as listing:
            here = list(listing)
        found += here
        waiting += [entry.path for entry in here if entry.is_dir(follow_symlinks=False)]
    return found


def remove_tree(root: str) -> int:
    """Remove a directory and all below it; returns the number of entries. Raises OSError."""
    number = 1
    with os.scandir(root) as listing:
        here = list(listing)
    for entry in here:
        if entry.is_dir(follow_symlinks=False):
            number += remove_tree(entry.path)
        else:
            os.unlink(entry.path)
            number += 1
    os.rmdir(root)
    return number
