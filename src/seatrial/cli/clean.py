"""`seatrial clean`: lists and removes what dead sessions have left on the file systems and in Slurm's queue."""

import os
import re
from pathlib import Path

import click
from rich.console import Console

from seatrial.check.action_journal import entries, undone
from seatrial.cli.options import site_option
from seatrial.filesystem.base import mounted_from, type_fault
from seatrial.filesystem.mounts import mount_of
from seatrial.filesystem.registry import by_type
from seatrial.job.directory import lock, orphans, rundir
from seatrial.job.directory.lock import MISSED_S, Held
from seatrial.job.directory.orphans import Orphan, leader_alive
from seatrial.job.directory.owner import running
from seatrial.job.directory.removal import removed
from seatrial.model.ask import unresponsive
from seatrial.model.quoted_value import printable
from seatrial.model.units import approximate_size, duration
from seatrial.report.terminal import console, say, say_loudly, waiting
from seatrial.scheduler import session_jobs
from seatrial.scheduler.queue import QueueError
from seatrial.site.load import load
from seatrial.site.model import FileSystemEntry, Site
from seatrial.workload.words import counted, joined

LEFT = 13  # something that should go could not, or not yet
STALE = 'stale lock'
DEAD = 'lock of a dead session'
SILENT = 'lock that soon counts as stale: no process here uses it, but a job on another node may'


@click.command()
@site_option
@click.option('--yes', is_flag=True, help='Remove what is shown as removable; without it nothing is changed.')
def clean(site_folder: Path, yes: bool) -> int:
    """List actions, jobs, run directories and locks that sessions have left; with --yes remove your own dead ones.

    An action that is not undone comes first, in red; with --yes it is undone.

    Only jobs and directories with the mark of a session are removed, the latter only directly below the configured
    paths; only your own, and only those of dead sessions.

    Exit codes: 0, or 13 if something remains, or would remain with --yes, because it cannot be removed, or may belong
    to a living session (the output says until when). Also 13 if something could not be checked, with the reason.
    """
    site = load(site_folder)
    screen = console()
    unseen = _Unseen(screen)
    away = unresponsive(site.state)
    if away is None and not Path(site.state).is_dir():
        away = f'{site.state}: no such directory; is its file system mounted?'
    if away is not None:
        unseen.say(f'sessions and locks are unknown: {away}')
        return unseen.exit_code()
    site.check_state()
    left = 0
    for entry in entries(site.state):
        say_loudly(screen, entry.description())
        why = undone(site.state, entry) if yes else 'seatrial clean --yes undoes it'
        if not why:
            say(screen, f'undone: {entry.path.stem}')
            continue
        left = LEFT
        say_loudly(screen, f'  still not undone: {why}') if yes else say(screen, f'  {why}')
    jobs = _jobs(site, unseen)
    dead = 'its session is dead: it can be cancelled'
    say(screen, *(f'{job.words}: {job.alive or dead}' for job in jobs or ()))
    orphaned = [job for job in jobs or () if job.alive is None]
    ended = _cancel(site, orphaned, screen) if yes else True
    queued = None
    if jobs is not None and session_jobs.has_one_queue(site):
        queued = {job.session for job in jobs if not (yes and ended and job in orphaned)}
    leftovers, others = _orphans(site, unseen, queued)
    at_work = None if queued is None else queued | {orphan.session for orphan in leftovers if orphan.alive}
    locks = _locks(site, unseen, at_work)
    if not (jobs or leftovers or locks or unseen.number or left):
        screen.print('Nothing of yours is left behind.' if others else 'Nothing is left behind.')
        return 0
    say(screen, *map(_line, leftovers), *(f'{words}: {held.description()}' for held, words in locks))
    removable = [orphan for orphan in leftovers if orphan.alive is None]
    stale = [held for held, words in locks if words in (STALE, DEAD)]
    # What waits for a job that --yes cancels goes with it.
    cancelled = {job.session for job in orphaned}
    stays = any(orphan.alive and orphan.over and orphan.session not in cancelled for orphan in leftovers)
    stays |= any(words == SILENT and not (held.holder and held.holder.session in cancelled) for held, words in locks)
    stays |= any(orphan.foreign for orphan in removable)
    left = left or (LEFT if stays else 0)
    if not yes:
        if orphaned:
            screen.print(f'{counted(len(orphaned), "job")} can be cancelled: seatrial clean --yes')
        if removable or stale:
            what = f'{counted(len(removable), "directory", "directories")} and {counted(len(stale), "lock")}'
            screen.print(f'{what} can be removed: seatrial clean --yes')
        return unseen.exit_code() or left
    # To remove what could not be sized takes long, or waits for a server that is down.
    sized_first = sorted(removable, key=lambda orphan: orphan.size_bytes is None)
    complete = [_remove(orphan, screen) for orphan in sized_first]
    dead_sessions = {held.holder.session for held, words in locks if held.holder is not None and words == DEAD}
    for held in lock.break_stale(site.state, dead_sessions) if stale else ():
        screen.print(f'removed the lock of {held.storage_system}')
    return unseen.exit_code() or left or (0 if ended and all(complete) else LEFT)


