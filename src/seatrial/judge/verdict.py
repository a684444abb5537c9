"""Verdicts, and what a case has one for: its metrics, and what they were compared with."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from seatrial.judge.expectations import Curves, Expectation, ExpectationResult
from seatrial.judge.groups import GroupRate
from seatrial.judge.outliers import Isolation
from seatrial.judge.references import LEVEL, Reference, ReferenceResult
from seatrial.judge.relations import FAILS, HOLDS, Relation
from seatrial.judge.statistics import Fairness, SampleSummary
from seatrial.model.metric import Fact
from seatrial.model.plan import Case
from seatrial.rules.issued import Comparison


class Verdict(str, Enum):
    """What may be signed.

    PASS: every criterion is met, and there was one. FAIL: one is missed, or the storage failed. MEASURED: valid,
    however wide its interval, and compared with nothing. INVALID: the measurement is not valid. INCONCLUSIVE: it is,
    and a criterion cannot be decided by it. INCOMPLETE: not all that was planned ran.
    """

    PASS = 'PASS'
    MEASURED = 'MEASURED'
    FAIL = 'FAIL'
    INVALID = 'INVALID'
    INCOMPLETE = 'INCOMPLETE'
    INCONCLUSIVE = 'INCONCLUSIVE'

    @property
    def unopposed(self) -> bool:
        """Whether nothing speaks against it: PASS and MEASURED, whose exit code is 0."""
        return EXIT_CODES[self] == 0


EXIT_CODES = {
    Verdict.PASS: 0,
    Verdict.MEASURED: 0,
    Verdict.FAIL: 10,
    Verdict.INVALID: 11,
    Verdict.INCONCLUSIVE: 12,
    Verdict.INCOMPLETE: 13,
}
WORST_FIRST = (
    Verdict.FAIL,
    Verdict.INVALID,
    Verdict.INCOMPLETE,
    Verdict.INCONCLUSIVE,
    Verdict.PASS,
    Verdict.MEASURED,
)
OF_EFFECT = {'fail': Verdict.FAIL, 'invalid': Verdict.INVALID, 'incomplete': Verdict.INCOMPLETE}
"""The verdict that a finding of this effect leads to; of any other none."""


@dataclass(frozen=True)
class Criteria:
    """What the figures of a case are compared with. of_contract: whether it is one allocation for a contract, which
    is judged over all of them, and not here"""

    expectations: tuple[Expectation, ...] = ()
    enforced: frozenset[str] = frozenset()  # ids of expectations that the site has made criteria
    references: tuple[Reference, ...] = ()
    level: float = LEVEL  # the chance that a missed reference may have at most, as in judge_reference
    of_contract: bool = False

    @property
    def enforced_expectations(self) -> tuple[Expectation, ...]:
        return tuple(each for each in self.expectations if each.id in self.enforced)


OF_CONTRACT = Criteria(of_contract=True)
"""Of the session of one allocation: the protocol has the criteria, and judges them over all allocations."""


@dataclass(frozen=True)
class MetricResult:
    """One metric at one point.

    metric, name, point: 'read@64KiB', 'read', '64KiB'
    values:  of the valid repetitions, in the base unit, in their order; summary is None where there are none
    fairness: of each repetition, how evenly its 'tasks' were served, and its 'nodes' and 'groups' where several are
    cache:   what every repetition was, 'mixed' or LISTED_BEFORE; empty for what writes
    percentiles_s: of a single operation by 'p50', 'p99.9': seconds, the median over the repetitions; empty where
             operations were not timed singly
    slow:    how many of its launches were slow (slow_launches); of tail latencies it is not asked
    shortest_s: the shortest timed region of its launches that are valid, in seconds; 0 where there is none
    more_than: what it surely is above, where no launch saw the end of it (A2): enough to miss a bound
    """

    metric: str
    name: str
    point: str
    verdict: Verdict
    why: str
    values: tuple[float, ...]
    unit: str
    better: str
    summary: SampleSummary | None
    fairness: Mapping[str, Sequence[Fairness]]
    cache: str
    not_storage: str = ''  # why the figure says nothing about storage, or empty
    percentiles_s: Mapping[str, float] = field(default_factory=dict)
    clock_error: float = 0.0  # the largest share of a timed region that its clocks may be wrong by
    slow: int = 0
    shortest_s: float = 0.0
    more_than: float | None = None
    groups: tuple[GroupRate, ...] = ()  # of the site's groups of nodes that worked at once

    def median_fairness(self, figure: str) -> float:
        """Between the tasks, over the repetitions; `figure` is a field of Fairness."""
        return float(statistics.median(getattr(each, figure) for each in self.fairness['tasks']))


@dataclass(frozen=True)
class CaseResult:
    """One case. reasons: what speaks against it; labels: the caveats of its figures.

    per_task: what each task did: bytes, or files of a flat tree; None where the job never came so far
    curves:   what expectations were judged on; unjudged: why the case is not judged, or empty
    chain:    the link of the last line of its record; empty where it has none
    verified: how much content was proved (F2), as a sentence; empty where nothing was
    binding:  how its tasks were bound to cores, and where: a sentence for each way; empty where it was not recorded
    """

    case: Case
    profile: str
    verdict: Verdict
    reasons: tuple[str, ...]
    labels: tuple[str, ...]
    engine: str
    version: str
    skipped: tuple[str, ...]
    host: str
    per_task: int | None
    duration_s: float | None
    metrics: tuple[MetricResult, ...]
    curves: Curves
    expectations: tuple[ExpectationResult, ...] = ()
    references: tuple[ReferenceResult, ...] = ()
    unjudged: str = ''
    facts: tuple[Fact, ...] = ()  # what was found of POSIX, one that did not hold in some repetition as it was then
    darshan: tuple[Comparison, ...] = ()  # what was meant beside what was issued, of each launch under Darshan (P15)
    isolation: Isolation | None = None  # which of its places are slow, of a sweep over nodes or targets
    correlation: float = 0.0  # of neighbouring repetitions, by which the intervals of the means are widened
    chain: str = ''
    verified: str = ''
    binding: tuple[str, ...] = ()


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of the whole: a proved FAIL outranks the rest, then INVALID, INCOMPLETE, INCONCLUSIVE, PASS. What
    was compared with nothing leaves a PASS beside it as it is, and alone it is MEASURED. Of nothing it is
    INCOMPLETE: a session in which nothing ran proves nothing."""
    present = set(verdicts)
    return next((verdict for verdict in WORST_FIRST if verdict in present), Verdict.INCOMPLETE)


def of_relation(relation: Relation) -> Verdict:
    return {HOLDS: Verdict.PASS, FAILS: Verdict.FAIL}.get(relation.verdict, Verdict.INCONCLUSIVE)
