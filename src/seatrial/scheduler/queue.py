"""The scheduled trials in Slurm: their jobs in the queue, and the user's scrontab, which a cluster may
lack. scrontab 22.05 refuses in a #SCRON line (tried): --begin, --no-requeue, --signal=B:..., --export=NIL."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from seatrial.model.quoted_value import printable

DEADLINE_S = 60.0  # seconds for one question to Slurm, which answers late while slurmctld is busy
_FORMAT = '%i|%T|%r'
_CLUSTER = re.compile(r'^CLUSTER: *(\S+).*\n', re.MULTILINE)
_TIME = re.compile(r'(?:(\d+)-)?(?:(\d+):)??(\d+):(\d+)')
_JOB = re.compile(r'(\d+)\|([A-Z_]+)\|([^|]*)(?:\|(.*))?')

_OPTIONS = ('SLURM_', 'SACCT_', 'SBATCH_', 'SCANCEL_', 'SCONTROL_', 'SINFO_', 'SQUEUE_')
"""Prefixes of variables that set options of Slurm's programs; a job would pass its own on to other jobs."""

ANSWERS = ('SACCT_', 'SCONTROL_', 'SINFO_', 'SQUEUE_')
"""Variables that change Slurm's answers: SQUEUE_STATES=PENDING hides a running job from ReFrame too."""

_WHICH_SLURM = ('SLURM_CONF', 'SLURM_CLUSTERS')  # variables that ReFrame's questions and jobs use too


class QueueError(Exception):
    """Slurm refused or did not answer; the message is that of Slurm."""


class QueuedJob(NamedTuple):
    """A job in the queue. command: of its script with the arguments; empty if it was not requested."""

    id: str
    state: str
    reason: str
    command: str = ''

    @property
    def words(self) -> str:
        reason = f' ({self.reason})' if self.state == 'PENDING' else ''
        return f'job {self.id} is {self.state.lower()}{reason}'


def jobs_named(name: str) -> list[QueuedJob]:
    """Jobs of this name that have not ended, of all users, by fields that no user can forge. Raises QueueError."""
    return _jobs(f'--name={name}', f'--format={_FORMAT}')


def own_jobs(name: str) -> list[QueuedJob]:
    """The jobs of this name of this user, with their commands. Raises QueueError."""
    return _jobs(f'--user={os.geteuid()}', f'--name={name}', f'--format={_FORMAT}|%o')


def _jobs(*options: str) -> list[QueuedJob]:
    rows = map(_JOB.fullmatch, asked('squeue', '--noheader', *options).split('\n'))
    return [QueuedJob(*match.groups(default='')) for match in rows if match]


def cancel_pending(jobs: Sequence[QueuedJob]) -> None:
    """Takes this user's waiting jobs out of the queue; a job that has started runs on. Raises QueueError."""
    if jobs:
        asked('scancel', f'--user={os.geteuid()}', '--state=PENDING', *(job.id for job in jobs))


def submit(script: str, begin: str, argument: str) -> str:
    """Queues a script with its argument; returns the job's number. Raises QueueError."""
    return asked('sbatch', '--parsable', f'--begin={begin}', script, argument).strip().partition(';')[0]


def has_scrontab() -> bool:
    """True if the program is there, and the cluster has enabled it."""
    if shutil.which('scrontab') is None or shutil.which('scontrol') is None:
        return False
    return bool(re.search(r'^ScronParameters\s*=.*\benable\b', asked('scontrol', 'show', 'config'), re.MULTILINE))


def crontab() -> str:
    """The user's scrontab; empty where there is none. Raises QueueError."""
    done = _run(['scrontab', '-l'])
    if done.returncode == 1 and done.stdout.startswith('no crontab for '):
        return ''
    return _checked('scrontab', done)


def write_crontab(text: str) -> None:
    """Replaces the user's scrontab and reads it back. Raises QueueError, as where another one is shown."""
    asked('scrontab', '-', text=text)
    if crontab() != text:
        raise QueueError('scrontab shows another crontab than the one it accepted; check it with scrontab -l')


def seconds_in(span: str) -> int | None:
    """Seconds in [days-][hours:]minutes:seconds, as Slurm prints times; None for UNLIMITED, infinite and the like."""
    match = _TIME.fullmatch(span)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def asked(*argv: str, text: str = '') -> str:
    """A Slurm program's output, without the cluster's line (SLURM_CLUSTERS). Raises QueueError, also for several."""
    output = _checked(argv[0], _run(argv, text))
    clusters = _CLUSTER.findall(output)
    if len(clusters) > 1:
        sentence = f'{argv[0]} shows the clusters {", ".join(clusters)}; name one in SLURM_CLUSTERS'
        raise QueueError(printable(sentence))
    return _CLUSTER.sub('', output)


def _run(argv: Sequence[str], text: str = '') -> subprocess.CompletedProcess[str]:
    names = [name for name in os.environ if not name.startswith(_OPTIONS) or name in _WHICH_SLURM]
    try:
        # Comments and crontabs are bytes: bytes that are not UTF-8 are kept as they are.
        return subprocess.run(
            argv,
            input=text,
            env={name: os.environ[name] for name in names},
            capture_output=True,
            encoding='utf-8',
            errors='surrogateescape',
            timeout=DEADLINE_S,
        )
    except FileNotFoundError:
        raise QueueError(f'{argv[0]} is not on the PATH') from None
    except subprocess.TimeoutExpired:
        raise QueueError(f'{argv[0]} has not answered for {DEADLINE_S:.0f} s') from None


def _checked(program: str, done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode == 0:
        return done.stdout
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    words = '; '.join(lines[:3]) or 'it said nothing'
    raise QueueError(printable(f'{program} ended with {done.returncode}: {words}'))
