"""HDFS through FUSE, by rclone. A file is written once, from beginning to end: to open one to write it again, or to
read and write as fio does, is EPERM. With --vfs-cache-mode writes it is not, but then fsync(2) and close(2) return
before anything is in HDFS (seen with rclone 1.60)."""

from typing import Optional

from seatrial.filesystem.base import AS_IT_IS, Capacity
from seatrial.filesystem.posix import Mounted
from seatrial.model.layout import Layout


class Hdfs(Mounted):
    """A mount of type fuse.rclone; the site says that its remote is HDFS."""

    name = 'hdfs'
    kernel_types = ('fuse.rclone',)
    recovery_source = 'chosen as for the other network types'
    tried = 'HDFS 3.3.6, three data nodes, rclone 1.60, Linux 6.1, two nodes, each a kernel of its own (ci/lab/hdfs)'
    tried_on = '2026-11-22'
    sources = "rclone's documentation of mount and hdfs"
    no_layout = 'no layout: replicas and block size are the settings of its name node'

    def capacity(self, path: str, layout: Layout = AS_IT_IS, files: Optional[int] = None) -> Capacity:
        """Bytes of all data nodes, of which a file takes one share a replica; rclone 1.60 knows no inodes."""
        return super().capacity(path, layout, files)._replace(inodes=None)
