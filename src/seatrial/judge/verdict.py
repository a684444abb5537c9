"""Verdicts: of a metric, a case and a session. Pure functions over plans and records; nothing is measured here."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from seatrial.judge.expectations import (
    Curves,
    Expectation,
    ExpectationResult,
    OfPair,
    Promise,
    judge_curves,
    judge_promise,
    not_judged,
)
from seatrial.judge.outliers import CLEARED, SLOW, SUSPECTED, Isolation, isolation
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
from seatrial.model.namespace import LISTED_BEFORE, LISTING, Namespace, cache_of
from seatrial.model.plan import Case, TrialPlan, metric
from seatrial.model.record import Drill, Finding, Measurement, Records, Sample
from seatrial.model.tree import Fact, TreeMeasurement, TreePoint
from seatrial.model.work import Place, unit
from seatrial.model.workload import NAMED, PLACES
from seatrial.rules.case import CaseSeen, hidden_by_servers, measured, seconds_of, short_phase
from seatrial.rules.issued import Comparison, comparisons, issued_findings
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
    repetition was, 'mixed' or LISTED_BEFORE; empty for what writes. not_storage: why the figure says nothing about
    storage, or empty. percentiles_s: LATENCIES of a single operation, the median over the repetitions; empty if not
    timed singly. clock_error: the largest share of a timed region that its clocks may be wrong by.
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
    clock_error: float = 0.0


@dataclass(frozen=True)
class CaseResult:
    """One case. reasons: why it is not a PASS; labels: what must be said beside its figures.

    facts: what was found of POSIX, one that did not hold in some repetition as it was then
    curves: what expectations were judged on; unjudged: why the case is held against nothing, or empty.
    witness: what was meant beside what was issued, of each launch under Darshan (P15)
    isolation: which of its places are slow, of a sweep over nodes or targets
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
    witness: tuple[Comparison, ...] = ()
    isolation: Isolation | None = None


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
    found += issued_findings(plan, records)
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
        metrics = tuple(_with_drill(_with_reference(each, references), records.drill) for each in metrics)
    curves = _curves(plan, metrics, engine)
    facts = _facts(by_metric.values())
    expectations = (*_judge_expectations(curves, criteria, unjudged), *_judge_promises(facts, criteria))
    against = _against(found, metrics, references, expectations)
    isolated = isolation(plan, records, unjudged)
    against = _worst_first([*against, *_of_places(isolated)])
    if plan.profile == 'acceptance' and not isolated and not _asked(criteria):
        against.append((Verdict.INCONCLUSIVE, NO_CRITERION))
    before = start.findings if start else ()
    labels = [f'{each.rule}: {each.sentence}' for each in (*before, *found) if each.effect == 'label']
    labels += _launch_labels(by_metric.values()) + _place_labels(isolated) + _left_behind(records)
    if isolated and plan.profile == 'acceptance' and not references:
        labels.append(ONLY_EQUAL.format(kind=isolated.kind))
    labels += [] if unjudged else _drift_labels(metrics)
    if plan.profile == 'acceptance':
        labels += _acceptance_labels(metrics, criteria, compared=isolated is not None)
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
        witness=comparisons(plan, records),
        isolation=isolated,
    )


def of_relation(relation: Relation) -> Verdict:
    """What an enforced expectation comes to."""
    return {HOLDS: Verdict.PASS, FAILS: Verdict.FAIL}.get(relation.verdict, Verdict.INCONCLUSIVE)


NO_CRITERION = (
    'no criterion: an acceptance is held against something; '
    'give it a contract in references.yaml, or enforce an expectation in trial.yaml'
)
OWN_BASELINE = (
    'held against its own baseline of {dates} alone: that it is not slower than it was then is shown, '
    'and nothing of what was promised; that takes a contract in references.yaml'
)
UNHELD = (
    'no criterion: {unheld} of {all} metrics are held against nothing; a contract in references.yaml changes that'
)
RARE = 'rare slow launches: {n} repetitions do not show them; up to {share:.0f} % of all launches may be slow (95 %)'
DRIFTING = (
    'drifting: {metrics}: neighbouring repetitions resemble each other, so the interval is too short; '
    'of steady series 5 % look so by chance'
)
ONLY_EQUAL = (
    'the {kind}s are held against each other only: how fast they are is no criterion here; '
    'that takes a contract for a check of bandwidth or rates'
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
    cache = cache_of(operation, _cache(valid))
    not_storage = _not_storage(plan, cache, found)
    doubt = '' if _is_as_meant(plan, cache) else not_storage
    if plan.axis in PLACES and cache in ('', 'cold'):
        doubt = hidden_by_servers(plan, records) or ''  # its regions are short, because they are many
    verdict, why = _decide(plan, samples, values, stopped, found, doubt)
    if isinstance(plan.workload, Namespace):
        not_storage = not_storage or short_phase(valid, operation) or ''
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
        clock_error=_clock_error(valid, operation),
    )


