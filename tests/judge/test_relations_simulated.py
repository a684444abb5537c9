"""How often the relations are wrong, and how often they find what is there, on simulated sweeps."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from seatrial.judge.relations import at_least, does_not_degrade, falls_with, insensitive, plateaus
from seatrial.model.plan import StoppingRule

SPEC = importlib.util.spec_from_file_location(
    'coverage_benchmark', Path(__file__).parents[2] / 'benchmarks' / 'coverage.py'
)
benchmark = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(benchmark)

TEN = StoppingRule(0.10)
FIVE = StoppingRule(0.05)
NOISES = (0.05, 0.08, 0.10, 0.15)


def simulated(means, noise, rule, count, seed):
    return benchmark.sweeps(np.array(means, dtype=float), noise, rule, count, np.random.default_rng(seed))


def share(relations, verdict):
    return benchmark.shares(relations)[verdict]


@pytest.mark.slow
@pytest.mark.parametrize('rule', [None, TEN], ids=['six samples', 'stopped at 10 %'])
@pytest.mark.parametrize('size', [11, 13])
def test_equal_points_fail_to_be_insensitive_in_at_most_one_sweep_in_twenty(size, rule):
    """At the smaller of the two margins of the sources: what fails the larger one fails it too."""
    for seed, noise in enumerate(NOISES):
        found = simulated([100.0] * size, noise, rule, 2000, seed)
        assert share((insensitive(points, 1.105) for points in found), 'fails') <= 0.05


def test_the_naive_ratio_fails_most_sweeps_of_equal_noisy_points():
    found = simulated([100.0] * 13, 0.10, TEN, 200, 1)
    naive = [max(map(np.mean, points.values())) / min(map(np.mean, points.values())) for points in found]
    assert np.mean(np.array(naive) > 1.105) > 0.5


def test_points_at_the_margin_are_seldom_judged_to_fail():
    found = simulated([100.0] * 6 + [122.2] * 7, 0.08, TEN, 300, 2)
    assert share((insensitive(points, 1.222) for points in found), 'fails') <= 0.05


def test_points_at_the_margin_are_seldom_judged_to_hold():
    found = simulated([100.0, *[111.0] * 9, 122.2], 0.05, TEN, 400, 3)
    assert share((insensitive(points, 1.222) for points in found), 'holds') <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize('margin', [1.105, 1.222])
def test_one_point_half_as_fast_again_is_found(margin):
    found = simulated([150.0] + [100.0] * 12, 0.05, TEN, 200, 4)
    assert share((insensitive(points, margin) for points in found), 'fails') >= 0.95


def test_equal_quiet_points_are_found_to_be_insensitive():
    found = simulated([100.0] * 13, 0.05, TEN, 200, 5)
    assert share((insensitive(points, 1.222) for points in found), 'holds') >= 0.95


def test_a_sweep_that_loses_a_third_at_its_end_is_found_to_degrade():
    found = simulated([50.0, 90.0, 150.0, 150.0, 150.0, 100.0], 0.05, TEN, 200, 6)
    assert share((does_not_degrade(points, 1.222) for points in found), 'fails') >= 0.95
    assert share((plateaus(points, 1.222) for points in found), 'fails') >= 0.95


def test_a_sweep_that_saturates_is_found_to_plateau():
    found = simulated([20.0, 40.0, 80.0, 100.0, 101.0, 100.0], 0.05, TEN, 200, 7)
    assert share((does_not_degrade(points, 1.222) for points in found), 'holds') >= 0.95
    assert share((plateaus(points, 1.222) for points in found), 'holds') >= 0.95


def test_a_flat_sweep_is_seldom_judged_to_degrade():
    found = simulated([100.0] * 8, 0.10, TEN, 300, 8)
    assert share((does_not_degrade(points, 1.105) for points in found), 'fails') <= 0.05
    assert share((plateaus(points, 1.105) for points in found), 'fails') <= 0.05


def test_a_sweep_that_halves_is_found_to_fall():
    found = simulated(np.geomspace(100.0, 50.0, 11), 0.05, TEN, 200, 9)
    assert share((falls_with(points, 'objects') for points in found), 'holds') >= 0.95


def test_a_flat_sweep_is_seldom_judged_to_fall():
    found = simulated([100.0] * 11, 0.10, TEN, 300, 10)
    assert share((falls_with(points, 'objects') for points in found), 'holds') <= 0.05


def test_a_sweep_that_falls_slowly_is_seldom_judged_not_to():
    found = simulated(np.geomspace(100.0, 95.0, 11), 0.10, TEN, 300, 11)
    assert share((falls_with(points, 'objects') for points in found), 'fails') <= 0.05


@pytest.mark.parametrize('rule', [None, TEN, FIVE], ids=['six samples', 'stopped at 10 %', 'stopped at 5 %'])
def test_the_interval_of_a_ratio_covers_it(rule):
    found = simulated([120.0, 100.0], 0.08, rule, 2000, 12)
    relations = [at_least(points['point 0'], points['point 1'], 1.05) for points in found]
    covered = np.mean([relation.low <= 1.2 <= relation.high for relation in relations])
    assert covered >= 0.88 - 3 * (0.88 * 0.12 / 2000) ** 0.5


def test_a_fifth_more_is_found():
    found = simulated([120.0, 100.0], 0.05, TEN, 300, 13)
    relations = [at_least(points['point 0'], points['point 1'], 1.05) for points in found]
    assert share(relations, 'holds') >= 0.95
