"""`seatrial run`: one session: many cases through ReFrame, one verdict, one folder of evidence."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from rich.console import Console

from seatrial.check.criteria import criteria_of
from seatrial.check.planning import plan_of
from seatrial.check.session import ENVIRONMENT, Session, save
from seatrial.check.staging import write_plan
from seatrial.cli.afterwards import leave
from seatrial.cli.fates import REFRAME, REPORT, complete_fates
from seatrial.cli.options import open_session, session_options
from seatrial.cli.progress import Progress
from seatrial.cli.results import show, write_results
from seatrial.cli.terminal import console
from seatrial.job import lock
from seatrial.job.orphans import beat
from seatrial.job.recorder import records_in
from seatrial.judge.session import judge_session
from seatrial.judge.verdict import EXIT_CODES, Criteria, judge_case
from seatrial.model.plan import Case, TrialPlan

POLL_S = 0.5


@click.command()
@session_options
def run(
    site_folder: Path, profile: str, checks: Path, system: str | None, engine: str | None, only: tuple[str, ...]
) -> int:
    """Run a session: all checks of the site's trial.yaml for this profile, or those that are named."""
    session, cases = open_session(site_folder, profile, checks, system, engine, only)
    plans = [plan_of(session, declared, case) for declared, case in cases]
    criteria = {case: criteria_of(session, declared, case) for declared, case in cases}
    session.site.make_directories()
    screen = console()
    screen.print(f'Session {session.id}: {len(plans)} cases of {session.site.name}, profile {profile}')
    screen.print(f'  {session.profile.label}')
    session.folder.mkdir(parents=True)
    for plan in plans:
        write_plan(plan)
    try:
        beating = beat(session.site.state, session.id)
        with _told_to_stop() as told, _locked(session, plans):
            _reframe(session, checks, plans, criteria, screen, told)
        beating.stop()
    except lock.LockError as error:
        screen.print(f'nothing was measured: {error}', soft_wrap=True)
    complete_fates(session, plans)
    results = [judge_case(plan, records_in(plan.records), criteria[plan.case]) for plan in plans]
    result = judge_session(session.id, profile, results, criteria)
    file = write_results(session, result)
    show(screen, session, result, file)
    _say_if_nothing_started(screen, session, plans)
    leave(screen, session, plans, result)
    return EXIT_CODES[result.verdict]


def _say_if_nothing_started(screen: Console, session: Session, plans: list[TrialPlan]) -> None:
    """Where no job has begun, ReFrame's last words say why better than anything here can."""
    output = session.folder / 'reframe.out'
    if output.is_file() and all(records_in(plan.records).start is None for plan in plans):
        lines = [line for line in output.read_text(errors='replace').splitlines() if line.strip()]
        errors = [line for line in lines if 'error' in line.lower()]
        screen.print(f'ReFrame: {(errors or lines or ["it said nothing"])[-1].strip()}', soft_wrap=True)
        screen.print(f'  all of it: {output}', soft_wrap=True)


@contextmanager
def _locked(session: Session, plans: list[TrialPlan]) -> Iterator[None]:
    """Hold every storage system of the session from before its first case to after its last."""
    with ExitStack() as held:
        for storage_system in sorted({plan.target.storage_system for plan in plans}):
            held.callback(lock.acquire(session.site.state, storage_system, session.id).release)
        yield


@contextmanager
def _told_to_stop() -> Iterator[list[int]]:
    """The signals that tell this session to stop, as they come. What the caller ignores stays ignored (nohup)."""
    told: list[int] = []
    before = {
        number: signal.signal(number, lambda received, _: told.append(received))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reframe(
    session: Session,
    checks: Path,
    plans: list[TrialPlan],
    criteria: Mapping[Case, Criteria],
    screen: Console,
    told: list[int],
) -> None:
    """Run ReFrame over the checks and show the cases while they run. Its exit status decides nothing.

    Once it is `told` to stop, ReFrame is told: it cancels its job, whose runner ends the launch in hand. The same
    goes for whatever ends this function: ReFrame never outlives it.
    """
    environment = {**os.environ, ENVIRONMENT: str(save(session))}
    with (session.folder / 'reframe.out').open('wb') as output, Progress(screen, plans, criteria) as progress:
        process = subprocess.Popen(
            reframe_argv(session, checks),
            cwd=session.folder,  # ReFrame leaves its log where it is started
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # a terminal's Ctrl-C comes through this process, once
        )
        try:
            while process.poll() is None:
                if told:
                    screen.print(f'{signal.Signals(told[0]).name}: no more launches; ReFrame ends its job')
                    break
                time.sleep(POLL_S)
                progress.look()
        finally:
            process.terminate()
            process.wait()
        progress.look()


def reframe_argv(session: Session, checks: Path) -> list[str]:
    """ReFrame's command line for a session: one case at a time, everything that it writes in the session's folder."""
    folder = session.folder / REFRAME
    return [
        _reframe_program(),
        f'--config-file={session.site.folder / "settings.py"}',
        *([f'--system={session.system}'] if session.system else []),
        f'--checkpath={checks.resolve()}',
        '--recursive',
        '--exec-policy=serial',
        f'--prefix={folder}',
        f'--report-file={folder / REPORT}',
        '--dont-restage',
        '--nocolor',
        '--run',
    ]


def _reframe_program() -> str:
    """The ReFrame that was installed with Seatrial, else the one on the PATH."""
    beside = shutil.which('reframe', path=str(Path(sys.executable).parent))
    program = beside or shutil.which('reframe')
    if program is None:
        raise click.UsageError('reframe is not installed; install Seatrial with its dependencies')
    return program
