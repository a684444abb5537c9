"""Groups of nodes that worked at once, such as racks or partitions: the rate of a task in each, and their ratios."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seatrial.judge.statistics import CONFIDENCE, Fairness, MeanInterval, fairness, student_interval, verdict_interval
from seatrial.model.metric import TaskTime
from seatrial.model.plan import NodeGroup
from seatrial.rules.places import short
from seatrial.workload.words import by_key


@dataclass(frozen=True)
class GroupRate:
    """The mean rate of a task of one group, in B/s."""

    name: str
    # nodes, tasks: how many of the group took part
    nodes: int
    tasks: int
    values: tuple[float, ...]  # the mean rate of the group's tasks in each repetition, each task over its own time
    rate: MeanInterval  # the mean of all repetitions
    over: float | None = None  # ratio to the first group; None for the first itself
    low: float | None = None  # low, high: interval of `over` at CONFIDENCE; infinite under three repetitions
    high: float | None = None


def split(tasks: Sequence[TaskTime], groups: Sequence[NodeGroup]) -> dict[str, list[TaskTime]]:
    """The tasks by group, in the order of the groups; empty groups and nodes outside any group are left out."""
    of = {short(host): group.name for group in groups for host in group.hosts}
    members = by_key((of[short(task.host)], task) for task in tasks if short(task.host) in of)
    return {group.name: members[group.name] for group in groups if group.name in members}


def between(tasks: Sequence[TaskTime], groups: Sequence[NodeGroup]) -> Fairness | None:
    """The fairness between the groups of one launch; None if fewer than two worked. A group counts with the mean
    bytes and the mean time of its tasks, since groups may differ in size."""
    by_group = split(tasks, groups)
    if len(by_group) < 2:
        return None
    moved = [round(statistics.fmean(task.bytes_moved for task in members)) for members in by_group.values()]
    return fairness(moved, [statistics.fmean(task.seconds for task in members) for members in by_group.values()])


def rates(
    launches: Sequence[Sequence[TaskTime]], groups: Sequence[NodeGroup], correlation: float = 0.0
) -> tuple[GroupRate, ...]:
    """The rates of the groups over the repetitions of one point. Empty if only one group worked, or one has moved
    nothing. Groups are compared launch by launch, by Student's interval of the logarithms of their ratio. launches:
    the tasks of each repetition; correlation: of neighbouring repetitions, as in verdict_interval"""
    every = [split(tasks, groups) for tasks in launches]
    names = list(every[0]) if every else []
    if len(names) < 2 or any(list(by_group) != names for by_group in every):
        return ()
    series = {
        name: [statistics.fmean(task.bytes_moved / task.seconds for task in by_group[name]) for by_group in every]
        for name in names
    }
    if min(map(min, series.values())) <= 0:
        return ()
    compared = []
    for name, values in series.items():
        members, nodes = every[0][name], {short(task.host) for task in every[0][name]}
        rate = verdict_interval(values, CONFIDENCE, correlation)
        group = GroupRate(name, len(nodes), len(members), tuple(values), rate)
        if name != names[0]:
            logs = [math.log(value / first) for value, first in zip(values, series[names[0]], strict=True)]
            interval = student_interval(logs, CONFIDENCE, correlation)
            low, high = (math.exp(end) if math.isfinite(end) else end for end in (interval.low, interval.high))
            group = replace(group, over=math.exp(interval.mean), low=max(low, 0.0), high=high)
        compared.append(group)
    return tuple(compared)
