"""Integrity: data written in many ways are read back on another node and compared byte for byte."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import INTEGRITY
from seatrial.workload.semantics import posix_integrity
from seatrial.workload.sweep import Sweep


@trial
class Integrity(Check):
    """Small, large, shared, appended, cut, overwritten, mapped, renamed and locked files keep their data."""

    first = True
    workload = posix_integrity()
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = INTEGRITY
