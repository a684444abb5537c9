"""Any file system with POSIX semantics: statvfs, quota(1), the kernel's caches. Other types build on Mounted."""

import contextlib
import os
import re
import stat
import time
from typing import Callable, Dict, Iterable, List, Optional, Tuple

from seatrial.filesystem import base, caches
from seatrial.filesystem.layout_words import Stripes, plain_stripes
from seatrial.filesystem.mounts import IN_MEMORY, KERNEL_CACHED, LOCAL, OF_LINUX, Mount, mount_of, read_proc
from seatrial.model.ask import ask, unresponsive
from seatrial.model.layout import Layout
from seatrial.model.state import UNREAD
from seatrial.model.telemetry import READ, WRITTEN

QUOTA_DEADLINE_S = 10.0
QUOTA_BLOCK = 1024  # quota(1): blocks of 1 KiB
UNLIMITED = {('user', 0), ('group', 0)}  # a limit that XFS shows of them is the default of all others (xfs_quota(8))
_QUOTA_OPTION = re.compile(r'\b(?:usr|grp|u|g)j?quota\b')
_QUOTA_TITLE = re.compile(r'Disk quotas for (user|group) .*\([ug]id ([0-9]+)\):')
ONE_DEVICE = ('ext2', 'ext3', 'ext4', 'xfs', 'vfat', 'exfat')
UNCOMPRESSED = ('ext2', 'ext3', 'ext4', 'xfs')  # kernel types whose data lie on the device of the mount
ANSWER_S = 10.0

BLOCK_DEVICES = '/sys/dev/block'
COUNTABLE = range(1 << 62)  # f_favail beyond it is of one that does not know: CephFS all ones, OrangeFS 2^63
SECTOR = 512  # Documentation/block/stat.rst of the kernel: sectors of 512 B, whatever the device's own are

DEVICE_SETTINGS = ('rotational', 'scheduler', 'nr_requests', 'write_cache', 'max_sectors_kb')
IDENTITY = (  # they identify the file system, the place of new files, and whether quotas count these
    *('mounted', 'mount options', 'client version', 'file system', 'cluster', 'gpfs storage pool name'),
    *('gpfs fileset name', 'gpfs metadata replication', 'gpfs data replication', 'gpfs Misc attributes'),
    *('block size', 'default layout', 'default directory layout', 'buddy groups', 'beegfs quotaEnabled'),
)
DIRTY_SETTINGS = ('dirty_background_bytes', 'dirty_background_ratio', 'dirty_bytes', 'dirty_ratio')


