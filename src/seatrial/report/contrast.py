"""Ratios that a reader of metadata figures looks for first: private over shared directories, warm over cold listings.

A ratio is the judge's, with its interval, of samples that can be believed. Below the number of samples that the judge
asks for it is one of means without an interval. Nothing here decides anything.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.relations import at_least
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.model.namespace import LISTING, is_first, pause_of
from seatrial.model.plan import TrialPlan
from seatrial.model.tree import TreePoint

COLD, WARM = 'ls_first', 'ls_fourth'


@dataclass(frozen=True)
class Ratio:
    """Of two means. low, high: its interval, or None; all are None where one of the two cannot be believed."""

    estimate: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Contention:
    """The rates of a point where every client has a directory of its own over those where all share one.

    over, under: the labels of the two, whose trees are otherwise the same; ratios: by metric
    unlike:      metrics of which one point was cold and the other was not: they have no ratio
    """

    over: str
    under: str
    ratios: dict[str, Ratio]
    unlike: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """How long one listing of a directory takes at the mean rate. faster: that rate over the first one's, or None."""

    seconds: float
    faster: Ratio | None


@dataclass(frozen=True)
class Cached:
    """What repeated listings say of a client's cache. entries: of the directory; temperature: of the first listing.

    cold_s, warm_s: of the first and of the fourth listing at their mean rates; faster: the one rate over the other
    kept:           how long what is cached lasts without a call, as a sentence
    """

    entries: int
    temperature: str
    cold_s: float
    warm_s: float
    faster: Ratio
    kept: str


def contentions(plan: TrialPlan, case: CaseResult) -> list[Contention]:
    """Every pair of points that differ only in what the clients share."""
    points = [point for point in plan.points if isinstance(point, TreePoint) and point.tasks > 1]
    pairs = [
        (private, shared)
        for private in points
        for shared in points
        if (private.tree.subtrees, shared.tree.subtrees) == ('private', 'shared')
        and private.tree._replace(subtrees='shared') == shared.tree
    ]
    return [_contention(case, over.label, under.label) for over, under in pairs]


def listings(plan: TrialPlan, case: CaseResult) -> dict[str, Listing]:
    """How long the listings of each metric took, by metric; none of a case that lists nothing."""
    if plan.workload != LISTING:
        return {}
    entries = {point.label: point.entries.files for point in plan.points if isinstance(point, TreePoint)}
    samples = case.curves.samples
    found = {}
    for one in case.metrics:
        if one.summary and one.summary.mean:
            own, first = (samples[name].get(one.point, ()) for name in (one.operation, _first_of(one)))
            faster = None if is_first(one.operation) else ratio(own, first)
            found[one.metric] = Listing(entries[one.point] / one.summary.mean, faster)
    return found


def cached(plan: TrialPlan, case: CaseResult, point: str) -> Cached | None:
    """The cache of the client as the listings of one point show it; None where they cannot be believed."""
    by_name = {each.operation: each for each in case.metrics if each.point == point}
    took = listings(plan, case)
    cold, warm = by_name.get(COLD), by_name.get(WARM)
    if cold is None or warm is None or not all(map(_believed, (cold, warm))):
        return None
    return Cached(
        entries=next(
            each.entries.files for each in plan.points if isinstance(each, TreePoint) if each.label == point
        ),
        temperature=cold.cache,
        cold_s=took[cold.metric].seconds,
        warm_s=took[warm.metric].seconds,
        faster=took[warm.metric].faster or Ratio(None),
        kept=_kept(cold, warm, [each for each in by_name.values() if pause_of(each.operation) is not None]),
    )


def ratio(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """The ratio of the means of two series of samples above 0."""
    if not over or not under or min(*over, *under) <= 0:
        return Ratio(None)
    found = at_least(over, under, 1.0)
    if found.estimate is None:
        return Ratio(statistics.fmean(over) / statistics.fmean(under))
    return Ratio(found.estimate, found.low, found.high)


def _contention(case: CaseResult, over: str, under: str) -> Contention:
    caches = {(each.operation, each.point): each.cache for each in case.metrics}
    samples = case.curves.samples
    unlike = tuple(name for name in samples if caches.get((name, over)) != caches.get((name, under)))
    ratios = {
        name: Ratio(None) if name in unlike else ratio(own.get(over, ()), own.get(under, ()))
        for name, own in samples.items()
    }
    return Contention(over, under, ratios, unlike)


def _first_of(one: MetricResult) -> str:
    return f'{one.operation.partition("_")[0]}_first'


def _believed(one: MetricResult) -> bool:
    return one.summary is not None and one.verdict is not Verdict.INVALID


def _kept(cold: MetricResult, warm: MetricResult, after: Sequence[MetricResult]) -> str:
    """How long the cache lasts.

    Half way between cold and warm, on a scale of ratios, is the line: an interval above it is a listing from the
    cache, and one below it is not.
    """
    assert cold.summary and warm.summary, 'both can be believed'
    if cold.cache != 'cold':
        return 'The first is not proved to be cold, so nothing is said of how long a cache lasts.'
    if cold.summary.interval.high >= warm.summary.interval.low:
        return 'The fourth is not proved to be faster than the first, so nothing is said of how long a cache lasts.'
    line = math.sqrt(cold.summary.mean * warm.summary.mean)
    kept = 0.0
    for each in sorted(after, key=lambda each: pause_of(each.operation) or 0.0):
        pause = pause_of(each.operation) or 0.0
        interval = each.summary.interval if each.summary and _believed(each) else None
        if interval and interval.low > line:
            kept = pause
            continue
        if interval and interval.high < line:
            still = f'Still cached after {kept:g} s without a call, and lost' if kept else 'Lost'
            return f'{still} after {pause:g} s.'
        still = f'Still cached after {kept:g} s without a call; whether' if kept else 'Whether'
        return f'{still} after {pause:g} s cannot be told.'
    return f'Still cached after {kept:g} s without a call, the longest pause.' if kept else ''
