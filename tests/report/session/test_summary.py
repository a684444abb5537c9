import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.judge.verdict import Verdict
from seatrial.report.junit import junit
from seatrial.report.session.page import page
from seatrial.report.session.summary import markdown


@pytest.fixture(scope='module')
def text(make):
    return markdown(make.varied())


@pytest.mark.parametrize(
    'line',
    [
        '**Note:** results.json of this session says PASS',
        '- Measured with fio 3.33 (5 cases), no engine (1 case); skipped: ior: not installed (ior)',
        '- On node1, Linux 6.1.0',
        'cluster:compute/scratch/default/1n | 500 \u2013 1000 | 1050 \u2013 2050 |',
        '- MultipleFilesTasks: T15: the job never started',
        '- criterion L09-03: ',
        '- references: 4 inside, 2 outside; at most 0.3 of them FAIL by chance',
        '- context, which decides no verdict: what the literature found, here: holds 1, fails 2, undecided 0',
    ],
)
def test_the_summary_says(text, line):
    assert line in text


def test_the_verdict_is_the_first_line_and_every_planned_case_a_row(text):
    cases = text.partition('| verdict |')[2]
    rows = [line.split(' | ')[0] for line in cases.splitlines() if line.startswith('| ')]
    assert rows == ['| PASS', '| FAIL', '| INVALID', '| INCONCLUSIVE', '| INCOMPLETE', '| INCOMPLETE']
    assert text.startswith('# FAIL\n') and len(text.splitlines()) < 50


def test_the_reasons_of_the_worst_verdict_are_the_first(text):
    checks = ' '.join(dict.fromkeys(re.findall(r'^- ([A-Z]\w+): ', text, re.MULTILINE)))
    first = 'SharedFileStridedTasks SharedFileContiguousSizes MultipleFilesTasks'
    assert checks == f'{first} SingleFileWholeAccessTasks SingleFileWholeAccess'


@settings(max_examples=50)
@given(st.text())
def test_no_text_makes_a_row_or_a_tag_or_a_link(make, text):
    plan = make.plan(f'Check{text}')
    case = make.measured(plan)
    plain = make.session(case, notices=('x',), label='x')
    hostile = make.session(case, notices=(f'x{text}',), label=f'x{text}')
    result = replace(case.result, reasons=(f'x{text}',), verdict=Verdict.FAIL)
    judged = replace(hostile.result, cases=(result,))
    outcome = markdown(replace(hostile, site=f'x{text}', result=judged, cases=[replace(case, result=result)]))
    assert len(outcome.splitlines()) == len(markdown(plain).splitlines()) + 2
    assert not re.search(r'(?<!\\)(?:\\\\)*[<\[`]', outcome)
    row = next(line for line in outcome.splitlines() if line.startswith('| FAIL'))
    assert len(re.findall(r'(?<!\\)(?:\\\\)*\|', row)) == 5


@pytest.fixture(scope='module')
def metadata(make):
    return markdown(make.metadata())


@pytest.mark.parametrize(
    'line',
    [
        '| verdict | case | create op/s | stat op/s | read op/s | remove op/s |\n|---|---|---:|---:|---:|---:|',
        '| MEASURED | FileMetadata/cluster:compute/vol0/default/1n | 270 \u2013 405 | 2400 \u2013 3600 cached | ',
        '| MEASURED | AttributeCache/cluster:compute/scratch/default/1n | 1910 | 27\u202f000 |',
        '| MEASURED | PosixSemantics/cluster:compute/vol0/default/1n | 1 of 3 |',
        '- FileMetadata/cluster:compute/scratch/default/1n: private / shared: file\\_create 1.50 (1.49 - 1.51), ',
        'listing again, 33.0 ms: 14.1 (14.0 - 14.2) times as fast. Still cached after 2 s without a call, and lost',
        '1 of 3 guarantees hold; flock does not; direct\\_io was not tried',
    ],
)
def test_the_summary_of_metadata_says(metadata, line):
    assert line in metadata


def test_no_table_has_two_units(metadata):
    heads = [line for line in metadata.splitlines() if line.startswith('| verdict')]
    assert [sum(unit in head for unit in ('MiB/s', 'op/s', 'guarantees')) for head in heads] == [1] * 4


def test_every_form_of_the_report_says_how_much_content_was_verified(make):
    case = make.measured()
    text = 'verified: 64 MiB of 64 MiB in 2 files, read by n2, past its cache'
    evidence = make.session(make.with_result(case, verified=text))
    assert f'contents {text}' in markdown(evidence) and f'contents {text}' in junit(evidence)
    assert text in page(evidence)
