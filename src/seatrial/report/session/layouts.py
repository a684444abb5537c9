"""Which layout to take: of every case that sweeps layouts the best one for each metric, as far as it is decided.

Layouts whose interval overlaps that of the one with the best mean are not told apart from it; what the file system's
default loses is the ratio of the two means, with its interval. Nothing here decides anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.statistics import SampleSummary
from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.model.layout import Layout
from seatrial.model.metric import HIGHER
from seatrial.model.plan import Case, TrialPlan
from seatrial.model.point import Point
from seatrial.report import words
from seatrial.report.drawing.maps import Map, fields
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, is_valid, percent, units_of
from seatrial.report.session import ratios
from seatrial.report.session.ratios import Ratio
from seatrial.workload.registry import kind_of


@dataclass(frozen=True)
class LayoutOption:
    """One layout as it did. words: with what it asks for, 'wide (c-1.S4M)'; 'default'."""

    label: str
    words: str
    metric: MetricResult
    summary: SampleSummary


@dataclass(frozen=True)
class LayoutChoice:
    """The best layout for one metric. alike: those that are not told apart from it, the best first.

    default: how the default did, if it was measured and is valid; kept: its mean over that of the best one
    """

    name: str
    unit: Unit
    best: LayoutOption
    alike: tuple[LayoutOption, ...]
    default: LayoutOption | None
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
class Recommendation:
    """One case. sentence: what it does; unjudged: why nothing is recommended, or empty."""

    case: Case
    sentence: str
    choices: tuple[LayoutChoice, ...]
    maps: tuple[Map, ...]
    unjudged: str


def recommendations(cases: Sequence[CaseEvidence], system: str) -> list[Recommendation]:
    """Of every case that sweeps layouts and has something to choose from, in their order."""
    found = [_recommendation(each, system) for each in cases if _sweeps_layouts(each.plan)]
    return [each for each in found if each.choices]


def choices(plan: TrialPlan, result: CaseResult, system: str) -> list[LayoutChoice]:
    """The best layout for each metric of a case of which at least two layouts are valid."""
    points = {point.label: point for point in plan.points}
    default = next((label for label, point in points.items() if _layout(point).is_default), None)
    units = units_of(result.metrics, system)
    by_name: dict[str, list[LayoutOption]] = {}
    for metric in result.metrics:
        if metric.summary is not None and metric.summary.mean > 0 and is_valid(metric):
            said = words.point_words(plan.axis, points[metric.point])
            by_name.setdefault(metric.name, []).append(LayoutOption(metric.point, said, metric, metric.summary))
    return [
        _choice(kind_of(plan.kind).metric_words(name), units[options[0].metric.unit], options, default)
        for name, options in by_name.items()
        if len(options) > 1
    ]


def _sweeps_layouts(plan: TrialPlan) -> bool:
    return not plan.axis.equals and any(point.layout is not None for point in plan.points)


def _layout(point: Point) -> Layout:
    return point.layout or Layout()


def _recommendation(evidence: CaseEvidence, system: str) -> Recommendation:
    found = choices(evidence.plan, evidence.result, system)
    return Recommendation(
        case=evidence.plan.case,
        sentence=words.sentence(evidence),
        choices=tuple(found),
        maps=tuple(drawn for each in found if (drawn := _map(evidence.plan, evidence.result, each)) is not None),
        unjudged=evidence.result.unjudged,
    )


def _choice(name: str, unit: Unit, options: Sequence[LayoutOption], default: str | None) -> LayoutChoice:
    higher = options[0].metric.better == HIGHER
    ordered = sorted(options, key=lambda option: option.summary.mean, reverse=higher)
    best = ordered[0]
    own = best.summary.interval
    alike = tuple(
        option
        for option in ordered[1:]
        if option.summary.interval.high >= own.low and option.summary.interval.low <= own.high
    )
    plain = next((option for option in options if option.label == default), None)
    kept = ratios.ratio(plain.metric.values, best.metric.values) if plain is not None and plain is not best else None
    return LayoutChoice(name, unit, best, alike, plain, kept, _sentence(name, unit, best, alike, plain, kept))


def _sentence(
    name: str,
    unit: Unit,
    best: LayoutOption,
    alike: Sequence[LayoutOption],
    default: LayoutOption | None,
    kept: Ratio | None,
) -> str:
    """'write: wide (c-1.S4M) is the best with 1.2 GiB/s; the default has 34 % less (31 % - 37 %)'."""
    figure = unit.words(best.summary.mean)
    if default is best:
        said = f'no layout is better than the default with {figure}'
    elif default in alike:
        said = f'no layout is proved to be better than the default; {best.words} has the best mean, {figure}'
    else:
        said = f'{best.words} {"has the best mean" if alike else "is the best"} with {figure}'
    others = [option.label for option in alike if option is not default]
    if others:
        said += f'; {", ".join(others)} {"is" if len(others) == 1 else "are"} not told apart from it'
    if default is not None and default is not best and default not in alike:
        said += f'; the default has {_loss(kept)}'
    return f'{name}: {said}'


def _loss(kept: Ratio | None) -> str:
    if kept is None or kept.estimate is None:
        return 'a figure that cannot be compared'
    ends = [abs(1 - end) for end in (kept.low, kept.high) if end is not None]
    span = f' ({percent(min(ends))} - {percent(max(ends))})' if ends else ''
    return f'{percent(abs(1 - kept.estimate))} {"less" if kept.estimate < 1 else "more"}{span}'


def _map(plan: TrialPlan, result: CaseResult, choice: LayoutChoice) -> Map | None:
    """The map of a case whose layouts, but for the default, ask for two things each; None of any other."""
    layouts = [layout for layout in map(_layout, plan.points) if not layout.is_default]
    plain = {layout.asks: layout.name for layout in layouts if len(layout.asks) == 2}
    rows, columns = (tuple(dict.fromkeys(asks[place] for asks in plain)) for place in (0, 1))
    if len(plain) < len(layouts) or len(rows) < 2 or len(columns) < 2:
        return None
    own = [each for each in result.metrics if each.name == choice.best.metric.name]
    columns, drawn = fields(plain, own, choice.best.label, [option.label for option in choice.alike])
    return Map(choice.name, choice.unit, 'by what the layouts ask for', 'layout', columns, drawn)
