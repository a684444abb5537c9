"""What is known of a site's scheduled trials: from the history, the sessions' folders, the schedule and Slurm."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TextIO

from seatrial.check.session import FILE, began, folder_of
from seatrial.cli.queue import QueueError, jobs_named
from seatrial.cli.report import FOLDER, PAGE
from seatrial.cli.results import RESULTS
from seatrial.history import store
from seatrial.job.directory.lock import STALE_S
from seatrial.job.directory.orphans import heartbeat_of
from seatrial.report.news import Watch
from seatrial.report.nights import Criterion, Judged, Night, Unfinished, enforced_in, held_in, nights, runs
from seatrial.site.calendar import Calendar
from seatrial.site.model import Site

RUNS_SHOWN = 14

ALONE_S = 300.0
"""Longer than questions to a Slurm that does not answer, or a command that tells people, take in another process."""

POLL_S = 0.2


class Scheduled(NamedTuple):
    """What `seatrial schedule --install` has put into force. since: Unix time; form: 'scrontab' or 'sbatch'."""

    calendar: Calendar
    since: float
    form: str


def title_of(site: Site, profile: str) -> str:
    """What a scheduled trial is called in the names of its files."""
    return f'seatrial-{re.sub(r"[^A-Za-z0-9_.-]", "-", site.name)}-{profile}'


def series_of(site: Site, profile: str) -> Path:
    """What names a scheduled trial: the path of its files in the state directory, without their ends."""
    return Path(site.state) / 'schedule' / title_of(site, profile)


def job_name(series: Path) -> str:
    """The name of its jobs, which no other series of the user has: sites of one name have other state directories."""
    return f'{series.name}-{hashlib.sha256(os.fsencode(series)).hexdigest()[:6]}'


def file_of(series: Path, end: str) -> Path:
    """One of the files of a scheduled trial."""
    return series.with_name(f'{series.name}{end}')


def scheduled(series: Path) -> Scheduled | None:
    """What is in force, or None. Raises OSError; ValueError for a file that nobody of Seatrial's has written."""
    file = file_of(series, '.json')
    try:
        data = json.loads(file.read_text())
        hour, minute, days = data['calendar']
        return Scheduled(Calendar(hour, minute, tuple(days)), data['since'], data['form'])
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError):
        raise ValueError(f'{file} cannot be read; remove it, then seatrial schedule --install again') from None


def put(file: Path, text: str) -> None:
    """Write a small file whole and rename it into place; its folder is made. Raises OSError."""
    file.parent.mkdir(exist_ok=True)
    temporary = file.with_name(f'.{file.name}.{os.getpid()}.tmp')
    temporary.write_text(text)
    temporary.replace(file)


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Wait until no other process is here with this file, ALONE_S at most.

    Where a file system has no locks it goes on at once: what is done here must be done, if need be twice.
    """
    with ExitStack() as held:
        with suppress(OSError):
            file.parent.mkdir(exist_ok=True)
            _lock(held.enter_context(file.open('a')))
        yield


def _lock(stream: TextIO) -> None:
    """Raises OSError where the file system has no locks."""
    end = time.monotonic() + ALONE_S
    while time.monotonic() < end:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(POLL_S)


def watch_of(site: Site, profile: str, system: str | None = None) -> Watch:
    """How the scheduled trials of a profile stand now, of one system where the site has several."""
    now = datetime.now().astimezone()
    found = store.read(store.folder_of(site.state))
    past = nights(found.rows, site.name, profile, lambda session: _enforced(site, session), system)
    series = series_of(site, profile)
    plan = scheduled(series)
    calendar = plan.calendar if plan else None
    since = datetime.fromtimestamp(plan.since).astimezone() if plan else now
    if plan is None and profile in site.trial_file.schedule:
        calendar = site.schedule(profile).calendar  # something else than `seatrial schedule` may start it
        since = past[0].began if past else now
    due = calendar.between(max(since, now - timedelta(days=7 * RUNS_SHOWN)), now)[-RUNS_SHOWN:] if calendar else []
    following = calendar.after(now)[0] if calendar else None
    last = past[-1].session if past else ''
    # Whose they are is not known: names of sessions sort by time.
    unread = [f'{each.file}: {each.why}' for each in found.skipped if each.file.stem > last]
    page = folder_of(site, past[-1].session) / FOLDER / PAGE if past else None
    return Watch(
        site=site.name,
        profile=profile,
        now=now,
        nights=past,
        runs=runs(due, following, now, past, _unfinished(site, profile, past, system)) if following else [],
        calendar=calendar.words if calendar else '',
        following=following,
        queue=_queue(job_name(series)) if plan else '',
        report=str(page) if page and page.is_file() else '',
        unread=unread,
        held=_held(site, past[-1].session) if past else None,
    )


def _enforced(site: Site, session: str) -> dict[Criterion, Judged]:
    """The history has no expectations; where the session's folder is gone, the case's verdict still tells."""
    try:
        return enforced_in(json.loads((folder_of(site, session) / RESULTS).read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _held(site: Site, session: str) -> int | None:
    try:
        return held_in(json.loads((folder_of(site, session) / RESULTS).read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _unfinished(site: Site, profile: str, past: list[Night], system: str | None) -> list[Unfinished]:
    ended = {night.session for night in past}
    found = []
    for file in sorted((Path(site.state) / 'sessions').glob(f'*/{FILE}')):
        session = file.parent.name
        if session in ended:
            continue
        try:
            data = json.loads(file.read_text())
            asked = (data['profile'], Path(data['site']), data['only'])
            if asked == (profile, site.folder, []) and system in (None, data.get('system')):
                found.append(Unfinished(session, began(session), _beats(site, session)))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # not one of Seatrial's
    return found


def _beats(site: Site, session: str) -> bool:
    try:
        return time.time() - Path(heartbeat_of(site.state, session)).stat().st_mtime < STALE_S
    except OSError:
        return False


def _queue(name: str) -> str:
    if shutil.which('squeue') is None:
        return ''
    try:
        jobs = jobs_named(name)
    except QueueError as error:
        return f'does not tell: {error}'
    return '; '.join(job.words for job in jobs) or f'has no job {name}: seatrial schedule --install puts it back'
