"""OCFS2: a disk that several nodes have at once, with the kernel's lock manager between them (Linux: fs/ocfs2). What
it caches is in the kernel's caches, under locks: another node reads cold what this one wrote, and drop_caches makes
its own reads cold. Proof is the disk's counter: 16 MiB of another node fetched 16.8 MB, then nothing."""

from typing import Dict

from seatrial.filesystem.base import Cold
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, kernel_cold, read_settings

CLUSTER_SETTINGS = ('active_cluster_plugin', 'max_locking_protocol')


class Ocfs2(Mounted):
    name = 'ocfs2'
    kernel_types = ('ocfs2',)
    recovery_source = 'above the 120 s that users set for O2CB_HEARTBEAT_THRESHOLD (o2cb.sysconfig(5))'
    can = ('cold reads', 'traffic', 'proof of cold reads')
    tried = 'OCFS2 of Linux 6.1, two nodes with one disk, each a kernel of its own (ci/lab-kernels)'
    tried_on = '2026-11-22'
    sources = 'o2cb(7), o2cb.sysconfig(5), fs/ocfs2 of the kernel'
    no_layout = 'no layout: it has one disk'
    kernel_counts_reads = False  # srun may have started the process, but all count for the disk: exchanged()

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        return read_settings('ocfs2', '/sys/fs/ocfs2', CLUSTER_SETTINGS)

    def _cold(self, path: str, mount: Mount) -> Cold:
        return kernel_cold()
