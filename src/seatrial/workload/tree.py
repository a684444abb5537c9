"""Metadata trees: tasks create, stat, read and remove files and directories. The shape is fdtree's (LLNL; Seager and
Loewe, 2004) and mdtest's: `branching` directories in every one above the last level, the same entries in all."""

from typing import Any, Dict, Optional, Sequence, Tuple

from seatrial.model.metric import MetricType
from seatrial.model.plan import Sizing
from seatrial.model.point import Point, TreePart
from seatrial.model.units import approximate_size, in_bytes, round_up
from seatrial.workload.base import CREATE, FIND, READ, REMOVE, STAT, Effort, Entries, Footprint, Kind, Phase, rates
from seatrial.workload.words import counted, exact_size, grouped, joined

SUBTREES = ('shared', 'private')
PHASES = (CREATE, STAT, READ, REMOVE)
_ORDER = (CREATE, STAT, FIND, READ, REMOVE)  # of the phases; FIND searches the whole tree by names and sizes
MAX_DEPTH = 100  # so that paths stay far below the limit of Linux, 4096 bytes
BLOCK = 4096  # the least that file systems of today give a file with bytes in it
MIN_DIRECTORIES = 100  # directories of a tree for making and removing them to be a rate: a root alone shows none
_LEAST = {'depth': 0, 'branching': 1, 'files_per_directory': 0, 'empties_per_directory': 0, 'bytes_per_file': 0}


def metadata_tree(
    phases: Sequence[str] = PHASES, *shape: Any, tasks: int = 0, scales: bool = False, **more: Any
) -> Point:
    """The workload of a check of metadata rates. phases: each is carried out over the whole tree before the next;
    shape, more: fields of TreePart, in their order or by name; bytes_per_file also as '64KiB'; all tasks share a tree
    unless subtrees says otherwise; scales: profiles and sites choose the number of files of a flat tree"""
    part = TreePart(*shape, **more)
    tree = part._replace(bytes_per_file=in_bytes(part.bytes_per_file), subtrees=part.subtrees or 'shared')
    return Point('tree', tuple(phases), tasks=tasks, scales=scales, tree=tree)


