"""Plans of node sweeps and the records of nights with them, from which the tests of several rooms depart."""

import random
from collections.abc import Callable, Sequence

from builders import SIZE, moved, plan_of, sample_of, start_of, stopped
from seatrial.job.sequence.confirm import measured_again, repetitions
from seatrial.model.plan import StoppingRule, TrialPlan
from seatrial.model.record import End, Measurement, NodeTime, Records, Sample, Sized
from seatrial.model.units import MIB
from seatrial.model.work import sized
from seatrial.model.workload import AccessPattern, Geometry, Point, expand, on_groups, over_nodes
from seatrial.rules.places import CONFIRM, all_of, suspected

WRITES = AccessPattern('multiple', 'whole', operations=('write',))
SIX = StoppingRule(0.1)
Rate = Callable[[str, str], float]
"""Of a node in a launch of an operation, in MiB/s."""


def names(count: int) -> tuple[str, ...]:
    """As many hosts as the sweep has."""
    return tuple(f'n{number}' for number in range(1, count + 1))


def node_plan(nodes: int = 4, tasks_per_node: int = 1, workload: AccessPattern = WRITES, **changes) -> TrialPlan:
    """A node sweep over so many nodes."""
    sweep = on_groups(over_nodes(SIZE, MIB), nodes)
    points = tuple(expand(sweep, Geometry(nodes, tasks_per_node), SIZE))
    return plan_of(workload, sweep, case={'nodes': nodes}, **{'points': points, **changes})


def launched(point: Point, hosts: Sequence[str], rates: Sequence[float]) -> Measurement:
    """All nodes move their clients' bytes at these rates."""
    tasks = point.tasks_per_node
    own = tasks * point.bytes_per_client
    times = [own / MIB / rate for rate in rates]
    rows = tuple(NodeTime(host, tasks, own, time, time) for host, time in zip(hosts, times, strict=True))
    whole = moved(point, point.bytes_moved / MIB / max(times))
    return whole._replace(hosts=tuple(hosts), jobs=(), nodes=rows)


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
    points = [sized(point, plan.axis, plan.sizing.first) for point in plan.points]
    first = min(points, key=lambda point: point.tasks)
    warm = [
        _sample(plan, first, nodes, operation, 0, rate, 'warmup', cache) for operation in plan.workload.operations
    ]
    count = plan.stopping.least + plan.stopping.extra
    samples = [
        _sample(plan, point, nodes, operation, n, rate, cache=cache)
        for n in range(count)
        for point in points
        for operation in plan.workload.operations
    ]
    records = Records(start_of(plan, **start), Sized(1, plan.sizing.first, '', ()), [*warm, *samples], None, None, 0)
    records = records._replace(
        end=End('finished', 'done', 9.0, {point.label: stopped(plan, records, point) for point in points})
    )
    suspects = all_of(suspected(plan, records))
    if again is None or not suspects:
        return records
    second = measured_again(plan, suspects, nodes, random.Random(plan.seed))
    more = [
        _sample(plan, sized(point, plan.axis, plan.sizing.first), second.nodes, operation, n, again, CONFIRM, cache)
        for n in range(repetitions(plan) if repeat is None else repeat)
        for point in second.points
        for operation in plan.workload.operations
    ]
    return records._replace(samples=[*records.samples, *more])


def _sample(
    plan: TrialPlan,
    point: Point,
    nodes: Sequence[str],
    operation: str,
    repetition: int,
    rate: Rate,
    stage: str = 'measured',
    cache: str = 'cold',
) -> Sample:
    hosts = nodes[point.first_node : point.first_node + point.nodes]
    measurement = launched(point, hosts, [rate(host, operation) for host in hosts])
    made = sample_of(plan, point, operation, repetition, measurement, stage, cache if operation == 'read' else '')
    return made._replace(sizing=1 if stage == CONFIRM else made.sizing)
