"""The page: one HTML file that needs no script, no network and no other file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.judge.statistics import Summary
from seatrial.judge.verdict import MetricResult, Verdict, worst
from seatrial.model.namespace import Namespace
from seatrial.model.plan import TrialPlan
from seatrial.model.tree import Fact
from seatrial.model.units import approximate_size
from seatrial.model.workload import NAMED
from seatrial.report import curve as curves
from seatrial.report import dots as dotted
from seatrial.report import drilled, trees, words
from seatrial.report import isolation as isolated
from seatrial.report.beside import beside, facts_beside
from seatrial.report.contrast import Cached, Contention, Listing, cached, contentions, listings
from seatrial.report.evidence import CaseEvidence, SessionEvidence, Step
from seatrial.report.lanes import ROLES, Lanes, believed, lanes, role_style, unit_of
from seatrial.report.layouts import recommendations
from seatrial.report.marks import SHAPES, styles
from seatrial.report.recipe import recipe
from seatrial.report.state import states
from seatrial.report.timeline import Timeline, timeline, why_none

TITLES = {
    'MiB/s': 'Bytes',
    'ops/s': 'Operations on names',
    'entries/s': 'Listings of directories',
    'facts': 'POSIX semantics',
}
"""Of the overview's tables, in their order, by unit."""

HINTS = {
    'MiB/s': 'Figures are means at the points of a sweep, from the least to the greatest, of what can be believed.',
    'ops/s': 'Figures are means at the points of a check, from the least to the greatest, of what can be believed: '
    'of files where there are any, else of directories; of single POSIX operations, unlink is the removal.',
    'entries/s': 'Figures are means of listings with all attributes, the first and the last of those in a row; '
    'of large directories, of the attributes alone.',
    'facts': 'What was seen of each promise is in its case.',
}
"""What stands below an overview."""


def page(evidence: SessionEvidence) -> str:
    """The page of a session. Every text in it is escaped, whatever it holds."""
    template = _environment().get_template('page.html')
    shared = words.shared_labels(evidence.result)
    cases = [_case(each, f'case-{number}', shared) for number, each in enumerate(evidence.cases, 1)]
    common, where = words.where(evidence.cases)
    places = {each.evidence.result.case.name.partition('/')[2] for each in cases}
    return template.render(
        evidence=evidence,
        result=evidence.result,
        cases=cases,
        anchors={each.evidence.plan.case: each.anchor for each in cases},
        one_place=places.pop() if len(places) == 1 else '',
        everywhere=common,
        where=where,
        shared=shared,
        overviews=_overviews(cases),
        states=states(evidence.cases),
        beside=beside(evidence.cases),
        layouts=recommendations(evidence.cases),
        facts_beside=facts_beside(evidence.cases),
    )


@dataclass(frozen=True)
class Row:
    """One metric in the table. style: that of its mark in the drawing, unless its group's says it.

    stopped: why its repetitions ended; listing: how long it took, if it was one
    """

    metric: MetricResult
    label: str
    style: str
    stopped: str
    listing: Listing | None


@dataclass(frozen=True)
class Group:
    """Rows under one heading. style: that of its marks in the drawing, unless its rows differ."""

    label: str
    style: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class FactRow:
    """One promise of POSIX. fact: None where no launch came to it; promise: what the check says of it, or None."""

    name: str
    fact: Fact | None
    promise: ExpectationResult | None


@dataclass(frozen=True)
class Repeat:
    """One point to be repeated. lines: for a shell; steps: what was run."""

    point: str
    lines: str
    steps: Sequence[Step]


@dataclass(frozen=True)
class Case:
    """One case as the template needs it.

    curves, dots: the drawings by their width, of the kind that the case has; groups: the rows of its table
    ranges: least and greatest mean by role; rank: 0 for the worst verdict there is
    isolation: of a sweep over nodes or targets
    timeline: of the throughput; uncounted: why there is none, or empty
    """

    evidence: CaseEvidence
    anchor: str
    sentence: str
    unit: str
    curves: Mapping[str, curves.Curve]
    dots: Mapping[str, dotted.Dots]
    row_head: str
    groups: Sequence[Group]
    totals: Sequence[tuple[str, str]]
    contentions: Sequence[Contention]
    cached: Sequence[Cached]
    facts: Sequence[FactRow]
    expectations: Sequence[ExpectationResult]
    ranges: Mapping[str, str]
    repeats: Sequence[Repeat]
    labels: Sequence[str]
    drilled: Sequence[drilled.Row]
    summaries: Mapping[str, Summary]
    rank: int
    timeline: Timeline | None
    uncounted: str
    isolation: isolated.Found | None


