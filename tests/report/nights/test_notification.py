"""Notifications of a scheduled trial: their contents, and when none is sent."""

import dataclasses
import time
from datetime import datetime, timedelta, timezone

import polars as pl
import pytest

from nights import WHERE, plain, rows, session
from seatrial.judge.compare import BETTER, WORSE, MetricChange
from seatrial.judge.verdict import Verdict
from seatrial.report.comparison.before_after import BeforeAfter, Side
from seatrial.report.nights.nights import AWAITED, DONE, MISSED, RUNNING, DueRun, nights
from seatrial.report.nights.notification import (
    SHOWN,
    UNCOMPARED,
    Notified,
    NotifiedChange,
    TrialWatch,
    aligned,
    news,
    screen,
)
from seatrial.report.nights.trend import Turn

FIRST = datetime(2026, 11, 20, 1, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)
PATIENCE = 3
NOTHING = Notified()
KEY, NEXT = f'Check/{WHERE} write@1', '2026-11-21 01:00'  # the criterion, and the second night


@pytest.fixture(autouse=True)
def greenwich(monkeypatch):
    """The host is in UTC, as times in the texts are in its time zone."""
    monkeypatch.setenv('TZ', 'UTC')
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def watch_of(*tables, runs=(), **others):
    return TrialWatch('site', 'nightly', FIRST + 10 * DAY, nights(tables, 'site', 'nightly'), runs, **others)


def watched(*verdicts, runs=(), **others):
    """A watch over nights of one metric, a day apart; runs: the states of the runs that were due, a day apart."""
    tables = [plain(FIRST + number * DAY, verdict) for number, verdict in enumerate(verdicts)]
    due = [DueRun(FIRST + number * DAY, state) for number, state in enumerate(runs)]
    return watch_of(*tables, runs=due, **others)


def notified(night, missed=None):
    """The record that people were notified of all up to this night, of which the first is 1."""
    return Notified(session(FIRST + (night - 1) * DAY), missed)


def events(watch, known=NOTHING, **others):
    message = news(watch, known, PATIENCE, **others)
    return message.events if message else ()


def screen_lines(watch, word, **others):
    """The lines of the screen beside a word, with those that continue them."""
    lines, on = [], False
    for heading, text in screen(watch, **others):
        on = heading == word or (on and not heading)
        lines += [text] * on
    return lines


NEWS = {
    'a first night that passes': (('PASS',), NOTHING, ()),
    'a first night that fails': (('FAIL',), NOTHING, ('changed',)),
    'a second one that fails alike': (('FAIL', 'FAIL'), notified(1), ()),
    'INCONCLUSIVE tells not whether it still fails': (('FAIL', 'INCONCLUSIVE'), notified(1), ()),
    'nor does INVALID': (('FAIL', 'INVALID'), notified(1), ()),
    'nor does INCOMPLETE': (('FAIL', 'INCOMPLETE'), notified(1), ()),
    'what people were not told in time': (('PASS', 'FAIL', 'FAIL'), notified(1), ('changed',)),
    'a session that the history has lost': (('FAIL',), Notified('20200101T000000-000000'), ('changed',)),
    'no new session': (('PASS', *['INCONCLUSIVE'] * 3, 'FAIL'), notified(5), ()),
    'enough nights without a result while nobody could be told': (('INCONCLUSIVE',) * 4, notified(2), ('undecided',)),
}


@pytest.mark.parametrize(('verdicts', 'known', 'event'), NEWS.values(), ids=NEWS)
def test_what_is_told_once_is_news_and_no_other(verdicts, known, event):
    assert events(watched(*verdicts), known) == event


def test_what_passes_again_is_news():
    message = news(watched('FAIL', 'PASS', report='/r/index.html'), notified(1), PATIENCE)
    assert message.subject == 'Seatrial site nightly: PASS: 1 cleared'
    assert f'passes again: {KEY}' in message.text
    assert message.text.splitlines()[-1].split() == ['report', '/r/index.html'], 'it ends with the screen'


@pytest.mark.parametrize(
    ('later', 'expected'),
    [
        (['INCONCLUSIVE'] * 7, [(), (), ('undecided',), (), (), (), ()]),
        ([*['INVALID'] * 5, 'PASS'], [(), (), ('changed', 'undecided'), (), (), ('changed',)]),
        (['INVALID', 'PASS'] * 10, [()] * 20),
    ],
    ids=['enough that are undecided', 'what stays invalid, and when it ends', 'flapping is none'],
)
def test_night_by_night_nothing_is_news_twice(later, expected):
    verdicts = ['PASS', *later]
    results = [events(watched(*verdicts[: n + 1]), notified(n)) for n in range(1, len(verdicts))]
    assert results == expected


