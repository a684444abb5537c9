"""What a session leaves for people once its verdict stands: its row in the history and its report."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from rich.console import Console

from seatrial.check.session import Session
from seatrial.cli.evidence import evidence_of
from seatrial.cli.history import remember
from seatrial.cli.report import FOLDER, write_report
from seatrial.judge.session import SessionResult
from seatrial.model.plan import TrialPlan

T = TypeVar('T')


def leave(screen: Console, session: Session, plans: Sequence[TrialPlan], result: SessionResult) -> None:
    """Write both and say where. Whatever goes wrong here is said, and changes no verdict."""
    evidence = _tried(screen, 'the records were not read again', lambda: evidence_of(session, plans, result))
    if evidence is None:
        return
    again = f'seatrial report {session.id}'
    file = _tried(
        screen, f'no report was written; try {again}', lambda: write_report(evidence, session.folder / FOLDER)
    )
    if file is not None:
        screen.print(f'  report:  {file}', soft_wrap=True)
    _tried(screen, 'the history does not have this session', lambda: remember(evidence, session.site.state))


def _tried(screen: Console, otherwise: str, act: Callable[[], T]) -> T | None:
    try:
        return act()
    except Exception as error:  # no fault of what comes after a verdict may stand in its way
        said = f'{error.filename}: {error.strerror}' if isinstance(error, OSError) and error.filename else repr(error)
        screen.print(f'{otherwise}: {said}', soft_wrap=True)
        return None
