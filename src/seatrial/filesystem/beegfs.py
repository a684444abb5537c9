"""BeeGFS: its client's own account in /proc/fs/beegfs, which any user reads and which asks no server. Written by
outputs of 7.1 to 8.3 and the forms of ProcFsHelper.c in ThinkParQ/beegfs.

Layouts: `beegfs entry` of 8, `beegfs-ctl` of 7. `entry set` says success and changes nothing on a file, and takes
nine targets of three; without a licence it exits with 1 after it has done what was asked (8.3.1, seen). What is read
back counts: of a directory after it was set, of a file by the targets that it lies on. The stripes of a mirrored file
lie on buddy groups of two targets each. `beegfs entry create file` puts files on targets of choice, for root alone.

With tuneFileCacheType native or paged the client keeps data in the page cache alone, with none nowhere
(FhgfsOpsInode.c, FhgfsOpsFile.c of 8.3.1); with buffered, the default, it has small buffers: 16 MiB that were read
again moved 16.8 MB.

Quotas: by quota.go of beegfs-go 8.3.1 and ModeGetQuotaInfo.cpp of 7.4.6. They count the parts of a file as inodes."""

import glob
import json
import os
import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.filesystem import base, layout_words, posix
from seatrial.filesystem.layout_words import bytes_of, number, read_keys, stripe_size
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, answer_or_unknown, kernel_cold, look, pairs_of, unknown
from seatrial.model.ask import ask
from seatrial.model.layout import Layout, target_name
from seatrial.model.quoted_value import show
from seatrial.model.record import TargetRow

NAME = 'beegfs'
CLIENTS = '/proc/fs/beegfs'
VERSION = '/sys/module/beegfs/version'
ANSWER_S = 10.0
UNLIMITED = ('unlimited', '∞', str((1 << 63) - 1))  # of 7; of 8 without a limit, and with one of `unlimited`
STORAGE = 'storage target'
KINDS = ((STORAGE, 'storage'), ('metadata target', 'meta'))
FAULTS = ('offline', 'bad')
ORDERLY = ('online', 'good')

_STATE = re.compile(r'\[Target ID: (\d+)\] @ (.+) \[.*\]: (\S+) / (\S+)\s*\Z')  # 7: 'beegfs-storage node1 [ID: 1]'
_NODE = re.compile(r'(\S+) \[ID: \d+\]')
_ROUTE = re.compile(r'([A-Z]+): \d+ \(')
FALLBACK = '[fallback route]'
_PATTERN = re.compile(r'(RAID0|Buddy Mirror) \((\d+)x(\d+)\)\Z')  # 'RAID0 (2x1048576)'
_IDS = re.compile(r's:(\d+)')  # 's:3,s:2'
_POOL = re.compile(r'\((\d+)\)\Z')  # 'storage_pool_default (1)'
_CTL_CHUNK = re.compile(r'^\+ Chunksize: (\d+[KMG]?)\s*$', re.MULTILINE)
_CTL_TARGETS = re.compile(r'^\+ Number of storage targets: desired: (\d+)(?:; actual: (\d+))?\s*$', re.MULTILINE)
_CTL_POOL = re.compile(r'^\+ Storage Pool: (\d+) ', re.MULTILINE)
_CTL_MIRRORED = re.compile(r'^\+ Type: Buddy Mirror', re.MULTILINE)
_CTL_TARGET = re.compile(r'^ *\+ (\d+) @ ', re.MULTILINE)
_CTL_GROUP = re.compile(r'^ +\+ (\d+) *$', re.MULTILINE)
_CTL_MEMBER = re.compile(r'^ *(\d+) +(?:primary|secondary) +(\d+) +\d+ *$', re.MULTILINE)
_GROUP = re.compile(r'^\S+ +s:(\d+) +storage +s:(\d+) +\S+ +s:(\d+) ', re.MULTILINE)


class BeeGfsLayout(NamedTuple):
    """A layout that is asked for, or found; a field that is None is left open, or is not shown of a file."""

    stripe_count: Optional[int] = None  # storage targets that a file is spread over
    stripe_size: Optional[int] = None  # bytes on one target before the next: its chunk size
    pool: Optional[int] = None  # the number of the storage pool that new files are made in
    targets: Tuple[int, ...] = ()  # the storage targets of a file that is not mirrored
    mirrored: Optional[bool] = None  # each stripe lies on both targets of a buddy group; stripe_count counts groups
    groups: Tuple[int, ...] = ()  # the buddy groups of a mirrored file

    @property
    def words(self) -> Tuple[str, ...]:
        """The words of plans and records, stripes as every type writes them: ('c4', 'S1M', 'p2')."""
        return layout_words.written(self, _WORDS)

    def named(self, name: str) -> Layout:
        needed = (self.stripe_count or 1) * (2 if self.mirrored else 1)
        return Layout(name, NAME, self.words, needed, places_file=True) if self.words else Layout(name)


