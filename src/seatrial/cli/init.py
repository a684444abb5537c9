"""`seatrial init`: a first site for the machine it stands on."""

import os
import platform
import re
import shutil
from collections.abc import Container, Iterable
from itertools import chain, count
from pathlib import Path

import click

from seatrial.check.declared import load as load_checks
from seatrial.check.job_environment import available
from seatrial.cli.options import PATH
from seatrial.engine.registry import NAMES, engines_called
from seatrial.filesystem.base import tightest
from seatrial.filesystem.mounts import Mount, mount_of, read_mounts
from seatrial.filesystem.registry import by_type, same_storage, type_of
from seatrial.job.sequence.survey import memory_bytes
from seatrial.model.ask import unresponsive
from seatrial.model.layout import target_key
from seatrial.model.owned import open_to, user_name
from seatrial.model.quoted_value import show as shown
from seatrial.model.units import approximate_size
from seatrial.report.terminal import console, say
from seatrial.rules.registry import finding
from seatrial.scheduler.partitions import cluster, slurm_partitions
from seatrial.scheduler.queue import QueueError
from seatrial.site.error import SiteError, problem
from seatrial.site.first import FoundFileSystem, FoundMachine, FoundPartition, a_check, as_name, settings_of, trial_of
from seatrial.site.load import OWN_CHECKS, check_folders, load
from seatrial.site.model import SETTINGS_FILE, TRIAL_FILE

