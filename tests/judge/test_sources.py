"""The figures that the sources print, judged as measurements: what each says of its own comes out here too.

Of other tests: fairness (test_fairness.py), change points (test_change_points.py).
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.choice import FigureColumn, choice, requirement, spread
from seatrial.judge.lfsck import Watched, fan_in, fan_out, line, linear, share, unsaturated, watched
from seatrial.judge.relations import FAILS, HOLDS, NO_LEAST, UNDECIDED, lies_between
from seatrial.model.metric import LOWER
from seatrial.model.telemetry import ServerLook


def around(mean, error, count=21):
    """So many values with exactly this mean and this standard error of it."""
    shape = np.random.default_rng(1).standard_normal(count)
    shape -= shape.mean()
    return list(mean + error * math.sqrt(count) * shape / shape.std(ddof=1))


def judged(over, under, lowest, highest=math.inf):
    relation = lies_between(around(*over), around(*under), lowest, highest)
    return round(relation.estimate, 3), relation.verdict


@pytest.mark.parametrize(
    ('over', 'under', 'between', 'ratio', 'verdict'),
    [
        # FN-06: a virtual server reads within 5 % of bare metal, by 21 clients and by one
        ((12.27, 0.08), (12.55, 0.06), (0.95,), 0.978, HOLDS),
        ((15.3, 0.1), (15.6, 0.2), (0.95,), 0.981, HOLDS),
        # FN-04 and FN-06: clients on board are within 15 % of external ones
        ((13.02, 0.05), (12.27, 0.08), (0.85, 1.15), 1.061, HOLDS),
        ((14.9, 0.2), (15.3, 0.1), (0.85, 1.15), 0.974, HOLDS),
        # FN-01: 250 and 70 MB/s; the source has no errors: 5 % are assumed
        ((250.0, 12.5), (70.0, 3.5), (3.0,), 3.571, HOLDS),
        ((350.0, 3.5), (350.0, 3.5), (0.95, 1.05), 1.0, HOLDS),
        # FN-08: the sites are 3.2 % apart, too uncertain to prove that it is less than 5 %
        ((9.0, 0.2), (9.3, 0.1), (0.95, 1.05), 0.968, UNDECIDED),
        ((9.0, 0.2), (9.3, 0.1), (0.85, 1.15), 0.968, HOLDS),
        # GP-04: the later listings beside the 14.1 of the fourth one
        ((0.466, 0.001), (0.034, 0.0001), (1.0,), 13.706, HOLDS),
        ((0.466, 0.001), (0.222, 0.0001), (1.0,), 2.099, HOLDS),
        ((0.466, 0.001), (0.033, 0.0001), (5.0,), 14.121, HOLDS),
        # FN-09: stripes gain less than 6 %, of which the larger gain is no proof: its interval ends at 6.1 %
        ((13.71, 0.03), (13.02, 0.05), (1.0, 1.06), 1.053, UNDECIDED),
        ((12.81, 0.01), (12.27, 0.08), (1.0, 1.06), 1.044, HOLDS),
        # L09-06 and L09-08: about 20 %, by 90 % intervals within 5 %, is told from nothing
        ((1.2, 0.025), (1.0, 0.02), (1.1, 1.3), 1.2, HOLDS),
        ((1.0, 0.02), (1.0, 0.02), (1.1, 1.3), 1.0, FAILS),
        # FN-06: each of 21 clients reads about 20 % less than one alone, and 13 % less on board
        ((12.55, 0.06), (15.6, 0.2), (0.75, 0.9), 0.804, HOLDS),
        ((12.27, 0.08), (15.3, 0.1), (0.75, 0.9), 0.802, HOLDS),
        ((13.02, 0.05), (14.9, 0.2), (0.75, 0.9), 0.874, HOLDS),
        # FN-18: files at 350 MB/s, three devices at 376.94 each; the source has no errors: 5 % are assumed
        ((350.0, 17.5), (3 * 376.94, 3 * 18.8), (NO_LEAST, 1.0), 0.31, HOLDS),
    ],
)
def test_what_a_source_says_of_two_figures_comes_out_here_too(over, under, between, ratio, verdict):
    assert judged(over, under, *between) == (ratio, verdict)


# Ten pools of Lustre on ZFS (GV-01 to GV-06)


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
        # The source has 22.5 %, which is of all 4,000 TB; the other shares are of the maximum.
        (CAPACITY, 'draid2:4d:0s:32c', 'draid2:26d:0s:32c', 900 * TB, 27.3, 'draid2:26d:0s:32c'),
        (DURATION, 'raidz1 4 vdev 8 disk', 'draid2:24d:0s:32c', 220 * MINUTE, None, 'raidz1 4 vdev 8 disk'),
        (READ, 'draid2:14d:0s:32c', 'raidz2 4 vdev 8 disk', 6466 * MB, 29.8, 'raidz2 4 vdev 8 disk'),
        (WRITE, 'draid2:24d:0s:32c', 'raidz1 4 vdev 8 disk', 3894 * MB, 85.6, 'raidz1 4 vdev 8 disk'),
    ],
)
def test_the_extremes_differ_as_the_source_says(column, low, high, difference, percent, winner):
    ends = spread(column, POOLS)
    assert (ends.low[0], ends.high[0], ends.difference, ends.winner) == (low, high, difference, winner)
    assert percent is None or round(100 * ends.share, 1) == percent
    assert len(ends.unknown) == 4


def test_the_pool_for_writing_is_chosen_and_its_unknown_capacity_said():
    winner = choice(WRITE, POOLS, [ENOUGH])
    assert (winner.chosen, winner.unknown) == ('raidz1 4 vdev 8 disk', ('capacity>=2500TB',))
    assert winner.missed == {'draid2:4d:0s:32c': ('capacity>=2500TB',)}
    assert len(winner.unmeasured) == 3


def test_a_requirement_that_is_known_to_be_missed_chooses_the_next():
    known = {**POOLS, 'raidz1 4 vdev 8 disk': {'write': 4549 * MB, 'capacity': 2499 * TB}}
    winner = choice(WRITE, known, [ENOUGH])
    assert (winner.chosen, winner.unknown) == ('draid2:24d:0s:32c', ('capacity>=2500TB',))


def test_nothing_is_chosen_where_all_miss_or_none_is_measured():
    assert choice(WRITE, {'a': {'write': 1.0, 'capacity': 1.0}}, [ENOUGH]).chosen is None
    assert choice(WRITE, {'a': {}}).unmeasured == ('a',)


@pytest.mark.parametrize(
    ('text', 'column', 'value'),
    [
        ('capacity>=2500TB', 'capacity', 2.5e15),
        ('write >= 2 GiB/s', 'write', 2.0**31),
        ('duration<=1.5h', 'duration', 5400.0),
    ],
)
def test_a_requirement_has_a_column_a_relation_and_a_figure_with_its_unit(text, column, value):
    result = requirement(text, COLUMNS)
    assert (result.column, result.value) == (column, value)


@pytest.mark.parametrize(
    'text', ('', 'capacity', 'capacity>2500TB', 'beauty>=1s', 'capacity>=1h', 'write>=5TB', 'write>=5')
)
def test_what_is_no_requirement_is_refused(text):
    with pytest.raises(ValueError):
        requirement(text, COLUMNS)


# File-system checks


@given(st.floats(1, 100), st.floats(1e-4, 1e-2), st.lists(st.integers(1, 10**7), min_size=4, max_size=9, unique=True))
def test_a_line_is_found_through_its_own_points(start, slope, counts):
    result = line(counts, [start + slope * count for count in counts])
    assert result is not None
    assert result.seconds_each == pytest.approx(slope, rel=1e-6)
    assert result.low <= result.seconds_each <= result.high


INODES = [400_000, 900_000, 1_400_000, 1_900_000, 2_300_000]


@pytest.mark.parametrize(
    ('counts', 'seconds', 'verdict'),
    [
        (INODES, [82, 178, 284, 379, 461], HOLDS),  # the sizes of the source at a steady rate
        (INODES, [300, 82, 410, 75, 290], FAILS),
        ([1, 2, 3], [10, 20, 30], UNDECIDED),
        ([1] * 5, [10, 20, 30, 40, 50], UNDECIDED),
        ([1, 2, 3, 4], [10] * 4, UNDECIDED),
    ],
)
def test_four_sizes_and_more_show_whether_time_is_linear_in_them(counts, seconds, verdict):
    assert linear(counts, seconds).verdict == verdict


@pytest.mark.parametrize(
    ('part', 'whole', 'limits', 'verdict'),
    [
        (130, 500, {'most': 0.5}, HOLDS),
        (400, 500, {'least': 0.7}, HOLDS),
        (300, 500, {'least': 0.7}, FAILS),
        (25, 50, {'most': 0.5}, UNDECIDED),
        (1, 9, {'most': 0.5}, UNDECIDED),
    ],
)
def test_a_share_holds_where_whole_seconds_can_show_it(part, whole, limits, verdict):
    assert share(part, whole, **limits).verdict == verdict


def look(end_s, server='oss1', length_s=1.0, busy=0.2, packets_in=100.0, packets_out=50.0):
    return ServerLook(end_s, server, length_s, 1, busy, 'sda', 0.0, 0.0, 1e6, 2e6, packets_in, packets_out)


def seen(packets_in, packets_out, busy=0.2, share_seen=1.0):
    return Watched(share_seen, busy, packets_in, packets_out, 1e6)


SOURCE = {'mds': seen(16000.0, 8000.0), **{f'oss{number}': seen(1000.0, 2000.0) for number in range(8)}}
"""As the source has it: eight times what one of eight OSS receives, and twice as many in as out."""


def test_of_a_server_only_what_lies_in_the_run_counts():
    result = watched([look(second, length_s=4.0, busy=second / 100) for second in (104, 108, 112, 116)], 106, 114)
    assert (result.seen, result.packets_in, result.packets_out) == (1.0, 800.0, 400.0)
    assert result.busy == pytest.approx((2 * 1.08 + 4 * 1.12 + 2 * 1.16) / 8)
    assert result.network == 2e6
    assert watched([look(104, length_s=4.0)], 102, 110).seen == 0.25
    assert watched([], 102, 110) == (0.0, 0.0, 0.0, 0.0, 0.0)


def test_the_packets_of_the_source_have_its_factors():
    out, back = fan_out('mds', SOURCE), fan_in('mds', SOURCE)
    assert (out.verdict, out.estimate, back.verdict, back.estimate) == (HOLDS, 8.0, HOLDS, 2.0)
    assert unsaturated(SOURCE).verdict == HOLDS


@pytest.mark.parametrize(
    ('server', 'changed', 'verdicts'),
    [
        ('mds', seen(16000.0, 4000.0), (FAILS, FAILS)),
        ('mds', seen(7000.0, 8000.0), (HOLDS, FAILS)),
        ('oss3', seen(500.0, 2000.0), (UNDECIDED, HOLDS)),
        ('oss3', seen(0.0, 2000.0), (UNDECIDED, HOLDS)),
        ('oss3', seen(1000.0, 2000.0, share_seen=0.94), (UNDECIDED, HOLDS)),
        ('mds', seen(16000.0, 8000.0, share_seen=0.94), (UNDECIDED, UNDECIDED)),
        ('mds', seen(16000.0, 0.0), (FAILS, UNDECIDED)),
    ],
)
def test_other_packets_have_others(server, changed, verdicts):
    servers = {**SOURCE, server: changed}
    assert (fan_out('mds', servers).verdict, fan_in('mds', servers).verdict) == verdicts


def test_one_disk_without_time_left_is_named():
    result = unsaturated({**SOURCE, 'oss5': seen(1000.0, 2000.0, busy=0.97)})
    assert result.verdict == FAILS and 'oss5, 97 %' in result.sentence
