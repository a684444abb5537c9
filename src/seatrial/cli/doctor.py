"""`seatrial doctor`: what is installed, which engine would measure, what is missing and how to get it."""

import os
import platform
import shutil
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

import seatrial
from seatrial.cli.options import site_option
from seatrial.cli.terminal import console
from seatrial.engine.base import EngineError
from seatrial.engine.catalogue import engines_called, kinds_of
from seatrial.filesystem.catalogue import by_type
from seatrial.filesystem.mounts import mount_of, type_fault
from seatrial.filesystem.probe import mute
from seatrial.job.launch import launch_argv
from seatrial.job.survey import memory_bytes, version_of
from seatrial.model.plan import EngineChoice
from seatrial.model.units import approximate_size
from seatrial.model.workload import Point
from seatrial.site.load import load
from seatrial.site.model import Site

HOW_TO_GET = {
    'fio': 'apt-get install fio, dnf install fio, or from spack-env/',
    'dd': 'part of coreutils',
    'ior': 'from spack-env/ (ior@4.0.0)',
    'mdtest': 'from spack-env/ (it comes with ior@4.0.0)',
    'posixops': 'part of Seatrial; any Python since 3.6 runs it',
}
ANY_POINT = Point('', 1, 1, 1, 1, 1, 1)
Row = tuple[bool, str, str]


@click.command()
@site_option
def doctor(site_folder: Path) -> int:
    """Show what this host has: engines, file systems, free space.

    Exit code 64 if data or metadata cannot be measured.
    """
    site = load(site_folder)
    engines = [_engine(site, choice) for choice in site.engine_choices()]
    rows = [
        (True, 'seatrial', seatrial.__version__),
        (True, 'python', platform.python_version()),
        (True, 'host', f'{platform.node()}, {platform.release()}, {approximate_size(memory_bytes())} memory'),
        *engines,
        *(_file_system(site, name) for name in site.trial_file.file_systems),
        _state(site),
    ]
    table = Table(box=None, show_header=False, pad_edge=False)
    for fine, what, said in rows:
        table.add_row(Text('+ ok', 'green') if fine else Text('- missing', 'yellow'), what, said)
    screen = console()
    screen.print(table)
    found = [what.partition(' ')[2] for fine, what, _ in engines if fine]
    first = {kind: next((name for name in found if kind in kinds_of(name)), None) for kind in ('bytes', 'names')}
    if None in first.values():
        missing = (
            'No engine can measure data here' if first['bytes'] is None else 'No engine can measure metadata here'
        )
        screen.print(f'{missing}. Install one of the above.')
        return 64
    screen.print(
        f'{first["bytes"]} would measure data on this host and {first["names"]} metadata, '
        'unless a check asks for what it cannot express.'
    )
    return 0


def _engine(site: Site, choice: EngineChoice) -> Row:
    name = f'engine {choice.name}'
    try:
        engine = engines_called(choice.name)[0]
    except ValueError as error:
        return False, name, str(error)
    wanted = engine.programs[0] if choice.program == choice.name else choice.program
    program = shutil.which(wanted)
    if program is None:
        return False, name, f'{wanted} is not on the PATH; {HOW_TO_GET[choice.name]}'
    starters = {launch_argv(site.launcher(name), ANY_POINT, ())[0] for name in site.trial_file.partitions}
    missing = sorted(starter for starter in starters if shutil.which(starter) is None)
    if engine.mpi and missing:
        return False, name, f'{program} needs its launcher: {", ".join(missing)} is not on the PATH'
    try:
        return True, name, f'{version_of(engine, program)} at {program}'
    except EngineError as error:
        return False, name, f'{program}: {error.sentence}'


def _file_system(site: Site, name: str) -> Row:
    entry = site.file_system(name)
    label = f'file system {name}'
    silence = mute(entry.path)
    if silence is not None:
        return False, label, silence
    if not Path(entry.path).is_dir():
        inside = entry.path.startswith(site.state)
        return (
            inside,
            label,
            f'{entry.path} {"is made by the first run" if inside else "is not there; make or mount it"}',
        )
    fault = type_fault(entry.type, mount_of(os.path.realpath(entry.path)))
    if fault is not None:
        return False, label, f'{entry.path}: {fault}'
    try:
        capacity = by_type(entry.type).capacity(entry.path)
    except OSError as error:
        return False, label, f'{entry.path}: {error.strerror}'
    if not os.access(entry.path, os.W_OK | os.X_OK):
        return False, label, f'{entry.path}: no permission to write'
    free = approximate_size(capacity.bytes) if capacity.bytes is not None else 'unknown'
    inodes = f', {capacity.inodes} inodes' if capacity.inodes is not None else ''
    return True, label, f'{entry.type} at {entry.path}, {free} free{inodes}'


def _state(site: Site) -> Row:
    parent = Path(site.state).parent
    there = Path(site.state).is_dir() or parent.is_dir()
    return there, 'state', site.state if there else f'{parent} is not there; make it, or correct state in trial.yaml'
