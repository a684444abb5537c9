"""Random I/O: small transfers at random offsets of a working set, for a fixed time and at a fixed queue depth."""

from math import inf
from typing import Any, Dict, List, Optional, Sequence, Tuple

from seatrial.model.metric import LOWER, Measurement, Metric, MetricType, percentile_name
from seatrial.model.plan import Sizing
from seatrial.model.point import DataPart, Point, TimePart
from seatrial.model.units import MIB, Size, common_multiple, in_bytes, round_up
from seatrial.workload.access import FILES, Access, file_name, file_totals, writing
from seatrial.workload.base import Effort, FileSpec, Footprint, Kind, Launch, Phase
from seatrial.workload.words import exact_size, joined

PHASES = ('randread', 'randwrite', 'randrw')  # fio's names; randrw mixes both by the point's read_share
DIRECTIONS = {'randread': ('read',), 'randwrite': ('write',), 'randrw': ('read', 'write')}
PERCENTILES = (0.50, 0.95, 0.99, 0.999)
ALIGNMENT = 4096  # bytes. O_DIRECT needs whole blocks, of 4 KiB nearly everywhere (open(2)).
WAITING = '_waiting'  # suffix of the metric for the share of time in which tasks waited for transfers
INTERFACES = ('', 'mmap')  # calls of read and write, or loads and stores of a mapped file (mmap(2))
SEVERAL = 10  # files of a task that has several, as of a client in Fermilab's skims (Garzoglio 2011)
_WHERE = {
    'single': 'one shared file',
    'multiple': 'a file of its own',
    'several': f'its file and of those of {SEVERAL - 1} others',
}


def random_access(
    phases: Sequence[str],
    working_set: Size,
    transfer_size: Size = '4KiB',
    duration_s: float = 30.0,
    think_s: float = 0.0,
    tasks: int = 0,
    **more: Any,
) -> Point:
    """Sizes in bytes or as '64KiB'. working_set: of all tasks together; profiles and sites choose another. more:
    fields of DataPart; by default every task has a file of its own and uses O_DIRECT."""
    fields = {'files': 'multiple', 'direct': True, **more}
    data = DataPart(transfer_size=in_bytes(transfer_size), working_set=in_bytes(working_set), **fields)
    return Point('random', tuple(phases), tasks=tasks, data=data, time=TimePart(duration_s, think_s=think_s))


def names_of(phase: str) -> Dict[str, str]:
    """The prefix of the names of metrics, by direction of a phase."""
    first, *others = DIRECTIONS[phase]
    return {way: f'{phase}_{way}' for way in (first, *others)} if others else {first: phase}


def _metrics_of(phase: str) -> Tuple[MetricType, ...]:
    metrics = []
    for name in names_of(phase).values():
        metrics += [MetricType(name, 'B/s'), MetricType(f'{name}_iops', 'op/s')]
        latencies = [f'{name}_{latency}' for latency in ('latency', *map(percentile_name, PERCENTILES))]
        metrics += [MetricType(latency, 's', LOWER, steers=False) for latency in latencies]
    return (*metrics, MetricType(phase + WAITING, '', LOWER, steers=False))


