"""The journal of actions: STATE/actions/STORAGE_SYSTEM.json exists from before an action starts until it is undone,
even if its session is killed. There is one per storage system: no two sessions act on it at once. Its commands will
be run, so only a file counts that belongs to the user, has one name, and cannot be written by anybody else."""

import fcntl
import json
import os
import re
import secrets
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from seatrial.job.directory.orphans import leader_alive
from seatrial.job.directory.owner import Owner, on_this_machine, process_start, this_owner
from seatrial.model.action import Action
from seatrial.model.ask import ANSWER_S, Answer, ask
from seatrial.model.codec import from_json, to_json
from seatrial.model.owned import user_name
from seatrial.model.quoted_value import shell_line

FOLDER, SUFFIX, STARTED = 'actions', '.json', '.started'
LONGEST = 1 << 16  # bytes of an entry
KILLED_S = 10.0
_NOTED = 'cat /proc/$$/stat >"$1" && shift && exec "$@"'
"""Records the process of a start before it runs: a clean-up must end that process before the undo."""


class ActionError(Exception):
    """An action that must not or cannot be carried out; the message has the reason and the remedy."""


class JournalEntry(NamedTuple):
    """An action that was begun and is not known to be undone."""

    storage_system: str
    action: Action
    owner: Owner


class JournalFile(NamedTuple):
    path: Path
    why: str = ''  # reason for that, as a clause
    entry: JournalEntry | None = None  # None where nothing in it may be run

    def description(self) -> str:
        if self.entry is None:
            return f'an action may still be in effect: {self.path}: {self.why}'
        entry, hours = self.entry, (time.time() - self.entry.owner.time) / 3600
        since = time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(entry.owner.time))
        whose = f'session {entry.owner.session} of {entry.owner.owner} on {entry.owner.host}'
        return (
            f'the action {entry.action.name} on {entry.storage_system} is still in effect, since {since} '
            f'({hours:.1f} h), started by {whose}; its undo command: {shell_line(entry.action.undo)}'
        )


