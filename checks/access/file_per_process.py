"""MFWA (file per process): every task writes and reads its own file."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import BOITO_2009, FAIRNESS, READ_AGAINST_WRITE
from seatrial.judge.expectations import Insensitive, Plateaus
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep, powers_of_two


@trial
class MultipleFilesTransferSizes(Check):
    """MFWA (file per process), over transfer sizes: 2 to 2048 "objects" of 2 GiB (Boito et al. 2009)."""

    workload = data_access(files='multiple')
    sweep = Sweep('transfer_size', powers_of_two('1MiB', '1GiB'))
    expectations = (
        Insensitive(
            to='transfer_size',
            id='L09-02',
            words='a large contiguous file may as well be accessed in one request as in many',
            source=BOITO_2009,
        ),
        *READ_AGAINST_WRITE,
    )


@trial
class MultipleFilesTasks(Check):
    """MFWA (file per process), over numbers of tasks with transfers of 64 MiB (Boito et al. 2009)."""

    first = True
    workload = data_access(files='multiple', transfer_size='64MiB')
    covers = ('FN-01',)
    sweep = Sweep('tasks', (1, 2, 4, 8, 16, 24, 32, 40))
    expectations = (
        Plateaus(
            id='L09-03',
            words='a file a task becomes stable and does not degrade with more tasks',
            source=BOITO_2009,
        ),
        *FAIRNESS,
        *READ_AGAINST_WRITE,
    )
