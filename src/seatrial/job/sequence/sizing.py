"""The share of each client: found out by a warm-up on files that are never measured, within limits and free space."""

import os
from typing import List, Optional, Tuple

from seatrial.filesystem.base import Capacity
from seatrial.job.sequence.layouts import FREE_SHARE
from seatrial.job.sequence.sampling import NotBelieved, believed, prepare, take
from seatrial.job.sequence.survey import least_per_client
from seatrial.job.sequence.trial import WARM, Trial
from seatrial.model.namespace import Namespace
from seatrial.model.plan import Sizing, TrialPlan
from seatrial.model.record import Sized
from seatrial.model.units import MIB, approximate_size, round_up
from seatrial.model.work import Launch, Place, preparations, sized
from seatrial.model.workload import PLACES, Point
from seatrial.rules.before import peak
from seatrial.rules.registry import WARMUP, findings
from seatrial.rules.warmup import Warmed

WARM_BYTES = 128 * MIB  # a client, for a warm-up that decides no size
ROUNDS = 5
ENOUGH = 0.6  # of the target: the warm-up was long enough to extrapolate from
GROWTH = 16  # at most, from one warm-up to the next
SIZES_MOST = 3
TARGETS_MOST = 4  # that are tried for a warm-up, one after the other
ENLARGEMENT = 1.25  # beyond the target, after a launch that was too short
SAMPLE_BLOCK = 65536  # bytes looked at by P4


def by_warm_up(trial: Trial) -> Sized:
    """Warm up on files that are never measured (T14), decide the share of each client, check the data (P4)."""
    plan, sizing = trial.plan, trial.plan.sizing
    points = calibration_points(plan)
    least, most = least_per_client(plan, trial.seen.memory_bytes), most_per_client(plan, trial.seen.capacity)
    size = min(sizing.first, round_up(WARM_BYTES, sizing.granule)) if _fixed(sizing) else sizing.first
    trial.ground.run.make(WARM)
    for round_ in range(ROUNDS):
        shortest, blocks = _warm_up_on_one(trial, points, size, round_)
        wanted = round_up(int(size * sizing.target_s / shortest), sizing.granule) if shortest else size
        if _fixed(sizing) or shortest >= ENOUGH * sizing.target_s or size >= most:
            break
        size = min(wanted, most, size * GROWTH)
    trial.ground.run.empty(WARM)
    if _fixed(sizing):
        decided, reason = sizing.first, 'fixed by the site or the profile'
    else:
        decided = min(max(wanted, least), most)
        reason = f'{_share(plan, size)} a client took {shortest:.2f} s; {sizing.target_s:g} s are meant'
        reason += '; limits or free space allow no more' if wanted > most else ''
    found = findings(WARMUP, Warmed(plan, blocks, _repeats(trial, decided)))
    return Sized(1, decided, reason, tuple(found))


def enlarged(trial: Trial, current: Sized, seconds: float) -> Optional[Sized]:
    """The next size after a launch that was too short, or None where there can be none."""
    sizing = trial.plan.sizing
    wanted = round_up(int(ENLARGEMENT * current.per_client * sizing.target_s / seconds), sizing.granule)
    size = min(wanted, most_per_client(trial.plan, trial.seen.capacity))
    if _fixed(sizing) or current.number >= SIZES_MOST or size <= current.per_client:
        return None
    reason = f'a launch lasted only {seconds:.3f} s; the samples before do not count'
    more = findings(WARMUP, Warmed(trial.plan, (), _repeats(trial, size)))
    known = {each.rule for each in current.findings}
    found = (*current.findings, *(each for each in more if each.rule not in known))
    return Sized(current.number + 1, size, reason, found)


def calibration_points(plan: TrialPlan) -> List[Place]:
    """The point whose timed region will be the shortest: fewest clients, else the largest transfers or least data.

    Of a sweep over targets the first of them, since one is slower than all together; behind it those to be taken if
    it is the one that is dead, the last of which is none.
    """

    def weight(point: Place) -> Tuple[int, int]:
        return point.tasks, -point.transfer_size if isinstance(point, Point) else point.tree.bytes_per_file

    lightest = min(plan.points, key=weight)
    if plan.axis not in PLACES:
        return [lightest]
    equal = [point for point in plan.points if weight(point) == weight(lightest) and point.layout is not None]
    return [*equal[:TARGETS_MOST], lightest._replace(layout=None)]


def most_per_client(plan: TrialPlan, capacity: Capacity) -> int:
    """What limits and free space allow, in whole granules; P9 has made sure that it is not nothing."""
    granule = plan.sizing.granule
    allowed = plan.target.limits._asdict()
    for what, free in capacity._asdict().items():
        if free is not None:
            allowed[what] = min(allowed[what], int(FREE_SHARE * free))
    one, two = peak(plan, 1), peak(plan, 2)
    shares = [
        (allowed[what] - (one[what] - (two[what] - one[what]))) // (two[what] - one[what])
        for what in one
        if two[what] > one[what]
    ]
    return max(granule, min(shares, default=granule) // granule * granule)


def _fixed(sizing: Sizing) -> bool:
    return sizing.pinned is not None or sizing.target_s == 0


def _repeats(trial: Trial, per_client: int) -> str:
    """What is there twice of the data that a launch of this size writes, be it measured or a preparation."""
    plan = trial.plan
    points = [sized(point, plan.axis, per_client) for point in plan.points]
    written = [(each.workload, each.point) for each in preparations(plan.workload, points)]
    told = (trial.ground.engine.repeats(*each) for each in written or [(plan.workload, point) for point in points])
    return next((said for said in told if said), '')


def _share(plan: TrialPlan, per_client: int) -> str:
    return f'{per_client} files' if isinstance(plan.workload, Namespace) else approximate_size(per_client)


def _warm_up_on_one(trial: Trial, points: List[Place], size: int, round_: int) -> Tuple[float, Tuple[bytes, ...]]:
    """As _warm_up, on the first of the points; one that fails is taken out, unless it is the last."""
    while True:
        trial.ground.run.empty(WARM)
        try:
            return _warm_up(trial, sized(points[0], trial.plan.axis, size), round_)
        except NotBelieved:
            if len(points) == 1:
                raise
            points.pop(0)


def _warm_up(trial: Trial, point: Place, round_: int) -> Tuple[float, Tuple[bytes, ...]]:
    """One discarded repetition: seconds of the shortest timed region, and bytes of what was written, if anything was.

    A launch that cannot be believed ends the case.
    """
    workload = trial.plan.workload
    prepare(trial, [point], WARM)
    seconds, blocks = [], None
    for operation in workload.operations:
        measurement = believed(take(trial, 'warmup', Launch(workload, operation, point), round_, WARM))
        seconds.append(measurement.seconds)
        blocks = _blocks(trial) if blocks is None else blocks
    return min(seconds), blocks or ()


def _blocks(trial: Trial) -> Tuple[bytes, ...]:
    """The first bytes of two of the files that are there, or the first and the middle bytes of one."""
    written = sorted(item for item in trial.ground.run.file_list(WARM).items() if item[1])
    if not written:
        return ()
    (first, size), (last, _) = written[0], written[-1]
    blocks = []
    for name, offset in ((first, 0), (last, 0 if len(written) > 1 else size // 2)):
        with open(os.path.join(trial.ground.run.path_of(WARM), name), 'rb') as stream:
            stream.seek(offset)
            blocks.append(stream.read(SAMPLE_BLOCK))
    return tuple(blocks)
