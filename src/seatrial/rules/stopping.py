"""Decides when a point has been repeated enough: Student's t interval and the stopping rule that is made of it.
Sources: "repeat until 90 % confidence and 10 % relative error, at least 4 runs" (Boito, Kassick and Navaux, WSPPD
2009); the interval is Student's (Jain, The Art of Computer Systems Performance Analysis, 1991, 13.2).
docs/explanation/statistics.md has measured the cost of stopping, and why repetitions follow the stop."""

import math
from functools import lru_cache
from typing import Mapping, NamedTuple, Optional, Sequence

from seatrial.model.plan import StoppingRule

Values = Sequence[Optional[float]]

OWN_SHARE = 0.5  # a night's own error in the variance between nights, at most; half of that takes twice the time


class Interval(NamedTuple):
    """A two-sided interval for a mean, in the unit of the values. half_width is infinite for one value."""

    mean: float
    half_width: float
    n: int
    confidence: float

    @property
    def low(self) -> float:
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        return self.mean + self.half_width


class State(NamedTuple):
    """The next step for a point."""

    action: str  # 'more': repeat; 'extra': converged, `extra_left` repetitions that count are still needed; 'done'
    reason: str = ''  # why it is 'done': 'converged', 'settled', 'exhausted' or 'fixed'
    converged_at: Optional[int] = None  # repetitions after which every metric was first known well enough
    extra_left: int = 0


def state(values_by_metric: Mapping[str, Values], rule: StoppingRule) -> State:
    """The rule's decision after these repetitions of a point; it is asked again after each of them.

    values_by_metric: one entry a repetition, None where it was not valid. A repetition counts once all metrics have
    their entry; an invalid one counts towards `maximum`, so that a point that is never valid ends too.

    The point has converged at the first repetition at which every metric has at least `minimum` valid values and a
    half width of at most max_relative_error x |mean|, and settled where more would not help (see `settled`). From
    there it needs `extra` valid repetitions, whatever they show. It is exhausted if it has neither after `maximum`,
    or not all of `extra` after maximum + extra. Later repetitions never change a 'done'. Raises ValueError without
    metrics, or for a value that is not finite."""
    if not values_by_metric:
        raise ValueError('a point without metrics has nothing to stop at')
    made = min(len(values) for values in values_by_metric.values())
    if rule.fixed:
        return State('done', 'fixed') if made >= rule.minimum else State('more')
    converged_at = _converged_at(values_by_metric, rule, min(made, rule.maximum))
    if converged_at is None:
        return State('done', 'exhausted') if made >= rule.maximum else State('more')
    cap = min(made, rule.maximum + rule.extra)
    counted = min(len(_valid(values[converged_at:cap])) for values in values_by_metric.values())
    if counted >= rule.extra:
        seen = [_valid(values[:converged_at]) for values in values_by_metric.values()]
        reason = 'converged' if all(converged(values, rule) for values in seen) else 'settled'
        return State('done', reason, converged_at)
    if cap == rule.maximum + rule.extra:
        return State('done', 'exhausted', converged_at)
    return State('extra', '', converged_at, rule.extra - counted)


def t_interval(values: Sequence[float], confidence: float) -> Interval:
    """Student's two-sided interval for the mean of independent values. Raises ValueError without finite values."""
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError(f'an interval needs finite values, and at least one: {list(values)}')
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, math.inf, n, confidence)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return Interval(mean, t_quantile(confidence, n - 1) * math.sqrt(variance / n), n, confidence)


@lru_cache(maxsize=None)
def t_quantile(confidence: float, df: int) -> float:
    """The t that |Student's t| with `df` degrees of freedom stays below with probability `confidence`: a finite sum
    in the angle atan(t / sqrt(df)) (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4),
    inverted by bisection. Raises ValueError unless 0 < confidence < 1 and df is a whole number of at least 1."""
    if not 0.0 < confidence < 1.0 or df < 1 or df != int(df):
        raise ValueError(f'no quantile of t for a confidence of {confidence} and {df} degrees of freedom')
    low, high = 0.0, math.pi / 2
    while True:
        angle = (low + high) / 2
        if angle in (low, high):
            return math.sqrt(df) * math.tan(angle)
        if _within(angle, df) < confidence:
            low = angle
        else:
            high = angle


def t_within(t: float, df: int) -> float:
    return _within(math.atan(t / math.sqrt(df)), df)


def _converged_at(values_by_metric: Mapping[str, Values], rule: StoppingRule, made: int) -> Optional[int]:
    for count in range(rule.minimum, made + 1):
        seen = [_valid(values[:count]) for values in values_by_metric.values()]
        if all(converged(valid, rule) or settled(valid, rule) for valid in seen):
            return count
    return None


def converged(values: Sequence[float], rule: StoppingRule) -> bool:
    """True if there are enough values, and their interval is as short as the rule asks."""
    if len(values) < rule.minimum:
        return False
    interval = t_interval(values, rule.confidence)
    return interval.half_width <= rule.max_relative_error * abs(interval.mean)


def settled(values: Sequence[float], rule: StoppingRule) -> bool:
    """True if more repetitions would not help a night, since the noise between nights outweighs the standard error of
    its own mean. A night is judged by its distance from others."""
    if not rule.between or len(values) < rule.minimum:
        return False
    interval = t_interval(values, rule.confidence)
    own_error = interval.half_width / t_quantile(rule.confidence, interval.n - 1)
    return own_error <= settling_error(rule) * abs(interval.mean)


def settling_error(rule: StoppingRule) -> float:
    """The relative standard error of a mean at which a night repeats no more; 0: it has no such rule."""
    return math.sqrt(OWN_SHARE) * rule.between


def expected_repetitions(rule: StoppingRule, noise: float) -> int:
    """Repetitions that the rule asks for where they scatter by this share of their mean."""
    if rule.fixed:
        return rule.minimum
    for number in range(max(2, rule.minimum), rule.maximum + 1):
        own_error = noise / math.sqrt(number)
        is_short = t_quantile(rule.confidence, number - 1) * own_error <= rule.max_relative_error
        if is_short or own_error <= settling_error(rule):
            return number + rule.extra
    return rule.maximum


def _valid(values: Values) -> Sequence[float]:
    return [value for value in values if value is not None]


def _within(angle: float, df: int) -> float:
    """P(|t| < sqrt(df) tan(angle)). A&S write the sum with cos^0 first for even df, cos^1 for odd df."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = df % 2
    term = cosine if odd else 1.0
    total = 0.0
    for power in range(odd, df - 1, 2):
        total += term
        term *= cosine * cosine * (power + 1) / (power + 2)
    return 2.0 / math.pi * (angle + sine * total) if odd else sine * total
