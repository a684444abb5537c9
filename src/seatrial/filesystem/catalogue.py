"""The file-system types by name."""

from seatrial.filesystem.base import FileSystem
from seatrial.filesystem.posix import Posix

TYPES = ('posix', 'lustre', 'gpfs', 'beegfs', 'nfs', 'glusterfs')


def by_type(type: str) -> FileSystem:
    """The driver of a type. Raises ValueError that names the known ones."""
    if type not in TYPES:
        raise ValueError(f"'{type}' is not a file-system type; it can be {', '.join(TYPES)}")
    return Posix(type)
