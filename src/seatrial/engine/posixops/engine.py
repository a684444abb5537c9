"""posixops: workloads that IOR, mdtest and fio lack (metadata, training), run by the node's python3 alone.

Each task is a process. All tasks meet at a barrier before each timed act (barrier.py): a rate is their operations
divided by the time from the first start to the last end. Interpreter overhead: docs/explanation/benchmarks.md.
"""

import json
import re
from collections import Counter
from typing import Dict, List, Optional, Tuple

from seatrial import __version__
from seatrial.engine.base import Command, Engine, EngineError, Outcome, ended, percentiles_of, release_of
from seatrial.engine.node_program import module_argv
from seatrial.engine.posixops.task import PARTS
from seatrial.engine.posixops.work import NANOSECOND, ROW, Report, Spec
from seatrial.model.action import TRANSCRIPT
from seatrial.model.codec import from_json, to_json
from seatrial.model.metric import Measurement, Metric, rate
from seatrial.model.point import Point, TreePart
from seatrial.workload.access import FILE_NAMES

TASK = 'seatrial.engine.posixops.task'
OLDEST = (3, 6)
MAX_PATH = 4095  # PATH_MAX without the NUL at its end


class PosixOps(Engine):
    name = 'posixops'
    kinds: Tuple[str, ...] = tuple(PARTS)
    programs = ('python3',)
    how_to_get = 'part of Seatrial; any Python since 3.6 runs it'
    version_options = ('-I', '-S', '--version')
    says_version = re.compile(r'^Python (\d+\.\d+\S*)$')
    makes: Tuple[str, ...] = (*FILE_NAMES, *(name for part in PARTS.values() for name in part.makes))

    def cannot(self, point: Point) -> Optional[str]:
        tree = point.tree or TreePart()
        deepest = f'tree.{point.tasks}' + f'/d{tree.branching}' * tree.depth
        longest = len(f'{deepest}/f.{point.tasks}.{max(tree.files_per_directory, tree.empties_per_directory)}')
        too_long = f'cannot handle paths of {longest} characters' if longest > MAX_PATH else None
        return PARTS[point.kind].cannot(point) or too_long

    def needs(self, point: Point) -> Tuple[str, ...]:
        return PARTS[point.kind].needs.get(point.phases[0], ())

    def parse_version(self, text: str) -> str:
        """'0.1.0, Python 3.6.8'."""
        version = super().parse_version(text)
        if release_of(version) < OLDEST:
            raise EngineError('E1', f'Python {version} is too old; posixops wants 3.6 or later')
        return f'{__version__}, Python {version}'

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """The launch of one phase; its tasks read raw + '.spec.json'. The data are random, whatever the seed."""
        path, part = f'{raw}.spec.json', PARTS[point.kind]
        spec = json.dumps(to_json(Spec(phase, point, raw if part.course else part.directory(point)))) + '\n'
        argvs = [module_argv(program, TASK, (path, str(rank))) for rank in range(point.tasks)]
        outputs = (raw + TRANSCRIPT,) if part.course else ()
        return Command('task', tuple(argvs), {path: spec}, outputs, own_barrier=True)

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        return PARTS[point.kind].elsewhere(point, phase)

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Raises EngineError: E1 a task failed; T8 its report is damaged or contradicts the others; T9, T10 tasks or
        nodes differ from the plan; T12 a time is zero; T17 entries of an earlier launch are missing; P15 operations,
        or their number, differ from the plan; F2 data read differ from data written; for a scenario also the errors
        of figures(). clock_s: the largest error of a difference between times of two tasks."""
        part = PARTS[point.kind]
        reports = _reports(outcome, point, part.course)
        tasks = Counter(report.host for report in reports)
        if sorted(tasks.values()) != [point.tasks_per_node] * point.nodes:
            seen = ', '.join(f'{number} on {host}' for host, number in tasks.items())
            planned_on = f'{point.tasks_per_node} on each of {point.nodes} nodes'
            raise EngineError('T10', f'the tasks ran {seen}, not {planned_on}')
        planned = part.planned(point, phase)
        for report in reports:
            if set(report.timed) != set(planned):
                raise EngineError('P15', f'{_name(report)} timed {sorted(report.timed)}, not {sorted(planned)}')
        metrics = tuple(_metric(name, number, reports) for name, number in planned.items())
        facts = reports[0].facts
        if any(report.facts != facts for report in reports):
            raise EngineError('T8', 'the tasks report different results')
        tried = part.facts.get(phase, ())
        reported = sorted(fact.name for fact in facts)
        of_versions = ([row.name for row in tried], [row.name for row in tried if row.since == '0.1'])
        if reported not in map(sorted, of_versions):
            raise EngineError('P15', f'only {len(facts)} of {len(tried)} guarantees were tried')
        clock_s = max(NANOSECOND, sum(sorted(report.uncertainty_s for report in reports)[-2:]))
        plain = Measurement(metrics, len(reports), tuple(sorted(tasks)), clock_s=clock_s, facts=facts)
        return part.measured(phase, point, reports, plain, outcome)


def _reports(outcome: Outcome, point: Point, course: bool) -> List[Report]:
    """The reports of all tasks, in order of rank; course: as in Part."""
    damaged = ''
    reports: List[List[Report]] = []
    for text in outcome.stdouts:
        reports.append([])
        for line in text.splitlines():
            if course and line.startswith(ROW):
                continue
            try:
                reports[-1].append(from_json(Report, json.loads(line)))
            except (ValueError, RecursionError):
                damaged = damaged or line
    _check_ends(outcome, reports)
    if damaged:
        raise EngineError('T8', f"a task's report is damaged: '{damaged[:80]}'")
    if not all(reports):
        raise EngineError('T8', f'task {reports.index([])} exited with 0 and reported nothing')
    by_rank = sorted((report for of_process in reports for report in of_process), key=lambda report: report.rank)
    if [(report.rank, report.tasks) for report in by_rank] != [(n, point.tasks) for n in range(point.tasks)]:
        seen = ', '.join(f'{report.rank} of {report.tasks}' for report in by_rank[:8])
        raise EngineError('T9', f'the tasks that reported are {seen}, not 0 to {point.tasks - 1} of {point.tasks}')
    return by_rank


def _check_ends(outcome: Outcome, reports: List[List[Report]]) -> None:
    """Raises the first of these failures: a task that reports its error, a task that died, a task that gave up."""
    failed = [(report.failed, _name(report)) for of_process in reports for report in of_process if report.failed]
    for why, name in failed:
        if not why.aborted:
            raise EngineError(why.rule, f'{name}: {why.sentence}', why.evidence)
    for rank, process in enumerate(outcome.processes):
        if process.exit_status and not any(report.failed for report in reports[rank]):
            how = ended(process.exit_status, [outcome.stderrs[rank]])
            raise EngineError('E1', f'task {rank} on {process.host} {how}')
    for why, name in failed:
        raise EngineError(why.rule, f'{name}: {why.sentence}')


def _metric(name: str, planned: int, reports: List[Report]) -> Metric:
    timed = [report.timed[name] for report in reports]
    done = sum(timing.operations for timing in timed)
    if done != planned:
        raise EngineError('P15', f'{name}: the tasks did {done} operations, not {planned}')
    rounds = list(zip(*(timing.spans for timing in timed)))
    if any(len(timing.spans) != len(rounds) for timing in timed) or not all(map(any, rounds)):
        raise EngineError('T8', f'{name}: the tasks repeated it different numbers of times')
    seconds = 0.0
    for spans in rounds:
        took = [span for span in spans if span]
        seconds += max(span.end_s for span in took) - min(span.start_s for span in took)
    if seconds <= 0:
        raise EngineError('T12', f'{name} took {seconds} s: too short to measure')
    # Work of one task alone, as the directories of a shared tree, does not show which task waited for another.
    all_worked = all(span for spans in rounds for span in spans)
    task_seconds = [sum(span.end_s - span.start_s for span in timing.spans if span) for timing in timed]
    comparable_s = tuple(task_seconds) if all_worked else ()
    counts: Dict[int, int] = {}
    for timing in timed:
        for key, times in timing.nanoseconds.items():
            counts[int(key)] = counts.get(int(key), 0) + times
    if counts and sum(counts.values()) != done:
        raise EngineError('T8', f'{name}: {sum(counts.values())} of {done} calls have a time')
    return rate(name, done, seconds, f'{done / seconds:.3f}', comparable_s, percentiles_of(counts))


def _name(report: Report) -> str:
    return f'task {report.rank} on {report.host}'
