"""The share of each task, by a warm-up on files that are never measured, within limits and free space."""

import functools
import sys
import time
from typing import List, Optional, Tuple

from seatrial.filesystem.base import Capacity
from seatrial.job.sequence.layouts import FREE_SHARE
from seatrial.job.sequence.sampling import NotValid, prepare, take, valid
from seatrial.job.sequence.start import WARM, Trial
from seatrial.job.sequence.survey import min_per_task
from seatrial.model.layout import TARGETS
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.model.record import Sized
from seatrial.model.units import MIB, common_multiple, round_up
from seatrial.rules.before import peak
from seatrial.rules.registry import finding
from seatrial.workload.base import Launch
from seatrial.workload.registry import fills, kind_of, resized, share_words, weight
from seatrial.workload.training import step as step_of

WARM_BYTES = 128 * MIB  # a task, for a warm-up that decides no size
SHORT_S = 60.0  # with a shorter time budget, a first launch of unknown duration can exceed the budget
SHORT_BYTES = 16 * MIB  # bytes of all tasks in the first launch then: 4 s at the 3.8 MiB/s of 1 KiB on NFS (seen)
ROUNDS = 5
ENOUGH = 0.6  # share of the target time at which a warm-up is long enough for extrapolation
GROWTH = 16  # largest ratio of the sizes of two consecutive warm-ups
MAX_SIZES = 3
MAX_TARGETS = 4  # targets that are tried for a warm-up, one after the other
ENLARGEMENT = 1.25  # beyond the target, after a launch that was too short


def by_warm_up(trial: Trial) -> Sized:
    """Warm up on files that are never measured (T14), within the time budget, and decide the share of each task."""
    plan, sizing = trial.plan, trial.plan.sizing
    filled = fills(plan.points[0])
    if filled:
        return Sized(1, trial.seen.capacity._asdict()[filled], 'what the limit leaves')
    if kind_of(plan.kind).once:
        return Sized(1, sizing.first, 'fixed by the check: one launch decides')
    points = calibration_points(plan)
    lowest, highest = bounds(plan, trial.seen.environment.memory_bytes, trial.seen.capacity)
    size, cut = min(first_share(plan, points[0]), trial.seen.share or sys.maxsize), ''
    granule = step(plan) if _by_time_alone(plan) else sizing.granule
    words = functools.partial(share_words, kind_of(plan.kind))
    trial.setup.run.make(WARM)
    for round_ in range(ROUNDS):
        began = time.monotonic()
        shortest = _warm_up(trial._replace(directory=WARM), points, size, round_)
        per_second = size / (time.monotonic() - began)
        wanted = round_up(int(size * sizing.target_s / shortest), granule) if shortest else size * GROWTH
        if sizing.fixed or shortest >= ENOUGH * sizing.target_s or size >= highest:
            break
        following = min(wanted, highest, size * GROWTH)
        fitting = int(per_second * trial.left_s()) // granule * granule
        if fitting <= size < following:
            cut = f'the time budget of {plan.stopping.budget_s:g} s allowed no more than {words(size)} a task'
            break
        size = min(following, max(fitting, size))
    trial.setup.run.empty(WARM)
    if trial.seen.share:
        decided, reason = trial.seen.share, f'to {plan.points[0].fullness:.0%} of the file system'
    elif sizing.fixed:
        decided, reason = sizing.first, 'fixed by the site or the profile'
    else:
        decided = min(max(wanted, lowest), highest)
        reason = f'{words(size)} a task took {shortest:.2f} s; {sizing.target_s:g} s are meant'
        reason += '; limits or free space allow no more' if wanted > highest else ''
    return Sized(1, decided, reason, (finding('T14a', cut),) if cut else ())


def bounds(plan: TrialPlan, memory_bytes: int, capacity: Capacity) -> Tuple[int, int]:
    """The smallest and the largest share of a task that a warm-up can decide; memory_bytes is one node's."""
    lowest, highest = min_per_task(plan, memory_bytes), max_per_task(plan, capacity)
    if plan.sizing.fixed:
        return lowest, lowest
    if _by_time_alone(plan):
        lowest = min(lowest, round_up(first_share(plan, calibration_points(plan)[0]), step(plan)))
    return lowest, highest


