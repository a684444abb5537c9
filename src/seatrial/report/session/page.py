"""The page: one HTML file that needs no script, no network and no other file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment as Jinja
from jinja2 import PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.judge.statistics import SampleSummary
from seatrial.judge.verdict import MetricResult, Verdict, worst
from seatrial.model.metric import Fact
from seatrial.model.units import approximate_size
from seatrial.report import figures, words
from seatrial.report.drawing.maps import surfaces
from seatrial.report.drawing.metrics import charts, has_curve, has_metric_lines, sheets, styled_by
from seatrial.report.drawing.plot import PAPERS, Chart, drawn, marker, px, styles
from seatrial.report.drawing.scenario_course import CourseView, courses
from seatrial.report.drawing.timeline import Timeline, timeline, why_none
from seatrial.report.evidence import CaseEvidence, LaunchEvidence, SessionEvidence
from seatrial.report.figures import NUMBER, Unit, common_unit, units_of
from seatrial.report.session import drill_down, isolation, node_groups
from seatrial.report.session.criteria import criteria
from seatrial.report.session.file_systems import states
from seatrial.report.session.histograms import HistogramView, histograms
from seatrial.report.session.layouts import recommendations
from seatrial.report.session.monitors import Monitored, monitored
from seatrial.report.session.overview import overviews
from seatrial.report.session.ratios import Cached, ContentionRatios, ListingTime, cached, contentions, listings
from seatrial.report.session.recipe import recipe
from seatrial.report.session.side_by_side import beside, guarantees_beside
from seatrial.workload.registry import kind_of
from seatrial.workload.words import counted, grouped

CRITERIA_SHOWN, CAVEATS_SHOWN = 12, 3
"""On the first page."""

DIMENSIONS = {'B/s': 'bandwidth', 'op/s': 'rate', 's': 'time'}


def page(evidence: SessionEvidence) -> str:
    """The page of a session."""
    template = jinja().get_template('page.html')
    cases = [_case(each, f'case-{number}', evidence.units) for number, each in enumerate(evidence.cases, 1)]
    common, where = words.where(evidence.cases)
    environments = {each.result.case.name.partition('/')[2] for each in evidence.cases}
    return template.render(
        evidence=evidence,
        result=evidence.result,
        views={each.evidence.plan.case: each for each in cases},
        one_environment=environments.pop() if len(environments) == 1 else '',
        everywhere=common,
        where=where,
        criteria=criteria(evidence.result),
        caveats=words.caveats(evidence.result),
        overviews=overviews(_worst_first(evidence.cases), evidence.units),
        states=states(evidence.cases),
        beside=beside(evidence.cases, evidence.units),
        layouts=recommendations(evidence.cases, evidence.units),
        surfaces=surfaces(evidence.cases, evidence.units),
        guarantees_beside=guarantees_beside(evidence.cases),
        glossary=_glossary(),
    )


@dataclass(frozen=True)
class MetricRow:
    """One metric in the table. style: that of its mark in the drawing.

    stopped: why its repetitions ended; listing: how long it took, if it was one
    """

    metric: MetricResult
    label: str
    style: str
    unit: Unit
    stopped: str
    listing: ListingTime | None


@dataclass(frozen=True)
class MetricGroup:
    """Rows under one heading."""

    label: str
    rows: Sequence[MetricRow]


@dataclass(frozen=True)
class MetricTable:
    """The table of a case. head: of its first column; figures: what the means and the others are, with the unit.

    styled_rows: whether the rows of a group differ in their style
    percentiles: of single operations, by name, with the unit of all of them: empty where none was timed
    """

    head: str
    figures: str
    styled_rows: bool
    groups: Sequence[MetricGroup]
    percentiles: Sequence[str]
    percentile_unit: Unit
    listing_unit: Unit
    fair: bool
    cache: bool


@dataclass(frozen=True)
class GuaranteeRow:
    """One guarantee of POSIX. fact: None where no launch came to it; expected: what the check says of it, or None."""

    name: str
    fact: Fact | None
    expected: ExpectationResult | None


@dataclass(frozen=True)
class Repeat:
    """One point to be repeated. anchor: of its lines in the page; lines: for a shell; steps: what was run."""

    anchor: str
    point: str
    lines: str
    steps: Sequence[LaunchEvidence]


@dataclass(frozen=True)
class CaseView:
    """One case as the template needs it.

    facts:    what is to be known of it before its figures; repeats: by the label of the point
    charts: of each dimension the curve or the dots; lines: whether they are curves
    isolation: of a sweep over nodes or targets, in place of these
    courses:  of scenarios; histograms: of what an ageing has filled in
    monitored: servers; timeline: of the throughput; uncounted: why there is none, or empty
    """

    evidence: CaseEvidence
    anchor: str
    sentence: str
    facts: Sequence[str]
    charts: Sequence[Chart]
    lines: bool
    table: MetricTable
    totals: Sequence[tuple[str, str]]
    contentions: Sequence[ContentionRatios]
    cached: Sequence[Cached]
    guarantees: Sequence[GuaranteeRow]
    expectations: Sequence[ExpectationResult]
    repeats: Mapping[str, Repeat]
    groups: node_groups.GroupsView | None
    drilled: drill_down.DrillView | None
    summaries: Mapping[str, SampleSummary]
    courses: Sequence[CourseView]
    histograms: Sequence[HistogramView]
    timeline: Timeline | None
    monitored: Monitored | None
    uncounted: str
    isolation: isolation.IsolationView | None


def _case(evidence: CaseEvidence, anchor: str, system: str) -> CaseView:
    plan, result = evidence.plan, evidence.result
    guarantees = _guarantees(evidence) if result.facts or words.only_counts(plan) else []
    units = units_of(result.metrics, system)
    return CaseView(
        evidence=evidence,
        anchor=anchor,
        sentence=words.sentence(evidence),
        facts=words.facts(evidence),
        charts=[] if result.isolation or words.only_counts(plan) else charts(plan, result, units),
        lines=has_curve(plan),
        table=_table(evidence, units, system),
        totals=words.totals(evidence),
        contentions=contentions(plan, result),
        cached=[each for point in plan.points if (each := cached(plan, result, point.label))],
        guarantees=guarantees,
        expectations=() if guarantees else result.expectations,
        repeats={
            point.label: Repeat(
                f'{anchor}-{number}',
                words.point_words(plan.axis, point),
                recipe(plan, steps, evidence.raw, system),
                steps,
            )
            for number, point in enumerate(plan.points, 1)
            if (steps := evidence.steps.get(point.label))
        },
        groups=node_groups.view(evidence, system),
        drilled=drill_down.view(evidence, system),
        summaries={each.metric: each.summary for each in result.metrics if each.summary},
        courses=courses(evidence, system),
        histograms=histograms(evidence),
        timeline=timeline(evidence, system),
        monitored=monitored(evidence, system),
        uncounted=why_none(evidence),
        isolation=isolation.view(result.isolation, system),
    )


def _worst_first(cases: Sequence[CaseEvidence]) -> list[CaseEvidence]:
    """Those of one check together."""
    ranks: dict[str, int] = {}
    for case in cases:
        check, rank = case.plan.case.check, _outranking(case.result.verdict)
        ranks[check] = min(rank, ranks.get(check, rank))
    checks = list(ranks)

    def key(case: CaseEvidence) -> tuple[int, int, int]:
        check = case.plan.case.check
        return ranks[check], checks.index(check), _outranking(case.result.verdict)

    return sorted(cases, key=key)


def _outranking(verdict: Verdict) -> int:
    """How many verdicts outrank this one."""
    return sum(worst([verdict, other]) is not verdict for other in Verdict)


def _table(evidence: CaseEvidence, units: Mapping[str, Unit], system: str) -> MetricTable:
    metrics = evidence.result.metrics
    took = listings(evidence.plan, evidence.result)
    timed = [seconds for each in metrics for seconds in each.percentiles_s.values()]
    one = next(iter(units), '')
    # The rows stand by point where there are many metrics of few points; those of a sweep stand by metric.
    by_point = len(evidence.plan.points) < min(len({each.name for each in metrics}), 3)
    return MetricTable(
        head='metric' if by_point else 'point',
        figures=f'{DIMENSIONS.get(one, "figure")}, {units[one].name}' if len(units) == 1 else 'figure',
        styled_rows=by_point == has_metric_lines(evidence.plan),
        groups=_groups(evidence, units, took, by_point),
        percentiles=list(dict.fromkeys(name for each in metrics for name in each.percentiles_s)),
        percentile_unit=common_unit(timed, 's', system),
        listing_unit=common_unit([each.seconds for each in took.values()], 's', system) if took else NUMBER,
        fair=any(each.fairness for each in metrics),
        cache=any(each.cache for each in metrics),
    )


def _groups(
    evidence: CaseEvidence, units: Mapping[str, Unit], took: Mapping[str, ListingTime], by_point: bool
) -> list[MetricGroup]:
    plan, metrics, end = evidence.plan, evidence.result.metrics, evidence.records.end
    names = {each.name: _metric_words(evidence, each, units) for each in metrics}
    said = words.point_words if by_point else words.point_value
    points = {point.label: said(plan.axis, point) for point in plan.points}
    style: dict[str, str] = {}
    for sheet in sheets(plan, metrics):
        own = styles(styled_by(plan, each) for each in sheet)
        style.update({each.metric: own[styled_by(plan, each)] for each in sheet})
    groups: dict[str, list[MetricRow]] = {}
    for each in metrics:
        key, other = (each.point, each.name) if by_point else (each.name, each.point)
        row = MetricRow(
            metric=each,
            label=(names if by_point else points)[other],
            style=style[each.metric],
            unit=units[each.unit],
            stopped=words.STOPPED.get(end.stopped.get(each.point, ''), '') if end else '',
            listing=took.get(each.metric),
        )
        groups.setdefault(key, []).append(row)
    return [MetricGroup((points if by_point else names)[key], rows) for key, rows in groups.items()]


def _metric_words(evidence: CaseEvidence, metric: MetricResult, units: Mapping[str, Unit]) -> str:
    """Its name, with its unit where the metrics of the case have several."""
    said = kind_of(evidence.plan.kind).metric_words(metric.name)
    return f'{said}, {units[metric.unit].name}' if len(units) > 1 and metric.unit else said


def _guarantees(evidence: CaseEvidence) -> list[GuaranteeRow]:
    """What does not hold first, then what was not tried, then what holds."""
    found = {fact.name: fact for fact in evidence.result.facts}
    expected = {each.subject: each for each in evidence.result.expectations}
    rows = [GuaranteeRow(name, found.get(name), expected.get(name)) for name in dict.fromkeys([*found, *expected])]
    return sorted(rows, key=lambda row: (False, None, True).index(row.fact.holds if row.fact else None))


@cache
def _glossary() -> list[tuple[str, str]]:
    """The words of docs/glossary.md with what they mean here."""
    text = (files('seatrial.report') / 'templates' / 'glossary.md').read_text(encoding='utf-8').replace('`', '')
    rows = [line.strip('| ').split(' | ', 1) for line in text.partition('|---|---|\n')[2].splitlines()]
    return [(word, meaning) for word, meaning in rows]


@cache
def jinja() -> Jinja:
    """The templates. Every text in them is escaped, whatever it holds."""
    environment = Jinja(
        loader=PackageLoader('seatrial.report'),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters.update(
        figure=figures.figure,
        percent=figures.percent,
        seconds=figures.seconds,
        brief=figures.brief,
        size=approximate_size,
        cut=words.cut,
        listed=words.listed,
        grouped=grouped,
        humps=_humps,
        px=px,
        rule=lambda label: label.partition(': ') if label.partition(':')[0].isalnum() else ('', '', label),
    )
    environment.globals.update(words=words, count=counted, Unit=Unit, HERE=_HERE)
    environment.globals.update(PAPERS=PAPERS, drawn=drawn, marker=marker)
    environment.globals.update(CRITERIA_SHOWN=CRITERIA_SHOWN, CAVEATS_SHOWN=CAVEATS_SHOWN)
    return environment


def _humps(name: str) -> Markup:
    """The name of a check, which may be broken between its words: SharedFile|Strided|Sizes."""
    return Markup('<wbr>').join(escape(part) for part in re.split('(?<=[a-z0-9])(?=[A-Z])', words.clean(name)))


_HERE = {HOLDS: 'it holds here', FAILS: 'it does not hold here', UNDECIDED: 'it is undecided here'}


def _finalize(value: Any) -> Any:
    return words.clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value
