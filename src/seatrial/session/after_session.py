"""Writes results, report, history, and the page of the nights once the verdict of a session stands."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

import polars as pl
from rich.console import Console

from seatrial.check.session import PAGE, REPORT, Session
from seatrial.history.rows import Kept, table
from seatrial.history.store import folder_of, write
from seatrial.judge.session import SessionResult
from seatrial.model.atomic_file import write_whole
from seatrial.nights.standing import LATER, write_year
from seatrial.report.evidence import SessionEvidence
from seatrial.report.junit import junit
from seatrial.report.session.file_systems import changed_words, states
from seatrial.report.session.page import page
from seatrial.report.session.summary import commands, markdown
from seatrial.report.terminal import say
from seatrial.session.evidence import Recorded, evidence_of
from seatrial.session.results import write_results
from seatrial.site.profile import SMOKE

T = TypeVar('T')


def leave(screen: Console, session: Session, cases: Recorded, result: SessionResult) -> None:
    """Writes the files and prints where they are. Errors are printed; they change no verdict."""
    results = tried(screen, session, 'the results could not be written', lambda: write_results(session, result))
    if results is not None:
        say(screen, f'  results: {results}')
    evidence = tried(screen, session, 'the raw output could not be read', lambda: evidence_of(session, cases, result))
    if evidence is None:
        return
    notes = filter(None, map(changed_words, states(evidence.cases)))
    say(screen, *(f'note: {changed}' for changed in notes))
    folder = session.folder / REPORT
    otherwise = f'the report is not written; try seatrial report {session.id}'
    file = tried(screen, session, otherwise, lambda: write_report(evidence, folder))
    if file is not None:
        say(screen, f'  report:  {file}')
    state, only, label, ended = session.site.state, session.only, session.label, datetime.now(timezone.utc)
    otherwise = 'this session could not be written to the history'
    kept = tried(screen, session, otherwise, lambda: remember(evidence, state, only, label, ended))
    if kept is None or session.contract or session.profile is SMOKE or LATER in os.environ:
        return
    site, profile = session.site, session.profile.name
    year = tried(screen, session, 'the page of the nights could not be written', lambda: write_year(site, profile))
    if year is not None:
        say(screen, f'  nights:  {year}')


def tried(screen: Console, session: Session, otherwise: str, act: Callable[[], T]) -> T | None:
    """The result of `act`, or None after an error, which is printed: nothing may undo a measurement."""
    try:
        return act()
    except Exception as error:
        why = repr(error)
        if isinstance(error, OSError) and error.strerror:
            why = f'{error.filename or session.folder}: {error.strerror}'
        say(screen, f'{otherwise}: {why}')
        return None


def rows_of(evidence: SessionEvidence, only: Sequence[str] = (), label: str = '') -> pl.DataFrame:
    """The rows of a session in the history. only: checks or families that it was restricted to"""
    kept = []
    for case in evidence.cases:
        metrics = {metric.metric: (metric.verdict.value, metric.why) for metric in case.result.metrics}
        kept.append(Kept(case.plan, case.records, case.samples, case.result.verdict.value, metrics))
    result = evidence.result
    return table(result.session, evidence.began, evidence.site, result.verdict.value, kept, only, label)


def remember(
    evidence: SessionEvidence, state: str, only: Sequence[str] = (), label: str = '', ended: datetime | None = None
) -> Path:
    """Writes a session into the history of its site; returns the file. Raises OSError. only: as in `rows_of`"""
    return write(folder_of(state), evidence.result.session, rows_of(evidence, only, label), ended)


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
