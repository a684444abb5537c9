"""The program of posixops on the nodes: a task, which carries out its kind's part and prints a line of JSON."""

import errno
import gc
import json
import socket
from typing import Dict, List

from seatrial.engine.barrier import BarrierError, join
from seatrial.engine.base import EngineError
from seatrial.engine.posixops import (
    ageing,
    burst,
    contention,
    interactive,
    limits,
    listing,
    operations,
    scenario,
    semantics,
    training,
    tree,
)
from seatrial.engine.posixops.work import Failed, Part, Report, Spec, Work
from seatrial.model.codec import from_json, to_json
from seatrial.workload.registry import kind_of, phase_of

FAILED = 1  # its exit status

PARTS: Dict[str, Part] = {
    'tree': tree.PART,
    'listing': listing.PART,
    'operations': operations.PART,
    'interactive': interactive.PART,
    'contention': contention.PART,
    'training': training.PART,
    'burst': burst.PART,
    'ageing': ageing.PART,
    'semantics': semantics.PART,
    'limits': limits.PART,
    'scenario': scenario.PART,
}


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
    work, part = Work(rank, tasks), PARTS[spec.point.kind]
    try:
        with join(rank, tasks, host) as barrier:
            work.barrier = barrier
            if 0 < part.hosts_from <= spec.point.nodes:
                hosts = barrier.exchange('meet', host)
                work.hosts = tuple(hosts[rank] for rank in range(tasks))
            gc.collect()
            gc.disable()  # no pause for garbage inside a timed region
            part.carry_out(work, spec)
        return Report(rank, tasks, host, work.uncertainty_s, work.timed, work.facts, counts=work.counts)
    except EngineError as error:
        failed = Failed(error.rule, error.sentence, evidence=error.evidence)
    except BarrierError as error:
        failed = Failed('E1', str(error), aborted=True)
    except OSError as error:
        kind, phase = kind_of(spec.point.kind), phase_of(spec.point, spec.phase)
        of_earlier_launch = not kind.moves_data and phase.needs and not phase.writes
        gone = error.errno == errno.ENOENT and of_earlier_launch
        words = [work.doing, error.strerror or str(error), str(error.filename or '')]
        failed = Failed('T17' if gone else 'E1', ': '.join(filter(None, words)))
    return Report(rank, tasks, host, 0.0, {}, (), failed)
