"""Verdicts, and what has one: a case, its metrics, and the comparison of these with references and expectations."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from seatrial.judge.expectations import Curves, Expectation, ExpectationResult
from seatrial.judge.outliers import Isolation
from seatrial.judge.references import INSIDE, LEVEL, OUTSIDE, UNDECIDED, Reference, ReferenceResult
from seatrial.judge.relations import FAILS, HOLDS, Relation
from seatrial.judge.statistics import Fairness, GroupRate, SampleSummary
from seatrial.model.metric import Fact
from seatrial.model.plan import Case
from seatrial.rules.issued import Comparison


class Verdict(str, Enum):
    """The verdict of a metric, a case or a session.

    PASS: every criterion is met, and there was one. FAIL: one is missed, or the storage failed. MEASURED: valid,
    however wide its interval, and compared with nothing. INVALID: the measurement is not valid. INCONCLUSIVE: it is
    valid, but a criterion cannot be decided by it. INCOMPLETE: not all that was planned ran."""

    PASS = 'PASS'
    MEASURED = 'MEASURED'
    FAIL = 'FAIL'
    INVALID = 'INVALID'
    INCOMPLETE = 'INCOMPLETE'
    INCONCLUSIVE = 'INCONCLUSIVE'

    @property
    def unopposed(self) -> bool:
        """True if the exit code is 0: PASS and MEASURED."""
        return EXIT_CODES[self] == 0


EXIT_CODES = {
    Verdict.PASS: 0,
    Verdict.MEASURED: 0,
    Verdict.FAIL: 10,
    Verdict.INVALID: 11,
    Verdict.INCONCLUSIVE: 12,
    Verdict.INCOMPLETE: 13,
}
WORST_FIRST = tuple(map(Verdict, ('FAIL', 'INVALID', 'INCOMPLETE', 'INCONCLUSIVE', 'PASS', 'MEASURED')))
OF_EFFECT = {'fail': Verdict.FAIL, 'invalid': Verdict.INVALID, 'incomplete': Verdict.INCOMPLETE}
"""The verdict that a finding of this effect leads to; of any other none."""
OF_INTERVAL = {INSIDE: Verdict.PASS, OUTSIDE: Verdict.FAIL, UNDECIDED: Verdict.INCONCLUSIVE}
"""The verdict that a reference leads to, by what its interval says."""


@dataclass(frozen=True)
class Criteria:
    expectations: tuple[Expectation, ...] = ()
    enforced: frozenset[str] = frozenset()  # ids of expectations that the site has made criteria
    references: tuple[Reference, ...] = ()
    level: float = LEVEL  # the chance that a missed reference may have at most, as in judge_reference
    # the case is part of a contract, whose criteria are judged over all allocations, not here
    of_contract: bool = False

    @property
    def enforced_expectations(self) -> tuple[Expectation, ...]:
        return tuple(expectation for expectation in self.expectations if expectation.id in self.enforced)


OF_CONTRACT = Criteria(of_contract=True)  # criteria of one allocation: the protocol judges over all allocations


@dataclass(frozen=True)
class MetricResult:
    metric: str  # 'read@64KiB'
    name: str  # 'read'
    point: str  # '64KiB'
    verdict: Verdict
    why: str
    values: tuple[float, ...]  # figures of the valid repetitions in their order, in the base unit
    unit: str
    better: str
    summary: SampleSummary | None  # None without values
    # fairness in each repetition between 'tasks', and between 'nodes' and 'groups' where there are several
    fairness: Mapping[str, Sequence[Fairness]]
    cache: str  # state common to all repetitions, 'mixed' or LISTED_BEFORE; empty for writes
    not_storage: str = ''  # why the figure says nothing about storage, or empty
    # seconds of single operations by 'p50', 'p99.9': the median over the repetitions; empty if not timed
    percentiles_s: Mapping[str, float] = field(default_factory=dict)
    clock_error: float = 0.0  # the largest share of a timed region that its clocks may be wrong by
    slow: int = 0  # number of slow launches (slow_launches); not counted for tail latencies
    shortest_s: float = 0.0  # shortest timed region of its valid launches, in seconds; 0 where there is none
    # lower bound of the figure, where no launch saw its end (A2): enough to miss a criterion
    more_than: float | None = None
    groups: tuple[GroupRate, ...] = ()  # rates of the site's groups of nodes that worked at once

    def median_fairness(self, figure: str) -> float:
        """The median over the repetitions of the fairness between tasks; `figure` is a field of Fairness."""
        return float(statistics.median(getattr(repetition, figure) for repetition in self.fairness['tasks']))


@dataclass(frozen=True)
class CaseResult:
    case: Case
    profile: str
    verdict: Verdict
    reasons: tuple[str, ...]  # what speaks against it
    labels: tuple[str, ...]  # caveats of its figures
    engine: str
    version: str
    skipped: tuple[str, ...]
    host: str
    per_task: int | None  # what each task did: bytes, or files of a flat tree; None if the job never came so far
    duration_s: float | None
    metrics: tuple[MetricResult, ...]
    curves: Curves  # figures that expectations were judged on
    expectations: tuple[ExpectationResult, ...] = ()
    references: tuple[ReferenceResult, ...] = ()
    unjudged: str = ''  # why the case is not judged, or empty
    facts: tuple[Fact, ...] = ()  # what was found of POSIX, one that did not hold in some repetition as it was then
    darshan: tuple[Comparison, ...] = ()  # what was meant beside what was issued, of each launch under Darshan (P15)
    isolation: Isolation | None = None  # the slow places of a sweep over nodes or targets
    correlation: float = 0.0  # correlation of neighbouring repetitions, which widens the intervals of the means
    chain: str = ''  # link of the last line of its record; empty where it has none
    verified: str = ''  # how much content was proved (F2), as a sentence, or empty
    # how its tasks were bound to cores, and where: a sentence for each way; empty if not recorded
    binding: tuple[str, ...] = ()


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The first of WORST_FIRST among them; of none INCOMPLETE: a session in which nothing ran proves nothing."""
    present = set(verdicts)
    return next((verdict for verdict in WORST_FIRST if verdict in present), Verdict.INCOMPLETE)


def of_relation(relation: Relation) -> Verdict:
    return {HOLDS: Verdict.PASS, FAILS: Verdict.FAIL}.get(relation.verdict, Verdict.INCONCLUSIVE)
