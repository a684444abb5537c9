"""A session, as the history keeps it."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from seatrial.history.rows import Kept, table
from seatrial.history.store import folder_of, write
from seatrial.judge.verdict import CaseResult
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Records
from seatrial.report.evidence import SessionEvidence
from seatrial.rules.case import measured


def kept_of(plan: TrialPlan, records: Records, result: CaseResult) -> Kept:
    """A case that was judged."""
    metrics = {each.metric: (each.verdict.value, each.why) for each in result.metrics}
    return Kept(plan, records, measured(plan, records), result.verdict.value, metrics)


def remember(
    evidence: SessionEvidence, state: str, only: Sequence[str] = (), label: str = '', ended: datetime | None = None
) -> Path:
    """Write a session, restricted to `only`, into the history of its site; returns the file. Raises OSError."""
    kept = [kept_of(case.plan, case.records, case.result) for case in evidence.cases]
    result = evidence.result
    rows = table(result.session, evidence.began, evidence.site, result.verdict.value, kept, only, label)
    return write(folder_of(state), result.session, rows, ended)
