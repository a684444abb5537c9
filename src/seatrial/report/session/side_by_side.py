"""The same check on several file systems or layouts of one session, side by side, by metric. Compared figures stand
below each other. A bar is linear from zero, and its length the share of the best in its column. Nothing here decides
a verdict. The result has the names that templates/beside.html reads."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seatrial.judge.verdict import MetricResult
from seatrial.model.metric import HIGHER, LOWER
from seatrial.report import words
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, is_valid, units_of
from seatrial.workload.base import LISTED_BEFORE
from seatrial.workload.words import by_key, counted

MAX_COLUMNS = 8


def beside(cases: Sequence[CaseEvidence], system: str) -> list[dict[str, Any]]:
    """Every check with figures that was planned on several file systems or layouts, in the order of the session."""
    return [_beside(alike, system) for alike in _several(cases) if not words.only_counts(alike[0].plan)]


def guarantees_beside(cases: Sequence[CaseEvidence]) -> list[dict[str, Any]]:
    """The same for checks of guarantees, and for those whose calls show guarantees while they are timed."""
    return [_guarantees(alike) for alike in _several(cases) if any(case.result.facts for case in alike)]


def _several(cases: Sequence[CaseEvidence]) -> Iterator[list[CaseEvidence]]:
    for alike in by_key((case.plan.case.check, case) for case in cases).values():
        if len({(case.plan.case.file_system, case.plan.case.layout) for case in alike}) > 1:
            yield alike


def _beside(cases: Sequence[CaseEvidence], system: str) -> dict[str, Any]:
    """One check. unit: of all figures, or empty if there are several, which then stand beside the metrics"""
    plan = cases[0].plan
    metrics = [metric for case in cases for metric in case.result.metrics]
    units = units_of(metrics, system)
    lower = {metric.name: ', lower is better' if metric.better == LOWER else '' for metric in metrics}
    names = {metric.name: words.metric_words(plan.kind, metric, units) + lower[metric.name] for metric in metrics}
    places = {point.label: point for case in cases for point in case.plan.points}
    # The many points of a sweep make the columns, else metrics do.
    swept = len(places) >= len(names)
    in_words = words.point_value if swept else words.point_words
    points = {label: in_words(plan.axis, point) for label, point in places.items()}
    columns, headings = (points, names) if swept else (names, points)
    environments = _environments(cases)
    by_case = [{(metric.name, metric.point): metric for metric in case.result.metrics} for case in cases]

    def group(heading: str, keys: Sequence[str]) -> dict[str, Any]:
        """The rows below a heading: a cell for each column of a table, in each environment."""
        pairs = [(heading, key) if swept else (key, heading) for key in keys]
        by_key = [_column([case.get(pair) for case in by_case], units) for pair in pairs]
        rows = [(environment, [column[i] for column in by_key]) for i, environment in enumerate(environments)]
        return {'label': headings[heading] if len(headings) > 1 else '', 'rows': rows}

    engines = list(dict.fromkeys(words.engine(case.result) for case in cases))
    other = f'Measured with {words.listed(engines)}: what differs is the engine as well as the file system.'
    other = other if len(engines) > 1 else ''
    return {
        'check': plan.case.check,
        'unit': next(iter(units.values())).name if len(units) == 1 else '',
        'common': engines[0] if len(engines) == 1 else '',
        'differing': ' '.join(part for part in (other, _unlike(cases)) if part),
        'bands': [
            {'columns': tuple(columns[key] for key in keys), 'groups': [group(heading, keys) for heading in headings]}
            for keys in words.banded(list(columns), MAX_COLUMNS)
        ],
    }


def _unlike(cases: Sequence[CaseEvidence]) -> str:
    """Other differences in software and settings; the client of a file system belongs to that."""
    starts = [case.records.start for case in cases if case.records.start and case.records.start.engine]
    settings = {
        'kernel': [start.kernel for start in starts],
        'MPI': [start.provenance.mpi for start in starts],
        'launcher': [start.provenance.launcher for start in starts],
        'modules': [' '.join(start.provenance.modules) for start in starts],
        "engine's build": [start.provenance.build for start in starts if start.engine == starts[0].engine],
    }
    names = [name for name, values in settings.items() if len(set(values)) > 1]
    return f'Not measured with the same {", ".join(names)}.' if names else ''


def _column(metrics: Sequence[MetricResult | None], units: Mapping[str, Unit]) -> list[dict[str, Any]]:
    """A cell for each metric. share: of the best in the column, None if invalid; like_best: intervals overlap"""
    valid = [metric for metric in metrics if metric and is_valid(metric) and _mean(metric)]
    best = max(valid, key=lambda metric: _mean(metric) if metric.better == HIGHER else -_mean(metric), default=None)
    unlike = len({metric.cache for metric in valid if metric.cache != LISTED_BEFORE}) > 1
    cells = []
    for metric in metrics:
        cell: dict[str, Any] = {'metric': metric, 'unit': units[metric.unit] if metric else Unit(), 'share': None}
        if metric and best and metric in valid and metric.summary and best.summary:
            share = min(_mean(metric) / _mean(best), _mean(best) / _mean(metric))
            one, other = metric.summary.interval, best.summary.interval
            overlap = one.high >= other.low and other.high >= one.low
            cell |= {'share': share, 'best': metric is best, 'like_best': metric is not best and overlap}
        cells.append({**cell, 'cache': metric.cache if metric and unlike else ''})
    return cells


def _mean(metric: MetricResult) -> float:
    return metric.summary.mean if metric.summary else 0.0


def _environments(cases: Sequence[CaseEvidence]) -> list[dict[str, Any]]:
    """The environment of each case. kind: type and layout; detail: differences between the cases of this check"""
    details = [
        (
            case.plan.case.partition,
            counted(case.plan.case.nodes, 'node'),
            counted(max(point.tasks for point in case.plan.points), 'task'),
            words.engine(case.result),
            words.share(case),
        )
        for case in cases
    ]
    differing = [column for column in zip(*details, strict=True) if len(set(column)) > 1]
    return [
        {
            'name': case.plan.case.file_system,
            'kind': words.file_system_type(case)
            + (f', {case.plan.case.layout}' if case.plan.case.layout != 'default' else ''),
            'detail': ', '.join(column[i] for column in differing),
            'case': case.plan.case,
        }
        for i, case in enumerate(cases)
    ]


def _guarantees(cases: Sequence[CaseEvidence]) -> dict[str, Any]:
    """The guarantees that fail somewhere, with the result in each environment; alike: how many hold in all."""
    by_case = [{fact.name: fact for fact in case.result.facts} for case in cases]
    names = list(dict.fromkeys(name for facts in by_case for name in facts))
    # One where nothing ran makes no difference between the others.
    holding = [name for name in names if all(name in facts and facts[name].holds for facts in by_case if facts)]
    return {
        'check': cases[0].plan.case.check,
        'environments': _environments(cases),
        'rows': [(name, [facts.get(name) for facts in by_case]) for name in names if name not in holding],
        'alike': len(holding),
    }
