"""The labels of a case: caveats of its figures, which stand beside its verdict and decide nothing."""

import re
from collections.abc import Iterable, Mapping, Sequence

from seatrial.judge.expectations import CurveRatio
from seatrial.judge.outliers import CLEARED, Isolation
from seatrial.judge.references import CONTRACT
from seatrial.judge.statistics import widening
from seatrial.judge.verdict import Criteria, MetricResult
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Finding, Records, Sample
from seatrial.rules.registry import all_rules
from seatrial.workload.words import by_key, counted, listed


def caveats(
    plan: TrialPlan,
    records: Records,
    findings: Sequence[Finding],
    by_metric: Mapping[str, Sequence[Sample]],
    metrics: Sequence[MetricResult],
    criteria: Criteria,
    isolated: Isolation | None,
    correlation: float,
) -> tuple[str, ...]:
    """All labels of a case, without duplicates. findings: over the case; correlation: as in CaseResult"""
    before = records.start.findings if records.start else ()
    labels = [f'{finding.rule}: {finding.sentence}' for finding in (*before, *findings) if finding.effect == 'label']
    labels += _of_launches(by_metric.values())
    if isolated:
        labels += [sentence for verdict, sentence in isolated.sentences if verdict == CLEARED]
        lost = [
            f'{place.node} ({place.state}{place.reason and f": {place.reason}"})' for place in isolated.not_tested
        ]
        labels += [f'not tested: {listed(lost)}'] if lost else []
    labels += left_behind(records)
    if isolated and plan.profile == 'acceptance' and not criteria.references:
        labels.append(
            f'the {isolated.kind}s are compared with each other only: how fast they are is no criterion here; '
            'that takes a contract for a check of bandwidth or rates'
        )
    if not plan.stopping.fixed:
        labels += _of_repetitions(metrics, correlation)
    if plan.profile == 'acceptance':
        labels += _of_acceptance(metrics, criteria, isolated is not None, plan.stopping.once)
    return tuple(dict.fromkeys(labels))


def _of_launches(samples: Iterable[Sequence[Sample]]) -> list[str]:
    """The labels of launch rules, one for each rule, naming the launches concerned."""
    concerned = by_key(
        (finding.rule, (sample.launch, finding.sentence))
        for repetitions in samples
        for sample in repetitions
        for finding in sample.findings
        if finding.effect == 'label'
    )
    return [_label(rule, list(dict.fromkeys(pairs))) for rule, pairs in concerned.items()]


PARTS = 3  # parts of a label with figures of their own; if it would have more, all launches share a range
# A figure in a sentence has a unit behind it: a number without one may be a name, of a task for example.
FIGURE = re.compile(r'(?<![\w.])\d+(?:\.\d+)?(?= (?:%|(?:m?s|[KMGTP]iB|B)\b))')


def _label(rule: str, concerned: Sequence[tuple[str, str]]) -> str:
    """One label. concerned: (launch, sentence) of each repetition; the sentences end with the rule's remedy."""
    by_launch = by_key((pair[0], pair) for pair in concerned)
    launches = by_key((sentence, launch) for launch, pairs in by_launch.items() for sentence in ranged(pairs))
    if len(launches) > PARTS:
        launches = ranged(concerned)
    remedy = f'; {all_rules()[rule].remedy}'
    parts = [
        f'{", ".join(names[:3])}{" and others" if len(names) > 3 else ""}: {sentence.removesuffix(remedy)}'
        for sentence, names in launches.items()
    ]
    shared = remedy if all(sentence.endswith(remedy) for sentence in launches) else ''
    return f'{rule}: {"; ".join(parts[:PARTS])}{"; and others" if len(parts) > PARTS else ""}{shared}'


def ranged(sentences: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The sentences with their subjects; sentences that differ only in figures become one, with the range."""
    alike = by_key((tuple(FIGURE.split(pair[1])), pair) for pair in sentences)
    ranges = {}
    for texts, pairs in alike.items():
        columns = zip(*(FIGURE.findall(sentence) for _, sentence in pairs), strict=True)
        spans = [' to '.join(dict.fromkeys((min(column, key=float), max(column, key=float)))) for column in columns]
        merged = ''.join(text + figure for text, figure in zip(texts, (*spans, ''), strict=True))
        ranges[merged] = list(dict.fromkeys(whom for whom, _ in pairs))
    return ranges


def left_behind(records: Records) -> list[str]:
    """Caveats about parts of the run directory that the job did not remove."""
    start, end, removal = records.start, records.end, records.removal
    if start is None or end is None or not start.run_directory:
        return []
    if removal is None:
        ended = end.reason in ('finished', 'failed')
        return [f'{start.run_directory} was not removed; see `seatrial clean`'] if ended else []
    more = ' and more' if len(removal.left) > 1 else ''
    return [f'left in {start.run_directory}: {removal.left[0]}{more}'] if removal.left else []


def _of_repetitions(metrics: Sequence[MetricResult], correlation: float) -> list[str]:
    labels = []
    slow = [f'{metric.slow} of {len(metric.values)} at {metric.metric}' for metric in metrics if metric.slow]
    if slow:
        labels.append(f'slow launches: {listed(slow)}; their figure is a quarter worse than the median')
    if correlation:
        times = max(widening(correlation, len(metric.values)) for metric in metrics)
        labels.append(
            f'correlated: neighbouring repetitions resemble each other ({correlation:.2f} over all points); '
            f'the intervals are up to {times:.1f} times as wide for it'
        )
    drifting = [metric.metric for metric in metrics if metric.summary and metric.summary.drifting]
    if drifting:
        labels.append(
            f'drifting: {listed(drifting)}: neighbouring repetitions resemble each other, so the interval is too '
            'short; 5 % of steady series look like this by chance'
        )
    return labels


def _of_acceptance(metrics: Sequence[MetricResult], criteria: Criteria, compared: bool, once: bool) -> list[str]:
    """Caveats about what an acceptance leaves open. compared: the metrics are compared with each other; once: one
    launch decides. An event that befalls a share p of all launches shows in none of n with probability (1 - p)^n."""
    enforced = criteria.enforced_expectations
    known = {reference.metric for reference in criteria.references}
    asked = {expectation.metric for expectation in enforced}
    asked |= {pair.than for pair in enforced if isinstance(pair, CurveRatio) and pair.than and not pair.of}
    open_ = [metric for metric in metrics if metric.metric not in known and not asked & {'', metric.name}]
    labels = []
    if open_ and not compared and (criteria.references or enforced):
        labels.append(
            f'no criterion: {len(open_)} of {len(metrics)} metrics have no pass criterion; '
            'a baseline in references.yaml or a contract.yaml changes that'
        )
    dates = sorted({reference.date for reference in criteria.references})
    if dates and not enforced and all(reference.origin != CONTRACT for reference in criteria.references):
        labels.append(
            f'compared with its own baseline of {", ".join(dates)} alone: this shows that it is not slower than it '
            'was then, and nothing of what was agreed; that takes a contract.yaml and seatrial accept'
        )
    counts = [len(metric.values) for metric in metrics if metric.values]
    if counts and not once:
        n = min(counts)
        share, missed = 1 - 0.05 ** (1 / n), 0.9**n
        labels.append(
            f'rare slow launches: {counted(n, "repetition")} miss a fault of one launch in ten with a probability of '
            f'{100 * missed:.0f} % (0.9^{n}); up to {100 * share:.0f} % of all launches may be slow (95 %)'
        )
    return labels
