"""A session, as the history keeps it."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from seatrial.history.rows import Kept, table
from seatrial.history.store import folder_of, write
from seatrial.report.evidence import SessionEvidence


def remember(
    evidence: SessionEvidence, state: str, only: Sequence[str] = (), label: str = '', ended: datetime | None = None
) -> Path:
    """Write a session, restricted to `only`, into the history of its site; returns the file. Raises OSError."""
    kept = [
        Kept(
            plan=case.plan,
            records=case.records,
            samples=case.samples,
            verdict=case.result.verdict.value,
            metrics={each.metric: (each.verdict.value, each.why) for each in case.result.metrics},
        )
        for case in evidence.cases
    ]
    result = evidence.result
    rows = table(result.session, evidence.began, evidence.site, result.verdict.value, kept, only, label)
    return write(folder_of(state), result.session, rows, ended)
