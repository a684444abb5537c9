"""Monitors record the disk and network load of each server every second of a case, over one connection a server. Like
all telemetry they decide nothing: a server that does not answer is recorded as a gap, and is asked again after a
pause. The site sets the command that reaches a server (`monitors` in trial.yaml). It runs LOOP there, which prints
three files of /proc a second, takes far less than a hundredth of a core and ends when a write fails."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from seatrial.model.plan import Monitor
from seatrial.model.telemetry import ServerGap, ServerLook

LOOP = 'while cat /proc/uptime /proc/diskstats /proc/net/dev; do sleep 1; done'
SECTOR = 512  # bytes, whatever the device (Linux, Documentation/admin-guide/iostats.rst)
# Until this age of a monitor (s), one line covers this many seconds: 72 hours give under 11,000 lines a server.
STEPS = ((3600.0, 1.0), (36000.0, 10.0), (float('inf'), 60.0))
RETRY_S, MAX_RETRY_S = 2.0, 60.0  # shortest and longest pause after a connection; it doubles until one lasts
ENDED_S = 3.0  # longest wait for the end of a thread

_UPTIME = re.compile(r'(\d+\.\d+) \d+\.\d+$')
# Whole disks alone: partitions, device mapper and md on top of them would count the same bytes again.
_DISK = re.compile(r'(sd[a-z]+|vd[a-z]+|xvd[a-z]+|hd[a-z]+|nvme\d+n\d+|mmcblk\d+|dasd[a-z]+)$')
_NOT_A_CARD = re.compile(r'(lo|bond|team|br|docker|veth|virbr|tun|tap|dummy|ifb|sit|vlan)|.*\.')


class Counters(NamedTuple):
    """The counters of a server, uptime_s after its boot. busy_ms: the time that a disk was busy, by its name."""

    uptime_s: float
    busy_ms: Dict[str, int]
    # read, written: bytes of all disks; received, sent: bytes of all network cards
    read: int
    written: int
    received: int
    sent: int
    packets_in: int
    packets_out: int


def counters_of(lines: Sequence[str]) -> Optional[Counters]:
    """The counters of one round of LOOP, complete once the next round begins; None if one of its lines is damaged."""
    uptime = _UPTIME.match(lines[0].strip()) if lines else None
    if uptime is None:
        return None
    busy_ms: Dict[str, int] = {}
    sums = [0] * 6
    cards = 0
    for line in lines[1:]:
        card, colon, rest = line.partition(':')
        words = line.split()
        try:
            if colon:
                fields = [int(word) for word in rest.split()]
                cards += 1
                if not _NOT_A_CARD.match(card.strip()):
                    for place, field in ((2, 0), (3, 8), (4, 1), (5, 9)):
                        sums[place] += fields[field]
            elif len(words) >= 14 and _DISK.match(words[2]):
                busy_ms[words[2]] = int(words[12])
                sums[0] += SECTOR * int(words[5])
                sums[1] += SECTOR * int(words[9])
        except (ValueError, IndexError):
            return None
    return Counters(float(uptime.group(1)), busy_ms, *sums) if cards else None


class _Summed:
    """Summarizes the counters of one server: a line a second at first, later a line for each interval of STEPS."""

    def __init__(self, server: str, write: Callable[[Any], None]) -> None:
        self._server, self._write = server, write
        self._began_s = time.monotonic()
        self._rounds: List[Counters] = []  # those since the last line, after the round that ended it

    def add(self, now: Counters) -> None:
        if self._rounds and now.uptime_s <= self._rounds[-1].uptime_s:  # the server was rebooted
            self._rounds = []
        self._rounds.append(now)
        passed_s = time.monotonic() - self._began_s
        step_s = next(step_s for until_s, step_s in STEPS if passed_s < until_s)
        if now.uptime_s - self._rounds[0].uptime_s >= 0.9 * step_s:
            self.end()

    def end(self) -> None:
        """Write one line for the rounds since the last line."""
        if len(self._rounds) < 2:
            return
        shares = [(0.0, '')]
        for before, after in zip(self._rounds, self._rounds[1:]):
            took_ms = 1000 * (after.uptime_s - before.uptime_s)
            deltas = ((total - before.busy_ms.get(disk, total), disk) for disk, total in after.busy_ms.items())
            shares += [(min(1.0, busy_ms / took_ms), disk) for busy_ms, disk in deltas]
        busy, disk = max(shares, key=lambda share: share[0])
        first, last = self._rounds[0], self._rounds[-1]
        took_s, busiest = last.uptime_s - first.uptime_s, (round(busy, 3), disk)
        rates = [round((after - before) / took_s, 1) for before, after in zip(first[2:], last[2:])]
        self._write(ServerLook(time.time(), self._server, round(took_s, 2), len(self._rounds) - 1, *busiest, *rates))
        self._rounds = [last]


class _Connection:
    """A thread that reads the counters of one server until it is stopped."""

    def __init__(self, monitor: Monitor, write: Callable[[Any], None]) -> None:
        self._monitor, self._write = monitor, write
        self._stopped = threading.Event()
        self._process: Any = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f'monitor of {monitor.server}', daemon=True)
        with contextlib.suppress(RuntimeError):  # this user may have no more threads
            self._thread.start()

    def stop(self) -> None:
        with self._lock:
            self._stopped.set()
            self._kill()

    def join(self) -> bool:
        """Wait for the thread; returns whether it has ended."""
        if self._thread.ident is not None:
            self._thread.join(ENDED_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        summed = _Summed(self._monitor.server, self._write)
        pause_s = RETRY_S
        while not self._stopped.is_set():
            began_s = time.monotonic()
            why = self._listen(summed)
            summed.end()
            if not self._stopped.is_set():
                self._write(ServerGap(time.time(), self._monitor.server, why))
            pause_s = RETRY_S if time.monotonic() - began_s > MAX_RETRY_S else min(MAX_RETRY_S, 2 * pause_s)
            self._stopped.wait(pause_s)

    def _listen(self, summed: _Summed) -> str:
        """Read counters until the connection ends; returns the reason of its end."""
        with self._lock:
            if self._stopped.is_set():
                return ''
            try:
                self._process = subprocess.Popen(
                    [*self._monitor.argv, LOOP],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    universal_newlines=True,
                    errors='replace',
                    start_new_session=True,
                )
            except OSError as error:
                return f'{self._monitor.argv[0]}: {error.strerror}'
        block: List[str] = []
        last = ''
        for line in self._process.stdout:
            if _UPTIME.match(line.strip()):
                counters = counters_of(block)
                if counters is not None:
                    summed.add(counters)
                block = []
            elif not block:
                last = line.strip()[:200]
            block.append(line)
        with self._lock:
            self._kill()  # a process may live on after it has closed its output
            status = self._process.wait()
            self._process.stdout.close()
            self._process = None
        return last or f'the connection ended with {status}'

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)


def ask_servers(monitors: Sequence[Monitor], write: Callable[[Any], None]) -> Callable[[], bool]:
    """Read the servers' counters until the returned function is called. It ends all connections, and returns True if
    no thread writes any more. write: takes a ServerLook or ServerGap; any of the threads calls it."""
    connections = [_Connection(monitor, write) for monitor in monitors]

    def stop() -> bool:
        for connection in connections:
            connection.stop()
        ended = [connection.join() for connection in connections]  # a list: all are waited for
        return all(ended)

    return stop