def test_a_missed_run_is_news_once_and_a_silence_however_long_it_lasts():
    watch = watched('PASS', runs=[DONE, MISSED])
    message = news(watch, notified(1), PATIENCE)
    assert message.events == ('missed',)
    assert message.subject == 'Seatrial site nightly: INCOMPLETE: 1 run missed: 2026-11-21 01:00'
    assert events(watch, notified(1, FIRST + DAY)) == ()
    later = watched('PASS', runs=[DONE, MISSED, DONE])
    assert (later.verdict, events(later, notified(1))) == (Verdict.PASS, ('missed',)), 'told by the run after it'
    first, silent = FIRST + DAY, [DONE, MISSED, MISSED, MISSED]
    assert events(watched('PASS', runs=silent), notified(1, first)) == ()
    message = news(watched('PASS', runs=[*silent, DONE, MISSED]), notified(1, first), PATIENCE)
    assert message.subject.endswith('1 run missed: 2026-11-25 01:00')


def test_a_run_that_died_is_told_first_in_a_subject_of_one_line_whatever_is_in_it():
    watch = watched('PASS', 'FAIL', runs=[DONE, MISSED])
    message = news(watch, notified(1), PATIENCE, ['it was killed'])
    assert message.events == ('died', 'missed', 'changed')
    assert message.text.startswith('it was killed\n')
    subject = news(watched(), NOTHING, PATIENCE, ['first\nsecond\x1b[31m']).subject
    assert subject == r'Seatrial site nightly: INCOMPLETE: first second\x1b[31m'


@pytest.mark.parametrize(
    ('verdicts', 'runs', 'verdict'),
    [
        ((), (), Verdict.INCOMPLETE),
        (('FAIL', 'PASS'), (), Verdict.PASS),
        (('PASS', 'FAIL'), (DONE, DONE), Verdict.FAIL),
        (('PASS',), (DONE, MISSED), Verdict.INCOMPLETE),
        (('PASS',), (DONE, AWAITED), Verdict.PASS),
        (('PASS',), (DONE, RUNNING), Verdict.PASS),
    ],
)
def test_the_verdict_is_that_of_the_last_run_unless_it_was_missed(verdicts, runs, verdict):
    assert watched(*verdicts, runs=runs).verdict is verdict


@pytest.mark.parametrize(
    ('watch', 'word', 'lines'),
    [
        (watched('FAIL', calendar='every day'), 'trial', ['site, profile nightly, every day']),
        (watched('FAIL'), 'last run', [f'2026-11-20 01:00 to 01:02, session {session(FIRST)}']),
        (watched('FAIL'), 'verdict', ['FAIL: 1 FAIL']),
        (watched('PASS', 'FAIL', 'INVALID'), 'stands', [f'FAIL {KEY}, since {NEXT}, not decided since: because']),
        (watched('PASS', 'FAIL'), 'changed', [f'new: FAIL {KEY}']),
        (watched('FAIL', 'PASS'), 'changed', [f'passes again: {KEY}']),
        (watched('INVALID', 'INCONCLUSIVE'), 'changed', [f'was measured again: {KEY}']),
        (watched('FAIL', 'FAIL'), 'changed', ['nothing']),
        (watched('FAIL', 'PASS', 'PASS'), 'in a row', ['2 nights PASS']),
        (watched('PASS', 'MEASURED', 'FAIL'), 'in a row', ['1 night FAIL, after 2 nights MEASURED or PASS']),
        (watched('FAIL', 'FAIL'), 'in a row', ['2 nights FAIL']),
        (watched('PASS', 'INVALID'), 'in a row', ['1 night without a valid result']),
        (watched('PASS', 'MEASURED'), 'in a row', ['1 night MEASURED, without a pass criterion']),
        (watched('PASS', runs=[MISSED, MISSED]), 'missed', [f'2 of the last 2 runs: {NEXT}, 2026-11-20 01:00']),
        (watched('PASS', runs=[DONE]), 'missed', ['none of the last 1 run']),
        (watched('PASS', calendar='every day'), 'missed', ['none was due yet']),
        *((watched('PASS', runs=[DONE, now]), 'now', [f'the run of {NEXT} is {now}']) for now in (RUNNING, AWAITED)),
        (watched('PASS', following=FIRST + DAY), 'next run', [NEXT]),
        (watched('PASS', queue='job 12 is pending'), 'Slurm', ['job 12 is pending']),
        (watched(), 'last run', ['none has ended yet']),
        (watched('PASS', chain='0123abcd'), 'records', ['the chain of the records ends with 0123abcd']),
        (watched('PASS'), 'records', []),
        (watched('PASS', criteria=0), 'criteria', [UNCOMPARED]),
        (watched('PASS', criteria=7), 'criteria', []),
    ],
)
def test_the_screen_says(watch, word, lines):
    assert screen_lines(watch, word) == lines