@dataclass(frozen=True)
class Overview:
    """The cases of one unit, the worst first, those of one check together.

    roles: their columns, each with its style; lanes: a row a case; first: whether the case is the first of its check
    """

    unit: str
    title: str
    roles: Sequence[tuple[str, str]]
    cases: Sequence[Case]
    first: Sequence[bool]
    lanes: Lanes | None


def _case(evidence: CaseEvidence, anchor: str, shared: Sequence[str]) -> Case:
    plan, result = evidence.plan, evidence.result
    sized = evidence.records.sized
    unit = unit_of(result)
    facts = _facts(evidence) if unit == 'facts' else []
    return Case(
        evidence=evidence,
        anchor=anchor,
        sentence=words.workload(plan, sized.per_client if sized else None),
        unit=unit,
        curves=_curves(evidence),
        dots=_dots(evidence),
        row_head='metric' if _stands_by_point(evidence) else 'point',
        groups=_groups(evidence),
        totals=_totals(plan, sized.per_client if sized else None),
        contentions=contentions(plan, result),
        cached=[each for point in plan.points if (each := cached(plan, result, point.label))],
        facts=facts,
        expectations=() if facts else result.expectations,
        ranges={role: _range(believed(result, role)) for role in ROLES[unit]},
        repeats=[
            Repeat(words.point_words(plan, point), recipe(plan, evidence.steps[point.label], evidence.raw), steps)
            for point in plan.points
            if (steps := evidence.steps.get(point.label))
        ],
        labels=[label for label in result.labels if label not in shared],
        drilled=drilled.rows(evidence.records),
        summaries={each.metric: each.summary for each in result.metrics if each.summary},
        rank=_worse_verdicts(result.verdict),
        timeline=timeline(evidence),
        uncounted=why_none(evidence),
        isolation=isolated.found(result.isolation),
    )


def _overviews(cases: Sequence[Case]) -> list[Overview]:
    found = []
    for unit, title in TITLES.items():
        own = _worst_first([case for case in cases if case.unit == unit])
        roles = [(role, role_style(unit, role)) for role in ROLES[unit] if any(_has_role(case, role) for case in own)]
        checks = [case.evidence.plan.case.check for case in own]
        first = [checks.index(check) == i for i, check in enumerate(checks)]
        if own:
            found.append(Overview(unit, title, roles, own, first, lanes([case.evidence.result for case in own])))
    return found


def _worst_first(cases: Sequence[Case]) -> list[Case]:
    ranks: dict[str, int] = {}
    for case in cases:
        check = case.evidence.plan.case.check
        ranks[check] = min(case.rank, ranks.get(check, case.rank))
    checks = list(ranks)

    def key(case: Case) -> tuple[int, int, int]:
        check = case.evidence.plan.case.check
        return ranks[check], checks.index(check), case.rank

    return sorted(cases, key=key)


def _has_role(case: Case, role: str) -> bool:
    names = {each.operation for each in case.evidence.result.metrics}
    return any(name in names for name in ROLES[case.unit][role])


def _curves(evidence: CaseEvidence) -> dict[str, curves.Curve]:
    if not curves.has_curve(evidence.plan):
        return {}
    papers = {'wide': curves.WIDE, 'narrow': curves.NARROW}
    drawn = {name: curves.curve(evidence.plan, evidence.result, paper) for name, paper in papers.items()}
    return {name: each for name, each in drawn.items() if each is not None}


