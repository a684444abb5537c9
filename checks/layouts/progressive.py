"""Progressive file layouts (PFL) against plain ones: a file that is striped the wider the larger it grows."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.filesystem.lustre.layout import ALL, progressive, striped
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

GROWING = progressive(
    'pfl',
    {'end': '4MiB', 'stripe_count': 1, 'stripe_size': '1MiB'},
    {'end': '256MiB', 'stripe_count': 4},
    {'stripe_count': ALL, 'stripe_size': '4MiB'},
)
LAYOUTS = (striped(), striped('c1', 1), striped('c4', 4), striped('all', ALL), GROWING)


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
