"""Overstriping: several stripes of one file on each OST, for more locks and objects at a time (Lustre 2.13)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.filesystem.lustre.layout import ALL, striped
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

LAYOUTS = (
    striped(),
    striped('all', ALL),
    *(striped(f'over-{count}', overstripe_count=count) for count in (16, 32, 64, 128)),
)


@trial
class OverstripingSharedFile(Check):
    """SFSA contiguous over numbers of stripes, more than there are OSTs: a segment a task of a single shared file."""

    workload = data_access(files='single', extent='segment')
    sweep = Sweep('layout', LAYOUTS)
