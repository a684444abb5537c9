"""What the literature found of a curve, declared by a check and judged on this system's figures.

An expectation is context: it says how the file system of the source behaved, and whether this one behaves likewise.
It decides a verdict only where the site has made it a criterion by naming its id (docs/expectations.md). All of them
speak of performance: of a metric of which less is better, such as a latency, that with the smaller figure is better.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from seatrial.judge.change_points import changes_between
from seatrial.judge.groups import GroupRate
from seatrial.judge.relations import (
    FAILS,
    HOLDS,
    NO_LEAST,
    UNDECIDED,
    Points,
    Relation,
    alike,
    degrades,
    does_not_degrade,
    falls_with,
    insensitive,
    lies_between,
    plateaus,
    reaches,
    stays_above,
    stays_below,
    sustains,
    undecided,
    unimodal,
)
from seatrial.judge.statistics import CONFIDENCE, Fairness
from seatrial.model.metric import HIGHER, LOWER, Fact
from seatrial.model.point import Axis

MARGIN_5 = 1.105
MARGIN_10 = 1.222
"""(1 + e) / (1 - e): two means that are each known to e = 5 or 10 % may differ by it without being different."""

_HERE = {HOLDS: 'here it holds', FAILS: 'here it does not hold', UNDECIDED: 'here it is undecided'}


@dataclass(frozen=True)
class ExpectationResult:
    """One expectation and what became of it here. enforced: whether the site has made it a criterion; else it is
    context and decides nothing"""

    id: str  # of the source's own test, 'L09-01'
    words: str  # what the source found, as a clause: 'reading does not depend on the transfer size'
    source: str  # who found it, and on what
    subject: str  # what it was judged on: 'read over transfer sizes', or two checks
    relation: Relation  # the verdict word (holds, fails, undecided), the estimate, its interval and one sentence
    enforced: bool = False

    @property
    def sentence(self) -> str:
        """Who found what, and whether it is so here."""
        return f'{self.source} found that {self.words}: {_HERE[self.relation.verdict]}'


@dataclass(frozen=True)
class Shape:
    """What a check measures. axis: the name of its sweep's; points: their labels where they have names, else none."""

    metrics: tuple[str, ...]
    axis: str
    points: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curves:
    """What one case measured. check: its name; engine: that measured.

    axis:    of the sweep; values: on it at each point by its label (bytes of a transfer, tasks, ...)
    samples: of each metric by its name, by the points' labels in the order of the axis; none where they are not valid
    fairness: of each metric and point by its name and label, what MetricResult.fairness has
    groups:  of each metric and point likewise, what MetricResult.groups has
    cached:  metrics and labels of the points where a cache has answered; no criterion is decided on those
    """

    check: str
    engine: str
    axis: Axis
    values: Mapping[str, float]
    samples: Mapping[str, Points]
    better: Mapping[str, str]  # of each metric, HIGHER or LOWER
    cached: frozenset[tuple[str, str]] = frozenset()
    fairness: Mapping[tuple[str, str], Mapping[str, Sequence[Fairness]]] = field(default_factory=dict)
    groups: Mapping[tuple[str, str], Sequence[GroupRate]] = field(default_factory=dict)

    def uncached(self) -> 'Curves':
        """The curves without the samples that a cache answered."""
        samples = {
            metric: {label: () if (metric, label) in self.cached else own for label, own in points.items()}
            for metric, points in self.samples.items()
        }
        return replace(self, samples=samples)


@dataclass(frozen=True, kw_only=True)
class Expectation(ABC):
    """What a check declares. metric: the metric that it is about, by its name; empty: every metric of the check, each
    for itself; id, words, source: as in ExpectationResult"""

    id: str
    words: str
    source: str
    metric: str = ''

    def fault(self, shape: Shape) -> str | None:
        """Why a check that measures this cannot be judged by it, or None."""
        if self.metric and self.metric not in shape.metrics:
            return f"there is no metric '{self.metric}' in {list(shape.metrics)}"
        return None


@dataclass(frozen=True, kw_only=True)
class OfCurve(Expectation):
    """An expectation of the points of one curve."""

    @abstractmethod
    def relation(self, metric: str, curves: Curves) -> Relation:
        """What the points of this metric say of it."""


