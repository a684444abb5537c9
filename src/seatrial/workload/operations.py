"""POSIX operations: every task does each of a set of operations on entries of its own, one by one, each timed."""

from typing import Optional, Sequence, Tuple

from seatrial.model.point import Point, TreePart
from seatrial.model.units import Size, in_bytes
from seatrial.workload.base import CREATE, READ, REMOVE, Footprint, Phase, rates
from seatrial.workload.tree import Tree, levels_total, places, shape_fault, things, who

_OF_DIRECTORIES, _OF_FILES = ('mkdir', 'chdir', 'rmdir'), ('create', 'open', 'read', 'write', 'close')
_OF_ATTRIBUTES, _OF_NAMES = ('stat', 'access', 'chmod', 'readdir'), ('link', 'rename', 'unlink')
FILEOP = (*_OF_DIRECTORIES, *_OF_FILES, *_OF_ATTRIBUTES, *_OF_NAMES)  # those of IOzone's fileop.c; rename is ours
PHASE = 'fileop'
DOES = (CREATE, READ, REMOVE)


def posix_operations(
    files_per_directory: int, bytes_per_file: Size, subtrees: str = 'shared', tasks: int = 0
) -> Point:
    """Files of each task, in one directory for all tasks or in one for each."""
    tree = TreePart(0, 1, files_per_directory, bytes_per_file=in_bytes(bytes_per_file), subtrees=subtrees)
    return Point('operations', (PHASE,), tasks=tasks, scales=False, tree=tree)


class Operations(Tree):
    name = 'operations'
    words = 'POSIX operations'
    parameters: Tuple[str, ...] = ('files_per_directory', 'bytes_per_file', 'subtrees')
    short_ok = True
    bytes_known = False
    phases: Tuple[Phase, ...] = (Phase(PHASE, DOES, metrics=rates(FILEOP)),)

    def fault(self, point: Point) -> Optional[str]:
        return flat_fault(point, self.words)

    def sentence(self, points: Sequence[Point]) -> str:
        return f'{who(points)} does {len(FILEOP)} operations one by one on {things(points)} {places(points)}'

    def footprint(self, points: Sequence[Point]) -> Footprint:
        """Besides each entry there is a second name or a directory."""
        plain = super().footprint(points)
        return Footprint(plain.bytes, 3 * max(levels_total(point, point.tasks).inodes for point in points))


def flat_fault(point: Point, words: str) -> Optional[str]:
    """The reason why the point is not one directory with files, as 'field: sentence', or None."""
    if point.tree.files_per_directory < 1:
        return f'files_per_directory: {words} needs at least one file'
    return shape_fault(point)
