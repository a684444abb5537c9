"""SFWA (whole shared file): every task reads the whole of one file."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import BOITO_2009
from seatrial.judge.expectations import MARGIN_5, Insensitive
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep, powers_of_two

WHOLE = data_access(files='single', extent='whole', operations=('read',))


@trial
class SingleFileWholeAccess(Check):
    """SFWA: every task reads the whole of one shared file, over transfer sizes (Boito et al. 2009)."""

    workload = WHOLE
    sweep = Sweep('transfer_size', powers_of_two('1KiB', '4MiB'))
    max_relative_error = 0.05
    expectations = (
        Insensitive(
            metric='read',
            to='transfer_size',
            margin=MARGIN_5,
            id='L09-01',
            words='reading one file by all tasks is not sensitive to the transfer size',
            source=BOITO_2009,
        ),
    )


@trial
class SingleFileWholeAccessTasks(Check):
    """SFWA: every task reads the whole of one shared file, over numbers of tasks (Boito et al. 2009)."""

    workload = WHOLE
    sweep = Sweep('tasks', (1, 2, 4, 8, 16, 24, 32, 40))
    max_relative_error = 0.05
