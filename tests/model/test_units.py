"""Sizes: what is read, what is refused, what is printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.units import GIB, KIB, MIB, approximate_size, format_size, parse_size, round_up


@pytest.mark.parametrize(
    ('text', 'size'),
    [('0', 0), ('4096', 4096), ('64KiB', 64 * KIB), ('1.5 GiB', 3 * GIB // 2), (' 2 MiB ', 2 * MIB), ('7B', 7)],
)
def test_sizes_are_read_in_binary_units(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize('text', ['', '-1KiB', '1e3', '64KB', '64k', '1.5B', '0.1KiB', 'KiB', '\uff11KiB', '1 2'])
def test_anything_else_is_refused_with_the_accepted_form(text):
    with pytest.raises(ValueError, match='size|whole number'):
        parse_size(text)


@given(st.integers(min_value=0, max_value=1 << 70))
def test_a_formatted_size_reads_back_exactly(size):
    assert parse_size(format_size(size)) == size


def test_people_see_three_figures():
    assert approximate_size(2 * GIB) == '2 GiB'
    assert approximate_size(1536 * MIB) == '1.5 GiB'
    assert approximate_size(1023) == '1023 B'


@given(st.integers(0, 1 << 60), st.integers(1, 1 << 40))
def test_a_size_is_rounded_up_to_whole_granules_and_no_further(size, granule):
    rounded = round_up(size, granule)
    assert rounded % granule == 0 and size <= rounded < size + granule