class Random(Kind):
    name = 'random'
    words = 'random I/O'
    title = 'Random I/O'
    columns = (
        ('read IOPS', ('randread_iops', 'randrw_read_iops')),
        ('read p99', ('randread_p99', 'randrw_read_p99')),
        ('write IOPS', ('randwrite_iops', 'randrw_write_iops')),
        ('write p99', ('randwrite_p99', 'randrw_write_p99')),
    )
    parameters = (
        *('files', 'interface', 'direct', 'transfer_size', 'bytes_per_task', 'working_set', 'queue_depth'),
        *('duration_s', 'read_share', 'think_s'),
    )
    of_trial = ('transfer_size',)
    moves_data = True
    by_time = True
    bytes_known = False
    share_unit = 'B'
    heavier = 'transfer_size'
    phases = tuple(
        Phase(name, does, joined([f'{direction}s' for direction in does], 'and'), _metrics_of(name))
        for name, does in DIRECTIONS.items()
    )

    def fault(self, point: Point) -> Optional[str]:
        data, time = point.data, point.time
        if data.files not in (*FILES, 'several'):
            return f"files: '{data.files}' is not valid; it can be {', '.join(FILES)} or several"
        if not 0 < data.transfer_size <= data.working_set // max(1, point.tasks):
            return f'working_set: {data.working_set} B hold less than {data.transfer_size} B for each task'
        if data.direct and data.transfer_size % ALIGNMENT:
            return f'transfer_size: O_DIRECT needs multiples of {ALIGNMENT} B, not {data.transfer_size}'
        if data.interface not in INTERFACES:
            return f"interface: '{data.interface}' is not valid in random I/O; it can be mmap, or empty for calls"
        if data.interface and (data.direct or data.queue_depth > 1):
            return 'interface: a mapped file allows neither O_DIRECT nor several transfers in flight'
        if data.queue_depth < 1:
            return f'queue_depth: {data.queue_depth} transfers in flight are too few; write a number from 1'
        if not 0 < time.duration_s < inf:
            return f'duration_s: {time.duration_s:g} s are not a duration; write a finite time above 0'
        if not 0 <= time.think_s < inf or (time.think_s and data.queue_depth > 1):
            return f'think_s: {time.think_s:g} s; write a time from 0; above 0 only with one transfer in flight'
        if ('randrw' in point.phases) != (0 < data.read_share < 1):
            return 'read_share: a mixed phase has a share of reads between 0 and 1, and no other phase has one'
        return None

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        """Bandwidth, IOPS and latencies of each direction; with think time also the share of waiting."""
        metrics = self.phase(phase).metrics
        return metrics if point.time.think_s else metrics[:-1]

    def derived(self, point: Point, phase: str, measurement: Measurement) -> Tuple[Metric, ...]:
        latencies = [metric for metric in measurement.metrics if metric.name.endswith('_latency')]
        if not point.time.think_s or not latencies:
            return ()
        seconds = latencies[0].seconds
        waited_s = sum(latency.value * latency.operations for latency in latencies)
        return (Metric(phase + WAITING, waited_s / (point.tasks * seconds), '', LOWER, seconds),)

    def sentence(self, points: Sequence[Point]) -> str:
        point = points[0]
        data = point.data
        does = joined([self.phase(name).words for name in point.phases], 'and then')
        share = f' ({100 * data.read_share:.0f} % reads)' if data.read_share else ''
        sizes = joined(list(dict.fromkeys(exact_size(point.data.transfer_size) for point in points)), 'or')
        depths = {point.data.queue_depth for point in points}
        deep = f', {data.queue_depth} in flight' if len(depths) == 1 and depths != {1} else ''
        through = 'with O_DIRECT' if data.direct else 'by mmap(2)' if data.interface else 'through the page cache'
        how = f'for {point.time.duration_s:g} s, {through}'
        how += f', with {1000 * point.time.think_s:g} ms of think time after each' if point.time.think_s else ''
        return f'Every task {does}{share} {sizes} at random places of {_WHERE[data.files]}{deep}, {how}'

    def totals(self, point: Point) -> str:
        return file_totals(self.files(point))

    def adapted(self, point: Point, effort: Effort) -> Point:
        """The point with a working set that the profile has time to write, and with the profile's duration."""
        share = min(point.data.working_set // point.tasks, effort.first_bytes or point.data.working_set)
        return self.resized(point.changed(duration_s=effort.target_s or point.time.duration_s), share)

    def sizing(self, points: Sequence[Point], effort: Effort, pinned: Optional[int]) -> Sizing:
        """The working set of each task is fixed, or too large for any cache (P16); time ends the transfers."""
        granule = common_multiple([MIB, *(point.data.transfer_size for point in points)])
        if pinned is not None and pinned % granule:
            raise ValueError(f'{exact_size(pinned)} a task is not a multiple of {exact_size(granule)}')
        share = round_up(min(point.data.bytes_per_task for point in points), granule) if pinned is None else pinned
        target_s = effort.target_s if effort.working_set else 0.0
        return Sizing(share, granule, target_s, effort.min_s, effort.working_set, pinned)

    def resized(self, point: Point, share: int) -> Point:
        return point.changed(bytes_per_task=share, working_set=share * point.tasks)

    def preparations(self, points: Sequence[Point]) -> List[Launch]:
        """Writes the whole working set in order, because holes and unwritten data are read at no cost (P10)."""
        return [Launch('write', self.as_access(max(points, key=lambda point: point.tasks)))]

    def files(self, point: Point) -> Tuple[FileSpec, ...]:
        return Access().files(self.as_access(point))

    def footprint(self, points: Sequence[Point]) -> Footprint:
        return Access().footprint([self.as_access(point) for point in points])

    def as_access(self, point: Point) -> Point:
        return writing(point, MIB, point.data.bytes_per_task, shared=point.data.files == 'single')

    def cache_of(self, metric: str, launch: str) -> str:
        """Empty for the writes of a mixed phase, which were in no cache before; otherwise that of the launch."""
        return '' if metric.startswith(names_of('randrw')['write']) else launch


def files_of(point: Point, rank: int) -> List[str]:
    """The files that a task accesses: its own, and of several also those of the next tasks."""
    number = min(SEVERAL, point.tasks) if point.data.files == 'several' else 1
    return [file_name(Random().as_access(point), (rank + further) % point.tasks) for further in range(number)]
