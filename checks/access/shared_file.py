"""SFSA: every client writes and reads a part of one shared file, in one piece or object by object in turn."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.units import GIB
from seatrial.model.workload import AccessPattern, Sweep, powers_of_two

OBJECTS = Sweep('objects', powers_of_two(2, 2048), bytes_per_client=2 * GIB)
CLIENTS = Sweep('clients', (1, 2, 4, 8, 16, 24, 32, 40), bytes_per_client=2 * GIB, objects=32)


@trial
class SharedFileContiguousObjects(AccessPatternCheck):
    """SFSA contiguous: one segment a client in a shared file, over objects at constant bytes (Boito et al. 2009)."""

    pattern = AccessPattern(files='single', extent='segment', order='contiguous')
    sweep = OBJECTS


@trial
class SharedFileContiguousClients(AccessPatternCheck):
    """SFSA contiguous: one segment a client in a shared file, over clients with 32 objects (Boito et al. 2009)."""

    pattern = AccessPattern(files='single', extent='segment', order='contiguous')
    sweep = CLIENTS


@trial
class SharedFileStridedObjects(AccessPatternCheck):
    """SFSA strided: objects of a shared file in turn by rank, over objects at constant bytes (Boito et al. 2009)."""

    pattern = AccessPattern(files='single', extent='segment', order='strided')
    sweep = OBJECTS


@trial
class SharedFileStridedClients(AccessPatternCheck):
    """SFSA strided: objects of a shared file in turn by rank, over clients with 32 objects (Boito et al. 2009)."""

    pattern = AccessPattern(files='single', extent='segment', order='strided')
    sweep = CLIENTS
