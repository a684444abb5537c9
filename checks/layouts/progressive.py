"""Progressive file layouts (PFL) against plain ones: a file that is striped the wider the larger it grows."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.layout import ALL, Component, Layout
from seatrial.model.units import GIB, MIB
from seatrial.model.workload import AccessPattern, over_layouts

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
class ProgressiveMultipleFiles(AccessPatternCheck):
    """MFWA in a progressive layout and in plain ones: every client its own file."""

    pattern = AccessPattern(files='multiple', extent='whole')
    sweep = over_layouts(LAYOUTS, bytes_per_client=2 * GIB, transfer_size=MIB)


@trial
class ProgressiveSharedFile(AccessPatternCheck):
    """SFSA contiguous in a progressive layout and in plain ones: every client its segment of one file."""

    pattern = AccessPattern(files='single', extent='segment')
    sweep = over_layouts(LAYOUTS, bytes_per_client=2 * GIB, transfer_size=MIB)
