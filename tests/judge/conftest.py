"""Plans and complete records from the figures that a test gives, without a file system."""

import pytest

from builders import SIZE, plan_of
from seatrial.model.plan import StoppingRule
from seatrial.model.units import MIB
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

SMOKE = StoppingRule(0.1, minimum=4, maximum=4, extra=0, fixed=True)

# Six samples around the mean 1; times a spread they stay around it.
SHAPE = (-1.0, 0.5, -0.5, 0.5, -0.5, 1.0)


@pytest.fixture(scope='session')
def around():
    """Six samples in B/s around so many MiB/s, whose 90 % interval is about as wide as the spread."""
    return lambda mean, spread=0.01: [mean * MIB * (1 + spread * step) for step in SHAPE]


@pytest.fixture(scope='session')
def make_plan():
    """One task that moves 64 MiB at each point; no cache stands in the way of a storage figure."""

    def make(check='Check', profile='nightly', operations=('read',), values=(16 * MIB, 32 * MIB), layout='default'):
        return plan_of(
            data_access('multiple', operations=operations, bytes_per_task=SIZE),
            Sweep('transfer_size', values),
            tasks=1,
            case={'check': check, 'layout': layout},
            target={'server_cache_bytes': 0, 'fast_tier_bytes': 0},
            profile=profile,
            stopping=SMOKE if profile == 'smoke' else StoppingRule(0.1),
        )

    return make
