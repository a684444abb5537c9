"""Expectations: findings of the literature about a curve, declared by a check and judged on this system's figures. An
expectation is context, and decides a verdict only where the site has made it a criterion by naming its id
(expectations.md). Of a metric such as a latency, the smaller figure is the better one."""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from seatrial.judge import relations
from seatrial.judge.change_points import changes_between
from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED, Points, Relation, undecided
from seatrial.judge.statistics import CONFIDENCE, Fairness, GroupRate
from seatrial.model.metric import HIGHER, LOWER, Fact
from seatrial.model.point import Axis

MARGIN_5 = 1.105
MARGIN_10 = 1.222
"""(1 + e) / (1 - e): two means that are each known to e = 5 or 10 % may differ by it without being different."""

_HERE = {HOLDS: 'here it holds', FAILS: 'here it does not hold', UNDECIDED: 'here it is undecided'}


@dataclass(frozen=True)
class ExpectationResult:
    id: str  # id of the test in its source, 'L09-01'
    words: str  # what the source found, as a clause: 'reading does not depend on the transfer size'
    source: str  # who found it, and on what
    subject: str  # what it was judged on: 'read over transfer sizes', or two checks
    relation: Relation  # the verdict word (holds, fails, undecided), the estimate, its interval and one sentence
    enforced: bool = False  # the site has made it a criterion; else it decides nothing

    @property
    def sentence(self) -> str:
        return f'{self.source} found that {self.words}: {_HERE[self.relation.verdict]}'


@dataclass(frozen=True)
class Shape:
    metrics: tuple[str, ...]
    axis: str  # name of the sweep's axis
    points: tuple[str, ...] = ()  # their labels where they have names, else empty


@dataclass(frozen=True)
class Curves:
    check: str
    engine: str
    axis: Axis
    values: Mapping[str, float]  # position on the axis (bytes of a transfer, tasks, ...) by label of the point
    samples: Mapping[str, Points]  # samples by metric, then by label in the order of the axis; empty if not valid
    better: Mapping[str, str]  # HIGHER or LOWER of each metric
    # (metric, label) of points that a cache has answered; no criterion is decided on those
    cached: frozenset[tuple[str, str]] = frozenset()
    # fairness, groups: of MetricResult, by metric and label
    fairness: Mapping[tuple[str, str], Mapping[str, Sequence[Fairness]]] = field(default_factory=dict)
    groups: Mapping[tuple[str, str], Sequence[GroupRate]] = field(default_factory=dict)

    def uncached(self) -> 'Curves':
        samples = {
            metric: {label: () if (metric, label) in self.cached else values for label, values in points.items()}
            for metric, points in self.samples.items()
        }
        return replace(self, samples=samples)


@dataclass(frozen=True, kw_only=True)
class Expectation(ABC):
    """An expectation as a check declares it; id, words and source as in ExpectationResult."""

    id: str
    words: str
    source: str
    metric: str = ''  # name of the metric; empty: every metric of the check, one by one

    def fault(self, shape: Shape) -> str | None:
        """The reason why it cannot be judged on this check, or None."""
        if self.metric and self.metric not in shape.metrics:
            return f"there is no metric '{self.metric}' in {list(shape.metrics)}"
        return None


@dataclass(frozen=True, kw_only=True)
class OfCurve(Expectation):
    @abstractmethod
    def relation(self, metric: str, curves: Curves) -> Relation:
        """The relation between the points of this metric."""


@dataclass(frozen=True, kw_only=True)
class Limited(OfCurve):
    """An expectation with a limit. A site that makes it a criterion may choose another limit."""

    limit: float

    def limit_fault(self) -> str | None:
        """The error in the limit, as a clause, or None."""
        return None


@dataclass(frozen=True, kw_only=True)
class OfMargin(OfCurve):
    """An expectation that the ratio of two points is at most `margin`."""

    margin: float = MARGIN_10

    @staticmethod
    @abstractmethod
    def judged(points: Points, margin: float, among: str, better: str) -> Relation:
        """The relation, by a function of judge/relations.py."""

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
        return relations.insensitive(curves.samples[metric], self.margin, curves.axis.plural)


@dataclass(frozen=True, kw_only=True)
class FallsWith(OfCurve):
    """The larger `by`, the axis, the worse: rank correlation at most `spearman`, the last worse than the first."""

    by: str
    spearman: float = -0.8
    backwards: ClassVar[bool] = False

    def fault(self, shape: Shape) -> str | None:
        return super().fault(shape) or _axis_fault(self.by, shape)

    def relation(self, metric: str, curves: Curves) -> Relation:
        points, by = curves.samples[metric], curves.axis.plural
        if self.backwards != (curves.better[metric] == LOWER):
            points, by = dict(reversed(list(points.items()))), f'{by}, the largest first,'
        return relations.falls_with(points, by, self.spearman)


class RisesWith(FallsWith):
    """The larger the value on `by`, the axis of the sweep, the better: FallsWith in reverse order."""

    backwards = True


class Plateaus(OfMargin):
    """It gets better or stays: no point is `margin` times worse than the one before, nor the last than the best."""

    judged = staticmethod(relations.plateaus)


