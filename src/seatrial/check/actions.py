"""The actions of a session: run from the login side while ReFrame runs the scenarios that name them. When its load
has begun, a job writes a file beside its raw output; it finds the transcript there. Every start is written to the
journal first. Its undo runs however the session ends; after SIGKILL `seatrial clean` runs it from the journal."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from seatrial.check.action_journal import ActionError, Journal, count_of, entries, failure, unhealthy, wait_healthy
from seatrial.model.action import BEGUN, COUNT, START, TRANSCRIPT, UNDO, Action, Begun, Planned, Step, line_of_step
from seatrial.model.ask import Answer, ask
from seatrial.model.codec import from_json
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.model.quoted_value import shell_line
from seatrial.model.units import duration
from seatrial.site.error import problem
from seatrial.site.model import TRIAL_FILE
from seatrial.workload.registry import hurts

POLL_S = 0.2
DETECTION_S = 5.0  # in which the file of a begun load is detected; a longer delay counts as a clock difference
__all__ = ['ActionError', 'Conductor', 'action_lines', 'not_allowed']


def not_allowed(plans: Sequence[TrialPlan], destructive: str) -> list[str]:
    """A problem for each storage system that a plan would act on and that the user did not name."""
    harms = {plan.target.storage_system: harm for plan in plans if (harm := hurts(plan.points[0]))}
    return [
        problem(TRIAL_FILE, ['trials'], f'the session {harms[name]} {name}; to allow it, add --destructive {name}')
        for name in sorted(harms.keys() - {destructive})
    ]


def action_lines(plan: TrialPlan) -> list[str]:
    lines = []
    by_name = {action.name: action for action in plan.actions}
    for point in plan.points:
        for planned in point.actions:
            when = f'{duration(planned.at_s)} after the load began, for {duration(planned.for_s)}'
            action = by_name[planned.name]
            argvs = {'check': action.check, COUNT: action.counting, START: action.start, UNDO: action.undo}
            commands = (f'{what}: {shell_line(argv)}' for what, argv in argvs.items() if argv)
            lines.append(f'action {planned.name} on {plan.target.storage_system}, {when}: {"; ".join(commands)}')
    return lines


class Conductor:
    """A context in which a thread carries out the actions of a session. Entering raises ActionError if an earlier
    action is not undone or the storage is not healthy; leaving waits for the last undo. say: shows an urgent line"""

    def __init__(self, state: str, session: str, plans: Sequence[TrialPlan], say: Callable[[str], None]) -> None:
        self._state, self._session, self._say = state, session, say
        self._plans = [plan for plan in plans if plan.actions]
        self._check_s: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='actions')

    def __enter__(self) -> 'Conductor':
        if not self._plans:
            return self
        acted_on = {plan.target.storage_system for plan in self._plans}
        for file in entries(self._state):
            if file.path.stem in acted_on:
                raise ActionError(f'{file.description()}; `seatrial clean --yes` undoes it')
        for action in dict.fromkeys(action for plan in self._plans for action in plan.actions):
            began_s = time.monotonic()
            fault = unhealthy(action)
            if action.counting and not fault:
                count_of(action)
            self._check_s[action.name] = time.monotonic() - began_s
            if fault:
                raise ActionError(f'the storage is not healthy: {fault}; no action was started')
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        handled: set[Path] = set()
        while not self._stop.wait(POLL_S):
            for plan in self._plans:
                for file in set(Path(plan.records, 'raw').glob(f'*{BEGUN}')) - handled:
                    handled.add(file)
                    try:
                        self._conduct(plan, file)
                    except Exception as error:
                        self._say(f'the actions of {plan.case.name} could not be carried out: {error!r}')

    def _conduct(self, plan: TrialPlan, file: Path) -> None:
        prefix = str(file)[: -len(BEGUN)]
        point = plan.point(prefix.rpartition('@')[2])
        begun = from_json(Begun, json.loads(file.read_text()))
        ago_s, now = time.time() - begun.time, time.monotonic()
        skew_s = ago_s if ago_s < 0 else max(0.0, ago_s - DETECTION_S)
        with Path(prefix + TRANSCRIPT).open('a', encoding='utf-8') as transcript:
            _write(transcript, json.dumps({'skew_s': skew_s}) + '\n')
            try:
                self._act(plan, point, now - ago_s, transcript)
            finally:
                _write(transcript, json.dumps({'complete': True}) + '\n')

    def _act(self, plan: TrialPlan, point: Point, zero_s: float, transcript: IO[str]) -> None:
        by_name = {action.name: action for action in plan.actions}
        journal = Journal(self._state, self._session, plan.target.storage_system)
        for planned in point.actions:
            # The health check and the count run before the start, early enough not to delay it.
            if not self._reached(zero_s + planned.at_s - 2 * self._check_s[planned.name]):
                return
            if not self._apply(by_name[planned.name], planned, zero_s, journal, transcript):
                return

    def _apply(self, action: Action, planned: Planned, zero_s: float, journal: Journal, transcript: IO[str]) -> bool:
        """Applies one action, from its check to its undo. True if the storage is healthy again."""

        def note(what: str, begun_s: float, why: str, rose: int | None = None, consequence: str = '') -> None:
            done = Step(action.name, what, round(begun_s, 3), round(time.monotonic() - zero_s, 3), why, rose)
            _write(transcript, line_of_step(done))
            if why:
                self._say(f'action {action.name}: its {what} {why}{consequence}')

        def step(what: str, run: Callable[[], Answer | None]) -> str:
            begun_s = time.monotonic() - zero_s
            why = failure(run(), action)
            note(what, begun_s, why)
            return why

        def count() -> None:
            begun_s = time.monotonic() - zero_s
            (first, why), (last, why_last) = first_count, count_of(action)
            rose = None if first is None or last is None else last - first
            why = why or why_last
            if rose is not None and rose < 0:
                rose, why = None, f'fell from {first} to {last}'
            note(COUNT, begun_s, why, rose, ', so it is unknown')

        if fault := unhealthy(action):
            self._say(f'action {action.name} was not started: {fault}')
            return False
        first_count = count_of(action) if action.counting else (None, '')
        if not self._reached(zero_s + planned.at_s):
            return False
        journal.begin(action)
        try:
            if not step(START, lambda: journal.start(action)):
                self._reached(zero_s + planned.at_s + planned.for_s)
        finally:
            undo_fault = step(UNDO, lambda: ask(list(action.undo), action.timeout_s))
            health_fault = wait_healthy(action)
            if undo_fault or health_fault:
                journal.leave()
                remedy = 'repair that, then `seatrial clean --yes`'
                self._say(f'action {action.name} is NOT UNDONE: {health_fault or undo_fault}; {remedy}')
            else:
                journal.end()
        if action.counting:
            count()
        return not (undo_fault or health_fault)

    def _reached(self, time_s: float) -> bool:
        """Waits until this time. False if a stop is requested first."""
        return not self._stop.wait(max(0.0, time_s - time.monotonic()))


def _write(transcript: IO[str], line: str) -> None:
    """Writes a line to the transcript. A failed write makes the case INVALID, but does not stop the undo."""
    with contextlib.suppress(OSError):
        transcript.write(line)
        transcript.flush()
