"""POSIX: what each operation on names costs, and which promises hold."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import MetadataCheck, trial
from seatrial.check.literature import PROMISES
from seatrial.model.namespace import OPERATIONS, SEMANTICS, Trees
from seatrial.model.tree import MetadataTree
from seatrial.model.units import KIB

FILES = MetadataTree(files_per_directory=216, bytes_per_file=4 * KIB)


@trial
class PosixOperations(MetadataCheck):
    """The set of IOzone's `fileop -f 6`, each operation timed by itself, and rename (Fermilab 2011)."""

    workload = OPERATIONS
    sweep = Trees((('shared', FILES), ('private', FILES._replace(subtrees='private'))))


@trial
class PosixSemantics(MetadataCheck):
    """What POSIX promises two clients, on two nodes where the case has them (after Fermilab 2011)."""

    workload = SEMANTICS
    sweep = Trees((('two-clients', MetadataTree()),), tasks=2)
    expectations = PROMISES