class DoesNotDegrade(OfMargin):
    """The best point is at most `margin` times better than the last one."""

    judged = staticmethod(relations.does_not_degrade)


class Degrades(OfMargin):
    """The best point is more than `margin` times better than the last one."""

    judged = staticmethod(relations.degrades)


class Unimodal(OfMargin):
    """The metric gets better up to one point and worse from there on: no valley between is deeper than `margin`."""

    judged = staticmethod(relations.unimodal)


@dataclass(frozen=True, kw_only=True)
class Reaches(OfCurve):
    """The best point is at most `margin` times better than the point at the value `at` of the axis."""

    at: float
    margin: float = MARGIN_10

    def relation(self, metric: str, curves: Curves) -> Relation:
        points, among = curves.samples[metric], curves.axis.plural
        label = next((label for label in points if curves.values[label] == self.at), None)
        if label is None:
            return undecided(f'{self.at:g} is not among the {among} that were planned')
        return relations.reaches(points, label, self.margin, among, curves.better[metric])


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
    """The metric, lower is better, is at most `limit` at every point."""

    def relation(self, metric: str, curves: Curves) -> Relation:
        measured = {label: samples for label, samples in curves.samples[metric].items() if samples}
        return relations.stays_below(measured, self.limit, metric) if measured else undecided('nothing was measured')


@dataclass(frozen=True, kw_only=True)
class Sustains(OfCurve):
    """The first point has at least `least`; the result also says how far along the sweep that is sustained."""

    least: float

    def fault(self, shape: Shape) -> str | None:
        if shape.points:
            return f"the points of the axis '{shape.axis}' have names and no order"
        return super().fault(shape)

    def relation(self, metric: str, curves: Curves) -> Relation:
        return relations.sustains(curves.samples[metric], self.least)


@dataclass(frozen=True, kw_only=True)
class Fair(Limited):
    """Wherever several `between` (one of BETWEEN) work at once, a figure of Fairness is at most `limit`."""

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
        several = {
            label: [getattr(fairness, self.figure) for fairness in launches]
            for label, samples in curves.samples[metric].items()
            if samples
            and (launches := curves.fairness.get((metric, label), {}).get(self.between))
            and launches[0].tasks > 1
        }
        if not several:
            return undecided(f'no launch of several {self.between} of which the engine tells the times')
        judged = relations.stays_above if self.figure == 'jain' else relations.stays_below
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
    """A task in one group of nodes moves at most `limit` times as much as a task in another group."""

    def limit_fault(self) -> str | None:
        return None if self.limit > 1 else 'one of the groups always has as much as another; write more than 1'

    def relation(self, metric: str, curves: Curves) -> Relation:
        several = {
            label: {group.name: group.values for group in curves.groups.get((metric, label), ())}
            for label, samples in curves.samples[metric].items()
            if samples and curves.groups.get((metric, label))
        }
        if not several:
            return undecided('no launch on several groups of nodes (groups of a partition in trial.yaml)')
        return relations.alike(several, self.limit, 'bandwidth of a task,')


@dataclass(frozen=True, kw_only=True)
class PointRatio(OfCurve):
    """The point `at` is `lowest` to `highest` times as good as the point `than`, both labels of one case."""

    at: str
    than: str
    lowest: float = 1.0
    highest: float = math.inf

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
        return relations.lies_between(over, under, self.lowest, self.highest, names)


@dataclass(frozen=True, kw_only=True)
class GuaranteeHolds(Expectation):
    """The guarantee of POSIX named `fact` holds. It is no figure, so every profile can judge it."""

    fact: str


@dataclass(frozen=True, kw_only=True)
class CurveRatio(Expectation):
    """One curve is `lowest` (or NO_LEAST) to `highest` times as good as another, at every point that both have."""

    lowest: float = 1.0
    highest: float = math.inf
    than: str = ''  # metric of the other curve; empty: the same metric
    of: str = ''  # check of the other curve; empty: this check
    minimum: float = 0  # points below this value on the axis do not count
    maximum: float = math.inf  # points above this value on the axis do not count

    def fault(self, shape: Shape) -> str | None:
        if not self.of and self.than not in shape.metrics:
            return f"there is no metric '{self.than}' in {list(shape.metrics)}"
        return super().fault(shape)


def judge_expectations(
    declared: Sequence[Expectation], enforced: Collection[str], curves: Curves, facts: Sequence[Fact], unjudged: str
) -> tuple[ExpectationResult, ...]:
    """Judges first the expectations of curves, then the guarantees of POSIX, which every profile can judge. enforced:
    ids of those that are criteria; unjudged: why curves are not judged, or empty"""
    of_curves = [result for one in declared for result in judge_curves(one, curves, one.id in enforced)]
    guarantees = [one for one in declared if isinstance(one, GuaranteeHolds)]
    return (
        *(not_judged(result, unjudged) if unjudged else result for result in of_curves),
        *(judge_guarantee(guarantee, facts, guarantee.id in enforced) for guarantee in guarantees),
    )


