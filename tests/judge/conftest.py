"""Plans and complete records from the figures that a test gives, without a file system."""

from collections.abc import Callable, Mapping, Sequence

import pytest

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
from seatrial.model.units import GIB, MIB
from seatrial.model.workload import AccessPattern, Geometry, Sweep, expand
from seatrial.rules.case import measured
from seatrial.rules.stopping import state

SIZE = 64 * MIB
SMOKE = StoppingRule(0.1, least=4, most=4, extra=0, fixed=True)

# Six samples around the mean 1; times a spread they stay around it.
SHAPE = (-1.0, 0.5, -0.5, 0.5, -0.5, 1.0)


def samples(mean: float, spread: float = 0.01) -> list[float]:
    """Six samples with this mean, whose 90 % interval is about as wide as the spread."""
    return [mean * (1 + spread * each) for each in SHAPE]


def stopped(plan: TrialPlan, records: Records, label: str) -> str:
    """What the runner says of a point with these samples; one that is not done has run out of time."""
    by_metric = measured(records)
    columns = [by_metric.get(metric(operation, label), []) for operation in plan.workload.operations]
    if not all(sample.valid for column in columns for sample in column):
        return 'invalid'
    values = {str(n): [s.measurement.bandwidth for s in column if s.measurement] for n, column in enumerate(columns)}
    progress = state(values, plan.stopping)
    return progress.reason if progress.action == 'done' else 'budget'


@pytest.fixture(scope='session')
def around() -> Callable[..., list[float]]:
    return samples


@pytest.fixture(scope='session')
def make_plan() -> Callable[..., TrialPlan]:
    def make(
        check: str = 'Check',
        profile: str = 'nightly',
        operations: tuple[str, ...] = ('read',),
        values: tuple[int, ...] = (2, 4),
        layout: str = 'default',
        axis: str = 'objects',
    ) -> TrialPlan:
        sweep = Sweep(axis, values, SIZE, objects=4)
        return TrialPlan(
            schema=SCHEMA,
            seatrial='0',
            session='s',
            case=Case(check, 'lab:io', 'scratch', layout, 1),
            profile=profile,
            workload=AccessPattern('multiple', 'whole', operations=operations),
            axis=axis,
            points=tuple(expand(sweep, Geometry(1, 64), SIZE)),
            engines=(EngineChoice('fio', 'fio'),),
            launcher=Launcher(),
            target=Target(
                'scratch', 'posix', '/scratch', 'scratch', Limits(GIB, 100), server_cache_bytes=0, fast_tier_bytes=0
            ),
            records='/state/records',
            state='/state',
            stopping=SMOKE if profile == 'smoke' else StoppingRule(0.1),
            sizing=Sizing(SIZE, SIZE, 0.8, 0.5),
            launch_limit_s=60.0,
            seed=1,
        )

    return make


@pytest.fixture(scope='session')
def make_records() -> Callable[..., Records]:
    """A finished record in which every metric has the given figures, in MiB/s.

    figures: by metric, or one list for all; findings: of every launch of a metric; cache: of the reads
    """

    def make(
        plan: TrialPlan,
        figures: Mapping[str, Sequence[float]] | Sequence[float],
        cache: str = 'cold',
        findings: Mapping[str, tuple[Finding, ...]] = {},
        engine: str = 'fio',
    ) -> Records:
        def sample(stage: str, point: str, operation: str, n: int, figure: float) -> Sample:
            seconds = SIZE / MIB / figure
            measurement = Measurement('', SIZE, seconds, 1, ('n1',), (JobTime(0, 'n1', SIZE, 0.0, seconds),))
            found = findings.get(metric(operation, point), ()) if stage == 'measured' else ()
            state = cache if operation == 'read' else ''
            number = 1 if stage == 'measured' else 0
            return Sample(
                stage, point, operation, n, n, number, 0.0, 1.0, SIZE, (), 0, '', measurement, state, None, found
            )

        taken = [sample('warmup', plan.points[0].label, 'read', 0, 100.0)]
        for point in plan.points:
            for operation in plan.workload.operations:
                own = figures.get(metric(operation, point.label), ()) if isinstance(figures, Mapping) else figures
                taken += [sample('measured', point.label, operation, n, each) for n, each in enumerate(own)]
        start = Start(
            session='s',
            case='c',
            plan=digest(plan),
            mount='',
            host='n1',
            pid=1,
            job='',
            started=0.0,
            kernel='k',
            python='3',
            engine=engine,
            program='/e',
            version='1',
            passed_over=(),
            seed=1,
            run_directory='',
            memory_bytes=0,
            capacity={},
            findings=(),
        )
        records = Records(start, Sized(1, SIZE, '', ()), taken, None, None, 0)
        ends = {point.label: stopped(plan, records, point.label) for point in plan.points}
        return records._replace(end=End('finished', 'done', 9.0, ends))

    return make
