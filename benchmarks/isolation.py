"""The cost of a node sweep, the healthy nodes that it names, and the share of slow nodes that it finds.

    python benchmarks/isolation.py --nights 200 --seed 2026 --nodes 4 64 [--quick]

prints the two tables of isolation.md; with --targets, the figures of a sweep over OSTs or bricks. A night is a whole
sweep: writes and reads, all nodes together and in groups, and a second measurement of the suspects in the groups that
the runner would make; targets are measured one at a time. The rules are the real ones (seatrial.rules.outliers,
seatrial.job.sequence.confirm); only the figures are drawn at random.
--quick shows only that it works.
"""

import argparse
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from harness import run

from seatrial.job.sequence.confirm import LARGEST_GROUP, regrouped
from seatrial.model.plan import StoppingRule
from seatrial.model.point import Allocation
from seatrial.rules.outliers import CONTROLS, MIN_EFFECT, again, split, suspects
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep, expand, group_size

RULE = StoppingRule(0.1)
REPETITIONS = RULE.minimum + RULE.extra
PHASES = ('write', 'read')
SIZES = (4, 16, 31, 32, 64, 512, 5000)
SLOW = (0.85, 0.80, 0.70)
GROUP = 0.80  # speed of the slow half, as a share
TARGET_S, BESIDE_S = 5.0, 4.0  # seconds of a nightly launch: its timed region, and all else


class Scatter(NamedTuple):
    """Standard deviations, as shares: between healthy nodes, and between launches of one node.

    tail: share of the launches of a node that are disturbed, and run at 70 % of their speed
    """

    name: str
    nodes: float
    launches: float
    tail: float = 0.0


SCATTERS = (
    Scatter('quiet', 0.01, 0.02),
    Scatter('usual', 0.02, 0.05),
    Scatter('disturbed', 0.02, 0.05, 0.05),
    Scatter('rough', 0.03, 0.10, 0.05),
    Scatter('uneven', 0.05, 0.05),
)


class Night(NamedTuple):
    """The suspected and the named nodes. undecided: True if it stays unknown whether the others are healthy"""

    suspected: set[str]
    named: set[str]
    undecided: bool


class Nights(NamedTuple):
    """Figures of simulated nights: suspects and false names per healthy night, and the share of undecided ones.

    slow_named: the share of slow nodes that are named, for each speed in SLOW
    halves: the share of nights that are no PASS where half of the nodes are slow
    """

    suspected: float
    named: float
    undecided: float
    slow_named: tuple[float, ...]
    halves: float


def drawn(rng: np.random.Generator, speeds: np.ndarray, scatter: Scatter) -> np.ndarray:
    """The figures of every node in each repetition of one comparison."""
    figures = speeds[:, None] * (1 + scatter.launches * rng.standard_normal((len(speeds), REPETITIONS)))
    disturbed = rng.random(figures.shape) < scatter.tail
    return np.maximum(np.where(disturbed, 0.7 * figures, figures), 0.01)


def night(
    rng: np.random.Generator, nodes: int, scatter: Scatter, slow: float = 1.0, ill: int = 1, targets: bool = False
) -> Night:
    """A night, in which the first `ill` nodes have only the share `slow` of their speed.

    targets: each is measured alone, and a suspect again together with at least CONTROLS others
    """
    names = [f'n{number}' for number in range(nodes)]
    speeds = 1 + scatter.nodes * rng.standard_normal(nodes)
    speeds[:ill] *= slow
    suspected: dict[str, set[str]] = {phase: set() for phase in PHASES}
    first: list[tuple[str, dict[str, list[float]]]] = []
    for phase in PHASES:
        for _ in ('alone',) if targets else ('together', 'in groups'):
            figures = dict(zip(names, drawn(rng, speeds, scatter).tolist(), strict=True))
            first.append((phase, figures))
            suspected[phase] |= {suspect.name for suspect in suspects(figures)}
    groups = any(
        split({name: values for name, values in figures.items() if name not in suspected[phase]})
        for phase, figures in first
    )
    everyone = set().union(*suspected.values())
    if not everyone:
        return Night(everyone, set(), groups)
    order = random.Random(int(rng.integers(1 << 30)))
    if targets:
        others = sorted({*names} - everyone)
        controls = order.sample(others, min(len(others), max(CONTROLS, len(everyone))))
        placed = [[*sorted(everyone), *controls]]
    else:
        placed = regrouped(sorted(everyone), names, order)
    places = [names.index(name) for group in placed for name in group]
    named, cleared = set(), set(everyone)
    for phase in PHASES:
        second: dict[str, list[float]] = {}
        for place, figures in zip(places, drawn(rng, speeds[places], scatter).tolist(), strict=True):
            second.setdefault(names[place], []).extend(figures)
        suspected_here = suspected[phase]
        stood = again(
            sorted(suspected_here),
            {n: all_ for n, all_ in second.items() if n in suspected_here or n not in everyone},
        )
        named |= {score.name for score in stood if score.slow}
        cleared -= {score.name for score in stood if score.effect >= MIN_EFFECT}
    return Night(everyone, named, groups or bool(everyone - named - cleared))


