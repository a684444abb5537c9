"""The criteria of a contract: met, missed or undecided, by all allocations in which they were measured. Repetitions
of one allocation share its nodes, its neighbours and its hour, so their scatter says nothing of other allocations.
Two or more allocations are independent: each gives one figure, and the interval is that of
statistics.between_allocations. docs/reference/contract.md has the rules in words."""

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter

from seatrial.judge import statistics as stats
from seatrial.judge.verdict import Verdict
from seatrial.model.units import duration
from seatrial.workload.words import counted

MET, MISSED, UNDECIDED = 'met', 'missed', 'undecided'
VERDICTS = {MET: Verdict.PASS, MISSED: Verdict.FAIL, UNDECIDED: Verdict.INCONCLUSIVE}

MEAN, MEDIAN, MINIMUM, BEST = 'mean', 'median', 'minimum', 'best'
LAST = 'last'

MOST_FURTHER = 100  # more allocations than these are no remedy: the figure lies at its bound


@dataclass(frozen=True)
class Criterion:
    """One criterion of a contract, as contract.yaml has it and the protocol shows it."""

    id: str
    bound: float  # figure in the base unit, or share of the figure of the criterion `of`
    least: bool = True  # True: the figure may not be below the bound; False: not above
    of: str = ''
    # statistic of the repetitions of an allocation: MEAN, MEDIAN, MINIMUM (the worst) or BEST of the first `best_of`
    statistic: str = MEAN
    best_of: int = 0
    allocations: int = 1
    counts: str = 'all'  # allocations that decide: 'all' that are valid, the LAST `allocations` of them, or the BEST
    observed: bool = False  # no check measures it
    once: bool = False  # a single launch decides in each allocation
    planned: int = 0  # allocations planned before any figure was seen: a criterion that shares them may ask for more
    text: str = ''  # its sentence
    milestone: str = ''  # name of its milestone, or empty
    written: str = ''  # its bound as written in the contract, with the unit
    unit: str = ''  # unit of `written`

    @property
    def wanted(self) -> str:
        return f'at {"least" if self.least else "most"} {self.written}'

    def looks(self, n: int) -> int:
        """The number of times n allocations are judged, if all count: once as planned, then with each further one."""
        return 1 + max(0, n - max(self.allocations, self.planned)) if self.counts == 'all' else 1

    @property
    def needed(self) -> int:
        """The number of valid repetitions that an allocation needs to count."""
        return 1 if self.once else max(stats.MIN_FOR_INTERVAL, self.best_of)


@dataclass(frozen=True)
class Attempt:
    """One allocation in which a criterion was measured, or should have been."""

    session: str
    began: datetime
    nodes: tuple[str, ...]
    values: tuple[float, ...]  # figures of the valid repetitions, in the base unit
    engine: str = ''  # name and version of the engine
    why_not: str = ''  # why it does not count, or empty
    failed: bool = False  # it does not count because the storage failed
    clock_error: float = 0.0
    correlation: float = 0.0  # correlation of neighbouring repetitions, as in verdict_interval
    caveat: str = ''  # what has to be said beside a figure that counts, or empty
    # why raw output cannot reproduce its figures, or empty: they can miss a criterion, but never meet one
    unproved: str = ''
    chain: str = ''  # chain of the session's records, which `seatrial verify` prints too (SessionResult.chain)
    noise: float = stats.NOISE  # assumed noise between allocations, at least, when this one was begun
    load: tuple[float, float] | None = None  # Unix times of begin and end of a scenario; else None


@dataclass(frozen=True)
class CriterionOutcome:
    """The outcome of one criterion. Figures are in the base unit, percentages as shares; None where there is none."""

    verdict: str
    counted: tuple[Attempt, ...] = ()  # the attempts that decide
    figures: tuple[float, ...] = ()  # one for each of `counted`
    figure: float | None = None
    low: float | None = None  # low, high: interval at `confidence`: CONFIDENCE, or more after further allocations
    high: float | None = None
    margin: float | None = None  # how far the figure is on the right side of the bound, as a fraction of the bound
    bound: float | None = None  # the bound in the base unit, also that of a percentage
    further: int | None = None  # additional allocations needed to decide at the noise seen; None if unknown
    why: str = ''  # what is missing, or empty
    confidence: float = stats.CONFIDENCE

    @property
    def load(self) -> str:
        """The duration of a load that ran in several allocations, and the time that no load covered; else empty."""
        loads = sorted(attempt.load for attempt in self.counted if attempt.load)
        if len(loads) < 2:
            return ''
        loaded_s = sum(end - start for start, end in loads)
        unseen_s = sum(max(0.0, start - end) for (_, end), (start, _) in itertools.pairwise(loads))
        share = 100 * unseen_s / (loaded_s + unseen_s)
        return (
            f'{duration(loaded_s)} in {len(loads)} allocations, each with all of its files compared at its own end; '
            f'the {unseen_s:.0f} s between them ({share:.3g} % of the time) are not covered'
        )


