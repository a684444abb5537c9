"""Raw devices: the share of the devices' joint bandwidth that a file system reaches when it reads files. Each is read
from its beginning (hdparm -t; Garzoglio and Chadwick 2011, FN-18). Nothing is ever written to one."""

from typing import Optional, Sequence, Tuple

from seatrial.model.metric import MetricType
from seatrial.model.point import Point
from seatrial.workload.access import OF_FILES, Access, data_access
from seatrial.workload.base import Phase
from seatrial.workload.words import counted, joined

DEVICE = 'device'
PHASES = ('write', 'read', DEVICE)


def raw_devices() -> Point:
    """The workload of a check of raw devices; the site names them, and the tasks are dealt to them in turn."""
    return data_access('multiple', direct=True)._replace(kind='device', phases=PHASES)


class Devices(Access):
    name = 'device'
    words = 'raw devices'
    title = 'Raw devices'
    parameters = (*OF_FILES, 'devices')
    of_trial = ('transfer_size',)
    by_darshan = False
    phases = (*Access.phases, Phase(DEVICE, (DEVICE,), metrics=(MetricType(DEVICE, 'B/s'),)))

    def fault(self, point: Point) -> Optional[str]:
        if point.phases != PHASES or not point.data.direct:
            return f'phases: {list(point.phases)}; they are {", ".join(PHASES)}, all with O_DIRECT'
        if point.nodes > 1:
            return f'nodes: {point.nodes}; devices are read on one node, which has them all'
        if point.data.devices and point.tasks % len(point.data.devices):
            return f'tasks: {point.tasks} cannot be dealt to {counted(len(point.data.devices), "device")} alike'
        return super().fault(point._replace(phases=PHASES[:2]))

    def sentence(self, points: Sequence[Point]) -> str:
        devices = joined(list(points[0].data.devices) or ['its devices'], 'and')
        return f'{super().sentence([points[0]._replace(phases=PHASES[:2])])}; then as many tasks read {devices}'

    def title_of(self, point: Point) -> str:
        return 'raw devices beside files'

    def as_access(self, point: Point) -> Point:
        return point.changed(kind='access', phases=PHASES[:2], devices=())

    def metric_words(self, metric: str) -> str:
        return 'devices, read' if metric == DEVICE else metric


def part_of(point: Point, rank: int) -> Tuple[str, int]:
    """The device that a task reads, and the byte at which it begins: tasks of one device read on from each other."""
    turn, which = divmod(rank, len(point.data.devices))
    return point.data.devices[which], turn * point.data.bytes_per_task


def devices_of(point: Point) -> Tuple[str, ...]:
    return point.data.devices if point.data else ()


def bytes_of_each(point: Point) -> int:
    return point.bytes_moved // len(devices_of(point)) if devices_of(point) else 0
