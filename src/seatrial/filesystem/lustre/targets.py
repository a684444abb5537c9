"""The targets of a Lustre as lfs and lctl show them: space, status, pools, devices, connections, quota. Each parser
understands every line of a text, or raises NotUnderstood. Forms: a genuine 2.17; lfs.c, liblustreapi.c from 2.12."""

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.filesystem.layout_words import ALL
from seatrial.filesystem.lustre.layout import LayoutComponent, LustreLayout
from seatrial.filesystem.lustre.params import NotUnderstood, matched, number, whole_lines
from seatrial.filesystem.lustre.striping import Inventory

FLAGS = {  # the letters behind a line of `lfs df` (obd_statfs_state_names in lustre_user.h)
    'D': 'degraded',
    'R': 'read-only',
    'N': 'no new objects',
    'S': 'out of space',
    'I': 'out of inodes',
    'f': 'flash',
    'a': 'a sum',
}
TAKES_NO_OBJECTS = frozenset('RNSI')  # a degraded target takes some where no other is left
UNEQUAL = 0.17  # free space that differs by more has emptier targets preferred (LOV_QOS_DEF_THRESHOLD_RR_PCT)
RARELY = 0.01  # a target with no more than this chance of a file of the case does not limit the others
KIB = 1024
LNET_KEYS = ('credits', 'peer_credits', 'drop_count')

_UUID = re.compile(r'(?P<fsname>\S+)-(?P<kind>OST|MDT)(?P<index>[0-9a-f]{4})_UUID\Z')
_DF_ROW = re.compile(
    r'(?P<uuid>\S+)\s+(?P<total>\d+)\s+-?\d+\s+(?P<free>\d+)\s+\d+%\s+\S.*\[(?P<kind>OST|MDT):(?P<index>\d+)\]'
    r'(?:\s+(?P<flags>\S+))?\s*\Z'
)
_DF_FAULT = re.compile(r'(?P<uuid>\S+)\s*: (?P<fault>.+)\Z')
_NAMELESS = re.compile(r'(?P<kind>OST|MDT)(?P<index>[0-9a-f]{4})\Z')  # what mntdf in lfs.c prints without a UUID
_DF_SUM = re.compile(r'filesystem[_ ]summary:\s+(\d+)\s+(-?\d+)\s+(\d+)\s+\d+%\s')
_TARGET = re.compile(r'(\d+): (\S+) (ACTIVE|INACTIVE)\s*\Z')
_ACTIVE = re.compile(r'(\S+) (in)?active\.\Z')
_CHECK_ERROR = re.compile(r"lfs check: error: check '([^']+)': (.+) \((\d+)\)\Z")
_QUOTA_TITLE = re.compile(r'Disk quotas for (usr|grp|prj) .+ \([ugp]id \d+\):\Z')
_QUOTA_FIELDS = 8
_PROJECT = re.compile(r' *(\d+) ([P-]) /.*\n\Z')
_VERSION = re.compile(r'\b(\d+\.\d+\.\d+(?:\.\d+)?[^\s,]*)')
_OPTION = re.compile(r'(?<![\w-])(--[a-z][\w-]*|-[A-Za-z])(?![\w-])')
_INSTANCE = re.compile(r'(\S+)-([0-9a-f]{8,16})(?: (\S.*))?\n\Z')
_LNET_KEY = re.compile(r'[\s-]*([a-z][\w ]*):\s*(\S.*)\Z')


class Space(NamedTuple):
    """One line of `lfs df`: bytes, or inodes of `lfs df -i`."""

    uuid: str
    kind: str
    number: int  # the target's index
    total: int = 0
    free: int = 0
    flags: str = ''  # the letters behind it (FLAGS)
    fault: str = ''  # what stands in the place of the sizes, as 'inactive device', or empty

    @property
    def takes_objects(self) -> bool:
        return not self.fault and not TAKES_NO_OBJECTS & set(self.flags)


class Spaces(NamedTuple):
    """The output of `lfs df`; incomplete if it ended before its summary: it blocks at a target that is away."""

    rows: Tuple[Space, ...]
    complete: bool

    def of(self, kind: str) -> Tuple[Space, ...]:
        return tuple(row for row in self.rows if row.kind == kind)


class TargetState(NamedTuple):
    """One line of `lfs osts` or `lfs mdts`. active: this client uses the target, which may yet be away."""

    number: int
    uuid: str
    active: bool


class QuotaRow(NamedTuple):
    """Usage of one user, group or project, in bytes and inodes, and the limit in effect: the hard one, or without one
    the soft one; past its grace, the usage itself. A limit of 0 is none."""

    who: str  # 'usr', 'grp' or 'prj'
    bytes_used: int
    bytes_limit: int
    inodes_used: int
    inodes_limit: int
    exact: bool = True  # False where lfs marks numbers as inaccurate, because a target did not answer


class ClientMount(NamedTuple):
    """A mount as `lfs getname` names it: 'lustre' and 'ffff888105ab7000' at /mnt/lustre, or at '' if not reported."""

    fsname: str
    instance: str
    path: str


