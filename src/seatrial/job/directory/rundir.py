"""The run directory: the only place on a file system under test where anything is written or deleted.

It is made, marked and removed by descriptors alone. A symbolic link is never followed, '..' is never used, and a
directory is entered only if it is still the one that was statted, on the same mount. Before every deletion the names
that led there are looked up again. One gap is left, which no call of POSIX closes: between this lookup and the
deletion. What can be lost in it is the one entry in hand.
"""

import contextlib
import hashlib
import json
import os
import re
import stat
import time
import zlib
from collections import Counter
from typing import Callable, ContextManager, Dict, Iterator, List, NamedTuple, Optional, Tuple

from seatrial.filesystem.mounts import is_below, mount_of, read_mounts
from seatrial.filesystem.registry import driver_of
from seatrial.job.directory.owner import Owner, this_owner
from seatrial.model.codec import from_json, to_json
from seatrial.model.owned import user_name
from seatrial.model.record import Removal
from seatrial.rules.launch import FileCount

MARKER = '.seatrial-run.json'
PREFIX = 'seatrial-'
FORMAT = 1
MAX_LEFT = 20
NOT_MADE = 'the session did not make it'

_HELD = 64  # descriptors that a walk keeps open below the run directory, however deep the tree
_PARTED = 4  # levels of a walk, of which the last is the root of a tree: parent, run directory, 'data', root
_MAX_MARKER = 65536  # bytes
_MAX_TEXT = 200  # characters of a path in a sentence

# Names that mean the same bytes under every locale.
_RUN_DIRECTORY = re.compile(PREFIX + r'.+-[0-9a-f]{8}\Z')
_ENTRY = re.compile(r'(?!\.)[A-Za-z0-9._=+-]{1,100}\Z')
_UNMARKED = re.compile(PREFIX + r'([0-9]{8}T[0-9]{6}-[0-9a-f]{6})-[0-9a-f]{8}\Z')
_SESSION = re.compile(r'[A-Za-z0-9][A-Za-z0-9._=+-]{0,149}\Z')

# What a client of NFS or FUSE makes of a file that is removed while it is open, and the kernel of a program that
# crashes (core(5)).
_OF_KERNEL = (r'\.nfs[0-9a-f]{8,}', r'\.fuse_hidden[0-9a-f]{8,}', r'core(\.\d+)?')

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OTHER_KINDS = {stat.S_IFIFO: 'a fifo', stat.S_IFSOCK: 'a socket', stat.S_IFCHR: 'a device', stat.S_IFBLK: 'a device'}


class RunDirectoryError(Exception):
    """The run directory cannot be made or used: the message has place, fault and remedy. errno: of a failed call;
    on_descriptor: that call read, wrote, synced or closed an open file; target: that a file lay on which is gone."""

    def __init__(
        self, path: str, why: str, errno: Optional[int] = None, on_descriptor: bool = False, target: str = ''
    ) -> None:
        super().__init__(f'{path}: {why}')
        self.path, self.why, self.errno, self.on_descriptor, self.target = path, why, errno, on_descriptor, target


Names = Tuple[str, ...]


class Marker(NamedTuple):
    """The content of `.seatrial-run.json` in the run directory, which makes it removable."""

    format: int
    case: str
    maker: Owner
    device: int  # of both when they were made. It identifies nothing: NFS, CephFS and FUSE get another by a remount
    inode: int  # of the run directory. marker_inode: of the marker itself; a copy has others; 0: there is none yet
    marker_inode: int
    entries: Names  # the top-level names that the session makes; all others in it are foreign
    names: Names = ()  # regular expressions for names that its engine makes in these, or paths; others are foreign
    kept: bool = False  # whether it stays behind its session, for others to measure beside
    state: str = ''  # the directory in which its session names its leader, for every site; empty: not known