@dataclass(frozen=True, kw_only=True)
class Limited(OfCurve):
    """An expectation with a limit, for which a site that makes it a criterion may choose another."""

    limit: float

    def limit_fault(self) -> str | None:
        """What is wrong with the limit, as a clause, or None."""
        return None


@dataclass(frozen=True, kw_only=True)
class OfMargin(OfCurve):
    """An expectation by a ratio of two points that is at most `margin`."""

    margin: float = MARGIN_10

    @staticmethod
    @abstractmethod
    def judged(points: Points, margin: float, among: str, better: str) -> Relation:
        """A function of judge/relations.py."""

    def relation(self, metric: str, curves: Curves) -> Relation:
        return self.judged(curves.samples[metric], self.margin, curves.axis.plural, curves.better[metric])


@dataclass(frozen=True, kw_only=True)
class Insensitive(OfCurve):
    """No point is more than `margin` times another; `to` is the axis of the sweep."""

    to: str
    margin: float = MARGIN_10

    def fault(self, shape: Shape) -> str | None:
        return super().fault(shape) or _axis_fault(self.to, shape)

    def relation(self, metric: str, curves: Curves) -> Relation:
        return insensitive(curves.samples[metric], self.margin, curves.axis.plural)


@dataclass(frozen=True, kw_only=True)
class FallsWith(OfCurve):
    """The more of `by`, the axis of the sweep, the worse: a rank correlation up to `spearman`, and it ends worse."""

    by: str
    spearman: float = -0.8

    def fault(self, shape: Shape) -> str | None:
        return super().fault(shape) or _axis_fault(self.by, shape)

    def relation(self, metric: str, curves: Curves) -> Relation:
        return _falls(metric, curves, self.spearman)


class RisesWith(FallsWith):
    """The less of `by`, the axis of the sweep, the worse: as FallsWith, from its largest value to its smallest."""

    def relation(self, metric: str, curves: Curves) -> Relation:
        return _falls(metric, curves, self.spearman, backwards=True)


class Plateaus(OfMargin):
    """It gets better or stays: no point is `margin` times worse than the one before, nor the last than the best."""

    judged = staticmethod(plateaus)


class DoesNotDegrade(OfMargin):
    """The best point is at most `margin` times better than the last one."""

    judged = staticmethod(does_not_degrade)


class Degrades(OfMargin):
    """The best point is more than `margin` times better than the last one."""

    judged = staticmethod(degrades)


class Unimodal(OfMargin):
    """It gets better up to one point and worse from there on: no valley between two is deeper than `margin`."""

    judged = staticmethod(unimodal)


@dataclass(frozen=True, kw_only=True)
class Reaches(OfCurve):
    """The best point is at most `margin` times better than that at the value `at` of the axis: it is stable there."""

    at: float
    margin: float = MARGIN_10

    def relation(self, metric: str, curves: Curves) -> Relation:
        points, among = curves.samples[metric], curves.axis.plural
        label = next((label for label in points if curves.values[label] == self.at), None)
        if label is None:
            return undecided(f'{self.at:g} is not among the {among} that were planned')
        return reaches(points, label, self.margin, among, curves.better[metric])


@dataclass(frozen=True, kw_only=True)
class ChangePoint(OfCurve):
    """The curve steps up between the values `first` and `last` of `over`, the axis of the sweep, `times` or more."""

    over: str
    first: float
    last: float
    times: float = MARGIN_10

    def fault(self, shape: Shape) -> str | None:
        if not (0 < self.first < self.last and self.times > 1):
            return 'a change point lies between first and last, 0 < first < last, and is above 1 times'
        if shape.points:
            return f"the points of the axis '{shape.axis}' have no sizes to look for a change point between"
        return super().fault(shape) or _axis_fault(self.over, shape)

    def relation(self, metric: str, curves: Curves) -> Relation:
        points, among, better = curves.samples[metric], curves.axis.plural, curves.better[metric]
        return changes_between(points, curves.values, self.first, self.last, self.times, among, better)


@dataclass(frozen=True, kw_only=True)
class StaysBelow(Limited):
    """The metric, of which less is better, is at most `limit` at every point."""

    def relation(self, metric: str, curves: Curves) -> Relation:
        measured = {label: samples for label, samples in curves.samples[metric].items() if samples}
        return stays_below(measured, self.limit, metric) if measured else undecided('nothing was measured')


