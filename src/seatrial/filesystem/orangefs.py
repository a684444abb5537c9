"""OrangeFS (PVFS2) through the kernel client (type pvfs2) or FUSE (type fuse, source pvfs2fuse#...), after the
outputs of a real 2.10 with three servers.

A file may not get the layout that was set, so its layout is read from pvfs2-viewdist. Through the kernel client, new
files follow the attributes dist_name, dist_params (not without dist_name) and num_dfiles of their directory, each a
string of C: without a zero byte at its end num_dfiles was ignored, and with the others no file could be created
(EINVAL). A num_dfiles beyond the number of servers gives a file on all of them. Through FUSE no layout can be set: a
new file ignores dist_params without dist_name; with both, set by pvfs2-xattr, 10 of 14 were not created (EINVAL)."""

import errno
import functools
import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from seatrial.filesystem import base, layout_words
from seatrial.filesystem.layout_words import ALL, NUMBER, SIZE, fitting, number, read_keys, stripe_size
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, answer_or_unknown, read_settings, unknown
from seatrial.model.layout import Layout
from seatrial.model.record import TargetRow

NAME = 'orangefs'
FUSE_SOURCE = 'pvfs2fuse#'
CLIENT = '/sys/fs/orangefs'
CLIENT_SETTINGS = ('op_timeout_secs', 'slot_timeout_secs', 'dcache_timeout_msecs', 'getattr_timeout_msecs')
# By default 60 s, in which a node may write to a file that another has removed.
CACHE_SETTINGS = ('acache/timeout_msecs', 'ncache/timeout_msecs')
ANSWER_S = 60.0  # pvfs2-ping took 20.3 s with one server down, which it tries in two steps of 10 s each
ATTRIBUTES = ('dist_name', 'dist_params', 'num_dfiles')
MAX_SERVERS = 1024  # PVFS_REQ_LIMIT_DFILE_COUNT of pvfs2-req-proto.h
SIMPLE = 'simple_stripe'
# Other distributions, with the keys that they do not take.
OTHERS = {'basic_dist': ('stripe_count', 'stripe_size'), 'twod_stripe': ('stripe_count',)}

_SERVER = re.compile(r'^   (\S+://\S+)(?: (Ok|Failure!|FAILURE: .*))?\n', flags=re.MULTILINE)
_DATA_SERVERS = re.compile(r'^   data servers:\n((?:   \S+://\S+\n)+)', flags=re.MULTILINE)
_FILE = re.compile(r'^dist_name = (\w+)\ndist_params:\n(?:.*\bstrip_size:(\d+))?', flags=re.MULTILINE)
_DATA_FILES = re.compile(r'^Number of datafiles/servers = (\d+)$', flags=re.MULTILINE)


class OrangeFsLayout(NamedTuple):
    """A layout that is asked for, or that a file has; None where it is left to the servers."""

    stripe_count: Optional[int] = None  # data servers of a file: num_dfiles
    dist_name: Optional[str] = None  # the distribution; None: simple_stripe
    stripe_size: Optional[int] = None  # bytes on one server before the next: strip_size


_WORDS = {'c': ('stripe_count', NUMBER), 'S': ('stripe_size', SIZE), 'dist-': ('dist_name', layout_words.NAME)}


def asked(layout: Layout) -> OrangeFsLayout:
    return OrangeFsLayout(**layout_words.read_words(layout.asks, _WORDS))


