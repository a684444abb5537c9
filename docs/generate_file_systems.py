"""Prints docs/file-systems.md from the drivers: `python docs/generate_file_systems.py > docs/file-systems.md`."""

from seatrial.filesystem.base import Driver
from seatrial.filesystem.registry import DRIVERS

HEAD = """# File-system types

Each type below is one file or folder in `src/seatrial/filesystem/`; this page is made from them. A site names one
under `type` in [trial.yaml](site-config.md). All know capacity, quota and the settings that a figure depends on.

| type | mounted as | what more it can | no launch ends before | tried |
|---|---|---|---|---|
"""

TAIL = """
## Targets that are away, and routes

`seatrial doctor` shows the targets of a type with what is wrong with each, and over which network they are reached.
The record of a case has them at start and end, so that the page, `seatrial compare` and the nights name what changed.
One that is away refuses a case (P22), or labels it where the site says `targets_may_be_away: true`. An isolation
sweep goes on, for it looks for such a target (P5b). What is rebuilt, read-only, full or reached over a fallback route
is a label (P22a). What its administrator has taken out (an inactive OST, an OSD that is out) is shown and no label.

- `lustre`: OSTs and MDTs. Away is one that `lfs df` does not come past, or shows with an error; a label is what is
  degraded, read-only, out of space or inodes. Around each launch the imports of the client are read (P20).
- `glusterfs`: bricks, a set of replicas as one. Away is one that the client is not connected to. `.meta` of the
  client tells, around each launch too.
- `cephfs`: OSDs, and the cluster by its health checks. Away is what is `down` and not `out`; a label is what is
  nearly full, and checks of damage, recovery and slowness. `ceph osd dump` and `ceph health` tell, where this user's
  key may ask the monitors.
- `beegfs`: storage and metadata targets. Away is Offline or Bad; a label is Probably-offline, Needs-resync and
  `[fallback route]`. `/proc/fs/beegfs` tells without asking a server, around each launch too.
- `nfs`: the server. One that was connected anew in a launch was lost (P20); calls that were sent again are a label.
  `/proc/self/mountstats` tells.
- `gpfs`: disks, and this node by its health. Away is a disk whose availability is not up, and a component that
  FAILED; a label is a disk that is not ready, and what is DEGRADED. `mmlsdisk` and `mmhealth` tell root alone.

Tried in the labs (2026-11-28) with a brick, an OSD and an NFS server; BeeGFS on outputs of a real 8.3.1, GPFS on
published ones.

## Quotas

| whose | how it is known before the run | beyond it |
|---|---|---|
| user, and the group that new files get | `quota` (package `quota`), on NFS with `rpc.rquotad` there | EDQUOT |
| project of the directory | free space of the directory, in which ext4 and XFS count it | EDQUOT, on XFS ENOSPC |

So it is on ext4 and XFS of Linux 6.1, and on NFS 3 and 4.2 over ext4. Root may exceed them on ext4; on XFS that of a
group holds root too. Lustre and CephFS are asked in their own ways. While the server of any NFS mount of the node is
away `quota` hangs: then they count as unknown.

## NFS

- **hard** (the default): I/O waits for a server that is away. A launch that does not end is ended at its limit, which
  lies above `recovery_limit`; `seatrial clean` removes what is left.
- **soft**: I/O fails after `timeo` and `retrans` with EIO. A program that does not look for it has lost data (rule
  P17c).
- `rpc.rquotad` of package `quota` 4.06 ends on a server without IPv6, and says nothing; take the lines `udp6` and
  `tcp6` out of `/etc/netconfig` there.

## Lustre

Seen on 2.17.0 with 2 MDTs and 4 OSTs on ZFS:

- **An ordinary user** reads the counters of traffic, `hybrid_io`, and on an MDS `osp.*.active`. For root alone are
  `osc.*.state`, `osc.*.import`, `rpc_stats`, `max_cached_mb`, `lnetctl` and cancelling locks. So evictions, versions
  of servers, sizes of requests and LNet are unknown to him. `lctl` then ends with status 2, without a word.
- **Hybrid I/O** is on by default: writes from 2 MiB and reads from 8 MiB on go past the cache. Both are recorded.
- **All OSTs in a later component** (PFL, `stripe_count: -1`) were 3 of 4. The servers leave out those of other
  components while three quarters remain. A label says so (P5c).
- **A slow OST** and what else was done to it: [sessions on a Lustre](labs.md#lustre-no-lab).

## GPFS (IBM Storage Scale)

Nobody has tried this driver on a real one. It was written from published outputs of 5.0 and 5.1. Nothing shows
whether a read was cold: `_br_` of mmpmon counts what the pagepool answered too. If you have one, these ten outputs
would tell whether it is right: `mmlsattr -L DIRECTORY`, `mmlsquota -u UID DEVICE`,
`mmlsquota -j FILESET DEVICE`, `mmlsfs DEVICE -Y`, `stat DIRECTORY`, `grep gpfs /proc/self/mountinfo`, and as root
`mmlsdisk DEVICE -Y`, `mmhealth node show -Y`, `mmdiag --version`, `mmlspool DEVICE`; best once with a disk down.

## HDFS

Its clients are FUSE mounts of rclone, without a cache of its own (`--vfs-cache-mode off`, the default). Name the
engines `[dd, posixops]`: dd reads, posixops measures small files. fio opens what it writes for reading too, which
such a mount refuses. With `--vfs-cache-mode writes` fsync and close return before anything is in HDFS: do not measure
so. Nodes that are to see each other's files at once mount with `--dir-cache-time 0s
--attr-timeout 0s`. Capacity is that of all data nodes: a file takes one share of it a replica. `doctor` names `hdfs`
for every mount of rclone.

On two nodes 10 of 33 guarantees hold: what was written and closed is read by another node, emptied and renamed. An
empty file comes some time after its close. What does not hold: overwriting,
appending, shared mappings, `chmod`, `chown`, the modes of an unpacked archive, links, locks, files that are open when
they are removed (`tests/integration/test_shared_kernels.py`).

## What was looked for

Among Debian's packages, the modules of its user-mode kernel 6.1, Maven Central and the Go module proxy, 2026-11-22:

- HDFS: servers of Maven Central, client Debian's rclone. OCFS2: Debian's tools, the kernel's driver.
- OpenAFS 1.8: Debian's servers, and its FUSE client (`ci/lab/afs`): a node reads what another has closed. No session
  was measured: without Kerberos all files belong to uid 32766, and root's sessions are refused (root squash).
- MooseFS 3.0 of Debian: tried by hand on one node with two chunk servers. As `posix` a smoke test passes. Reads are
  labelled unknown and metadata cached, for its FUSE client shows no counters.
- GFS2: Debian has what it takes between nodes; OrangeFS: only its client is there. Neither was tried.
- BeeGFS, GPFS and Lustre: in no package.
"""


def page() -> str:
    """The whole page."""
    return HEAD + ''.join(f'| {" | ".join(_cells(driver))} |\n' for driver in DRIVERS) + TAIL


def _cells(driver: Driver) -> list[str]:
    return [
        f'`{driver.name}`',
        ', '.join(f'`{name}`' for name in driver.kernel_types) or 'anything',
        ', '.join(driver.can) or '-',
        f'{driver.recovery_limit_s:.0f} s: {driver.recovery_source}',
        f'{driver.tried}; {driver.tried_on}' if driver.tried else f'untried; written from {driver.sources}',
    ]


if __name__ == '__main__':
    print(page(), end='')
