"""The program of posixops on the nodes: one process a client, which says one line of JSON at its end.

The kinds of work have files of their own: posix_tree, posix_calls, posix_listing and posix_semantics.
"""

import errno
import json
import socket
from typing import List, Tuple

from seatrial.engine import posix_calls, posix_listing, posix_semantics, posix_tree
from seatrial.engine.barrier import Barrier, BarrierError, join
from seatrial.engine.posix_work import Failed, Failure, Report, Spec, Work, stop_collecting
from seatrial.model.codec import from_json, to_json
from seatrial.model.tree import Fact

FAILED = 1  # its exit status
LOOKING = ('stat', 'read', 'remove', 'list')  # at what an earlier launch has made


def main(arguments: List[str]) -> int:
    """The arguments: the file with the launch's Spec, and the number of this client."""
    path, client = arguments[0], int(arguments[1])
    with open(path, encoding='utf-8') as stream:
        spec = from_json(Spec, json.load(stream))
    report = _report(spec, client)
    print(json.dumps(to_json(report)), flush=True)
    return FAILED if report.failed else 0


def _report(spec: Spec, client: int) -> Report:
    host, clients = socket.gethostname(), spec.point.tasks
    work = Work(client, clients)
    try:
        with join(client, clients, host) as barrier:
            work.barrier = barrier
            work.hosts = _hosts(spec, barrier, host)
            stop_collecting()
            facts = _carry_out(spec, work)
        return Report(client, clients, host, work.uncertainty_s, work.timed, facts)
    except Failure as error:
        failed = Failed(error.rule, error.sentence)
    except BarrierError as error:
        failed = Failed('E1', str(error), sent_home=True)
    except OSError as error:
        gone = error.errno == errno.ENOENT and spec.operation in LOOKING
        said = [work.doing, error.strerror or str(error), str(error.filename or '')]
        failed = Failed('T17' if gone else 'E1', ': '.join(filter(None, said)))
    return Report(client, clients, host, 0.0, {}, (), failed)


def _hosts(spec: Spec, barrier: Barrier, host: str) -> Tuple[str, ...]:
    """Of all clients, where anything depends on them."""
    if spec.point.nodes < 2 and spec.kind != 'semantics':
        return ()
    hosts = barrier.exchange('meet', host)
    return tuple(hosts[client] for client in range(spec.point.tasks))


def _carry_out(spec: Spec, work: Work) -> Tuple[Fact, ...]:
    point = spec.point
    if spec.kind == 'semantics':
        return posix_semantics.carry_out(work)
    if spec.kind == 'operations':
        posix_calls.carry_out(work, point.tree)
    elif spec.kind == 'tree':
        posix_tree.carry_out(work, spec.operation, point.tree)
    elif spec.operation == 'create':
        posix_tree.carry_out(work, 'create', point.tree, spec.directory)
    else:
        posix_listing.carry_out(work, spec.directory, point.entries.files, point.pauses_s)
    return ()
