"""The sections of the report on the file systems and their servers."""

from dataclasses import replace

import pytest

from seatrial.model.record import TargetRow
from seatrial.model.telemetry import Ended, ServerGap, ServerLook, Telemetry, Watch
from seatrial.model.units import BINARY, GIB, MIB
from seatrial.report.drawing.timeline import MOST_LINES, monitored
from seatrial.report.session.file_systems import changed_words, states
from seatrial.report.session.page import page

BEFORE = {'client version': 'lustre 2.15.5', 'mount options': 'rw,flock', 'osc.max_dirty_mb': '64'}
RO = {**BEFORE, 'mount options': 'ro'}
FULL = TargetRow('OST', 1, 'scratch-OST0001', True, 100 * GIB, 10 * GIB, 1000, 900)
GOOD = TargetRow('OST', 0, 'scratch-OST0000', True, 100 * GIB, 60 * GIB, 1000, 900)
GONE = TargetRow('OST', 2, 'scratch-OST0002', False, fault='does not answer')


@pytest.fixture
def case(make):
    """A case with these states of its file system."""

    def made(before, after, targets=(), started=1000.0, placed='', **target):
        plan = make.plan(**target)
        records = make.records(plan, make.even_rates(plan), state=before, targets=targets, started=started)
        return make.case(plan, records._replace(end=records.end._replace(state=after, placed=placed)))

    return made


def changes_of(cases):
    """The changes of a single file system: setting, first value, first other value."""
    (state,) = states(cases)
    return [tuple(change) for change in state['changed']]


@pytest.mark.parametrize(
    ('after', 'changed', 'text'),
    [({}, [], ''), (BEFORE, [], ''), (RO, [('mount options', 'rw,flock', 'ro')], 'mount options: rw,flock, then ro')],
    ids=['no end', 'as before', 'another option'],
)
def test_a_change_during_a_case_is_shown_with_both_values(case, after, changed, text):
    (state,) = states([case(BEFORE, after)])
    assert (state['settings'], changes_of([case(BEFORE, after)])) == (BEFORE, changed)
    assert changed_words(state).partition(': ')[2] == text
    assert states([case({}, {})]) == [], 'records of an older Seatrial have no state'


def test_a_change_between_two_cases_is_shown_in_order_of_time(case):
    later = {**BEFORE, 'osc.max_dirty_mb': '512'}
    changed = changes_of([case(later, later, started=2000.0), case(BEFORE, BEFORE)])
    assert changed == [('osc.max_dirty_mb', '64', '512')]


def test_a_value_that_could_not_be_read_once_is_compared_by_those_that_were(case):
    unread, other = ({**BEFORE, 'osc.max_dirty_mb': value} for value in ('unknown: no answer', '512'))
    change = [('osc.max_dirty_mb', '64', '512')]
    seen = (([unread, BEFORE], []), ([BEFORE, unread], []))
    for values, changed in (*seen, ([BEFORE, unread, other], change), ([unread, BEFORE, other], change)):
        assert changes_of([case(value, value, started=float(n)) for n, value in enumerate(values)]) == changed


def test_where_the_run_directories_lay_is_no_change_of_a_setting(case):
    cases = [case(BEFORE, BEFORE, placed=where) for where in ('MDT 0', 'MDT 1', 'MDT 0')]
    (state,) = states(cases)
    assert state['settings']['run directories'] == 'MDT 0 (2 cases); MDT 1 (1 case)' and state['changed'] == []


def test_every_file_system_has_its_own(case):
    seen = states([case(BEFORE, {}), case({'a': 'b'}, {}, name='home')])
    assert [state['name'] for state in seen] == ['scratch', 'home']


def test_full_and_silent_targets_are_noted(case):
    (state,) = states([case(BEFORE, BEFORE, (GOOD, FULL, GONE))])
    assert [(target['row'].number, target['share'], target['note']) for target in state['targets']] == [
        (0, pytest.approx(0.4), ''),
        (1, pytest.approx(0.9), 'nearly full: figures on it are lower'),
        (2, None, 'does not answer'),
    ]