class RunDirectory(NamedTuple):
    """A run directory that this process made; descriptors of it and of its parent are held. Names are relative."""

    path: str
    parent_descriptor: int
    descriptor: int
    marker: Marker

    def path_of(self, name: str) -> str:
        return os.path.join(self.path, name)

    def verify(self) -> None:
        """Raises RunDirectoryError unless the path still leads here and the marker is ours."""
        with explained(self.path):
            if _identity(os.lstat(self.path)) != _identity(os.fstat(self.descriptor)):
                raise _Left('it was replaced by another; nothing more is launched in it')
            if _read_marker(self.descriptor)[0] != self.marker:
                raise _Left(f'its {MARKER} was changed; nothing more is launched in it')

    def open(self, name: str) -> int:
        """A descriptor of one of its directories, for the caller to close. Else RunDirectoryError."""
        with explained(self.path_of(name)):
            return os.open(name, _DIRECTORY, dir_fd=self.descriptor)

    def make(self, name: str) -> str:
        """Make the directory 'data' or 'data/sub' below it, mode 0700; its path. RunDirectoryError if it exists."""
        with self._walk_to(os.path.dirname(name), name) as walk:
            os.mkdir(os.path.basename(name), 0o700, dir_fd=walk.descriptor())
        return self.path_of(name)

    def renew(self, name: str) -> None:
        """Remove the empty directory and make it again, without its earlier attributes. RunDirectoryError."""
        self.verify()
        with self._walk_to(os.path.dirname(name), name) as walk:
            os.rmdir(os.path.basename(name), dir_fd=walk.descriptor())
        self.make(name)

    def any_file(self, name: str) -> Optional[str]:
        """The path of one of the regular files below the directory, or None if there is none."""
        with self._walk_to(name, name) as walk:
            file = next((path for path, _ in _files(walk)), None)
        return None if file is None else os.path.join(self.path_of(name), file)

    def file_list(self, name: str) -> Dict[str, int]:
        """Size in bytes of every regular file below the directory, by its name relative to it; links are no files."""
        with self._walk_to(name, name) as walk:
            return {path: status.st_size for path, status in _files(walk)}

    def file_count(self, name: str, with_sizes: bool) -> FileCount:
        """Directories, files and, if asked for, sizes below a directory; without them no attribute gets cached."""
        with self._walk_to(os.path.dirname(name), name) as walk:
            count = _file_count(walk, os.path.basename(name), with_sizes)
            beside = [entry for entry in os.listdir(f'/proc/self/fd/{self.descriptor}') if entry != name]
            statuses = [os.stat(entry, dir_fd=self.descriptor, follow_symlinks=False) for entry in beside]
            statuses.append(os.fstat(self.descriptor))
            return count._replace(directory_bytes=count.directory_bytes + sum(map(_allocated, statuses)))

    def empty(self, name: str) -> Removal:
        """Remove everything below the directory, which stays with its layout. RunDirectoryError as for verify, and if
        anything is left, such as foreign files: the next launch would find it."""
        self.verify()
        account = _Account(self.marker.names)
        with self._walk_to(name, name) as walk:
            _empty(walk, account)
        removal = account.removal()
        with explained(self.path_of(name)):
            if removal.left:
                first, *others = removal.left
                left = f'{first}, and {len(others)} more' if others else first
                raise _Left(f'it cannot be emptied, and nothing more is launched in it; left: {left}', account.errno)
        return removal

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self.parent_descriptor)

    @contextlib.contextmanager
    def _walk_to(self, directory: str, name: str) -> 'Iterator[_Walk]':
        """A walk into a directory, to work on an entry. Faults inside become a RunDirectoryError about that entry."""
        with explained(self.path_of(name)), _Walk(os.dup(self.parent_descriptor)) as walk:
            parts = name.split('/')
            if parts[0] not in self.marker.entries or not all(map(_ENTRY.match, parts)):
                raise _Left(f'the marker names no such entry (entries: {", ".join(self.marker.entries)})')
            walk.enter(os.path.basename(self.path), os.fstat(self.descriptor))
            for part in directory.split('/') if directory else ():
                walk.enter(part, walk.stat(part))
            yield walk


def path_of(parent: str, session: str, case: str) -> str:
    """The run directory of a case; the same for every process of the session."""
    return os.path.join(parent, _name_of(session, case))


