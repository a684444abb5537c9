"""What is mounted where (proc(5), mountinfo), and whether it is what the site says."""

import re
from typing import FrozenSet, Iterable, NamedTuple, Optional, Tuple

MOUNTINFO = '/proc/self/mountinfo'
KERNEL_TYPES = {
    'lustre': ('lustre',),
    'gpfs': ('gpfs',),
    'beegfs': ('beegfs', 'beegfs_nodev', 'fuse.beegfs'),
    'nfs': ('nfs', 'nfs4'),
    'glusterfs': ('fuse.glusterfs', 'glusterfs'),
}
_NID = re.compile(r'(.+?@\w+)(?:[:,]|\Z)')
_ESCAPE = re.compile(r'\\([0-7]{3})')


class Mount(NamedTuple):
    """One mount: where, the kernel's name of its type, its source ('10.0.0.1@tcp:/lustre') and its options."""

    point: str
    type: str
    source: str
    options: str

    def said(self) -> str:
        """In one line, as mount(8) prints it."""
        return f'{self.source} on {self.point} type {self.type} ({self.options})'


def mount_of(path: str, mounts: Optional[Iterable[Mount]] = None) -> Optional[Mount]:
    """The mount that the path lies on; None where it is not seen. Touches no file system but /proc.

    The path must be real (os.path.realpath). Of mounts over each other the last one is seen.
    """
    best: Optional[Mount] = None
    for mount in read_mounts() if mounts is None else mounts:
        lies_below = mount.point == '/' or path == mount.point or path.startswith(mount.point + '/')
        if lies_below and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def read_mounts() -> Iterable[Mount]:
    """The mounts of this process, in their order; none where /proc is not mounted."""
    try:
        with open(MOUNTINFO, encoding='utf-8', errors='surrogateescape') as stream:
            return parse_mountinfo(stream.read())
    except OSError:
        return ()


def parse_mountinfo(text: str) -> Iterable[Mount]:
    """The mounts in this text. A line that has not the form of proc(5) is passed over."""
    found = []
    for line in text.splitlines():
        before, dash, after = line.partition(' - ')
        fields, rest = before.split(' '), after.split(' ')
        if dash and len(fields) >= 6 and len(rest) >= 3:
            options = ','.join(dict.fromkeys(fields[5].split(',') + rest[2].split(',')))
            found.append(Mount(_unescaped(fields[4]), rest[0], _unescaped(rest[1]), options))
    return found


def type_fault(type: str, mount: Optional[Mount]) -> Optional[str]:
    """Why what is mounted cannot be a file system of this type, or None. Any can be 'posix'."""
    wanted = KERNEL_TYPES.get(type)
    if wanted is None or (mount is not None and mount.type in wanted):
        return None
    what = 'nothing is mounted there that can be seen' if mount is None else f'it lies on {mount.said()}'
    return f'the site says type {type}, but {what}'


def type_of(mount: Mount) -> Optional[str]:
    """The type of this suite whose driver knows such a mount better than posix does, or None."""
    return next((type for type, kernel_types in KERNEL_TYPES.items() if mount.type in kernel_types), None)


def same_storage(one: Optional[Mount], other: Optional[Mount]) -> bool:
    """Whether two mounts have one source: a device, for NFS a server, for Lustre a file system."""
    if one is None or other is None or one.type != other.type:
        return False
    if one.type in KERNEL_TYPES['nfs']:
        return one.source.partition(':/')[0] == other.source.partition(':/')[0]
    if one.type == 'lustre':
        (servers, fsname), (others, other_fsname) = _lustre(one.source), _lustre(other.source)
        return fsname == other_fsname and bool(servers & others)
    named = one.source.startswith('/') or ':' in one.source  # tmpfs and its like all have one source
    return named and one.source == other.source


def _lustre(source: str) -> Tuple[FrozenSet[str], str]:
    """Where its MGS is found, by any of the NIDs, and the file system's name, without the directory of a fileset.

    mount.lustre(8): "10.0.0.1@o2ib,10.0.0.1@tcp:10.0.0.2@tcp:/lustre/home"; a network without a number is number 0.
    """
    nids, _, path = source.partition(':/')
    found = _NID.findall(nids)
    return frozenset(nid[:-1] if re.search(r'@\w*[a-z]0\Z', nid) else nid for nid in found), path.split('/')[0]


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), text)
