"""The runner's side of a barrier: it lets the tasks of a launch begin together. See engine/barrier.py. It listens
while the launch runs, knows its guests by a token, and executes nothing. A task that is lost, or is about to do
something else than the others, ends the barrier: all others get the reason and give up."""

import contextlib
import errno
import hmac
import json
import queue
import resource
import secrets
import selectors
import socket
import threading
import time
from typing import Any, Dict, List, Optional, Set, Tuple

from seatrial.engine.barrier import HEARTBEAT_S, LONGEST_LINE, VARIABLE, clock_identity, line_of

PATIENCE_S = 600.0  # a launcher may need minutes to start thousands of processes
STRANGER_S = 10.0  # until a connection has shown the token
STRANGER_LINE = 4096  # bytes
SEND_S = 10.0
CHECK_S = 1.0
LAST_WORDS_S = 2.0  # seconds to read what tasks sent before they ended
SPARE_DESCRIPTORS = 256  # descriptors that are kept for other files of the runner
GONE_AGAIN = (
    *(errno.EAGAIN, errno.ECONNABORTED, errno.EPERM, errno.EPROTO, errno.ENOPROTOOPT, errno.ENETDOWN),
    *(errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENONET, errno.EOPNOTSUPP),
)  # one connection failed before it was taken, by itself or a firewall: the next may come (accept(2))
AHEAD_S, AHEAD_A_TASK_S = 0.001, 0.00002  # a beginning is set so far ahead that its message arrives before it


