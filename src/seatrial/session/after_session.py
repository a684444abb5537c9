"""What a session leaves for people once its verdict stands: results, report, history, and the page of the nights."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import TypeVar

from rich.console import Console

from seatrial.check.session import REPORT, Session
from seatrial.judge.session import SessionResult
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Records
from seatrial.nights.past import LATER, write_year
from seatrial.report.session.file_systems import changed_words, states
from seatrial.session.evidence import evidence_of
from seatrial.session.history_rows import remember
from seatrial.session.report_files import write_report
from seatrial.session.results import write_results
from seatrial.site.profile import SMOKE

T = TypeVar('T')


def leave(
    screen: Console, session: Session, cases: Sequence[tuple[TrialPlan, Records]], result: SessionResult
) -> None:
    """Write them and say where. What goes wrong here is said, and changes no verdict: that is in the records."""
    results = tried(screen, session, 'the results were not written', lambda: write_results(session, result))
    if results is not None:
        screen.print(f'  results: {results}', soft_wrap=True)
    evidence = tried(screen, session, 'the raw output was not read', lambda: evidence_of(session, cases, result))
    if evidence is None:
        return
    for changed in filter(None, map(changed_words, states(evidence.cases))):
        screen.print(f'note: {changed}', soft_wrap=True)
    again = f'seatrial report {session.id}'
    file = tried(
        screen,
        session,
        f'no report was written; try {again}',
        lambda: write_report(evidence, session.folder / REPORT),
    )
    if file is not None:
        screen.print(f'  report:  {file}', soft_wrap=True)
    kept = tried(
        screen,
        session,
        'the history does not have this session',
        lambda: remember(evidence, session.site.state, session.only, session.label, datetime.now(timezone.utc)),
    )
    if kept is None or session.profile is SMOKE or LATER in os.environ:
        return
    year = tried(
        screen,
        session,
        'the page of the nights was not written',
        lambda: write_year(session.site, session.profile.name),
    )
    if year is not None:
        screen.print(f'  nights:  {year}', soft_wrap=True)


def tried(screen: Console, session: Session, otherwise: str, act: Callable[[], T]) -> T | None:
    """What `act` returns. Its fault is said after `otherwise`: nothing that follows a measurement may undo it."""
    try:
        return act()
    except Exception as error:
        said = repr(error)
        if isinstance(error, OSError) and error.strerror:
            said = f'{error.filename or session.folder}: {error.strerror}'
        screen.print(f'{otherwise}: {said}', soft_wrap=True)
        return None
