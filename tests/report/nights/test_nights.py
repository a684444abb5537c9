"""What the nights decided, what fails since when, and which runs were missed."""

from datetime import datetime, timedelta, timezone

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nights import WHERE, plain, rows, session
from seatrial.judge.relations import HOLDS
from seatrial.judge.verdict import Verdict
from seatrial.report.nights.nights import (
    AWAITED,
    DONE,
    MISSED,
    RUNNING,
    START_GRACE,
    Judged,
    Night,
    Unfinished,
    VerdictKey,
    criteria_in,
    difference,
    enforced_in,
    in_a_row,
    nights,
    passed,
    runs,
    standings,
    without_result,
)

FIRST = datetime(2026, 11, 20, 1, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)
WRITE = VerdictKey(f'Check/{WHERE}', 'write@1')


def judged(*verdicts, **others):
    """The nights of one metric, a day apart."""
    return nights(
        [plain(FIRST + number * DAY, verdict, **others) for number, verdict in enumerate(verdicts)],
        'site',
        'nightly',
    )


def standing(*verdicts):
    """How the one metric stands after the last of these nights."""
    return standings(judged(*verdicts))[-1].get(WRITE)


def test_a_night_has_the_verdicts_of_session_case_and_metric():
    (night,) = judged('FAIL')
    assert (night.session, night.verdict, night.cases) == (
        session(FIRST),
        Verdict.FAIL,
        {f'Check/{WHERE}': Verdict.FAIL},
    )
    assert night.criteria[WRITE] == Judged(Verdict.FAIL, 'because')


def test_a_night_ends_with_its_last_launch():
    (night,) = judged('PASS')
    assert (night.began, night.ended) == (FIRST, FIRST + timedelta(seconds=150))


def test_a_night_in_which_nothing_was_launched_ends_as_it_began():
    (night,) = judged('INCOMPLETE')
    assert (night.ended, night.completed) == (FIRST, False)


def test_other_sites_and_profiles_are_other_nights():
    everything = pl.concat(
        [
            plain(FIRST, 'PASS'),
            plain(FIRST + DAY, 'FAIL', site='other'),
            plain(FIRST + 2 * DAY, 'FAIL', profile='paper'),
        ]
    )
    assert [night.session for night in nights([everything], 'site', 'nightly')] == [session(FIRST)]


def test_of_several_systems_each_has_its_own_nights():
    table = pl.concat([plain(FIRST, 'FAIL'), plain(FIRST + DAY, 'PASS').with_columns(partition=pl.lit('other:io'))])
    found = {system: nights([table], 'site', 'nightly', system=system) for system in (None, 'lab', 'other')}
    assert {system: [night.verdict.value for night in each] for system, each in found.items()} == {
        None: ['FAIL', 'PASS'],
        'lab': ['FAIL'],
        'other': ['PASS'],
    }


def test_a_session_of_named_checks_is_no_night():
    monday = rows(FIRST, 'FAIL', {'A': ('FAIL', {'write@1': 'FAIL'}), 'B': ('PASS', {'write@1': 'PASS'})})
    by_hand = rows(FIRST + DAY, 'PASS', {'B': ('PASS', {'write@1': 'PASS'})}, selection='B')
    past = nights([monday, by_hand], 'site', 'nightly')
    assert [night.session for night in past] == [session(FIRST)]
    assert list(standings(past)[-1]) == [VerdictKey(f'A/{WHERE}', 'write@1')]


def test_nights_are_in_the_order_of_their_beginning():
    found = nights([pl.concat([plain(FIRST + DAY, 'PASS'), plain(FIRST, 'PASS')])], 'site', 'nightly')
    assert [night.began for night in found] == [FIRST, FIRST + DAY]


def test_a_case_that_no_metric_explains_is_a_criterion_of_its_own():
    (night,) = nights([rows(FIRST, 'FAIL', {'Check': ('FAIL', {'write@1': 'PASS'})})], 'site', 'nightly')
    assert night.criteria[VerdictKey(f'Check/{WHERE}', '')].verdict is Verdict.FAIL
    assert night.criteria[VerdictKey('', '')].verdict is Verdict.INCONCLUSIVE


def test_a_session_that_no_case_explains_is_a_criterion_of_its_own():
    (night,) = nights([rows(FIRST, 'FAIL', {'Check': ('PASS', {'write@1': 'PASS'})})], 'site', 'nightly')
    assert night.criteria[VerdictKey('', '')].verdict is Verdict.FAIL


