"""Telemetry of a case: this node's counters about once a second, beside the record. It decides nothing, may fail in
every way and never delays a run: one thread reads and writes, and nobody waits for it longer than LAST_S."""

import contextlib
import os
import platform
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, FrozenSet, Iterable, Iterator, List, Optional, Tuple

from seatrial.filesystem.base import Driver, Meter, no_meter
from seatrial.job.sequence.monitors import ask_servers
from seatrial.model import telemetry
from seatrial.model.ask import ask
from seatrial.model.foreign import NotReadable, lines_in, open_regular
from seatrial.model.plan import Target

INTERVAL_S = 1.0
DEAR_S = 0.05  # a reading that costs more is taken less often: at most this share of a second is spent on readings
COSTS = 3  # number of readings whose lowest cost decides, so that one reading at a busy moment does not
PATIENCE_S = 1.0  # a reading that takes longer is a gap
# Longest pause after a gap; it doubles up to this, since probes that wait for a dead server may ignore SIGKILL.
MAX_PAUSE_S = 30.0
LAST_S = 3.0
SERVERS_S = 30.0
WAIT_S = 5.0  # a launch in which nothing moved for so long is labelled with the targets that did not answer
REMEMBERED = 3600  # readings in which a wait is looked for


def telemetry_in(directory: str) -> Optional[telemetry.Telemetry]:
    """The telemetry in a job's directory; None if there is none."""
    try:
        with open_regular(os.path.join(directory, telemetry.TELEMETRY)) as stream:
            return telemetry.read_telemetry(lines_in(stream))
    except (OSError, NotReadable):
        return None


@contextlib.contextmanager
def observed(
    target: Target, records: str, driver: Driver, background: Dict[str, float]
) -> Iterator[Callable[[float], str]]:
    """Watch the traffic while the body runs, in telemetry.jsonl of `records`; gives `waited` of its readings. Request
    sizes and the site's command are asked before and after. background: a number that the command prints, by time."""
    log = Log(records)

    def ask_beside(when: str) -> None:
        """Calls that may last to their deadlines, and must not fail the run."""
        with contextlib.suppress(Exception):
            log.write(driver.rpc_sizes(target.path, when))
        with contextlib.suppress(Exception):
            if target.telemetry:
                log.write(_servers(target, records, driver, when, background))

    ask_beside(telemetry.BEFORE)
    try:
        meter = driver.meter(target.path)
    except Exception as error:  # as for a reading
        meter = no_meter(f'the counters were not found: {error!r}')
    watching = Watching(meter, log, INTERVAL_S)
    stop_asking = ask_servers(target.monitors, log.write)
    finished = False
    try:
        yield lambda since_s: waited(watching.waits, since_s)
        finished = True
    finally:
        if all([watching.stop(), stop_asking()]):
            if finished:
                ask_beside(telemetry.AFTER)
            log.close()


class Log:
    """The lines of telemetry.jsonl, each one write(2). A failure to keep them is hidden from the run."""

    def __init__(self, records: str) -> None:
        self._descriptor = -1  # no file
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._descriptor = os.open(os.path.join(records, telemetry.TELEMETRY), flags, 0o644)

    def write(self, value: Any) -> None:
        with contextlib.suppress(OSError):
            os.write(self._descriptor, telemetry.line_of(value).encode('utf-8'))

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        with contextlib.suppress(OSError):
            os.close(descriptor)


