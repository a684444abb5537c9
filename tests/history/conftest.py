"""A small session and its rows, from which the tests of the history depart."""

from datetime import datetime, timezone

import pytest

from seatrial.history.rows import Kept, table
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
    metric,
)
from seatrial.model.record import Finding, JobTime, Measurement, Records, Sample, Sized, Start
from seatrial.model.units import GIB, MIB
from seatrial.model.workload import AccessPattern, Geometry, Sweep, expand

SIZE = 64 * MIB
SESSION = '20261121T020638-9f3a1c'
BEGAN = datetime(2026, 11, 21, 2, 6, 38, tzinfo=timezone.utc)


@pytest.fixture(scope='session')
def plan():
    return TrialPlan(
        schema=SCHEMA,
        seatrial='0.1.0',
        session=SESSION,
        case=Case('Check', 'cluster:compute', 'scratch', 'wide', 1),
        profile='nightly',
        workload=AccessPattern('multiple', 'whole'),
        axis='objects',
        points=tuple(expand(Sweep('objects', (2, 4), SIZE), Geometry(1, 2), SIZE)),
        engines=(EngineChoice('fio', 'fio'),),
        launcher=Launcher(),
        target=Target('scratch', 'lustre', '/scratch', 'scratch', Limits(GIB, 100)),
        records='/state/records',
        state='/state',
        stopping=StoppingRule(0.1),
        sizing=Sizing(SIZE, SIZE, 0.8, 0.5),
        launch_limit_s=60.0,
        seed=1,
    )


@pytest.fixture(scope='session')
def sample():
    """One launch: two clients that move 2 x SIZE bytes in a second."""
    jobs = tuple(JobTime(rank, 'node1', SIZE, 0.0, 1.0) for rank in range(2))
    measurement = Measurement('128', 2 * SIZE, 1.0, 2, ('node1', 'node2'), jobs, fsync=True)

    def make(point='2objects', operation='write', repetition=0, *findings, measured=True):
        cold = 'cold' if operation == 'read' else ''
        return Sample(
            'measured', point, operation, repetition, repetition, 1, BEGAN.timestamp() + repetition, 1.5, SIZE, (), 0,
            'raw', measurement if measured else None, cold, None, tuple(Finding(r, e, 's') for r, e in findings),
        )  # fmt: skip

    return make


@pytest.fixture(scope='session')
def rows(plan, sample):
    """Make the rows of a session with one case: metric -> samples, the others without a launch."""
    start = Start(
        session=SESSION, case=plan.case.name, plan='', mount='', host='login1', pid=1, job='', started=0.0,
        kernel='6.1', python='3', engine='fio', program='/fio', version='3.33', passed_over=(), seed=1,
        run_directory='/r', memory_bytes=GIB, capacity={}, findings=(),
    )  # fmt: skip

    def make(session=SESSION, began=BEGAN, verdict='PASS', started=True, **samples):
        counted = {metric(*name.split('_')): found for name, found in samples.items()}
        records = Records(start if started else None, Sized(1, SIZE, '', ()), [], None, None, 0)
        words = {name: ('PASS', '') if counted.get(name) else ('INCOMPLETE', 'why') for name in plan.metrics}
        return table(session, began, 'cluster', verdict, [Kept(plan, records, counted, verdict, words)])

    return make
