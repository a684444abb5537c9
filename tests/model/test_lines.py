"""Values as lines: each kind by its name, and every line that is none counted. Genuine ones: test_record.py."""

from typing import NamedTuple

import pytest

from seatrial.model.lines import line_of, values_in


class Look(NamedTuple):
    time: float
    host: str = 'here'


class Gap(NamedTuple):
    why: str


KINDS = {'look': Look, 'gap': Gap}
VALUES = [Look(1.5), Gap('no answer\nfor long'), Look(2.5, 'there')]


def test_values_are_read_back_in_their_order_from_a_line_each():
    written = [line_of(value, KINDS) for value in VALUES]
    assert [line.count('\n') for line in written] == [1, 1, 1]
    assert values_in(written, KINDS) == (VALUES, 0)


def test_a_line_cut_short_anywhere_is_torn_and_the_others_stay():
    first, last = line_of(VALUES[0], KINDS), line_of(VALUES[1], KINDS)
    for end in range(len(first) - 1):
        assert values_in([first[:end], last], KINDS) == ([VALUES[1]], 1)


@pytest.mark.parametrize('line', ['null', '[]', '1', '{}', '{"record": "end"}', '{"record": [], "why": ""}'])
def test_a_foreign_line_is_torn(line):
    assert values_in([line], KINDS) == ([], 1)


def test_a_value_of_another_file_has_no_line():
    with pytest.raises(StopIteration):
        line_of(3, KINDS)
