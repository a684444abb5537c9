"""POSIX semantics: the guarantees that hold between two tasks, and the ways of writing that keep the data."""

from typing import Sequence, Tuple

from seatrial.model.metric import MetricType
from seatrial.model.point import Point
from seatrial.model.units import MIB
from seatrial.workload.base import CREATE, READ, REMOVE, WRITE, Footprint, Kind, Phase

PHASE, INTEGRITY = 'probe', 'integrity'
SPARE_BYTES, SPARE_INODES = {PHASE: 2 * MIB, INTEGRITY: 18 * MIB}, 64  # the most that trials of the guarantees take

HOLDING = 'holding'
DOES = (CREATE, WRITE, READ, REMOVE)


def posix_semantics(tasks: int = 2) -> Point:
    return Point('semantics', (PHASE,), tasks=tasks, scales=False)


def posix_integrity() -> Point:
    """The workload: files are written in many ways, and read back on another node where there is one."""
    return Point('semantics', (INTEGRITY,), scales=False)


class Semantics(Kind):
    """One launch that tries guarantees. Each is a fact of POSIX; the number that hold is the metric."""

    name = 'semantics'
    words = title = 'POSIX semantics'
    bytes_known = False
    phases: Tuple[Phase, ...] = tuple(
        Phase(name, DOES, metrics=(MetricType(HOLDING, ''),), title=title)
        for name, title in ((PHASE, ''), (INTEGRITY, 'integrity of data'))
    )
    columns: Tuple[Tuple[str, Tuple[str, ...]], ...] = (('guarantees that hold', (HOLDING,)),)

    def sentence(self, points: Sequence[Point]) -> str:
        nodes, tasks = (max(getattr(point, field) for point in points) for field in ('nodes', 'tasks'))
        where = f' on {nodes} nodes' if nodes > 1 else ' on one node' if tasks > 1 else ''
        who = 'one task' if tasks == 1 else f'{tasks} tasks'
        if points[0].phases == (INTEGRITY,):
            return f'Files are written in many ways by {who}{where}, and compared byte for byte'
        return f'The guarantees of POSIX are tried by {who}{where}, one after the other'

    def totals(self, point: Point) -> str:
        return 'a few files and directories'

    def footprint(self, points: Sequence[Point]) -> Footprint:
        return Footprint(max(SPARE_BYTES[point.phases[0]] for point in points), SPARE_INODES)

    def amount(self, point: Point) -> int:
        return SPARE_INODES
