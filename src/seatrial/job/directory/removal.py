"""The removal of a run directory by a process that can be left behind: its file system may never answer again."""

import contextlib
import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import List, Optional, Tuple

from seatrial.engine.node_program import module_argv
from seatrial.job.directory import rundir
from seatrial.model.ask import ask, unresponsive
from seatrial.model.codec import FormError, from_json, to_json
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Removal

REMOVAL_S = 540.0  # seconds for a removal; `seatrial clean` removes the rest
PARTS = 8  # threads that remove at once, since one waits for the server at every entry


def worked_s(plan: TrialPlan) -> float:
    """Longest time of a job in seconds: its budget, the launch that it began last, and the removal."""
    return plan.stopping.budget_s + plan.launch_limit_s + REMOVAL_S


def removed(path: str, session: str, made_by: Optional[Tuple[str, int]] = None) -> Removal:
    """As rundir.remove, within REMOVAL_S. If the file system does not answer, all is left, with that reason."""
    silence = unresponsive(os.path.dirname(path))
    if silence is not None:
        return _left(silence.partition(': ')[2])
    argv = module_argv(sys.executable, __name__, (path, session, *map(str, made_by or ())))
    # The runner's own handlers are gone by now; without this one the process in hand would outlive its job.
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        answer = ask(list(argv), REMOVAL_S)
    finally:
        signal.signal(signal.SIGTERM, before)
    if answer is None or answer.exit_status is None:
        return _left(f'its removal did not end within {REMOVAL_S:.0f} s; later `seatrial clean`')
    try:
        return from_json(Removal, json.loads(answer.stdout))
    except (ValueError, FormError):
        fault = (answer.stderr.strip().splitlines() or [f'it ended with {answer.exit_status}'])[-1]
        return _left(f'its removal failed: {fault}')


def main(arguments: List[str]) -> int:
    """Removes the run directory of PATH SESSION [HOST PID], and prints the result as JSON."""
    path, session, *words = arguments
    made_by = (words[0], int(words[1])) if words else None
    with ThreadPoolExecutor(PARTS) as pool:
        removals = list(pool.map(lambda part: rundir.remove(path, session, made_by, (part, PARTS)), range(PARTS)))
    removals.append(rundir.remove(path, session, made_by))
    parent = os.path.dirname(path)
    with contextlib.suppress(OSError), rundir.closed_after(os.open(parent, os.O_RDONLY | os.O_DIRECTORY)) as opened:
        os.fsync(opened)  # the removal has then reached the storage, as far as the file system tells
    files = sum(removal.removed_files for removal in removals)
    directories = sum(removal.removed_directories for removal in removals)
    print(json.dumps(to_json(removals[-1]._replace(removed_files=files, removed_directories=directories))))
    return 0


def _left(why: str) -> Removal:
    return Removal(0, 0, (f'all of it: {why}',), time.time())
