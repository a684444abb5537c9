"""posixops: metadata with no program but the node's own python3, where neither mdtest nor fio knows what is asked.

One process a client, started by the runner; all of them meet before each timed act (barrier.py), so that a rate is
the operations of all clients from the first one's start to the last one's end, without start-up and without waiting
for the last one. What is done and what counts as an operation is said in posix_tree, posix_calls, posix_listing and
posix_semantics. The interpreter adds to every operation what docs/benchmarks.md says of it: where a call of the file
system takes less than some microseconds, it is the interpreter that is measured.
"""

import hashlib
import json
import math
import re
from typing import Dict, List, Optional, Tuple

from seatrial import __version__
from seatrial.engine.base import Command, EngineError, NamespaceEngine, Outcome
from seatrial.engine.carried import module_argv
from seatrial.engine.posix_promises import PROMISES
from seatrial.engine.posix_tree import nodes_away
from seatrial.engine.posix_work import MOST_BYTES_A_CALL, NANOSECOND, Report, Spec, Timed
from seatrial.model.codec import from_json, to_json
from seatrial.model.namespace import FILEOP, Namespace, listing_metrics, namespace_fault
from seatrial.model.tree import LATENCIES, PHASES, Rate, TreeMeasurement, TreePoint, operations

CLIENT = 'seatrial.engine.posix_client'
OLDEST = (3, 6)
LONGEST_PATH = 4095  # PATH_MAX, less the NUL that ends it


class PosixOps(NamespaceEngine):
    """Python's own calls as an engine of metadata, on any number of nodes."""

    name = 'posixops'
    programs = ('python3',)

    def cannot(self, workload: Namespace, point: TreePoint) -> Optional[str]:
        """Why the point cannot be carried out exactly, as half a sentence, or None if it can."""
        fault = namespace_fault(workload, point)
        if fault is not None:
            return f'cannot do what contradicts itself: {fault}'
        size = point.tree.bytes_per_file
        if workload.kind == 'operations' and not 0 < size <= MOST_BYTES_A_CALL:
            return f'cannot write and read {size} bytes in one call'
        longest = _longest_path(point)
        return f'cannot handle paths of {longest} characters' if longest > LONGEST_PATH else None

    def version_argv(self, program: str) -> List[str]:
        """The command that makes the interpreter say its version."""
        return [program, '-I', '-S', '--version']

    def parse_version(self, text: str) -> str:
        """'0.1.0, Python 3.6.8'; raises EngineError E1 for an interpreter that is too old, or is none."""
        match = re.match(r'Python ((\d+)\.(\d+)\S*)$', text.strip())
        if match is None:
            raise EngineError('E1', f"'{text.strip()[:80]}' is not the version of a Python")
        if (int(match.group(2)), int(match.group(3))) < OLDEST:
            raise EngineError('E1', f'Python {match.group(1)} is too old; posixops wants 3.6 or later')
        return f'{__version__}, Python {match.group(1)}'

    def command(
        self, program: str, workload: Namespace, operation: str, point: TreePoint, raw: str, seed: int
    ) -> Command:
        """The launch of one operation, whose clients read raw + '.spec.json'. What they write is random anyway."""
        path = f'{raw}.spec.json'
        spec = Spec(workload.kind, operation, point, directory_of(point) if workload.kind == 'listing' else '')
        argvs = [module_argv(program, CLIENT, (path, str(client))) for client in range(point.tasks)]
        return Command('task', tuple(argvs), {path: json.dumps(to_json(spec)) + '\n'}, (), meets=True)

    def elsewhere(self, workload: Namespace, operation: str, point: TreePoint) -> bool:
        """Whether the node works on entries that it has neither made nor seen in an earlier phase."""
        if workload.kind != 'tree':
            return False
        earlier = [phase for phase in PHASES[: PHASES.index(operation)] if phase in ('create', *point.tree.phases)]
        return nodes_away(operation, point.nodes) not in {0, *(nodes_away(phase, point.nodes) for phase in earlier)}

    def measure(
        self, workload: Namespace, operation: str, point: TreePoint, command: Command, outcome: Outcome
    ) -> TreeMeasurement:
        """What the clients said. Raises EngineError: E1 a client failed; T8 its report is damaged or it does not
        agree with those of the others; T9, T10 other clients or nodes than planned; T12 it took no time; T17 what an
        earlier launch has made is not there; P15 other operations than planned, or another number of them.

        clock_s: what times of two clients can be apart, where their nodes have clocks of their own; else the clock's
        nanosecond.
        """
        reports = _reports(outcome, point)
        _check_hosts(reports, point)
        planned = _planned(workload, operation, point)
        for report in reports:
            if set(report.timed) != set(planned):
                raise EngineError('P15', f'{_name(report)} timed {sorted(report.timed)}, not {sorted(planned)}')
        rates = tuple(_rate(metric, number, reports) for metric, number in planned.items())
        facts = reports[0].facts
        if any(report.facts != facts for report in reports):
            raise EngineError('T8', 'the clients do not agree on what they have seen')
        if workload.kind == 'semantics' and [fact.name for fact in facts] != [each.name for each in PROMISES]:
            raise EngineError('P15', f'{len(facts)} of {len(PROMISES)} facts were tried')
        uncertain = sorted(report.uncertainty_s for report in reports)[-2:]
        return TreeMeasurement(
            rates=rates,
            world_size=len(reports),
            hosts=tuple(sorted({report.host for report in reports})),
            clock_s=max(NANOSECOND, sum(uncertain)),
            facts=facts,
        )


