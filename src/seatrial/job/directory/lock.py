"""One trial at a time per storage system (rule P6): a lock file in the site's state directory. It is written whole
and then linked to its place: link(2) is atomic on every file system that nodes share, NFS among them (open(2),
"O_EXCL"). Its mtime is the session's heartbeat. A lock whose heartbeat stopped is reported, never taken over."""

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import stat
import tempfile
import threading
import time
from typing import Callable, Container, ContextManager, List, NamedTuple, Optional, Tuple

from seatrial.job.directory.owner import Owner, is_of_another_boot, running, this_owner
from seatrial.model.codec import from_json, to_json
from seatrial.model.owned import user_name
from seatrial.model.quoted_value import printable
from seatrial.model.units import duration

HEARTBEAT_S = 60.0
MISSED_S = 3 * HEARTBEAT_S  # s; a live process renews its lock earlier if its state directory answers
# Seconds without a heartbeat after which a lock is called stale: as long as Lustre may take to recover a target
# (rule P17), because the state directory may lie on another Lustre.
STALE_S = 900.0
MAX_BYTES = 65536  # most that is read of a file that others may have written
_LOCKS = 'locks'
_SUFFIX = '.json'
_FORMAT = 1
_MAX_NAME = 200  # bytes of a file's name; in a longer name a hash takes the place of the end
_REMEDY = 'you must be able to write and link there; every user needs a state directory of their own'


class LockError(Exception):
    """The lock cannot be taken or read: the message has place, fault and remedy."""


class Held(NamedTuple):
    """A lock in the state directory. heartbeat_age_s: seconds since the last heartbeat of its holder."""

    path: str
    storage_system: str
    holder: Optional[Owner]  # None if the file cannot be read. foreign: why this user cannot remove it, or None
    heartbeat_age_s: float
    foreign: Optional[str]

    @property
    def stale(self) -> bool:
        return self.heartbeat_age_s > self.patience_s

    @property
    def patience_s(self) -> float:
        """Seconds without a heartbeat until it is stale: fewer if its process has ended (its jobs may go on)."""
        return MISSED_S if self.ended else STALE_S

    @property
    def ended(self) -> bool:
        return self.holder is not None and (running(self.holder) is False or is_of_another_boot(self.holder))

    def description(self) -> str:
        holder = f'a lock file that cannot be read ({self.path})'
        if self.holder is not None:
            job = f', job {self.holder.job}' if self.holder.job else ''
            since = time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self.holder.time))
            holder = f'session {self.holder.session} of {self.holder.owner} ({self.holder.host}{job}) since {since}'
        heartbeat = f'its last heartbeat was {duration(max(0.0, self.heartbeat_age_s))} ago'
        sentence = f'storage system {self.storage_system} is held by {holder}; {heartbeat}'
        return printable(sentence).encode('ascii', 'backslashreplace').decode('ascii')

    def sentence(self) -> str:
        remedy = '; wait until it ends'
        if self.ended:
            left = max(1, math.ceil((self.patience_s - self.heartbeat_age_s) / 60))
            remedy = f'; its process has ended: if no job renews the lock, `seatrial clean` removes it in {left} min'
        if self.stale:
            remedy = ': it is stale, but was not taken over; `seatrial clean` removes it once nothing runs'
        return self.description() + remedy


class LockHeld(LockError):
    """Another session holds the storage system."""


