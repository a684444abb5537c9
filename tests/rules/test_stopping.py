import importlib.util
import math
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seatrial.model.plan import StoppingRule
from seatrial.rules.stopping import Interval, State, expected_repetitions, state, t_interval, t_quantile, t_within

TEN, FIXED = StoppingRule(max_relative_error=0.10), StoppingRule(max_relative_error=0.10, minimum=3, fixed=True)
QUIET = [100.0, 101.0, 99.0, 100.0]
NOISY = [60.0, 140.0] * 20

rates = st.floats(1.0, 1e6)
# As many repetitions as any rule here allows, and some more: the tests ask after each of them.
series = st.lists(rates, min_size=26, max_size=26)
spread_series = st.tuples(st.floats(0.0, 0.4), st.lists(st.floats(-1.0, 1.0), min_size=26, max_size=26)).map(
    lambda drawn: [100.0 * (1 + drawn[0] * deviation) for deviation in drawn[1]]
)
partly_valid = st.lists(st.one_of(st.none(), st.floats(90.0, 110.0)), min_size=26, max_size=26)
rules = st.tuples(st.floats(0.01, 0.3), st.integers(0, 3)).map(lambda drawn: StoppingRule(drawn[0], extra=drawn[1]))


def states(values, rule):
    """The state after each number of these repetitions."""
    return [state({'read': values[:made]}, rule) for made in range(len(values) + 1)]


@pytest.mark.parametrize('confidence', [0.5, 0.501, 0.68, 0.8, 0.9, 0.95, 0.99, 0.9989, 0.99936])
def test_the_quantile_is_that_of_scipy(confidence):
    freedoms = range(1, 201)
    expected = stats.t.ppf((1 + confidence) / 2, freedoms)
    assert [t_quantile(confidence, df) for df in freedoms] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(('confidence', 'df'), [(0.0, 5), (1.0, 5), (0.9, 0), (0.9, 2.5), (math.nan, 5)])
def test_a_quantile_that_does_not_exist_is_refused(confidence, df):
    with pytest.raises(ValueError, match='no quantile of t'):
        t_quantile(confidence, df)


@given(st.lists(rates, min_size=1, max_size=30))
def test_the_interval_is_that_of_scipy_and_of_one_value_infinite(values):
    n, mean = len(values), statistics.fmean(values)
    half_width = float(stats.t.ppf(0.95, n - 1) * stats.sem(values)) if n > 1 else math.inf
    expected = pytest.approx(mean), pytest.approx(half_width, abs=1e-9 * mean)
    assert t_interval(values, 0.90) == Interval(*expected, n, 0.90)


@given(st.floats(0.0, 50.0), st.integers(1, 30))
def test_the_probability_within_is_that_of_students_t(t, df):
    assert t_within(t, df) == pytest.approx(1 - 2 * stats.t.sf(t, df), abs=1e-9)


@pytest.mark.parametrize(
    ('values', 'rule', 'expected'),
    [
        (QUIET[:3], TEN, State('more')),
        (QUIET, TEN, State('extra', '', 4, 2)),
        ([*QUIET, 500.0], TEN, State('extra', '', 4, 1)),
        ([*QUIET, 500.0, 1.0], TEN, State('done', 'converged', 4)),
        (QUIET, TEN._replace(extra=0), State('done', 'converged', 4)),
        (QUIET, TEN._replace(maximum=4), State('extra', '', 4, 2)),
        ([100.0, None, 101.0, 99.0], TEN, State('more')),
        ([100.0, None, 101.0, 99.0, 100.0], TEN, State('extra', '', 5, 2)),
        ([*QUIET, None, 100.0], TEN, State('extra', '', 4, 1)),
        ([-value for value in QUIET], TEN, State('extra', '', 4, 2)),  # the error is relative to the size of the mean
        ([-1.0, 1.0, -1.0, 1.0], TEN, State('more')),
        ([0.0, 0.0, 0.0, 0.0], TEN, State('extra', '', 4, 2)),
        (NOISY[:19], TEN, State('more')),
        (NOISY[:20], TEN, State('done', 'exhausted')),
        ([None] * 20, TEN, State('done', 'exhausted')),
        (QUIET + [None] * 17, TEN, State('extra', '', 4, 2)),
        (QUIET + [None] * 18, TEN, State('done', 'exhausted', 4)),
        ([*QUIET, *[None] * 18, 100.0, 100.0], TEN, State('done', 'exhausted', 4)),
        ([1.0, 900.0], FIXED, State('more')),
        ([1.0, 900.0, None], FIXED, State('done', 'fixed')),
    ],
)
def test_after_these_repetitions_a_point_is_in_this_state(values, rule, expected):
    assert state({'read': values}, rule) == expected


