"""Verdicts: of a metric, a case and a session. Pure functions over plans and records; nothing is measured here."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from seatrial.judge.expectations import (
    Curves,
    Expectation,
    ExpectationResult,
    Promise,
    judge_curves,
    judge_promise,
    not_judged,
)
from seatrial.judge.references import (
    CONTRACT,
    OUTSIDE,
    UNDECIDED,
    Reference,
    ReferenceResult,
    judge_reference,
)
from seatrial.judge.relations import FAILS, HOLDS, Relation
from seatrial.judge.statistics import Fairness, Summary, fairness, summary
from seatrial.model.namespace import LISTING
from seatrial.model.plan import Case, TrialPlan, metric
from seatrial.model.record import Finding, Measurement, Records, Sample
from seatrial.model.tree import Fact, TreeMeasurement, TreePoint
from seatrial.model.work import Place, unit
from seatrial.rules.case import CaseSeen, measured
from seatrial.rules.registry import CASE, findings
from seatrial.rules.stopping import converged


class Verdict(str, Enum):
    """What may be signed.

    INVALID: the measurement cannot be believed. INCONCLUSIVE: it can, and cannot decide. INCOMPLETE: not all that
    was planned ran.
    """

    PASS = 'PASS'
    FAIL = 'FAIL'
    INVALID = 'INVALID'
    INCOMPLETE = 'INCOMPLETE'
    INCONCLUSIVE = 'INCONCLUSIVE'


EXIT_CODES = {
    Verdict.PASS: 0,
    Verdict.FAIL: 10,
    Verdict.INVALID: 11,
    Verdict.INCONCLUSIVE: 12,
    Verdict.INCOMPLETE: 13,
}
_WORST_FIRST = (Verdict.FAIL, Verdict.INVALID, Verdict.INCOMPLETE, Verdict.INCONCLUSIVE, Verdict.PASS)


@dataclass(frozen=True)
class Criteria:
    """What the figures of a case are held against. enforced: ids of expectations that the site has made criteria."""

    expectations: tuple[Expectation, ...] = ()
    enforced: frozenset[str] = frozenset()
    references: tuple[Reference, ...] = ()


_NO_CRITERIA = Criteria()
_NO_CURVES = Curves('', '', '', {}, {})


@dataclass(frozen=True)
class MetricResult:
    """One metric. values: of the valid repetitions, in MiB/s, in their order; summary is None where there are none.

    fairness: the medians, over the repetitions, of how evenly the clients were served. cache: what every
    repetition was, or 'mixed'; empty for what writes. not_storage: why the figure says nothing about storage, or
    empty. percentiles_s: LATENCIES of a single operation, the median over the repetitions; empty if not timed singly.
    """

    metric: str
    operation: str
    point: str
    verdict: Verdict
    why: str
    values: tuple[float, ...]
    unit: str
    summary: Summary | None
    fairness: Fairness | None
    cache: str
    not_storage: str = ''
    percentiles_s: tuple[float, ...] = ()


@dataclass(frozen=True)
class CaseResult:
    """One case. reasons: why it is not a PASS; labels: what must be said beside its figures.

    facts: what was found of POSIX, one that did not hold in some repetition as it was then
    curves: what expectations were judged on; unjudged: why the case is held against nothing, or empty.
    """

    case: Case
    profile: str
    verdict: Verdict
    reasons: tuple[str, ...]
    labels: tuple[str, ...]
    engine: str
    version: str
    passed_over: tuple[str, ...]
    host: str
    per_client: int | None
    duration_s: float | None
    metrics: tuple[MetricResult, ...]
    expectations: tuple[ExpectationResult, ...] = ()
    references: tuple[ReferenceResult, ...] = ()
    curves: Curves = _NO_CURVES
    unjudged: str = ''
    facts: tuple[Fact, ...] = ()


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of the whole: a proved FAIL outranks the rest, then INVALID, INCOMPLETE, INCONCLUSIVE.

    Of nothing it is INCOMPLETE: a session in which nothing ran proves nothing.
    """
    present = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in present), Verdict.INCOMPLETE)


