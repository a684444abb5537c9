"""What the plan asks for: randomised blocks of repetitions, until the stopping rule is content with every point."""

import itertools
import random
from typing import Dict, List, Optional, Tuple

from seatrial.job.launch.processes import LaunchGivenUp, still_working
from seatrial.job.sequence.darshan import WITNESS, witness_point
from seatrial.job.sequence.sampling import TOO_SHORT, prepare, take
from seatrial.job.sequence.sizing import enlarged
from seatrial.job.sequence.trial import DATA, Refused, Trial
from seatrial.model.ask import unresponsive
from seatrial.model.record import Sized
from seatrial.model.work import Launch, Place, sized
from seatrial.rules.stopping import state


def measure(trial: Trial, first: Sized, stopped: Dict[str, str]) -> None:
    """Measure all points; begin again with a larger share where a launch was too short to be believed.

    stopped: is filled with the reason why each point was repeated no more
    """
    rng = random.Random(trial.plan.seed)
    trial.ground.run.make(DATA)
    current: Optional[Sized] = first
    while current is not None:
        trial.recorder.write(current)
        points = [sized(each, trial.plan.axis, current.per_client) for each in trial.plan.points]
        current = _measure_sized(trial, current, points, rng, stopped)
        trial.ground.run.empty(DATA)


def _measure_sized(
    trial: Trial, current: Sized, points: List[Place], rng: random.Random, stopped: Dict[str, str]
) -> Optional[Sized]:
    """Every point that is not done yet once, in random order, until all are done.

    Returns the next size if this one proves too small.
    """
    plan = trial.plan
    stopped.clear()
    prepared = prepare(trial, points, DATA)
    values: Dict[str, Dict[str, List[float]]] = {
        point.label: {name: [] for each in plan.workload.operations for name in plan.measures(each, point)}
        for point in points
    }
    for block in itertools.count():
        order = [point for point in points if point.label not in stopped]
        if not order:
            _bear_witness(trial, points, current)
            return None
        lost = trial.held.lost()
        if lost:
            raise Refused(lost)
        rng.shuffle(order)
        for point in order:
            # A profile that asks for no precision has every point measured once, however slow the system.
            if trial.left_s() < 0 and not (plan.stopping.fixed and block == 0):
                stopped[point.label] = 'budget'
                continue
            reason, shortest = _repeat(trial, point, current, block, values[point.label])
            if shortest < plan.sizing.min_s:
                larger = enlarged(trial, current, shortest)
                if larger is not None:
                    return larger
            if reason:
                stopped[point.label] = reason
            if not prepared:
                trial.ground.run.empty(DATA)
        trial.recorder.sync()
    return None


def _repeat(
    trial: Trial, point: Place, current: Sized, block: int, values: Dict[str, List[float]]
) -> Tuple[str, float]:
    """One repetition of a point: why it is done, if it is, and the seconds of its shortest timed region.

    Of a launch that is invalid for another reason the seconds do not count: no size would mend it.
    """
    shortest = float('inf')
    workload = trial.plan.workload
    repetition = len(next(iter(values.values())))
    for operation in workload.operations:
        sample = take(trial, 'measured', Launch(workload, operation, point), repetition, DATA, block, current)
        if sample.measurement is not None and all(
            f.effect == 'label' or f.rule in TOO_SHORT for f in sample.findings
        ):
            shortest = min(shortest, sample.measurement.seconds or shortest)
        if not sample.valid:
            return 'invalid', shortest
        for name, figure in sample.figures.items():
            values[name].append(figure)
    progress = state(values, trial.plan.stopping)
    return progress.reason if progress.action == 'done' else '', shortest


def _bear_witness(trial: Trial, points: List[Place], current: Sized) -> None:
    """One repetition under Darshan, where the site has it and time is left: it is no figure, but evidence (P15)."""
    plan, point = trial.plan, witness_point(trial.plan, points)
    if point is None or (trial.left_s() < 0 and not plan.stopping.fixed):
        return
    for operation in plan.workload.operations:
        try:
            take(trial, WITNESS, Launch(plan.workload, operation, point), 0, DATA, 0, current)
        except LaunchGivenUp:
            # Darshan can hang what it is loaded into (seen with fio): that is nothing against the figures before it.
            if still_working(plan.target.path) is not None or unresponsive(plan.target.path) is not None:
                raise
            return