_WORDS = {
    'c': ('stripe_count', layout_words.NUMBER),
    'S': ('stripe_size', layout_words.SIZE),
    'p': ('pool', layout_words.NUMBER),
    'targets': ('targets', layout_words.NUMBERS),
    'groups': ('groups', layout_words.NUMBERS),
    'mirrored': ('mirrored', (lambda value: '', lambda text: True)),
}


def asked(layout: Layout) -> BeeGfsLayout:
    return BeeGfsLayout(**layout_words.read_words(layout.asks, _WORDS))


class BeeGfs(Mounted):
    name = NAME
    kernel_types = ('beegfs', 'beegfs_nodev', 'fuse.beegfs')
    recovery_limit_s = 900.0
    recovery_source = 'sysTargetOfflineTimeoutSecs of 8.3; connCommRetrySecs is 600 s'
    can = ('layouts', 'targets', 'cold reads')
    sources = 'outputs of 7.1 to 8.3, its public documentation'
    tried = 'BeeGFS 8.3.1, three storage servers and a metadata server, Linux 6.1, one and two nodes in user mode'
    tried_on = '2026-11-30'
    no_layout = ''
    pins = (STORAGE,)
    no_pinning = 'no such targets: those of BeeGFS are storage targets'
    hands_down = False  # a directory does, but for the targets
    watches = True

    def same_storage(self, one: Mount, other: Mount) -> bool:
        """Compares the identity of the file system: all mounts have one source, beegfs_nodev."""
        try:
            return one == other or _client(one) == _client(other) or _identity(one) == _identity(other)
        except base.NoAnswer:
            return False

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        settings = {
            'client version': answer_or_unknown(lambda: f'beegfs {_read(VERSION).strip()}'),
            'file system': answer_or_unknown(lambda: _identity(mount)),
            'default layout': answer_or_unknown(lambda: '.'.join(_layout_of(path).words)),
        }
        if settings['default layout'].endswith('mirrored'):
            settings['buddy groups'] = answer_or_unknown(_groups)
        try:
            config = _config(_client(mount))
        except base.NoAnswer as error:
            return {**settings, 'beegfs client': unknown(str(error))}
        return {**settings, **{f'beegfs {key}': value for key, value in config.items()}}

    def capacity(self, path: str, layout: Layout = base.AS_IT_IS, files: Optional[int] = None) -> base.Capacity:
        """If all storage is away, statvfs(3) succeeds and gives 0 B (8.3.1, seen): then bytes are unknown."""
        room = super().capacity(path, layout, files)
        return room if os.statvfs(path).f_blocks else room._replace(bytes=None)

    def quota(self, path: str) -> base.Capacity:
        """That of the pool of a directory; each part of a file on a target is an inode."""
        if self._setting(path, 'quotaEnabled') != '1':
            return super().quota(path)
        rooms = []
        try:
            layout = _layout_of(path)
            for kind, id_ in (('user', os.geteuid()), ('group', posix.group_of_new_files(path))):
                new = ['beegfs', 'quota', 'list-usage', '--output', 'json', '--raw', '--pool', str(layout.pool)]
                of_7 = ['beegfs-ctl', '--getquota', f'--{kind[0]}id', str(id_), '--csv']
                of_7.append(f'--storagepoolid={layout.pool}')
                of_7.append(f'--cfgFile={self._setting(path, "cfgFile")}')  # `beegfs` does not choose among several
                rooms.append(room_of(_first_answer((new, of_7))[1], kind, id_))
        except base.NoAnswer as error:
            return base.Capacity(None, None, unseen=f'the quota of BeeGFS: {error}')
        left = base.tightest(*rooms)
        return left if left.inodes is None else left._replace(inodes=left.inodes // (layout.stripe_count or 1))

    def behaviour(self, path: str) -> base.Behaviour:
        """The client gives up after connCommRetrySecs, by default before a failover must have ended; 0 is never."""
        behaviour, retries = super().behaviour(path), self._setting(path, 'connCommRetrySecs')
        if self._setting(path, 'tuneUseGlobalFileLocks') == '0':
            local = 'the client keeps locks to itself (tuneUseGlobalFileLocks is 0): another node does not see them'
            behaviour = behaviour._replace(local_locks=local)
        if not retries.isdigit() or not 0 < int(retries) < self.recovery_limit_s:
            return behaviour
        ends = f'the client fails I/O after {retries} s (connCommRetrySecs)'
        return behaviour._replace(gives_up=f'{ends}, and a failover may take {self.recovery_limit_s:.0f} s')

    def layout(self, name: str, settings: Any) -> Layout:
        return BeeGfsLayout(**read_keys(settings, _KEYS)).named(name)

    def _layout_fault(self, layout: Layout, path: str) -> Optional[str]:
        if asked(layout).targets and os.geteuid():
            return 'only root may put files on chosen targets'
        if asked(layout).targets and not os.path.exists(base.program('beegfs')):
            return 'it takes `beegfs entry create file` of release 8, which is not installed on this node'
        seen = self.targets(path)
        there = sum(row.kind == STORAGE for row in seen.rows)
        if there < layout.targets_needed and not seen.unseen:
            return f'it needs {layout.targets_needed} storage targets, but there are {there}'
        _layout_of(path)
        return None

    def _set_layout(self, directory: str, layout: Layout) -> Optional[str]:
        """Root may, or the directory's owner where the metadata servers allow it (sysAllowUserSetPattern)."""
        wanted = asked(layout)
        if wanted.targets:  # those are the files' own: see make_files
            return None
        new, of_7 = ['beegfs', 'entry', 'set'], ['beegfs-ctl', '--setpattern']
        for (option, option_of_7), value in zip(_SET_OPTIONS, wanted):
            if value is not None:
                new += [option, str(value)]
                of_7.append(f'{option_of_7}={value}')
        if wanted.mirrored:
            new += ['--pattern', 'mirrored']
            of_7.append('--pattern=buddymirror')
        output = ' '.join(_first_answer(([*new, directory], [*of_7, directory]))[1].split())
        got = _layout_of(directory)
        if _has(got, wanted):
            return None
        return f'{directory} should have the layout {layout.canonical}, but has {".".join(got.words)}: {output}'

    def _granted(self, file: str, layout: Layout) -> base.Granted:
        """Compares the targets that the file lies on, and its chunk size; a file does not show its pool."""
        got = _layout_of(file)
        if _has(got, asked(layout)._replace(pool=None)):
            return base.Granted()
        has = '.'.join(got.words)
        return base.Granted(differs=f'the file should have the layout {layout.canonical}, but has {has}')

    def on_targets(self, name: str, kind: str, numbers: Sequence[int], like: Layout = base.AS_IT_IS) -> Layout:
        return BeeGfsLayout(len(numbers), asked(like).stripe_size, None, tuple(sorted(numbers))).named(name)

    def make_files(self, files: Sequence[str], layout: Layout, inside: str) -> Optional[str]:
        """`beegfs entry create file` of release 8 for chosen targets; other layouts follow from the directory."""
        wanted = asked(layout)
        if not wanted.targets:
            return None
        argv = ['beegfs', 'entry', 'create', 'file', '--targets', ','.join(map(str, wanted.targets))]
        argv += ['--num-targets', str(len(wanted.targets))]
        argv += ['--chunk-size', str(wanted.stripe_size)] if wanted.stripe_size else []
        try:
            output = _first_answer(([*argv, *files],))[1]
        except base.NoAnswer as error:
            return str(error)
        missing = [file for file in files if not os.path.lexists(file)]
        return f'{missing[0]} was not made: {" ".join(output.split())}' if missing else None

    def _targets(self, path: str, mount: Mount) -> base.Targets:
        """The states that the client gets from the management service every 30 s (sysUpdateTargetStatesSecs)."""
        rows: List[TargetRow] = []
        unseen: List[str] = []
        client = _client(mount)
        for kind, of in KINDS:
            file = os.path.join(client, f'{of}_target_state')
            text = _read(file)
            odd = [line for line in text.strip().split('\n') if not _STATE.match(line)]
            unseen += [f'{file} shows {show(odd[0]) if odd[0] else "no targets"}'] if odd else []
            rows += rows_of(text, kind, routes_of(_read(client, f'{of}_nodes')))
        storage = [row for row in rows if row.kind == STORAGE]
        servers = {target_name(STORAGE, row.number): row.name.rpartition(' of ')[2] for row in storage}
        return base.Targets(tuple(rows), servers, '; '.join(unseen))

    def capabilities(self, path: str) -> Tuple[base.Capability, ...]:
        quotas = self._setting(path, 'quotaEnabled') != '1' or not self.quota(path).unseen
        why = '' if quotas else 'quota(1) cannot read the quotas of BeeGFS, and its own commands need a licence'
        return (base.Capability('space left by quotas', quotas, why), *super().capabilities(path))

    def cold(self, path: str) -> base.Cold:
        none = self._setting(path, 'tuneFileCacheType') in ('native', 'paged', 'none')
        return kernel_cold('' if none else 'small buffers of its client')

    def _setting(self, path: str, key: str) -> str:
        mount, _ = look(path)
        try:
            return _config(_client(mount)).get(key, '') if mount else ''
        except base.NoAnswer:
            return ''


def entry_of(text: str) -> BeeGfsLayout:
    """`beegfs entry info --output json --raw`, behind which a warning may stand: for a file the targets that it lies
    on, for a directory those that it asks for. Raises NoAnswer."""
    try:
        (entry,) = _json(text)
        ((pattern, count, chunk),) = _PATTERN.findall(entry['stripe_pattern'])
        pool = _POOL.search(entry['storage_pool'])
        targets, groups = (_numbers(_IDS.findall(entry[key])) for key in ('storage_targets', 'storage_mirrors'))
        if not (targets or groups or entry['storage_targets'] == '(directory)'):
            raise base.NoAnswer('beegfs entry info says no target of the file')  # '(unavailable)': see its info.go
    except (ValueError, KeyError, TypeError, AttributeError):
        raise base.NoAnswer(f'beegfs entry info says {show(text.strip()[:80])}') from None
    number = int(pool.group(1)) if pool else None
    mirrored = pattern != 'RAID0' or None
    return BeeGfsLayout(len(targets or groups) or int(count), int(chunk), number, targets, mirrored, groups)


def ctl_entry_of(text: str) -> BeeGfsLayout:
    """As entry_of, of `beegfs-ctl --getentryinfo`. Raises NoAnswer."""
    chunk, targets, pool = (form.search(text) for form in (_CTL_CHUNK, _CTL_TARGETS, _CTL_POOL))
    if chunk is None or targets is None:
        raise base.NoAnswer(f'beegfs-ctl says {show(text.strip()[:80])}')
    count = int(targets.group(2) or targets.group(1))
    size_, number = bytes_of(chunk.group(1).replace('K', 'k')), int(pool.group(1)) if pool else None
    mirrored = _CTL_MIRRORED.search(text) is not None or None
    lies_on, groups = _numbers(_CTL_TARGET.findall(text)), _numbers(_CTL_GROUP.findall(text))
    return BeeGfsLayout(count, size_, number, lies_on, mirrored, groups)


def groups_of(text: str) -> Dict[int, Tuple[int, ...]]:
    """The two storage targets of each buddy group, the primary one first, by any of the commands in _groups."""
    members = [(group, target) for group, *both in _GROUP.findall(text) for target in both]
    groups: Dict[int, Tuple[int, ...]] = {}
    for group, target in members + _CTL_MEMBER.findall(text):
        groups[int(group)] = (*groups.get(int(group), ()), int(target))
    return groups


def rows_of(text: str, kind: str, routes: Dict[str, str]) -> Iterator[TargetRow]:
    """The targets of *_target_state, with the routes to their servers, but for lines of another form."""
    for match in filter(None, map(_STATE.match, text.splitlines())):
        server = match.group(2).split()[-1]
        states = [state.lower().replace('-', ' ') for state in match.groups()[2:]]
        route = routes.get(server, '')
        flags = [state for state in states if state not in (*ORDERLY, *FAULTS)]
        flags += ['reached over its fallback route'] if FALLBACK in route else []
        fault = ', '.join(state for state in states if state in FAULTS)
        name = f'{kind} {match.group(1)} of {server}'
        yield TargetRow(kind, int(match.group(1)), name, True, flags=tuple(flags), fault=fault, route=route)


def routes_of(text: str) -> Dict[str, str]:
    """The kinds of connections of each server in storage_nodes or meta_nodes: 'RDMA', 'TCP [fallback route]'."""
    routes: Dict[str, str] = {}
    server = ''
    for line in text.splitlines():
        match = _NODE.match(line)
        server = match.group(1) if match else server
        if not match and line.strip().startswith('Connections:'):
            kinds = ' and '.join(dict.fromkeys(_ROUTE.findall(line)))
            routes[server] = kinds + (f' {FALLBACK}' if FALLBACK in line else '')
    return routes


def _client(mount: Mount) -> str:
    """The folder of the mount's client: with its configuration file (cfgFile), or the only one. Raises NoAnswer."""
    folders = [os.path.dirname(name) for name in sorted(glob.glob(os.path.join(CLIENTS, '*', 'config')))]
    named = [folder for folder in folders if f'cfgFile={_config(folder).get("cfgFile")}' in mount.options.split(',')]
    if named or len(folders) == 1:
        return (named or folders)[0]
    raise base.NoAnswer(f'{CLIENTS} has {len(folders)} clients, and none is known to be that of this mount')


def _identity(mount: Mount) -> str:
    """The uuid of the file system; of release 7, which shows none, its management service. Raises NoAnswer."""
    client = _client(mount)
    config = _config(client)
    port = config.get('connMgmtdPortTCP', config.get('connMgmtdPort'))
    if 'sysMgmtdHost' in config and not os.path.exists(os.path.join(client, 'fs_uuid')):
        return f'managed by {config["sysMgmtdHost"]}:{port}'
    return _read(client, 'fs_uuid').strip()


def _config(client: str) -> Dict[str, str]:
    return pairs_of(_read(client, 'config'), '=')


def _has(got: BeeGfsLayout, wanted: BeeGfsLayout) -> bool:
    return all(not value or value == getattr(got, key) for key, value in wanted._asdict().items())


def _numbers(words: Sequence[str]) -> Tuple[int, ...]:
    return tuple(sorted(map(int, words)))


def _groups() -> str:
    """'1: 3011 and 3021; 2: 3031 and 3012'. Raises NoAnswer."""
    argvs = (['beegfs', 'mirror', 'list'], ['beegfs-ctl', '--listtargets', '--mirrorgroups'])
    program, output = _first_answer(argvs)
    groups = groups_of(output)
    if not groups:
        raise base.NoAnswer(f'{program} shows no buddy groups: {show(output.strip()[:80])}')
    return '; '.join(f'{group}: {" and ".join(map(str, targets))}' for group, targets in sorted(groups.items()))


_KEYS: layout_words.Readers = {
    'stripe_count': number('a number of storage targets', 1, 65535),
    'stripe_size': stripe_size('a chunk size', by_doubling=True),
    'pool': number("a storage pool's number", 1, 65535),
    'mirrored': layout_words.fitting(lambda value: value is True, 'is not true; leave it out'),
}
# Of release 8, and of 7, for the first fields of a layout.
_SET_OPTIONS = ('--num-targets', '--numtargets'), ('--chunk-size', '--chunksize'), ('--pool', '--storagepoolid')


def _layout_of(path: str) -> BeeGfsLayout:
    new = ['beegfs', 'entry', 'info', '--output', 'json', '--raw', path]
    program, output = _first_answer((new, ['beegfs-ctl', '--getentryinfo', path]))
    return entry_of(output) if program == 'beegfs' else ctl_entry_of(output)


def _json(text: str) -> Any:
    """The value that begins with the first bracket; a warning may follow. Raises ValueError."""
    return json.JSONDecoder().raw_decode(text, text.index('['))[0]


def room_of(text: str, kind: str, id_: int) -> base.Capacity:
    """The room of a user or group by `beegfs quota list-usage --output json --raw`, or `beegfs-ctl --getquota --csv`
    of it alone: 'name,id,size,hard,files,hard'. Raises NoAnswer."""
    try:
        if '[' in text:
            (entry,) = [entry for entry in _json(text) if (entry['type'], entry['id']) == (kind, id_)]
            pairs = [entry[key].split('/') for key in ('space', 'inode')]
        else:
            rows = [line.split(',') for line in text.splitlines()]
            pairs = next([row[2:4], row[4:]] for row in rows if row[1:2] == [str(id_)])
        # '3+' are used where some targets do not count inodes.
        space, inodes = [
            None if most in UNLIMITED else max(0, int(most) - int(used.rstrip('+'))) for used, most in pairs
        ]
        return base.Capacity(space, inodes)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        raise base.NoAnswer(f'the command for {kind} {id_} says {show(text.strip()[:80])}') from None


def _first_answer(argvs: Tuple[List[str], ...]) -> Tuple[str, str]:
    """The output of the first installed program of these, with its name. Raises NoAnswer."""
    for argv in argvs:
        answer = ask([base.program(argv[0]), *argv[1:]], ANSWER_S)
        if answer is not None and answer.exit_status is None:
            raise base.NoAnswer(f'{argv[0]}: no answer within {ANSWER_S:.0f} s; is a server down?')
        if answer is not None:
            return argv[0], answer.stdout + answer.stderr
    raise base.NoAnswer(f'not installed on this node: {", ".join(argv[0] for argv in argvs)}')


def _read(*parts: str) -> str:
    """The text of a file. Raises NoAnswer."""
    file = os.path.join(*parts)
    try:
        with open(file, encoding='utf-8', errors='replace') as stream:
            return stream.read()
    except OSError as error:
        raise base.NoAnswer(f'{file}: {error.strerror}') from None
