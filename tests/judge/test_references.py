"""References: the interval decides, the point stands beside it, and both agree with what ReFrame would say."""

import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reframe.utility.sanity import reference_bounds
from scipy import stats

from seatrial.judge.references import EQUAL, LEVEL, Reference, baseline_of, judge_reference
from seatrial.judge.statistics import verdict_interval
from seatrial.model.units import MIB, in_base

CONTRACT = Reference('read@16MiB', 100.0 * MIB, -0.1, None, 'MiB/s', 'contract', '2026-11-20')
BASELINE = Reference('read@16MiB', 100.0 * MIB, -0.1, 0.2, 'MiB/s', 'baseline', '2026-11-20', 'ior')
OF_SESSIONS = replace(BASELINE, of_sessions=True)

fractions = st.none() | st.floats(0.0, 0.9)
bounded = st.tuples(st.floats(1.0, 1e6), fractions, fractions).filter(lambda drawn: drawn[1:] != (None, None))


def made(parts):
    value, low, high = parts
    return Reference('m', value, None if low is None else -low, high, 'MiB/s', 'baseline', '2026-11-20')


@pytest.mark.parametrize(
    ('reference', 'mean', 'engine', 'point', 'interval', 'ends'),
    [
        (CONTRACT, 100.0, 'fio', 'inside', 'inside', '100 is inside, and so is its 90 % interval 99.328 to 100.68'),
        (CONTRACT, 100.0, 'dd', 'inside', 'inside', ''),  # it is for every engine
        (CONTRACT, 80.0, 'fio', 'outside', 'outside', ''),
        (CONTRACT, 90.2, 'fio', 'inside', 'undecided', 'crosses the bound'),
        (CONTRACT, 89.8, 'fio', 'outside', 'undecided', 'crosses the bound'),
        (CONTRACT, 130.0, 'ior', 'inside', 'inside', ''),
        (BASELINE, 130.0, 'ior', 'outside', 'outside', ''),
        (BASELINE, 50.0, 'fio', 'outside', 'undecided', ''),  # which is of another engine
        (replace(CONTRACT, engine='ior'), 100.0, 'fio', 'inside', 'undecided', ''),
        # in the bounds of sessions the noise of repetitions counts once
        (BASELINE, 90.2, 'ior', 'inside', 'undecided', 'crosses the bound'),
        (OF_SESSIONS, 90.2, 'ior', 'inside', 'inside', 'sessions differ; its 90 % interval 89.594 to 90.81'),
        (OF_SESSIONS, 89.8, 'ior', 'outside', 'undecided', 'crosses the bound'),
        (OF_SESSIONS, 80.0, 'ior', 'outside', 'outside', ''),
    ],
)
def test_the_interval_decides_and_the_mean_stands_beside_it(around, reference, mean, engine, point, interval, ends):
    result = judge_reference(reference, around(mean), engine)
    assert (result.point, result.interval) == (point, interval)
    assert result.words.endswith(ends)
    assert ('wanted 90 to 120 MiB/s' if reference.high else 'wanted at least 90 MiB/s') in result.words


def test_bounds_for_the_mean_of_a_session_decide_no_other_statistic():
    values = [100.0 * MIB] * 20 + [80.0 * MIB] * 2
    for reference in (BASELINE, OF_SESSIONS):
        quantile = replace(reference, statistic='p10')
        result = judge_reference(quantile, values, 'ior')
        assert (result.point, result.interval) == ('inside', 'undecided')


@pytest.mark.parametrize(
    ('count', 'doubt', 'point', 'why'),
    [
        (6, 'the reads were cached', 'outside', 'the reads were cached'),
        (2, '', 'outside', '2 samples are fewer than the 3 '),
        (0, '', '', 'it was not measured'),
    ],
)
def test_what_is_doubted_or_measured_too_seldom_decides_nothing(around, count, doubt, point, why):
    result = judge_reference(CONTRACT, around(50.0)[:count], 'fio', doubt=doubt)
    assert (result.point, result.interval, why in result.words) == (point, 'undecided', True)
    assert (result.margin is None) == (count == 0)


def test_a_reference_that_nothing_can_fail_is_none():
    with pytest.raises(ValueError, match='a lower or an upper bound'):
        Reference('m', 100.0, None, None, 'MiB/s', 'contract', '2026-11-20')


