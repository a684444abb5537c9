"""The verdict of one metric at one point by its own samples, before any reference."""

import statistics
from collections.abc import Mapping, Sequence

from seatrial.judge import statistics as stats
from seatrial.judge.verdict import OF_EFFECT, MetricResult, Verdict
from seatrial.model.metric import LONG_S, QUANTA, MetricType
from seatrial.model.plan import NodeGroup, StoppingRule, TrialPlan, metric
from seatrial.model.point import Point
from seatrial.model.record import Finding, Records, Sample
from seatrial.rules.case import hidden_by_servers, seconds_of, short_phase
from seatrial.rules.registry import finding
from seatrial.rules.stopping import converged
from seatrial.workload.base import LISTED_BEFORE
from seatrial.workload.registry import kind_of, metrics_at
from seatrial.workload.words import by_key, counted

GIVEN_UP = ('fail', 'incomplete')  # effects of what ends a point before its figures


def judge_metric(
    plan: TrialPlan,
    records: Records,
    by_metric: Mapping[str, Sequence[Sample]],
    point: Point,
    what: MetricType,
    findings: Sequence[Finding],
    correlation: float,
) -> MetricResult:
    """The metric before any reference. findings: over the case; correlation: of neighbouring repetitions"""
    name, kind = metric(what.name, point.label), kind_of(plan.kind)
    samples = by_metric.get(name, ())
    valid = [sample for sample in samples if sample.valid_for(what.name)]
    launches = [sample.measurement for sample in valid if sample.measurement]
    blurred = next((launch for launch in launches if not launch.sharp(what.name)), None)
    values = () if blurred else tuple(sample.figures[what.name] for sample in valid if what.name in sample.figures)
    censored = [sample.censored[what.name] for sample in valid if what.name in sample.censored]
    stopped = records.end.stopped.get(point.label, '') if records.end else ''
    cache = kind.cache_of(what.name, _cache(valid))
    not_storage = _not_storage(cache, findings)
    doubt = ''
    if plan.axis.equals and plan.profile == 'acceptance':  # its regions are short, because they are many
        doubt = (hidden_by_servers(plan, records) or '') if cache in ('', 'cold') else not_storage
    given_up = [
        f'{sample.phase}: {problem.rule}: {problem.sentence}'
        for other in metrics_at(point)
        for sample in by_metric.get(metric(other.name, point.label), ())
        for problem in sample.findings
        if problem.effect in GIVEN_UP
    ]
    ended = _why_ended(plan, what, values, stopped)
    wrong = [problem for sample in samples for problem in sample.faults(what.name)]
    wrong += [problem for problem in findings if problem.effect == 'invalid']
    verdict, why = _decide(plan, len(samples), values, stopped, ended, wrong, doubt, given_up)
    timed = [
        (launch.clock_s, seconds)
        for sample in valid
        if (launch := sample.measurement) and (seconds := seconds_of(sample, what.name))
    ]
    if censored and verdict not in (Verdict.FAIL, Verdict.INVALID):
        verdict, why = Verdict.INVALID, f'A2: {finding("A2", censored[0].figure).sentence}'
    if blurred and verdict in (Verdict.MEASURED, Verdict.INCONCLUSIVE):
        took_s, clock_s = getattr(blurred.metric(what.name), 'seconds', 0.0), blurred.clock_s
        needed_s = min(LONG_S, QUANTA * clock_s)
        verdict = Verdict.MEASURED
        why = f'no figure: it took {took_s:.2g} s; a clock with a resolution of {clock_s:g} s needs {needed_s:g} s'
    if not kind.moves_data:
        not_storage = not_storage or short_phase(valid, what.name) or ''
    # Only for the metric named like the phase: other metrics of a launch have the same tasks.
    launched = [sample.measurement.tasks for sample in valid if sample.measurement and sample.phase == what.name]
    return MetricResult(
        metric=name,
        name=what.name,
        point=point.label,
        verdict=verdict,
        why=why,
        values=values,
        unit=what.unit,
        better=what.better,
        summary=stats.summary(values, plan.stopping.confidence, correlation) if values else None,
        fairness=_fairness(valid, plan.groups),
        cache=cache,
        not_storage=not_storage,
        percentiles_s=_percentiles(valid, what.name),
        clock_error=max((clock_s / region_s for clock_s, region_s in timed), default=0.0),
        slow=stats.slow_launches(values, what.better) if what.steers and values else 0,
        shortest_s=min((region_s for _, region_s in timed), default=0.0),
        more_than=max((figure.value for figure in censored), default=None),
        groups=stats.group_rates(launched, plan.groups, correlation),
    )


def correlation_of_case(plan: TrialPlan, by_metric: Mapping[str, Sequence[Sample]]) -> float:
    """The correlation of neighbouring repetitions, over all points. Metrics of one launch share its moment, so only
    one of them counts. 0 for a fixed number of repetitions, which is too small for it."""
    series: dict[tuple[str, str], list[float]] = {}
    for point in plan.points if not plan.stopping.fixed else ():
        for what in metrics_at(point):
            samples = by_metric.get(metric(what.name, point.label), ())
            values = [s.figures[what.name] for s in samples if s.valid_for(what.name) and what.name in s.figures]
            if what.steers and values:
                series.setdefault((samples[0].phase, point.label), values)
    return stats.correlation_of(series.values())


