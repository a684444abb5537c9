"""What is measured after the plan's own repetitions, while time is left: what seems slow, and which targets are."""

import random
from typing import Optional, Sequence

from seatrial.job.sequence import drill
from seatrial.job.sequence.confirm import measured_again, repetitions
from seatrial.job.sequence.recorder import records_in
from seatrial.job.sequence.sampling import prepare, seconds_of, take
from seatrial.job.sequence.sizing import enlarged
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
    by_metric = places.suspected(plan, records)
    suspects = places.all_of(by_metric)
    if not suspects or records.sized is None:
        return
    rng = random.Random(plan.seed + 1)
    again = measured_again(plan, suspects, trial.nodes, rng, places.kinds(plan, records))
    points = [point._replace(phases=places.phases_again(plan, by_metric)) for point in again.points]
    named, current = trial._replace(nodes=again.nodes), records.sized  # type: Trial, Optional[Sized]
    while current is not None:
        current = _measure_sized_again(named, points, current, rng)


def _measure_sized_again(trial: Trial, again: Sequence[Point], current: Sized, rng: random.Random) -> Optional[Sized]:
    """All repetitions with this share of each task. Returns the next size if this one proves too small."""
    points = resized(again, current.per_task)
    for repetition in range(repetitions(trial.plan)):
        for point in rng.sample(points, len(points)):
            if trial.left_s() < 0:
                return None
            shortest = _repeat_again(trial, point, repetition, current)
            if shortest < trial.plan.sizing.min_s:
                larger = enlarged(trial, current, shortest)
                if larger is not None:
                    return larger
    return None


def drill_down(trial: Trial) -> None:
    """Where a figure is surely below its bound: which targets make it so."""
    plan, records = trial.plan, records_in(trial.plan.records)
    begun = drill.begun(plan, records, trial.setup.driver)
    if begun is None or records.sized is None:
        return
    wanted, current = begun.breach.metric, records.sized

    def measure(point: Point, repetition: int) -> Optional[float]:
        launches = kind_of(point.kind).preparations([point]) + [Launch(phase, point) for phase in point.phases]
        for launch in launches:
            sample = take(trial, drill.DRILL, launch, repetition, repetition, current)
            if not sample.valid or wanted in sample.figures:
                break
        trial.setup.run.empty(DATA)
        return sample.figures.get(wanted) if sample.valid else None

    trial.recorder.write(drill.carry_out(begun, measure, trial.left_s, random.Random(plan.seed + 2)))


def _repeat_again(trial: Trial, point: Point, repetition: int, current: Sized) -> float:
    """The seconds of the shortest timed region; of those that no size would help they do not count."""
    prepare(trial, [point])
    shortest = float('inf')
    for phase in point.phases:
        sample = take(trial, places.CONFIRM, Launch(phase, point), repetition, repetition, current)
        shortest = min(shortest, seconds_of(sample))
        if not sample.valid:
            break
    trial.setup.run.empty(DATA)
    return shortest
