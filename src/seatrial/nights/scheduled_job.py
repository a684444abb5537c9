"""The scheduled job: submits its successors, runs a session, and notifies, whatever the outcome."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import FrameType

from rich.console import Console

from seatrial.engine.base import ending
from seatrial.judge.verdict import EXIT_CODES, Verdict
from seatrial.nights.notify import news_lock, send_notification
from seatrial.nights.standing import LATER, watch_of, write_year
from seatrial.report.terminal import say
from seatrial.scheduler.partitions import partitions_of
from seatrial.scheduler.series import Successors, alone, series_of, superseded
from seatrial.site.model import Site

STOP_S = 480.0  # seconds that a session may take to end once asked to; the job lasts longer, to send the notification
POLL_S = 0.2
_WITHIN_A_JOB = ('SLURM_CONF', 'SLURM_JOB_ID')


def night(
    screen: Console,
    site: Site,
    profile: str,
    command: Sequence[str],
    due: str | None,
    deadline_s: float | None,
    successors: Successors,
) -> int:
    """Runs a session as a process of its own, and notifies. Returns its exit code, or that of INCOMPLETE. due:
    argument of the batch script; deadline_s: seconds after which the session is asked to end"""
    with _end_requests() as requested:
        say(screen, f'{datetime.now():%Y-%m-%d %H:%M:%S} {shlex.join(command)}')
        say(screen, *successors.done, *successors.faults)
        series = series_of(site, profile)
        if due and superseded(series, due):
            screen.print(f'due {due}, and so late that the next run is due too; this one is left to it')
            return EXIT_CODES[Verdict.INCOMPLETE]
        began = int(time.time())
        status = _ran(command, _environment(partitions_of(site, profile).submit), deadline_s, requested)
        with alone(news_lock(site, profile)):
            watch = watch_of(site, profile)
            faults = list(successors.faults)
            if watch.last is None or watch.last.began.timestamp() < began:
                when = f'{datetime.fromtimestamp(began):%Y-%m-%d %H:%M}'
                faults.append(f'seatrial run of {when} {ending(status)} and left nothing in the history; see the log')
            past = send_notification(screen, site, watch, faults)
        try:
            write_year(site, profile, watch, past)
        except Exception as error:  # it follows the notification, and changes no exit code
            say(screen, f'the page of the nights could not be written: {error!r}')
        code = status if status >= 0 else EXIT_CODES[Verdict.INCOMPLETE]
        screen.print(f'{datetime.now():%Y-%m-%d %H:%M:%S} exit code {code}')
        return code


def _environment(submits: bool) -> dict[str, str]:
    """The environment without variables of this job that would act as options of the jobs and steps it starts."""
    left_out = {name for name in os.environ if name.startswith('SLURM_') and name not in _WITHIN_A_JOB}
    if not submits:
        left_out &= {'SLURM_EXPORT_ENV', 'SLURM_GET_USER_ENV'}
    return {**{name: value for name, value in os.environ.items() if name not in left_out}, LATER: '1'}


@contextmanager
def _end_requests() -> Iterator[list[float]]:
    """The times of the signals that ask this process to end; none ends it before people are notified."""
    requested: list[float] = []

    def request(number: int, frame: FrameType | None) -> None:
        requested.append(time.monotonic())

    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ran(
    command: Sequence[str], environment: dict[str, str], deadline_s: float | None, requested: list[float]
) -> int:
    """The exit status of the session's process. Requests to end are passed on; killing comes last."""
    passed_on = 0
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, start_new_session=True)
    end = time.monotonic() + deadline_s if deadline_s is not None else float('inf')
    while process.poll() is None:
        if not requested and time.monotonic() > end:
            requested.append(time.monotonic())
        if passed_on < len(requested):
            passed_on = len(requested)
            process.terminate()
        if requested and time.monotonic() > requested[0] + STOP_S:
            process.kill()
        time.sleep(POLL_S)
    return process.returncode