def test_an_enforced_expectation_is_named_and_explains_its_case():
    known = {VerdictKey(f'Check/{WHERE}', 'L09-02 write over transfer sizes'): Judged(Verdict.FAIL, 'it falls')}
    past = nights([rows(FIRST, 'FAIL', {'Check': ('FAIL', {'write@1': 'PASS'})})], 'site', 'nightly', lambda _: known)
    assert list(standings(past)[-1]) == [VerdictKey(f'Check/{WHERE}', 'L09-02 write over transfer sizes')]


def test_only_enforced_expectations_of_the_results_are_criteria():
    def expectation(id, enforced, verdict):
        return {
            'id': id,
            'subject': 'write',
            'enforced': enforced,
            'relation': {'verdict': verdict, 'sentence': 'so it is'},
        }

    results = {
        'relations': [expectation('L09-09', True, 'undecided')],
        'cases': [
            {
                'case': {'name': 'C'},
                'expectations': [
                    expectation('L09-01', True, 'fails'),
                    expectation('L09-02', False, 'fails'),
                    expectation('L09-03', True, 'holds'),
                ],
            }
        ],
    }
    assert enforced_in(results) == {
        VerdictKey('', 'L09-09 write'): Judged(Verdict.INCONCLUSIVE, 'so it is'),
        VerdictKey('C', 'L09-01 write'): Judged(Verdict.FAIL, 'so it is'),
        VerdictKey('C', 'L09-03 write'): Judged(Verdict.PASS, 'so it is'),
    }


@pytest.mark.parametrize(
    ('verdicts', 'stands'),
    [
        *((('FAIL', each, each), ('FAIL', 0, False)) for each in ('INCONCLUSIVE', 'INVALID', 'INCOMPLETE')),
        *((('FAIL', 'INCONCLUSIVE', each), None) for each in ('PASS', 'MEASURED')),
        (('PASS', 'FAIL', 'INVALID', 'FAIL'), ('FAIL', 1, True)),
        *((('PASS', each), (each, 1, True)) for each in ('INVALID', 'INCOMPLETE')),
        *((('PASS', each, 'INCONCLUSIVE'), None) for each in ('INVALID', 'INCOMPLETE')),
        (('INCONCLUSIVE',), None),
        (('INVALID', 'INCOMPLETE'), ('INCOMPLETE', 1, True)),
    ],
)
def test_a_criterion_stands_since_a_night_until_one_decides_otherwise(verdicts, stands):
    found = standing(*verdicts)
    assert (found and (found.verdict.value, (found.since - FIRST).days, found.seen)) == stands


def test_a_criterion_that_is_not_tested_any_more_is_forgotten():
    past = nights(
        [plain(FIRST, 'FAIL'), rows(FIRST + DAY, 'PASS', {'Other': ('PASS', {'read@1': 'PASS'})})],
        'site',
        'nightly',
    )
    assert standings(past)[-1] == {}


@given(st.lists(st.sampled_from([verdict.value for verdict in Verdict]), min_size=1, max_size=8))
def test_a_failing_criterion_fails_until_it_passes_or_is_none_any_more(verdicts):
    fails = False
    for verdict in verdicts:
        fails = verdict == 'FAIL' or (fails and verdict not in ('PASS', 'MEASURED'))
    found = standing(*verdicts)
    assert (found is not None and found.verdict is Verdict.FAIL) == fails


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
    assert difference(*standings(judged(*verdicts))) == (list(new), list(ended))


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
    assert (in_a_row(past, passed), in_a_row(past, without_result)) == (well, nothing)


DUE = [FIRST + number * DAY for number in range(3)]
FOLLOWING = FIRST + 3 * DAY
MORNING = DUE[-1] + START_GRACE


def became(*, ended=(), alive=(), dead=(), now=MORNING):
    past = [Night(session(began), began, began, Verdict.PASS, {}, {}) for began in ended]
    begun = [
        *(Unfinished(session(began), began, True) for began in alive),
        *(Unfinished(session(began), began, False) for began in dead),
    ]
    return [run.state for run in runs(DUE, FOLLOWING, now, [night.began for night in past], begun)]


LATE, SLOW_CLOCK = timedelta(hours=20), -timedelta(minutes=1)


