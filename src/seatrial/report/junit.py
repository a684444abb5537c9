"""JUnit XML for continuous integration: one test case for each planned case. FAIL is a failure. INVALID and
INCOMPLETE are errors, so that an aborted or missing case never passes. INCONCLUSIVE is a failure of that type, since
readers show 'skipped' as green, but an undecided case is no success. All cases are green if the session is a PASS."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from xml.etree import ElementTree

from seatrial.judge.verdict import MetricResult, Verdict, of_relation
from seatrial.report import words
from seatrial.report.acceptance.protocol import Protocol, counts
from seatrial.report.evidence import CaseEvidence, SessionEvidence
from seatrial.report.figures import brief
from seatrial.report.session.ratios import contentions

_HOLDS = {True: 'holds', False: 'does not hold', None: 'not tried'}


def junit(evidence: SessionEvidence) -> str:
    """The XML of a session. Times in seconds; figures of the metrics are properties of their test case."""
    result = evidence.result
    cases = [_case(case, evidence.units) for case in evidence.cases]
    relations = [(f'{one.id}: {one.subject}', one.relation, one.enforced) for one in result.relations]
    cases += [
        _testcase(name, 'relations', of_relation(relation), [relation.sentence])
        for name, relation, enforced in relations
        if enforced
    ]
    shown = any(case.find(kind) is not None for case in cases for kind in ('failure', 'error'))
    if result.left_out or not (result.verdict.unopposed or shown):
        reasons = [words.verdict_sentence(result), *result.left_out]
        cases.append(_testcase('session', 'session', result.verdict, reasons))
    lasted = words.lasted(evidence)
    properties = [
        ('session', result.session),
        ('site', evidence.site),
        ('profile', evidence.label),
        ('verdict', result.verdict.value),
        ('counts', words.counts(result)),
        ('seatrial', evidence.seatrial),
        *(('notice', notice) for notice in evidence.notices),
        *(('relation', f'{name}: {relation.sentence}') for name, relation, enforced in relations if not enforced),
    ]
    return _suite(cases, evidence.site, evidence.began, lasted.total_seconds() if lasted else 0, properties)


def junit_of_criteria(page: Protocol) -> str:
    """The XML of an acceptance: one test case for each criterion. A waived failure is still a failure."""
    cases = []
    for row in page.rows:
        name, milestone = f'{row.criterion.id}: {row.criterion.text}', row.criterion.milestone or 'contract'
        figures = (('wanted', row.criterion.wanted), ('measured', row.measured), ('margin', row.margin))
        why = row.outcome.why or f'{row.measured}, but {row.criterion.wanted} is required'
        reasons = [why, *(f'waived by {remark.by}' for remark in row.remarks if remark.waives)]
        cases.append(_testcase(name, milestone, row.verdict, reasons, figures))
    properties = [('title', page.title), ('verdict', page.verdict.value), ('counts', counts(page.rows))]
    return _suite(cases, page.site, page.made, 0, [*properties, ('seatrial', page.seatrial)])


def _suite(
    cases: Sequence[ElementTree.Element],
    site: str,
    began: datetime,
    seconds: float,
    properties: Iterable[tuple[str, str]],
) -> str:
    kinds = {'failures': 'failure', 'errors': 'error', 'skipped': 'skipped'}
    faults = {name: str(sum(case.find(kind) is not None for case in cases)) for name, kind in kinds.items()}
    totals = {'tests': str(len(cases)), **faults, 'time': f'{seconds:.3f}'}
    root = ElementTree.Element('testsuites', {'name': 'seatrial', **totals})
    timestamp = began.replace(tzinfo=None).isoformat(timespec='seconds')
    attributes = {'name': f'seatrial {words.clean(site)}', **totals, 'timestamp': timestamp}
    suite = ElementTree.SubElement(root, 'testsuite', attributes)
    _properties(suite, properties)
    suite.extend(cases)
    ElementTree.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ElementTree.tostring(root, encoding='unicode')}\n"


def _case(evidence: CaseEvidence, system: str) -> ElementTree.Element:
    case = evidence.result
    properties = [('verdict', case.verdict.value), ('engine', words.engine(case)), ('host', case.host)]
    properties += [(metric.metric, _figures(metric, system)) for metric in case.metrics]
    for pair in contentions(evidence.plan, case):
        properties += [(f'{name}, {pair.over} / {pair.under}', ratio.words) for name, ratio in pair.ratios.items()]
    properties += [(fact.name, f'{_HOLDS[fact.holds]}: {fact.seen}') for fact in case.facts]
    element = _testcase(case.case.name, case.case.check, case.verdict, case.reasons, properties, case.duration_s)
    lines = [*case.labels, *([f'contents {case.verified}'] if case.verified else [])]
    if lines:
        ElementTree.SubElement(element, 'system-out').text = words.clean('\n'.join(lines))
    return element


def _testcase(
    name: str,
    classname: str,
    verdict: Verdict,
    reasons: Sequence[str],
    properties: Sequence[tuple[str, str]] = (),
    duration_s: float | None = None,
) -> ElementTree.Element:
    attributes = {'name': words.clean(name), 'classname': words.clean(classname), 'time': f'{duration_s or 0:.3f}'}
    element = ElementTree.Element('testcase', attributes)
    if properties:
        _properties(element, properties)
    if verdict is Verdict.MEASURED:
        ElementTree.SubElement(element, 'skipped', {'message': f'{verdict.value}: {words.NOTHING_COMPARED}'})
    elif verdict is not Verdict.PASS:
        kind = 'error' if verdict in (Verdict.INVALID, Verdict.INCOMPLETE) else 'failure'
        fault = {'type': verdict.value, 'message': words.clean(reasons[0] if reasons else verdict.value)}
        ElementTree.SubElement(element, kind, fault).text = words.clean('\n'.join(reasons))
    return element


def _properties(element: ElementTree.Element, rows: Iterable[tuple[str, str]]) -> None:
    properties = ElementTree.SubElement(element, 'properties')
    for name, value in rows:
        ElementTree.SubElement(properties, 'property', {'name': words.clean(name), 'value': words.clean(value)})


def _figures(metric: MetricResult, system: str) -> str:
    summary = metric.summary
    if summary is None:
        return f'{metric.verdict.value}: not measured'
    latencies = ''.join(f', {name} {brief(seconds)}' for name, seconds in metric.percentiles_s.items())
    mean = brief(summary.mean, metric.unit, system)
    return f'{metric.verdict.value}: mean {mean}, n = {summary.n}{latencies}'
