"""The two scenarios of LLNL's fdtree in Calderon's study, as trees that are exact to the file."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import MetadataCheck, trial
from seatrial.check.literature import CONTENTION
from seatrial.model.namespace import Namespace, Trees
from seatrial.model.tree import MetadataTree
from seatrial.model.units import KIB

PHASES = ('create', 'remove')
SMALL = MetadataTree(4, 5, files_per_directory=3, bytes_per_file=40 * KIB, subtrees='private', phases=PHASES)
MANY = MetadataTree(1, 1, files_per_directory=1000, bytes_per_file=500 * 4 * KIB, phases=PHASES)


@trial
class FdtreePrivate(MetadataCheck):
    """fdtree -f 3 -d 5: every client makes 781 directories and 2343 files of 40 KiB of its own (Calderon, HLRS)."""

    workload = Namespace('tree', PHASES)
    sweep = Trees((('private', SMALL),))


@trial
class FdtreeShared(MetadataCheck):
    """fdtree -l 1 -d 1 -f 1000 -s 500: all clients put 2000 files of 2 MB into two directories (Calderon, HLRS)."""

    workload = Namespace('tree', PHASES)
    sweep = Trees((('shared', MANY), ('private', MANY._replace(subtrees='private'))))
    expectations = CONTENTION
