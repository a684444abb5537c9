"""Coverage of the interval that verdicts use, and the share of relations that are judged wrongly.

    python benchmarks/coverage.py --series 100000 --sweeps 2000 --seed 2009 [--quick]

prints the first tables of statistics.md under "Measured". An array version of the stopping rule stops the series; on
a random part of every row it is compared with the real seatrial.rules.stopping.state, called after each repetition,
and with the real verdict_interval, and any difference ends the run. The real rules judge all relations.
--quick shows only that it works.
"""

import argparse
from typing import NamedTuple

import numpy as np
from harness import run
from scipy import stats

from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED, insensitive
from seatrial.judge.statistics import CONFIDENCE, MIN_SAMPLES, verdict_interval
from seatrial.model.plan import StoppingRule
from seatrial.rules.stopping import OWN_SHARE, state, t_quantile

NOISES = (0.02, 0.03, 0.05, 0.08, 0.10, 0.15, 0.20)
SWEEP_NOISES = (0.03, 0.05, 0.08, 0.10, 0.15)
RULES = (StoppingRule(0.10), StoppingRule(0.05))
MARGINS = (1.105, 1.222)
CHECKED = 100


def normal(rng, shape, noise):
    return 1 + noise * rng.standard_normal(shape)


def lognormal(rng, shape, noise):
    variance = np.log1p(noise**2)
    return np.exp(np.sqrt(variance) * rng.standard_normal(shape) - variance / 2)


def gamma(rng, shape, noise):
    return rng.gamma(noise**-2, noise**2, shape)


def autocorrelated(correlation):
    """Normal AR(1) series, stationary from the first sample on."""

    def series(rng, shape, noise):
        steps = rng.standard_normal(shape)
        steps[..., 1:] *= np.sqrt(1 - correlation**2)
        for i in range(1, shape[-1]):
            steps[..., i] += correlation * steps[..., i - 1]
        return 1 + noise * steps

    return series


SERIES = {
    'normal': normal,
    'lognormal': lognormal,
    'gamma': gamma,
    'AR(1) 0.3': autocorrelated(0.3),
    'AR(1) 0.6': autocorrelated(0.6),
}


class Ends(NamedTuple):
    """The end of each series: arrays with one element for each."""

    mean: np.ndarray
    standard_error: np.ndarray
    n: np.ndarray
    converged: np.ndarray


class Coverage(NamedTuple):
    """Shares of the series, and the mean number of samples.

    covered: with the truth in the verdict's interval; of_converged: of the converged ones, nan if there is none;
    by_students: with the truth in Student's interval, of n - 1 degrees of freedom
    """

    covered: float
    of_converged: float
    by_students: float
    samples: float
    unconverged: float


def stopped(values: np.ndarray, rule: StoppingRule, between: 'np.ndarray | float' = 0.0) -> Ends:
    """The stopping rule on many series at once: `values` has a row for each, of maximum + extra samples.

    between: noise between nights, of each series or of all
    """
    n = np.arange(1, values.shape[1] + 1)
    away = values - values[:, :1]
    sums = np.cumsum(away, axis=1)
    squares = np.maximum(np.cumsum(away**2, axis=1) - sums**2 / n, 0)
    means = values[:, :1] + sums / n
    errors = np.sqrt(squares / np.maximum(n - 1, 1) / n)
    errors[:, 0] = np.inf
    enough = (n >= rule.minimum) & (n <= rule.maximum)
    share = np.maximum(
        rule.max_relative_error / _quantiles(rule, n - 1), np.sqrt(OWN_SHARE) * np.reshape(between, (-1, 1))
    )
    short = (errors <= share * np.abs(means)) & enough
    converged = short.any(axis=1)
    end = np.where(converged, short.argmax(axis=1) + 1 + rule.extra, rule.maximum)
    place = (np.arange(len(values)), end - 1)
    return Ends(means[place], errors[place], end, converged)


def half_width(ends: Ends, rule: StoppingRule) -> np.ndarray:
    """Half the width of the interval that verdicts use, for the logarithm of the mean."""
    return _quantiles(rule, ends.n - 2) * ends.standard_error / ends.mean


