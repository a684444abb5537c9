"""Rates at which one task lists a directory with all attributes: with and without its cache, by size."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import CALDERON
from seatrial.judge.expectations import CurveRatio
from seatrial.workload.listing import listing
from seatrial.workload.sweep import Sweep


@trial
class AttributeCache(Check):
    """A client's attribute cache: 891 files (`ls -als` prints 894 lines) listed repeatedly (Calderon, HLRS)."""

    workload = listing(files_per_directory=891, pauses_s=(0.5, 1.0, 2.0, 5.0, 10.0))
    sweep = Sweep('tree', (('891', {}),))
    expectations = (
        CurveRatio(
            metric='ls_fourth',
            than='ls_first',
            lowest=5.0,  # chosen; the source has 0.466 s against 0.033 s, a ratio of 14.1
            id='GP-04a',
            words='listing again straight away is 14.1 times as fast as the first time',
            source=CALDERON,
        ),
        CurveRatio(
            metric='ls_fourth',
            than='ls_after_10s',
            lowest=2.0,  # chosen; the source has "in a couple of seconds"
            id='GP-04b',
            words='attributes cached by the client expire in a couple of seconds',
            source=CALDERON,
        ),
    )


@trial
class LargeDirectory(Check):
    """One directory of 10,000 to 1,000,000 files: its names are listed, then the attributes of all, both twice."""

    workload = listing(files_per_directory=1_000_000)
    sweep = Sweep('entries', (10_000, 100_000, 1_000_000))
