"""Every node of a launch forgets the files before it reads them: one task on each does it, through the launcher.

A node that has read or written a file before finds it in its memory: IOR read one whole file three times on two nodes
at 971, 19,820 and 18,348 MiB/s.
"""

import os
import platform
import sys
from typing import List, Optional, Tuple

from seatrial.engine.carried import module_argv
from seatrial.filesystem.registry import by_type
from seatrial.job.launch.placement import said_by_nodes
from seatrial.model.plan import TrialPlan

MARK, DONE = 'seatrial-forgot', 'all'
ALLOWED, NOT_ALLOWED = 'empty', 'keep'


def main(arguments: List[str]) -> int:
    """The task of one node. `arguments`: the type, the directory of the files, whether its caches may be emptied."""
    type_, directory, allowed = arguments
    print(f'{MARK} {platform.node()} {_forget(type_, directory, allowed == ALLOWED) or DONE}', flush=True)
    return 0


def evicted(plan: TrialPlan, directory: str, named: Tuple[str, ...] = ()) -> Optional[str]:
    """Make the nodes forget the files of a directory: these, or all of the case. Why some may not have, or None.

    That they were asked is known then. Whether they did, only counters tell (rule P2).
    """
    nodes = len(named) or plan.case.nodes
    task = (plan.target.type, directory, ALLOWED if plan.target.drop_caches else NOT_ALLOWED)
    argv = module_argv(sys.executable, __name__, task)
    answers, fault = said_by_nodes(plan.launcher, nodes, MARK, argv, plan.launch_limit_s, named)
    if fault is not None:
        return fault
    return next((f'{host}: {answer}' for host, answer in sorted(answers.items()) if answer != DONE), None)


def _forget(type_: str, directory: str, may_empty: bool) -> Optional[str]:
    """What went wrong, or None. What a user may do comes first; emptying the node's caches helps where it failed."""
    driver, fault = by_type(type_), None
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    driver.forget(entry.path)
    except OSError as error:
        fault = f'{error.filename or directory}: {error.strerror}'
    return driver.empty_client_cache(directory) if may_empty and driver.cold(directory).possible else fault
