"""Finds slow places (nodes, OSTs, MDTs, bricks) by an isolation sweep and its second measurement."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seatrial.model.layout import target_key, target_name
from seatrial.model.plan import TrialPlan
from seatrial.model.record import NotTested, Records
from seatrial.model.units import in_unit, unit_for
from seatrial.rules import places as sweep
from seatrial.rules.case import left_untested
from seatrial.rules.drill import components
from seatrial.rules.outliers import MIN_EFFECT, Groups, Score, again, scores, split
from seatrial.workload.registry import metrics_at
from seatrial.workload.words import listed

SLOW, SUSPECTED, CLEARED, USUAL = 'slow', 'suspected', 'not confirmed', 'usual'
"""Verdicts on a place: slow in both measurements; undecided by the second one; not slow in it; never suspected."""

Suspects = Mapping[str, tuple[str, ...]]  # the names of suspected places, by metric


@dataclass(frozen=True)
class ScoreColumn:
    """One comparison of places: a metric, and how it was measured."""

    metric: str
    how: str  # TOGETHER_WORDS or ALONE_WORDS of nodes; the kind of targets, if there are several
    unit: str  # base unit of the figures

    @property
    def label(self) -> str:
        return f'{self.metric}, {self.how}' if self.how else self.metric


@dataclass(frozen=True)
class PlaceVerdict:
    """A node or a target."""

    name: str
    verdict: str
    scores: Mapping[str, Score]  # scores of the first measurement, by label of the column
    again: Mapping[str, Score]  # scores of the second measurement, by metric

    @property
    def effect(self) -> float:
        """The largest share by which the place was slower in the first measurement; negative if it was faster."""
        return max((score.effect for score in self.scores.values()), default=0.0)


@dataclass(frozen=True)
class Isolation:
    kind: str  # 'node' or one of TARGETS
    columns: tuple[ScoreColumn, ...]
    places: tuple[PlaceVerdict, ...]  # slow ones first, then suspected ones, the slowest of each first
    # verdict and text for each unusual place, with both measurements; `servers` come first
    sentences: tuple[tuple[str, str], ...]
    not_tested: tuple[NotTested, ...]
    unjudged: str = ''  # why no place is named, or empty
    undecided: tuple[str, ...] = ()  # why no slow place is named: they split into groups, or were not compared
    servers: tuple[str, ...] = ()  # servers with only slow targets: 'all 4 OSTs of 10.0.0.5@o2ib are 22 % slower'
    min_effect: float = MIN_EFFECT  # the smallest share by which a named place is slower

    def of(self, verdict: str) -> tuple[PlaceVerdict, ...]:
        return tuple(place for place in self.places if place.verdict == verdict)


def isolation(plan: TrialPlan, records: Records, unjudged: str = '') -> Isolation | None:
    """Judges the places of a case; None if it is no isolation sweep. unjudged: why no place may be named, or empty"""
    if not plan.axis.equals:
        return None
    comparisons = sweep.first(plan, records)
    compared = {_column(plan, comparison): scores(comparison.figures) for comparison in comparisons}
    by_metric = {} if unjudged else sweep.suspected(plan, records)
    twice = _twice(plan, records, by_metric)
    by_name: dict[str, dict[str, Score]] = {}
    for column, column_scores in compared.items():
        for score in column_scores:
            by_name.setdefault(score.name, {})[column.label] = score
    worst_first = (SLOW, SUSPECTED, CLEARED, USUAL)
    places = [
        PlaceVerdict(name, _verdict(name, by_metric, twice.get(name, {})), by_column, twice.get(name, {}))
        for name, by_column in by_name.items()
    ]
    places.sort(key=lambda place: (worst_first.index(place.verdict), -place.effect, place.name))
    # Servers of which all targets are slow; none if the servers of the targets are unknown.
    slow = {place.name: place.effect for place in places if place.verdict == SLOW}
    known = records.start.servers if records.start else {}
    grouped = components(slow, [place.name for place in places], known)
    servers = tuple(component.words for component in grouped if component.is_server)
    order = [*plan.phases, *(metric.name for point in plan.points for metric in metrics_at(point))]
    columns = tuple(
        sorted(compared, key=lambda column: (order.index(sweep.operation_of(column.metric)), column.label))
    )
    sentences = [(SLOW, words) for words in servers]
    unusual = [place for place in places if place.verdict != USUAL]
    sentences += [(place.verdict, _sentence(plan, records, place, columns, by_metric)) for place in unusual]
    equals = 'reads of one state of the cache' + (' and targets of one kind' if sweep.kinds(plan, records) else '')
    uncompared = (
        f'{metric}: {listed(names)} could not be compared: only {equals} are equals'
        for metric, names in sweep.alone(plan, comparisons).items()
    )
    return Isolation(
        kind=plan.axis.equals,
        columns=columns,
        places=tuple(places),
        sentences=tuple(sentences),
        not_tested=tuple(_not_tested(plan, records)),
        servers=servers,
        unjudged=unjudged,
        undecided=() if unjudged else (*_split(plan, comparisons, by_metric), *uncompared),
    )


def _column(plan: TrialPlan, comparison: sweep.PlaceComparison) -> ScoreColumn:
    """The column of a comparison: nodes are compared by bandwidth, targets by the metrics of the plan."""
    units = {metric.name: metric.unit for point in plan.points for metric in metrics_at(point)}
    unit = 'B/s' if plan.axis.equals == 'node' else units[sweep.operation_of(comparison.metric)]
    return ScoreColumn(comparison.metric, comparison.how, unit)


def _split(plan: TrialPlan, comparisons: Sequence[sweep.PlaceComparison], by_metric: Suspects) -> tuple[str, ...]:
    """A sentence on the comparison in which places that are not suspected form the most distant groups; or empty."""
    apart: list[tuple[ScoreColumn, Groups]] = []
    for comparison in comparisons:
        suspects = by_metric.get(comparison.metric, ())
        groups = split({name: values for name, values in comparison.figures.items() if name not in suspects})
        if groups is not None:
            apart.append((_column(plan, comparison), groups))
    if not apart:
        return ()
    column, groups = max(apart, key=lambda pair: pair[1].effect)
    others = [other.label for other, _ in apart if other != column]
    also = f' (so it is in {", ".join(others)})' if others else ''
    kind = plan.axis.equals
    remedy = f'list those of one kind under {target_key(kind)} in trial.yaml'
    if kind == 'node':
        remedy = 'give nodes of another kind a partition of their own'
    slow, fast = (f'{len(names)} ({listed(sorted(names))})' for names in (groups.slow, groups.fast))
    return (
        f'{column.label}: the {kind}s fall into groups: {slow} have {_figure(groups.of_the_slow, column.unit)}, '
        f'{100 * groups.effect:.0f} % less than the {_figure(groups.of_the_fast, column.unit)} of {fast}; '
        f'which is usual is not known{also}; see what the slower ones share, or {remedy}',
    )


def _figure(value: float, unit: str) -> str:
    shown = unit_for(value, unit)
    return f'{in_unit(value, shown):.4g} {shown}'


def _not_tested(plan: TrialPlan, records: Records) -> Iterator[NotTested]:
    """The targets that could not be tested (P5b), with the reason; then those that take new files, but that the site
    does not list. A warm-up does not count: it goes on to another target."""
    yield from records.start.not_tested if records.start else ()
    closed = {
        sample.point.label: finding.sentence.partition(': ')[2]
        for sample in records.samples
        for finding in sample.findings
        if finding.rule == 'P5b' and sample.stage != 'warmup'
    }
    yield from (NotTested(label, why, '') for label, why in sorted(closed.items()))
    lost = left_untested(plan, records) if plan.axis.equals in plan.target.listed else ()
    yield from (NotTested(name, f'not listed under {target_key(plan.axis.equals)}', '') for name in lost)


def _twice(plan: TrialPlan, records: Records, by_metric: Suspects) -> dict[str, dict[str, Score]]:
    """The scores of each suspect in the second measurement, by metric, where it has enough repetitions."""
    everyone = sweep.all_of(by_metric)
    later: dict[str, dict[str, Score]] = {}
    for comparison in sweep.second(plan, records):
        suspects = by_metric.get(comparison.metric, ())
        enough = [name for name in suspects if len(comparison.figures.get(name, ())) >= plan.stopping.minimum]
        for one in again(enough, sweep.controlled(comparison, enough, everyone)):
            later.setdefault(one.name, {})[comparison.metric] = one
    return later


def _verdict(name: str, by_metric: Suspects, later: Mapping[str, Score]) -> str:
    metrics = [metric for metric, names in by_metric.items() if name in names]
    if not metrics:
        return USUAL
    if any(metric in later and later[metric].slow for metric in metrics):
        return SLOW
    return CLEARED if all(_cleared(later.get(metric)) for metric in metrics) else SUSPECTED


def _cleared(later: Score | None) -> bool:
    """True if the second measurement showed no slowness of MIN_EFFECT, not even one within the scatter."""
    return later is not None and later.effect < MIN_EFFECT


def _hindrance(records: Records) -> str:
    """The reason why the second measurement is missing or incomplete."""
    for sample in records.samples:
        for finding in sample.findings if sample.stage == sweep.CONFIRM else ():
            if finding.effect != 'label':
                return f'the second measurement failed: {finding.rule}: {finding.sentence}'
    return 'there was no time to measure it again; give the trial a larger budget in trial.yaml'


def _sentence(
    plan: TrialPlan, records: Records, place: PlaceVerdict, columns: Sequence[ScoreColumn], by_metric: Suspects
) -> str:
    """'node n3 is slow: write 60 MiB/s against 100 MiB/s (all together); measured again ...', with the file system's
    own name where it differs: 'brick brick0001 (node2:/data/b1)'."""

    def telling(column: ScoreColumn) -> tuple[bool, bool, bool, float]:
        score, later = place.scores[column.label], place.again.get(column.metric)
        return later is not None and later.slow, not _cleared(later), score.slow, score.effect

    rows = records.start.targets if records.start else ()
    alias = [f' ({row.name})' for row in rows if target_name(row.kind, row.number) == place.name]
    subject = f'{plan.axis.equals} {place.name}{"".join(alias)}'
    suspected_in = [
        column
        for column in columns
        if column.label in place.scores and place.name in by_metric.get(column.metric, ())
    ]
    column = max(suspected_in, key=telling)
    how = f' ({column.how})' if column.how else ''
    figures = f'{column.metric} {_beside(place.scores[column.label], column.unit)}{how}'
    later = place.again.get(column.metric)
    if later is None:
        return f'{subject} may be slow: {figures}; {_hindrance(records)}'
    repeated = f'measured again beside others {_beside(later, column.unit)}'
    return {
        SLOW: f'{subject} is slow: {figures}; {repeated}',
        CLEARED: f'{subject} was slow only once: {figures}; {repeated}',
        SUSPECTED: f'{subject} may be slow: {figures}; {repeated}, which may be scatter; run it again',
    }[place.verdict]


def _beside(score: Score, unit: str) -> str:
    less = 100 * score.effect
    share = f'{abs(less):.0f} % {"less" if less >= 0 else "more"}'
    return f'{_figure(score.figure, unit)} against {_figure(score.of_the_others, unit)}, {share}'
