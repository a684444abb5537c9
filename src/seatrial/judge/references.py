"""References: the value that a metric should have, where that comes from, and whether it has it.

The interval of the mean decides: a mean may lie on the right side of a bound by chance. What the mean alone says,
which is all that ReFrame compares, stands beside it. docs/references.md has the rules in words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.statistics import CONFIDENCE, LEAST_SAMPLES, verdict_interval

INSIDE, OUTSIDE, UNDECIDED = 'inside', 'outside', 'undecided'
CONTRACT = 'contract'

EQUAL = 1e-9
"""A share of a bound that is nothing: 1000 x (1 - 0.7) is 300.00000000000006."""


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


def judge_reference(
    reference: Reference,
    values: Sequence[float],
    engine: str,
    doubt: str = '',
    clock_error: float = 0.0,
    drifting: bool = False,
) -> ReferenceResult:
    """A metric's valid samples against its reference.

    engine: that measured; a reference for another one is left undecided: a tool that has vanished is no PASS
    doubt:  why the figures cannot decide, whatever they are; empty if they can
    clock_error: the share of a timed region that its clocks may be wrong by, in all samples alike: no repetition
            shows it, so it widens the interval
    drifting: the interval is too short, so all samples have to lie where it does
    """
    low, high = _bound(reference, reference.low), _bound(reference, reference.high)
    if not values:
        wanted = _wanted(reference, low, high, LEAST_DIGITS)
        return _result(reference, '', UNDECIDED, f'{wanted}: {doubt or "it was not measured"}')
    found = verdict_interval(values, CONFIDENCE)
    ends = found.low * (1 - clock_error), found.high * (1 + clock_error)
    digits = _digits([bound for bound in (low, high) if bound is not None], [found.mean, *ends])
    point = INSIDE if _lies_in(found.mean, found.mean, low, high) else OUTSIDE
    said = f'{_wanted(reference, low, high, digits)}: the mean {_figure(found.mean, digits)} is {point}'
    if engine and reference.engine not in ('', engine):
        why = f'measured with {engine}, and the reference is for {reference.engine}: cannot tell; {said}'
        return _result(reference, point, UNDECIDED, why)
    if doubt:
        return _result(reference, point, UNDECIDED, f'{said}, but cannot decide: {doubt}')
    if found.n < LEAST_SAMPLES:
        why = f'{said}, but {found.n} samples are fewer than the {LEAST_SAMPLES} that a verdict needs'
        return _result(reference, point, UNDECIDED, why)
    interval = f'its {100 * CONFIDENCE:g} % interval {_figure(ends[0], digits)} to {_figure(ends[1], digits)}'
    if clock_error >= CLOCK_SAID:
        interval += f' ({100 * clock_error:.1f} % of it for the clocks)'
    where = _where(*ends, low, high)
    if drifting and where != _where(min(ends[0], *values), max(ends[1], *values), low, high):
        samples = f'its samples drift, from {_figure(min(values), digits)} to {_figure(max(values), digits)}'
        return _result(reference, point, UNDECIDED, f'{said}, but {samples}: {interval} is too short')
    joined = 'but' if where == UNDECIDED else 'and so is'
    return _result(reference, point, where, f'{said}, {joined} {interval}{" is not wholly" * (where == UNDECIDED)}')


def _bound(reference: Reference, threshold: float | None) -> float | None:
    """The absolute bound, by ReFrame's own arithmetic (reframe.utility.sanity.reference_bounds)."""
    return None if threshold is None else reference.value * (1 + threshold)


def _where(least: float, most: float, low: float | None, high: float | None) -> str:
    if _lies_in(least, most, low, high):
        return INSIDE
    beyond = (low is not None and most < low * (1 - EQUAL)) or (high is not None and least > high * (1 + EQUAL))
    return OUTSIDE if beyond else UNDECIDED


def _lies_in(least: float, most: float, low: float | None, high: float | None) -> bool:
    return (low is None or least >= low * (1 - EQUAL)) and (high is None or most <= high * (1 + EQUAL))


LEAST_DIGITS, MOST_DIGITS = 5, 12
CLOCK_SAID = 0.005


def _digits(bounds: Sequence[float], figures: Sequence[float]) -> int:
    """How many digits it takes until none of the figures looks like a bound that it is not."""
    pairs = [(bound, figure) for bound in bounds for figure in figures if math.isfinite(figure)]
    apart = [pair for pair in pairs if not math.isclose(*pair, rel_tol=EQUAL)]
    for digits in range(LEAST_DIGITS, MOST_DIGITS):
        if all(_figure(bound, digits) != _figure(figure, digits) for bound, figure in apart):
            return digits
    return MOST_DIGITS


def _wanted(reference: Reference, low: float | None, high: float | None, digits: int) -> str:
    return f'wanted {_span(low, high, digits)} {reference.unit} ({reference.origin} of {reference.date})'


def _span(low: float | None, high: float | None, digits: int) -> str:
    ends = [_figure(end, digits) for end in (low, high) if end is not None]
    return ' to '.join(ends) if len(ends) > 1 else f'at {"least" if high is None else "most"} {ends[0]}'


def _figure(value: float, digits: int) -> str:
    return f'{value:.0f}' if abs(value) >= 10**digits else f'{value:.{digits}g}'


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