def check_against_the_rule(values: np.ndarray, rule: StoppingRule, ends: Ends, rows: np.ndarray) -> None:
    """Raises AssertionError if the real rule, called after every repetition, ends one of these rows otherwise."""
    half_widths = half_width(ends, rule)
    for row in rows:
        series = [float(value) for value in values[row]]
        made = 0
        while state({'rate': series[:made]}, rule).action != 'done':
            made += 1
        interval = verdict_interval(series[:made], rule.confidence)
        assert made == ends.n[row], (row, made, ends.n[row])
        assert (state({'rate': series[:made]}, rule).reason in ('converged', 'settled')) == ends.converged[row], row
        there = interval.mean, interval.log_half_width
        assert np.allclose(there, (ends.mean[row], half_widths[row])), row


def coverage(series, noise: float, rule: StoppingRule, count: int, rng, checked: int = CHECKED) -> Coverage:
    """Shares of stopped points whose verdict's interval, over all samples, contains the true mean, which is 1."""
    values = series(rng, (count, rule.maximum + rule.extra), noise)
    ends = stopped(values, rule)
    check_against_the_rule(values, rule, ends, rng.choice(count, min(checked, count), replace=False))
    covers = np.abs(np.log(ends.mean)) <= half_width(ends, rule)
    of_converged = covers[ends.converged].mean() if ends.converged.any() else np.nan
    by_students = np.abs(ends.mean - 1) <= _quantiles(rule, ends.n - 1) * ends.standard_error
    return Coverage(covers.mean(), of_converged, by_students.mean(), ends.n.mean(), 1 - ends.converged.mean())


def sweeps(means, noise: float, rule: 'StoppingRule | None', count: int, rng):
    """`count` sweeps of normal points with these true means: samples by label, MIN_SAMPLES of each without a rule."""
    length = MIN_SAMPLES if rule is None else rule.maximum + rule.extra
    values = normal(rng, (count * len(means), length), noise) * np.tile(means, count)[:, None]
    n = np.full(len(values), length)
    if rule is not None:
        ends = stopped(values, rule)
        check_against_the_rule(values, rule, ends, rng.choice(len(values), min(CHECKED, len(values)), replace=False))
        n = ends.n
    points = [row[:end].tolist() for row, end in zip(values, n, strict=True)]
    return [
        {f'point {place}': points[start + place] for place in range(len(means))}
        for start in range(0, len(points), len(means))
    ]


def shares(relations) -> 'dict[str, float]':
    """The shares of the relations that hold, that fail and that are undecided."""
    verdicts = [relation.verdict for relation in relations]
    return {word: verdicts.count(word) / len(verdicts) for word in (HOLDS, FAILS, UNDECIDED)}


def games_howell_differs(points) -> bool:
    """True if Games and Howell's procedure, which Seatrial does not use, finds two points different at 95 %."""
    means = np.array([np.mean(values) for values in points.values()])
    n = np.array([len(values) for values in points.values()])
    variances = np.array([np.var(values, ddof=1) for values in points.values()]) / n
    a, b = np.triu_indices(len(means), 1)
    df = (variances[a] + variances[b]) ** 2 / (variances[a] ** 2 / (n[a] - 1) + variances[b] ** 2 / (n[b] - 1))
    distance = np.abs(means[a] - means[b]) / np.sqrt((variances[a] + variances[b]) / 2)
    return bool(np.any(distance > [_studentised_range(len(means), int(freedom)) for freedom in df]))


def _studentised_range(count: int, df: int) -> float:
    if (count, df) not in _RANGES:
        _RANGES[count, df] = float(stats.studentized_range.ppf(0.95, count, df))
    return _RANGES[count, df]


_RANGES: 'dict[tuple[int, int], float]' = {}


def print_coverage(count: int, rng, noises=NOISES) -> None:
    print(
        f'Coverage of the {CONFIDENCE * 100:g} % interval: of all points, of the converged ones, with n - 1 degrees'
    )
    print('of freedom instead; samples a point; points that did not converge.\n')
    headings = [f'{_rule_name(rule)}: all | converged | n - 1 | samples | not conv.' for rule in RULES]
    print(f'| series | noise | {" | ".join(headings)} |')
    print('|---' * 12 + '|')
    for name, series in SERIES.items():
        for noise in noises:
            cells = []
            for rule in RULES:
                covered = coverage(series, noise, rule, count, rng)
                cells += map(_percent, (covered.covered, covered.of_converged, covered.by_students))
                cells += [f'{covered.samples:.1f}', _percent(covered.unconverged)]
            print(f'| {name} | {noise * 100:g} % | {" | ".join(cells)} |', flush=True)


