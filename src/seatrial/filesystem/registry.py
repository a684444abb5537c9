"""The file-system types, each in its own file with all that depends on it. Other types are refused."""

from typing import Optional

from seatrial.filesystem.base import Driver, is_of
from seatrial.filesystem.beegfs import BeeGfs
from seatrial.filesystem.ceph import CephFs
from seatrial.filesystem.glusterfs import GlusterFS
from seatrial.filesystem.gpfs import Gpfs
from seatrial.filesystem.hdfs import Hdfs
from seatrial.filesystem.lustre.driver import Lustre
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.nfs import Nfs
from seatrial.filesystem.ocfs2 import Ocfs2
from seatrial.filesystem.orangefs import OrangeFs
from seatrial.filesystem.posix import Posix

DRIVERS = (Posix(), Lustre(), Gpfs(), BeeGfs(), OrangeFs(), Nfs(), GlusterFS(), CephFs(), Ocfs2(), Hdfs())
TYPES = tuple(driver.name for driver in DRIVERS)


def by_type(type: str) -> Driver:
    """The driver of a type. Raises ValueError that names the known ones."""
    for driver in DRIVERS:
        if driver.name == type:
            return driver
    raise ValueError(f"'{type}' is not a file-system type; it can be {', '.join(TYPES)}")


def type_of(mount: Mount) -> Optional[str]:
    """The type whose driver knows such a mount better than posix does, or None."""
    return next((driver.name for driver in DRIVERS if is_of(driver, mount)), None)


def same_storage(one: Optional[Mount], other: Optional[Mount]) -> bool:
    if one is None or other is None or type_of(one) != type_of(other):
        return False
    return driver_of(one).same_storage(one, other)


def driver_of(mount: Mount) -> Driver:
    return by_type(type_of(mount) or 'posix')
