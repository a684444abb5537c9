"""SFSA (single shared file): tasks write and read their parts of one file, in one piece or dealt in blocks."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import BOITO_2009, READ_AGAINST_WRITE
from seatrial.judge.expectations import CurveRatio, Degrades, DoesNotDegrade, Insensitive, Reaches, RisesWith
from seatrial.model.units import MIB
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep, powers_of_two

TRANSFER_SIZES = Sweep('transfer_size', powers_of_two('1MiB', '1GiB'))
TASKS = Sweep('tasks', (1, 2, 4, 8, 16, 24, 32, 40))
STABLE_AT_8 = Reaches(
    at=8,
    margin=1.25,  # at least 0.8 of the best: chosen, the source gives no figure
    id='L09-07b',
    words='a shared file soon becomes stable with more tasks',
    source=BOITO_2009,
)


@trial
class SharedFileContiguousTransferSizes(Check):
    """SFSA contiguous: one segment per task in a single shared file, over transfer sizes (Boito et al. 2009)."""

    workload = data_access(files='single', extent='segment', order='contiguous')
    sweep = TRANSFER_SIZES
    expectations = (
        Insensitive(
            to='transfer_size',
            id='L09-04',
            words='contiguous access to a shared file does not depend on the transfer size',
            source=BOITO_2009,
        ),
        CurveRatio(
            of='SharedFileStridedTransferSizes',
            maximum=64 * MIB,  # from the source's 32 objects of 2 GiB on
            id='L09-05b',
            words='contiguous access to a shared file is no slower than strided access up to transfers of 64 MiB',
            source=BOITO_2009,
        ),
        CurveRatio(
            metric='read',
            of='MultipleFilesTransferSizes',
            lowest=1.05,
            highest=1.35,  # a band that we chose around the source's ~20 %
            id='L09-06',
            words='contiguous reading of a shared file is about a fifth faster than of a file a task',
            source=BOITO_2009,
        ),
        *READ_AGAINST_WRITE,
    )


@trial
class SharedFileContiguousTasks(Check):
    """SFSA contiguous: one segment per task in a single shared file, over numbers of tasks (Boito et al. 2009)."""

    workload = data_access(files='single', extent='segment', order='contiguous', transfer_size='64MiB')
    sweep = TASKS
    expectations = (
        CurveRatio(
            of='SharedFileStridedTasks',
            minimum=2,
            id='L09-07a',
            words='contiguous access to a shared file is faster than strided access with any number of tasks',
            source=BOITO_2009,
        ),
        STABLE_AT_8,
        Degrades(
            id='L09-07c',
            words='contiguous access to a shared file degrades with more tasks',
            source=BOITO_2009,
        ),
        *READ_AGAINST_WRITE,
    )


@trial
class SharedFileStridedTransferSizes(Check):
    """SFSA strided: blocks of a single shared file dealt round-robin, over transfer sizes (Boito et al. 2009)."""

    workload = data_access(files='single', extent='segment', order='strided')
    sweep = TRANSFER_SIZES
    expectations = (
        RisesWith(
            by='transfer_size',
            id='L09-05a',
            words='strided access to a shared file is the slower the smaller its transfers are',
            source=BOITO_2009,
        ),
        *READ_AGAINST_WRITE,
    )


@trial
class SharedFileStridedTasks(Check):
    """SFSA strided: blocks of a single shared file dealt round-robin, over numbers of tasks (Boito et al. 2009)."""

    workload = data_access(files='single', extent='segment', order='strided', transfer_size='64MiB')
    sweep = TASKS
    expectations = (
        STABLE_AT_8,
        DoesNotDegrade(
            id='L09-07d',
            words='strided access to a shared file does not degrade with more tasks',
            source=BOITO_2009,
        ),
        *READ_AGAINST_WRITE,
    )