class _Unseen:
    """Counts what could not be checked: something may be left there."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self.number = 0

    def say(self, why: str) -> None:
        self.number += 1
        say(self.screen, printable(why))

    def exit_code(self) -> int:
        """The exit code, after printing the last line of the output."""
        if self.number:
            self.screen.print(f'Not all was looked at ({counted(self.number, "problem")}): more may be left behind.')
        return LEFT if self.number else 0


def _jobs(site: Site, unseen: _Unseen) -> list[session_jobs.SessionJob] | None:
    """This user's unfinished jobs of this site's sessions, oldest first; None if Slurm cannot be asked."""
    if not session_jobs.submits_to_slurm(site):
        return None
    if not session_jobs.has_queue(site):
        unseen.say('jobs are unknown: squeue is not installed here')
        return None
    if not session_jobs.has_one_queue(site):
        of_others = 'jobs of other clusters are unknown (-M, --clusters in settings.py)'
        unseen.say(f'{of_others}: squeue is asked for those here')
    try:
        with waiting(unseen.screen, 'waiting for squeue to say which jobs of sessions there are'):
            # 12_3 is one of an array, 12+0 a part of a heterogeneous job.
            return sorted(session_jobs.jobs_of_sessions(site), key=lambda job: int(re.split(r'[_+]', job.id)[0]))
    except QueueError as error:
        unseen.say(f'jobs are unknown: {error}')
        return None


def _cancel(site: Site, jobs: list[session_jobs.SessionJob], screen: Console) -> bool:
    """Cancels the jobs; whether all have ended."""
    try:
        left = session_jobs.cancel(screen, site, jobs) if jobs else []
    except QueueError as error:
        say(screen, f'jobs may be left: {error}')
        return False
    remaining = {job.id for job in left}
    say(screen, *(f'cancelled job {job.id}' for job in jobs if job.id not in remaining))
    return not left


def _orphans(site: Site, unseen: _Unseen, queued: set[str] | None) -> tuple[list[Orphan], bool]:
    """This user's orphans in every configured path, and whether other users have any. queued: see orphans.look"""
    leftovers: list[Orphan] = []
    others = False
    entries = {entry.path: entry for entry in site.trial_file.file_systems.values()}
    for path, entry in entries.items():
        fault = unresponsive(path, mounted_from=mounted_from(by_type(entry.type), path)) or _not_mounted(entry)
        if fault is not None:
            unseen.say(fault)
            continue
        try:
            with waiting(unseen.screen, f'looking into {path}, for {orphans.LOOK_S:.0f} s at most'):
                search = orphans.look([path], site.state, queued)
        except rundir.RunDirectoryError as error:
            unseen.say(f'{error}')
            continue
        leftovers += search.orphans
        for why in search.unread:
            unseen.say(why)
        if search.others:
            others = True
            owners = joined(search.others, 'and')
            say(unseen.screen, f'{path}: run directories of {owners}: only they can remove them')
    return leftovers, others


def _not_mounted(entry: FileSystemEntry) -> str | None:
    """The reason why the path lies on another file system now, which hides what was left; None if it does not."""
    outside = rundir.inside(entry.path, entry.mount) if entry.mount is not None else None
    fault = type_fault(by_type(entry.type), mount_of(os.path.realpath(entry.path)))
    return outside or (None if fault is None else f'{entry.path}: {fault}; is the file system mounted?')


def _locks(site: Site, unseen: _Unseen, at_work: set[str] | None) -> list[tuple[Held, str]]:
    """This user's locks, and stale ones of others, with a sentence. at_work: sessions with jobs; None if unknown."""
    try:
        held = lock.list_locks(site.state)
    except lock.LockError as error:
        unseen.say(f'locks are unknown: {error}')
        return []
    return [(entry, _words(entry, site, at_work)) for entry in held if entry.stale or entry.foreign is None]


def _words(held: Held, site: Site, at_work: set[str] | None) -> str:
    if held.stale:
        return STALE
    if held.holder is None:
        return SILENT
    led, runs = leader_alive(site.state, held.holder.session), running(held.holder)
    if runs or (led and not held.ended and held.heartbeat_age_s <= MISSED_S):
        return 'lock in use'
    return SILENT if led or at_work is None or held.holder.session in at_work else DEAD


def _line(orphan: Orphan) -> str:
    """One line, however long, so that the path can be copied."""
    if orphan.size_bytes is None or orphan.files is None:
        size = f'size unknown (its files could not be sized within {orphans.LOOK_S:.0f} s; is a server down?)'
    else:
        size = f'{approximate_size(orphan.size_bytes)} in {counted(orphan.files, "file")}'
    whose = f'{orphan.case}, of {orphan.owner} on {orphan.host}, {duration(orphan.age_s)} old'
    foreign = f' but for {orphan.foreign}: {rundir.NOT_MADE}' if orphan.foreign else ''
    return printable(f'{orphan.path}: {size}, {whose}: {orphan.alive or "removable"}{foreign}')


def _remove(orphan: Orphan, screen: Console) -> bool:
    with screen.status(printable(f'removing {orphan.path}')):
        removal = removed(orphan.path, orphan.session)
    left = [f'left in {orphan.path}: {name}' for name in removal.left]
    say(screen, *(left or [f'removed {orphan.path}']))
    return not left
