"""What a scheduled job does: it sees to its successors, runs a session, and tells people, whatever became of it.

Without scrontab two jobs of the script wait in the queue at any time, each with the time that it is due as its
argument: one that dies before it has submitted its successor does not end the series.
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

from rich.console import Console

from seatrial.cli import queue
from seatrial.cli.notify import tell
from seatrial.cli.partitions import partitions_of
from seatrial.cli.watch import file_of, scheduled, title_of, watch_of
from seatrial.judge.verdict import EXIT_CODES, Verdict
from seatrial.site.calendar import Calendar
from seatrial.site.model import Site

AHEAD = 2
"""Jobs of the script in the queue."""

STOP_S = 480.0
"""How long a session that was told to end may take: less than what is left of the job then, for people to be told."""

POLL_S = 0.2
_WITHIN_A_JOB = ('SLURM_CONF', 'SLURM_JOB_ID')


def night(
    screen: Console, site: Site, profile: str, command: Sequence[str], due: str | None, deadline_s: float | None
) -> int:
    """Run a session as a process of its own, and tell. Returns its exit code, or that of INCOMPLETE.

    due: the argument of a job of the script; deadline_s: seconds after which the session is told to end
    """
    screen.print(f'{datetime.now():%Y-%m-%d %H:%M:%S} {shlex.join(command)}', soft_wrap=True)
    faults = []
    if due:
        faults = _see_to_successors(screen, site, profile, due)
        if _superseded(site, profile, due):
            screen.print(f'due {due}, and so late that the next run is due too; this one is left to it')
            return EXIT_CODES[Verdict.INCOMPLETE]
    began = int(time.time())
    status = _ran(command, _environment(partitions_of(site, profile).submit), deadline_s)
    watch = watch_of(site, profile)
    if watch.last is None or watch.last.began.timestamp() < began:
        how = f'was killed by signal {-status}' if status < 0 else f'ended with exit code {status}'
        when = f'{datetime.fromtimestamp(began):%Y-%m-%d %H:%M}'
        faults.append(f'seatrial run of {when} {how} and left nothing in the history; see the log')
    tell(screen, site, watch, faults)
    code = status if status >= 0 else EXIT_CODES[Verdict.INCOMPLETE]
    screen.print(f'{datetime.now():%Y-%m-%d %H:%M:%S} exit code {code}')
    return code


def script_of(site: Site, profile: str) -> Path:
    """The script where there is no scrontab."""
    return file_of(site, profile, '.sbatch')


def waiting(site: Site, profile: str) -> list[queue.Job]:
    """This user's jobs of the script that have not begun. Raises QueueError."""
    script = str(script_of(site, profile))
    return [
        job
        for job in queue.jobs_named(title_of(site, profile))
        if job.state == 'PENDING' and job.uid == os.geteuid() and job.command.startswith(script)
    ]


def keep_in_queue(site: Site, profile: str, calendar: Calendar, after: datetime) -> list[str]:
    """See that the next jobs are in the queue; what was submitted, in sentences. Raises QueueError."""
    jobs = waiting(site, profile)
    there = {job.command.rpartition(' ')[2] for job in jobs}
    missing = [due for due in map(_argument, calendar.after(after, AHEAD)) if due not in there]
    # Their number counts, too: jobs whose argument a site's plugin has changed must not pile up.
    return [
        f'job {queue.submit(str(script_of(site, profile)), due, due)} is in the queue for {due}'
        for due in missing[: max(0, AHEAD - len(jobs))]
    ]


def _argument(due: datetime) -> str:
    """The form that sbatch --begin takes, in this host's time zone."""
    return f'{due:%Y-%m-%dT%H:%M:%S}'


def _see_to_successors(screen: Console, site: Site, profile: str, due: str) -> list[str]:
    """Sentences on what went wrong. Once it is out of force there are none to come."""
    try:
        plan = scheduled(site, profile)
        if plan is None or plan.form != 'sbatch':
            return []
        # The clocks of Slurm's controller and of this node differ: not the time at which this job itself was due.
        after = max(datetime.now().astimezone(), datetime.fromisoformat(due).astimezone())
        for said in keep_in_queue(site, profile, plan.calendar, after):
            screen.print(said)
    except (OSError, ValueError, queue.QueueError) as error:
        screen.print(f'the next runs are not in the queue: {error}', soft_wrap=True)
        return [f'the next runs could not be put into the queue: {error}']
    return []


def _superseded(site: Site, profile: str, due: str) -> bool:
    """Whether a job begins so late that its successor is due too, which begins as soon as this one ends."""
    try:
        plan = scheduled(site, profile)
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