@given(bounded)
def test_the_bounds_are_those_of_reframe(parts):
    reference = made(parts)
    low, high = reference_bounds(reference.value, reference.low, reference.high)
    result = judge_reference(reference, [1.0] * 6, 'fio')
    assert (low if result.low is None else result.low, high if result.high is None else result.high) == (low, high)


@given(bounded, st.lists(st.floats(1.0, 1e6), min_size=1, max_size=12))
def test_what_the_interval_decides_the_mean_never_contradicts(parts, values):
    """So plain ReFrame, which compares means, passes nothing that fails here."""
    result = judge_reference(made(parts), values, 'fio')
    if result.interval in ('inside', 'outside'):
        assert result.point == result.interval


@given(bounded, st.floats(1.0, 1e6), st.floats(0.0, 0.5))
def test_the_three_outcomes_are_what_the_interval_does(parts, mean, spread):
    values = [mean * (1 + spread * step) for step in (-1, 0.5, -0.5, 0.5, -0.5, 1)]
    result, interval = judge_reference(made(parts), values, 'fio'), verdict_interval(values)
    low = 0.0 if result.low is None else result.low
    high = float('inf') if result.high is None else result.high
    assume(low < high)
    beyond = interval.high < low * (1 - EQUAL) or interval.low > high * (1 + EQUAL)
    within = (result.low is None or interval.low >= low * (1 - EQUAL)) and interval.high <= high * (1 + EQUAL)
    assert result.interval == ('outside' if beyond else 'inside' if within else 'undecided')


@pytest.mark.parametrize(
    ('value', 'mean', 'bound', 'shown'),
    [(1000.0, 949.996, '950', '949.996'), (2.5e6, 2374999.7, '2375000', '2374999.7')],
)
def test_a_figure_never_looks_like_a_bound_that_it_is_not(value, mean, bound, shown):
    reference = Reference('m', value * MIB, -0.05, None, 'MiB/s', 'contract', '2026-11-20')
    words = f'wanted at least {bound} MiB/s (contract of 2026-11-20): the mean {shown} is outside'
    assert judge_reference(reference, [mean * MIB] * 6, 'fio').words.startswith(words)


def test_a_figure_that_is_the_bound_meets_it():
    reference = Reference('m', 1000.0, -0.7, None, '', 'contract', '2026-11-20')
    assert 1000.0 * (1 - 0.7) > 300.0
    assert judge_reference(reference, [300.0] * 6, 'fio').interval == 'inside'


@pytest.mark.parametrize(('promised', 'interval'), [(96.0, 'inside'), (97.5, 'undecided'), (105.0, 'outside')])
def test_of_a_series_that_drifts_every_sample_has_to_lie_where_its_interval_does(promised, interval):
    reference = Reference('m', promised, -0.0, 9.0, 'MiB/s', 'contract', '2026-11-20')
    drifting = [103.0, 102.0, 101.0, 99.0, 98.0, 97.0]
    assert judge_reference(reference, drifting, 'fio', drifting=True).interval == interval
    assert judge_reference(reference, drifting, 'fio').interval == ('inside' if promised < 99 else interval)


# Other statistics than the mean

RANK = ['inside', 'undecided', 'outside']


def of(statistic, low=-0.1, high=None):
    return Reference('m', 100.0, low, high, 'B/s', 'contract', '2026-11-20', statistic=statistic)


ONE_SLOW = [100.0] * 28 + [50.0]


@pytest.mark.parametrize(
    ('statistic', 'values', 'interval'),
    [
        ('mean', ONE_SLOW, 'inside'),
        ('median', ONE_SLOW, 'inside'),
        ('p10', ONE_SLOW, 'undecided'),
        ('minimum', ONE_SLOW, 'outside'),
        ('p10', [100.0] * 29, 'inside'),
        ('p10', [100.0] * 28, 'undecided'),
        ('p10', [100.0] * 22 + [50.0] * 7, 'outside'),
        ('median', [100.0] * 12 + [50.0] * 17, 'undecided'),
        ('median', [100.0] * 9 + [50.0] * 20, 'outside'),
        ('minimum', [100.0] * 6, 'inside'),
        ('minimum', [100.0] * 2, 'undecided'),
    ],
)
def test_a_reference_may_be_for_another_statistic_than_the_mean(statistic, values, interval):
    assert judge_reference(of(statistic), values, '').interval == interval
    upper = {'p10': 'p90', 'minimum': 'maximum'}.get(statistic, statistic)
    assert judge_reference(of(upper, None, 0.1), [200.0 - value for value in values], '').interval == interval


