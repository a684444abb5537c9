"""The jobs of sessions that are still in Slurm's queue: cancelled at the end of theirs, found by `seatrial clean`."""

import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.console import Console

from seatrial.job.directory.orphans import leader_alive
from seatrial.scheduler.partitions import is_slurm
from seatrial.scheduler.queue import DEADLINE_S, QueueError, asked
from seatrial.site.load import partitions_in
from seatrial.site.model import SETTINGS_FILE, Site

COMMENT = 'seatrial:'  # prefix of the comment of a Slurm job, followed by the session's id
ASK_S = 60.0  # seconds of questions to a Slurm that does not answer: slurmctld needs as long to restart
END_S = 120.0  # wait for cancelled jobs: KillWait (30 s by default), an epilog, removal of files

LONGEST_S = ASK_S + END_S + 3 * DEADLINE_S
"""The longest wait for Slurm at a session's end: the last question of each wait may be answered late."""

POLL_S = 1.0

_SESSION = re.compile(rf'(?:^|[\s,;]){re.escape(COMMENT)}([0-9]{{8}}T[0-9]{{6}}-[0-9a-f]{{6}})(?=$|[\s,;])')
_FORMAT = '%i|%U|%T|%N|%k'


class SessionJob(NamedTuple):
    """A job in the queue, submitted by a session of this user. nodes: in Slurm's notation, empty before it runs."""

    id: str
    session: str
    state: str
    nodes: str
    alive: str | None  # the reason why its session counts as alive, or None

    @property
    def words(self) -> str:
        where = f' on {self.nodes}' if self.nodes else ''
        return f'job {self.id} of session {self.session}, {self.state.lower()}{where}'


def comment_option(session: str) -> str:
    return f'--comment={COMMENT}{session}'


def has_queue(site: Site) -> bool:
    """True if the site's jobs are Slurm's, and Slurm can be asked from here."""
    return shutil.which('squeue') is not None and submits_to_slurm(site)


def submits_to_slurm(site: Site) -> bool:
    """True if a partition of the site's trials has jobs of Slurm."""
    return any(is_slurm(site, name) for name in site.trial_file.partitions)


def has_one_queue(site: Site) -> bool:
    """True if squeue on this host shows the jobs of all partitions: none of them submits to another cluster."""
    partitions = partitions_in(site.folder / SETTINGS_FILE)
    access = [str(option) for name in site.trial_file.partitions for option in partitions[name].get('access', ())]
    return not any(option.startswith(('-M', '--cluster')) for option in access)


def jobs_of_sessions(site: Site) -> list[SessionJob]:
    """This user's jobs that bear the mark of a session of this site and have not ended. Raises QueueError."""
    text = asked('squeue', '--noheader', f'--user={os.geteuid()}', f'--format={_FORMAT}')
    jobs = read_jobs(text, os.geteuid(), lambda session: leader_alive(site.state, session))
    return [job for job in jobs if site.session_folder(job.session).is_dir()]


def read_jobs(text: str, user: int, alive: Callable[[str], str | None]) -> list[SessionJob]:
    """Jobs in squeue's output in _FORMAT; those of other users and without a session's mark are left out."""
    jobs = []
    for line in text.splitlines():
        fields = line.split('|', 4)
        mark = _SESSION.search(fields[-1])
        if len(fields) == 5 and fields[1] == str(user) and mark:
            number, _, state, nodes, _ = fields
            jobs.append(SessionJob(number, mark.group(1), state, nodes, alive(mark.group(1))))
    return jobs


def cancel(
    screen: Console, site: Site, jobs: Sequence[SessionJob], announced: set[str] | None = None
) -> list[SessionJob]:
    """Cancels jobs and waits up to END_S for their end; returns those left. Raises QueueError. announced: the jobs
    whose cancellation was printed before, to which the others are added; None: none is printed"""
    numbers = {job.id for job in jobs}
    left = list(jobs)
    sent = False
    end = time.monotonic() + END_S
    while left and time.monotonic() < end:
        going_on = [job for job in left if job.state != 'COMPLETING']
        if going_on and not sent:
            sent = True
            # Only this user's jobs: a number may have been given to another job in the meantime.
            asked('scancel', f'--user={os.geteuid()}', *(job.id for job in going_on))
            for job in going_on:
                if announced is not None and job.id not in announced:
                    announced.add(job.id)
                    screen.print(f'cancelled at the end of its session: {job.words}', soft_wrap=True)
        time.sleep(POLL_S)
        left = [job for job in jobs_of_sessions(site) if job.id in numbers]
    for job in left:
        screen.print(f'{job.words}, does not end; `scontrol show job {job.id}` says more', soft_wrap=True)
    return left


def cancel_all(screen: Console, site: Site, session: str) -> None:
    """Cancels the session's jobs in the queue, also jobs that ReFrame no longer tracks; waits for their end."""
    if not has_queue(site):
        return
    end = time.monotonic() + ASK_S
    announced: set[str] = set()
    while True:
        try:
            jobs = [job for job in jobs_of_sessions(site) if job.session == session]
            cancel(screen, site, jobs, announced)
            return
        except QueueError as error:
            if time.monotonic() >= end:
                screen.print(f'jobs may still be running: {error}; later run `seatrial clean`', soft_wrap=True)
                return
            time.sleep(POLL_S)
