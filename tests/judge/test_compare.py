"""Sessions before and after: what is better, worse, the same or undecided."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seatrial.judge.compare import BETTER, SAME, WORSE, Series, compared
from seatrial.judge.relations import UNDECIDED
from seatrial.model.metric import LOWER


def sessions(name, means, spread=0.001, repetitions=6):
    """A session of each mean; its repetitions lie evenly around it."""
    steps = [spread * (number - (repetitions - 1) / 2) for number in range(repetitions)]
    return {f'{name}{number}': [mean * (1 + step) for step in steps] for number, mean in enumerate(means)}


def series(before, after, group='scratch: data write', **others):
    return Series(group, sessions('a', before), sessions('b', after), **others)


def one(before, after, effect=0.05, **others):
    return compared([series(before, after, **others)], effect)[1][0]


NIGHTS = [100.0, 101.0, 99.0, 100.5, 99.5]
SLOWER = [0.9 * value for value in NIGHTS]


@pytest.mark.parametrize(
    ('before', 'after', 'given', 'verdict'),
    [
        (NIGHTS, NIGHTS[::-1], {}, SAME),
        (NIGHTS, SLOWER, {}, WORSE),
        (NIGHTS, SLOWER, {'better': LOWER}, BETTER),
        (NIGHTS, [0.98 * value for value in NIGHTS], {'effect': 0.05}, SAME),  # surely, but too little to matter
        (NIGHTS, [0.98 * value for value in NIGHTS], {'effect': 0.01}, WORSE),
        ([80.0, 100.0, 120.0], [70.0, 90.0, 110.0], {}, UNDECIDED),
        ([100.0, 103.0, 97.0, 101.0, 99.0], [94.0], {}, UNDECIDED),  # one session, and the spread of those before
        ([100.0, 103.0, 97.0, 101.0, 99.0], [70.0], {}, WORSE),
    ],
)
def test_what_differs_more_than_nights_do_and_enough_to_matter_is_another_figure(before, after, given, verdict):
    assert one(before, after, **given).verdict == verdict


def test_no_effect_and_a_metric_of_one_side_alone_are_refused():
    with pytest.raises(ValueError, match='above 0'):
        one(NIGHTS, NIGHTS, 0.0)
    with pytest.raises(ValueError, match='both sides'):
        compared([Series('g', {'a': [1.0]}, {})])


def test_the_interval_is_students_for_two_groups_of_sessions():
    after = SLOWER[:3]
    result = one(NIGHTS, after)
    logs = [[math.log(value) for value in side] for side in (NIGHTS, after)]
    wanted = stats.ttest_ind(logs[1], logs[0]).confidence_interval(0.95)
    assert (math.log(result.low), math.log(result.high)) == pytest.approx((wanted.low, wanted.high))
    assert result.chance == pytest.approx(stats.ttest_ind(logs[1], logs[0]).pvalue)
    assert result.between and result.sessions == (5, 3)


def paired(before, after):
    """Of two sides of rounds, the second of which may lack some."""
    rounds = Series('scratch: data write', sessions('round', before), sessions('round', after))
    return compared([rounds], paired=True)[1][0]


def test_the_interval_of_pairs_is_students_for_the_differences_within_rounds():
    before, after = [100.0, 50.0, 25.0, 12.5], [91.0, 45.0, 22.3, 11.3]
    logs = [[math.log(value) for value in side] for side in (before, after)]
    wanted, result = stats.ttest_rel(logs[1], logs[0]), paired(before, after)
    interval = wanted.confidence_interval(0.95)
    assert (math.log(result.low), math.log(result.high)) == pytest.approx((interval.low, interval.high))
    assert (result.verdict, result.chance) == (WORSE, pytest.approx(wanted.pvalue))


def test_a_round_of_one_side_alone_is_no_pair_and_one_round_decides_nothing():
    assert paired([100.0, 50.0, 25.0], [100.1, 50.0]).sessions == (2, 2)
    assert paired([100.0], [10.0]).verdict == UNDECIDED


def test_one_session_a_side_has_an_interval_of_three_repetitions_or_more_and_decides_nothing():
    for after in (100.2, 50.0):
        result = one([100.0], [after])
        assert (result.verdict, result.between, result.chance) == (UNDECIDED, False, None)
        assert result.low < after / 100 < result.high
    result = compared([Series('g', {'a': [100.0, 101.0]}, {'b': [50.0, 51.0]})])[1][0]
    assert (result.verdict, result.low, result.high, result.chance) == (UNDECIDED, None, None, None)


def test_a_count_is_another_one_however_little_it_differs():
    def counted(before, after):
        return compared([Series('g', {'a': [before] * 2}, {'b': [after] * 2}, counts=True)])

    families, (result,) = counted(40.0, 39.0)
    assert (families, result.verdict) == ({}, WORSE)
    assert counted(40.0, 40.0)[1][0].verdict == SAME
    varied = Series('g', {'a': [40.0, 39.0]}, {'b': [39.0]}, counts=True)
    assert compared([varied])[1][0].verdict == UNDECIDED


def family(*members):
    """The change of the family of these series."""
    return compared(members)[0]['scratch: data write']


def test_a_family_finds_what_none_of_its_metrics_shows():
    rng = random.Random(4)

    def noisy(mean):
        return [mean * math.exp(rng.gauss(0, 0.03)) for _ in range(4)]

    families, metrics = compared([series(noisy(100), noisy(95)) for _ in range(20)])
    assert families['scratch: data write'].verdict == WORSE
    assert sum(metric.verdict == WORSE for metric in metrics) < 10


def test_what_moves_a_whole_family_in_one_night_widens_its_interval():
    nights = [96.0, 104.0, 100.0]
    alike, alone = family(*20 * [series(nights, nights)]), one(nights, nights)
    assert (alike.low, alike.high) == pytest.approx((alone.low, alone.high))


def test_a_family_is_how_good_it_is_whatever_the_direction_of_its_metrics():
    faster = [1.2 * value for value in NIGHTS]
    result = family(series(NIGHTS, faster), series(faster, NIGHTS, better=LOWER))
    assert (result.verdict, result.ratio) == (BETTER, pytest.approx(1.2))


def test_neither_a_tail_latency_nor_a_session_without_one_of_its_metrics_shifts_a_family():
    tail = series(NIGHTS, [2 * value for value in NIGHTS], better=LOWER, steers=False)
    assert family(series(NIGHTS, NIGHTS), tail).ratio == pytest.approx(1.0)
    small = series([1.0, 1.01, 0.99], [1.0, 0.99])
    assert family(series(NIGHTS, NIGHTS), small).ratio == pytest.approx(1.0, abs=0.005)


def test_of_many_metrics_and_families_one_that_looks_changed_by_chance_is_not_named():
    looks = series([100.0, 101.0, 99.0], [96.5, 97.5, 95.5], group='a')
    others = [series(NIGHTS, NIGHTS, group=str(number)) for number in range(60)]
    families, metrics = compared([looks], 0.01)
    assert families['a'].verdict == metrics[0].verdict == WORSE
    families, metrics = compared([looks, *others], 0.01)
    assert families['a'].verdict == metrics[0].verdict == UNDECIDED


FIGURES = st.lists(st.floats(50.0, 200.0), min_size=1, max_size=6)
OPPOSITE = {BETTER: WORSE, WORSE: BETTER, SAME: SAME, UNDECIDED: UNDECIDED}


@given(FIGURES, FIGURES)
def test_exchanging_the_sides_turns_every_word_round(before, after):
    result, turned = one(before, after), one(after, before)
    assert turned.verdict == OPPOSITE[result.verdict]
    assert turned.ratio == pytest.approx(1 / result.ratio)
    assert (turned.low, turned.high) == pytest.approx((1 / result.high, 1 / result.low))


@given(FIGURES, FIGURES, st.floats(1e-9, 1e9))
def test_the_unit_does_not_matter(before, after, times):
    result, scaled = one(before, after), one([times * value for value in before], [times * value for value in after])
    assert scaled.ratio == pytest.approx(result.ratio)
    assert (scaled.low, scaled.high) == pytest.approx((result.low, result.high))
