"""What the times of a file-system check say of each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.lfsck import Watched, fan_in, fan_out, line, linear, share, unsaturated, watched
from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.model.telemetry import ServerLook


@given(st.floats(1, 100), st.floats(1e-4, 1e-2), st.lists(st.integers(1, 10**7), min_size=4, max_size=9, unique=True))
def test_a_line_is_found_through_its_own_points(start, each, counts):
    found = line(counts, [start + each * count for count in counts])
    assert found is not None
    assert found.seconds_each == pytest.approx(each, rel=1e-6)
    assert found.low <= found.seconds_each <= found.high


def test_the_source_s_sizes_at_a_steady_rate_are_linear():
    inodes = [400_000, 900_000, 1_400_000, 1_900_000, 2_300_000]
    assert linear(inodes, [82, 178, 284, 379, 461]).verdict == HOLDS
    assert linear(inodes, [300, 82, 410, 75, 290]).verdict == FAILS


def test_three_sizes_or_one_decide_nothing():
    assert linear([1, 2, 3], [10, 20, 30]).verdict == UNDECIDED
    assert linear([1] * 5, [10, 20, 30, 40, 50]).verdict == UNDECIDED
    assert linear([1, 2, 3, 4], [10] * 4).verdict == UNDECIDED


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
    found = watched([look(second, length_s=4.0, busy=second / 100) for second in (104, 108, 112, 116)], 106, 114)
    assert (found.seen, found.packets_in, found.packets_out) == (1.0, 800.0, 400.0)
    assert found.busy == pytest.approx((2 * 1.08 + 4 * 1.12 + 2 * 1.16) / 8)
    assert found.network == 2e6
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
    found = unsaturated({**SOURCE, 'oss5': seen(1000.0, 2000.0, busy=0.97)})
    assert found.verdict == FAILS and 'oss5, 97 %' in found.sentence
