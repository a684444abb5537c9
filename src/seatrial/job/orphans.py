"""Run directories that nobody works in any more: what `seatrial clean` shows before it removes anything."""

import os
import time
from typing import List, NamedTuple, Optional, Sequence, Set, Tuple

from seatrial.job.lock import STALE_S, Heartbeat
from seatrial.job.maker import Maker, running, user_name
from seatrial.job.rundir import PREFIX, RunDirectoryError, found_at


class Orphan(NamedTuple):
    """A run directory that lies in one of the parents. age_s: seconds since it was made; size_bytes: of its files.

    alive:   why its session is taken to be still at work, or None
    foreign: why this user cannot remove it, or None
    """

    path: str
    session: str
    case: str
    owner: str
    host: str
    age_s: float
    size_bytes: int
    files: int
    alive: Optional[str]
    foreign: Optional[str]


def heartbeat_of(state: str, session: str) -> str:
    """The file whose mtime says when a session was last heard of."""
    return os.path.join(state, 'sessions', session, 'heartbeat')


def beat(state: str, session: str) -> Heartbeat:
    """Keep the session's heartbeat file fresh until the returned one is stopped. Raises OSError."""
    file = heartbeat_of(state, session)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, 'a'):
        os.utime(file)
    return Heartbeat(lambda: os.utime(file))


def find(parents: Sequence[str], state: str) -> List[Orphan]:
    """The marked run directories among the direct children of the parents, oldest first.

    What has no valid marker of its own, or cannot be read, is not listed. RunDirectoryError if a parent cannot be.
    """
    found = [_orphan(path, state) for path in _candidates(parents)]
    return sorted((orphan for orphan in found if orphan is not None), key=lambda orphan: -orphan.age_s)


def _candidates(parents: Sequence[str]) -> List[str]:
    paths: List[str] = []
    seen: Set[Tuple[int, int]] = set()
    for parent in parents:
        try:
            status = os.stat(parent)
            names = os.listdir(parent)
        except OSError as error:
            raise RunDirectoryError(f'{parent}: {error.strerror}; is the file system mounted?') from error
        if (status.st_dev, status.st_ino) not in seen:  # one directory may be configured under two names
            seen.add((status.st_dev, status.st_ino))
            paths += [os.path.join(parent, name) for name in names if name.startswith(PREFIX)]
    return paths


def _orphan(path: str, state: str) -> Optional[Orphan]:
    try:
        found = found_at(path)
    except RunDirectoryError:
        return None
    maker = found.marker.maker
    return Orphan(
        path=path,
        session=maker.session,
        case=found.marker.case,
        owner=maker.owner,
        host=maker.host,
        age_s=max(0.0, time.time() - maker.time),
        size_bytes=found.size_bytes,
        files=found.files,
        alive=_alive(maker, state),
        foreign=None if maker.uid == os.geteuid() else f'it belongs to {user_name(maker.uid)}, who can remove it',
    )


def _alive(maker: Maker, state: str) -> Optional[str]:
    """Why it may be in use: its process runs, or where that cannot be seen, its session was heard of or never was."""
    runs = running(maker)
    if runs is not None:
        return f'process {maker.pid} on this host works in it' if runs else None
    heartbeat = heartbeat_of(state, maker.session)
    try:
        silent_s = time.time() - os.stat(heartbeat).st_mtime
    except OSError as error:
        return f'process {maker.pid} on {maker.host} cannot be asked, and {heartbeat}: {error.strerror}'
    if silent_s > STALE_S:
        return None
    return f'its session was heard of {max(0.0, silent_s):.0f} s ago'
