"""The end of a job that did not end by itself: asked of Slurm, or found in ReFrame's report, and kept in a file."""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from seatrial.job.directory.removal import worked_s
from seatrial.job.sequence.recorder import RecordReader, write_job_state
from seatrial.model.foreign import read_json
from seatrial.model.plan import TrialPlan
from seatrial.model.record import PLAN, SAMPLES, Records
from seatrial.model.telemetry import TELEMETRY
from seatrial.model.units import duration
from seatrial.rules.case import cut_off
from seatrial.scheduler.job_state import SILENT, WAITING, JobState, job_state_of, may_go_on, of_sbatch, slurm_words
from seatrial.scheduler.partitions import SLURM

TAIL_BYTES = 65536
ASK_AGAIN_S = 2.0
SILENT_S = 600.0
"""The wait for a Slurm that does not answer, after its last answer and after the job's last record. Within minutes
slurmctld is back or its backup has taken over; a running job writes telemetry twice a minute."""

END_S = 60.0  # seconds of a job's time limit before its first launch and after its removal
GRACE_S = 300.0  # seconds after a job's limits: Slurm counts in minutes, checks late, and has KillWait and epilogs
ENDED = ('PREEMPTED', 'REVOKED')  # states of an ended job that ReFrame 4.10 mistakes for waiting in the queue


class Patience(NamedTuple):
    """The longest waits for a job, in seconds: in the queue, and after its start."""

    queue_s: float
    job_s: float


class Wait:
    """ReFrame's wait for a job of Slurm, until it has ended or its limits have passed. Without it ReFrame 4.10 waits
    for ever for a job that was preempted (seen), or in a state that it does not know, and takes a suspended job for
    one in the queue. ReFrame asks finished() after each poll, and calls wait() at the end. passed: the limit that has
    passed, as a sentence, or empty. overdue: True if it was the last limit."""

    def __init__(self, job: Any, patience: Patience) -> None:
        self._job, self._patience = job, patience
        self._left_queue_s = 0.0  # when the job was last seen running; Slurm may have requeued it since
        self.passed, self.overdue = '', False
        job.finished, job.wait = self.finished, self.wait

    def finished(self) -> bool:
        """True if ReFrame must stop waiting."""
        job, now = self._job, time.time()
        if type(job).finished(job) or job.state in ENDED:
            return True
        waits = job.state in WAITING
        if job.state and not waits:
            self._left_queue_s = now
        queue_s, job_s = self._patience
        if now >= job.submit_time + queue_s + job_s + GRACE_S:
            self.overdue = True
            limits = f'the queue_limit of trial.yaml ({duration(queue_s)}) and its time limit ({duration(job_s)})'
            self.passed = f'it had not ended when {limits} had passed'
        elif waits and now >= max(job.submit_time, self._left_queue_s) + queue_s:
            self.passed = f'it waited in the queue for longer than the queue_limit of trial.yaml, {queue_s:.0f} s'
        return bool(self.passed)

    def wait(self) -> None:
        while not self.finished():
            self._job.scheduler.poll(self._job)
            time.sleep(ASK_AGAIN_S)


def job_limit_s(plan: TrialPlan) -> float:
    """Seconds after which the job's scheduler may end it."""
    return worked_s(plan) + END_S


def ask_job_state(
    record: RecordReader, scheduler: str, job: str | None, output: Path, patience: Patience, known: str = ''
) -> JobState | None:
    """Asks why a job was cut off and keeps the answer; None if the job ended by itself. If squeue failed, ReFrame
    4.10 takes waiting and running jobs for ended (seen), so this waits for their end. known: a cause, or empty."""
    if scheduler not in SLURM or not job:
        return None
    asked = answered = time.time()
    written = [Path(record.directory, name) for name in (SAMPLES, TELEMETRY)]
    while True:
        if not cut_off(record.read()):
            return None
        job_state = job_state_of(job, tail(output))
        now = time.time()
        if job_state.state != SILENT:
            answered = now
        start = record.read().start
        if start is not None:
            latest = start.started + patience.job_s
        else:  # while Slurm gives no answer the job is assumed to run
            latest = asked + (patience.queue_s if job_state.state in WAITING else patience.job_s)
        silent = max([answered, *(file.stat().st_mtime for file in written if file.exists())]) + SILENT_S
        if not may_go_on(job_state) or now >= min(latest, silent):
            break
        time.sleep(ASK_AGAIN_S)
    write_job_state(record.directory, '; '.join(words for words in (known, slurm_words(job_state)) if words), job)
    return job_state