class OrangeFs(Mounted):
    name = NAME
    kernel_types = ('pvfs2',)
    fuse_source = FUSE_SOURCE
    recovery_source = 'chosen as for the other network types'
    can = ('layouts', 'targets')
    tried = 'OrangeFS 2.10, three servers: by FUSE, Linux 6.18; by the client of Linux 6.1, one and two nodes'
    tried_on = '2026-11-30'
    sources = 'outputs of a real 2.10: three servers, FUSE and the kernel client of Linux 6.1'
    no_layout = ''
    no_pinning = 'no target of choice: OrangeFS chooses the servers of a file'
    servers_apart = True
    kernel_counts_reads = False

    def same_storage(self, one: Mount, other: Mount) -> bool:
        return _volume(one) == _volume(other)

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        if mount.source.startswith(FUSE_SOURCE):
            # pvfs2fuse has the version of all OrangeFS programs; the kernel client has the version of Linux.
            version = answer_or_unknown(lambda: f'orangefs {_output("pvfs2-ping", "-v").strip()}')
            return {'client version': version, 'file system': _volume(mount)}
        settings = read_settings('orangefs', CLIENT, (*CLIENT_SETTINGS, *CACHE_SETTINGS))
        return {**settings, 'file system': _volume(mount), 'default layout': _attributes_of(path)}

    def behaviour(self, path: str) -> base.Behaviour:
        """I/O to a server that is down fails with ECONNREFUSED after about 10 s (observed with 2.10)."""
        return super().behaviour(path)._replace(gives_up='the client fails I/O about 10 s after it lost a server')

    def cold(self, path: str) -> base.Cold:
        why = 'neither client counts the bytes that it reads from servers, so only direct reads are known to be cold'
        return base.Cold('', why)

    def _meter(self, path: str, mount: Mount) -> base.Meter:
        return base.no_meter(f'{CLIENT}/stats counts requests, not bytes')

    def targets(self, path: str) -> base.Targets:
        """The servers that pvfs2-ping lists, which needs the mount in pvfs2tab or mtab; the mount is not accessed."""
        mount = base.mount_by_table(self, path)
        if mount is None:
            return base.Targets((), {}, f'{path}: no mount of OrangeFS is seen')
        try:
            servers = servers_of(_output('pvfs2-ping', '-m', mount.point))
        except base.NoAnswer as error:
            return base.Targets((), {}, str(error))
        rows = [
            TargetRow('server', number, address, True, flags=() if asked else ('not asked',), fault=fault)
            for number, (address, (asked, fault)) in enumerate(servers.items())
        ]
        return base.Targets(tuple(rows), {}, '' if rows else 'pvfs2-ping lists no server')

    def behind(self, path: str, file: str, offset: Optional[int]) -> str:
        """The servers that are down; by default a file lies on all servers."""
        return '; '.join(f'server {row.name}: {row.fault}' for row in self.targets(path).rows if row.fault)

    def layout(self, name: str, settings: Any) -> Layout:
        wanted = OrangeFsLayout(**read_keys(settings, _KEYS))
        for key in OTHERS.get(wanted.dist_name or '', ()):
            if getattr(wanted, key):
                raise base.LayoutError([key], f'{wanted.dist_name} takes none; leave it out')
        words = layout_words.written(wanted, _WORDS)
        needed = max(wanted.stripe_count or 1, 1)
        return Layout(name, NAME, words, needed, places_file=True) if words else Layout(name)

    def _layout_fault(self, layout: Layout, path: str) -> Optional[str]:
        mount = base.mount_by_table(self, path)
        if mount is None or mount.source.startswith(FUSE_SOURCE):
            return "it takes a mount of the kernel's client: by FUSE new files ignore it"
        needed = layout.targets_needed
        there = _data_servers(mount.point) if asked(layout).stripe_count else needed
        return f'it needs {needed} data servers, but there are {there}' if there < needed else None

    def _set_layout(self, directory: str, layout: Layout) -> Optional[str]:
        count, dist_name, size = asked(layout)
        tried, mount = os.path.join(directory, 'tried'), base.mount_by_table(self, directory)
        if count == ALL:
            count = _data_servers(mount.point) if mount else None
        try:
            for key, value in zip(ATTRIBUTES, (dist_name or SIMPLE, size and f'strip_size:{size}', count)):
                if value:
                    os.setxattr(directory, f'user.pvfs2.{key}', f'{value}\0'.encode())
            # The client makes one more file by the attributes that it has cached; the second shows a layout refused.
            for _ in range(2):
                os.close(os.open(tried, os.O_CREAT | os.O_EXCL, 0o600))
                os.unlink(tried)
        except OSError as error:
            return f'{directory} takes no layout {layout.canonical}: {error.strerror}'
        return None

    def _granted(self, file: str, layout: Layout) -> base.Granted:
        wanted, got = asked(layout), layout_of(_output('pvfs2-viewdist', '-f', file))
        # A file lies on one server until it is longer than a stripe.
        if got.stripe_count == 1 and int(_output('stat', '--format=%s', file)) <= (got.stripe_size or 0):
            wanted = wanted._replace(stripe_count=None)
        mount = base.mount_by_table(self, file)
        total = _data_servers(mount.point) if mount and wanted.stripe_count == ALL else 0
        differ = any(value not in (None, ALL, of_file) for value, of_file in zip(wanted, got))
        if differ or wanted.dist_name != got.dist_name:
            has = '.'.join(layout_words.written(got, _WORDS))
            return base.Granted(differs=f'the file should have the layout {layout.canonical}, but has {has}')
        used = got.stripe_count or total
        return base.Granted(f'all = {used} of {total} servers', everywhere=False) if used < total else base.Granted()


