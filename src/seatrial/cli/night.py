"""What a scheduled job does: it sees to its successors, runs a session, and tells people, whatever became of it.

Without scrontab two jobs of the script wait in the queue at any time, each with the time that it is due as its
argument: one that dies before it has submitted its successor does not end the series. Successors come before all
else, from what is in force alone: neither a fault of the site's files nor a full disk ends the series.
"""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from rich.console import Console

from seatrial.cli import queue
from seatrial.cli.notify import news_lock, tell
from seatrial.cli.partitions import partitions_of
from seatrial.cli.watch import alone, file_of, job_name, scheduled, series_of, watch_of
from seatrial.judge.verdict import EXIT_CODES, Verdict
from seatrial.site.calendar import Calendar
from seatrial.site.model import Site

AHEAD = 2
"""Jobs of the script in the queue."""

STOP_S = 480.0
"""How long a session that was told to end may take: less than what is left of the job then, for people to be told."""

POLL_S = 0.2
_WITHIN_A_JOB = ('SLURM_CONF', 'SLURM_JOB_ID')


class Successors(NamedTuple):
    """The jobs that follow. done, faults: what was submitted and what went wrong, in sentences."""

    done: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def see_to_successors(series: Path, due: str) -> Successors:
    """Put the next jobs into the queue; once it is out of force there are none to come. Prints and raises nothing."""
    try:
        with alone(queue_lock(series)):
            plan = scheduled(series)
            if plan is None or plan.form != 'sbatch':
                return Successors()
            # The clocks of Slurm's controller and of this node differ: not the time at which this job itself was due.
            after = max(datetime.now().astimezone(), datetime.fromisoformat(due).astimezone())
            return Successors(done=tuple(keep_in_queue(series, plan.calendar, after)))
    except (OSError, ValueError, queue.QueueError) as error:
        return Successors(faults=(f'the next runs could not be put into the queue: {error}',))


def night(
    screen: Console,
    site: Site,
    profile: str,
    command: Sequence[str],
    due: str | None,
    deadline_s: float | None,
    successors: Successors,
) -> int:
    """Run a session as a process of its own, and tell. Returns its exit code, or that of INCOMPLETE.

    due: the argument of a job of the script; deadline_s: seconds after which the session is told to end
    """
    screen.print(f'{datetime.now():%Y-%m-%d %H:%M:%S} {shlex.join(command)}', soft_wrap=True)
    for said in (*successors.done, *successors.faults):
        screen.print(said, soft_wrap=True)
    series = series_of(site, profile)
    if due and _superseded(series, due):
        screen.print(f'due {due}, and so late that the next run is due too; this one is left to it')
        return EXIT_CODES[Verdict.INCOMPLETE]
    began = int(time.time())
    status = _ran(command, _environment(partitions_of(site, profile).submit), deadline_s)
    with alone(news_lock(site, profile)):
        watch = watch_of(site, profile)
        faults = list(successors.faults)
        if watch.last is None or watch.last.began.timestamp() < began:
            how = f'was killed by signal {-status}' if status < 0 else f'ended with exit code {status}'
            when = f'{datetime.fromtimestamp(began):%Y-%m-%d %H:%M}'
            faults.append(f'seatrial run of {when} {how} and left nothing in the history; see the log')
        tell(screen, site, watch, faults)
    code = status if status >= 0 else EXIT_CODES[Verdict.INCOMPLETE]
    screen.print(f'{datetime.now():%Y-%m-%d %H:%M:%S} exit code {code}')
    return code


def script_of(series: Path) -> Path:
    """The script where there is no scrontab."""
    return file_of(series, '.sbatch')


def queue_lock(series: Path) -> Path:
    """Who changes what is in the queue is alone with it."""
    return file_of(series, '.queue.lock')


def waiting(series: Path) -> list[queue.Job]:
    """This user's jobs of the script that have not begun. Raises QueueError."""
    script = str(script_of(series))
    return [
        job
        for job in queue.jobs_named(job_name(series))
        if job.state == 'PENDING' and job.uid == os.geteuid() and job.command.startswith(script)
    ]


def keep_in_queue(series: Path, calendar: Calendar, after: datetime) -> list[str]:
    """See that the next jobs are in the queue; what was submitted, in sentences. Raises QueueError."""
    script, jobs = str(script_of(series)), waiting(series)
    there = {job.command.removeprefix(script).strip() for job in jobs}
    wanted = [_argument(due) for due in calendar.after(after, AHEAD)]
    missing = [due for due in wanted if due not in there]
    if missing and max(there, default='') > missing[0]:
        # A job with a higher number waits for one with a lower (singleton), also where it is due earlier.
        queue.cancel_pending(jobs)
        jobs, missing = [], wanted
    # Their number counts, too: jobs whose argument a site's plugin has changed must not pile up.
    return [
        f'job {queue.submit(script, due, due)} is in the queue for {due}'
        for due in missing[: max(0, AHEAD - len(jobs))]
    ]


def _argument(due: datetime) -> str:
    """The form that sbatch --begin takes, in this host's time zone."""
    return f'{due:%Y-%m-%dT%H:%M:%S}'


def _superseded(series: Path, due: str) -> bool:
    """Whether a job begins so late that its successor is due too, which begins as soon as this one ends."""
    try:
        plan = scheduled(series)
        own = datetime.fromisoformat(due).astimezone()
    except (OSError, ValueError):
        return False
    return plan is not None and bool(plan.calendar.between(own, datetime.now().astimezone()))


def _environment(submits: bool) -> dict[str, str]:
    """Without those of the job's own variables that would become options of the jobs and steps that it starts."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith('SLURM_')
        or name in _WITHIN_A_JOB
        or (not submits and name not in ('SLURM_EXPORT_ENV', 'SLURM_GET_USER_ENV'))
    }


def _ran(command: Sequence[str], environment: dict[str, str], deadline_s: float | None) -> int:
    """The exit status of the session's process. What tells this one to end is passed on; it is killed at the last."""
    told: list[float] = []
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, start_new_session=True)

    def pass_on(number: int, frame: FrameType | None) -> None:
        told.append(time.monotonic())
        process.terminate()

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    end = time.monotonic() + deadline_s if deadline_s is not None else float('inf')
    try:
        while process.poll() is None:
            if not told and time.monotonic() > end:
                pass_on(signal.SIGTERM, None)
            if told and time.monotonic() > told[0] + STOP_S:
                process.kill()
            time.sleep(POLL_S)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return process.returncode