def print_equal_sweeps(count: int, rng, noises=SWEEP_NOISES) -> None:
    print('\nSweeps of equal points, judged `insensitive`.\n')
    print(
        '| points | noise | samples | naive fails 1.105 | 1.222 | fails 1.105 | 1.222 | holds 1.105 | 1.222 ', end=''
    )
    print('| a difference found: Games-Howell | Seatrial |')
    print('|---|---|---|---|---|---|---|---|---|---|---|')
    for size in (11, 13):
        for noise in noises:
            for rule in (None, *RULES):
                drawn = sweeps(np.ones(size), noise, rule, count, rng)
                naive = np.array([max(means) / min(means) for means in map(_means, drawn)])
                relations = {margin: [insensitive(points, margin) for points in drawn] for margin in MARGINS}
                cells = [_percent(np.mean(naive > margin)) for margin in MARGINS]
                cells += [_percent(shares(relations[margin])[word]) for word in (FAILS, HOLDS) for margin in MARGINS]
                cells.append(_percent(np.mean([games_howell_differs(points) for points in drawn])))
                cells.append(_percent(np.mean([relation.low > 1 for relation in relations[MARGINS[0]]])))
                print(f'| {size} | {noise * 100:g} % | {_rule_name(rule)} | {" | ".join(cells)} |', flush=True)


def print_unequal_sweeps(count: int, rng, noises=SWEEP_NOISES) -> None:
    print(
        '\nSweeps of 13 points, margin 1.222: wrong verdicts where the truth lies at the margin itself, and what is'
    )
    print('found where it is 1.5.\n')
    print('| noise | samples | half the points lower: fails | one low, one high: holds ', end='')
    print('| one low, truth 1.5: fails | undecided |')
    print('|---|---|---|---|---|---|')
    margin = MARGINS[1]
    half = np.where(np.arange(13) < 6, 1.0, margin)
    ends = np.concatenate(([1.0, margin], np.full(11, margin**0.5)))
    one_slow = np.concatenate(([1.0], np.full(12, 1.5)))
    for noise in noises:
        for rule in (None, *RULES):
            relations = [
                shares(insensitive(points, margin) for points in sweeps(means, noise, rule, count, rng))
                for means in (half, ends, one_slow)
            ]
            cells = [relations[0][FAILS], relations[1][HOLDS], relations[2][FAILS], relations[2][UNDECIDED]]
            print(f'| {noise * 100:g} % | {_rule_name(rule)} | {" | ".join(map(_percent, cells))} |', flush=True)


def _means(points):
    return [np.mean(values) for values in points.values()]


def _quantiles(rule: StoppingRule, df: np.ndarray) -> np.ndarray:
    """Quantiles of t for these degrees of freedom; infinite below one degree."""
    known = [np.inf] + [t_quantile(rule.confidence, n) for n in range(1, int(df.max()) + 1)]
    return np.array(known)[np.maximum(df, 0)]


def _rule_name(rule) -> str:
    return f'{MIN_SAMPLES}' if rule is None else f'error {rule.max_relative_error * 100:g} %'


def _percent(share: float) -> str:
    return '-' if np.isnan(share) else f'{share * 100:.1f} %'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--series', type=int, default=20000, help='series a row of the first table')
    parser.add_argument('--sweeps', type=int, default=2000, help='sweeps a row of the other two')
    parser.add_argument('--seed', type=int, default=2009)
    parser.add_argument('--quick', action='store_true', help='a few of each, to see that it works')
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    if options.quick:
        print_coverage(20, rng, NOISES[:1])
        print_equal_sweeps(2, rng, SWEEP_NOISES[:1])
        print_unequal_sweeps(2, rng, SWEEP_NOISES[:1])
        return 0
    print_coverage(options.series, rng)
    print_equal_sweeps(options.sweeps, rng)
    print_unequal_sweeps(options.sweeps, rng)
    return 0


if __name__ == '__main__':
    run(main)
