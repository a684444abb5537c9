"""A wrapper that starts a program at the moment that all tasks agree on, and reports its times to the coordinator."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any, Dict, List, NamedTuple, Tuple

from seatrial.engine.barrier import BarrierError, join
from seatrial.engine.node_program import module_argv
from seatrial.model.codec import from_json, to_json

NO_BARRIER, NOT_STARTED = 75, 127  # exit statuses: EX_TEMPFAIL of sysexits.h, and that of a shell


class Ran(NamedTuple):
    """Start and end of the program of one task, in seconds of the coordinator's CLOCK_MONOTONIC."""

    host: str
    # called_s, started_s: before and after the call that starts the process
    called_s: float
    started_s: float
    ended_s: float
    began: float  # start in seconds since 1970, by this node's wall clock
    uncertainty_s: float  # error of called_s, started_s and ended_s, in either direction


def together_argv(python: str, rank: int, tasks: int, argv: Tuple[str, ...]) -> Tuple[str, ...]:
    return module_argv(python, __name__, (str(rank), str(tasks), *argv))


def main(arguments: List[str]) -> int:
    """Exits as the program did; with 75 if the barrier failed before its start, with 127 if it cannot be started."""
    rank, tasks, argv = int(arguments[0]), int(arguments[1]), arguments[2:]
    host = socket.gethostname()
    try:
        with join(rank, tasks, host) as barrier:
            release = barrier.wait(f'start {os.path.basename(argv[0])}')
            began, called = time.time(), time.monotonic()
            process = subprocess.Popen(argv)
            started = time.monotonic()
            status = process.wait()
            ended, offset_s = time.monotonic(), release.offset_s
            mine = Ran(host, called + offset_s, started + offset_s, ended + offset_s, began, release.uncertainty_s)
            barrier.leave(to_json(mine))
    except BarrierError as error:
        print(f'seatrial: task {rank} did not start {argv[0]}: {error}', file=sys.stderr)
        return NO_BARRIER
    except OSError as error:
        print(f'seatrial: task {rank} cannot start {argv[0]}: {error.strerror}', file=sys.stderr)
        return NOT_STARTED
    return as_ended(status)


def as_ended(status: int) -> int:
    """The exit status of a wrapper whose program ended with `status`; a signal that ended it ends the wrapper too."""
    if status < 0:
        with contextlib.suppress(OSError):  # SIGKILL, which no process can handle otherwise anyway
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def ran(reports: Dict[int, Any]) -> Dict[int, Ran]:
    """The reports of the tasks to the coordinator, typed. Raises FormError."""
    return {rank: from_json(Ran, report) for rank, report in reports.items()}
