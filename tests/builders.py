"""Plans, node sweeps and scenarios, and the records that their jobs would leave, on which many tests are based."""

import functools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seatrial.check.declared import Declared, load
from seatrial.engine.posixops.scenario_figures import ScenarioRow, bound_s, figures, line_of_row
from seatrial.job.sequence.confirm import measured_again
from seatrial.model.action import Step, line_of_step
from seatrial.model.lines import Chain
from seatrial.model.metric import Fact, Measurement, NodeTime, TaskTime, bandwidth, rate
from seatrial.model.metric import Metric as MeasuredMetric
from seatrial.model.plan import (
    SCHEMA,
    Case,
    EngineChoice,
    Launcher,
    Limits,
    Sizing,
    StoppingRule,
    Target,
    TrialPlan,
    digest,
    metric,
)
from seatrial.model.point import Allocation, Point
from seatrial.model.record import End, Finding, Records, Sample, Sized, Start
from seatrial.model.units import GIB, MIB
from seatrial.rules.case import in_random_order, measured
from seatrial.rules.places import CONFIRM, all_of, phases_again, suspected
from seatrial.rules.stopping import state
from seatrial.workload.access import data_access
from seatrial.workload.registry import kind_of, metrics_at, metrics_of, phase_of, resized
from seatrial.workload.scenario import VERIFIED, scenario
from seatrial.workload.semantics import HOLDING
from seatrial.workload.sweep import AXES, Sweep, expand
from seatrial.workload.tree import metadata_tree

CONTRACT = """
version: 1
title: Acceptance of scratch
date: 2026-06-30
parties: {customer: Pelagia, supplier: Tidewater}
criteria:
  - id: '1'
    text: At least 100 MiB/s write.
    metric: write bandwidth
    workload: {access: file per process, transfer_size: 64KiB, bytes_per_task: 1MiB}
    nodes: 1
    at_least: 100 MiB/s
    conditions: {caches: allowed, budget: 1h}
"""
SIZE = 64 * MIB  # bytes a task
MFWA = data_access('multiple', bytes_per_task=SIZE)
SIZES = Sweep('transfer_size', (16 * MIB, 32 * MIB))
FLAT = metadata_tree(files_per_directory=1000, scales=True)
FLAT_TREE = Sweep('tree', (('flat', {}),))
GUARANTEES = ('rename_replaces', 'unlinked_stays_readable')
QUIET = {'before': 0.0, 'after': 0.0}
"""No background load."""

Figures = Mapping[str, Sequence[float]] | Sequence[float]


@functools.cache
def all_checks() -> dict[str, Declared]:
    """The checks of checks/ by their names. Importing them takes a second, so a process of the tests does it once."""
    return load(Path(__file__).resolve().parents[1] / 'checks')


def plan_of(workload: Point = MFWA, sweep: Sweep = SIZES, tasks: int = 2, **changes: Any) -> TrialPlan:
    """The plan of a nightly case on one node. Changes replace its fields; of `case` and `target`, the named ones."""
    case = Case('Check', 'lab:io', 'scratch', 'default', 1)
    target = Target('scratch', 'posix', '/scratch', 'scratch', Limits(GIB, 100), telemetry=('load',))
    moves_data = kind_of(workload.kind).moves_data
    plan = TrialPlan(
        schema=SCHEMA,
        seatrial='0.1.0',
        session='20261121T020638-9f3a1c',
        case=case._replace(**changes.pop('case', {})),
        profile='nightly',
        axis=AXES[sweep.axis],
        points=tuple(expand(sweep, workload, Allocation(1, tasks))),
        engines=(EngineChoice('fio', 'fio'),),
        launcher=Launcher(),
        target=target._replace(**changes.pop('target', {})),
        records='/state/records',
        state='/state',
        stopping=StoppingRule(0.1),
        sizing=Sizing(SIZE, SIZE, 0.8, 0.5) if moves_data else Sizing(1000, 1, 1.0, 0.25),
        launch_limit_s=60.0,
        seed=1,
    )
    return plan._replace(**changes)


def moved(point: Point, rate_b_s: float, phase: str = 'write') -> Measurement:
    """All tasks of a point move its bytes at this speed (B/s) together."""
    seconds = point.bytes_moved / rate_b_s
    return Measurement(
        (bandwidth(phase, point.bytes_moved, seconds, f'{rate_b_s}'),),
        point.tasks,
        ('node1',),
        clock_s=0.00001,
        bytes_moved=point.bytes_moved,
        tasks=tuple(TaskTime(rank, 'node1', point.data.bytes_per_task, 0.0, seconds) for rank in range(point.tasks)),
        fsync=True,
    )


