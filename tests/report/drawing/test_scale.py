import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.units import MIB
from seatrial.report.drawing.scale import (
    LOG_BEYOND,
    Scale,
    Tick,
    apart,
    log_ticks,
    nice_ticks,
    round_values,
    scale_of,
)
from seatrial.report.figures import Unit

rates = st.floats(1e-3, 1e8)


@given(rates, st.integers(3, 10))
def test_linear_ticks_begin_at_zero_and_stay_inside(most, count):
    ticks = nice_ticks(most, count)
    assert ticks[0] == 0
    assert 0 < ticks[-1] <= most * (1 + 1e-9)
    assert 2 <= len(ticks) <= count + 1


@given(rates, st.integers(3, 10))
def test_linear_ticks_are_round_and_evenly_spaced(most, count):
    ticks = nice_ticks(most, count)
    step = ticks[1]
    assert round(step / 10 ** math.floor(math.log10(step) + 1e-9), 6) in (1, 2, 5)
    assert all(after - before == pytest.approx(step) for before, after in pairwise(ticks))


@given(rates, st.floats(LOG_BEYOND, 1e6))
def test_logarithmic_ticks_are_powers_of_ten_or_twice_or_five_times_one(least, spread):
    ticks = log_ticks(least, least * spread)
    assert 1 <= len(ticks) <= 8
    assert all(least <= tick <= least * spread for tick in ticks)
    assert all(round(tick / 10 ** math.floor(math.log10(tick) + 1e-9), 6) in (1, 2, 5) for tick in ticks)


def test_a_linear_scale_begins_at_zero():
    scale = scale_of([100.0, 200.0], [], 300.0, 0.0)
    assert (scale.logarithmic, scale(0.0), scale(200.0)) == (False, 300.0, pytest.approx(300 - 300 / 1.05))


def test_means_far_apart_make_a_logarithmic_scale():
    scale = scale_of([10.0, 1000.0], [], 0.0, 100.0)
    assert scale.logarithmic
    assert scale(100.0) == pytest.approx(50.0)


def test_a_far_sample_makes_no_logarithmic_scale():
    assert not scale_of([100.0, 120.0], [1.0], 0.0, 100.0).logarithmic


def test_what_lies_outside_is_put_at_the_end():
    scale = Scale(0.0, 10.0, False, 0.0, 100.0)
    assert (scale(-5.0), scale(50.0)) == (0.0, 100.0)
    assert Scale(1.0, 10.0, True, 0.0, 100.0)(-5.0) == 0.0


def test_nothing_above_zero_still_makes_a_scale():
    assert scale_of([0.0], [], 0.0, 100.0).ticks()[-1].at == 100.0


@given(st.lists(rates, min_size=1, max_size=20), rates, rates)
def test_a_scale_keeps_the_order_of_values(means, one, other):
    scale = scale_of(means, [], 0.0, 500.0)
    assert (scale(one) <= scale(other)) == (one <= other) or scale(one) == scale(other)
    assert all(0.0 <= tick.at <= 500.0 for tick in scale.ticks())


@given(rates, st.floats(1.0, 1e6))
def test_round_values_are_all_the_powers_of_ten_and_twice_and_five_times_one_inside(least, spread):
    found = round_values(least, least * spread)
    assert found == sorted(found)
    assert all(least <= value <= least * spread for value in found)
    assert all(1.9 < after / before < 2.6 for before, after in pairwise(found))


@given(st.lists(st.tuples(st.floats(0, 300), st.text('0', max_size=9)), max_size=12))
def test_labels_stand_clear_of_each_other_and_inside(given):
    ticks = [Tick(at, label) for at, label in sorted(given)]
    found = apart(ticks, 10.0, 300.0)
    assert [tick.at for tick in found] == [tick.at for tick in ticks]
    shown = [tick for tick in found if tick.label]
    halves = [3.2 * len(tick.label) for tick in shown]
    assert all(tick.at + half <= 300.0 for tick, half in zip(shown, halves, strict=True))
    ends = [(tick.at - half, tick.at + half) for tick, half in zip(shown, halves, strict=True)]
    assert all(before[1] < after[0] for before, after in pairwise(ends))


def test_ticks_are_labelled_as_asked():
    assert [tick.label for tick in Scale(0.0, 10.0, False, 0.0, 100.0).ticks(4, str)] == ['0.0', '5.0', '10.0']


@pytest.mark.parametrize(
    ('means', 'labels'),
    [([300.0], ['0', '100', '200', '300']), ([1.0, 1000.0], ['1.00', '10.0', '100', '1000'])],
    ids=['linear', 'logarithmic'],
)
def test_ticks_are_round_in_the_unit_and_lie_where_their_values_do(means, labels):
    scale = scale_of([mean * MIB for mean in means], [], 0.0, 100.0, Unit('MiB/s'))
    assert [tick.label for tick in scale.ticks()] == labels
    assert [tick.at for tick in scale.ticks()] == [scale(float(label) * MIB) for label in labels]
