"""Plans, and the records that their jobs would leave, from which the tests of several rooms depart."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seatrial.model.namespace import Trees, expand_trees
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
from seatrial.model.record import End, Finding, JobTime, Measurement, Records, Sample, Sized, Start
from seatrial.model.tree import Fact, MetadataTree, Rate, TreeMeasurement, TreePoint
from seatrial.model.units import GIB, MIB
from seatrial.model.work import Place, Work, sized
from seatrial.model.workload import AccessPattern, Geometry, Point, Sweep, expand
from seatrial.rules.case import measured
from seatrial.rules.names import LOOKING
from seatrial.rules.stopping import state

SIZE = 64 * MIB  # bytes a client
MFWA = AccessPattern('multiple', 'whole')
OBJECTS = Sweep('objects', (2, 4), SIZE)
FLAT = MetadataTree(files_per_directory=1000)
FLAT_TREE = Trees((('flat', FLAT),), scales=True)
PROMISES = ('rename_replaces', 'unlinked_stays_readable')
Figures = Mapping[str, Sequence[float]] | Sequence[float]


def plan_of(workload: Work = MFWA, sweep: Sweep | Trees = OBJECTS, clients: int = 2, **changes: Any) -> TrialPlan:
    """The plan of a nightly case on one node. Changes are of its fields; of `case` and `target` those named."""
    largest = Geometry(1, clients)
    names = isinstance(sweep, Trees)
    points: Sequence[Place] = expand_trees(sweep, largest) if names else expand(sweep, largest, SIZE)
    case = Case('Check', 'lab:io', 'scratch', 'default', 1)
    target = Target('scratch', 'posix', '/scratch', 'scratch', Limits(GIB, 100))
    plan = TrialPlan(
        schema=SCHEMA,
        seatrial='0.1.0',
        session='20261121T020638-9f3a1c',
        case=case._replace(**changes.pop('case', {})),
        profile='nightly',
        workload=workload,
        axis=sweep.axis,
        points=tuple(points),
        engines=(EngineChoice('fio', 'fio'),),
        launcher=Launcher(),
        target=target._replace(**changes.pop('target', {})),
        records='/state/records',
        state='/state',
        stopping=StoppingRule(0.1),
        sizing=Sizing(1000, 1, 1.0, 0.25) if names else Sizing(SIZE, SIZE, 0.8, 0.5),
        launch_limit_s=60.0,
        seed=1,
    )
    return plan._replace(**changes)


def moved(point: Point, mib_s: float) -> Measurement:
    """All clients of a point move its bytes at this speed together."""
    seconds = point.bytes_moved / MIB / mib_s
    jobs = tuple(JobTime(rank, 'node1', point.bytes_per_client, 0.0, seconds) for rank in range(point.tasks))
    return Measurement(
        f'{mib_s}', point.bytes_moved, seconds, point.tasks, ('node1',), jobs, fsync=True, clock_s=0.001
    )


def rated(point: TreePoint, figures: Mapping[str, float]) -> TreeMeasurement:
    """A launch of metadata with these rates, all of the entries' number; 'holding' are so many of PROMISES."""
    if 'holding' in figures:
        facts = tuple(Fact(name, n < figures['holding'], 'it was tried') for n, name in enumerate(PROMISES))
        return TreeMeasurement((), point.tasks, ('node1',), 1e-6, facts)
    number = point.entries.inodes
    rates = tuple(Rate(name, number, number / figure, f'{figure}') for name, figure in figures.items())
    return TreeMeasurement(rates, point.tasks, ('node1',), 1e-6)


def sample_of(
    plan: TrialPlan,
    point: Place,
    operation: str,
    repetition: int = 0,
    measurement: Measurement | TreeMeasurement | None = None,
    stage: str = 'measured',
    cache: str = '',
    findings: Sequence[Finding] = (),
    started: float = 0.0,
) -> Sample:
    """One launch; those that are measured follow the first decided size."""
    return Sample(
        stage=stage,
        point=point.label,
        operation=operation,
        repetition=repetition,
        block=repetition,
        sizing=int(stage == 'measured'),
        started=started,
        elapsed_s=1.5,
        per_client=plan.sizing.first,
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
        passed_over=(),
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

    figures: by metric, or one list for all; findings: of every launch of 'operation@label'; cache: of what looks
    """
    found = findings or {}
    first = plan.points[0]
    warm = [
        sample_of(plan, first, operation, 0, _measurement(plan, operation, first, {}), 'warmup')
        for operation in plan.workload.operations
    ]
    samples = [
        sample_of(
            plan,
            point,
            operation,
            n,
            _measurement(plan, operation, point, own),
            cache=cache if operation in LOOKING else '',
            findings=found.get(metric(operation, point.label), ()),
        )
        for point in plan.points
        for operation in plan.workload.operations
        for n, own in enumerate(_launches(plan, operation, point, figures))
    ]
    records = Records(start_of(plan, **start), Sized(1, plan.sizing.first, '', ()), [*warm, *samples], None, None, 0)
    ends = {point.label: stopped(plan, records, point) for point in plan.points}
    return records._replace(end=End('finished', 'done', 9.0, ends))


def stopped(plan: TrialPlan, records: Records, point: Place) -> str:
    """What the runner says of a point with these samples; one that is not done has run out of time."""
    by_metric = measured(plan, records)
    names = [name for operation in plan.workload.operations for name in plan.measures(operation, point)]
    columns = {name: by_metric.get(metric(name, point.label), []) for name in names}
    if not all(sample.valid for column in columns.values() for sample in column):
        return 'invalid'
    values = {name: [sample.figures.get(name) for sample in column] for name, column in columns.items()}
    progress = state(values, plan.stopping)
    return progress.reason if progress.action == 'done' else 'budget'


def _launches(plan: TrialPlan, operation: str, point: Place, figures: Figures) -> Iterator[dict[str, float]]:
    """The figures of each launch by the names of its metrics, as many as the longest list has."""
    names = plan.measures(operation, point)
    own = {
        name: figures.get(metric(name, point.label), ()) if isinstance(figures, Mapping) else figures
        for name in names
    }
    for n in range(max(map(len, own.values()))):
        yield {name: values[n] for name, values in own.items() if n < len(values)}


def _measurement(
    plan: TrialPlan, operation: str, point: Place, figures: Mapping[str, float]
) -> Measurement | TreeMeasurement:
    planned = sized(point, plan.axis, plan.sizing.first)
    if isinstance(planned, Point):
        return moved(planned, figures.get(operation, 100.0))
    return rated(planned, figures or dict.fromkeys(plan.measures(operation, point), 1.0))