class Barrier:
    """A barrier of `tasks` tasks on `nodes` nodes, while `with` lasts. reports: of the tasks, by their number;
    environment: that the launch's processes need, never in an argv, which all users can see."""

    def __init__(self, tasks: int, nodes: int = 1, patience_s: float = PATIENCE_S) -> None:
        self.reports: Dict[int, Any] = {}
        self._tasks, self._nodes, self._patience_s = tasks, nodes, patience_s
        self._clock, self._token = clock_identity(), secrets.token_hex(16)
        self._selector = selectors.DefaultSelector()
        self._strangers: Set[_Guest] = set()
        self._members: Dict[int, _Guest] = {}
        self._coming: List[_Guest] = []  # those who wait for the others
        self._over: Optional[str] = None
        self._closing = False
        self._reasons: 'queue.Queue[Optional[str]]' = queue.Queue()  # reasons of other threads; None ends the wait

    def __enter__(self) -> 'Barrier':
        needed = self._tasks + SPARE_DESCRIPTORS
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < needed:
            allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # Other nodes reach it by this node's name; without other nodes only this node can reach it.
        name, address = (socket.gethostname(), '') if self._nodes > 1 else ('127.0.0.1', '127.0.0.1')
        self._listener.bind((address, 0))
        self._listener.listen(self._tasks + 16)
        self._listener.setblocking(False)
        self.environment = {VARIABLE: f'{name}:{self._listener.getsockname()[1]}:{self._token}'}
        self._bell, self._rung = socket.socketpair()
        for source in (self._listener, self._rung):
            self._selector.register(source, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._tell(None)
        self._thread.join()
        for source in (self._listener, self._bell, self._rung):
            source.close()
        self._selector.close()

    def abort(self, why: str) -> None:
        """End every task's wait, with the reason as a clause. Only the first reason counts."""
        with contextlib.suppress(OSError):  # the launch has just ended, and the bell with it
            self._tell(why)

    def _tell(self, why: Optional[str]) -> None:
        self._reasons.put(why)
        self._bell.send(b'.')

    def _hold(self) -> None:
        opened = checked = heartbeat_at = now = time.monotonic()
        while not self._closing:
            self._serve(CHECK_S)
            now = time.monotonic()
            if now - checked >= CHECK_S:
                checked = now
                for guest in [stranger for stranger in self._strangers if now - stranger.since > STRANGER_S]:
                    self._drop(guest)
                if len(self._members) < self._tasks and now - opened > self._patience_s:
                    missing = next(number for number in range(self._tasks) if number not in self._members)
                    self._finish(f'task {missing} did not come within {self._patience_s:.0f} s')
            if now - heartbeat_at >= HEARTBEAT_S:
                heartbeat_at = now
                self._send(self._coming, {'heartbeat': True})
        while self._serve(0.0) and time.monotonic() - now < LAST_WORDS_S:
            pass
        self._finish('the launch has ended')
        for guest in [*self._strangers, *self._members.values()]:
            self._drop(guest)

    def _serve(self, timeout_s: float) -> bool:
        """Answers messages that have come; True if there was one inside the timeout."""
        ready = self._selector.select(timeout_s)
        for key, _ in ready:
            if key.fileobj is self._listener:
                self._admit()
            elif key.fileobj is self._rung:
                self._rung.recv(1)
                why = self._reasons.get()
                if why is None:
                    self._closing = True
                else:
                    self._finish(why)
            else:
                try:
                    for line in key.data.lines():
                        self._hear(key.data, json.loads(line.decode('ascii')))
                except (OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
                    self._lose(key.data)
        return bool(ready)

    def _admit(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno not in GONE_AGAIN:
                self._finish(f'no more tasks can be let in: {error.strerror}')
            return
        guest = _Guest(connection)
        self._strangers.add(guest)
        self._selector.register(connection, selectors.EVENT_READ, guest)

    def _hear(self, guest: '_Guest', message: Dict[str, Any]) -> None:
        if guest.rank is None:
            self._greet(guest, message)
        elif 'ping' in message:
            self._send([guest], {'now': time.monotonic()})
        elif 'come' in message:
            guest.comes = (str(message['come']), bool(message['together']))
            guest.says, guest.trip_s = str(message['says']), float(message['trip'])
            self._gather(guest)
        else:
            self.reports[guest.rank] = message['leave']
            if self._coming:
                self._finish(f'{guest.name} has left, and {self._coming[0].name} waits for it')

    def _greet(self, guest: '_Guest', message: Dict[str, Any]) -> None:
        if not hmac.compare_digest(str(message['token']), self._token):
            raise ValueError('this is no task of this launch')
        self._strangers.discard(guest)
        guest.rank, guest.host = int(message['rank']), str(message['host'])
        if self._over is not None:
            self._send([guest], {'over': self._over})
        elif message['tasks'] != self._tasks:
            self._finish(f'{guest.name} is one of {message["tasks"]}, and {self._tasks} were invited', guest)
        elif not 0 <= guest.rank < self._tasks or guest.rank in self._members:
            self._finish(f'{guest.name} came twice, or was not invited', guest)
        else:
            self._members[guest.rank] = guest
            self._send([guest], {'clock': self._clock})

    def _gather(self, guest: '_Guest') -> None:
        self._coming.append(guest)
        first = self._coming[0]
        if self.reports:
            self._finish(f'task {min(self.reports)} has left, and {guest.name} waits for it')
        elif guest.comes != first.comes:
            self._finish(f"{first.name} is about to '{first.comes[0]}', {guest.name} to '{guest.comes[0]}'")
        elif len(self._coming) == self._tasks:
            everyone, self._coming = self._coming, []
            trip_s = max(member.trip_s for member in everyone)
            at_s = time.monotonic() + AHEAD_S + self._tasks * AHEAD_A_TASK_S + trip_s
            words = {str(member.rank): member.says for member in everyone if member.says}
            self._send(everyone, {'said': words, 'at': at_s})

    def _send(self, guests: List['_Guest'], message: Dict[str, Any]) -> None:
        line = line_of(message)
        for guest in list(guests):
            try:
                guest.connection.sendall(line)
            except OSError:
                self._lose(guest)

    def _lose(self, guest: '_Guest') -> None:
        self._drop(guest)
        if guest.rank is not None and guest.rank not in self.reports:
            self._finish(f'{guest.name} is lost')

    def _finish(self, why: str, *others: '_Guest') -> None:
        if self._over is None:
            self._over = why
            self._send([*self._members.values(), *others], {'over': why})

    def _drop(self, guest: '_Guest') -> None:
        self._strangers.discard(guest)
        with contextlib.suppress(KeyError, ValueError):  # it has been dropped before
            self._selector.unregister(guest.connection)
        guest.connection.close()


class _Guest:
    """One connection. rank: of its task, once it has shown the token. comes: its act, and whether to begin it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(SEND_S)
        # A task that waits for its file system answers these all the same; a node that is dead does not.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 4)):
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection, self.since, self._unread = connection, time.monotonic(), b''
        self.rank: Optional[int] = None
        self.comes: Tuple[str, bool] = ('', False)
        self.host, self.says, self.trip_s = '', '', 0.0

    @property
    def name(self) -> str:
        return f'task {self.rank} on {self.host}'

    def lines(self) -> List[bytes]:
        """The whole lines that have come. Raises OSError if it is gone, ValueError for a line that is too long."""
        more = self.connection.recv(1 << 16)
        if not more:
            raise ConnectionResetError
        *whole, self._unread = (self._unread + more).split(b'\n')
        if max(map(len, (*whole, self._unread))) > (STRANGER_LINE if self.rank is None else LONGEST_LINE):
            raise ValueError('no message is so long')
        return whole
