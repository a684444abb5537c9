"""Ageing: trees as a file system has them after years, filled by all tasks in parallel, and removed again. As in the
source (Dai et al. 2019) a directory lies 1 to 10 levels deep and has 1 to 100 files, of sizes from Darshan logs up to
8 MB. Every task has a tree of its own, which follows from the seed and the number of its task alone."""

import heapq
import itertools
import random
from bisect import bisect_left
from functools import lru_cache
from typing import Dict, Iterator, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.metric import Histogram, MetricType
from seatrial.model.plan import Sizing
from seatrial.model.point import FillPart, Point, TreePart
from seatrial.model.units import KIB, MIB, approximate_size, round_up
from seatrial.workload.base import CREATE, REMOVE, Effort, Entries, Footprint, Phase
from seatrial.workload.tree import BLOCK, MAX_DEPTH, Tree, who
from seatrial.workload.words import counted, grouped

FILL = 'fill'
FILES = 'fill_files'
LARGEST = 8 * MIB  # the source cuts larger files to this size: "1MB * 8"
FULLEST = 0.9  # the most that a file system can be filled: engine/posixops/ageing.py leaves some of it free
ENDLESS = 2**40
LEAST = 3  # inodes of a tree with one file
FIRST = 500  # inodes of a task in the warm-up of a fullness, where the profile has no number
LIKELY = 100  # number of equally likely sizes that describe a distribution
DEPTH, IN_DIRECTORY, SIZE = 'directories by depth', 'directories by files in them', 'files by size'

Parameters = Tuple[int, int, int, int, int, Tuple[int, ...]]
Counts = Dict[str, Dict[str, int]]


class Batch(NamedTuple):
    """A directory, `depth` levels below the root of its tree, with the sizes of its files in bytes."""

    depth: int
    sizes: Tuple[int, ...]


def pareto(shape: float = 0.6, least: int = KIB) -> Tuple[int, ...]:
    """Sizes of a Pareto distribution at LIKELY equal steps, least / (1 - p) ** (1 / shape), cut to LARGEST."""
    shares = ((number + 0.5) / LIKELY for number in range(LIKELY))
    return tuple(min(LARGEST, int(least / (1 - share) ** (1 / shape))) for share in shares)


def ageing(
    inodes: int,
    sizes: Sequence[int] = (),
    depth: int = 10,
    files_per_directory: int = 100,
    seed: int = 1,
    fsync: bool = True,
    tasks: int = 0,
    keep: bool = False,
    fullness: float = 0.0,
) -> Point:
    """The workload: a number of inodes of all tasks together, which a profile or a site reduces. sizes: of files in
    bytes, each as likely as any other; none: pareto(); depth, files_per_directory: the largest; each number from 1 on
    is as likely as any other; keep: the trees stay, so that other sessions measure beside them; fullness: in place of
    inodes, the share of the file system's bytes that is in use when the trees are there"""
    tree = TreePart(depth=depth, files_per_directory=files_per_directory, fsync=fsync)
    fill = FillPart(inodes, tuple(sizes) or pareto(), seed, fullness)
    return Point('ageing', (FILL,) if keep else (FILL, REMOVE), tasks=tasks, tree=tree, fill=fill)


