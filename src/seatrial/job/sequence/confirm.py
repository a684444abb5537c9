"""The second measurement of an isolation sweep: suspects are measured again, beside others than before, while
time is left. Chance or neighbours can have slowed them; only a suspect that is slow again beside others is named."""

from random import Random
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from seatrial.job.sequence.recorder import records_in
from seatrial.job.sequence.sampling import prepare, seconds_of, take
from seatrial.job.sequence.sizing import enlarged
from seatrial.job.sequence.start import DATA, Trial
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.model.record import Sized
from seatrial.rules import places
from seatrial.rules.outliers import CONTROLS
from seatrial.rules.places import NO_KINDS, short
from seatrial.workload.base import Launch
from seatrial.workload.registry import resized
from seatrial.workload.sweep import group_size

LARGEST_GROUP = 32  # nodes: a suspect and 31 others show what is usual, and are cheap
SLOWER = 4  # the time budget has room for launches of a slow place that take so many times as long as its equals'


class Again(NamedTuple):
    """The second measurement. nodes: in the order that Point.first_node counts in, some perhaps twice."""

    nodes: Tuple[str, ...]
    points: Tuple[Point, ...]


def measure_again(trial: Trial) -> None:
    """Measure the suspects again, beside others and as often as these."""
    plan = trial.plan
    records = records_in(plan.records)
    by_metric = places.suspected(plan, records)
    suspects = places.all_of(by_metric)
    if not suspects or records.sized is None:
        return
    rng = Random(plan.seed + 1)
    again = measured_again(plan, suspects, trial.nodes, rng, places.kinds(plan, records))
    points = [point._replace(phases=places.phases_again(plan, by_metric)) for point in again.points]
    named, current = trial._replace(nodes=again.nodes), records.sized  # type: Trial, Optional[Sized]
    while current is not None:
        current = _measure_sized_again(named, points, current, rng)


def _measure_sized_again(trial: Trial, again: Sequence[Point], current: Sized, rng: Random) -> Optional[Sized]:
    """As many repetitions as a verdict needs, with this share of each task; the next size if it proves too small."""
    points, stopping = resized(again, current.per_task), trial.plan.stopping
    for repetition in range(stopping.minimum + stopping.extra):
        for point in rng.sample(points, len(points)):
            if trial.left_s() < 0:
                return None
            prepare(trial, [point])
            shortest = float('inf')
            for phase in point.phases:
                sample = take(trial, places.CONFIRM, Launch(phase, point), repetition, repetition, current)
                shortest = min(shortest, seconds_of(sample))
                if not sample.valid:
                    break
            trial.setup.run.empty(DATA)
            larger = enlarged(trial, current, shortest)
            if larger is not None:
                return larger
    return None


def measured_again(
    plan: TrialPlan, suspects: Sequence[str], nodes: Sequence[str], rng: Random, kinds: Mapping[str, str] = NO_KINDS
) -> Again:
    """Groups of nodes, or points, of suspects and at least CONTROLS others. kinds: those of targets, if several."""
    if plan.axis.equals == 'node':
        like = plan.points[0]
        order: List[str] = []
        points: List[Point] = []
        for number, group in enumerate(regrouped(suspects, nodes, rng), 1):
            label, tasks = f'again{number:02d}', len(group) * like.tasks_per_node
            points.append(like._replace(label=label, nodes=len(group), tasks=tasks, first_node=len(order)))
            order += group
        return Again(tuple(order), tuple(points))
    chosen = set(suspects)
    for kind in sorted({kinds.get(name, '') for name in suspects}):
        of_kind = [name for name in suspects if kinds.get(name, '') == kind]
        labels = [point.label for point in plan.points]
        equals = [label for label in labels if label not in suspects and kinds.get(label, '') == kind]
        chosen.update(rng.sample(equals, min(len(equals), max(CONTROLS, len(of_kind)))))
    return Again(tuple(nodes), tuple(point for point in plan.points if point.label in chosen))


def needed(equals: str, points: int) -> Tuple[int, int]:
    """A repetition's time, counted in launches, if one place is SLOWER: in the sweep and in the confirmation."""
    if equals == 'node':  # a slow node holds up its group and all nodes; its new group and two of controls follow
        return points - 2 + 2 * SLOWER, 2 + SLOWER
    return points - 1 + SLOWER, min(points - 1, CONTROLS) + SLOWER


def has_time(trial: Trial) -> bool:
    """True while the first measurement may begin a launch: also in the time kept for the second while there is no
    suspect, because more repetitions are worth more then."""
    plan, left_s = trial.plan, trial.left_s()
    if left_s < 0 or not plan.axis.equals:
        return left_s >= 0
    return left_s >= kept_share(plan) * plan.stopping.budget_s or not places.suspected(plan, records_in(plan.records))


def kept_share(plan: TrialPlan) -> float:
    """The share of the time budget of an isolation sweep kept to measure suspects again."""
    once, again = needed(plan.axis.equals, len(plan.points))
    return again / (once + again)


def regrouped(suspects: Sequence[str], nodes: Sequence[str], rng: Random) -> List[List[str]]:
    """New groups: suspects with nodes of others, at most half, then controls alone, up to CONTROLS if nodes last."""
    size = max(2, min(LARGEST_GROUP, len(nodes) // 2))
    old = {node: place // group_size(len(nodes)) for place, node in enumerate(nodes)}
    slow = [node for node in nodes if short(node) in set(suspects)]
    healthy = [node for node in nodes if node not in set(slow)]
    rng.shuffle(healthy)
    spare, groups = list(healthy), []
    for at in range(0, len(slow), size // 2):
        members = slow[at : at + size // 2]
        neighbours = {old[node] for node in members}
        # Sorted is stable: the order stays random among those of other groups, and those of the same come last.
        spare.sort(key=lambda node: old[node] in neighbours)
        groups.append(members + _taken(spare, healthy, size - len(members)))
    used = len(healthy) - len(spare)
    while spare and used < CONTROLS:
        used += min(len(spare), size)
        groups.append(_taken(spare, healthy, size))
    return groups


def _taken(spare: List[str], healthy: Sequence[str], count: int) -> List[str]:
    """Takes `count` of the spare nodes from the list; if there are too few, others are used once again."""
    taken = spare[:count]
    del spare[:count]
    more = [node for node in healthy if node not in taken]
    return taken + more[: count - len(taken)]
