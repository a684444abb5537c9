"""Every node of the case beside its equals, to find the one that is slow (docs/explanation/isolation.md)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep


@trial
class NodeBandwidth(Check):
    """Each node beside the others: every task writes and reads a file of its own, all at once and in groups."""

    workload = data_access(files='multiple')
    sweep = Sweep('node')
