"""Choosing a configuration, on what Belyakov et al. printed of ten pools of Lustre on ZFS (GV-01 to GV-06)."""

import pytest

from seatrial.judge.choice import FigureColumn, choice, front, requirement, spread
from seatrial.model.metric import LOWER

TB, MB, MINUTE = 1e12, 1e6, 60.0
CAPACITY, DURATION = FigureColumn('capacity', 'B'), FigureColumn('duration', 's', LOWER)
READ, WRITE = FigureColumn('read', 'B/s'), FigureColumn('write', 'B/s')
COLUMNS = (CAPACITY, DURATION, READ, WRITE)
POOLS = {
    'raidz1 4 vdev 8 disk': {'duration': 44 * MINUTE, 'write': 4549 * MB},
    'raidz2 4 vdev 8 disk': {'read': 21705 * MB},
    'draid2:4d:0s:32c': {'capacity': 2400 * TB},
    'draid2:14d:0s:32c': {'read': 15239 * MB},
    'draid2:24d:0s:32c': {'duration': 264 * MINUTE, 'write': 655 * MB},
    'draid2:26d:0s:32c': {'capacity': 3300 * TB},
}
"""The extremes of each column, which is all that the source has in figures."""

ENOUGH = requirement('capacity>=2500TB', COLUMNS)


@pytest.mark.parametrize(
    ('column', 'low', 'high', 'difference', 'percent', 'winner'),
    [
        (CAPACITY, 'draid2:4d:0s:32c', 'draid2:26d:0s:32c', 900 * TB, None, 'draid2:26d:0s:32c'),
        (DURATION, 'raidz1 4 vdev 8 disk', 'draid2:24d:0s:32c', 220 * MINUTE, None, 'raidz1 4 vdev 8 disk'),
        (READ, 'draid2:14d:0s:32c', 'raidz2 4 vdev 8 disk', 6466 * MB, 29.8, 'raidz2 4 vdev 8 disk'),
        (WRITE, 'draid2:24d:0s:32c', 'raidz1 4 vdev 8 disk', 3894 * MB, 85.6, 'raidz1 4 vdev 8 disk'),
    ],
)
def test_the_extremes_differ_as_the_source_says(column, low, high, difference, percent, winner):
    found = spread(column, POOLS)
    assert (found.low[0], found.high[0], found.difference, found.winner) == (low, high, difference, winner)
    assert percent is None or round(100 * found.share, 1) == percent
    assert len(found.unknown) == 4


def test_the_share_of_the_capacity_is_of_another_base_in_the_source():
    """22.5 % are of all 4,000 TB; of the maximum, as the other shares are, 900 TB are 27.3 %."""
    found = spread(CAPACITY, POOLS)
    assert (round(100 * found.difference / (4000 * TB), 1), round(100 * found.share, 1)) == (22.5, 27.3)


def test_the_pool_for_writing_is_chosen_and_its_unknown_capacity_said():
    found = choice(WRITE, POOLS, [ENOUGH])
    assert (found.chosen, found.unknown) == ('raidz1 4 vdev 8 disk', ('capacity>=2500TB',))
    assert found.missed == {'draid2:4d:0s:32c': ('capacity>=2500TB',)}
    assert len(found.unmeasured) == 3


def test_a_requirement_that_is_known_to_be_missed_chooses_the_next():
    known = {**POOLS, 'raidz1 4 vdev 8 disk': {'write': 4549 * MB, 'capacity': 2499 * TB}}
    found = choice(WRITE, known, [ENOUGH])
    assert (found.chosen, found.unknown) == ('draid2:24d:0s:32c', ('capacity>=2500TB',))


def test_nothing_is_chosen_where_all_miss_or_none_is_measured():
    assert choice(WRITE, {'a': {'write': 1.0, 'capacity': 1.0}}, [ENOUGH]).chosen is None
    assert choice(WRITE, {'a': {}}).unmeasured == ('a',)


def test_the_front_has_those_that_nothing_else_beats_in_everything():
    own = {
        'fast': {'write': 9.0, 'read': 5.0},
        'wide': {'write': 5.0, 'read': 9.0},
        'worse': {'write': 5.0, 'read': 8.0},
        'unknown': {'write': 1.0},
        'twin': {'write': 9.0, 'read': 5.0},
    }
    assert front((READ, WRITE), own) == ['fast', 'wide', 'unknown', 'twin']


@pytest.mark.parametrize(
    ('text', 'column', 'value'),
    [
        ('capacity>=2500TB', 'capacity', 2.5e15),
        ('write >= 2 GiB/s', 'write', 2.0**31),
        ('duration<=1.5h', 'duration', 5400.0),
    ],
)
def test_a_requirement_has_a_column_a_relation_and_a_figure_with_its_unit(text, column, value):
    found = requirement(text, COLUMNS)
    assert (found.column, found.value) == (column, value)


@pytest.mark.parametrize(
    'text', ('', 'capacity', 'capacity>2500TB', 'beauty>=1s', 'capacity>=1h', 'write>=5TB', 'write>=5')
)
def test_what_is_no_requirement_is_refused(text):
    with pytest.raises(ValueError):
        requirement(text, COLUMNS)
