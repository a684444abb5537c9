"""The interface of all file-system types. Only this room runs `lfs` and similar programs, each with a deadline."""

import itertools
import os
import shutil
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple, Union

from seatrial.filesystem.mounts import LOCAL, Mount, mount_of, past_links
from seatrial.model.ask import Answer, ask
from seatrial.model.layout import Layout, target_name
from seatrial.model.quoted_value import key_path
from seatrial.model.record import TargetRow
from seatrial.model.state import UNREAD
from seatrial.model.telemetry import RpcSizes, Served

EMPTYING_S = 600.0
AS_IT_IS = Layout()
SBIN = '/usr/sbin'  # directory of lctl and beegfs, often not on the PATH of a batch job of an ordinary user


class LayoutError(ValueError):
    """Settings that are not a layout of the type: the keys of the faulty value, and a sentence with the remedy."""

    def __init__(self, keys: Sequence[Union[str, int]], sentence: str) -> None:
        self.keys, self.sentence = tuple(keys), sentence
        super().__init__(': '.join(part for part in (key_path(keys), sentence) if part))


class NoAnswer(Exception):
    """A file system or its program did not answer in time, refused, or does not exist; the message is a sentence."""


def program(name: str) -> str:
    """The path of a program on the PATH, else in /usr/sbin."""
    return shutil.which(name) or os.path.join(SBIN, name)


def answered(argv: Sequence[str], deadline_s: float, place: str = '') -> Answer:
    """The answer of a program that ended; otherwise raises NoAnswer. place: for its message, else the program"""
    answer = ask(list(argv), deadline_s)
    if answer is None:
        raise NoAnswer(f'{argv[0]} is not installed on this node')
    if answer.exit_status is None:
        raise NoAnswer(f'{place or argv[0]}: no answer within {deadline_s:.0f} s; is a server down?')
    return answer


class Capacity(NamedTuple):
    """The room left for an ordinary user, in bytes and inodes; None is unknown or unlimited."""

    bytes: Optional[int]
    inodes: Optional[int]
    narrowest: str = ''  # the target that limits it, as a clause; empty if none does
    unseen: str = ''  # what is not known, or known only as a bound, as a clause; or empty


def tightest(*left: Capacity) -> Capacity:
    """The fewest bytes and inodes that any of these leaves; None if no limit is known."""
    free_bytes = (room.bytes for room in left if room.bytes is not None)
    free_inodes = (room.inodes for room in left if room.inodes is not None)
    return Capacity(min(free_bytes, default=None), min(free_inodes, default=None))


class Capability(NamedTuple):
    """A feature that this version or this user may lack."""

    name: str
    available: bool
    detail: str  # the reason why it is missing, or empty


class Cold(NamedTuple):
    """The means of this user to empty this node's caches of files under a path, or why there are none."""

    how: str  # the caches that are emptied, and the means, for the record; empty if none can be
    why_not: str = ''  # empty if it is possible; else a sentence with the obstacle
    kept: str = ''  # caches of this node that stay full, or empty; P16 treats those of servers
    forgets: bool = True  # True if caches.forget() reaches all caches here; else only empty_client_cache() does

    @property
    def possible(self) -> bool:
        """True if empty_client_cache can help. Only counters show that a read was cold after it (rule P2)."""
        return not self.why_not


class Granted(NamedTuple):
    """The layout that a file got, compared with the requested one."""

    targets: str = ''  # 'all = 7 of 8 OSTs' if a layout over all targets got fewer; else ''
    everywhere: bool = True  # True if every target still has a part of it, if only of another component
    differs: Optional[str] = None  # how its layout differs from the requested one, with both; or None


class Targets(NamedTuple):
    rows: Tuple[TargetRow, ...]  # one for each target, with its free space and faults
    servers: Dict[str, str]  # server by the name of its target (model.layout.target_name), if this node sees it
    unseen: str = ''  # why they are not visible, as a sentence; empty if they are, or if the type has none


class Lost(NamedTuple):
    """Connections that were lost between two readings."""

    lost: str = ''  # the lost connections, as a clause; empty if none, or if none is visible
    unseen: Optional[str] = None  # why they are unknown, as a clause; None if the type shows no connections
    worse: str = ''  # what else became worse, as a clause, or empty


