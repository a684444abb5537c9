"""Interactive use: what users do all day in trees of small files, each step timed by itself."""

from typing import Dict, Optional, Sequence, Tuple, Union

from seatrial.model.metric import MetricType
from seatrial.model.point import Point
from seatrial.model.units import in_bytes
from seatrial.workload.base import Footprint
from seatrial.workload.operations import Operations
from seatrial.workload.tree import Tree, levels_total, places, shape_fault, things, who

STEPS = ('untar', 'import', 'find', 'du', 'rm')
"""In their order; the engine says what each does."""

PHASE = 'interactive'


def interactive_use(
    depth: int, branching: int, files_per_directory: int, bytes_per_file: Union[int, str], tasks: int = 0
) -> Point:
    """The workload: a tree of each task, with so many files in every directory, made and gone in one launch."""
    return Point(
        'interactive',
        (PHASE,),
        tasks=tasks,
        scales=False,
        depth=depth,
        branching=branching,
        files_per_directory=files_per_directory,
        bytes_per_file=in_bytes(bytes_per_file),
        subtrees='private',
    )


class Interactive(Operations):
    """One launch, in which every task does STEPS on whole trees. Of a cached tree a step is soon over (T20a)."""

    name = 'interactive'
    words = 'interactive use'
    parameters = ('depth', 'branching', 'files_per_directory', 'bytes_per_file', 'subtrees')

    def fault(self, point: Point) -> Optional[str]:
        if point.subtrees != 'private':
            return f"subtrees: '{point.subtrees}' trees are not unpacked and removed by each task; write private"
        if point.files_per_directory < 1:
            return 'files_per_directory: interactive use needs at least one file in each directory'
        return shape_fault(point)

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        """A rate of each step, in entries of all tasks."""
        return tuple(MetricType(name, 'op/s') for name in STEPS)

    def sentence(self, points: Sequence[Point]) -> str:
        what = f'{things(points)} {places(points)}'
        return (
            f'{who(points)} unpacks an archive of {what}, imports modules, and searches, sums up and removes a tree'
        )

    def footprint(self, points: Sequence[Point]) -> Footprint:
        return Tree.footprint(self, points)


def entries_of(point: Point) -> Dict[str, int]:
    """How many entries all tasks together handle in each step."""
    there = levels_total(point, point.tasks)
    return {step: there.files if step == 'import' else there.files + there.directories for step in STEPS}
