"""Interactive use: the small things that users do all day, in trees that the check makes itself."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.interactive import interactive_use
from seatrial.workload.sweep import Sweep


@trial
class InteractiveUse(Check):
    """untar, find, du and rm -r of 1550 files in 31 directories, and imports by all tasks from one such tree."""

    # About what a virtual environment with a few packages has; the numbers are chosen.
    first = True
    workload = interactive_use(depth=2, branching=5, files_per_directory=50, bytes_per_file='8KiB')
    sweep = Sweep('tree', (('packages', {}),))
