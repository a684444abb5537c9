"""The drill-down of a case that is surely slower than its bound: launches on groups of targets, which name the slow.
They come last, in what is left of the time budget, and are no figures of the case but a record of their own."""

import random
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.filesystem.base import Driver
from seatrial.job.sequence.layouts import FREE_SHARE
from seatrial.job.sequence.recorder import records_in
from seatrial.job.sequence.sampling import take
from seatrial.job.sequence.start import DATA, Trial
from seatrial.model.layout import target_name
from seatrial.model.plan import TrialPlan, metric
from seatrial.model.point import Point
from seatrial.model.record import FLASH, Drill, DrillGroup, Records, Sample
from seatrial.rules.case import measured
from seatrial.rules.drill import REPETITIONS, Breach, Group, begin, breach, conclusion, groups, learned
from seatrial.workload.base import Launch
from seatrial.workload.registry import kind_of

DRILL = 'drill'
LAUNCH_S = 5.0  # seconds of a launch as fast as the case was: long enough to compare, and many fit a budget


class DrillBegun(NamedTuple):
    """The start of a drill-down. numbers: of each target that takes new files, by its name."""

    plan: TrialPlan
    driver: Driver
    breach: Breach
    point: Point  # the slow one, with the share of each task that a launch has
    numbers: Dict[str, int]
    servers: Dict[str, str]
    mixed: bool = False  # True: some of them are flash and others are not, so a slow one need not be faulty
    whole: int = 0  # number of its files if each lies on one target; else 0


MIXED = 'undecided: its files lie on flash and on other targets; give it a layout in one pool'

Measure = Callable[[Point, int], Optional[float]]
"""Measures a point, given its repetition's number: the figure of the metric that is too low; None if not valid."""


def drill_down(trial: Trial) -> None:
    """If a figure is surely below its bound, search for the targets that cause it."""
    plan, records = trial.plan, records_in(trial.plan.records)
    search = begun(plan, records, trial.setup.driver)
    if search is None or records.sized is None:
        return
    wanted, current = search.breach.metric, records.sized

    def measure(point: Point, repetition: int) -> Optional[float]:
        launches = kind_of(point.kind).preparations([point]) + [Launch(phase, point) for phase in point.phases]
        for launch in launches:
            sample = take(trial, DRILL, launch, repetition, repetition, current)
            if not sample.valid or wanted in sample.figures:
                break
        trial.setup.run.empty(DATA)
        return sample.figures.get(wanted) if sample.valid else None

    trial.recorder.write(carry_out(search, measure, trial.left_s, random.Random(plan.seed + 2)))


def begun(plan: TrialPlan, records: Records, driver: Driver) -> Optional[DrillBegun]:
    """The slow point and its targets, or None: all may meet their bounds, or there is nothing to compare."""
    kind = kind_of(plan.kind)
    if not plan.floors or plan.axis.named or not kind.moves_data:
        return None
    values: Dict[str, Dict[str, List[float]]] = {}
    launched: Dict[str, List[Sample]] = {}
    for name, samples in measured(plan, records).items():
        metric_name, _, label = name.partition('@')
        valid = [sample for sample in samples if sample.valid and metric_name in sample.figures]
        values.setdefault(label, {})[metric_name] = [sample.figures[metric_name] for sample in valid]
        launched.setdefault(label, []).extend(valid)
    worst = breach(values, plan.floors, plan.stopping.confidence)
    if worst is None:
        return None
    point = launched[worst.point][0].point
    layout = point.layout or plan.target.layout
    reach = driver.reach(plan.target.path, layout, max(file.size for file in kind.files(point)))
    targets = driver.targets(plan.target.path)
    taking = [row for row in targets.rows if row.kind in ('OST', 'brick') and row.takes_files]
    usable = [row for row in taking if reach is None or row.number in reach]
    numbers = {target_name(row.kind, row.number): row.number for row in usable if not row.fault}
    if len(numbers) < 2:
        return None
    free = min((row.bytes_free for row in usable if row.bytes_free is not None), default=None)
    share = point.data.bytes_per_task
    fits = share if free is None else min(share, int(FREE_SHARE * free) // point.tasks)
    seconds = min(sample.measurement.seconds for sample in launched[worst.point] if sample.measurement)
    granule = plan.sizing.granule
    # Bytes of a task in LAUNCH_S at the measured rate, in whole granules; 0 where none fits.
    moved = min(fits, max(granule, int(share / seconds * LAUNCH_S))) // granule * granule
    if moved == 0:
        return None
    flash = {row.number for row in usable if FLASH in row.flags}
    mixed = 0 < len(flash & set(numbers.values())) < len(numbers)
    whole = len(kind.files(point)) if usable[0].kind == 'brick' else 0
    return DrillBegun(plan, driver, worst, kind.resized(point, moved), numbers, targets.servers, mixed, whole)


def carry_out(begun: DrillBegun, measure: Measure, left_s: Callable[[], float], rng: random.Random) -> Drill:
    """Search until nothing can be divided any more, or the time budget is exhausted."""
    targets = list(begun.numbers)
    about = metric(begun.breach.metric, begun.breach.point), begun.breach.bound
    if begun.mixed:
        return Drill(*about, (), MIXED)
    search = begin(targets, begun.servers, begun.whole)
    rounds: List[Tuple[DrillGroup, ...]] = []
    striped = begun.point.layout or begun.plan.target.layout  # with its stripes, if these are plain

    def figures_of(asked: Sequence[Group]) -> Optional[Dict[str, List[float]]]:
        """The figures of each group, interleaved in random order; None if there is not enough time for all."""
        figures: Dict[str, List[float]] = {group.label: [] for group in asked}
        began_with = left_s()
        for repetition in range(REPETITIONS):
            for group in rng.sample(list(asked), len(asked)):
                if left_s() <= 0:
                    return None
                label = f'drill{search.rounds + 1}{group.label}'
                numbers = [begun.numbers[name] for name in group.targets]
                layout = begun.driver.on_targets(label, 'brick' if begun.whole else 'OST', numbers, striped)
                figure = measure(begun.point._replace(label=layout.name, layout=layout), repetition)
                if figure is not None:
                    figures[group.label].append(figure)
            used = began_with - left_s()
            if used / (repetition + 1) * (REPETITIONS - repetition - 1) > left_s():
                return None
        return figures

    asked = groups(search)
    while asked:
        figures = figures_of(asked)
        if figures is None:
            break
        rounds.append(tuple(DrillGroup(group.label, group.targets, tuple(figures[group.label])) for group in asked))
        search = learned(search, asked, figures)
        asked = groups(search)
    return Drill(*about, tuple(rounds), conclusion(search, targets, out_of_time=bool(asked)))
