"""Relations between the points of a sweep. How often they are wrong is measured by benchmarks/coverage.py."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seatrial.judge.relations import does_not_degrade, falls_with, insensitive, lies_between, plateaus, unimodal

# Six samples with the mean 1 and a standard deviation of sqrt(0.4) times the spread.
SHAPE = (-1.0, 0.0, 0.0, 0.0, 0.0, 1.0)

spreads = st.floats(0.0, 0.3)
sweeps = st.lists(st.tuples(st.floats(10.0, 1000.0), spreads), min_size=2, max_size=6)


def samples(mean, spread=0.01):
    return [mean * (1 + spread * step) for step in SHAPE]


def sweep(*means, spread=0.01):
    return {f'{place}': samples(mean, spread) for place, mean in enumerate(means)}


close = partial(insensitive, margin=1.105)
flat_at_last, kept = partial(plateaus, margin=1.222), partial(does_not_degrade, margin=1.222)
falling = partial(falls_with, by='objects')


NO_RATES, NO_BANDS = (0.0, -1.0, math.nan, math.inf), ((0.0, 1.0), (1.2, 1.1), (1.1, 1.1))


def drawn(points):
    return {f'{place}': samples(mean, spread) for place, (mean, spread) in enumerate(points)}


@pytest.mark.parametrize(
    ('judge', 'points', 'verdict'),
    [
        (close, sweep(100, 101, 100, 99), 'holds'),
        (close, sweep(100, 101, 150, 99), 'fails'),
        (close, sweep(100, 101, 110, 100), 'undecided'),
        (close, sweep(100, 101, 100, 99, spread=0.2), 'undecided'),
        (close, {**sweep(100, 101, 100), 'noisy': samples(150, 0.8)}, 'undecided'),
        (close, {'no noise': [100.0] * 6, 'some': samples(101.0)}, 'holds'),
        (close, sweep(100, 110.49, spread=0.0), 'holds'),
        (close, sweep(100, 110.51, spread=0.0), 'fails'),
        # over clients: it rises and stays, falls off at the end, has a dent, slides slowly, drops at the margin
        (flat_at_last, sweep(100, 180, 300, 305, 300), 'holds'),
        (flat_at_last, sweep(100, 180, 300, 305, 200), 'fails'),
        (flat_at_last, sweep(100, 300, 150, 305, 300), 'fails'),
        (kept, sweep(100, 300, 150, 305, 300), 'holds'),
        (kept, sweep(300, 270, 243, 219, 197), 'fails'),
        (flat_at_last, sweep(300, 270, 243, 219, 197), 'fails'),
        (kept, sweep(100, 122, 100), 'undecided'),
        (flat_at_last, sweep(100, 122, 100), 'undecided'),
        # it falls: not where it rises, or rises most of the way; one swap among four is still a fall, unless stricter
        (falling, sweep(100, 110, 120, 130), 'fails'),
        (falling, sweep(100, 110, 120, 130, 140, 90), 'fails'),
        (falling, sweep(100, 101, 102, spread=0.026), 'fails'),  # though no rise is proved among all
        (falling, sweep(100, 100.1, 99.9, 100, 99.9), 'undecided'),
        (falling, sweep(104, 102, 100, 98, spread=0.2), 'undecided'),
        (falling, sweep(11.7, 0.87, 0.65, 0.76), 'holds'),
        (partial(falling, spearman=-0.9), sweep(11.7, 0.87, 0.65, 0.76), 'fails'),
    ],
)
def test_a_relation_is_told_from_its_opposite_and_from_noise(judge, points, verdict):
    assert judge(points).verdict == verdict


@pytest.mark.parametrize(
    ('relation', 'sentence'),
    [
        (
            insensitive({'64KiB': samples(100), '1MiB': samples(108), '4MiB': samples(103)}, 1.105, 'transfer sizes'),
            'largest ratio between two transfer sizes 1.08 (1MiB over 64KiB), '
            '90 % simultaneous interval 1.069 to 1.087, margin 1.105: holds',
        ),
        (
            does_not_degrade(sweep(100, 200, 300), 1.222, 'client counts'),
            'largest drop from one of the client counts to the last 1, '
            '90 % simultaneous interval 1 to 1, margin 1.222: holds',
        ),
        (
            falls_with({'2': samples(100), '32': samples(80), '2048': samples(50)}, 'objects'),
            '2048 over 2 is 0.5, 90 % interval 0.4967 to 0.5033, limit 1; '
            'rank correlation with objects -1.00, limit -0.8: holds',
        ),
        (
            lies_between(samples(120), samples(100), 1.05, names=('read', 'write')),
            'read over write is 1.2, 90 % interval 1.192 to 1.208, wanted at least 1.05: holds',
        ),
        (
            unimodal({'8': samples(50), '64': samples(100), '512': samples(70)}, 1.222, 'values'),
            'best of the values 64; deepest valley 1, 90 % simultaneous interval 1 to 1, margin 1.222: holds',
        ),
    ],
)
def test_the_sentence_says_what_was_found_in_plain_words(relation, sentence):
    assert relation.sentence == sentence


def test_the_upper_end_of_the_largest_ratio_is_that_of_its_own_pair():
    relation = insensitive(sweep(100, 104, 108), 1.5)
    assert relation.high == pytest.approx(lies_between(samples(108), samples(100), 1).high)


def test_the_lower_end_of_the_largest_ratio_pays_for_every_pair():
    relation = insensitive(sweep(100, 104, 108), 1.5)
    error = math.sqrt(2 * 0.4 / 6) * 0.01
    assert relation.low == pytest.approx(1.08 * math.exp(-stats.t.ppf(1 - 0.05 / 6, 10) * error))


def test_two_means_are_compared_as_welch_does():
    a, b = samples(1000.0, 0.01), [*samples(980.0, 0.03), *samples(980.0, 0.02)]
    relation = lies_between(a, b, 1.0)
    welch = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.90)
    assert (relation.low - 1) * 980 == pytest.approx(welch.low, abs=0.5)
    assert (relation.high - 1) * 980 == pytest.approx(welch.high, abs=0.5)


@pytest.mark.parametrize(
    'judge', [close, kept, flat_at_last, falling, lambda points: lies_between(*points.values(), 1.0, names=[*points])]
)
def test_too_few_samples_decide_nothing(judge):
    relation = judge({'64KiB': samples(100.0), '1MiB': [300.0] * 5})
    assert (relation.verdict, relation.estimate, relation.low, relation.high) == ('undecided', None, None, None)
    assert relation.sentence.endswith('1MiB has 5 of the 6 samples that a verdict needs: undecided')


@pytest.mark.parametrize('points', [{}, {'only': samples(100.0)}])
def test_one_point_has_nothing_to_be_compared_with(points):
    assert close(points).verdict == falling(points).verdict == 'undecided'


@pytest.mark.parametrize(
    ('judge', 'match'),
    [
        *((partial(close, {'a': samples(1), 'b': [*samples(1), rate]}), 'above 0|finite') for rate in NO_RATES),
        *((partial(insensitive, sweep(100, 100), margin), 'a margin is above 1') for margin in (1.0, 0.9)),
        *((partial(lies_between, samples(1), samples(1), *band), 'two ascending figures') for band in NO_BANDS),
    ],
)
def test_a_sample_that_is_no_rate_and_what_is_no_margin_or_band_is_refused(judge, match):
    with pytest.raises(ValueError, match=match):
        judge()


@given(sweeps)
def test_the_estimate_is_the_largest_ratio_of_the_means_and_lies_in_its_interval(points):
    relation = insensitive(drawn(points), 1.222)
    assert 1.0 <= relation.low <= relation.estimate * (1 + 1e-9)
    assert relation.estimate <= relation.high * (1 + 1e-9)
    means = [np.mean(values) for values in drawn(points).values()]
    assert relation.estimate == pytest.approx(max(means) / min(means))


@given(sweeps, st.floats(1.01, 2.0), st.floats(1.01, 2.0))
def test_a_wider_margin_never_judges_more_severely(points, one, other):
    severity = {'holds': 0, 'undecided': 1, 'fails': 2}
    narrow, wide = (insensitive(drawn(points), margin) for margin in sorted((one, other)))
    assert severity[wide.verdict] <= severity[narrow.verdict]


@given(st.lists(st.floats(1.0, 1000.0), min_size=3, max_size=9, unique_by=lambda value: round(value, 1)))
def test_the_rank_correlation_is_that_of_scipy(means):
    sentence = falls_with(sweep(*means, spread=0.0), 'objects').sentence
    expected = stats.spearmanr(range(len(means)), means).statistic
    assert float(sentence.split('objects ')[1].split(',')[0]) == pytest.approx(expected, abs=0.0051)


@pytest.mark.parametrize(
    ('over', 'highest', 'verdict'),
    [
        *((102, math.inf, 'fails'), (105, math.inf, 'undecided'), (150, math.inf, 'holds')),
        *((100, 1.35, 'fails'), (105, 1.35, 'undecided'), (120, 1.35, 'holds')),
        *((135, 1.35, 'undecided'), (150, 1.35, 'fails')),
    ],
)
def test_a_ratio_is_judged_at_both_ends_of_its_band(over, highest, verdict):
    assert lies_between(samples(over), samples(100), 1.05, highest).verdict == verdict


@given(st.floats(10.0, 1000.0), st.floats(10.0, 1000.0), spreads, spreads)
def test_turning_a_ratio_round_inverts_its_interval(over, under, one, other):
    straight = lies_between(samples(over, one), samples(under, other), 1.0)
    turned = lies_between(samples(under, other), samples(over, one), 1.0)
    assert (turned.low, turned.high) == pytest.approx((1 / straight.high, 1 / straight.low))


@pytest.mark.parametrize(
    ('means', 'spread', 'better', 'verdict'),
    [
        *(
            (means, 0.01, 'higher', 'holds')
            for means in ((50, 80, 100, 90, 40), (50, 60, 70), (70, 60, 50), 3 * (1,))
        ),
        ((100, 60, 90, 50), 0.01, 'higher', 'fails'),
        ((100, 60, 90, 50), 0.9, 'higher', 'undecided'),
        ((100, 85, 100), 0.2, 'higher', 'undecided'),
        ((100, 160, 100), 0.01, 'lower', 'fails'),
        ((100, 60, 100), 0.01, 'lower', 'holds'),
        ((100, 60), 0.01, 'higher', 'undecided'),
    ],
)
def test_a_curve_with_one_peak_is_unimodal_and_a_valley_between_two_is_none_within_the_noise(
    means, spread, better, verdict
):
    assert unimodal(sweep(*means, spread=spread), 1.222, better=better).verdict == verdict
