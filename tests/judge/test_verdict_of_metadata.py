"""The verdict of a case whose launches have several metrics, find facts, or do not see the end of a recovery."""

import pytest

from builders import FLAT, FLAT_TREE, plan_of, records_of
from seatrial.filesystem.lustre.layout import striped
from seatrial.judge.case import judge_case
from seatrial.judge.expectations import CurveRatio, Degrades, GuaranteeHolds, PointRatio
from seatrial.judge.outliers import USUAL
from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.action import Planned
from seatrial.model.metric import LOWER, Fact, MetricType
from seatrial.model.plan import Sizing, StoppingRule, metric
from seatrial.model.point import Allocation
from seatrial.model.record import Finding
from seatrial.rules.case import PHASE_MIN_S
from seatrial.workload.listing import listing
from seatrial.workload.registry import KINDS, planned_metrics
from seatrial.workload.scenario import scenario
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import AXES, Sweep, SweepSite, expand
from seatrial.workload.tree import Tree

SOURCE = {'words': 'it is so', 'source': 'Somebody'}
WRONG = (Finding('T20', 'invalid', 'the tasks waited'),)
SMOKE = {'profile': 'smoke', 'stopping': StoppingRule(0.1, minimum=4, maximum=4, extra=0, fixed=True)}
TWO_TASKS = posix_semantics(), Sweep('tasks', (2,))

BOTH = plan_of(FLAT.changed(empties_per_directory=1000), FLAT_TREE)
TWO = plan_of(FLAT, Sweep('tree', (('shared', {}), ('private', {'subtrees': 'private'}))))
SEMANTICS = plan_of(*TWO_TASKS)


def verdicts(result):
    return {metric.metric: metric.verdict.value for metric in result.metrics}


def whys(result):
    return {metric.metric: metric.why for metric in result.metrics if metric.why}


def reference(name, value, low=-0.1, high=None, unit='op/s', origin='contract'):
    return Reference(name, value, low, high, unit, origin, '2026-11-20')


def enforcing(*expectations):
    return Criteria(expectations, frozenset(expectation.id for expectation in expectations))


def remeasured(records, change):
    """The record whose measured launches are what `change` makes of a sample's measurement."""
    samples = [s._replace(measurement=change(s)) if s.stage == 'measured' else s for s in records.samples]
    return records._replace(samples=samples)


def with_metric(measurement, name, **fields):
    metrics = tuple(m._replace(**fields) if m.name == name else m for m in measurement.metrics)
    return measurement._replace(metrics=metrics)


# Several metrics of one launch


def test_every_metric_of_a_launch_has_its_own_verdict_values_and_unit():
    rates = {name: 6 * [1000.0 * n] for n, name in enumerate(planned_metrics(BOTH), 1)}
    result = judge_case(BOTH, records_of(BOTH, rates))
    assert (result.verdict, result.reasons, result.per_task) == (Verdict.MEASURED, (), 1000)
    values = {metric.metric: pytest.approx(metric.values) for metric in result.metrics}
    assert (rates, {metric.unit for metric in result.metrics}) == (values, {'op/s'})
    assert [metric.name for metric in result.metrics[:2]] == ['directory_create', 'file_create']


def test_metrics_of_one_launch_are_one_series_for_the_correlation():
    falling = [5000.0 - 20 * place for place in range(6)]
    assert len(planned_metrics(BOTH)) >= 5
    assert judge_case(BOTH, records_of(BOTH, falling)).correlation == 0.0


def test_of_the_metrics_of_a_point_the_noisy_one_says_why_its_repetitions_ended():
    rates = {**dict.fromkeys(planned_metrics(BOTH), 20 * [5000.0]), 'file_stat@flat': 10 * [1000.0, 4000.0]}
    result = judge_case(BOTH, records_of(BOTH, rates))
    assert list(whys(result)) == ['file_stat@flat']
    assert whys(result)['file_stat@flat'].startswith('20 valid repetitions, the maximum: its interval is +-')


@pytest.mark.parametrize(('of', 'invalid'), [('', ['directory_stat', 'file_stat']), ('file_stat', ['file_stat'])])
def test_what_is_not_valid_takes_no_other_figure_of_its_point_with_it(of, invalid):
    wrong = tuple(finding_._replace(metric=of) for finding_ in WRONG)
    result = judge_case(BOTH, records_of(BOTH, 6 * [5000.0], findings={'stat@flat': wrong}))
    assert sorted(metric.name for metric in result.metrics if metric.verdict == 'INVALID') == invalid
    assert whys(result) == {f'{name}@flat': 'T20: the tasks waited' for name in invalid}
    assert {metric.verdict for metric in result.metrics if metric.name not in invalid} == {'MEASURED'}


