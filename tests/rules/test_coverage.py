"""What docs/statistics.md promises of the interval, measured again on a smaller scale with the same program."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from seatrial.model.plan import StoppingRule

SPEC = importlib.util.spec_from_file_location(
    'coverage_benchmark', Path(__file__).parents[2] / 'benchmarks' / 'coverage.py'
)
benchmark = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(benchmark)

COUNT = 4000


def standard_error(share):
    return (share * (1 - share) / COUNT) ** 0.5


@pytest.mark.parametrize('error', [0.10, 0.05])
@pytest.mark.parametrize('noise', [0.02, 0.05, 0.08])
def test_the_interval_of_a_stopped_normal_point_covers_its_mean(noise, error):
    found = benchmark.coverage(benchmark.normal, noise, StoppingRule(error), COUNT, np.random.default_rng(1))
    assert found.covered >= 0.88 - 3 * standard_error(0.88)


@pytest.mark.parametrize('series', ['lognormal', 'gamma'])
def test_skewed_noise_is_covered_as_well(series):
    found = benchmark.coverage(benchmark.SERIES[series], 0.08, StoppingRule(0.10), COUNT, np.random.default_rng(2))
    assert found.covered >= 0.88 - 3 * standard_error(0.88)


def test_samples_that_depend_on_each_other_are_covered_much_less():
    series = benchmark.SERIES['AR(1) 0.6']
    found = benchmark.coverage(series, 0.05, StoppingRule(0.10), COUNT, np.random.default_rng(3))
    assert found.covered < 0.75


@pytest.mark.parametrize('error', [0.10, 0.05])
@pytest.mark.parametrize('noise', [0.03, 0.08, 0.12, 0.25])
def test_the_array_version_stops_where_the_rule_does(noise, error):
    rule = StoppingRule(error)
    values = benchmark.normal(np.random.default_rng(5), (150, rule.maximum + rule.extra), noise)
    benchmark.check_against_the_rule(values, rule, benchmark.stopped(values, rule), np.arange(150))


def test_the_comparison_with_the_rule_notices_a_difference():
    rule = StoppingRule(0.10)
    values = benchmark.normal(np.random.default_rng(6), (20, rule.maximum + rule.extra), 0.10)
    wrong = benchmark.stopped(values, rule._replace(max_relative_error=0.02))
    with pytest.raises(AssertionError):
        benchmark.check_against_the_rule(values, rule, wrong, np.arange(20))
