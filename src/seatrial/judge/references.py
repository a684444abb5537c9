"""References: the value that a metric should have, its origin, and whether the samples meet it.

The interval of the mean decides, because a mean may lie on the right side of a bound by chance. The verdict of the
mean alone, as ReFrame gives it, is shown too. A reference may be for a quantile instead, or for every single launch.
docs/reference/references.md has the rules in words."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from seatrial.judge import statistics as stats
from seatrial.model.plan import Case
from seatrial.model.units import in_unit
from seatrial.rules.stopping import t_quantile, t_within

INSIDE, OUTSIDE, UNDECIDED = 'inside', 'outside', 'undecided'
BASELINE, CONTRACT = 'baseline', 'contract'
"""Origins of a reference: earlier figures of this system (references.yaml), or a criterion of contract.yaml."""

MEAN = 'mean'
QUANTILES = {'p10': 0.1, 'median': 0.5, 'p90': 0.9}
EXTREMES = {'minimum': min, 'maximum': max}

LEVEL = (1 - stats.CONFIDENCE) / 2  # probability of a FAIL by chance of a metric whose true value lies at its bound
FALSE_ALARM = 0.05  # share of nights without a change in which a metric may lie beyond its baseline: every 20 days
EQUAL = 1e-9  # relative rounding error of a bound: 1000 x (1 - 0.7) is 300.00000000000006


@dataclass(frozen=True)
class Reference:
    """The value that one metric of one case should have."""

    metric: str
    value: float  # figure in the base unit
    low: float | None  # fractions of the value, as in ReFrame: -0.1 is 10 % less; None is no bound
    high: float | None
    unit: str  # unit in which it was written, of the same dimension: 'GB/s'; sentences show figures in it
    origin: str  # BASELINE or CONTRACT
    date: str  # ISO, of the origin
    engine: str = ''  # engine with which it was measured or agreed; empty: any
    statistic: str = MEAN  # statistic of the samples that is compared: MEAN, or one of QUANTILES or EXTREMES
    # True if its bounds are those of a Baseline: how far the mean of one more session may lie, its own noise included
    of_sessions: bool = False

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise ValueError(f'{self.metric}: a reference has a lower or an upper bound, or both')

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The absolute bounds, by ReFrame's own arithmetic (reframe.utility.sanity.reference_bounds)."""
        low, high = (None if share is None else self.value * (1 + share) for share in (self.low, self.high))
        return low, high


References = Mapping[tuple[str, Case], tuple[Reference, ...]]  # references by profile and case


@dataclass(frozen=True)
class ReferenceResult:
    """One metric compared with its reference. Reference and bounds are in the base unit; None is no such bound."""

    metric: str
    reference: float
    low: float | None
    high: float | None
    unit: str  # unit in which the reference was written, and in which `words` has its figures
    origin: str
    date: str
    point: str  # verdict of the mean (or other statistic) alone: 'inside' or 'outside'; '' without samples
    interval: str  # what the interval says, which decides: 'inside', 'outside' or 'undecided'
    words: str  # a sentence with both verdicts
    # probability of such samples if the true value lay at the bound; None unless outside, or undecided by `level`
    chance: float | None = None
    statistic: float | None = None  # the mean, or other statistic, in the base unit; None without samples

    @property
    def margin(self) -> float | None:
        """Distance on the right side of the nearer bound, as a share of the bound; None without samples or bounds."""
        if self.statistic is None:
            return None
        sides = [self.statistic / self.low - 1] if self.low else []
        sides += [1 - self.statistic / self.high] if self.high else []
        return min(sides, default=None)


@dataclass(frozen=True)
class Baseline:
    """The level of a metric over several sessions, in the base unit; spreads are shares of the value."""

    value: float
    width: float  # how far the mean of one more such session may lie from the value
    within: float  # standard deviation of the repetitions of a session
    between: float  # standard deviation of sessions, beyond what `within` explains


