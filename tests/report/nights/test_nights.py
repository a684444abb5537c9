"""The verdicts of the nights, the start of each failure, and missed runs."""

from datetime import datetime, timedelta, timezone

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nights import WHERE, plain, rows, session
from seatrial.judge.relations import HOLDS
from seatrial.judge.verdict import Verdict
from seatrial.report.nights import nights

FIRST = datetime(2026, 11, 20, 1, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)
WRITE = nights.VerdictKey(f'Check/{WHERE}', 'write@1')


def of(*tables, **others):
    return nights.nights(tables, 'site', 'nightly', **others)


def judged(*verdicts):
    """The nights of one metric, a day apart."""
    return of(*(plain(FIRST + number * DAY, verdict) for number, verdict in enumerate(verdicts)))


def standing(*verdicts):
    """The standing of the only metric after the last of these nights."""
    return nights.standings(judged(*verdicts))[-1].get(WRITE)


def test_a_night_has_the_verdicts_of_session_case_and_metric():
    (night,) = judged('FAIL')
    cases = {f'Check/{WHERE}': Verdict.FAIL}
    assert (night.session, night.verdict, night.cases) == (session(FIRST), Verdict.FAIL, cases)
    assert night.criteria[WRITE] == nights.Judged(Verdict.FAIL, 'because')


@pytest.mark.parametrize(('verdict', 'seconds'), [('PASS', 150), ('INCOMPLETE', 0)])
def test_a_night_ends_with_its_last_launch_or_as_it_began_if_nothing_was_launched(verdict, seconds):
    (night,) = judged(verdict)
    assert (night.began, night.ended) == (FIRST, FIRST + timedelta(seconds=seconds))


def test_other_sites_and_profiles_are_other_nights_and_so_are_other_systems_of_a_site():
    others = plain(FIRST + DAY, 'FAIL', site='other'), plain(FIRST + 2 * DAY, 'FAIL', profile='paper')
    assert [night.session for night in of(pl.concat([plain(FIRST, 'PASS'), *others]))] == [session(FIRST)]
    table = pl.concat([plain(FIRST, 'FAIL'), plain(FIRST + DAY, 'PASS').with_columns(partition=pl.lit('other:io'))])
    verdicts = {None: ['FAIL', 'PASS'], 'lab': ['FAIL'], 'other': ['PASS']}
    assert {name: [night.verdict.value for night in of(table, system=name)] for name in verdicts} == verdicts


def test_a_session_of_named_checks_is_no_night_and_clears_nothing():
    other = {'Other': ('PASS', {'write@1': 'PASS'})}
    past = of(plain(FIRST, 'FAIL'), rows(FIRST + DAY, 'PASS', other, selection='Other'))
    assert ([night.session for night in past], list(nights.standings(past)[-1])) == ([session(FIRST)], [WRITE])
    past = of(plain(FIRST, 'FAIL'), rows(FIRST + DAY, 'PASS', other))
    assert nights.standings(past)[-1] == {}, 'a criterion that is not tested any more is forgotten'


def test_nights_are_in_the_order_of_their_beginning():
    both = pl.concat([plain(FIRST + DAY, 'PASS'), plain(FIRST, 'PASS')])
    assert [night.began for night in of(both)] == [FIRST, FIRST + DAY]


@pytest.mark.parametrize(('case', 'session'), [('FAIL', 'INCONCLUSIVE'), ('PASS', 'FAIL')])
def test_a_case_that_no_metric_explains_or_a_session_that_no_case_explains_is_a_criterion_of_its_own(case, session):
    (night,) = of(rows(FIRST, 'FAIL', {'Check': (case, {'write@1': 'PASS'})}))
    verdicts = [night.criteria[nights.VerdictKey(name, '')].verdict for name in (f'Check/{WHERE}', '')]
    assert verdicts == [case, session]


def test_an_enforced_expectation_is_named_and_explains_its_case():
    expectation = nights.VerdictKey(f'Check/{WHERE}', 'L09-02 write over transfer sizes')
    known = {expectation: nights.Judged(Verdict.FAIL, 'it falls')}
    past = of(rows(FIRST, 'FAIL', {'Check': ('FAIL', {'write@1': 'PASS'})}), enforced=lambda _: known)
    assert list(nights.standings(past)[-1]) == [expectation]


