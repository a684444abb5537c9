"""NFS: the kernel's client. Untried: written by nfs(5), proc(5) and the kernel's documentation.

Its pages, and with the inodes its attributes, are in the kernel's caches alone (nfs(5), "Attribute caching"), so
drop_caches empties them, except for a cache on a local disk (mount option fsc). What it fetched is counted in
/proc/self/mountstats, for every user to read.
"""

import re
from typing import Dict, Optional

from seatrial.filesystem.base import Cold
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Posix, kernel_cold, look
from seatrial.filesystem.settings import read_settings

MOUNTSTATS = '/proc/self/mountstats'
SERVER_READ = 4  # the fifth of the numbers after 'bytes:': what READ calls brought from the server
RPC_SETTINGS = ('tcp_slot_table_entries', 'tcp_max_slot_table_entries')


class Nfs(Posix):
    """A mount of type nfs or nfs4."""

    tried = ''
    no_layout = 'no layout: the server decides where a file lies'

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        section = section_of(_mountstats(), mount.point)
        found = read_settings('rpc', '/proc/sys/sunrpc', RPC_SETTINGS)
        for key in ('opts', 'caps', 'nfsv4', 'sec'):
            match = re.search(rf'^\s*{key}:\s*(.*)$', section, flags=re.MULTILINE)
            if match:
                found[f'nfs {key}'] = re.sub(r'lease_expired=\d+', 'lease_expired', match.group(1).strip())
        return found

    def cold(self, path: str) -> Cold:
        mount, why_not = look(path)
        if mount is None:
            return Cold('', why_not)
        local = 'fsc' in re.split('[,=]', mount.options)
        return kernel_cold('files in the cache on a local disk (mount option fsc)' if local else '')

    def fetched_bytes(self, path: str) -> Optional[int]:
        """Of all mounts of this export: they are one client."""
        mount, _ = look(path)
        return read_bytes(section_of(_mountstats(), mount.point)) if mount else None


def section_of(text: str, mount_point: str) -> str:
    """What mountstats says of this mount; '' if nothing. Its escapes are those of mountinfo."""
    place = re.sub(r'[ \t\n\\]', lambda match: f'\\{ord(match.group()):03o}', mount_point)
    sections = ('\n' + text).split('\ndevice ')
    return next((each for each in reversed(sections) if f' mounted on {place} with fstype nfs' in each), '')


def read_bytes(section: str) -> Optional[int]:
    """Bytes that came from the server by READ calls."""
    match = re.search(r'^\s*bytes:((?:\s+\d+){8})\s*$', section, flags=re.MULTILINE)
    return int(match.group(1).split()[SERVER_READ]) if match else None


def _mountstats() -> str:
    try:
        with open(MOUNTSTATS, encoding='utf-8', errors='surrogateescape') as stream:
            return stream.read()
    except OSError:
        return ''