def directory_of(point: TreePoint) -> str:
    """Where the entries of a listing lie: several points have theirs beside each other."""
    return f'listing.{hashlib.sha256(point.label.encode()).hexdigest()[:12]}'


def _longest_path(point: TreePoint) -> int:
    tree = point.tree
    deepest = f'tree.{point.tasks}' + f'/d{tree.branching}' * tree.depth
    return len(f'{deepest}/f.{point.tasks}.{max(tree.files_per_directory, tree.empties_per_directory)}')


def _planned(workload: Namespace, operation: str, point: TreePoint) -> Dict[str, int]:
    """The metrics of a launch, with the operations that all clients together do for each."""
    if workload.kind == 'semantics':
        return {}
    if workload.kind == 'operations':
        return dict.fromkeys(FILEOP, point.entries.files)
    if operation == 'list':
        return dict.fromkeys(listing_metrics(point.pauses_s), point.entries.files)
    return operations(point.tree, operation, point.tasks)


def _reports(outcome: Outcome, point: TreePoint) -> List[Report]:
    """Those of all clients, in the order of their numbers."""
    damaged = ''
    reports: List[List[Report]] = []
    for text in outcome.stdouts:
        reports.append([])
        for line in text.splitlines():
            try:
                reports[-1].append(from_json(Report, json.loads(line)))
            except (ValueError, RecursionError):
                damaged = damaged or line
    _check_ends(outcome, reports)
    if damaged:
        raise EngineError('T8', f"a client's report is damaged: '{damaged[:80]}'")
    if not all(reports):
        raise EngineError('T8', f'client {reports.index([])} exited with 0 and reported nothing')
    found = sorted((report for each in reports for report in each), key=lambda report: report.client)
    if [(report.client, report.clients) for report in found] != [(n, point.tasks) for n in range(point.tasks)]:
        seen = ', '.join(f'{report.client} of {report.clients}' for report in found[:8])
        raise EngineError('T9', f'the clients that reported are {seen}, not 0 to {point.tasks - 1} of {point.tasks}')
    return found


def _check_ends(outcome: Outcome, reports: List[List[Report]]) -> None:
    """The failure that explains the others: of a client that says why, of one that cannot, of those sent home."""
    failed = [report for each in reports for report in each if report.failed]
    for report in failed:
        if report.failed and not report.failed.sent_home:
            raise EngineError(report.failed.rule, f'{_name(report)}: {report.failed.sentence}')
    for number, process in enumerate(outcome.processes):
        status = process.exit_status
        if status and not any(report.failed for report in reports[number]):
            last = outcome.stderrs[number].strip().split('\n')[-1]
            how = f'exited with {status}' if status > 0 else f'died of signal {-status}'
            raise EngineError('E1', f'client {number} on {process.host} {how}{": " if last else ""}{last}')
    for report in failed:
        if report.failed:
            raise EngineError(report.failed.rule, f'{_name(report)}: {report.failed.sentence}')


def _check_hosts(reports: List[Report], point: TreePoint) -> None:
    clients: Dict[str, int] = {}
    for report in reports:
        clients[report.host] = clients.get(report.host, 0) + 1
    if sorted(clients.values()) != [point.tasks_per_node] * point.nodes:
        seen = ', '.join(f'{number} on {host}' for host, number in clients.items())
        raise EngineError('T10', f'the clients ran {seen}, not {point.tasks_per_node} on each of {point.nodes} nodes')


def _rate(metric: str, planned: int, reports: List[Report]) -> Rate:
    timed = [report.timed[metric] for report in reports]
    done = sum(each.operations for each in timed)
    if done != planned:
        raise EngineError('P15', f'{metric}: the clients did {done} operations, not {planned}')
    rounds = list(zip(*(each.spans for each in timed)))
    if any(len(each.spans) != len(rounds) for each in timed) or not all(map(any, rounds)):
        raise EngineError('T8', f'{metric}: the clients do not agree on how often they began')
    seconds = 0.0
    for spans in rounds:
        took = [span for span in spans if span]
        seconds += max(span.end_s for span in took) - min(span.start_s for span in took)
    if seconds <= 0:
        raise EngineError('T12', f'{metric} took {seconds} s: too short to measure')
    # What only one client does, as the directories of a shared tree, says nothing about who waited for whom.
    shared_out = all(span for spans in rounds for span in spans)
    task_seconds = [sum(span.end_s - span.start_s for span in each.spans if span) for each in timed]
    return Rate(
        metric,
        done,
        seconds,
        f'{done / seconds:.3f}',
        tuple(task_seconds) if shared_out else (),
        _percentiles(metric, done, timed),
    )


def _percentiles(metric: str, number: int, timed: List[Timed]) -> Tuple[float, ...]:
    """By nearest rank, over the single calls of all clients; empty where none was timed singly."""
    counts: Dict[int, int] = {}
    for each in timed:
        for key, times in each.nanoseconds.items():
            counts[int(key)] = counts.get(int(key), 0) + times
    if not counts:
        return ()
    if sum(counts.values()) != number:
        raise EngineError('T8', f'{metric}: {sum(counts.values())} of {number} calls have a time')
    found = []
    for share in LATENCIES:
        left = math.ceil(share * number)
        for nanoseconds in sorted(counts):
            left -= counts[nanoseconds]
            if left <= 0:
                found.append(nanoseconds * NANOSECOND)
                break
    return tuple(found)


def _name(report: Report) -> str:
    return f'client {report.client} on {report.host}'
