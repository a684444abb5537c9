"""Change points of a curve over transfer sizes, and of a series of nights; benchmarks/change_points.py measures how
often that is right."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.change_points import MIN_NIGHTS, changes, changes_between, steps
from seatrial.model.metric import LOWER
from seatrial.model.units import KIB

SIZES = (32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 256)
VALUES = {f'{size}KiB': size * KIB for size in SIZES}
SHAPE = (-1.0, 0.5, -0.5, 0.5, -0.5, 1.0)


def curve(shape, spread=0.01):
    """Six samples round shape(size in KiB) at each size."""
    return {f'{size}KiB': [shape(size) * (1 + spread * step) for step in SHAPE] for size in SIZES}


def stepping(times, at=128, before=lambda size: 100.0):
    return lambda size: before(size) * (times if size >= at else 1.0)


def verdict(points, times=1.2, values=VALUES, **more):
    return changes_between(points, values, 112 * KIB, 160 * KIB, times, **more).verdict


NO_STEP = {
    'flat': lambda size: 100.0,
    'a power law': lambda size: size**0.5,
    'saturating': lambda size: 100 * size / (size + 64),
    'a broken slope': lambda size: min(size, 100.0),
}


@pytest.mark.parametrize('shape', NO_STEP.values(), ids=NO_STEP)
def test_no_change_point_is_found_where_there_is_none(shape):
    assert not steps(curve(shape), VALUES).likeliest.is_significant


@pytest.mark.parametrize('before', ['flat', 'a power law', 'saturating'])
@pytest.mark.parametrize('times', [1.25, 1 / 1.25])
def test_a_change_point_at_128_kib_is_found_at_its_place_and_of_its_size(before, times):
    likeliest = steps(curve(stepping(times, before=NO_STEP[before])), VALUES).likeliest
    assert (likeliest.is_significant, likeliest.above) == (True, '128KiB')
    assert likeliest.low < times < likeliest.high


@pytest.mark.parametrize(
    ('shape', 'expected'),
    [
        (stepping(1.5), 'holds'),
        (stepping(1.5, at=144), 'holds'),
        (stepping(1.5, at=80), 'fails'),
        (stepping(1.1), 'fails'),
        (stepping(1 / 1.5), 'fails'),
        (lambda size: 100.0, 'fails'),
        (lambda size: 150.0 if size == 128 else 100.0, 'undecided'),
    ],
    ids=['there', 'still there', 'elsewhere', 'too small', 'down', 'flat', 'one point is off'],
)
def test_it_is_expected_at_a_place_and_of_a_size(shape, expected):
    assert verdict(curve(shape)) == expected


def test_a_step_whose_place_may_be_elsewhere_is_undecided():
    """A point half-way up stands between the two places."""
    halfway = curve(lambda size: 100.0 if size < 112 else 125.0 if size == 112 else 156.0, spread=0.001)
    result = steps(halfway, VALUES)
    assert result.likeliest.is_significant and [place.above for place in result.places] == ['112KiB', '128KiB']
    assert verdict(halfway, times=1.01) == 'undecided'


def test_points_that_lie_on_lines_by_chance_show_no_more_than_their_repetitions_do():
    assert verdict(curve(stepping(1.3), spread=0.01)) == 'holds'
    assert verdict(curve(stepping(1.3), spread=0.4)) == 'undecided'
    assert verdict(curve(stepping(1.22), spread=0.05)) == 'undecided'  # as large as wanted, or smaller
    assert len(steps(curve(stepping(1.05), spread=0.1), VALUES).places) > 1


@pytest.mark.parametrize(
    ('labels', 'from_kib', 'why'),
    [
        (list(VALUES)[3:9], 112, '6 transfer sizes of the 7'),
        (list(VALUES)[5:], 112, '6'),
        (list(VALUES), 192, 'fewer than 3 transfer sizes on a side of'),
    ],
)
def test_with_six_points_or_fewer_than_three_on_a_side_nothing_can_be_looked_for(labels, from_kib, why):
    points = {label: samples for label, samples in curve(stepping(1.5, at=256)).items() if label in labels}
    relation = changes_between(points, VALUES, from_kib * KIB, 256 * KIB, 1.2, 'transfer sizes')
    assert relation.verdict == 'undecided' and relation.sentence.startswith(why)


@pytest.mark.parametrize(
    ('shape', 'sentence'),
    [
        (stepping(1.5), 'change point between 112KiB and 128KiB (95 % interval 112KiB-128KiB): 1.5 times as good'),
        (lambda size: 100.0, 'no change point; the likeliest is between '),
    ],
)
def test_it_is_one_sentence_with_place_and_size(shape, sentence):
    relation = changes_between(curve(shape), VALUES, 112 * KIB, 160 * KIB, 1.2)
    assert relation.sentence.startswith(sentence)
    assert relation.sentence.endswith(f', wanted at least 1.2 between 112KiB and 160KiB: {relation.verdict}')
    assert relation.low < relation.estimate < relation.high and relation.confidence == 0.95


@given(st.sampled_from([*NO_STEP.values(), *map(stepping, (1.05, 1.3, 2.0))]), st.floats(1e-3, 1e9), st.randoms())
def test_neither_units_nor_order_nor_the_direction_of_a_metric_matter(shape, unit, order):
    points, values = curve(shape), {label: size * unit for label, size in VALUES.items()}
    expected = steps(points, VALUES)
    shuffled = list(points)
    order.shuffle(shuffled)
    latencies = {
        label: [unit / shape(VALUES[label] / KIB) * (1 + 0.01 * step) for step in SHAPE] for label in shuffled
    }
    result = steps(latencies, values, LOWER)
    assert result.likeliest.is_significant == expected.likeliest.is_significant
    for one, other in zip(result.every, expected.every, strict=True):
        assert (one.below, one.above) == (other.below, other.above)
        assert (one.ratio, one.low, one.high) == pytest.approx((other.ratio, other.low, other.high))


# Changes of level in a series of nights


LEVEL = 0.05


def nights(*levels, noise=0.03, seed=3):
    """A month of each level, which is a share."""
    rng = random.Random(seed)
    return [math.log(level) + rng.gauss(0, noise) for level in levels for _ in range(30)]


def places(values):
    return [change.first for change in changes(values, LEVEL)]


def test_every_change_is_found_in_its_order():
    result = places(nights(1.0, 0.85, 1.0, 1.2))
    assert [round(place / 30) for place in result] == [1, 2, 3]


def test_a_night_or_two_is_no_change_of_level():
    values = nights(1.0, 1.0)
    values[20] = values[21] = -1.0
    assert places(values) == []
    assert MIN_NIGHTS > 2


def test_a_series_without_noise_changes_where_it_does_and_a_few_nights_show_nothing():
    assert places([0.0] * 5 + [0.1] * 5) == [5]
    assert places([0.1] * 10) == []
    for count in (0, 1, 2 * MIN_NIGHTS - 1):
        assert places([float(number) for number in range(count)]) == []


@given(st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=40), st.floats(0.01, 100.0), st.floats(-5.0, 5.0))
def test_neither_scale_nor_level_nor_sign_matters(values, times, shift):
    rounded = [round(value, 3) for value in values]
    assert places([times * value for value in rounded]) == pytest.approx(places(rounded))
    assert places([-value for value in rounded]) == places(rounded)