def parse_df(text: str) -> Spaces:
    """`lfs df`, with -v, -i or -p; output that blocked is incomplete but valid; rounded numbers (-h) are refused."""
    head, *lines = _headed(text, r'UUID\s+(1K-blocks|Inodes)\s', 'lfs df')
    unit = KIB if '1K-blocks' in head else 1
    rows: List[Space] = []
    for place, line in enumerate(lines):
        if _DF_SUM.match(line):
            if any(rest.strip() for rest in lines[place + 1 :]):
                raise NotUnderstood('more than one file system is shown', lines[place + 1])
            return Spaces(tuple(rows), True)
        if line.strip():
            rows.append(_space(line, unit))
    return Spaces(tuple(rows), False)


def parse_targets(text: str) -> Tuple[TargetState, ...]:
    """`lfs osts` or `lfs mdts`, for one file system."""
    lines = _headed(text, r'\s*(OBDS|MDTS):\s*\Z', 'a list of targets')[1:]
    rows = (matched(_TARGET, line, 'not a target').groups() for line in lines)
    return tuple(TargetState(int(index), uuid, state == 'ACTIVE') for index, uuid, state in rows)


def parse_check(stdout: str, stderr: str) -> Dict[str, str]:
    """`lfs check`, which exits with 0: the error of each device on stderr, 'Transport endpoint is not connected
    (107)'; 'inactive' for one that is not connected; else empty."""
    faults = {}
    for line in whole_lines(stdout):
        match = matched(_ACTIVE, line, 'not a connection')
        faults[match.group(1)] = 'inactive' if match.group(2) else ''
    for line in whole_lines(stderr):
        match = matched(_CHECK_ERROR, line, 'not the fault of a connection')
        faults[match.group(1)] = f'{match.group(2)} ({match.group(3)})'
    if not faults:
        raise NotUnderstood('no connection is shown', stdout)
    return faults


def parse_pools(text: str) -> Tuple[str, ...]:
    """`lfs pool_list FSNAME`: the names of its pools, without the file system's."""
    head, *lines = _headed(text, 'Pools from ', 'a list of pools')
    fsname = head[len('Pools from ') :].rstrip(':')
    pool = re.compile(rf'{re.escape(fsname)}\.(.*)')
    return tuple(matched(pool, line, f'not a pool of {fsname}').group(1) for line in lines)


def parse_pool(text: str) -> Tuple[int, ...]:
    """`lfs pool_list FSNAME.POOL`: the indices of its object targets."""
    return tuple(target_of(line)[1] for line in _headed(text, 'Pool: ', 'a pool')[1:])


def parse_quota(text: str) -> Tuple[QuotaRow, ...]:
    """`lfs quota MOUNT`, with -u, -g or -p; lines of -v and titles without a row (nothing to see) are left out."""
    rows: List[QuotaRow] = []
    who = ''  # user, group or project in the title above
    lines = whole_lines(text)
    for place, line in enumerate(lines):
        title = _QUOTA_TITLE.match(line)
        if title:
            who = title.group(1)
            if place + 1 < len(lines) and not re.match(r'\s*Filesystem\s+kbytes\s', lines[place + 1]):
                raise NotUnderstood('not the heading of a quota in KiB', lines[place + 1])
        elif who and not re.match(r'\s*Filesystem\s', line):
            values = line.split()[-_QUOTA_FIELDS:]
            if len(values) == _QUOTA_FIELDS:  # not of a long mount point's name, which has a line to itself
                # In brackets or with a star stands what is not exact, or too much.
                numbers = [number(value.strip('[]*'), line) for value in (*values[:3], *values[4:7])]
                blocks, soft, hard, inodes, inodes_soft, inodes_hard = numbers
                limit = blocks if values[3] == 'none' else hard or soft
                inodes_limit = inodes if values[7] == 'none' else inodes_hard or inodes_soft
                exact = not any(value.startswith('[') for value in values)
                rows.append(QuotaRow(who, blocks * KIB, limit * KIB, inodes, inodes_limit, exact))
                who = ''
    if not rows:
        raise NotUnderstood('no quota is shown', text)
    return tuple(rows)


def parse_project(text: str) -> int:
    """`lfs project -d DIRECTORY`: the project of the files that are made in it (P), or 0 (lfs_project.c)."""
    match = matched(_PROJECT, text, 'not the project of a directory')
    return int(match.group(1)) if match.group(2) == 'P' else 0


def parse_mounted(text: str) -> ClientMount:
    """`lfs getname PATH`: the mount of the path; 2.17 prints only its name."""
    match = matched(_INSTANCE, text, 'not the name of a mount')
    return ClientMount(match.group(1), match.group(2), match.group(3) or '')


