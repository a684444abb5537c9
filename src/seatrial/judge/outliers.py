"""Which places of an isolation sweep (nodes, OSTs, MDTs) are slow, from the record of the two measurements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seatrial.model.plan import TrialPlan
from seatrial.model.record import NotTested, Records
from seatrial.model.work import unit
from seatrial.model.workload import PLACES
from seatrial.rules.case import left_untested
from seatrial.rules.outliers import LEAST_EFFECT, Groups, Standing, again, parted, standings
from seatrial.rules.places import (
    CONFIRM,
    Comparison,
    all_of,
    alone,
    controlled,
    first,
    kinds,
    operation_of,
    second,
    suspected,
)
from seatrial.rules.servers import components

SLOW, SUSPECTED, CLEARED, USUAL = 'slow', 'suspected', 'not confirmed', 'usual'
"""Verdicts on a place: confirmed; neither confirmed nor cleared; measured again and not slow; never suspected."""

KINDS = {'group': 'node', 'ost': 'OST', 'mdt': 'MDT'}


@dataclass(frozen=True)
class Column:
    """One way of comparing: a metric, and in a node sweep whether all nodes worked at once or in groups.

    how: of targets of several kinds their kind
    """

    metric: str
    how: str

    @property
    def label(self) -> str:
        """'write, all together', or the metric alone."""
        return f'{self.metric}, {self.how}' if self.how else self.metric


@dataclass(frozen=True)
class Place:
    """One place. standings: by the labels of the columns, of the first measurement; again: by metric, of the second.

    effect: the share by which it was slower at most in the first measurement; negative where it was faster
    """

    name: str
    verdict: str
    standings: Mapping[str, Standing]
    again: Mapping[str, Standing]

    @property
    def effect(self) -> float:
        """Of the column in which it stands worst."""
        return max((each.effect for each in self.standings.values()), default=0.0)


@dataclass(frozen=True)
class Isolation:
    """What an isolation sweep says. places: the slow ones first, then those suspected, each the slowest first.

    kind:     'node', 'OST' or 'MDT'
    sentences: one a place that is not usual: its verdict, figures and effect in both measurements; `servers` first
    undecided: why it cannot be said which places are slow, as sentences: they part into groups, or were not compared
    unjudged: why no place is named, or empty
    least_effect: the share by which a place is slower at least that is named
    servers:  those of which all targets are slow, as 'all 4 OSTs of 10.0.0.5@o2ib are 22 % slower'
    """

    kind: str
    unit: str
    columns: tuple[Column, ...]
    places: tuple[Place, ...]
    sentences: tuple[tuple[str, str], ...]
    not_tested: tuple[NotTested, ...]
    unjudged: str = ''
    undecided: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    least_effect: float = LEAST_EFFECT

    def of(self, verdict: str) -> tuple[Place, ...]:
        """The places with this verdict."""
        return tuple(place for place in self.places if place.verdict == verdict)


def isolation(plan: TrialPlan, records: Records, unjudged: str = '') -> Isolation | None:
    """What the case says of its places; None where it is no isolation sweep. unjudged: why nothing is to be named."""
    if plan.axis not in PLACES:
        return None
    comparisons = first(plan, records)
    compared = {Column(each.metric, each.how): standings(each.figures) for each in comparisons}
    by_metric = {} if unjudged else suspected(plan, records)
    twice = _twice(plan, records, by_metric)
    by_name: dict[str, dict[str, Standing]] = {}
    for column, found in compared.items():
        for each in found:
            by_name.setdefault(each.name, {})[column.label] = each
    suspects = set(all_of(by_metric))
    places = sorted(
        (
            Place(name, _verdict(name, name in suspects, by_metric, twice), own, _own(name, twice))
            for name, own in by_name.items()
        ),
        key=lambda place: (_ORDER.index(place.verdict), -place.effect, place.name),
    )
    kind, of = KINDS[plan.axis], unit(plan.workload)
    servers = _servers(places, records)
    columns = tuple(sorted(compared, key=lambda column: _place_of(plan, column)))
    return Isolation(
        kind=kind,
        unit=of,
        columns=columns,
        places=tuple(places),
        sentences=(
            *((SLOW, words) for words in servers),
            *(
                (p.verdict, _sentence(kind, of, p, columns, by_metric, _hindrance(records)))
                for p in places
                if p.verdict != USUAL
            ),
        ),
        not_tested=(
            *(records.start.not_tested if records.start else ()),
            *_closed(records),
            *_left_out(plan, records),
        ),
        servers=servers,
        unjudged=unjudged,
        undecided=() if unjudged else (*_parted(plan, comparisons, by_metric), *_alone(plan, records, comparisons)),
    )


def _parted(
    plan: TrialPlan, comparisons: Sequence[Comparison], by_metric: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The comparison in which those that are not suspected part most, as a sentence; none where they do nowhere."""
    found = []
    for each in comparisons:
        suspects = by_metric.get(each.metric, ())
        groups = parted({name: own for name, own in each.figures.items() if name not in suspects})
        if groups is not None:
            found.append((Column(each.metric, each.how), groups))
    if not found:
        return ()
    column, groups = max(found, key=lambda pair: pair[1].effect)
    others = [each.label for each, _ in found if each != column]
    also = f' (so it is in {", ".join(others)})' if others else ''
    return (f'{column.label}: {_grouped(KINDS[plan.axis], groups, unit(plan.workload))}{also}; {_mend(plan)}',)


