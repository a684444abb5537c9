"""Checkpoints beside the reads of a training: the rate that one load loses while the other one runs."""

from typing import Optional, Sequence, Tuple

from seatrial.model.metric import LOWER, Measurement, Metric, MetricType
from seatrial.model.point import Point
from seatrial.workload.base import CREATE, READ, WRITE, Footprint, Phase
from seatrial.workload.training import Training

PHASE = 'burst'
ALONE, BESIDE = '', '_beside'  # suffixes of the metrics of one load alone, and of both at once
CHECKPOINT, TRAINING = 'checkpoint', 'training'
LOSS = '_loss'


def burst(training: Point) -> Point:
    """The workload: half of the tasks read as in training, the others write checkpoints of as many bytes each."""
    return training._replace(kind='burst', phases=('write', PHASE))


_UNITS = {CHECKPOINT: 'B/s', TRAINING: 'op/s'}
_METRICS = (  # bandwidths of the checkpoints, samples a second of the training: these steer. And the losses
    *(MetricType(name + how, unit) for how in (ALONE, BESIDE) for name, unit in _UNITS.items()),
    *(MetricType(name + LOSS, '', LOWER, steers=False) for name in _UNITS),
)


class Burst(Training):
    """The data set is written; then one launch has a checkpoint alone, the training alone for as long, and both at
    once. The loss of one is 1 - beside / alone, of the same launch, so that its interval is that of pairs."""

    name = 'burst'
    words = 'checkpoints beside training reads'
    by_time = True  # the training goes on for as long as a checkpoint takes
    phases = (
        Phase('write', (CREATE, WRITE), metrics=(MetricType('write', 'B/s', steers=False),), title=words),
        Phase(PHASE, (READ, CHECKPOINT), metrics=_METRICS, in_turn=(CHECKPOINT, TRAINING, CHECKPOINT + BESIDE)),
    )

    def derived(self, point: Point, phase: str, measurement: Measurement) -> Tuple[Metric, ...]:
        figures = {metric.name: metric for metric in measurement.metrics}
        losses = []
        for name in _UNITS:
            alone, beside = figures.get(name + ALONE), figures.get(name + BESIDE)
            if alone is not None and beside is not None and alone.value:
                loss = 1 - beside.value / alone.value
                losses.append(Metric(name + LOSS, loss, '', LOWER, beside.seconds, figure=f'{loss:.6f}'))
        return tuple(losses)

    def sentence(self, points: Sequence[Point]) -> str:
        trains, saves = halves(max(point.tasks for point in points))
        reads, writes = ('reads' if trains == 1 else 'read'), ('writes' if saves == 1 else 'write')
        return f'Of the tasks {trains} {reads} a data set as a training does, while {saves} {writes} a checkpoint'

    def footprint(self, points: Sequence[Point]) -> Footprint:
        """The data set, and a checkpoint beside it."""
        plain, saves = super().footprint(points), max(halves(point.tasks)[1] for point in points)
        share = max(point.data.bytes_per_task for point in points)
        return Footprint(plain.bytes + saves * share, plain.inodes + saves)

    def moved(self, point: Point, phase: str) -> Tuple[Optional[int], Optional[int]]:
        if phase != PHASE:
            return super().moved(point, phase)
        return 2 * halves(point.tasks)[1] * point.data.bytes_per_task, None

    def cache_of(self, metric: str, launch: str) -> str:
        """A checkpoint's data were in no cache before."""
        return '' if metric.startswith(CHECKPOINT) else launch


def halves(tasks: int) -> Tuple[int, int]:
    """The first tasks, which train, and the others, which write checkpoints."""
    return tasks // 2, tasks - tasks // 2
