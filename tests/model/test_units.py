"""Sizes and quantities: what is read, what is refused, what is printed."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model import units


@pytest.mark.parametrize(
    ('text', 'size'), [('4096', 4096), ('1.5 GiB', 3 * units.GIB // 2), (' 2 MiB ', 2 * units.MIB)]
)
def test_sizes_are_read_in_binary_units(text, size):
    assert units.parse_size(text) == size


@pytest.mark.parametrize('text', ['', '-1KiB', '1e3', '64KB', '64k', '1.5B', '0.1KiB', 'KiB', '\uff11KiB', '1 2'])
def test_anything_else_is_refused_with_the_accepted_form(text):
    with pytest.raises(ValueError, match='size|whole number'):
        units.parse_size(text)


@given(st.integers(min_value=0, max_value=1 << 70))
def test_a_formatted_size_reads_back_exactly(size):
    assert units.parse_size(units.format_size(size)) == size


@pytest.mark.parametrize(
    ('size', 'text'), [(1536 * units.MIB, '1.5 GiB'), (1023, '1023 B'), (1023 * units.KIB, '1020 KiB')]
)
def test_people_see_three_figures_and_never_a_power_of_ten(size, text):
    assert units.approximate_size(size) == text


@given(st.integers(0, 1 << 60), st.integers(1, 1 << 40))
def test_a_size_is_rounded_up_to_whole_granules_and_no_further(size, granule):
    rounded = units.round_up(size, granule)
    assert rounded % granule == 0 and size <= rounded < size + granule


@pytest.mark.parametrize(('seconds', 'text'), [(45.0, '45 s'), (720.0, '12 min'), (12600.0, '3.5 h')])
def test_a_duration_is_in_the_unit_that_people_say(seconds, text):
    assert units.duration(seconds) == text


BASES = {'B/s', 'op/s', 's', ''}
# As people write them: up to six digits, with up to four of them behind the point.
DECIMALS = st.decimals(min_value='0.0001', max_value='999999', places=4).map(lambda n: format(n.normalize(), 'f'))


@pytest.mark.parametrize(
    ('unit', 'base', 'factor'),
    [
        ('MB/s', 'B/s', Fraction(10**6)),
        ('MiB/s', 'B/s', Fraction(2**20)),
        ('Gbit/s', 'B/s', Fraction(10**9, 8)),
        ('kIOPS', 'op/s', Fraction(1000)),
        ('us', 's', Fraction(1, 10**6)),
        ('h', 's', Fraction(3600)),
        ('%', '', Fraction(1, 100)),
    ],
)
def test_a_unit_is_so_many_of_the_base_unit_of_its_dimension(unit, base, factor):
    assert units.UNITS[unit] == (base, factor)
    assert {dimension for dimension, _ in units.UNITS.values()} == BASES and set(units.EXAMPLES) < set(units.UNITS)


@given(DECIMALS, st.sampled_from(sorted(units.UNITS)))
def test_a_quantity_is_exact_to_the_digit_in_its_base_unit(text, unit):
    base, factor = units.UNITS[unit]
    assert units.in_base(float(text), unit) == units.Quantity(float(Fraction(text) * factor), base)


@given(st.floats(1e-6, 1e18), st.sampled_from(sorted(units.UNITS)))
def test_a_value_in_another_unit_is_the_nearest_float(value, unit):
    assert units.in_unit(value, unit) == float(Fraction(value) / units.UNITS[unit][1])


@pytest.mark.parametrize('call', [units.in_base, units.in_unit])
def test_a_unit_that_is_none_is_refused_with_some_that_are(call):
    with pytest.raises(ValueError, match="'GBs' is not a unit of a metric; it can be B/s, MiB/s, GB/s, op/s"):
        call(1.0, 'GBs')


@pytest.mark.parametrize('value', [float('inf'), float('nan'), 1e308])
def test_a_number_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match='is no finite number'):
        units.in_base(value, 'GB/s')


@pytest.mark.parametrize(
    ('value', 'binary', 'decimal'),
    [
        (units.GIB - 1, 'MiB/s', 'GB/s'),
        (units.GIB, 'GiB/s', 'GB/s'),
        (1e9 - 1, 'MiB/s', 'MB/s'),
        (1e18, 'TiB/s', 'TB/s'),
        (999.0, 'B/s', 'B/s'),
        (0.0, 'MiB/s', 'MB/s'),
    ],
)
def test_a_bandwidth_is_read_in_the_largest_unit_below_it_of_the_sites_system(value, binary, decimal):
    assert units.unit_for(value, 'B/s') == units.unit_for(value, 'B/s', units.BINARY) == binary
    assert units.unit_for(value, 'B/s', units.DECIMAL) == decimal


@pytest.mark.parametrize('system', units.SYSTEMS)
@pytest.mark.parametrize(
    ('value', 'unit'),
    [(90.0, 's'), (1.0, 's'), (0.5, 'ms'), (1e-3, 'ms'), (4e-5, '\u00b5s'), (3e-8, 'ns'), (1e-12, 'ns'), (0.0, 's')],
)
def test_a_time_is_read_in_parts_of_seconds_and_rates_ratios_and_counts_in_their_own_unit(system, value, unit):
    assert units.unit_for(value, 's', system) == unit
    assert [units.unit_for(value, base, system) for base in ('op/s', '')] == ['op/s', '']


@given(st.floats(1e-9, 1e18), st.sampled_from(sorted(BASES)), st.sampled_from(units.SYSTEMS))
def test_a_value_is_read_in_a_unit_of_its_own_dimension(value, base, system):
    assert units.UNITS[units.unit_for(value, base, system)][0] == base
    assert units.unit_for(-value, base, system) == units.unit_for(value, base, system)


@pytest.mark.parametrize(
    ('value', 'base', 'system', 'text'),
    [
        (2_093_000_000.0, 'B/s', units.BINARY, '1.95 GiB/s'),
        (2_093_000_000.0, 'B/s', units.DECIMAL, '2.09 GB/s'),
        (1010.0 * units.MIB, 'B/s', units.BINARY, '1010 MiB/s'),
        (41_234.0, 'op/s', units.BINARY, '41200 op/s'),
        (0.00213, 's', units.BINARY, '2.13 ms'),
        (15.0, '', units.BINARY, '15'),
    ],
)
def test_a_quantity_is_printed_to_three_digits(value, base, system, text):
    assert units.quantity(value, base, system) == text
