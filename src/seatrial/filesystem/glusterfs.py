"""GlusterFS through its FUSE client: what is cached twice, in the kernel and in the client, and its own counters.

The client shows itself below `.meta` in the root of the mount, to every user. Reading it asks no brick.

Caches (10.3, and its sources: inode.c, io-cache.c, md-cache.c, quick-read.c, nl-cache.c): the translators of the
client keep what they cache with the inode, and drop it when the kernel forgets the inode (FUSE_FORGET). drop_caches
makes the kernel forget all that nobody holds open. So it empties both, and no remount is needed; posix_fadvise drops
the kernel's pages alone, and io-cache answers the next read. Measured with 64 MiB, io-cache on and all timeouts at
600 s: after posix_fadvise the bricks sent 608 B, after drop_caches all of it.
"""

import re
import time
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from seatrial.filesystem.base import EMPTYING_S, Cold, Meter, no_meter
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, kernel_cold, look
from seatrial.filesystem.settings import unknown
from seatrial.model.ask import ask
from seatrial.model.telemetry import READ, WRITTEN

ANSWER_S = 10.0
FORGOTTEN_S = 10.0  # at most, for the client to work off what the kernel tells it to forget
POLL_S = 0.05

SHOWN = ('cluster/', 'performance/', 'features/')
"""The translators whose options are recorded. Those of protocol/client hold a password."""

SETTING = re.compile(r'(^max|size$|timeout$|limit$)')
"""Which of the values that these translators show of themselves are settings, and no counters."""

# Each file after a line with its name. Not by `grep -r`: that asks all bricks for free space at every directory.
_PRINT = 'cd "$0/.meta/graphs/active" && for f in %s; do [ -f "$f" ] && printf "\\n=== %%s\\n" "$f" && cat "$f"; done'
_OPTIONS = '$(grep -lE "^(%s)" */type | sed "s,type$,options/*,") */options/remote-*' % '|'.join(SHOWN)
_STATE = _PRINT % f'../../version ../../cmdline */type */private {_OPTIONS}'
_CONNECTIONS = _PRINT % '*/private'
_INODES = _PRINT % '*-dht/meminfo'
# One process that ends at once: it is asked every second. glusterd names the translators to the bricks so.
_TRAFFIC = 'exec cat "$0"/.meta/graphs/active/*-client-*/private'
_MOVED = re.compile(r'^total_bytes_(read|written) = (\d+)$', flags=re.MULTILINE)


class Connection(NamedTuple):
    """The connection of the client to one brick. received: bytes since it was made."""

    name: str
    connected: bool
    received: int


class GlusterFS(Mounted):
    """The FUSE client; the layout of a volume is its distribution over bricks, which only its administrator sets."""

    name = 'glusterfs'
    kernel_types = ('fuse.glusterfs', 'glusterfs')
    recovery_limit_s = 300.0
    recovery_source = 'above the 42 s of network.ping-timeout'
    can = ('cold reads', 'traffic', 'proof of cold reads')
    tried_on = '2026-11-21'
    sources = 'the client 10.3 and its sources'
    tried = 'GlusterFS 10.3, Linux 6.18, one node, distributed over four bricks (ci/lab-gluster)'
    no_layout = 'no layout: a volume places each file by the hash of its name, for all users alike'

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        files = _meta(mount, _STATE)
        return state_of(files) if files else {'client': unknown('it shows no .meta in the root of the mount')}

    def cold(self, path: str) -> Cold:
        """The kernel's caches, and with them what the client keeps with each inode."""
        mount, why_not = look(path)
        if mount is None:
            return Cold('', why_not)
        seen = inodes_of(_meta(mount, _INODES)) is not None
        return kernel_cold('' if seen else 'what the client has not yet forgotten: it shows no .meta to see it by')

    def empty_client_cache(self, path: str, deadline_s: float = EMPTYING_S) -> Optional[str]:
        """drop_caches, then a wait until the client has worked off what it was told to forget.

        Before that an inode can be found again with all that is cached of it.
        """
        fault = super().empty_client_cache(path, deadline_s)
        mount = look(path)[0] if fault is None else None
        return fault if mount is None else _wait_until_forgotten(mount)

    def fetched_bytes(self, path: str) -> Optional[int]:
        """What all bricks have sent to the client since its connections were made; made anew, they begin at 0."""
        mount, _ = look(path)
        found = connections_of(_meta(mount, _CONNECTIONS)) if mount else []
        return sum(each.received for each in found) if found else None

    def meter(self, path: str) -> Meter:
        """What the client has exchanged with all bricks; a connection that is made anew begins at 0."""
        mount, why_not = look(path)
        if mount is None:
            return no_meter(why_not)
        argv = ['sh', '-c', _TRAFFIC, mount.point]

        def look_at(deadline_s: float) -> Dict[str, int]:
            answer = ask(argv, deadline_s)
            return {} if answer is None or answer.exit_status != 0 else traffic_of(answer.stdout)

        if not look_at(ANSWER_S):
            return no_meter(f'the client shows no counters below {mount.point}/.meta')
        return Meter(f"this node's GlusterFS client of {mount.source}, names and attributes included", '', look_at)