def create(
    parent: str, session: str, case: str, entries: Names, names: Names, kept: bool = False, state: str = ''
) -> RunDirectory:
    """Make and mark the run directory of a case in `parent`, or undo what was made. Raises RunDirectoryError."""
    path = path_of(parent, session, case)
    with contextlib.ExitStack() as undo:
        with explained(parent):
            if not os.path.isabs(parent):
                raise _Left('it is no absolute path')
            fault = 'is no name; write letters, digits and . _ = + -'
            if not _SESSION.match(session):
                raise _Left(f"session '{_printable(session)}' {fault}")
            for entry in entries:
                if not _ENTRY.match(entry):
                    raise _Left(f"entry '{_printable(entry)}' {fault}, no dot first")
            parent_descriptor = _open_parent(parent)
            undo.callback(os.close, parent_descriptor)
            if os.fstatvfs(parent_descriptor).f_flag & os.ST_RDONLY:
                raise _Left('its file system is mounted read-only; mount it for writing')
            if not os.access('.', os.W_OK | os.X_OK, dir_fd=parent_descriptor, effective_ids=True):
                raise _Left(f'{user_name(os.geteuid())} may not write in it; give them a directory in which they may')
        with explained(path):
            name = os.path.basename(path)
            try:
                os.mkdir(name, 0o700, dir_fd=parent_descriptor)
            except FileExistsError:
                why = 'it is there already, from an earlier run of this case; `seatrial clean` removes it'
                raise _Left(why) from None
            made = _identity(os.stat(name, dir_fd=parent_descriptor, follow_symlinks=False))
            undo.callback(_remove_made, os.rmdir, parent_descriptor, name, made)
            descriptor = os.open(name, _DIRECTORY, dir_fd=parent_descriptor)
            undo.callback(os.close, descriptor)
            status = os.fstat(descriptor)
            if _identity(status) != made:
                raise _Left('it was replaced by another as soon as it was made')
            if status.st_uid != os.geteuid():
                given_to = user_name(status.st_uid)
                raise _Left(f'the file system gave it to {given_to} (root squash?); run as an ordinary user')
            marker = Marker(FORMAT, case, this_owner(session), *made, 0, entries, names, kept, state)
            marker = _write_marker(descriptor, marker)
        undo.pop_all()
    return RunDirectory(path, parent_descriptor, descriptor, marker)


def inside(path: str, mount: str) -> Optional[str]:
    """The reason why `path` does not lie below the mount point `mount`, on that mount, as a sentence; or None."""
    try:
        with closed_after(_open_parent(path)) as descriptor:
            device = os.fstat(descriptor).st_dev
        real, real_mount = os.path.realpath(path), os.path.realpath(mount)
        if real_mount not in [mount.point for mount in read_mounts()]:
            return f'nothing is mounted at {mount}; mount the file system first'
        if not is_below(real, real_mount):
            way = 'a symbolic link leads from it' if is_below(path, mount) else 'it is'
            return f'{path} does not lie under the mount point {mount}: {way} to {real}'
        if device != os.stat(real_mount).st_dev:
            return f'{path} lies under the mount point {mount}, but another file system is mounted in between'
    except (_Left, OSError) as error:
        return f'{path}: {_reason(error)}'
    return None


def is_named_as_one(path: str) -> bool:
    return bool(_RUN_DIRECTORY.match(os.path.basename(path))) or os.path.lexists(os.path.join(path, MARKER))


def marker_at(path: str) -> Marker:
    """The marker of a run directory. RunDirectoryError if it is none, or if its marker belongs to another one."""
    with explained(path), _Walk(_open_parent(_split(path)[0])) as walk:
        walk.enter(_split(path)[1])
        return _claim(walk)[0]


def found_at(path: str) -> Tuple[int, int, str]:
    """Number and bytes of a run directory's files, without its marker, by stat(2); and the name of one that the
    session did not make, so that a removal would leave it, or empty. RunDirectoryError as marker_at."""
    files, size_bytes, foreign = 0, 0, ''
    with explained(path), _Walk(_open_parent(_split(path)[0])) as walk:
        walk.enter(_split(path)[1])
        marker, _ = _claim(walk)
        is_made = _Account(marker.names).is_made
        walk.levels[-1].names = [name for name in walk.levels[-1].names if name != MARKER]
        for name, status in _files(walk):
            files += 1
            size_bytes += status.st_size
            entry, _, below = name.partition('/')
            is_ours = entry in marker.entries and (not below or is_made(os.path.basename(name)) or is_made(name))
            foreign = foreign or ('' if is_ours else _printable(name))
    return files, size_bytes, foreign


