"""The protocol of an acceptance, and results.json, summary.md, junit.xml and the first page of its bundle: what
stands in them, and in which words."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import datetime, timezone
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seatrial.judge.criteria import Attempt, Criterion, judge_contract
from seatrial.judge.verdict import Verdict
from seatrial.report.acceptance.protocol import (
    Protocol,
    ProtocolRow,
    Remark,
    counts,
    front,
    protocol,
    results,
    summary,
)
from seatrial.report.junit import junit_of_criteria

AT = datetime(2026, 11, 20, 2, 6, tzinfo=timezone.utc)
SENTENCE = {'text': 'At least 500 GB/s write.', 'written': '500 GB/s', 'unit': 'GB/s'}
CRITERION = Criterion('4.2.1', 500e9, allocations=3, **SENTENCE)


def attempt(number, value, **fields):
    values = tuple(value * (1 + 0.01 * (-1) ** n) for n in range(6))
    return Attempt(f's{number}', AT, (f'node{number}', 'node9'), values, engine='fio 3.33', **fields)


def thrice(value, **fields):
    return [attempt(number, value, **fields) for number in range(3)]


ATTEMPTS = [attempt(1, 520e9), attempt(2, 530e9, why_not='P16: too small'), attempt(3, 525e9), attempt(4, 522e9)]


def row(criterion=CRITERION, attempts=ATTEMPTS, **fields):
    given_ = {'unit': 'GB/s', 'base': 'B/s'}
    outcome = judge_contract([criterion], {criterion.id: attempts})[criterion.id]
    return ProtocolRow(criterion=criterion, outcome=outcome, attempts=attempts, **{**given_, **fields})


def made(*rows, **fields):
    given_ = {
        'title': 'Acceptance of scratch',
        'date': '2026-06-30',
        'parties': {'customer': 'Pelagia', 'supplier': 'Tidewater'},
        'rule': 'every valid allocation',
        'site': 'pelagia',
        'seatrial': '1.0',
        'made': AT,
        'verdict': Verdict.PASS,
        'milestones': {'M1': 'one client'},
    }
    return Protocol(rows=rows, **{**given_, **fields})


def text_of(page):
    return ' '.join(re.sub(r'<[^>]*>', ' ', page.partition('<body>')[2]).split())


def test_a_criterion_stands_with_its_margin_and_the_nodes_of_every_allocation_above_a_line_to_sign_for_every_party():
    page = text_of(protocol(made(row())))
    assert all(text in page for text in ('At least 500 GB/s write.', '522 GB/s', '+4.5 %', 'Supplier: Tidewater'))
    assert all(f'node{number}, node9' in page for number in (1, 2, 3, 4))
    assert page.count('Name, date and signature') == 2


def test_what_is_undecided_has_no_margin_and_one_of_many_times_the_bound_is_said_so():
    for figures in ([5000e9], [499e9, 501e9, 500e9], [100e9, 900e9, 5000e9], []):
        one = row(attempts=[attempt(n, figure) for n, figure in enumerate(figures)])
        assert (one.verdict, one.margin) == (Verdict.INCONCLUSIVE, '\u2013')
    assert [row(attempts=thrice(rate)).margin for rate in (4e12, 10.5e12)] == ['+700 %', '21 times']


def test_what_does_not_count_is_listed_with_its_reason_and_no_figure():
    one = row()
    assert one.standing(ATTEMPTS[1]) == 'P16: too small'
    assert (one.figure_of(ATTEMPTS[1]), one.figure_of(ATTEMPTS[0])) == ('\u2013', '520 GB/s')
    assert 'P16: too small' in text_of(protocol(made(one)))


def test_a_bandwidth_stands_in_the_other_system_of_units_too_and_a_percentage_as_what_it_comes_to():
    assert row().wanted_in_full == 'at least 500 GB/s (466 GiB/s)'
    binary = row(replace(CRITERION, bound=2.0**39, written='512 GiB/s'), unit='GiB/s')
    assert binary.wanted_in_full == 'at least 512 GiB/s (550 GB/s)'
    of = Criterion('4.2.4', 0.7, of='4.2.1', written='70 % of 4.2.1', unit='%')
    outcome = judge_contract([CRITERION, of], {'4.2.1': ATTEMPTS, '4.2.4': [attempt(5, 400e9)]})['4.2.4']
    assert ProtocolRow(of, outcome, 'GB/s', 'B/s').wanted_in_full == 'at least 70 % of 4.2.1, which is 366 GB/s'


def test_the_first_page_has_the_caveats_of_most_criteria_whose_figures_count():
    spoken = [row(replace(CRITERION, id=f'4.2.{n}'), thrice(520e9, caveat=f'caveat {"abcdd"[n]}')) for n in range(5)]
    page = text_of(protocol(made(*spoken, row(attempts=[attempt(1, 520e9, caveat='not counted', why_not='P16')]))))
    first = page.partition('Caveats ')[2].partition(' 4.2.0 ')[0]
    assert first.startswith('4.2.3, 4.2.4: caveat d 4.2.0: caveat a 4.2.1: caveat b')
    assert 'caveat c' not in first and 'not counted' not in first


def test_caveats_that_differ_in_figures_alone_are_one_with_their_range():
    spoken = [
        row(replace(CRITERION, id=f'4.2.{n}'), [attempt(1, 520e9, caveat=f'P16: {n}.5 s is short')]) for n in range(3)
    ]
    assert made(*spoken).caveats == [('P16: 0.5 to 2.5 s is short', ['4.2.0', '4.2.1', '4.2.2'])]


def test_a_figure_never_looks_like_the_bound_that_it_misses():
    assert [row(attempts=[attempt(1, at)]).measured for at in (499.996e9, 520e9)] == ['499.996 GB/s', '520 GB/s']


def test_waivers_are_counted_and_change_no_verdict():
    waiver = Remark(True, 'Repaired in August.', 'J. Kern', AT)
    slow = row(replace(CRITERION, allocations=1), [attempt(1, 300e9)], remarks=[waiver])
    assert (slow.verdict, counts([slow, row()])) == (Verdict.FAIL, '1 met, 1 missed (1 waived)')
    assert 'Repaired in August.' in text_of(protocol(made(slow, verdict=Verdict.FAIL)))


@settings(max_examples=25)
@given(st.text(min_size=1, max_size=30).map(lambda text: f'a{text}z'))
@example('</style><script>alert(1)</script>')
@example('"><img src=http://x onerror=y>')
@example('{{ 7 * 7 }}')
def test_no_text_changes_the_structure_of_the_protocol(text):
    def structure(word):
        remark = Remark(True, word, word, AT)
        one = Attempt(word, AT, (word,), ATTEMPTS[0].values, word, why_not=word, caveat=word)
        criterion = replace(CRITERION, text=word, written=word, milestone='M1')
        hostile = row(criterion, [one], remarks=[remark], setup=[(word, word)])
        page = protocol(made(hostile, title=word, parties={word: word}, site=word, milestones={'M1': word}))
        return re.findall(r'</?[a-z0-9]+', page)

    assert structure(text) == structure('plain')


@pytest.mark.needs('chromium')
def test_it_prints_on_a4_without_scripts(tmp_path):
    page = tmp_path / 'protocol.html'
    page.write_text(protocol(made(row(), row())))
    assert '<script' not in page.read_text()
    out = tmp_path / 'protocol.pdf'
    options = [f'--user-data-dir={tmp_path / "profile"}', f'--print-to-pdf={out}', page.as_uri()]
    argv = [shutil.which('chromium'), '--headless', '--no-sandbox', '--disable-gpu', *options]
    subprocess.run(argv, check=True, capture_output=True, timeout=300)
    # In points of 1/72 inch: A4 is 210 x 297 mm.
    boxes = re.findall(rb'/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]', out.read_bytes())
    assert boxes
    assert all(abs(float(w) - 595.3) < 1 and abs(float(h) - 841.9) < 1 for w, h in boxes)


# The files for programs, and the first page of the bundle

ROUNDED = (200.0, 202.0, 201.0, 200.0, 202.0, 201.0)
BOUNDS = {'1': {'bound': 100.0}, '2': {'bound': 900.0}, '3': {'bound': 0.5, 'of': '1', 'allocations': 2}}
BOUNDS['4'] = {'bound': 1.0, 'observed': True}
SMALL = [Criterion(id, text=f'Criterion | {id}.', written='100 B/s', **fields) for id, fields in BOUNDS.items()]
OF_SMALL = {
    '1': [Attempt('s1', AT, ('node1',), ROUNDED, engine='fio 3.33')],
    '2': [
        Attempt('s1', AT, ('node1',), (float('inf'),) * 6, why_not='P16: too small'),
        Attempt('s2', AT, (), (200.0,) * 6),
    ],
    '3': [Attempt('s3', AT, ('node1',), (90.0,) * 6)],
}


@pytest.fixture(scope='module')
def small():
    """Four criteria, one of each verdict and one that no check measures; the one that is missed is waived."""
    outcomes = judge_contract(SMALL, OF_SMALL)
    remarks = {'2': [Remark(True, 'Agreed | *so*.', 'J. Kern', AT)]}
    rows = [
        ProtocolRow(one, outcomes[one.id], 'B/s', 'B/s', (), OF_SMALL.get(one.id, ()), remarks.get(one.id, ()))
        for one in SMALL
    ]
    return made(*rows, title='Scratch <b>', verdict=Verdict.FAIL, milestones={})


def test_results_are_of_the_schema_and_have_every_allocation_with_its_reason(repository, small):
    result = json.loads(results(small))
    jsonschema.validate(result, json.loads((repository / 'docs' / 'reference' / 'results.schema.json').read_text()))
    assert (result['schema'], result['verdict']) == (1, 'FAIL')
    one, two, three, four = result['criteria']
    assert [criterion['verdict'] for criterion in result['criteria']] == ['met', 'missed', 'undecided', 'undecided']
    assert (one['figure'], one['allocations'][0]['nodes']) == (201.0, ['node1'])
    assert [allocation['why_not'] for allocation in two['allocations']] == ['P16: too small', '']
    assert (two['remarks'][0]['waives'], three['further'], four['figure']) == (True, 1, None)


def test_the_summary_has_a_row_a_criterion_and_escapes_what_people_wrote(small):
    text = summary(small)
    assert text.startswith('# FAIL: Scratch \\<b\\>\n')
    rows = [line for line in text.splitlines() if line.startswith('| ')][1:]
    assert [row.split(' | ')[0] for row in rows] == ['| PASS', '| FAIL (waived)', '| INCONCLUSIVE', '| INCONCLUSIVE']


def test_junit_is_green_for_what_is_met_alone(small):
    suite = ElementTree.fromstring(junit_of_criteria(small))
    assert (suite.get('tests'), suite.get('failures'), suite.get('errors')) == ('4', '3', '0')
    types = [[one.get('type') for one in case.findall('failure')] for case in suite.iter('testcase')]
    assert types == [[], ['FAIL'], ['INCONCLUSIVE'], ['INCONCLUSIVE']]
    assert 'waived by J. Kern' in ElementTree.tostring(suite, encoding='unicode')


def test_the_first_page_escapes_what_comes_from_elsewhere(small):
    texts = {'measured': '<b>Check', 'state': '<i>worn', 'why': 'P16: <u>too short', 'report': '"x'}
    one = {'session': 's1', 'began': AT, 'verdict': Verdict.INVALID, 'criteria': small.rows[:1], **texts}
    text = front(small, [one], {'a<.csv': 'rows'}, 'protocol.html')
    assert not any(tag in text for tag in ('<b>', '<i>', '<u>', 'a<.csv', 'href=""x'))
    assert 'INVALID' in text and 'too short' in text
