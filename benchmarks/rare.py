"""Effects that a few repetitions miss: rare slow launches, and noisy baselines (statistics.md and references.md).

As in a session, the runner's own rule stops the series, and the judge's own references judge them.

    python benchmarks/rare.py --series 4000 --seed 2009 [--quick]

--quick shows only that it works.
"""

import argparse
import itertools
import random
import statistics
from collections.abc import Callable
from functools import partial

from harness import run

from seatrial.judge.references import INSIDE, OUTSIDE, Reference, judge_reference
from seatrial.judge.statistics import summary
from seatrial.model.plan import StoppingRule
from seatrial.rules.stopping import converged, state

Draw = Callable[[], float]
RULE = StoppingRule(0.1)
METRICS = 40
"""Number of metrics of a night with eight cases of five points."""


def series(draw: Draw, rule: StoppingRule) -> tuple[list[float], str]:
    """The samples of one point until the rule ends it, and the reason of the rule."""
    values: list[float] = []
    while True:
        values.append(draw())
        now = state({'metric': values}, rule)
        if now.action == 'done':
            return values, now.reason


def judged(values: list[float], value: float, low: float) -> str:
    """The judge's result for the interval of these values and a reference: INSIDE, OUTSIDE or neither."""
    reference = Reference('metric', value, low, None, 'B/s', 'contract', '2026-11-22')
    return judge_reference(reference, values, '').interval


def noisy(noise: float) -> Draw:
    """Draws around 100 with this noise in per cent."""
    return lambda: random.gauss(100, noise)


def slow_sometimes(share: float, times: float) -> Draw:
    """Draws around 100 with 2 % noise, of which the share `share` is `times` times slower."""
    return lambda: random.gauss(100, 2) / (times if random.random() < share else 1)


def rare(count: int) -> None:
    """Print how often a system below its contract passes because slow launches are rare."""
    print('| slow launches | minimum | repetitions | none is slow | PASS, mean 2 % below | 5 % below |')
    print('|---|---|---|---|---|---|')
    for share, times in ((0.05, 10), (0.10, 10), (0.20, 10), (0.05, 3), (0.10, 3), (0.20, 3)):
        mean = 100 * (1 - share + share / times)
        for minimum in (4, 8, 18):
            rule = RULE._replace(minimum=minimum, maximum=max(RULE.maximum, minimum + 2))
            drawn = [series(slow_sometimes(share, times), rule) for _ in range(count)]
            passed = [
                sum(judged(values, above * mean, 0.0) == INSIDE for values, _ in drawn) / count
                for above in (1.02, 1.05)
            ]
            clean = sum(min(values) > 60 for values, _ in drawn) / count
            length = statistics.fmean(len(values) for values, _ in drawn)
            shown = ' | '.join(f'{100 * share:.0f} %' for share in (clean, *passed))
            print(f'| {100 * share:.0f} %, {times} times slower | {minimum} | {length:.1f} | {shown} |')


def undone(count: int) -> None:
    """Print how often the repetitions after the stop undo the precision that a point has converged to."""
    print('| series | beyond the precision asked for |')
    print('|---|---|')
    draws = {f'{noise} % noise': noisy(noise) for noise in (5, 8, 10, 15)}
    draws['5 % of launches 10 times slower'] = slow_sometimes(0.05, 10)
    draws['5 % of launches 3 times slower'] = slow_sometimes(0.05, 3)
    for name, draw in draws.items():
        drawn = [values for values, reason in (series(draw, RULE) for _ in range(count)) if reason == 'converged']
        wide = sum(not converged(values, RULE) for values in drawn) / len(drawn)
        print(f'| {name} | {100 * wide:.1f} % |')


def baselines(count: int) -> None:
    """Print how often an unchanged metric misses a baseline of -10 % that comes from a single session."""
    print(f'| noise | FAIL | INCONCLUSIVE | FAIL among {METRICS} such metrics | FAIL, exact baseline |')
    print('|---|---|---|---|---|')
    for noise in (5, 10, 15, 20):
        simulated, exact = [], []
        for _ in range(count):
            before, now = (series(noisy(noise), RULE)[0] for _ in range(2))
            simulated.append(judged(now, statistics.fmean(before), -0.1))
            exact.append(judged(now, 100.0, -0.1))
        failed = simulated.count(OUTSIDE) / count
        undecided = 1 - failed - simulated.count(INSIDE) / count
        night = 1 - (1 - failed) ** METRICS
        shown = [f'{100 * failed:.1f} %', f'{100 * undecided:.0f} %', f'{100 * night:.0f} %']
        print(f'| {noise} % | {" | ".join(shown)} | {100 * exact.count(OUTSIDE) / count:.2f} % |')


def drifts(count: int) -> None:
    """Print how often a series counts as drifting, and how often that alone makes a bound of 90 INCONCLUSIVE."""
    print('| series | drifting | INCONCLUSIVE for it |')
    print('|---|---|---|')
    rows: dict[str, Callable[[], Draw]] = {f'{noise} % noise': partial(noisy, noise) for noise in (2, 5, 8)}
    rows.update({f'2 % noise, {fall} % less each time': partial(falling, fall / 100) for fall in (1, 2, 3)})
    bound = Reference('metric', 90.0, 0.0, None, 'B/s', 'contract', '2026-11-22')
    for name, make in rows.items():
        drawn = [series(make(), RULE)[0] for _ in range(count)]
        called = [values for values in drawn if summary(values).drifting]
        open_ = sum(
            judge_reference(bound, values, '').interval != judge_reference(bound, values, '', drifting=True).interval
            for values in called
        )
        print(f'| {name} | {100 * len(called) / count:.0f} % | {100 * open_ / count:.1f} % |')


def falling(by: float) -> Draw:
    """Draws that fall from 100 by this share each time, with noise of 2."""
    numbers = itertools.count()
    return lambda: random.gauss(100 * (1 - by * next(numbers)), 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--series', type=int, default=4000)
    parser.add_argument('--seed', type=int, default=2009)
    parser.add_argument('--quick', action='store_true', help='a few series, to see that it works')
    options = parser.parse_args()
    random.seed(options.seed)
    for table in (rare, undone, baselines, drifts):
        table(20 if options.quick else options.series)
        print()
    return 0


if __name__ == '__main__':
    run(main)
