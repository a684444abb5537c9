"""References: the value that a metric should have, where that comes from, and whether it has it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReferenceResult:
    """One metric against its reference. Bounds are in the metric's unit; None is no bound on that side.

    point:    what the mean alone says: 'inside' or 'outside' the bounds, as plain ReFrame sees it
    interval: what the interval says, which decides: 'inside', 'outside' or 'undecided'
    words:    both in one sentence
    """

    metric: str
    reference: float
    low: float | None
    high: float | None
    unit: str
    origin: str
    date: str
    point: str
    interval: str
    words: str