class Behaviour(NamedTuple):
    close_can_fail: bool = True  # True if close(2) may fail for an accepted write, as on a server
    reads_are_counted: bool = False  # True if the kernel counts a process's reads from storage (rule P2)
    allocates: bool = False  # True if stat(2) counts all blocks that the synced data of a file take
    in_memory: str = ''  # a clause that its files are only in memory, so that no read is cold; or empty
    below: str = ''  # a cache that may answer reads and that no counter here shows, as a clause; or empty
    inodes_last: bool = True  # False if the inode number of a file may change, so that it identifies nothing
    gives_up: str = ''  # how I/O fails while a server is away, instead of waiting, as a clause; empty if it waits
    block_size: int = 0  # bytes of the blocks that a transfer should divide or be made of; 0: none are known
    local_locks: str = ''  # why another node does not see a lock, as a clause; empty if it does, or if unknown


class Exchanged(NamedTuple):
    """Bytes that this node has exchanged so far by its own counters, for all processes together; None is unknown."""

    # read from the servers: over a timed region the proof of a cold read where the kernel counts none (rule P2)
    fetched: Optional[int] = None
    sent: Optional[int] = None  # written, all synced data included (T25); None also where data can go another way
    contradiction: str = ''  # what shows that the counters are wrong, as a clause; or empty


class Meter(NamedTuple):
    """This node's counters of its traffic with a file system: found once, read often, cleared never."""

    what: str  # whose traffic they count, in words, for a caption; empty where nothing can be counted
    why_not: str  # why not, as a sentence; empty where it can be
    # given seconds, the counters so far by name (READ, WRITTEN: bytes), nothing without an answer; it never raises
    look: Callable[[float], Dict[str, int]]
    # given seconds, the targets with an unanswered request of this node, or unsent data that fill one; asks no server
    waited_for: Callable[[float], FrozenSet[str]] = lambda deadline_s: frozenset()


