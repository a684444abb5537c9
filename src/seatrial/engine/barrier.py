"""The common start of a launch's tasks: their side of a barrier that the runner holds (job/launch/barrier.py).

A task connects to the coordinator, shows the launch's token, and waits with the others whenever it wants to go on
together with them. On several nodes it also learns how its clock stands to the coordinator's: the middle of request
and answer is wrong by half of the round trip at most (Cristian, Distributed Computing 3, 1989). No wait is without
end: after SILENCE_S without a heartbeat a task gives up, and a task that is lost ends the wait of all others.

On the wire every message is a line of JSON. A task sends

    {"token", "rank", "tasks", "host"}          once, answered by {"clock"}
    {"ping"}                                    answered by {"now"}
    {"come", "says", "together", "trip"}        answered by {"said", "at"} when all have come
    {"leave"}                                   at its end, with its report if it has one
and at any time it may get {"heartbeat"}, or {"over"} with the reason.
"""

import json
import os
import socket
import time
from typing import Any, Dict, NamedTuple, Tuple

VARIABLE = 'SEATRIAL_BARRIER'  # environment variable with host:port:token
HEARTBEAT_S = 5.0
SILENCE_S = 30.0
PINGS = 5  # number of pings; the one with the shortest round trip counts
LONGEST_LINE = 1 << 24  # bytes


class BarrierError(Exception):
    """The barrier cannot be joined or is over; one clause says why."""


class Release(NamedTuple):
    """The time at which this task may begin, by its own CLOCK_MONOTONIC, and the coordinator's clock."""

    at_s: float
    offset_s: float  # to be added to a time of this node for the coordinator's time
    uncertainty_s: float  # error of the offset, in either direction; 0 if both are the same clock


class TaskBarrier:
    """The barrier of a task that is alone. A failure in its `with` statement ends a barrier for all tasks."""

    def __enter__(self) -> 'TaskBarrier':
        return self

    def __exit__(self, *raised: Any) -> None:
        pass

    def wait(self, what: str) -> Release:
        """Wait until every task is about to do `what`; returns at the agreed moment. Raises BarrierError."""
        return Release(time.monotonic(), 0.0, 0.0)

    def exchange(self, what: str, says: str = '') -> Dict[int, str]:
        """Wait until every task has come to `what`; returns their texts by rank. Raises BarrierError."""
        return {0: says} if says else {}

    def leave(self, report: Any = None) -> None:
        """Leave the barrier; the coordinator gets the report, any value that JSON has."""


def join(rank: int, tasks: int, host: str) -> TaskBarrier:
    """Join the barrier that the environment names; one task alone needs none. Raises BarrierError."""
    where = os.environ.get(VARIABLE, '')
    if not where and tasks == 1:
        return TaskBarrier()
    try:
        address, port, token = where.rsplit(':', 2)
        connection = socket.create_connection((address, int(port)), SILENCE_S)
    except ValueError:
        raise BarrierError(f'{tasks} tasks cannot begin together: {VARIABLE} names no barrier') from None
    except OSError as error:
        raise BarrierError(f'the barrier at {address}:{port} cannot be joined: {error.strerror or error}') from None
    return _Connected(connection, {'token': token, 'rank': rank, 'tasks': tasks, 'host': host})


def clock_identity() -> str:
    """Equal for two processes if and only if they share one CLOCK_MONOTONIC (time_namespaces(7))."""
    with open('/proc/sys/kernel/random/boot_id') as stream:
        boot = stream.read().strip()
    try:
        return f'{boot} {os.readlink("/proc/self/ns/time")}'
    except OSError:  # a kernel before 5.6 has none
        return boot


def line_of(message: Dict[str, Any]) -> bytes:
    return json.dumps(message).encode('ascii') + b'\n'


class _Connected(TaskBarrier):
    def __init__(self, connection: socket.socket, who: Dict[str, Any]) -> None:
        self._connection, self._unread, self._left = connection, b'', False
        connection.settimeout(SILENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._send(who)
        self._same_clock = self._answer()['clock'] == clock_identity()

    def __exit__(self, *raised: Any) -> None:
        if raised == (None, None, None) and not self._left:
            self.leave()
        self._connection.close()

    def wait(self, what: str) -> Release:
        offset_s, uncertainty_s = (0.0, 0.0) if self._same_clock else self._offset()
        self._send({'come': what, 'says': '', 'together': True, 'trip': 2 * uncertainty_s})
        at_s = self._answer()['at'] - offset_s
        time.sleep(max(at_s - time.monotonic(), 0.0))
        return Release(at_s, offset_s, uncertainty_s)

    def exchange(self, what: str, says: str = '') -> Dict[int, str]:
        self._send({'come': what, 'says': says, 'together': False, 'trip': 0.0})
        return {int(rank): text for rank, text in self._answer()['said'].items()}

    def leave(self, report: Any = None) -> None:
        self._send({'leave': report})
        self._left = True

    def _offset(self) -> Tuple[float, float]:
        best = (0.0, float('inf'))
        for _ in range(PINGS):
            sent = time.monotonic()
            self._send({'ping': True})
            now = self._answer()['now']
            received = time.monotonic()
            best = min(best, (now - (sent + received) / 2, (received - sent) / 2), key=lambda pair: pair[1])
        return best

    def _send(self, message: Dict[str, Any]) -> None:
        try:
            self._connection.sendall(line_of(message))
        except OSError as error:
            # The last message of the coordinator before it hung up explains more.
            self._answer()
            raise BarrierError(f'the coordinator cannot be reached: {error.strerror or error}') from None

    def _answer(self) -> Dict[str, Any]:
        while True:
            message: Dict[str, Any] = json.loads(self._line().decode('ascii'))
            if 'over' in message:
                raise BarrierError(message['over'])
            if 'heartbeat' not in message:
                return message

    def _line(self) -> bytes:
        while b'\n' not in self._unread:
            try:
                more = self._connection.recv(1 << 16)
            except socket.timeout:
                raise BarrierError(f'the coordinator has said nothing for {SILENCE_S:.0f} s') from None
            except OSError as error:
                raise BarrierError(f'the coordinator is gone: {error.strerror or error}') from None
            if not more:
                raise BarrierError('the coordinator is gone, or refused the token')
            self._unread += more
        line, _, self._unread = self._unread.partition(b'\n')
        return line
