"""CephFS, through ceph-fuse or the kernel's client: layouts and quotas by extended attributes, the client's counters.

Layouts: docs.ceph.com, "File layouts", and file_layout_t::is_valid. ceph.dir.layout sets all of it at once.

Caches (ceph-fuse 16.2.15, 64 MiB): posix_fadvise and drop_caches alone left all cached. ceph-fuse keeps objects with
the inodes, and inodes with names; with client_cache_size 0 it forgets at its next tick what the kernel has forgotten:
then all 64 MiB were fetched. The kernel's client has the page cache alone (fs/ceph/addr.c; Linux 6.1)."""

import glob
import json
import os
import re
import socket
import struct
import sys
import time
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from seatrial.filesystem import base, caches, layout_words
from seatrial.filesystem.layout_words import ALL, Stripes, binary, number, read_keys, stripe_size
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, kernel_cold, look, unknown
from seatrial.model.ask import ask
from seatrial.model.layout import Layout
from seatrial.model.record import TargetRow
from seatrial.model.telemetry import READ, WRITTEN

NAME = 'cephfs'
FUSE = 'fuse.ceph-fuse'
ANSWER_S = 10.0
CONNECTING_S = 2  # the monitors answer at once, or a firewall does not let this node reach them
SETTING_S = 60.0
FORGOTTEN_S = 15.0  # seconds for ceph-fuse to forget; it keeps written files for 5 s (client_caps_release_delay)
STILL_S = 2.5  # two ticks of ceph-fuse (client_tick_interval, 1 s), which then has forgotten what it can
POLL_S = 0.05

SOCKETS = '/run/ceph/*client*.asok'
DEBUGFS = '/sys/kernel/debug/ceph'

OBJECT_SIZE = 4 << 20  # bytes of an object unless somebody set a layout (file_layout_t::get_default)
CACHE_SIZE = 'client_cache_size'
# Words in the names of health checks that stand for data or servers which are not as they should be (Ceph: Health
# checks); of an OSD that is down its own row says so.
DAMAGE = re.compile('DEGRADED|DAMAGED|AVAILABILITY|RECOVERY|BACKFILL|FULL|UNFOUND|MISPLACED|SLOW|DOWN')
SETTINGS = (  # of ceph-fuse, that figures depend on
    *(CACHE_SIZE, 'client_oc', 'client_oc_size', 'client_oc_max_dirty', 'client_oc_max_dirty_age'),
    *('client_oc_max_objects', 'client_readahead_max_bytes', 'client_readahead_max_periods'),
    *('client_quota_df', 'fuse_disable_pagecache'),
)

# Each directory in one process that can be left behind.
_READ = """
import json, os, sys
attributes = []
for path in sys.argv[2:]:
    attributes.append({})
    for name in sys.argv[1].split(','):
        try:
            attributes[-1][name] = os.fsdecode(os.getxattr(path, 'ceph.' + name))
        except OSError as error:
            if error.errno not in (61, 95):
                sys.exit(path + ': ' + error.strerror)
print(json.dumps(attributes))
"""
_SET = """
import os, sys
try:
    os.setxattr(sys.argv[1], 'ceph.dir.layout', os.fsencode(sys.argv[2]))
except OSError as error:
    sys.exit(sys.argv[1] + ': ' + error.strerror)
"""
_QUOTA = ('quota.max_bytes', 'quota.max_files', 'dir.rbytes', 'dir.rentries')
_METRIC = re.compile(r'^(read|write)(?:\s+\d+){4}\s+(\d+)\s*$', flags=re.MULTILINE)
_POOL = re.compile(r'[A-Za-z0-9_-]+\Z', re.ASCII)


class CephLayout(NamedTuple):
    """A layout that is asked for; a field that is None stays as the directory has it."""

    stripe_count: Optional[int] = None  # objects that a file is spread over at a time, until they are full
    stripe_unit: Optional[int] = None  # bytes in one object before the next
    object_size: Optional[int] = None  # bytes at which an object is full
    pool: Optional[str] = None  # the data pool that the objects lie in

    @property
    def words(self) -> Tuple[str, ...]:
        """The words of plans and records, stripes as every type writes them: ('c4', 'S1M', 'O8M', 'pflash')."""
        return layout_words.written(self, _WORDS)

    @property
    def attribute(self) -> str:
        return ' '.join(f'{key}={value}' for key, value in self._asdict().items() if value is not None)

    def named(self, name: str) -> Layout:
        return Layout(name, NAME, self.words, places_file=True) if self.words else Layout(name)