def failing(night=0, check='Check', **metrics):
    """A night on which these metrics of a check have failed, or passed."""
    names = {name.replace('_', '@'): verdict for name, verdict in metrics.items()}
    return rows(FIRST + night * DAY, 'FAIL', {check: ('FAIL', names)})


def test_what_stands_alike_in_a_case_is_one_line_and_what_fails_since_another_night_one_of_its_own():
    text = f'FAIL Check/{WHERE} write@0, write@1, write@2 and 6 more, since 2026-11-20 01:00: write@0: because'
    assert screen_lines(watch_of(failing(**{f'write_{n}': 'FAIL' for n in range(9)})), 'stands') == [text]
    tables = [failing(night, write_1='FAIL', write_2=second) for night, second in enumerate(['PASS', 'FAIL'])]
    assert screen_lines(watch_of(*tables), 'stands') == [
        f'FAIL Check/{WHERE} write@1, since 2026-11-20 01:00: because',
        f'FAIL Check/{WHERE} write@2, since 2026-11-21 01:00: because',
    ]
    tables = [plain(FIRST, 'FAIL'), failing(1, 'Other', read_1='FAIL')]
    assert screen_lines(watch_of(*tables), 'changed')[-1] == f'not tested any more: {KEY}'


def test_a_long_list_is_cut_and_says_so():
    table = rows(FIRST, 'FAIL', {f'Check{n}': ('FAIL', {'write@1': 'FAIL'}) for n in range(SHOWN + 5)})
    lines = screen_lines(watch_of(table), 'stands')
    assert (len(lines), lines[-1]) == (SHOWN + 1, 'and 5 more')


def test_lines_stand_below_each_other_and_cannot_change_the_terminal():
    lines = screen(dataclasses.replace(watched('FAIL'), site='\x1b[2J'))
    assert aligned(lines) == [f'{word:8}  {text}' for word, text in lines]
    assert all(text.isprintable() for _, text in lines)


# With what it was measured


def unlike(*verdicts):
    """Nights with another kernel from the second one on."""
    tables = [plain(FIRST + n * DAY, verdict) for n, verdict in enumerate(verdicts)]
    kernels = [pl.lit(f'6.{min(n, 1)}') for n in range(len(tables))]
    others = zip(tables, kernels, strict=True)
    return watch_of(*(table.with_columns(engine=pl.lit('fio'), kernel=kernel) for table, kernel in others))


def test_what_any_night_measured_with_that_was_another_thing_is_said_first_and_no_news_alone():
    assert screen(unlike('PASS', 'FAIL'))[0] == ('not the same', 'kernel: 6.0 against 6.1')
    watch = unlike('PASS', 'PASS', 'FAIL')
    assert screen(watch)[0][0] == 'trial', 'the last two measured with the same'
    message = news(watch, notified(1), PATIENCE)
    assert message.text.startswith('not the same: kernel: 6.0 against 6.1\n') and 'kernel' not in message.subject
    assert news(watch, notified(2), PATIENCE).text.startswith('1 new FAIL\n')
    assert news(unlike('PASS', 'PASS'), notified(1), PATIENCE) is None


def turn(day, verdict=WORSE, family='metadata'):
    """A change of a family, seen now, that began so many days after the first night."""
    change = MetricChange(verdict, 0.9, 0.85, 0.95, 0.001, (14, 3), True)
    side = Side('before', ('a',), ())
    beside = BeforeAfter(side, side, 0.05, (), (), (), (), ())
    return Turn(FIRST + day * DAY, 'b', 'scratch', family, change, beside, ())


def notified_of(*changes):
    """The record that people were notified of these changes of metadata: (day of its first night, verdict)."""
    days = [(FIRST + day * DAY, FIRST + (day + 2) * DAY, verdict) for day, verdict in changes]
    return NOTHING._replace(changes=[NotifiedChange(*of, 'scratch', 'metadata', verdict) for *of, verdict in days])


@pytest.mark.parametrize(
    ('seen', 'event'),
    [
        *((turn(day), ()) for day in (60, 55, 64, 30)),
        *((other, ('trend',)) for other in (turn(75), turn(60, BETTER), turn(60, family='data read'))),
    ],
    ids=[*('60', '55', '64', '30'), 'later', 'to the other side', 'family'],
)
def test_a_change_whose_date_moves_is_told_once_and_another_one_too(seen, event):
    assert events(watched(), notified_of((60, WORSE)), turns=[seen]) == event


def test_what_is_worse_again_after_it_was_better_is_told():
    seen = [turn(60), turn(64, BETTER), turn(68)]
    message = news(watched(), notified_of((60, WORSE), (64, BETTER)), PATIENCE, turns=seen)
    assert [change.began for change in message.changes] == [FIRST + 68 * DAY]
