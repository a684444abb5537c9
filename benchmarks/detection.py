"""Nights until a drop is flagged, and notifications where there is none, by Seatrial's trend and by other tools.

A site has 1,440 metrics in three families. Two months of nights are known; then one family drops, or none does.
Seatrial's trend sees the means of the families, with its default budget. ReFrame compares each metric with a
reference, its mean over the two months. Apache Otava, with its defaults, looks for change points of each metric; it
has no column where it is not installed (`pip install apache-otava`). The last column is no tool but a bound: a CUSUM
(Page 1954, Moustakides 1986) on the family, which knows level, noise and size of the drop, with the threshold that
makes exactly the budget of false notifications. Statistics hardly allow any tool to find a drop that it misses.

    python benchmarks/detection.py --series 400 --seed 2009 [--on DIRECTORY] [--quick]

--on: directory in which a file is written and synced repeatedly, for the noise of a real file system. --quick shows
only that it works.
"""

import argparse
import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
import reframe.utility.sanity as sn
from harness import machine, reframe_version, run, scratch
from reframe.core.exceptions import SanityError

from seatrial.judge.change_points import changes
from seatrial.judge.compare import BETTER, EFFECT, WORSE, Series, compared
from seatrial.model.units import MIB
from seatrial.report.nights.trend import MONTH, NEAR, SUSPECTED

FAMILIES, METRICS = 3, 480
BUDGET = timedelta(days=1) / MONTH
"""False notifications a night, where one a month is accepted."""

BEFORE, YEAR, NOISE = 60, 365, 0.03
SINCE = (1, 3, 5, 14)
DROPS = (0.03, 0.05, 0.10, 0.20)
REPETITIONS, BLOCK = 6, 10

Values = Sequence[float]
"""Logarithms of the figures of a family or a metric, one for each night until today."""

Draw = Callable[[np.random.Generator, int], np.ndarray]
"""Draws the values of so many nights, with variance 1."""


class Nights(NamedTuple):
    """shared: the part of the variance that the metrics of a family have in common."""

    words: str
    shared: float
    draw: Draw


def correlated(rng: np.random.Generator, count: int) -> np.ndarray:
    values = rng.standard_normal(count)
    for night in range(1, count):
        values[night] = 0.3 * values[night - 1] + np.sqrt(1 - 0.3**2) * values[night]
    return values


KINDS = (
    Nights("each metric's own", 0.0, np.random.Generator.standard_normal),
    Nights('half shared', 0.5, np.random.Generator.standard_normal),
    Nights('shared by the family', 1.0, np.random.Generator.standard_normal),
    Nights('shared, heavy tails', 1.0, lambda rng, count: rng.standard_t(3, count) / np.sqrt(3)),
    Nights('shared, correlation 0.3', 1.0, correlated),
)


def recorded(folder: Path, count: int) -> np.ndarray:
    """Logarithms of `count` mean rates, each of REPETITIONS that write and sync a file."""
    file, data = folder / 'data', os.urandom(4 * MIB)
    alarms = []
    for _ in range(count):
        rates = []
        for _ in range(REPETITIONS):
            began = time.monotonic()
            with file.open('wb') as stream:
                stream.write(data)
                os.fsync(stream.fileno())
            rates.append(1 / (time.monotonic() - began))
        alarms.append(np.log(np.mean(rates)))
    return np.array(alarms)


def again(record: np.ndarray) -> Draw:
    """Draws nights from a record, in blocks of random length that keep its order (Politis and Romano 1994)."""
    values = (record - record.mean()) / record.std()

    def draw(rng: np.random.Generator, count: int) -> np.ndarray:
        at = rng.integers(0, len(values), count)
        for night in np.nonzero(rng.random(count - 1) >= 1 / BLOCK)[0] + 1:
            at[night] = at[night - 1] + 1
        return values[at % len(values)]

    return draw