@pytest.mark.parametrize(
    ('reference', 'values', 'ends'),
    [
        (of('minimum'), [100.0] * 5 + [50.0], 'the minimum 50 is outside (6 launches)'),
        (of('p10'), [100.0] * 17 + [50.0] * 6, 'its 90 % interval, which ends at 50'),
        (of('p90', None, 0.1), [100.0] * 17 + [150.0] * 6, 'its 90 % interval, which begins at 150'),
        (of('p10'), [100.0] * 20, 'but 20 samples cannot show it: a p10 needs 29'),
    ],
)
def test_what_is_known_of_another_statistic_is_said(reference, values, ends):
    assert judge_reference(reference, values, '').words.endswith(ends)


@pytest.mark.parametrize(('value', 'interval'), [(95.0, 'inside'), (90.5, 'undecided'), (80.0, 'outside')])
def test_a_single_launch_is_only_as_exact_as_its_clocks(value, interval):
    result = judge_reference(of('minimum'), [100.0] * 5 + [value], '', clock_error=0.01)
    assert result.interval == interval


values_of_a_point = st.lists(st.floats(50.0, 150.0), min_size=1, max_size=40)
statistics_of_it = st.sampled_from(['mean', 'median', 'p10', 'minimum'])


@given(values_of_a_point, statistics_of_it, st.floats(0.1, 1.0), st.floats(0.0, 0.7), st.sampled_from([0.05, 1e-4]))
def test_a_system_that_is_slower_throughout_never_looks_better(values, statistic, factor, correlation, level):
    def judged(result):
        return judge_reference(of(statistic), result, '', correlation=correlation, level=level)

    before, after = judged(values), judged([factor * value for value in values])
    assert RANK.index(after.interval) >= RANK.index(before.interval)
    if before.chance is not None and after.chance is not None:
        assert after.chance <= before.chance + 1e-12


@given(values_of_a_point, st.sampled_from(['median', 'p10', 'minimum']), st.data())
def test_one_launch_that_is_slower_never_makes_a_quantile_look_better(values, statistic, data):
    place = data.draw(st.integers(0, len(values) - 1))
    slower = [*values[:place], values[place] * data.draw(st.floats(0.1, 1.0)), *values[place + 1 :]]
    before, after = (judge_reference(of(statistic), series, '').interval for series in (values, slower))
    assert RANK.index(after) >= RANK.index(before)


# What chance does


@given(st.lists(st.floats(50.0, 85.0), min_size=6, max_size=20, unique=True), st.floats(0.0, 0.05))
def test_the_chance_of_a_mean_is_that_of_students_t_with_one_degree_of_freedom_less(values, clock_error):
    result = judge_reference(of('mean'), values, '', clock_error=clock_error)
    assume(result.interval == 'outside')
    t = np.log(90.0 / (1 + clock_error) / np.mean(values)) * np.mean(values) / stats.sem(values)
    assert result.chance == pytest.approx(stats.t.sf(t, len(values) - 2), abs=1e-9)


@pytest.mark.parametrize(
    ('statistic', 'values', 'share', 'beyond'),
    [('p10', [100.0] * 22 + [50.0] * 7, 0.1, 7), ('median', [100.0] * 9 + [50.0] * 20, 0.5, 20)],
)
def test_the_chance_of_a_quantile_is_the_binomial_of_the_launches_beyond_its_bound(statistic, values, share, beyond):
    expected = pytest.approx(stats.binom.sf(beyond - 1, len(values), share))
    assert judge_reference(of(statistic), values, '').chance == expected
    mirrored = of('p90' if statistic == 'p10' else statistic, None, 0.1)
    assert judge_reference(mirrored, [200 - value for value in values], '').chance == expected


@given(st.lists(st.floats(50.0, 120.0), min_size=6, max_size=40), st.sampled_from(['mean', 'median', 'p10']))
def test_outside_is_a_chance_of_at_most_five_per_cent(values, statistic):
    result = judge_reference(of(statistic), values, '')
    assert (result.interval == 'outside') == (result.chance is not None)
    assert result.chance is None or result.chance <= LEVEL


