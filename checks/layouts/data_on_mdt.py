"""Data-on-MDT (DoM) against plain layouts: small files that lie where their names do."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import MetadataCheck, trial
from seatrial.model.layout import Component, Layout
from seatrial.model.namespace import TREE, Trees
from seatrial.model.tree import MetadataTree
from seatrial.model.units import KIB

LAYOUTS = (
    Layout(),
    Layout('c1', 1),
    Layout('dom-64KiB', components=(Component(64 * KIB, on_mdt=True), Component(stripe_count=1))),
)
SMALL = MetadataTree(files_per_directory=1000, bytes_per_file=3901)


@trial
class DataOnMdtSmallFiles(MetadataCheck):
    """Files of 3901 B, as in IO500, with their data on the MDT and on an OST."""

    workload = TREE
    sweep = Trees((('small', SMALL),), axis='layout', scales=True, layouts=LAYOUTS)


@trial
class DataOnMdtFullFiles(MetadataCheck):
    """Files of 64 KiB, all that the MDT is to take of one, with their data on it and on an OST."""

    workload = TREE
    sweep = Trees((('full', SMALL._replace(bytes_per_file=64 * KIB)),), axis='layout', scales=True, layouts=LAYOUTS)
