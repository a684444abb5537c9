"""GlusterFS through its FUSE client, which shows itself below `.meta` in the root of the mount, to every user.

Caches (10.3, and its sources): the client's translators keep what they cache with the inode, and drop it when the
kernel forgets the inode (FUSE_FORGET), as drop_caches makes it do; posix_fadvise drops the kernel's pages alone.
Measured with 64 MiB, io-cache on: after posix_fadvise the bricks sent 608 B, after drop_caches all of it.

A brick of choice (10.3, dht_filter_loc_subvol_key of dht-helper.c): a file created as NAME@DISTRIBUTION:SUBVOLUME is
NAME on that subvolume. Its hash may leave a link elsewhere, a lookup more. The kernel remembers the long name, so
each has a name of its own first, and gets the wanted one by rename(2), which moves no data."""

import os
import re
import sys
import time
from functools import partial
from itertools import cycle
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from seatrial.filesystem.base import AS_IT_IS, EMPTYING_S, Cold, Granted, Meter, Targets, no_meter
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, kernel_cold, look, pairs_of, unknown
from seatrial.model.ask import ask
from seatrial.model.layout import Layout, target_name
from seatrial.model.record import TargetRow
from seatrial.model.telemetry import READ, WRITTEN

ANSWER_S = 10.0
FORGOTTEN_S = 10.0  # the longest wait until the client has dropped the inodes that the kernel has told it to forget
PLACING_S = 60.0  # longer than network.ping-timeout (42 s), after which the client gives up a brick
POLL_S = 0.05

# The translators whose options are recorded (protocol/client has a password); keys of settings among their counters.
SHOWN = ('cluster/', 'performance/', 'features/')
SETTING = re.compile(r'(^max|size$|timeout$|limit$)')

# Each file after a line with its name. Not by `grep -r`: that asks all bricks for free space at every directory.
_PRINT = 'cd "$0/.meta/graphs/active" && for f in %s; do [ -f "$f" ] && printf "\\n=== %%s\\n" "$f" && cat "$f"; done'
_OPTIONS = '$(grep -lE "^(%s)" */type | sed "s,type$,options/*,") */options/remote-*' % '|'.join(SHOWN)
_STATE = _PRINT % f'../../version ../../cmdline */type */private {_OPTIONS}'
_INODES = _PRINT % '*-dht/meminfo'
# One process for all files, because every launch asks for them.
_BRICKS = r"""cd "$0/.meta/graphs/active" && exec awk 'FNR == 1 { print "\n=== " FILENAME } { print }' \
*/subvolumes/*/name *-client-*/options/remote-host *-client-*/options/remote-subvolume *-client-*/private"""
_PLACE = """
import os, sys
for number, (key, file) in enumerate(zip(sys.argv[1::2], sys.argv[2::2])):
    new = os.path.join(os.path.dirname(file), '.new.%d.%d' % (os.getpid(), number))
    try:
        os.close(os.open(new + key, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        os.rename(new, file)
    except OSError as error:
        sys.exit(file + ': ' + error.strerror)
"""
_WHERE = "import os, sys; print(os.getxattr(sys.argv[1], 'glusterfs.pathinfo').decode(errors='replace'))"
_LIES_ON = re.compile(r'<POSIX\((/.*?)\):(.*?):/')
# One process that ends at once: it is asked every second. glusterd names the translators to the bricks so.
_TRAFFIC = 'exec cat "$0"/.meta/graphs/active/*-client-*/private'
_MOVED = re.compile(r'^total_bytes_(read|written) = (\d+)$', flags=re.MULTILINE)


class Subvolume(NamedTuple):
    """A unit of the distribution: a brick, or a set of bricks that together hold a file."""

    key: str  # what a name ends in that is to be created on it
    bricks: Tuple[Tuple[str, str], ...]  # the host and directory of each
    connected: Tuple[bool, ...]  # whether the client reaches the brick, in the same order

    @property
    def name(self) -> str:
        """The bricks as `gluster volume info` names them: 'node2:/data/brick1'."""
        return ' + '.join(':'.join(brick) for brick in self.bricks)


