"""What changed of a file system between two times."""

import pytest

from seatrial.model.state import NONE_REMEMBERED, Change, changes


def test_what_is_not_the_same_and_what_one_alone_has_are_changes():
    assert changes({'a': '1', 'b': '2', 'c': '3'}, {'a': '1', 'b': '4', 'd': '5'}) == [
        Change('b', '2', '4'),
        Change('c', '3', None),
        Change('d', None, '5'),
    ]


@pytest.mark.parametrize(
    ('before', 'after', 'changed'),
    [
        ('OST0002 at 06:58', NONE_REMEMBERED, False),
        ('OST0001 at 05:00; OST0002 at 06:58', 'OST0002 at 06:58', False),
        (NONE_REMEMBERED, 'OST0002 at 06:58', True),
        ('OST0002 at 06:58', 'OST0002 at 06:58; OST0002 at 07:10', True),
        ('unknown: only root may read it', 'OST0002 at 06:58', True),
    ],
)
def test_an_eviction_that_a_node_has_forgotten_is_no_change(before, after, changed):
    assert bool(changes({'evictions': before}, {'evictions': after})) is changed