class Watching:
    """A daemon thread that reads the counters until it is stopped, and once more then. waits: as for `waited`."""

    def __init__(self, meter: Meter, log: Log, interval_s: float) -> None:
        self._meter, self._log = meter, log
        self._interval_s, self._pause_s = interval_s, interval_s
        self._costs: List[float] = []
        self._moved: Optional[List[Optional[int]]] = None
        self.waits: Deque[Tuple[float, FrozenSet[str]]] = deque(maxlen=REMEMBERED)
        self._stopped = threading.Event()
        log.write(telemetry.Watch(time.time(), platform.node(), meter.what, meter.why_not, interval_s))
        self._thread = threading.Thread(target=self._run, name='telemetry', daemon=True)
        if not meter.why_not:
            with contextlib.suppress(RuntimeError):  # this user may have no more threads
                self._thread.start()

    def stop(self) -> bool:
        """Take one last reading. Returns whether the thread has ended; one that hangs is left behind."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(LAST_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            last = self._stopped.wait(max(0.0, due - time.monotonic()))
            answered = self._read()
            if last:
                self._log.write(telemetry.Ended(time.time()))
                return
            # A late reading is not made up for: readings never queue.
            now = time.monotonic()
            due = max(due + self._interval_s, now) if answered else now + self._pause_s

    def _read(self) -> bool:
        """Read once; returns whether there was an answer in time."""
        began = time.monotonic()
        try:
            counters = self._meter.look(PATIENCE_S)
            why = '' if counters else 'the counters did not answer'
        except Exception as error:  # a reading explains a figure; it must not cost one
            counters, why = {}, f'the counters could not be read: {error!r}'
        cost_s = time.monotonic() - began
        if cost_s > PATIENCE_S and counters:
            why = f'the counters answered after {cost_s:.1f} s'
        middle_s = began + cost_s / 2
        at = time.time() - cost_s / 2
        if why:
            self._log.write(telemetry.Gap(at, middle_s, cost_s, why))
            self.waits.append((middle_s, frozenset()))
            self._pause_s = min(MAX_PAUSE_S, 2 * self._pause_s)
            return False
        self._log.write(telemetry.Look(at, middle_s, cost_s, counters))
        moved = [counters.get(name) for name in (telemetry.READ, telemetry.WRITTEN)]
        targets: FrozenSet[str] = frozenset()
        if moved == self._moved:
            with contextlib.suppress(Exception):  # as for a reading
                targets = self._meter.waited_for(PATIENCE_S)
        self._moved = moved
        self.waits.append((middle_s, targets))
        self._keep_pace(cost_s)
        self._pause_s = self._interval_s
        return True

    def _keep_pace(self, cost_s: float) -> None:
        """Read less often from now on if every reading is costly. It is not sped up again: each change is a line."""
        self._costs = [*self._costs[-COSTS + 1 :], cost_s]
        wanted_s = round(min(self._costs) / DEAR_S * INTERVAL_S, 1)
        if len(self._costs) == COSTS and wanted_s > self._interval_s:
            self._interval_s = min(wanted_s, MAX_PAUSE_S)
            why = f'a reading takes {min(self._costs):.2f} s'
            self._log.write(telemetry.Pace(time.time(), self._interval_s, why))


def waited(readings: Iterable[Tuple[float, FrozenSet[str]]], since_s: float) -> str:
    """The longest time from `since_s` on in which nothing moved and the same targets did not answer, as half a
    sentence; empty below WAIT_S. readings: time, and targets that were waited for if nothing had moved"""
    longest_s, start_s = 0.0, since_s
    of: FrozenSet[str] = frozenset()
    common = of
    for at_s, targets in list(readings):  # a thread may add to them
        if not common & targets:
            start_s, common = max(at_s, since_s), targets
        common &= targets
        if at_s - start_s > longest_s:
            longest_s, of = at_s - start_s, common
    if longest_s < WAIT_S:
        return ''
    return f'nothing moved for {longest_s:.0f} s, while no answer came from {", ".join(sorted(of))}'


def _servers(
    target: Target, records: str, driver: Driver, when: str, background: Dict[str, float]
) -> telemetry.Servers:
    job = os.environ.get('SLURM_JOB_ID', '')
    raw = f'telemetry-{when}'
    empty = telemetry.Servers(when, time.time(), None, raw, job, ())
    answer = ask(list(target.telemetry), SERVERS_S)
    if answer is None:
        return empty._replace(why_not=f'{target.telemetry[0]} is not installed on this node')
    for suffix, text in (('out', answer.stdout), ('err', answer.stderr)):
        with open(os.path.join(records, 'raw', f'{raw}.{suffix}'), 'w', encoding='utf-8') as stream:
            stream.write(text)
    if answer.exit_status is None:
        return empty._replace(why_not=f'it did not end within {SERVERS_S:.0f} s')
    if not answer.exit_status:
        with contextlib.suppress(ValueError):  # it prints something else, such as Lustre's job_stats
            load = float(answer.stdout)
            if 0.0 <= load < float('inf'):
                background[when] = load
    served, why_not = driver.served(answer.stdout, job) if job else ((), '')
    if answer.exit_status:
        why_not = why_not or f'it ended with {answer.exit_status}'
    return empty._replace(exit_status=answer.exit_status, counts=served, why_not=why_not)