def layout_of(text: str) -> OrangeFsLayout:
    """The layout of a file in the output of pvfs2-viewdist. Raises NoAnswer."""
    match, number_of = _FILE.search(text), _DATA_FILES.search(text)
    if match is None or number_of is None:
        raise base.NoAnswer('pvfs2-viewdist shows no distribution')
    name, size = match.groups()
    return OrangeFsLayout(int(number_of.group(1)), None if name == SIMPLE else name, int(size) if size else None)


@functools.lru_cache(maxsize=None)
def _data_servers(point: str) -> int:
    """The number of the data servers of a mount, which is asked once. Raises NoAnswer."""
    listed = _DATA_SERVERS.search(_output('pvfs2-ping', '-m', point))
    if listed is None:
        raise base.NoAnswer('pvfs2-ping lists no data servers')
    return len(listed.group(1).splitlines())


_KEYS: layout_words.Readers = {
    'stripe_count': number('a number of servers', 1, MAX_SERVERS, or_all=True),
    'stripe_size': stripe_size('a stripe size'),
    'dist_name': fitting(OTHERS.__contains__, f'is neither {" nor ".join(OTHERS)}; leave it out for {SIMPLE}'),
}


def servers_of(text: str) -> Dict[str, Tuple[bool, str]]:
    """The servers that `pvfs2-ping -m` lists, metadata servers first: True if it asked the server, and the fault. It
    asks no more servers after a metadata server that does not answer."""
    servers: Dict[str, Tuple[bool, str]] = {}
    for address, status in _SERVER.findall(text):
        asked, fault = servers.get(address, (False, ''))
        servers[address] = asked or bool(status), fault if status in ('', 'Ok') else 'does not answer'
    return servers


def _volume(mount: Mount) -> str:
    return mount.source[len(FUSE_SOURCE) :] if mount.source.startswith(FUSE_SOURCE) else mount.source


def _attributes_of(directory: str) -> str:
    """The layout of new files in a directory, or 'unset'; 'unknown: ' with the reason if it cannot be read."""
    values = []
    for key in ATTRIBUTES:
        try:
            value = os.getxattr(directory, f'user.pvfs2.{key}').decode('ascii', 'replace').rstrip('\0')
            values.append(f'{key} {value}')
        except OSError as error:
            if error.errno != errno.ENODATA:
                return unknown(error.strerror or 'it cannot be read')
    return ', '.join(values) or 'unset'


def _output(*argv: str) -> str:
    """The output of a program with any exit status: pvfs2-ping ends with 253 if a server is down. Raises NoAnswer."""
    answer = base.answered(argv, ANSWER_S)
    if not answer.stdout.strip() and answer.exit_status:
        lines: List[str] = answer.stderr.strip().splitlines()
        raise base.NoAnswer(f'{argv[0]} fails: {lines[-1] if lines else "no error message"}')
    return answer.stdout
