"""The verdict of a session, over every case that was planned."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.verdict import CaseResult, Verdict, worst


@dataclass(frozen=True)
class SessionResult:
    """One session. cases: every one that was planned, also those that never ran; relations: between checks."""

    session: str
    profile: str
    verdict: Verdict
    cases: tuple[CaseResult, ...]
    relations: tuple[ExpectationResult, ...] = ()

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many cases have each verdict; those that no case has are left out."""
        seen = Counter(case.verdict for case in self.cases)
        return {verdict: seen[verdict] for verdict in Verdict if seen[verdict]}


def judge_session(session: str, profile: str, cases: Sequence[CaseResult]) -> SessionResult:
    """The completeness gate is in the cases: one without records is INCOMPLETE, so nothing is passed in silence."""
    return SessionResult(session, profile, worst(case.verdict for case in cases), tuple(cases))
