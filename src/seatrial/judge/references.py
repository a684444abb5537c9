"""References: the value that a metric should have, where that comes from, and whether it has it.

The interval of the mean decides: a mean may lie on the right side of a bound by chance. What the mean alone says,
which is all that ReFrame compares, stands beside it. docs/references.md has the rules in words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seatrial.judge.statistics import CONFIDENCE, MIN_SAMPLES, verdict_interval
from seatrial.model.units import in_unit

INSIDE, OUTSIDE, UNDECIDED = 'inside', 'outside', 'undecided'
CONTRACT = 'contract'

EQUAL = 1e-9
"""A share of a bound that is nothing: 1000 x (1 - 0.7) is 300.00000000000006."""


@dataclass(frozen=True)
class Reference:
    """What one metric of one case should be.

    value:     in the base unit; low, high: fractions of it, as ReFrame has them: -0.1 is 10 % less; None is no bound
    unit:      in which it was written, of the same dimension: 'GB/s'; sentences show figures in it
    origin:    'contract' (an obligation) or 'baseline' (what this system has shown); date: ISO, of the origin
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
    """One metric compared with its reference. Reference and bounds are in the base unit; None is no such bound.

    unit:     in which the reference was written, and in which `words` has its figures
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
    """A metric's valid samples, in the base unit, compared with its reference.

    engine: that measured; a reference for another one is left undecided: a tool that has vanished is no PASS
    doubt:  why the figures cannot decide, whatever they are; empty if they can
    clock_error: the share of a timed region that its clocks may be wrong by, in all samples alike: no repetition
            shows it, so it widens the interval
    drifting: the interval is too short, so all samples have to lie where it does
    """
    low, high = _bound(reference, reference.low), _bound(reference, reference.high)
    if not values:
        wanted = _wanted(reference, low, high, MIN_DIGITS)
        return _result(reference, '', UNDECIDED, f'{wanted}: {doubt or "it was not measured"}')
    found = verdict_interval(values, CONFIDENCE)
    ends = found.low * (1 - clock_error), found.high * (1 + clock_error)
    bounds = [bound for bound in (low, high) if bound is not None]
    digits = _digits(bounds, [found.mean, *ends], reference.unit)

    def shown(*figures: float) -> str:
        return ' to '.join(_figure(figure, reference.unit, digits) for figure in figures)

    point = INSIDE if _lies_in(found.mean, found.mean, low, high) else OUTSIDE
    said = f'{_wanted(reference, low, high, digits)}: the mean {shown(found.mean)} is {point}'
    if engine and reference.engine not in ('', engine):
        why = f'measured with {engine}, and the reference is for {reference.engine}: undecided; {said}'
        return _result(reference, point, UNDECIDED, why)
    if doubt:
        return _result(reference, point, UNDECIDED, f'{said}, but cannot decide: {doubt}')
    if found.n < MIN_SAMPLES:
        why = f'{said}, but {found.n} samples are fewer than the {MIN_SAMPLES} that a verdict needs'
        return _result(reference, point, UNDECIDED, why)
    interval = f'its {100 * CONFIDENCE:g} % interval {shown(*ends)}'
    if clock_error >= CLOCK_SAID:
        interval += f' ({100 * clock_error:.1f} % of it for the clocks)'
    where = _where(*ends, low, high)
    if drifting and where != _where(min(ends[0], *values), max(ends[1], *values), low, high):
        why = f'{said}, but its samples drift, from {shown(min(values), max(values))}: {interval} is too short'
        return _result(reference, point, UNDECIDED, why)
    joined = 'but' if where == UNDECIDED else 'and so is'
    return _result(reference, point, where, f'{said}, {joined} {interval}{" is not wholly" * (where == UNDECIDED)}')


def _bound(reference: Reference, threshold: float | None) -> float | None:
    """The absolute bound, by ReFrame's own arithmetic (reframe.utility.sanity.reference_bounds)."""
    return None if threshold is None else reference.value * (1 + threshold)


def _where(lowest: float, highest: float, low: float | None, high: float | None) -> str:
    if _lies_in(lowest, highest, low, high):
        return INSIDE
    beyond = (low is not None and highest < low * (1 - EQUAL)) or (high is not None and lowest > high * (1 + EQUAL))
    return OUTSIDE if beyond else UNDECIDED


def _lies_in(lowest: float, highest: float, low: float | None, high: float | None) -> bool:
    return (low is None or lowest >= low * (1 - EQUAL)) and (high is None or highest <= high * (1 + EQUAL))


MIN_DIGITS, MAX_DIGITS = 5, 12
CLOCK_SAID = 0.005


def _digits(bounds: Sequence[float], figures: Sequence[float], unit: str) -> int:
    """How many digits it takes until none of the figures looks like a bound that it is not."""
    pairs = [(bound, figure) for bound in bounds for figure in figures if math.isfinite(figure)]
    apart = [pair for pair in pairs if not math.isclose(*pair, rel_tol=EQUAL)]
    for digits in range(MIN_DIGITS, MAX_DIGITS):
        if all(_figure(bound, unit, digits) != _figure(figure, unit, digits) for bound, figure in apart):
            return digits
    return MAX_DIGITS


def _wanted(reference: Reference, low: float | None, high: float | None, digits: int) -> str:
    ends = [_figure(end, reference.unit, digits) for end in (low, high) if end is not None]
    side = f'at {"least" if high is None else "most"} ' if len(ends) == 1 else ''
    unit = f' {reference.unit}' if reference.unit else ''
    return f'wanted {side}{" to ".join(ends)}{unit} ({reference.origin} of {reference.date})'


def _figure(value: float, unit: str, digits: int) -> str:
    """A value in the base unit, as it reads in another one of its dimension."""
    shown = in_unit(value, unit)
    return f'{shown:.0f}' if abs(shown) >= 10**digits else f'{shown:.{digits}g}'


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