def asked(layout: Layout) -> CephLayout:
    return CephLayout(**layout_words.read_words(layout.asks, _WORDS))


class CephFs(Mounted):
    """Both clients; comments name facts that hold for one of them alone."""

    name = NAME
    kernel_types = (FUSE, 'ceph')
    recovery_source = 'above the 60 s of mds_beacon_grace (15 s) and mds_reconnect_timeout (45 s)'
    can = ('layouts', 'targets', 'cold reads', 'traffic', 'proof of cold reads')
    tried = (
        'CephFS 16.2 through ceph-fuse, Linux 6.18, one node, three OSDs (ci/lab-ceph); ceph-fuse and the client of '
        'Linux 6.1, two nodes, each a kernel of its own (ci/lab-kernels)'
    )
    tried_on = '2026-11-22'
    sources = 'ceph-fuse 16.2, docs.ceph.com, fs/ceph of the kernel'
    no_layout = ''
    no_pinning = 'no target of choice: CephFS puts each object on the OSDs that its name leads to (CRUSH)'

    def same_storage(self, one: Mount, other: Mount) -> bool:
        """Compares the cluster, by its fsid or any of its monitors; ceph-fuse calls every source by its own name."""
        return bool(_cluster(one.source) & _cluster(other.source))

    def quota(self, path: str) -> base.Capacity:
        """Reads ceph.quota of the directory and of all above it; root has them too. Usage is counted late."""
        mount, _ = look(path)
        if mount is None:
            return base.Capacity(None, None)
        places = [os.path.realpath(path)]
        while places[-1] not in (mount.point, '/'):
            places.append(os.path.dirname(places[-1]))
        try:
            return left(_attributes(_QUOTA, *places))
        except base.NoAnswer:
            return base.Capacity(None, None)

    def _targets(self, path: str, mount: Mount) -> base.Targets:
        """The OSDs, and the cluster with its health checks. It asks the monitors, so not around launches; the user
        needs a key that may ask them (CEPH_CONF, CEPH_ARGS)."""
        (seen,) = _attributes(('cluster_fsid',), path)
        osds, health = _asked_monitors('osd', 'dump'), _asked_monitors('health')
        if seen.get('cluster_fsid', osds.get('fsid')) != osds.get('fsid'):
            return base.Targets((), {}, 'the ceph of this node asks another cluster')
        return base.Targets(rows_of(osds, health), {})

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        try:
            (seen,) = _attributes(('dir.layout', 'cluster_fsid'), path)
        except base.NoAnswer as error:
            return {'default layout': unknown(str(error))}
        settings = {'cluster': seen.get('cluster_fsid', unknown('this client does not show it'))}
        settings['default layout'] = seen.get('dir.layout', 'that of the directory above')
        if mount.type == FUSE:
            try:
                place = _socket_of(path)
                settings.update(state_of(_asked_by_socket(place, 'status'), _asked_by_socket(place, 'config show')))
            except base.NoAnswer as error:
                settings['client'] = unknown(str(error))
        return settings

    def layout(self, name: str, settings: Any) -> Layout:
        layout = CephLayout(**read_keys(settings, _KEYS))
        unit, whole = layout.stripe_unit, layout.object_size
        if unit is not None and (whole or OBJECT_SIZE) % unit:
            what = f'the object size, {binary(whole)}' if whole else 'objects of 4M'
            sentence = f'{binary(unit)} does not divide {what}; write another object_size'
            raise base.LayoutError(['stripe_unit'], sentence)
        return layout.named(name)

    def _with_stripes(self, name: str, stripes: Stripes) -> Optional[Layout]:
        """Not over all targets: CephFS has no such number."""
        count, unit = stripes
        if count == ALL:
            return None
        return CephLayout(count, unit, unit if unit and OBJECT_SIZE % unit else None).named(name)

    def _set_layout(self, directory: str, layout: Layout) -> Optional[str]:
        """Sets ceph.dir.layout (the client's key needs 'p'). Only this shows a wrong pool: users cannot list them."""
        wanted = asked(layout).attribute
        answer = base.answered([sys.executable, '-IS', '-c', _SET, directory, wanted], SETTING_S, directory)
        return f'{wanted}: {answer.stderr.strip()}' if answer.exit_status else None

    def _granted(self, file: str, layout: Layout) -> base.Granted:
        (seen,) = _attributes(('file.layout',), file)
        return base.Granted(differs=difference(asked(layout), seen.get('file.layout', 'nothing')))

    def _cold(self, path: str, mount: Mount) -> base.Cold:
        """drop_caches for the kernel's caches; for ceph-fuse's own, which posix_fadvise leaves, its admin socket."""
        kernel = kernel_cold()._replace(forgets=mount.type != FUSE)
        if mount.type != FUSE or not kernel.possible:
            return kernel
        try:
            _socket_of(path)
        except base.NoAnswer as error:
            return base.Cold('', f'the cache of ceph-fuse cannot be emptied: {error}', forgets=False)
        return kernel._replace(how=f'{kernel.how}; then {CACHE_SIZE} 0 in ceph-fuse until it has forgotten')

    def empty_client_cache(self, path: str, deadline_s: float = base.EMPTYING_S) -> Optional[str]:
        """drop_caches, then ceph-fuse forgets what the kernel has forgotten; its setting is restored."""
        mount, _ = look(path)
        fault = self.cold(path).why_not or caches.empty(path, deadline_s)
        if fault is not None or mount is None or mount.type != FUSE:
            return fault or None
        try:
            return _forgotten(_socket_of(path))
        except base.NoAnswer as error:
            return str(error)

    def exchanged(self, path: str) -> base.Exchanged:
        """Bytes from all servers, names and attributes included; the kernel's client: from OSDs. Bytes that ceph-fuse
        has sent to OSDs; those of the kernel's client are untried."""
        mount, _ = look(path)
        counters = self.meter(path).look(ANSWER_S)
        return base.Exchanged(counters.get(READ), counters.get(WRITTEN) if mount and mount.type == FUSE else None)

    def _meter(self, path: str, mount: Mount) -> base.Meter:
        """Counters of this mount: ceph-fuse's messages by its admin socket (root), or bytes that the kernel's client
        has read and written, in debugfs (fs/ceph/debugfs.c; untried)."""
        try:
            if mount.type == FUSE:
                place = _socket_of(path)
                whose = "this node's ceph-fuse: all that it receives, data that it sends"
                return base.Meter(whose, '', lambda deadline_s: _messages(place, deadline_s))
            client = _client(path)
        except base.NoAnswer as error:
            return base.no_meter(str(error))
        file = os.path.join(DEBUGFS, f'{client["cluster_fsid"]}.{client["client_id"]}', 'metrics', 'size')
        if not _kernel_counters(file):
            return base.no_meter(f'{file} cannot be read, or counts no bytes')
        whose = f"this node's CephFS client of {mount.source}, data alone"
        return base.Meter(whose, '', lambda deadline_s: _kernel_counters(file))


