"""Scenarios: tasks write, sync and verify for a time, while actions take servers away. One launch decides."""

from typing import Optional, Sequence

from seatrial.model.action import Planned
from seatrial.model.metric import LOWER, MetricType
from seatrial.model.point import DataPart, Point, TimePart
from seatrial.model.units import Size, approximate_size, duration, in_bytes
from seatrial.workload.base import VERIFY, WRITE, Entries, Footprint, Kind, Phase
from seatrial.workload.words import counted

PHASE = 'load'
MAX_S = 72 * 3600.0
MIN_BEFORE_S, MIN_AFTER_S = 5.0, 5.0  # load without an action: the reference, and the time for throughput to recover

BEFORE, DURING, AFTER = 'before', 'during', 'after'
OUTAGE, OUTAGES, RECOVERY, P99 = 'outage', 'outage_of_all_nodes', 'recovery', 'p99_during'
RATIO, RATIO_AFTER, ERRORS = 'during_to_before', 'after_to_before', 'errors'
VERIFIED = 'verified'
_METRICS = (
    *(MetricType(name, 'B/s', steers=False) for name in (BEFORE, DURING, AFTER)),
    *(MetricType(name, '', steers=False) for name in (RATIO, RATIO_AFTER)),
    *(MetricType(name, 's', LOWER, steers=False) for name in (OUTAGE, OUTAGES, RECOVERY, P99)),
    *(MetricType(ERRORS, '', LOWER), MetricType(VERIFIED, '', steers=False)),
)


def scenario(
    before_s: float,
    action_s: float,
    after_s: float,
    times: int = 1,
    bytes_per_task: Size = '64MiB',
    transfer_size: Size = '64KiB',
    think_s: float = 0.0,
) -> Point:
    """The workload: load alone, an action, and load until the servers have recovered; so many times in a row. Times
    in seconds. bytes_per_task: of the file of a task, which is written over again and again. think_s: pause after
    each operation, for only a load far below the storage's best is steady."""
    each_s = before_s + action_s + after_s
    starts_s = [float(number * each_s + before_s) for number in range(times)]
    actions = tuple(Planned('', start_s, float(action_s)) for start_s in starts_s)
    data = DataPart(transfer_size=in_bytes(transfer_size), bytes_per_task=in_bytes(bytes_per_task))
    time = TimePart(float(times * each_s), think_s=think_s, actions=actions)
    return Point('scenario', (PHASE,), scales=False, data=data, time=time)


class Scenario(Kind):
    name = 'scenario'
    words = 'scenarios'
    title = 'Scenarios'
    spaced = True
    columns = tuple((name.replace('_', ' '), (name,)) for name in (BEFORE, DURING, AFTER, OUTAGE, RECOVERY, ERRORS))
    parameters = ('transfer_size', 'bytes_per_task', 'duration_s', 'think_s', 'actions')
    once = True
    bytes_known = False
    # It makes its files too, and compares their sizes by itself: nobody else knows them.
    phases = (Phase(PHASE, (WRITE, VERIFY), metrics=_METRICS, hurts='takes servers away of'),)

    def fault(self, point: Point) -> Optional[str]:
        data = point.data
        if data.transfer_size < 1 or data.bytes_per_task < data.transfer_size:
            return f'transfer_size: {data.transfer_size} B do not fit into a file of {data.bytes_per_task} B'
        if data.bytes_per_task % data.transfer_size:
            return f'bytes_per_task: {data.bytes_per_task} B are no whole number of transfers'
        if not point.actions:
            return 'actions: a scenario without any has nothing to compare; write one'
        if not point.time.duration_s <= MAX_S:
            return f'duration_s: {point.time.duration_s:g} s are more than {MAX_S:g} s; write a shorter one'
        end_s = 0.0
        for action in point.actions:
            if not (action.at_s >= end_s + MIN_BEFORE_S and action.for_s > 0):
                return f'actions: one at {action.at_s:g} s leaves less than {MIN_BEFORE_S:g} s of load before it'
            end_s = action.at_s + action.for_s
        if not point.time.duration_s >= end_s + MIN_AFTER_S:
            return f'duration_s: {point.time.duration_s:g} s end less than {MIN_AFTER_S:g} s after the last action'
        return None

    def sentence(self, points: Sequence[Point]) -> str:
        point = points[0]
        record = approximate_size(point.data.transfer_size)
        how = f'for {duration(point.time.duration_s)}, with {counted(len(point.actions), "action")}'
        return f'Every task writes, syncs and reads back records of {record} in a file of its own {how}'

    def totals(self, point: Point) -> str:
        return f'{counted(point.tasks, "file")} of {approximate_size(point.data.bytes_per_task)}'

    def entries(self, point: Point) -> Entries:
        return Entries(0, point.tasks, 0)

    def footprint(self, points: Sequence[Point]) -> Footprint:
        return Footprint(max(point.bytes_moved for point in points), max(point.tasks for point in points))