class Journal:
    """The entry of one storage system, held by the session that acts on it."""

    def __init__(self, state: str, session: str, storage_system: str) -> None:
        self._path = Path(state) / FOLDER / f'{storage_system}{SUFFIX}'
        self._session, self._storage_system = session, storage_system
        self._held = -1

    def begin(self, action: Action) -> None:
        """Records what is about to be started. Raises ActionError if an earlier action is not undone; OSError."""
        self._path.parent.mkdir(mode=0o770, exist_ok=True)
        entry = JournalEntry(self._storage_system, action, this_owner(self._session))
        fresh = self._path.with_suffix(f'.{secrets.token_hex(6)}')
        descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, json.dumps(to_json(entry)).encode())
            os.fsync(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.link(fresh, self._path)
        except FileExistsError:
            os.close(descriptor)
            (other,) = (entry for entry in entries(self._path.parent.parent) if entry.path == self._path)
            raise ActionError(f'{other.description()}; `seatrial clean --yes` undoes it') from None
        finally:
            fresh.unlink()
        _sync(self._path.parent)
        self._held = descriptor

    def start(self, action: Action) -> Answer | None:
        """Runs the start with a time limit, and records its process so that it can be found if this one dies."""
        return ask(['sh', '-c', _NOTED, 'sh', str(self._path.with_suffix(STARTED)), *action.start], action.timeout_s)

    def end(self) -> None:
        _removed(self._path)
        _sync(self._path.parent)
        self.leave()

    def leave(self) -> None:
        """Releases the entry, which stays in the journal."""
        if self._held >= 0:
            os.close(self._held)
        self._held = -1


def entries(state: str | Path) -> Iterator[JournalFile]:
    for path in sorted((Path(state) / FOLDER).glob(f'*{SUFFIX}')):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield JournalFile(path, f'it cannot be read: {error.strerror}; another user put it there')
            continue
        try:
            yield _read(path, descriptor)
        finally:
            os.close(descriptor)


def undone(state: str, file: JournalFile) -> str:
    """Runs the undo and waits until `check` succeeds; the reason if that fails, as a clause, or empty."""
    if file.entry is None:
        return file.why
    if (alive := leader_alive(state, file.entry.owner.session)) is not None:
        return f'{alive}, and will undo it'
    try:
        descriptor = os.open(file.path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError as error:
        return error.strerror or str(error)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if why := _end_start(file):
            return why
        failed = failure(ask(list(file.entry.action.undo), file.entry.action.timeout_s), file.entry.action)
        if sick := wait_healthy(file.entry.action):
            return f'its undo {failed}; {sick}' if failed else sick
        _removed(file.path)
        return ''
    except BlockingIOError:
        return 'another process is undoing it'
    finally:
        os.close(descriptor)


def failure(answer: Answer | None, action: Action) -> str:
    """The failure of a command of the action, as a clause; empty if it succeeded."""
    if answer is None:
        return 'cannot be started: no such program'
    if answer.exit_status is None:
        return f'did not end within {action.timeout_s:g} s, and was killed'
    if answer.exit_status == 0:
        return ''
    lines = (answer.stderr or answer.stdout).strip().splitlines()
    return f'exited with {answer.exit_status}{": " + lines[-1][:200] if lines else ""}'


def unhealthy(action: Action) -> str:
    """The reason why the storage is not healthy, as a clause; empty if it is."""
    failed = failure(ask(list(action.check), action.timeout_s), action)
    return f'the check of {action.name} {failed}' if failed else ''


def wait_healthy(action: Action) -> str:
    """As `unhealthy`, after waiting up to the timeout of the action: a failover takes a while."""
    end = time.monotonic() + action.timeout_s
    while (why := unhealthy(action)) and time.monotonic() < end:
        time.sleep(1.0)
    return why


def count_of(action: Action) -> tuple[int | None, str]:
    """An action's count and '', or None and the reason; ends after ANSWER_S, so that no start or undo is late."""
    brief = action._replace(timeout_s=min(action.timeout_s, ANSWER_S))
    answer = ask(list(action.counting), brief.timeout_s)
    why = failure(answer, brief)
    last = answer.stdout.strip().rpartition('\n')[2] if answer and not why else ''
    if re.fullmatch('[0-9]{1,18}', last):
        return int(last), ''
    return None, why or f"printed '{last[:80]}' last, which is not a whole number"


def _read(path: Path, descriptor: int) -> JournalFile:
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1:
        return JournalFile(path, 'it is not a regular file with a single name; inspect it and remove it')
    if about.st_uid != os.geteuid():
        owner = user_name(about.st_uid)
        return JournalFile(path, f'it belongs to {owner}, who alone can undo it with `seatrial clean --yes`')
    if about.st_mode & 0o022:
        why = 'other users can write it, so its commands are not run; read it and undo the action by hand'
        return JournalFile(path, why)
    try:
        entry = from_json(JournalEntry, json.loads(os.read(descriptor, LONGEST)))
    except (ValueError, RecursionError):
        return JournalFile(path, 'it is damaged; find out which action it was, undo that by hand and remove the file')
    if entry.storage_system + SUFFIX != path.name:
        why = f'it names the storage system {entry.storage_system}; undo that by hand and remove it'
        return JournalFile(path, why)
    return JournalFile(path, entry=entry)


def _end_start(file: JournalFile) -> str:
    """Ends a start that has outlived its session; the reason if that is impossible, or empty."""
    assert file.entry is not None
    try:
        fields = file.path.with_suffix(STARTED).read_bytes()
    except OSError:
        return ''  # it never began
    pid, _, rest = fields.partition(b' ')
    values = rest.rpartition(b')')[2].split()
    if len(values) < 20 or not pid.isdigit():
        return ''  # sh was killed while it noted it, before it became the command
    if not on_this_machine(file.entry.owner):
        host = file.entry.owner.host
        if host != os.uname().nodename:
            return f'its start command was run on {host} and may still run there; run `seatrial clean` on {host}'
        return ''  # this host was booted since
    number, began = int(pid), int(values[19])
    end = time.monotonic() + KILLED_S
    while process_start(number) == began and time.monotonic() < end:
        with suppress(OSError):
            os.killpg(number, signal.SIGKILL)
        time.sleep(0.05)
    return f'its start command still runs as process {number}' if process_start(number) == began else ''


def _removed(entry: Path) -> None:
    for path in (entry.with_suffix(STARTED), entry):
        path.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
