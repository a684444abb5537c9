"""Prints docs/file-systems.md from the drivers: `python docs/generate_file_systems.py > docs/file-systems.md`."""

from seatrial.filesystem.base import FileSystem
from seatrial.filesystem.registry import DRIVERS

HEAD = """# File-system types

Each type below is one file or folder in `src/seatrial/filesystem/`; this page is made from them. A site names one
under `type` in [trial.yaml](site-config.md). All know capacity, quota and the settings that a figure depends on.

| type | mounted as | what more it can | no launch ends before | tried |
|---|---|---|---|---|
"""

TAIL = """
## Quotas

| whose | how it is known before the run | beyond it |
|---|---|---|
| user, and the group that new files get | `quota` (package `quota`), on NFS with `rpc.rquotad` there | EDQUOT |
| project of the directory | free space of the directory, in which ext4 and XFS count it | EDQUOT, on XFS ENOSPC |

So it is on ext4 and XFS of Linux 6.1, and on NFS 3 and 4.2 over ext4 (`tests/integration/test_kernels.py`). Root may
exceed them on ext4; on XFS that of a group holds root too. Lustre and CephFS are asked in their own ways. While the
server of any NFS mount of the node is away `quota` hangs: then they count as unknown.

## NFS

- **hard** (the default): I/O waits for a server that is away. A launch that does not end is ended at its limit, which
  lies above `recovery_limit`. The session then ends without the server; `seatrial clean` removes what is left.
- **soft**: I/O fails after `timeo` and `retrans` with EIO, which fio reports of its fsync. A program that does not
  look for it has lost data. `seatrial doctor` and every case say so (rule P17c).
- `rpc.rquotad` of package `quota` 4.06 ends on a server without IPv6, and says nothing; take the lines `udp6` and
  `tcp6` out of `/etc/netconfig` there.

## Of no type of their own

Looked for among Debian's packages and the modules of its user-mode kernel, 2026-11-22:

- MooseFS 3.0: tried on one node with two chunk servers. As `posix` a smoke test passes. Reads are labelled
  unknown and metadata cached, for its FUSE client shows no counters, and what it caches itself is not known.
- OpenAFS: Debian has its servers, the kernel has a client (kafs); not tried. GFS2: the kernel has it; not tried.
- HDFS: Debian has no package of it; its FUSE clients were not tried.
"""


def page() -> str:
    """The whole page."""
    return HEAD + ''.join(f'| {" | ".join(_cells(driver))} |\n' for driver in DRIVERS) + TAIL


def _cells(driver: FileSystem) -> list[str]:
    return [
        f'`{driver.name}`',
        ', '.join(f'`{name}`' for name in driver.kernel_types) or 'anything',
        ', '.join(driver.can) or '-',
        f'{driver.recovery_limit_s:.0f} s: {driver.recovery_source}',
        f'{driver.tried}; {driver.tried_on}' if driver.tried else f'untried; written from {driver.sources}',
    ]


if __name__ == '__main__':
    print(page(), end='')
