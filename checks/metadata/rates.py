"""Metadata rates: tasks create, stat, read and remove entries, all in one directory or each in its own."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import CONTENTION
from seatrial.model.units import KIB
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

EMPTY_PHASES = ('create', 'stat', 'remove')
SHARED_OR_PRIVATE = Sweep('tree', (('shared', {}), ('private', {'subtrees': 'private'})))


@trial
class EmptyFiles(Check):
    """Empty files in one directory or in one of each task (Fermilab 2011: 48 tasks on 6 nodes)."""

    workload = metadata_tree(EMPTY_PHASES, files_per_directory=1000, scales=True)
    covers = ('FN-11',)
    sweep = SHARED_OR_PRIVATE
    expectations = CONTENTION


@trial
class SmallFiles(Check):
    """Files with data: 3901 B in one directory as in IO500, and 4 KiB in one directory per task (Fermilab 2011)."""

    first = True
    workload = metadata_tree(files_per_directory=1000, bytes_per_file=3901, scales=True)
    sweep = Sweep(
        'tree', (('shared-3901B', {}), ('private-4KiB', {'bytes_per_file': 4 * KIB, 'subtrees': 'private'}))
    )


@trial
class EmptyDirectories(Check):
    """Directories, in one parent or in one parent per task (Fermilab 2011: 48 tasks on 6 nodes)."""

    workload = metadata_tree(EMPTY_PHASES, empties_per_directory=1000, scales=True)
    covers = ('FN-11',)
    sweep = SHARED_OR_PRIVATE