def remove(
    path: str, session: str, made_by: Optional[Tuple[str, int]] = None, part: Optional[Tuple[int, int]] = None
) -> Removal:
    """Remove the run directory of a session, from any process of its owner; one that is missing is removed already.
    Never raises: remains are in `left` with the reason, and then the marker stays, so that the removal can be
    repeated. Foreign entries stay: other names than the marker's, owners, mounts, and special files. made_by: host
    and pid that alone may have made it; None for any of the session. part: the number, from 0 on, and count of the
    parts of the entries of its trees' roots, by name; these can be removed at once, and the rest then without a part.
    """
    account = _Account()
    try:
        parent, name = _split(path)
        with _Walk(_open_parent(parent)) as walk:
            try:
                walk.enter(name)
            except FileNotFoundError:
                return account.removal()
            marker, marker_status = _claim(walk)
            if marker.maker.session != session:
                raise _Left(f'it belongs to session {marker.maker.session}, not to {_printable(session)}')
            account = _Account(marker.names, part)
            if made_by not in (None, (marker.maker.host, marker.maker.pid)):
                owner = marker.maker
                raise _Left(f'process {owner.pid} on {owner.host} made it, for another try of this case')
            entries = walk.levels[-1].names
            walk.levels[-1].names = [entry for entry in entries if entry in marker.entries]
            for entry in sorted(set(entries) - set(marker.entries) - {MARKER}):
                account.leave(entry, NOT_MADE)
            _empty(walk, account)
            if part is None and not account.left and len(walk.levels) == 2:
                _remove_marked(walk, name, marker, marker_status, account)
    except (_Left, _Lost, OSError, ValueError) as error:
        account.leave(path, _reason(error))
    return account.removal()


class _Left(Exception):
    """The reason why an entry is left alone, as half a sentence. errno: of the call that failed, or None; target: as
    in RunDirectoryError."""

    def __init__(self, why: str, errno: Optional[int] = None, target: str = '') -> None:
        super().__init__(why)
        self.errno, self.target = errno, target


class _Lost(Exception):
    """A directory of the walk, at this depth, is no longer where it was entered. gone: another process removed it."""

    def __init__(self, depth: int, why: str, gone: bool = False) -> None:
        super().__init__(why)
        self.depth, self.gone = depth, gone


class _Account:
    """The results of a removal. names: of the session's entries; part: as in remove; errno: of the first fault."""

    def __init__(self, names: Names = (), part: Optional[Tuple[int, int]] = None) -> None:
        self.part = part
        self.is_made = re.compile('|'.join(f'(?:{name})' for name in (*names, *_OF_KERNEL))).fullmatch
        self.files = self.directories = self.unnamed = 0
        self.left: List[str] = []
        self.errno: Optional[int] = None

    def leave(self, path: str, why: str) -> None:
        if len(self.left) < MAX_LEFT:
            self.left.append(f'{_printable(path)}: {why}')
        else:
            self.unnamed += 1

    def removal(self) -> Removal:
        more = [f'and {self.unnamed} more'] if self.unnamed else []
        return Removal(self.files, self.directories, tuple(self.left + more), time.time())


class _Level:
    """A directory that a walk is inside of. names: entries still to be done; kept: an entry in it is left."""

    def __init__(self, name: str, identity: Tuple[int, int], descriptor: int, names: List[str]) -> None:
        self.name, self.identity, self.names, self.kept = name, identity, names, False
        self.descriptor: Optional[int] = descriptor


_Listing = Callable[[int], List[str]]


