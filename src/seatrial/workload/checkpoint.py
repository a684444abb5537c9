"""Checkpoints: all tasks write the state of a training, which waits for them, and read it back to resume."""

from math import inf
from typing import Optional, Sequence, Tuple

from seatrial.model.metric import LOWER, Measurement, Metric, MetricType
from seatrial.model.point import Point
from seatrial.model.units import Size, approximate_size, duration, in_bytes
from seatrial.workload.access import OF_FILES, Access, data_access
from seatrial.workload.base import CREATE, READ, WRITE, Phase

_TIMES = {WRITE: 'checkpoint_time', READ: 'restore_time'}
_LOST = 'training_lost'


def checkpoint(
    state: Size, interval_s: float, bytes_per_task: Size, files: str = 'multiple', transfer_size: Size = '1MiB'
) -> Point:
    """The workload of a check of checkpoints. Sizes are numbers of bytes or texts such as '64GiB'. state: size of the
    training's state in all tasks together, for which the times are given; interval_s: seconds of training between two
    checkpoints; bytes_per_task: the source's value, which profiles and sites replace; others: as in DataPart"""
    extent = 'whole' if files == 'multiple' else 'segment'
    point = data_access(files, extent, transfer_size=transfer_size, bytes_per_task=bytes_per_task)
    return point.changed(kind='checkpoint', working_set=in_bytes(state), interval_s=interval_s)


def _metrics(name: str) -> Tuple[MetricType, ...]:
    return MetricType(name, 'B/s'), MetricType(_TIMES[name], 's', LOWER, steers=False)


class Checkpoint(Access):
    """Data access whose bandwidth is also given as the time to transfer the whole state. A checkpoint follows every
    interval, and the training waits until it ends: the training loses time / (interval + time)."""

    name = 'checkpoint'
    words = 'checkpoints'
    title = 'Checkpoints'
    spaced = True
    parameters = (*OF_FILES, 'working_set', 'interval_s')
    phases = (
        Phase(WRITE, (CREATE, WRITE), 'writes', (*_metrics(WRITE), MetricType(_LOST, '', LOWER, steers=False))),
        Phase(READ, (READ,), 'reads', _metrics(READ)),
    )

    def fault(self, point: Point) -> Optional[str]:
        if point.data.working_set < 1:
            return f'working_set: {point.data.working_set} B are not the size of a state; write a size above 0'
        if not 0 < point.time.interval_s < inf:
            return f'interval_s: {point.time.interval_s:g} s are not an interval; write a finite time above 0'
        return super().fault(point)

    def derived(self, point: Point, phase: str, measurement: Measurement) -> Tuple[Metric, ...]:
        bandwidth = measurement.metric(phase) if phase in point.phases else None
        if bandwidth is None or not bandwidth.value:
            return ()
        time_s = point.data.working_set / bandwidth.value
        times = (Metric(_TIMES[phase], time_s, 's', LOWER, bandwidth.seconds),)
        share = time_s / (point.time.interval_s + time_s)
        return (*times, Metric(_LOST, share, '', LOWER, bandwidth.seconds)) if phase == 'write' else times

    def sentence(self, points: Sequence[Point]) -> str:
        point = points[0]
        state = f'{approximate_size(point.data.working_set)} every {duration(point.time.interval_s)}'
        return f'{super().sentence(points)}, as a checkpoint of {state}'

    def title_of(self, point: Point) -> str:
        return f'checkpoint, {super().title_of(point)}'
