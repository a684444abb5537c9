"""Progressive file layouts (PFL) against plain ones: a file that is striped the wider the larger it grows."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.model.layout import ALL, Component, Layout
from seatrial.model.units import MIB
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

GROWING = Layout(
    'pfl',
    components=(
        Component(4 * MIB, stripe_count=1, stripe_size=MIB),
        Component(256 * MIB, stripe_count=4),
        Component(stripe_count=ALL, stripe_size=4 * MIB),
    ),
)
LAYOUTS = (Layout(), Layout('c1', 1), Layout('c4', 4), Layout('all', ALL), GROWING)


@trial
class ProgressiveMultipleFiles(Check):
    """MFWA (file per process) in a progressive layout and in plain ones: every task its own file."""

    workload = data_access(files='multiple')
    sweep = Sweep('layout', LAYOUTS)


@trial
class ProgressiveSharedFile(Check):
    """SFSA contiguous in a progressive layout and in plain ones: a segment a task of a single shared file."""

    workload = data_access(files='single', extent='segment')
    sweep = Sweep('layout', LAYOUTS)
