"""The share of each task: found out by a warm-up on files that are never measured, within limits and free space."""

from typing import List, Optional

from seatrial.filesystem.base import Capacity
from seatrial.job.sequence.layouts import FREE_SHARE
from seatrial.job.sequence.sampling import NotValid, prepare, take, valid
from seatrial.job.sequence.survey import min_per_task
from seatrial.job.sequence.trial import WARM, Trial
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.model.record import Sized
from seatrial.model.units import MIB, round_up
from seatrial.rules.before import peak
from seatrial.workload.base import Launch
from seatrial.workload.registry import kind_of, resized

WARM_BYTES = 128 * MIB  # a task, for a warm-up that decides no size
ROUNDS = 5
ENOUGH = 0.6  # of the target: the warm-up was long enough to extrapolate from
GROWTH = 16  # at most, from one warm-up to the next
MAX_SIZES = 3
MAX_TARGETS = 4  # that are tried for a warm-up, one after the other
ENLARGEMENT = 1.25  # beyond the target, after a launch that was too short


def by_warm_up(trial: Trial) -> Sized:
    """Warm up on files that are never measured (T14), and decide the share of each task."""
    plan, sizing = trial.plan, trial.plan.sizing
    points = calibration_points(plan)
    lowest, highest = min_per_task(plan, trial.seen.memory_bytes), max_per_task(plan, trial.seen.capacity)
    size = min(sizing.first, round_up(WARM_BYTES, sizing.granule)) if sizing.fixed else sizing.first
    trial.setup.run.make(WARM)
    for round_ in range(ROUNDS):
        shortest = _warm_up_on_one(trial, points, size, round_)
        wanted = round_up(int(size * sizing.target_s / shortest), sizing.granule) if shortest else size
        if sizing.fixed or shortest >= ENOUGH * sizing.target_s or size >= highest:
            break
        size = min(wanted, highest, size * GROWTH)
    trial.setup.run.empty(WARM)
    if sizing.fixed:
        decided, reason = sizing.first, 'fixed by the site or the profile'
    else:
        decided = min(max(wanted, lowest), highest)
        words = kind_of(plan.kind).share_words(size)
        reason = f'{words} a task took {shortest:.2f} s; {sizing.target_s:g} s are meant'
        reason += '; limits or free space allow no more' if wanted > highest else ''
    return Sized(1, decided, reason)


def enlarged(trial: Trial, current: Sized, seconds: float) -> Optional[Sized]:
    """The next size after a launch that was too short, or None where there can be none."""
    sizing = trial.plan.sizing
    wanted = round_up(int(ENLARGEMENT * current.per_task * sizing.target_s / seconds), sizing.granule)
    size = min(wanted, max_per_task(trial.plan, trial.seen.capacity))
    if sizing.fixed or current.number >= MAX_SIZES or size <= current.per_task:
        return None
    reason = f'a launch lasted only {seconds:.3f} s; the samples before do not count'
    return Sized(current.number + 1, size, reason)


def calibration_points(plan: TrialPlan) -> List[Point]:
    """The point whose timed region will be the shortest: fewest tasks, else the largest transfers or least data.

    Of a sweep over targets the first of them, since one is slower than all together; behind it those to be taken if
    it is the one that is dead, the last of which is none.
    """
    weight = kind_of(plan.kind).weight
    lightest = min(plan.points, key=weight)
    if not plan.axis.equals:
        return [lightest]
    equal = [point for point in plan.points if weight(point) == weight(lightest) and point.layout is not None]
    return [*equal[:MAX_TARGETS], lightest._replace(layout=None)]


def max_per_task(plan: TrialPlan, capacity: Capacity) -> int:
    """What limits and free space allow, in whole granules; P9 has made sure that it is not nothing."""
    granule = plan.sizing.granule
    allowed = plan.target.limits._asdict()
    for what, free in capacity._asdict().items():
        if free is not None:
            allowed[what] = min(allowed[what], int(FREE_SHARE * free))
    one, two = peak(plan, granule), peak(plan, 2 * granule)
    granules = [
        (allowed[what] - (2 * one[what] - two[what])) // (two[what] - one[what])
        for what in one
        if two[what] > one[what]
    ]
    return granule * max(1, min(granules, default=1))


def _warm_up_on_one(trial: Trial, points: List[Point], size: int, round_: int) -> float:
    """As _warm_up, on the first of the points; one that fails is taken out, unless it is the last."""
    while True:
        trial.setup.run.empty(WARM)
        try:
            return _warm_up(trial, resized(points[:1], size), round_)
        except NotValid:
            if len(points) == 1:
                raise
            points.pop(0)


def _warm_up(trial: Trial, points: List[Point], round_: int) -> float:
    """One discarded repetition: seconds of the shortest timed region. A launch that is not valid ends the case."""
    prepare(trial, points, WARM)
    phases = trial.plan.phases
    return min(valid(take(trial, 'warmup', Launch(phase, points[0]), round_, WARM)).seconds for phase in phases)