def timed(point: Point, figures: Mapping[str, float], phase: str) -> Measurement:
    """A launch of fixed duration with these figures in base units; a metric that has none gets 1."""
    metrics = tuple(
        MeasuredMetric(figure.name, figures.get(figure.name, 1.0), figure.unit, figure.better, point.duration_s, 1000)
        for figure in metrics_of(point, phase)
    )
    return Measurement(
        metrics,
        point.tasks,
        ('node1',),
        clock_s=0.00001,
        bytes_moved=1000 * point.data.transfer_size,
        fsync=phase_of(point, phase).writes,
        direct=point.data.direct,
    )


def rated(point: Point, figures: Mapping[str, float]) -> Measurement:
    """A launch of metadata with these rates (op/s) for all entries; HOLDING: how many of GUARANTEES hold instead."""
    if HOLDING in figures:
        facts = tuple(Fact(name, n < figures[HOLDING], 'it was tried') for n, name in enumerate(GUARANTEES))
        metrics = (MeasuredMetric(HOLDING, figures[HOLDING], ''),)
        return Measurement(metrics, point.tasks, ('node1',), 1e-6, facts=facts)
    number = kind_of(point.kind).amount(point)
    rates = tuple(rate(name, number, number / figure, f'{figure}') for name, figure in figures.items())
    return Measurement(rates, point.tasks, ('node1',), 1e-6)


def sample_of(
    plan: TrialPlan,
    point: Point,
    phase: str,
    repetition: int = 0,
    measurement: Measurement | None = None,
    stage: str = 'measured',
    cache: str = '',
    findings: Sequence[Finding] = (),
    started: float = 0.0,
) -> Sample:
    """One launch of the point with the plan's first share; measured ones belong to the first decision on size."""
    return Sample(
        stage=stage,
        phase=phase,
        point=kind_of(point.kind).resized(point, plan.sizing.first),
        repetition=repetition,
        block=repetition,
        sizing=int(stage == 'measured'),
        started=started,
        elapsed_s=1.5,
        command=(),
        exit_status=0,
        raw='raw',
        measurement=measurement,
        cache=cache,
        storage_read_bytes=None,
        findings=tuple(findings),
    )


def start_of(plan: TrialPlan, **changes: Any) -> Start:
    """The start record of a job that carries the plan out with fio."""
    start = Start(
        session=plan.session,
        case=plan.case.name,
        plan=digest(plan),
        mount='',
        host='login1',
        pid=1,
        job='',
        started=0.0,
        kernel='6.1',
        python='3.11',
        engine='fio',
        program='/fio',
        version='3.33',
        skipped=(),
        seed=plan.seed,
        run_directory='',
        memory_bytes=0,
        capacity={},
        findings=(),
    )
    return start._replace(**changes)


def records_of(
    plan: TrialPlan,
    figures: Figures,
    cache: str = 'cold',
    findings: Mapping[str, Sequence[Finding]] | None = None,
    **start: Any,
) -> Records:
    """A finished record in which every metric has the given figures, and every point ended as the runner says.

    figures: by metric, or one list for all; values in base units; findings: of every launch of
    'phase@label'; cache: its state in phases that read
    """
    findings_of = findings or {}
    first = plan.points[0]
    warm = [sample_of(plan, first, phase, 0, _measurement(plan, phase, first, {}), 'warmup') for phase in plan.phases]
    samples = [
        sample_of(
            plan,
            point,
            phase,
            n,
            _measurement(plan, phase, point, row),
            cache=cache if phase_of(point, phase).reads else '',
            findings=findings_of.get(metric(phase, point.label), ()),
        )
        for point in plan.points
        for phase in plan.phases
        for n, row in enumerate(_launches(plan, phase, point, figures))
    ]
    return _finished(plan, plan.points, [*warm, *samples], start)


def _finished(plan: TrialPlan, points: Iterable[Point], samples: Iterable[Sample], start: dict[str, Any]) -> Records:
    """The record of a job with these launches, in which every point ended as the runner says."""
    sized = Sized(1, plan.sizing.first, '')
    records = Records(start_of(plan, **start), sized, in_blocks(plan, samples), None, None, 0)
    ends = {point.label: stopped(plan, records, point) for point in points}
    return records._replace(end=End('finished', 'done', 9.0, ends, background=QUIET))


