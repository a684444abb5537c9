"""How far along a sweep a share is sustained, as of accelerators that wait for no data; or where it stays below."""

import pytest

from seatrial.judge.expectations import Curves, Shape, StaysBelow, Sustains, judge_curves
from seatrial.judge.relations import sustains
from seatrial.model.metric import LOWER
from seatrial.workload.sweep import AXES

SHAPE = (-1.0, 0.0, 0.5, -0.5, 0.0, 1.0)
WORDS = Sustains(id='X', words='it works', source='Somebody', metric='share', least=0.9)


def about(mean, spread=0.005):
    return [mean + spread * each for each in SHAPE]


@pytest.mark.parametrize(
    ('means', 'verdict', 'said'),
    [
        ((0.99, 0.95, 0.7), 'holds', '0.9 is sustained up to 2tasks: 2tasks has 0.95'),
        ((0.99, 0.7, 0.95), 'holds', '0.9 is sustained up to 1task'),
        ((0.99, 0.98, 0.97), 'holds', '0.9 is sustained up to 4tasks'),
        ((0.5, 0.95, 0.95), 'fails', '0.9 is not sustained: 1task has 0.5'),
        ((0.901, 0.7, 0.7), 'undecided', '0.9 is not sustained: 1task has 0.901'),
    ],
)
def test_the_last_point_up_to_which_every_one_surely_has_the_share_is_named(means, verdict, said):
    found = sustains(
        {label: about(mean) for label, mean in zip(('1task', '2tasks', '4tasks'), means, strict=True)}, 0.9
    )
    assert (found.verdict, found.sentence[: len(said)]) == (verdict, said)


def test_too_few_samples_and_none_decide_nothing():
    assert sustains({'1task': about(0.99)[:5]}, 0.9).verdict == 'undecided'
    assert sustains({}, 0.9).verdict == 'undecided'


def test_points_without_an_order_and_a_metric_that_is_not_there_are_refused():
    assert 'have names and no order' in (WORDS.fault(Shape(('share',), 'layout', ('a', 'b'))) or '')
    assert "there is no metric 'share'" in (WORDS.fault(Shape(('read',), 'tasks')) or '')
    assert WORDS.fault(Shape(('share',), 'tasks')) is None


@pytest.mark.parametrize(
    ('shares', 'verdict'),
    [
        ((0.0, 0.01), 'holds'),
        ((0.01, 0.2), 'fails'),
        ((0.05, 0.01), 'undecided'),
        ((0.01, None), 'holds'),
        ((None, None), 'undecided'),
    ],
)
def test_a_share_of_opening_stays_below_its_limit_wherever_it_was_measured(shares, verdict):
    known = {label: about(share) if share else [share] * 6 for label, share in zip('ab', shares, strict=True)}
    samples = {label: () if None in own else own for label, own in known.items()}
    curves = Curves('Check', 'ior', AXES['variant'], {'a': 0, 'b': 1}, {'share': samples}, {'share': LOWER})
    (found,) = judge_curves(StaysBelow(id='X', words='w', source='s', metric='share', limit=0.05), curves)
    assert found.relation.verdict == verdict
