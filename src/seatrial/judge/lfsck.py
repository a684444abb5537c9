"""What runs of a file-system check say of each other: its time over inodes and over servers, and parts of it.

The servers tell whole seconds. A time of t s is therefore one between t - 1 and t + 1, and a ratio of two has the
interval of the four corners. That is the clock alone: how much equal runs differ takes several of each.
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED, Relation
from seatrial.judge.statistics import CONFIDENCE
from seatrial.rules.stopping import t_quantile

CLOCK_S = 1
"""Both ends of a run are whole seconds."""

MIN_S = 10
"""A shorter run is known to no better than 10 % (CLOCK_S), the error to which everything is measured."""

MIN_RUNS = 4
"""A line through three points leaves one degree of freedom; Fisher's interval needs four."""


class Line(NamedTuple):
    """Time over a count, by least squares: seconds = start + seconds_each x count.

    low, high:  interval of seconds_each at CONFIDENCE (Student's t of a slope with n - 2 degrees of freedom)
    """

    start_s: float
    seconds_each: float
    low: float
    high: float


def line(counts: Sequence[float], seconds: Sequence[float]) -> Line | None:
    """The line through these runs; None of fewer than MIN_RUNS, or where all counts are the same."""
    if len(counts) < MIN_RUNS or len(set(counts)) < 2:
        return None
    slope, start = statistics.linear_regression(counts, seconds)
    centre = statistics.fmean(counts)
    left = math.fsum((y - start - slope * x) ** 2 for x, y in zip(counts, seconds, strict=True))
    error = math.sqrt(left / (len(counts) - 2) / math.fsum((x - centre) ** 2 for x in counts))
    reach = t_quantile(CONFIDENCE, len(counts) - 2) * error
    return Line(start, slope, slope - reach, slope + reach)


def linear(counts: Sequence[float], seconds: Sequence[float], least: float = 0.9) -> Relation:
    """Whether time is linear in a count: R^2 is at least `least` (chosen; the source shows a picture).

    The interval of the coefficient is Fisher's, atanh r with the error 1 / sqrt(n - 3) (Metron 1, 1921).
    """
    fit = line(counts, seconds)
    if fit is None or len(set(seconds)) < 2:
        return _undecided(f'it takes {MIN_RUNS} runs of several sizes')
    r = statistics.correlation(counts, seconds)
    reach = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2) / math.sqrt(len(counts) - 3)
    bound = min(abs(r), 1 - 1e-12)
    low, high = (max(0.0, math.tanh(math.atanh(bound) + side * reach)) ** 2 if r > 0 else 0.0 for side in (-1, 1))
    each, *ends = (1e6 * slope for slope in (fit.seconds_each, fit.low, fit.high))
    sentence = (
        f'R2 {max(r, 0.0) ** 2:.3f} ({low:.3f}-{high:.3f}) of {len(counts)} runs; '
        f'a million takes {each:.4g} s ({ends[0]:.4g}-{ends[1]:.4g})'
    )
    return _judged(low >= least, high < least, max(r, 0.0) ** 2, (low, high), sentence)


def share(part_s: float, whole_s: float, least: float = 0.0, most: float = math.inf) -> Relation:
    """Whether the ratio of two times lies between `least` and `most`, by what the clocks allow."""
    if whole_s < MIN_S:
        return _undecided(f'{whole_s:g} s is too short; it takes {MIN_S} s')
    low, high = max(0.0, part_s - CLOCK_S) / (whole_s + CLOCK_S), (part_s + CLOCK_S) / (whole_s - CLOCK_S)
    sentence = f'{part_s:g} s over {whole_s:g} s: {part_s / whole_s:.2f} ({low:.2f}-{high:.2f} by clocks of 1 s)'
    holds, fails = low >= least and high <= most, high < least or low > most
    return _judged(holds, fails, part_s / whole_s, (low, high), sentence, 1.0)


def _undecided(why: str) -> Relation:
    return Relation(UNDECIDED, None, None, None, CONFIDENCE, why)


def _judged(
    holds: bool,
    fails: bool,
    estimate: float,
    interval: tuple[float, float],
    sentence: str,
    confidence: float = CONFIDENCE,
) -> Relation:
    verdict = HOLDS if holds else FAILS if fails else UNDECIDED
    return Relation(verdict, estimate, *interval, confidence, sentence)
