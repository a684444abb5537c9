"""Figures: their digits, and the one unit of all that are compared."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.units import BINARY, DECIMAL, GIB, KIB, MIB
from seatrial.report import figures
from seatrial.report.figures import GROUPED, Unit, common_unit, units_of

SHOWN = (
    (figures.figure, {0.0: '0', 0.5234: '0.523', 5.234: '5.23', 52.34: '52.3', 523.4: '523', 5234.4: '5230'}),
    (figures.figure, {52340.0: '52\u202f300', -52.34: '-52.3', math.inf: '\u2013', math.nan: '\u2013'}),
    (figures.compact, {500: '500', 5000: '5000', 4096: '4096', 2e4: '20k', 2e6: '2M', 1e9: '1G', 0.5: '0.500'}),
    (figures.percent, {0.042: '4.2 %', 0.42: '42 %'}),
    (figures.seconds, {0.814: '0.81 s', 45.0: '45 s', 720.0: '12 min', 3.5 * 3600: '3.5 h'}),
)
"""Values as people read them: a figure, one on a narrow axis, a share, and a duration."""


@pytest.mark.parametrize(
    ('shown', 'value', 'text'), [(shown, *pair) for shown, texts in SHOWN for pair in texts.items()]
)
def test_a_value_has_the_digits_that_people_need(shown, value, text):
    assert shown(value) == text


@given(st.floats(1e-3, 1e7))
def test_a_figure_is_within_half_a_per_cent_of_its_value(value):
    assert float(figures.figure(value).replace('\u202f', '')) == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ('value', 'base', 'system', 'text'),
    [
        (0.466, 's', BINARY, '466 ms'),
        (3.34e-5, 's', BINARY, '33.4 \u00b5s'),
        (8e-9, 's', BINARY, '8.00 ns'),
        (0.0, 's', BINARY, '0 s'),
        (1.5 * GIB, 'B/s', DECIMAL, '1.61 GB/s'),
        (52340.0, 'op/s', DECIMAL, '52\u202f300 op/s'),
        (3.0, '', BINARY, '3.00'),
    ],
)
def test_one_figure_by_itself_has_the_unit_that_is_best_for_it(value, base, system, text):
    assert figures.brief(value, base, system) == text


@pytest.mark.parametrize(
    ('values', 'base', 'system', 'name'),
    [
        ((20 * MIB, 5 * GIB), 'B/s', BINARY, 'MiB/s'),
        ((20 * MIB, 50 * GIB), 'B/s', BINARY, 'GiB/s'),
        ((20 * MIB, 5 * GIB), 'B/s', DECIMAL, 'MB/s'),
        ((3 * KIB, 2 * MIB), 'B/s', BINARY, 'KiB/s'),
        ((), 'B/s', BINARY, 'MiB/s'),
        ((3e-5, 0.2), 's', BINARY, 'ms'),
        ((3e-5, 9e-4), 's', BINARY, '\u00b5s'),
        ((5.0, 5e6), 'op/s', BINARY, 'op/s'),
        ((1.0, 2.0), '', BINARY, ''),
    ],
)
def test_figures_that_are_compared_share_the_best_unit_of_the_smallest(values, base, system, name):
    assert common_unit(values, base, system) == Unit(name)


@given(st.lists(st.floats(1.0, 1e15), min_size=1), st.sampled_from((BINARY, DECIMAL)))
def test_a_shared_unit_keeps_the_largest_figure_short(values, system):
    unit = common_unit(values, 'B/s', system)
    assert unit.of(max(values)) < GROUPED
    assert unit.of(max(values)) * unit.size == pytest.approx(max(values))


def test_the_metrics_of_a_case_share_a_unit_for_each_dimension(make):
    metrics = make.measured().result.metrics
    assert units_of(metrics, BINARY) == {'B/s': Unit('MiB/s')}
    assert units_of(metrics, DECIMAL) == {'B/s': Unit('MB/s')}


def test_two_ends_that_read_the_same_are_one_figure():
    assert (Unit('s').span(1.0, 2.0), Unit('s').span(1.0, 1.0001)) == ('1.00 \u2013 2.00', '1.00')
