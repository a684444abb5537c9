import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seatrial.judge.statistics import (
    MAX_CORRELATION,
    binomial_tail,
    correlation_of,
    fairness,
    quantile,
    quantile_interval,
    samples_for,
    slow_launches,
    student_interval,
    summary,
    verdict_interval,
    widening,
)
from seatrial.model.metric import LOWER
from seatrial.rules.stopping import Interval

VALUES = [98.0, 104.0, 101.0, 95.0, 99.0, 103.0]

rates = st.floats(1.0, 1e6)


def test_a_summary_has_the_usual_statistics():
    stats = summary(VALUES)
    assert (stats.n, stats.mean, stats.median, stats.minimum, stats.maximum) == (6, 100.0, 100.0, 95.0, 104.0)
    assert (stats.stdev, stats.cv) == pytest.approx((statistics.stdev(VALUES), statistics.stdev(VALUES) / 100))
    assert summary([-value for value in VALUES]).cv == stats.cv and summary([-1.0, 1.0]).cv is None
    assert summary(VALUES, 0.95).interval == verdict_interval(VALUES, 0.95)


@given(st.lists(rates, min_size=1, max_size=30), st.floats(0.0, 1.0))
def test_the_quantiles_are_those_of_numpy(values, share):
    stats = summary(values)
    assert (stats.p5, stats.p25, stats.p75, stats.p95) == pytest.approx(np.quantile(values, (0.05, 0.25, 0.75, 0.95)))
    assert quantile(sorted(values), share) == pytest.approx(np.quantile(values, share))


@given(st.lists(rates, min_size=1, max_size=30))
def test_the_interval_of_a_verdict_gives_up_a_degree_of_freedom(values):
    n, mean = len(values), statistics.fmean(values)
    half_width = stats.t.ppf(0.95, n - 2) * stats.sem(values) if n > 2 else math.inf
    expected = pytest.approx(mean), pytest.approx(half_width, abs=1e-9 * mean)
    assert student_interval(values) == Interval(*expected, n, 0.90)


def test_the_interval_of_a_mean_is_by_its_logarithm_and_no_end_is_negative():
    result = verdict_interval(VALUES)
    ends = [math.exp(way * student_interval(VALUES).half_width / 100.0) for way in (-1, 1)]
    assert (result.low, result.high) == pytest.approx((100.0 * ends[0], 100.0 * ends[1]))
    for wild in ([1.0, 100.0, 10000.0], [0.0, 0.0, 3.0]):
        wide = verdict_interval(wild)
        assert student_interval(wild).low < 0.0 <= wide.low < wide.mean < wide.high
    assert (verdict_interval([0.0] * 6).low, verdict_interval([0.0] * 6).high) == (0.0, 0.0)


def test_one_value_has_no_spread_and_equal_values_an_interval_without_width():
    stats = summary([7.0])
    assert (stats.stdev, stats.cv, stats.lag1, stats.drifting) == (None, None, None, False)
    assert (stats.interval.low, stats.interval.high) == (0.0, math.inf)
    assert (stats.p5, stats.p95) == (7.0, 7.0)
    stats = summary([7.0] * 6)
    assert (stats.stdev, stats.interval.log_half_width, stats.lag1, stats.drifting) == (0.0, 0.0, None, False)


def test_the_autocorrelation_is_of_neighbours_and_a_series_that_climbs_is_drifting():
    assert summary([1.0, 2.0, 1.0, 2.0, 1.0, 2.0]).lag1 == pytest.approx(-5 / 6)
    assert summary([float(value) for value in range(100, 112)]).drifting
    assert not summary([100.0, 110.0] * 6).drifting


