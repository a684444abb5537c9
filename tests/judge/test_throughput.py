"""Throughput from counters, and the stalls in it."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders import moved, plan_of, sample_of
from seatrial.judge import throughput
from seatrial.model.telemetry import (
    AFTER,
    BEFORE,
    READ,
    WRITTEN,
    Gap,
    Look,
    Pace,
    RpcSize,
    RpcSizes,
    Served,
    Servers,
    Telemetry,
    Watch,
)
from seatrial.model.units import MIB

PLAN = plan_of()
POINT = PLAN.points[0]
NOTHING = Telemetry(Watch(0.0, 'node1', 'a counter', '', 1.0), [], [], [], [], [], None, 0)
RATES = st.lists(st.floats(0.0, 1e5), min_size=1, max_size=40)
STEPS = st.lists(st.tuples(st.floats(0.2, 3.0), st.floats(0.0, 1e4, allow_subnormal=False)), min_size=1, max_size=40)


def looked(rates, way=READ, interval_s=1.0, begin=1000.0):
    """Looks an interval apart between which so many MiB/s moved."""
    total, looks = 0, []
    for i, rate in enumerate([0.0, *rates]):
        total += int(rate * MIB * interval_s)
        counters = {READ: 0, WRITTEN: 0, way: total}
        looks.append(Look(begin + i * interval_s, 5.0 + i * interval_s, 0.001, counters))
    return NOTHING._replace(looks=looks)


def launch(phase='read', started=1000.0, seconds=10.0, untimed=0.0, cache='cold', stage='measured', **way):
    """A launch that was timed for so long, and not timed for so long before or after; way: direct or fsync."""
    measurement = moved(POINT, POINT.bytes_moved / seconds)._replace(**way)
    sample = sample_of(PLAN, POINT, phase, 0, measurement, stage, cache, started=started)
    return sample._replace(elapsed_s=seconds + untimed)


def parts_of(steps, begin=0.0):
    results = []
    for seconds, rate in steps:
        results.append((begin, begin + seconds, rate))
        begin += seconds
    return results


class TestPieces:
    @given(RATES)
    def test_the_rate_between_two_looks_is_what_was_counted_over_the_time(self, rates):
        spans = throughput.pieces(looked(rates))
        assert [piece.read for piece in spans] == pytest.approx([rate * MIB for rate in rates], abs=10)
        assert all(piece.write == 0 and piece.end == piece.start + 1 for piece in spans)

    def test_nothing_is_said_across_a_gap_or_where_looks_were_missed(self):
        telemetry = looked([1.0] * 6)
        gap = telemetry._replace(gaps=[Gap(1001.5, 6.5, 1.0, 'no answer')])
        assert [piece.start for piece in throughput.pieces(gap)] == [1000.0, 1002.0, 1003.0, 1004.0, 1005.0]
        missed = telemetry._replace(looks=[telemetry.looks[i] for i in (0, 1, 4, 5)])
        assert [piece.start for piece in throughput.pieces(missed)] == [1000.0, 1004.0]

    def test_looks_that_were_meant_to_be_further_apart_are_no_gap(self):
        telemetry = looked([1.0, 1.0], interval_s=5.0)
        assert throughput.pieces(telemetry) == []
        assert len(throughput.pieces(telemetry._replace(paces=[Pace(1000.0, 5.0, 'a look takes 0.25 s')]))) == 2

    @pytest.mark.parametrize(
        'changes', [{'counters': {READ: 0, WRITTEN: 0}}, {'counters': {READ: 9}}, {'time': 1000.0}, {'time': 400.0}]
    )
    def test_nothing_is_said_where_a_counter_begins_anew_or_is_missing_or_the_clock_was_set_back(self, changes):
        telemetry = looked([5.0, 5.0])
        telemetry.looks[2] = telemetry.looks[2]._replace(**changes)
        assert [piece.start for piece in throughput.pieces(telemetry)] == [1000.0]


@given(st.floats(0.1, 1e3), st.floats(0.0, 1e3), st.floats(0.0, 1.0))
def test_the_timed_region_is_certain_wherever_the_clock_ran_and_of_a_launch_that_failed_it_is_all(
    seconds, untimed, share
):
    launched = launch(seconds=seconds, untimed=untimed)
    result, begin = throughput.certain(launched), 1000.0 + share * untimed
    assert result is None or begin - 1e-6 <= result[0] < result[1] <= begin + seconds + 1e-6
    assert throughput.certain(launched._replace(measurement=None)) == (1000.0, 1000.0 + launched.elapsed_s)


def test_the_usual_rate_is_the_median_over_time_where_single_steps_are_slow():
    assert throughput.usual_rate(parts_of([(1, 100.0)] * 9 + [(1, 0.0)])) == 100.0
    assert throughput.usual_rate([]) == 0.0
    # A stall of most of the launch does not become the usual.
    assert throughput.usual_rate(parts_of([(3, 100.0), (7, 0.0)])) == pytest.approx(30.0)


@given(STEPS)
def test_the_usual_rate_is_one_that_was_reached_or_passed(steps):
    rates = [rate for _, rate in steps]
    assert min(rates) * (1 - 1e-9) <= throughput.usual_rate(parts_of(steps)) <= max(rates) * (1 + 1e-9)


class TestStalls:
    @given(STEPS, st.booleans())
    def test_each_is_long_enough_apart_from_the_others_and_slow_throughout(self, steps, fills_memory):
        parts = parts_of(steps)
        pauses = throughput.stalls(parts, fills_memory)
        for start, end in pauses:
            assert end - start >= throughput.STALL_S - throughput.EARLY_S
            inside = [part for part in parts if start <= part[0] and part[1] <= end]
            assert inside and all(part[2] < throughput.STALL_SHARE * throughput.usual_rate(parts) for part in inside)
        assert all(one[1] < other[0] for one, other in pairwise(pauses))

    @given(STEPS, st.sampled_from([0.001, 0.5, 2.0, 1024.0]))
    def test_they_are_the_same_in_any_unit(self, steps, factor):
        low = throughput.usual_rate(parts_of(steps)) * throughput.STALL_SHARE
        assume(all(abs(rate - low) > 1e-6 * low for _, rate in steps))
        scaled = [(seconds, rate * factor) for seconds, rate in steps]
        assert throughput.stalls(parts_of(steps), False) == throughput.stalls(parts_of(scaled), False)

    @given(
        st.lists(st.floats(50.0, 150.0), min_size=2, max_size=30),
        st.lists(st.floats(50.0, 150.0), min_size=2, max_size=30),
        st.floats(0.0, 1.0, exclude_max=True),
        st.floats(4.0, 20.0),
    )
    def test_one_of_four_seconds_is_seen_wherever_the_looks_fall(self, before, after, shift, length):
        """Data move, stop and move again; the looks are a second apart."""
        steady = [*before, *after]
        stop, go = len(before) + shift, len(before) + shift + length
        total = int(go) + 1 + len(after)

        def inside(second):
            idle = max(0.0, min(second + 1, go) - max(second, stop))
            return steady[second % len(steady)] * (1 - idle)

        pauses = throughput.stalls(parts_of([(1.0, inside(second)) for second in range(total)]), True)
        assert len(pauses) == 1
        assert stop - 1 <= pauses[0][0] <= stop + 1 and go - 1 <= pauses[0][1] <= go + 1

    def test_a_write_that_still_fills_memory_does_not_stand_still(self):
        parts = parts_of([(3.0, 0.0), (7.0, 100.0)])
        assert throughput.stalls(parts, True) == [] and throughput.stalls(parts, False) == [(0.0, 3.0)]

    @pytest.mark.parametrize(
        ('stop', 'end'),
        [
            ([(1.0, 0.0), (0.99, 0.0)], 6.99),  # a look came early
            ([(throughput.STALL_S, 9.9)], 7.0),
            ([(throughput.STALL_S - 2 * throughput.EARLY_S, 0.0)], None),
            ([(3.0, 10.0)], None),  # a tenth of the usual rate
        ],
    )
    def test_two_seconds_below_a_tenth_of_the_usual_rate_are_a_stall(self, stop, end):
        parts = parts_of([(5.0, 100.0), *stop, (5.0, 100.0)])
        assert throughput.stalls(parts, True) == ([(5.0, end)] if end else [])


def test_what_is_unknown_in_the_middle_and_at_the_ends_is_a_gap():
    parts = [(2.0, 4.0, 1.0), (4.0, 5.0, 1.0), (8.0, 9.0, 1.0)]
    assert throughput.gaps(parts, 0.0, 9.5) == [(0.0, 2.0), (5.0, 8.0)]


STOPS = (100.0,) * 4 + (0.0,) * 3 + (100.0,) * 3
FILLING, FILLED = (0.0,) * 3 + (100.0,) * 7, (100.0,) * 2 + (0.0,) * 4 + (100.0,) * 4
STILL = (100.0,) * 3 + (0.0,) * 6 + (100.0,) * 3


class TestTraffic:
    def flows(self, rates, *launches, way=READ, **changes):
        return throughput.traffic(looked(rates, way)._replace(**changes), launches).flows

    def test_a_stall_of_a_launch_says_when_and_how_slow(self):
        (flow,) = self.flows(STOPS, launch())
        (pause,) = flow.pauses
        assert (pause.kind, pause.start, pause.end) == (throughput.STALL, 1004.0, 1007.0)
        assert (pause.rate, pause.usual) == (0.0, 100.0 * MIB)
        assert (flow.launches, flow.seen, flow.median, pause.seconds) == (1, 1, 100.0 * MIB, 3.0)

    def test_a_write_is_compared_with_what_was_written(self):
        (flow,) = self.flows(STOPS, launch('write'), way=READ)
        assert flow.pauses == [] and flow.median is None
        assert len(self.flows(STOPS, launch('write'), way=WRITTEN)[0].pauses) == 1

    @pytest.mark.parametrize(
        ('rates', 'launched', 'way', 'starts'),
        [
            (FILLING, launch('write'), WRITTEN, []),
            (FILLING, launch('write', direct=True), WRITTEN, [1000.0]),  # which fills no memory
            (FILLED, launch('write', seconds=8.0, untimed=2.0), WRITTEN, [1002.0]),  # it moved before it was timed
            (STOPS, launch(cache='cached'), READ, []),  # what memory answers does not stand still
            (STOPS, launch(seconds=10.0, untimed=6.0), READ, []),  # outside of what was certainly timed
            (STILL, launch(seconds=9.0, untimed=3.0), READ, [1003.0]),  # for all that was certainly timed
            (STILL, launch(seconds=9.0, untimed=3.0, cache='unknown', fsync=False), READ, []),  # from memory
            (STILL, launch('write', seconds=9.0, untimed=3.0), WRITTEN, [1003.0]),
            (STILL, launch('write', seconds=9.0, untimed=3.0, cache='', fsync=False), WRITTEN, []),  # into memory
        ],
    )
    def test_a_stall_is_in_what_was_certainly_timed_and_is_not_of_memory(self, rates, launched, way, starts):
        (flow,) = self.flows(rates, launched, way=way)
        assert [pause.start for pause in flow.pauses] == starts

    def test_a_launch_too_short_for_a_stall_is_not_seen(self):
        (flow,) = self.flows(STOPS, launch(seconds=1.5), launch(seconds=9.0))
        assert (flow.launches, flow.seen) == (2, 1)

    def test_a_gap_of_the_counters_is_no_stall(self):
        looks = [look for i, look in enumerate(looked((100.0,) * 10).looks) if i not in (4, 5, 6)]
        (flow,) = self.flows(STOPS, launch(), looks=looks)
        assert [(pause.kind, pause.start, pause.end) for pause in flow.pauses] == [(throughput.GAP, 1003.0, 1007.0)]

    def test_the_pauses_of_all_stand_in_their_order(self):
        result = throughput.traffic(looked(STOPS * 2), [launch(started=1010.0), launch(), launch('write')])
        assert [pause.start for pause in result.pauses] == [1004.0, 1014.0]

    @pytest.mark.parametrize('stage', ['warmup', 'prepare'])
    def test_launches_that_are_not_measured_have_no_row(self, stage):
        assert self.flows(STOPS, launch(stage=stage)) == []

    @given(RATES, st.lists(st.tuples(st.sampled_from(['read', 'write']), st.floats(980, 1050), st.floats(0.1, 30))))
    def test_no_stall_reaches_beyond_its_launch(self, rates, launches):
        samples = [launch(phase, started, seconds) for phase, started, seconds in launches]
        for pause in throughput.traffic(looked(rates), samples).pauses:
            inside = throughput.certain(pause.sample)
            assert inside is not None and inside[0] <= pause.start < pause.end <= inside[1]


@pytest.mark.parametrize(
    ('after', 'expected'),
    [
        (
            [RpcSizes(AFTER, (RpcSize('1', 5, 2), RpcSize('256', 10, 40), RpcSize('1K', 0, 7)))],
            [RpcSize('1', 0, 2), RpcSize('256', 6, 2), RpcSize('1K', 0, 7)],
        ),
        ([], []),
        ([RpcSizes(AFTER, (), 'only root may')], []),
        ([RpcSizes(AFTER, (RpcSize('256', 1, 38),))], []),  # cleared by somebody
    ],
)
def test_the_requests_of_the_case_are_the_difference_of_two_readings(after, expected):
    before = RpcSizes(BEFORE, (RpcSize('1', 5, 0), RpcSize('256', 4, 38)))
    assert throughput.rpc_sizes(NOTHING._replace(rpc_sizes=[before, *after])) == expected


ROW = Served('OST1', 'write_bytes', 4, 4096, 'bytes')
SYNC = ROW._replace(name='sync', samples=2)


def servers(when, *rows, why_not=''):
    return Servers(when, 1.0, 0, f'telemetry-{when}', '4242', rows, why_not)


@pytest.mark.parametrize(
    ('readings', 'expected'),
    [
        (
            [servers(BEFORE, ROW._replace(samples=1, total=1024)), servers(AFTER, ROW, SYNC)],
            [ROW._replace(samples=3, total=3072), SYNC],
        ),
        ([servers(BEFORE, ROW), servers(AFTER, ROW._replace(samples=1))], []),  # cleared meanwhile
        ([servers(AFTER, ROW)], []),
        ([servers(BEFORE, why_not='it ended with 255'), servers(AFTER, ROW)], []),
    ],
)
def test_what_the_servers_did_for_the_case_is_the_difference_of_two_readings(readings, expected):
    assert throughput.served(NOTHING._replace(servers=readings)) == expected
