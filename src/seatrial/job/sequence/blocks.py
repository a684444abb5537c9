"""The plan's measurements: randomised blocks of repetitions, until the stopping rule is content with every point."""

import itertools
from typing import Dict, List, Optional, Tuple

from seatrial.job.launch.processes import LaunchGivenUp, still_working
from seatrial.job.sequence.confirm import has_time
from seatrial.job.sequence.darshan import traced_point
from seatrial.job.sequence.sampling import OF_TIME, TOO_SHORT, prepare, seconds_of, take
from seatrial.job.sequence.sizing import enlarged
from seatrial.job.sequence.start import DATA, Refused, Trial
from seatrial.model.ask import unresponsive
from seatrial.model.point import Point
from seatrial.model.record import Sized
from seatrial.rules.case import in_random_order
from seatrial.rules.issued import DARSHAN
from seatrial.rules.stopping import State, state
from seatrial.workload.base import Launch
from seatrial.workload.registry import kept, metrics_at, metrics_of, phase_of, resized


def measure(trial: Trial, first: Sized, stopped: Dict[str, str]) -> None:
    """Measure all points, anew with a larger share if a launch was too short; `stopped` gets each point's reason."""
    trial.setup.run.make(DATA)
    current: Optional[Sized] = first
    while current is not None:
        trial.recorder.write(current)
        current = _measure_sized(trial, current, resized(trial.plan.points, current.per_task), stopped)
        if current is not None or not kept(trial.plan):
            trial.setup.run.empty(DATA)


def _measure_sized(trial: Trial, current: Sized, points: List[Point], stopped: Dict[str, str]) -> Optional[Sized]:
    """Unfinished points once each in random order, until all are done; the next size if this is too small."""
    plan = trial.plan
    stopped.clear()
    prepared = prepare(trial, points)
    values: Dict[str, Figures] = {point.label: {kind.name: [] for kind in metrics_at(point)} for point in points}
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
            if not has_time(trial) and not (plan.stopping.fixed and block == 0):
                stopped[point.label] = 'budget'
                continue
            if kept(plan):  # what the repetition before made stays until there is another
                trial.setup.run.empty(DATA)
            reason, shortest = _repeat(trial, point, current, block, values[point.label])
            larger = enlarged(trial, current, shortest)
            if larger is not None:
                return larger
            if reason:
                stopped[point.label] = reason
            if not prepared and not kept(plan):
                trial.setup.run.empty(DATA)
        trial.recorder.sync()
    return None


Figures = Dict[str, List[Optional[float]]]
"""Repetitions of each metric of a point. None at the end stands for an invalid one: no more figures come."""


def _repeat(trial: Trial, point: Point, current: Sized, block: int, values: Figures) -> Tuple[str, float]:
    """One repetition of a point: the reason why it is done, or empty, and the seconds of its shortest region. After a
    launch that was invalid by more than its length and changes files, no later phase is launched."""
    shortest = float('inf')
    for phase in _phases_left(point, values):
        sample = take(trial, 'measured', Launch(phase, point), block, block, current)
        shortest = min(shortest, seconds_of(sample))
        faults = [finding for finding in sample.findings if finding.effect != 'label']
        damaged = [finding.sentence for finding in faults if finding.rule == 'F2']
        if damaged:  # the next launch would empty the directory
            raise Refused(f'the file is kept: {damaged[0]}')
        if any(finding.effect != 'invalid' for finding in faults):
            return 'invalid', shortest
        for metric_type in metrics_of(point, phase):
            valid = sample.valid_for(metric_type.name)
            values[metric_type.name].append(sample.figures.get(metric_type.name) if valid else None)
        in_order = sample.measurement and all(finding.rule in (*TOO_SHORT, *OF_TIME) for finding in faults)
        if not in_order and not phase_of(point, phase).leaves:
            for later in point.phases[point.phases.index(phase) + 1 :]:
                for metric_type in metrics_of(point, later):
                    values[metric_type.name].append(None)
            break
    steering = {metric_type.name: values[metric_type.name] for metric_type in metrics_at(point) if metric_type.steers}
    known = {name: figures for name, figures in steering.items() if None not in figures}
    progress = state(known, trial.plan.stopping) if known else State('done', 'invalid')
    return progress.reason if progress.action == 'done' else '', shortest


def _phases_left(point: Point, values: Figures) -> List[str]:
    """The phases that still have a figure to give, and those before them that make or change the files."""
    wanted = [any(None not in values[kind.name] for kind in metrics_of(point, phase)) for phase in point.phases]
    last = max((place for place, is_wanted in enumerate(wanted) if is_wanted), default=-1)
    phases = zip(point.phases[: last + 1], wanted)
    return [phase for phase, is_wanted in phases if is_wanted or not phase_of(point, phase).leaves]


def _trace(trial: Trial, points: List[Point], current: Sized) -> None:
    """One repetition under Darshan, where the site has it and time is left: it is no figure, but evidence (P15)."""
    plan, point = trial.plan, traced_point(trial.plan, points)
    if point is None or not (has_time(trial) or plan.stopping.fixed):
        return
    for phase in point.phases:
        try:
            take(trial, DARSHAN, Launch(phase, point), 0, 0, current)
        except LaunchGivenUp:
            # Darshan can hang what it is loaded into (seen with fio): that says nothing of the figures before it.
            if unresponsive(plan.target.path) is not None or still_working(plan.target.path) is not None:
                raise
            return
