"""Carries out one session: many cases through ReFrame, one verdict, one folder of evidence."""

import errno
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from rich.console import Console

from seatrial.check.actions import ActionError, Conductor, not_allowed
from seatrial.check.criteria import criteria_of
from seatrial.check.darshan.logs import keep_darshan_run
from seatrial.check.forecast import refuse
from seatrial.check.job_environment import NotLoaded, loaded
from seatrial.check.planning import plan_of
from seatrial.check.session import ENVIRONMENT, FILE, Session, save
from seatrial.check.staging import write_plan
from seatrial.job.directory import lock
from seatrial.job.directory.lock import Heartbeat
from seatrial.job.directory.orphans import become_leader, keep_heartbeat
from seatrial.judge.session import SessionResult, judge_cases, judge_session
from seatrial.model.owned import user_name
from seatrial.model.plan import TrialPlan
from seatrial.model.units import duration
from seatrial.report.terminal import console, say, say_loudly
from seatrial.scheduler.job_end import OUTPUT, REFRAME, REPORT, complete_job_states
from seatrial.scheduler.session_jobs import LONGEST_S, cancel_all, submits_to_slurm
from seatrial.session.after_session import leave, tried
from seatrial.session.evidence import Recorded
from seatrial.session.from_options import DeclaredCases, say_not_applicable
from seatrial.session.progress import AFTER_LAST_S, Cases, Progress
from seatrial.session.results import show
from seatrial.site.error import SiteError, problem
from seatrial.site.load import modules_in
from seatrial.site.model import SETTINGS_FILE, TRIAL_FILE
from seatrial.workload.words import counted

POLL_S = 0.5
REFRAME_END_S = 90.0  # seconds that ReFrame may take to end once requested to: it gives scancel 60 s
OPTIONS = 'RFM_'  # prefix of the variables that are options of ReFrame
DEFAULTS = 'defaults.json'  # ReFrame's configuration of a session, in the folder that ReFrame writes into

START = """
import sys, tempfile
sys.path.pop(0)
tempfile.tempdir = sys.argv.pop(1)
from reframe.frontend.cli import main
main()
"""
"""Runs ReFrame with its temporary files, of which it removes none, in the folder of the first argument.

TMPDIR would do so too, but its jobs would inherit it.
"""


def carried_out(
    session: Session, cases: DeclaredCases, destructive: str, verbose: bool = False
) -> tuple[SessionResult, bool]:
    """Runs, judges, prints and reports a session; its result, and whether a stop was requested. Raises SiteError.
    destructive: the storage system whose actions may be started, as it was typed; verbose: as in `show`"""
    profile = session.profile.name
    plans = [plan_of(session, declared, case) for declared, case in cases]
    notes = refuse(session.site, plans, not_allowed(plans, destructive))
    criteria = {case: criteria_of(session, declared, case) for declared, case in cases}
    followed = Cases(plans, criteria)
    files = sorted({declared.file for declared, _ in cases})
    session.site.make_directories()
    screen = console()
    with stop_requests(screen, _patience(session)) as requested:
        heartbeats = _begun(session, plans)
        screen.print(f'Session {session.id}: {counted(len(plans), "case")} of {session.site.name}, profile {profile}')
        say_not_applicable(screen, session)
        say(screen, *(f'note: {note}' for note in [*notes, *_held_apart()]))
        try:
            with ExitStack() as held:  # held before the first case until after the last
                for storage_system in sorted({plan.target.storage_system for plan in plans}):
                    held.callback(lock.acquire(session.site.state, storage_system, session.id).release)
                try:
                    with Conductor(session.site.state, session.id, plans, lambda line: say_loudly(screen, line)):
                        _reframe(session, files, followed, screen, requested)
                finally:
                    cancel_all(screen, session.site, session.id)
        except (lock.LockError, ActionError) as error:
            say(screen, f'nothing was measured: {error}')
        except OSError as error:
            where = error.filename or session.folder
            say(screen, f'nothing more is measured: {where}: {error.strerror}')
        requested.answer = 'all that was measured is being judged and reported'
        known = followed.recorded()
        tried(screen, session, 'how jobs ended is not recorded', lambda: complete_job_states(session.folder, known))
        for case in known:
            tried(screen, session, 'the Darshan runs could not be recorded', partial(keep_darshan_run, *case))
        recorded = followed.recorded()
        if followed.fault:
            say(screen, f'some records cannot be read: {followed.fault}')
        results = judge_cases(recorded, criteria, followed.judge)
        result = judge_session(session.id, profile, results, criteria, session.left_out)
        show(screen, session, recorded, result, verbose)
        why = 'the output of ReFrame cannot be read'
        tried(screen, session, why, lambda: _say_if_nothing_started(screen, session, recorded))
        leave(screen, session, recorded, result)
        for beat in heartbeats:
            beat.stop()
    return result, requested.stop


