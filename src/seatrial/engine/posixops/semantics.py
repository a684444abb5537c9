"""posixops, guarantees of POSIX: each is tried in a directory of its own, and leaves nothing behind. A trial reads as
a story of two tasks (task_pair.py). A guarantee does not hold if a step of its trial fails with an errno."""

import contextlib
import ctypes
import errno
import fcntl
import io
import mmap
import os
import tarfile
import time
from functools import partial
from typing import Any, Callable, Dict, Iterable, Iterator, List, Tuple

from seatrial.engine.base import Outcome
from seatrial.engine.posixops import integrity, permissions
from seatrial.engine.posixops.integrity import WAYS_TO_WRITE
from seatrial.engine.posixops.interactive import archive_entry, unpack
from seatrial.engine.posixops.task_pair import ROOT, Pair, Seen, Step, refused
from seatrial.engine.posixops.work import Guarantee, Part, Report, Spec, Work, declared
from seatrial.model.metric import Fact, Measurement, Metric
from seatrial.model.point import Point
from seatrial.workload.registry import metrics_of
from seatrial.workload.semantics import HOLDING, INTEGRITY, PHASE

ALONE = 'one task only'
RECORDS, RECORD = 200, 64  # records of each task in the trial of concurrent appends, and bytes of a record
# Blocks of each task in the trial of concurrent writes, and bytes of a block: no multiple of a page (cache unit).
BLOCKS, BLOCK = 64, 1000
NAMES = 40  # files in the trials of exclusive creation and of an archive: few enough for a quota
RACE_S = 0.3  # seconds for which files are renamed over a name
COARSEST_S = 2.5  # seconds; the coarsest timestamps are those of FAT, every two seconds
LONG_AGO = 1000000000.0
HOLE, FULL = 1 << 24, 1 << 18  # bytes of a file with a hole, and of one without
PAGE = 4096
LONGEST_PATH = 4095  # bytes, without the NUL at its end
NOBODY = 65534

GUARANTEES: Dict[Guarantee, Callable[[Pair], Seen]] = {}  # the trials, in the order of the functions below
_guarantee = partial(declared, GUARANTEES)


def carry_out(work: Work, spec: Spec) -> None:
    work.facts = {PHASE: _probe, INTEGRITY: integrity.carry_out}[spec.phase](work)


def counted(phase: str, point: Point, reports: List[Report], plain: Measurement, outcome: Outcome) -> Measurement:
    """Figures that are counts: the guarantees that hold, or the first task's counts of a limit."""
    holding = sum(fact.holds is True for fact in plain.facts)
    counts = {HOLDING: holding, **reports[0].counts.get('limit', {})}
    types = metrics_of(point, phase)
    return plain._replace(metrics=tuple(Metric(m.name, float(counts[m.name]), '', m.better) for m in types))


def _probe(work: Work) -> Tuple[Fact, ...]:
    """Tries every guarantee. Raises OSError where the entries of a trial cannot be removed, and BarrierError."""
    pair = Pair(work.barrier, work.rank, work.hosts)
    if work.rank == 0:
        os.mkdir(ROOT)
    facts = []
    for guarantee, attempt in GUARANTEES.items():
        work.doing = name = guarantee.name
        facts.append(pair.trial(name, attempt) if guarantee.tasks <= work.tasks else Fact(name, None, ALONE))
    if work.rank == 0:
        os.rmdir(ROOT)
    return tuple(facts)


def _judge(holds: bool, good: str, bad: str) -> Seen:
    return holds, good if holds else bad


def _saw(pair: Pair, holds: bool, good: str, bad: str) -> Seen:
    """An observation of the other task: 'another task on another node saw 0640'."""
    return holds, f'{pair.other_one} {good if holds else bad}'


@contextlib.contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write(path: str, data: bytes, flags: int = os.O_TRUNC, synced: bool = False) -> None:
    with _opened(path, os.O_CREAT | os.O_WRONLY | flags) as descriptor:
        os.write(descriptor, data)
        if synced:
            os.fsync(descriptor)


def _written(pair: Pair, data: bytes, doing: str = 'write a file') -> str:
    path = pair.path('f')
    pair.first(doing, lambda: _write(path, data))
    return path


