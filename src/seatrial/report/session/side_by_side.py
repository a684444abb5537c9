"""The same check on several file systems or layouts of one session, side by side: which is how good, by metric.

Figures that are compared stand below each other. A bar is linear from zero, and its length the share of the best in
its column. Nothing here decides anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from seatrial.judge.verdict import MetricResult
from seatrial.model.metric import HIGHER, LOWER, Fact
from seatrial.model.plan import Case
from seatrial.report import words
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, is_valid, units_of
from seatrial.workload.base import LISTED_BEFORE
from seatrial.workload.words import counted

MAX_COLUMNS = 8


@dataclass(frozen=True)
class BesideHead:
    """Where a case ran. kind: type and layout; detail: partition, nodes, tasks, engine and a task's share, where they
    differ between the cases of the check."""

    name: str
    kind: str
    detail: str
    case: Case


@dataclass(frozen=True)
class BesideCell:
    """One metric of one environment. share: of the best in its column; None where it is invalid.

    best: whether it is the best; like_best: it is not, and their intervals overlap or one has none
    cache: what the reads or stats were, where that differs in the column; else empty
    """

    metric: MetricResult | None
    unit: Unit
    share: float | None = None
    best: bool = False
    like_best: bool = False
    cache: str = ''


@dataclass(frozen=True)
class BesideGroup:
    """Rows under one heading, an environment and its cells each."""

    label: str
    rows: tuple[tuple[BesideHead, tuple[BesideCell, ...]], ...]


@dataclass(frozen=True)
class ColumnBand:
    """As many columns as fit beside each other."""

    columns: tuple[str, ...]
    groups: tuple[BesideGroup, ...]


@dataclass(frozen=True)
class Beside:
    """One check. unit: of all figures, or empty where they have several, which then stand beside the metrics.

    common: the engine of all of its cases; differing: what is to be known before they are compared
    """

    check: str
    unit: str
    common: str
    differing: str
    bands: tuple[ColumnBand, ...]


@dataclass(frozen=True)
class GuaranteesBeside:
    """The guarantees of POSIX that do not hold everywhere, with what was found in each environment.

    alike: how many hold in every one
    """

    check: str
    environments: tuple[BesideHead, ...]
    rows: tuple[tuple[str, tuple[Fact | None, ...]], ...]
    alike: int


def beside(cases: Sequence[CaseEvidence], system: str) -> list[Beside]:
    """Every check of figures that was planned on more than one file system or layout, in the order of the session."""
    return [_beside(own, system) for own in _several(cases) if not words.only_counts(own[0].plan)]


def guarantees_beside(cases: Sequence[CaseEvidence]) -> list[GuaranteesBeside]:
    """The same for checks of guarantees, and of those that calls keep or break while they are timed."""
    told = [own for own in _several(cases) if any(case.result.facts for case in own)]
    return [_guarantees(own) for own in told]


def _several(cases: Sequence[CaseEvidence]) -> Iterator[list[CaseEvidence]]:
    by_check: dict[str, list[CaseEvidence]] = {}
    for case in cases:
        by_check.setdefault(case.plan.case.check, []).append(case)
    for own in by_check.values():
        if len({(case.plan.case.file_system, case.plan.case.layout) for case in own}) > 1:
            yield own


def _beside(cases: Sequence[CaseEvidence], system: str) -> Beside:
    plan = cases[0].plan
    metrics = [metric for case in cases for metric in case.result.metrics]
    units = units_of(metrics, system)
    lower = {metric.name: ', lower is better' if metric.better == LOWER else '' for metric in metrics}
    names = {each.name: words.metric_words(plan.kind, each, units) + lower[each.name] for each in metrics}
    places = {point.label: point for case in cases for point in case.plan.points}
    # The many points of a sweep make the columns, else metrics do.
    swept = len(places) >= len(names)
    said = words.point_value if swept else words.point_words
    points = {label: said(plan.axis, point) for label, point in places.items()}
    columns, headings = (points, names) if swept else (names, points)
    environments = _environments(cases)
    engines = list(dict.fromkeys(words.engine(case.result) for case in cases))
    other = f'Measured with {words.listed(engines)}: what differs is the engine as well as the file system.'
    other = other if len(engines) > 1 else ''
    return Beside(
        check=plan.case.check,
        unit=next(iter(units.values())).name if len(units) == 1 else '',
        common=engines[0] if len(engines) == 1 else '',
        differing=' '.join(part for part in (other, _unlike(cases)) if part),
        bands=tuple(
            _band(keys, columns, headings, cases, environments, swept, units)
            for keys in words.banded(list(columns), MAX_COLUMNS)
        ),
    )


def _unlike(cases: Sequence[CaseEvidence]) -> str:
    """What else they were not measured with alike; a file system's own client belongs to it."""
    starts = [case.records.start for case in cases if case.records.start and case.records.start.engine]
    found = {
        'kernel': [start.kernel for start in starts],
        'MPI': [start.provenance.mpi for start in starts],
        'launcher': [start.provenance.launcher for start in starts],
        'modules': [' '.join(start.provenance.modules) for start in starts],
        "engine's build": [start.provenance.build for start in starts if start.engine == starts[0].engine],
    }
    names = [name for name, values in found.items() if len(set(values)) > 1]
    return f'Not measured with the same {", ".join(names)}.' if names else ''


