"""posixops, the operations of IOzone's fileop: every task does one call to all of its entries, then the next call.

Each task works in a directory of its own, `calls.RANK`, or all of them in `calls`, on entries whose names have its
rank. Every single call is timed, interpreter included. What an operation is:

mkdir, rmdir    of an empty directory
chdir           into the next of these directories, from the one before
create          open(O_CREAT|O_EXCL) and close
open            an existing file, for reading and writing
write, read     all bytes of the file, in one call each; a task reads data that it has just written
close           of a file that was written: where the file system writes back on close, this shows it
stat, access, chmod, rename
readdir         the next entry of a listing (readdir(3)), as many as a task has files; opening the directory is
                inside the seconds, and no operation
link            a second name of a file, in the same directory
unlink          of a file's only name: the file is gone

No more than OPEN_AT_ONCE files are open at one time: else the seconds of an operation are the sum over rounds.
"""

import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

from seatrial.engine.base import MAX_BYTES_PER_CALL, EngineError
from seatrial.engine.posixops.work import Data, Part, Spec, Work
from seatrial.model.point import Point
from seatrial.workload.registry import metrics_of
from seatrial.workload.tree import levels_total

OPEN_AT_ONCE = 512  # half of the usual soft limit of a process


def carry_out(work: Work, spec: Spec) -> None:
    point = spec.point
    private = point.tree.subtrees == 'private'
    where = f'calls.{work.rank}' if private else 'calls'
    makes = private or work.rank == 0
    work.untimed('make the directory', (lambda: os.mkdir(where)) if makes else None)
    numbers = range(point.tree.files_per_directory)
    names = [f'd.{work.rank}.{number}' for number in numbers]
    paths = [f'{where}/{name}' for name in names]
    work.time_calls('mkdir', os.mkdir, paths)
    home = os.open('.', os.O_RDONLY | os.O_DIRECTORY)
    work.time_calls('chdir', os.chdir, paths[:1] + [f'../{name}' for name in names[1:]])
    os.fchdir(home)
    os.close(home)
    work.time_calls('rmdir', os.rmdir, paths)
    files = [f'{where}/f.{work.rank}.{number}' for number in numbers]
    _open_files(work, files, point.tree.bytes_per_file)
    _names(work, where, files)
    work.untimed('remove the directory', (lambda: os.rmdir(where)) if makes else None)


def _open_files(work: Work, files: List[str], size: int) -> None:
    work.time_calls('create', lambda path: os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)), files)
    data = Data(size, len(files))
    opened: List[int] = []

    def write(item: Tuple[int, memoryview]) -> None:
        if os.write(*item) != size:
            raise EngineError('E1', f'not all of {size} B were written in one call')

    def read(descriptor: int) -> None:
        if len(os.pread(descriptor, size, 0)) != size:
            raise EngineError('E1', f'not all of {size} B were read in one call')

    for first in range(0, len(files), OPEN_AT_ONCE):
        some = files[first : first + OPEN_AT_ONCE]
        work.time_calls('open', lambda path: opened.append(os.open(path, os.O_RDWR)), some)
        work.time_calls('write', write, zip(opened, map(data.of, range(first, len(files)))))
        work.time_calls('read', read, opened)
        work.time_calls('close', os.close, opened)
        opened.clear()


def _names(work: Work, where: str, files: List[str]) -> None:
    links, renamed = [f'{path}.l' for path in files], [f'{path}.r' for path in files]
    work.time_calls('stat', os.stat, files)
    work.time_calls('access', _access, files)
    work.time_calls('chmod', lambda path: os.chmod(path, 0o600), files)
    _listing(work, where, len(files))
    work.time_calls('link', lambda pair: os.link(*pair), zip(files, links))
    work.untimed('remove the links', lambda: list(map(os.unlink, links)))
    work.time_calls('rename', lambda pair: os.rename(*pair), zip(files, renamed))
    work.time_calls('unlink', os.unlink, renamed)


def _access(path: str) -> None:
    if not os.access(path, os.R_OK | os.W_OK):
        raise EngineError('E1', f'access: {path} may not be read and written')


def _listing(work: Work, where: str, number: int) -> None:
    def listings() -> Iterator[Iterator[Any]]:
        with os.scandir(where) as listing:
            for _ in range(number):
                yield listing

    def entry(listing: Iterator[Any]) -> None:
        if next(listing, None) is None:
            raise EngineError('T17', f'the listing of {where} ends before its entry {number}')

    work.time_calls('readdir', entry, listings())


def _cannot(point: Point) -> Optional[str]:
    size = point.tree.bytes_per_file
    return None if 0 < size <= MAX_BYTES_PER_CALL else f'cannot write and read {size} bytes in one call'


def on_all_files(point: Point, phase: str) -> Dict[str, int]:
    """Every metric is of a call to each of the files."""
    return dict.fromkeys((metric.name for metric in metrics_of(point, phase)), levels_total(point, point.tasks).files)


PART = Part(carry_out, on_all_files, makes=(r'calls(\.\d+)?', r'[df]\.\d+\.\d+(\.[lr])?'), cannot=_cannot)
