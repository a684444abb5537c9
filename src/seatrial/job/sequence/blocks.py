"""What the plan asks for: randomised blocks of repetitions, until the stopping rule is content with every point."""

import itertools
from typing import Dict, List, Optional, Tuple

from seatrial.job.launch.processes import LaunchGivenUp, still_working
from seatrial.job.sequence.darshan import traced_point
from seatrial.job.sequence.sampling import prepare, seconds_of, take
from seatrial.job.sequence.sizing import enlarged
from seatrial.job.sequence.trial import DATA, Refused, Trial
from seatrial.model.ask import unresponsive
from seatrial.model.point import Point
from seatrial.model.record import Sized
from seatrial.rules.case import in_random_order
from seatrial.rules.issued import DARSHAN
from seatrial.rules.stopping import state
from seatrial.workload.base import Launch
from seatrial.workload.registry import kept, metrics_at, resized


def measure(trial: Trial, first: Sized, stopped: Dict[str, str]) -> None:
    """Measure all points, anew with a larger share where a launch was too short; `stopped` gets why each ended."""
    trial.setup.run.make(DATA)
    current: Optional[Sized] = first
    while current is not None:
        trial.recorder.write(current)
        current = _measure_sized(trial, current, resized(trial.plan.points, current.per_task), stopped)
        if current is not None or not kept(trial.plan):
            trial.setup.run.empty(DATA)


def _measure_sized(trial: Trial, current: Sized, points: List[Point], stopped: Dict[str, str]) -> Optional[Sized]:
    """Every point that is not done once in random order, until all are; the next size if this one is too small."""
    plan = trial.plan
    stopped.clear()
    prepared = prepare(trial, points)
    values: Dict[str, Dict[str, List[float]]] = {
        point.label: {each.name: [] for each in metrics_at(point)} for point in points
    }
    for block in itertools.count():
        left = {point.label: point for point in points if point.label not in stopped}
        if not left:
            _trace(trial, points, current)
            return None
        lost = trial.held.lost()
        if lost:
            raise Refused(lost)
        for point in map(left.__getitem__, in_random_order(left, plan.seed, current.number, block)):
            # A profile that asks for no precision has every point measured once, however slow the system.
            if trial.left_s() < 0 and not (plan.stopping.fixed and block == 0):
                stopped[point.label] = 'budget'
                continue
            if kept(plan):  # what the repetition before made stays until there is another
                trial.setup.run.empty(DATA)
            reason, shortest = _repeat(trial, point, current, block, values[point.label])
            if shortest < plan.sizing.min_s:
                larger = enlarged(trial, current, shortest)
                if larger is not None:
                    return larger
            if reason:
                stopped[point.label] = reason
            if not prepared and not kept(plan):
                trial.setup.run.empty(DATA)
        trial.recorder.sync()
    return None


def _repeat(
    trial: Trial, point: Point, current: Sized, block: int, values: Dict[str, List[float]]
) -> Tuple[str, float]:
    """One repetition of a point: why it is done, if it is, and the seconds of its shortest timed region."""
    shortest = float('inf')
    repetition = len(next(iter(values.values())))
    for phase in point.phases:
        sample = take(trial, 'measured', Launch(phase, point), repetition, block, current)
        shortest = min(shortest, seconds_of(sample))
        if not sample.valid:
            damaged = [each.sentence for each in sample.findings if each.rule == 'F2']
            if damaged:  # the next launch would empty the directory
                raise Refused(f'the file is kept: {damaged[0]}')
            return 'invalid', shortest
        for name, figure in sample.figures.items():
            values[name].append(figure)
    steering = {each.name: values[each.name] for each in metrics_at(point) if each.steers}
    progress = state(steering, trial.plan.stopping)
    return progress.reason if progress.action == 'done' else '', shortest


def _trace(trial: Trial, points: List[Point], current: Sized) -> None:
    """One repetition under Darshan, where the site has it and time is left: it is no figure, but evidence (P15)."""
    plan, point = trial.plan, traced_point(trial.plan, points)
    if point is None or (trial.left_s() < 0 and not plan.stopping.fixed):
        return
    for phase in point.phases:
        try:
            take(trial, DARSHAN, Launch(phase, point), 0, 0, current)
        except LaunchGivenUp:
            # Darshan can hang what it is loaded into (seen with fio): that says nothing of the figures before it.
            if unresponsive(plan.target.path) is not None or still_working(plan.target.path) is not None:
                raise
            return
