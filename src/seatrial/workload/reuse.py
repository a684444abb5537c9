"""Files used again: written, written over in place, updated, read, and read once more (IOzone and Bonnie++)."""

from typing import Any, Optional, Sequence, Tuple

from seatrial.model.metric import Measurement, Metric, MetricType
from seatrial.model.point import Point
from seatrial.model.units import Size
from seatrial.workload.access import OF_FILES, Access, data_access, through
from seatrial.workload.base import CREATE, READ, WRITE, Phase
from seatrial.workload.words import joined

STONE_WALL = '_stonewall'  # how the metric ends that does not wait for the last task


def file_reuse(phases: Sequence[str], bytes_per_task: Size = '1GiB', tasks: int = 0, **more: Any) -> Point:
    """Files used again, one a task; phases: of Reuse, in this order, 'write' first. more: as of data_access."""
    access = data_access('multiple', operations=phases, bytes_per_task=bytes_per_task, tasks=tasks, **more)
    return access._replace(kind='reuse')


def _phase(name: str, does: Tuple[str, ...], words: str, warm: str = '') -> Phase:
    metrics = MetricType(name, 'B/s'), MetricType(name + STONE_WALL, 'B/s', steers=False)
    return Phase(name, does, words, metrics, warm=warm, title='a file a task, used again')


class Reuse(Access):
    name = 'reuse'
    words = 'file reuse'
    title = 'Files used again'
    parameters = OF_FILES
    of_trial = ('transfer_size', 'direct')
    by_darshan = False
    short_ok = True
    phases = (
        _phase('write', (CREATE, WRITE), 'writes'),
        _phase('rewrite', (WRITE,), 'writes over in place'),  # IOzone's: overwrites existing data
        _phase('update', (READ, WRITE), 'reads and writes back in place'),  # Bonnie++ calls it rewrite
        _phase('read', (READ,), 'reads'),
        _phase('reread', (READ,), 'reads once more', 'it has read these bytes right before'),
    )

    def fault(self, point: Point) -> Optional[str]:
        data = point.data
        if point.phases[0] != 'write':
            return f'phases: {list(point.phases)}; they begin with write'
        if 'reread' in point.phases and point.phases[point.phases.index('reread') - 1] != 'read':
            return 'phases: reread follows read'
        if (data.files, data.extent, data.order, data.interface) != ('multiple', 'whole', 'contiguous', 'posix'):
            return 'files: each task has a file of its own, and goes through it in order with POSIX calls'
        return super().fault(point._replace(phases=('write',)))

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        """The bandwidth up to the last task; of several tasks also IOzone's stone wall."""
        return self.phase(phase).metrics[: 2 if point.tasks > 1 else 1]

    def derived(self, point: Point, phase: str, measurement: Measurement) -> Tuple[Metric, ...]:
        """The sum of the tasks' bandwidths, each over its own time: IOzone's "Children see throughput". Its stone
        wall gives the same (iozone.c), where tasks keep their pace. No waiting for the last task lessens it."""
        bandwidth = measurement.metric(phase)
        if point.tasks < 2 or bandwidth is None or any(task.seconds <= 0 for task in measurement.tasks):
            return ()
        together = sum(task.bytes_moved / task.seconds for task in measurement.tasks)
        return (Metric(phase + STONE_WALL, together, 'B/s', seconds=bandwidth.seconds),)

    def metric_words(self, metric: str) -> str:
        return metric.replace(STONE_WALL, ' (stone wall)')

    def sentence(self, points: Sequence[Point]) -> str:
        point = points[0]
        does = joined([self.phase(name).words for name in point.phases], 'and')
        return f'Every task {does} a file of its own{through(point)}'