class Tree(Kind):
    name = 'tree'
    words = 'a metadata tree'
    title = 'Metadata'
    columns: Tuple[Tuple[str, Tuple[str, ...]], ...] = (
        ('create', ('file_create', 'directory_create', 'create')),
        ('stat', ('file_stat', 'directory_stat', 'stat')),
        ('find', ('file_find',)),
        ('read', ('file_read', 'read')),
        ('remove', ('file_remove', 'directory_remove', 'unlink')),
    )
    share_unit = 'file'
    heavier = 'bytes_per_file'
    phases = tuple(Phase(name, (name,), 'makes' if name == CREATE else f'{name}s') for name in _ORDER)
    parameters: Tuple[str, ...] = TreePart._fields

    def fault(self, point: Point) -> Optional[str]:
        fault = shape_fault(point)
        if fault is not None:
            return fault
        if list(point.phases) != [phase for phase in _ORDER if phase in point.phases]:
            return f'phases: {list(point.phases)}; they are drawn from {", ".join(_ORDER)}, in this order'
        idle = [phase for phase in point.phases if not operations(point, phase, 1)]
        return f'phases: there is nothing to {idle[0]}' if idle else None

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        """A rate of each kind of entry: file_create, directory_create, tree_create."""
        return self.phase(phase).metrics or rates(operations(point, phase))

    def sentence(self, points: Sequence[Point]) -> str:
        does = joined([self.phase(name).words for name in points[0].phases], 'and')
        return f'{who(points)} {does} {things(points)} {places(points)}'

    def totals(self, point: Point) -> str:
        there, size = levels_total(point, point.tasks), point.tree.bytes_per_file
        what = [_files(there.files, size)] * bool(there.files)
        what += [counted(there.empties, 'directory', 'directories')] * bool(there.empties)
        held = f' ({approximate_size(there.files * size)})' if size else ''
        return f'{" and ".join(what)} in {counted(there.directories, "directory", "directories")}{held}'

    def adapted(self, point: Point, effort: Effort) -> Point:
        size = levels_total(point, 1).directories * point.tree.bytes_per_file
        if not effort.tree_bytes or not size:
            return point
        files = min(point.tree.files_per_directory, effort.tree_bytes // size)
        return point.changed(files_per_directory=max(1, files))

    def sizing(self, points: Sequence[Point], effort: Effort, pinned: Optional[int]) -> Sizing:
        """Files that a task puts into a flat tree that scales; 0: the plan's."""
        if not points[0].scales:
            return Sizing(0, 1, 0.0, 0.0)
        if pinned is not None or not effort.files:
            return Sizing(pinned or 0, 1, 0.0, 0.0, pinned=pinned)
        return Sizing(effort.files, 1, effort.phase_s, effort.phase_s / 4)

    def resized(self, point: Point, share: int) -> Point:
        """The files of a flat tree, and as many empty directories where it has any; 0 leaves it as it is."""
        if not share or point.tree.depth or not point.scales:
            return point
        kinds = ('files_per_directory', 'empties_per_directory')
        return point.changed(**{name: share if point.value(name) else 0 for name in kinds})

    def entries(self, point: Point) -> Entries:
        return levels_total(point, point.tasks)

    def footprint(self, points: Sequence[Point]) -> Footprint:
        """Counts whole blocks of each file, as file systems allocate them."""
        totals = [(levels_total(point, point.tasks), point.tree.bytes_per_file) for point in points]
        size = max(there.files * round_up(length, BLOCK) for there, length in totals)
        return Footprint(size, max(there.inodes for there, _ in totals))

    def moved(self, point: Point, phase: str) -> Tuple[Optional[int], Optional[int]]:
        size = levels_total(point, point.tasks).files * point.tree.bytes_per_file
        return self.phase(phase).moved(size if self.bytes_known else None)

    def amount(self, point: Point) -> int:
        return levels_total(point, point.tasks).inodes


def shape_fault(point: Point) -> Optional[str]:
    """A contradiction in the shape of the tree, whatever is done to it, or None."""
    tree = point.tree
    for field, minimum in _LEAST.items():
        if getattr(tree, field) < minimum:
            return f'{field}: {getattr(tree, field)} is too few; it is {minimum} or more'
    if tree.depth > MAX_DEPTH:
        return f'depth: {tree.depth} is too many; it is {MAX_DEPTH} or fewer'
    if tree.subtrees not in SUBTREES:
        return f"subtrees: '{tree.subtrees}' is not valid; it can be {' or '.join(SUBTREES)}"
    if tree.depth == 0 and tree.branching != 1:
        return f'branching: {tree.branching}, and depth 0 leaves the root alone'
    if tree.bytes_per_file and not tree.files_per_directory:
        return f'bytes_per_file: {tree.bytes_per_file} bytes are to be written to each file, and there are no files'
    if tree.fsync and not tree.files_per_directory:
        return 'fsync: there are no files to sync'
    return None


def levels(point: Point, tasks: int) -> Tuple[Entries, ...]:
    """Entries of each level, the root's first, once every task has created its own."""
    trees = tasks if point.tree.subtrees == 'private' else 1
    widths = [point.tree.branching**level for level in range(point.tree.depth + 1)]
    files, empties = tasks * point.tree.files_per_directory, tasks * point.tree.empties_per_directory
    return tuple(Entries(trees * width, files * width, empties * width) for width in widths)


def levels_total(point: Point, tasks: int) -> Entries:
    """The sum over all levels. With tasks = 1, files and empty directories are those of one task alone."""
    return Entries(*(sum(column) for column in zip(*levels(point, tasks))))


def operations(point: Point, phase: str, tasks: Optional[int] = None) -> Dict[str, int]:
    """The metrics of a phase, with the operations of all tasks together: {'file_stat': 4686}. 'tree' are the tree's
    own directories, no metric where they are few, 'directory' the empty ones. tasks: in place of the point's."""
    there = levels_total(point, point.tasks if tasks is None else tasks)
    is_a_rate = levels_total(point, 1).directories >= MIN_DIRECTORIES
    numbers = {
        'tree': there.directories if phase in ('create', 'remove') and is_a_rate else 0,
        'directory': there.empties if phase not in (FIND, 'read') else 0,
        'file': there.files,
    }
    return {f'{kind}_{phase}': number for kind, number in numbers.items() if number}


def who(points: Sequence[Point]) -> str:
    tasks = max(point.tasks for point in points)
    return 'One task' if tasks == 1 else f'Each of {tasks} tasks'


def things(points: Sequence[Point]) -> str:
    """The entries that one task makes, in words: '1000 files (empty or of 4 KiB)'."""
    files = [(levels_total(point, 1).files, point.tree.bytes_per_file) for point in points]
    numbers, sizes = dict.fromkeys(number for number, _ in files), dict.fromkeys(size for _, size in files)
    if len(numbers) == 1 and len(sizes) > 1 and all(numbers):
        alternatives = joined([_of_size(size) for size in sorted(sizes)], 'or')
        phrases = [f'{counted(next(iter(numbers)), "file")} ({alternatives})']
    else:
        phrases = list(dict.fromkeys(_files(number, size) for number, size in files if number))
    counts = dict.fromkeys(levels_total(point, 1).empties for point in points if point.tree.empties_per_directory)
    empties = [counted(number, 'empty directory', 'empty directories') for number in counts]
    return ' and '.join(joined(words, 'or') for words in (phrases, empties) if words)


def places(points: Sequence[Point]) -> str:
    tasks = max(point.tasks for point in points)
    return joined(list(dict.fromkeys(_place(point, tasks) for point in points)), 'or')


def _place(point: Point, tasks: int) -> str:
    directories = levels_total(point, 1).directories
    what = 'directory' if directories == 1 else f'tree of {grouped(directories)} directories'
    if point.tree.subtrees == 'private' and tasks > 1:
        return f'in a {what} of its own'
    return f'in one {"shared " if tasks > 1 else ""}{what}'


def _files(number: int, size: int) -> str:
    return f'{counted(number, "file")} {_of_size(size)}' if size else counted(number, 'empty file')


def _of_size(size: int) -> str:
    return f'of {exact_size(size)}' if size else 'empty'
