"""How fast every check was, one above the other on the same scale: from its slowest to its fastest point.

Cases of one unit share a scale, and none is shared by two units.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.verdict import CaseResult, MetricResult, Verdict
from seatrial.report import words
from seatrial.report.marks import STYLES
from seatrial.report.scale import Scale, Tick, apart, scale_of

WIDTH, NARROWER, LANE, LEAST_HEIGHT, EDGE = 300, 190, 15, 34, 14
TICK_FONT = 12.0

ROLES: dict[str, dict[str, tuple[str, ...]]] = {
    'MiB/s': {'read': ('read',), 'write': ('write',)},
    'ops/s': {
        'create': ('file_create', 'directory_create', 'create'),
        'stat': ('file_stat', 'directory_stat', 'stat'),
        'read': ('file_read', 'read'),
        'remove': ('file_remove', 'directory_remove', 'unlink'),
    },
    'entries/s': {'first': ('ls_first', 'stat_first'), 'again': ('ls_fourth', 'stat_second')},
    'facts': {'holding': ('holding',)},
}
"""What an overview compares, by unit: its columns, and the metrics that stand in each; the first of a case counts."""


@dataclass(frozen=True)
class Lane:
    """The means of one role of a case that can be believed, from the least to the greatest, as places."""

    role: str
    style: str
    low: float
    high: float
    y: float


@dataclass(frozen=True)
class Lanes:
    """One row a case, empty where nothing can be believed. logarithmic: whether the common axis is."""

    rows: tuple[tuple[Lane, ...], ...]
    ticks: tuple[Tick, ...]
    logarithmic: bool
    width: int
    height: int


def unit_of(case: CaseResult) -> str:
    """Of every metric of the case."""
    return case.metrics[0].unit


def role_style(unit: str, role: str) -> str:
    """How a role is drawn: reads and writes as everywhere."""
    return role if unit == 'MiB/s' else STYLES[list(ROLES[unit]).index(role)]


def in_role(case: CaseResult, role: str) -> list[MetricResult]:
    """The metrics of a case that stand in the column of this role, one a point."""
    names = {metric.operation for metric in case.metrics}
    wanted = next((name for name in ROLES[unit_of(case)].get(role, ()) if name in names), None)
    return [metric for metric in case.metrics if metric.operation == wanted]


def believed(case: CaseResult, role: str) -> list[float]:
    """The means in this role at the points of a case, of those that can be believed."""
    return [
        metric.summary.mean
        for metric in in_role(case, role)
        if metric.summary and metric.verdict is not Verdict.INVALID
    ]


def lanes(cases: Sequence[CaseResult]) -> Lanes | None:
    """The lanes of these cases, which have one unit, or None where nothing can be believed or the unit is a count."""
    unit = unit_of(cases[0]) if cases else 'facts'
    means = [mean for case in cases for role in ROLES[unit] for mean in believed(case, role)]
    if not means or unit == 'facts':
        return None
    width = WIDTH if len(ROLES[unit]) < 3 else NARROWER  # more columns of figures stand beside
    scale = scale_of(means, (), EDGE, width - EDGE)
    height = max(LEAST_HEIGHT, LANE * len(ROLES[unit]))
    rows = tuple(_row(case, scale, height) for case in cases)
    return Lanes(rows, apart(scale.ticks(4, words.compact), TICK_FONT, width), scale.logarithmic, width, height)


def _row(case: CaseResult, scale: Scale, height: int) -> tuple[Lane, ...]:
    unit = unit_of(case)
    found = []
    for i, role in enumerate(ROLES[unit]):
        means = believed(case, role)
        if means:
            y = height * (2 * i + 1) / (2 * len(ROLES[unit]))
            found.append(Lane(role, role_style(unit, role), scale(min(means)), scale(max(means)), y))
    return tuple(found)
