"""The verdict of a session, over every case that was planned. If each criterion were judged alone, chance would miss
two or three of 40 that are just met. In an acceptance they are judged together by Holm's method (A Simple
Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6, 1979): chance fails one with the
probability FAMILY, however many they are."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from seatrial.judge.case import judge_case
from seatrial.judge.expectations import CurveRatio, ExpectationResult, judge_pair, not_judged
from seatrial.judge.io500 import Io500Score, scores_of
from seatrial.judge.statistics import FAMILY, holm
from seatrial.judge.verdict import WORST_FIRST, CaseResult, Criteria, Verdict, of_relation, worst
from seatrial.model.plan import Case, TrialPlan
from seatrial.model.record import Records

FALSE_FAIL = 0.051
"""Share of points that FAIL though their true mean is at the bound: the most at 10 % noise (statistics.md)."""


@dataclass(frozen=True)
class SessionResult:
    session: str
    profile: str
    verdict: Verdict
    cases: tuple[CaseResult, ...]  # all that were planned, also those that never ran
    relations: tuple[ExpectationResult, ...] = ()  # expectations that compare two checks
    # why it is INCOMPLETE although its cases may be valid: cases of an acceptance were left out
    left_out: tuple[str, ...] = ()
    scores: tuple[Io500Score, ...] = ()  # IO500's, over checks of its phases; not a submission, and no criterion
    # one allocation for a contract, whose criteria the protocol judges over all allocations
    of_contract: bool = False

    @property
    def counts(self) -> dict[Verdict, int]:
        seen = Counter(case.verdict for case in self.cases)
        return {verdict: seen[verdict] for verdict in Verdict if seen[verdict]}

    @property
    def worst_first(self) -> list[CaseResult]:
        """The cases by verdict, the worst first, otherwise in their order: some people read the first line only."""
        return sorted(self.cases, key=lambda case: WORST_FIRST.index(case.verdict))

    @property
    def chance(self) -> str:
        """A sentence on how many references miss by chance alone; empty if none was compared."""
        count = sum(reference.point != '' for case in self.cases for reference in case.references)
        if not count:
            return ''
        if self.profile == 'acceptance':
            return f'the probability of a FAIL by chance is at most about {100 * FAMILY:g} % (Holm)'
        return f'at most {count * FALSE_FAIL:.1f} of them FAIL by chance, if every true value lies at its bound'

    @property
    def chain(self) -> str:
        """SHA-256 over the names of the cases and the last links of their records, in order of the names."""
        lines = sorted(f'{case.case.name} {case.chain}\n' for case in self.cases)
        return hashlib.sha256(''.join(lines).encode('utf-8', 'surrogatepass')).hexdigest()


def judge_cases(
    cases: Sequence[tuple[TrialPlan, Records]],
    criteria: Mapping[Case, Criteria],
    judge: Callable[[TrialPlan, Records, Criteria], CaseResult] = judge_case,
) -> list[CaseResult]:
    """The verdicts of the cases of one session; the references of an acceptance are judged together."""
    asked = [(plan, records, criteria.get(plan.case, Criteria())) for plan, records in cases]
    results = [judge(*case) for case in asked]
    references = [reference for case in results if case.profile == 'acceptance' for reference in case.references]
    level = holm([reference.chance for reference in references if reference.chance is not None], len(references))
    return [
        judge_case(plan, records, replace(held, level=level))
        if any(one.chance is not None and one.chance > level for one in result.references)
        else result
        for (plan, records, held), result in zip(asked, results, strict=True)
    ]


def judge_session(
    session: str,
    profile: str,
    cases: Sequence[CaseResult],
    criteria: Mapping[Case, Criteria] = MappingProxyType({}),
    left_out: Sequence[str] = (),
) -> SessionResult:
    """The verdict of the session; a case without records is INCOMPLETE. criteria: those that the cases were judged
    by; comparisons of two checks among them are judged here, between cases of the same partition, file system, layout
    and node count; left_out: as in SessionResult, and makes the session INCOMPLETE at best"""
    by_case = {case.case: case for case in cases}
    relations = [result for case in cases if case.case in criteria for result in _beside(case, by_case, criteria)]
    verdicts = [case.verdict for case in cases]
    verdicts += [of_relation(result.relation) for result in relations if result.enforced]
    verdicts += [Verdict.INCOMPLETE] if left_out else []
    return SessionResult(
        session,
        profile,
        worst(verdicts),
        tuple(cases),
        tuple(relations),
        tuple(left_out),
        scores_of(cases),
        any(held.of_contract for held in criteria.values()),
    )


def _beside(
    one: CaseResult, by_case: Mapping[Case, CaseResult], criteria: Mapping[Case, Criteria]
) -> list[ExpectationResult]:
    where = one.case.name.partition('/')[2]
    asked = criteria[one.case]
    results: list[ExpectationResult] = []
    for expectation in asked.expectations:
        if isinstance(expectation, CurveRatio) and expectation.of:
            other = by_case.get(one.case._replace(check=expectation.of))
            enforced = expectation.id in asked.enforced
            results += judge_pair(expectation, one.curves, other.curves if other else None, where, enforced)
    return [not_judged(result, one.unjudged) for result in results] if one.unjudged else results
