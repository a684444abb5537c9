"""OrangeFS (PVFS2) through the kernel client (type pvfs2) or FUSE (type fuse, source pvfs2fuse#...), after the
outputs of a real 2.10 with three servers.

A file may not get the layout that was set, so its layout is read from pvfs2-viewdist. Through the kernel client, new
files follow the attributes dist_name and dist_params of their directory; its num_dfiles is stored but ignored, and
every file lies on all servers. A layout is therefore a stripe size only. Through FUSE no layout can be set: new files
ignore dist_params without dist_name; with both, set by pvfs2-xattr, 10 of 14 could not be created (EINVAL)."""

import contextlib
import errno
import functools
import os
import re
from typing import Any, Dict, List, Optional, Tuple

from seatrial.filesystem import base
from seatrial.filesystem.layout_words import ALL, Stripes, binary, bytes_of, read_keys, stripe_size
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, answer_or_unknown, read_settings, unknown
from seatrial.model.layout import Layout
from seatrial.model.record import TargetRow

NAME = 'orangefs'
FUSE_SOURCE = 'pvfs2fuse#'
CLIENT = '/sys/fs/orangefs'
CLIENT_SETTINGS = ('op_timeout_secs', 'slot_timeout_secs', 'dcache_timeout_msecs', 'getattr_timeout_msecs')
ANSWER_S = 60.0  # pvfs2-ping took 20.3 s with one server down, which it tries in two steps of 10 s each
STRIPE = 'user.pvfs2.dist_params'

_SERVER = re.compile(r'^   (\S+://\S+)(?: (Ok|Failure!|FAILURE: .*))?\n', flags=re.MULTILINE)
_DATA_SERVERS = re.compile(r'^   data servers:\n((?:   \S+://\S+\n)+)', flags=re.MULTILINE)
_DATA_FILES = re.compile(r'^Number of datafiles/servers = (\d+)$', flags=re.MULTILINE)
_STRIP = re.compile(r'\bstrip_size:(\d+)')


class OrangeFs(Mounted):
    name = NAME
    kernel_types = ('pvfs2',)
    fuse_source = FUSE_SOURCE
    recovery_source = 'chosen as for the other network types'
    can = ('layouts', 'targets')
    tried = 'OrangeFS 2.10 by FUSE, Linux 6.18, one node, three servers'
    tried_on = '2026-11-29'
    sources = 'outputs of a real 2.10: three servers, FUSE and the kernel client of Linux 6.1'
    no_layout = ''
    no_pinning = 'no target of choice: a file lies on all servers'
    servers_apart = True
    kernel_counts_reads = False

    def same_storage(self, one: Mount, other: Mount) -> bool:
        return _volume(one) == _volume(other)

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        if mount.source.startswith(FUSE_SOURCE):
            # pvfs2fuse has the version of all OrangeFS programs; the kernel client has the version of Linux.
            version = answer_or_unknown(lambda: f'orangefs {_output("pvfs2-ping", "-v").strip()}')
            return {'client version': version, 'file system': _volume(mount)}
        settings = read_settings('orangefs', CLIENT, CLIENT_SETTINGS)
        return {**settings, 'file system': _volume(mount), 'default layout': _stripe_of_new_files(path)}

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
        """The servers that are down, because a file lies on all servers."""
        return '; '.join(f'server {row.name}: {row.fault}' for row in self.targets(path).rows if row.fault)

    def layout(self, name: str, settings: Any) -> Layout:
        for key in _REFUSED_KEYS:
            if isinstance(settings, dict) and key in settings:
                raise base.LayoutError([key], _REFUSED_KEYS[key])
        stripe = read_keys(settings, {'stripe_size': stripe_size('a stripe size')}).get('stripe_size')
        return Layout(name, NAME, (f'S{binary(stripe)}',), places_file=True) if stripe else Layout(name)

    def _with_stripes(self, name: str, stripes: Stripes) -> Optional[Layout]:
        """None for a stripe count other than ALL: every file lies on all servers."""
        if stripes.stripe_count not in (None, ALL) or stripes.stripe_size is None:
            return None
        return self.layout(name, {'stripe_size': stripes.stripe_size})

    def _layout_fault(self, layout: Layout, path: str) -> Optional[str]:
        mount = base.mount_by_table(self, path)
        by_fuse = mount is None or mount.source.startswith(FUSE_SOURCE)
        return "by FUSE new files ignore it; use the kernel's client" if by_fuse else None

    def _set_layout(self, directory: str, layout: Layout) -> Optional[str]:
        wanted = f'strip_size:{bytes_of(layout.asks[0][1:])}'
        try:
            # The client reads C strings: without the zero byte at the end no file could be created (EINVAL, 6 of 6).
            os.setxattr(directory, 'user.pvfs2.dist_name', b'simple_stripe\0')
            os.setxattr(directory, STRIPE, f'{wanted}\0'.encode())
        except OSError as error:
            return f'{directory} takes no {STRIPE}: {error.strerror}'
        got = _stripe_of_new_files(directory)
        return None if got == wanted else f'{directory} should have {wanted}, but has {got}'

    def _granted(self, file: str, layout: Layout) -> base.Granted:
        text, mount = _output('pvfs2-viewdist', '-f', file), base.mount_by_table(self, file)
        has = f'S{binary(strip_of(text))}'
        if has != layout.canonical:
            return base.Granted(differs=f'the file should have the layout {layout.canonical}, but has {has}')
        number, total = _DATA_FILES.search(text), _data_servers(mount.point) if mount else 0
        used = int(number.group(1)) if number else total
        return base.Granted(f'all = {used} of {total} servers', everywhere=False) if used < total else base.Granted()


