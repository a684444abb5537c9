"""The program of posixops on the nodes: one process a task, which says one line of JSON at its end.

The kinds of workload have files of their own in this folder.
"""

import errno
import json
import socket
from typing import List, Tuple

from seatrial.engine.barrier import Barrier, BarrierError, join
from seatrial.engine.posixops import (
    ageing,
    burst,
    contention,
    integrity,
    interactive,
    limits,
    listing,
    operations,
    programs,
    scenario,
    semantics,
    training,
    tree,
)
from seatrial.engine.posixops.work import Failed, Failure, Report, Spec, Work, stop_collecting
from seatrial.model.codec import from_json, to_json
from seatrial.model.metric import Fact
from seatrial.workload.interactive import TREES
from seatrial.workload.semantics import INTEGRITY

FAILED = 1  # its exit status
FACTUAL = ('semantics', 'limits')  # whose tasks say facts of each other
FINDING = ('stat', 'find', 'read', 'remove', 'list')  # what an earlier launch has made


def main(arguments: List[str]) -> int:
    """The arguments: the file with the launch's Spec, and the rank of this task."""
    path, rank = arguments[0], int(arguments[1])
    with open(path, encoding='utf-8') as stream:
        spec = from_json(Spec, json.load(stream))
    report = _report(spec, rank)
    print(json.dumps(to_json(report)), flush=True)
    return FAILED if report.failed else 0


def _report(spec: Spec, rank: int) -> Report:
    host, tasks = socket.gethostname(), spec.point.tasks
    work = Work(rank, tasks)
    try:
        with join(rank, tasks, host) as barrier:
            work.barrier = barrier
            work.hosts = _hosts(spec, barrier, host)
            stop_collecting()
            facts = _carry_out(spec, work)
        return Report(rank, tasks, host, work.uncertainty_s, work.timed, facts, counts=work.counts)
    except Failure as error:
        failed = Failed(error.rule, error.sentence, evidence=error.evidence)
    except BarrierError as error:
        failed = Failed('E1', str(error), aborted=True)
    except OSError as error:
        gone = error.errno == errno.ENOENT and spec.phase in FINDING
        said = [work.doing, error.strerror or str(error), str(error.filename or '')]
        failed = Failed('T17' if gone else 'E1', ': '.join(filter(None, said)))
    return Report(rank, tasks, host, 0.0, {}, (), failed)


def _hosts(spec: Spec, barrier: Barrier, host: str) -> Tuple[str, ...]:
    """Of all tasks, where anything depends on them."""
    if (spec.point.nodes < 2 or spec.point.kind in ('training', 'burst')) and spec.point.kind not in FACTUAL:
        return ()
    hosts = barrier.exchange('meet', host)
    return tuple(hosts[rank] for rank in range(spec.point.tasks))


def _carry_out(spec: Spec, work: Work) -> Tuple[Fact, ...]:
    point = spec.point
    if point.kind == 'semantics':
        return integrity.carry_out(work) if spec.phase == INTEGRITY else semantics.carry_out(work)
    if point.kind == 'limits':
        return limits.carry_out(work, spec.phase, point)
    if point.kind == 'contention':
        return contention.carry_out(work, spec.phase, point)
    if point.kind == 'operations':
        operations.carry_out(work, point)
    elif point.kind == 'training':
        training.carry_out(work, spec.phase, point)
    elif point.kind == 'burst':
        burst.carry_out(work, spec.phase, point)
    elif point.kind == 'scenario':
        scenario.carry_out(work, point, spec.directory)
    elif point.kind == 'ageing':
        ageing.carry_out(work, spec.phase, point)
    elif point.kind == 'interactive' and spec.phase == TREES:
        interactive.carry_out(work, point)
    elif point.kind == 'interactive':
        programs.carry_out(work, spec.phase, point)
    elif spec.phase == 'list':
        listing.carry_out(work, spec.directory, point)
    else:
        tree.carry_out(work, spec.phase, point, spec.directory)
    return ()