class _Walk(ContextManager['_Walk']):
    """A way down from a parent directory, by descriptors. levels[0] is the parent, levels[1] the run directory."""

    def __init__(self, parent_descriptor: int) -> None:
        status = os.fstat(parent_descriptor)
        self.levels = [_Level('', _identity(status), parent_descriptor, [])]
        self._device = status.st_dev
        self._mount = _mount_of(parent_descriptor)

    def __exit__(self, *_: object) -> None:
        self.cut(0)

    def descriptor(self) -> int:
        """The descriptor of the innermost directory, reopened from above if it was given up; _Lost if that fails."""
        if self.levels[-1].descriptor is None:
            for depth in range(2, len(self.levels)):
                self._reopen(depth)
        descriptor = self.levels[-1].descriptor
        assert descriptor is not None
        return descriptor

    def enter(self, name: str, expected: Optional[os.stat_result] = None, listing: Optional[_Listing] = None) -> None:
        """Enter a directory, if it is the expected one, to work on the names that listing gives, or on all. On _Left
        or OSError the walk stays as it is."""
        above = self.descriptor()
        status = expected or os.stat(name, dir_fd=above, follow_symlinks=False)
        descriptor = self._open(above, name, _identity(status))
        try:
            names = (listing or os.listdir)(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self.levels.append(_Level(name, _identity(status), descriptor, names))
        self._give_up(len(self.levels) - 1 - _HELD)

    def stat(self, name: str) -> os.stat_result:
        """The entry of the innermost directory, itself if it is a link. Raises OSError, or _Left if it is foreign."""
        status = os.stat(name, dir_fd=self.descriptor(), follow_symlinks=False)
        if status.st_dev != self._device:
            raise _Left('another file system is mounted there')
        if status.st_uid != os.geteuid():
            raise _Left(f'it belongs to {user_name(status.st_uid)}')
        if stat.S_IFMT(status.st_mode) not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            raise _Left(f'it is {_OTHER_KINDS.get(stat.S_IFMT(status.st_mode), "of an unknown kind")}')
        return status

    def check(self) -> None:
        """Raise _Lost unless every directory that is held lies where it was entered."""
        for depth in range(1, len(self.levels)):
            above, level = self.levels[depth - 1].descriptor, self.levels[depth]
            if above is None:
                continue
            try:
                status = os.stat(level.name, dir_fd=above, follow_symlinks=False)
            except OSError as error:
                gone = level.descriptor is not None and os.fstat(level.descriptor).st_nlink == 0
                raise _Lost(depth, f'it was moved while it was being removed ({_reason(error)})', gone) from error
            if _identity(status) != level.identity:
                raise _Lost(depth, 'it was replaced while it was being removed')

    def leave(self) -> _Level:
        """Go back up; returns the directory that was left."""
        level = self.levels.pop()
        _close(level)
        return level

    def cut(self, depth: int) -> None:
        while len(self.levels) > depth:
            self.leave()

    def path(self, name: str = '') -> str:
        """The path of an entry of the innermost directory, or of that itself, relative to the run directory."""
        return '/'.join([level.name for level in self.levels[2:]] + ([name] if name else [])) or '.'

    def _open(self, above: int, name: str, identity: Tuple[int, int]) -> int:
        try:
            descriptor = os.open(name, _DIRECTORY, dir_fd=above)
        except NotADirectoryError:
            raise _Left('it is no directory, or a symbolic link') from None
        try:
            if _identity(os.fstat(descriptor)) != identity:
                raise _Left('it was replaced by another directory')
            if _mount_of(descriptor) != self._mount or identity[0] != self._device:
                raise _Left('another file system is mounted there')
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _reopen(self, depth: int) -> None:
        level, above = self.levels[depth], self.levels[depth - 1].descriptor
        if level.descriptor is None:
            assert above is not None
            try:
                level.descriptor = self._open(above, level.name, level.identity)
            except (_Left, OSError) as error:
                raise _Lost(depth, _reason(error)) from error
        self._give_up(depth - _HELD)

    def _give_up(self, depth: int) -> None:
        if depth >= 2:
            _close(self.levels[depth])


def _close(level: _Level) -> None:
    if level.descriptor is not None:
        os.close(level.descriptor)
        level.descriptor = None


def _files(walk: _Walk) -> Iterator[Tuple[str, os.stat_result]]:
    """Every regular file below the innermost directory, by relative name. What cannot be entered is skipped."""
    base = len(walk.levels)
    while len(walk.levels) > base or walk.levels[-1].names:
        names = walk.levels[-1].names
        if not names:
            walk.leave()
            continue
        name = names.pop()
        try:
            status = os.stat(name, dir_fd=walk.descriptor(), follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                walk.enter(name, status)
        except _Lost as lost:
            if lost.depth < base:
                raise
            walk.cut(lost.depth)
        except (_Left, OSError):
            continue
        else:
            if stat.S_ISREG(status.st_mode):
                yield '/'.join([level.name for level in walk.levels[base:]] + [name]), status


def _file_count(walk: _Walk, name: str, with_sizes: bool) -> FileCount:
    """The directories, files and sizes below an entry of the innermost directory. An unreadable one is an error."""
    count: Dict[str, int] = Counter()
    sizes: Dict[int, int] = Counter()

    def directories_in(descriptor: int) -> List[str]:
        """Count the entries of a directory; returns the names of the directories in it."""
        below = []
        count['directory_bytes'] += _allocated(os.fstat(descriptor))
        # By the name of the descriptor: os.scandir takes the number itself only since Python 3.7.
        with os.scandir(f'/proc/self/fd/{descriptor}') as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    count['files'] += 1
                    if with_sizes:
                        sizes[os.stat(entry.name, dir_fd=descriptor, follow_symlinks=False).st_size] += 1
        count['directories'] += len(below)
        return below

    base = len(walk.levels)
    walk.enter(name, walk.stat(name), directories_in)
    while len(walk.levels) > base:
        names = walk.levels[-1].names
        if names:
            walk.enter(names.pop(), listing=directories_in)
        else:
            walk.leave()
    counted = FileCount(count['directories'], count['files'], None, count['directory_bytes'])
    return counted._replace(sizes=dict(sizes)) if with_sizes else counted


def _allocated(status: os.stat_result) -> int:
    return 512 * status.st_blocks


def _empty(walk: _Walk, account: _Account) -> None:
    """Remove the entries named by the innermost directory's level, and everything below them."""
    base = len(walk.levels)
    while len(walk.levels) > base or walk.levels[-1].names:
        level = walk.levels[-1]
        name = level.names.pop() if level.names else ''
        try:
            if name:
                _remove_entry(walk, name, account)
            else:
                _remove_directory(walk, walk.leave(), account)
        except _Lost as lost:
            walk.cut(lost.depth + 1)
            if not lost.gone:
                account.leave(walk.path(), str(lost))
                walk.levels[lost.depth - 1].kept = True
            walk.cut(lost.depth)
            if lost.depth < base:
                return
        except FileNotFoundError:
            continue
        except (_Left, OSError) as error:
            account.leave(walk.path(name or level.name), _reason(error))
            account.errno = account.errno or error.errno
            walk.levels[-1].kept = True


def _remove_entry(walk: _Walk, name: str, account: _Account) -> None:
    status = walk.stat(name)
    if len(walk.levels) > 2 and not (account.is_made(name) or account.is_made(walk.path(name))):
        raise _Left(NOT_MADE)
    if stat.S_ISDIR(status.st_mode):
        walk.enter(name, status)
        if account.part is not None and len(walk.levels) <= _PARTED:
            level, (number, of) = walk.levels[-1], account.part
            level.kept = True  # for the removal without a part
            if len(walk.levels) == _PARTED:
                level.names = [entry for entry in level.names if zlib.crc32(os.fsencode(entry)) % of == number]
        return
    if account.part is not None and len(walk.levels) < _PARTED:
        return
    descriptor = walk.descriptor()
    walk.check()
    os.unlink(name, dir_fd=descriptor)
    account.files += 1


def _remove_directory(walk: _Walk, level: _Level, account: _Account) -> None:
    if level.kept:
        walk.levels[-1].kept = True
        return
    descriptor = walk.descriptor()
    walk.check()
    _remove_same(os.rmdir, descriptor, level.name, level.identity)
    account.directories += 1


def _remove_marked(walk: _Walk, name: str, marker: Marker, marker_status: os.stat_result, account: _Account) -> None:
    """The last step: the marker, put back if that fails, then the directory. Without a marker: rmdir."""
    descriptor, parent_descriptor = walk.descriptor(), walk.levels[0].descriptor
    assert parent_descriptor is not None
    walk.check()
    if marker.marker_inode:
        if os.listdir(descriptor) != [MARKER]:
            raise _Left('something was made in it during the removal')
        _remove_same(os.unlink, descriptor, MARKER, _identity(marker_status))
    try:
        _remove_same(os.rmdir, parent_descriptor, name, walk.levels[1].identity)
    except BaseException:
        if marker.marker_inode:
            _write_marker(descriptor, marker)
        raise
    account.directories += 1


def _remove_same(action: Callable[..., None], above: int, name: str, identity: Tuple[int, int]) -> None:
    """Remove an entry if it is the very one; raises _Left otherwise."""
    if _identity(os.stat(name, dir_fd=above, follow_symlinks=False)) != identity:
        raise _Left('it was replaced while it was being removed')
    action(name, dir_fd=above)


def _claim(walk: _Walk) -> Tuple[Marker, os.stat_result]:
    """The marker of the run directory that the walk is in; _Left if none belongs to it."""
    directory = os.fstat(walk.descriptor())
    if directory.st_uid != os.geteuid():
        raise _Left(f'it belongs to {user_name(directory.st_uid)}, who can remove it')
    named = _UNMARKED.match(walk.levels[-1].name)
    if named and not walk.levels[-1].names:
        # Its job was killed between mkdir and the writing of the marker, for which this stands. It matches no entry.
        session, uid, made_at = named.group(1), directory.st_uid, directory.st_mtime
        owner = Owner(session, uid, user_name(uid), 'a node that is not known', '', 0, 0, '', made_at)
        return Marker(FORMAT, 'a case that is not known', owner, *_identity(directory), 0, ()), directory
    marker, status = _read_marker(walk.descriptor())
    same = (marker.inode, marker.marker_inode) == (directory.st_ino, status.st_ino)
    if not same and _inodes_last(walk.descriptor()):
        raise _Left(f'its {MARKER} was copied or moved from another directory')
    if _name_of(marker.maker.session, marker.case) != walk.levels[-1].name:
        raise _Left('it was renamed after it was made; give it its name back, or remove it by hand')
    if not marker.maker.uid == status.st_uid == directory.st_uid:
        raise _Left(f'its {MARKER} was made by another user')
    return marker, status


def _inodes_last(descriptor: int) -> bool:
    """False where the numbers prove nothing: then owner, name, session and contents show that a directory is ours."""
    place = os.readlink(f'/proc/self/fd/{descriptor}')
    mount = mount_of(place)
    return mount is None or driver_of(mount).behaviour(place).inodes_last


def _read_marker(descriptor: int) -> Tuple[Marker, os.stat_result]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    try:
        marker_descriptor = os.open(MARKER, flags, dir_fd=descriptor)
    except FileNotFoundError:
        raise _Left(f'it has no {MARKER}; if it is empty, an rmdir by hand is harmless') from None
    except OSError as error:
        raise _Left(f'its {MARKER} cannot be read: {_reason(error)}', error.errno) from error
    with closed_after(marker_descriptor):
        try:
            status = os.fstat(marker_descriptor)  # of Lustre it asks an OST, and fails like a read
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_MARKER:
                raise _Left(f'its {MARKER} is none: no regular file of at most {_MAX_MARKER} bytes')
            with os.fdopen(marker_descriptor, 'rb', closefd=False) as stream:
                content = stream.read(_MAX_MARKER)
        except OSError as error:
            why = f'its {MARKER} cannot be read: {_reason(error)}'
            raise _Left(why, error.errno, _target_of_marker(descriptor)) from error
    try:
        marker = from_json(Marker, json.loads(content.decode('utf-8')))
        fault = _fault(marker)
    except (ValueError, RecursionError) as error:
        fault = str(error)
    if fault:
        raise _Left(f'its {MARKER} is none that Seatrial wrote: {_printable(fault)}')
    return marker, status


def _fault(marker: Marker) -> Optional[str]:
    if marker.format != FORMAT:
        return f'format {marker.format}; this version reads {FORMAT}'
    if not _SESSION.match(marker.maker.session):
        return 'maker.session'
    if not all(map(_ENTRY.match, marker.entries)):
        return 'entries'
    try:
        _Account(marker.names)
    except re.error as error:
        return f'names: {error}'
    if not abs(marker.maker.time) < 1e12:
        return 'maker.time'
    return None


def _write_marker(descriptor: int, marker: Marker) -> Marker:
    """Put the marker into the directory, which must have none; returns the marker with its own inode."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    marker_descriptor = os.open(MARKER, flags, 0o600, dir_fd=descriptor)
    made: Optional[os.stat_result] = None
    try:
        with os.fdopen(marker_descriptor, 'wb') as stream:
            made = os.fstat(marker_descriptor)  # it asks an OST of Lustre for the size, and fails like a write (seen)
            marker = marker._replace(marker_inode=made.st_ino)
            stream.write(json.dumps(to_json(marker), indent=1).encode('ascii') + b'\n')
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException as error:
        target = _target_of_marker(descriptor) if isinstance(error, OSError) else ''  # before its layout goes too
        if made is not None:
            _remove_made(os.unlink, descriptor, MARKER, _identity(made))
        if isinstance(error, OSError):
            raise _Left(f'its {MARKER} cannot be written: {_reason(error)}', error.errno, target) from error
        raise
    return marker


def _target_of_marker(descriptor: int) -> str:
    directory = os.readlink(f'/proc/self/fd/{descriptor}')
    mount = mount_of(directory)
    return driver_of(mount).behind(directory, os.path.join(directory, MARKER), None) if mount else ''


def _remove_made(action: Callable[..., None], above: int, name: str, identity: Tuple[int, int]) -> None:
    """Undo what was made just now; an entry that cannot be removed stays."""
    with contextlib.suppress(OSError, _Left):
        _remove_same(action, above, name, identity)


def _open_parent(parent: str) -> int:
    try:
        return os.open(parent, os.O_RDONLY | os.O_DIRECTORY)  # which makes an automounter mount it
    except PermissionError:
        return os.open(parent, os.O_PATH | os.O_DIRECTORY)  # one may make entries where one may not list them
    except FileNotFoundError:
        raise _Left(f'no such directory on {os.uname().nodename}; is the file system mounted?') from None


def _split(path: str) -> Tuple[str, str]:
    parent, name = os.path.split(path.rstrip('/'))
    if name in ('', '.', '..'):
        raise _Left('the path must end with the name of a run directory')
    return parent or '.', name


def _name_of(session: str, case: str) -> str:
    digest = hashlib.sha256(case.encode('utf-8', 'surrogatepass')).hexdigest()
    return f'{PREFIX}{session}-{digest[:8]}'


def _identity(status: os.stat_result) -> Tuple[int, int]:
    return status.st_dev, status.st_ino


def _mount_of(descriptor: int) -> str:
    """The mount of a descriptor (proc(5), fdinfo); a bind mount has its own on the same device."""
    try:
        with open(f'/proc/self/fdinfo/{descriptor}') as stream:
            return next((line for line in stream if line.startswith('mnt_id:')), '')
    except OSError:
        return ''


@contextlib.contextmanager
def closed_after(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def explained(where: str) -> Iterator[None]:
    """Turns faults inside into a RunDirectoryError about this path."""
    try:
        yield
    except (_Left, _Lost, OSError, ValueError) as error:
        failed = error.__cause__ if isinstance(error, _Left) else error
        # Python names the file in the error of every call that takes a name.
        on_descriptor = isinstance(failed, OSError) and failed.filename is None
        target = error.target if isinstance(error, _Left) else ''
        code = getattr(error, 'errno', None)
        raise RunDirectoryError(_printable(where), _reason(error), code, on_descriptor, target) from error


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError):
        text = error.strerror or str(error)
        return text[:1].lower() + text[1:]
    return str(error)


def _printable(text: str) -> str:
    """A path as it can be printed under every locale, and stored: printable ASCII, and not endless."""
    try:
        ascii_ = os.fsencode(text).decode('ascii', 'backslashreplace')
    except UnicodeEncodeError:  # half a surrogate pair, which no file name has
        ascii_ = text.encode('ascii', 'backslashreplace').decode('ascii')
    readable = ''.join(c if c.isprintable() else c.encode('unicode_escape').decode('ascii') for c in ascii_)
    return readable if len(readable) <= _MAX_TEXT else f'{readable[:120]}...{readable[-60:]}'