def test_a_reference_of_one_metric_judges_that_one_alone():
    held = Criteria(references=(reference('file_create@flat', 8000.0, origin='baseline'),))
    result = judge_case(BOTH, records_of(BOTH, 6 * [5000.0]), held)
    assert result.verdict is Verdict.FAIL
    assert [name for name, verdict in verdicts(result).items() if verdict == 'FAIL'] == ['file_create@flat']
    assert 'wanted at least 7200 op/s' in result.reasons[0]


@pytest.mark.parametrize(
    ('cache', 'verdict'), [('cold', 'PASS'), ('cached', 'INCONCLUSIVE'), ('unknown', 'INCONCLUSIVE')]
)
def test_lookups_that_a_client_may_have_answered_itself_accept_nothing(cache, verdict):
    plan = plan_of(FLAT, FLAT_TREE, profile='acceptance')
    references = tuple(reference(name, 100.0) for name in planned_metrics(plan))
    rates = 6 * [2000 / PHASE_MIN_S]
    result = verdicts(judge_case(plan, records_of(plan, rates, cache=cache), Criteria(references=references)))
    changes, lookups = ('file_create@flat', 'file_remove@flat'), ('file_stat@flat', 'file_read@flat')
    assert result == {**dict.fromkeys(changes, 'PASS'), **dict.fromkeys(lookups, verdict)}


@pytest.mark.parametrize('rate', [9000.0, 5000.0])
@pytest.mark.parametrize('profile', ['nightly', 'acceptance'])
def test_a_phase_of_less_than_seconds_neither_meets_nor_fails_a_contract(profile, rate):
    plan = plan_of(FLAT, FLAT_TREE, profile=profile, sizing=Sizing(1000, 1, 0.0, 0.0, pinned=1000))
    held = Criteria(references=(reference('file_create@flat', 8000.0),))
    result = judge_case(plan, records_of(plan, 6 * [rate]), held)
    assert (result.verdict, result.references[0].interval) == (Verdict.INCONCLUSIVE, 'undecided')
    assert 'less than 7.5 s' in result.reasons[0] and 'files_per_task' in result.reasons[0]


AGAIN = listing(891, (0.5, 10.0)), Sweep('entries', (891,))


def test_only_the_first_listing_of_a_launch_is_cold():
    plan = plan_of(*AGAIN)
    results = {metric.name: metric.cache for metric in judge_case(plan, records_of(plan, 6 * [1000.0])).metrics}
    assert results == {
        'ls_first': 'cold',
        **dict.fromkeys(('ls_second', 'ls_third', 'ls_fourth', 'ls_after_0.5s', 'ls_after_10s'), 'listed before'),
    }


@pytest.mark.parametrize(
    ('name', 'rate', 'origin', 'doubt'),
    [
        ('ls_first@891', 10.0, 'contract', None),
        ('ls_first@891', 1000.0, 'contract', 'less than 7.5 s'),
        ('ls_fourth@891', 10.0, 'contract', 'listed the directory before'),
        ('ls_after_10s@891', 10.0, 'contract', 'listed the directory before'),
        ('ls_fourth@891', 1000.0, 'baseline', None),
    ],
)
def test_what_was_listed_before_neither_meets_nor_fails_a_contract_but_may_have_a_baseline(name, rate, origin, doubt):
    plan = plan_of(*AGAIN, profile='acceptance' if origin == 'contract' else 'nightly')
    held = Criteria(references=(reference(name, 0.9 * rate, origin=origin),))
    result = judge_case(plan, records_of(plan, 6 * [rate]), held)
    assert result.verdict is (Verdict.INCONCLUSIVE if doubt else Verdict.PASS)
    assert [doubt in reason for reason in result.reasons] == [True] * bool(doubt)


@pytest.mark.parametrize(('cache', 'verdict'), [('cold', 'PASS'), ('cached', 'INCONCLUSIVE')])
def test_an_acceptance_may_be_compared_with_what_listing_again_shows(cache, verdict):
    plan = plan_of(*AGAIN, profile='acceptance')
    kept = CurveRatio(metric='ls_fourth', than='ls_first', lowest=5.0, id='G2', **SOURCE)
    rates = {name: 6 * [14.0 if name == 'ls_fourth@891' else 1.0] for name in planned_metrics(plan)}
    assert judge_case(plan, records_of(plan, rates, cache=cache), enforcing(kept)).verdict == verdict


# Latencies of single operations