def _known(pair: Pair, data: bytes) -> str:
    """The path of a file that the first task has written and the other task has read."""
    path = _written(pair, data)
    pair.other('read it', lambda: len(_read(path)))
    return path


def _read(path: str) -> bytes:
    with _opened(path, os.O_RDONLY) as descriptor:
        return os.read(descriptor, 1 << 20)


def _text(path: str) -> str:
    return _read(path).decode('ascii', 'backslashreplace')


def _shown(text: str) -> str:
    return f"'{text}'" if len(text) <= 40 else f"'{text[:40]}...' ({len(text)} B)"


def _content_seen(pair: Pair, seen: str, wanted: str) -> Seen:
    return _saw(pair, seen == wanted, 'read what was written', f'read {_shown(seen)} instead of {_shown(wanted)}')


@_guarantee('another task reads what one has written and closed', 'POSIX.1 write()', tasks=2)
def _read_after_close(pair: Pair) -> Seen:
    path = _written(pair, b'written')
    return _content_seen(pair, pair.other('read it', lambda: _text(path)), 'written')


@_guarantee('another task reads what one has written, before it closes', 'POSIX.1 write()', tasks=2)
def _read_before_close(pair: Pair) -> Seen:
    path = _known(pair, b'before')
    pair.first('write to it without closing it', lambda: os.write(pair.keep(os.open(path, os.O_WRONLY)), b'behind'))
    return _content_seen(pair, pair.other('read it again', lambda: _text(path)), 'behind')


@_guarantee('another task reads bytes that were overwritten', 'POSIX.1 write()', tasks=2)
def _overwrite_in_place(pair: Pair) -> Seen:
    path = _known(pair, b'a' * 2 * PAGE)
    wanted = 'a' * PAGE + 'b' * 100 + 'a' * (PAGE - 100)
    pair.first('overwrite a part of it', lambda: _write_at(path, b'b' * 100, PAGE))
    length, changed = pair.other('read it again', lambda: _compared(path, wanted.encode()))
    whole, bad = length == len(wanted) and not changed, f'read {length} B, {changed} of them wrong'
    return _saw(pair, whole, 'read the new bytes between the old ones', bad)


def _write_at(path: str, data: bytes, offset: int) -> None:
    with _opened(path, os.O_WRONLY) as descriptor:
        os.pwrite(descriptor, data, offset)


def _compared(path: str, wanted: bytes) -> Tuple[int, int]:
    seen = _read(path)
    return len(seen), sum(one != other for one, other in zip(seen, wanted))


@_guarantee('appended records follow each other, whoever appends', 'POSIX.1 write(), O_APPEND', tasks=2)
def _append(pair: Pair) -> Seen:
    path = _written(pair, b'one ')
    pair.other('append to it', lambda: _write(path, b'two ', os.O_APPEND))
    pair.first('append to it', lambda: _write(path, b'three', os.O_APPEND))
    return _content_seen(pair, pair.other('read it', lambda: _text(path)), 'one two three')


@_guarantee('two tasks that append at once lose no record', 'POSIX.1 write(), O_APPEND', tasks=2)
def _append_at_once(pair: Pair) -> Seen:
    path = _written(pair, b'', 'make a file')
    pair.at_once('append to it', lambda: _append_records(path, 'a'), lambda: _append_records(path, 'b'))
    wanted = {_record(who, number) for who in 'ab' for number in range(RECORDS)}

    def missing() -> int:
        return len(wanted - set(_read(path).splitlines(True)))

    lost = max(reads('read it', missing) for reads in (pair.first, pair.other))
    good, bad = (
        f'all {len(wanted)} records are there, whole',
        f'{lost} of {len(wanted)} records were lost or truncated',
    )
    return _judge(not lost, good, bad)


def _record(who: str, number: int) -> bytes:
    return f'{who}{number}'.ljust(RECORD - 1, who).encode() + b'\n'


def _append_records(path: str, who: str) -> None:
    with _opened(path, os.O_WRONLY | os.O_APPEND) as descriptor:
        for number in range(RECORDS):
            os.write(descriptor, _record(who, number))


