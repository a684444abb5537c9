"""Changes of level in a series of nights."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.trend import MIN_NIGHTS, changes

LEVEL = 0.05


def nights(*levels, noise=0.03, seed=3):
    """A month of each level, which is a share."""
    rng = random.Random(seed)
    return [math.log(level) + rng.gauss(0, noise) for level in levels for _ in range(30)]


def places(values):
    return [each.first for each in changes(values, LEVEL)]


def test_a_drop_is_found_where_it_is():
    (found,) = places(nights(1.0, 0.85))
    assert abs(found - 30) <= 1


def test_every_change_is_found_in_its_order():
    found = places(nights(1.0, 0.85, 1.0, 1.2))
    assert [round(place / 30) for place in found] == [1, 2, 3]


def test_a_night_or_two_is_no_change_of_level():
    values = nights(1.0, 1.0)
    values[20] = values[21] = -1.0
    assert places(values) == []
    assert MIN_NIGHTS > 2


def test_a_series_without_noise_changes_where_it_does():
    assert places([0.0] * 5 + [0.1] * 5) == [5]
    assert places([0.1] * 10) == []


@pytest.mark.parametrize('count', [0, 1, 2 * MIN_NIGHTS - 1])
def test_a_few_nights_show_none(count):
    assert places([float(number) for number in range(count)]) == []


def test_equal_nights_rarely_have_a_change():
    rng, many = random.Random(4), 300
    found = sum(bool(places([rng.gauss(0, 0.03) for _ in range(60)])) for _ in range(many))
    assert found <= LEVEL * many


@given(st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=40), st.floats(0.01, 100.0), st.floats(-5.0, 5.0))
def test_neither_scale_nor_level_nor_sign_matters(values, times, shift):
    rounded = [round(value, 3) for value in values]
    assert places([times * value for value in rounded]) == pytest.approx(places(rounded))
    assert places([-value for value in rounded]) == places(rounded)
