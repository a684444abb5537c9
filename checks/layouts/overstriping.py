"""Overstriping: several stripes of one file on each OST, for more locks and objects at a time (Lustre 2.13)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.layout import ALL, Layout
from seatrial.model.units import GIB, MIB
from seatrial.model.workload import AccessPattern, over_layouts

LAYOUTS = (
    Layout(),
    Layout('all', ALL),
    *(Layout(f'over-{count}', overstripe_count=count) for count in (16, 32, 64, 128)),
)


@trial
class OverstripingSharedFile(AccessPatternCheck):
    """SFSA contiguous over numbers of stripes, more than there are OSTs: every client its segment of one file."""

    pattern = AccessPattern(files='single', extent='segment')
    sweep = over_layouts(LAYOUTS, bytes_per_client=2 * GIB, transfer_size=MIB)
