"""Remains of dead sessions: run directories that nobody works in, jobs whose session nobody leads. `seatrial
clean` shows both before it removes anything. A process that can be left behind looks, for a file system waits for
each target that holds a part of a file to size it, and to read a marker for one."""

import contextlib
import json
import math
import os
import stat
import sys
import threading
import time
from pathlib import Path
from typing import Collection, Container, List, NamedTuple, Optional, Sequence, Set, Tuple

from seatrial.engine.node_program import module_argv
from seatrial.job.directory.lock import MAX_BYTES, MISSED_S, STALE_S, Heartbeat, LockError, list_locks, silent_s
from seatrial.job.directory.owner import Owner, is_of_another_boot, running, this_owner
from seatrial.job.directory.rundir import PREFIX, RunDirectoryError, found_at, is_named_as_one, marker_at
from seatrial.model.ask import ask, unresponsive
from seatrial.model.atomic_file import write_whole
from seatrial.model.codec import FormError, from_json, to_json
from seatrial.model.owned import shared_in, user_name
from seatrial.model.quoted_value import printable

LOOK_S = 60.0  # seconds to look into all configured paths; sizes that are unknown by then are not shown
_BY_HAND = 'if nothing of it runs, remove it by hand'


class Orphan(NamedTuple):
    """A run directory of this user. age_s: seconds since it was made; size_bytes: of its files, None if not known."""

    path: str
    session: str
    case: str
    owner: str
    host: str
    age_s: float
    size_bytes: Optional[int]
    files: Optional[int]
    alive: Optional[str]  # the reason why its session is taken to be at work, or None
    over: bool  # whether nobody is known to lead its session any more: it is alive only in that a job may still run
    foreign: str = ''  # the name of a file in it that the session did not make


class Search(NamedTuple):
    """The run directories in the parents, oldest first. Nothing of other users is read."""

    orphans: Tuple[Orphan, ...]
    # what seems to be a run directory of this user and cannot be read as one, each with the reason
    unread: Tuple[str, ...]
    others: Tuple[str, ...]  # the users who have directories with such names there


NOTHING = Search((), (), ())


def heartbeat_of(state: str, session: str) -> str:
    """The file whose mtime is the time of a session's last heartbeat."""
    return os.path.join(state, 'sessions', session, 'heartbeat')


def keep_heartbeat(state: str, session: str) -> Heartbeat:
    """Keep the session's heartbeat file fresh until the returned one is stopped. Raises OSError."""
    file = heartbeat_of(state, session)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    Path(file).touch()
    return Heartbeat(lambda: os.utime(file))


def leader_of(state: str, session: str) -> str:
    """The file that names the process that submits the session's jobs; its mtime is the heartbeat of that process."""
    return os.path.join(state, 'sessions', session, 'leader.json')


def become_leader(state: str, session: str) -> Heartbeat:
    """Name this process as the session's leader, with a heartbeat beside the one of its jobs. Raises OSError."""
    file = leader_of(state, session)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    write_whole(Path(file), json.dumps(to_json(this_owner(session))))
    return Heartbeat(lambda: os.utime(file))


def leader_alive(state: str, session: str) -> Optional[str]:
    """The reason why a session is taken to be led still, or None if it is dead. An unknown one is not dead."""
    return _leader(state, session).alive


class _Leader(NamedTuple):
    """The content of a session's leader file. alive: as leader_alive."""

    alive: Optional[str]
    is_known: bool  # whether that somebody leads it is known: by a process that runs here, or beats on another host
    is_named: bool = True  # whether there is such a file
    left_s: Optional[float] = None  # of silence, after which the process counts as dead, where nothing else can tell


def _leader(state: str, session: str) -> _Leader:
    file = leader_of(state, session)
    try:
        heard_s = silent_s(file, os.stat(file).st_mtime)
        with open(file, encoding='ascii') as stream:
            leader = from_json(Owner, json.loads(stream.read(MAX_BYTES)))
    except (OSError, ValueError) as error:
        why = getattr(error, 'strerror', None) or 'it cannot be read'
        is_named = not isinstance(error, FileNotFoundError)
        return _Leader(f'who leads its session is not known ({file}: {why})', False, is_named)
    runs = running(leader)
    if runs is not None:
        return _Leader(f'process {leader.pid} on this host leads its session' if runs else None, runs)
    left_s = _patience_s(leader) - heard_s
    if left_s < 0:
        return _Leader(None, False)
    is_known = heard_s <= MISSED_S and not is_of_another_boot(leader)
    heard = f'was heard of {max(0.0, heard_s):.0f} s ago'
    why = f'process {leader.pid} on {leader.host}, which leads its session, {heard}'
    return _Leader(why, is_known, left_s=left_s)