def autoregression(correlation, series, n, seed=1):
    """Normal series whose neighbours correlate so."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((series, n))
    values[:, 1:] *= math.sqrt(1 - correlation**2)
    for place in range(1, n):
        values[:, place] += correlation * values[:, place - 1]
    return [[100 + 5 * value for value in row] for row in values.tolist()]


@pytest.mark.parametrize('correlation', [0.2, 0.5])
def test_the_correlation_of_many_short_series_is_the_true_one(correlation):
    assert correlation_of(autoregression(correlation, 2000, 12)) == pytest.approx(correlation, abs=0.05)


def test_series_of_any_lengths_and_units_are_of_one_case():
    series = autoregression(0.5, 300, 10) + [[1e6 * value for value in row] for row in autoregression(0.5, 300, 20)]
    assert correlation_of([*series, [7.0] * 6, [1.0, 2.0]]) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize('series', [[], 5 * [[1.0, 2.0, 3.0, 4.0, 5.0]], 5 * [[7.0] * 6], 4 * [[*range(6)]]])
def test_series_that_say_nothing_have_no_correlation(series):
    assert correlation_of(series) == 0.0


@given(st.floats(0.01, MAX_CORRELATION), st.integers(3, 30))
def test_the_widening_is_what_correlation_does_to_the_mean_over_what_it_does_to_the_spread(correlation, n):
    matrix = correlation ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    of_mean = matrix.sum() / n
    of_spread = (np.trace(matrix) - of_mean) / (n - 1)
    assert widening(correlation, n) == pytest.approx(math.sqrt(of_mean / of_spread))


def test_the_interval_of_a_verdict_is_wider_by_the_correlation():
    assert widening(0.0, 6) == 1.0
    plain, wide = verdict_interval(VALUES), verdict_interval(VALUES, correlation=0.5)
    assert wide.log_half_width == pytest.approx(plain.log_half_width * widening(0.5, 6))
    assert summary(VALUES, correlation=0.5).interval == wide


@given(st.integers(1, 60), st.sampled_from([0.1, 0.5, 0.9]))
def test_the_ends_of_the_interval_for_a_quantile_are_the_closest_that_are_beyond_it_too_seldom(n, share):
    low, high = quantile_interval([float(rank) for rank in range(n, 0, -1)], share)
    # Of n values so many lie below the quantile; an end at rank r is above it if fewer than r do.
    below = stats.binom(n, share)
    rank = 0 if low == -math.inf else int(low)
    assert (below.cdf(rank - 1) if rank else 0.0) <= 0.05 < below.cdf(rank)
    rank = n + 1 if high == math.inf else int(high)
    assert below.sf(rank - 1) <= 0.05 < below.sf(rank - 2)


@pytest.mark.parametrize(('share', 'needed'), [(0.1, 29), (0.5, 5), (0.9, 29)])
def test_from_so_many_samples_on_the_interval_for_a_quantile_has_two_ends(share, needed):
    assert samples_for(share) == needed
    ends = [quantile_interval([1.0] * n, share) for n in (needed - 1, needed)]
    assert [all(map(math.isfinite, end)) for end in ends] == [False, True]


@given(st.integers(0, 40), st.floats(0.0, 1.0), st.integers(0, 40))
def test_the_binomial_tail_is_that_of_scipy(n, share, least):
    assert binomial_tail(n, share, least) == pytest.approx(stats.binom.sf(least - 1, n, share), abs=1e-9)


def test_a_launch_is_slow_if_it_is_a_quarter_worse_than_the_median():
    assert slow_launches([100.0, 100.0, 100.0, 100.0, 76.0, 74.0, 10.0]) == 2
    assert slow_launches([1.0, 1.0, 1.0, 1.0, 1.3, 1.34, 0.1], LOWER) == 1


@pytest.mark.parametrize(
    ('bytes_moved', 'seconds', 'figures'),
    [
        ([100] * 4, [2.0] * 4, {'time_ratio': 1.0, 'mean_ratio': 1.0, 'time_cv': 0.0, 'jain': 1.0}),
        ([100], [2.0], {'tasks': 1, 'time_ratio': 1.0, 'mean_ratio': 1.0, 'time_cv': 0.0, 'jain': 1.0}),
        ([100] * 3, [1.0, 1.5, 2.0], {'time_ratio': 2.0, 'mean_ratio': 1.5}),
        ([100, 100], [1.0, 3.0], {'time_cv': 0.5}),  # of all tasks that there are
        ([100, 100, 100, 0], [1.0] * 4, {'jain': 3 / 4}),  # the share of tasks that were served
    ],
)
def test_fairness_is_told_by_times_and_by_throughputs(bytes_moved, seconds, figures):
    evenness = fairness(bytes_moved, seconds)
    assert {name: getattr(evenness, name) for name in figures} == pytest.approx(figures)


@given(st.lists(st.tuples(st.integers(0, 10**12), st.floats(0.01, 1e4)), min_size=1, max_size=64))
def test_the_index_is_that_of_the_throughputs(tasks):
    bytes_moved, seconds = zip(*tasks, strict=True)
    if any(bytes_moved):
        rates = np.array(bytes_moved) / np.array(seconds)
        expected = 1 / (1 + np.var(rates) / np.mean(rates) ** 2)
        assert fairness(bytes_moved, seconds).jain == pytest.approx(expected)


@pytest.mark.parametrize(
    ('bytes_moved', 'seconds'),
    [([], []), ([1, 2], [1.0]), ([1, 2], [1.0, 0.0]), ([0, 0], [1.0, 1.0]), ([-1, 5], [1.0, 1.0])],
)
def test_fairness_of_nothing_measured_is_refused(bytes_moved, seconds):
    with pytest.raises(ValueError, match='fairness needs'):
        fairness(bytes_moved, seconds)