@_guarantee('two tasks that write records between each other lose none', 'POSIX.1 write()', tasks=2)
def _write_at_once(pair: Pair) -> Seen:
    path = _written(pair, b'', 'make a file')
    wanted = b''.join(_block(number) for number in range(2 * BLOCKS))
    pair.at_once('write its records', lambda: _write_blocks(path, 0), lambda: _write_blocks(path, 1))
    seen = [reads('read it', lambda: _compared(path, wanted)) for reads in (pair.first, pair.other)]
    wrong = max(len(wanted) - length + changed for length, changed in seen)
    good, bad = f'all {2 * BLOCKS} records of {BLOCK} B are there', f'{wrong} B of {len(wanted)} B were lost'
    return _judge(not wrong, good, bad)


def _block(number: int) -> bytes:
    return f'{number:04d}'.encode() * (BLOCK // 4)


def _write_blocks(path: str, which: int) -> None:
    with _opened(path, os.O_WRONLY) as descriptor:
        for number in range(which, 2 * BLOCKS, 2):
            os.pwrite(descriptor, _block(number), number * BLOCK)


@_guarantee('another task finds a file empty that was emptied by O_TRUNC', 'POSIX.1 open()', tasks=2)
def _truncate_on_open(pair: Pair) -> Seen:
    path = _known(pair, b'written')
    pair.first('empty it', lambda: _write(path, b''))
    size = pair.other('stat it', lambda: max(os.stat(path).st_size, len(_read(path))))
    return _judge(size == 0, f'it is empty to {pair.other_one}', f'{pair.other_one} found {size} B in it')


@_guarantee('another task reads what was written through a shared mapping', 'POSIX.1 msync()', tasks=2)
def _mmap_shared(pair: Pair) -> Seen:
    path = _known(pair, b'o' * 2 * PAGE)

    def write() -> None:
        with _opened(path, os.O_RDWR) as descriptor, mmap.mmap(descriptor, 2 * PAGE, mmap.MAP_SHARED) as mapping:
            os.pread(descriptor, 2 * PAGE, 0)  # raises if it cannot be read; the mapping would end the task (SIGBUS)
            mapping[PAGE : PAGE + 3] = b'new'
            mapping.flush()

    pair.first('map it and write to the mapping', write)
    seen = pair.other('read it again', lambda: _text(path)[PAGE : PAGE + 3])
    return _content_seen(pair, seen, 'new')


@_guarantee('another task finds the new file after a rename over the old one', 'POSIX.1 rename()', tasks=2)
def _rename_over(pair: Pair) -> Seen:
    old, new = pair.path('f'), pair.path('new')
    pair.first('write two files', lambda: _write(old, b'old'), lambda: _write(new, b'new'))
    pair.other('read both', lambda: _text(old), lambda: _text(new))
    pair.first('rename one over the other', lambda: os.rename(new, old))
    seen, remains = pair.other('read it again', lambda: (_text(old), os.path.lexists(new)))
    if remains:
        return False, f'to {pair.other_one} the old name is still there'
    return _content_seen(pair, seen, 'new')


@_guarantee('a name is never missing while it is renamed over', 'POSIX.1 rename()', tasks=2)
def _rename_without_gap(pair: Pair) -> Seen:
    path, new = _written(pair, b'whole'), pair.path('new')
    renames, (opens, missed) = pair.at_once(
        'rename over a file that is being opened', lambda: _rename_again(new, path), lambda: _open_again(path)
    )
    good = f'found the whole file in each of {opens} opens during {renames} renames'
    bad = f'missed it in {missed} of {opens} opens during {renames} renames'
    return _saw(pair, renames > 0 and opens > 0 and missed == 0, good, bad)


def _rename_again(new: str, path: str) -> int:
    number, end = 0, time.monotonic() + RACE_S
    while time.monotonic() < end:
        _write(new, b'whole')
        os.rename(new, path)
        number += 1
    return number


def _open_again(path: str) -> Tuple[int, int]:
    number, missed, end = 0, 0, time.monotonic() + RACE_S
    while time.monotonic() < end:
        number += 1
        try:
            missed += _read(path) != b'whole'
        except FileNotFoundError:
            missed += 1
    return number, missed


@_guarantee('a name that was missing is found once it is made', 'POSIX.1 open()', tasks=2)
def _name_after_miss(pair: Pair) -> Seen:
    path = pair.path('f')
    early = pair.other('look a name up', lambda: os.path.lexists(path))
    pair.first('make a file', lambda: _write(path, b'there'))
    late = pair.other('look it up again', lambda: os.path.lexists(path))
    bad = 'found it before it was made' if late else 'did not find it'
    return _saw(pair, late and not early, 'found it as soon as it was there', bad)


@_guarantee('a listing shows what another task has made and removed', 'POSIX.1 readdir()', tasks=2)
def _listing(pair: Pair) -> Seen:
    directory = pair.path('d')
    path = f'{directory}/f'
    pair.first('make a directory', lambda: os.mkdir(directory))
    seen = [pair.other('list it', lambda: os.listdir(directory))]
    pair.first('make a file in it', lambda: _write(path, b''))
    seen.append(pair.other('list it again', lambda: os.listdir(directory)))
    pair.first('remove the file', lambda: os.unlink(path))
    seen.append(pair.other('list it a third time', lambda: os.listdir(directory)))
    bad = f'listed {seen[0]}, then {seen[1]} with the file there, then {seen[2]}'
    return _saw(pair, seen == [[], ['f'], []], 'listed the file while it was there', bad)


@_guarantee('another task finds all that was just unpacked, as it was packed', 'POSIX.1 stat()', tasks=2)
def _untar(pair: Pair) -> Seen:
    directory = pair.path('d')
    pair.first('unpack an archive', lambda: _unpack(directory))
    wrong = pair.other('read what was unpacked', lambda: _differences(directory))
    if wrong:
        return False, f'to {pair.other_one} {len(wrong)} of {NAMES} files differ, the first in its {wrong[0]}'
    return True, f'{pair.other_one} found {NAMES} files with their sizes, modes, times and bytes'


def _packed(number: int) -> Tuple[str, bytes, int, int]:
    """Name, bytes, mode and mtime of one file of the archive."""
    name, data = f'd{number % 4}/f{number}', b'%d ' % number * 37 * number
    return name, data, (0o640, 0o755)[number % 2], int(LONG_AGO) + number


def _unpack(directory: str) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode='w') as archive:
        for number in range(NAMES):
            name, data, mode, mtime = _packed(number)
            archive.addfile(archive_entry(name, mode, len(data), mtime), io.BytesIO(data))
    unpack(packed.getvalue(), directory)


