"""A simulated year of nights: two regressions, an upgrade, three weeks of INVALID flapping, a dead fortnight."""

import functools
import random
from collections.abc import Mapping
from datetime import datetime, timedelta

import polars as pl

from nights import figures
from seatrial.site.calendar import Calendar

DUE = Calendar(2, 0).after(datetime.now().astimezone() - timedelta(days=366), 365)
"""Of the nights, the last of which is this morning's."""

DEAD = range(250, 264)
FLAPPING = range(120, 141)
WRITES_WORSE, METADATA_WORSE, UPGRADE = 60, 200, 290


@functools.cache
def year() -> Mapping[int, pl.DataFrame]:
    """By the number of the night its rows, but for the nights on which nothing ran."""
    rng = random.Random(5)
    return {number: _night(rng, number) for number in range(len(DUE)) if number not in DEAD}


def _night(rng: random.Random, number: int) -> pl.DataFrame:
    """Writes are slower from one night on, opens from another, reads faster with an upgrade; some are INVALID."""
    level = 1 + rng.gauss(0, 0.03)
    times = {
        'write': 0.85 if number >= WRITES_WORSE else 1.0,
        'read': 1.15 if number >= UPGRADE else 1.0,
        'open': 0.8 if number >= METADATA_WORSE else 1.0,
    }
    tables = [
        figures(
            DUE[number],
            {f'{name}@{point}': [1e8 * level * share * (1 + rng.gauss(0, 0.02))] * 2 for point in range(2)},
            verdict='INVALID' if number in FLAPPING and number % 2 else 'MEASURED',
            kernel='6.1' if number < UPGRADE else '6.8',
            **({'unit': 'op/s', 'kind': 'metadata', 'check': 'Opens'} if name == 'open' else {}),
        )
        for name, share in times.items()
    ]
    return pl.concat(tables)