def _patience_s(owner: Owner) -> float:
    """Seconds of silence after which an unseen process has ended: few where its host was booted since."""
    return MISSED_S if is_of_another_boot(owner) else STALE_S


def look(parents: Sequence[str], state: str, queued: Optional[Collection[str]] = None, session: str = '') -> Search:
    """The marked run directories among the direct children of the parents, with sizes, by a process that is left
    behind after LOOK_S; the rest is then `unread`. queued: the sessions with jobs in Slurm's queue; None where
    unknown. session: the only one to be read, for others can have millions of files, or forbid listing; empty: all.
    Raises RunDirectoryError if a parent cannot be read."""
    with contextlib.suppress(RunDirectoryError):  # the process says why a directory cannot be listed
        if session and not _candidates(parents, session):
            return NOTHING
    wanted = json.dumps([list(parents), state, None if queued is None else sorted(queued), session])
    answer = ask(list(module_argv(sys.executable, __name__, (wanted,))), LOOK_S)
    last = ((answer.stderr if answer else '').strip().splitlines() or [''])[-1]
    silence = last or f'what lies in it could not be read within {LOOK_S:.0f} s; is a server down?'
    try:
        lines = [json.loads(line) for line in (answer.stdout if answer else '').split('\n')[:-1]]
        paths = lines[0] if lines else {'why': silence}
        if isinstance(paths, dict):
            raise RunDirectoryError(paths.get('path', parents[0]), paths['why'])
        read = {path: from_json(Search, search) for path, search in lines[1:]}
    except (ValueError, FormError) as error:
        raise RunDirectoryError(parents[0], f'what lies in it cannot be read: {error}') from error
    silent = [path for path in paths if path not in read]
    if session and silent:
        raise RunDirectoryError(silent[0], silence)
    unread = Search((), tuple(f'{printable(path)}: {silence}' for path in silent), ())
    return _together([*read.values(), unread])


def main(arguments: List[str]) -> int:
    """The searching process. It prints all paths, then for each a Search without sizes, and one with them."""
    parents, state, queued, session = json.loads(arguments[0])
    try:
        paths = _candidates(parents, session)
    except RunDirectoryError as error:
        _print({'path': error.path, 'why': error.why})
        return 0
    _print(paths)
    # One that waits for a dead server keeps nobody else waiting, nor this process from its end.
    for path in paths:
        threading.Thread(target=_look_into, args=(path, state, queued, session), daemon=True).start()
    for thread in set(threading.enumerate()) - {threading.current_thread()}:
        thread.join()
    return 0


def _look_into(path: str, state: str, queued: Optional[Container[str]], session: str) -> None:
    search = _search(path, state, queued, session)
    _print([path, to_json(search)])
    with contextlib.suppress(RunDirectoryError, OSError):  # it goes while it is looked at
        for orphan in search.orphans:
            files, size_bytes, foreign = found_at(path)
            sized = orphan._replace(files=files, size_bytes=size_bytes, foreign=foreign)
            _print([path, to_json(search._replace(orphans=(sized,)))])


def _print(what: object) -> None:
    print(json.dumps(what) + '\n', end='', flush=True)  # in one write, for others print too


def _search(path: str, state: str, queued: Optional[Container[str]], session: str) -> Search:
    try:
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode) and status.st_uid != os.geteuid():
            return Search((), (), (user_name(status.st_uid),))
        if stat.S_ISDIR(status.st_mode):
            orphan = _orphan(path, state, queued)
            return Search((orphan,), (), ()) if session in ('', orphan.session) else NOTHING
    except FileNotFoundError:
        pass  # its session has just removed it
    except RunDirectoryError as error:
        if is_named_as_one(path):
            return Search((), (str(error),), ())
    except OSError as error:
        return Search((), (f'{printable(path)}: {error.strerror}',), ())
    return NOTHING


def _together(several: Sequence[Search]) -> Search:
    """All searches as one, the oldest run directory first."""
    orphans = sorted((orphan for search in several for orphan in search.orphans), key=lambda orphan: -orphan.age_s)
    others = {user for search in several for user in search.others}
    return Search(tuple(orphans), tuple(why for search in several for why in search.unread), tuple(sorted(others)))