class Driver:
    """The interface of a type. It has no state; each method has the answer of a type that lacks the feature."""

    name = ''  # type in trial.yaml
    kernel_types: Tuple[str, ...] = ()  # what the kernel calls its mounts; without any, only any_mount accepts one
    any_mount = False
    fuse_source = ''  # how the source of a mount of type fuse begins that is of this type too; empty: none is
    without_failover: Tuple[str, ...] = ()  # kernel types whose I/O no failover can block
    recovery_limit_s = 300.0  # seconds for which a healthy failover may block I/O
    recovery_source = ''  # where that is written
    can: Tuple[str, ...] = ()  # what it does beyond capacity, quota and settings (docs/reference/file-systems.md)
    tried = ''  # where the driver has measured for real ('GlusterFS 10.3, Linux 6.1'); empty: untried
    tried_on = ''  # when
    sources = ''  # what the driver was written from
    no_layout = 'no layout: this file-system type has no layouts to set'  # why none; empty where they can be set
    pins: Tuple[str, ...] = ()  # the kinds of targets (model.layout.TARGETS) on which files can be put by choice
    no_pinning = ''  # why on no others, where layouts can be set
    servers_apart = False  # whether its targets can be read while the mount does not answer
    watches = False  # whether reading its targets asks no server, so that it can be done around every launch
    kernel_counts_reads = True  # whether the kernel counts a process's reads where the files lie on a device
    hands_down = True  # whether files take over the layout of their directory; else only make_files() gives them one
    alike: Optional[Layout] = None  # in which the files of all tasks lie on the same targets, if any user may give it

    def same_storage(self, one: Mount, other: Mount) -> bool:
        """True if two mounts of the type have one storage, by their sources; one such as tmpfs's names nothing."""
        return one.source == other.source and (one.source.startswith('/') or ':' in one.source)

    def capacity(self, path: str, layout: Layout = AS_IT_IS, files: Optional[int] = None) -> Capacity:
        """Free bytes and inodes, before the quota, for `files` files of a layout if given. Raises OSError."""
        raise NotImplementedError

    def targets(self, path: str) -> Targets:
        """All targets with their faults, by a deadline. Empty where the type has none. Never raises."""
        return Targets((), {})

    def placed(self, directory: str) -> str:
        """Place of a directory, and layout of new files in it; empty where the type has no choice. Never raises."""
        return ''

    def connections(self, path: str) -> Any:
        """This node's connections, for `lost` to compare; None: not to be seen around each launch. Never raises."""
        return self.targets(path).rows if self.watches else None

    def lost(self, before: Any, after: Any) -> Lost:
        """Faults of targets that the later reading has and the earlier one had not."""
        known = {row.name: row for row in before or ()}
        both = [(known[row.name], row) for row in after or () if row.name in known]
        lost = [f'{row.name}: {row.fault}' for then, row in both if row.fault and not then.fault]
        worse = [f'{row.name}: {word}' for then, row in both for word in row.troubles if word not in then.troubles]
        return Lost('; '.join(lost), worse='; '.join(worse))

    def behind(self, path: str, file: str, offset: Optional[int]) -> str:
        """The target behind an error, as a clause: where this file lies at this offset (None: everywhere), and
        servers that this node has lost; empty where nothing is known. Never raises."""
        return ''

    def behaviour(self, path: str) -> Behaviour:
        """The behaviour of I/O there; the defaults stand for what cannot be seen. Never raises."""
        return Behaviour()

    def quota(self, path: str) -> Capacity:
        """The room that the user's quotas leave; None where there is none or it cannot be asked."""
        raise NotImplementedError

    def state(self, path: str) -> Dict[str, str]:
        """The settings that a figure depends on: versions, mount and volume options, tunables; no free space or
        counters. Never raises: what cannot be read is 'unknown: ' with the reason (rule P22b)."""
        raise NotImplementedError

    def layout(self, name: str, settings: Any) -> Layout:
        """The layout that a site writes with these settings. Raises LayoutError."""
        raise LayoutError([], f'no layout can be set on {self.name}; remove it')

    def adopted(self, layout: Layout) -> Optional[Layout]:
        """The layout of this type that asks for the same as one that a check declares, or None."""
        return layout if layout.type in ('', self.name) else None

    def on_targets(self, name: str, kind: str, numbers: Sequence[int], like: Layout = AS_IT_IS) -> Layout:
        """The layout of files over exactly these targets, of a kind of `pins`, with the stripes of `like` if any."""
        raise ValueError(self.no_layout)

    def layout_fault(self, layout: Layout, path: str) -> Optional[str]:
        """A sentence that says why the layout cannot be set and proved on this directory, or None. Writes nothing."""
        if layout.is_default:
            return None
        why = self.no_layout or f'it is one of {layout.type}'
        return f"the layout '{layout.name}' cannot be set on a file system of type {self.name}: {why}"

    def set_layout(self, directory: str, layout: Layout) -> Optional[str]:
        """Give an empty directory the layout for new files in it. Returns the fault, or None."""
        return self.layout_fault(layout, directory)

    def reach(self, path: str, layout: Layout, size: int) -> Optional[Tuple[int, ...]]:
        """The OSTs that the end of a file of this size may lie on; None: all of them, (): unknown."""
        return None

    def granted(self, file: str, layout: Layout) -> Granted:
        """Compare the layout of a file with the one that it was made under."""
        return Granted(differs=self.layout_fault(layout, file))

    def make_files(self, files: Sequence[str], layout: Layout, inside: str) -> Optional[str]:
        """Make these empty files with the layout, in the directory `inside` or below. Returns the fault, or None."""
        return self.layout_fault(layout, inside)

    def capabilities(self, path: str) -> Tuple[Capability, ...]:
        """The features that Seatrial uses, as this version and this user have them. Never raises."""
        cold = self.cold(path)
        return (Capability('emptying the cache of this client', cold.possible, cold.why_not),)

    def cold(self, path: str) -> Cold:
        """Means, by permission alone, to empty this node's caches of files under the path, or why there are none."""
        return Cold('', f'it is not known how a client of type {self.name} empties its caches')

    def empty_client_cache(self, path: str, deadline_s: float = EMPTYING_S) -> Optional[str]:
        """Write dirty data, then empty this node's caches of files under the path, within about deadline_s. Returns
        None, or a sentence with the fault: the next read is then labelled as of unknown temperature."""
        return self.cold(path).why_not or None

    def exchanged(self, path: str) -> Exchanged:
        """The traffic with the servers by the counters of this node. Never raises."""
        return Exchanged()

    def meter(self, path: str) -> Meter:
        """The counters of this node's traffic with the file system under the path. Changes nothing, never raises."""
        return no_meter(f'it is not known what a client of type {self.name} counts')

    def rpc_sizes(self, path: str, when: str) -> RpcSizes:
        """The sizes of all requests of this node so far; when: 'before' or 'after' the case. Never raises."""
        return RpcSizes(when, (), f'a client of type {self.name} shows no sizes of its requests')

    def served(self, text: str, job: str) -> Tuple[Tuple[Served, ...], str]:
        """Counters of a Slurm job in the output of a site's command to the servers; and the fault of that output."""
        return (), ''


