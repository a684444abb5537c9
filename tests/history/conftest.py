"""A small session and its rows, from which the tests of the history depart."""

from datetime import datetime, timezone

import pytest

from builders import SIZE, moved, plan_of, sample_of, start_of
from seatrial.history.rows import Kept, table
from seatrial.model.plan import metric
from seatrial.model.record import Finding, Records, Sized
from seatrial.workload.registry import planned_metrics

BEGAN = datetime(2026, 11, 21, 2, 6, 38, tzinfo=timezone.utc)


@pytest.fixture(scope='session')
def plan():
    return plan_of(case={'partition': 'cluster:compute', 'layout': 'wide'}, target={'type': 'lustre'})


@pytest.fixture(scope='session')
def sample(plan):
    """One launch: two tasks that move SIZE bytes each, together in a second."""
    points = {point.label: point for point in plan.points}

    def make(point='16MiB', phase='write', repetition=0, *findings, measured=True):
        measurement = moved(points[point], 2 * SIZE, phase)._replace(hosts=('node1', 'node2')) if measured else None
        cache, started = 'cold' if phase == 'read' else '', BEGAN.timestamp() + repetition
        seen = [Finding(rule, effect, 's') for rule, effect in findings]
        launch = plan, points[point], phase, repetition, measurement
        return sample_of(*launch, cache=cache, findings=seen, started=started)

    return make


@pytest.fixture(scope='session')
def rows(plan):
    """Make the rows of a session with one case: metric -> samples, the others without a launch."""

    def make(session=plan.session, began=BEGAN, verdict='PASS', started=True, plan=plan, broken='', **samples):
        counted = {metric(*name.rsplit('_', 1)): sample for name, sample in samples.items()}
        records = Records(start_of(plan) if started else None, Sized(1, SIZE, ''), [], None, None, 0, broken=broken)
        words = {name: ('PASS', '') if counted.get(name) else ('INCOMPLETE', 'why') for name in planned_metrics(plan)}
        return table(session, began, 'cluster', verdict, [Kept(plan, records, counted, verdict, words)])

    return make
