"""Contention: many tasks use one file at once, or hold many files open; each call is timed."""

from typing import Dict, Optional, Sequence, Tuple

from seatrial.model.point import DataPart, Point, TreePart
from seatrial.model.units import Size, in_bytes, round_up
from seatrial.workload.base import Footprint, Phase, rates
from seatrial.workload.semantics import DOES, Semantics
from seatrial.workload.tree import BLOCK, who
from seatrial.workload.words import counted, exact_size, grouped

APPEND, LOCK, OPEN = 'append', 'lock', 'open'
CALLS: Dict[str, Tuple[str, ...]] = {  # of each phase, in their order; the engine defines them
    APPEND: ('append',),
    LOCK: ('lock',),
    OPEN: ('open_create', 'open_write', 'open_close'),
}
ROUNDS = 4  # writes of a task to each of the files that it holds open
LEAST = 100  # fewest calls of a task: with fewer, the 99th percentile is the slowest call
COUNTER = 8  # bytes that are changed under one lock
HEAD = 32  # bytes of a record that name its task and its number


def contention(does: str, calls: int = 0, record: Size = 0, open_files: int = 0, tasks: int = 0) -> Point:
    """The workload: one of CALLS. calls: of all tasks together, to append or to lock, as these follow each other.
    record: bytes that one call appends or writes; open_files: that each task holds open at once."""
    size = COUNTER if does == LOCK else in_bytes(record)
    data, tree = DataPart(transfer_size=size, working_set=calls * size), TreePart(files_per_directory=open_files)
    return Point('contention', (does,), tasks=tasks, scales=False, data=data, tree=tree)


_TITLES = {APPEND: 'appends to a shared log', LOCK: 'lock contention', OPEN: 'many open files'}


class Contention(Semantics):
    """One launch, whose calls are timed one by one. POSIX guarantees of these calls are facts beside the figures."""

    name = 'contention'
    words = 'contention'
    title = 'Contention'
    columns = ()
    parameters = ('transfer_size', 'working_set', 'files_per_directory')
    short_ok = True
    phases = tuple(Phase(name, DOES, metrics=rates(calls), title=_TITLES[name]) for name, calls in CALLS.items())

    def fault(self, point: Point) -> Optional[str]:
        data = point.data
        if len(point.phases) != 1:
            return f'phases: {list(point.phases)}; contention has one of {", ".join(CALLS)}'
        if data.transfer_size < 1 or (APPEND in point.phases and data.transfer_size < HEAD):
            return f'transfer_size: a record of {data.transfer_size} B cannot be numbered; write {HEAD} B or more'
        if (OPEN in point.phases) != (point.tree.files_per_directory > 0):
            return f'files_per_directory: {point.tree.files_per_directory} files are held open; {OPEN} alone has some'
        if OPEN not in point.phases and data.working_set < data.transfer_size:
            return f'working_set: {data.working_set} B are no call of {data.transfer_size} B'
        return None

    def sentence(self, points: Sequence[Point]) -> str:
        point = points[0]
        size = exact_size(point.data.transfer_size)
        if OPEN in point.phases:
            held = counted(point.tree.files_per_directory, 'file')
            return f'{who(points)} holds {held} open and writes records of {size} to one after the other'
        calls = grouped(max(map(calls_of, points)))
        if APPEND in point.phases:
            return f'{who(points)} appends {calls} records of {size} to one file'
        return f'{who(points)} takes a lock on a part of one file {calls} times, each held by another before'

    def totals(self, point: Point) -> str:
        if OPEN in point.phases:
            return counted(point.tasks * point.tree.files_per_directory, 'file')
        return f'1 file of {exact_size(self.footprint([point]).bytes)}'

    def footprint(self, points: Sequence[Point]) -> Footprint:
        point = max(points, key=lambda point: point.tasks)
        if OPEN in point.phases:
            size = round_up(ROUNDS * point.data.transfer_size, BLOCK)
            files = point.tasks * point.tree.files_per_directory
            return Footprint(files * size, files + point.tasks)
        slots = point.tasks + 1 if LOCK in point.phases else point.tasks * calls_of(point)
        return Footprint(slots * point.data.transfer_size, 1)

    def amount(self, point: Point) -> int:
        return point.tasks * calls_of(point)


def calls_of(point: Point) -> int:
    """Calls of each task in one phase."""
    if OPEN in point.phases:
        return ROUNDS * point.tree.files_per_directory
    return max(LEAST, point.data.working_set // point.data.transfer_size // max(1, point.tasks))
