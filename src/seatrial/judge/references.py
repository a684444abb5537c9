"""References: the value that a metric should have, where that comes from, and whether it has it.

The interval of the mean decides: a mean may lie on the right side of a bound by chance. What the mean alone says,
which is all that ReFrame compares, stands beside it. docs/references.md has the rules in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.statistics import CONFIDENCE, LEAST_SAMPLES, verdict_interval

INSIDE, OUTSIDE, UNDECIDED = 'inside', 'outside', 'undecided'
CONTRACT = 'contract'


@dataclass(frozen=True)
class Reference:
    """What one metric of one case should be.

    value:     in `unit`; low, high: fractions of it, as ReFrame has them: -0.1 is 10 % less; None is no bound
    origin:    'contract' (a promise) or 'baseline' (what this system has shown); date: ISO, of the origin
    engine:    that it was found or agreed with; empty: any
    """

    metric: str
    value: float
    low: float | None
    high: float | None
    unit: str
    origin: str
    date: str
    engine: str = ''

    def __post_init__(self) -> None:
        """Raises ValueError for a reference that nothing can fail."""
        if self.low is None and self.high is None:
            raise ValueError(f'{self.metric}: a reference has a lower or an upper bound, or both')


@dataclass(frozen=True)
class ReferenceResult:
    """One metric against its reference. Bounds are in the metric's unit; None is no bound on that side.

    point:    what the mean alone says: 'inside' or 'outside' the bounds, as plain ReFrame sees it; '' without a mean
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


def judge_reference(reference: Reference, values: Sequence[float], engine: str, doubt: str = '') -> ReferenceResult:
    """A metric's valid samples against its reference.

    engine: that measured; a reference for another one is left undecided: a tool that has vanished is no PASS
    doubt:  why the figures cannot decide, whatever they are; empty if they can
    """
    low, high = _bound(reference, reference.low), _bound(reference, reference.high)
    wanted = f'wanted {_span(low, high)} {reference.unit} ({reference.origin} of {reference.date})'
    if not values:
        return _result(reference, '', UNDECIDED, f'{wanted}: {doubt or "it was not measured"}')
    found = verdict_interval(values, CONFIDENCE)
    point = INSIDE if _lies_in(found.mean, found.mean, low, high) else OUTSIDE
    said = f'{wanted}: the mean {_figure(found.mean)} is {point}'
    if engine and reference.engine not in ('', engine):
        why = f'measured with {engine}, and the reference is for {reference.engine}: cannot tell; {said}'
        return _result(reference, point, UNDECIDED, why)
    if doubt:
        return _result(reference, point, UNDECIDED, f'{said}, but cannot decide: {doubt}')
    if found.n < LEAST_SAMPLES:
        why = f'{said}, but {found.n} samples are fewer than the {LEAST_SAMPLES} that a verdict needs'
        return _result(reference, point, UNDECIDED, why)
    interval = f'its {100 * CONFIDENCE:g} % interval {_figure(found.low)} to {_figure(found.high)}'
    if _lies_in(found.low, found.high, low, high):
        return _result(reference, point, INSIDE, f'{said}, and so is {interval}')
    if (low is not None and found.high < low) or (high is not None and found.low > high):
        return _result(reference, point, OUTSIDE, f'{said}, and so is {interval}')
    return _result(reference, point, UNDECIDED, f'{said}, but {interval} is not wholly')


def _bound(reference: Reference, threshold: float | None) -> float | None:
    """The absolute bound, by ReFrame's own arithmetic (reframe.utility.sanity.reference_bounds)."""
    return None if threshold is None else reference.value * (1 + threshold)


def _lies_in(least: float, most: float, low: float | None, high: float | None) -> bool:
    return (low is None or least >= low) and (high is None or most <= high)


def _span(low: float | None, high: float | None) -> str:
    ends = [_figure(end) for end in (low, high) if end is not None]
    return ' to '.join(ends) if len(ends) > 1 else f'at {"least" if high is None else "most"} {ends[0]}'


def _figure(value: float) -> str:
    return f'{value:.0f}' if abs(value) >= 1e5 else f'{value:.5g}'


def _result(reference: Reference, point: str, interval: str, words: str) -> ReferenceResult:
    return ReferenceResult(
        metric=reference.metric,
        reference=reference.value,
        low=_bound(reference, reference.low),
        high=_bound(reference, reference.high),
        unit=reference.unit,
        origin=reference.origin,
        date=reference.date,
        point=point,
        interval=interval,
        words=words,
    )
