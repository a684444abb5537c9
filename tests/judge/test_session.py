"""The verdict of a session, and relations between its checks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import records_of
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import CurveRatio, Insensitive
from seatrial.judge.references import Reference
from seatrial.judge.session import FAMILY, holm, judge_cases, judge_session
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.record import Records
from seatrial.model.units import MIB

NOTHING = Records(None, None, [], None, None, 0)
FASTER = CurveRatio(of='Strided', id='X1', words='it is so', source='Somebody')
ENFORCED = Criteria((FASTER,), frozenset(['X1']))


@pytest.fixture
def session(make_plan, around):
    """A session of cases, each (check, mean) or with changes of its plan; `held` are the criteria of 'Contiguous'."""

    def judge(*cases, held=ENFORCED, profile='nightly'):
        results, criteria = [], {}
        for check, mean, *changes in cases:
            changed = dict(*changes)
            engine = changed.pop('engine', 'fio')
            plan = make_plan(check, profile=profile, **changed)
            asked = held if check == 'Contiguous' else Criteria()
            count = 4 if profile == 'smoke' else 6
            records = records_of(plan, around(mean)[:count], engine=engine) if mean else NOTHING
            criteria[plan.case] = asked
            results.append(judge_case(plan, records, asked))
        return judge_session('s', profile, results, criteria)

    return judge


def test_the_worst_case_is_the_verdict_of_the_session(session):
    result = session(('Contiguous', 100.0), ('Other', None), held=Criteria())
    assert result.verdict is Verdict.INCOMPLETE
    assert result.counts == {Verdict.MEASURED: 1, Verdict.INCOMPLETE: 1}
    assert result.chance == '', 'it was compared with nothing'


STRIDED = ('Strided', 100.0)


@pytest.mark.parametrize(
    ('cases', 'profile', 'verdict', 'sentence'),
    [
        ([('Contiguous', 150.0), STRIDED], 'nightly', 'PASS', ': holds'),
        ([('Contiguous', 50.0), STRIDED], 'nightly', 'FAIL', ': fails'),
        ([('Contiguous', 100.0), STRIDED], 'nightly', 'INCONCLUSIVE', ': undecided'),
        ([('Contiguous', 100.0)], 'nightly', 'INCONCLUSIVE', 'Strided is not in this session: undecided'),
        ([('Contiguous', 100.0), ('Strided', None)], 'nightly', 'INCOMPLETE', ': undecided'),
        ([('Contiguous', 50.0), (*STRIDED, {'engine': 'ior'})], 'nightly', 'INCONCLUSIVE', ': undecided'),
        ([('Contiguous', 50.0), STRIDED], 'smoke', 'MEASURED', 'smoke: 4 repetitions, not judged'),
    ],
    ids=['faster', 'slower', 'alike', 'left out', 'never ran', 'other engine', 'smoke test'],
)
def test_an_enforced_relation_between_checks_decides(session, cases, profile, verdict, sentence):
    result = session(*cases, profile=profile)
    assert (result.verdict, len(result.relations)) == (verdict, 1)
    assert result.relations[0].relation.sentence.endswith(sentence)


def test_a_relation_that_is_not_enforced_is_a_row_and_decides_nothing(session):
    result = session(('Contiguous', 50.0), ('Strided', 100.0), held=Criteria((FASTER,)))
    assert result.verdict is Verdict.MEASURED
    (relation,) = result.relations
    assert (relation.id, relation.relation.verdict, relation.enforced) == ('X1', 'fails', False)
    alone = Insensitive(to='transfer_size', id='X2', words='it is so', source='Somebody')
    assert session(('Contiguous', 50.0), ('Strided', 100.0), held=Criteria((alone,))).relations == ()
    assert session(('Contiguous', 100.0), held=Criteria((FASTER,))).relations == ()  # the other was left out
    assert judge_session('s', 'nightly', []).verdict is Verdict.INCOMPLETE


def test_cases_are_compared_with_those_of_the_same_layout(session):
    wide, narrow = {'layout': 'wide'}, {'layout': 'narrow'}
    result = session(
        ('Contiguous', 150.0, wide), ('Contiguous', 50.0, narrow), ('Strided', 100.0, wide), ('Strided', 20.0, narrow)
    )
    where = [(relation.subject.split(', ')[1], relation.relation.verdict) for relation in result.relations]
    assert where == [(f'lab:io/scratch/{layout}/1n', 'holds') for layout in ('wide', 'narrow')]


@pytest.mark.parametrize(('mean', 'verdict'), [(100.0, 'INCOMPLETE'), (50.0, 'FAIL')])
def test_a_session_that_is_not_the_whole_acceptance_is_no_pass(make_plan, around, mean, verdict):
    plan = make_plan()
    held = Criteria(references=(Reference('read@16MiB', 100.0 * MIB, -0.1, None, 'MiB/s', 'baseline', '2026-11-20'),))
    results = [judge_case(plan, records_of(plan, around(mean)), held)]
    left_out = ['narrowed to A: an acceptance of lab has 3 more cases']
    result = judge_session('s', 'acceptance', results, left_out=left_out)
    assert (result.verdict, result.left_out) == (verdict, tuple(left_out))
    assert judge_session('s', 'acceptance', results).verdict == ('PASS' if mean == 100.0 else 'FAIL')


# Many criteria


def holm_of_the_book(chances, count):
    """Which are rejected, step by step from the smallest."""
    left, rejected = sorted(chances), []
    while left and left[0] <= FAMILY / (count - len(rejected)):
        rejected.append(left.pop(0))
    return rejected


@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.012, 0.017, 0.025, 0.05]), max_size=12), st.integers(0, 5))
def test_the_level_rejects_what_holm_rejects(chances, others):
    level = holm(chances, len(chances) + others)
    assert sorted(chance for chance in chances if chance <= level) == holm_of_the_book(chances, len(chances) + others)


STORAGE = 64 / 1000  # MiB/s at which a launch lasts long enough for an acceptance


@pytest.fixture(scope='session')
def many(make_plan, around):
    """So many cases with two references each, all but the first of which are met; the means are shares of those."""

    def judge(first, count, profile='acceptance', spread=0.02):
        plans = [make_plan(f'Check{place}', profile=profile) for place in range(count)]
        kept = [
            (plan, records_of(plan, around(STORAGE * (1.2 if place else first), spread)))
            for place, plan in enumerate(plans)
        ]
        references = tuple(
            Reference(metric, STORAGE * MIB, -0.0, None, 'MiB/s', 'contract', '2026-11-20')
            for metric in ('read@16MiB', 'read@32MiB')
        )
        held = {plan.case: Criteria(references=references) for plan in plans}
        cases = judge_cases(kept, held)
        return judge_session('s', profile, cases, held)

    return judge


BY_CHANCE = 'with this many criteria one may miss by chance (0.43 %, where at most 0.12 % is a FAIL; Holm)'


@pytest.mark.parametrize(
    ('first', 'count', 'profile', 'verdict', 'text'),
    [
        (1.2, 20, 'acceptance', 'PASS', ''),
        (0.97, 1, 'acceptance', 'FAIL', 'is outside'),
        (0.97, 20, 'acceptance', 'INCONCLUSIVE', BY_CHANCE),
        (0.97, 20, 'nightly', 'FAIL', 'is outside'),
        (0.5, 20, 'acceptance', 'FAIL', 'is outside'),
    ],
)
def test_of_many_criteria_of_an_acceptance_one_barely_missed_decides_nothing(
    many, first, count, profile, verdict, text
):
    result = many(first, count, profile)
    assert (result.verdict, result.cases[0].verdict) == (verdict, verdict)
    assert text in ''.join(result.cases[0].reasons[:1])


@given(
    first=st.floats(0.3, 1.2),
    factor=st.floats(0.5, 1.0),
    count=st.integers(1, 4),
    spread=st.sampled_from([0.01, 0.05]),
)
@pytest.mark.slow
def test_an_acceptance_of_a_slower_system_never_ends_better(many, first, factor, count, spread):
    rank = [Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL]
    before, after = (many(means, count, spread=spread).verdict for means in (first, first * factor))
    assert rank.index(after) >= rank.index(before)


@pytest.mark.parametrize(
    ('profile', 'text'),
    [
        ('nightly', 'at most 0.3 of them FAIL by chance, if every true value lies at its bound'),
        ('acceptance', 'the probability of a FAIL by chance is at most about 5 % (Holm)'),
    ],
)
def test_a_session_says_how_often_chance_fails_it(many, profile, text):
    assert many(1.2, 3, profile).chance == text