def nights(seed: int, count: int, nodes: int, scatter: Scatter, targets: bool = False) -> Nights:
    """Figures of `count` healthy nights, as many with one slow node of each speed, and as many with a slow half."""
    rng = np.random.default_rng([seed, nodes, SCATTERS.index(scatter)])
    healthy = [night(rng, nodes, scatter, targets=targets) for _ in range(count)]
    shares = tuple(
        sum('n0' in night(rng, nodes, scatter, slow, targets=targets).named for _ in range(count)) / count
        for slow in SLOW
    )
    halves = [night(rng, nodes, scatter, GROUP, nodes // 2, targets) for _ in range(count)]
    return Nights(
        sum(len(sweep.suspected) for sweep in healthy) / count,
        sum(len(sweep.named) for sweep in healthy) / count,
        sum(sweep.undecided for sweep in healthy) / count,
        shares,
        sum(sweep.undecided or bool(sweep.named) for sweep in halves) / count,
    )


class Cost(NamedTuple):
    """The cost of one sweep in one allocation: launches, hours and node hours, with the second measurement."""

    groups: int
    size: int
    launches: int
    again: int
    hours: float
    node_hours: float


def cost(nodes: int) -> Cost:
    """The cost of a nightly sweep over so many nodes, with a second measurement of one suspect."""
    points = len(expand(Sweep('node'), data_access('multiple'), Allocation(nodes, 1)))
    names = [f'n{number}' for number in range(nodes)]
    again = len(regrouped(['n0'], names, random.Random(1)))
    launches, more = (count * len(PHASES) * REPETITIONS for count in (points, again))
    hours = (launches + more) * (TARGET_S + BESIDE_S) / 3600
    return Cost(points - 1, group_size(nodes), launches, more, hours, hours * nodes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--nights', type=int, default=200)
    parser.add_argument('--seed', type=int, default=2026)
    parser.add_argument('--nodes', type=int, nargs='*', default=SIZES)
    parser.add_argument('--quick', action='store_true', help='two nights of few nodes, to see that it works')
    parser.add_argument('--targets', action='store_true', help='sweeps over targets, each measured by itself')
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.nights, chosen.nodes = 2, (4, 31)
    if not chosen.targets:
        print_cost(chosen.nodes)
    print_detection(chosen.nights, chosen.seed, chosen.nodes, chosen.targets)
    return 0


def print_cost(sizes: Sequence[int]) -> None:
    print(f'Cost: {TARGET_S:g} s a launch and {BESIDE_S:g} s beside it; groups of at most {LARGEST_GROUP} again.\n')
    print('| nodes | groups | launches | again, for a suspect | hours | node hours | jobs if each node had its own |')
    print('|---|---|---|---|---|---|---|')
    for nodes in sizes:
        one = cost(nodes)
        print(
            f'| {nodes} | {one.groups} of {one.size} | {one.launches} | {one.again} '
            f'| {one.hours:.2f} | {one.node_hours:,.0f} | {nodes} |'
        )


def print_detection(count: int, seed: int, sizes: Sequence[int], targets: bool) -> None:
    kinds = ' | '.join(f'{100 * (1 - slow):.0f} % slower' for slow in SLOW)
    print(f'\nDetection: {count} nights a cell, seed {seed}.\n')
    half = f'half of them {100 * (1 - GROUP):.0f} % slower'
    what = 'targets' if targets else 'nodes'
    print(f'| {what} | scatter | suspects a night | false names a night | undecided nights | {kinds} | {half} |')
    print(f'|---|---|---|---|---|{"---|" * len(SLOW)}---|')
    for nodes in sizes:
        for scatter in SCATTERS:
            seen = nights(seed, count, nodes, scatter, targets)
            shown = ' | '.join(f'{100 * share:.0f} %' for share in seen.slow_named)
            print(
                f'| {nodes} | {scatter.name} | {seen.suspected:.3f} | {seen.named:.3f} '
                f'| {100 * seen.undecided:.1f} % | {shown} | {100 * seen.halves:.0f} % |',
                flush=True,
            )


if __name__ == '__main__':
    run(main)