def test_only_enforced_expectations_of_the_results_are_criteria():
    def expectation(id, enforced, verdict):
        relation = {'verdict': verdict, 'sentence': 'so it is'}
        return {'id': id, 'subject': 'write', 'enforced': enforced, 'relation': relation}

    of_case = [('L09-01', True, 'fails'), ('L09-02', False, 'fails'), ('L09-03', True, 'holds')]
    case = {'case': {'name': 'C'}, 'expectations': [expectation(*arguments) for arguments in of_case]}
    assert nights.enforced_in({'relations': [expectation('L09-09', True, 'undecided')], 'cases': [case]}) == {
        nights.VerdictKey('', 'L09-09 write'): nights.Judged(Verdict.INCONCLUSIVE, 'so it is'),
        nights.VerdictKey('C', 'L09-01 write'): nights.Judged(Verdict.FAIL, 'so it is'),
        nights.VerdictKey('C', 'L09-03 write'): nights.Judged(Verdict.PASS, 'so it is'),
    }


@pytest.mark.parametrize(
    ('verdicts', 'stands'),
    [
        *((('FAIL', verdict, verdict), ('FAIL', 0, False)) for verdict in ('INCONCLUSIVE', 'INVALID', 'INCOMPLETE')),
        *((('FAIL', 'INCONCLUSIVE', verdict), None) for verdict in ('PASS', 'MEASURED')),
        (('PASS', 'FAIL', 'INVALID', 'FAIL'), ('FAIL', 1, True)),
        *((('PASS', verdict), (verdict, 1, True)) for verdict in ('INVALID', 'INCOMPLETE')),
        *((('PASS', verdict, 'INCONCLUSIVE'), None) for verdict in ('INVALID', 'INCOMPLETE')),
        (('INCONCLUSIVE',), None),
        (('INVALID', 'INCOMPLETE'), ('INCOMPLETE', 1, True)),
    ],
)
def test_a_criterion_stands_since_a_night_until_one_decides_otherwise(verdicts, stands):
    current = standing(*verdicts)
    assert (current and (current.verdict.value, (current.since - FIRST).days, current.seen)) == stands


@given(st.lists(st.sampled_from([verdict.value for verdict in Verdict]), min_size=1, max_size=8))
def test_a_failing_criterion_fails_until_it_passes_or_is_none_any_more(verdicts):
    fails = False
    for verdict in verdicts:
        fails = verdict == 'FAIL' or (fails and verdict not in ('PASS', 'MEASURED'))
    current = standing(*verdicts)
    assert (current is not None and current.verdict is Verdict.FAIL) == fails


@pytest.mark.parametrize(
    ('verdicts', 'new', 'ended'),
    [
        (('FAIL', 'INCONCLUSIVE'), (), ()),
        (('FAIL', 'PASS'), (), (WRITE,)),
        (('PASS', 'FAIL'), (WRITE,), ()),
        (('INVALID', 'FAIL'), (WRITE,), ()),
    ],
)
def test_a_change_is_what_is_new_or_stands_differently_and_what_has_ended(verdicts, new, ended):
    assert nights.difference(*nights.standings(judged(*verdicts))) == (list(new), list(ended))


@pytest.mark.parametrize(
    ('verdicts', 'well', 'nothing'),
    [
        (('PASS', 'FAIL', 'PASS', 'PASS'), 2, 0),
        (('PASS', 'INCONCLUSIVE', 'INVALID', 'INCOMPLETE'), 0, 3),
        (('INCONCLUSIVE', 'FAIL'), 0, 0),
        (('INCONCLUSIVE', 'MEASURED'), 0, 0),
    ],
)
def test_nights_in_a_row_are_counted_from_the_last(verdicts, well, nothing):
    past = judged(*verdicts)
    assert (nights.in_a_row(past, nights.passed), nights.in_a_row(past, nights.without_result)) == (well, nothing)


