"""posixops: what neither IOR, mdtest nor fio knows, with no program but the node's own python3: metadata, trainings.

One process a task, started by the runner; all of them meet at a barrier before each timed act (barrier.py), so that
a rate is the operations of all tasks from the first one's start to the last one's end, without start-up and without
waiting for the last one. What is done and what counts as an operation is said in the other
files of this folder, one a kind of workload.
The interpreter adds to every operation what docs/benchmarks.md says of it: where a call of the file system takes less
than some microseconds, it is the interpreter that is measured.
"""

import hashlib
import importlib.util
import json
import re
from typing import Dict, List, Optional, Tuple

from seatrial import __version__
from seatrial.engine.base import (
    MAX_BYTES_PER_CALL,
    Command,
    Engine,
    EngineError,
    Outcome,
    ending,
    percentiles_of,
)
from seatrial.engine.node_program import module_argv
from seatrial.engine.posixops import burst, contention, training
from seatrial.engine.posixops.guarantees import CONTENDED, GUARANTEES, LIMITS, WAYS_TO_WRITE, Guarantee
from seatrial.engine.posixops.programs import NEEDS
from seatrial.engine.posixops.programs import ROOT as ROOT_OF_PROGRAMS
from seatrial.engine.posixops.scenario_figures import figures
from seatrial.engine.posixops.task_pair import ROOT
from seatrial.engine.posixops.tree import nodes_away
from seatrial.engine.posixops.work import NANOSECOND, Report, Spec, Timed
from seatrial.model.action import TRANSCRIPT
from seatrial.model.codec import from_json, to_json
from seatrial.model.metric import Histogram, Measurement, Metric, bandwidth, rate
from seatrial.model.point import Point
from seatrial.workload.access import FILE_NAMES
from seatrial.workload.ageing import FILES, FILL, histograms, total
from seatrial.workload.base import FIND, REMOVE
from seatrial.workload.contention import CALLS, calls_of
from seatrial.workload.interactive import VENV, entries_of
from seatrial.workload.registry import metrics_of
from seatrial.workload.semantics import HOLDING, INTEGRITY
from seatrial.workload.training import NEXT
from seatrial.workload.tree import PHASES, levels_total, operations

TASK = 'seatrial.engine.posixops.task'
OLDEST = (3, 6)
MAX_PATH = 4095  # PATH_MAX, less the NUL that ends it


