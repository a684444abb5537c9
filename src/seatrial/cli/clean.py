"""`seatrial clean`: what dead sessions have left on the file systems and in Slurm's queue, and its removal."""

import re
from pathlib import Path

import click
from rich.console import Console

from seatrial.cli.options import site_option
from seatrial.cli.terminal import console
from seatrial.job.directory import lock, orphans, rundir
from seatrial.job.directory.orphans import Orphan
from seatrial.model.ask import unresponsive
from seatrial.model.units import approximate_size, duration
from seatrial.scheduler.queue import QueueError
from seatrial.scheduler.session_jobs import SessionJob, cancel, has_one_queue, has_queue, jobs_of_sessions
from seatrial.site.load import load
from seatrial.site.model import Site
from seatrial.workload.words import counted

LEFT = 13  # something that should go could not, or not yet


@click.command()
@site_option
@click.option('--yes', is_flag=True, help='Remove what is shown as removable; without it nothing is changed.')
def clean(site_folder: Path, yes: bool) -> int:
    """List jobs, run directories and locks that sessions have left; with --yes remove your own dead ones.

    Only jobs that bear the mark of a session, only marked directories directly below the configured paths, only your
    own, only of sessions that are dead.

    Exit codes: 0, or 13 if something stays that should go: what could not be removed, or what cannot be known to be
    dead yet; then it is said when it will be.
    """
    site = load(site_folder)
    screen = console()
    known = _jobs(site, screen)
    jobs = known or []
    for job in jobs:
        screen.print(f'{job.words}: {job.alive or "its session is dead: it can be cancelled"}', soft_wrap=True)
    orphaned = [job for job in jobs if job.alive is None]
    ended = _cancel(site, orphaned, screen) if yes else True
    queued = None
    if known is not None and has_one_queue(site):
        queued = {job.session for job in jobs if not (yes and ended and job in orphaned)}
    found = _orphans(site, screen, queued)
    stale = [held for held in lock.list_locks(site.state) if held.stale]
    if not jobs and not found and not stale:
        screen.print('Nothing is left behind.')
        return 0
    for orphan in found:
        screen.print(_line(orphan), soft_wrap=True)
    for held in stale:
        screen.print(f'stale lock: {held.sentence()}', soft_wrap=True)
    removable = [orphan for orphan in found if orphan.alive is None and orphan.foreign is None]
    if not yes:
        if orphaned:
            screen.print(f'{counted(len(orphaned), "job")} can be cancelled: seatrial clean --yes')
        if removable or stale:
            what = f'{counted(len(removable), "directory", "directories")} and {counted(len(stale), "lock")}'
            screen.print(f'{what} can be removed: seatrial clean --yes')
        return 0
    complete = [_remove(orphan, screen) for orphan in removable]
    for held in lock.break_stale(site.state):
        screen.print(f'removed the lock of {held.storage_system}')
    later = any(orphan.alive and orphan.over and orphan.foreign is None for orphan in found)
    return 0 if ended and all(complete) and not later else LEFT


def _jobs(site: Site, screen: Console) -> list[SessionJob] | None:
    """Of this site's sessions, oldest first, whose own end has not come; None where nobody can be asked.

    A Slurm that does not answer is said.
    """
    if not has_queue(site):
        return None
    try:
        return sorted(jobs_of_sessions(site), key=lambda job: _number(job.id))
    except QueueError as error:
        screen.print(f'jobs are unknown: {error}', soft_wrap=True)
        return None


def _number(job: str) -> int:
    """Of a job, of one of an array ('12_3'), or of a part of a heterogeneous one ('12+0')."""
    return int(re.split(r'[_+]', job)[0])


def _cancel(site: Site, jobs: list[SessionJob], screen: Console) -> bool:
    """Whether all of them have ended."""
    try:
        left = cancel(screen, site, jobs) if jobs else []
    except QueueError as error:
        screen.print(f'jobs may be left: {error}', soft_wrap=True)
        return False
    for job in jobs:
        if job.id not in {each.id for each in left}:
            screen.print(f'cancelled job {job.id}')
    return not left


def _orphans(site: Site, screen: Console, queued: set[str] | None) -> list[Orphan]:
    """Those of every configured path; one that cannot be read is named and skipped. queued: see orphans.find."""
    found = []
    for path in dict.fromkeys(entry.path for entry in site.trial_file.file_systems.values()):
        silence = unresponsive(path)
        if silence is not None:
            screen.print(silence, soft_wrap=True)
            continue
        try:
            found += orphans.find([path], site.state, queued)
        except rundir.RunDirectoryError as error:
            screen.print(f'{error}', soft_wrap=True)
    return found


def _line(orphan: Orphan) -> str:
    """In one line however long, so that the path can be copied."""
    size = f'{approximate_size(orphan.size_bytes)} in {counted(orphan.files, "file")}'
    whose = f'{orphan.case}, of {orphan.owner} on {orphan.host}, {duration(orphan.age_s)} old'
    return f'{orphan.path}: {size}, {whose}: {orphan.alive or orphan.foreign or "removable"}'


def _remove(orphan: Orphan, screen: Console) -> bool:
    removal = rundir.remove(orphan.path, orphan.session)
    for left in removal.left:
        screen.print(f'left in {orphan.path}: {left}', soft_wrap=True)
    if not removal.left:
        screen.print(f'removed {orphan.path}', soft_wrap=True)
    return not removal.left
