"""The same check on several file systems or layouts of one session, side by side: who is how fast, metric by metric.

Figures that are compared stand below each other. A bar is linear from zero, and its length the share of the fastest
in its column. Nothing here decides anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from seatrial.judge.verdict import MetricResult, Verdict
from seatrial.model.namespace import LISTED_BEFORE, Namespace
from seatrial.model.plan import Case
from seatrial.model.tree import Fact
from seatrial.report import trees, words
from seatrial.report.evidence import CaseEvidence
from seatrial.report.lanes import unit_of

MOST_COLUMNS = 8


@dataclass(frozen=True)
class Place:
    """Where a case ran. kind: type and layout; detail: partition, nodes, engine and share of a client, where they
    differ between the cases of the check."""

    name: str
    kind: str
    detail: str
    case: Case


@dataclass(frozen=True)
class Cell:
    """One metric of one place. share: of the fastest in its column; None where it cannot be believed.

    fastest: whether it is the fastest; like_fastest: it is not, and their intervals overlap or one has none
    cache:   what the reads or looks were, where that differs in the column; else empty
    """

    metric: MetricResult | None
    share: float | None
    fastest: bool
    like_fastest: bool
    cache: str = ''


@dataclass(frozen=True)
class Group:
    """Rows under one heading, a place and its cells each."""

    label: str
    rows: tuple[tuple[Place, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class Band:
    """As many columns as fit beside each other."""

    columns: tuple[str, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Beside:
    """One check. common: the engine of all of its cases; differing: what is to be known before they are compared."""

    check: str
    unit: str
    common: str
    differing: str
    bands: tuple[Band, ...]


@dataclass(frozen=True)
class FactsBeside:
    """What POSIX promises: the facts that do not hold everywhere, with what was found at each place.

    alike: how many hold at every place
    """

    check: str
    places: tuple[Place, ...]
    rows: tuple[tuple[str, tuple[Fact | None, ...]], ...]
    alike: int


def beside(cases: Sequence[CaseEvidence]) -> list[Beside]:
    """Every check of figures that was planned on more than one file system or layout, in the order of the session."""
    return [_beside(own) for own in _several(cases) if unit_of(own[0].result) != 'facts']


def facts_beside(cases: Sequence[CaseEvidence]) -> list[FactsBeside]:
    """The same for checks of facts."""
    return [_facts(own) for own in _several(cases) if unit_of(own[0].result) == 'facts']


def _several(cases: Sequence[CaseEvidence]) -> Iterator[list[CaseEvidence]]:
    by_check: dict[str, list[CaseEvidence]] = {}
    for case in cases:
        by_check.setdefault(case.plan.case.check, []).append(case)
    for own in by_check.values():
        if len({(case.plan.case.file_system, case.plan.case.layout) for case in own}) > 1:
            yield own


def _beside(cases: Sequence[CaseEvidence]) -> Beside:
    plan = cases[0].plan
    swept = not isinstance(plan.workload, Namespace)
    said = words.point_value if swept else words.point_words
    points = {point.label: said(case.plan, point) for case in cases for point in case.plan.points}
    names = dict.fromkeys(metric.operation for case in cases for metric in case.result.metrics)
    labels = {name: trees.metric_label(name) for name in names}
    # The many points of a sweep make the columns, else metrics do.
    columns, headings = (points, labels) if swept else (labels, points)
    places = _places(cases)
    engines = list(dict.fromkeys(words.engine(case.result) for case in cases))
    return Beside(
        check=plan.case.check,
        unit=unit_of(cases[0].result),
        common=engines[0] if len(engines) == 1 else '',
        differing=' '.join(part for part in (_differing(engines), _unlike(cases)) if part),
        bands=tuple(_band(keys, columns, headings, cases, places, swept) for keys in _banded(list(columns))),
    )


def _differing(engines: Sequence[str]) -> str:
    if len(engines) == 1:
        return ''
    return f'Measured with {words.listed(engines)}: what differs is the engine as well as the file system.'


def _unlike(cases: Sequence[CaseEvidence]) -> str:
    """What else they were not measured with alike; a file system's own client belongs to it."""
    starts = [case.records.start for case in cases if case.records.start and case.records.start.engine]
    told = {
        'kernel': [start.kernel for start in starts],
        'MPI': [start.provenance.mpi for start in starts],
        'launcher': [start.provenance.launcher for start in starts],
        'modules': [' '.join(start.provenance.modules) for start in starts],
        "engine's build": [start.provenance.build for start in starts if start.engine == starts[0].engine],
    }
    names = [name for name, values in told.items() if len(set(values)) > 1]
    return f'Not measured with the same {words.listed(names)}.' if names else ''