def test_percentiles_are_the_medians_over_the_repetitions():
    columns = [{'p50': 0.001 * n, 'p99.9': 0.003 * n} for n in (1, 2, 9)] + 3 * [{}]
    records = remeasured(
        records_of(BOTH, 6 * [5000.0]),
        lambda sample: with_metric(sample.measurement, 'file_create', percentiles_s=columns[sample.repetition]),
    )
    result = judge_case(BOTH, records)
    results = {metric.metric: metric.percentiles_s for metric in result.metrics}
    assert results.pop('file_create@flat') == {'p50': 0.002, 'p99.9': 0.006}
    assert not any(results.values())


# Expectations of points and of metrics


@pytest.mark.parametrize(('private', 'word'), [(9000.0, 'holds'), (5100.0, 'fails')])
def test_two_points_of_a_case_are_compared(private, word):
    contention = PointRatio(metric='file_create', at='private', than='shared', lowest=1.1, id='G1', **SOURCE)
    rates = {name: 6 * [private if name.endswith('@private') else 5000.0] for name in planned_metrics(TWO)}
    result = judge_case(TWO, records_of(TWO, rates), enforcing(contention))
    assert [(expectation.subject, expectation.relation.verdict) for expectation in result.expectations] == [
        ('file_create', word)
    ]
    assert result.verdict is (Verdict.PASS if word == 'holds' else Verdict.FAIL)


def test_points_lie_on_their_axis_in_its_order_whatever_the_order_of_the_sweep():
    plan = plan_of(listing(10), Sweep('entries', (100, 10)))
    curves = judge_case(plan, records_of(plan, 6 * [1.0])).curves
    assert (curves.axis.name, curves.values) == ('entries', {'10': 10, '100': 100})
    assert {tuple(points) for points in curves.samples.values()} == {tuple(curves.values)} == {('10', '100')}


# Facts and guarantees


OTHERS = tuple(Fact(f'other{n}', True, 'it held') for n in range(40))


def of_fact(*holds, enforced=True, plan=SEMANTICS, **changes):
    """The result where one guarantee was found so in each repetition; all others hold, and it does after the last."""
    results = [(Fact('kept', hold, f'in repetition {n} it was {hold}'), *OTHERS) for n, hold in enumerate(holds)]
    results += (6 - len(results)) * [(Fact('kept', True, 'it held'), *OTHERS)]
    count = 4 if plan.stopping.fixed else 6
    records = remeasured(
        records_of(plan, count * [1.0], **changes),
        lambda sample: sample.measurement._replace(facts=results[sample.repetition]),
    )
    guarantee = GuaranteeHolds(fact='kept', id='P', **SOURCE)
    return judge_case(plan, records, enforcing(guarantee) if enforced else Criteria((guarantee,)))


@pytest.mark.parametrize(
    ('holds', 'known'),
    [
        ([], (True, 'it held')),
        ([True, None, None], (None, 'in repetition 1 it was None')),
        ([True, None, False, False], (False, 'in repetition 2 it was False')),
        ([False, None, True], (False, 'in repetition 0 it was False')),
    ],
)
def test_a_fact_is_told_as_it_was_when_it_was_worst(holds, known):
    assert of_fact(*holds).facts == (Fact('kept', *known), *OTHERS)


def test_a_fact_of_a_launch_that_is_not_valid_is_not_told():
    assert of_fact(False, findings={'probe@2tasks': WRONG}).facts == ()


@pytest.mark.parametrize(
    ('changes', 'enforced', 'holds', 'verdict'),
    [
        ({}, True, [], 'PASS'),
        ({}, True, [True, False], 'FAIL'),
        ({}, True, [True, None], 'INCONCLUSIVE'),
        ({}, False, [True, False], 'MEASURED'),
        (SMOKE, True, [], 'PASS'),
        (SMOKE, True, [True, False], 'FAIL'),
        # it is criterion enough for an acceptance
        ({'profile': 'acceptance'}, True, [], 'PASS'),
        ({'profile': 'acceptance'}, False, [], 'INCONCLUSIVE'),
    ],
)
def test_a_guarantee_decides_where_it_is_enforced_and_in_a_smoke_test_too(changes, enforced, holds, verdict):
    result = of_fact(*holds, enforced=enforced, plan=plan_of(*TWO_TASKS, **changes))
    assert (result.verdict, result.expectations[0].relation.verdict == 'fails') == (verdict, False in holds)
    named = [reason.startswith(f'P: {verdict}: kept: in repetition 1 ') for reason in result.reasons]
    assert not holds or named == [True] * enforced


