"""Interactive use: the small things that users do all day, in trees that the check makes itself, by calls and by
programs of the node (git, pip, make and cc). No network."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.interactive import BUILD, GIT, VENV, interactive_use
from seatrial.workload.sweep import Sweep


@trial
class InteractiveUse(Check):
    """untar, find, du and rm -r of 1550 files in 31 directories, and imports by all tasks from one such tree."""

    # About what a virtual environment with a few packages has; the numbers are chosen.
    first = True
    workload = interactive_use(depth=2, branching=5, files_per_directory=50, bytes_per_file='8KiB')
    sweep = Sweep('tree', (('packages', {}),))


@trial
class GitClones(Check):
    """git clone of 1550 files in 31 directories by every task, and git status of the clone."""

    workload = interactive_use(depth=2, branching=5, files_per_directory=50, bytes_per_file='8KiB', does=GIT)
    sweep = Sweep('tree', (('repository', {}),))
    every_point = True


@trial
class PipInstalls(Check):
    """A virtual environment of every task, pip install of 310 modules, and imports by all tasks from one of them."""

    workload = interactive_use(depth=2, branching=5, files_per_directory=10, bytes_per_file='8KiB', does=VENV)
    sweep = Sweep('tree', (('package', {}),))
    every_point = True


@trial
class SmallBuilds(Check):
    """A program of 60 C files in 5 directories is compiled by every task."""

    workload = interactive_use(depth=1, branching=4, files_per_directory=12, bytes_per_file='8KiB', does=BUILD)
    sweep = Sweep('tree', (('program', {}),))
    every_point = True