NAMED_MOST = 8


def _grouped(kind: str, groups: Groups, unit: str) -> str:
    """'the OSTs fall into groups: 3 (ost0000, ...) have 25 MiB/s, 75 % less than the 100 of 1 (ost0003), ...'."""
    slow, fast = (f'{len(names)} ({_some(sorted(names))})' for names in (groups.slow, groups.fast))
    return (
        f'the {kind}s fall into groups: {slow} have {groups.of_the_slow:.4g} {unit}, '
        f'{100 * groups.effect:.0f} % less than the {groups.of_the_fast:.4g} of {fast}; which is usual is not known'
    )


def _some(names: Sequence[str]) -> str:
    return ', '.join([*names[:NAMED_MOST], *(['...'] if len(names) > NAMED_MOST else [])])


def _mend(plan: TrialPlan) -> str:
    if plan.axis == 'group':
        return 'see what the slower ones share, or give nodes of another kind a partition of their own'
    return f'see what the slower ones share, or list those of one kind under {plan.axis}s in trial.yaml'


def _alone(plan: TrialPlan, records: Records, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Which places have no equals in an operation, as sentences."""
    why = 'reads of one state of the cache' + (' and targets of one kind' if kinds(plan, records) else '')
    return tuple(
        f'{operation}: {_some(names)} could not be compared: only {why} are equals'
        for operation, names in alone(plan, comparisons).items()
    )


def _servers(places: Sequence[Place], records: Records) -> tuple[str, ...]:
    """The servers of which all targets are slow, in words; none where it is not known what hangs on which."""
    slow = {place.name: place.effect for place in places if place.verdict == SLOW}
    known = records.start.servers if records.start else {}
    return tuple(each.words for each in components(slow, [p.name for p in places], known) if each.is_server)


def _closed(records: Records) -> tuple[NotTested, ...]:
    """Targets that could not be tested (P5b), each once with the reason. A warm-up goes on to another target."""
    said = {
        sample.point: each.sentence.partition(': ')[2]
        for sample in records.samples
        for each in sample.findings
        if each.rule == 'P5b' and sample.stage != 'warmup'
    }
    return tuple(NotTested(point, why, '') for point, why in sorted(said.items()))


def _left_out(plan: TrialPlan, records: Records) -> tuple[NotTested, ...]:
    """Targets that take files and that the site does not list."""
    lost = left_untested(plan, records) if plan.axis in plan.target.listed else ()
    return tuple(NotTested(name, f'not listed under {plan.axis}s', '') for name in lost)


_ORDER = (SLOW, SUSPECTED, CLEARED, USUAL)

Twice = dict[str, dict[str, Standing]]


def _twice(plan: TrialPlan, records: Records, by_metric: dict[str, tuple[str, ...]]) -> Twice:
    """The suspects of each metric in the second measurement, where it came to as many repetitions as it takes."""
    everyone = all_of(by_metric)
    found: Twice = {}
    for each in second(plan, records):
        enough = [
            name for name in by_metric.get(each.metric, ()) if len(each.figures.get(name, ())) >= plan.stopping.least
        ]
        stood = again(enough, controlled(each, enough, everyone))
        found.setdefault(each.metric, {}).update((one.name, one) for one in stood)
    return found


def _verdict(name: str, suspect: bool, by_metric: dict[str, tuple[str, ...]], twice: Twice) -> str:
    if not suspect:
        return USUAL
    metrics = [metric for metric, names in by_metric.items() if name in names]
    if any(name in twice.get(metric, {}) and twice[metric][name].slow for metric in metrics):
        return SLOW
    return CLEARED if all(_cleared(twice.get(metric, {}).get(name)) for metric in metrics) else SUSPECTED


def _cleared(later: Standing | None) -> bool:
    """Only by what was seen: what is slow again within the scatter of a few controls is not shown to be well."""
    return later is not None and later.effect < LEAST_EFFECT


def _own(name: str, twice: Twice) -> dict[str, Standing]:
    return {metric: found[name] for metric, found in twice.items() if name in found}


def _place_of(plan: TrialPlan, column: Column) -> tuple[int, str]:
    operations, own = list(plan.workload.operations), operation_of(column.metric)
    return operations.index(own) if own in operations else len(operations), column.label


def _hindrance(records: Records) -> str:
    """Why there is no second measurement, or not enough of it."""
    wrong = [f for s in records.samples if s.stage == CONFIRM for f in s.findings if f.effect != 'label']
    return f'the second measurement failed: {wrong[0].rule}: {wrong[0].sentence}' if wrong else _NO_TIME


_UNSURE = 'which may be scatter; run it again'
_NO_TIME = 'there was no time to measure it again; give the trial a larger budget in trial.yaml'


def _sentence(
    kind: str,
    unit: str,
    place: Place,
    columns: Sequence[Column],
    by_metric: Mapping[str, Sequence[str]],
    hindrance: str,
) -> str:
    """'node n3 is slow: write 60 MiB/s against 100, 40 % less (all together); measured again ...'."""
    column, worst = max(
        ((c, place.standings[c.label]) for c in columns if _suspected_in(place, c, by_metric)),
        key=lambda pair: (
            _slow_again(place, pair[0]),
            not _cleared(place.again.get(pair[0].metric)),
            pair[1].slow,
            pair[1].effect,
        ),
    )
    how = f' ({column.how})' if column.how else ''
    said = f'{column.metric} {_beside(worst, unit)}{how}'
    later = place.again.get(column.metric)
    if later is None:
        return f'{kind} {place.name} may be slow: {said}; {hindrance}'
    told = f'measured again in other company {_beside(later, unit)}'
    return {
        SLOW: f'{kind} {place.name} is slow: {said}; {told}',
        CLEARED: f'{kind} {place.name} was slow only once: {said}; {told}',
        SUSPECTED: f'{kind} {place.name} may be slow: {said}; {told}, {_UNSURE}',
    }[place.verdict]


def _suspected_in(place: Place, column: Column, by_metric: Mapping[str, Sequence[str]]) -> bool:
    return column.label in place.standings and place.name in by_metric.get(column.metric, ())


def _slow_again(place: Place, column: Column) -> bool:
    later = place.again.get(column.metric)
    return later is not None and later.slow


def _beside(standing: Standing, unit: str) -> str:
    less = 100 * standing.effect
    share = f'{abs(less):.0f} % {"less" if less >= 0 else "more"}'
    return f'{standing.figure:.4g} {unit} against {standing.of_the_others:.4g}, {share}'
