import pytest

from seatrial.judge.case import judge_case
from seatrial.judge.relations import lies_between
from seatrial.model.record import Finding
from seatrial.report.session.ratios import Ratio, cached, contentions, listings, ratio
from seatrial.workload.sweep import Sweep

WRONG = Finding('T17a', 'invalid', 'after create there are 3 files, not 2000')


def contended(make, plan, rates=None, **more):
    return contentions(plan, make.measured(plan, rates or make.tree_rates(plan), **more).result)


def repeated(make, cache='cold', findings=None, changed=(), **rates):
    """The plan and the result of repeated listings with these rates; changed: the rates of single listings."""
    plan = make.plan('Check', make.CACHE, Sweep('entries', (891,)))
    listed = make.listing_rates(plan, **rates) | dict(changed)
    return plan, make.measured(plan, listed, cache=cache, findings=findings).result


def test_the_contention_factor_is_the_ratio_that_the_judge_gives(make, trees):
    rates = make.tree_rates(trees, noise=0.3)
    (result,) = contended(make, trees, rates)
    wanted = lies_between(rates['file_create@private'], rates['file_create@shared'], 1.1)
    assert (result.over, result.under) == ('private', 'shared')
    assert list(result.ratios) == ['file_create', 'file_stat', 'file_read', 'file_remove']
    ratio_ = result.ratios['file_create']
    assert (ratio_.estimate, ratio_.low, ratio_.high) == (wanted.estimate, wanted.low, wanted.high)
    assert ratio_.low < 1.5 < ratio_.high


def test_too_few_repetitions_give_a_ratio_without_an_interval_and_what_is_invalid_gives_none(make, trees):
    (result,) = contended(make, trees, make.tree_rates(trees, count=4))
    assert (result.ratios['file_stat'].estimate, result.ratios['file_stat'].low) == (pytest.approx(1.5), None)
    (result,) = contended(make, trees, findings={'create@private': [WRONG]})
    assert result.ratios['file_create'].estimate is None


def test_trees_that_differ_in_more_than_what_is_shared_make_no_pair(make):
    sweep = Sweep('tree', (('shared', {}), ('private', {'subtrees': 'private', 'bytes_per_file': 4096})))
    for plan in (make.plan('Check', make.FILES, sweep, tasks=8), make.plan('Check', make.FILES, make.TREES, tasks=1)):
        assert contended(make, plan) == []


def test_a_cold_point_is_not_compared_with_a_cached_one(make, trees):
    records = make.records(trees, make.tree_rates(trees), cache='cached')
    cold = [sample._replace(cache='cold') if sample.launch == 'stat@shared' else sample for sample in records.samples]
    (result,) = contentions(trees, judge_case(trees, records._replace(samples=cold)))
    assert result.unlike == ('file_stat',)
    assert [name for name, ratio in result.ratios.items() if ratio.estimate is None] == ['file_stat']


def test_a_ratio_needs_samples_above_zero():
    assert ratio((), (1.0, 2.0)).estimate is None
    assert ratio((1.0, 2.0), (0.0, 2.0)).estimate is None
    assert ratio((2.0, 2.0), (1.0, 1.0)).estimate == 2.0


def test_a_listing_takes_what_its_mean_rate_says_and_is_compared_with_the_first(make):
    result = listings(*repeated(make, noise=0.9))
    first, third, last = (result[f'ls_{which}@891'] for which in ('first', 'third', 'after_10s'))
    assert (first.seconds, third.seconds) == (pytest.approx(891 / 1913), pytest.approx(0.033))
    assert (first.faster, third.faster.estimate) == (None, pytest.approx(14.1, rel=0.01))
    assert last.faster.estimate == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize(
    ('expires_s', 'text'),
    [
        (0.5, 'Lost after 0.5 s.'),
        (99.0, 'Still cached after 10 s without a call, the longest pause.'),
    ],
)
def test_the_pause_after_which_the_cache_is_lost_is_found(make, expires_s, text):
    assert cached(*repeated(make, expires_s=expires_s), '891').kept == text


def test_a_listing_between_cold_and_warm_is_no_proof(make):
    plan, result = repeated(make, changed={'ls_after_2s@891': [2000.0, 27000.0] * 3})
    kept = cached(plan, result, '891').kept
    assert kept == 'Still cached after 1 s without a call; undecided after 2 s.'


def test_listings_tell_nothing_of_a_cache_that_are_no_faster_again_were_not_cold_first_or_are_invalid(make):
    result = cached(*repeated(make, cold=26000.0, warm=27000.0, noise=0.5), '891')
    assert result.kept.startswith('The fourth listing is not proved to be faster')
    result = cached(*repeated(make, cache='cached'), '891')
    assert result.faster.estimate is None
    assert result.kept.startswith('The first listing is not proved to be cold')
    assert cached(*repeated(make, findings={'list@891': [WRONG]}), '891') is None


@pytest.mark.parametrize(
    ('result', 'text'),
    [(Ratio(1.487, 1.31, 1.674), '1.49 (1.31 - 1.67)'), (Ratio(1.487), '1.49'), (Ratio(None), 'undecided')],
)
def test_a_ratio_is_told_with_its_interval(result, text):
    assert result.words == text
