"""Which layout to take: of every case that sweeps layouts the best one for each operation, as far as it can be told.

Layouts whose interval overlaps that of the one with the highest mean cannot be told from it; what the file system's
default loses is the ratio of the two means, with its interval. Nothing here decides anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.statistics import Summary
from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.model.layout import ALL, Layout
from seatrial.model.plan import Case, TrialPlan
from seatrial.model.units import format_size
from seatrial.model.work import Place
from seatrial.report import contrast, trees, words
from seatrial.report.contrast import Ratio
from seatrial.report.evidence import CaseEvidence


@dataclass(frozen=True)
class Option:
    """One layout as it did. asks: what it asks for, 'c4.S1M'; empty of the default."""

    label: str
    asks: str
    metric: MetricResult
    summary: Summary

    @property
    def words(self) -> str:
        """'wide (c-1.S4M)', 'default'."""
        return f'{self.label} ({self.asks})' if self.asks not in ('', self.label) else self.label


@dataclass(frozen=True)
class Choice:
    """The best layout for one operation. alike: those that cannot be told from it, the best first.

    default: how the default did, if it was measured and can be believed; kept: its mean over that of the best one
    """

    operation: str
    best: Option
    alike: tuple[Option, ...]
    default: Option | None
    kept: Ratio | None
    sentence: str

    @property
    def default_words(self) -> str:
        """What the default loses: '34 % less (31 % - 37 %)'."""
        if self.default is None:
            return 'not measured'
        if self.default is self.best:
            return 'is the best'
        return 'not told apart' if self.default in self.alike else _loss(self.kept)


@dataclass(frozen=True)
class Field:
    """One layout on a map of stripe counts and sizes. option: None where it was not measured or cannot be believed.

    best, alike: whether it is the best one, or cannot be told from it
    """

    option: Option | None
    best: bool = False
    alike: bool = False


@dataclass(frozen=True)
class Map:
    """Stripe counts, one a row, by stripe sizes."""

    operation: str
    sizes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Field, ...]], ...]


@dataclass(frozen=True)
class Recommendation:
    """One case. sentence: what it does; unit: of its figures; unjudged: why nothing is recommended, or empty."""

    case: Case
    sentence: str
    unit: str
    choices: tuple[Choice, ...]
    maps: tuple[Map, ...]
    unjudged: str


def recommendations(cases: Sequence[CaseEvidence]) -> list[Recommendation]:
    """Of every case that sweeps layouts and has something to choose from, in their order."""
    found = [_recommendation(each) for each in cases if each.plan.axis == 'layout']
    return [each for each in found if each.choices]


def choices(plan: TrialPlan, result: CaseResult) -> list[Choice]:
    """The best layout for each metric of a case of which at least two layouts can be believed."""
    asked = {point.label: _asks(point) for point in plan.points}
    default = next((point.label for point in plan.points if not asked[point.label]), None)
    by_name: dict[str, list[Option]] = {}
    for metric in result.metrics:
        if metric.summary is not None and metric.summary.mean > 0 and metric.verdict is not Verdict.INVALID:
            option = Option(metric.point, asked[metric.point], metric, metric.summary)
            by_name.setdefault(metric.operation, []).append(option)
    return [_choice(name, options, default) for name, options in by_name.items() if len(options) > 1]


def _recommendation(evidence: CaseEvidence) -> Recommendation:
    plan, result, sized = evidence.plan, evidence.result, evidence.records.sized
    found = choices(plan, result)
    return Recommendation(
        case=plan.case,
        sentence=words.workload(plan, sized.per_client if sized else None),
        unit=result.metrics[0].unit,
        choices=tuple(found),
        maps=tuple(drawn for each in found if (drawn := _map(plan, result, each)) is not None),
        unjudged=result.unjudged,
    )


def _choice(operation: str, options: Sequence[Option], default: str | None) -> Choice:
    ordered = sorted(options, key=lambda option: option.summary.mean, reverse=True)
    best = ordered[0]
    least = best.summary.interval.low
    alike = tuple(option for option in ordered[1:] if option.summary.interval.high >= least)
    own = next((option for option in options if option.label == default), None)
    kept = contrast.ratio(own.metric.values, best.metric.values) if own is not None and own is not best else None
    return Choice(operation, best, alike, own, kept, _sentence(operation, best, alike, own, kept))


def _sentence(
    operation: str, best: Option, alike: Sequence[Option], default: Option | None, kept: Ratio | None
) -> str:
    """'write: wide (c-1.S4M) is the best with 1200 MiB/s; the default has 34 % less (31 % - 37 %)'."""
    said = f'{trees.metric_label(operation)}: '
    figure = f'{words.figure(best.summary.mean)} {best.metric.unit}'
    if default is best:
        said += f'no layout is better than the default with {figure}'
    elif default in alike:
        said += f'no layout is proved to be better than the default; {best.words} has the highest mean, {figure}'
    else:
        said += f'{best.words} {"has the highest mean" if alike else "is the best"} with {figure}'
    others = [option.label for option in alike if option is not default]
    said += f'; {words.listed(others)} cannot be told from it' if others else ''
    return (
        said if default is None or default is best or default in alike else f'{said}; the default has {_loss(kept)}'
    )


def _loss(kept: Ratio | None) -> str:
    if kept is None or kept.estimate is None:
        return 'a figure that cannot be compared'
    span = ''
    if kept.low is not None and kept.high is not None:
        span = f' ({words.percent(1 - kept.high)} - {words.percent(1 - kept.low)})'
    return f'{words.percent(1 - kept.estimate)} less{span}'


def _map(plan: TrialPlan, result: CaseResult, choice: Choice) -> Map | None:
    """The map of a case whose layouts, but for the default, are a stripe count and a stripe size each; else None."""
    asked = [point.layout for point in plan.points if point.layout is not None and not point.layout.is_default]
    plain = {(each.stripe_count, each.stripe_size): each.name for each in asked if _is_plain(each)}
    counts = sorted({count for count, _ in plain if count}, key=lambda count: (count == ALL, count))
    sizes = sorted({size for _, size in plain if size})
    if len(plain) < len(asked) or len(counts) < 2 or len(sizes) < 2:
        return None
    known = {each.point: each for each in result.metrics if each.operation == choice.operation}
    alike = {option.label: option for option in choice.alike}

    def field(label: str | None) -> Field:
        metric = known.get(label or '')
        if label is None or metric is None or metric.summary is None or metric.verdict is Verdict.INVALID:
            return Field(None)
        return Field(Option(label, '', metric, metric.summary), label == choice.best.label, label in alike)

    return Map(
        choice.operation,
        tuple(format_size(size) for size in sizes),
        tuple(
            ('all' if count == ALL else str(count), tuple(field(plain.get((count, size))) for size in sizes))
            for count in counts
        ),
    )


def _is_plain(layout: Layout) -> bool:
    return layout == Layout(layout.name, layout.stripe_count, layout.stripe_size) and bool(
        layout.stripe_count and layout.stripe_size
    )


def _asks(point: Place) -> str:
    return '' if point.layout is None or point.layout.is_default else point.layout.canonical
