"""Stripe count x stripe size, on which a site chooses the layout that its users should have."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.filesystem.lustre.layout import ALL, striped
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

COUNTS = (1, 2, 4, 8, ALL)
SIZES = ('64KiB', '1MiB', '4MiB', '16MiB')
MAP = (
    striped(),
    *(striped(f'{"all" if count == ALL else f"c{count}"}-{size}', count, size) for count in COUNTS for size in SIZES),
)


@trial
class StripeMapMultipleFiles(Check):
    """MFWA (file per process) over stripe counts and stripe sizes: every task its own file."""

    workload = data_access(files='multiple')
    sweep = Sweep('layout', MAP)


@trial
class StripeMapSharedFile(Check):
    """SFSA contiguous over stripe counts and stripe sizes: a segment a task of a single shared file."""

    workload = data_access(files='single', extent='segment')
    sweep = Sweep('layout', MAP)
