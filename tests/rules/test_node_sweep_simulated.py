"""Node sweeps of 5,000 nodes, drawn from a seed: whom the two measurements name. More: benchmarks/isolation.py."""

import random

import pytest

from seatrial.job.sequence.confirm import LARGEST_GROUP, regrouped
from seatrial.rules.outliers import FALSE_SUSPECTS, confirmed, suspects

NODES, REPETITIONS = 5000, 6
NAMES = [f'n{number}' for number in range(NODES)]


def figures(rng, speeds, names, noise=0.05, disturbed=0.0):
    """Six launches of each; `disturbed` is the share of those that run at 70 % of their speed."""
    drawn = {}
    for name in names:
        own = [speeds[name] * rng.gauss(1.0, noise) for _ in range(REPETITIONS)]
        drawn[name] = [0.7 * each if rng.random() < disturbed else each for each in own] if disturbed else own
    return drawn


def speeds_of(rng, slow=()):
    """All nodes are alike within 2 %, but for the slow ones."""
    return {name: rng.gauss(1.0, 0.02) * (0.85 if name in slow else 1.0) for name in NAMES}


def night(rng, slow=(), **more):
    """Who is suspected by one comparison, and who is named after the second measurement."""
    speeds = speeds_of(rng, slow)
    suspected = [each.name for each in suspects(figures(rng, speeds, NAMES, **more))]
    groups = regrouped(suspected, NAMES, rng) if suspected else []
    again = {name for group in groups for name in group}
    return suspected, [each.name for each in confirmed(suspected, figures(rng, speeds, sorted(again), **more))]


@pytest.mark.parametrize(('disturbed', 'most'), [(0.0, FALSE_SUSPECTS), (0.05, 30.0)])
def test_of_5000_healthy_nodes_none_is_named_though_disturbed_ones_are_suspected(disturbed, most):
    rng = random.Random(5000)
    seen = [night(rng, disturbed=disturbed) for _ in range(10)]
    assert sum(len(suspected) for suspected, _ in seen) <= max(1.0, 10 * most)
    assert [named for _, named in seen] == [[]] * 10


@pytest.mark.parametrize(('noise', 'power'), [(0.03, 0.95), (0.05, 0.5)])
def test_nodes_that_are_15_percent_slower_are_found_among_5000(noise, power):
    """By one comparison; a sweep makes four, of which any suffices to suspect."""
    rng = random.Random(15)
    slow = NAMES[::500]
    found = [set(night(rng, slow, noise=noise)[1]) for _ in range(5)]
    assert all(each <= set(slow) for each in found)
    assert sum(len(each) for each in found) >= power * 5 * len(slow)


def test_the_second_measurement_of_a_suspect_needs_a_single_small_group():
    (group,) = regrouped(['n77'], NAMES, random.Random(1))
    assert len(group) == LARGEST_GROUP