def _differences(directory: str) -> List[str]:
    wrong = []
    for number in range(NAMES):
        name, data, mode, mtime = _packed(number)
        path = f'{directory}/{name}'
        seen = os.lstat(path)
        saw = {'size': seen.st_size, 'mode': seen.st_mode & 0o7777, 'time': int(seen.st_mtime), 'bytes': _read(path)}
        wanted = {'size': len(data), 'mode': mode, 'time': mtime, 'bytes': data}
        wrong += [key for key in wanted if saw[key] != wanted[key]][:1]
    return wrong


@_guarantee('of two tasks that create a name with O_EXCL one succeeds', 'POSIX.1 open()', tasks=2)
def _exclusive_create(pair: Pair) -> Seen:
    paths = [pair.path(f'f{number}') for number in range(NAMES)]
    one, other = pair.at_once('create the same names', lambda: _created(paths), lambda: _created(paths))
    twice, never = set(one) & set(other), set(range(NAMES)) - set(one) - set(other)
    if twice or never:
        return False, f'of {NAMES} names {len(twice)} were created twice and {len(never)} by nobody'
    return True, f'of {NAMES} names each was created once, {len(one)} by the first task'


def _created(paths: List[str]) -> List[int]:
    won = []
    for number, path in enumerate(paths):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
            won.append(number)
    return won


@_guarantee('what is synced and renamed is whole (no crash is tried)', 'POSIX.1 fsync()', tasks=2)
def _fsync_and_rename(pair: Pair) -> Seen:
    path, new = _known(pair, b'old'), pair.path('new')
    pair.first('write a new one and sync it', lambda: _write(new, b'new', synced=True))
    pair.first('rename it and sync the directory', lambda: os.rename(new, path), lambda: _sync(pair.path('.')))
    return _content_seen(pair, pair.other('read it again', lambda: _text(path)), 'new')


