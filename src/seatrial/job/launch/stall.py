"""The file system is checked between launches: one that stalls stops new ones and is waited for (rule P17)."""

import time
from typing import Callable, NamedTuple, Sequence

from seatrial.model.ask import unresponsive

PATIENCE_S = 600.0  # at least, where the type's own recovery is shorter: a server that is rebooted is back in minutes
PAUSE_S = 1.0


class Stalled(NamedTuple):
    """How long it did not answer (seconds), 0.0 where it did at once; and whether it answers now."""

    seconds: float
    answers: bool


def patience_s(recovery_limit_s: float) -> float:
    return max(PATIENCE_S, recovery_limit_s)


def wait(path: str, recovery_limit_s: float, stopping: Callable[[], bool], below: Sequence[str] = ()) -> Stalled:
    """Wait until the file system, and directories `below`, answer, at most its recovery time or until a stop."""
    began = time.monotonic()
    if unresponsive(path, *below) is None:
        return Stalled(0.0, True)
    while not stopping() and time.monotonic() - began < patience_s(recovery_limit_s):
        time.sleep(PAUSE_S)
        if unresponsive(path, *below) is None:
            return Stalled(time.monotonic() - began, True)
    return Stalled(time.monotonic() - began, False)