class Mounted(base.Driver):
    def capacity(self, path: str, layout: Layout = base.AS_IT_IS, files: Optional[int] = None) -> base.Capacity:
        """statvfs(3) gives f_bavail and f_favail; no limit where it counts no inodes, or too many."""
        seen = os.statvfs(path)
        counted = seen.f_files and seen.f_favail in COUNTABLE
        return base.Capacity(seen.f_bavail * seen.f_frsize, seen.f_favail if counted else None)

    def quota(self, path: str) -> base.Capacity:
        """quota(1) of the user and of the group of new files; a directory's project shows in statvfs(3). Root may
        exceed all (quotactl(2), CAP_SYS_RESOURCE), on XFS only quotas of the ids 0. Unknown without an answer."""
        user, mount = os.geteuid(), mount_of(os.path.realpath(path))
        if mount is None or (user == 0 and mount.type != 'xfs'):
            return base.Capacity(None, None)
        group, output, unseen = group_of_new_files(path), '', ''
        for kind, whose in (('--user', user), ('--group', group)):
            rows = ['--verbose', '--no-wrap', '--raw-grace', f'--filesystem={mount.point}']
            answer = ask(['quota', kind, *rows, str(whose)], QUOTA_DEADLINE_S)
            output += answer.stdout if answer else ''
            if (answer is None or answer.exit_status is None) and _QUOTA_OPTION.search(mount.options):
                unseen = f'the quota that {mount.point} is mounted with: quota(1) does not answer'
        return parse_quota(output, user, group)._replace(unseen=unseen)

    def state(self, path: str) -> Dict[str, str]:
        mount, why_not = look(path)
        if mount is None:
            return {'mounted': unknown(why_not)}
        return {
            'client version': _client_version(mount.type),
            'mounted': f'{mount.source} on {mount.point} type {mount.type}',
            'mount options': mount.options,
            **_device_state(path, mount),
            **read_settings('vm', '/proc/sys/vm', DIRTY_SETTINGS),
            **base.conditions(self.targets(path)),
            **self._own_state(path, mount),
        }

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        return {}

    def targets(self, path: str) -> base.Targets:
        if 'targets' not in self.can:
            return base.Targets((), {})
        mount, why_not = look(path)
        if mount is None:
            return base.Targets((), {}, why_not)
        try:
            return self._targets(path, mount)
        except base.NoAnswer as error:
            return base.Targets((), {}, str(error))

    def _targets(self, path: str, mount: Mount) -> base.Targets:
        """All targets of a type that has some. Raises NoAnswer."""
        raise NotImplementedError

    def adopted(self, layout: Layout) -> Optional[Layout]:
        """Also plain stripes of any other type, as far as this type can give them."""
        stripes = None if layout.is_default or layout.type == self.name else plain_stripes(layout)
        return super().adopted(layout) if stripes is None else self._with_stripes(layout.name, stripes)

    def _with_stripes(self, name: str, stripes: Stripes) -> Optional[Layout]:
        with contextlib.suppress(base.LayoutError):
            return self.layout(name, {key: value for key, value in stripes._asdict().items() if value is not None})
        return None

    def layout_fault(self, layout: Layout, path: str) -> Optional[str]:
        if layout.is_default or layout.type != self.name:
            return super().layout_fault(layout, path)
        try:
            why = self._layout_fault(layout, path)
        except base.NoAnswer as error:
            why = f'it could not be verified: {error}'
        return f"the layout '{layout.name}' ({layout.canonical}) is not possible here: {why}" if why else None

    def _layout_fault(self, layout: Layout, path: str) -> Optional[str]:
        """A clause that says why a layout of this type cannot be set and proved, or None. Raises NoAnswer."""
        return None

    def set_layout(self, directory: str, layout: Layout) -> Optional[str]:
        if layout.is_default or layout.type != self.name:
            return super().set_layout(directory, layout)
        try:
            return self._set_layout(directory, layout)
        except base.NoAnswer as error:
            return str(error)

    def _set_layout(self, directory: str, layout: Layout) -> Optional[str]:
        """Sets a layout of this type. Returns the fault, or None. Raises NoAnswer."""
        return None

    def granted(self, file: str, layout: Layout) -> base.Granted:
        if layout.is_default or layout.type != self.name:
            return super().granted(file, layout)
        try:
            return self._granted(file, layout)
        except base.NoAnswer as error:
            return base.Granted(differs=f'whether {file} has the layout {layout.canonical} is not known: {error}')

    def _granted(self, file: str, layout: Layout) -> base.Granted:
        """Compares a file with a layout of this type. Raises NoAnswer."""
        return base.Granted()

    def cold(self, path: str) -> base.Cold:
        mount, why_not = look(path)
        return self._cold(path, mount) if mount else base.Cold('', why_not)

    def _cold(self, path: str, mount: Mount) -> base.Cold:
        """Depends on the kernel's type of the mount: caches outside the kernel are unknown."""
        if mount.type in IN_MEMORY:
            return base.Cold('', f'{mount.type} keeps its files in memory, so no read is ever cold')
        if mount.type == 'zfs':
            return base.Cold('', 'zfs caches reads in its ARC, which drop_caches shrinks but does not empty')
        if mount.type not in KERNEL_CACHED:
            return base.Cold('', f'whether {mount.type} caches outside the kernel is not known (type {self.name})')
        return kernel_cold()

    def empty_client_cache(self, path: str, deadline_s: float = base.EMPTYING_S) -> Optional[str]:
        return self.cold(path).why_not or caches.empty(path, deadline_s)

    def behaviour(self, path: str) -> base.Behaviour:
        """Depends on the mount's kernel type. Reads are counted on block devices (getrusage(2)); major 0 is none."""
        mount, _ = look(path)
        type_ = mount.type if mount else ''
        try:
            counted = self.kernel_counts_reads and os.major(os.stat(path).st_dev) != 0
            device = _block_device(path, mount) if mount else None
        except OSError:
            counted, device = False, None
        of_memory = f'{type_} keeps its files in memory' if type_ in IN_MEMORY else ''
        below = below_device(device) if device else ''
        # libfuse numbers files anew unless its file system says otherwise (use_ino of fuse_config).
        lasting = not type_.startswith('fuse') or type_ in self.kernel_types
        close_can_fail = type_ not in (*KERNEL_CACHED, *IN_MEMORY)
        return base.Behaviour(close_can_fail, counted, type_ in UNCOMPRESSED, of_memory, below, lasting)

    def exchanged(self, path: str) -> base.Exchanged:
        """The counters of the meter, of a type whose reads they prove to be cold."""
        counters = self.meter(path).look(ANSWER_S) if 'proof of cold reads' in self.can else {}
        return base.Exchanged(counters.get(READ), counters.get(WRITTEN))

    def meter(self, path: str) -> base.Meter:
        mount, why_not = look(path)
        return self._meter(path, mount) if mount else base.no_meter(why_not)

    def _meter(self, path: str, mount: Mount) -> base.Meter:
        """Counters of the files' block device in sysfs: reading them asks no file system."""
        if mount.type in IN_MEMORY:
            return base.no_meter(f'{mount.type} keeps its files in memory, where no counter counts reads and writes')
        try:
            place = _block_device(path, mount)
        except OSError as error:
            return base.no_meter(f'{path}: {error.strerror}')
        if place is None or not device_counters(place):
            return base.no_meter(f'{mount.source} is not a block device whose traffic the kernel counts')
        name = os.path.basename(os.path.realpath(place))
        return base.Meter(f'block device {name} of the whole machine', '', lambda deadline_s: device_counters(place))