VARIABLES = ('SCRATCH', 'WORK')  # environment variables that name a user's data directory at many sites
DISKS = ('ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'zfs', 'bcachefs', 'f2fs', 'jfs', 'tmpfs')
"""The kernel's types of a machine's own disks and memory, which posix serves."""

SYSTEMS = ('/boot', '/dev', '/etc', '/nix', '/proc', '/snap', '/sys', '/usr', '/var/log', '/var/cache')
"""Directories of the operating system (hier(7)); nobody tests a mount below them."""

TRANSIENT = ('/tmp', '/var/tmp', '/run', '/var/lib')
"""Directories below which containers, labs and the like mount for their own use (hier(7); FHS 3.0)."""


@click.command()
@click.option('--check', metavar='NAME', help='Begin a check of its own for the site that is in FOLDER.')
@click.argument('folder', type=PATH)
def init(folder: Path, check: str | None) -> int:
    """Write a first site for this machine into FOLDER: partitions, file systems, engines and sizes that were found.

    What is there already is never overwritten. Nothing is written on a file system that will be tested.
    """
    if check is not None:
        return _begin_check(load(folder).folder, check)
    for name in (SETTINGS_FILE, TRIAL_FILE):
        if os.path.lexists(folder / name):
            raise SiteError([problem(str(folder / name), [], 'a site is there already; name another folder')])
    home = Path(os.path.realpath(folder))
    machine = _machine(home)
    texts = {SETTINGS_FILE: settings_of(machine), TRIAL_FILE: trial_of(machine)}
    try:
        home.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise SiteError([problem(str(folder), [], 'a file is there; name another folder')]) from None
    screen = console()
    for name, text in texts.items():
        with (home / name).open('x', encoding='utf-8') as file:
            file.write(text)
        say(screen, f'{home / name} is written')
    say(screen, *(f'  file system {used.name}: {used.type}, {used.path}' for used in machine.file_systems))
    say(screen, *(f'  in the comments: {disk.why}' for disk in machine.proposed))
    say(screen, *(f'  not used: {line}' for line in machine.unused))
    names = ', '.join(partition.name for partition in machine.partitions)
    say(screen, f'  partitions of {machine.system}: {names}; engines: {", ".join(machine.engines)}')
    say(screen, *(f'then: seatrial {command} --site {folder}' for command in ('doctor', 'plan', 'run')))
    return 0


def _begin_check(home: Path, name: str) -> int:
    """Writes a file with the beginnings of a check. Raises UsageError, CheckError."""
    folders = [Path(folder) for folder in check_folders(home)]
    if not re.fullmatch('[A-Z][A-Za-z0-9]*', name) or name in load_checks(*filter(Path.is_dir, folders)):
        taken = f'{shown(name)} is the name of another check, or is no name of a class'
        raise click.UsageError(f'{taken}; write one such as ReadBack')
    target = folders[1] if folders[1:] else home / OWN_CHECKS
    file = target / 'own' / f'{re.sub("(?<!^)(?=[A-Z])", "_", name).lower()}.py'
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open('x', encoding='utf-8') as stream:
        stream.write(a_check(name))
    console().print(f'{file} is written; its family is own', f'then: seatrial list {name} --site {home}', sep='\n')
    return 0


def _machine(home: Path) -> FoundMachine:
    mounts = list(read_mounts())
    file_systems, unused = _file_systems(home, mounts)
    engines = {name: engines_called(name)[0] for name in NAMES}
    there = [name for name, engine in engines.items() if any(map(shutil.which, engine.programs))]
    partitions, system, scheduler, no_slurm = _partitions()
    modules_system, modules, darshan = available()
    return FoundMachine(
        name=home.name,
        host=platform.node(),
        system=as_name(system),
        partitions=partitions,
        file_systems=file_systems or [_beside(home)],
        engines=there,
        missing={name: engine.how_to_get for name, engine in engines.items() if name not in there},
        unused=unused,
        proposed=_disks(mounts, {file_system.name for file_system in file_systems}),
        no_slurm=no_slurm,
        scheduler=scheduler,
        modules_system=modules_system,
        modules=modules,
        darshan=darshan,
    )


def _partitions() -> tuple[list[FoundPartition], str, str, str]:
    """Slurm's partitions, the cluster's name and ReFrame's scheduler; else this machine, and why Slurm has none."""
    try:
        name, scheduler = cluster()
        partitions = dict[str, FoundPartition]()
        for partition in slurm_partitions():
            if partition.nodes:
                unique = _unused(as_name(partition.name), partitions)
                size = partition.nodes, partition.cpus, partition.memory
                partitions[unique] = FoundPartition(unique, *size, partition.name, partition.limit_s)
        if partitions:
            return list(partitions.values()), name, scheduler, ''
        why = f'the cluster {name} shows none with nodes to {user_name(os.geteuid())}'
    except QueueError as error:
        why = str(error).partition(';')[0]
    return [FoundPartition('default', 1, os.cpu_count() or 1, memory_bytes())], 'local', 'local', why


def _file_systems(home: Path, mounts: Iterable[Mount]) -> tuple[list[FoundFileSystem], list[str]]:
    """Mounts other than local disks on which the user has a directory; and why others are not used."""
    systems, unused = dict[str, FoundFileSystem](), list[str]()
    for mount in {mount.point: mount for mount in mounts}.values():
        type = type_of(mount)
        if type is None:
            if mount.type.startswith('fuse.') or ':' in mount.source or mount.source.startswith('//'):
                how = 'no type of its own; if it is meant, write an entry with type: posix and its path'
                unused.append(f'{mount.type} at {mount.point}: {how}')
            continue
        transient = next((folder for folder in TRANSIENT if mount.point.startswith(f'{folder}/')), None)
        if transient is not None:
            why = f'below {transient} programs mount for themselves; if it is meant, write an entry with its path'
            unused.append(f'{type} at {mount.point}: {why}')
            continue
        silence = unresponsive(mount.point)
        path, why = (None, silence) if silence else own_directory(mount)
        if path is None:
            unused.append(f'{type} at {mount.point}: {why}')
            continue
        driver, name = by_type(type), _unused(as_name(Path(mount.point).name), systems)
        least = tightest(driver.capacity(path), driver.quota(path))
        rows, targets = driver.targets(path).rows, dict[str, int | list[int]]()
        for kind in driver.pins:
            if numbers := sorted(row.number for row in rows if row.kind == kind):
                # How many there are; their numbers if some are missing.
                targets[target_key(kind)] = len(numbers) if numbers == list(range(len(numbers))) else numbers
        shared = same_storage(mount_of(str(home)), mount)
        room = least.bytes, least.inodes
        systems[name] = FoundFileSystem(name, type, path, mount.point, *room, targets, shared)
    return list(systems.values()), unused


def _disks(mounts: Iterable[Mount], taken: set[str]) -> list[FoundFileSystem]:
    """Local disks that a user could test, with type and size."""
    disks = dict[str, FoundFileSystem]()
    for mount in {mount.point: mount for mount in mounts}.values():
        elsewhere = any(f'{mount.point}/'.startswith(f'{folder}/') for folder in (*SYSTEMS, *TRANSIENT))
        if mount.type not in DISKS or mount.point == '/' or elsewhere:
            continue
        if unresponsive(mount.point) or not Path(mount.point).is_dir():  # a container mounts single files
            continue
        path, room = own_directory(mount)[0] or f'{mount.point}/seatrial', by_type('posix').capacity(mount.point)
        name = _unused(as_name(Path(mount.point).name), {*taken, *disks})
        why = f'{mount.type} at {mount.point}, {approximate_size(room.bytes or 0)} free'
        disks[name] = FoundFileSystem(name, 'posix', path, mount.point, room.bytes, room.inodes, why=why)
    return list(disks.values())


def _unused(name: str, taken: Container[str]) -> str:
    names = chain((name,), (f'{name}{number}' for number in count(1)))
    return next(candidate for candidate in names if candidate not in taken)


def own_directory(mount: Mount) -> tuple[str | None, str]:
    """A directory on the mount that belongs to this user alone and is not the home directory; or None and why."""
    user, home, why = user_name(os.geteuid()), os.path.realpath(Path.home()), ''
    roots = [os.environ[name] for name in VARIABLES if name in os.environ]
    roots += [f'{mount.point}/{user}', f'{mount.point}/users/{user}', f'{mount.point}/scratch/{user}', mount.point]
    for place in (path for root in roots for path in (f'{root}/seatrial', root)):
        path = os.path.realpath(place)
        if path == home or mount_of(path) != mount or not Path(path).is_dir():
            continue
        if Path(path).stat().st_uid == os.geteuid() and os.access(path, os.W_OK | os.X_OK):
            others = open_to(path)
            if others is None:
                return path, ''
            why = why or f'{path} is yours, but {finding("S4", others).sentence}'
    return None, why or 'no directory of yours is there; make one (mkdir -m 700) and an entry with its path'


def _beside(home: Path) -> FoundFileSystem:
    there = next(path for path in (home, *home.parents) if path.is_dir())
    capacity = by_type('posix').capacity(str(there))
    why = 'of this machine: no other file system with a directory of yours was found'
    free = capacity.bytes, capacity.inodes
    return FoundFileSystem('scratch', 'posix', 'state/trials', '', *free, {}, records_on_target=True, why=why)