def judge_case(plan: TrialPlan, records: Records, criteria: Criteria = _NO_CRITERIA) -> CaseResult:
    """The verdict of one case from its plan and what its job recorded; an empty record is INCOMPLETE.

    A smoke test is held against nothing: it has too few repetitions, and its expectations are only listed.
    """
    found = [*(records.sized.findings if records.sized else ()), *findings(CASE, CaseSeen(plan, records))]
    by_metric = measured(plan, records)
    start, end = records.start, records.end
    engine = start.engine if start else ''
    metrics = tuple(
        _judge_metric(plan, records, by_metric, point.label, name, found)
        for point in plan.points
        for operation in plan.workload.operations
        for name in plan.measures(operation, point)
    )
    unjudged = f'{plan.profile}: {plan.stopping.least} repetitions, not judged' if plan.stopping.fixed else ''
    references: tuple[ReferenceResult, ...] = ()
    if not unjudged:
        references = tuple(_judge_reference(each, metrics, engine, plan.profile) for each in criteria.references)
        metrics = tuple(_with_reference(each, references) for each in metrics)
    curves = _curves(plan, metrics, engine)
    facts = _facts(by_metric.values())
    expectations = (*_judge_expectations(curves, criteria, unjudged), *_judge_promises(facts, criteria))
    against = _against(found, metrics, references, expectations)
    if plan.profile == 'acceptance' and not references and not any(each.enforced for each in expectations):
        against.append((Verdict.INCONCLUSIVE, NO_CRITERION))
    before = start.findings if start else ()
    labels = [f'{each.rule}: {each.sentence}' for each in (*before, *found) if each.effect == 'label']
    labels += _launch_labels(by_metric.values()) + _left_behind(records)
    return CaseResult(
        case=plan.case,
        profile=plan.profile,
        verdict=worst([*(verdict for verdict, _ in against), *(each.verdict for each in metrics)]),
        reasons=tuple(said for _, said in against),
        labels=tuple(dict.fromkeys(labels)),
        engine=engine,
        version=start.version if start else '',
        passed_over=start.passed_over if start else (),
        host=start.host if start else '',
        per_client=records.sized.per_client if records.sized else None,
        duration_s=end.ended - start.started if start and end else None,
        metrics=metrics,
        expectations=expectations,
        references=references,
        curves=curves,
        unjudged=unjudged,
        facts=facts,
    )


def of_relation(relation: Relation) -> Verdict:
    """What an enforced expectation comes to."""
    return {HOLDS: Verdict.PASS, FAILS: Verdict.FAIL}.get(relation.verdict, Verdict.INCONCLUSIVE)


NO_CRITERION = (
    'no criterion: an acceptance is held against something; '
    'give it a contract in references.yaml, or enforce an expectation in trial.yaml'
)
_EFFECTS = {'invalid': Verdict.INVALID, 'incomplete': Verdict.INCOMPLETE}


def _judge_metric(
    plan: TrialPlan,
    records: Records,
    by_metric: dict[str, list[Sample]],
    label: str,
    operation: str,
    found: Sequence[Finding],
) -> MetricResult:
    name = metric(operation, label)
    samples = by_metric.get(name, [])
    valid = [sample for sample in samples if sample.valid]
    values = tuple(sample.figures[operation] for sample in valid if operation in sample.figures)
    stopped = records.end.stopped.get(label, '') if records.end else ''
    cache = _cache(valid)
    not_storage = _not_storage(cache, found)
    verdict, why = _decide(plan, samples, values, stopped, found, not_storage)
    return MetricResult(
        metric=name,
        operation=operation,
        point=label,
        verdict=verdict,
        why=why,
        values=values,
        unit=unit(plan.workload),
        summary=summary(values, plan.stopping.confidence) if values else None,
        fairness=_fairness(valid),
        cache=cache,
        not_storage=not_storage,
        percentiles_s=_percentiles(valid, operation),
    )


def _not_storage(cache: str, found: Sequence[Finding]) -> str:
    if cache not in ('', 'cold'):
        return f'the reads were {cache}, not cold: this says nothing about storage'
    return next((each.sentence for each in found if each.rule == 'P16'), '')


def _precise(plan: TrialPlan, values: Sequence[float]) -> bool:
    """Whether this metric is as precise as asked, although another one of the same point kept it from stopping."""
    rule = plan.stopping
    return len(values) >= rule.least + rule.extra and converged(values, rule)


