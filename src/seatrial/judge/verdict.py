"""Verdicts: of a metric, a case and a session. Pure functions over plans and records; nothing is measured here."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.references import ReferenceResult
from seatrial.judge.statistics import Fairness, Summary, fairness, summary
from seatrial.model.plan import Case, TrialPlan, metric
from seatrial.model.record import Finding, Records, Sample
from seatrial.rules.case import CaseSeen, measured
from seatrial.rules.registry import CASE, findings

UNIT = 'MiB/s'


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
class MetricResult:
    """One metric. values: of the valid repetitions, in MiB/s, in their order; summary is None where there are none.

    fairness: the medians, over the repetitions, of how evenly the clients were served. cache: what every
    repetition was, or 'mixed'; empty for a write.
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


@dataclass(frozen=True)
class CaseResult:
    """One case. reasons: why it is not a PASS; labels: what must be said beside its figures."""

    case: Case
    profile: str
    verdict: Verdict
    reasons: tuple[str, ...]
    labels: tuple[str, ...]
    engine: str
    version: str
    passed_over: tuple[str, ...]
    host: str
    bytes_per_client: int | None
    duration_s: float | None
    metrics: tuple[MetricResult, ...]
    expectations: tuple[ExpectationResult, ...] = ()
    references: tuple[ReferenceResult, ...] = ()


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of the whole: a proved FAIL outranks the rest, then INVALID, INCOMPLETE, INCONCLUSIVE.

    Of nothing it is INCOMPLETE: a session in which nothing ran proves nothing.
    """
    present = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in present), Verdict.INCOMPLETE)


def judge_case(plan: TrialPlan, records: Records) -> CaseResult:
    """The verdict of one case from its plan and what its job recorded; an empty record is INCOMPLETE."""
    found = [*(records.sized.findings if records.sized else ()), *findings(CASE, CaseSeen(plan, records))]
    by_metric = measured(records)
    not_storage = _sentence(found, 'P16')
    metrics = tuple(
        _judge_metric(plan, records, by_metric, point.label, operation, not_storage)
        for point in plan.points
        for operation in plan.workload.operations
    )
    start, end = records.start, records.end
    before = start.findings if start else ()
    verdict = worst([*(_EFFECTS[each.effect] for each in found if each.effect in _EFFECTS), *_verdicts(metrics)])
    labels = [f'{each.rule}: {each.sentence}' for each in (*before, *found) if each.effect == 'label']
    labels += _launch_labels(by_metric.values()) + _left_behind(records)
    return CaseResult(
        case=plan.case,
        profile=plan.profile,
        verdict=verdict,
        reasons=tuple(_reasons(found, metrics)),
        labels=tuple(dict.fromkeys(labels)),
        engine=start.engine if start else '',
        version=start.version if start else '',
        passed_over=start.passed_over if start else (),
        host=start.host if start else '',
        bytes_per_client=records.sized.bytes_per_client if records.sized else None,
        duration_s=end.ended - start.started if start and end else None,
        metrics=metrics,
    )


_EFFECTS = {'invalid': Verdict.INVALID, 'incomplete': Verdict.INCOMPLETE}


def _judge_metric(
    plan: TrialPlan,
    records: Records,
    by_metric: dict[str, list[Sample]],
    label: str,
    operation: str,
    not_storage: str | None,
) -> MetricResult:
    name = metric(operation, label)
    samples = by_metric.get(name, [])
    valid = [sample for sample in samples if sample.valid]
    values = tuple(sample.measurement.bandwidth for sample in valid if sample.measurement)
    stopped = records.end.stopped.get(label, '') if records.end else ''
    cache = _cache(valid)
    verdict, why = _decide(plan, samples, stopped, cache, not_storage)
    return MetricResult(
        metric=name,
        operation=operation,
        point=label,
        verdict=verdict,
        why=why,
        values=values,
        unit=UNIT,
        summary=summary(values, plan.stopping.confidence) if values else None,
        fairness=_fairness(valid),
        cache=cache,
    )


def _decide(
    plan: TrialPlan, samples: Sequence[Sample], stopped: str, cache: str, not_storage: str | None
) -> tuple[Verdict, str]:
    if not samples:
        return Verdict.INCOMPLETE, 'it was not measured'
    wrong = [finding for sample in samples for finding in sample.findings if finding.effect != 'label']
    if wrong:
        return Verdict.INVALID, f'{wrong[0].rule}: {wrong[0].sentence}'
    if stopped == 'invalid':
        return Verdict.INVALID, 'the other operation of this point cannot be believed'
    error = 100 * plan.stopping.max_relative_error
    if stopped == 'budget' and plan.stopping.fixed:
        return Verdict.PASS, ''
    if stopped in ('exhausted', 'budget', ''):
        ended = {'exhausted': '', 'budget': ' when the time budget ended', '': ' when the job ended'}[stopped]
        return Verdict.INCONCLUSIVE, f'not within {error:.0f} % after {len(samples)} repetitions{ended}'
    if plan.profile == 'acceptance' and cache not in ('', 'cold'):
        return Verdict.INCONCLUSIVE, f'the reads were {cache}, not cold: this says nothing about storage'
    if plan.profile == 'acceptance' and not_storage:
        return Verdict.INCONCLUSIVE, not_storage
    return Verdict.PASS, ''


def _verdicts(metrics: Sequence[MetricResult]) -> list[Verdict]:
    return [each.verdict for each in metrics]


def _cache(samples: Sequence[Sample]) -> str:
    seen = {sample.cache for sample in samples}
    return seen.pop() if len(seen) == 1 else 'mixed' if seen else ''


def _fairness(samples: Sequence[Sample]) -> Fairness | None:
    each = [
        fairness([job.bytes_moved for job in m.jobs], [job.seconds for job in m.jobs])
        for m in (sample.measurement for sample in samples)
        if m is not None and m.jobs
    ]
    if not each:
        return None
    return Fairness(
        clients=each[0].clients,
        time_ratio=statistics.median(one.time_ratio for one in each),
        time_cv=statistics.median(one.time_cv for one in each),
        jain=statistics.median(one.jain for one in each),
    )


def _sentence(found: Sequence[Finding], rule: str) -> str | None:
    return next((each.sentence for each in found if each.rule == rule), None)


def _reasons(found: Sequence[Finding], metrics: Sequence[MetricResult]) -> list[str]:
    """What is wrong, the case's own reasons first; metrics that were never measured are not repeated one by one."""
    reasons = [f'{each.rule}: {each.sentence}' for each in found if each.effect != 'label']
    for each in metrics:
        if each.verdict is not Verdict.PASS and not (each.verdict is Verdict.INCOMPLETE and reasons):
            reasons.append(f'{each.metric}: {each.verdict.value}: {each.why}')
    return reasons


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
