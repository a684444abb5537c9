"""A scheduled trial: the names of its jobs and files, its schedule, and its next jobs. Without scrontab, two jobs
always wait in the queue, each with its due time: the failure of one does not end the series. A job first queues its
successors, from the enabled schedule alone: no fault in the site's files and no full disk ends the series."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from seatrial.model.atomic_file import write_whole
from seatrial.model.owned import shared_in
from seatrial.scheduler import queue
from seatrial.site.calendar import Calendar
from seatrial.site.model import Site

ALONE_S = 300.0  # longer than another process needs to ask a Slurm that does not answer, or to send a notification
POLL_S = 0.2
AHEAD = 2  # jobs of the script in the queue

SCRIPT, QUEUE_LOCK = '.sbatch', '.queue.lock'
REMOVED = '.removed'  # a file with the time of the last `seatrial schedule --remove`; --install deletes it


class Scheduled(NamedTuple):
    """The schedule enabled by `seatrial schedule --install`. since: Unix time; form: 'scrontab' or 'sbatch'."""

    calendar: Calendar
    since: float
    form: str


def title_of(site: Site, profile: str) -> str:
    """The name of a scheduled trial in the names of its files."""
    return f'seatrial-{re.sub(r"[^A-Za-z0-9_.-]", "-", site.name)}-{profile}'


def series_of(site: Site, profile: str) -> Path:
    """The path of a scheduled trial's files in the state directory, without suffixes: the trial's identity."""
    return Path(site.state) / 'schedule' / title_of(site, profile)


def job_name(series: Path) -> str:
    """The name of its jobs, unique to this series: sites of the same name have different state directories."""
    return f'{series.name}-{hashlib.sha256(os.fsencode(series)).hexdigest()[:6]}'


def file_of(series: Path, end: str) -> Path:
    return series.with_name(f'{series.name}{end}')


def scheduled(series: Path) -> Scheduled | None:
    """The enabled schedule, or None. Raises OSError; ValueError for a file that Seatrial has not written."""
    file = file_of(series, '.json')
    try:
        data = json.loads(file.read_text())
        hour, minute, days = data['calendar']
        return Scheduled(Calendar(hour, minute, tuple(days)), data['since'], data['form'])
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError):
        raise ValueError(f'{file} cannot be read; remove it, then seatrial schedule --install again') from None


def removed_s(series: Path) -> float | None:
    """Unix time at which `seatrial schedule --remove` took it out of Slurm; None if it did not."""
    with suppress(OSError):
        return file_of(series, REMOVED).stat().st_mtime
    return None


def metrics_file(site: Site, profile: str) -> Path:
    """The metrics of a scheduled trial, in a folder that node_exporter can be pointed to."""
    return Path(site.state) / 'metrics' / f'{title_of(site, profile)}.prom'


def page_file(site: Site, profile: str) -> Path:
    """The page of its nights, which has relative links to the reports of the sessions."""
    return Path(site.state) / 'reports' / f'{title_of(site, profile)}.html'


def queue_words(series: Path) -> str:
    """The trial's jobs in the queue, or the error of Slurm; empty on a host without Slurm."""
    if shutil.which('squeue') is None:
        return ''
    name = job_name(series)
    try:
        jobs = queue.jobs_named(name)
    except queue.QueueError as error:
        return f'unknown: {error}'
    return '; '.join(job.words for job in jobs) or f'has no job {name}: seatrial schedule --install puts it back'


def put(file: Path, text: str) -> None:
    """Writes a small file atomically, and creates its folder if missing. Raises OSError."""
    file.parent.mkdir(exist_ok=True)
    write_whole(file, text)


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Waits up to ALONE_S until no other process locks this file; goes on at once where files have no locks."""
    with ExitStack() as held:
        with suppress(OSError):
            file.parent.mkdir(exist_ok=True)
            stream = held.enter_context(file.open('a'))
            end = time.monotonic() + ALONE_S
            while time.monotonic() < end:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(POLL_S)
        yield


class Successors(NamedTuple):
    """The results in sentences: submitted jobs, and faults."""

    done: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def see_to_successors(series: Path, due: str) -> Successors:
    """Queues the next jobs of a series, none if it is disabled. Prints and raises nothing."""
    try:
        # The script in STATE/schedule is submitted as it is now and runs as this user: no other may write it.
        faults = shared_in(str(series.parents[1]), (str(series.parent), str(file_of(series, SCRIPT))))
        if faults:
            raise ValueError(faults[0].why)
        with alone(file_of(series, QUEUE_LOCK)):
            plan = scheduled(series)
            if plan is None or plan.form != 'sbatch':
                return Successors()
            # This node's clock may be behind that of Slurm's controller: this job's due time is not queued again.
            after = max(datetime.now().astimezone(), datetime.fromisoformat(due).astimezone())
            return Successors(done=tuple(keep_in_queue(series, plan.calendar, after)))
    except (OSError, ValueError, queue.QueueError) as error:
        return Successors(faults=(f'the next runs could not be put into the queue: {error}',))


def waiting(series: Path) -> list[queue.QueuedJob]:
    """This user's jobs of the script that have not begun. Raises QueueError."""
    script, jobs = str(file_of(series, SCRIPT)), queue.own_jobs(job_name(series))
    return [job for job in jobs if job.state == 'PENDING' and job.command.startswith(script)]


def keep_in_queue(series: Path, calendar: Calendar, after: datetime) -> list[str]:
    """Queues the next jobs; returns a sentence for each submitted job. Raises QueueError."""
    script, jobs = str(file_of(series, SCRIPT)), waiting(series)
    queued = {job.command.removeprefix(script).strip() for job in jobs}
    wanted = [f'{due:%Y-%m-%dT%H:%M:%S}' for due in calendar.after(after, AHEAD)]
    missing = [due for due in wanted if due not in queued]
    if missing and max(queued, default='') > missing[0]:
        # With singleton a job waits for every job with a lower number, even if it is due earlier.
        queue.cancel_pending(jobs)
        jobs, missing = [], wanted
    # All waiting jobs count, so that jobs whose argument a site's plugin has changed do not pile up.
    submitted = missing[: max(0, AHEAD - len(jobs))]
    return [f'job {queue.submit(script, due, due)} is in the queue for {due}' for due in submitted]


def superseded(series: Path, due: str) -> bool:
    """True if a job begins so late that its successor, which begins right after it, is due too."""
    try:
        plan = scheduled(series)
        due_at = datetime.fromisoformat(due).astimezone()
    except (OSError, ValueError):
        return False
    return plan is not None and bool(plan.calendar.between(due_at, datetime.now().astimezone()))
