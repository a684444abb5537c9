"""What is measured after the plan's own repetitions, while time is left: what seems slow, and which targets are."""

import random
from typing import Optional

from seatrial.job.sequence import drill
from seatrial.job.sequence.confirm import measured_again, repetitions
from seatrial.job.sequence.recorder import records_in
from seatrial.job.sequence.sampling import prepare, take
from seatrial.job.sequence.trial import DATA, Trial
from seatrial.model.point import Point
from seatrial.model.record import Sized
from seatrial.rules import places
from seatrial.workload.base import Launch
from seatrial.workload.registry import kind_of, resized


def measure_again(trial: Trial) -> None:
    """Of an isolation sweep: what seems slow once more, beside others, as often as those."""
    plan = trial.plan
    records = records_in(plan.records)
    suspects = places.all_of(places.suspected(plan, records))
    if not suspects or records.sized is None:
        return
    rng = random.Random(plan.seed + 1)
    again = measured_again(plan, suspects, trial.nodes, rng, places.kinds(plan, records))
    points = resized(again.points, records.sized.per_task)
    for repetition in range(repetitions(plan)):
        for point in rng.sample(points, len(points)):
            if trial.left_s() < 0:
                return
            _repeat_again(trial._replace(nodes=again.nodes), point, repetition, records.sized)


def drill_down(trial: Trial) -> None:
    """Where a figure is surely below its bound: which targets make it so."""
    plan, records = trial.plan, records_in(trial.plan.records)
    begun = drill.begun(plan, records, trial.setup.driver)
    if begun is None or records.sized is None:
        return
    wanted, current = begun.breach.metric, records.sized

    def measure(point: Point, repetition: int) -> Optional[float]:
        return _drilled(trial, wanted, point, repetition, current)

    trial.recorder.write(drill.carry_out(begun, measure, trial.left_s, random.Random(plan.seed + 2)))


def _repeat_again(trial: Trial, point: Point, repetition: int, current: Sized) -> None:
    prepare(trial, [point], DATA)
    for phase in point.phases:
        if not take(trial, places.CONFIRM, Launch(phase, point), repetition, DATA, repetition, current).valid:
            break
    trial.setup.run.empty(DATA)


def _drilled(trial: Trial, wanted: str, point: Point, repetition: int, current: Sized) -> Optional[float]:
    """One repetition up to the launch that gives the metric, and its figure; None where a launch is not valid."""
    launches = kind_of(point.kind).preparations([point]) + [Launch(phase, point) for phase in point.phases]
    for launch in launches:
        sample = take(trial, drill.DRILL, launch, repetition, DATA, repetition, current)
        if not sample.valid or wanted in sample.figures:
            break
    trial.setup.run.empty(DATA)
    return sample.figures.get(wanted) if sample.valid else None
