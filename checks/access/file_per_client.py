"""MFWA: every client writes and reads a file of its own."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.units import GIB
from seatrial.model.workload import AccessPattern, Sweep, powers_of_two


@trial
class MultipleFilesObjects(AccessPatternCheck):
    """MFWA: every client its own file, over objects at constant bytes (Boito et al. 2009)."""

    pattern = AccessPattern(files='multiple', extent='whole')
    sweep = Sweep('objects', powers_of_two(2, 2048), bytes_per_client=2 * GIB)


@trial
class MultipleFilesClients(AccessPatternCheck):
    """MFWA: every client its own file, over clients with 32 objects each (Boito et al. 2009)."""

    pattern = AccessPattern(files='multiple', extent='whole')
    sweep = Sweep('clients', (1, 2, 4, 8, 16, 24, 32, 40), bytes_per_client=2 * GIB, objects=32)