def in_blocks(plan: TrialPlan, samples: Iterable[Sample]) -> list[Sample]:
    """The samples in the order in which the runner takes them: warm-up, randomised blocks, second measurement."""
    labels = list(dict.fromkeys(point.label for point in plan.points))

    def place(sample: Sample) -> tuple[int, ...]:
        if sample.stage != 'measured':
            return (0 if sample.stage == 'warmup' else 2,)
        order = in_random_order(labels, plan.seed, sample.sizing, sample.block)
        return 1, sample.sizing, sample.block, order.index(sample.point.label)

    return sorted(samples, key=place)


def chained(lines: Iterable[str]) -> str:
    """The text of a record with these lines, linked as a job links them; links that they have are replaced."""
    chain = Chain()
    return ''.join(map(chain.linked, Chain().checked(lines)))


def stopped(plan: TrialPlan, records: Records, point: Point) -> str:
    """The runner's reason to end a point with these samples; one that is not done has run out of time."""
    by_metric = measured(plan, records)
    columns = {figure.name: by_metric.get(metric(figure.name, point.label), []) for figure in metrics_at(point)}
    if not all(sample.valid for column in columns.values() for sample in column):
        return 'invalid'
    steering = [figure.name for figure in metrics_at(point) if figure.steers]
    values = {name: [sample.figures.get(name) for sample in columns[name]] for name in steering}
    progress = state(values, plan.stopping)
    return progress.reason if progress.action == 'done' else 'budget'


def _launches(plan: TrialPlan, phase: str, point: Point, figures: Figures) -> Iterator[dict[str, float]]:
    """The figures of each launch by the names of its metrics, as many as the longest list has."""
    names = [figure.name for figure in metrics_of(point, phase)]
    columns = {
        name: figures.get(metric(name, point.label), ()) if isinstance(figures, Mapping) else figures
        for name in names
    }
    for n in range(max(map(len, columns.values()))):
        yield {name: values[n] for name, values in columns.items() if n < len(values)}


def _measurement(plan: TrialPlan, phase: str, point: Point, figures: Mapping[str, float]) -> Measurement:
    planned = kind_of(point.kind).resized(point, plan.sizing.first)
    if point.duration_s:
        return timed(planned, figures, phase)
    if kind_of(point.kind).moves_data:
        return moved(planned, figures.get(phase, 100.0 * MIB), phase)
    return rated(planned, figures or {figure.name: 1.0 for figure in metrics_of(point, phase)})


# Node sweeps and nights with them

WRITES = data_access('multiple', operations=('write',), bytes_per_task=SIZE)
ONCE = StoppingRule(0.1, minimum=1, maximum=1, extra=0, budget_s=600.0, fixed=True)
SMALL = {'values': (32,), 'stopping': ONCE}
"""For the plan of a laboratory (tests/job): one point that is measured once."""
Rate = Callable[[str, str], float]
"""Of a node in a launch of a phase, in B/s."""


def names(count: int) -> tuple[str, ...]:
    """The names of so many hosts."""
    return tuple(f'n{number}' for number in range(1, count + 1))


def node_plan(nodes: int = 4, tasks_per_node: int = 1, workload: Point = WRITES, **changes) -> TrialPlan:
    """A node sweep over so many nodes."""
    points = tuple(expand(Sweep('node'), workload, Allocation(nodes, tasks_per_node)))
    return plan_of(workload, case={'nodes': nodes}, **{'axis': AXES['node'], 'points': points, **changes})


def launched(point: Point, hosts: Sequence[str], rates: Sequence[float], phase: str = 'write') -> Measurement:
    """All nodes move their tasks' bytes at these rates (B/s)."""
    tasks = point.tasks_per_node
    node_bytes = tasks * point.data.bytes_per_task
    times = [node_bytes / rate for rate in rates]
    rows = tuple(NodeTime(host, tasks, node_bytes, time, time) for host, time in zip(hosts, times, strict=True))
    whole = moved(point, point.bytes_moved / max(times), phase)
    return whole._replace(hosts=tuple(hosts), tasks=(), nodes=rows)