@dataclass(frozen=True, kw_only=True)
class Sustains(OfCurve):
    """The first point has at least `least`; it says how far along the axis of the sweep each one has."""

    least: float

    def fault(self, shape: Shape) -> str | None:
        if shape.points:
            return f"the points of the axis '{shape.axis}' have names and no order"
        return super().fault(shape)

    def relation(self, metric: str, curves: Curves) -> Relation:
        return sustains(curves.samples[metric], self.least)


@dataclass(frozen=True, kw_only=True)
class Fair(Limited):
    """Wherever several `between` work at once, one of BETWEEN, a figure of Fairness is at most `limit`."""

    figure: str  # 'time_ratio', 'mean_ratio', 'time_cv', or 'jain', which is at least `limit`
    between: str = 'tasks'

    def fault(self, shape: Shape) -> str | None:
        if self.figure not in _FAIRNESS or self.between not in BETWEEN:
            figures, whom = ', '.join(_FAIRNESS), ' or '.join(BETWEEN)
            return f"'{self.figure}' between {self.between} is none of {figures} between {whom}"
        return super().fault(shape)

    def limit_fault(self) -> str | None:
        if self.figure == 'jain':
            return None if self.limit < 1 else "Jain's index is at most 1; write less"
        return 'a ratio of times is 1 at least; write more' if self.figure != 'time_cv' and self.limit <= 1 else None

    def relation(self, metric: str, curves: Curves) -> Relation:
        launches = {
            label: curves.fairness.get((metric, label), {}).get(self.between, ())
            for label, samples in curves.samples[metric].items()
            if samples
        }
        several = {
            label: [getattr(each, self.figure) for each in own]
            for label, own in launches.items()
            if own and own[0].tasks > 1
        }
        if not several:
            return undecided(f'no launch of several {self.between} of which the engine tells the times')
        judged = stays_above if self.figure == 'jain' else stays_below
        return judged(several, self.limit, f'{_FAIRNESS[self.figure]} of the {self.between}')


BETWEEN = ('tasks', 'nodes', 'groups')
_FAIRNESS = {
    'time_ratio': 'longest over shortest time',
    'mean_ratio': 'mean over shortest time',
    'time_cv': 'coefficient of variation of the times',
    'jain': "Jain's index of the throughputs",
}


@dataclass(frozen=True, kw_only=True)
class GroupsAlike(Limited):
    """Of groups of nodes that work at once, a task of one has at most `limit` times what a task of another has."""

    def limit_fault(self) -> str | None:
        return None if self.limit > 1 else 'one of the groups always has as much as another; write more than 1'

    def relation(self, metric: str, curves: Curves) -> Relation:
        several = {
            label: {each.name: each.values for each in curves.groups.get((metric, label), ())}
            for label, samples in curves.samples[metric].items()
            if samples and curves.groups.get((metric, label))
        }
        if not several:
            return undecided('no launch on several groups of nodes (groups of a partition in trial.yaml)')
        return alike(several, self.limit, 'bandwidth of a task,')


@dataclass(frozen=True, kw_only=True)
class OfPoints(OfCurve):
    """An expectation of how many times as good one point of a case is as another, both by their labels."""

    at: str
    than: str

    def fault(self, shape: Shape) -> str | None:
        strange = [label for label in (self.at, self.than) if label not in shape.points]
        if strange:
            return f"there is no point '{strange[0]}' in {list(shape.points)}"
        return super().fault(shape)

    def relation(self, metric: str, curves: Curves) -> Relation:
        points = curves.samples[metric]
        missing = [label for label in (self.at, self.than) if not points.get(label)]
        if missing:
            return undecided(f'{missing[0]} was not measured')
        over, under, names = _ratio(points[self.at], points[self.than], (self.at, self.than), curves.better[metric])
        return lies_between(over, under, *self.bounds, names)

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """How many times as good the one is as the other, at least and at most."""


@dataclass(frozen=True, kw_only=True)
class PointAtLeast(OfPoints):
    """The point `at` is at least `times` as good as the point `than`."""

    times: float = 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        return self.times, math.inf


@dataclass(frozen=True, kw_only=True)
class PointBetween(OfPoints):
    """The point `at` is `lowest` to `highest` times as good as the point `than`."""

    lowest: float
    highest: float

    @property
    def bounds(self) -> tuple[float, float]:
        return self.lowest, self.highest


