"""The jobs that follow in a scheduled series. Without scrontab two jobs wait in the queue at any time, each with the
time that it is due: one that dies does not end the series. Successors come before all else, from what is enabled
alone: no fault of the site's files, and no full disk, ends the series."""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from seatrial.model.owned import shared_in
from seatrial.scheduler import queue
from seatrial.scheduler.series import alone, file_of, job_name, scheduled
from seatrial.site.calendar import Calendar

AHEAD = 2  # jobs of the script in the queue


class Successors(NamedTuple):
    """Results in sentences: jobs that were submitted, and faults."""

    done: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def see_to_successors(series: Path, due: str) -> Successors:
    """Put the next jobs into the queue; a disabled series has none. Prints and raises nothing."""
    try:
        # The script is submitted as it lies there now, in STATE/schedule, and runs as this user.
        faults = shared_in(str(series.parents[1]), (str(series.parent), str(script_of(series))))
        if faults:
            raise ValueError(faults[0].why)
        with alone(queue_lock(series)):
            plan = scheduled(series)
            if plan is None or plan.form != 'sbatch':
                return Successors()
            # The clocks of Slurm's controller and of this node differ: not the time at which this job itself was due.
            after = max(datetime.now().astimezone(), datetime.fromisoformat(due).astimezone())
            return Successors(done=tuple(keep_in_queue(series, plan.calendar, after)))
    except (OSError, ValueError, queue.QueueError) as error:
        return Successors(faults=(f'the next runs could not be put into the queue: {error}',))


def script_of(series: Path) -> Path:
    return file_of(series, '.sbatch')


def queue_lock(series: Path) -> Path:
    return file_of(series, '.queue.lock')


def waiting(series: Path) -> list[queue.QueuedJob]:
    """This user's jobs of the script that have not begun. Raises QueueError."""
    script = str(script_of(series))
    return [
        job for job in queue.own_jobs(job_name(series)) if job.state == 'PENDING' and job.command.startswith(script)
    ]


def keep_in_queue(series: Path, calendar: Calendar, after: datetime) -> list[str]:
    """Queue the next jobs; returns those that were submitted, in sentences. Raises QueueError."""
    script, jobs = str(script_of(series)), waiting(series)
    there = {job.command.removeprefix(script).strip() for job in jobs}
    wanted = [f'{due:%Y-%m-%dT%H:%M:%S}' for due in calendar.after(after, AHEAD)]
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


def superseded(series: Path, due: str) -> bool:
    """True if a job begins so late that its successor, which begins right after it, is due too."""
    try:
        plan = scheduled(series)
        own = datetime.fromisoformat(due).astimezone()
    except (OSError, ValueError):
        return False
    return plan is not None and bool(plan.calendar.between(own, datetime.now().astimezone()))