@pytest.mark.parametrize(
    ('begun', 'states'),
    [
        ({'ended': [DUE[0] + LATE, DUE[1], DUE[2] + timedelta(seconds=3)]}, [DONE, DONE, DONE]),
        ({'ended': [DUE[0], DUE[2]]}, [DONE, MISSED, DONE]),
        ({'ended': [due + SLOW_CLOCK for due in DUE]}, [DONE, DONE, DONE]),
        ({'ended': DUE[:2], 'dead': [DUE[2]]}, [DONE, DONE, MISSED]),
        ({'ended': DUE[:2], 'alive': [DUE[2]]}, [DONE, DONE, RUNNING]),
        ({'ended': DUE[:1], 'alive': [DUE[1]]}, [DONE, RUNNING, RUNNING]),
        ({'ended': DUE[:2], 'now': MORNING - timedelta(seconds=1)}, [DONE, DONE, AWAITED]),
        ({'ended': DUE[:2], 'now': MORNING}, [DONE, DONE, MISSED]),
    ],
    ids=[
        'a session belongs to the run that was due last when it began',
        'without a session it was missed',
        'a slow clock misses nothing',
        'begun and died is missed',
        'what runs is not missed',
        'nor what waits for the one before it',
        'it is waited for',
        'before it is called missed',
    ],
)
def test_what_became_of_a_run_that_was_due(begun, states):
    assert became(**begun) == states


def test_where_nothing_was_due_nothing_was_missed():
    assert runs([], FIRST, FIRST - DAY, [], []) == []


def swept(began, **verdicts):
    """A night of a node sweep: the verdicts of its points."""
    metrics = {f'write@{point}': verdict for point, verdict in verdicts.items()}
    worst = next((each for each in ('FAIL', 'INVALID') if each in verdicts.values()), 'PASS')
    points = pl.col('metric').str.split('@').list.get(1)
    return rows(began, worst, {'Nodes': (worst, metrics)}).with_columns(
        axis=pl.lit('node'), operation=pl.lit('write'), point=points
    )


def test_the_groups_of_a_node_sweep_are_one_criterion_for_they_are_other_nodes_every_night():
    first = swept(FIRST, all='PASS', group01='INVALID', group02='PASS')
    second = swept(FIRST + DAY, all='PASS', group01='PASS', group02='INVALID')
    third = swept(FIRST + 2 * DAY, all='INVALID', group01='PASS', group02='PASS')
    past = nights([first, second, third], 'site', 'nightly')
    groups, everyone = (VerdictKey(f'Nodes/{WHERE}', name) for name in ('write@groups', 'write@all'))
    assert [set(night.criteria) - {groups, everyone} for night in past] == [
        {VerdictKey(f'Nodes/{WHERE}', ''), VerdictKey('', '')}
    ] * 3
    assert past[0].criteria[groups] == Judged(Verdict.INVALID, 'group01: because')
    after = standings(past)
    assert after[1][groups].since == FIRST, 'some group could not be believed in either night'
    assert groups not in after[2] and everyone in after[2]


def test_the_worst_group_is_told_whichever_comes_first():
    for verdicts in ({'group01': 'FAIL', 'group02': 'INVALID'}, {'group01': 'INVALID', 'group02': 'FAIL'}):
        (night,) = nights([swept(FIRST, all='PASS', **verdicts)], 'site', 'nightly')
        failed = next(point for point, verdict in verdicts.items() if verdict == 'FAIL')
        told = night.criteria[VerdictKey(f'Nodes/{WHERE}', 'write@groups')]
        assert told == Judged(Verdict.FAIL, f'{failed}: because')


def test_the_criteria_of_a_session_are_counted():
    criterion = {'id': 'L', 'subject': 's', 'relation': {'verdict': HOLDS, 'sentence': ''}}
    cases = [
        {'case': {'name': 'A'}, 'references': [{}, {}], 'isolation': None, 'expectations': []},
        {
            'case': {'name': 'B'},
            'references': [],
            'isolation': {},
            'unjudged': '',
            'expectations': [{**criterion, 'enforced': True}],
        },
        {'case': {'name': 'S'}, 'references': [], 'isolation': {}, 'unjudged': 'smoke', 'expectations': []},
        {
            'case': {'name': 'C'},
            'references': [],
            'isolation': None,
            'expectations': [{**criterion, 'enforced': False}],
        },
    ]
    assert criteria_in({'cases': cases, 'relations': []}) == 4
    assert criteria_in({'cases': cases[2:], 'relations': []}) == 0
    with pytest.raises(KeyError):
        criteria_in({'verdict': 'PASS'})