def is_of(driver: Driver, mount: Mount) -> bool:
    """True if the kernel's words for a mount show that it is of the driver's type."""
    of_fuse = driver.fuse_source and mount.type.startswith('fuse') and mount.source.startswith(driver.fuse_source)
    return bool(of_fuse) or mount.type in driver.kernel_types


def mount_by_table(driver: Driver, path: str) -> Optional[Mount]:
    """The mount of the driver's type that the path is on, or of `posix` any but a local one, by the kernel's table:
    asks no server. What lies on the root, or where automount has not mounted yet, is not known."""
    mount = mount_of(past_links(path))
    seen = mount is not None and mount.point != '/' and mount.type not in (*LOCAL, 'autofs')
    return mount if mount and (is_of(driver, mount) or (driver.any_mount and seen)) else None


def mounted_from(driver: Driver, path: str) -> str:
    """Where that mount comes from, to be put between the path and a verb; empty where it is not known."""
    mount = mount_by_table(driver, path)
    return f', mounted from {mount.source},' if mount else ''


def may_block_s(driver: Driver, mount: Optional[Mount]) -> float:
    """Seconds for which a healthy failover may block I/O of this mount; None: it is not seen from here."""
    type_ = mount.type if mount else next(iter(driver.without_failover), '')
    return 0.0 if type_ in driver.without_failover else driver.recovery_limit_s


def type_fault(driver: Driver, mount: Optional[Mount]) -> Optional[str]:
    """The reason why a mount cannot be a file system of the driver's type, as a sentence, or None."""
    if driver.any_mount or (mount is not None and is_of(driver, mount)):
        return None
    what = 'no mount is visible there' if mount is None else f'its mount is {mount.description()}'
    return f'trial.yaml says type {driver.name}, but {what}'


def conditions(targets: Targets) -> Dict[str, str]:
    """The state of targets as settings (Driver.state): by kind their numbers, and those with faults; the routes."""
    shown: Dict[str, str] = {'targets': UNREAD + targets.unseen} if targets.unseen else {}
    for kind in dict.fromkeys(row.kind for row in targets.rows):
        rows = [row for row in targets.rows if row.kind == kind]
        attention: Dict[str, List[int]] = {}
        for row in rows:
            for word in (*(() if row.active or row.fault else ('inactive',)), *row.flags, *filter(None, [row.fault])):
                attention.setdefault(word, []).append(row.number)
        words = [f'{len(rows)}: {spelled([row.number for row in rows])}']
        shown[f'{kind}s'] = '; '.join(words + [f'{kind} {spelled(ids)} {word}' for word, ids in attention.items()])
    routes = sorted({row.route for row in targets.rows if row.route})
    return {**shown, 'route': '; '.join(routes)} if routes else shown


def spelled(indices: Sequence[int]) -> str:
    """Indices as people write them: 0-3, 7."""
    groups = itertools.groupby(enumerate(sorted(set(indices))), lambda pair: pair[1] - pair[0])
    runs = ([index for _, index in pairs] for _, pairs in groups)
    return ', '.join(f'{run[0]}-{run[-1]}' if len(run) > 1 else str(run[0]) for run in runs) or 'none'


def pinned(driver: Driver, kind: str, number: int) -> Layout:
    """The layout that puts files on one target alone; its name is that of the target."""
    return driver.on_targets(target_name(kind, number), kind, (number,))


def no_meter(why_not: str) -> Meter:
    return Meter('', why_not, lambda deadline_s: {})
