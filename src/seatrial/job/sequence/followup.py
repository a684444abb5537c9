"""What is measured after the plan's own repetitions, while time is left: what seems slow, and which targets are."""

import random
from typing import Optional

from seatrial.job.sequence import drill
from seatrial.job.sequence.confirm import Again, measured_again, repetitions
from seatrial.job.sequence.recorder import records_in
from seatrial.job.sequence.sampling import prepare, take
from seatrial.job.sequence.trial import DATA, Trial
from seatrial.model.record import Sized
from seatrial.model.work import Launch, Place, preparations, sized
from seatrial.rules import places


def measure_again(trial: Trial) -> None:
    """Of an isolation sweep: what seems slow once more, beside others, as often as those."""
    plan = trial.plan
    records = records_in(plan.records)
    suspects = places.all_of(places.suspected(plan, records))
    if not suspects or records.sized is None:
        return
    rng = random.Random(plan.seed + 1)
    again = measured_again(plan, suspects, trial.nodes, rng, places.kinds(plan, records))
    for repetition in range(repetitions(plan)):
        for point in rng.sample(again.points, len(again.points)):
            if trial.left_s() < 0:
                return
            _repeat_again(trial, again, sized(point, plan.axis, records.sized.per_client), repetition, records.sized)


def drill_down(trial: Trial) -> None:
    """Where a figure is surely below its bound: which targets make it so."""
    plan, records = trial.plan, records_in(trial.plan.records)
    begun = drill.begun(plan, records, trial.ground.driver)
    if begun is None or records.sized is None:
        return
    wanted, current = begun.breach.operation, records.sized._replace(per_client=begun.per_client)

    def measure(point: Place, repetition: int) -> Optional[float]:
        return _drilled(trial, wanted, point, repetition, current)

    trial.recorder.write(drill.carry_out(begun, measure, trial.left_s, random.Random(plan.seed + 2)))


def _repeat_again(trial: Trial, again: Again, point: Place, repetition: int, current: Sized) -> None:
    beside = trial._replace(nodes=again.nodes)
    prepare(beside, [point], DATA)
    for operation in trial.plan.workload.operations:
        launch = Launch(trial.plan.workload, operation, point)
        if not take(beside, places.CONFIRM, launch, repetition, DATA, repetition, current).valid:
            break
    trial.ground.run.empty(DATA)


def _drilled(trial: Trial, wanted: str, point: Place, repetition: int, current: Sized) -> Optional[float]:
    """One repetition up to the operation that is wanted, and its figure; None where one cannot be believed."""
    workload = trial.plan.workload
    launches = preparations(workload, [point]) + [Launch(workload, each, point) for each in workload.operations]
    for launch in launches:
        sample = take(trial, drill.DRILL, launch, repetition, DATA, repetition, current)
        if not sample.valid or (launch.workload is workload and launch.operation == wanted):
            break
    trial.ground.run.empty(DATA)
    return sample.figures.get(wanted) if sample.valid else None
