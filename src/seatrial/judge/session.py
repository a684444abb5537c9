"""The verdict of a session, over every case that was planned."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from seatrial.judge.expectations import ExpectationResult, OfPair, judge_pair, not_judged
from seatrial.judge.verdict import CaseResult, Criteria, Verdict, of_relation, worst
from seatrial.model.plan import Case


@dataclass(frozen=True)
class SessionResult:
    """One session. cases: every one that was planned, also those that never ran; relations: between checks.

    left_out: why it is INCOMPLETE although its cases may be valid: they are not all that an acceptance is
    """

    session: str
    profile: str
    verdict: Verdict
    cases: tuple[CaseResult, ...]
    relations: tuple[ExpectationResult, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many cases have each verdict; those that no case has are left out."""
        seen = Counter(case.verdict for case in self.cases)
        return {verdict: seen[verdict] for verdict in Verdict if seen[verdict]}

    @property
    def chain(self) -> str:
        """SHA-256 over the names of the cases and the last links of their records, in order of the names."""
        lines = sorted(f'{case.case.name} {case.chain}\n' for case in self.cases)
        return hashlib.sha256(''.join(lines).encode('utf-8', 'surrogatepass')).hexdigest()


def judge_session(
    session: str,
    profile: str,
    cases: Sequence[CaseResult],
    criteria: Mapping[Case, Criteria] = MappingProxyType({}),
    left_out: Sequence[str] = (),
) -> SessionResult:
    """The completeness gate is in the cases: one without records is INCOMPLETE, so nothing is passed in silence.

    criteria: those that the cases were judged by; their comparisons of two checks are judged here, between cases of
    the same partition, file system, layout and node count. left_out: as in SessionResult; INCOMPLETE at best.
    """
    by_case = {each.case: each for each in cases}
    relations = [result for each in cases if each.case in criteria for result in _beside(each, by_case, criteria)]
    verdicts = [each.verdict for each in cases]
    verdicts += [of_relation(each.relation) for each in relations if each.enforced]
    verdicts += [Verdict.INCOMPLETE] if left_out else []
    return SessionResult(session, profile, worst(verdicts), tuple(cases), tuple(relations), tuple(left_out))


def _beside(
    one: CaseResult, by_case: Mapping[Case, CaseResult], criteria: Mapping[Case, Criteria]
) -> list[ExpectationResult]:
    """What a case's comparisons with other checks give."""
    where = one.case.name.partition('/')[2]
    own = criteria[one.case]
    results: list[ExpectationResult] = []
    for expectation in own.expectations:
        if isinstance(expectation, OfPair) and expectation.of:
            other = by_case.get(one.case._replace(check=expectation.of))
            enforced = expectation.id in own.enforced
            found = judge_pair(expectation, one.curves, other.curves if other else None, where, enforced)
            results += [not_judged(each, one.unjudged) for each in found] if one.unjudged else found
    return results