def _candidates(parents: Sequence[str], session: str) -> List[str]:
    paths: List[str] = []
    seen: Set[Tuple[int, int]] = set()
    for parent in parents:
        try:
            status = os.stat(parent)
            names = os.listdir(parent)
        except OSError as error:
            if session and isinstance(error, PermissionError):
                continue
            raise RunDirectoryError(parent, f'{error.strerror}; is the file system mounted?') from error
        if (status.st_dev, status.st_ino) not in seen:  # one directory may be configured under two names
            seen.add((status.st_dev, status.st_ino))
            paths += [os.path.join(parent, name) for name in names if name.startswith(PREFIX + session)]
    return paths


def _orphan(path: str, state: str, queued: Optional[Container[str]]) -> Orphan:
    marker = marker_at(path)
    owner = marker.maker
    home = marker.state or state
    unknown = _unknown(home, owner.session) if home != state else None
    leader = _Leader(unknown, False) if unknown else _leader(home, owner.session)
    is_over = leader.alive is None
    # The queue that was asked is that of this site's sessions.
    alive = unknown or _alive(owner, home, is_over, queued if home == state else None) or _led(leader)
    if marker.kept:
        alive = alive or _beside(state) or _beside(home)
    over, age_s = is_over or not (leader.is_known or running(owner)), max(0.0, time.time() - owner.time)
    return Orphan(path, owner.session, marker.case, owner.owner, owner.host, age_s, None, None, alive, over)


def _unknown(home: str, session: str) -> Optional[str]:
    """The reason why it is unknown who leads a session of another site, or None: its state directory tells that."""
    sessions = os.path.join(home, 'sessions')
    why = unresponsive(home)
    if why is None and not os.path.isdir(sessions):
        why = f'{sessions} is not there; is its file system mounted?'
    if why is None:
        faults = shared_in(home, (sessions, os.path.join(sessions, session)))
        why = faults[0].why if faults else None
    return f'who leads its session is not known ({why}); {_BY_HAND}' if why else None


def _led(leader: _Leader) -> Optional[str]:
    """The reason why a run directory stays whose own process has ended: its job's next step may be about to begin."""
    if leader.alive is None or not leader.is_named:
        return None
    if leader.is_known:
        return leader.alive
    return f'{leader.alive}; {_BY_HAND if leader.left_s is None else _counts_as_dead(leader.left_s)}'


def _counts_as_dead(left_s: float) -> str:
    return f'if it stays silent it counts as dead in {math.ceil(left_s / 60)} min'


def _beside(state: str) -> Optional[str]:
    """The reason why a session may still measure beside kept files, or None: they must stay until its end."""
    try:
        at_work = [lock.holder.session for lock in list_locks(state) if lock.holder and not lock.stale]
    except LockError as error:
        return f'it is kept, and whether a session measures beside it is not known ({error})'
    for leader in sorted(Path(state, 'sessions').glob('*/leader.json')):
        # Old sessions on other nodes are not read.
        if silent_s(str(leader), leader.stat().st_mtime) <= STALE_S and leader_alive(state, leader.parent.name):
            at_work.append(leader.parent.name)
    return f'it is kept, and session {at_work[0]} may measure beside it' if at_work else None


def _alive(owner: Owner, state: str, is_over: bool, queued: Optional[Container[str]]) -> Optional[str]:
    """A reason to think it in use: process runs, session heard of or never known, or job queued; or None."""
    runs = running(owner)
    if runs is not None:
        return f'process {owner.pid} on this host works in it' if runs else None
    if is_over and (owner.job or not owner.pid) and queued is not None and owner.session not in queued:
        return None
    heartbeat = heartbeat_of(state, owner.session)
    try:
        heard_s = silent_s(heartbeat, os.stat(heartbeat).st_mtime)
    except OSError as error:
        if owner.pid:
            unknown = f'process {owner.pid} on {owner.host} cannot be asked, and {heartbeat}: {error.strerror}'
            return f'{unknown}; if nothing runs there, remove it by hand'
        heard_s = time.time() - owner.time  # since it was made
    left_s = _patience_s(owner) - heard_s
    if left_s < 0:
        return None
    last = 'its session was heard of' if owner.pid else 'it was made, or its session heard of,'
    return f'{last} {max(0.0, heard_s):.0f} s ago; {_counts_as_dead(left_s)}'
