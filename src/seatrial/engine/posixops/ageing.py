"""posixops, ageing: every task fills a tree of its own, and removes it.

    fill    directory after directory: mkdir of each level of its way, then its files: open(O_CREAT|O_EXCL), write of
            random bytes, fsync where it is asked for, and close. After the timed region the tree is walked and
            compared with its plan; on several nodes it is a tree of the next node
    remove  as `rm -r`, entry by entry, on several nodes of a tree of another node

On the disk: the root is `aged.RANK`; in it are the ways d0, d1, ... with levels called d; the last has the files
f0, f1, ... A tree that would leave less than FLOOR of the file system free is not begun, or is ended before.
"""

import os
from typing import Dict, Iterator, List

from seatrial.engine.base import EngineError, Outcome
from seatrial.engine.posixops.interactive import remove_tree
from seatrial.engine.posixops.tree import owner
from seatrial.engine.posixops.work import NEW, Data, Part, Report, Spec, Work, opened, write_all
from seatrial.model.metric import Measurement, bandwidth
from seatrial.model.point import Point
from seatrial.workload.ageing import FILES, FILL, Batch, batches, counted_in, histograms, of_task, total
from seatrial.workload.base import REMOVE, STAT
from seatrial.workload.registry import phase_of

FLOOR = 0.05  # share of the bytes and of the inodes
LOOK = 10  # files between two checks of the free space


def carry_out(work: Work, spec: Spec) -> None:
    point = spec.point
    if phase_of(point, spec.phase).removes:
        other = owner(work, REMOVE)
        work.together(REMOVE, lambda: remove_tree(_root(other)))
        return
    other = owner(work, STAT)
    there, held = total(point)
    look(held, there.inodes)
    mine = list(batches(of_task(point, work.rank)))
    data = Data(max(point.fill.sizes), sum(len(batch.sizes) for batch in mine))
    work.together(FILES, lambda: _fill(_root(work.rank), mine, data, point.tree.fsync))
    work.untimed('survey', lambda: _survey(work, point, other))


def look(size: int, inodes: int) -> None:
    """Raises EngineError P9a where `size` bytes and `inodes` more would leave less than FLOOR free."""
    there = os.statvfs('.')
    unit = there.f_frsize
    for what, needed, free, whole in (
        ('B', size, there.f_bavail * unit, there.f_blocks * unit),
        ('inodes', inodes, there.f_favail, there.f_files),
    ):
        if whole and free - needed < FLOOR * whole:
            wanted = f'{needed} {what} more' if needed else 'more'
            raise EngineError('P9a', f'{free} of {whole} {what} are free: {wanted} would leave less than {FLOOR:.0%}')


def _root(rank: int) -> str:
    return f'aged.{rank}'


def _fill(root: str, mine: List[Batch], data: Data, fsync: bool) -> int:
    os.mkdir(root)
    number = 0
    for way, batch in enumerate(mine):
        directory = f'{root}/d{way}'
        os.mkdir(directory)
        for _ in range(batch.depth - 1):
            directory += '/d'
            os.mkdir(directory)
        for place, size in enumerate(batch.sizes):
            if number % LOOK == 0:
                look(0, 0)
            path = f'{directory}/f{place}'
            try:
                with opened(path, NEW, 0o666) as descriptor:
                    write_all(descriptor, data.of(number)[:size])
                    if fsync:
                        os.fsync(descriptor)
            except OSError as error:
                error.filename = path
                raise
            number += 1
    return number


def _survey(work: Work, point: Point, rank: int) -> None:
    """Compares a tree with its plan, and counts its entries for the histograms."""
    meant = list(batches(of_task(point, rank)))
    there = list(_batches_in(_root(rank), len(meant)))
    for way, (seen, batch) in enumerate(zip(there, meant)):
        if seen != batch:
            has, due = (f'{len(d.sizes)} files of {sum(d.sizes)} B {d.depth} deep' for d in (seen, batch))
            raise EngineError('T17', f'{_root(rank)}/d{way} has {has}, not {due}')
    work.counts = counted_in(point, iter(there))


def _batches_in(root: str, ways: int) -> Iterator[Batch]:
    for way in range(ways):
        directory, depth = f'{root}/d{way}', 1
        names = os.listdir(directory)
        while names == ['d']:
            directory, depth = f'{directory}/d', depth + 1
            names = os.listdir(directory)
        yield Batch(depth, tuple(os.lstat(f'{directory}/f{place}').st_size for place in range(len(names))))


def _planned(point: Point, phase: str) -> Dict[str, int]:
    there, _ = total(point)
    return {FILL: {FILES: there.files}, REMOVE: {REMOVE: there.inodes}}[phase]


def _measured(phase: str, point: Point, reports: List[Report], plain: Measurement, outcome: Outcome) -> Measurement:
    """A fill also gives its bytes, where they were synced, and the histograms."""
    if phase_of(point, phase).removes:
        return plain
    there, held = total(point)
    (files,) = plain.metrics
    whole = bandwidth(FILL, held, files.seconds, f'{held} B in {files.seconds:.6f} s')
    synced = (whole,) if point.tree.fsync else ()
    seen = histograms(point, [report.counts for report in reports])
    if sum(seen[-1].counts) != there.files:
        raise EngineError('T17', f'{sum(seen[-1].counts)} of {there.files} files were found')
    return plain._replace(metrics=(files, *synced), histograms=seen)


PART = Part(
    carry_out,
    _planned,
    measured=_measured,
    makes=(r'aged\.\d+', r'f\d*|d\d*'),
    elsewhere=lambda point, phase: point.nodes > 1 and phase_of(point, phase).removes,
)