def state_of(files: Dict[str, str]) -> Dict[str, str]:
    """The settings in these files of .meta: version, command line, connections, translators with their options."""
    bricks = connections_of(files)
    types = {name[: -len('/type')]: text.strip() for name, text in files.items() if name.endswith('/type')}
    found = {
        'client version': f'glusterfs {_quoted(files, "../../version")}',
        'client command': _quoted(files, '../../cmdline'),
        'bricks': f'{sum(each.connected for each in bricks)} of {len(bricks)} connected',
        'translators': ', '.join(sorted(set(types.values()) - {'protocol/client', 'meta'})),
    }
    for brick in bricks:
        host, place = (
            files.get(f'{brick.name}/options/remote-{word}', '?').strip() for word in ('host', 'subvolume')
        )
        found[f'brick {brick.name}'] = f'{host}:{place}{"" if brick.connected else ", not connected"}'
    for name, type in types.items():
        if type.startswith(SHOWN):
            found.update({f'{name} {key}': value for key, value in _options(files, name)})
    return found


def connections_of(files: Dict[str, str]) -> List[Connection]:
    """The connections to the bricks, by what each protocol/client shows of itself."""
    found = []
    for name, text in files.items():
        values = dict(_values(text))
        received = values.get('total_bytes_read', '')
        if 'xlator.protocol.client' in text and received.isdigit():
            found.append(Connection(name[: -len('/private')], values.get('connected') == '1', int(received)))
    return found


def traffic_of(text: str) -> Dict[str, int]:
    """The bytes in what the protocol/client translators show of themselves, summed; empty where none shows any."""
    moved: Dict[str, int] = {}
    for way, number in _MOVED.findall(text):
        name = READ if way == 'read' else WRITTEN
        moved[name] = moved.get(name, 0) + int(number)
    return moved if len(moved) == 2 else {}


def inodes_of(files: Dict[str, str]) -> Optional[int]:
    """How many inodes the client keeps, by the memory of the distribution, which has a note on each; None if unseen.

    A kind of memory of which there is none is not listed.
    """
    if not files:
        return None
    counts = [
        int(number)
        for text in files.values()
        for number in re.findall(r'gf_dht_mt_inode_ctx_t memusage\]\nnum_allocs = (\d+)', text)
    ]
    return sum(counts)


def parse_files(text: str) -> Dict[str, str]:
    """The files by their names, each after a line '=== name'."""
    pieces = re.split(r'^=== (.+)\n', text, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2]))


def _meta(mount: Mount, script: str) -> Dict[str, str]:
    """What the script prints of the client's files; empty if it shows none, or not in time."""
    answer = ask(['sh', '-c', script, mount.point], ANSWER_S)
    return {} if answer is None or answer.exit_status is None else parse_files(answer.stdout)


def _wait_until_forgotten(mount: Mount) -> Optional[str]:
    """Until the number of its inodes falls no more: those that are left are in use."""
    end = time.monotonic() + FORGOTTEN_S
    before, now = None, inodes_of(_meta(mount, _INODES))
    while now is not None and now != before:
        if time.monotonic() > end:
            return (
                f'the client has not forgotten in {FORGOTTEN_S:.0f} s what it had cached: {now} inodes, and falling'
            )
        time.sleep(POLL_S)
        before, now = now, inodes_of(_meta(mount, _INODES))
    return None


def _options(files: Dict[str, str], name: str) -> Iterator[Tuple[str, str]]:
    """What the volume sets for a translator, and what the translator shows as its settings."""
    for key, value in _values(files.get(f'{name}/private', '')):
        if SETTING.search(key):
            yield key, value
    for file, text in files.items():
        if file.startswith(f'{name}/options/'):
            yield file.rpartition('/')[2], text.strip()


def _values(text: str) -> Iterator[Tuple[str, str]]:
    """The lines 'key = value'."""
    for line in text.splitlines():
        key, equals, value = line.partition(' = ')
        if equals:
            yield key.strip(), value.strip()


def _quoted(files: Dict[str, str], name: str) -> str:
    """The value in a file of the form { "Name": "value" }."""
    match = re.search(r'": "(.*)"', files.get(name, ''))
    return match.group(1) if match else unknown('the client does not show it')
