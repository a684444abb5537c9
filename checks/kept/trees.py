"""Trees that stay: they age a file system, which other sessions then measure (Dai et al. 2019)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.ageing import ageing
from seatrial.workload.sweep import Sweep


@trial
class KeptTrees(Check):
    """Directories 1 to 10 deep with 1 to 100 files each, which are kept until `seatrial clean` removes them."""

    workload = ageing(400_000, keep=True)
    sweep = Sweep('tree', (('aged', {}),))
    covers = ('FS-07',)