def _band(
    keys: Sequence[str],
    columns: Mapping[str, str],
    headings: Mapping[str, str],
    cases: Sequence[CaseEvidence],
    environments: Sequence[BesideHead],
    swept: bool,
    units: Mapping[str, Unit],
) -> ColumnBand:
    found = [{(each.name, each.point): each for each in case.result.metrics} for case in cases]
    groups = []
    for heading, label in headings.items():
        pairs = [(heading, key) if swept else (key, heading) for key in keys]
        by_key = [_column([case.get(pair) for case in found], units) for pair in pairs]
        rows = tuple((each, tuple(column[i] for column in by_key)) for i, each in enumerate(environments))
        groups.append(BesideGroup(label if len(headings) > 1 else '', rows))
    return ColumnBand(tuple(columns[key] for key in keys), tuple(groups))


def _column(metrics: Sequence[MetricResult | None], units: Mapping[str, Unit]) -> list[BesideCell]:
    valid = [each for each in metrics if each and is_valid(each) and _mean(each)]
    best = max(valid, key=lambda each: _mean(each) if each.better == HIGHER else -_mean(each), default=None)
    unlike = len({each.cache for each in valid if each.cache != LISTED_BEFORE}) > 1
    cells = []
    for each in metrics:
        cell = BesideCell(each, units[each.unit] if each else Unit())
        if each and best and each in valid:
            shares = sorted((_mean(each) / _mean(best), _mean(best) / _mean(each)))
            cell = replace(
                cell, share=shares[0], best=each is best, like_best=each is not best and _alike(each, best)
            )
        cells.append(replace(cell, cache=each.cache) if each and unlike else cell)
    return cells


def _alike(one: MetricResult, other: MetricResult) -> bool:
    """Whether their intervals overlap."""
    assert one.summary and other.summary, 'both are valid'
    mine, its = one.summary.interval, other.summary.interval
    return mine.high >= its.low and its.high >= mine.low


def _mean(metric: MetricResult) -> float:
    return metric.summary.mean if metric.summary else 0.0


def _environments(cases: Sequence[CaseEvidence]) -> list[BesideHead]:
    details = list(zip(*(_details(case) for case in cases), strict=True))
    differing = [column for column in details if len(set(column)) > 1]
    return [
        BesideHead(
            name=case.plan.case.file_system,
            kind=words.file_system_type(case)
            + (f', {case.plan.case.layout}' if case.plan.case.layout != 'default' else ''),
            detail=', '.join(column[i] for column in differing),
            case=case.plan.case,
        )
        for i, case in enumerate(cases)
    ]


def _details(case: CaseEvidence) -> tuple[str, ...]:
    return (
        case.plan.case.partition,
        counted(case.plan.case.nodes, 'node'),
        counted(max(point.tasks for point in case.plan.points), 'task'),
        words.engine(case.result),
        words.share(case),
    )


def _guarantees(cases: Sequence[CaseEvidence]) -> GuaranteesBeside:
    by_case = [{fact.name: fact for fact in case.result.facts} for case in cases]
    names = list(dict.fromkeys(name for own in by_case for name in own))
    found = {name: tuple(own.get(name) for own in by_case) for name in names}
    asked = [bool(own) for own in by_case]  # one where nothing ran makes no difference between the others
    rows = tuple(
        (name, own)
        for name, own in found.items()
        if not all(fact is not None and fact.holds for fact, ran in zip(own, asked, strict=True) if ran)
    )
    return GuaranteesBeside(cases[0].plan.case.check, tuple(_environments(cases)), rows, len(names) - len(rows))