@pytest.mark.parametrize('values', [[], [1.0, math.nan], [1.0, math.inf]])
def test_an_interval_of_nothing_or_of_no_numbers_is_refused(values):
    with pytest.raises(ValueError, match='finite values'):
        t_interval(values, 0.90)


def test_a_repetition_counts_once_all_metrics_have_their_entry():
    assert state({'write': QUIET, 'read': QUIET[:2]}, FIXED) == State('more')
    assert state({'write': QUIET, 'read': QUIET[:3]}, FIXED) == State('done', 'fixed')


def test_a_point_without_metrics_is_refused():
    with pytest.raises(ValueError, match='without metrics'):
        state({}, TEN)


T_95 = [math.nan, *stats.t.ppf(0.95, range(1, 30))]
"""By the degrees of freedom."""


@given(spread_series, rules)
def test_it_converges_at_the_earliest_short_interval(values, rule):
    def short(count):
        half = T_95[count - 1] * statistics.stdev(values[:count]) / math.sqrt(count)
        return half - rule.max_relative_error * statistics.fmean(values[:count])

    margins = {count: short(count) for count in range(4, min(len(values), 20) + 1)}
    earliest = next((count for count, margin in margins.items() if margin <= 0), None)
    if all(abs(margin) > 1e-6 for margin in margins.values()):
        assert state({'read': values}, rule).converged_at == earliest


@given(st.one_of(series, spread_series, partly_valid), rules)
def test_no_point_stops_too_early_and_only_one_that_converged_goes_beyond_the_maximum(values, rule):
    after = states(values, rule)
    assert 'done' not in [early.action for early in after[: rule.minimum]]
    assert all(late.action == 'done' for late in after[rule.maximum + rule.extra :])
    assert all(late.converged_at is not None for late in after[rule.maximum :] if late.action != 'done')


@given(st.one_of(series, spread_series, partly_valid), rules)
def test_what_was_decided_is_not_taken_back(values, rule):
    order = ['more', 'extra', 'done']
    after = states(values, rule)
    made = [order.index(seen.action) for seen in after]
    assert made == sorted(made)
    assert len({seen for seen in after if seen.action == 'done'}) == 1


@given(st.one_of(series, spread_series), rules)
def test_exactly_the_extra_repetitions_follow_convergence(values, rule):
    after = states(values, rule)
    extra = sum(seen.action == 'extra' for seen in after)
    assert extra == (rule.extra if after[-1].reason == 'converged' else 0)


@given(spread_series, spread_series, rules)
def test_the_last_metric_to_converge_decides(write, read, rule):
    both = state({'write': write, 'read': read}, rule).converged_at
    alone = [state({'read': values}, rule).converged_at for values in (write, read)]
    assert both is None or (None not in alone and both >= max(alone))


# What statistics.md promises of the interval, measured again on a smaller scale with the same program

SPEC = importlib.util.spec_from_file_location(
    'coverage_benchmark', Path(__file__).parents[2] / 'benchmarks' / 'coverage.py'
)
benchmark = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(benchmark)

COUNT = 4000


@pytest.mark.parametrize(
    ('series', 'noise', 'error'),
    [
        *((benchmark.normal, noise, error) for noise in (0.02, 0.05, 0.08) for error in (0.10, 0.05)),
        *((benchmark.SERIES[name], 0.08, 0.10) for name in ('lognormal', 'gamma')),
    ],
)
def test_the_interval_of_a_stopped_point_covers_its_mean(series, noise, error):
    result = benchmark.coverage(series, noise, StoppingRule(error), COUNT, np.random.default_rng(1))
    assert result.covered >= 0.88 - 3 * (0.88 * (1 - 0.88) / COUNT) ** 0.5


def test_samples_that_depend_on_each_other_are_covered_much_less():
    series = benchmark.SERIES['AR(1) 0.6']
    result = benchmark.coverage(series, 0.05, StoppingRule(0.10), COUNT, np.random.default_rng(3))
    assert result.covered < 0.75


@pytest.mark.parametrize('between', [0.0, 0.2])
@pytest.mark.parametrize('noise', [0.02, 0.15, 0.38, 2.0])
def test_what_is_expected_of_a_scatter_is_what_values_that_scatter_so_come_to(noise, between):
    rule = TEN._replace(between=between)
    made = expected_repetitions(rule, noise)

    def scattered(number):
        """Values with exactly this standard deviation as a share of their mean."""
        values = np.array([(-1.0) ** index for index in range(number)])
        values = (values - values.mean()) / values.std(ddof=1)
        return [100.0 * (1 + noise * float(value)) for value in values]

    # Each number of repetitions has its own values: one of them ends the rule, and no smaller one does.
    ended = [n for n in range(rule.minimum, rule.maximum) if state({'rate': scattered(n)}, rule).action != 'more']
    assert made == (ended[0] + rule.extra if ended else rule.maximum)
