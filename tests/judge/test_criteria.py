"""The criteria of a contract: what several allocations come to."""

import math
import statistics
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.criteria import MET, MISSED, UNDECIDED, Attempt, Criterion, further_allocations, judge_contract
from seatrial.judge.statistics import CONFIDENCE, NOISE, half_width_between

BEGAN = datetime(2026, 11, 20, tzinfo=timezone.utc)
CRITERION = Criterion('1', 100.0)
HALF = Criterion('2', 0.5, of='1')
WORSE_TO_BETTER = (MISSED, UNDECIDED, MET)
# Of each allocation its repetitions.
SERIES = st.lists(st.lists(st.floats(1.0, 1000.0), min_size=6, max_size=8), min_size=1, max_size=4)


def attempt(*values, number=1, **fields):
    return Attempt(f's{number}', BEGAN, ('n1',), tuple(map(float, values)), **fields)


def attempts(*series, **fields):
    return [attempt(*values, number=number, **fields) for number, values in enumerate(series, 1)]


def around(value, by=1.0):
    """Six repetitions of this mean."""
    return [value - by, value + by] * 3


def judged(criterion, result, *others):
    return judge_contract([criterion, *others], {criterion.id: result})[criterion.id]


@pytest.mark.parametrize(
    ('least', 'value', 'verdict'),
    [
        *((True, 120, MET), (True, 80, MISSED), (True, 100.5, UNDECIDED), (True, 99.5, UNDECIDED)),
        *((False, 120, MISSED), (False, 80, MET)),
    ],
)
def test_the_interval_of_a_single_allocation_decides_and_of_a_latency_less_is_better(least, value, verdict):
    outcome = judged(replace(CRITERION, least=least), attempts(around(value, 5)))
    assert (outcome.verdict, outcome.margin) == (verdict, pytest.approx((value - 100) / (100 if least else -100)))


def test_of_several_allocations_the_scatter_between_them_decides():
    criterion = replace(CRITERION, allocations=3)
    far_apart = attempts(around(100, 0.1), around(110, 0.1), around(120, 0.1))
    together = attempts(around(109, 0.1), around(110, 0.1), around(111, 0.1))
    # z of 4 % is 1.751, and 30 % the noise taken: 109.7 / exp(1.751 x 0.3 / sqrt(3)) is 81.0.
    assert judged(criterion, far_apart).low == pytest.approx(81.0, abs=0.1)
    assert judged(criterion, far_apart).verdict == UNDECIDED
    # t of 1 % for 2 degrees of freedom is 6.965: 110 / exp(6.965 x 0.0091 / sqrt(3)) is 106.
    assert judged(criterion, together).low == pytest.approx(106.0, abs=0.1)
    assert judged(criterion, together).verdict == MET


def test_what_is_asked_anew_with_each_further_allocation_has_to_be_surer():
    three = attempts(around(101), around(103), around(105))
    planned, further = (judged(replace(CRITERION, allocations=number), three) for number in (3, 2))
    assert (planned.verdict, planned.confidence, further.confidence) == (UNDECIDED, 0.9, 0.95)
    assert further.low < planned.low
    # Another criterion has criterion for the third, and the contract counts the last ones whatever came before.
    for criterion in (replace(CRITERION, allocations=2, planned=3), replace(CRITERION, counts='last')):
        assert judged(criterion, three).confidence == 0.9


def test_of_a_percentage_both_are_asked_anew():
    result, others = attempts(around(80), around(81), around(82)), attempts(around(100), around(101))
    criterion = Criterion('2', 0.7, of='1', allocations=3)
    assert judge_contract([CRITERION, criterion], {'1': others, '2': result})['2'].confidence == 0.95


@given(SERIES, st.floats(1.0, 1000.0), st.floats(1.01, 3.0), st.sampled_from(['mean', 'median', 'minimum']))
def test_what_is_faster_is_judged_no_worse(series, bound, factor, statistic):
    criterion = replace(CRITERION, bound=bound, statistic=statistic)
    one = judged(criterion, attempts(*series)).verdict
    other = judged(criterion, attempts(*([factor * value for value in values] for values in series))).verdict
    assert WORSE_TO_BETTER.index(other) >= WORSE_TO_BETTER.index(one)


@given(SERIES, st.floats(1.0, 1000.0), st.sampled_from([0.125, 4.0, 1024.0]), st.booleans())
def test_the_unit_decides_nothing(series, bound, factor, least):
    criterion = replace(CRITERION, bound=bound, least=least)
    one = judged(criterion, attempts(*series))
    scaled = attempts(*([factor * value for value in values] for values in series))
    other = judged(replace(criterion, bound=factor * bound), scaled)
    assert (one.verdict, one.further) == (other.verdict, other.further)


@given(SERIES, st.floats(1.0, 1000.0), st.booleans())
def test_met_is_never_on_the_wrong_side_nor_missed_on_the_right_one(series, bound, least):
    outcome = judged(replace(CRITERION, bound=bound, least=least), attempts(*series))
    assert outcome.verdict != MET or outcome.margin >= 0
    assert outcome.verdict != MISSED or outcome.margin < 0


def test_fewer_allocations_than_the_contract_asks_for_are_undecided_and_say_how_many_are_missing():
    outcome = judged(replace(CRITERION, allocations=3), attempts(around(120)))
    assert (outcome.verdict, outcome.further) == (UNDECIDED, 2)
    assert '1 of 3 allocations valid' in outcome.why