def test_how_many_facts_hold_is_a_figure_that_judges_nothing():
    result = judge_case(SEMANTICS, records_of(SEMANTICS, 6 * [0.0]))
    assert (result.verdict, result.metrics[0].unit, result.metrics[0].values) == (Verdict.MEASURED, '', (0.0,) * 6)


# Metrics of which less is better


class Timed(Tree):
    """Trees of which every phase gives a latency beside its rates."""

    name = 'timed'

    def metrics(self, point, phase):
        return (*super().metrics(point, phase), MetricType(f'{phase}_latency', 's', LOWER))


@pytest.fixture
def timed(monkeypatch):
    """The plan of a sweep over tasks of such a kind."""
    monkeypatch.setitem(KINDS, 'timed', Timed())
    return plan_of(FLAT._replace(kind='timed', phases=('create',)), Sweep('tasks', (1, 2)))


def with_latencies(plan, seconds):
    """The record of the plan with these latencies, of every repetition, by the point's label."""
    rates = dict.fromkeys(planned_metrics(plan), 6 * [5000.0])
    latencies = {f'create_latency@{label}': 6 * [latency] for label, latency in seconds.items()}
    return records_of(plan, {**rates, **latencies})


@pytest.mark.parametrize(('later', 'verdict'), [(0.002, 'PASS'), (0.0005, 'FAIL')])
def test_a_latency_degrades_where_it_rises(timed, later, verdict):
    worse = Degrades(metric='create_latency', id='D1', **SOURCE)
    result = judge_case(timed, with_latencies(timed, {'1task': 0.001, '2tasks': later}), enforcing(worse))
    assert result.verdict == verdict


def test_what_is_slow_is_found_by_its_rate_and_not_by_a_short_latency(timed):
    pinned = SweepSite(tuple(striped(f'mdt{n:04d}', mdt_index=n) for n in range(4)))
    points = tuple(expand(Sweep('mdt'), FLAT._replace(kind='timed', phases=('create',)), Allocation(1, 2), pinned))
    plan = timed._replace(axis=AXES['mdt'], points=points)
    records = with_latencies(plan, {f'mdt{n:04d}': 0.0001 if n == 2 else 0.001 for n in range(4)})
    result = judge_case(plan, records)
    assert {place.verdict for place in result.isolation.places} == {USUAL}
    assert [(column.metric, column.unit) for column in result.isolation.columns] == [('file_create', 'op/s')]


# A scenario that did not recover: its recovery has no figure, and all others are what they are

POINT = scenario(before_s=10, action_s=10, after_s=40).changed(
    label='away', tasks=2, tasks_per_node=2, actions=(Planned('away', 10.0, 10.0),)
)
SEEN_S = 39.0


@pytest.fixture
def of_scenario():
    """The result of one launch that had not recovered after SEEN_S, with an outage of 8 s, by such a reference."""
    plan = plan_of()._replace(axis=AXES['action'], points=(POINT,), stopping=StoppingRule(0.1, 1, 1, fixed=True))
    records = records_of(plan, {'outage@away': [8.0]})
    records = records._replace(samples=[sample for sample in records.samples if sample.stage == 'measured'])
    late = {'value': SEEN_S, 'censored': True, 'figure': 'not back'}
    records = remeasured(records, lambda sample: with_metric(sample.measurement, 'recovery', **late))

    def judge(name, at_most):
        held = Criteria(references=(reference(metric(name, 'away'), at_most, None, 0.0, 's'),))
        return judge_case(plan, records, held)

    return judge


def test_only_the_recovery_is_without_a_figure(of_scenario):
    result = of_scenario('outage', 10.0)
    outcome = {metric.name: (metric.verdict, metric.values) for metric in result.metrics}
    assert outcome.pop('recovery') == (Verdict.INVALID, ())
    assert outcome.pop('outage') == (Verdict.PASS, (8.0,))
    assert {verdict for verdict, _ in outcome.values()} == {Verdict.MEASURED}
    assert [reason for reason in result.reasons if 'A2' in reason]


def test_a_bound_that_it_has_passed_is_missed(of_scenario):
    result = of_scenario('recovery', SEEN_S - 1)
    assert (result.verdict, verdicts(result)['recovery@away']) == ('FAIL', 'FAIL')
    assert 'not back' in result.references[0].words


@pytest.mark.parametrize('at_most', [SEEN_S, 900.0])
def test_a_bound_that_it_may_still_meet_is_neither_met_nor_missed(of_scenario, at_most):
    result = of_scenario('recovery', at_most)
    assert (result.references[0].interval, result.verdict) == ('undecided', Verdict.INVALID)