class Posix(Mounted):
    """A file system of the kernel, on a device or in memory; the only type that any mount may be."""

    name = 'posix'
    any_mount = True
    without_failover = LOCAL
    recovery_source = 'of a mount that is not local; a local file system has no failover'
    can = ('cold reads', 'traffic')
    tried = 'ext4, xfs and tmpfs, Linux 6.18 and 6.1, one node'
    tried_on = '2026-11-22'
    sources = 'proc(5), statvfs(3), quota(1)'

    def exchanged(self, path: str) -> base.Exchanged:
        """Known where all data go to the mount's one device: others have several, and XFS perhaps a real-time one."""
        mount, _ = look(path)
        one = mount is not None and mount.type in ONE_DEVICE and 'rtdev=' not in mount.options
        return base.Exchanged(sent=self.meter(path).look(ANSWER_S).get(WRITTEN)) if one else base.Exchanged()

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        if mount.type != 'ext4':
            return {}
        device = os.path.basename(os.path.realpath(mount.source))
        return read_settings('ext4', f'/proc/fs/ext4/{device}', ['options'])


def _client_version(type_: str) -> str:
    version = read_proc(f'/sys/module/{type_}/version').strip()
    of_linux = f'Linux {os.uname().release}' if type_ in OF_LINUX else ''
    return f'{type_} {version}' if version else of_linux or unknown('it is no part of Linux and shows no version')


def group_of_new_files(path: str) -> int:
    """The group of a directory with the set-group-ID bit, else that of this process (open(2))."""
    directory = os.stat(path)
    return directory.st_gid if directory.st_mode & stat.S_ISGID else os.getegid()


def kernel_cold(kept: str = '') -> base.Cold:
    """drop_caches, if this user may use it; kept: caches that it does not reach."""
    why_not = caches.why_not()
    return base.Cold('', why_not) if why_not else base.Cold(caches.HOW, '', kept)


def look(path: str) -> Tuple[Optional[Mount], str]:
    """The mount of the path, or None and a sentence with the reason. A path that does not answer is left alone."""
    silence = unresponsive(path)
    if silence is not None:
        return None, silence
    mount = mount_of(os.path.realpath(path))
    return mount, '' if mount else f'{path}: no mount is seen'


def unknown(why: str) -> str:
    return UNREAD + why


def answer_or_unknown(question: Callable[[], str]) -> str:
    try:
        return question()
    except base.NoAnswer as error:
        return unknown(str(error))


def read_settings(prefix: str, directory: str, names: Iterable[str]) -> Dict[str, str]:
    """The values by 'prefix name'. A name that this kernel lacks is left out."""
    settings = {}
    for name in names:
        try:
            with open(f'{directory}/{name}', encoding='utf-8', errors='replace') as stream:
                settings[f'{prefix} {name}'] = ','.join(stream.read().split('\n')).strip(', ')
        except FileNotFoundError:
            continue
        except OSError as error:
            settings[f'{prefix} {name}'] = unknown(error.strerror or 'it cannot be read')
    return settings


def pairs_of(text: str, separator: str) -> Dict[str, str]:
    """The values by key in lines as 'key = value'."""
    pairs = (line.partition(separator) for line in text.splitlines())
    return {key.strip(): value.strip() for key, there, value in pairs if there}