def baseline_of(sessions: Sequence[Sequence[float]], among: int) -> Baseline:
    """The baseline from the samples of several sessions, all above 0. among: how many metrics are judged together.
    The width is that of Student's prediction interval for one more mean (Jain 1991; Hahn and Meeker, Statistical
    Intervals, 1991, 4.7) at 1 - FALSE_ALARM / among. Raises ValueError for less than two sessions."""
    if len(sessions) < 2:
        raise ValueError('one session shows no spread between sessions')
    means, n = [statistics.fmean(values) for values in sessions], len(sessions)
    value, spread = statistics.fmean(means), statistics.stdev(means)
    several = [values for values in sessions if len(values) > 1]
    within = statistics.fmean(statistics.variance(values) for values in several) if several else 0.0
    of_means = statistics.fmean(within / len(values) for values in sessions)
    width = t_quantile(1 - FALSE_ALARM / among, n - 1) * spread * math.sqrt(1 + 1 / n)
    between = math.sqrt(max(0.0, spread**2 - of_means))
    return Baseline(value, width / value, math.sqrt(within) / value, between / value)


def judge_reference(
    reference: Reference,
    values: Sequence[float],
    engine: str,
    doubt: str = '',
    clock_error: float = 0.0,
    drifting: bool = False,
    correlation: float = 0.0,
    level: float = LEVEL,
    least: int = stats.MIN_FOR_INTERVAL,
) -> ReferenceResult:
    """Compares the valid samples of a metric, in the base unit, with its reference.

    engine: the engine that measured; a reference for another engine is left undecided
    doubt: why the figures cannot decide, whatever they are; empty if they can
    clock_error: share of a timed region by which its clocks may be wrong, in all samples alike; widens the interval
    drifting: the interval is too short, so all samples have to lie on the same side of the bound as the interval
    correlation: of neighbouring repetitions; widens the interval of a mean
    level: the probability of such samples by chance at which OUTSIDE is a FAIL; below LEVEL for many references
    least: the number of samples below which nothing is decided"""
    if not values:
        return _result(
            reference, None, UNDECIDED, f'{_wanted(reference, MIN_DIGITS)}: {doubt or "it was not measured"}'
        )
    name = reference.statistic
    estimate, lowest, highest = _estimate(values, name, correlation)
    undecided = partial(_result, reference, estimate, UNDECIDED)
    ends = lowest * (1 - clock_error), highest * (1 + clock_error)
    digits = _digits(reference, [estimate, *ends])

    def shown(*figures: float) -> str:
        return ' to '.join(in_digits(figure, reference.unit, digits) for figure in figures)

    point = _where(reference, estimate, estimate)
    sentence = f'{_wanted(reference, digits)}: the {name} {shown(estimate)} is {point}'

    if engine and reference.engine not in ('', engine):
        engines = f'measured with {engine}, and the reference is for {reference.engine}'
        return undecided(f'{engines}: undecided; {sentence}')
    if doubt:
        return undecided(f'{sentence}, but cannot decide: {doubt}')
    n = len(values)
    if n < least:
        return undecided(f'{sentence}, but {n} samples are fewer than the {least} that an interval needs')
    interval = f'its {100 * stats.CONFIDENCE:g} % interval'
    if name in EXTREMES:
        interval = f'what the clocks leave open, {shown(*ends)},'
    elif not math.isfinite(ends[0]):
        interval += f', which ends at {shown(ends[1])}'
    else:
        interval += f' {shown(*ends)}' if math.isfinite(ends[1]) else f', which begins at {shown(ends[0])}'
    if clock_error >= CLOCK_SAID:
        interval += f' ({100 * clock_error:.1f} % of it for the clocks)'
    where = _where(reference, *ends)
    if drifting and where != _where(reference, min(ends[0], *values), max(ends[1], *values)):
        moving = f'its samples drift, from {shown(min(values), max(values))}: {interval} is too short'
        return undecided(f'{sentence}, but {moving}')
    if where == UNDECIDED and not all(map(math.isfinite, ends)):
        needed = stats.samples_for(QUANTILES[name])
        return undecided(f'{sentence}, but {n} samples cannot show it: a {name} needs {needed}')
    if where == UNDECIDED and reference.of_sessions and name == MEAN and point == INSIDE:
        # The noise of its repetitions is in the bounds already, and would count twice.
        return _result(reference, estimate, INSIDE, f'{sentence}, as far as those sessions differ; {interval}')
    if where == UNDECIDED:
        return undecided(f'{sentence}, but {interval} crosses the bound')
    sentence += f' ({n} launches)' if name in EXTREMES else f', and so is {interval}'
    if where == INSIDE:
        return _result(reference, estimate, where, sentence)
    chance = _chance(values, reference, clock_error, correlation)
    if chance <= level:
        return _result(reference, estimate, where, sentence, chance)
    return undecided(
        f'{sentence}, but with this many criteria one may miss by chance '
        f'({100 * chance:.2g} %, where at most {100 * level:.2g} % is a FAIL; Holm)',
        chance,
    )