class GlusterFS(Mounted):
    """The FUSE client; the layout of a volume is its distribution over bricks, which only its administrator sets."""

    name = 'glusterfs'
    kernel_types = ('fuse.glusterfs', 'glusterfs')
    recovery_source = 'above the 42 s of network.ping-timeout'
    can = ('targets', 'cold reads', 'traffic', 'proof of cold reads')
    tried_on = '2026-11-22'
    sources = 'the client 10.3 and its sources'
    tried = 'GlusterFS 10.3, Linux 6.18, one node, distributed over four bricks (ci/lab-gluster)'
    no_layout = 'no layout: a volume places each file by the hash of its name, for all users alike'
    pins = ('brick',)
    hands_down = False
    watches = True

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        files = _meta(mount, _STATE)
        return state_of(files) if files else {'client': unknown('the root of the mount has no .meta')}

    def _cold(self, path: str, mount: Mount) -> Cold:
        """The kernel's caches, and with them the data that the client keeps with each inode."""
        seen = inodes_of(_meta(mount, _INODES)) is not None
        return kernel_cold('' if seen else 'what the client still caches: without .meta it cannot be checked')

    def empty_client_cache(self, path: str, deadline_s: float = EMPTYING_S) -> Optional[str]:
        """drop_caches, then a wait until the client has forgotten the inodes with all that is cached of them."""
        fault = super().empty_client_cache(path, deadline_s)
        mount = look(path)[0] if fault is None else None
        if mount is None:
            return fault
        end = time.monotonic() + FORGOTTEN_S
        before, now = None, inodes_of(_meta(mount, _INODES))
        while now is not None and now != before:  # those that remain then are in use
            if time.monotonic() > end:
                waited = f'after {FORGOTTEN_S:.0f} s'
                return f'the client still caches {now} inodes {waited}, and their number is still falling'
            time.sleep(POLL_S)
            before, now = now, inodes_of(_meta(mount, _INODES))
        return None

    def _targets(self, path: str, mount: Mount) -> Targets:
        """The bricks, in the distribution's order, with their hosts as servers; how full they are is not shown."""
        rows, servers = [], {}
        for number, subvolume in enumerate(_subvolumes(path)):
            away = [':'.join(brick) for brick, there in zip(subvolume.bricks, subvolume.connected) if not there]
            fault = f'{", ".join(away)} not connected' if away else ''
            rows.append(TargetRow('brick', number, subvolume.name, any(subvolume.connected), fault=fault))
            if len(subvolume.bricks) == 1:
                servers[target_name('brick', number)] = subvolume.bricks[0][0]
        return Targets(tuple(rows), servers)

    def on_targets(self, name: str, kind: str, numbers: Sequence[int], like: Layout = AS_IT_IS) -> Layout:
        """No stripes: the files are dealt out to these bricks, each as a whole."""
        return Layout(name, self.name, (f'brick{"_".join(map(str, numbers))}',), places_file=True)

    def _layout_fault(self, layout: Layout, path: str) -> Optional[str]:
        return _asked(layout, _subvolumes(path))[1]

    def make_files(self, files: Sequence[str], layout: Layout, inside: str) -> Optional[str]:
        """The names place the files; see above. They must not exist yet."""
        wanted, fault = _asked(layout, _subvolumes(inside))
        if fault is not None:
            return fault
        names = ', '.join(subvolume.name for subvolume in wanted)
        pairs = [word for subvolume, file in zip(cycle(wanted), files) for word in (subvolume.key, file)]
        answer = ask([sys.executable, '-IS', '-c', _PLACE, *pairs], PLACING_S)
        if answer is None or answer.exit_status is None:
            return f'{names}: no answer within {PLACING_S:.0f} s; is a server down?'
        return f'{names}: {answer.stderr.strip()}' if answer.exit_status else None

    def behind(self, path: str, file: str, offset: Optional[int]) -> str:
        """Reads glusterfs.pathinfo of the file, and the connections of the client to its bricks."""
        bricks = [f'brick {host}:{place}' for place, host in (_lies_on(file) if file else ())]
        return '; '.join(bricks + [row.fault for row in self.targets(path).rows if row.fault])

    def _granted(self, file: str, layout: Layout) -> Granted:
        """Reads glusterfs.pathinfo of the file, which any user may read."""
        lies_on = _lies_on(file)
        known = _subvolumes(os.path.dirname(file))
        wanted, fault = _asked(layout, known)
        if fault is not None or not lies_on:
            why = fault or 'it has no glusterfs.pathinfo'
            return Granted(differs=f'{layout.name}: on which brick {file} lies is not known: {why}')
        if any(all(_is_one_of(host, place, subvolume, known) for place, host in lies_on) for subvolume in wanted):
            return Granted()
        names = ', '.join(subvolume.name for subvolume in wanted)
        where = ' + '.join(f'{host}:{place}' for place, host in lies_on)
        return Granted(differs=f'{file} should lie on {layout.name} ({names}), but lies on {where}')

    def _meter(self, path: str, mount: Mount) -> Meter:
        """Traffic between all bricks and the client; the counters of a new connection begin at 0."""
        if not _traffic(mount, ANSWER_S):
            return no_meter(f'the client shows no counters below {mount.point}/.meta')
        whose = f"this node's GlusterFS client of {mount.source}, names and attributes included"
        return Meter(whose, '', partial(_traffic, mount))