class Ageing(Tree):
    """Two launches: all tasks fill their trees, then they remove them."""

    name = 'ageing'
    words = 'ageing'
    title = 'Ageing'
    spaced = True
    columns = (('files', (FILES,)), ('bytes', (FILL,)), ('removal', (REMOVE,)))
    parameters = ('inodes', 'sizes', 'depth', 'files_per_directory', 'seed', 'fsync', 'fullness')
    of_trial = ('fullness',)
    short_ok = True
    share_unit = 'inode'
    heavier = 'inodes'
    phases = (
        Phase(FILL, (CREATE,), metrics=(MetricType(FILES, 'op/s'), MetricType(FILL, 'B/s')), stays=True),
        Phase(REMOVE, (REMOVE,), metrics=(MetricType(REMOVE, 'op/s'),)),
    )

    def fault(self, point: Point) -> Optional[str]:
        if point.phases not in ((FILL, REMOVE), (FILL,)):
            return f'phases: {list(point.phases)}; they are {FILL} and {REMOVE}, or {FILL} alone'
        for field, most in (('inodes', 2**40), ('depth', MAX_DEPTH), ('files_per_directory', 2**40)):
            if not 1 <= point.value(field) <= most:
                return f'{field}: {point.value(field)} cannot be; write 1 to {most}'
        if not 0 <= point.fullness <= FULLEST:
            return f'fullness: {point.fullness} cannot be; write 0 to {FULLEST}'
        if not point.fill.sizes or min(point.fill.sizes) < 0:
            return 'sizes: they are numbers of bytes, one at least'
        return None

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        """Files a second and, where they are synced, bytes; for the removal entries, directories among them."""
        return tuple(metric for metric in self.phase(phase).metrics if metric.unit != 'B/s' or point.tree.fsync)

    def sentence(self, points: Sequence[Point]) -> str:
        point = points[0]
        deep, held = counted(point.tree.depth, 'level'), counted(point.tree.files_per_directory, 'file')
        most = approximate_size(max(point.fill.sizes))
        inodes = f'{grouped(max(point.fill.inodes for point in points))} inodes in all'
        end = f'{point.fullness:.0%} of the file system' if point.fullness else inodes
        what = f'directories 1 to {deep} deep with 1 to {held} each, of up to {most}, to {end}'
        return f'{who(points)} fills {what}, and {"removes" if REMOVE in point.phases else "keeps"} them'

    def totals(self, point: Point) -> str:
        there, size = total(point)
        directories = counted(there.directories, 'directory', 'directories')
        return f'{counted(there.files, "file")} in {directories} ({approximate_size(size)})'

    def adapted(self, point: Point, effort: Effort) -> Point:
        return point

    def sizing(self, points: Sequence[Point], effort: Effort, pinned: Optional[int]) -> Sizing:
        """Inodes of each task, no more than the check has; 0: all of them. For a fullness the warm-up's inodes."""
        if any(point.fullness for point in points):
            pinned, effort = None, effort._replace(files=effort.files or FIRST)
        if pinned is not None or not effort.files:
            return Sizing(pinned or 0, 1, 0.0, 0.0, pinned=pinned)
        share = min([effort.files, *(point.fill.inodes // max(1, point.tasks) for point in points)])
        if effort.tree_bytes:
            sizes = [point.fill.sizes for point in points]
            share = min(share, *(effort.tree_bytes * len(of_point) // (sum(of_point) or 1) for of_point in sizes))
        return Sizing(max(1, share), 1, 0.0, 0.0)

    def resized(self, point: Point, share: int) -> Point:
        return point.changed(inodes=share * point.tasks) if share else point

    def entries(self, point: Point) -> Entries:
        return total(point)[0]

    def footprint(self, points: Sequence[Point]) -> Footprint:
        """Counts whole blocks of each file, as file systems allocate them."""
        return Footprint(
            max(sum(_tree(*of_task(point, rank)).blocks for rank in range(point.tasks)) for point in points),
            max(total(point)[0].inodes for point in points),
        )

    def moved(self, point: Point, phase: str) -> Tuple[Optional[int], Optional[int]]:
        return self.phase(phase).moved(total(point)[1])

    def amount(self, point: Point) -> int:
        return total(point)[0].inodes


class _Tree(NamedTuple):
    entries: Entries
    bytes: int
    blocks: int  # bytes of its files in whole blocks


def of_task(point: Point, rank: int) -> Parameters:
    """The values that determine a task's tree: seed, rank, its inodes, and depth, files and sizes of all trees."""
    inodes = point.fill.inodes // point.tasks + (rank < point.fill.inodes % point.tasks)
    return point.fill.seed, rank, inodes, point.tree.depth, point.tree.files_per_directory, point.fill.sizes


def batches(tree: Parameters) -> Iterator[Batch]:
    """The directories of a task below its root, in the order in which they are filled; the directories on
    the way to each count as inodes too. The last one ends where the inodes are used up; one may be left over."""
    seed, rank, inodes, depth, files, sizes = tree
    # Of all that random.Random draws, Python promises only that random() stays the same over versions.
    draw, left = random.Random(f'{seed} {rank}').random, inodes - 1
    while left > 1:
        deep = min(1 + int(draw() * depth), left - 1)
        number = min(1 + int(draw() * files), left - deep)
        yield Batch(deep, tuple(sizes[int(draw() * len(sizes))] for _ in range(number)))
        left -= deep + number


def total(point: Point) -> Tuple[Entries, int]:
    """Entries, roots included, and bytes of the trees of all tasks."""
    trees = [_tree(*of_task(point, rank)) for rank in range(point.tasks)]
    return Entries(*(sum(column) for column in zip(*(tree.entries for tree in trees)))), sum(t.bytes for t in trees)


@lru_cache(maxsize=4096)
def _tree(*tree: object) -> _Tree:
    directories, files, held, blocks = 1, 0, 0, 0
    for batch in batches(tree):  # type: ignore[arg-type]
        directories += batch.depth
        files += len(batch.sizes)
        held += sum(batch.sizes)
        blocks += sum(round_up(size, BLOCK) for size in batch.sizes)
    return _Tree(Entries(directories, files, 0), held, blocks)


def share_within(point: Point, room: int) -> int:
    """The most inodes of a task with which all trees fit into `room` bytes, in whole blocks; at least LEAST."""
    endless = point.changed(inodes=point.tasks * ENDLESS)
    for number, size in heapq.merge(*(_blocks(of_task(endless, rank)) for rank in range(point.tasks))):
        room -= size
        if room < 0:
            return max(LEAST, number - 1)
    raise AssertionError('a tree without end takes more than any room')


def _blocks(tree: Parameters) -> Iterator[Tuple[int, int]]:
    """Numbers a tree's inodes from 1 on, each with the bytes that it takes."""
    sizes = (size for batch in batches(tree) for size in (*[BLOCK] * batch.depth, *batch.sizes))
    return enumerate(itertools.chain((BLOCK,), (round_up(size, BLOCK) for size in sizes)), start=1)


def counted_in(point: Point, directories: Iterator[Batch]) -> Counts:
    """Number of these batches in each class of each histogram, by the upper end of the class."""
    ends = _ends(point)
    counts: Counts = {name: {} for name in ends}
    for batch in directories:
        for name, values in ((DEPTH, (batch.depth,)), (IN_DIRECTORY, (len(batch.sizes),)), (SIZE, batch.sizes)):
            for value in values:
                key = str(ends[name][bisect_left(ends[name], value)])
                counts[name][key] = counts[name].get(key, 0) + 1
    return counts


def histograms(point: Point, counts: Sequence[Counts]) -> Tuple[Histogram, ...]:
    """The histograms of all tasks together, beside the shares that the distribution has."""
    results = []
    for name, ends in _ends(point).items():
        drawn = sorted(point.fill.sizes) if name == SIZE else range(1, ends[-1] + 1)
        below = [sum(value <= end for value in drawn) / len(drawn) for end in ends]
        targets = tuple(upto - before for before, upto in zip([0.0, *below], below))
        numbers = tuple(sum(by_name.get(name, {}).get(str(end), 0) for by_name in counts) for end in ends)
        results.append(Histogram(name, 'B' if name == SIZE else '', ends, numbers, targets))
    return tuple(results)


def _ends(point: Point) -> Dict[str, Tuple[int, ...]]:
    """The upper ends of the classes: each depth, tenths of the files of a directory, sizes from 1 KiB on by fours."""
    files, size = point.tree.files_per_directory, [KIB]
    while size[-1] < max(point.fill.sizes):
        size.append(4 * size[-1])
    return {
        DEPTH: tuple(range(1, point.tree.depth + 1)),
        IN_DIRECTORY: tuple(sorted({-(-files * part // 10) for part in range(1, 11)})),
        SIZE: tuple(size),
    }
