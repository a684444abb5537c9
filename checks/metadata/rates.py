"""The rates of metadata: clients create, look at and remove entries, all in one directory or each in its own."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import MetadataCheck, trial
from seatrial.check.literature import CONTENTION
from seatrial.model.namespace import Namespace, Trees
from seatrial.model.tree import PHASES, MetadataTree
from seatrial.model.units import KIB

EMPTY = MetadataTree(files_per_directory=1000, phases=('create', 'stat', 'remove'))
SMALL = MetadataTree(files_per_directory=1000, bytes_per_file=3901)
DIRECTORIES = MetadataTree(empties_per_directory=1000, phases=('create', 'stat', 'remove'))


@trial
class EmptyFiles(MetadataCheck):
    """Empty files in one directory or in one of each client (Fermilab 2011: 48 clients on 6 nodes)."""

    workload = Namespace('tree', EMPTY.phases)
    sweep = Trees((('shared', EMPTY), ('private', EMPTY._replace(subtrees='private'))), scales=True)
    expectations = CONTENTION


@trial
class SmallFiles(MetadataCheck):
    """Files with data: 3901 B in one directory as in IO500, and 4 KiB in one of each client (Fermilab 2011)."""

    workload = Namespace('tree', PHASES)
    sweep = Trees(
        (
            ('shared-3901B', SMALL),
            ('private-4KiB', SMALL._replace(bytes_per_file=4 * KIB, subtrees='private')),
        ),
        scales=True,
    )


@trial
class EmptyDirectories(MetadataCheck):
    """Directories, in one parent or in one of each client (Fermilab 2011: 48 clients on 6 nodes)."""

    workload = Namespace('tree', DIRECTORIES.phases)
    sweep = Trees((('shared', DIRECTORIES), ('private', DIRECTORIES._replace(subtrees='private'))), scales=True)
