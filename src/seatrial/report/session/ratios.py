"""The main ratios of metadata figures: private over shared directories, warm over cold listings. A ratio is the
judge's, with its interval; of too few samples it is that of the means, without one. It decides no verdict."""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from seatrial.judge.relations import lies_between
from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.metric import HIGHER
from seatrial.model.plan import TrialPlan
from seatrial.report.figures import figure, is_valid
from seatrial.workload.base import COLD
from seatrial.workload.listing import PASSES, pause_of
from seatrial.workload.registry import kind_of

FIRST, FOURTH = f'ls_{PASSES[0]}', f'ls_{PASSES[3]}'


class Ratio(NamedTuple):
    """The ratio of two means; all None if one of the two is invalid."""

    estimate: float | None
    low: float | None = None  # interval, or None
    high: float | None = None

    @property
    def words(self) -> str:
        """'1.49 (1.31 - 1.67)'; without interval the ratio alone."""
        if self.estimate is None:
            return 'undecided'
        if self.low is None or self.high is None:
            return figure(self.estimate)
        return f'{figure(self.estimate)} ({figure(self.low)} - {figure(self.high)})'


class ContentionRatios(NamedTuple):
    """The rates with a directory for each task over those with one shared directory."""

    over: str  # label of the one point
    under: str  # label of the other, whose tree is otherwise the same
    ratios: dict[str, Ratio]  # ratios by metric
    unlike: tuple[str, ...]  # metrics of which one point was cold and the other was not: they have no ratio


class ListingTime(NamedTuple):
    seconds: float  # time of one listing of a directory at the mean rate
    faster: Ratio | None  # ratio of that rate to the first one, or None


class Cached(NamedTuple):
    """The client's cache by repeated listings."""

    entries: int  # entries of the directory
    cache: str  # cache state of the first listing
    first_s: float  # first listing at its mean rate
    fourth_s: float  # fourth listing at its mean rate
    faster: Ratio  # rate of the fourth over that of the first
    kept: str  # how long what is cached lasts without a call, as a sentence


def contentions(plan: TrialPlan, case: CaseResult) -> list[ContentionRatios]:
    """Every pair of points that differ only in whether the tasks share a directory."""
    points = [point._replace(label='', at=0.0) for point in plan.points]
    return [
        _contention(case, plan.points[over].label, plan.points[under].label)
        for over, private in enumerate(points)
        for under, shared in enumerate(points)
        if private.tasks > 1
        and (private.value('subtrees'), shared.value('subtrees')) == ('private', 'shared')
        and private.changed(subtrees='shared') == shared
    ]


def listings(plan: TrialPlan, case: CaseResult) -> dict[str, ListingTime]:
    """The duration of the listings of each metric; empty for a case without listings."""
    if not kind_of(plan.kind).compares_in_launch:
        return {}
    samples = case.curves.samples
    times = {}
    for one in case.metrics:
        if one.summary and one.summary.mean:
            part, _, which = one.name.partition('_')
            rates, first = (samples[name].get(one.point, ()) for name in (one.name, f'{part}_{PASSES[0]}'))
            faster = None if which == PASSES[0] else ratio(rates, first)
            times[one.metric] = ListingTime(plan.point(one.point).tree.files_per_directory / one.summary.mean, faster)
    return times


def cached(plan: TrialPlan, case: CaseResult, point: str) -> Cached | None:
    """The client's cache by the listings of one point; None if they are invalid."""
    by_name = {metric.name: metric for metric in case.metrics if metric.point == point}
    took = listings(plan, case)
    first, fourth = by_name.get(FIRST), by_name.get(FOURTH)
    if first is None or fourth is None or not (is_valid(first) and is_valid(fourth)):
        return None
    return Cached(
        entries=plan.point(point).tree.files_per_directory,
        cache=first.cache,
        first_s=took[first.metric].seconds,
        fourth_s=took[fourth.metric].seconds,
        faster=took[fourth.metric].faster or Ratio(None),
        kept=_kept(first, fourth, [metric for metric in by_name.values() if pause_of(metric.name) is not None]),
    )


def ratio(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """The ratio of the means of two series of samples above 0."""
    if not over or not under or min(*over, *under) <= 0:
        return Ratio(None)
    relation = lies_between(over, under, 1.0)
    if relation.estimate is None:
        return Ratio(statistics.fmean(over) / statistics.fmean(under))
    return Ratio(relation.estimate, relation.low, relation.high)


def _contention(case: CaseResult, over: str, under: str) -> ContentionRatios:
    caches = {(metric.name, metric.point): metric.cache for metric in case.metrics}
    higher = {metric.name for metric in case.metrics if metric.better == HIGHER}
    rates = {name: points for name, points in case.curves.samples.items() if name in higher}
    unlike = tuple(name for name in rates if caches.get((name, over)) != caches.get((name, under)))
    ratios = {name: ratio(points.get(over, ()), points.get(under, ())) for name, points in rates.items()}
    return ContentionRatios(over, under, ratios | dict.fromkeys(unlike, Ratio(None)), unlike)


def _kept(first: MetricResult, fourth: MetricResult, after: Sequence[MetricResult]) -> str:
    """The duration of the cache. The threshold lies half way between the first and the fourth listing, on a scale of
    ratios: an interval above it is a listing from the cache, one below it is not."""
    assert first.summary and fourth.summary, 'both are valid'
    if first.cache != COLD:
        return 'The first listing is not proved to be cold, so how long the cache lasts is unknown.'
    if first.summary.interval.high >= fourth.summary.interval.low:
        return 'The fourth listing is not proved to be faster than the first, so how long the cache lasts is unknown.'
    line = math.sqrt(first.summary.mean * fourth.summary.mean)
    still = ''
    for metric in sorted(after, key=lambda metric: pause_of(metric.name) or 0.0):
        pause = pause_of(metric.name) or 0.0
        interval = metric.summary.interval if metric.summary and is_valid(metric) else None
        if interval and interval.low > line:
            still = f'Still cached after {pause:g} s without a call'
            continue
        if interval and interval.high < line:
            return f'{still}, and lost after {pause:g} s.' if still else f'Lost after {pause:g} s.'
        whether = f'undecided after {pause:g} s.'
        return f'{still}; {whether}' if still else whether.capitalize()
    return still and f'{still}, the longest pause.'