def state_of(files: Dict[str, str]) -> Dict[str, str]:
    """The settings in these files of .meta: version, command line, connections, translators with their options."""
    bricks = connections_of(files)
    types = {name[: -len('/type')]: text.strip() for name, text in files.items() if name.endswith('/type')}
    settings = {
        'client version': f'glusterfs {_quoted(files, "../../version")}',
        'client command': _quoted(files, '../../cmdline'),
        'translators': ', '.join(sorted(set(types.values()) - {'protocol/client', 'meta'})),
    }
    for name, connected in bricks.items():
        host, place = (files.get(f'{name}/options/remote-{word}', '?').strip() for word in ('host', 'subvolume'))
        settings[f'brick {name}'] = f'{host}:{place}{"" if connected else ", not connected"}'
    for name, type in types.items():
        if type.startswith(SHOWN):
            shown, options = pairs_of(files.get(f'{name}/private', ''), ' = '), f'{name}/options/'
            settings.update({f'{name} {key}': value for key, value in shown.items() if SETTING.search(key)})
            of_volume = [file for file in files if file.startswith(options)]
            settings.update({f'{name} {file[len(options) :]}': files[file].strip() for file in of_volume})
    return settings


def connections_of(files: Dict[str, str]) -> Dict[str, bool]:
    """True for each brick that the client reaches, by the name of the brick's protocol/client translator."""
    clients = {name: pairs_of(text, ' = ') for name, text in files.items() if 'xlator.protocol.client' in text}
    shown = {name: values['connected'] for name, values in clients.items() if 'connected' in values}
    return {name[: -len('/private')]: connected == '1' for name, connected in shown.items()}


def subvolumes_of(files: Dict[str, str]) -> Tuple[Subvolume, ...]:
    """The bricks or sets over which the volume distributes files, in its order; empty where these files show none."""
    below: Dict[str, Dict[int, str]] = {}
    for name, text in files.items():
        match = re.match(r'(.+)/subvolumes/(\d+)/name\Z', name)
        if match:
            below.setdefault(match.group(1), {})[int(match.group(2))] = text.strip()
    whole = [name for name in below if name.endswith('-dht')]
    if len(whole) != 1:
        return ()
    reached = connections_of(files)

    def clients(name: str) -> List[str]:
        children = [child for _, child in sorted(below.get(name, {}).items())]
        return [one for child in children for one in clients(child)] or [name]

    def brick(client: str) -> Tuple[str, str]:
        host, place = (files.get(f'{client}/options/remote-{word}', '?').strip() for word in ('host', 'subvolume'))
        return host, place

    subvolumes = []
    for _, name in sorted(below[whole[0]].items()):
        connected = tuple(reached.get(client, False) for client in clients(name))
        subvolumes.append(Subvolume(f'@{whole[0]}:{name}', tuple(map(brick, clients(name))), connected))
    return tuple(subvolumes)