def _estimate(values: Sequence[float], statistic: str, correlation: float) -> tuple[float, float, float]:
    """The statistic of these samples and the ends of its interval, which has no width for an extreme."""
    if statistic in EXTREMES:
        extreme = EXTREMES[statistic](values)
        return extreme, extreme, extreme
    if statistic in QUANTILES:
        share = QUANTILES[statistic]
        return stats.quantile(sorted(values), share), *stats.quantile_interval(values, share)
    interval = stats.verdict_interval(values, stats.CONFIDENCE, correlation)
    return interval.mean, interval.low, interval.high


def _chance(values: Sequence[float], reference: Reference, clock_error: float, correlation: float) -> float:
    """The probability of samples this far outside if the true value lay at the missed bound: by Student's t for a
    mean, by the binomial distribution for a quantile. It is 0 for an extreme, which no chance explains."""
    low, high = reference.bounds
    if reference.statistic in EXTREMES:
        return 0.0
    if reference.statistic in QUANTILES:
        share, n = QUANTILES[reference.statistic], len(values)
        below = 0 if low is None else sum(value * (1 + clock_error) < low for value in values)
        above = 0 if high is None else sum(value * (1 - clock_error) > high for value in values)
        return min(stats.binomial_tail(n, share, below), stats.binomial_tail(n, 1 - share, above))
    interval = stats.verdict_interval(values, stats.CONFIDENCE, correlation)
    if interval.log_half_width == 0:
        return 0.0
    if low is not None and interval.mean < low:
        beyond = low / (1 + clock_error) / interval.mean
    else:
        beyond = interval.mean * (1 - clock_error) / high if high else math.inf
    t = math.log(beyond) * t_quantile(stats.CONFIDENCE, interval.n - 2) / interval.log_half_width
    return (1 - t_within(t, interval.n - 2)) / 2


def _where(reference: Reference, lowest: float, highest: float) -> str:
    """INSIDE if all from lowest to highest lies within the bounds, OUTSIDE if nothing does, else UNDECIDED."""
    low, high = reference.bounds
    floor = -math.inf if low is None else low * (1 - EQUAL)
    ceiling = math.inf if high is None else high * (1 + EQUAL)
    if floor <= lowest and highest <= ceiling:
        return INSIDE
    return OUTSIDE if highest < floor or lowest > ceiling else UNDECIDED


MIN_DIGITS, MAX_DIGITS = 5, 12
CLOCK_SAID = 0.005


def _digits(reference: Reference, figures: Sequence[float]) -> int:
    """The number of digits at which every figure that differs from a bound also looks different."""
    bounds, unit = [bound for bound in reference.bounds if bound is not None], reference.unit
    pairs = [(bound, figure) for bound in bounds for figure in figures if math.isfinite(figure)]
    apart = [pair for pair in pairs if not math.isclose(*pair, rel_tol=EQUAL)]
    for digits in range(MIN_DIGITS, MAX_DIGITS):
        if all(in_digits(bound, unit, digits) != in_digits(figure, unit, digits) for bound, figure in apart):
            return digits
    return MAX_DIGITS


def _wanted(reference: Reference, digits: int) -> str:
    ends = [in_digits(end, reference.unit, digits) for end in reference.bounds if end is not None]
    side = f'at {"least" if reference.high is None else "most"} ' if len(ends) == 1 else ''
    unit = f' {reference.unit}' if reference.unit else ''
    return f'wanted {side}{" to ".join(ends)}{unit} ({reference.origin} of {reference.date})'


def in_digits(value: float, unit: str, digits: int) -> str:
    """The value in this unit with so many significant digits, or all before the point."""
    shown = in_unit(value, unit)
    return f'{shown:.0f}' if abs(shown) >= 10**digits else f'{shown:.{digits}g}'


def _result(
    reference: Reference, estimate: float | None, interval: str, words: str, chance: float | None = None
) -> ReferenceResult:
    low, high = reference.bounds
    return ReferenceResult(
        metric=reference.metric,
        reference=reference.value,
        low=low,
        high=high,
        unit=reference.unit,
        origin=reference.origin,
        date=reference.date,
        point='' if estimate is None else _where(reference, estimate, estimate),
        interval=interval,
        words=words,
        chance=chance,
        statistic=estimate,
    )