def _band(
    keys: Sequence[str],
    columns: Mapping[str, str],
    headings: Mapping[str, str],
    cases: Sequence[CaseEvidence],
    places: Sequence[Place],
    swept: bool,
) -> Band:
    groups = []
    for heading, label in headings.items():
        pairs = [(heading, key) if swept else (key, heading) for key in keys]
        by_key = [_column([_metric(case, name, point) for case in cases]) for name, point in pairs]
        rows = tuple((place, tuple(column[i] for column in by_key)) for i, place in enumerate(places))
        groups.append(Group(label if len(headings) > 1 else '', rows))
    return Band(tuple(columns[key] for key in keys), tuple(groups))


def _metric(case: CaseEvidence, name: str, point: str) -> MetricResult | None:
    return next((each for each in case.result.metrics if (each.operation, each.point) == (name, point)), None)


def _column(metrics: Sequence[MetricResult | None]) -> list[Cell]:
    believed = [each for each in metrics if each and each.summary and each.verdict is not Verdict.INVALID]
    first = max(believed, key=_mean, default=None)
    unlike = len({each.cache for each in believed if each.cache != LISTED_BEFORE}) > 1
    cells = [_cell(each, first if each in believed else None) for each in metrics]
    return [replace(cell, cache=cell.metric.cache) if unlike and cell.metric else cell for cell in cells]


def _cell(metric: MetricResult | None, fastest: MetricResult | None) -> Cell:
    if metric is None or metric.summary is None or fastest is None or fastest.summary is None or not _mean(fastest):
        return Cell(metric, None, False, False)
    overlap = not metric.summary.interval.high < fastest.summary.interval.low
    return Cell(metric, _mean(metric) / _mean(fastest), metric is fastest, metric is not fastest and overlap)


def _mean(metric: MetricResult) -> float:
    return metric.summary.mean if metric.summary else 0.0


def _banded(keys: Sequence[str]) -> list[Sequence[str]]:
    """The columns in bands of about equal width."""
    count = -(-len(keys) // MOST_COLUMNS)
    size = -(-len(keys) // count)
    return [keys[i : i + size] for i in range(0, len(keys), size)]


def _places(cases: Sequence[CaseEvidence]) -> list[Place]:
    details = list(zip(*(_details(case) for case in cases), strict=True))
    differing = [column for column in details if len(set(column)) > 1]
    return [
        Place(
            name=case.plan.case.file_system,
            kind=words.file_system_type(case)
            + (f', {case.plan.case.layout}' if case.plan.case.layout != 'default' else ''),
            detail=', '.join(column[i] for column in differing),
            case=case.plan.case,
        )
        for i, case in enumerate(cases)
    ]


def _details(case: CaseEvidence) -> tuple[str, ...]:
    clients = max(point.tasks for point in case.plan.points)
    return (
        case.plan.case.partition,
        words.count(case.plan.case.nodes, 'node'),
        words.count(clients, 'client'),
        words.engine(case.result),
        words.share(case),
    )


def _facts(cases: Sequence[CaseEvidence]) -> FactsBeside:
    by_case = [{fact.name: fact for fact in case.result.facts} for case in cases]
    names = list(dict.fromkeys(name for own in by_case for name in own))
    found = {name: tuple(own.get(name) for own in by_case) for name in names}
    asked = [bool(own) for own in by_case]  # a place where nothing ran makes no difference between the others
    rows = tuple(
        (name, own)
        for name, own in found.items()
        if not all(fact is not None and fact.holds for fact, ran in zip(own, asked, strict=True) if ran)
    )
    return FactsBeside(cases[0].plan.case.check, tuple(_places(cases)), rows, len(names) - len(rows))