def _sync(directory: str) -> None:
    with _opened(directory, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


@_guarantee('an open file stays readable when another task removes it', 'POSIX.1 unlink()', tasks=2)
def _unlink_by_another(pair: Pair) -> Seen:
    return _still_readable(pair, pair.other)


def _still_readable(pair: Pair, remove: Callable[[str, Step], Any]) -> Seen:
    path = pair.path('f')
    held: List[int] = []

    def write() -> None:
        _write(path, b'kept', synced=True)
        held.append(pair.keep(os.open(path, os.O_RDONLY)))
        os.posix_fadvise(held[0], 0, 0, os.POSIX_FADV_DONTNEED)  # so that the node's cache holds none of it

    pair.first('write a file and keep it open', write)
    remove('remove it', lambda: os.unlink(path))
    seen = pair.first('read what it has open', lambda: os.pread(held[0], 100, 0).decode('ascii', 'replace'))
    there = pair.first('look the name up', lambda: os.path.lexists(path))
    if there:
        return False, 'its name is still there'
    return _judge(seen == 'kept', 'it was read after its removal', f'it read {_shown(seen)} after its removal')


@_guarantee('flock keeps another task out until it is released', 'flock(2)', tasks=2)
def _flock(pair: Pair) -> Seen:
    return _excludes(pair, fcntl.flock)


@_guarantee('a lock of fcntl keeps another task out until it is released', 'POSIX.1 fcntl()', tasks=2)
def _fcntl_lock(pair: Pair) -> Seen:
    return _excludes(pair, fcntl.lockf)


def _excludes(pair: Pair, lock: Callable[[int, int], None]) -> Seen:
    path = _written(pair, b'locked', 'make a file')
    mine: List[int] = []

    def lock_it() -> None:
        lock(mine[0], fcntl.LOCK_EX | fcntl.LOCK_NB)

    for opens in (pair.first, pair.other):
        opens('open it', lambda: mine.append(pair.keep(os.open(path, os.O_RDWR))))
    pair.first('lock it', lock_it)
    early = not pair.other('try to lock it', lambda: refused(lock_it, errno.EAGAIN, errno.EACCES))
    pair.first('unlock it', lambda: lock(mine[0], fcntl.LOCK_UN))
    late = not pair.other('lock it then', lambda: refused(lock_it, errno.EAGAIN, errno.EACCES))
    if early:
        return False, 'both held it at one time'
    return _saw(pair, late, 'was refused, and granted it after the release', 'was refused after the release too')


@_guarantee('another task sees a changed mode', 'POSIX.1 chmod()')
def _chmod(pair: Pair) -> Seen:
    path = _written(pair, b'')
    pair.other('stat it', lambda: os.stat(path).st_mode)
    pair.first('change its mode to 0640', lambda: os.chmod(path, 0o640))
    mode = pair.other('stat it again', lambda: os.stat(path).st_mode & 0o7777)
    return _saw(pair, mode == 0o640, 'saw 0640', f'saw {mode:04o} instead of 0640')


@_guarantee('another task sees the owner and the group that were set', 'POSIX.1 chown()')
def _chown(pair: Pair) -> Seen:
    path = _written(pair, b'')
    pair.other('stat it', lambda: os.stat(path).st_uid)
    wanted, how = pair.first('set its owner and group', lambda: _given_away(path))
    seen = pair.other('stat it again', lambda: _owners(path))
    return _saw(pair, seen == wanted, f'saw {how}', f'saw {seen[0]}:{seen[1]} instead of {wanted[0]}:{wanted[1]}')


def _owners(path: str) -> List[int]:
    seen = os.stat(path)
    return [seen.st_uid, seen.st_gid]


def _given_away(path: str) -> Tuple[List[int], str]:
    """The owner that was set (uid, gid), and a clause. Only root may give files away, and not if it is squashed."""
    owners = _owners(path)
    os.chown(path, *owners)
    if os.geteuid():
        return owners, 'the same owner set again, as only root may give a file away'
    try:
        os.chown(path, NOBODY, NOBODY)
    except PermissionError:
        return owners, 'the same owner set again, as root may not give a file away here'
    return [NOBODY, NOBODY], 'the file given to nobody'


@_guarantee('a write changes mtime, and a change of the mode ctime', 'POSIX.1 4.9, File Times Update')
def _times(pair: Pair) -> Seen:
    path = _written(pair, b'1')
    pair.first('set its times back', lambda: os.utime(path, (LONG_AGO, LONG_AGO)))
    before = pair.other('stat it', lambda: os.stat(path).st_mtime)
    pair.first('append to it', lambda: _write(path, b'2', os.O_APPEND))
    after = pair.other('stat it again', lambda: os.stat(path).st_mtime)
    if before != LONG_AGO:
        return False, f'to {pair.other_one} mtime is {before:.0f}, where it was set back to {LONG_AGO:.0f}'
    if not after > before:
        return False, f'to {pair.other_one} mtime was {before:.0f} before a write and {after:.0f} after it'
    old, new = pair.first('change its mode', lambda: _changed(path))
    seen = pair.other('stat it once more', lambda: os.stat(path).st_ctime_ns)
    if not new > old:
        return False, f'ctime did not change in {COARSEST_S} s of changes of the mode'
    return _saw(pair, seen == new, 'saw both', 'saw the ctime before a change of the mode')


def _changed(path: str) -> Tuple[int, int]:
    old = new = os.stat(path).st_ctime_ns
    end = time.monotonic() + COARSEST_S
    while new <= old and time.monotonic() < end:
        time.sleep(0.01)
        os.chmod(path, 0o600)
        new = os.stat(path).st_ctime_ns
    return old, new


@_guarantee('a file keeps times after 2038 and 2106', 'POSIX.1 utimensat(); 2^31 and 2^32 s', since='1.0')
def _times_after_2038(pair: Pair) -> Seen:
    path = _written(pair, b'')
    for year, time_s in ((2038, 1 << 31), (2106, 1 << 32)):
        pair.first(f'set a time of {year}', partial(os.utime, path, (time_s, time_s)))
        seen = pair.other('stat it', lambda: int(os.stat(path).st_mtime))
        if seen != time_s:
            return False, f'to {pair.other_one} mtime is {seen}, where it was set to {time_s} ({year})'
    return True, f'{pair.other_one} saw both'


@_guarantee('a second name is the same file, and counted', 'POSIX.1 link()')
def _hard_links(pair: Pair) -> Seen:
    path, link = _written(pair, b'linked'), pair.path('link')
    pair.other('stat it', lambda: os.stat(path).st_nlink)
    pair.first('give it a second name', lambda: os.link(path, link))
    count, same = pair.other('stat both', lambda: (os.stat(path).st_nlink, os.path.samefile(path, link)))
    pair.first('remove the first name', lambda: os.unlink(path))
    left, text = pair.other('read the second', lambda: (os.stat(link).st_nlink, _text(link)))
    bad = f'saw {count} names of {"one file" if same else "two files"}, then {left} of {_shown(text)}'
    right = (count, same, left, text) == (2, True, 1, 'linked')
    return _saw(pair, right, 'saw two names of one file, then one', bad)


@_guarantee('names are counted right after a rename over another', 'POSIX.1 rename(), st_nlink', since='1.0')
def _links_after_renames(pair: Pair) -> Seen:
    path, link, new = _written(pair, b''), pair.path('link'), pair.path('new')
    pair.first('give it a second name', lambda: os.link(path, link), lambda: _write(new, b'new'))
    pair.other('stat both', lambda: _links(path, new))
    pair.first('rename another file over one of the names', lambda: os.rename(new, path))
    for who, left in _seen_by_both(pair, 'stat the other name', lambda: _links(link)):
        if left != [1]:
            return False, f'to {who} a file has {left[0]} names, after a rename over one of two'
    one, other = pair.path('d'), pair.path('F')
    pair.first('make two directories', *(partial(os.makedirs, f'{place}/d') for place in (one, other)))
    before = pair.other('stat them', lambda: _links(one, other))
    pair.first('rename a directory over an empty one', lambda: os.rename(f'{one}/d', f'{other}/d'))
    wanted = [before[0] - (before[0] > 2), before[1]]  # some file systems do not count subdirectories
    for who, after in _seen_by_both(pair, 'stat them again', lambda: _links(one, other)):
        if after != wanted:
            return False, f'{who} counted {after} links of two directories instead of {wanted}'
    return True, f'the first task and {pair.other_one} counted right'


def _links(*paths: str) -> List[int]:
    return [os.stat(path).st_nlink for path in paths]


def _seen_by_both(pair: Pair, doing: str, look: Callable[[], Any]) -> Iterable[Tuple[str, Any]]:
    """The name of each task and its result: a client can misreport its own change although others see it right."""
    return zip(('the first task', pair.other_one), pair.at_once(doing, look, look))


@_guarantee('a symbolic link can be read and followed', 'POSIX.1 symlink()')
def _symlinks(pair: Pair) -> Seen:
    _written(pair, b'there')
    link = pair.path('link')
    pair.first('link to it', lambda: os.symlink('f', link))
    leads, text = pair.other('follow the link', lambda: (os.readlink(link), _text(link)))
    if (leads, text) != ('f', 'there'):
        return False, f'to {pair.other_one} it leads to {_shown(leads)} and contains {_shown(text)}'
    return True, f'{pair.other_one} followed it'


@_guarantee('an open file stays readable when it is removed', 'POSIX.1 unlink()')
def _unlink_of_open_file(pair: Pair) -> Seen:
    return _still_readable(pair, pair.first)


@_guarantee('a directory that is not empty is not removed', 'POSIX.1 rmdir()')
def _full_directory(pair: Pair) -> Seen:
    directory = pair.path('d')
    pair.first('make a directory with a file', lambda: os.mkdir(directory), lambda: _write(f'{directory}/f', b''))
    full = errno.ENOTEMPTY, errno.EEXIST
    kept = pair.other('remove it', lambda: refused(lambda: os.rmdir(directory), *full))
    return _saw(pair, kept, 'was refused', 'removed it')


@_guarantee('a hole in a file takes no space and reads as zeros', 'POSIX.1 lseek(); stat(2)')
def _sparse_files(pair: Pair) -> Seen:
    path, full = pair.path('f'), pair.path('new')
    doing = 'write one byte far behind the start'
    pair.first(doing, lambda: _write(path, b''), lambda: _write_at(path, b'x', HOLE - 1))
    pair.first('write another file in full', lambda: _write(full, os.urandom(FULL), synced=True))
    size, taken = pair.other('stat it', lambda: (os.stat(path).st_size, os.stat(path).st_blocks * 512))
    of_full = pair.other('stat the full one', lambda: os.stat(full).st_blocks * 512)
    zeros = pair.other('read it', lambda: _read(path) == bytes(min(1 << 20, HOLE)))
    if size != HOLE:
        return False, f'to {pair.other_one} it has {size} B of {HOLE} B'
    if not zeros:
        return False, 'the hole does not read as zeros'
    if of_full < FULL:
        return None, f'blocks prove nothing here: a file written in full, {FULL} B, has blocks of {of_full} B'
    return _judge(taken < HOLE // 2, f'{HOLE} B take {taken} B', f'{HOLE} B with one byte written take {taken} B')


@_guarantee('what is added when a file is made longer reads as zeros', 'POSIX.1 ftruncate()')
def _zero_fill(pair: Pair) -> Seen:
    path = _known(pair, b'x' * 10)
    pair.first('make it shorter', lambda: os.truncate(path, 5))
    pair.first('make it longer', lambda: os.truncate(path, 100))
    length, wrong = pair.other('read it again', lambda: _compared(path, b'x' * 5 + bytes(95)))
    return _saw(pair, (length, wrong) == (100, 0), 'read zeros', f'read {length} B of 100 B, {wrong} of them wrong')


@_guarantee('space can be reserved for a file', 'fallocate(2)')
def _fallocate(pair: Pair) -> Seen:
    path = pair.path('f')
    pair.first('reserve space', lambda: _reserved(path))
    size, taken = pair.other('stat it', lambda: (os.stat(path).st_size, os.stat(path).st_blocks * 512))
    return _judge(size == 1 << 20, f'1 MiB was reserved, {taken} B are taken', f'the file has {size} B of 1 MiB')


def _reserved(path: str) -> None:
    # posix_fallocate would fill the file itself where the file system cannot reserve space.
    libc = ctypes.CDLL(None, use_errno=True)
    with _opened(path, os.O_CREAT | os.O_WRONLY) as descriptor:
        if libc.fallocate(descriptor, 0, ctypes.c_longlong(0), ctypes.c_longlong(1 << 20)):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)


@_guarantee("a file keeps its user's extended attributes", 'xattr(7)')
def _xattr(pair: Pair) -> Seen:
    path, name = _written(pair, b''), 'user.seatrial'
    pair.first('set an attribute', lambda: os.setxattr(path, name, b'kept'))
    text = pair.other('read it', lambda: os.getxattr(path, name).decode('ascii', 'replace'))
    pair.first('remove it', lambda: os.removexattr(path, name))
    left = pair.other('list its attributes', lambda: name in os.listxattr(path))
    if left:
        return False, f'to {pair.other_one} it is still there after its removal'
    return _content_seen(pair, text, 'kept')


@_guarantee('a name can have 255 bytes', 'NAME_MAX of the Linux kernel, limits.h')
def _names_of_255_bytes(pair: Pair) -> Seen:
    name = 'n' * 255
    pair.first('make a file', lambda: _write(pair.path(name), b''))
    seen = pair.other('list the directory', lambda: os.listdir(pair.path('.')))
    return _saw(pair, seen == [name], 'listed it', f'listed names of {[len(entry) for entry in seen]} bytes')


@_guarantee('a path can have 4095 bytes', 'PATH_MAX of the Linux kernel, limits.h', since='1.0')
def _paths_of_4095_bytes(pair: Pair) -> Seen:
    directory = pair.path('d')
    while len(directory) + 256 < LONGEST_PATH - 1:
        directory += '/' + 'n' * 255
    path = f'{directory}/'.ljust(LONGEST_PATH, 'n')
    pair.first('make a file', lambda: os.makedirs(directory), lambda: _write(path, b'deep'))
    return _content_seen(pair, pair.other('read it', lambda: _text(path)), 'deep')


@_guarantee('f and F are two files', 'POSIX.1 3.170, Filename')
def _case_of_letters(pair: Pair) -> Seen:
    lower, upper = pair.path('f'), pair.path('F')
    pair.first('make two files', lambda: _write(lower, b'lower'), lambda: _write(upper, b'upper'))
    texts = pair.other('read both', lambda: [_text(lower), _text(upper)])
    return _judge(texts == ['lower', 'upper'], 'f and F are two files', 'f and F are one file')


@_guarantee('a file can be written and read with O_DIRECT', 'open(2)')
def _direct_io(pair: Pair) -> Seen:
    path = pair.path('f')
    pair.first('write with O_DIRECT', lambda: _direct(path, os.O_CREAT | os.O_RDWR, os.write))
    plain = pair.other('read it', lambda: len(_read(path)))
    direct = pair.other(
        'read it with O_DIRECT', lambda: _direct(path, os.O_RDONLY, lambda fd, page: os.readv(fd, [page]))
    )
    if not plain == direct == mmap.PAGESIZE:
        return False, f'of {mmap.PAGESIZE} B {pair.other_one} read {plain} B, with O_DIRECT {direct} B'
    return True, f'{pair.other_one} read what was written with O_DIRECT'


def _direct(path: str, flags: int, move: Callable[[int, mmap.mmap], int]) -> int:
    with mmap.mmap(-1, mmap.PAGESIZE) as page:  # aligned, as O_DIRECT wants it
        page[:] = b'd' * mmap.PAGESIZE
        with _opened(path, flags | os.O_DIRECT) as descriptor:
            return move(descriptor, page)


GUARANTEES.update(permissions.GUARANTEES)
PART = Part(
    carry_out,
    facts={PHASE: tuple(GUARANTEES), INTEGRITY: tuple(WAYS_TO_WRITE)},
    measured=counted,
    makes=(  # a directory for each guarantee, and what is tried in it
        '|'.join((ROOT, *(guarantee.name for guarantee in GUARANTEES))),
        r'f\d*|F|d|new|link|n+',
        '|'.join((rf'{INTEGRITY}\.[0-9a-f]{{12}}', *(guarantee.name for guarantee in WAYS_TO_WRITE))),
    ),
    hosts_from=1,
)