def tail(file: Path) -> str:
    """The last TAIL_BYTES of a text; empty if it cannot be read."""
    try:
        with file.open('rb') as stream:
            stream.seek(max(0, file.stat().st_size - TAIL_BYTES))
            return stream.read().decode(errors='replace')
    except OSError:
        return ''


# Jobs that ReFrame gave up on before their checks could ask

REFRAME, REPORT = 'reframe', 'report.json'  # the folder of ReFrame in that of the session, and its report in it
OUTPUT = 'reframe.out'  # what ReFrame has printed, in the folder of the session
_NAMES = {'name', 'system', 'partition', 'case'}
_STOPPED = re.compile(r'^ERROR: (run session stopped: (?!force exit|cancelled by user).+)$', re.MULTILINE)


def complete_job_states(folder: Path, cases: Sequence[tuple[TrialPlan, Records]]) -> None:
    """Writes the state of every job that was cut off and has none; asks no more once Slurm does not answer."""
    tests: dict[str, Mapping[str, Any]] = {}
    with suppress(OSError, ValueError):  # ReFrame may have left no report
        tests = {_case_name(test): test for test in _tests_in(folder / REFRAME / REPORT)}
    gave_up = _STOPPED.findall(tail(folder / OUTPUT))
    stopped = f'ReFrame says: {gave_up[-1]}' if gave_up else ''
    silence = ''
    for plan, records in cases:
        if not cut_off(records) or records.job_state:
            continue
        test = tests.get(plan.case.name, {})
        reasons = [_reframe_reason(test) or stopped]
        # If ReFrame was ended and left no report, the record has the id of the job.
        job = str(test.get('jobid') or '') if test else records.start.job if records.start else ''
        if job and (not test or test.get('scheduler') in SLURM):
            if not silence:
                output = Path(str(test.get('stagedir') or '')) / str(test.get('job_stderr') or '')
                job_state = job_state_of(job, tail(output))
                silence = slurm_words(job_state) if job_state.state == SILENT else ''
            reasons.append(silence or slurm_words(job_state))
        whole = '; '.join(reason for reason in reasons if reason)
        if whole:
            write_job_state(plan.records, whole, job)


def _tests_in(file: Path) -> list[Mapping[str, Any]]:
    """ReFrame's entries for checks of Seatrial. Raises OSError; ValueError if the file is no report."""
    try:
        runs = read_json(file)['runs']
        return [test for run in runs for test in run['testcases'] if _NAMES.issubset(test)]
    except (KeyError, TypeError) as error:
        raise ValueError(f'{file} is not a report of ReFrame: {error!r}') from None


def plain_sessions(file: Path, state: str) -> list[tuple[str, list[str]]]:
    """The sessions in a report of plain ReFrame, one per profile: its name, empty if no case had a plan, and the
    cases without a plan, with the reason. Raises OSError, ValueError for a file that is no report."""
    names, missing = dict[str, str](), dict[str, list[str]]()
    for test in _tests_in(file):
        profile, records = str(test.get('profile')), Path(str(test.get('records') or ''))
        never = missing.setdefault(profile, [])
        if not (records.is_absolute() and (records / PLAN).is_file()):
            never.append(f'{_case_name(test)}: {_reframe_reason(test) or "there is no plan of it"}')
        elif records.parent.parent.parent == Path(state) / 'sessions':
            names[profile] = records.parent.parent.name
    return [(names.get(profile, ''), never) for profile, never in missing.items() if never or profile in names]


def _case_name(test: Mapping[str, Any]) -> str:
    """The case of an entry: a check's name in ReFrame begins with its class, and its case ends with the profile. In
    reports of Seatrial before 0.2 the case was Case.name itself: Check/partition/file system/layout/2n."""
    case = str(test['case'])
    if case.count('/') == 4:
        return case
    return f'{str(test["name"]).split()[0]}/{test["system"]}:{test["partition"]}/{case.rpartition("/")[0]}'


def _reframe_reason(test: Mapping[str, Any]) -> str:
    """ReFrame's reason in one line; empty for a stage after the job, where it repeats the check's message."""
    reason = str(test.get('fail_reason') or '').strip()
    if not reason or test.get('fail_phase') in ('sanity', 'performance'):
        return ''
    if (refused := of_sbatch(reason)) is not None:
        return slurm_words(refused)
    return f'ReFrame says: {reason.splitlines()[0].removeprefix("sanity error: INCOMPLETE: ")}'
