"""The verdict of a case, on records that were made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import records_of
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import CurveRatio, DoesNotDegrade, Insensitive
from seatrial.judge.references import Reference
from seatrial.judge.statistics import verdict_interval
from seatrial.judge.verdict import EXIT_CODES, Criteria, Verdict, worst
from seatrial.model.record import Finding, Records
from seatrial.model.units import MIB
from seatrial.rules.case import STORAGE_MIN_S
from seatrial.rules.registry import RULES, finding
from seatrial.workload.registry import planned_metrics

NOTHING = Records(None, None, [], None, None, 0)
WRONG, FAILED = (Finding('T8', 'invalid', 'wrong data'),), (Finding('F1', 'fail', 'EIO of data'),)
SOURCE = {'words': 'it is so', 'source': 'Somebody'}
FLAT = Insensitive(to='transfer_size', id='X1', **SOURCE)
SLOW = 64 / (2 * STORAGE_MIN_S)  # MiB/s at which a launch of the plan lasts long enough for a storage figure


def reference(mean, metric='read@16MiB', **changes):
    given = {'low': -0.1, 'high': None, 'unit': 'MiB/s', 'origin': 'baseline', 'date': '2026-11-20', **changes}
    return Reference(metric, mean * MIB, **given)


def criteria(*references, expectations=(), enforced=()):
    return Criteria(tuple(expectations), frozenset(enforced), references)


def changed(records, fits=lambda sample: True, **fields):
    """The records with these fields of the samples that fit."""
    return records._replace(samples=[s._replace(**fields) if fits(s) else s for s in records.samples])


@pytest.fixture
def judged(make_plan):
    """The result of a plan with these figures, compared with these criteria; change: what becomes of its record."""

    def judge(figures, held=None, profile='nightly', change=lambda records: records, **changes):
        plan_changes = {key: changes.pop(key) for key in ('operations', 'values') if key in changes}
        plan = make_plan(profile=profile, **plan_changes)
        return judge_case(plan, change(records_of(plan, figures, **changes)), held or Criteria())

    return judge


# Without criteria


def test_a_case_that_left_no_record_is_incomplete_for_one_reason(make_plan):
    result = judge_case(make_plan(), NOTHING)
    assert result.verdict is Verdict.INCOMPLETE
    assert len(result.reasons) == 1 and result.reasons[0].startswith('T15: the job never started')


def test_a_metric_that_was_not_measured_makes_the_case_incomplete(judged, around):
    result = judged({'read@16MiB': around(100.0)})
    assert result.verdict is Verdict.INCOMPLETE
    assert [metric.verdict for metric in result.metrics] == [Verdict.MEASURED, Verdict.INCOMPLETE]


def test_a_noisy_figure_that_nothing_is_asked_of_is_measured_and_says_why_it_ended(judged, around):
    result = judged(around(100.0, 0.5))
    assert (result.verdict, result.reasons) == (Verdict.MEASURED, ())
    text = '6 valid repetitions until the time budget was exhausted: its interval is +-40.1 %, wider than the 10 %'
    assert result.metrics[0].why == f'{text} aimed at'
    assert judged(around(100.0)[:5]).metrics[0].why.endswith('is narrow enough, but 6 are needed to rely on it')


@pytest.mark.parametrize(
    ('findings', 'of_warm_up', 'verdict', 'second', 'reason'),
    [
        ({'read@32MiB': WRONG}, (), 'INVALID', 'INVALID', 'read@32MiB: INVALID: T8: wrong data'),
        ({'read@32MiB': FAILED}, (), 'FAIL', 'FAIL', 'F1: EIO of data'),
        ({}, FAILED, 'FAIL', 'MEASURED', 'F1: EIO of data'),
    ],
)
def test_one_launch_that_is_not_valid_or_that_storage_failed_decides(
    judged, around, findings, of_warm_up, verdict, second, reason
):
    def with_warm_up(records):
        return changed(records, lambda sample: sample.stage == 'warmup', findings=of_warm_up)

    result = judged(around(100.0), findings=findings, change=with_warm_up)
    assert (result.verdict, result.reasons) == (verdict, (reason,))
    assert [metric.verdict for metric in result.metrics] == ['MEASURED', second]


def test_a_launch_without_room_makes_the_other_metrics_of_its_point_incomplete_and_not_invalid(judged, around):
    full = {'write@16MiB': (Finding('P9a', 'incomplete', 'ENOSPC of data'),)}
    result = judged(around(100.0), findings=full, operations=('write', 'read'))
    assert result.verdict is Verdict.INCOMPLETE
    results = {metric.metric: metric.verdict for metric in result.metrics}
    assert (results['write@16MiB'], results['read@16MiB']) == (Verdict.INCOMPLETE, Verdict.INCOMPLETE)
    assert results['read@32MiB'] is Verdict.MEASURED


def test_what_is_wrong_with_a_whole_case_is_wrong_with_its_metrics_said_once_and_fails_nothing(judged, around):
    def without_warm_up(records):
        return records._replace(samples=[sample for sample in records.samples if sample.stage != 'warmup'])

    figures = {'read@16MiB': around(50.0), 'read@32MiB': around(100.0)}
    result = judged(figures, change=without_warm_up)
    assert {metric.verdict for metric in result.metrics} == {Verdict.INVALID}
    assert len(result.reasons) == 1 and result.reasons[0].startswith('T14: ')
    held = criteria(reference(100.0), expectations=[FLAT], enforced=['X1'])
    result = judged(figures, held, change=without_warm_up)
    assert (result.verdict, result.expectations[0].relation.verdict) == (Verdict.INVALID, 'undecided')


@pytest.mark.parametrize(
    ('last', 'verdict'), [([100.0, 10.0], 'INCONCLUSIVE'), ([10.0, 10.0], 'INCONCLUSIVE'), ([95.0, 100.0], 'PASS')]
)
def test_a_criterion_is_decided_by_the_repetitions_that_follow_the_stop_too(judged, last, verdict):
    values = [MIB * rate for rate in (100.0, 100.1, 99.9, 100.0, *last)]
    assert judged(values, criteria(reference(100.0))).metrics[0].verdict == verdict


def test_two_repetitions_are_no_figure_and_three_decide_a_criterion_wide_of_its_bound(judged):
    result = judged([100.0, 100.1])
    assert (result.verdict, '3 are needed' in result.reasons[0]) == (Verdict.INCONCLUSIVE, True)
    few = [MIB * rate for rate in (140.0, 150.0, 160.0)]
    results = [judged(few, criteria(reference(bound))).metrics[0].verdict for bound in (100.0, 150.0, 250.0)]
    assert results == [Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL]


@pytest.mark.parametrize('origins', [('baseline',), ('baseline', 'contract')])
def test_an_acceptance_compared_with_its_own_baseline_alone_says_so(judged, around, origins):
    held = [reference(SLOW, origin=origin) for origin in origins]
    result = judged(around(SLOW), criteria(*held), profile='acceptance')
    assert (result.verdict, result.reasons) == (Verdict.PASS, ())
    text = 'compared with its own baseline of 2026-11-20 alone'
    sentences = [label for label in result.labels if label.startswith(text)]
    assert len(sentences) == (origins == ('baseline',))


def test_an_acceptance_accepts_nothing_without_a_criterion_and_a_comparison_of_two_checks_is_one(judged, around):
    pair = CurveRatio(of='Other', id='X3', **SOURCE)
    assert judged(around(SLOW), criteria(expectations=[pair], enforced=['X3']), profile='acceptance').reasons == ()
    result = judged(around(SLOW), criteria(expectations=[pair]), profile='acceptance')
    assert result.verdict is Verdict.INCONCLUSIVE
    assert 'no criterion' in result.reasons[0] and 'contract.yaml' in result.reasons[0]


@pytest.mark.parametrize(
    ('held', 'open_'),
    [
        (criteria(reference(SLOW, origin='contract')), ['no criterion: 1 of 2']),
        (criteria(reference(SLOW, origin='contract'), reference(SLOW, metric='read@32MiB')), []),
        (criteria(expectations=[FLAT], enforced=['X1']), []),
    ],
)
def test_an_acceptance_says_of_how_many_metrics_nothing_was_asked(judged, around, held, open_):
    labels = judged(around(SLOW), held, profile='acceptance').labels
    assert [label.partition(' metrics')[0] for label in labels if 'metrics' in label] == open_


@pytest.mark.parametrize(('made', 'missed', 'share'), [('6 repetitions', 53, 39), ('1 repetition', 90, 95)])
def test_an_acceptance_says_what_so_few_repetitions_do_not_show(judged, around, made, missed, share):
    held, values = criteria(reference(SLOW, origin='contract')), around(SLOW)[: int(made[0])]
    (sentences,) = [label for label in judged(values, held, profile='acceptance').labels if label.startswith('rare')]
    assert sentences == (
        f'rare slow launches: {made} miss a fault of one launch in ten with a probability of {missed} % '
        f'(0.9^{made[0]}); up to {share} % of all launches may be slow (95 %)'
    )
    assert not [label for label in judged(around(SLOW)).labels if label.startswith('rare')]


# References


@pytest.mark.parametrize(
    ('mean', 'spread', 'wanted', 'verdict'),
    [
        (100.0, 0.01, 100.0, 'PASS'),
        (50.0, 0.01, 100.0, 'FAIL'),
        (90.1, 0.01, 100.0, 'INCONCLUSIVE'),
        # a point that did not converge
        (50.0, 0.5, 100.0, 'FAIL'),
        (100.0, 0.3, 50.0, 'PASS'),
        (100.0, 0.5, 100.0, 'INCONCLUSIVE'),
    ],
)
def test_the_interval_against_the_reference_is_the_verdict(judged, around, mean, spread, wanted, verdict):
    result = judged(around(mean, spread), criteria(reference(wanted)))
    assert (result.verdict, result.metrics[0].verdict) == (verdict, verdict)
    assert result.metrics[1].verdict is Verdict.MEASURED
    assert [reason.startswith(f'read@16MiB: {verdict}: wanted ') for reason in result.reasons] == (
        [] if verdict == 'PASS' else [True]
    )


CACHED, ACCEPTANCE = {'cache': 'cached'}, {'profile': 'acceptance'}


@pytest.mark.parametrize('mean', [SLOW, SLOW / 2])
@pytest.mark.parametrize(
    ('of_reference', 'how', 'is_open'),
    [
        ({'origin': 'contract'}, CACHED, True),
        ({'origin': 'contract'}, {**CACHED, **ACCEPTANCE}, True),
        ({'origin': 'baseline'}, {**CACHED, **ACCEPTANCE}, True),
        ({'origin': 'contract'}, ACCEPTANCE, False),
        ({'origin': 'baseline'}, ACCEPTANCE, False),
        # a night that reads from the cache hides no regression
        ({'origin': 'baseline'}, CACHED, True),
        ({'origin': 'baseline'}, {'cache': 'mixed'}, True),
        ({'origin': 'baseline'}, {'cache': 'unknown'}, False),
        # it is for another engine
        ({'engine': 'ior'}, {}, True),
        ({'engine': 'ior', 'origin': 'contract'}, ACCEPTANCE, True),
    ],
)
def test_cached_reads_and_another_engine_decide_no_reference(judged, around, of_reference, how, is_open, mean):
    held = criteria(*(reference(SLOW, metric=f'read@{size}MiB', **of_reference) for size in (16, 32)))
    result = judged(around(mean), held, **how)
    decided = Verdict.PASS if mean == SLOW else Verdict.FAIL
    assert result.verdict is (Verdict.INCONCLUSIVE if is_open else decided)
    assert (result.references[0].interval == 'undecided') == is_open


def test_a_failure_before_a_job_died_counts_and_the_death_precedes_broken_launches(judged):
    figures, wrong = {'read@16MiB': 6 * [50.0], 'read@32MiB': 6 * [50.0]}, {'read@32MiB': WRONG}
    held = criteria(reference(100.0))
    result = judged(figures, held, findings=wrong, change=lambda records: records._replace(end=None))
    assert result.verdict is Verdict.FAIL
    assert [reason.split(': ')[0] for reason in result.reasons] == ['read@16MiB', 'T15', 'read@32MiB']


def test_a_referenced_metric_that_was_not_planned_or_not_measured_is_incomplete(judged, around):
    result = judged(around(100.0), criteria(reference(100.0, metric='read@8MiB')))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.reasons[0].startswith('read@8MiB: INCOMPLETE: ')
    assert judged({'read@32MiB': around(100.0)}, criteria(reference(100.0))).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize('mean', [100.0, 50.0])
def test_short_launches_neither_meet_nor_fail_a_contract(judged, around, mean):
    result = judged(around(mean), criteria(reference(100.0, origin='contract')))
    assert (result.verdict, result.references[0].interval) == (Verdict.INCONCLUSIVE, 'undecided')
    assert 'the shortest timed region lasted' in result.reasons[0]


def share(percent):
    return f'only {percent} % came'


@pytest.mark.parametrize(
    ('sentences', 'label'),
    [
        ({16: 6 * [share(81)], 32: 6 * [share(25)]}, f'read@16MiB: {share(81)}; read@32MiB: {share(25)}'),
        ({16: 6 * [share(81)], 32: 6 * [share(81)]}, f'read@16MiB, read@32MiB: {share(81)}'),
        (
            {16: [share(81), share(9), share(25), None, None, None], 32: 6 * [share(7)]},
            f'read@16MiB: {share("9 to 81")}; read@32MiB: {share(7)}',
        ),
        (
            {
                16: ['0.4 s, less than 60 s', *5 * ['0.31 s, less than 60 s']],
                32: [*5 * ['9 ms of 2 s'], '1 s of 2 s'],
            },
            'read@16MiB: 0.31 to 0.4 s, less than 60 s; read@32MiB: 9 ms of 2 s; read@32MiB: 1 s of 2 s',
        ),
        (
            {16: ['task 0 read on n1', *5 * ['task 2 read on n1']]},
            'read@16MiB: task 0 read on n1; read@16MiB: task 2 read on n1',
        ),
        (
            {size: 6 * [share(size)] for size in (4, 8, 16, 32)},
            f'read@16MiB, read@32MiB, read@4MiB and others: {share("4 to 32")}',
        ),
    ],
    ids=['other shares', 'one share', 'a figure', 'its unit', 'no figure', 'many launches'],
)
def test_a_label_gives_the_range_over_the_repetitions_and_the_remedy_once(judged, around, sentences, label):
    """P2 says of each repetition at each size what is given; None: nothing."""

    def with_findings(records):
        samples = [
            sample._replace(findings=(finding('P2', sentences[sample.point.at // MIB][sample.repetition]),))
            if sample.stage == 'measured' and sentences[sample.point.at // MIB][sample.repetition]
            else sample
            for sample in records.samples
        ]
        return records._replace(samples=samples)

    case = judged(around(100.0), change=with_findings, values=tuple(size * MIB for size in sentences))
    assert [text for text in case.labels if text.startswith('P2: ')] == [f'P2: {label}; {RULES["P2"].remedy}']


DRIFT = (1.03, 1.02, 1.01, 0.99, 0.98, 0.97)


@pytest.mark.parametrize(
    ('profile', 'share', 'verdict'),
    [('acceptance', 0.955, 'PASS'), ('acceptance', 0.975, 'INCONCLUSIVE'), ('acceptance', 1.05, 'FAIL'),
     ('nightly', 0.975, 'PASS')],
)  # fmt: skip
def test_a_series_that_drifts_decides_an_acceptance_only_if_all_of_it_does(judged, around, profile, share, verdict):
    origin = 'contract' if profile == 'acceptance' else 'baseline'
    held = criteria(reference(SLOW * share, low=0.0, high=9.0, origin=origin))
    figures = {'read@16MiB': [SLOW * MIB * share_of for share_of in DRIFT], 'read@32MiB': around(SLOW)}
    result = judged(figures, held, profile=profile)
    assert (result.verdict, result.correlation) == (verdict, 0.0)
    assert [label for label in result.labels if label.startswith('drifting: read@16MiB: ')]
    if verdict == 'INCONCLUSIVE':
        assert 'its samples drift, from ' in result.reasons[0]


@pytest.mark.parametrize(('share', 'verdict'), [(0.93, 'PASS'), (0.975, 'INCONCLUSIVE'), (1.07, 'FAIL')])
def test_where_the_neighbours_of_all_points_resemble_each_other_the_intervals_are_wider(judged, share, verdict):
    held = criteria(reference(SLOW * share, low=0.0, high=9.0))
    values = (16 * MIB, 32 * MIB, 64 * MIB)
    result = judged([SLOW * MIB * share_of for share_of in DRIFT], held, values=values, operations=('write', 'read'))
    assert result.verdict == verdict
    (label,) = [label for label in result.labels if label.startswith('correlated: ')]
    assert label.endswith('the intervals are up to 2.1 times as wide for it')
    plain = verdict_interval(result.metrics[0].values).log_half_width
    assert result.metrics[0].summary.interval.log_half_width == pytest.approx(2.1 * plain, rel=0.01)


def test_a_slow_launch_is_named_with_its_share(judged, around):
    slow = [*around(100.0)[:5], 60.0 * MIB]
    (label,) = [label for label in judged({'read@16MiB': slow, 'read@32MiB': around(90.0)}).labels if 'slow' in label]
    assert label == 'slow launches: 1 of 6 at read@16MiB; their figure is a quarter worse than the median'


@pytest.mark.parametrize(('share', 'verdict'), [(0.001, 'PASS'), (0.097, 'INCONCLUSIVE')])
def test_what_a_clock_may_be_wrong_by_decides_nothing(judged, around, share, verdict):
    def with_clock(records):
        timed = [(sample, sample.measurement) for sample in records.samples]
        samples = [
            sample._replace(measurement=launch._replace(clock_s=share * launch.seconds)) for sample, launch in timed
        ]
        return records._replace(samples=samples)

    result = judged(around(100.0), criteria(reference(100.0, low=-0.05)), change=with_clock)
    assert result.verdict == verdict
    assert all('(9.7 % of it for the clocks)' in reason for reason in result.reasons)


# Expectations


@pytest.mark.parametrize(('first', 'cache', 'word'), [(50.0, 'cold', 'fails'), (100.0, 'cached', 'holds')])
def test_an_expectation_is_context_also_of_cached_reads_and_decides_nothing(judged, around, first, cache, word):
    figures = {'read@16MiB': around(first), 'read@32MiB': around(100.0)}
    result = judged(figures, criteria(expectations=[FLAT]), cache=cache)
    assert (result.verdict, result.expectations[0].relation.verdict) == (Verdict.MEASURED, word)


@pytest.mark.parametrize(
    ('second', 'spread', 'verdict'), [(100.0, 0.01, 'PASS'), (150.0, 0.01, 'FAIL'), (120.0, 0.2, 'INCONCLUSIVE')]
)
def test_an_expectation_that_is_enforced_decides(judged, around, second, spread, verdict):
    figures = {'read@16MiB': around(100.0, spread), 'read@32MiB': around(second, spread)}
    result = judged(figures, criteria(expectations=[FLAT], enforced=['X1']))
    assert result.verdict == verdict and result.expectations[0].enforced
    assert [reason.startswith(f'X1: {verdict}: ') for reason in result.reasons] == [True] * (verdict != 'PASS')


def test_enforcing_one_expectation_enforces_no_other(judged, around):
    figures = {'read@16MiB': around(100.0), 'read@32MiB': around(50.0)}
    other = DoesNotDegrade(id='X2', **SOURCE)
    result = judged(figures, criteria(expectations=[FLAT, other], enforced=['X2']))
    assert [expectation.enforced for expectation in result.expectations] == [False, True]


@pytest.mark.parametrize('slow', [False, True])
def test_a_point_that_is_not_valid_takes_part_in_no_comparison(judged, around, slow):
    figures = {'read@16MiB': around(50.0 if slow else 100.0), 'read@32MiB': around(100.0)}
    held = criteria(reference(100.0), expectations=[FLAT], enforced=['X1'])
    result = judged(figures, held, findings={'read@16MiB': WRONG})
    assert (result.verdict, result.expectations[0].relation.verdict) == (Verdict.INVALID, 'undecided')
    assert result.references[0].interval == 'undecided'


@pytest.mark.parametrize('second', [SLOW, SLOW / 2])
@pytest.mark.parametrize('profile', ['nightly', 'acceptance'])
def test_cached_reads_neither_meet_nor_fail_a_criterion(judged, around, profile, second):
    figures = {'read@16MiB': around(SLOW), 'read@32MiB': around(second)}
    held = criteria(expectations=[FLAT], enforced=['X1'])
    result = judged(figures, held, profile=profile, cache='cached')
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.expectations[0].relation.sentence.endswith('; cached reads of Check decide nothing')


@pytest.mark.parametrize(('cache', 'expected'), [('unknown', 'unknown'), ('cached', 'mixed'), ('cold', 'cold')])
def test_what_may_have_been_cached_once_is_unknown_and_what_was_is_mixed(judged, around, cache, expected):
    result = judged(around(100.0), change=lambda records: changed(records, lambda s: s.repetition == 3, cache=cache))
    assert {metric.cache for metric in result.metrics} == {expected}


def test_a_smoke_test_is_compared_with_nothing(judged, around):
    figures = {'read@16MiB': around(100.0)[:4], 'read@32MiB': around(10.0)[:4]}
    held = criteria(reference(1e6), expectations=[FLAT], enforced=['X1'])
    result = judged(figures, held, profile='smoke')
    assert (result.verdict, result.references) == (Verdict.MEASURED, ())
    (expectation,) = result.expectations
    assert (expectation.relation.verdict, expectation.enforced) == ('undecided', False)
    assert expectation.relation.sentence == 'smoke: 4 repetitions, not judged'


def test_a_smoke_test_that_its_time_cut_short_says_what_was_done(judged, around):
    figures = {'read@16MiB': around(100.0)[:4], 'read@32MiB': around(10.0)[:1]}
    result = judged(figures, profile='smoke')
    assert result.unjudged == 'smoke: 1 to 4 of 4 repetitions (time budget exhausted), not judged'


# The whole

RANK = [Verdict.MEASURED, Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.INCOMPLETE, Verdict.INVALID, Verdict.FAIL]


def test_the_worst_verdict_is_a_proved_failure_and_of_nothing_the_verdict_is_incomplete():
    for place, verdict in enumerate(RANK):
        assert worst(RANK[: place + 1]) is verdict
    assert worst([]) is Verdict.INCOMPLETE


def test_every_verdict_has_an_exit_code_and_what_nothing_speaks_against_has_0():
    assert sorted(EXIT_CODES.values()) == [0, 0, 10, 11, 12, 13] and set(EXIT_CODES) == set(Verdict)
    assert {verdict for verdict in Verdict if verdict.unopposed} == {Verdict.PASS, Verdict.MEASURED}


@given(
    means=st.tuples(st.floats(10.0, 200.0), st.floats(10.0, 200.0)),
    spread=st.floats(0.0, 0.3),
    count=st.integers(0, 6),
    wanted=st.floats(10.0, 200.0),
    broken=st.booleans(),
    cache=st.sampled_from(['cold', 'cached', 'unknown']),
    profile=st.sampled_from(['smoke', 'nightly', 'acceptance']),
    origin=st.sampled_from(['contract', 'baseline']),
    engine=st.sampled_from(['', 'fio', 'ior']),
)
def test_criteria_never_make_a_verdict_better(
    make_plan, around, means, spread, count, wanted, broken, cache, profile, origin, engine
):
    plan = make_plan(profile=profile)
    figures = {
        name_: around(mean, spread)[: 6 - count] for name_, mean in zip(planned_metrics(plan), means, strict=True)
    }
    records = records_of(plan, figures, cache=cache, findings={'read@32MiB': WRONG} if broken else {})
    held = criteria(reference(wanted, origin=origin, engine=engine), expectations=[FLAT], enforced=['X1'])
    without, within = judge_case(plan, records), judge_case(plan, records, held)
    assert RANK.index(within.verdict) >= RANK.index(without.verdict)
    assert (within.verdict is Verdict.PASS) == (not within.reasons and profile != 'smoke')
    if within.verdict is Verdict.FAIL:
        outside = any(reference.interval == 'outside' for reference in within.references)
        assert outside or within.expectations[0].relation.verdict == 'fails'
