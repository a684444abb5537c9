"""The protocol of an acceptance: what stands in it, and in which words."""

import re
import shutil
import subprocess
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seatrial.judge.criteria import Attempt, Criterion, judge_contract
from seatrial.judge.verdict import Verdict
from seatrial.report.acceptance.protocol import Protocol, ProtocolRow, Remark, counts, protocol

AT = datetime(2026, 11, 20, 2, 6, tzinfo=timezone.utc)
SENTENCE = {'text': 'At least 500 GB/s write.', 'written': '500 GB/s', 'unit': 'GB/s'}
CRITERION = Criterion('4.2.1', 500e9, allocations=3, **SENTENCE)


def attempt(number, value, **fields):
    values = tuple(value * (1 + 0.01 * (-1) ** n) for n in range(6))
    return Attempt(f's{number}', AT, (f'node{number}', 'node9'), values, engine='fio 3.33', **fields)


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


def test_a_criterion_is_met_with_its_margin_and_the_nodes_of_every_allocation():
    page = text_of(protocol(made(row())))
    assert 'At least 500 GB/s write.' in page
    assert '522 GB/s' in page
    assert '+4.5 %' in page
    assert all(f'node{number}, node9' in page for number in (1, 2, 3, 4))


@pytest.mark.parametrize('figures', [[5000e9], [499e9, 501e9, 500e9], [100e9, 900e9, 5000e9], []])
def test_what_is_undecided_has_no_margin(figures):
    one = row(attempts=[attempt(n, figure) for n, figure in enumerate(figures)])
    assert (one.verdict, one.margin) == (Verdict.INCONCLUSIVE, '\u2013')


def test_a_margin_of_many_times_the_bound_is_said_so():
    assert [row(attempts=[attempt(n, rate) for n in range(3)]).margin for rate in (4e12, 10.5e12)] == [
        '+700 %',
        '21 times',
    ]


def test_what_does_not_count_is_listed_with_its_reason_and_no_figure():
    one = row()
    assert one.standing(ATTEMPTS[1]) == 'P16: too small'
    assert (one.figure_of(ATTEMPTS[1]), one.figure_of(ATTEMPTS[0])) == ('\u2013', '520 GB/s')
    assert 'P16: too small' in text_of(protocol(made(one)))


def test_a_bandwidth_stands_in_the_other_system_of_units_too():
    assert row().wanted_in_full == 'at least 500 GB/s (466 GiB/s)'
    binary = row(replace(CRITERION, bound=2.0**39, written='512 GiB/s'), unit='GiB/s')
    assert binary.wanted_in_full == 'at least 512 GiB/s (550 GB/s)'


def test_the_first_page_has_the_caveats_of_most_criteria_whose_figures_count():
    spoken = [
        row(
            replace(CRITERION, id=f'4.2.{n}'),
            [attempt(m, 520e9, caveat=f'caveat {"abcd"[min(n, 3)]}') for m in range(3)],
        )
        for n in range(5)
    ]
    page = text_of(protocol(made(*spoken, row(attempts=[attempt(1, 520e9, caveat='not counted', why_not='P16')]))))
    first = page.partition('Caveats ')[2].partition(' 4.2.0 ')[0]
    assert first.startswith('4.2.3, 4.2.4: caveat d 4.2.0: caveat a 4.2.1: caveat b')
    assert 'caveat c' not in first and 'not counted' not in first


def test_caveats_that_differ_in_figures_alone_are_one_with_their_range():
    spoken = [
        row(replace(CRITERION, id=f'4.2.{n}'), [attempt(1, 520e9, caveat=f'P16: {n}.5 s is short')]) for n in range(3)
    ]
    assert made(*spoken).caveats == [('P16: 0.5 to 2.5 s is short', ['4.2.0', '4.2.1', '4.2.2'])]


def test_of_a_percentage_it_is_said_what_it_comes_to():
    of = Criterion('4.2.4', 0.7, of='4.2.1', written='70 % of 4.2.1', unit='%')
    measured = {'4.2.1': ATTEMPTS, '4.2.4': [attempt(5, 400e9)]}
    outcome = judge_contract([CRITERION, of], measured)['4.2.4']
    one = ProtocolRow(of, outcome, 'GB/s', 'B/s')
    assert one.wanted_in_full == 'at least 70 % of 4.2.1, which is 366 GB/s'


def test_a_figure_never_looks_like_the_bound_that_it_misses():
    assert row(attempts=[attempt(1, 499.996e9)]).measured == '499.996 GB/s'
    assert row(attempts=[attempt(1, 520e9)]).measured == '520 GB/s'


def test_waivers_are_counted_and_change_no_verdict():
    waiver = Remark(True, 'Repaired in August.', 'J. Kern', AT)
    slow = row(replace(CRITERION, allocations=1), [attempt(1, 300e9)], remarks=[waiver])
    assert (slow.verdict, counts([slow, row()])) == (Verdict.FAIL, '1 met, 1 missed (1 waived)')
    assert 'Repaired in August.' in text_of(protocol(made(slow, verdict=Verdict.FAIL)))


def test_every_party_has_a_line_to_sign():
    page = text_of(protocol(made(row())))
    assert page.count('Name, date and signature') == 2
    assert 'Supplier: Tidewater' in page


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
    argv = [
        shutil.which('chromium'),
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        f'--user-data-dir={tmp_path / "profile"}',
        f'--print-to-pdf={out}',
        page.as_uri(),
    ]
    subprocess.run(argv, check=True, capture_output=True, timeout=300)
    # In points of 1/72 inch: A4 is 210 x 297 mm.
    boxes = re.findall(rb'/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]', out.read_bytes())
    assert boxes
    assert all(abs(float(w) - 595.3) < 1 and abs(float(h) - 841.9) < 1 for w, h in boxes)