@pytest.mark.parametrize(('mean', 'interval'), [(88.0, 'undecided'), (50.0, 'outside')])
def test_where_less_chance_is_allowed_only_what_is_far_outside_fails(around, mean, interval):
    values = around(mean, 0.02)
    assert judge_reference(CONTRACT, values, 'fio').interval == 'outside'
    result = judge_reference(CONTRACT, values, 'fio', level=0.001)
    assert result.interval == interval
    assert ('by chance' in result.words) == (interval == 'undecided')


# Units: values are in the base unit, sentences in that of the reference


@pytest.mark.parametrize(
    ('written', 'unit', 'mean', 'text'),
    [
        (500, 'GB/s', 460e9, 'at least 450 GB/s … 460 is inside'),
        (500, 'GB/s', 440e9, 'at least 450 GB/s … 440 is outside'),
        (1.5, 'GiB/s', 1400 * MIB, 'at least 1.35 GiB/s … 1.3672 is inside'),
        (8, 'Gbit/s', 950e6, 'at least 7.2 Gbit/s … 7.6 is inside'),
        (40, 'kop/s', 41000.0, 'at least 36 kop/s … 41 is inside'),
        (70, '%', 0.7, 'at least 63 % … 70 is inside'),
        (40, '', 40.0, 'at least 36 … 40 is inside'),
        (200_000, 'MiB/s', 250_000 * MIB, 'at least 180000 MiB/s … 250000 is inside'),
        # a latency has an upper bound alone
        (2, 'ms', 0.0018, 'at most 2.2 ms … 1.8 is inside'),
        (2, 'ms', 0.0025, 'at most 2.2 ms … 2.5 is outside'),
    ],
)
def test_figures_are_shown_in_the_unit_that_the_reference_was_written_in(written, unit, mean, text):
    bounds = (None, 0.1) if text.startswith('at most') else (-0.1, None)
    reference = Reference('m', in_base(written, unit).value, *bounds, unit, 'contract', '2026-11-20')
    result = judge_reference(reference, [mean] * 6, 'fio')
    words = text.replace(' … ', ' (contract of 2026-11-20): the mean ')
    assert (result.words.startswith(f'wanted {words}'), result.unit) == (True, unit), result.words
    assert words.endswith(f' is {result.interval}')


@pytest.mark.parametrize(('written', 'unit', 'same'), [(500, 'GB/s', 500e9), (2, 'ms', 0.002), (1, 'TiB/s', 2**40)])
def test_a_reference_in_any_unit_is_met_to_the_digit(written, unit, same):
    reference = Reference('m', in_base(written, unit).value, 0.0, 0.1, unit, 'contract', '2026-11-20')
    assert reference.value == same
    assert judge_reference(reference, [same] * 6, 'fio').interval == 'inside'
    assert judge_reference(reference, [same * (1 - 1e-6)] * 6, 'fio').interval == 'outside'


# Baselines


def test_a_baseline_is_the_mean_of_the_nights_and_both_spreads():
    baseline = baseline_of([[99.0, 101.0], [109.0, 111.0], [89.0, 91.0]], 1)
    assert baseline.value == 100.0
    assert baseline.within == pytest.approx(math.sqrt(2) / 100)
    assert baseline.between == pytest.approx(math.sqrt(10**2 - 2 / 2) / 100)


def test_its_width_is_the_prediction_interval_for_one_more_night():
    baseline = baseline_of([[99.0], [110.0], [91.0], [100.0]], 10)
    means = (99.0, 110.0, 91.0, 100.0)
    t = stats.t.ppf(1 - 0.05 / 10 / 2, 3)
    assert baseline.width == pytest.approx(t * statistics.stdev(means) * math.sqrt(1 + 1 / 4) / 100)
    with pytest.raises(ValueError, match='one session'):
        baseline_of([[1.0, 2.0]], 1)


@pytest.mark.parametrize(
    ('reference', 'mean', 'margin'),
    [(CONTRACT, 99.0, 0.1), (CONTRACT, 45.0, -0.5), (BASELINE, 108.0, 0.1), (BASELINE, 132.0, -0.1)],
)
def test_the_margin_is_how_far_the_mean_is_on_the_right_side_of_the_nearer_bound(around, reference, mean, margin):
    assert judge_reference(reference, around(mean), 'ior').margin == pytest.approx(margin)
