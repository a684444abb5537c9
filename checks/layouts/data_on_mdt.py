"""Data-on-MDT (DoM) against plain layouts: small files that lie where their names do."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.filesystem.lustre.layout import progressive, striped
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

LAYOUTS = (
    striped(),
    striped('c1', 1),
    progressive('dom-64KiB', {'end': '64KiB', 'on_mdt': True}, {'stripe_count': 1}),
)


@trial
class DataOnMdtSmallFiles(Check):
    """Files of 3901 B, as in IO500, with their data on the MDT and on an OST."""

    workload = metadata_tree(files_per_directory=1000, bytes_per_file=3901, scales=True)
    sweep = Sweep('layout', LAYOUTS)


@trial
class DataOnMdtFullFiles(Check):
    """Files of 64 KiB, all that the MDT is to take of one, with their data on it and on an OST."""

    workload = metadata_tree(files_per_directory=1000, bytes_per_file='64KiB', scales=True)
    sweep = Sweep('layout', LAYOUTS)
