"""Errors of `seatrial compare`: differences named where there is none, drops found, coverage of the intervals.

Sessions are simulated: three families of eight metrics, six repetitions of each with 2 % noise, and a noise between
sessions that is independent for each metric, or shared by its family. The real judge compares them.

    python benchmarks/compare.py --pairs 1000 --seed 2009 [--quick]

--quick shows only that it works.
"""

import argparse
import math
import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from harness import run

from seatrial.judge.compare import BETTER, WORSE, Series, compared

FAMILIES, METRICS, REPETITIONS = ('data write', 'data read', 'metadata'), 8, 6
WITHIN = 0.02
DROP = 0.05
BETWEEN = 0.03
DRIFT = 0.2
OVER_ALL = 0.3
"""Drift: the share by which the last session is below the first, if the sides are measured one after the other."""
SIDES = ((1, 1), (2, 2), (3, 3), (5, 5), (8, 8), (14, 14), (10, 1))

Draw = Callable[[], float]


def normal() -> float:
    return random.gauss(0, 1)


def heavy() -> float:
    """Student's t with 3 degrees of freedom, scaled to variance 1."""
    chi = sum(random.gauss(0, 1) ** 2 for _ in range(3))
    return random.gauss(0, 1) / math.sqrt(chi / 3) / math.sqrt(3)


class Noise(NamedTuple):
    """Noise between sessions. shared: the part of its variance that the metrics of a family have in common."""

    words: str
    shared: float
    draw: Draw


NOISES = (
    Noise("each metric's own", 0.0, normal),
    Noise('half shared', 0.5, normal),
    Noise('shared by the family', 1.0, normal),
    Noise("each metric's own, heavy tails", 0.0, heavy),
    Noise('shared by the family, heavy tails', 1.0, heavy),
)


class Rates(NamedTuple):
    """Shares: equal pairs with a difference named; intervals with 1, of families, metrics; drops named, of both."""

    named: float
    families: float
    metrics: float
    drops: float
    of_metrics: float


def sessions(shifts: Mapping[str, float], noise: Noise) -> list[dict[str, list[float]]]:
    """The samples of each metric of a family by session. shifts: logarithm of the change of each session's level"""
    shared = [math.sqrt(noise.shared) * noise.draw() for _ in shifts]
    series_made = []
    for _ in range(METRICS):
        noises = [math.sqrt(1 - noise.shared) * noise.draw() for _ in shifts]
        levels = [
            math.exp(shift + BETWEEN * (a + b)) for shift, a, b in zip(shifts.values(), shared, noises, strict=True)
        ]
        series_made.append(
            {
                name: [level * random.gauss(100, 100 * WITHIN) for _ in range(REPETITIONS)]
                for name, level in zip(shifts, levels, strict=True)
            }
        )
    return series_made


def pair(sides: tuple[int, int], noise: Noise, drop: float, drift: float = 0.0) -> list[Series]:
    """Two sides. drop: of the first family in the second side; drift: of all metrics, from first to last session"""
    names = [f'{number:02}' for number in range(sum(sides))]
    series = []
    for family in FAMILIES:
        step = math.log1p(-drop) if family == FAMILIES[0] else 0.0
        lower = {name: math.log1p(-drift) * number / (len(names) - 1) for number, name in enumerate(names)}
        before = {name: lower[name] for name in names[: sides[0]]}
        after = {name: lower[name] + step for name in names[sides[0] :]}
        both = zip(sessions(before, noise), sessions(after, noise), strict=True)
        series += [Series(family, *sides) for sides in both]
    return series


def rates(sides: tuple[int, int], noise: Noise, pairs: int) -> Rates:
    named = covered = of_metrics = changed = found_metrics = 0
    for _ in range(pairs):
        families, metrics = compared(pair(sides, noise, 0.0))
        named += any(change.verdict in (BETTER, WORSE) for change in (*families.values(), *metrics))
        covered += sum(family.low < 1 < family.high for family in families.values())
        of_metrics += sum(metric.low < 1 < metric.high for metric in metrics)
        families, metrics = compared(pair(sides, noise, DROP))
        changed += families[FAMILIES[0]].verdict == WORSE
        found_metrics += sum(metric.verdict == WORSE for metric in metrics[:METRICS])
    return Rates(
        named / pairs,
        covered / pairs / len(FAMILIES),
        of_metrics / pairs / len(FAMILIES) / METRICS,
        changed / pairs,
        found_metrics / pairs / METRICS,
    )


