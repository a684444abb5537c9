"""Shares of wrong verdicts, by distribution, noise, distance from the bound and number of criteria.

    python benchmarks/verdicts.py --cases 4000 --seed 2009 [--quick]

prints the tables of statistics.md under "False verdicts". The array version of the stopping rule in
coverage.py, which is compared with the real one, stops the series; correlations, widths and references are those of
the judge. --quick shows only that it works.
"""

import argparse
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
from coverage import Ends, autocorrelated, check_against_the_rule, gamma, half_width, lognormal, normal, stopped
from harness import run
from scipy import stats

from seatrial.history.noise import SURE
from seatrial.judge.criteria import MET, MISSED, UNDECIDED, Attempt, Criterion, judge_contract
from seatrial.judge.references import INSIDE, LEVEL, OUTSIDE, QUANTILES, Reference, judge_reference
from seatrial.judge.session import FAMILY, holm
from seatrial.judge.statistics import (
    CONFIDENCE,
    correlation_of,
    half_width_between,
    samples_for,
    slow_launches,
    widening,
)
from seatrial.judge.statistics import NOISE as ASSUMED
from seatrial.model.plan import StoppingRule

RULE = StoppingRule(0.10)
POINTS = 10
"""Series of a case with five points, each written and read."""


def shared(correlation):
    """Cases with a disturbance common to all points, in random order of launches. correlation: of repetitions"""

    def series(rng, shape, noise):
        cases, points, length = shape
        draw = autocorrelated(correlation ** (1 / points))(rng, (cases, length * points), noise)
        return rng.permuted(draw.reshape(cases, length, points), axis=2).transpose(0, 2, 1)

    return series


def slow_sometimes(share: float, times: float):
    """Normal series of mean 1, in which the share `share` of the launches is `times` times slower."""

    def series(rng, shape, noise):
        slow = np.where(rng.random(shape) < share, 1 / times, 1.0)
        return normal(rng, shape, noise) * slow / (1 - share + share / times)

    return series