def traffic_of(text: str) -> Dict[str, int]:
    """The bytes in the counters of all protocol/client translators; empty where none has any."""
    moved: Dict[str, int] = {}
    for way, number in _MOVED.findall(text):
        name = READ if way == 'read' else WRITTEN
        moved[name] = moved.get(name, 0) + int(number)
    return moved if len(moved) == 2 else {}


def inodes_of(files: Dict[str, str]) -> Optional[int]:
    """Number of inodes that the client keeps, by the memory of the distribution: a note for each. None if unseen."""
    if not files:
        return None
    kept = re.compile(r'gf_dht_mt_inode_ctx_t memusage\]\nnum_allocs = (\d+)')
    return sum(int(number) for text in files.values() for number in kept.findall(text))


def parse_files(text: str) -> Dict[str, str]:
    """The files by name in a text that has them after lines '=== name'."""
    pieces = re.split(r'^=== (.+)\n', text, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2]))


def _meta(mount: Mount, script: str) -> Dict[str, str]:
    """The client's files that the script prints; empty if it prints none, or not in time."""
    answer = ask(['sh', '-c', script, mount.point], ANSWER_S)
    return {} if answer is None or answer.exit_status is None else parse_files(answer.stdout)


def _traffic(mount: Mount, deadline_s: float) -> Dict[str, int]:
    answer = ask(['sh', '-c', _TRAFFIC, mount.point], deadline_s)
    return {} if answer is None or answer.exit_status != 0 else traffic_of(answer.stdout)


def _subvolumes(path: str) -> Tuple[Subvolume, ...]:
    mount, _ = look(path)
    return subvolumes_of(_meta(mount, _BRICKS)) if mount else ()


def _lies_on(file: str) -> List[Tuple[str, str]]:
    """The directory and host of each brick that a file lies on; none where the file does not tell."""
    answer = ask([sys.executable, '-IS', '-c', _WHERE, file], ANSWER_S)
    return _LIES_ON.findall(answer.stdout) if answer else []


def _asked(layout: Layout, known: Sequence[Subvolume]) -> Tuple[List[Subvolume], Optional[str]]:
    """The subvolumes that a layout asks for, and the reason if one of them is unknown, or None."""
    numbers = [int(number) for number in layout.asks[0][len('brick') :].split('_')]
    if max(numbers) < len(known):
        return [known[number] for number in numbers], None
    return [], f'the client has {len(known)} bricks, numbered from 0; there is no number {max(numbers)}'


def _is_one_of(host: str, place: str, wanted: Subvolume, known: Sequence[Subvolume]) -> bool:
    """True if a brick's directory and host are among the wanted ones; the host may have another name there."""
    hosts = [name for name, directory in wanted.bricks if directory == place]
    if not any(directory == place for subvolume in known if subvolume != wanted for _, directory in subvolume.bricks):
        return bool(hosts)
    if host.partition('.')[0] in [name.partition('.')[0] for name in hosts]:
        return True
    addresses = _addresses(host)
    return any(addresses & _addresses(name) for name in hosts)


def _addresses(host: str) -> Set[str]:
    answer = ask(['getent', 'ahosts', host], ANSWER_S)
    return {line.split()[0] for line in answer.stdout.splitlines()} if answer else set()


def _quoted(files: Dict[str, str], name: str) -> str:
    """The value in a file of the form { "Name": "value" }."""
    match = re.search(r'": "(.*)"', files.get(name, ''))
    return match.group(1) if match else unknown('the client does not show it')
