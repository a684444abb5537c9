"""NFS: the kernel's client (nfs(5), proc(5)). Its pages and attributes are in the kernel's caches alone, which
drop_caches empties, except for a cache on a local disk (fsc). /proc/self/mountstats counts what it fetched, what it
sent again and how often it connected, for every user."""

import re
from typing import Dict, NamedTuple

from seatrial.filesystem.base import Behaviour, Cold, Lost, Meter, Targets, mount_by_table, no_meter
from seatrial.filesystem.mounts import Mount, read_proc
from seatrial.filesystem.posix import Mounted, kernel_cold, look, read_settings
from seatrial.model.record import TargetRow
from seatrial.model.telemetry import READ, WRITTEN

MOUNTSTATS = '/proc/self/mountstats'
SERVER_READ = 4  # the fifth of the numbers after 'bytes:': what READ calls brought from the server
SERVER_WRITTEN = 5  # the next: what WRITE calls sent to it
_CALL = re.compile(r'^\s*[A-Z_0-9]+: (\d+) (\d+) (\d+) ', flags=re.MULTILINE)  # made, sent, major timeouts
_TRANSPORT = re.compile(r'^\s*xprt:\s+(\w+) (.*)$', flags=re.MULTILINE)
ATTEMPTS = 2  # the third number behind a transport: its connect count (nfs-utils: mountstats.py)
RPC_SETTINGS = ('tcp_slot_table_entries', 'tcp_max_slot_table_entries')


class Trouble(NamedTuple):
    """The troubles of a mount so far: calls that were sent again, and attempts to connect its transports."""

    sent_again: int
    attempts: int
    transports: int
    server: str = ''


class Nfs(Mounted):
    name = 'nfs'
    kernel_types = ('nfs', 'nfs4')
    recovery_source = 'above the 180 s of the NFSv4 grace period of Linux (90 s, extended once)'
    can = ('targets', 'cold reads', 'traffic', 'proof of cold reads', 'lost connections')
    tried = 'NFS 4.2 and 3, Linux 6.1, one server and two clients, each a kernel of its own (ci/lab-kernels)'
    tried_on = '2026-11-22'
    sources = "nfs(5), proc(5), the kernel's documentation"
    no_layout = 'no layout: the server decides where a file lies'

    def same_storage(self, one: Mount, other: Mount) -> bool:
        return server_of(one) == server_of(other)

    def _targets(self, path: str, mount: Mount) -> Targets:
        """The one server, with the kind of its transport: it is there if the mount answers."""
        routes = dict.fromkeys(kind for kind, _ in _TRANSPORT.findall(section_of(read_proc(MOUNTSTATS), mount.point)))
        return Targets((TargetRow('server', 0, server_of(mount), True, route=', '.join(routes)),), {})

    def connections(self, path: str) -> Trouble:
        """Reads mountstats alone: the server, which may be away by now, is not asked."""
        mount = mount_by_table(self, path) or look(path)[0]
        if mount is None:
            return trouble_of('')
        return trouble_of(section_of(read_proc(MOUNTSTATS), mount.point))._replace(server=server_of(mount))

    def lost(self, before: Trouble, after: Trouble) -> Lost:
        """A server that was stopped for 5 s took five attempts, and no call was sent again (Linux 6.1, seen). After 5
        minutes without work a client closes a transport, which then takes one attempt and no more."""
        again, attempts = after.sent_again - before.sent_again, after.attempts - before.attempts
        server = f'the NFS server {after.server}'.rstrip()
        repeats = f'{again} calls were sent again' if again > 0 else ''
        if before.transports and attempts > (0 if again > 0 else after.transports):
            tried = f'{server} was lost: {attempts} attempts to connect'
            return Lost(lost=f'{tried}, and {repeats}' if repeats else tried)
        return Lost(worse=repeats and f'{repeats} to {server}')

    def behaviour(self, path: str) -> Behaviour:
        mount, _ = look(path)
        return super().behaviour(path)._replace(gives_up=gives_up(mount) if mount else '')

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        section = section_of(read_proc(MOUNTSTATS), mount.point)
        settings = read_settings('rpc', '/proc/sys/sunrpc', RPC_SETTINGS)
        for key in ('opts', 'caps', 'nfsv4', 'sec'):
            match = re.search(rf'^\s*{key}:\s*(.*)$', section, flags=re.MULTILINE)
            if match:
                settings[f'nfs {key}'] = re.sub(r'lease_expired=\d+', 'lease_expired', match.group(1).strip())
        return settings

    def _cold(self, path: str, mount: Mount) -> Cold:
        local = 'fsc' in re.split('[,=]', mount.options)
        return kernel_cold('files in the cache on a local disk (mount option fsc)' if local else '')

    def _meter(self, path: str, mount: Mount) -> Meter:
        """Counters in mountstats, of all mounts of this export as one client, with pNFS too (fs/nfs/write.c)."""
        point = mount.point
        if not traffic(section_of(read_proc(MOUNTSTATS), point)):
            return no_meter(f'{MOUNTSTATS} has no counters for {point}')
        what = f"this node's NFS client, of all mounts of {mount.source}"
        return Meter(what, '', lambda deadline_s: traffic(section_of(read_proc(MOUNTSTATS), point)))


def server_of(mount: Mount) -> str:
    return mount.source.partition(':/')[0]


def gives_up(mount: Mount) -> str:
    """The options of a soft mount, on which I/O fails, as a clause; empty where I/O waits."""
    options = mount.options.split(',')
    how = [option for option in options if option in ('soft', 'softerr')]
    after = [option for option in options if option.startswith(('timeo=', 'retrans='))]
    return f'{mount.source} is mounted {how[0]} ({", ".join(after)})' if how else ''


def trouble_of(section: str) -> Trouble:
    calls = _CALL.findall(section)
    transports = [numbers.split() for kind, numbers in _TRANSPORT.findall(section) if kind != 'udp']
    attempts = sum(int(fields[ATTEMPTS]) for fields in transports if len(fields) > ATTEMPTS)
    return Trouble(sum(int(sent) - int(made) for made, sent, _ in calls), attempts, len(transports))


def section_of(text: str, mount_point: str) -> str:
    """The section of this mount in mountstats; '' without one. Escapes are those of mountinfo."""
    place = re.sub(r'[ \t\n\\]', lambda match: f'\\{ord(match.group()):03o}', mount_point)
    sections = ('\n' + text).split('\ndevice ')
    return next((section for section in reversed(sections) if f' mounted on {place} with fstype nfs' in section), '')


def traffic(section: str) -> Dict[str, int]:
    """Bytes of READ and WRITE calls, and the number of these calls: the first number of a call's own line
    (nfsiostat(8)); NFS 4.2 reads by READ_PLUS too. Empty where the bytes are not shown."""
    match = re.search(r'^\s*bytes:((?:\s+\d+){8})\s*$', section, flags=re.MULTILINE)
    if match is None:
        return {}
    moved = match.group(1).split()
    counters = {READ: int(moved[SERVER_READ]), WRITTEN: int(moved[SERVER_WRITTEN])}
    for call, name in (('READ(?:_PLUS)?', 'read_rpcs'), ('WRITE', 'write_rpcs')):
        made = re.findall(rf'^\s*{call}:\s+(\d+)\s', section, flags=re.MULTILINE)
        if made:
            counters[name] = sum(map(int, made))
    return counters
