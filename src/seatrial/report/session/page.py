"""The page: one HTML file that needs no script, no network and no other file."""

import contextlib
import math
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from jinja2 import Environment as Jinja
from jinja2 import FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.references import INSIDE, OUTSIDE
from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED
from seatrial.judge.session import SessionResult
from seatrial.judge.verdict import WORST_FIRST, CaseResult
from seatrial.model.metric import Fact, Histogram
from seatrial.model.units import approximate_size
from seatrial.report import figures, words
from seatrial.report.drawing.metrics import charts, has_curve, has_metric_lines, sheets, styled_by, styles_of
from seatrial.report.drawing.plot import PAPERS, drawn, marker, px
from seatrial.report.drawing.timeline import courses, monitored, timeline, why_none
from seatrial.report.evidence import CaseEvidence, SessionEvidence
from seatrial.report.figures import NUMBER, Unit, common_unit, units_of
from seatrial.report.headline import headline_of
from seatrial.report.session import isolation
from seatrial.report.session.file_systems import states
from seatrial.report.session.layouts import recommendations, surfaces
from seatrial.report.session.overview import overviews
from seatrial.report.session.ratios import ListingTime, cached, contentions, listings
from seatrial.report.session.side_by_side import beside, guarantees_beside
from seatrial.workload.registry import kind_of
from seatrial.workload.words import by_key, counted, grouped

CRITERIA_SHOWN, CAVEATS_SHOWN = 12, 3  # rows on the first page
DESCRIBED = 12  # cases whose sentences and reasons stand beside their names: if there are more, they are folded

DIMENSIONS = {'B/s': 'bandwidth', 'op/s': 'rate', 's': 'time'}


def page(evidence: SessionEvidence) -> str:
    cases = [_case(case, f'case-{number}', evidence.units) for number, case in enumerate(evidence.cases, 1)]
    caveats = words.caveats(evidence.result)
    engines = [name for name, _ in words.engines(evidence.result)]
    alike = _alike([case['rows'] for case in cases if 'host' in case['rows']], engines)
    for case in cases:
        case['rows'] = {name: lines for name, lines in case['rows'].items() if alike.get(name) != lines}
        case['labels'] = _apart(case['evidence'].result, caveats)
    common, where = words.where(evidence.cases)
    environments = {case.result.case.name.partition('/')[2] for case in evidence.cases}
    template = jinja().get_template('page.html')
    return template.render(
        evidence=evidence,
        result=evidence.result,
        views={case['evidence'].plan.case: case for case in cases},
        one_environment=environments.pop() if len(environments) == 1 else '',
        everywhere=common,
        where=where,
        headline=headline_of(evidence.result),
        criteria=_criteria(evidence.result),
        caveats=caveats,
        alike=alike,
        literature=_literature(evidence),
        overviews=overviews(_worst_first(evidence.cases), evidence.units),
        states=states(evidence.cases),
        beside=beside(evidence.cases, evidence.units),
        layouts=recommendations(evidence.cases, evidence.units),
        surfaces=surfaces(evidence.cases, evidence.units),
        guarantees_beside=guarantees_beside(evidence.cases),
    )


Rows = Mapping[str, Sequence[str]]  # lines on what was done and with what, by their heading


def _alike(cases: Sequence[Rows], engines: Sequence[str]) -> Rows:
    """The rows that several cases share: all that began, or all of an engine."""
    by_name = by_key(row for rows in cases for row in rows.items())
    shared = {name: lines[0] for name, lines in by_name.items() if len(lines) > 1 and len(set(lines)) == 1}
    return {name: lines for name, lines in shared.items() if name in engines or len(by_name[name]) == len(cases)}