def judge_curves(expectation: Expectation, curves: Curves, enforced: bool = False) -> list[ExpectationResult]:
    """A result for each metric of one case; none for a comparison with another check, which is judge_pair's."""
    curves = curves.uncached() if enforced else curves
    results = []
    for metric in (name for name in curves.samples if expectation.metric in ('', name)):
        if isinstance(expectation, OfCurve):
            subject = metric if isinstance(expectation, PointRatio) else f'{metric} over {curves.axis.plural}'
            relation = expectation.relation(metric, curves)
        elif isinstance(expectation, CurveRatio) and not expectation.of:
            subject = f'{metric} against {expectation.than}'
            relation = _everywhere(expectation, curves, curves, metric, (metric, expectation.than), enforced)
        else:
            continue
        results.append(_result(expectation, subject, _with_cached(relation, curves, enforced), enforced))
    return results


def judge_guarantee(expectation: GuaranteeHolds, facts: Sequence[Fact], enforced: bool = False) -> ExpectationResult:
    """Judges a guarantee; one that could not be tried is undecided."""
    seen = [fact for fact in facts if fact.name == expectation.fact]
    fact = seen[0] if seen else Fact(expectation.fact, None, 'it was not tried: undecided')
    relation = relations.without_figure(fact.seen, {True: HOLDS, False: FAILS, None: UNDECIDED}[fact.holds])
    return _result(expectation, expectation.fact, relation, enforced)


def judge_pair(
    expectation: CurveRatio, curves: Curves, other: Curves | None, where: str, enforced: bool = False
) -> list[ExpectationResult]:
    """Judges a comparison of two checks at `where`; if the other is missing, only an enforced one is reported."""
    if enforced:
        curves, other = curves.uncached(), other.uncached() if other else None
    elif other is None:
        return []
    results = []
    for metric in (name for name in curves.samples if expectation.metric in ('', name)):
        than = expectation.than or metric
        subject = f'{metric} of {curves.check} against {than} of {expectation.of}, {where}'
        if other is None:
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
    """The result as undecided and not enforced: a smoke test has too few figures."""
    return replace(result, relation=relations.without_figure(why), enforced=False)


def _axis_fault(axis: str, shape: Shape) -> str | None:
    return None if axis == shape.axis else f"'{axis}' is not the axis of its sweep, which is '{shape.axis}'"


def _ratio(
    over: Sequence[float], under: Sequence[float], names: tuple[str, str], better: str
) -> tuple[Sequence[float], Sequence[float], tuple[str, str]]:
    """Both series and their names in the order in which the ratio is above 1 if the first is better."""
    return (over, under, names) if better == HIGHER else (under, over, (names[1], names[0]))


def _result(expectation: Expectation, subject: str, relation: Relation, enforced: bool) -> ExpectationResult:
    return ExpectationResult(expectation.id, expectation.words, expectation.source, subject, relation, enforced)


def _with_cached(relation: Relation, curves: Curves, enforced: bool) -> Relation:
    """Adds to an undecided criterion that samples may be missing because they were cached."""
    if enforced and curves.cached and relation.verdict == UNDECIDED:
        return replace(relation, sentence=f'{relation.sentence}; cached reads of {curves.check} decide nothing')
    return relation


def _everywhere(
    expectation: CurveRatio, curves: Curves, other: Curves, metric: str, names: tuple[str, str], enforced: bool
) -> Relation:
    """The comparison at every point that both have, as one relation: that of the point closest to failing. It holds
    if it holds at each point (intersection-union). It fails if it fails at one with the error probability shared
    between all (Bonferroni). A criterion does not hold where one of the two lacks a point of the other."""
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
            (label, relations.lies_between(one, other, expectation.lowest, expectation.highest, names, confidence))
            for label, (one, other, names) in ratios.items()
        ]

    surely = at(1 - (1 - CONFIDENCE) / len(labels))
    failing = [pair for pair in surely if pair[1].verdict == FAILS]
    if failing:
        return _closest(expectation, failing, len(labels))
    plainly = at(CONFIDENCE)
    doubtful = [pair for pair in plainly if pair[1].verdict != HOLDS]
    relation = _closest(expectation, doubtful or plainly, len(labels))
    if relation.verdict == FAILS:
        sentence = relation.sentence.rpartition(': ')[0]
        return replace(relation, verdict=UNDECIDED, sentence=f'{sentence}, which may be chance: undecided')
    if enforced and lacking and relation.verdict == HOLDS:
        return undecided(f'{lacking[0]} was measured in one of the two only')
    return relation


def _closest(expectation: CurveRatio, relations: Sequence[tuple[str, Relation]], count: int) -> Relation:
    """The relation at the point that is closest to breaking the expectation; a point without samples comes first."""

    def slack(pair: tuple[str, Relation]) -> float:
        """Logarithmic distance from the nearer bound; below 0 the expectation is broken."""
        ratio = pair[1].estimate
        if ratio is None:
            return -math.inf
        return min(math.log(ratio / expectation.lowest), math.log(expectation.highest / ratio))

    label, relation = min(relations, key=slack)
    return replace(relation, sentence=f'at {label}, the closest of {count}: {relation.sentence}')
