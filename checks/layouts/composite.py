"""Composite layouts against plain ones: a progressive file layout (PFL) is striped the wider the larger a file grows;
with Data-on-MDT (DoM) a small file lies where its name does."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.filesystem.lustre.layout import ALL, progressive, striped
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

GROWING = progressive(
    'pfl',
    {'end': '4MiB', 'stripe_count': 1, 'stripe_size': '1MiB'},
    {'end': '256MiB', 'stripe_count': 4},
    {'stripe_count': ALL, 'stripe_size': '4MiB'},
)
PROGRESSIVE = (striped(), striped('c1', 1), striped('c4', 4), striped('all', ALL), GROWING)
ON_MDT = (
    striped(),
    striped('c1', 1),
    progressive('dom-64KiB', {'end': '64KiB', 'on_mdt': True}, {'stripe_count': 1}),
)


@trial
class ProgressiveMultipleFiles(Check):
    """MFWA (file per process) in a progressive layout and in plain ones: every task its own file."""

    workload = data_access(files='multiple')
    sweep = Sweep('layout', PROGRESSIVE)


@trial
class ProgressiveSharedFile(Check):
    """SFSA contiguous in a progressive layout and in plain ones: a segment a task of a single shared file."""

    workload = data_access(files='single', extent='segment')
    sweep = Sweep('layout', PROGRESSIVE)


@trial
class DataOnMdtSmallFiles(Check):
    """Files of 3901 B, as in IO500, with their data on the MDT and on an OST."""

    workload = metadata_tree(files_per_directory=1000, bytes_per_file=3901, scales=True)
    sweep = Sweep('layout', ON_MDT)


@trial
class DataOnMdtFullFiles(Check):
    """Files of 64 KiB, all that the MDT is to take of one, with their data on it and on an OST."""

    workload = metadata_tree(files_per_directory=1000, bytes_per_file='64KiB', scales=True)
    sweep = Sweep('layout', ON_MDT)