class StopRequest:
    """Signals that ask a session to stop: each is answered at once; none ends it before its verdict is written."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.stop = False


@contextmanager
def stop_requests(screen: Console, answer: str) -> Iterator[StopRequest]:
    """Handles signals inside the `with`; ignored ones stay ignored (nohup). answer: printed at each signal"""
    requested = StopRequest(answer)
    came: queue.SimpleQueue[int | None] = queue.SimpleQueue()  # its put() may interrupt itself

    def note(number: int, frame: FrameType | None) -> None:
        requested.stop = True
        came.put(number)

    def reply() -> None:
        for number in iter(came.get, None):
            say(screen, f'{signal.Signals(number).name}: {requested.answer}')

    replying = threading.Thread(target=reply, name='replies to signals', daemon=True)
    replying.start()
    signals = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    heeded = [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, note) for number in heeded}
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        came.put(None)
        replying.join()


def _begun(session: Session, plans: list[TrialPlan]) -> list[Heartbeat]:
    """Makes the session's folder with its plans, and starts its heartbeats. Raises SiteError."""
    state = session.site.state
    try:
        session.folder.mkdir(parents=True)
        for plan in plans:
            write_plan(plan)
        save(session)
        return [keep_heartbeat(state, session.id), become_leader(state, session.id)]
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        owner = user_name(Path(state).stat().st_uid)
        remedy = 'make room there' if is_full else f'name a directory in which you can write, this one is of {owner}'
        sentence = f'{error.filename or session.folder}: {error.strerror}; {remedy}'
        raise SiteError([problem(TRIAL_FILE, ['state'], sentence)]) from None


def _say_if_nothing_started(screen: Console, session: Session, cases: Recorded) -> None:
    """If no job has begun, and no case says why, prints ReFrame's last words."""
    output = session.folder / OUTPUT
    if not output.is_file() or any(records.start for _, records in cases):
        return
    known = modules_in(session.site.folder / SETTINGS_FILE)
    for modules in dict.fromkeys(known[plan.case.partition] for plan, _ in cases):
        try:
            with loaded(modules):
                pass
        except NotLoaded as error:  # ReFrame cuts off the reason
            say(screen, f'modules: {error}')
    if not any(records.job_state or records.end for _, records in cases):
        lines = [line for line in output.read_text(errors='replace').splitlines() if line.strip()]
        errors = [line for line in lines if 'error' in line.lower()]
        say(screen, f'ReFrame: {(errors or lines or ["it printed nothing"])[-1].strip()}')
    say(screen, f'  output of ReFrame: {output}')


def _reframe(session: Session, files: Sequence[Path], cases: Cases, screen: Console, requested: StopRequest) -> None:
    """Runs ReFrame over check files and shows the cases meanwhile; its exit status decides nothing. After a stop, and
    at any end of this function, ReFrame is told to end: it cancels its job and does not outlive this."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OPTIONS)}
    # ReFrame would wait without end for a lock of its results database; a session has a history of its own.
    environment = {**kept, ENVIRONMENT: str(session.folder / FILE), f'{OPTIONS}ENABLE_RESULTS_STORAGE': 'no'}
    folder = session.folder / REFRAME
    folder.mkdir()
    # Where the site's own settings do not say otherwise; else it makes a directory in the user's home, and spends a
    # third of its time on messages for debugging that no handler writes.
    general, logging = {'topology_prefix': str(folder / 'topology')}, {'level': 'info'}
    (folder / DEFAULTS).write_text(json.dumps({'general': [general], 'logging': [logging]}))
    with (session.folder / OUTPUT).open('wb') as output, Progress(screen, cases, session.site.units) as progress:
        process = subprocess.Popen(
            reframe_argv(session, files),
            cwd=session.folder,  # ReFrame leaves its log where it is started
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # a terminal's Ctrl-C comes through this process, once
        )
        try:
            waited = time.monotonic()
            while process.poll() is None and not requested.stop:
                time.sleep(POLL_S)
                if progress.look():
                    waited = time.monotonic()
                elif time.monotonic() - waited > AFTER_LAST_S:
                    why = f'ReFrame was terminated: it still ran {duration(AFTER_LAST_S)} after the last case'
                    say(screen, f'{why}; its output: {session.folder / OUTPUT}')
                    break
        finally:
            _end(process)
        progress.look(over=True)


def _held_apart() -> list[str]:
    """A note on environment variables that are hidden from ReFrame because they would change a session, for example
    where it writes. ReFrame sets one of them itself when it is imported."""
    names = sorted(name for name in os.environ if name.startswith(OPTIONS) and name != f'{OPTIONS}INSTALL_PREFIX')
    remedy = f'write what a session needs into {SETTINGS_FILE}'
    return [f'{", ".join(names)} from the environment is not passed to ReFrame; {remedy}'] if names else []


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(REFRAME_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _patience(session: Session) -> str:
    """Words on what a session that was asked to stop waits for, and how long at most."""
    of_slurm = f', and Slurm {duration(LONGEST_S)} to release it' if submits_to_slurm(session.site) else ''
    return f'no more launches; ReFrame has {duration(REFRAME_END_S)} to end its job{of_slurm}'


def reframe_argv(session: Session, files: Sequence[Path]) -> list[str]:
    """ReFrame's command line for a session: one case at a time, everything it writes in the session's folder."""
    folder = session.folder / REFRAME
    return [
        sys.executable,
        '-c',
        START,
        str(session.folder),
        f'--config-file={folder / DEFAULTS}',
        f'--config-file={session.site.folder / SETTINGS_FILE}',
        *([f'--system={session.system}'] if session.system else []),
        *(f'--checkpath={file.absolute()}' for file in files),
        '--exec-policy=serial',
        f'--prefix={folder}',
        f'--stage={folder / "stage"}',
        f'--output={folder / "output"}',
        f'--report-file={folder / REPORT}',
        '--dont-restage',
        '--nocolor',
        '--run',
    ]