def _apart(result: CaseResult, caveats: Sequence[tuple[str, Collection[str], int]]) -> tuple[list[str], list[str]]:
    """The caveats of a case without those at the top of the page in the same words, and the rules of the latter."""
    rules = [label.partition(':')[0] for label in result.labels]
    rules_above = [label.partition(':')[0] for label, cases, _ in caveats if result.case.name in cases]
    above = [rule for rule in rules_above if rules.count(rule) == 1]
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
        cores = f'cores of the NUMA nodes of {start.host}: {"; ".join(start.numa)}' if len(start.numa) > 1 else ''
        gone = removal and (
            f'removed: {counted(removal.removed_files, "file")}, '
            f'{counted(removal.removed_directories, "directory", "directories")}'
        )
        rows |= {
            words.engine(result): (start.program, built, modules),
            "Darshan's library": (f'{plan.darshan}, {used.darshan}' if used.darshan else '',),
            'not used': tuple(start.skipped),
            'by': (f'Seatrial {plan.seatrial} {plan.commit}'.rstrip() + reframe,),
            'host': (
                f'{start.host}, Linux {start.kernel}',
                f'{approximate_size(start.memory_bytes)} memory, Python {start.python}',
            ),
            'tasks ran on': (*result.binding, cores if result.binding else ''),
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
    return {name: filled for name, lines in rows.items() if (filled := tuple(filter(None, lines)))}


def _literature(evidence: SessionEvidence) -> list[dict[str, Any]]:
    """Expectations that are no criteria here. where: the case, or the compared checks"""
    guaranteed = {case.plan.case.check for case in evidence.cases if _is_of_guarantees(case)}
    cases = [case for case in evidence.cases if case.plan.case.check not in guaranteed]
    expected = [(case.plan.case.check, one) for case in cases for one in case.result.expectations]
    expected += [('between checks', one) for one in evidence.result.relations]
    return [
        {'source': one.source, 'where': where, 'one': one, 'undecided': one.relation.verdict == UNDECIDED}
        for where, one in expected
        if not one.enforced
    ]


def _is_of_guarantees(case: CaseEvidence) -> bool:
    """True if it has a table of guarantees, which shows their expectations too."""
    return bool(case.result.facts) or words.only_counts(case.plan)


def _criteria(session: SessionResult) -> list[dict[str, Any]]:
    """References and enforced expectations of all cases and between them: missed ones first, then by the margin.
    case: None between checks; margin: distance on the right side of the bound, as a share of it; None if undecided"""
    rows: list[dict[str, Any]] = []
    without: dict[str, Any] = {'wanted': '', 'measured': '', 'margin': None}
    compared = [(result.case, reference) for result in session.cases for reference in result.references]
    for of_case, reference in compared:
        unit, mark = Unit(reference.unit), {INSIDE: HOLDS, OUTSIDE: FAILS}.get(reference.interval, UNDECIDED)
        measured = '' if reference.statistic is None else unit.words(reference.statistic)
        # Of reads from a cache it would be a startling one, beside a figure that decides nothing.
        margin = None if mark == UNDECIDED else reference.margin
        row = {'what': reference.metric, 'case': of_case, 'mark': mark, 'measured': measured, 'margin': margin}
        rows.append({**row, 'wanted': words.bounds(reference, unit)})
    expected = [(result.case, one) for result in session.cases for one in result.expectations]
    for case, one in (*expected, *((None, one) for one in session.relations)):
        if one.enforced:
            rows.append({**without, 'what': one.words, 'case': case, 'mark': one.relation.verdict})
    rows.sort(key=lambda row: (list(_MET).index(row['mark']), math.inf if row['margin'] is None else row['margin']))
    return rows


# Words for a criterion by the verdict of its relation, in the order in which they are shown.
_MET = {FAILS: 'missed', UNDECIDED: 'undecided', HOLDS: 'met'}


def _case(evidence: CaseEvidence, anchor: str, system: str) -> dict[str, Any]:
    plan, result = evidence.plan, evidence.result
    guarantees = _guarantees(evidence) if _is_of_guarantees(evidence) else []
    units = units_of(result.metrics, system)
    return {
        'evidence': evidence,
        'anchor': anchor,
        'charts': [] if result.isolation or words.only_counts(plan) else charts(plan, result, units),
        'lines': has_curve(plan),  # True if the charts are curves
        'table': _table(evidence, units, system),
        'rows': _rows(evidence),
        'contentions': contentions(plan, result),
        'cached': [times for point in plan.points if (times := cached(plan, result, point.label))],
        'guarantees': guarantees,
        'enforced': [expectation for expectation in result.expectations if expectation.enforced and not guarantees],
        'summaries': {metric.metric: metric.summary for metric in result.metrics if metric.summary},
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
        for samples in evidence.samples.values()
        for sample in samples
        if sample.valid and sample.measurement
    }
    return [(point.label, histogram) for point in evidence.plan.points for histogram in last.get(point.label, ())]


def _worst_first(cases: Sequence[CaseEvidence]) -> list[CaseEvidence]:
    """The cases by verdict, the worst first; those of one check stay together."""
    ranked = [(case.plan.case.check, WORST_FIRST.index(case.result.verdict), case) for case in cases]
    ranks = by_key((check, rank) for check, rank, _ in ranked)
    checks = sorted(ranks, key=lambda check: min(ranks[check]))
    return [case for check, _, case in sorted(ranked, key=lambda row: (checks.index(row[0]), row[1]))]


def _table(evidence: CaseEvidence, units: Mapping[str, Unit], system: str) -> dict[str, Any]:
    metrics = evidence.result.metrics
    took = listings(evidence.plan, evidence.result)
    timed = [seconds for metric in metrics for seconds in metric.percentiles_s.values()]
    one = next(iter(units), '')
    # The rows stand by point where there are many metrics of few points; those of a sweep stand by metric.
    by_point = len(evidence.plan.points) < min(len({metric.name for metric in metrics}), 3)
    groups = _groups(evidence, units, took, by_point)
    names = dict.fromkeys(name for metric in metrics for name in metric.percentiles_s)
    return {
        'head': 'metric' if by_point else 'point',
        'figures': f'{DIMENSIONS.get(one, "figure")}, {units[one].name}' if len(units) == 1 else 'figure',
        'styled_rows': by_point == has_metric_lines(evidence.plan),  # the rows of a group differ in their style
        'groups': groups,
        # Those that are metrics themselves have rows.
        'percentiles': [name for name in names if not any(metric.name.endswith(f'_{name}') for metric in metrics)],
        'percentile_unit': common_unit(timed, 's', system),
        'listing_unit': common_unit([listing.seconds for listing in took.values()], 's', system) if took else NUMBER,
        'fair': any(metric.fairness for metric in metrics),
        'spread': any(metric.summary and metric.summary.n > 1 for metric in metrics),
        'ended': bool({row['stopped'] for _, rows in groups for row in rows} - {'', words.STOPPED['fixed']}),
        'cache': len({metric.cache for metric in metrics if metric.cache}) > 1,  # else the line of the case says it
    }


def _groups(
    evidence: CaseEvidence, units: Mapping[str, Unit], took: Mapping[str, ListingTime], by_point: bool
) -> list[tuple[str, list[dict[str, Any]]]]:
    plan, metrics, end = evidence.plan, evidence.result.metrics, evidence.records.end
    names = {metric.name: words.metric_words(plan.kind, metric, units) for metric in metrics}
    in_words = words.point_words if by_point else words.point_value
    points = {point.label: in_words(plan.axis, point) for point in plan.points}
    style: dict[str, str] = {}
    for sheet in sheets(plan, metrics):
        of_sheet = styles_of(plan, sheet)
        style.update({metric.metric: of_sheet[styled_by(plan, metric)] for metric in sheet})
    rows = [
        {
            'metric': metric,
            'label': names[metric.name] if by_point else points[metric.point],
            'style': style[metric.metric],
            'unit': units[metric.unit],
            'stopped': words.STOPPED.get(end.stopped.get(metric.point, ''), '') if end else '',
            'listing': took.get(metric.metric),
        }
        for metric in metrics
    ]
    headings = (points[metric.point] if by_point else names[metric.name] for metric in metrics)
    return list(by_key(zip(headings, rows, strict=True)).items())


def _guarantees(evidence: CaseEvidence) -> list[tuple[str, Fact | None, ExpectationResult | None]]:
    """Each guarantee with its fact and its expectation: first those that do not hold, then untried ones."""
    tried = {fact.name: fact for fact in evidence.result.facts}
    expected = {expectation.subject: expectation for expectation in evidence.result.expectations}
    rows = [(name, tried.get(name), expected.get(name)) for name in dict.fromkeys([*tried, *expected])]
    return sorted(rows, key=lambda row: (False, None, True).index(row[1].holds if row[1] else None))


class _Compiled(FileSystemBytecodeCache):
    """Compiled templates, beside what Python has compiled; compiling them takes longer than a report."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):  # who may not write there compiles them again, as with Python's
            super().dump_bytecode(bucket)


@cache
def jinja() -> Jinja:
    """The templates; all text in them is escaped."""
    beside = str(Path(words.__file__).parent / '__pycache__')
    environment = Jinja(
        loader=PackageLoader('seatrial.report'),
        bytecode_cache=None if sys.dont_write_bytecode else _Compiled(beside),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: words.clean(value) if type(value) is str else value,
    )
    named = (figures.figure, figures.percent, figures.seconds, figures.brief, words.cut, words.listed, grouped, px)
    environment.filters.update({function.__name__: function for function in named})
    environment.filters.update(size=approximate_size, mean=fmean, humps=_humps, rule=_rule)
    environment.globals.update(words=words, count=counted, Unit=Unit, HERE=_HERE, MET=_MET, DESCRIBED=DESCRIBED)
    environment.globals.update(PAPERS=PAPERS, drawn=drawn, marker=marker, common_unit=common_unit, kind_of=kind_of)
    environment.globals.update(CRITERIA_SHOWN=CRITERIA_SHOWN, CAVEATS_SHOWN=CAVEATS_SHOWN)
    return environment


def _humps(name: str) -> Markup:
    """The name of a check, which may be broken between its words: SharedFile|Strided|Sizes."""
    return Markup('<wbr>').join(escape(part) for part in re.split('(?<=[a-z0-9])(?=[A-Z])', words.clean(name)))


def _rule(label: str) -> tuple[str, str, str]:
    """The rule that begins a label, if one does, the colon, and the sentence."""
    return label.partition(': ') if label.partition(':')[0].isalnum() else ('', '', label)


_HERE = {HOLDS: 'it holds here', FAILS: 'it does not hold here', UNDECIDED: 'it is undecided here'}
