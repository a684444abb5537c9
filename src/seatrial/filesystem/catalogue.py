"""The file-system types by name."""

from seatrial.filesystem.base import FileSystem
from seatrial.filesystem.beegfs import BeeGfs
from seatrial.filesystem.glusterfs import GlusterFS
from seatrial.filesystem.gpfs import Gpfs
from seatrial.filesystem.lustre import Lustre
from seatrial.filesystem.nfs import Nfs
from seatrial.filesystem.posix import Posix

DRIVERS = {
    'posix': Posix,
    'lustre': Lustre,
    'gpfs': Gpfs,
    'beegfs': BeeGfs,
    'nfs': Nfs,
    'glusterfs': GlusterFS,
}
TYPES = tuple(DRIVERS)


def by_type(type: str) -> FileSystem:
    """The driver of a type. Raises ValueError that names the known ones."""
    if type not in DRIVERS:
        raise ValueError(f"'{type}' is not a file-system type; it can be {', '.join(TYPES)}")
    return DRIVERS[type](type)