def night(
    plan: TrialPlan, rate: Rate, again: Rate | None = None, repeat: int | None = None, cache: str = 'cold', **start
) -> Records:
    """The finished record of a sweep in which every launch has these rates, and then those of the second measurement.

    again: None if there is no time for it; repeat: its repetitions, if they differ from those of the plan
    cache: its state in reads
    """
    nodes = names(plan.case.nodes)
    points = resized(plan.points, plan.sizing.first)
    first = min(points, key=lambda point: point.tasks)
    warm = [_sample(plan, first, nodes, phase, 0, rate, 'warmup', cache) for phase in plan.phases]
    samples = [
        _sample(plan, point, nodes, phase, n, rate, cache=cache)
        for n in range(plan.stopping.minimum + plan.stopping.extra)
        for point in points
        for phase in plan.phases
    ]
    records = _finished(plan, points, [*warm, *samples], start)
    by_metric = suspected(plan, records)
    if again is None or not by_metric:
        return records
    second = measured_again(plan, all_of(by_metric), nodes, random.Random(plan.seed))
    more = [
        _sample(plan, point, second.nodes, phase, n, again, CONFIRM, cache)
        for n in range(plan.stopping.minimum + plan.stopping.extra if repeat is None else repeat)
        for point in resized(second.points, plan.sizing.first)
        for phase in phases_again(plan, by_metric)
    ]
    return records._replace(samples=[*records.samples, *more])


def _sample(
    plan: TrialPlan,
    point: Point,
    nodes: Sequence[str],
    phase: str,
    repetition: int,
    rate: Rate,
    stage: str = 'measured',
    cache: str = 'cold',
) -> Sample:
    hosts = nodes[point.first_node : point.first_node + point.nodes]
    measurement = launched(point, hosts, [rate(host, phase) for host in hosts], phase)
    seen = cache if phase_of(point, phase).reads else ''
    made = sample_of(plan, point, phase, repetition, measurement, stage, seen)
    return made._replace(sizing=1 if stage == CONFIRM else made.sizing)


# Scenarios that were not run, as their tasks and their actions would have written them


def scenario_of(before_s, action_s, after_s, times=1, name='oss3-away'):
    """The point of a scenario, as launched on two nodes."""
    point = scenario(before_s, action_s, after_s, times)
    actions = tuple(action._replace(name=name) for action in point.actions)
    return point.changed(label=name, tasks=2, nodes=2, tasks_per_node=1, actions=actions)


def rows_of(point, dead_s=0.0, rate=64, share_after=1.0, errors=False):
    """The lines of a task that moves `rate` MiB/s, but nothing during an action and dead_s after it; from the first
    action on it moves share_after of that."""
    at_s = 0.0
    while at_s < point.duration_s:
        end_s = bound_s(point, at_s)
        dead = next((e for e in point.actions if e.at_s <= at_s < e.at_s + e.for_s + dead_s), None)
        back = next((e for e in point.actions if at_s <= e.at_s + e.for_s + dead_s < end_s), None)
        share = 0 if dead else share_after if at_s > point.actions[0].at_s else 1
        done = int(rate * share * (end_s - at_s) * (1 + 0.1 * (int(at_s) * 7 % 5 - 2)))
        gaps = ((back.at_s, back.at_s + back.for_s + dead_s),) if back else ()
        failed = {'EIO': 10} if dead and errors else {}
        yield line_of_row(
            ScenarioRow(at_s, end_s - at_s, done, done * MIB, 0.1, failed, {'60': done} if done else {}, gaps)
        )
        at_s = end_s
    yield f'["{VERIFIED}",1000]'


def transcript_of(point):
    """The transcript of a scenario whose actions all ran at their times."""
    lines = [json.dumps({'skew_s': 0.0}) + '\n']
    for action in point.actions:
        lines.append(line_of_step(Step(action.name, 'start', action.at_s, action.at_s + 0.3, '')))
        undo_s = action.at_s + action.for_s
        lines.append(line_of_step(Step(action.name, 'undo', undo_s, undo_s + 0.4, '')))
    return ''.join([*lines, json.dumps({'complete': True}) + '\n'])


def measured_of(point, **rows):
    """The measurement of a launch of the point."""
    tasks = [rows_of(point, **rows), rows_of(point, **rows)]
    metrics, course = figures(point, tasks, ('n1', 'n2'), transcript_of(point))
    return Measurement(metrics, 2, ('n1', 'n2'), course=course)