@dataclass(frozen=True, kw_only=True)
class GuaranteeHolds(Expectation):
    """A guarantee of POSIX holds: `fact` is its name. It is no figure, so every profile can judge it."""

    fact: str


@dataclass(frozen=True, kw_only=True)
class OfPair(Expectation):
    """An expectation of how many times as good one curve is as another, at every point that they share. than: the
    metric of the other curve; empty: the same one; of: the check that the other curve is taken from; empty: this
    one; minimum, maximum: points with a smaller or larger value on the axis do not take part"""

    than: str = ''
    of: str = ''
    minimum: float = 0
    maximum: float = math.inf

    def fault(self, shape: Shape) -> str | None:
        if not self.of and self.than not in shape.metrics:
            return f"there is no metric '{self.than}' in {list(shape.metrics)}"
        return super().fault(shape)

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """How many times as good the one is as the other, at least and at most."""

    def slack(self, ratio: float) -> float:
        """How far a ratio is from breaking the expectation; below 0 it does."""
        lowest, highest = self.bounds
        return min(math.log(ratio / lowest), math.log(highest / ratio))


@dataclass(frozen=True, kw_only=True)
class AtLeast(OfPair):
    """The one is at least `times` as good as the other."""

    times: float = 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        return self.times, math.inf


@dataclass(frozen=True, kw_only=True)
class AtMost(OfPair):
    """The one is at most `times` as good as the other."""

    times: float = 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        return NO_LEAST, self.times


@dataclass(frozen=True, kw_only=True)
class Between(OfPair):
    """The one is `lowest` to `highest` times as good as the other."""

    lowest: float
    highest: float

    @property
    def bounds(self) -> tuple[float, float]:
        return self.lowest, self.highest


def judge_curves(expectation: Expectation, curves: Curves, enforced: bool = False) -> list[ExpectationResult]:
    """An expectation of one check on what a case of it measured, a result a metric. A comparison with another check
    gives nothing here: see judge_pair."""
    curves = curves.uncached() if enforced else curves
    results = []
    for metric in _metrics(expectation, curves):
        if isinstance(expectation, OfCurve):
            one = isinstance(expectation, OfPoints)
            subject = metric if one else f'{metric} over {curves.axis.plural}'
            relation = expectation.relation(metric, curves)
        elif isinstance(expectation, OfPair) and not expectation.of:
            subject = f'{metric} against {expectation.than}'
            relation = _everywhere(expectation, curves, curves, metric, (metric, expectation.than), enforced)
        else:
            continue
        results.append(_result(expectation, subject, _with_cached(relation, curves, enforced), enforced))
    return results


def judge_guarantee(expectation: GuaranteeHolds, facts: Sequence[Fact], enforced: bool = False) -> ExpectationResult:
    """A guarantee on what was found; one that could not be tried is undecided."""
    fact = next((each for each in facts if each.name == expectation.fact), None)
    if fact is None:
        relation = undecided('it was not tried')
    else:
        verdict = {True: HOLDS, False: FAILS, None: UNDECIDED}[fact.holds]
        relation = Relation(verdict, None, None, None, CONFIDENCE, fact.seen)
    return _result(expectation, expectation.fact, relation, enforced)


def judge_pair(
    expectation: OfPair, curves: Curves, other: Curves | None, where: str, enforced: bool = False
) -> list[ExpectationResult]:
    """A comparison of two checks; `where` both were measured. Without the other, only an enforced one is said."""
    if enforced:
        curves, other = curves.uncached(), other.uncached() if other else None
    results = []
    for metric in _metrics(expectation, curves):
        than = expectation.than or metric
        subject = f'{metric} of {curves.check} against {than} of {expectation.of}, {where}'
        if other is None:
            if not enforced:
                continue
            relation = undecided(f'{expectation.of} is not in this session')
        elif curves.engine != other.engine:
            relation = undecided(f'measured with {curves.engine or "nothing"} and {other.engine or "nothing"}')
        else:
            names = (f'{metric} of {curves.check}', f'{than} of {other.check}')
            relation = _everywhere(expectation, curves, other, metric, names, enforced)
            relation = _with_cached(_with_cached(relation, curves, enforced), other, enforced)
        results.append(_result(expectation, subject, relation, enforced))
    return results


