"""Stripe count x stripe size, on which a site chooses the layout that its users should have."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.layout import ALL, Layout
from seatrial.model.units import GIB, KIB, MIB, format_size
from seatrial.model.workload import AccessPattern, over_layouts

COUNTS = (1, 2, 4, 8, ALL)
SIZES = (64 * KIB, MIB, 4 * MIB, 16 * MIB)
MAP = (
    Layout(),
    *(
        Layout(f'{"all" if count == ALL else f"c{count}"}-{format_size(size)}', count, size)
        for count in COUNTS
        for size in SIZES
    ),
)


@trial
class StripeMapMultipleFiles(AccessPatternCheck):
    """MFWA over stripe counts and stripe sizes: every client its own file."""

    pattern = AccessPattern(files='multiple', extent='whole')
    sweep = over_layouts(MAP, bytes_per_client=2 * GIB, transfer_size=MIB)


@trial
class StripeMapSharedFile(AccessPatternCheck):
    """SFSA contiguous over stripe counts and stripe sizes: every client its segment of one file."""

    pattern = AccessPattern(files='single', extent='segment')
    sweep = over_layouts(MAP, bytes_per_client=2 * GIB, transfer_size=MIB)