def history(rng: np.random.Generator, kind: Nights, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of a family without a change, and of one of its metrics, over `count` nights."""
    family = metric = np.sqrt(kind.shared) * kind.draw(rng, count)
    if kind.shared < 1:
        single = np.sqrt(1 - kind.shared) * rng.standard_normal((METRICS, count))
        family, metric = family + single.mean(axis=0), metric + single[0]
    return NOISE * family, NOISE * metric


class Tool(NamedTuple):
    """places: returns the nights that the tool names, given the values until tonight; watched: its series at a site.

    remembers: True if it names a change once, False if every night again
    """

    words: str
    of_family: bool
    places: Callable[[Values], Sequence[int]]
    watched: int
    remembers: bool = True

    def sees(self, one: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """The series that the tool watches, out of those of a family and of its metric."""
        return one[0] if self.of_family else one[1]


def seatrial(values: Values) -> Sequence[int]:
    """The nights of the changes that Seatrial notifies, as in report/nights/trend.py and notification.py."""
    alarms, level = [], BUDGET / FAMILIES
    places = [change.first for change in changes(values, level)]
    ends = [0, *places, len(values)]
    for start, place, end in zip(ends, places, ends[2:], strict=False):
        sides = range(max(start, place - NEAR), place), range(place, min(end, place + NEAR))
        before, after = ({str(night): [np.exp(values[night])] for night in side} for side in sides)
        if compared([Series('family', before, after)], EFFECT)[0]['family'].verdict in (BETTER, WORSE):
            alarms.append(place)
    return alarms


def reframe(bound: float) -> Callable[[Values], Sequence[int]]:
    def places(values: Values) -> Sequence[int]:
        last = len(values) - 1
        try:
            sn.evaluate(sn.assert_reference(np.exp(values[last]), np.exp(values[:BEFORE]).mean(), bound))
        except SanityError:
            return [last]
        return []

    return places


def otava(values: Values) -> Sequence[int]:
    from otava.analysis import compute_change_points

    return [point.index for point in compute_change_points(list(np.exp(values)))[0]]


TOOLS = (
    Tool('Seatrial', True, seatrial, FAMILIES),
    Tool('ReFrame, -5 %', False, reframe(-0.05), FAMILIES * METRICS, remembers=False),
    Tool('ReFrame, -10 %', False, reframe(-0.10), FAMILIES * METRICS, remembers=False),
    Tool('Apache Otava', False, otava, FAMILIES * METRICS),
)


def flagged_after(tool: Tool, values: Values) -> float:
    """Nights after the drop until the tool first names a change of that time; infinite if it never does."""
    for nights in range(1, SINCE[-1] + 1):
        if any(place >= BEFORE - SUSPECTED for place in tool.places(values[: BEFORE + nights])):
            return nights
    return np.inf


def false_alarms(tool: Tool, values: Values) -> int:
    """The number of changes named after the two months; one within two weeks of another counts as the same."""
    known: list[int] = []
    alarms = 0
    for nights in range(BEFORE, len(values) + 1):
        new = [
            place
            for place in tool.places(values[:nights])
            if not tool.remembers or all(abs(place - place_known) >= NEAR for place_known in known)
        ]
        known += new
        alarms += len(new) if nights > BEFORE else 0
    return alarms


def cusum(values: np.ndarray, drop: float, threshold: float) -> Iterator[int]:
    """The nights at which the evidence of a drop reaches the threshold; it then starts again from 0."""
    evidence, middle = 0.0, np.log1p(-drop) / 2
    for night, value in enumerate(values):
        evidence = max(0.0, evidence + middle - value)
        if evidence >= threshold:
            yield night
            evidence = 0.0


def threshold_for(values: np.ndarray, drop: float) -> float:
    """The threshold at which a CUSUM of one family uses up its share of BUDGET on nights without a drop."""
    low, high = 0.0, 100 * NOISE
    for _ in range(20):
        middle = (low + high) / 2
        too_many = sum(1 for _ in cusum(values, drop, middle)) > len(values) * BUDGET / FAMILIES
        low, high = (middle, high) if too_many else (low, middle)
    return high


def shares(nights: Sequence[float]) -> str:
    """The percentages of drops that are flagged within each number of nights in SINCE."""
    placed = np.array(nights)
    return ', '.join(f'{100 * np.mean(placed <= since):.0f}' for since in SINCE)


def rows(kind: Nights, tools: Sequence[Tool], count: int, seed: int) -> Iterator[str]:
    rng = np.random.default_rng(seed)
    years = [history(rng, kind, YEAR) for _ in range(max(1, count // 20))]
    looks = len(years) * (YEAR - BEFORE)
    cells = []
    for tool in tools:
        alarms = sum(false_alarms(tool, tool.sees(one).tolist()) for one in years)
        cells.append(f'{float(f"{alarms / looks / BUDGET * tool.watched:.2g}"):,g} a month')
    yield f'| {kind.words} | none | {" | ".join(cells)} | 1 a month |'
    quiet = np.concatenate([family for family, _ in years])
    series = [history(rng, kind, BEFORE + SINCE[-1]) for _ in range(count)]
    for drop in DROPS:
        after = np.where(np.arange(BEFORE + SINCE[-1]) < BEFORE, 0.0, np.log1p(-drop))
        cells = [shares([flagged_after(tool, (after + tool.sees(one)).tolist()) for one in series]) for tool in tools]
        threshold = threshold_for(quiet, drop)
        best = [next(cusum((after + family)[BEFORE:], drop, threshold), np.inf) + 1 for family, _ in series]
        yield f'| {kind.words} | {100 * drop:.0f} % | {" | ".join([*cells, shares(best)])} |'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--series', type=int, default=400)
    parser.add_argument('--seed', type=int, default=2009)
    parser.add_argument('--on', type=Path)
    parser.add_argument('--quick', action='store_true', help='a few series, to see that it works')
    options = parser.parse_args()
    count = 3 if options.quick else options.series
    installed = importlib.util.find_spec('otava') is not None
    print(machine(reframe_version(), *([f'Apache Otava {metadata.version("apache-otava")}'] if installed else [])))
    if not installed:
        print('Apache Otava is not installed and has no column: pip install apache-otava')
    tools = [tool for tool in TOOLS if installed or tool.places is not otava]
    print(f'\nFlagged within {", ".join(map(str, SINCE))} nights in per cent; "none": false notifications of all\n')
    print(f'| nights | drop | {" | ".join(tool.words for tool in tools)} | told all |')
    print('|---' * (3 + len(tools)) + '|', flush=True)
    with scratch(options.on) as folder:
        record = recorded(folder, 20 if options.quick else 200)
    for kind in (*KINDS, Nights('shared, recorded', 1.0, again(record))):
        for row in rows(kind, tools, count, options.seed):
            print(row, flush=True)
    correlation = np.corrcoef(record[:-1], record[1:])[0, 1]
    print(
        f'\nRecorded: {len(record)} means of {REPETITIONS} with {100 * record.std():.1f} % noise, here scaled to '
        f'{100 * NOISE:.0f} %; correlation of neighbours {correlation:.2f}'
    )
    return 0


if __name__ == '__main__':
    run(main)