def judge_contract(
    criteria: Sequence[Criterion], attempts: Mapping[str, Sequence[Attempt]]
) -> dict[str, CriterionOutcome]:
    """The outcome of every criterion by its id, from the attempts at each. It is met if its interval lies on the
    right side of the bound. It is missed if it lies on the wrong side, at a confidence at which chance misses one of
    all with the probability FAMILY at most (Bonferroni). For the k-th allocation beyond those planned the probability
    of an error is divided by k + 1, or measuring on would meet any bound in the end (measured in statistics.md).
    Figures whose raw output is gone can miss a criterion and cannot meet it: its loss must not help."""
    by_id = {criterion.id: criterion for criterion in criteria}
    count = sum(not criterion.observed for criterion in criteria)
    proved = {
        id: [replace(attempt, why_not=attempt.why_not or attempt.unproved) for attempt in measured]
        for id, measured in attempts.items()
    }
    outcomes = {criterion.id: _judge(criterion, by_id, attempts, count) for criterion in criteria}
    return {
        id: _judge(by_id[id], by_id, proved, count) if one.verdict == MET else one for id, one in outcomes.items()
    }


def _judge(
    criterion: Criterion, by_id: Mapping[str, Criterion], attempts: Mapping[str, Sequence[Attempt]], count: int
) -> CriterionOutcome:
    if criterion.observed:
        return CriterionOutcome(
            UNDECIDED, why='no check measures it: people observe it, and remark what they have seen'
        )
    measured = attempts.get(criterion.id, ())
    deciding = _counting(criterion, measured)
    outcome = CriterionOutcome(UNDECIDED, deciding, tuple(_figure(criterion, attempt) for attempt in deciding))
    failed = _failure(criterion, measured)
    if failed:
        return replace(outcome, verdict=MISSED, why=f'the storage failed: {failed.why_not}')
    if not measured:
        return replace(outcome, why='it was not measured')
    if not deciding:
        last = max(measured, key=attrgetter('session'))
        why = last.why_not or f'{len(last.values)} valid repetitions are too few'
        tried = counted(len(measured), 'allocation')
        return replace(outcome, why=f'none of {tried} is valid; of the last one: {why}')
    base = by_id.get(criterion.of)
    others = _counting(base, attempts.get(base.id, ())) if base else ()
    looks = criterion.looks(len(deciding)) + (base.looks(len(others)) - 1 if base else 0)
    doubt = 1 - stats.CONFIDENCE
    confidence, strict = 1 - doubt / looks, 1 - min(doubt, 2 * stats.FAMILY / max(1, count)) / looks
    usual, sure = _Estimate.of(criterion, deciding, confidence), _Estimate.of(criterion, deciding, strict)
    outcome = replace(outcome, figure=usual.figure, low=usual.low, high=usual.high, confidence=confidence)
    bound = sure_bound = _Estimate(criterion.bound, criterion.bound, criterion.bound)
    if base and not others:
        return replace(outcome, why=f'{base.id}, of which it is a percentage, has no valid allocation')
    if base:
        bound = _Estimate.of(base, others, confidence).times(criterion.bound)
        sure_bound = _Estimate.of(base, others, strict).times(criterion.bound)
    # The bound of a percentage has an interval too; the nearest ends are compared, which errs less often than either.
    if criterion.least:
        clears, falls_short = usual.low >= bound.high, sure.high < sure_bound.low
    else:
        clears, falls_short = usual.high <= bound.low, sure.low > sure_bound.high
    sign = 1 if criterion.least else -1
    margin = sign * (usual.figure / bound.figure - 1) if bound.figure else None
    return _decided(criterion, replace(outcome, margin=margin, bound=bound.figure), clears, falls_short, strict)