def rows_of(osds: Dict[str, Any], health: Dict[str, Any]) -> Tuple[TargetRow, ...]:
    """Rows of `ceph osd dump` and `ceph health`. An OSD that is out was taken out; one in and down is away."""
    rows = []
    for osd in osds.get('osds', ()):
        states = osd.get('state', ())
        fault = 'down' if osd['in'] and not osd['up'] else ''
        flags = tuple(state for state in ('nearfull', 'backfillfull', 'full') if state in states)
        rows.append(TargetRow('OSD', osd['osd'], f'osd.{osd["osd"]}', bool(osd['in']), flags=flags, fault=fault))
    named = (name for name in health.get('checks', {}) if not name.startswith('OSD_'))
    flags = tuple(name for name in named if DAMAGE.search(name))
    return (*rows, TargetRow('cluster', 0, 'the cluster', True, flags=flags))


def difference(wanted: CephLayout, seen: str) -> Optional[str]:
    """The difference of ceph.file.layout from the layout that was asked for, with both; or None."""
    has = dict(word.partition('=')[::2] for word in seen.split())
    differs = any(value is not None and str(value) != has.get(key) for key, value in wanted._asdict().items())
    return f'the file should have {wanted.attribute}, but has {seen}' if differs else None


def left(seen: List[Dict[str, str]]) -> base.Capacity:
    """The room that the quotas of some directories leave, by the tightest. A directory is an entry of its own."""
    rows = [{key: int(value) for key, value in attributes.items() if value.isdigit()} for attributes in seen]

    def tightest(limit: str, used: str) -> Optional[int]:
        return min((max(0, row[limit] - row.get(used, 0)) for row in rows if row.get(limit)), default=None)

    return base.Capacity(tightest('quota.max_bytes', 'dir.rbytes'), tightest('quota.max_files', 'dir.rentries'))


