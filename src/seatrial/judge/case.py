"""The verdict of a case. Pure functions over its plan and records; nothing is measured here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from seatrial.judge.caveats import caveats
from seatrial.judge.expectations import Curves, ExpectationResult, judge_expectations
from seatrial.judge.measured import as_meant, correlation_of_case, judge_metric
from seatrial.judge.outliers import SLOW, SUSPECTED, isolation
from seatrial.judge.references import CONTRACT, OUTSIDE, Reference, ReferenceResult, judge_reference
from seatrial.judge.statistics import MIN_FOR_INTERVAL
from seatrial.judge.verdict import (
    OF_EFFECT,
    OF_INTERVAL,
    WORST_FIRST,
    CaseResult,
    Criteria,
    MetricResult,
    Verdict,
    of_relation,
    worst,
)
from seatrial.model.metric import LOWER, Fact
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Drill, Finding, Records, Sample
from seatrial.rules.case import CaseSeen, binding, cut_off, measured
from seatrial.rules.contents import verified
from seatrial.rules.issued import comparisons, issued_findings
from seatrial.rules.registry import CASE, findings
from seatrial.workload.registry import kind_of, metrics_at
from seatrial.workload.words import by_key, counted, span

NO_CRITERION = (
    'no criterion: an acceptance needs something to compare with; '
    'write a contract.yaml for seatrial accept, or enforce an expectation in trial.yaml'
)
_NO_CRITERIA = Criteria()
NAMED = 4  # the most metrics that a reason names; if there are more, it names the first and the number of others
_OF_PLACE = {SLOW: Verdict.FAIL, SUSPECTED: Verdict.INCONCLUSIVE}


def judge_case(plan: TrialPlan, records: Records, criteria: Criteria = _NO_CRITERIA) -> CaseResult:
    """The verdict of one case from its plan and its records. A case without records is INCOMPLETE. A smoke test has
    too few repetitions to be compared with anything: its expectations are listed, not judged."""
    rule_findings = [*(records.sized.findings if records.sized else ()), *findings(CASE, CaseSeen(plan, records))]
    rule_findings += issued_findings(plan, records)
    # A failure counts in any launch: a warm-up uses the same storage.
    rule_findings += [failed for sample in records.samples for failed in sample.findings if failed.effect == 'fail']
    start, end = records.start, records.end
    rule_findings += end.findings if end else ()
    by_metric = measured(plan, records)
    engine = start.engine if start else ''
    correlation = correlation_of_case(plan, by_metric)
    metrics = tuple(
        judge_metric(plan, records, by_metric, point, metric_type, rule_findings, correlation)
        for point in plan.points
        for metric_type in metrics_at(point)
    )
    unjudged = _unjudged(plan, records, by_metric) if plan.stopping.fixed and not plan.stopping.once else ''
    references: tuple[ReferenceResult, ...] = ()
    if not unjudged:
        by_name = {metric.metric: metric for metric in metrics}
        references = tuple(
            _judge_reference(reference, by_name.get(reference.metric), engine, plan, correlation, criteria.level)
            for reference in criteria.references
        )
        metrics = tuple(_with_reference(metric, references, records.drill) for metric in metrics)
    curves = _curves(plan, metrics, engine)
    facts = _facts(by_metric.values())
    expectations = judge_expectations(criteria.expectations, criteria.enforced, curves, facts, unjudged)
    isolated = isolation(plan, records, unjudged)
    places = isolated.sentences if isolated else ()
    against = [(_OF_PLACE[place], sentence) for place, sentence in places if place in _OF_PLACE]
    against += [(Verdict.INCONCLUSIVE, sentence) for sentence in isolated.undecided] if isolated else []
    against += _against(rule_findings, metrics, references, expectations)
    suspects = {sentence for place, sentence in places if place == SUSPECTED}
    # The end of a job explains the launches that it cut off: a node that failed, its time limit. A sweep over places
    # is run to find slow ones: suspects come next. Failures come before both.
    first = [sentence for _, sentence in against if cut_off(records) and sentence.startswith('T15: ')]
    against.sort(
        key=lambda r: (r[0] is not Verdict.FAIL, r[1] not in first, r[1] not in suspects, WORST_FIRST.index(r[0]))
    )
    # Criteria beside the references that the case could have missed; those it did miss are in `against`.
    judged = any(result.enforced for result in expectations) or (isolated and not unjudged)
    met = [Verdict.PASS] if judged else []
    # A system's own baseline is a criterion after an upgrade, but not for a new system; a label says so.
    asked = criteria.references or criteria.enforced_expectations
    if plan.profile == 'acceptance' and not (isolated or asked or criteria.of_contract):
        against.append((Verdict.INCONCLUSIVE, NO_CRITERION))
    return CaseResult(
        case=plan.case,
        profile=plan.profile,
        verdict=worst([*(verdict for verdict, _ in against), *(metric.verdict for metric in metrics), *met]),
        reasons=tuple(reason for _, reason in against),
        labels=caveats(plan, records, rule_findings, by_metric, metrics, criteria, isolated, correlation),
        engine=engine,
        version=start.version if start else '',
        skipped=start.skipped if start else (),
        host=start.host if start else '',
        per_task=records.sized.per_task if records.sized else None,
        duration_s=end.ended - start.started if start and end else None,
        metrics=metrics,
        curves=curves,
        expectations=expectations,
        references=references,
        unjudged=unjudged,
        facts=facts,
        darshan=comparisons(plan, records),
        isolation=isolated,
        correlation=correlation,
        chain=records.chain or '',
        verified=verified(records),
        binding=binding([sample for samples in by_metric.values() for sample in samples]),
    )


def _unjudged(plan: TrialPlan, records: Records, by_metric: Mapping[str, Sequence[Sample]]) -> str:
    """The reason for not judging a case with a fixed number of repetitions, with the number done."""
    wanted, done = plan.stopping.minimum, [len(samples) for samples in by_metric.values()]
    if not done or not records.end or 'budget' not in records.end.stopped.values():
        return f'{plan.profile}: {counted(wanted, "repetition")}, not judged'
    return f'{plan.profile}: {span(done)} of {wanted} repetitions (time budget exhausted), not judged'


def _judge_reference(
    reference: Reference, one: MetricResult | None, engine: str, plan: TrialPlan, correlation: float, level: float
) -> ReferenceResult:
    if one is None:
        return judge_reference(reference, (), engine)
    if one.more_than is not None and reference.high is not None:
        at_most = replace(reference, low=None, statistic='maximum')
        missed = judge_reference(at_most, (one.more_than,), engine, least=1)
        if missed.interval == OUTSIDE:
            return replace(missed, words=f'{missed.words}; {one.why}')
    doubt = one.why if one.verdict is Verdict.INVALID else ''
    # A night that reads from the cache must not hide a regression; where no counter tells, a label says so.
    if plan.stopping.once:  # the plan has one launch: its worst figure is compared
        reference = replace(reference, statistic='maximum' if one.better == LOWER else 'minimum')
    elif reference.origin == CONTRACT or plan.profile == 'acceptance' or one.cache in ('cached', 'mixed'):
        doubt = doubt or one.not_storage
    drifting = plan.profile == 'acceptance' and one.summary is not None and one.summary.drifting
    least = 1 if plan.stopping.once else MIN_FOR_INTERVAL
    return judge_reference(reference, one.values, engine, doubt, one.clock_error, drifting, correlation, level, least)


def _with_reference(metric: MetricResult, references: Sequence[ReferenceResult], drill: Drill | None) -> MetricResult:
    """The metric with the verdict of its reference; a drill-down adds to the reason of a FAIL, and no verdict."""
    reference = next((reference for reference in references if reference.metric == metric.metric), None)
    verdict = OF_INTERVAL[reference.interval] if reference else Verdict.MEASURED
    if reference and worst([verdict, metric.verdict]) is verdict:
        also = f'; {metric.why}' if metric.why not in reference.words else ''
        why = metric.why if verdict is Verdict.PASS else reference.words + also
        metric = replace(metric, verdict=verdict, why=why)
    if drill and drill.metric == metric.metric and metric.verdict is Verdict.FAIL:
        return replace(metric, why=f'{metric.why}; drill-down: {drill.sentence}')
    return metric


def _curves(plan: TrialPlan, metrics: Sequence[MetricResult], engine: str) -> Curves:
    """The samples that expectations are judged on: valid ones; in an acceptance, only those of the storage."""
    lists = kind_of(plan.kind).compares_in_launch
    # If the first listing was not cold, later ones have nothing to be compared with.
    warm = {metric.point for metric in metrics if lists and not as_meant(plan, metric.cache)}

    def usable(one: MetricResult) -> tuple[float, ...]:
        elsewhere = plan.profile == 'acceptance' and one.not_storage and not as_meant(plan, one.cache)
        return () if one.verdict is Verdict.INVALID or one.point in warm or elsewhere else one.values

    values = {point.label: point.at for point in sorted(plan.points, key=lambda point: point.at)}
    known = {(metric.name, metric.point): usable(metric) for metric in metrics}
    names = {metric.name: metric.better for metric in metrics}
    samples = {name: {label: known[name, label] for label in values if (name, label) in known} for name in names}
    cached = frozenset((one.name, one.point) for one in metrics if not lists and one.cache in ('cached', 'mixed'))
    fairness = {(metric.name, metric.point): metric.fairness for metric in metrics}
    groups = {(metric.name, metric.point): metric.groups for metric in metrics}
    return Curves(plan.case.check, engine, plan.axis, values, samples, names, cached, fairness, groups)


def _against(
    rule_findings: Sequence[Finding],
    metrics: Sequence[MetricResult],
    references: Sequence[ReferenceResult],
    expectations: Sequence[ExpectationResult],
) -> list[tuple[Verdict, str]]:
    rules = [(OF_EFFECT[f.effect], f'{f.rule}: {f.sentence}') for f in rule_findings if f.effect in OF_EFFECT]
    reasons = list(dict.fromkeys(rules))
    known = {sentence for _, sentence in reasons}
    planned = {metric.metric for metric in metrics}
    alike = by_key(
        ((metric.verdict, metric.why), metric.metric)
        for metric in metrics
        if not (metric.verdict.unopposed or metric.why in known or (metric.verdict is Verdict.INCOMPLETE and known))
    )
    for (verdict, why), names in alike.items():
        named = ', '.join(names) if len(names) <= NAMED else f'{names[0]} and {len(names) - 1} others'
        reasons.append((verdict, f'{named}: {verdict.value}: {why}'))
    for one in references:
        if one.metric not in planned:
            reasons.append((Verdict.INCOMPLETE, f'{one.metric}: INCOMPLETE: it has a reference and was not planned'))
    for result in expectations:
        verdict = of_relation(result.relation) if result.enforced else Verdict.PASS
        if verdict is not Verdict.PASS:
            reasons.append((verdict, f'{result.id}: {verdict.value}: {result.subject}: {result.relation.sentence}'))
    return reasons


def _facts(samples: Iterable[Sequence[Sample]]) -> tuple[Fact, ...]:
    """Each fact once: one that did not hold, else one that could not be tried, else one that held."""
    facts = by_key(
        (fact.name, fact)
        for repetitions in samples
        for sample in repetitions
        if sample.valid and sample.measurement
        for fact in sample.measurement.facts
    )
    worst_first = (False, None, True)
    return tuple(min(of_name, key=lambda fact: worst_first.index(fact.holds)) for of_name in facts.values())
