"""BeeGFS: its client's own account in /proc/fs/beegfs, which any user reads and which asks no server: settings, the
states of all targets (Online, Probably-offline, Offline; Good, Needs-resync, Bad), the routes to its servers. Written
by outputs of 7.1 to 8.3 and the forms of ProcFsHelper.c in ThinkParQ/beegfs. With tuneFileCacheType = native
drop_caches empties its cache; with buffered, the default, its client has small buffers."""

import glob
import os
import re
from typing import Dict, Iterator, List

from seatrial.filesystem.base import Cold, NoAnswer, Targets
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, kernel_cold, look, unknown
from seatrial.model.record import TargetRow

CLIENTS = '/proc/fs/beegfs'
KINDS = (('storage target', 'storage'), ('metadata target', 'meta'))
FAULTS = ('offline', 'bad')
ORDERLY = ('online', 'good')

_STATE = re.compile(r'\[Target ID: (\d+)\] @ (.+) \[.*\]: (\S+) / (\S+)\s*\Z')  # 7: 'beegfs-storage node1 [ID: 1]'
_NODE = re.compile(r'(\S+) \[ID: \d+\]')
_ROUTE = re.compile(r'([A-Z]+): \d+ \(')
FALLBACK = '[fallback route]'


class BeeGfs(Mounted):
    name = 'beegfs'
    kernel_types = ('beegfs', 'beegfs_nodev', 'fuse.beegfs')
    recovery_limit_s = 300.0
    recovery_source = 'above the 180 s of sysTargetOfflineTimeoutSecs'
    can = ('targets', 'cold reads')
    sources = 'outputs of 7.1 to 8.3, its public documentation'
    no_layout = 'no layout: this driver does not set the stripe patterns of BeeGFS'
    watches = True

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        try:
            config = _config(_client(mount))
        except NoAnswer as error:
            return {'beegfs client': unknown(str(error))}
        return {f'beegfs {key}': value for key, value in config.items()}

    def targets(self, path: str) -> Targets:
        """As the client was last told by the management service, every 30 s (sysUpdateTargetStatesSecs)."""
        mount, why_not = look(path)
        if mount is None:
            return Targets((), {}, why_not)
        rows: List[TargetRow] = []
        try:
            client = _client(mount)
            for kind, of in KINDS:
                routes = routes_of(_read(client, f'{of}_nodes'))
                rows += rows_of(_read(client, f'{of}_target_state'), kind, routes)
        except NoAnswer as error:
            return Targets((), {}, str(error))
        return Targets(tuple(rows), {})

    def cold(self, path: str) -> Cold:
        return kernel_cold('small buffers of its client, unless its files are cached by the kernel (native)')


def rows_of(text: str, kind: str, routes: Dict[str, str]) -> Iterator[TargetRow]:
    """The targets of *_target_state, with the routes to their servers. A line of another form is skipped."""
    for line in text.splitlines():
        match = _STATE.match(line)
        if match is None:
            continue
        server = match.group(2).split()[-1]
        states = [state.lower().replace('-', ' ') for state in match.groups()[2:]]
        route = routes.get(server, '')
        flags = [state for state in states if state not in (*ORDERLY, *FAULTS)]
        flags += ['reached over its fallback route'] if FALLBACK in route else []
        fault = ', '.join(state for state in states if state in FAULTS)
        name = f'{kind} {match.group(1)} of {server}'
        yield TargetRow(kind, int(match.group(1)), name, True, flags=tuple(flags), fault=fault, route=route)


def routes_of(text: str) -> Dict[str, str]:
    """Of each server in storage_nodes or meta_nodes the kinds of its connections: 'RDMA', 'TCP [fallback route]'."""
    found: Dict[str, str] = {}
    server = ''
    for line in text.splitlines():
        match = _NODE.match(line)
        server = match.group(1) if match else server
        if not match and line.strip().startswith('Connections:'):
            kinds = ' and '.join(dict.fromkeys(_ROUTE.findall(line)))
            found[server] = kinds + (f' {FALLBACK}' if FALLBACK in line else '')
    return found


def _client(mount: Mount) -> str:
    """The folder of the client of this mount: the one with its configuration file (mount option cfgFile), or the only
    one. Raises NoAnswer."""
    found = sorted(glob.glob(os.path.join(CLIENTS, '*', 'config')))
    folders = [os.path.dirname(name) for name in found]
    options = mount.options.split(',')
    own = [each for each in folders if f'cfgFile={_config(each).get("cfgFile")}' in options]
    if own or len(folders) == 1:
        return (own or folders)[0]
    raise NoAnswer(f'{len(folders)} clients show themselves in {CLIENTS}')


def _config(client: str) -> Dict[str, str]:
    pairs = [line.partition('=') for line in _read(client, 'config').splitlines()]
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def _read(client: str, name: str) -> str:
    file = os.path.join(client, name)
    try:
        with open(file, encoding='utf-8', errors='replace') as stream:
            return stream.read()
    except OSError as error:
        raise NoAnswer(f'{file}: {error.strerror}') from None
