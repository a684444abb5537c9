"""One task on each node of a launch lets the node forget the files before it reads them, and reads the bytes that
its client has fetched. Without it IOR read one whole file on two nodes at 971, 19,820 and 18,348 MiB/s."""

import json
import os
import platform
import sys
from typing import List, NamedTuple, Optional, Tuple

from seatrial.engine.node_program import module_argv
from seatrial.filesystem import caches
from seatrial.filesystem.registry import by_type
from seatrial.job.launch.placement import answers_of_nodes
from seatrial.model.plan import TrialPlan

MARK = 'seatrial-client'
KEEP, FORGET, EMPTY = 'keep', 'forget', 'empty'
BOOT_ID = '/proc/sys/kernel/random/boot_id'


class Clients(NamedTuple):
    """fault: why a node may have data cached; fetched: bytes from servers so far, None without counters (P2)."""

    fault: Optional[str]
    fetched: Optional[int]


def main(arguments: List[str]) -> int:
    """The task of one node. `arguments`: the type, the directory of the files, and KEEP, FORGET or EMPTY."""
    type_, directory, order = arguments
    fault = None if order == KEEP else _forget(type_, directory, order == EMPTY)
    with open(BOOT_ID, encoding='ascii') as stream:
        kernel = stream.read().strip()
    answer = {'fault': fault, 'fetched': by_type(type_).exchanged(directory).fetched, 'kernel': kernel}
    print(MARK, platform.node(), json.dumps(answer), flush=True)
    return 0


def clients(plan: TrialPlan, directory: str, forget: bool, named: Tuple[str, ...] = ()) -> Clients:
    """The answers of the named nodes, or of all of the case. forget: they first forget the files of the directory."""
    nodes = len(named) or plan.case.nodes
    order = (EMPTY if plan.target.drop_caches else FORGET) if forget else KEEP
    argv = module_argv(sys.executable, __name__, (plan.target.type, directory, order))
    by_host, fault = answers_of_nodes(plan.launcher, nodes, MARK, argv, plan.launch_limit_s, named)
    if fault is not None:
        return Clients(fault, None)
    answers = {host: json.loads(text) for host, text in sorted(by_host.items())}
    # Hosts that are namespaces of one kernel have one client.
    fetched = {answer['kernel']: answer['fetched'] for answer in answers.values()}.values()
    faults = (f'{host}: {answer["fault"]}' for host, answer in answers.items() if answer['fault'])
    return Clients(next(faults, None), None if None in fetched else sum(fetched))


def _forget(type_: str, directory: str, may_empty: bool) -> Optional[str]:
    """Returns the fault, or None. The means of any user come first, then emptying the node's caches."""
    driver, fault = by_type(type_), None
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    caches.forget(entry.path)
    except OSError as error:
        fault = f'{error.filename or directory}: {error.strerror}'
    return driver.empty_client_cache(directory) if may_empty and driver.cold(directory).possible else fault
