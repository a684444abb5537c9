"""The two scenarios of LLNL's fdtree in Calderon's study, as trees with exactly their numbers of files."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import CONTENTION
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

PHASES = ('create', 'remove')


@trial
class FdtreePrivate(Check):
    """fdtree -f 3 -d 5: every task creates its own 781 directories with 2343 files of 40 KiB (Calderon, HLRS)."""

    workload = metadata_tree(
        PHASES, depth=4, branching=5, files_per_directory=3, bytes_per_file='40KiB', subtrees='private'
    )
    covers = ('GP-01', 'GP-02')
    sweep = Sweep('tree', (('private', {}),))


@trial
class FdtreeShared(Check):
    """fdtree -l 1 -d 1 -f 1000 -s 500: all tasks create 2000 files of 2 MB in two directories (Calderon, HLRS)."""

    workload = metadata_tree(PHASES, depth=1, files_per_directory=1000, bytes_per_file='2000KiB')
    sweep = Sweep('tree', (('shared', {}), ('private', {'subtrees': 'private'})))
    expectations = CONTENTION
