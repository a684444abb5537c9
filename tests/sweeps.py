"""Plans of node sweeps and the records of nights with them, from which the tests of several rooms depart."""

import random
from collections.abc import Callable, Sequence

from builders import QUIET, SIZE, in_blocks, moved, plan_of, sample_of, start_of, stopped
from seatrial.job.sequence.confirm import measured_again, repetitions
from seatrial.model.metric import Measurement, NodeTime
from seatrial.model.plan import StoppingRule, TrialPlan
from seatrial.model.point import Allocation, Point
from seatrial.model.record import End, Records, Sample, Sized
from seatrial.rules.places import CONFIRM, all_of, phases_again, suspected
from seatrial.workload.access import data_access
from seatrial.workload.registry import phase_of, resized
from seatrial.workload.sweep import AXES, Sweep, expand

WRITES = data_access('multiple', operations=('write',), bytes_per_task=SIZE)
SIX = StoppingRule(0.1)
Rate = Callable[[str, str], float]
"""Of a node in a launch of a phase, in B/s."""


def names(count: int) -> tuple[str, ...]:
    """As many hosts as the sweep has."""
    return tuple(f'n{number}' for number in range(1, count + 1))


def node_plan(nodes: int = 4, tasks_per_node: int = 1, workload: Point = WRITES, **changes) -> TrialPlan:
    """A node sweep over so many nodes."""
    points = tuple(expand(Sweep('node'), workload, Allocation(nodes, tasks_per_node)))
    return plan_of(workload, case={'nodes': nodes}, **{'axis': AXES['node'], 'points': points, **changes})


def launched(point: Point, hosts: Sequence[str], rates: Sequence[float], phase: str = 'write') -> Measurement:
    """All nodes move their tasks' bytes at these rates (B/s)."""
    tasks = point.tasks_per_node
    own = tasks * point.data.bytes_per_task
    times = [own / rate for rate in rates]
    rows = tuple(NodeTime(host, tasks, own, time, time) for host, time in zip(hosts, times, strict=True))
    whole = moved(point, point.bytes_moved / max(times), phase)
    return whole._replace(hosts=tuple(hosts), tasks=(), nodes=rows)


def night(
    plan: TrialPlan,
    rate: Rate,
    again: Rate | None = None,
    repeat: int | None = None,
    cache: str = 'cold',
    **start,
) -> Records:
    """The finished record of a sweep in which every launch has these rates, and then those of the second measurement.

    again: None is no time for one; repeat: its repetitions, where they are not those that the plan asks for
    cache: of the reads
    """
    nodes = names(plan.case.nodes)
    points = resized(plan.points, plan.sizing.first)
    first = min(points, key=lambda point: point.tasks)
    warm = [_sample(plan, first, nodes, phase, 0, rate, 'warmup', cache) for phase in plan.phases]
    samples = [
        _sample(plan, point, nodes, phase, n, rate, cache=cache)
        for n in range(repetitions(plan))
        for point in points
        for phase in plan.phases
    ]
    records = Records(
        start_of(plan, **start), Sized(1, plan.sizing.first, ''), in_blocks(plan, [*warm, *samples]), None, None, 0
    )
    records = records._replace(
        end=End(
            'finished', 'done', 9.0, {each.label: stopped(plan, records, each) for each in points}, background=QUIET
        )
    )
    by_metric = suspected(plan, records)
    if again is None or not by_metric:
        return records
    second = measured_again(plan, all_of(by_metric), nodes, random.Random(plan.seed))
    more = [
        _sample(plan, point, second.nodes, phase, n, again, CONFIRM, cache)
        for n in range(repetitions(plan) if repeat is None else repeat)
        for point in resized(second.points, plan.sizing.first)
        for phase in phases_again(plan, by_metric)
    ]
    return records._replace(samples=[*records.samples, *more])


def _sample(
    plan: TrialPlan,
    point: Point,
    nodes: Sequence[str],
    phase: str,
    repetition: int,
    rate: Rate,
    stage: str = 'measured',
    cache: str = 'cold',
) -> Sample:
    hosts = nodes[point.first_node : point.first_node + point.nodes]
    measurement = launched(point, hosts, [rate(host, phase) for host in hosts], phase)
    own = cache if phase_of(point, phase).reads else ''
    made = sample_of(plan, point, phase, repetition, measurement, stage, own)
    return made._replace(sizing=1 if stage == CONFIRM else made.sizing)
