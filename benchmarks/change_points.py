"""Shares of sweeps in which a change point is found, with and without a true one, by its size, noise and curve.

    python benchmarks/change_points.py --series 2000 --seed 2009 [--quick]

prints the table of statistics.md under "Sweeps with a change point". Samples are normal, six at each size of
checks/access/change_point.py. --quick shows only that it works.
"""

import argparse

import numpy as np
from harness import run

from seatrial.judge.change_points import steps

SIZES = (32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 256)
VALUES = {f'{size}KiB': float(size) for size in SIZES}
AT = 128
CURVES = {
    'flat': lambda sizes: np.ones_like(sizes),
    'square root': np.sqrt,
    'saturating: s / (s + 64)': lambda sizes: sizes / (sizes + 64),
    'a bend at 100': lambda sizes: np.minimum(sizes, 100.0),
}


def simulated(means, noise: float, count: int, rng):
    """The steps of `count` simulated sweeps with these true means."""
    for _ in range(count):
        values = means[:, None] * (1 + noise * rng.standard_normal((len(means), 6)))
        yield steps(dict(zip(VALUES, values.tolist(), strict=True)), VALUES)


def row(means, times: float, noise: float, count: int, rng) -> 'list[float]':
    """Shares: step found; found at its place; true place, true size in the interval. Last: places in the interval."""
    every = list(simulated(means, noise, count, rng))
    true = [next(step for step in curve.every if step.above == f'{AT}KiB') for curve in every]
    pairs = list(zip(every, true, strict=True))
    return [
        np.mean([curve.likeliest.is_significant for curve in every]),
        np.mean([pair.likeliest is step and step.is_significant for pair, step in pairs]),
        np.mean([step in pair.places for pair, step in pairs]),
        np.mean([step.low <= times <= step.high for step in true]),
        np.mean([len(curve.places) for curve in every]),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--series', type=int, default=2000)
    parser.add_argument('--seed', type=int, default=2009)
    parser.add_argument('--quick', action='store_true', help='a few sweeps, to see that it works')
    options = parser.parse_args()
    rng, sizes = np.random.default_rng(options.seed), np.array(SIZES, dtype=float)
    print('| curve | step | noise | found | at 128 KiB | in the interval of the place | of the step | places |')
    print('|---' * 8 + '|', flush=True)
    for name, curve in CURVES.items():
        for times in (1.0, 1.1, 1.2, 1.5):
            for noise in (0.05, 0.10):
                means = curve(sizes) * np.where(sizes >= AT, times, 1.0)
                *shares, places = row(means, times, noise, 10 if options.quick else options.series, rng)
                # A curve without a step has no true place and no true size.
                cells = [f'{100 * share:.1f} %' for share in shares] + [f'{places:.1f}']
                cells = cells if times > 1 else [cells[0], *['-'] * 4]
                print(f'| {name} | {times:g} | {100 * noise:g} % | {" | ".join(cells)} |', flush=True)
    return 0


if __name__ == '__main__':
    run(main)
