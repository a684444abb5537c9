"""Ageing: trees as Darshan logs have them, filled in parallel and removed again (Dai et al. 2019)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.ageing import ageing
from seatrial.workload.sweep import Sweep


@trial
class AgedTrees(Check):
    """Directories 1 to 10 deep with 1 to 100 files each, to the fewest inodes of the source, 0.4 million."""

    workload = ageing(400_000)
    sweep = Sweep('tree', (('aged', {}),))
    covers = ('FS-07',)