DUE = [FIRST + number * DAY for number in range(3)]
MORNING = DUE[-1] + nights.START_GRACE
LATE, SLOW_CLOCK, SECOND = timedelta(hours=20), -timedelta(minutes=1), timedelta(seconds=1)
DONE, MISSED, RUNNING, AWAITED = nights.DONE, nights.MISSED, nights.RUNNING, nights.AWAITED
BECAME = {
    'a session belongs to the run that was due last when it began': (
        {'ended': [DUE[0] + LATE, DUE[1], DUE[2] + SECOND]},
        [DONE, DONE, DONE],
    ),
    'without a session it was missed': ({'ended': [DUE[0], DUE[2]]}, [DONE, MISSED, DONE]),
    'a slow clock misses nothing': ({'ended': [due + SLOW_CLOCK for due in DUE]}, [DONE, DONE, DONE]),
    'begun and died is missed': ({'ended': DUE[:2], 'dead': [DUE[2]]}, [DONE, DONE, MISSED]),
    'what runs is not missed': ({'ended': DUE[:2], 'alive': [DUE[2]]}, [DONE, DONE, RUNNING]),
    'nor what waits for the one before it': ({'ended': DUE[:1], 'alive': [DUE[1]]}, [DONE, RUNNING, RUNNING]),
    'it is waited for': ({'ended': DUE[:2], 'now': MORNING - SECOND}, [DONE, DONE, AWAITED]),
    'before it is called missed': ({'ended': DUE[:2], 'now': MORNING}, [DONE, DONE, MISSED]),
}


def became(ended=(), alive=(), dead=(), now=MORNING, due=DUE):
    begun = [nights.Unfinished(session(began), began, began in alive) for began in (*alive, *dead)]
    return [run.state for run in nights.runs(due, FIRST + 3 * DAY, now, ended, begun)]


@pytest.mark.parametrize(('begun', 'states'), BECAME.values(), ids=BECAME)
def test_what_became_of_a_run_that_was_due(begun, states):
    assert became(**begun) == states
    assert became(**begun, due=[]) == [], 'where nothing was due nothing was missed'


def swept(began, **verdicts):
    """A night of a node sweep: the verdicts of its points."""
    metrics = {f'write@{point}': verdict for point, verdict in verdicts.items()}
    worst = next((verdict for verdict in ('FAIL', 'INVALID') if verdict in verdicts.values()), 'PASS')
    points = pl.col('metric').str.split('@').list.get(1)
    swept_rows = rows(began, worst, {'Nodes': (worst, metrics)})
    return swept_rows.with_columns(axis=pl.lit('node'), operation=pl.lit('write'), point=points)


def test_the_groups_of_a_node_sweep_are_one_criterion_for_they_are_other_nodes_every_night():
    first = swept(FIRST, all='PASS', group01='INVALID', group02='PASS')
    second = swept(FIRST + DAY, all='PASS', group01='PASS', group02='INVALID')
    third = swept(FIRST + 2 * DAY, all='INVALID', group01='PASS', group02='PASS')
    past = of(first, second, third)
    groups, everyone, case = (nights.VerdictKey(f'Nodes/{WHERE}', name) for name in ('write@groups', 'write@all', ''))
    assert all(set(night.criteria) == {groups, everyone, case, nights.VerdictKey('', '')} for night in past)
    assert past[0].criteria[groups] == nights.Judged(Verdict.INVALID, 'group01: because')
    after = nights.standings(past)
    assert after[1][groups].since == FIRST, 'some group could not be believed in either night'
    assert groups not in after[2] and everyone in after[2]


def test_the_worst_group_is_told_whichever_comes_first():
    for verdicts in ({'group01': 'FAIL', 'group02': 'INVALID'}, {'group01': 'INVALID', 'group02': 'FAIL'}):
        (night,) = of(swept(FIRST, all='PASS', **verdicts))
        failed = next(point for point, verdict in verdicts.items() if verdict == 'FAIL')
        known = night.criteria[nights.VerdictKey(f'Nodes/{WHERE}', 'write@groups')]
        assert known == nights.Judged(Verdict.FAIL, f'{failed}: because')


def test_the_criteria_of_a_session_are_counted():
    criterion = {'id': 'L', 'subject': 's', 'relation': {'verdict': HOLDS, 'sentence': ''}}
    enforced, context = {**criterion, 'enforced': True}, {**criterion, 'enforced': False}
    plain_case = {'references': [], 'isolation': None, 'unjudged': '', 'expectations': []}
    cases = [
        {**plain_case, 'case': {'name': 'A'}, 'references': [{}, {}]},
        {**plain_case, 'case': {'name': 'B'}, 'isolation': {}, 'expectations': [enforced]},
        {**plain_case, 'case': {'name': 'S'}, 'isolation': {}, 'unjudged': 'smoke'},
        {**plain_case, 'case': {'name': 'C'}, 'expectations': [context]},
    ]
    assert nights.criteria_in({'cases': cases, 'relations': []}) == 4
    assert nights.criteria_in({'cases': cases[2:], 'relations': []}) == 0
    with pytest.raises(KeyError):
        nights.criteria_in({'verdict': 'PASS'})
