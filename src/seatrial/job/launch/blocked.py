"""A job in a process that can be left behind: a call of a dead file system may never return (rule P17). Who waits for
a Lustre target is in state I and ignores SIGKILL (seen on 2.17), even to open the run directory. So the process that
others wait for asks nothing of the file system under test, and watches the one that does."""

import contextlib
import ctypes
import mmap
import os
import select
import signal
import sys
import time
from typing import Callable, NamedTuple, Optional, Sequence, Tuple, Union

from seatrial.model.ask import ANSWER_S, unresponsive

PATIENCE_S = 600.0  # minimum in seconds, whatever the type's recovery limit: a rebooted server is back in minutes
PAUSE_S = 1.0
SAMPLE_S = 1.0
POLL_S = 0.01
PR_SET_PDEATHSIG = 1  # prctl(2)
SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Wakes of the main thread a second, at most, while it waits in one call: Lustre's client wakes once a second while
# a server is away (seen on 2.17). While a launch runs the thread wakes five times.
WAKES_S = 2.0
_AT_WORK = 'RTt'  # running, or stopped: neither waits for a file system (proc(5))


class Blocked:
    """Seconds that a job spent in single calls of ANSWER_S or more; the job and its watcher share the value."""

    def __init__(self) -> None:
        self._sum_s = ctypes.c_double.from_buffer(mmap.mmap(-1, mmap.PAGESIZE))
        self._told_s = 0.0

    def since(self) -> float:
        """Seconds since the job asked for the last time."""
        before, self._told_s = self._told_s, self._sum_s.value
        return self._told_s - before

    def add(self, seconds: float) -> None:
        self._sum_s.value += seconds


class LeftBehind(NamedTuple):
    """The job was left behind, SIGKILL pending: it has been in one call, or at its end, for so many seconds."""

    seconds: float


def watched(job: Callable[[], int], blocked: Blocked, patience_s: float, time_s: float) -> Union[int, LeftBehind]:
    """Run the job in a process of its own, which gets signals; its status, or LeftBehind after a call of patience_s,
    or where it is in one when time_s have passed: whoever ends the job then must not come before its last words."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    over, ends = os.pipe()
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        _carry_out(job, parent, ends)
    os.close(ends)
    before = {number: signal.signal(number, lambda number, frame: os.kill(pid, number)) for number in SIGNALS}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        left = _watch(pid, over, blocked, patience_s, time.monotonic() + time_s)
        status = _status(pid) if left is None else None
        if status is None:
            os.kill(pid, signal.SIGKILL)
            return left or LeftBehind(ANSWER_S)
    finally:
        os.close(over)
        for number, handler in before.items():
            signal.signal(number, handler)
    if os.WIFSIGNALED(status):
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.WEXITSTATUS(status)


def _carry_out(job: Callable[[], int], parent: int, ends: int) -> None:
    """Ends with the watching process. ends: closed first, since descriptors opened last may lie on a dead server."""
    status = 70
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            status = job()
    except Exception:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
            os.close(ends)
        os._exit(status)


def _watch(pid: int, over: int, blocked: Blocked, patience_s: float, until: float) -> Optional[LeftBehind]:
    """None once the process has ended, which closes its end of the pipe; LeftBehind if a call takes too long."""
    seen, at, still_s = _wakes(pid), time.monotonic(), 0.0
    while not select.select([over], [], [], SAMPLE_S)[0]:
        now, last = time.monotonic(), at
        before, seen, at = seen, _wakes(pid), now
        if before is None or seen is None or seen - before > WAKES_S * (now - last):
            if still_s >= ANSWER_S:
                blocked.add(still_s)
            still_s = 0.0
            continue
        still_s += now - last
        if still_s >= (ANSWER_S if now >= until else patience_s):
            return LeftBehind(still_s)
    return None


def _status(pid: int) -> Optional[int]:
    """The status of a process that ends; None if it hangs: its directories may lie on a dead server."""
    until = time.monotonic() + ANSWER_S
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(POLL_S)
    return None


def _wakes(pid: int) -> Optional[int]:
    """Number of times the main thread has come to wait, as between launches; None where unknown or not waiting."""
    try:
        with open(f'/proc/{pid}/task/{pid}/status', encoding='ascii', errors='replace') as stream:
            fields = dict(line.rstrip('\n').split(':', 1) for line in stream)
        if fields['State'].strip()[0] in _AT_WORK:
            return None
        return int(fields['voluntary_ctxt_switches']) + int(fields['nonvoluntary_ctxt_switches'])
    except (OSError, ValueError, KeyError):
        return None


def patience_s(recovery_limit_s: float) -> float:
    return max(PATIENCE_S, recovery_limit_s)


def wait(
    path: str, recovery_limit_s: float, stopping: Callable[[], bool], below: Sequence[str] = ()
) -> Tuple[float, bool]:
    """Wait until the file system, and directories `below`, answer, at most its recovery time or until a stop. Returns
    the seconds without an answer, 0.0 if it came at once, and whether it answers now."""
    began = time.monotonic()
    if unresponsive(path, *below) is None:
        return 0.0, True
    while not stopping() and time.monotonic() - began < patience_s(recovery_limit_s):
        time.sleep(PAUSE_S)
        if unresponsive(path, *below) is None:
            return time.monotonic() - began, True
    return time.monotonic() - began, False
