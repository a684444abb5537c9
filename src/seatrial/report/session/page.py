"""The page: one HTML file that needs no script, no network and no other file."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Any

from jinja2 import Environment as Jinja
from jinja2 import PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.references import INSIDE, OUTSIDE
from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import CaseResult, Verdict, worst
from seatrial.model.metric import Fact, Histogram
from seatrial.model.units import approximate_size
from seatrial.report import figures, words
from seatrial.report.drawing.maps import surfaces
from seatrial.report.drawing.metrics import charts, has_curve, has_metric_lines, sheets, styled_by, styles_of
from seatrial.report.drawing.plot import PAPERS, drawn, marker, px
from seatrial.report.drawing.scenario_course import courses
from seatrial.report.drawing.timeline import timeline, why_none
from seatrial.report.evidence import CaseEvidence, SessionEvidence
from seatrial.report.figures import NUMBER, Unit, common_unit, units_of
from seatrial.report.headline import headline_of
from seatrial.report.session import isolation
from seatrial.report.session.file_systems import states
from seatrial.report.session.layouts import recommendations
from seatrial.report.session.monitors import monitored
from seatrial.report.session.overview import overviews
from seatrial.report.session.ratios import ListingTime, cached, contentions, listings
from seatrial.report.session.side_by_side import beside, guarantees_beside
from seatrial.workload.registry import kind_of
from seatrial.workload.words import by_key, counted, grouped

CRITERIA_SHOWN, CAVEATS_SHOWN = 12, 3
"""On the first page."""

DESCRIBED = 12
"""Cases at most whose sentences stand beside their names, and reasons beside those of a table: more are folded."""

DIMENSIONS = {'B/s': 'bandwidth', 'op/s': 'rate', 's': 'time'}


def page(evidence: SessionEvidence) -> str:
    template = jinja().get_template('page.html')
    cases = [_case(each, f'case-{number}', evidence.units) for number, each in enumerate(evidence.cases, 1)]
    caveats = words.caveats(evidence.result)
    engines = [name for name, _ in words.engines(evidence.result)]
    alike = _alike([each['rows'] for each in cases if 'host' in each['rows']], engines)
    for each in cases:
        each['rows'] = {name: lines for name, lines in each['rows'].items() if alike.get(name) != lines}
        each['labels'] = _apart(each['evidence'].result, caveats)
    common, where = words.where(evidence.cases)
    environments = {each.result.case.name.partition('/')[2] for each in evidence.cases}
    return template.render(
        evidence=evidence,
        result=evidence.result,
        views={each['evidence'].plan.case: each for each in cases},
        one_environment=environments.pop() if len(environments) == 1 else '',
        everywhere=common,
        where=where,
        headline=headline_of(evidence.result),
        criteria=_criteria(evidence.result),
        caveats=caveats,
        alike=alike,
        literature=_literature(evidence),
        described=len(cases) <= DESCRIBED,
        overviews=overviews(_worst_first(evidence.cases), evidence.units),
        states=states(evidence.cases),
        beside=beside(evidence.cases, evidence.units),
        layouts=recommendations(evidence.cases, evidence.units),
        surfaces=surfaces(evidence.cases, evidence.units),
        guarantees_beside=guarantees_beside(evidence.cases),
        glossary=list(words.glossary().items()),
    )


Rows = Mapping[str, Sequence[str]]
"""What was done and with what, by its heading in lines."""


def _alike(cases: Sequence[Rows], engines: Sequence[str]) -> Rows:
    """The rows that several cases share: all that began, or all of an engine."""
    found = by_key(row for each in cases for row in each.items())
    shared = {name: said[0] for name, said in found.items() if len(said) > 1 and len(set(said)) == 1}
    return {name: said for name, said in shared.items() if name in engines or len(found[name]) == len(cases)}


def _apart(result: CaseResult, caveats: Sequence[tuple[str, Collection[str], int]]) -> tuple[list[str], list[str]]:
    """The caveats of a case without those at the top of the page in the same words, and the rules of the latter."""
    rules = [label.partition(':')[0] for label in result.labels]
    found = [label.partition(':')[0] for label, cases, _ in caveats if result.case.name in cases]
    above = [rule for rule in found if rules.count(rule) == 1]
    return [label for label, rule in zip(result.labels, rules, strict=True) if rule not in above], above


def _rows(evidence: CaseEvidence) -> Rows:
    """Rows of a case that began: how much was done, and on what."""
    plan, result, records = evidence.plan, evidence.result, evidence.records
    sized, start, removal = records.sized, records.start, records.removal
    took = figures.seconds(result.duration_s) if result.duration_s is not None else 'unknown: the job was cut off'
    rows = {
        'each task': (words.share(evidence), sized.reason if sized else ''),
        'repetitions': (words.repetitions(evidence),),
        'on disk': tuple(f'{label}: {total}' if label else total for label, total in words.totals(evidence)),
        'contents': (result.verified,),
        'took': (took,),
    }
    if start is not None:
        used = start.provenance
        built = ', '.join(filter(None, (used.build, used.mpi, used.launcher))) or 'not recorded'
        modules = f'modules: {", ".join(used.modules)}' if used.modules else ''
        reframe = f', ReFrame {plan.reframe}' if plan.reframe else ''
        gone = removal and (
            f'removed: {counted(removal.removed_files, "file")}, '
            f'{counted(removal.removed_directories, "directory", "directories")}'
        )
        rows |= {
            words.engine(result): (start.program, built, modules),
            'not used': tuple(start.skipped),
            'by': (f'Seatrial {plan.seatrial} {plan.commit}'.rstrip() + reframe,),
            'host': (
                f'{start.host}, Linux {start.kernel}',
                f'{approximate_size(start.memory_bytes)} memory, Python {start.python}',
            ),
            'tasks ran on': (
                *result.binding,
                f'cores of the NUMA nodes of {start.host}: {"; ".join(start.numa)}'
                if result.binding and len(start.numa) > 1
                else '',
            ),
            'file system': (
                f'{plan.target.name}, {plan.target.type}, layout {plan.target.layout.name}',
                plan.target.no_layout,
                f'mounted: {start.mount}' if start.mount else '',
            ),
            'job': (start.job or 'none: on this host',),
            'run directory': (start.run_directory or 'none', gone or ''),
            'telemetry': (why_none(evidence),),
            'records': (f'{counted(records.truncated, "line")} cut short or foreign' if records.truncated else '',),
        }
    return {name: said for name, lines in rows.items() if (said := tuple(filter(None, lines)))}


def _literature(evidence: SessionEvidence) -> list[dict[str, Any]]:
    """Expectations that are no criteria here. where: the case, or the compared checks"""
    found = [(case.plan.case.check, each) for case in evidence.cases for each in case.result.expectations]
    guaranteed = {case.plan.case.check for case in evidence.cases if _is_of_guarantees(case)}
    found = [(where, each) for where, each in found if where not in guaranteed]
    found += [('between checks', each) for each in evidence.result.relations]
    return [
        {'source': each.source, 'where': where, 'one': each, 'undecided': each.relation.verdict == UNDECIDED}
        for where, each in found
        if not each.enforced
    ]


def _is_of_guarantees(case: CaseEvidence) -> bool:
    """True if it has a table of guarantees, which shows their expectations too."""
    return bool(case.result.facts) or words.only_counts(case.plan)


def _criteria(session: SessionResult) -> list[dict[str, Any]]:
    """References and enforced expectations of all cases and between them: missed ones first, then by the margin.
    case: None between checks; margin: distance on the right side of the bound, as a share of it; None if undecided"""
    rows: list[tuple[Any, ...]] = []
    for own, each in ((case.case, each) for case in session.cases for each in case.references):
        unit, mark = Unit(each.unit), {INSIDE: HOLDS, OUTSIDE: FAILS}.get(each.interval, UNDECIDED)
        measured = '' if each.found is None else unit.words(each.found)
        # Of reads from a cache it would be a startling one, beside a figure that decides nothing.
        margin = None if mark == UNDECIDED else each.margin
        rows.append((each.metric, own, mark, words.bounds(each, unit), measured, margin))
    expected = [(case.case, each) for case in session.cases for each in case.expectations]
    between = [(None, each) for each in session.relations]
    enforced = [(case, each) for case, each in (*expected, *between) if each.enforced]
    rows += [(each.words, case, each.relation.verdict, '', '', None) for case, each in enforced]
    names = ('what', 'case', 'mark', 'wanted', 'measured', 'margin')
    rows.sort(key=lambda row: (list(_MET).index(row[2]), math.inf if row[5] is None else row[5]))
    return [dict(zip(names, row, strict=True)) for row in rows]


_MET = {FAILS: 'missed', UNDECIDED: 'undecided', HOLDS: 'met'}
"""Of a criterion, by the word of a relation that came to the same: in the order in which they are shown."""


def _case(evidence: CaseEvidence, anchor: str, system: str) -> dict[str, Any]:
    plan, result = evidence.plan, evidence.result
    guarantees = _guarantees(evidence) if _is_of_guarantees(evidence) else []
    units = units_of(result.metrics, system)
    return {
        'evidence': evidence,
        'anchor': anchor,
        'sentence': words.sentence(evidence),
        'facts': words.facts(evidence),
        'charts': [] if result.isolation or words.only_counts(plan) else charts(plan, result, units),
        'lines': has_curve(plan),  # whether the charts are curves
        'table': _table(evidence, units, system),
        'rows': _rows(evidence),
        'contentions': contentions(plan, result),
        'cached': [each for point in plan.points if (each := cached(plan, result, point.label))],
        'guarantees': guarantees,
        'enforced': [each for each in result.expectations if each.enforced and not guarantees],
        'grouped': [each for each in result.metrics if each.groups],
        'summaries': {each.metric: each.summary for each in result.metrics if each.summary},
        'courses': courses(evidence, system),
        'histograms': _histograms(evidence),
        'timeline': timeline(evidence, system),
        'monitored': monitored(evidence, system),
        'isolation': isolation.view(result.isolation, system),
    }


def _histograms(evidence: CaseEvidence) -> list[tuple[str, Histogram]]:
    """Histograms of an ageing's files, from the last valid launch at each point: every launch creates the same."""
    last = {
        sample.point.label: sample.measurement.histograms
        for own in evidence.samples.values()
        for sample in own
        if sample.valid and sample.measurement
    }
    return [(point.label, each) for point in evidence.plan.points for each in last.get(point.label, ())]


