"""Every target of the file system by itself, to find the one that is slow (docs/isolation.md)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import AccessPatternCheck, MetadataCheck, trial
from seatrial.model.namespace import Namespace, Trees
from seatrial.model.tree import MetadataTree
from seatrial.model.units import GIB, MIB
from seatrial.model.workload import AccessPattern, over_osts

FILES = MetadataTree(files_per_directory=1000, phases=('create', 'stat', 'remove'))


@trial
class OstBandwidth(AccessPatternCheck):
    """Each OST by itself: every client writes and reads a file of its own, all of them on one OST."""

    pattern = AccessPattern(files='multiple', extent='whole')
    sweep = over_osts(bytes_per_client=2 * GIB, transfer_size=MIB)


@trial
class MdtRates(MetadataCheck):
    """Each MDT by itself: all clients create, look at and remove empty files in one directory on it."""

    workload = Namespace('tree', FILES.phases)
    sweep = Trees((('files', FILES),), axis='mdt', scales=True)