def parse_interfaces(text: str) -> Tuple[str, ...]:
    """`lnetctl net show -v`, without loopback: '10.0.2.15@tcp up, credits 256, peer_credits 8, drop_count 0'."""
    interfaces: List[Dict[str, str]] = []
    for line in whole_lines(text):
        match = _LNET_KEY.match(line)
        if match is not None and match.group(1) == 'nid':
            interfaces.append({})
        if match is not None and interfaces:
            interfaces[-1].setdefault(match.group(1), match.group(2))
    if not interfaces or any(key not in interface for interface in interfaces for key in ('status', *LNET_KEYS)):
        raise NotUnderstood(f'no interface of LNet with {", ".join(LNET_KEYS)} is shown', text)
    return tuple(
        ', '.join([f'{interface["nid"]} {interface["status"]}', *(f'{key} {interface[key]}' for key in LNET_KEYS)])
        for interface in interfaces
        if not interface['nid'].endswith('@lo')
    )


def parse_version(text: str) -> str:
    """`lfs --version`, `lctl --version`, or the parameter version: '2.17.0'."""
    match = _VERSION.search(text)
    if match is None:
        raise NotUnderstood('no version is reported', text)
    return match.group(1)


def parse_usage(text: str) -> Tuple[str, ...]:
    """`lfs help COMMAND` or `lctl help COMMAND`: the options that the usage text names, long and short ones."""
    usage = re.search(r'^usage:.*', text, re.DOTALL | re.IGNORECASE | re.MULTILINE)
    if usage is None:
        raise NotUnderstood('not a usage text', text)
    return tuple(sorted(set(_OPTION.findall(usage.group(0)))))


def target_of(uuid: str) -> Tuple[str, int]:
    """The file system and the index in a target's name: lustre-OST000a_UUID gives 'lustre', 10. NotUnderstood."""
    match = matched(_UUID, uuid, 'not the name of a target')
    return match.group('fsname'), int(match.group('index'), 16)


def room(layout: LustreLayout, files: int, spaces: Sequence[Space], there: Inventory) -> Optional[int]:
    """Bytes that `files` new files of equal size can hold together with this layout; None where that is unknown: the
    free bytes of the fullest target in use times the targets in use. The last component counts; data on the MDT are
    left out. Every mirror takes the same again."""
    last = layout.pieces[-1]
    used = in_use(layout, files, spaces, there)
    if not used or (last.osts and len(used) < len(last.osts)):
        return None if not spaces else 0
    if last.start_ost is not None:
        files = 1  # all of them begin on the same target
    return used[0].free * min(len(used), files * _width(last, len(used))) // layout.mirrors


def in_use(layout: LustreLayout, files: int, spaces: Sequence[Space], there: Inventory) -> Tuple[Space, ...]:
    """The object targets on which `files` files of this layout may lie, the fullest first. If at most half are
    needed, targets are left out that are so full that hardly any stripe falls to them (lod_ost_alloc_qos in
    lod_qos.c, lu_tgt_qos_weight_calc in lu_tgt_descs.c)."""
    last = layout.pieces[-1]
    reach = set(last.osts or there.reach(last.pool))
    usable = [row for row in spaces if row.kind == 'OST' and row.number in reach and row.takes_objects]
    usable.sort(key=lambda row: row.free)
    if last.osts or last.start_ost is not None or not usable or usable[0].free > (1 - UNEQUAL) * usable[-1].free:
        return tuple(usable)
    width = _width(last, len(usable))
    stripes, whole, full, passed = files * width * layout.mirrors, sum(row.free for row in usable), 0, 0
    for row in usable:
        full += row.free
        if 2 * width > len(usable) - passed - 1 or stripes * full > RARELY * (whole - full):
            break
        passed += 1
    return tuple(usable[passed:])


def left(rows: Sequence[QuotaRow]) -> Tuple[Optional[int], Optional[int]]:
    """Bytes and inodes that the tightest row leaves; None without a limit."""
    of_bytes = [max(0, row.bytes_limit - row.bytes_used) for row in rows if row.bytes_limit]
    of_inodes = [max(0, row.inodes_limit - row.inodes_used) for row in rows if row.inodes_limit]
    return min(of_bytes, default=None), min(of_inodes, default=None)


def _width(piece: LayoutComponent, targets: int) -> int:
    if piece.osts or piece.stripe_count == ALL:
        return targets
    return piece.overstripe_count or piece.stripe_count or 1


def _space(line: str, unit: int) -> Space:
    match = _DF_ROW.match(line)
    if match is not None:
        total, free = (int(match.group(name)) * unit for name in ('total', 'free'))
        kind, index = match.group('kind'), int(match.group('index'))
        return Space(match.group('uuid'), kind, index, total, free, match.group('flags') or '')
    match = _DF_FAULT.match(line)
    name = (_UUID.match(match.group('uuid')) or _NAMELESS.match(match.group('uuid'))) if match else None
    if match is None or name is None:
        raise NotUnderstood('not a target of lfs df', line)
    return Space(match.group('uuid'), name.group('kind'), int(name.group('index'), 16), fault=match.group('fault'))


def _headed(text: str, head: str, what: str) -> List[str]:
    """The lines, of which the first must have this form."""
    lines = whole_lines(text)
    if not lines or not re.match(head, lines[0]):
        raise NotUnderstood(f'not the heading of {what}', lines[0] if lines else text)
    return lines
