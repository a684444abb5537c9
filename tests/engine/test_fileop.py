"""The reader of fileop's output, on genuine outputs of fileop and of IOzone 3.489, and of fileop of 3.506."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.engine.base import EngineError, Outcome, ProcessTime
from seatrial.engine.fileop import OPERATIONS, parse, read

TRANSCRIPTS = Path(__file__).parents[1] / 'transcripts' / 'iozone'
FACTORS = {'fileop': [2, 4, 6], 'fileop2': [5], 'fileop-fail': [2], 'fileop-3.506': [3]}
IOZONE = ['enospc', 'fail', 'thr']


def text(name):
    return (TRANSCRIPTS / f'{name}.out').read_text()


def outcome(name, stdout=None):
    err = TRANSCRIPTS / f'{name}.err'
    return Outcome(
        (ProcessTime('node1', 0.0, 1.0, int((TRANSCRIPTS / f'{name}.rc').read_text())),),
        (text(name) if stdout is None else stdout,),
        (err.read_text() if err.exists() else '',),
        (),
    )


def refusal(name, stdout=None, there=True, factors=None):
    with pytest.raises(EngineError) as caught:
        read(FACTORS.get(name, [2]) if factors is None else factors, there, outcome(name, stdout))
    return caught.value


def cuts(whole):
    """The text cut short after every line but the last."""
    lines = whole.splitlines(keepends=True)
    return [''.join(lines[:count]) for count in range(len(lines))]


def test_no_transcript_is_left_out():
    assert sorted([*FACTORS, *IOZONE]) == sorted(path.stem for path in TRANSCRIPTS.glob('*.out'))


@pytest.mark.parametrize('name', ['fileop', 'fileop2'])
def test_the_rates_are_those_of_the_table_in_its_order(name):
    printed = [line.split()[2:-1] for line in text(name).splitlines() if line.startswith('A ')]
    rows = read(FACTORS[name], True, outcome(name)).rows
    assert [[str(rate) for rate in row.per_second.values()] for row in rows] == printed


@pytest.mark.parametrize('name', ['fileop', 'fileop2', 'fileop-3.506'])
def test_every_operation_of_the_set_has_a_rate(name):
    rows = read(FACTORS[name], True, outcome(name)).rows
    assert {tuple(row.per_second) for row in rows} == {OPERATIONS}


def test_a_range_of_factors_has_a_row_for_each():
    rows = read([2, 4, 6], True, outcome('fileop')).rows
    assert [(row.kind, row.factor) for row in rows] == [('average', 2), ('average', 4), ('average', 6)]
    assert rows[2].per_second['readdir'] == Decimal(131643)


def test_the_directory_and_the_size_are_told_unless_a_spreadsheet_is_asked_for():
    assert parse(text('fileop2'))[:2] == ('/scratch/trial', 1)
    assert parse(text('fileop'))[:2] == (None, None)


def test_a_directory_that_is_not_there_is_refused_although_fileop_has_rates_and_exits_with_0():
    assert parse(text('fileop-fail')).directory == '/nonexist'
    refused = refusal('fileop-fail', there=False)
    assert refused.rule == 'P15'
    assert 'measured the one it began in' in refused.sentence


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('enospc', "exited with 74: 'write: No space left on device'"),
        ('fail', "exited with 44: 'open: No such file or directory'"),
    ],
)
def test_a_failure_of_iozone_is_refused(name, words):
    refused = refusal(name)
    assert refused.rule == 'E1'
    assert words in refused.sentence


@pytest.mark.parametrize('name', IOZONE)
def test_an_output_of_iozone_itself_is_not_one_of_fileop(name):
    with pytest.raises(EngineError, match='T13: this is not a table of fileop'):
        parse(text(name))


@pytest.mark.parametrize('name', ['fileop', 'fileop2'])
def test_an_output_cut_after_any_line_is_refused(name):
    for cut in cuts(text(name)):
        assert refusal(name, cut).rule in {'T8', 'T13'}


@pytest.mark.parametrize('name', IOZONE)
def test_what_is_refused_stays_refused_when_it_is_cut(name):
    for cut in cuts(text(name)):
        refusal(name, cut)


def test_a_table_cut_after_a_row_lacks_the_later_factors():
    whole = ''.join(text('fileop').splitlines(keepends=True)[:-1])
    assert refusal('fileop', whole).sentence == 'fileop finished the factors [2, 4], where [2, 4, 6] were planned'


@pytest.mark.parametrize('words', ['Mkdir failed', 'readdir failed', 'Error: Data Mis-compare'])
def test_a_complaint_is_quoted(words):
    refused = refusal('fileop2', text('fileop2') + words + '\n')
    assert (refused.rule, refused.sentence) == ('T8', f"fileop exited with 0 and said '{words}'")


@pytest.mark.parametrize(
    ('old', 'new', 'words'),
    [
        ('      125', '      124', '124 files for a factor of 5'),
        ('A    5', 'C    5', 'no row of it'),
        ('A    5', 'A    x', 'no row of it'),
        ('A    5', 'A  inf', 'factor of inf'),
        ('   35204', '   3520x', 'no row of it'),
        ('   35204', '', 'no row of it'),
        ('readdir', 'getdents', 'not a table of fileop'),
        ('Total_files', '', 'not a table of fileop'),
    ],
)
def test_a_table_that_is_damaged_is_refused(old, new, words):
    whole = text('fileop2')
    assert old in whole
    refused = refusal('fileop2', whole.replace(old, new))
    assert refused.rule == 'T13'
    assert words in refused.sentence


def test_the_best_and_the_worst_call_have_rows_of_their_own():
    rows = read([3], True, outcome('fileop-3.506')).rows
    assert [row.kind for row in rows] == ['average', 'best', 'worst']
    assert [row.per_second['mkdir'] for row in rows] == [Decimal(30253), Decimal(33288), Decimal(10980)]


def test_a_call_that_took_no_time_has_an_infinite_rate():
    best = read([3], True, outcome('fileop-3.506')).rows[1]
    infinite = [name for name, rate in best.per_second.items() if not rate.is_finite()]
    assert infinite == ['chdir', 'stat', 'access']


def test_a_table_without_links_is_understood():
    lines = [re.split(r'\s+', line.strip()) for line in text('fileop2').splitlines()[2:]]
    whole = '\n'.join(
        ' '.join(words) for words in ([*lines[0][:-4], *lines[0][-2:]], [*lines[1][:-4], *lines[1][-2:]])
    )
    assert list(parse(whole).rows[0].per_second) == [name for name in OPERATIONS if name not in ('link', 'unlink')]


@given(st.text())
def test_any_text_is_refused_and_breaks_nothing(stdout):
    refusal('fileop2', stdout)