@pytest.mark.parametrize('listed', [{'osts': 3}, {'osts': None}, {'osts': 2, 'listed': ('OST',)}])
def test_no_target_is_missed_of_which_all_are_there_or_no_number_is_known(case, listed):
    (state,) = states([case(BEFORE, BEFORE, (GOOD, FULL, GONE), **listed)])
    assert state['missing'] == ''


def test_the_page_shows_them_and_those_that_are_missed(make, case):
    html = page(make.session(case(BEFORE, {**BEFORE, 'mount options': '<ro>'}, (GOOD, FULL, GONE), osts=4)))
    assert '1 setting changed while the session ran' in html and '&lt;ro&gt;' in html and '<ro>' not in html
    assert '3 targets, 2 with remarks' in html and 'trial.yaml declares 4 OSTs, but 3 are visible' in html


def test_the_page_names_what_could_not_be_there(make):
    session = make.session()
    shown = replace(session, not_applicable={'no layout: none': ['Striping/a', 'Osts/a', 'Osts/b']})
    assert 'Striping, Osts on a; Osts on b: no layout: none' in page(shown)
    assert 'Not applicable here' not in page(session)


# What the servers did while a case ran


BEGIN = 1795230450.0


def look(second, server='oss1', busy=0.5, **changes):
    rates = {'read': 2.0 * MIB, 'written': MIB, 'received': MIB, 'sent': MIB, 'packets_in': 10.0, 'packets_out': 20.0}
    return ServerLook(BEGIN + second, server, 1.0, 1, busy, 'sda', **rates)._replace(**changes)


@pytest.fixture
def seen(make):
    """The case of a session with these readings of servers."""

    def of(looks, gaps=()):
        watch, ended = Watch(BEGIN, 'node1', '', 'no counter', 1.0), Ended(BEGIN + 100)
        telemetry = Telemetry(watch, [], [], [], [], [], ended, 0, tuple(looks), tuple(gaps))
        return replace(make.measured(), telemetry=telemetry)

    return of


def test_the_busiest_server_is_first_with_its_disk_and_its_rates(seen):
    looks = [look(n, 'oss1', 0.1) for n in range(1, 101)]
    looks += [look(n, 'oss2', 0.99 if n < 11 else 0.2, read=float(n * MIB)) for n in range(1, 101)]
    first, second = monitored(seen(looks), BINARY)['rows']
    assert (first['server'], first['busy'], first['saturated_s'], second['server']) == ('oss2', 0.99, 10.0, 'oss1')
    assert first['rates']['read'] == (50.5 * MIB, 100 * MIB) and first['packets'] == (30.0, 30.0)
    assert (first['missing'], first['lacking']) == (0.0, False)
    assert monitored(seen([]), BINARY) is None, 'a case without monitors has none'


def test_a_share_of_missing_samples_above_a_twentieth_is_marked(seen):
    for there, lacking in ((96, False), (94, True)):
        (row,) = monitored(seen([look(n) for n in range(1, there + 1)]), BINARY)['rows']
        assert row['lacking'] is lacking and row['missing'] == pytest.approx(1 - there / 100)


def test_a_server_that_never_answered_has_a_row_with_the_reason(seen, make):
    case = seen([look(n) for n in range(1, 101)], [ServerGap(BEGIN + 1, 'mds1', 'no route')])
    (row,) = (server_row for server_row in monitored(case, BINARY)['rows'] if server_row['server'] == 'mds1')
    assert (row['missing'], row['lacking']) == (1.0, True)
    assert 'no route' in page(make.session(case))


def test_each_of_the_busiest_has_a_line_that_is_broken_where_samples_are_missing(seen):
    looks = [look(n, f'oss{number}', number / 10) for n in (1, 2, 5) for number in range(9)]
    lines = monitored(seen(looks), BINARY)['chart'].parts
    labels = [f'busiest disk of oss{number}' for number in range(8, 8 - MOST_LINES, -1)]
    assert [line.label for line in lines] == labels
    assert lines[0].strokes[1] == [(BEGIN + 4, 80.0), (BEGIN + 5, 80.0)]
