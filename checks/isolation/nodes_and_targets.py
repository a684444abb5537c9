"""Each node and each target compared with its equals, to find a slow one (docs/explanation/isolation.md)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree


@trial
class NodeBandwidth(Check):
    """Each node beside the others: every task writes and reads a file of its own, all at once and in groups."""

    workload = data_access(files='multiple')
    sweep = Sweep('node')


@trial
class OstBandwidth(Check):
    """Each OST by itself: every task writes and reads a file of its own, all of them on one OST."""

    workload = data_access(files='multiple')
    sweep = Sweep('ost')


@trial
class BrickBandwidth(Check):
    """Each brick by itself: every task writes and reads a file of its own, all of them on one brick."""

    workload = data_access(files='multiple')
    sweep = Sweep('brick')


@trial
class StorageTargetBandwidth(Check):
    """Each storage target of BeeGFS by itself: every task writes and reads a file of its own, all of them on one."""

    workload = data_access(files='multiple')
    sweep = Sweep('storage_target')


@trial
class MdtRates(Check):
    """Each MDT by itself: all tasks create, stat and remove empty files in one directory on it."""

    workload = metadata_tree(('create', 'stat', 'remove'), files_per_directory=1000, scales=True)
    sweep = Sweep('mdt')
