"""Tables of a session's cases: one for each kind of workload, with the columns by which these are compared. Beside
the figures stand lanes, from the smallest to the largest mean of a case, all on one scale."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from seatrial.judge.verdict import CaseResult, MetricResult
from seatrial.report.drawing.metrics import signs
from seatrial.report.drawing.plot import clear_labels, figures_scale
from seatrial.report.evidence import CaseEvidence
from seatrial.report.figures import Unit, cache_words, compact, is_valid, units_of
from seatrial.workload.registry import KINDS, kind_of, metrics_at
from seatrial.workload.words import by_key, joined

WIDTH, NARROWER, LANE, MIN_HEIGHT, EDGE = 300, 190, 15, 34, 14
TICK_FONT = 12.0


class Role(NamedTuple):
    name: str
    metrics: tuple[str, ...]  # a case shows the first of these that it has
    style: str  # style of its marks
    unit: Unit

    def of(self, case: CaseResult) -> list[MetricResult]:
        """The metrics of a case in this column, one for each point."""
        names = {metric.name for metric in case.metrics}
        wanted = next((name for name in self.metrics if name in names), None)
        return [metric for metric in case.metrics if metric.name == wanted]

    def means(self, case: CaseResult) -> list[float]:
        """The valid means at the points of a case."""
        return [metric.summary.mean for metric in self.of(case) if metric.summary and is_valid(metric)]

    def range(self, case: CaseResult) -> str:
        """The smallest and the largest of the means, in the column's unit; empty if there is none."""
        means = self.means(case)
        return self.unit.span(min(means), max(means)) if means else ''

    def cache(self, case: CaseResult) -> str:
        """The origin of the figures if it is not the servers: 'cached'."""
        return cache_words(metric for metric in self.of(case) if metric.summary and is_valid(metric))


class Overview(NamedTuple):
    title: str
    roles: tuple[Role, ...]
    cases: tuple[CaseEvidence, ...]
    lanes: dict[str, Any] | None  # lanes of the roles in the unit of the first role
    hint: str  # says which metric stands in a column, where there are several


def overviews(cases: Sequence[CaseEvidence], system: str) -> list[Overview]:
    """All tables, in the order of the kinds; cases keep their order."""
    by_title = by_key((kind_of(case.plan.kind).title, case) for case in cases)
    tables = []
    for title in dict.fromkeys(kind.title for kind in KINDS.values() if kind.title in by_title):
        alike = by_title[title]
        roles = _roles(alike, system)
        several = [f'{role.name} is {joined(role.metrics, "or")}' for role in roles if len(role.metrics) > 1]
        lanes = _lanes([case.result for case in alike], roles)
        tables.append(Overview(title, tuple(roles), tuple(alike), lanes, '; '.join(several)))
    return tables


def _roles(cases: Sequence[CaseEvidence], system: str) -> list[Role]:
    columns: dict[str, tuple[str, ...]] = {}
    for case in cases:
        kind, names = kind_of(case.plan.kind), [metric.name for metric in metrics_at(case.plan.points[0])]
        columns.update(kind.columns or tuple((kind.metric_words(name), (name,)) for name in names))
    plain = [Role(name, metrics, '', Unit()) for name, metrics in columns.items()]
    there = {role: metrics for role in plain if (metrics := [one for case in cases for one in role.of(case.result)])}
    units = units_of([metric for metrics in there.values() for metric in metrics if is_valid(metric)], system)
    style = signs(cases[0].plan.kind, [role.metrics[0] for role in there])
    return [
        role._replace(style=style[role.metrics[0]], unit=units.get(metrics[0].unit, Unit(metrics[0].unit)))
        for role, metrics in there.items()
    ]


def _lanes(cases: Sequence[CaseResult], roles: Sequence[Role]) -> dict[str, Any] | None:
    """A row for each case, with a lane for each role from its smallest to its largest mean; empty without valid ones.
    None if nothing is valid, or the figures are counts. logarithmic: of the common axis"""
    drawn = [role for role in roles if role.unit == roles[0].unit and role.unit.name]
    means = [mean for case in cases for role in drawn for mean in role.means(case)]
    if not means:
        return None
    width = WIDTH if len(roles) < 3 else NARROWER  # more columns of figures stand beside
    axis = figures_scale(means, unit=drawn[0].unit, shown=compact)

    def across(value: float) -> float:
        return EDGE + (width - 2 * EDGE) * axis.share(value)

    def lane(role: Role, means: Sequence[float], place: int) -> dict[str, Any]:
        y = height / len(drawn) * (place + 0.5)
        return {'style': role.style, 'low': across(min(means)), 'high': across(max(means)), 'y': y}

    height = max(MIN_HEIGHT, LANE * len(drawn))
    ticks = clear_labels([(across(tick.value), tick.label) for tick in axis.ticks], TICK_FONT, width)
    return {
        'rows': [
            [lane(role, role_means, place) for place, role in enumerate(drawn) if (role_means := role.means(case))]
            for case in cases
        ],
        'ticks': ticks,
        'logarithmic': axis.logarithmic,
        'width': width,
        'height': height,
    }