def state_of(status: Dict[str, Any], settings: Dict[str, Any]) -> Dict[str, str]:
    version = status.get('metadata', {}).get('ceph_version', unknown('ceph-fuse does not show it'))
    shown = {'client version': str(version), 'file system': str(status.get('fs_name', ''))}
    shown.update({name: str(settings[name]) for name in SETTINGS if name in settings})
    return shown


def traffic_of(counters: Dict[str, Any]) -> Dict[str, int]:
    """The bytes of all messages received, and of data sent to OSDs, in `perf dump`; empty if it has another form. The
    messages' own counter of bytes sent leaves out data that wait for a full socket (seen)."""
    workers = [worker for name, worker in counters.items() if name.startswith('AsyncMessenger::Worker')]
    try:
        received = sum(int(worker['msgr_recv_bytes']) for worker in workers)
        return {READ: received, WRITTEN: int(counters['objecter']['op_send_bytes'])} if workers else {}
    except (KeyError, TypeError):
        return {}


_KEYS: layout_words.Readers = {
    'stripe_count': number('a stripe count', 1, (1 << 32) - 1),
    'stripe_unit': stripe_size('a stripe unit'),
    'object_size': stripe_size('an object size'),
    'pool': layout_words.fitting(
        lambda value: isinstance(value, str) and _POOL.match(value),
        "cannot be a pool's name here; write letters, digits, _ and -",
    ),
}
_WORDS = {
    'c': ('stripe_count', layout_words.NUMBER),
    'S': ('stripe_unit', layout_words.SIZE),
    'O': ('object_size', layout_words.SIZE),
    'p': ('pool', layout_words.NAME),
}


def _cluster(source: str) -> FrozenSet[str]:
    """Names of a cluster in a source of the kernel's client: 'user@FSID.fs=/path', '10.0.0.1:6789,...:/path'."""
    before, equals, _ = source.partition('=/')
    if equals:
        return frozenset([before.partition('@')[2].rpartition('.')[0]])
    monitors, colon, _ = source.partition(':/')
    return frozenset(monitors.split(',')) if colon else frozenset()


def _attributes(names: Tuple[str, ...], *paths: str) -> List[Dict[str, str]]:
    answer = base.answered([sys.executable, '-IS', '-c', _READ, ','.join(names), *paths], ANSWER_S, paths[0])
    if answer.exit_status != 0:
        raise base.NoAnswer(answer.stderr.strip())
    values: List[Dict[str, str]] = json.loads(answer.stdout)
    return values


def _asked_monitors(*words: str) -> Dict[str, Any]:
    if _UNTOLD:
        raise base.NoAnswer(_UNTOLD[0])
    answer = ask(['ceph', '--connect-timeout', str(CONNECTING_S), *words, '--format', 'json'], ANSWER_S)
    if answer is None or answer.exit_status != 0:
        complaint = answer.stderr.strip().splitlines() if answer else ['ceph is not installed on this node']
        _UNTOLD.append(f'the monitors do not answer this user: {complaint[-1] if complaint else "no answer"}')
        raise base.NoAnswer(_UNTOLD[0])
    try:
        facts: Dict[str, Any] = json.loads(answer.stdout[answer.stdout.index('{') :])
    except ValueError:
        raise base.NoAnswer(f'the output of ceph {" ".join(words)} cannot be parsed') from None
    return facts


_UNTOLD: List[str] = []  # reason why the monitors do not answer, which a process asks in vain only once


def _client(path: str) -> Dict[str, str]:
    """The numbers of cluster and client (Ceph 16 and Linux 5.11, and later)."""
    (seen,) = _attributes(('cluster_fsid', 'client_id'), path)
    if len(seen) < 2:
        raise base.NoAnswer('the client does not show its number (ceph.client_id)')
    return seen


