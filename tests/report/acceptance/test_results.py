"""results.json, summary.md and junit.xml of an acceptance: what stands in them."""

import json
from dataclasses import replace
from datetime import datetime, timezone
from xml.etree import ElementTree

import jsonschema

from seatrial.judge.criteria import Attempt, Criterion, judge_contract
from seatrial.judge.verdict import Verdict
from seatrial.report.acceptance.protocol import Protocol, ProtocolRow, Remark, front
from seatrial.report.acceptance.results import results, summary
from seatrial.report.junit import junit_of_criteria

AT = datetime(2026, 11, 20, 2, 6, tzinfo=timezone.utc)
CRITERIA = (
    Criterion('1', 100.0),
    Criterion('2', 900.0),
    Criterion('3', 0.5, of='1', allocations=2),
    Criterion('4', 1.0, observed=True),
)
ATTEMPTS = {
    '1': [Attempt('s1', AT, ('node1',), (200.0, 202.0, 201.0, 200.0, 202.0, 201.0), engine='fio 3.33')],
    '2': [
        Attempt('s1', AT, ('node1',), (float('inf'),) * 6, why_not='P16: too small'),
        Attempt('s2', AT, (), (200.0,) * 6),
    ],
    '3': [Attempt('s3', AT, ('node1',), (90.0,) * 6)],
}
REMARK = Remark(True, 'Agreed | *so*.', 'J. Kern', AT)


def page():
    outcomes = judge_contract(CRITERIA, ATTEMPTS)
    rows = [
        ProtocolRow(
            criterion=replace(criterion, text=f'Criterion | {criterion.id}.', written='100 B/s'),
            outcome=outcomes[criterion.id],
            unit='B/s',
            base='B/s',
            attempts=ATTEMPTS.get(criterion.id, ()),
            remarks=[REMARK] if criterion.id == '2' else [],
        )
        for criterion in CRITERIA
    ]
    parties = {'customer': 'Pelagia'}
    return Protocol('Scratch <b>', '2026-06-30', parties, 'every', 'site', '1.0', AT, Verdict.FAIL, rows, {})


def test_results_are_of_the_schema_and_have_every_allocation_with_its_reason(repository):
    result = json.loads(results(page()))
    jsonschema.validate(result, json.loads((repository / 'docs' / 'reference' / 'results.schema.json').read_text()))
    assert (result['schema'], result['verdict']) == (1, 'FAIL')
    one, two, three, four = result['criteria']
    assert [criterion['verdict'] for criterion in result['criteria']] == ['met', 'missed', 'undecided', 'undecided']
    assert (one['figure'], one['allocations'][0]['nodes']) == (201.0, ['node1'])
    assert [allocation['why_not'] for allocation in two['allocations']] == ['P16: too small', '']
    assert (two['remarks'][0]['waives'], three['further'], four['figure']) == (True, 1, None)


def test_the_summary_has_a_row_a_criterion_and_escapes_what_people_wrote():
    text = summary(page())
    assert text.startswith('# FAIL: Scratch \\<b\\>\n')
    rows = [line for line in text.splitlines() if line.startswith('| ')][1:]
    assert [row.split(' | ')[0] for row in rows] == ['| PASS', '| FAIL (waived)', '| INCONCLUSIVE', '| INCONCLUSIVE']


def test_junit_is_green_for_what_is_met_alone():
    suite = ElementTree.fromstring(junit_of_criteria(page()))
    assert (suite.get('tests'), suite.get('failures'), suite.get('errors')) == ('4', '3', '0')
    types = [[one.get('type') for one in case.findall('failure')] for case in suite.iter('testcase')]
    assert types == [[], ['FAIL'], ['INCONCLUSIVE'], ['INCONCLUSIVE']]
    assert 'waived by J. Kern' in ElementTree.tostring(suite, encoding='unicode')


def test_the_first_page_escapes_what_comes_from_elsewhere():
    texts = {'measured': '<b>Check', 'state': '<i>worn', 'why': 'P16: <u>too short', 'report': '"x'}
    one = {'session': 's1', 'began': AT, 'verdict': Verdict.INVALID, 'criteria': page().rows[:1], **texts}
    text = front(page(), [one], {'a<.csv': 'rows'}, 'protocol.html')
    assert not any(tag in text for tag in ('<b>', '<i>', '<u>', 'a<.csv', 'href=""x'))
    assert 'INVALID' in text and 'too short' in text