def parse_quota(text: str, user: int, group: int) -> base.Capacity:
    """The room that the rows of `quota -v -w -p` with -u and with -g leave, by the hard limits or else the soft ones.
    A row is: file system, blocks, quota, limit, grace, files, quota, limit, grace; 0 is no limit, an asterisk an
    exceeded one. Past its grace, seconds since 1970, a soft limit is a hard one (quotactl(2), dqb_btime)."""
    wanted, of, now = {('user', user), ('group', group)} - UNLIMITED, ('', -1), time.time()
    rooms = []
    for line in text.splitlines():
        title, fields = _QUOTA_TITLE.match(line), line.split()
        of = (title.group(1), int(title.group(2))) if title else of
        numbers = [field.rstrip('*') for field in fields[1:]]
        if of in wanted and len(numbers) == 8 and all(number.isdigit() for number in numbers):
            values = [int(number) for number in numbers]
            rooms.append(base.Capacity(_left(values[:4], QUOTA_BLOCK, now), _left(values[4:], 1, now)))
    return base.tightest(*rooms)


def _left(row: List[int], unit: int, now: float) -> Optional[int]:
    used, soft, hard, grace_ends = row
    if soft and used > soft and 0 < grace_ends <= now:
        return 0
    limit = hard or soft
    return max(0, limit - used) * unit if limit else None


def device_counters(place: str) -> Dict[str, int]:
    """The file `stat` of a block device in sysfs (Documentation/block/stat.rst); empty where it has another form."""
    try:
        with open(os.path.join(place, 'stat')) as stream:
            fields = stream.read().split()
    except (OSError, ValueError):
        return {}
    if len(fields) < 11 or not all(field.isdigit() for field in fields):
        return {}
    reads, _, read, _, writes, _, written = map(int, fields[:7])
    return {READ: read * SECTOR, WRITTEN: written * SECTOR, 'reads': reads, 'writes': writes}


def _block_device(path: str, mount: Mount) -> Optional[str]:
    """The sysfs folder of the files' device, or where that is anonymous (btrfs), of the mount's source."""
    device = os.stat(path).st_dev
    if os.major(device) == 0:
        source = os.stat(mount.source) if mount.source.startswith('/dev/') else None
        if source is None or not stat.S_ISBLK(source.st_mode):
            return None
        device = source.st_rdev
    return os.path.join(BLOCK_DEVICES, f'{os.major(device)}:{os.minor(device)}')


def below_device(place: str) -> str:
    """Parts below a block device, by its folder in sysfs, that may answer its reads from a cache; or empty. A device
    made of others (dm, md) is as they are. No guest sees if the host caches the disk that it offers."""
    disk = _disk_of(place)
    name, slaves = os.path.basename(disk), os.path.join(disk, 'slaves')
    for slave in sorted(os.listdir(slaves)) if os.path.isdir(slaves) else ():
        below = below_device(os.path.join(slaves, slave))
        if below:
            return below
    if name.startswith('loop'):
        return f'{name} is a loop device, whose file this kernel may have in its cache'
    if name.startswith(('ram', 'zram')):
        return f'{name} is a disk in memory'
    model = read_settings('device', os.path.join(disk, 'device'), ['model']).get('device model', '')
    if name.startswith(_VIRTUAL) or any(word in model for word in _VIRTUAL_MODELS):
        return f'{name} is a virtual disk, which its host may have in its cache'
    return ''


def _disk_of(place: str) -> str:
    """The folder in sysfs of the disk that a device is, or is a partition of: a partition has no queue of its own."""
    device = os.path.realpath(place)
    return device if os.path.isdir(os.path.join(device, 'queue')) else os.path.dirname(device)


_VIRTUAL = ('vd', 'xvd')  # virtio-blk, Xen
_VIRTUAL_MODELS = ('QEMU', 'VBOX', 'Virtual', 'VMware')


def _device_state(path: str, mount: Mount) -> Dict[str, str]:
    try:
        seen, place = os.stat(path).st_dev, _block_device(path, mount)
    except OSError as error:
        return {'device': unknown(error.strerror or 'it cannot be seen')}
    settings = read_settings('device', f'/sys/class/bdi/{os.major(seen)}:{os.minor(seen)}', ['read_ahead_kb'])
    if place is None:
        return settings
    disk = _disk_of(place)
    settings.update(read_settings('device', os.path.join(disk, 'device'), ['model']))
    settings.update(read_settings('device', os.path.join(disk, 'queue'), DEVICE_SETTINGS))
    return settings