@functools.lru_cache(maxsize=None)
def _data_servers(point: str) -> int:
    """The number of the data servers of a mount, which is asked once; 0 where pvfs2-ping does not tell."""
    with contextlib.suppress(base.NoAnswer):
        listed = _DATA_SERVERS.search(_output('pvfs2-ping', '-m', point))
        return len(listed.group(1).splitlines()) if listed else 0
    return 0


_ON_ALL_SERVERS = 'every file lies on all servers: the num_dfiles of a directory is stored and ignored; leave it out'
_REFUSED_KEYS = {
    'stripe_count': _ON_ALL_SERVERS,
    'num_dfiles': _ON_ALL_SERVERS,
    'dist_name': 'layouts have simple_stripe; any other name is accepted, and then no file can be made; leave it out',
}


def servers_of(text: str) -> Dict[str, Tuple[bool, str]]:
    """The servers that `pvfs2-ping -m` lists, metadata servers first: True if it asked the server, and the fault. It
    asks no more servers after a metadata server that does not answer."""
    servers: Dict[str, Tuple[bool, str]] = {}
    for address, status in _SERVER.findall(text):
        asked, fault = servers.get(address, (False, ''))
        servers[address] = asked or bool(status), fault if status in ('', 'Ok') else 'does not answer'
    return servers


def strip_of(text: str) -> int:
    """The stripe size of a file, in bytes, in the output of pvfs2-viewdist. Raises NoAnswer."""
    match = _STRIP.search(text)
    if match is None or 'dist_name = simple_stripe' not in text:
        raise base.NoAnswer('pvfs2-viewdist shows no simple_stripe')
    return int(match.group(1))


def _volume(mount: Mount) -> str:
    return mount.source[len(FUSE_SOURCE) :] if mount.source.startswith(FUSE_SOURCE) else mount.source


def _stripe_of_new_files(directory: str) -> str:
    """dist_params of a directory, or 'unset'; 'unknown: ' with the reason if it cannot be read."""
    try:
        return os.getxattr(directory, STRIPE).decode('ascii', 'replace').rstrip('\0')
    except OSError as error:
        return 'unset' if error.errno == errno.ENODATA else unknown(error.strerror or 'it cannot be read')


def _output(*argv: str) -> str:
    """The output of a program with any exit status: pvfs2-ping ends with 253 if a server is down. Raises NoAnswer."""
    answer = base.answered(argv, ANSWER_S)
    if not answer.stdout.strip() and answer.exit_status:
        lines: List[str] = answer.stderr.strip().splitlines()
        raise base.NoAnswer(f'{argv[0]} fails: {lines[-1] if lines else "no error message"}')
    return answer.stdout
