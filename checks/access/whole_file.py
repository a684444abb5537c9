"""SFWA: every client reads the whole of one shared file."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.check.literature import BOITO_2009
from seatrial.judge.expectations import MARGIN_5, Insensitive
from seatrial.model.units import GIB, KIB, MIB
from seatrial.model.workload import AccessPattern, Sweep, powers_of_two


@trial
class SingleFileWholeAccess(AccessPatternCheck):
    """SFWA: every client reads the whole of one shared file, over transfer sizes (Boito et al. 2009)."""

    pattern = AccessPattern(files='single', extent='whole', operations=('read',))
    sweep = Sweep('transfer_size', powers_of_two(1 * KIB, 4 * MIB), bytes_per_client=2 * GIB)
    max_relative_error = 0.05
    expectations = (
        Insensitive(
            metric='read',
            to='transfer_size',
            margin=MARGIN_5,
            id='L09-01',
            words='reading one file by all clients is not sensitive to the transfer size',
            source=BOITO_2009,
        ),
    )


@trial
class SingleFileWholeAccessClients(AccessPatternCheck):
    """SFWA: every client reads the whole of one shared file, over clients (Boito et al. 2009)."""

    pattern = AccessPattern(files='single', extent='whole', operations=('read',))
    sweep = Sweep('clients', (1, 2, 4, 8, 16, 24, 32, 40), bytes_per_client=2 * GIB, objects=2048)
    max_relative_error = 0.05
