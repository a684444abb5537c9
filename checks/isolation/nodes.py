"""Every node of the case beside its equals, to find the one that is slow (docs/isolation.md)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.units import GIB, MIB
from seatrial.model.workload import AccessPattern, over_nodes


@trial
class NodeBandwidth(AccessPatternCheck):
    """Each node beside the others: every client writes and reads a file of its own, all at once and in groups."""

    pattern = AccessPattern(files='multiple', extent='whole')
    sweep = over_nodes(bytes_per_client=2 * GIB, transfer_size=MIB)
