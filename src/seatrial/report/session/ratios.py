"""Ratios that a reader of metadata figures looks for first: private over shared directories, warm over cold listings.

A ratio is the judge's, with its interval, of valid samples. Below the number of samples that the judge asks for it is
one of means without an interval. Nothing here decides anything.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.relations import at_least
from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.metric import HIGHER
from seatrial.model.plan import TrialPlan
from seatrial.report.figures import figure, is_valid
from seatrial.workload.base import COLD
from seatrial.workload.listing import PASSES, pause_of
from seatrial.workload.registry import kind_of

FIRST, FOURTH = f'ls_{PASSES[0]}', f'ls_{PASSES[3]}'


@dataclass(frozen=True)
class Ratio:
    """Of two means. low, high: its interval, or None; all are None where one of the two is invalid."""

    estimate: float | None
    low: float | None = None
    high: float | None = None

    @property
    def words(self) -> str:
        """With its interval, if it has one: '1.49 (1.31 - 1.67)'."""
        if self.estimate is None:
            return 'undecided'
        if self.low is None or self.high is None:
            return figure(self.estimate)
        return f'{figure(self.estimate)} ({figure(self.low)} - {figure(self.high)})'


@dataclass(frozen=True)
class ContentionRatios:
    """The rates of a point where every task has a directory of its own over those where all share one. over, under:
    the labels of the two, whose trees are otherwise the same; ratios: by metric"""

    over: str
    under: str
    ratios: dict[str, Ratio]
    unlike: tuple[str, ...]  # metrics of which one point was cold and the other was not: they have no ratio


@dataclass(frozen=True)
class ListingTime:
    """How long one listing of a directory takes at the mean rate. faster: that rate over the first one's, or None."""

    seconds: float
    faster: Ratio | None


@dataclass(frozen=True)
class Cached:
    """What repeated listings say of a client's cache. entries: of the directory; cache: of the first listing.

    first_s, fourth_s: of the first and of the fourth listing at their mean rates; faster: the one rate over the other
    """

    entries: int
    cache: str
    first_s: float
    fourth_s: float
    faster: Ratio
    kept: str  # how long what is cached lasts without a call, as a sentence


def contentions(plan: TrialPlan, case: CaseResult) -> list[ContentionRatios]:
    """Every pair of points that differ only in what the tasks share."""
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
    """How long the listings of each metric took, by metric; none of a case that lists nothing."""
    if not kind_of(plan.kind).compares_in_launch:
        return {}
    samples = case.curves.samples
    found = {}
    for one in case.metrics:
        if one.summary and one.summary.mean:
            part, _, which = one.name.partition('_')
            own, first = (samples[name].get(one.point, ()) for name in (one.name, f'{part}_{PASSES[0]}'))
            faster = None if which == PASSES[0] else ratio(own, first)
            found[one.metric] = ListingTime(plan.point(one.point).tree.files_per_directory / one.summary.mean, faster)
    return found


def cached(plan: TrialPlan, case: CaseResult, point: str) -> Cached | None:
    """The cache of the client as the listings of one point show it; None where they are invalid."""
    by_name = {each.name: each for each in case.metrics if each.point == point}
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
        kept=_kept(first, fourth, [each for each in by_name.values() if pause_of(each.name) is not None]),
    )


def ratio(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """The ratio of the means of two series of samples above 0."""
    if not over or not under or min(*over, *under) <= 0:
        return Ratio(None)
    found = at_least(over, under, 1.0)
    if found.estimate is None:
        return Ratio(statistics.fmean(over) / statistics.fmean(under))
    return Ratio(found.estimate, found.low, found.high)


def _contention(case: CaseResult, over: str, under: str) -> ContentionRatios:
    caches = {(each.name, each.point): each.cache for each in case.metrics}
    rates = dict.fromkeys(each.name for each in case.metrics if each.better == HIGHER)
    samples = {name: own for name, own in case.curves.samples.items() if name in rates}
    unlike = tuple(name for name in samples if caches.get((name, over)) != caches.get((name, under)))
    ratios = {
        name: Ratio(None) if name in unlike else ratio(own.get(over, ()), own.get(under, ()))
        for name, own in samples.items()
    }
    return ContentionRatios(over, under, ratios, unlike)


def _kept(first: MetricResult, fourth: MetricResult, after: Sequence[MetricResult]) -> str:
    """How long the cache lasts. Half way between the first and the fourth listing, on a scale of ratios, is the line:
    an interval above it is a listing from the cache, and one below it is not."""
    assert first.summary and fourth.summary, 'both are valid'
    if first.cache != COLD:
        return 'The first is not proved to be cold, so nothing is said of how long a cache lasts.'
    if first.summary.interval.high >= fourth.summary.interval.low:
        return 'The fourth is not proved to be faster than the first, so nothing is said of how long a cache lasts.'
    line = math.sqrt(first.summary.mean * fourth.summary.mean)
    kept = 0.0
    for each in sorted(after, key=lambda each: pause_of(each.name) or 0.0):
        pause = pause_of(each.name) or 0.0
        interval = each.summary.interval if each.summary and is_valid(each) else None
        if interval and interval.low > line:
            kept = pause
            continue
        still = f'Still cached after {kept:g} s without a call' if kept else ''
        if interval and interval.high < line:
            return f'{still}, and lost after {pause:g} s.' if kept else f'Lost after {pause:g} s.'
        whether = f'after {pause:g} s is undecided'
        return f'{still}; whether {whether}.' if kept else f'Whether {whether}.'
    return f'Still cached after {kept:g} s without a call, the longest pause.' if kept else ''