class PosixOps(Engine):
    """Python's own calls as an engine of metadata and of trainings, on any number of nodes."""

    name = 'posixops'
    kinds: Tuple[str, ...] = (
        'tree',
        'listing',
        'operations',
        'interactive',
        'contention',
        'training',
        'burst',
        'ageing',
        'semantics',
        'limits',
        'scenario',
    )
    programs = ('python3',)
    how_to_get = 'part of Seatrial; any Python since 3.6 runs it'
    makes: Tuple[str, ...] = (
        *FILE_NAMES,
        r'(course|aged|checkpoint)\.\d+',
        r'tree(\.\d+)?|listing\.[0-9a-f]{12}|calls(\.\d+)?',
        r'd\d+|[de]\.\d+\.\d+|f\.\d+\.\d+(\.[lr])?',
        # semantics.py: a directory for each guarantee, and what is tried in it.
        '|'.join((ROOT, *(each.name for each in GUARANTEES))),
        r'f\d*|F|d|new|link|n{255}',
        '|'.join((rf'{INTEGRITY}\.[0-9a-f]{{12}}', *(each.name for each in WAYS_TO_WRITE))),
        rf'(.*/)?{ROOT_OF_PROGRAMS}\.\d+(/.*)?',
    )

    def cannot(self, point: Point) -> Optional[str]:
        """Why the point cannot be carried out exactly, as half a sentence, or None if it can."""
        size = point.bytes_per_file
        if point.kind == 'operations' and not 0 < size <= MAX_BYTES_PER_CALL:
            return f'cannot write and read {size} bytes in one call'
        if VENV in point.phases and importlib.util.find_spec('ensurepip') is None:
            return 'cannot make a virtual environment: Python is without ensurepip here (on Debian: python3-venv)'
        if point.kind == 'contention':
            return contention.too_few(point)
        if point.kind == 'burst' and point.tasks < 2:
            return 'cannot train and write checkpoints at once with one task'
        longest = _longest_path(point)
        return f'cannot handle paths of {longest} characters' if longest > MAX_PATH else None

    def needs(self, point: Point) -> Tuple[str, ...]:
        """Programs that it runs beside the interpreter."""
        return tuple(NEEDS.get(point.phases[0], ()))

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

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """The launch of one phase, whose tasks read raw + '.spec.json'. What they write is random anyway."""
        path = f'{raw}.spec.json'
        course = point.kind == 'scenario'
        spec = json.dumps(to_json(Spec(phase, point, raw if course else directory_of(point)))) + '\n'
        argvs = [module_argv(program, TASK, (path, str(rank))) for rank in range(point.tasks)]
        outputs = (raw + TRANSCRIPT,) if course else ()
        return Command('task', tuple(argvs), {path: spec}, outputs, own_barrier=True)

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        """Whether the node works on entries that it has neither made nor seen in an earlier phase."""
        if point.kind == 'ageing':
            return point.nodes > 1 and phase == REMOVE
        if point.kind in ('training', 'burst'):
            return point.nodes > 1 and phase not in ('write', NEXT)
        if point.kind != 'tree':
            return False
        if phase == FIND and point.subtrees == 'shared':
            return False  # the task that lists a directory has files of its own in it
        earlier = [
            each
            for each in PHASES[: PHASES.index('read' if phase == FIND else phase)]
            if each in ('create', *point.phases)
        ]
        return nodes_away(phase, point.nodes) not in {0, *(nodes_away(each, point.nodes) for each in earlier)}

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """What the tasks said. Raises EngineError: E1 a task failed; T8 its report is damaged or it does not
        agree with those of the others; T9, T10 other tasks or nodes than planned; T12 it took no time; T17 what an
        earlier launch has made is not there; P15 other operations than planned, or another number of them; F2 data
        are not read as they were written; of a scenario as figures().

        clock_s: what times of two tasks can be apart, where their nodes have clocks of their own; else the clock's
        nanosecond.
        """
        rows = [[line for line in text.splitlines() if line.startswith('[')] for text in outcome.stdouts]
        if point.kind == 'scenario':
            said = ['\n'.join(x for x in text.splitlines() if not x.startswith('[')) for text in outcome.stdouts]
            outcome = outcome._replace(stdouts=tuple(said))
        reports = _reports(outcome, point)
        _check_hosts(reports, point)
        planned = _planned(phase, point)
        for report in reports:
            if set(report.timed) != set(planned):
                raise EngineError('P15', f'{_name(report)} timed {sorted(report.timed)}, not {sorted(planned)}')
        metrics = [_metric(name, number, reports) for name, number in planned.items()]
        course = None
        seen: Tuple[Histogram, ...] = ()
        uncertain = sorted(report.uncertainty_s for report in reports)[-2:]
        clock_s = max(NANOSECOND, sum(uncertain))
        if point.kind == 'training':
            return training.measured(phase, point, reports)._replace(clock_s=clock_s)
        if point.kind == 'burst':
            return burst.measured(phase, point, reports, metrics)._replace(clock_s=clock_s)
        facts = reports[0].facts
        if any(report.facts != facts for report in reports):
            raise EngineError('T8', 'the tasks do not agree on what they have seen')
        tried = _tried(phase, point)
        if [fact.name for fact in facts] != [each.name for each in tried]:
            raise EngineError('P15', f'{len(facts)} of {len(tried)} facts were tried')
        if point.kind in ('semantics', 'limits'):
            counts = {HOLDING: sum(fact.holds is True for fact in facts), **reports[0].counts.get('limit', {})}
            metrics = [
                Metric(each.name, float(counts[each.name]), '', each.better) for each in metrics_of(point, phase)
            ]
        if point.kind == 'ageing' and phase == FILL:
            filled = metrics[0].seconds
            _, held = total(point)
            if point.fsync:
                metrics.append(bandwidth(FILL, held, filled, f'{held} B in {filled:.6f} s'))
            seen = histograms(point, [report.counts for report in reports])
            if sum(seen[-1].found) != planned[FILES]:
                raise EngineError('T17', f'{sum(seen[-1].found)} of {planned[FILES]} files were found')
        if point.kind == 'scenario':
            hosts = [report.host for report in reports]
            found, course = figures(point, rows, hosts, outcome.outputs[0] if outcome.outputs else None)
            metrics = list(found)
        return Measurement(
            metrics=tuple(metrics),
            world_size=len(reports),
            hosts=tuple(sorted({report.host for report in reports})),
            clock_s=clock_s,
            facts=facts,
            course=course,
            histograms=seen,
        )


def directory_of(point: Point) -> str:
    """Where the entries of a tree or a listing lie: several points of listings have theirs beside each other."""
    return 'tree' if point.kind != 'listing' else f'listing.{hashlib.sha256(point.label.encode()).hexdigest()[:12]}'


def _longest_path(point: Point) -> int:
    deepest = f'tree.{point.tasks}' + f'/d{point.branching}' * point.depth
    return len(f'{deepest}/f.{point.tasks}.{max(point.files_per_directory, point.empties_per_directory)}')


