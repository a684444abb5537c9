"""Plans and complete records from the figures that a test gives, without a file system."""

from collections.abc import Callable

import pytest

from builders import SIZE, plan_of, records_of
from seatrial.model.plan import StoppingRule, TrialPlan
from seatrial.model.record import Records
from seatrial.model.units import MIB
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

SMOKE = StoppingRule(0.1, minimum=4, maximum=4, extra=0, fixed=True)

# Six samples around the mean 1; times a spread they stay around it.
SHAPE = (-1.0, 0.5, -0.5, 0.5, -0.5, 1.0)


def samples(mean: float, spread: float = 0.01) -> list[float]:
    """Six samples in B/s around so many MiB/s, whose 90 % interval is about as wide as the spread."""
    return [mean * MIB * (1 + spread * step) for step in SHAPE]


@pytest.fixture(scope='session')
def around() -> Callable[..., list[float]]:
    return samples


@pytest.fixture(scope='session')
def make_plan() -> Callable[..., TrialPlan]:
    """One task that moves 64 MiB at each point; no cache stands in the way of a storage figure."""

    def make(
        check: str = 'Check',
        profile: str = 'nightly',
        operations: tuple[str, ...] = ('read',),
        values: tuple[int, ...] = (16 * MIB, 32 * MIB),
        layout: str = 'default',
    ) -> TrialPlan:
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


@pytest.fixture(scope='session')
def make_records() -> Callable[..., Records]:
    return records_of