def not_judged(result: ExpectationResult, why: str) -> ExpectationResult:
    """The result without a judgement, where figures are too few to decide anything: smoke tests."""
    return replace(result, relation=Relation(UNDECIDED, None, None, None, CONFIDENCE, why), enforced=False)


def _axis_fault(axis: str, shape: Shape) -> str | None:
    return None if axis == shape.axis else f"'{axis}' is not the axis of its sweep, which is '{shape.axis}'"


def _falls(metric: str, curves: Curves, spearman: float, backwards: bool = False) -> Relation:
    """Whether the metric gets worse with its axis, or backwards: what rises where lower is better."""
    points, by = curves.samples[metric], curves.axis.plural
    if backwards != (curves.better[metric] == LOWER):
        points, by = dict(reversed(list(points.items()))), f'{by}, the largest first,'
    return falls_with(points, by, spearman)


def _ratio(
    over: Sequence[float], under: Sequence[float], names: tuple[str, str], better: str
) -> tuple[Sequence[float], Sequence[float], tuple[str, str]]:
    """The two as the ratio that is above 1 where the first is the better one."""
    return (over, under, names) if better == HIGHER else (under, over, (names[1], names[0]))


def _metrics(expectation: Expectation, curves: Curves) -> Iterator[str]:
    return (each for each in curves.samples if expectation.metric in ('', each))


def _result(expectation: Expectation, subject: str, relation: Relation, enforced: bool) -> ExpectationResult:
    return ExpectationResult(expectation.id, expectation.words, expectation.source, subject, relation, enforced)


def _with_cached(relation: Relation, curves: Curves, enforced: bool) -> Relation:
    """The relation of a criterion that is undecided, with why its samples may be missing."""
    if not (enforced and curves.cached and relation.verdict == UNDECIDED):
        return relation
    return replace(relation, sentence=f'{relation.sentence}; cached reads of {curves.check} decide nothing')


def _everywhere(
    expectation: OfPair, curves: Curves, other: Curves, metric: str, names: tuple[str, str], enforced: bool
) -> Relation:
    """The comparison at every point that both have, as one relation: that of the point closest to failing.

    It holds if it holds at each point (intersection-union: no correction is due). It fails if it fails at one with
    the doubt shared between all (Bonferroni), because that point was picked after the fact. A criterion does not hold
    where one of the two lacks a point of the other.
    """
    over, under = curves.samples[metric], other.samples.get(expectation.than or metric, {})
    values, better = {**other.values, **curves.values}, curves.better[metric]
    wanted = [label for label, value in values.items() if expectation.minimum <= value <= expectation.maximum]
    if other.better.get(expectation.than or metric, better) != better:
        return undecided('of one of the two higher is better, and of the other lower')
    labels = [label for label in wanted if label in over and label in under]
    lacking = [label for label in wanted if label not in labels]
    if not labels:
        return undecided('there is no point to compare at')
    ratios = {label: _ratio(over[label], under[label], names, better) for label in labels}

    def at(confidence: float) -> list[tuple[str, Relation]]:
        return [
            (label, lies_between(one, other, *expectation.bounds, names, confidence))
            for label, (one, other, names) in ratios.items()
        ]

    surely = at(1 - (1 - CONFIDENCE) / len(labels))
    failing = [each for each in surely if each[1].verdict == FAILS]
    if failing:
        return _closest(expectation, failing, len(labels))
    plainly = at(CONFIDENCE)
    doubtful = [each for each in plainly if each[1].verdict != HOLDS]
    found = _closest(expectation, doubtful or plainly, len(labels))
    if found.verdict == FAILS:
        said = found.sentence.rpartition(': ')[0]
        return replace(found, verdict=UNDECIDED, sentence=f'{said}, which may be chance: undecided')
    if enforced and lacking and found.verdict == HOLDS:
        return undecided(f'{lacking[0]} was measured in one of the two only')
    return found


def _closest(expectation: OfPair, found: Sequence[tuple[str, Relation]], count: int) -> Relation:
    """The relation at the point that is closest to breaking the expectation; one without samples comes first."""

    def slack(each: tuple[str, Relation]) -> float:
        return -math.inf if each[1].estimate is None else expectation.slack(each[1].estimate)

    label, relation = min(found, key=slack)
    return replace(relation, sentence=f'at {label}, the closest of {count}: {relation.sentence}')