def _planned(phase: str, point: Point) -> Dict[str, int]:
    """The metrics of a launch that are timed, with the operations that all tasks together do for each."""
    if point.kind in ('semantics', 'limits', 'scenario'):
        return {}
    if point.kind == 'training':
        return training.operations(phase, point)
    if point.kind == 'burst':
        return burst.operations(phase, point)
    if point.kind == 'ageing':
        there, _ = total(point)
        return {FILES: there.files} if phase == FILL else {REMOVE: there.inodes}
    if point.kind == 'interactive':
        return entries_of(point, phase)
    if point.kind == 'contention':
        each = {'open_write': calls_of(point), 'append': calls_of(point), 'lock': calls_of(point)}
        return {name: point.tasks * each.get(name, point.files_per_directory) for name in CALLS[phase]}
    if point.kind == 'tree' or phase in PHASES:
        return operations(point, phase)
    return dict.fromkeys((each.name for each in metrics_of(point, phase)), levels_total(point, point.tasks).files)


def _tried(phase: str, point: Point) -> Tuple[Guarantee, ...]:
    """The facts that a launch tells."""
    if point.kind == 'semantics':
        return WAYS_TO_WRITE if phase == INTEGRITY else GUARANTEES
    if point.kind == 'contention':
        return (CONTENDED[phase],) if phase in CONTENDED else ()
    return LIMITS if point.kind == 'limits' else ()


def _reports(outcome: Outcome, point: Point) -> List[Report]:
    """Those of all tasks, in the order of ranks."""
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
        raise EngineError('T8', f"a task's report is damaged: '{damaged[:80]}'")
    if not all(reports):
        raise EngineError('T8', f'task {reports.index([])} exited with 0 and reported nothing')
    found = sorted((report for each in reports for report in each), key=lambda report: report.rank)
    if [(report.rank, report.tasks) for report in found] != [(n, point.tasks) for n in range(point.tasks)]:
        seen = ', '.join(f'{report.rank} of {report.tasks}' for report in found[:8])
        raise EngineError('T9', f'the tasks that reported are {seen}, not 0 to {point.tasks - 1} of {point.tasks}')
    return found


def _check_ends(outcome: Outcome, reports: List[List[Report]]) -> None:
    """The failure that explains the others: of a task that says why, of one that cannot, of those that gave up."""
    failed = [(report.failed, _name(report)) for each in reports for report in each if report.failed]
    for why, name in failed:
        if not why.aborted:
            raise EngineError(why.rule, f'{name}: {why.sentence}', why.evidence)
    for rank, process in enumerate(outcome.processes):
        if process.exit_status and not any(report.failed for report in reports[rank]):
            last = outcome.stderrs[rank].strip().split('\n')[-1]
            how = f'{ending(process.exit_status)}{": " if last else ""}{last}'
            raise EngineError('E1', f'task {rank} on {process.host} {how}')
    for why, name in failed:
        raise EngineError(why.rule, f'{name}: {why.sentence}')


def _check_hosts(reports: List[Report], point: Point) -> None:
    tasks: Dict[str, int] = {}
    for report in reports:
        tasks[report.host] = tasks.get(report.host, 0) + 1
    if sorted(tasks.values()) != [point.tasks_per_node] * point.nodes:
        seen = ', '.join(f'{number} on {host}' for host, number in tasks.items())
        raise EngineError('T10', f'the tasks ran {seen}, not {point.tasks_per_node} on each of {point.nodes} nodes')


def _metric(name: str, planned: int, reports: List[Report]) -> Metric:
    timed = [report.timed[name] for report in reports]
    done = sum(each.operations for each in timed)
    if done != planned:
        raise EngineError('P15', f'{name}: the tasks did {done} operations, not {planned}')
    rounds = list(zip(*(each.spans for each in timed)))
    if any(len(each.spans) != len(rounds) for each in timed) or not all(map(any, rounds)):
        raise EngineError('T8', f'{name}: the tasks do not agree on how often they began')
    seconds = 0.0
    for spans in rounds:
        took = [span for span in spans if span]
        seconds += max(span.end_s for span in took) - min(span.start_s for span in took)
    if seconds <= 0:
        raise EngineError('T12', f'{name} took {seconds} s: too short to measure')
    # What only one task does, as the directories of a shared tree, says nothing about who waited for whom.
    shared_out = all(span for spans in rounds for span in spans)
    task_seconds = [sum(span.end_s - span.start_s for span in each.spans if span) for each in timed]
    own_s = tuple(task_seconds) if shared_out else ()
    return rate(name, done, seconds, f'{done / seconds:.3f}', own_s, _percentiles(name, done, timed))


def _percentiles(name: str, number: int, timed: List[Timed]) -> Dict[str, float]:
    """Over the single calls of all tasks; empty where none was timed singly."""
    counts: Dict[int, int] = {}
    for each in timed:
        for key, times in each.nanoseconds.items():
            counts[int(key)] = counts.get(int(key), 0) + times
    if counts and sum(counts.values()) != number:
        raise EngineError('T8', f'{name}: {sum(counts.values())} of {number} calls have a time')
    return percentiles_of(counts)


def _name(report: Report) -> str:
    return f'task {report.rank} on {report.host}'
