"""The arithmetic of a plan: least and most, and the expectation from earlier sessions in between."""

from hypothesis import given
from hypothesis import strategies as st

from builders import FLAT, FLAT_TREE, MFWA, SIZES, plan_of
from seatrial.check.forecast import NOTHING, UNKNOWN, Earlier, ForecastRange, fitting_share, forecast
from seatrial.filesystem.base import Capacity
from seatrial.model.metric import HIGHER
from seatrial.model.plan import Limits, Sizing, StoppingRule
from seatrial.model.units import GIB, MIB
from seatrial.rules.before import Offer, peak
from seatrial.workload.random import random_access
from seatrial.workload.sweep import Sweep

FIXED = Sizing(64 * MIB, 32 * MIB, 0.8, 0.5, pinned=64 * MIB)
ROOMY = {'target': {'limits': Limits(64 * GIB, 10**6)}}


def earlier(plan, repetitions, share=64 * MIB, size=None, wall_s=30.0):
    once = [(point.label, phase, size) for point in plan.points for phase in point.phases]
    return Earlier(wall_s, share, tuple(once * repetitions))


def of(plan, *sessions, free=UNKNOWN):
    return forecast(plan, sessions, free, UNKNOWN)


def test_what_is_not_known_of_one_case_is_not_known_of_all():
    both = NOTHING.plus(ForecastRange(1, 2, 3)).plus(ForecastRange(1, None, 4))
    assert both == ForecastRange(2, None, 7)


def test_the_stopping_rule_sets_the_least_and_the_most_repetitions():
    assert of(plan_of()).repetitions == ForecastRange(6, None, 22)
    assert of(plan_of(stopping=StoppingRule(0.1, 4, 4, extra=0, fixed=True))).repetitions == ForecastRange(1, None, 4)


def test_a_fixed_share_makes_the_bytes_of_each_repetition_exact():
    plan = plan_of(sizing=FIXED, **ROOMY)
    block = 2 * 2 * 64 * MIB  # two points, two tasks
    written = of(plan, earlier(plan, 7), earlier(plan, 9)).written
    assert (written.least, written.expected) == (128 * MIB + 6 * block, 128 * MIB + 8 * block)
    assert written.most == 128 * MIB + 22 * block + 128 * MIB


def test_what_directories_took_is_expected_again_and_never_above_the_most():
    plan = plan_of(FLAT, FLAT_TREE, sizing=Sizing(1000, 1, 0.0, 0.0, pinned=1000), **ROOMY)
    like = earlier(plan, 4, share=1000)._replace(directory_bytes=96 * 1024)
    before, after = of(plan).room, of(plan, like).room
    assert after == ForecastRange(before.least, before.least + 96 * 1024, before.least + 96 * 1024)


def test_a_repetition_under_darshan_is_in_the_most_which_is_unknown_where_slow_targets_may_be_searched():
    plan = plan_of(sizing=FIXED, **ROOMY)
    assert of(plan._replace(darshan='/lib.so')).written.most - of(plan).written.most == 256 * MIB
    assert of(plan_of(floors={f'write@16MiB {HIGHER}': 1.0})).written.most is None


def test_the_median_of_the_newest_five_sessions_is_expected():
    plan = plan_of(sizing=FIXED, **ROOMY)
    sessions = [earlier(plan, 6, wall_s=float(wall_s)) for wall_s in (900, 10, 20, 30, 40, 50)]
    assert of(plan, *sessions).wall_s.expected == 30.0


def test_a_session_of_other_points_or_of_another_share_says_nothing():
    plan = plan_of(sizing=FIXED, **ROOMY)
    of_first = plan._replace(points=plan.points[:1])
    for session in (earlier(plan, 6, share=32 * MIB), earlier(of_first, 6)):
        assert of(plan, session).wall_s.expected is None


def test_of_launches_that_a_time_ends_only_earlier_sessions_know_the_bytes():
    mixed = random_access(('randrw',), '64MiB', read_share=0.75, direct=False)
    plan = plan_of(mixed, Sweep('queue_depth', (1,)), sizing=Sizing(32 * MIB, MIB, 0.0, 0.5), **ROOMY)
    alone, after = of(plan), of(plan, earlier(plan, 6, share=32 * MIB, size=100 * MIB))
    assert (alone.read, alone.written.most) == (ForecastRange(0, None, None), None)
    prepared = 2 * 64 * MIB  # for the warm-up, and for the points
    assert (alone.written.least, after.written.expected) == (prepared, prepared + 150 * MIB)
    assert after.read.expected == 450 * MIB


def test_the_files_of_a_tree_that_scales_may_fill_what_is_free():
    plan = plan_of(FLAT, FLAT_TREE, **ROOMY)
    inodes = of(plan, free=Capacity(None, 50_000)).inodes
    assert (inodes.least, 40_000 < inodes.most <= 50_000) == (2005, True)


@given(st.integers(1, 40), st.sampled_from([(MFWA, SIZES, 'bytes', 32 * MIB), (FLAT, FLAT_TREE, 'inodes', 1)]))
def test_the_share_that_is_proposed_fits_and_the_next_larger_one_does_not(times, of_kind):
    workload, sweep, what, granule = of_kind
    plan = plan_of(workload, sweep)
    offer = Offer(what, 'limits', peak(plan, granule)[what] + times * granule)
    share = fitting_share(plan, offer)
    assert peak(plan, share)[what] <= offer.offered < peak(plan, share + granule)[what]


def test_no_share_is_proposed_where_none_fits_or_the_memory_decides():
    assert fitting_share(plan_of(), Offer('bytes', 'limits', MIB)) == 0
    of_memory = plan_of(sizing=Sizing(MIB, MIB, 330.0, 300.0, working_set=True))
    assert fitting_share(of_memory, Offer('bytes', 'limits', GIB)) == 0