def _worst_first(cases: Sequence[CaseEvidence]) -> list[CaseEvidence]:
    """The cases by verdict, the worst first; those of one check stay together."""
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
    return sum(worst([verdict, other]) is not verdict for other in Verdict)


def _table(evidence: CaseEvidence, units: Mapping[str, Unit], system: str) -> dict[str, Any]:
    metrics = evidence.result.metrics
    took = listings(evidence.plan, evidence.result)
    timed = [seconds for each in metrics for seconds in each.percentiles_s.values()]
    one = next(iter(units), '')
    # The rows stand by point where there are many metrics of few points; those of a sweep stand by metric.
    by_point = len(evidence.plan.points) < min(len({each.name for each in metrics}), 3)
    groups = _groups(evidence, units, took, by_point)
    names = dict.fromkeys(name for each in metrics for name in each.percentiles_s)
    return {
        'head': 'metric' if by_point else 'point',
        'figures': f'{DIMENSIONS.get(one, "figure")}, {units[one].name}' if len(units) == 1 else 'figure',
        'styled_rows': by_point == has_metric_lines(evidence.plan),  # the rows of a group differ in their style
        'groups': groups,
        # Those that are metrics themselves have rows.
        'percentiles': [name for name in names if not any(each.name.endswith(f'_{name}') for each in metrics)],
        'percentile_unit': common_unit(timed, 's', system),
        'listing_unit': common_unit([each.seconds for each in took.values()], 's', system) if took else NUMBER,
        'fair': any(each.fairness for each in metrics),
        'spread': any(each.summary and each.summary.n > 1 for each in metrics),
        'ended': bool({row['stopped'] for _, rows in groups for row in rows} - {'', words.STOPPED['fixed']}),
        'cache': len({each.cache for each in metrics if each.cache}) > 1,  # else the line of the case says it
    }


