"""`seatrial clean`: what dead sessions have left on the file systems, and its removal."""

from pathlib import Path

import click
from rich.console import Console

from seatrial.cli.options import site_option
from seatrial.cli.terminal import console, duration
from seatrial.filesystem.probe import mute
from seatrial.job import lock, orphans, rundir
from seatrial.job.orphans import Orphan
from seatrial.model.units import approximate_size
from seatrial.site.load import load
from seatrial.site.model import Site

LEFT = 13  # something that should go could not


@click.command()
@site_option
@click.option('--yes', is_flag=True, help='Remove what is shown as removable; without it nothing is changed.')
def clean(site_folder: Path, yes: bool) -> int:
    """List run directories and locks that sessions have left; with --yes remove your own dead ones.

    Only marked directories directly below the configured paths, only your own, only of sessions that are dead.
    """
    site = load(site_folder)
    screen = console()
    found = _orphans(site, screen)
    stale = [held for held in lock.list_locks(site.state) if held.stale]
    if not found and not stale:
        screen.print('Nothing is left behind.')
        return 0
    for orphan in found:
        screen.print(_line(orphan), soft_wrap=True)
    for held in stale:
        screen.print(f'stale lock: {held.sentence()}', soft_wrap=True)
    removable = [orphan for orphan in found if orphan.alive is None and orphan.foreign is None]
    if not yes:
        if removable or stale:
            screen.print(f'{len(removable)} directories and {len(stale)} locks can be removed: seatrial clean --yes')
        return 0
    complete = [_remove(orphan, screen) for orphan in removable]
    for held in lock.break_stale(site.state):
        screen.print(f'removed the lock of {held.storage_system}')
    return 0 if all(complete) else LEFT


def _orphans(site: Site, screen: Console) -> list[Orphan]:
    """Those of every configured path; a path that cannot be read is said and passed over."""
    found = []
    for path in dict.fromkeys(entry.path for entry in site.trial_file.file_systems.values()):
        silence = mute(path)
        if silence is not None:
            screen.print(silence, soft_wrap=True)
            continue
        try:
            found += orphans.find([path], site.state)
        except rundir.RunDirectoryError as error:
            screen.print(f'{error}', soft_wrap=True)
    return found


def _line(orphan: Orphan) -> str:
    """In one line however long, so that the path can be copied."""
    size = f'{approximate_size(orphan.size_bytes)} in {orphan.files} files'
    whose = f'{orphan.case}, of {orphan.owner} on {orphan.host}, {duration(orphan.age_s)} old'
    return f'{orphan.path}: {size}, {whose}: {orphan.alive or orphan.foreign or "removable"}'


def _remove(orphan: Orphan, screen: Console) -> bool:
    removal = rundir.remove(orphan.path, orphan.session)
    for left in removal.left:
        screen.print(f'left in {orphan.path}: {left}', soft_wrap=True)
    if not removal.left:
        screen.print(f'removed {orphan.path}', soft_wrap=True)
    return not removal.left
