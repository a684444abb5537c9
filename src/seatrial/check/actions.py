"""Actions of a session: carried out from the login side while ReFrame runs the scenarios that name them. The job says
by a file beside its raw output that its load has begun, and finds the transcript there. Every start is in the journal
before it begins, and whatever ends the session, its undo runs; after SIGKILL `seatrial clean` has the journal."""

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
SEEN_S = 5.0  # seconds until the file of a load that began is seen here; more than that is a clock difference
__all__ = ['ActionError', 'Conductor', 'action_lines', 'not_allowed']


def not_allowed(plans: Sequence[TrialPlan], destructive: str) -> list[str]:
    """Problems of plans that would act on a storage system whose name the user did not type."""
    meant = {plan.target.storage_system: does for plan in plans if (does := hurts(plan.points[0]))}
    return [
        problem(TRIAL_FILE, ['trials'], f'the session {meant[name]} {name}; to allow it, add --destructive {name}')
        for name in sorted(meant.keys() - {destructive})
    ]


def action_lines(plan: TrialPlan) -> list[str]:
    lines = []
    known = {action.name: action for action in plan.actions}
    for point in plan.points:
        for planned in point.actions:
            when = f'{duration(planned.at_s)} after the load began, for {duration(planned.for_s)}'
            action = known[planned.name]
            argvs = {'check': action.check, COUNT: action.counting, START: action.start, UNDO: action.undo}
            commands = (f'{what}: {shell_line(argv)}' for what, argv in argvs.items() if argv)
            lines.append(f'action {planned.name} on {plan.target.storage_system}, {when}: {"; ".join(commands)}')
    return lines


class Conductor:
    """Carries out the actions of a session, in a thread, between entering and leaving. Entering raises ActionError if
    an action is not undone or the storage not healthy; leaving waits for the last undo. say: shows an urgent line"""

    def __init__(self, state: str, session: str, plans: Sequence[TrialPlan], say: Callable[[str], None]) -> None:
        self._state, self._session, self._say = state, session, say
        self._plans = [plan for plan in plans if plan.actions]
        self._check_s: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='actions')

    def __enter__(self) -> 'Conductor':
        if not self._plans:
            return self
        hit = {plan.target.storage_system for plan in self._plans}
        for file in entries(self._state):
            if file.path.stem in hit:
                raise ActionError(f'{file.description()}; `seatrial clean --yes` undoes it')
        for action in dict.fromkeys(action for plan in self._plans for action in plan.actions):
            began_s = time.monotonic()
            why = unhealthy(action)
            if action.counting and not why:
                count_of(action)
            self._check_s[action.name] = time.monotonic() - began_s
            if why:
                raise ActionError(f'the storage is not healthy: {why}; no action was started')
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
        skew_s = ago_s if ago_s < 0 else max(0.0, ago_s - SEEN_S)
        with Path(prefix + TRANSCRIPT).open('a', encoding='utf-8') as transcript:
            _write(transcript, json.dumps({'skew_s': skew_s}) + '\n')
            try:
                self._act(plan, point, now - ago_s, transcript)
            finally:
                _write(transcript, json.dumps({'complete': True}) + '\n')

    def _act(self, plan: TrialPlan, point: Point, zero_s: float, transcript: IO[str]) -> None:
        known = {action.name: action for action in plan.actions}
        journal = Journal(self._state, self._session, plan.target.storage_system)
        for planned in point.actions:
            # A check or a count that takes long is to make no start late.
            if not self._reached(zero_s + planned.at_s - 2 * self._check_s[planned.name]):
                return
            if not self._one(known[planned.name], planned, zero_s, journal, transcript):
                return

    def _one(self, action: Action, planned: Planned, zero_s: float, journal: Journal, transcript: IO[str]) -> bool:
        """Carries one action out, from its check to its undo; whether the storage is healthy again."""

        def note(what: str, begun_s: float, why: str, rose: int | None = None, so: str = '') -> None:
            done = Step(action.name, what, round(begun_s, 3), round(time.monotonic() - zero_s, 3), why, rose)
            _write(transcript, line_of_step(done))
            if why:
                self._say(f'action {action.name}: its {what} {why}{so}')

        def step(what: str, carry_out: Callable[[], Answer | None]) -> str:
            begun_s = time.monotonic() - zero_s
            why = failure(carry_out(), action)
            note(what, begun_s, why)
            return why

        def count() -> None:
            begun_s = time.monotonic() - zero_s
            (first, why), (last, why_last) = before, count_of(action)
            rose = None if first is None or last is None else last - first
            why = why or why_last
            if rose is not None and rose < 0:
                rose, why = None, f'fell from {first} to {last}'
            note(COUNT, begun_s, why, rose, ', so it is unknown')

        if why_not := unhealthy(action):
            self._say(f'action {action.name} was not started: {why_not}')
            return False
        before = count_of(action) if action.counting else (None, '')
        if not self._reached(zero_s + planned.at_s):
            return False
        journal.begin(action)
        try:
            if not step(START, lambda: journal.start(action)):
                self._reached(zero_s + planned.at_s + planned.for_s)
        finally:
            failed = step(UNDO, lambda: ask(list(action.undo), action.timeout_s))
            sick = wait_healthy(action)
            if failed or sick:
                journal.leave()
                remedy = 'repair that, then `seatrial clean --yes`'
                self._say(f'action {action.name} is NOT UNDONE: {sick or failed}; {remedy}')
            else:
                journal.end()
        if action.counting:
            count()
        return not (failed or sick)

    def _reached(self, time_s: float) -> bool:
        """Waits until the time; False if a stop was requested before."""
        return not self._stop.wait(max(0.0, time_s - time.monotonic()))


def _write(transcript: IO[str], line: str) -> None:
    """Writes a line of the transcript. A failed write makes the case INVALID, but the undo goes on."""
    with contextlib.suppress(OSError):
        transcript.write(line)
        transcript.flush()