def test_what_does_not_count_is_no_allocation():
    results = [*attempts(around(120)), attempt(*around(1), number=2, why_not='cached')]
    assert judged(CRITERION, results).figures == (pytest.approx(120),)
    nothing = judged(CRITERION, results[1:])
    assert (nothing.verdict, nothing.figure) == (UNDECIDED, None)
    assert 'cached' in nothing.why


@pytest.mark.parametrize(
    ('counts', 'least', 'sessions'),
    [
        ('all', True, ['s1', 's2', 's3', 's4']),
        ('last', True, ['s3', 's4']),
        ('best', True, ['s1', 's3']),
        ('best', False, ['s2', 's4']),
    ],
)
def test_the_last_or_the_best_allocations_count_where_the_contract_says_so(counts, least, sessions):
    four = attempts(around(120), around(80), around(121), around(79))
    criterion = replace(CRITERION, counts=counts, allocations=2, least=least)
    assert [attempt.session for attempt in judged(criterion, four).counted] == sessions


def test_a_failure_of_the_storage_is_a_miss_until_later_allocations_count_instead():
    failed = attempt(number=1, why_not='F1: EIO', failed=True)
    good = attempt(*around(120), number=2)
    assert judged(CRITERION, [failed, good]).verdict == MISSED
    assert judged(replace(CRITERION, counts='last'), [failed, good]).verdict == MET
    assert judged(replace(CRITERION, counts='last'), [good, replace(failed, session='s3')]).verdict == MISSED


def test_a_single_launch_below_a_minimum_is_a_miss_before_all_allocations_are_there():
    criterion = replace(CRITERION, statistic='minimum', allocations=3)
    assert judged(criterion, attempts([120, 120, 120, 120, 120, 99])).verdict == MISSED
    assert judged(criterion, attempts([120] * 6)).verdict == UNDECIDED


def test_the_best_of_some_is_of_the_first_ones():
    criterion = replace(CRITERION, statistic='best', best_of=6)
    assert judged(criterion, attempts([99] * 6 + [150])).verdict == MISSED
    assert judged(criterion, attempts([99, 99, 101, 99, 99, 99])).verdict == MET
    assert judged(replace(criterion, best_of=8), attempts([101] * 7)).verdict == UNDECIDED


def test_the_median_of_one_allocation_has_the_interval_of_its_order_and_what_people_observe_none():
    outcome = judged(replace(CRITERION, statistic='median'), attempts([90, 101, 102, 103, 104, 500]))
    assert (outcome.low, outcome.figure, outcome.high) == (90, 102.5, 500)
    assert judged(replace(CRITERION, observed=True), []).verdict == UNDECIDED


@pytest.mark.parametrize(
    ('whole', 'half', 'verdict'),
    [(around(200), 110, MET), (around(200), 90, MISSED), (around(200, 40), 110, UNDECIDED)],
)
def test_a_percentage_is_of_what_the_other_criterion_measured_and_both_intervals_count(whole, half, verdict):
    measured = {'1': attempts(whole), '2': attempts(around(half, 0.1))}
    outcome = judge_contract([CRITERION, HALF], measured)['2']
    assert (outcome.verdict, outcome.bound) == (verdict, pytest.approx(100))
    assert outcome.margin == pytest.approx(half / 100 - 1)
    alone = judge_contract([CRITERION, HALF], {'2': measured['2']})['2']
    assert (alone.verdict, alone.why[:2]) == (UNDECIDED, '1,'), 'the other one was not measured'


def test_among_many_criteria_chance_misses_none_that_it_would_miss_alone():
    measured = attempts(around(98, 2))
    assert judged(CRITERION, measured).verdict == MISSED
    many = [Criterion(str(number), 100.0) for number in range(2, 21)]
    assert judged(CRITERION, measured, *many).verdict == UNDECIDED
    assert judged(CRITERION, attempts(around(80, 2)), *many).verdict == MISSED


def test_the_clocks_widen_an_interval():
    narrow, wide = (judged(CRITERION, attempts(around(105), clock_error=error)) for error in (0.0, 0.1))
    assert (narrow.verdict, wide.verdict) == (MET, UNDECIDED)


def test_as_many_further_allocations_as_are_named_decide():
    figures, usual = [120.0, 130.0], (lambda total: CONFIDENCE, NOISE)
    further = further_allocations(figures, 100.0, *usual)
    logs = [math.log(figure / 100) for figure in figures]
    away, scatter, n = statistics.fmean(logs), statistics.stdev(logs), len(figures) + further
    assert half_width_between(scatter, n, 0.9) < away < half_width_between(scatter, n - 1, 0.9)
    assert (
        further_allocations([99.0, 101.0], 100.0, *usual) is None
    )  # no number of them decides a figure at its bound


@pytest.mark.parametrize(
    ('loads', 'sentence'),
    [
        ([(0, 100), (150, 250), (250, 350)], '5 min in 3 allocations'),
        ([(0, 100), (150, 250), (250, 350)], 'the 50 s between them (14.3 % of the time)'),
        ([(250, 350), (0, 100)], 'the 150 s between them'),
        ([(0, 100), (99, 199)], 'the 0 s between them (0 % of the time)'),
        ([(0, 100)], None),
        ([None, None], None),  # what is no load
    ],
)
def test_of_a_load_in_several_allocations_it_is_said_what_nobody_saw(loads, sentence):
    criterion = replace(CRITERION, statistic='minimum', allocations=len(loads), once=True)
    results = [attempt(120, number=number, load=load) for number, load in enumerate(loads)]
    text = judged(criterion, results).load
    assert sentence in text if sentence else text == ''
