"""How fast every check was, one above the other on the same scale: from its slowest to its fastest point."""

from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.verdict import CaseResult, Verdict
from seatrial.report.scale import Scale, Tick, scale_of

WIDTH, HEIGHT, EDGE = 300, 34, 14
OPERATIONS = ('read', 'write')


@dataclass(frozen=True)
class Lane:
    """The means of one operation of a case that can be believed, from the least to the greatest, as places."""

    operation: str
    low: float
    high: float
    y: float


@dataclass(frozen=True)
class Lanes:
    """One row a case, empty where nothing can be believed. logarithmic: whether the common axis is."""

    rows: tuple[tuple[Lane, ...], ...]
    ticks: tuple[Tick, ...]
    logarithmic: bool
    width: int = WIDTH
    height: int = HEIGHT


def believed(case: CaseResult, operation: str) -> list[float]:
    """The means of an operation at the points of a case, of those that can be believed."""
    return [
        metric.summary.mean
        for metric in case.metrics
        if metric.operation == operation and metric.summary and metric.verdict is not Verdict.INVALID
    ]


def lanes(cases: Sequence[CaseResult]) -> Lanes | None:
    """The lanes of these cases, or None where nothing can be believed."""
    means = [mean for case in cases for operation in OPERATIONS for mean in believed(case, operation)]
    if not means:
        return None
    scale = scale_of(means, (), EDGE, WIDTH - EDGE)
    return Lanes(tuple(_row(case, scale) for case in cases), scale.ticks(4), scale.logarithmic)


def _row(case: CaseResult, scale: Scale) -> tuple[Lane, ...]:
    found = []
    for i, operation in enumerate(OPERATIONS):
        means = believed(case, operation)
        if means:
            found.append(Lane(operation, scale(min(means)), scale(max(means)), HEIGHT * (2 * i + 1) / 4))
    return tuple(found)
