"""IO500 as its own program runs it, where that is installed."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.io500 import io500
from seatrial.workload.sweep import Sweep


@trial
class Io500(Check):
    """IO500's phases by its own program, once: its score where its rules were kept; not a submission."""

    workload = io500('64GiB')
    sweep = Sweep('variant', (('all', {}),))
    every_point = True
