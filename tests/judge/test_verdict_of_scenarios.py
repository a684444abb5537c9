"""The verdict of a scenario that did not recover: its recovery has no figure, and all others are what they are."""

import pytest

from builders import plan_of, records_of
from seatrial.judge.case import judge_case
from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria, Verdict
from seatrial.model.action import Planned
from seatrial.model.plan import StoppingRule, metric
from seatrial.workload.scenario import scenario
from seatrial.workload.sweep import AXES

POINT = scenario(before_s=10, action_s=10, after_s=40).changed(
    label='away', tasks=2, tasks_per_node=2, actions=(Planned('away', 10.0, 10.0),)
)
SEEN_S = 39.0


@pytest.fixture
def judged():
    """The result of one launch that had not recovered after SEEN_S, with an outage of 8 s, by these references."""
    plan = plan_of()._replace(axis=AXES['action'], points=(POINT,), stopping=StoppingRule(0.1, 1, 1, fixed=True))
    records = records_of(plan, {'outage@away': [8.0]})
    (sample,) = (each for each in records.samples if each.stage == 'measured')
    metrics = tuple(
        each._replace(value=SEEN_S, censored=True, figure='not back') if each.name == 'recovery' else each
        for each in sample.measurement.metrics
    )
    sample = sample._replace(measurement=sample.measurement._replace(metrics=metrics))
    records = records._replace(samples=[sample])

    def judge(*bounds):
        references = [
            Reference(metric(name, 'away'), at_most, None, 0.0, 's', 'contract', '2026-11-20')
            for name, at_most in bounds
        ]
        return judge_case(plan, records, Criteria(references=tuple(references)))

    return judge


def of(result):
    return {each.name: (each.verdict, each.values) for each in result.metrics}


def test_only_the_recovery_is_without_a_figure(judged):
    result = judged(('outage', 10.0))
    found = of(result)
    assert found.pop('recovery') == (Verdict.INVALID, ())
    assert found.pop('outage') == (Verdict.PASS, (8.0,))
    assert {verdict for verdict, _ in found.values()} == {Verdict.MEASURED}
    assert [each for each in result.reasons if 'A2' in each]


def test_a_bound_that_it_has_passed_is_missed(judged):
    result = judged(('recovery', SEEN_S - 1))
    assert (result.verdict, of(result)['recovery'][0]) == (Verdict.FAIL, Verdict.FAIL)
    assert 'not back' in result.references[0].words


@pytest.mark.parametrize('at_most', [SEEN_S, 900.0])
def test_a_bound_that_it_may_still_meet_is_neither_met_nor_missed(judged, at_most):
    result = judged(('recovery', at_most))
    assert (result.references[0].interval, result.verdict) == ('undecided', Verdict.INVALID)
