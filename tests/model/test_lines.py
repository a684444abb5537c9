"""Values as lines: each kind by its name, and every line that is none counted. Genuine ones: test_record.py."""

from typing import NamedTuple

import pytest

from seatrial.model.lines import Chain, line_of, values_in


class Look(NamedTuple):
    time: float
    host: str = 'here'


class Gap(NamedTuple):
    why: str


KINDS = {'look': Look, 'gap': Gap}
VALUES = [Look(1.5), Gap('no answer\nfor long'), Look(2.5, 'there')]


def test_a_line_cut_short_anywhere_is_torn_and_the_others_stay():
    first, last = line_of(VALUES[0], KINDS), line_of(VALUES[1], KINDS)
    for end in range(len(first) - 1):
        assert values_in([first[:end], last], KINDS) == ([VALUES[1]], 1)


@pytest.mark.parametrize('line', ['null', '[]', '1', '{}', '{"record": "end"}', '{"record": [], "why": ""}'])
def test_a_foreign_line_is_torn(line):
    assert values_in([line], KINDS) == ([], 1)


def links(lines):
    """Of lines, as a reader has them: the values, and the number of the first that does not follow."""
    chain = Chain()
    values, _ = values_in(chain.checked(lines), KINDS)
    return values, chain.broken[0]


def chained(values=VALUES):
    chain = Chain()
    return [chain.linked(line_of(value, KINDS)) for value in values]


def test_linked_lines_read_back_and_follow_from_each_other():
    assert links(chained()) == (VALUES, 0)
    assert links(line.rstrip() for line in chained()) == (VALUES, 0)


def test_a_chain_goes_on_from_its_last_link():
    first, second = Chain(), Chain()
    begun = [first.linked(line_of(VALUES[0], KINDS))]
    list(second.checked(begun))
    assert [*begun, second.linked(line_of(VALUES[1], KINDS))] == chained(VALUES[:2])


@pytest.mark.parametrize(
    ('change', 'first'),
    [
        (lambda lines: lines[1:], 1),
        (lambda lines: [lines[0], lines[2]], 2),
        (lambda lines: [lines[1], lines[0], lines[2]], 1),
        (lambda lines: [*lines, lines[2]], 4),
        (lambda lines: [*lines, line_of(VALUES[0], KINDS)], 4),
        (lambda lines: [line_of(VALUES[0], KINDS), *lines], 1),
        (lambda lines: [lines[0], line_of(VALUES[1], KINDS), lines[2]], 2),
        (lambda lines: [*lines[:2], chained([VALUES[2]])[0]], 3),
    ],
    ids=['first removed', 'removed', 'swapped', 'twice', 'appended', 'put before', 'link taken', 'another chain'],
)
def test_the_first_line_that_does_not_follow_is_found(change, first):
    assert links(change(chained()))[1] == first


def test_a_file_without_links_has_no_chain_and_a_last_line_that_was_cut_short_breaks_none():
    chain = Chain()
    list(chain.checked([line_of(value, KINDS) for value in VALUES]))
    assert (chain.link, chain.broken) == ('', (0, ''))
    *whole, last = chained()
    assert links([*whole, last[:-30]]) == (VALUES[:2], 0)