def print_drifts(pairs: int) -> None:
    """Print how often a difference is named, with and without a search for drifts, if one side follows the other."""
    cases = ((0.0, OVER_ALL), (0.0, 0.0), (0.05, 0.0), (0.10, 0.0), (0.20, 0.0))
    words = [
        f'drift of {100 * OVER_ALL:.0f} %, named',
        'equal, named',
        *(f'{100 * drop:.0f} % drop' for drop, _ in cases[2:]),
    ]
    print(f'| sessions | noise between sessions | drifts | {" | ".join(words)} |')
    print('|---' * (3 + len(words)) + '|')
    for noise in NOISES[:3]:
        for count in (3, 5, 8):
            named_by_drift: dict[bool, list[int]] = {False: [], True: []}
            for drop, drift in cases:
                made = [pair((count, count), noise, drop, drift) for _ in range(pairs)]
                for looked, counts in named_by_drift.items():
                    judged = [compared(series_of_one, drifts=looked) for series_of_one in made]
                    worse = sum(families[FAMILIES[0]].verdict == WORSE for families, _ in judged)
                    named = sum(
                        any(change.verdict in (BETTER, WORSE) for change in (*families.values(), *metrics))
                        for families, metrics in judged
                    )
                    counts.append(worse if drop else named)
            for looked, counts in named_by_drift.items():
                shown = ' | '.join(f'{100 * count / pairs:.1f} %' for count in counts)
                print(
                    f'| {count}, {count} | {noise.words} | {"looked for" if looked else "not"} | {shown} |',
                    flush=True,
                )


def rounds(count: int, drop: float) -> list[Series]:
    """Two sides measured in turn: noise DRIFT of a round, common to all, and BETWEEN of each metric in a session."""
    shared = [random.gauss(0, DRIFT) for _ in range(count)]
    series_made = []
    for family in FAMILIES:
        for _ in range(METRICS):
            sides: list[dict[str, list[float]]] = []
            for shift in (0.0, math.log1p(-drop) if family == FAMILIES[0] else 0.0):
                levels = [math.exp(level + shift + random.gauss(0, BETWEEN)) for level in shared]
                sides.append(
                    {
                        str(number): [level * random.gauss(100, 100 * WITHIN) for _ in range(REPETITIONS)]
                        for number, level in enumerate(levels)
                    }
                )
            series_made.append(Series(family, *sides))
    return series_made


def in_turn(pairs: int) -> None:
    """Print the same shares of sides that were measured in turn, compared as pairs and not as pairs."""
    print('| rounds | judged | equal: a difference named | coverage, families | 5 % drop of a family: family worse |')
    print('|---|---|---|---|---|')
    for count in (3, 6, 12):
        for paired in (True, False):
            named = covered = changed = 0
            for _ in range(pairs):
                families, metrics = compared(rounds(count, 0.0), paired=paired)
                named += any(change.verdict in (BETTER, WORSE) for change in (*families.values(), *metrics))
                covered += sum(family.low < 1 < family.high for family in families.values())
                changed += compared(rounds(count, DROP), paired=paired)[0][FAMILIES[0]].verdict == WORSE
            shown = ' | '.join(f'{100 * count / pairs:.1f} %' for count in (named, covered / len(FAMILIES), changed))
            print(f'| {count} | {"paired" if paired else "not paired"} | {shown} |', flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--pairs', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=2009)
    parser.add_argument('--quick', action='store_true', help='a few pairs, to see that it works')
    options = parser.parse_args()
    random.seed(options.seed)
    print(
        '| sessions | noise between sessions | equal: a difference named | coverage, families | coverage, metrics '
        '| 5 % drop of a family: family worse | its metrics worse |'
    )
    print('|---|---|---|---|---|---|---|')
    for noise in NOISES:
        for sides in SIDES:
            shares = rates(sides, noise, 3 if options.quick else options.pairs)
            shown = ' | '.join(f'{100 * share:.1f} %' for share in shares)
            print(f'| {sides[0]}, {sides[1]} | {noise.words} | {shown} |', flush=True)
    print()
    random.seed(options.seed)
    print_drifts(3 if options.quick else options.pairs)
    print()
    random.seed(options.seed)
    in_turn(3 if options.quick else options.pairs)
    return 0


if __name__ == '__main__':
    run(main)