def _dots(evidence: CaseEvidence) -> dict[str, dotted.Dots]:
    if curves.has_curve(evidence.plan) or evidence.result.isolation or unit_of(evidence.result) == 'facts':
        return {}
    sheets = {'wide': dotted.WIDE, 'narrow': dotted.NARROW}
    drawn = {name: dotted.dots(evidence.plan, evidence.result, sheet) for name, sheet in sheets.items()}
    return {name: each for name, each in drawn.items() if each is not None}


def _stands_by_point(evidence: CaseEvidence) -> bool:
    """Whether the rows of a table stand by point: many metrics of few points. Those of a sweep stand by metric."""
    plan, names = evidence.plan, {each.operation for each in evidence.result.metrics}
    return isinstance(plan.workload, Namespace) and len(plan.points) < min(len(names), 3)


def _groups(evidence: CaseEvidence) -> list[Group]:
    plan, metrics, end = evidence.plan, evidence.result.metrics, evidence.records.end
    took = listings(plan, evidence.result)
    names = {each.operation: trees.metric_label(each.operation) for each in metrics}
    by_point = _stands_by_point(evidence)
    said = words.point_words if by_point else words.point_value
    points = {point.label: said(plan, point) for point in plan.points}
    drawn_by_point = trees.is_repeated_listing(plan) or not curves.has_curve(plan)
    style = styles(points if drawn_by_point else names)
    groups: dict[str, list[Row]] = {}
    for each in metrics:
        key, other = (each.point, each.operation) if by_point else (each.operation, each.point)
        row = Row(
            metric=each,
            label=(names if by_point else points)[other],
            style='' if by_point == drawn_by_point else style[other],
            stopped=words.STOPPED.get(end.stopped.get(each.point, ''), '') if end else '',
            listing=took.get(each.metric),
        )
        groups.setdefault(key, []).append(row)
    return [
        Group((points if by_point else names)[key], style[key] if by_point == drawn_by_point else '', rows)
        for key, rows in groups.items()
    ]


def _totals(plan: TrialPlan, per_client: int | None) -> list[tuple[str, str]]:
    """What is on disk at each point of a metadata case."""
    if not isinstance(plan.workload, Namespace) or plan.workload.kind == 'semantics':
        return []
    points = trees.measured_points(plan, per_client)
    if plan.axis in NAMED:
        return [('', trees.totals(points[0]))]
    named = len(points) > 1 and plan.axis != 'entries'
    return [(point.label if named else '', trees.totals(point)) for point in points]


def _facts(evidence: CaseEvidence) -> list[FactRow]:
    """What does not hold first, then what was not tried, then what holds."""
    found = {fact.name: fact for fact in evidence.result.facts}
    promises = {each.subject: each for each in evidence.result.expectations}
    rows = [FactRow(name, found.get(name), promises.get(name)) for name in dict.fromkeys([*found, *promises])]
    return sorted(rows, key=lambda row: (False, None, True).index(row.fact.holds if row.fact else None))


def _range(means: Sequence[float]) -> str:
    if not means:
        return ''
    low, high = words.figure(min(means)), words.figure(max(means))
    return low if low == high else f'{low} \u2013 {high}'


def _worse_verdicts(verdict: Verdict) -> int:
    """How many verdicts outrank this one."""
    return sum(worst([verdict, other]) is not verdict for other in Verdict)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader('seatrial.report'),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters.update(
        figure=words.figure,
        percent=words.percent,
        seconds=words.seconds,
        brief=words.brief,
        size=approximate_size,
        listed=words.listed,
        grouped=trees.grouped,
        humps=_humps,
        px=lambda value: f'{value:.1f}'.removesuffix('.0'),
        rule=lambda label: label.partition(': ') if label.partition(':')[0].isalnum() else ('', '', label),
    )
    environment.globals.update(words=words, HERE=_HERE, HINTS=HINTS, SHAPES=SHAPES)
    return environment


def _humps(name: str) -> Markup:
    """The name of a check, which may be broken between its words: SharedFile|Strided|Objects."""
    return Markup('<wbr>').join(escape(part) for part in re.split('(?<=[a-z0-9])(?=[A-Z])', words.clean(name)))


_HERE = {HOLDS: 'it holds here', FAILS: 'it does not hold here', UNDECIDED: 'these samples cannot tell'}


def _finalize(value: Any) -> Any:
    return words.clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value
