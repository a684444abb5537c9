"""POSIX: the cost of each metadata operation, and the guarantees that hold."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import GUARANTEES
from seatrial.workload.operations import posix_operations
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep


@trial
class PosixOperations(Check):
    """The set of IOzone's `fileop -f 6`, each operation timed by itself, and rename (Fermilab 2011)."""

    workload = posix_operations(files_per_directory=216, bytes_per_file='4KiB')
    covers = ('FN-12',)
    sweep = Sweep('tree', (('shared', {}), ('private', {'subtrees': 'private'})))


@trial
class PosixSemantics(Check):
    """The guarantees of POSIX for two tasks, on two nodes if the case has them (after Fermilab 2011)."""

    workload = posix_semantics(tasks=2)
    sweep = Sweep('tree', (('two-tasks', {}),))
    expectations = GUARANTEES