def _not_storage(plan: TrialPlan, cache: str, found: Sequence[Finding]) -> str:
    if cache == LISTED_BEFORE:
        return 'the same launch had listed the directory before: this says nothing about storage'
    if cache not in ('', 'cold'):
        return f'the reads were {cache}, not cold: this says nothing about storage'
    if isinstance(plan.workload, Namespace):
        return ''
    return next((each.sentence for each in found if each.rule == 'P16'), '')


def _is_as_meant(plan: TrialPlan, cache: str) -> bool:
    """Whether a listing shows what it is for: the first is cold, those after it what the client keeps."""
    return plan.workload == LISTING and cache in ('cold', LISTED_BEFORE)


AFTER_STOP = 1.5
"""Times the precision asked for, at most, once the extra repetitions of a point that converged have been made.

They are made whatever they show, and 3 % of the points of 10 % noise are then just above what they converged to.
Beyond this factor are 0.03 % of those, but nearly all that met a slow launch in them (docs/statistics.md).
"""


def _imprecise(plan: TrialPlan, values: Sequence[float], stopped: str) -> str:
    """Why this metric is not as precise as asked, or empty; another one of the same point may have kept it going."""
    rule = plan.stopping
    ended = {'budget': ' when the time budget ended', '': ' when the job ended'}.get(stopped, '')
    least = rule.least + rule.extra
    if len(values) < least:
        return f'{len(values)} of the {least} repetitions that a verdict needs were made{ended}'
    slack = AFTER_STOP if stopped == 'converged' else 1.0
    if converged(values, rule._replace(max_relative_error=slack * rule.max_relative_error)):
        return ''
    last = f', which the last {rule.extra} undid' if stopped == 'converged' else ''
    return f'not within {100 * rule.max_relative_error:.0f} % after {len(values)} repetitions{ended}{last}'


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
        return _EFFECTS.get(wrong[0].effect, Verdict.INVALID), f'{wrong[0].rule}: {wrong[0].sentence}'
    if stopped == 'invalid':
        return Verdict.INVALID, 'the other operation of this point cannot be believed'
    if stopped == 'fixed' or (stopped == 'budget' and plan.stopping.fixed):
        return Verdict.PASS, ''
    imprecise = _imprecise(plan, values, stopped)
    if imprecise:
        return Verdict.INCONCLUSIVE, imprecise
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
    drifting = profile == 'acceptance' and one.summary is not None and one.summary.drifting
    return judge_reference(reference, one.values, engine, doubt, one.clock_error, drifting)


def _with_reference(one: MetricResult, references: Sequence[ReferenceResult]) -> MetricResult:
    """The metric with the verdict that its reference makes of it."""
    reference = next((each for each in references if each.metric == one.metric), None)
    verdict = _OF_INTERVAL.get(reference.interval, Verdict.PASS) if reference else Verdict.PASS
    if reference is None or verdict is Verdict.PASS or worst([verdict, one.verdict]) is not verdict:
        return one
    also = f'{one.why}; ' if one.verdict is verdict and one.why not in reference.words else ''
    return replace(one, verdict=verdict, why=also + reference.words)


def _with_drill(one: MetricResult, drill: Drill | None) -> MetricResult:
    """The metric that fails, with what a search for the slow component came to; that is evidence and no verdict."""
    if drill is None or drill.metric != one.metric or one.verdict is not Verdict.FAIL:
        return one
    return replace(one, why=f'{one.why}; drill-down: {drill.sentence}')


_OF_INTERVAL = {OUTSIDE: Verdict.FAIL, UNDECIDED: Verdict.INCONCLUSIVE}


def _curves(plan: TrialPlan, metrics: Sequence[MetricResult], engine: str) -> Curves:
    """What expectations may be judged on: samples that can be believed and, in acceptance, that speak of storage."""
    samples: dict[str, dict[str, tuple[float, ...]]] = {}
    lists = plan.workload == LISTING
    # A first listing that was none compares nothing.
    warm = {each.point for each in metrics if lists and not _is_as_meant(plan, each.cache)}
    for each in metrics:
        elsewhere = plan.profile == 'acceptance' and each.not_storage and not _is_as_meant(plan, each.cache)
        doubtful = each.verdict is Verdict.INVALID or each.point in warm or elsewhere
        samples.setdefault(each.operation, {})[each.point] = () if doubtful else each.values
    values = {point.label: _on_axis(plan.axis, place, point) for place, point in enumerate(plan.points)}
    cached = frozenset((each.operation, each.point) for each in metrics if each.cache in ('cached', 'mixed'))
    return Curves(plan.case.check, engine, plan.axis, values, samples, frozenset() if lists else cached)