def judged(series, noise: float, points: int, count: int, rng, rule: StoppingRule = RULE):
    """`count` cases of `points` points whose true mean is 1: samples, ends, and factors that widen intervals.

    The last is one factor for each series, from the correlation that the judge estimates from all series of its case.
    """
    values = series(rng, (count, points, rule.maximum + rule.extra), noise).reshape(count * points, -1)
    ends = stopped(values, rule)
    check_against_the_rule(values, rule, ends, rng.choice(len(values), min(20, len(values)), replace=False))
    samples = [row[:end].tolist() for row, end in zip(values, ends.n, strict=True)]
    correlations = [correlation_of(samples[place * points : (place + 1) * points]) for place in range(count)]
    wider = [widening(correlations[place // points], int(end)) for place, end in enumerate(ends.n)]
    return samples, ends, np.array(wider)


def verdicts(ends: Ends, wider: np.ndarray, bound: float, rule: StoppingRule = RULE) -> 'tuple[float, float]':
    """The shares of FAIL and of PASS, where the mean has to reach the bound."""
    factor = np.exp(half_width(ends, rule) * wider)
    return np.mean(ends.mean * factor < bound), np.mean(ends.mean / factor >= bound)


def print_correlated(count: int, rng) -> None:
    """Print how the estimated correlation changes verdicts on a mean at the bound, with 5 % noise."""
    print('| repetitions | series | FAIL, as if independent | FAIL | PASS, as if independent | PASS | wider by |')
    print('|---|---|---|---|---|---|---|')
    kinds = {'independent': normal, 'AR(1) 0.3': autocorrelated(0.3), 'AR(1) 0.5': autocorrelated(0.5)}
    kinds['AR(1) 0.5, of the whole case'] = shared(0.5)
    for name, series in kinds.items():
        for points in (1, 5, 10, 20):
            _, ends, wider = judged(series, 0.05, points, max(1, count * 4 // points), rng)
            plain, now = (verdicts(ends, widths, 1.0) for widths in (np.ones(len(wider)), wider))
            cells = [plain[0], now[0], plain[1], now[1], wider.mean() - 1]
            print(f'| {name} | {points} | {" | ".join(map(_percent, cells))} |', flush=True)


def print_false(count: int, rng) -> None:
    """Print shares of FAIL although the true mean is at the bound or above, and of PASS although at it or below."""
    above, below = (0, 0.02, 0.05, 0.10), (0, 0.02, 0.05, 0.10)
    print(f'| series | noise | {" | ".join(f"FAIL, {100 * share:g} % above" for share in above)} ', end='')
    print(f'| {" | ".join(f"PASS, {100 * share:g} % below" for share in below)} |')
    print('|---' * 10 + '|')
    kinds = {'normal': normal, 'lognormal': lognormal, 'gamma': gamma}
    kinds.update({f'AR(1) {strength}': autocorrelated(strength) for strength in (0.3, 0.5)})
    kinds['a tenth at half speed'] = slow_sometimes(0.1, 2)
    for name, series in kinds.items():
        for noise in (0.02, 0.05, 0.10, 0.15) if not name.startswith('a tenth') else (0.02, 0.05):
            _, ends, wider = judged(series, noise, POINTS, max(1, count * 4 // POINTS), rng)
            cells = [verdicts(ends, wider, 1 / (1 + share))[0] for share in above]
            cells += [verdicts(ends, wider, 1 / (1 - share))[1] for share in below]
            print(f'| {name} | {100 * noise:g} % | {" | ".join(map(_percent, cells))} |', flush=True)


def print_statistics(count: int, rng) -> None:
    """Print verdicts with rare slow launches, by statistic, if the reference is 90 % of the other launches' speed."""
    print('| launches at half speed | statistic | repetitions | PASS | FAIL |')
    print('|---|---|---|---|---|')
    for share in (0.0, 0.05, 0.1, 0.2, 0.3):
        for statistic in ('mean', 'median', 'p10', 'minimum'):
            needed = samples_for(QUANTILES[statistic]) if statistic in QUANTILES else 0
            rule = RULE._replace(minimum=max(4, needed - 2), maximum=max(20, needed))
            samples, ends, _ = judged(slow_sometimes(share, 2), 0.02, 1, count, rng, rule)
            bound = 0.9 / (1 - share / 2)
            reference = Reference('m', bound, 0.0, None, 'B/s', 'contract', '2026-11-22', statistic=statistic)
            intervals = np.array([judge_reference(reference, values, '').interval for values in samples])
            cells = [np.mean(intervals == INSIDE), np.mean(intervals == OUTSIDE)]
            name = f'{100 * share:g} %'
            print(f'| {name} | {statistic} | {ends.n.mean():.1f} | {" | ".join(map(_percent, cells))} |', flush=True)


def print_many(count: int, rng) -> None:
    """Print false FAILs among many criteria that are all at their bounds, and FAILs of one that misses its bound."""
    print('| noise | criteria | a false FAIL, each for itself | together (Holm) ', end='')
    print('| one is 5 % below: FAIL, for itself | together | 10 % below | together | 20 % below | together |')
    print('|---' * 10 + '|')
    for noise in (0.02, 0.05, 0.10):
        for criteria in (1, 10, 40, 100):
            sessions = max(1, count * 10 // max(10, criteria))
            samples, ends, _ = judged(normal, noise, 1, sessions * criteria, rng)
            at_bound = chances(samples, ends, 1.0).reshape(sessions, criteria)
            cells = [np.mean((at_bound <= LEVEL).any(axis=1)), np.mean([_any(chances) for chances in at_bound])]
            for below in (0.05, 0.10, 0.20):
                # The other criteria are met by as much as the first one is missed.
                met = chances(samples, ends, 1 - below).reshape(sessions, criteria)
                met[:, 0] = chances(samples, ends, 1 / (1 - below)).reshape(sessions, criteria)[:, 0]
                passes = [chances[0] <= holm(_missed(chances), criteria) for chances in met]
                cells += [np.mean(met[:, 0] <= LEVEL), np.mean(passes)]
            print(f'| {100 * noise:g} % | {criteria} | {" | ".join(map(_percent, cells))} |', flush=True)


def print_slow(count: int, rng) -> None:
    """Print the share of points that have a launch which the judge calls slow."""
    print('| series | noise | points with a slow launch | slow launches |')
    print('|---|---|---|---|')
    kinds = {'normal': normal, 'a tenth at half speed': slow_sometimes(0.1, 2)}
    for name, series in kinds.items():
        for noise in (0.02, 0.05, 0.08, 0.10, 0.15):
            samples, ends, _ = judged(series, noise, 1, count, rng)
            slow = np.array([slow_launches(values) for values in samples])
            cells = [np.mean(slow > 0), slow.sum() / ends.n.sum()]
            print(f'| {name} | {100 * noise:g} % | {" | ".join(map(_percent, cells))} |', flush=True)


def print_campaigns(count: int, rng) -> None:
    """Print results of criteria that are measured again, one allocation at a time, until they are met or missed."""
    print('| planned | at most further | met at the bound | at 90 % each time ', end='')
    print('| met 5 % above it | missed there | allocations then |')
    print('|---' * 7 + '|')
    for planned in (2, 3, 5):
        for further in (0, 3, 10):
            at_bound, above = (rng.normal(true, 0.05, (count, planned + further)) for true in (1.0, 1.05))
            plain = Criterion('1', 1.0, allocations=planned, planned=planned + further)
            criterion = replace(plain, planned=planned)
            outcomes = [_campaign(series, criterion) for series in above]
            cells = [np.mean([_campaign(series, one)[0] == MET for series in at_bound]) for one in (criterion, plain)]
            cells += [np.mean([verdict == wanted for verdict, _ in outcomes]) for wanted in (MET, MISSED)]
            made = np.mean([number for _, number in outcomes])
            print(f'| {planned} | {further} | {" | ".join(map(_percent, cells))} | {made:.1f} |', flush=True)


def print_margins(count: int, rng, known=((2, 0), (3, 0), (5, 0))) -> None:
    """Print verdicts on contracts at their bound and beyond it by a factor, by the noise between allocations. known:
    numbers of allocations, each with the number of nights before from which that noise is known"""
    counts, factors = (1, 4, 20), (1.1, 1.5, 2, 3)
    headings = ['allocations', 'nights before', 'noise', 'met at the bound']
    headings += [f'missed there, of {number}' for number in counts]
    headings += [f'{factor:g} times as fast: met' for factor in factors]
    headings += [f'{factor:g} times as slow: missed, of 4' for factor in factors]
    print(f'| {" | ".join(headings)} |')
    print('|---' * 15 + '|')
    for allocations, nights in known:
        for noise in (0.03, 0.10, 0.15, 0.30, 0.40):
            logs = rng.normal(0, noise, (count, allocations))
            mean, scatter = logs.mean(axis=1), logs.std(axis=1, ddof=1)

            assumed = np.full(count, ASSUMED)
            if nights:
                factor = np.sqrt((nights - 1) / stats.chi2.ppf(1 - SURE, nights - 1))
                assumed = factor * rng.normal(0, noise, (count, nights)).std(axis=1, ddof=1)
            seen_and_known = list(zip(scatter, assumed, strict=True))

            def half(confidence, pairs=seen_and_known, allocations=allocations):
                return np.array([half_width_between(seen, allocations, confidence, known) for seen, known in pairs])

            usual, strict = half(CONFIDENCE), [half(1 - 2 * FAMILY / n) for n in counts]
            cells = [np.mean(mean >= usual), *(np.mean(mean < -width) for width in strict)]
            cells += [np.mean(mean + np.log(factor) >= usual) for factor in factors]
            cells += [np.mean(mean - np.log(factor) < -strict[1]) for factor in factors]
            row = [str(allocations), str(nights), f'{100 * noise:g} %', *map(_percent, cells)]
            print(f'| {" | ".join(row)} |', flush=True)


def print_margins_after_nights(count: int, rng) -> None:
    """Print the same where a history has shown the noise; its upper bound is then taken for that of allocations."""
    print_margins(count, rng, ((2, 8), (2, 30)))


def _campaign(figures: np.ndarray, criterion: Criterion) -> 'tuple[str, int]':
    """The last verdict of the judge, and the number of allocations that it is made of."""
    began = datetime(2026, 11, 20, tzinfo=timezone.utc)
    made = [Attempt(f's{number:03}', began, ('n1',), (float(figure),) * 6) for number, figure in enumerate(figures)]
    for number in range(criterion.allocations, len(made) + 1):
        verdict = judge_contract([criterion], {'1': made[:number]})['1'].verdict
        if verdict != UNDECIDED:
            break
    return verdict, number


def chances(samples, ends: Ends, bound: float) -> np.ndarray:
    """The chance of each mean, or a lower one, if the truth is the bound. AssertionError if the judge's differs."""
    chances = stats.t.sf(np.log(bound / ends.mean) * ends.mean / ends.standard_error, ends.n - 2)
    reference = Reference('m', bound, 0.0, None, 'B/s', 'contract', '2026-11-22')
    for values, chance in zip(samples[:20], chances, strict=False):
        probability = judge_reference(reference, values, '').chance
        assert probability is None if chance > LEVEL else np.isclose(probability, chance), (probability, chance)
    return chances


def _any(chances: np.ndarray) -> bool:
    return bool((chances <= holm(_missed(chances), len(chances))).any())


def _missed(chances: np.ndarray) -> 'list[float]':
    return chances[chances <= FAMILY].tolist()


def _percent(share: float) -> str:
    return f'{share * 100:.1f} %'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--cases', type=int, default=4000)
    parser.add_argument('--seed', type=int, default=2009)
    parser.add_argument('--quick', action='store_true', help='a few cases, to see that it works')
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    for table in (
        print_correlated,
        print_false,
        print_statistics,
        print_many,
        print_campaigns,
        print_margins,
        print_slow,
        print_margins_after_nights,
    ):
        table(10 if options.quick else options.cases, rng)
        print()
    return 0


if __name__ == '__main__':
    run(main)
