"""Writes results, report, history, and the page of the nights once the verdict of a session stands."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from seatrial.check.session import PAGE, REPORT, Session
from seatrial.history.rows import Kept, table
from seatrial.history.store import folder_of, write
from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import CaseResult
from seatrial.model.atomic_file import write_whole
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Records
from seatrial.nights.past import LATER, write_year
from seatrial.report.evidence import SessionEvidence
from seatrial.report.junit import junit
from seatrial.report.session.file_systems import changed_words, states
from seatrial.report.session.page import page
from seatrial.report.session.summary import commands, markdown
from seatrial.rules.case import measured
from seatrial.session.evidence import evidence_of
from seatrial.session.results import write_results
from seatrial.site.profile import SMOKE

T = TypeVar('T')


def leave(
    screen: Console, session: Session, cases: Sequence[tuple[TrialPlan, Records]], result: SessionResult
) -> None:
    """Writes the files and prints where they are. Errors are printed; they change no verdict."""
    results = tried(screen, session, 'the results could not be written', lambda: write_results(session, result))
    if results is not None:
        screen.print(f'  results: {results}', soft_wrap=True)
    evidence = tried(screen, session, 'the raw output could not be read', lambda: evidence_of(session, cases, result))
    if evidence is None:
        return
    for changed in filter(None, map(changed_words, states(evidence.cases))):
        screen.print(f'note: {changed}', soft_wrap=True)
    again = f'seatrial report {session.id}'
    folder = session.folder / REPORT
    file = tried(screen, session, f'the report is not written; try {again}', lambda: write_report(evidence, folder))
    if file is not None:
        screen.print(f'  report:  {file}', soft_wrap=True)
    kept = tried(
        screen,
        session,
        'this session could not be written to the history',
        lambda: remember(evidence, session.site.state, session.only, session.label, datetime.now(timezone.utc)),
    )
    if kept is None or session.contract or session.profile is SMOKE or LATER in os.environ:
        return
    site, profile = session.site, session.profile.name
    year = tried(screen, session, 'the page of the nights could not be written', lambda: write_year(site, profile))
    if year is not None:
        screen.print(f'  nights:  {year}', soft_wrap=True)


def tried(screen: Console, session: Session, otherwise: str, act: Callable[[], T]) -> T | None:
    """The result of `act`, or None after an error, which is printed: nothing may undo a measurement."""
    try:
        return act()
    except Exception as error:
        why = repr(error)
        if isinstance(error, OSError) and error.strerror:
            why = f'{error.filename or session.folder}: {error.strerror}'
        screen.print(f'{otherwise}: {why}', soft_wrap=True)
        return None


def kept_of(plan: TrialPlan, records: Records, result: CaseResult) -> Kept:
    metrics = {metric.metric: (metric.verdict.value, metric.why) for metric in result.metrics}
    return Kept(plan, records, measured(plan, records), result.verdict.value, metrics)


def remember(
    evidence: SessionEvidence, state: str, only: Sequence[str] = (), label: str = '', ended: datetime | None = None
) -> Path:
    """Writes a session into the history of its site; returns the file. Raises OSError. only: checks or families that
    it was restricted to"""
    kept = [kept_of(case.plan, case.records, case.result) for case in evidence.cases]
    result = evidence.result
    rows = table(result.session, evidence.began, evidence.site, result.verdict.value, kept, only, label)
    return write(folder_of(state), result.session, rows, ended)


def report_files(evidence: SessionEvidence) -> dict[str, str]:
    """The texts of the report's files by name."""
    return {
        PAGE: page(evidence),
        'junit.xml': junit(evidence),
        'summary.md': markdown(evidence),
        'commands.txt': commands(evidence.cases, evidence.units),
    }


def write_report(evidence: SessionEvidence, folder: Path) -> Path:
    """Writes each file whole into the folder, which it creates; returns the page. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in report_files(evidence).items():
        write_whole(folder / name, text)
    return folder / PAGE
