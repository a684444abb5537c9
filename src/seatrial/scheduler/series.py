"""A scheduled trial: the names of its jobs and files, and its schedule."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TextIO

from seatrial.model.atomic_file import write_whole
from seatrial.scheduler.queue import QueueError, jobs_named
from seatrial.site.calendar import Calendar
from seatrial.site.model import Site

ALONE_S = 300.0  # longer than questions to a Slurm that does not answer, or a notification take in another process
POLL_S = 0.2

REMOVED = '.removed'  # a file as old as the last `seatrial schedule --remove`; --install takes it away


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
    """The name of its jobs, which no other series of the user has: sites of one name have other state directories."""
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
    """Unix time at which `seatrial schedule --remove` took it out of Slurm; None without that."""
    with suppress(OSError):
        return file_of(series, REMOVED).stat().st_mtime
    return None


def metrics_file(site: Site, profile: str) -> Path:
    """The metrics of a scheduled trial, in a folder that node_exporter can be pointed to."""
    return Path(site.state) / 'metrics' / f'{title_of(site, profile)}.prom'


def page_file(site: Site, profile: str) -> Path:
    """The page of its nights, from which the reports of the sessions are reached by relative links."""
    return Path(site.state) / 'reports' / f'{title_of(site, profile)}.html'


def queue_words(series: Path) -> str:
    """The trial's jobs in the queue, or the error of Slurm; empty on a host without Slurm."""
    if shutil.which('squeue') is None:
        return ''
    name = job_name(series)
    try:
        jobs = jobs_named(name)
    except QueueError as error:
        return f'unknown: {error}'
    return '; '.join(job.words for job in jobs) or f'has no job {name}: seatrial schedule --install puts it back'


def put(file: Path, text: str) -> None:
    """Write a small file whole, and its folder if missing. Raises OSError."""
    file.parent.mkdir(exist_ok=True)
    write_whole(file, text)


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Wait at most ALONE_S until no other process holds this file; without locks it goes on at once."""
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