class Heartbeat:
    """Calls `renew` every interval_s seconds in a daemon thread until it is stopped, also after an OSError."""

    def __init__(self, renew: Callable[[], None], interval_s: float = HEARTBEAT_S) -> None:
        self._renew = renew
        self._interval_s = interval_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name='heartbeat', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeats; a thread that hangs on a dead file system is left behind."""
        self._stopped.set()
        self._thread.join(1.0)

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_s):
            with contextlib.suppress(OSError):
                self._renew()


class Lock(ContextManager['Lock']):
    """A storage system held by this session. created: False if the session held it already."""

    def __init__(self, path: str, content: bytes, created: bool, interval_s: float) -> None:
        self.path = path
        self.created = created
        self._content = content
        self._heartbeat = Heartbeat(self._renew, interval_s)

    def __exit__(self, *_: object) -> None:
        self.release()

    def lost(self) -> Optional[str]:
        """A sentence if this session has lost the lock, else None. Raises OSError if the lock cannot be read."""
        if _read(self.path) == self._content:
            return None
        return f'the lock {self.path} was removed or replaced by another session; nothing more may be measured'

    def release(self) -> None:
        """Remove the lock if `acquire` made it and it is unchanged; a lock that cannot be removed becomes stale."""
        self._heartbeat.stop()
        if self.created:
            with contextlib.suppress(OSError):
                _take_down(self.path, self._content)

    def _renew(self) -> None:
        if _read(self.path) == self._content:
            os.utime(self.path)


def acquire(state: str, storage_system: str, session: str, interval_s: float = HEARTBEAT_S) -> Lock:
    """Lock a storage system for the session, until its first process releases it. Raises LockHeld or LockError."""
    path = os.path.join(_made(state), _file_name(storage_system))
    lock = _LockFile(_FORMAT, storage_system, this_owner(session))
    content = json.dumps(to_json(lock), indent=1).encode('ascii') + b'\n'
    for _ in range(10):
        if _publish(path, content):
            return Lock(path, content, True, interval_s)
        try:
            held, present = _held(path)
        except FileNotFoundError:
            continue  # it was released in between
        if held.holder is not None and (held.holder.session, held.holder.uid) == (session, os.geteuid()):
            return Lock(path, present, False, interval_s)
        raise LockHeld(held._replace(storage_system=storage_system).sentence())
    raise LockError(f'{path}: sessions take and release the lock all the time; try again')


def list_locks(state: str) -> List[Held]:
    """Every lock of the site, stale or not. LockError if the state directory cannot be read."""
    return [held for held, _ in _all(state)]


def break_stale(state: str, dead: Container[str] = ()) -> List[Held]:
    """Remove this user's locks that are stale or of `dead` sessions, unless the holder's process is seen running."""
    removed = []
    for held, content in _all(state):
        is_dead = held.holder is not None and held.holder.session in dead
        if not (held.stale or is_dead) or held.foreign or (held.holder is not None and running(held.holder)):
            continue
        with contextlib.suppress(OSError):  # a lock that cannot be removed stays
            if _take_down(held.path, content, 0.0 if is_dead else held.patience_s):
                removed.append(held)
    return removed


def _all(state: str) -> List[Tuple[Held, bytes]]:
    directory = os.path.join(state, _LOCKS)
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise LockError(f'{directory}: {error.strerror}') from error
    locks = []
    for name in names:
        if name.endswith(_SUFFIX) and not name.startswith('.'):
            with contextlib.suppress(FileNotFoundError):  # released in between
                locks.append(_held(os.path.join(directory, name)))
    return locks


def _made(state: str) -> str:
    # A missing state directory is not made: on a node where it is not mounted the lock would lock nothing.
    if not os.path.isdir(state):
        why = f'the state directory does not exist on {os.uname().nodename}; all nodes must share it'
        raise LockError(f'{state}: {why}')
    directory = os.path.join(state, _LOCKS)
    try:
        os.mkdir(directory)
        # Users who may list the state directory may read its locks; only this user may take or break them.
        os.chmod(directory, stat.S_IMODE(os.stat(state).st_mode) & ~0o022)
    except FileExistsError:
        pass
    except OSError as error:
        raise LockError(f'{directory}: {error.strerror}; {_REMEDY}') from error
    return directory


def _file_name(storage_system: str) -> str:
    """A safe file name, another for each text. Not by urllib's quote, which depends on the version of Python."""
    text = storage_system.encode('utf-8', 'surrogatepass')
    quoted = re.sub(rb'^\.|[^A-Za-z0-9_.-]', lambda byte: b'%%%02X' % ord(byte.group()), text)
    name = quoted.decode('ascii') or '%'
    if len(name) > _MAX_NAME:
        name = name[: _MAX_NAME - 65] + '~' + hashlib.sha256(text).hexdigest()
    return name + _SUFFIX


class _LockFile(NamedTuple):
    """The content of a lock file. The holder's pid and time distinguish two locks of one process."""

    format: int
    storage_system: str
    holder: Owner


def _publish(path: str, content: bytes) -> bool:
    """Create the file with all of its content, unless it exists; True if it was created."""
    draft = _aside(path)
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), 'wb') as stream:
            os.fchmod(stream.fileno(), 0o644)  # whatever the umask: others must see who holds it
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(draft, path)
        except OSError as error:
            # If an NFS server's answer is lost, link() fails although it worked; the link count shows it (open(2)).
            if os.stat(draft).st_nlink != 2:
                if isinstance(error, FileExistsError):
                    return False
                raise
        return True
    except OSError as error:
        raise LockError(f'{path}: {error.strerror}; {_REMEDY}') from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)


def _take_down(path: str, content: bytes, min_age_s: float = float('-inf')) -> bool:
    """Move the lock aside, and remove it if it has this content and age; else put it back. True if removed."""
    if _read(path) != content:
        return False
    aside = _aside(path)
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return False
    is_it = False
    try:
        is_it = _read(aside) == content and silent_s(aside, os.stat(aside).st_mtime) > min_age_s
    finally:
        if not is_it:
            with contextlib.suppress(FileExistsError):
                os.link(aside, path)
        os.unlink(aside)
    return is_it


def _aside(path: str) -> str:
    return os.path.join(os.path.dirname(path), f'.{secrets.token_hex(16)}')


def _held(path: str) -> Tuple[Held, bytes]:
    """The lock at this path; FileNotFoundError if there is none."""
    status = os.stat(path, follow_symlinks=False)
    content, lock = b'', None  # type: bytes, Optional[_LockFile]
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = _read(path)
        lock = from_json(_LockFile, json.loads(content.decode('utf-8')))
    name = lock.storage_system if lock else os.path.basename(path)[: -len(_SUFFIX)]
    foreign = None if status.st_uid == os.geteuid() else f'it belongs to {user_name(status.st_uid)}'
    return Held(path, name, lock.holder if lock else None, silent_s(path, status.st_mtime), foreign), content


def _read(path: str) -> bytes:
    """The file's content; empty if there is no file."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), 'rb') as stream:
            return stream.read(MAX_BYTES)
    except FileNotFoundError:
        return b''


def silent_s(file: str, touched: float) -> float:
    """Seconds since a file was touched. More than MISSED_S is measured again by the clock of the file's server, if
    a file can be made there: a host whose clock is ahead would take live sessions for dead. Raises OSError."""
    seconds = time.time() - touched
    if seconds > MISSED_S:
        with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=os.path.dirname(file)) as new:
            seconds = os.fstat(new.fileno()).st_mtime - touched
    return seconds