def as_meant(plan: TrialPlan, cache: str) -> bool:
    """True if a listing had its intended cache state: cold at first, then answered by the client's cache."""
    return kind_of(plan.kind).compares_in_launch and cache in ('cold', LISTED_BEFORE)


def _not_storage(cache: str, findings: Sequence[Finding]) -> str:
    if cache == LISTED_BEFORE:
        return 'the same launch had listed the directory before: this says nothing about storage'
    if cache not in ('', 'cold'):
        return f'the reads were {cache}, not cold: this says nothing about storage'
    return next((problem.sentence for problem in findings if problem.rule == 'P16'), '')


def _decide(
    plan: TrialPlan,
    launches: int,
    values: Sequence[float],
    stopped: str,
    ended: str,
    wrong: Sequence[Finding],
    doubt: str,
    given_up: Sequence[str],
) -> tuple[Verdict, str]:
    """The verdict of a metric with its reason. ended: why there are no more repetitions; wrong: findings against its
    figures; doubt: why places cannot be compared by them; given_up: launches of this point, with what ended them"""
    if not launches:
        return Verdict.INCOMPLETE, 'it was not measured'
    if wrong:
        first = next((problem for problem in wrong if problem.effect == 'fail'), wrong[0])
        return OF_EFFECT.get(first.effect, Verdict.INVALID), f'{first.rule}: {first.sentence}'
    if stopped == 'invalid' and given_up:
        return Verdict.INCOMPLETE, f'a launch of this point could not be carried out ({given_up[0]})'
    if stopped == 'fixed' or (stopped == 'budget' and plan.stopping.fixed):
        return Verdict.MEASURED, ended
    # Equals are compared with each other: a difference that is asked about can hide in a wide interval.
    if len(values) < _least(plan.stopping) or (plan.axis.equals and ended):
        return Verdict.INCONCLUSIVE, ended
    return (Verdict.INCONCLUSIVE, doubt) if doubt else (Verdict.MEASURED, ended)


def _least(rule: StoppingRule) -> int:
    """The smallest number of valid repetitions that make a figure; fewer only if the plan asks for fewer."""
    return min(stats.MIN_FOR_INTERVAL, rule.minimum)


def _why_ended(plan: TrialPlan, what: MetricType, values: Sequence[float], stopped: str) -> str:
    """The reason why repetitions ended before they were as many or as alike as the profile aims at; else empty. The
    width of an interval decides nothing: a criterion is decided by where it lies."""
    rule, n = plan.stopping, len(values)
    if rule.fixed:
        few = n < stats.MIN_FOR_INTERVAL and not rule.once
        return f'{counted(n, "valid repetition")}, no interval' if few else ''
    until = {
        'budget': ' until the time budget was exhausted',
        'exhausted': ', the maximum',
        'invalid': ' until another launch of this point was not valid',
        'settled': f'; more would not help, nights differ by {100 * rule.between:.0f} %',
        '': ' until the job ended',
    }.get(stopped, '')
    made = f'{counted(n, "valid repetition")}{until}'
    if n < _least(rule):
        return f'{made}; at least {_least(rule)} are needed'
    enough = rule.minimum + rule.extra
    if stopped == 'converged' or not what.steers or (converged(values, rule) and n >= enough):
        return ''
    if converged(values, rule):
        return f'{made}; the interval is narrow enough, but {enough} are needed to rely on it'
    interval = stats.verdict_interval(values, rule.confidence)
    aim = f'{100 * rule.max_relative_error:.0f} % aimed at'
    return f'{made}: its interval is +-{100 * interval.wider_by:.3g} %, wider than the {aim}'


def _cache(samples: Sequence[Sample]) -> str:
    """The cache state of all repetitions; 'mixed' if only some were cached, 'unknown' if some may have been."""
    seen = {sample.cache for sample in samples}
    if len(seen) < 2:
        return seen.pop() if seen else ''
    return 'mixed' if 'cached' in seen else 'unknown'


def _percentiles(samples: Sequence[Sample], name: str) -> dict[str, float]:
    measured = (sample.measurement.metric(name) for sample in samples if sample.measurement)
    columns = [figure.percentiles_s for figure in measured if figure and figure.percentiles_s]
    return {share: statistics.median(column[share] for column in columns) for share in columns[0]} if columns else {}


def _fairness(samples: Sequence[Sample], groups: Sequence[NodeGroup]) -> dict[str, list[stats.Fairness]]:
    """The fairness of each launch between tasks, nodes and groups; a node has its tasks' bytes and longest time."""
    by_kind: dict[str, list[stats.Fairness]] = {}
    for tasks in (sample.measurement.tasks for sample in samples if sample.measurement):
        nodes = by_key((task.host, task) for task in tasks)
        if tasks:
            alone = stats.fairness([task.bytes_moved for task in tasks], [task.seconds for task in tasks])
            by_kind.setdefault('tasks', []).append(alone)
        if len(nodes) > 1:
            moved = [sum(task.bytes_moved for task in of_node) for of_node in nodes.values()]
            longest = [max(task.seconds for task in of_node) for of_node in nodes.values()]
            by_kind.setdefault('nodes', []).append(stats.fairness(moved, longest))
        of_groups = stats.fairness_of_groups(tasks, groups)
        if of_groups is not None:
            by_kind.setdefault('groups', []).append(of_groups)
    return by_kind