def _on_axis(axis: str, place: int, point: Place) -> int:
    if axis in NAMED:
        return place
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
    alike: dict[tuple[Verdict, str], list[str]] = {}
    for each in metrics:
        follows = each.why in known or (each.verdict is Verdict.INCOMPLETE and known)
        if each.verdict is not Verdict.PASS and not follows:
            alike.setdefault((each.verdict, each.why), []).append(each.metric)
    for (verdict, why), names in alike.items():
        many = len(names) > NAMED_MOST
        said = [f'{names[0]} and {len(names) - 1} others'] if many else names
        reasons += [(verdict, f'{name}: {verdict.value}: {why}') for name in said]
    for one in references:
        if one.metric not in planned:
            reasons.append((Verdict.INCOMPLETE, f'{one.metric}: INCOMPLETE: it has a reference and was not planned'))
    for result in expectations:
        verdict = of_relation(result.relation) if result.enforced else Verdict.PASS
        if verdict is not Verdict.PASS:
            reasons.append((verdict, f'{result.id}: {verdict.value}: {result.subject}: {result.relation.sentence}'))
    return _worst_first(reasons)


def _worst_first(reasons: Sequence[tuple[Verdict, str]]) -> list[tuple[Verdict, str]]:
    return sorted(reasons, key=lambda reason: _WORST_FIRST.index(reason[0]))


def _of_places(isolated: Isolation | None) -> list[tuple[Verdict, str]]:
    """A place that is slow is refused; one that may be, and groups of which none is usual, decide nothing."""
    if isolated is None:
        return []
    verdicts = {SLOW: Verdict.FAIL, SUSPECTED: Verdict.INCONCLUSIVE}
    said = [(verdicts[verdict], sentence) for verdict, sentence in isolated.sentences if verdict in verdicts]
    return said + [(Verdict.INCONCLUSIVE, sentence) for sentence in isolated.undecided]


def _place_labels(isolated: Isolation | None) -> list[str]:
    if isolated is None:
        return []
    labels = [sentence for verdict, sentence in isolated.sentences if verdict == CLEARED]
    lost = isolated.not_tested
    if lost:
        named = ', '.join(
            f'{each.node} ({each.state}{f": {each.reason}" if each.reason else ""})' for each in lost[:NAMED_MOST]
        )
        labels.append(f'not tested: {named}{f" and {len(lost) - NAMED_MOST} more" if len(lost) > NAMED_MOST else ""}')
    return labels


NAMED_MOST = 8


def _asked(criteria: Criteria) -> bool:
    """Whether the case is held against anything, be it in a comparison of two checks.

    A baseline of its own is something after an upgrade, and of a new system it is nothing: a label says what it is.
    """
    return bool(criteria.references) or any(each.id in criteria.enforced for each in criteria.expectations)


def _drift_labels(metrics: Sequence[MetricResult]) -> list[str]:
    names = [each.metric for each in metrics if each.summary and each.summary.drifting]
    more = f' and {len(names) - NAMED_MOST} more' if len(names) > NAMED_MOST else ''
    return [DRIFTING.format(metrics=', '.join(names[:NAMED_MOST]) + more)] if names else []


def _acceptance_labels(metrics: Sequence[MetricResult], criteria: Criteria, compared: bool) -> list[str]:
    """What an acceptance leaves open. compared: whether the metrics are held against each other.

    Of n launches none shows what befalls a share p of all with the probability (1 - p)^n.
    """
    enforced = [each for each in criteria.expectations if each.id in criteria.enforced]
    held = {each.metric for each in criteria.references}
    unheld = [each for each in metrics if each.metric not in held and not _is_of(each.operation, enforced)]
    said = unheld and not compared and _asked(criteria)
    labels = [UNHELD.format(unheld=len(unheld), all=len(metrics))] if said else []
    dates = sorted({each.date for each in criteria.references})
    if dates and not enforced and all(each.origin != CONTRACT for each in criteria.references):
        labels.append(OWN_BASELINE.format(dates=', '.join(dates)))
    counts = [len(each.values) for each in metrics if each.values]
    if counts:
        labels.append(RARE.format(n=min(counts), share=100 * (1 - 0.05 ** (1 / min(counts)))))
    return labels


def _is_of(operation: str, expectations: Sequence[Expectation]) -> bool:
    return any(
        each.metric in ('', operation) or (isinstance(each, OfPair) and not each.of and each.than == operation)
        for each in expectations
    )


def _clock_error(samples: Sequence[Sample], name: str) -> float:
    shares = [
        sample.measurement.clock_s / seconds
        for sample in samples
        if sample.measurement and (seconds := seconds_of(sample, name))
    ]
    return max(shares, default=0.0)


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
    """What all repetitions were; 'mixed' where only some of them were cached, 'unknown' where some may have been."""
    seen = {sample.cache for sample in samples}
    if len(seen) < 2:
        return seen.pop() if seen else ''
    return 'mixed' if 'cached' in seen else 'unknown'


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