def _socket_of(path: str) -> str:
    """The admin socket of the ceph-fuse with the mount's number; two of one number are told apart by their mounts."""
    client_id = _client(path)['client_id'].replace('client', '')
    folder = os.path.dirname(SOCKETS)
    if not os.access(folder, os.R_OK | os.X_OK):
        raise base.NoAnswer(f'only root and the group ceph may ask the admin socket of ceph-fuse ({folder})')
    why = f'none of the admin sockets {SOCKETS} belongs to this mount'
    points = {}
    for place in glob.glob(SOCKETS):
        try:
            status = _asked_by_socket(place, 'status')
            if str(status.get('id')) == client_id:
                points[place] = status.get('metadata', {}).get('mount_point')
        except base.NoAnswer as error:
            why = str(error)
    if len(points) > 1:
        mount, why = look(path)
        points = {place: point for place, point in points.items() if mount is not None and point == mount.point}
        why = why or f'several ceph-fuse have number {client_id}, and none of them reports this mount point'
    if len(points) == 1:
        return next(iter(points))
    raise base.NoAnswer(why)


def _asked_by_socket(place: str, command: str, deadline_s: float = ANSWER_S, **words: Any) -> Dict[str, Any]:
    """The answer of an admin socket: a length of four bytes, then JSON."""
    end = time.monotonic() + deadline_s
    received = b''
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(deadline_s)
            channel.connect(place)
            channel.sendall(json.dumps(dict(words, prefix=command, format='json')).encode() + b'\0')
            while len(received) < 4 or len(received) < 4 + struct.unpack('>I', received[:4])[0]:
                channel.settimeout(max(0.001, end - time.monotonic()))
                piece = channel.recv(1 << 16)
                if not piece:
                    break
                received += piece
        answer = json.loads(received[4:].decode())
    except (OSError, ValueError) as error:
        raise base.NoAnswer(f'{place}: {error}') from None
    if not isinstance(answer, dict):
        raise base.NoAnswer(f'{place}: the answer to {command} cannot be parsed')
    return answer


def _messages(place: str, deadline_s: float) -> Dict[str, int]:
    try:
        return traffic_of(_asked_by_socket(place, 'perf dump', deadline_s))
    except base.NoAnswer:
        return {}


def _kernel_counters(file: str) -> Dict[str, int]:
    """The last column of metrics/size in debugfs: item, total, average, smallest, largest and all bytes."""
    try:
        with open(file, encoding='ascii') as stream:
            moved = _METRIC.findall(stream.read())
    except (OSError, ValueError):
        return {}
    return {READ if way == 'read' else WRITTEN: int(total) for way, total in moved}


def _forgotten(place: str) -> Optional[str]:
    """Have ceph-fuse forget names, then inodes with objects, as the kernel has. Returns the fault, or None."""
    before = str(_asked_by_socket(place, 'config get', var=CACHE_SIZE).get(CACHE_SIZE))
    end = time.monotonic() + FORGOTTEN_S
    _asked_by_socket(place, 'config set', var=CACHE_SIZE, val=['0'])
    try:
        while True:
            names, pinned, _ = kept = _kept(place)
            if names <= pinned:
                break
            if time.monotonic() > end:
                return f'ceph-fuse still caches {names} names after {FORGOTTEN_S:.0f} s'
            time.sleep(POLL_S)
    finally:
        _asked_by_socket(place, 'config unset', var=CACHE_SIZE)
        if before not in ('0', str(_asked_by_socket(place, 'config get', var=CACHE_SIZE).get(CACHE_SIZE))):
            _asked_by_socket(place, 'config set', var=CACHE_SIZE, val=[before])
    changed = time.monotonic()
    while kept[2] > kept[0] + 1 and time.monotonic() < min(end, changed + STILL_S):  # the root has no name
        time.sleep(POLL_S)
        now = _kept(place)
        kept, changed = (now, time.monotonic()) if now[2] < kept[2] else (kept, changed)
    return None


def _kept(place: str) -> Tuple[int, int, int]:
    """Numbers of names that ceph-fuse keeps, of those of them that are in use, and of inodes."""
    seen = _asked_by_socket(place, 'status')
    try:
        return int(seen['dentry_count']), int(seen['dentry_pinned_count']), int(seen['inode_count'])
    except (KeyError, TypeError, ValueError):
        raise base.NoAnswer(f'{place}: it does not show how many names it caches') from None
