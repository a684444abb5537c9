"""Plans and complete records from the figures that a test gives, without a file system."""

from collections.abc import Callable

import pytest

from builders import SIZE, plan_of, records_of
from seatrial.model.plan import StoppingRule, TrialPlan
from seatrial.model.record import Records
from seatrial.model.workload import AccessPattern, Sweep

SMOKE = StoppingRule(0.1, least=4, most=4, extra=0, fixed=True)

# Six samples around the mean 1; times a spread they stay around it.
SHAPE = (-1.0, 0.5, -0.5, 0.5, -0.5, 1.0)


def samples(mean: float, spread: float = 0.01) -> list[float]:
    """Six samples with this mean, whose 90 % interval is about as wide as the spread."""
    return [mean * (1 + spread * each) for each in SHAPE]


@pytest.fixture(scope='session')
def around() -> Callable[..., list[float]]:
    return samples


@pytest.fixture(scope='session')
def make_plan() -> Callable[..., TrialPlan]:
    """One client that moves 64 MiB at each point; no cache stands in the way of a storage figure."""

    def make(
        check: str = 'Check',
        profile: str = 'nightly',
        operations: tuple[str, ...] = ('read',),
        values: tuple[int, ...] = (2, 4),
        layout: str = 'default',
    ) -> TrialPlan:
        return plan_of(
            AccessPattern('multiple', 'whole', operations=operations),
            Sweep('objects', values, SIZE),
            clients=1,
            case={'check': check, 'layout': layout},
            target={'server_cache_bytes': 0, 'fast_tier_bytes': 0},
            profile=profile,
            stopping=SMOKE if profile == 'smoke' else StoppingRule(0.1),
        )

    return make


@pytest.fixture(scope='session')
def make_records() -> Callable[..., Records]:
    return records_of