def _decided(
    criterion: Criterion, outcome: CriterionOutcome, clears: bool, falls_short: bool, strict: float
) -> CriterionOutcome:
    n = len(outcome.counted)
    worst_decides = criterion.statistic == MINIMUM and criterion.counts == 'all' and not criterion.of
    if falls_short and (n >= criterion.allocations or worst_decides):
        return replace(outcome, verdict=MISSED)
    if n < criterion.allocations:
        missing = criterion.allocations - n
        why = f'{n} of {counted(criterion.allocations, "allocation")} valid; {missing} more needed'
        return replace(outcome, why=why, further=missing)
    if clears:
        return replace(outcome, verdict=MET)
    if criterion.of:
        return replace(outcome, why='the two intervals overlap the bound; measure more allocations of both')
    if n == 1:
        why = 'the bound lies inside the interval of its one allocation; a second one shows how allocations differ'
        return replace(outcome, why=why, further=1)
    assert outcome.margin is not None and outcome.bound is not None
    chance = (1 - (outcome.confidence if outcome.margin > 0 else strict)) * criterion.looks(n)

    def confidence(total: int) -> float:
        return 1 - chance / criterion.looks(total)

    further = further_allocations(outcome.figures, outcome.bound, confidence, assumed_noise(outcome.counted))
    why = f'its figure is too close to the bound: {MOST_FURTHER} more allocations leave it open'
    if further is not None:
        more = counted(further, 'more allocation')
        why = f'the bound lies inside its interval; as allocations differ so far, {more} would decide it'
    return replace(outcome, why=why, further=further)


def assumed_noise(attempts: Sequence[Attempt]) -> float:
    """The noise between these allocations that is assumed at least: the largest known when each was begun."""
    return max(attempt.noise for attempt in attempts)


def further_allocations(
    figures: Sequence[float], bound: float, confidence: Callable[[int], float], noise: float
) -> int | None:
    """The number of further allocations, of the same mean and scatter, until the interval excludes the bound: the
    smallest N - n whose half width is below the distance to the bound (Jain, The Art of Computer Systems Performance
    Analysis, 1991, 13.9). None above MOST_FURTHER, or if a figure or the bound is not positive. confidence: of the
    interval, by the number of allocations; noise: as in half_width_between. StatisticsError for a single figure."""
    if min(*figures, bound) <= 0:
        return None
    logs = [math.log(figure / bound) for figure in figures]
    away, scatter, n = abs(statistics.fmean(logs)), statistics.stdev(logs), len(figures)
    for total in range(n + 1, n + MOST_FURTHER + 1):
        if stats.half_width_between(scatter, total, confidence(total), noise) < away:
            return total - n
    return None


@dataclass(frozen=True)
class _Estimate:
    figure: float
    low: float
    high: float

    @classmethod
    def of(cls, criterion: Criterion, attempts: Sequence[Attempt], confidence: float) -> '_Estimate':
        """The figure of these allocations with its interval; the figure of a single worst launch has no width."""
        figures = tuple(_figure(criterion, attempt) for attempt in attempts)
        error = max(attempt.clock_error for attempt in attempts)
        figure = low = high = figures[0]
        if criterion.statistic == MINIMUM:
            figure = low = high = min(figures) if criterion.least else max(figures)
        elif len(figures) > 1:
            figure, low, high = stats.between_allocations(figures, confidence, assumed_noise(attempts))
        elif criterion.statistic == MEAN:
            interval = stats.verdict_interval(attempts[0].values, confidence, attempts[0].correlation)
            low, high = interval.low, interval.high
        elif criterion.statistic == MEDIAN:
            low, high = stats.quantile_interval(attempts[0].values, 0.5, confidence)
        return cls(figure, low * (1 - error), high * (1 + error))

    def times(self, share: float) -> '_Estimate':
        return _Estimate(share * self.figure, share * self.low, share * self.high)


def _counting(criterion: Criterion, attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    valid = sorted((attempt for attempt in attempts if _counts(criterion, attempt)), key=attrgetter('session'))
    if criterion.counts == LAST:
        return tuple(valid[-criterion.allocations :])
    if criterion.counts == BEST:
        ranked = sorted(valid, key=lambda attempt: _figure(criterion, attempt), reverse=criterion.least)
        return tuple(sorted(ranked[: criterion.allocations], key=attrgetter('session')))
    return tuple(valid)


def _counts(criterion: Criterion, attempt: Attempt) -> bool:
    return not attempt.why_not and len(attempt.values) >= criterion.needed


def _failure(criterion: Criterion, attempts: Sequence[Attempt]) -> Attempt | None:
    """The allocation in which the storage failed, unless the contract counts later or better ones in its place."""
    failed = [attempt for attempt in attempts if attempt.failed]
    if not failed:
        return None
    if criterion.counts == 'all':
        return failed[-1]
    since = '' if criterion.counts == BEST else max(attempt.session for attempt in failed)
    later = [attempt for attempt in attempts if _counts(criterion, attempt) and attempt.session > since]
    return None if len(later) >= criterion.allocations else failed[-1]


def _figure(criterion: Criterion, attempt: Attempt) -> float:
    worst, best = (min, max) if criterion.least else (max, min)
    if criterion.statistic == MINIMUM:
        return worst(attempt.values)
    if criterion.statistic == BEST:
        return best(attempt.values[: criterion.best_of])
    return statistics.median(attempt.values) if criterion.statistic == MEDIAN else statistics.fmean(attempt.values)