def _decide(
    plan: TrialPlan,
    samples: Sequence[Sample],
    values: Sequence[float],
    stopped: str,
    found: Sequence[Finding],
    not_storage: str,
) -> tuple[Verdict, str]:
    if not samples:
        return Verdict.INCOMPLETE, 'it was not measured'
    launches = [finding for sample in samples for finding in sample.findings if finding.effect != 'label']
    wrong = launches + [finding for finding in found if finding.effect == 'invalid']
    if wrong:
        return Verdict.INVALID, f'{wrong[0].rule}: {wrong[0].sentence}'
    if stopped == 'invalid':
        return Verdict.INVALID, 'the other operation of this point cannot be believed'
    error = 100 * plan.stopping.max_relative_error
    if stopped == 'budget' and plan.stopping.fixed:
        return Verdict.PASS, ''
    if stopped in ('exhausted', 'budget', '') and not _precise(plan, values):
        ended = {'exhausted': '', 'budget': ' when the time budget ended', '': ' when the job ended'}[stopped]
        return Verdict.INCONCLUSIVE, f'not within {error:.0f} % after {len(samples)} repetitions{ended}'
    if plan.profile == 'acceptance' and not_storage:
        return Verdict.INCONCLUSIVE, not_storage
    return Verdict.PASS, ''


def _judge_reference(
    reference: Reference, metrics: Sequence[MetricResult], engine: str, profile: str
) -> ReferenceResult:
    one = next((each for each in metrics if each.metric == reference.metric), None)
    if one is None:
        return judge_reference(reference, (), engine)
    doubt = one.why if one.verdict is Verdict.INVALID else ''
    # A night that reads from the cache must not hide a regression; where no counter tells, a label says so.
    if reference.origin == CONTRACT or profile == 'acceptance' or one.cache in ('cached', 'mixed'):
        doubt = doubt or one.not_storage
    return judge_reference(reference, one.values, engine, doubt)


def _with_reference(one: MetricResult, references: Sequence[ReferenceResult]) -> MetricResult:
    """The metric with the verdict that its reference makes of it."""
    reference = next((each for each in references if each.metric == one.metric), None)
    verdict = _OF_INTERVAL.get(reference.interval, Verdict.PASS) if reference else Verdict.PASS
    if reference is None or verdict is Verdict.PASS or worst([verdict, one.verdict]) is not verdict:
        return one
    also = f'{one.why}; ' if one.verdict is verdict and one.why not in reference.words else ''
    return replace(one, verdict=verdict, why=also + reference.words)


_OF_INTERVAL = {OUTSIDE: Verdict.FAIL, UNDECIDED: Verdict.INCONCLUSIVE}


def _curves(plan: TrialPlan, metrics: Sequence[MetricResult], engine: str) -> Curves:
    """What expectations may be judged on: samples that can be believed and, in acceptance, that speak of storage."""
    samples: dict[str, dict[str, tuple[float, ...]]] = {}
    for each in metrics:
        warm = plan.workload == LISTING and each.cache != 'cold'  # a first listing that was none compares nothing
        doubtful = each.verdict is Verdict.INVALID or warm or (plan.profile == 'acceptance' and each.not_storage)
        samples.setdefault(each.operation, {})[each.point] = () if doubtful else each.values
    values = {point.label: _on_axis(plan.axis, point) for point in plan.points}
    return Curves(plan.case.check, engine, plan.axis, values, samples)


def _on_axis(axis: str, point: Place) -> int:
    if isinstance(point, TreePoint):
        return point.tasks if axis == 'clients' else point.entries.files
    return {'transfer_size': point.transfer_size, 'objects': point.objects, 'clients': point.tasks}[axis]


def _judge_expectations(curves: Curves, criteria: Criteria, unjudged: str) -> tuple[ExpectationResult, ...]:
    results = [
        result
        for each in criteria.expectations
        for result in judge_curves(each, curves, each.id in criteria.enforced)
    ]
    return tuple(not_judged(result, unjudged) if unjudged else result for result in results)


def _judge_promises(facts: Sequence[Fact], criteria: Criteria) -> tuple[ExpectationResult, ...]:
    return tuple(
        judge_promise(each, facts, each.id in criteria.enforced)
        for each in criteria.expectations
        if isinstance(each, Promise)
    )


