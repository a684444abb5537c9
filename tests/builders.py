"""Plans, and the records that their jobs would leave, from which the tests of several rooms depart."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from seatrial.model.lines import Chain
from seatrial.model.metric import Fact, Measurement, TaskTime, bandwidth, rate
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
from seatrial.rules.stopping import state
from seatrial.workload.access import data_access
from seatrial.workload.registry import kind_of, metrics_at, metrics_of, phase_of
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


def plan_of(workload: Point = MFWA, sweep: Sweep = SIZES, tasks: int = 2, **changes: Any) -> TrialPlan:
    """The plan of a nightly case on one node. Changes are of its fields; of `case` and `target` those named."""
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
        clock_s=0.001,
        bytes_moved=point.bytes_moved,
        tasks=tuple(TaskTime(rank, 'node1', point.data.bytes_per_task, 0.0, seconds) for rank in range(point.tasks)),
        fsync=True,
    )


def timed(point: Point, figures: Mapping[str, float], phase: str) -> Measurement:
    """A launch that its time ended, with these figures in base units; 1 of a metric that has none."""
    metrics = tuple(
        MeasuredMetric(each.name, figures.get(each.name, 1.0), each.unit, each.better, point.duration_s, 1000)
        for each in metrics_of(point, phase)
    )
    return Measurement(
        metrics,
        point.tasks,
        ('node1',),
        clock_s=0.001,
        bytes_moved=1000 * point.data.transfer_size,
        fsync=phase_of(point, phase).writes,
        direct=point.data.direct,
    )


def rated(point: Point, figures: Mapping[str, float]) -> Measurement:
    """A launch of metadata with these rates (op/s), all of the entries' number; HOLDING are so many of GUARANTEES."""
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
    """One launch of the point with the plan's first share; those that are measured follow the first decided size."""
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
    'phase@label'; cache: of what reads
    """
    found = findings or {}
    first = plan.points[0]
    warm = [sample_of(plan, first, phase, 0, _measurement(plan, phase, first, {}), 'warmup') for phase in plan.phases]
    samples = [
        sample_of(
            plan,
            point,
            phase,
            n,
            _measurement(plan, phase, point, own),
            cache=cache if phase_of(point, phase).reads else '',
            findings=found.get(metric(phase, point.label), ()),
        )
        for point in plan.points
        for phase in plan.phases
        for n, own in enumerate(_launches(plan, phase, point, figures))
    ]
    records = Records(
        start_of(plan, **start), Sized(1, plan.sizing.first, ''), in_blocks(plan, [*warm, *samples]), None, None, 0
    )
    ends = {point.label: stopped(plan, records, point) for point in plan.points}
    return records._replace(end=End('finished', 'done', 9.0, ends, background=QUIET))


def in_blocks(plan: TrialPlan, samples: Iterable[Sample]) -> list[Sample]:
    """The samples in the order in which the runner takes them: warm-up, randomised blocks, what is measured again."""
    labels = list(dict.fromkeys(point.label for point in plan.points))

    def place(sample: Sample) -> tuple[int, ...]:
        if sample.stage != 'measured':
            return (0 if sample.stage == 'warmup' else 2,)
        order = in_random_order(labels, plan.seed, sample.sizing, sample.block)
        return 1, sample.sizing, sample.block, order.index(sample.point.label)

    return sorted(samples, key=place)


def chained(lines: Iterable[str]) -> str:
    """The text of a record with these lines, linked as a job would have; links that they have are made anew."""
    chain = Chain()
    return ''.join(map(chain.linked, Chain().checked(lines)))


def stopped(plan: TrialPlan, records: Records, point: Point) -> str:
    """What the runner says of a point with these samples; one that is not done has run out of time."""
    by_metric = measured(plan, records)
    columns = {each.name: by_metric.get(metric(each.name, point.label), []) for each in metrics_at(point)}
    if not all(sample.valid for column in columns.values() for sample in column):
        return 'invalid'
    steering = [each.name for each in metrics_at(point) if each.steers]
    values = {name: [sample.figures.get(name) for sample in columns[name]] for name in steering}
    progress = state(values, plan.stopping)
    return progress.reason if progress.action == 'done' else 'budget'


def _launches(plan: TrialPlan, phase: str, point: Point, figures: Figures) -> Iterator[dict[str, float]]:
    """The figures of each launch by the names of its metrics, as many as the longest list has."""
    names = [each.name for each in metrics_of(point, phase)]
    own = {
        name: figures.get(metric(name, point.label), ()) if isinstance(figures, Mapping) else figures
        for name in names
    }
    for n in range(max(map(len, own.values()))):
        yield {name: values[n] for name, values in own.items() if n < len(values)}


def _measurement(plan: TrialPlan, phase: str, point: Point, figures: Mapping[str, float]) -> Measurement:
    planned = kind_of(point.kind).resized(point, plan.sizing.first)
    if point.duration_s:
        return timed(planned, figures, phase)
    if kind_of(point.kind).moves_data:
        return moved(planned, figures.get(phase, 100.0 * MIB), phase)
    return rated(planned, figures or {each.name: 1.0 for each in metrics_of(point, phase)})
