"""MFWA: every client writes and reads a file of its own."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.check.literature import BOITO_2009, READ_AGAINST_WRITE
from seatrial.judge.expectations import Insensitive, Plateaus
from seatrial.model.units import GIB
from seatrial.model.workload import AccessPattern, Sweep, powers_of_two


@trial
class MultipleFilesObjects(AccessPatternCheck):
    """MFWA: every client its own file, over objects at constant bytes (Boito et al. 2009)."""

    pattern = AccessPattern(files='multiple', extent='whole')
    sweep = Sweep('objects', powers_of_two(2, 2048), bytes_per_client=2 * GIB)
    expectations = (
        Insensitive(
            to='objects',
            id='L09-02',
            words='a large contiguous file may as well be accessed in one request as in many',
            source=BOITO_2009,
        ),
        *READ_AGAINST_WRITE,
    )


@trial
class MultipleFilesClients(AccessPatternCheck):
    """MFWA: every client its own file, over clients with 32 objects each (Boito et al. 2009)."""

    pattern = AccessPattern(files='multiple', extent='whole')
    sweep = Sweep('clients', (1, 2, 4, 8, 16, 24, 32, 40), bytes_per_client=2 * GIB, objects=32)
    expectations = (
        Plateaus(
            id='L09-03',
            words='a file a client becomes stable and does not degrade with more clients',
            source=BOITO_2009,
        ),
        *READ_AGAINST_WRITE,
    )