def _groups(
    evidence: CaseEvidence, units: Mapping[str, Unit], took: Mapping[str, ListingTime], by_point: bool
) -> list[tuple[str, list[dict[str, Any]]]]:
    """The rows of the table, under their headings."""
    plan, metrics, end = evidence.plan, evidence.result.metrics, evidence.records.end
    names = {each.name: words.metric_words(plan.kind, each, units) for each in metrics}
    said = words.point_words if by_point else words.point_value
    points = {point.label: said(plan.axis, point) for point in plan.points}
    style: dict[str, str] = {}
    for sheet in sheets(plan, metrics):
        own = styles_of(plan, sheet)
        style.update({each.metric: own[styled_by(plan, each)] for each in sheet})
    rows = [
        {
            'metric': each,
            'label': names[each.name] if by_point else points[each.point],
            'style': style[each.metric],
            'unit': units[each.unit],
            'stopped': words.STOPPED.get(end.stopped.get(each.point, ''), '') if end else '',
            'listing': took.get(each.metric),
        }
        for each in metrics
    ]
    headings = (points[each.point] if by_point else names[each.name] for each in metrics)
    return list(by_key(zip(headings, rows, strict=True)).items())


def _guarantees(evidence: CaseEvidence) -> list[tuple[str, Fact | None, ExpectationResult | None]]:
    """Each guarantee with its fact and its expectation: first those that do not hold, then untried ones."""
    found = {fact.name: fact for fact in evidence.result.facts}
    expected = {each.subject: each for each in evidence.result.expectations}
    rows = [(name, found.get(name), expected.get(name)) for name in dict.fromkeys([*found, *expected])]
    return sorted(rows, key=lambda row: (False, None, True).index(row[1].holds if row[1] else None))


@cache
def jinja() -> Jinja:
    """The templates; all text in them is escaped."""
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
        mean=fmean,
        humps=_humps,
        px=px,
        rule=lambda label: label.partition(': ') if label.partition(':')[0].isalnum() else ('', '', label),
    )
    environment.globals.update(words=words, count=counted, Unit=Unit, HERE=_HERE)
    environment.globals.update(PAPERS=PAPERS, drawn=drawn, marker=marker, common_unit=common_unit, kind_of=kind_of)
    environment.globals.update(CRITERIA_SHOWN=CRITERIA_SHOWN, CAVEATS_SHOWN=CAVEATS_SHOWN, MET=_MET)
    environment.globals.update(DESCRIBED=DESCRIBED)
    return environment


def _humps(name: str) -> Markup:
    """The name of a check, which may be broken between its words: SharedFile|Strided|Sizes."""
    return Markup('<wbr>').join(escape(part) for part in re.split('(?<=[a-z0-9])(?=[A-Z])', words.clean(name)))


_HERE = {HOLDS: 'it holds here', FAILS: 'it does not hold here', UNDECIDED: 'it is undecided here'}


def _finalize(value: Any) -> Any:
    return words.clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value