def _by_time_alone(plan: TrialPlan) -> bool:
    """True if only the time of a launch matters: a smoke test may measure small files."""
    return plan.stopping.fixed and not plan.sizing.working_set and plan.sizing.pinned is None


def first_share(plan: TrialPlan, point: Point) -> int:
    """A task's share of the first warm-up: less where it is bytes, and the time budget short."""
    size = plan.sizing.first
    if not kind_of(plan.kind).moves_data:
        return size
    if plan.sizing.fixed:
        size = min(size, WARM_BYTES)
    if plan.stopping.budget_s < SHORT_S:
        size = min(size, max(MIB, SHORT_BYTES // point.tasks))
    return min(round_up(size, step(plan)), plan.sizing.first)  # a fixed share need not be a multiple of the step


def step(plan: TrialPlan) -> int:
    """The granule of a task's share at all points, round figure or not."""
    if not kind_of(plan.kind).moves_data:
        return plan.sizing.granule
    return common_multiple(map(step_of, plan.points))


def enlarged(trial: Trial, current: Sized, seconds: float) -> Optional[Sized]:
    """The next size after a launch that was too short; None if it was long enough, or no larger size is possible."""
    sizing = trial.plan.sizing
    wanted = round_up(int(ENLARGEMENT * current.per_task * sizing.target_s / seconds), sizing.granule)
    size = min(wanted, max_per_task(trial.plan, trial.seen.capacity))
    if seconds >= sizing.min_s or sizing.fixed or current.number >= MAX_SIZES or size <= current.per_task:
        return None
    reason = f'a launch lasted only {seconds:.3f} s; the samples before do not count'
    return Sized(current.number + 1, size, reason, current.findings)


def calibration_points(plan: TrialPlan) -> List[Point]:
    """The point whose timed region will be the shortest: fewest tasks, else the largest transfers or least data. Of a
    sweep over targets the first, as one target is slower than all; after it those to try if the first is dead."""
    lightest = min(plan.points, key=weight)
    if plan.axis.equals not in TARGETS:
        return [lightest]
    equal = [point for point in plan.points if weight(point) == weight(lightest) and point.layout is not None]
    return [*equal[:MAX_TARGETS], lightest._replace(layout=None)]


def max_per_task(plan: TrialPlan, capacity: Capacity) -> int:
    """The largest share within limits and free space, in whole granules; P9 has made sure that it is not zero."""
    granule = plan.sizing.granule
    allowed = plan.target.limits._asdict()
    for what, free in (('bytes', capacity.bytes), ('inodes', capacity.inodes)):
        if free is not None:
            allowed[what] = min(allowed[what], int(FREE_SHARE * free))
    one, two = peak(plan, granule), peak(plan, 2 * granule)
    grows = {what: two[what] - one[what] for what in one if two[what] > one[what]}
    granules = [(allowed[what] - one[what] + by) // by for what, by in grows.items()]
    return granule * max(1, min(granules, default=1))


def _warm_up(trial: Trial, points: List[Point], size: int, round_: int) -> float:
    """One discarded repetition of the first point: its shortest region in seconds. An invalid point is taken out."""
    while True:
        trial.setup.run.empty(WARM)
        point, sizing = resized(points[:1], size)[0], trial.plan.sizing
        if sizing.fixed and sizing.min_s and point.duration_s:  # it decides no size: the shortest valid time
            point = point.changed(duration_s=min(point.duration_s, sizing.min_s))
        launches = [Launch(phase, point) for phase in trial.plan.phases]
        try:
            prepare(trial, [point])
            return min(valid(take(trial, 'warmup', launch, round_)).seconds for launch in launches)
        except NotValid:
            if len(points) == 1:
                raise
            points.pop(0)
