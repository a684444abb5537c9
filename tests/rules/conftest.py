"""Plans and evidence of a small case, from which the tests of the rules depart."""

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
)
from seatrial.model.record import End, JobTime, Measurement, Records, Sample, Sized, Start
from seatrial.model.units import GIB, MIB
from seatrial.model.workload import AccessPattern, Geometry, Sweep, expand

SIZE = 64 * MIB


@pytest.fixture
def plan():
    sweep = Sweep('objects', (2, 4), SIZE)
    return TrialPlan(
        schema=SCHEMA,
        seatrial='0',
        session='s',
        case=Case('Check', 'local:default', 'scratch', 'default', 1),
        profile='nightly',
        workload=AccessPattern('multiple', 'whole'),
        axis='objects',
        points=tuple(expand(sweep, Geometry(1, 2), SIZE)),
        engines=(EngineChoice('fio', 'fio'),),
        launcher=Launcher(),
        target=Target('scratch', 'posix', '/scratch', 'scratch', Limits(GIB, 100)),
        records='/state/records',
        state='/state',
        stopping=StoppingRule(0.1),
        sizing=Sizing(SIZE, SIZE, 0.8, 0.5),
        launch_limit_s=60.0,
        seed=1,
    )


@pytest.fixture
def measurement():
    jobs = tuple(JobTime(rank, 'node1', SIZE, 0.0, 1.0) for rank in range(2))
    return Measurement('128', 2 * SIZE, 1.0, 2, ('node1',), jobs, fsync=True, clock_s=0.001)


@pytest.fixture
def records(plan, measurement):
    """A complete record: a warm-up, then every metric six times: converged after four, and two more."""
    start = Start(
        's', 'c', digest(plan), '', 'h', 1, '', 0.0, 'k', '3', 'fio', '/fio', '3.33', (), 1, '/r', GIB, {}, ()
    )
    samples = [
        Sample(stage, point.label, operation, n, n, number, 0.0, 1.0, SIZE, (), 0, '', measurement, '', None, ())
        for stage, number, repetitions in (('warmup', 0, 1), ('measured', 1, 6))
        for n in range(repetitions)
        for point in plan.points
        for operation in plan.workload.operations
    ]
    end = End('finished', 'done', 9.0, {point.label: 'converged' for point in plan.points})
    return Records(start, Sized(1, SIZE, '', ()), samples, end, None, 0)