def _against(
    found: Sequence[Finding],
    metrics: Sequence[MetricResult],
    references: Sequence[ReferenceResult],
    expectations: Sequence[ExpectationResult],
) -> list[tuple[Verdict, str]]:
    """All that speaks against a PASS, the worst first; what follows from something else is not said again."""
    reasons = [(_EFFECTS[f.effect], f'{f.rule}: {f.sentence}') for f in found if f.effect in _EFFECTS]
    known = {said for _, said in reasons}
    planned = {each.metric for each in metrics}
    for each in metrics:
        follows = each.why in known or (each.verdict is Verdict.INCOMPLETE and known)
        if each.verdict is not Verdict.PASS and not follows:
            reasons.append((each.verdict, f'{each.metric}: {each.verdict.value}: {each.why}'))
    for one in references:
        if one.metric not in planned:
            reasons.append((Verdict.INCOMPLETE, f'{one.metric}: INCOMPLETE: it has a reference and was not planned'))
    believed = not any(verdict in _EFFECTS.values() for verdict, _ in reasons)
    for result in expectations:
        verdict = of_relation(result.relation) if result.enforced else Verdict.PASS
        if verdict is Verdict.FAIL or (verdict is Verdict.INCONCLUSIVE and believed):
            reasons.append((verdict, f'{result.id}: {verdict.value}: {result.subject}: {result.relation.sentence}'))
    return sorted(reasons, key=lambda reason: _WORST_FIRST.index(reason[0]))


def _percentiles(samples: Sequence[Sample], name: str) -> tuple[float, ...]:
    columns = [
        rate.percentiles_s
        for sample in samples
        if isinstance(sample.measurement, TreeMeasurement)
        for rate in sample.measurement.rates
        if rate.metric == name and rate.percentiles_s
    ]
    return tuple(statistics.median(column) for column in zip(*columns, strict=True))


def _facts(samples: Iterable[Sequence[Sample]]) -> tuple[Fact, ...]:
    """Each fact once: as it was when it did not hold, else as it was when it could not be tried, else as it held."""
    found: dict[str, Fact] = {}
    for sample in (sample for each in samples for sample in each if sample.valid):
        for fact in sample.measurement.facts if isinstance(sample.measurement, TreeMeasurement) else ():
            known = found.setdefault(fact.name, fact)
            if _WORSE_FACT[fact.holds] > _WORSE_FACT[known.holds]:
                found[fact.name] = fact
    return tuple(found.values())


_WORSE_FACT = {True: 0, None: 1, False: 2}


def _cache(samples: Sequence[Sample]) -> str:
    seen = {sample.cache for sample in samples}
    return seen.pop() if len(seen) == 1 else 'mixed' if seen else ''


def _fairness(samples: Sequence[Sample]) -> Fairness | None:
    each = [
        fairness([job.bytes_moved for job in m.jobs], [job.seconds for job in m.jobs])
        for m in (sample.measurement for sample in samples)
        if isinstance(m, Measurement) and m.jobs
    ]
    if not each:
        return None
    return Fairness(
        clients=each[0].clients,
        time_ratio=statistics.median(one.time_ratio for one in each),
        time_cv=statistics.median(one.time_cv for one in each),
        jain=statistics.median(one.jain for one in each),
    )


def _launch_labels(samples: Iterable[Sequence[Sample]]) -> list[str]:
    """Each label of a launch rule once, with the metrics that it concerns."""
    concerned: dict[str, dict[str, str]] = {}
    for each in samples:
        for sample in each:
            for finding in sample.findings:
                if finding.effect == 'label':
                    concerned.setdefault(finding.rule, {})[metric(sample.operation, sample.point)] = finding.sentence
    return [
        f'{rule}: {", ".join(list(where)[:3])}{" and others" if len(where) > 3 else ""}: {next(iter(where.values()))}'
        for rule, where in concerned.items()
    ]


def _left_behind(records: Records) -> list[str]:
    if records.end is None or records.start is None or not records.start.run_directory:
        return []
    if records.end.reason in ('finished', 'failed') and records.removal is None:
        return [f'{records.start.run_directory} was not removed; see `seatrial clean`']
    if records.removal and records.removal.left:
        left = records.removal.left
        return [f'left in {records.start.run_directory}: {left[0]}{" and more" if len(left) > 1 else ""}']
    return []
