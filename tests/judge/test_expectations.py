"""Expectations from the literature about curves, on made-up curves that meet them or do not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.expectations import (
    MARGIN_5,
    ChangePoint,
    CurveRatio,
    Curves,
    Degrades,
    DoesNotDegrade,
    Fair,
    FallsWith,
    GuaranteeHolds,
    Insensitive,
    Plateaus,
    PointRatio,
    Reaches,
    RisesWith,
    Shape,
    StaysBelow,
    Sustains,
    judge_curves,
    judge_guarantee,
    judge_pair,
)
from seatrial.judge.relations import sustains
from seatrial.model.metric import HIGHER, LOWER, Fact
from seatrial.workload.sweep import AXES

SOURCE = {'id': 'X', 'words': 'it is so', 'source': 'Somebody'}
SHAPE = (-1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
SIZES = Shape(('write', 'read'), 'transfer_size')
GUARANTEE = GuaranteeHolds(fact='rename_replaces', **SOURCE)
NAMED = Shape(('file_create', 'file_stat'), 'tree', ('shared', 'private'))


def samples(mean, spread=0.01, count=6):
    return [mean * (1 + spread * step) for step in SHAPE[:count]]


def curves(check='Check', axis='tasks', spread=0.01, better=HIGHER, **means):
    """A curve of each metric: read={1: 100.0, 2: 200.0} by the value on the axis."""
    values = {f'p{value}': value for mean in means.values() for value in mean}
    by_metric = {
        metric: {f'p{value}': samples(mean, spread) for value, mean in by_size.items()}
        for metric, by_size in means.items()
    }
    return Curves(check, 'ior', AXES[axis], values, by_metric, dict.fromkeys(means, better))


def verdict(expectation, measured):
    (result,) = judge_curves(expectation, measured)
    return result.relation.verdict


FLAT = {1: 100.0, 2: 101.0, 8: 100.0, 40: 99.0}
RISING = {1: 20.0, 2: 40.0, 8: 98.0, 40: 100.0}
SLOWLY_RISING = {1: 20.0, 2: 40.0, 8: 60.0, 40: 100.0}
COLLAPSING = {1: 20.0, 2: 40.0, 8: 100.0, 40: 60.0}
FALLING = {1: 100.0, 2: 90.0, 8: 70.0, 40: 50.0}
STEPPING = {1: 50.0, 2: 50.5, 4: 50.0, 8: 100.0, 16: 101.0, 32: 100.0, 64: 101.0}
STEP = ChangePoint(over='tasks', first=4, last=8, **SOURCE)
AT_LEAST = CurveRatio(metric='read', than='write', **SOURCE)
BETWEEN = replace(AT_LEAST, lowest=1.05, highest=1.35)
OF_STRIDED = CurveRatio(of='Strided', **SOURCE)


KINDS = [
    (Insensitive(to='tasks', margin=MARGIN_5, **SOURCE), FLAT, FALLING),
    (FallsWith(by='tasks', **SOURCE), FALLING, RISING),
    (RisesWith(by='tasks', **SOURCE), SLOWLY_RISING, FALLING),
    (Plateaus(**SOURCE), RISING, COLLAPSING),
    (DoesNotDegrade(**SOURCE), RISING, COLLAPSING),
    (Degrades(**SOURCE), COLLAPSING, RISING),
    (Reaches(at=8, **SOURCE), RISING, SLOWLY_RISING),
    (STEP, STEPPING, dict.fromkeys(STEPPING, 100.0)),
    (PointRatio(at='p8', than='p1', lowest=1.1, **SOURCE), RISING, FLAT),
]
OF_CURVES = [expectation for expectation, _, _ in KINDS]


@pytest.mark.parametrize(('expectation', 'like', 'unlike'), KINDS, ids=lambda value: type(value).__name__)
def test_each_kind_knows_a_curve_that_is_like_it_from_one_that_is_not(expectation, like, unlike):
    assert verdict(expectation, curves(read=like)) == 'holds'
    assert verdict(expectation, curves(read=unlike)) == 'fails'


@pytest.mark.parametrize('expectation', [*OF_CURVES, AT_LEAST, BETWEEN], ids=lambda value: type(value).__name__)
class TestEveryKind:
    def test_is_undecided_by_five_samples(self, expectation):
        measured = curves(read=COLLAPSING, write=FLAT)
        few = {metric: {p: point[:5] for p, point in points.items()} for metric, points in measured.samples.items()}
        results = judge_curves(expectation, replace(measured, samples=few))
        assert {result.relation.verdict for result in results} == {'undecided'}

    def test_never_holds_where_a_point_has_no_valid_samples(self, expectation):
        for curve in (FLAT, RISING, COLLAPSING, FALLING):
            measured = curves(read={v: 1.2 * mean for v, mean in curve.items()}, write=curve)
            for points in measured.samples.values():
                points['p8'] = ()
            results = judge_curves(expectation, measured)
            assert {result.relation.verdict for result in results} == {'undecided'}

    def test_decides_nothing_unless_it_is_enforced(self, expectation):
        measured = curves(read=FLAT, write=FLAT)
        assert not any(result.enforced for result in judge_curves(expectation, measured))
        assert all(result.enforced for result in judge_curves(expectation, measured, enforced=True))


def test_without_a_metric_every_one_is_judged_for_itself():
    results = judge_curves(Insensitive(to='tasks', **SOURCE), curves(write=FALLING, read=FLAT))
    by_metric = {result.subject.split()[0]: result.relation.verdict for result in results}
    assert by_metric == {'write': 'fails', 'read': 'holds'}


@pytest.mark.parametrize(
    'expectation',
    [PointRatio(at='p8', than='p16', **SOURCE), PointRatio(at='p16', than='p8', **SOURCE), Reaches(at=16, **SOURCE)],
)
def test_a_point_that_the_profile_left_out_cannot_be_compared(expectation):
    assert verdict(expectation, curves(read=RISING)) == 'undecided'


def test_what_is_of_two_checks_or_of_a_guarantee_says_nothing_of_a_curve():
    for expectation in (GUARANTEE, CurveRatio(metric='read', of='Strided', **SOURCE)):
        assert judge_curves(expectation, curves(read=FLAT)) == []


@pytest.mark.parametrize(('holds', 'word'), [(True, 'holds'), (False, 'fails'), (None, 'undecided')])
def test_a_guarantee_holds_as_the_fact_does(holds, word):
    facts = (Fact('other', not holds, 'x'), Fact('rename_replaces', holds, 'the new name had the old content'))
    result = judge_guarantee(GUARANTEE, facts)
    assert (result.subject, result.relation.verdict, result.enforced) == ('rename_replaces', word, False)
    assert result.relation.sentence == 'the new name had the old content'
    untried = judge_guarantee(GUARANTEE, facts[:1], enforced=True)
    assert (untried.relation.verdict, untried.enforced) == ('undecided', True)


def test_reading_must_be_faster_at_every_point():
    write = dict.fromkeys(FLAT, 80.0)
    assert verdict(AT_LEAST, curves(read=FLAT, write=write)) == 'holds'
    (result,) = judge_curves(AT_LEAST, curves(read=FLAT, write={**write, 8: 150.0}))
    assert result.relation.verdict == 'fails'
    assert result.relation.sentence.startswith('at p8, the closest of 4: read over write is 0.6667')


def test_the_closest_point_of_a_band_is_the_one_nearest_to_either_end():
    write = dict.fromkeys(FLAT, 100.0)
    (result,) = judge_curves(BETWEEN, curves(read={1: 110.0, 2: 120.0, 8: 133.0, 40: 120.0}, write=write))
    assert (result.relation.verdict, result.relation.sentence.split(',')[0]) == ('holds', 'at p8')


def test_one_of_many_points_that_is_barely_below_may_be_chance():
    assert verdict(AT_LEAST, curves(read={7: 97.0}, write={7: 100.0}, spread=0.03)) == 'fails'
    read = {**dict.fromkeys(range(1, 21), 130.0), 7: 97.0}
    (result,) = judge_curves(AT_LEAST, curves(read=read, write=dict.fromkeys(read, 100.0), spread=0.03))
    assert result.relation.verdict == 'undecided'
    assert result.relation.sentence.endswith('which may be chance: undecided')


def test_a_point_that_is_too_noisy_keeps_all_from_holding_even_if_another_is_closer():
    measured = curves(read={1: 105.0, 2: 130.0}, write={1: 100.0, 2: 100.0})
    measured.samples['read']['p2'] = samples(130.0, 0.8)
    (result,) = judge_curves(AT_LEAST, measured)
    assert result.relation.verdict == 'undecided'
    assert result.relation.sentence.startswith('at p2, ')


def test_two_checks_are_compared_where_both_have_points_of_the_size_asked_for():
    at_least = replace(OF_STRIDED, metric='read', minimum=2)
    one = curves('Contiguous', read={1: 50.0, 2: 100.0, 8: 100.0})
    other = curves('Strided', read={1: 100.0, 2: 80.0, 40: 500.0})
    (result,) = judge_pair(at_least, one, other, 'lab:io/scratch/default/1n')
    text = 'at p2, the closest of 1: read of Contiguous over read of Strided is 1.25'
    assert (result.relation.verdict, result.relation.sentence[: len(text)]) == ('holds', text)
    assert result.subject == 'read of Contiguous against read of Strided, lab:io/scratch/default/1n'


@pytest.mark.parametrize(
    ('changes', 'one', 'other', 'plain', 'enforced'),
    [
        ({'minimum': 2}, {1: 2.0, 2: 2.0}, {2: 1.0}, 'holds', 'holds'),
        ({'maximum': 8}, {8: 2.0, 40: 0.5}, {8: 1.0, 40: 1.0}, 'holds', 'holds'),
        ({'maximum': 40}, {8: 2.0, 40: 0.5}, {8: 1.0, 40: 1.0}, 'fails', 'fails'),
        # a criterion does not hold where a point is missing on one side, and fails whatever is missing
        ({}, {1: 2.0, 8: 2.0}, {1: 1.0}, 'holds', 'undecided'),
        ({}, {1: 2.0}, {1: 1.0, 8: 1.0}, 'holds', 'undecided'),
        ({}, {1: 0.5, 8: 2.0}, {1: 1.0}, 'fails', 'fails'),
        ({}, FLAT, {64: 1.0}, 'undecided', 'undecided'),
    ],
)
def test_two_checks_are_compared_at_the_points_that_both_have(changes, one, other, plain, enforced):
    for is_enforced, word in ((False, plain), (True, enforced)):
        pair = curves(read=one), curves('Strided', read=other)
        (result,) = judge_pair(replace(OF_STRIDED, **changes), *pair, 'here', is_enforced)
        assert result.relation.verdict == word
    if plain != enforced:
        assert '8 was measured in one of the two only' in result.relation.sentence


means = st.dictionaries(st.sampled_from([1, 2, 4, 8, 16]), st.floats(50.0, 200.0), min_size=1)


@given(means, st.lists(st.floats(50.0, 200.0), min_size=5, max_size=5), st.floats(0.0, 0.2))
def test_reading_is_never_judged_against_the_means(read, under, spread):
    write = dict(zip(read, under, strict=False))
    word = verdict(AT_LEAST, curves(read=read, write=write, spread=spread))
    lowest = min(read[value] / write[value] for value in read)
    assert word == 'undecided' or (word == 'holds') == (lowest >= 1)


@given(st.dictionaries(st.sampled_from([1, 2, 4, 8, 16]), st.floats(50.0, 200.0), min_size=2), st.floats(0.0, 0.2))
def test_a_curve_degrades_exactly_where_it_does_not_not_degrade(read, spread):
    opposite = {'holds': 'fails', 'fails': 'holds', 'undecided': 'undecided'}
    measured = curves(read=read, spread=spread)
    assert verdict(Degrades(**SOURCE), measured) == opposite[verdict(DoesNotDegrade(**SOURCE), measured)]


@pytest.mark.parametrize(
    ('striped', 'expected'), [(104.0, 'holds'), (112.0, 'fails'), (95.0, 'fails'), (106.0, 'undecided')]
)
def test_a_point_is_so_many_times_another_one(striped, expected):
    between = PointRatio(at='p3', than='p1', lowest=1.0, highest=1.06, **SOURCE)
    assert verdict(between, curves(axis='layout', read={1: 100.0, 3: striped})) == expected


# Metrics of which less is better


def inverse(curve):
    """A latency where `curve` is the rate that belongs to it."""
    return {value: 10000.0 / mean for value, mean in curve.items()}


@pytest.mark.parametrize('curve', [FLAT, RISING, SLOWLY_RISING, COLLAPSING, FALLING, STEPPING])
@pytest.mark.parametrize(
    'expectation',
    [*OF_CURVES, PointRatio(at='p8', than='p1', lowest=0.9, highest=1.1, **SOURCE)],
    ids=lambda value: type(value).__name__,
)
def test_a_latency_is_judged_as_the_rate_that_belongs_to_it(expectation, curve):
    assert verdict(expectation, curves(read=inverse(curve), better=LOWER)) == verdict(expectation, curves(read=curve))


@pytest.mark.parametrize(('read', 'expected'), [({1: 90.0}, 'holds'), ({1: 110.0}, 'fails')])
def test_of_two_latencies_the_smaller_one_is_the_better(read, expected):
    (result,) = judge_curves(AT_LEAST, curves(read=read, write={1: 100.0}, better=LOWER))
    assert result.relation.verdict == expected
    assert result.relation.sentence.startswith('at p1, the closest of 1: write over read is ')


def test_a_rate_and_a_latency_are_not_compared():
    mixed = replace(curves(iops={1: 100.0}, latency={1: 1.0}), better={'iops': HIGHER, 'latency': LOWER})
    (result,) = judge_curves(CurveRatio(metric='iops', than='latency', **SOURCE), mixed)
    assert result.relation.verdict == 'undecided'
    assert 'of one of the two higher is better, and of the other lower' in result.relation.sentence


def test_what_falls_with_smaller_transfers_is_told_from_the_largest():
    rising = curves(axis='transfer_size', read=SLOWLY_RISING)
    (result,) = judge_curves(RisesWith(by='transfer_size', **SOURCE), rising)
    assert result.relation.sentence.startswith('p1 over p40 is 0.2')
    text = 'rank correlation with transfer sizes, the largest first, -1.00, limit -0.8: holds'
    assert text in result.relation.sentence


# What a check can declare

LAYOUTS = Shape(('write', 'read'), 'layout', ('default', 'c1'))
NO_FIGURE = 'is none of time_ratio, mean_ratio, time_cv, jain between tasks or nodes or groups'
OTHER_AXIS = "'tasks' is not the axis of its sweep, which is 'transfer_size'"
SUSTAINS = Sustains(metric='read', least=0.9, **SOURCE)


@pytest.mark.parametrize(
    ('expectation', 'shape', 'fault'),
    [
        (Insensitive(to='tasks', **SOURCE), SIZES, OTHER_AXIS),
        (FallsWith(by='tasks', **SOURCE), SIZES, OTHER_AXIS),
        (STEP, SIZES, OTHER_AXIS),
        (Insensitive(to='transfer_size', **SOURCE), NAMED, "'transfer_size' is not the axis of its sweep"),
        (replace(STEP, first=8), SIZES, 'a change point lies between first and last'),
        (replace(STEP, times=1.0), SIZES, 'a change point lies between first and last'),
        (replace(STEP, over='tree'), NAMED, "the points of the axis 'tree' have no sizes"),
        (Plateaus(metric='stat', **SOURCE), SIZES, "there is no metric 'stat' in ['write', 'read']"),
        (replace(AT_LEAST, than='stat'), SIZES, "there is no metric 'stat' in ['write', 'read']"),
        (CurveRatio(metric='read', **SOURCE), SIZES, "there is no metric '' in ['write', 'read']"),
        (CurveRatio(metric='file_create', than='stat', **SOURCE), NAMED, "there is no metric 'stat' in"),
        (PointRatio(at='private', than='shared', metric='read', **SOURCE), NAMED, "there is no metric 'read' in"),
        (PointRatio(at='privat', than='shared', **SOURCE), NAMED, "there is no point 'privat' in"),
        (PointRatio(at='private', than='share', **SOURCE), NAMED, "there is no point 'share' in"),
        (PointRatio(at='c3', than='c1', lowest=1.0, highest=1.06, **SOURCE), LAYOUTS, "there is no point 'c3' in"),
        (SUSTAINS, LAYOUTS, "the points of the axis 'layout' have names and no order"),
        (SUSTAINS, Shape(('write',), 'tasks'), "there is no metric 'read' in ['write']"),
        (Fair(figure='longest', limit=2.0, **SOURCE), SIZES, f"'longest' between tasks {NO_FIGURE}"),
        (Fair(figure='jain', between='racks', limit=0.8, **SOURCE), SIZES, f"'jain' between racks {NO_FIGURE}"),
        # What it measures has no fault.
        (SUSTAINS, SIZES, None),
        (Insensitive(to='transfer_size', **SOURCE), SIZES, None),
        (Plateaus(metric='write', **SOURCE), SIZES, None),
        (AT_LEAST, SIZES, None),
        (CurveRatio(metric='read', of='Other', **SOURCE), SIZES, None),
        (GUARANTEE, NAMED, None),
        (PointRatio(at='private', than='shared', metric='file_create', **SOURCE), NAMED, None),
        (CurveRatio(metric='file_stat', than='file_create', **SOURCE), NAMED, None),
    ],
)
def test_a_check_declares_what_it_measures_and_nothing_else(expectation, shape, fault):
    result = expectation.fault(shape)
    assert result is None if fault is None else result.startswith(fault)


# How far along a sweep a share is sustained, as of accelerators that wait for no data; or where it stays below


def about(mean, spread=0.005):
    return [mean + spread * step for step in (-1.0, 0.0, 0.5, -0.5, 0.0, 1.0)]


@pytest.mark.parametrize(
    ('means', 'word', 'text'),
    [
        ((0.99, 0.95, 0.7), 'holds', '0.9 is sustained up to 2tasks: 2tasks has 0.95'),
        ((0.99, 0.7, 0.95), 'holds', '0.9 is sustained up to 1task'),
        ((0.99, 0.98, 0.97), 'holds', '0.9 is sustained up to 4tasks'),
        ((0.5, 0.95, 0.95), 'fails', '0.9 is not sustained: 1task has 0.5'),
        ((0.901, 0.7, 0.7), 'undecided', '0.9 is not sustained: 1task has 0.901'),
        ((), 'undecided', 'nothing was measured'),
    ],
)
def test_the_last_point_up_to_which_every_one_surely_has_the_share_is_named(means, word, text):
    points = {label: about(mean) for label, mean in zip(('1task', '2tasks', '4tasks'), means, strict=False)}
    result = sustains(points, 0.9)
    assert (result.verdict, result.sentence[: len(text)]) == (word, text)
    few = sustains({label: samples[:5] for label, samples in points.items()}, 0.9)
    assert few.verdict == 'undecided'


@pytest.mark.parametrize(
    ('shares', 'word'),
    [
        ((0.0, 0.01), 'holds'),
        ((0.01, 0.2), 'fails'),
        ((0.05, 0.01), 'undecided'),
        ((0.01, None), 'holds'),
        ((None, None), 'undecided'),
    ],
)
def test_a_share_of_opening_stays_below_its_limit_wherever_it_was_measured(shares, word):
    known = {label: about(share) if share else [share] * 6 for label, share in zip('ab', shares, strict=True)}
    samples = {label: () if None in shares else shares for label, shares in known.items()}
    measured = Curves('Check', 'ior', AXES['variant'], {'a': 0, 'b': 1}, {'share': samples}, {'share': LOWER})
    (result,) = judge_curves(StaysBelow(id='X', words='w', source='s', metric='share', limit=0.05), measured)
    assert result.relation.verdict == word
