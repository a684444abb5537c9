from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.judge.expectations import CurveRatio
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.units import DECIMAL
from seatrial.report.junit import junit


def suite_of(evidence):
    return ElementTree.fromstring(junit(evidence)).find('testsuite')


@pytest.fixture(scope='module')
def varied(make):
    return make.varied()


def passing(make, *names):
    return [make.measured(make.plan(name)) for name in names]


def test_every_planned_case_is_one_test_case_and_they_are_counted(varied):
    suite = suite_of(varied)
    names = [case.get('name') for case in suite.iter('testcase')]
    assert names == [case.case.name for case in varied.result.cases]
    counted = [str(len(list(suite.iter(tag)))) for tag in ('testcase', 'failure', 'error')]
    assert [suite.get(name) for name in ('tests', 'failures', 'errors')] == counted == ['6', '2', '3']


def test_a_verdict_that_is_no_pass_is_a_failure_or_an_error_with_its_reasons(varied):
    kinds = {'FAIL': 'failure', 'INCONCLUSIVE': 'failure', 'INVALID': 'error', 'INCOMPLETE': 'error'}
    elements = zip(varied.result.cases, suite_of(varied).iter('testcase'), strict=True)
    faults = {
        (case.verdict.value, child.tag, child.get('type'))
        for case, element in elements
        for child in element
        if child.get('type')
    }
    assert faults == {(verdict, kind, verdict) for verdict, kind in kinds.items()}
    error = next(suite_of(varied).iter('error'))
    assert error.get('message') == varied.result.cases[2].reasons[0]
    assert error.text.splitlines() == list(varied.result.cases[2].reasons)


def test_a_case_that_was_compared_with_nothing_is_skipped_with_the_reason(make):
    suite = suite_of(make.session(*passing(make, 'A', 'B')))
    messages = [skipped.get('message') for skipped in suite.iter('skipped')]
    assert messages == ['MEASURED: measured and valid; no pass criterion is set'] * 2
    assert (suite.get('skipped'), suite.get('failures'), suite.get('errors')) == ('2', '0', '0')


@pytest.mark.parametrize(('times', 'verdict'), [(2.0, 'FAIL'), (1.0, 'INCONCLUSIVE')])
def test_an_enforced_relation_is_a_test_case_of_its_own(make, times, verdict):
    cases = passing(make, 'One', 'Other')
    pair = CurveRatio(id='L', words='w', source='s', metric='write', of='Other', lowest=times)
    session = make.session(*cases, criteria={cases[0].plan.case: Criteria((pair,), frozenset({'L'}))})
    assert session.result.verdict.value == verdict
    relation = list(suite_of(session).iter('testcase'))[-1]
    assert (relation.get('classname'), relation.find('failure').get('type')) == ('relations', verdict)


def test_a_relation_that_is_context_and_what_the_reader_must_know_are_properties(varied):
    properties = [(entry.get('name'), entry.get('value')) for entry in suite_of(varied).find('properties')]
    assert [name for name, _ in properties].count('relation') == 1
    assert [value for name, value in properties if name == 'notice'] == list(varied.notices)


def test_nothing_is_red_if_and_only_if_nothing_speaks_against_the_session(make):
    session = make.session(*passing(make, 'A'))
    for verdict in Verdict:
        suite = suite_of(make.with_result(session, verdict=verdict))
        assert (suite.get('failures') == suite.get('errors') == '0') == verdict.unopposed
    assert [child.tag for child in suite_of(make.session()).find('testcase')] == ['error'], 'there is no case'


@settings(max_examples=50)
@given(st.text())
def test_no_text_breaks_the_xml(make, text):
    session = make.session(*passing(make, f'A{text}'), notices=(text,), label=text)
    result = replace(session.result.cases[0], reasons=(text,), labels=(text,), verdict=Verdict.FAIL)
    case = replace(session.cases[0], result=result)
    suite = suite_of(replace(session, site=text, cases=[case]))
    assert len(list(suite.iter('failure'))) == 1
    junit(session).encode('utf-8')


@pytest.fixture(scope='module')
def properties(make):
    cases = suite_of(make.metadata()).iter('testcase')
    return {case.get('name'): {p.get('name'): p.get('value') for p in case.iter('property')} for case in cases}


@pytest.mark.parametrize(
    ('case', 'name', 'value'),
    [
        ('FileMetadata', 'file_create@shared', 'MEASURED: mean 9000 op/s, n = 6'),
        ('FileMetadata', 'file_create, private / shared', '1.50 (1.49 - 1.51)'),
        ('PosixOperations', 'mkdir@shared', 'MEASURED: mean 3000 op/s, n = 6, p50 333 \u00b5s, p99.9 3.00 ms'),
        ('AttributeCache', 'ls_first@891', 'MEASURED: mean 1910 op/s, n = 6'),
        ('PosixSemantics', 'read_after_close', 'holds: the other task read 4096 bytes of 4096'),
        ('PosixSemantics', 'direct_io', 'not tried: open(2) with O_DIRECT: Invalid argument'),
    ],
)
def test_what_metadata_checks_found_are_properties(properties, case, name, value):
    assert properties[f'{case}/cluster:compute/scratch/default/1n'][name] == value


def test_a_site_that_shows_decimal_units_has_them_here_too(make):
    suite = suite_of(replace(make.session(*passing(make, 'A')), units=DECIMAL))
    properties = {entry.get('name'): entry.get('value') for entry in suite.find('testcase').iter('property')}
    assert properties['read@8MiB'] == 'MEASURED: mean 1.05 GB/s, n = 6'
