"""The mounts of this node (proc(5), mountinfo)."""

import contextlib
import os
import re
from typing import Iterable, NamedTuple, Optional

MOUNTINFO = '/proc/self/mountinfo'
# Kernel types that cache only in the page, dentry and inode caches, which drop_caches empties.
KERNEL_CACHED = ('ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'jfs', 'nilfs2', 'vfat', 'exfat', 'ntfs3', 'overlay')
IN_MEMORY = ('tmpfs', 'ramfs', 'hugetlbfs')  # kernel types with files in memory only
LOCAL = (*KERNEL_CACHED, *IN_MEMORY, 'zfs', 'bcachefs')  # kernel types without a server
# Kernel types that are part of Linux; modules of others, such as zfs, mostly have a version.
OF_LINUX = (
    *(*LOCAL, 'nfs', 'nfs4', 'ceph', 'ocfs2', 'pvfs2', 'gfs2', 'cifs', 'smb3', 'afs'),
    *('9p', 'virtiofs', 'squashfs', 'erofs'),
)
LINKS = 40  # the most that Linux follows in one path (path_resolution(7))
_ESCAPE = re.compile(r'\\([0-7]{3})')


class Mount(NamedTuple):
    """A mount: mount point, the kernel's name of its type, its source ('10.0.0.1@tcp:/lustre') and its options."""

    point: str
    type: str
    source: str
    options: str

    def description(self) -> str:
        return f'{self.source} on {self.point} type {self.type} ({self.options})'


def mount_of(path: str, mounts: Optional[Iterable[Mount]] = None) -> Optional[Mount]:
    """The mount that holds a path without links, the last of several; None if not visible. Reads only /proc."""
    above = [mount for mount in (read_mounts() if mounts is None else mounts) if is_below(path, mount.point)]
    return max(reversed(above), key=lambda mount: len(mount.point), default=None)


def past_links(path: str) -> str:
    """The path without its links on local file systems; others are not accessed, as their server may be down."""
    table = list(read_mounts())
    place, left, links = '/', os.path.abspath(path).split('/')[::-1], 0
    while left and links <= LINKS:
        place = os.path.normpath(os.path.join(place, left.pop()))  # of '..' too, for no link is left in it
        mount = mount_of(place, table)
        if mount is None or mount.type not in LOCAL:
            break
        with contextlib.suppress(OSError):  # of what is no link
            left += os.readlink(place).split('/')[::-1]
            place, links = '/' if left[-1] == '' else os.path.dirname(place), links + 1
    return os.path.normpath(os.path.join(place, *reversed(left)))


def is_below(path: str, directory: str) -> bool:
    """True if an absolute, normalised path is the directory or below it, judged by its name alone."""
    return path == directory or path.startswith(directory.rstrip('/') + '/')


def read_mounts() -> Iterable[Mount]:
    """The mounts of this process, in their order; none where /proc is not mounted."""
    return parse_mountinfo(read_proc(MOUNTINFO))


def read_proc(file: str) -> str:
    """The text of a file below /proc or /sys; empty where it cannot be read."""
    try:
        with open(file, encoding='utf-8', errors='surrogateescape') as stream:
            return stream.read()
    except OSError:
        return ''


def parse_mountinfo(text: str) -> Iterable[Mount]:
    """The mounts in this text. Lines unlike those of proc(5) are skipped; some kernels omit file-system options."""
    mounts = []
    for line in text.splitlines():
        before, separator, after = line.partition(' - ')
        fields, rest = before.split(' '), after.split(' ')
        if separator and len(fields) >= 6 and len(rest) >= 2:
            of_type = ''.join(rest[2:3]).split(',')
            options = ','.join(filter(None, dict.fromkeys(fields[5].split(',') + of_type)))
            mounts.append(Mount(_unescaped(fields[4]), rest[0], _unescaped(rest[1]), options))
    return mounts


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), text)
