"""How fast one client lists a directory with all attributes: from its cache and not, and of what size."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import MetadataCheck, trial
from seatrial.check.literature import CALDERON
from seatrial.judge.expectations import AtLeast
from seatrial.model.namespace import LISTING, Trees
from seatrial.model.tree import MetadataTree


@trial
class AttributeCache(MetadataCheck):
    """A client's attribute cache: 891 files (`ls -als` prints 894 lines) listed again and again (Calderon, HLRS)."""

    workload = LISTING
    sweep = Trees((('891', MetadataTree(files_per_directory=891)),), tasks=1, pauses_s=(0.5, 1.0, 2.0, 5.0, 10.0))
    expectations = (
        AtLeast(
            metric='ls_fourth',
            than='ls_first',
            times=5.0,  # chosen; 0.466 s against 0.033 s there are 14.1
            id='GP-04a',
            words='listing again straight away is 14.1 times as fast as the first time',
            source=CALDERON,
        ),
        AtLeast(
            metric='ls_fourth',
            than='ls_after_10s',
            times=2.0,  # chosen: "in a couple of seconds"
            id='GP-04b',
            words='what the client has cached of attributes vanishes in a couple of seconds',
            source=CALDERON,
        ),
    )


@trial
class LargeDirectory(MetadataCheck):
    """One directory of 10,000 to 1,000,000 files: its names, and the attributes of all, twice."""

    workload = LISTING
    sweep = Trees(
        tuple((str(count), MetadataTree(files_per_directory=count)) for count in (10_000, 100_000, 1_000_000)),
        axis='entries',
        tasks=1,
    )
