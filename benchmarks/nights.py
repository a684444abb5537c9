"""What three years of nights cost: to list and compare them, and to find when they changed.

    python benchmarks/nights.py [--sessions 1100] [--cases 120] [--quick]

Each night has 120 cases (or so many) of 12 points with 6 samples: 1,440 metrics. Prints wall seconds, CPU seconds and the largest
resident memory of each command as a process of its own. --quick shows only that it works.
"""

import argparse
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
from harness import REPOSITORY, SITES, costs, machine, run, scratch

from seatrial.history.rows import COLUMNS
from seatrial.history.store import folder_of, read, write

ONE = REPOSITORY / 'tests' / 'history'
FIRST = datetime(2023, 11, 1, 2, tzinfo=timezone.utc)
DROP = 0.85
"""Of all figures, from two thirds of the nights on."""


def a_night(cases: int) -> pl.DataFrame:
    """Rows of one, of which each metric is 1 GB/s."""
    row = read(ONE).rows.filter((pl.col('operation') == 'write') & (pl.col('axis') == 'tasks')).head(1)
    numbers = [
        pl.DataFrame({'check': [f'Check{number:03}' for number in range(cases)]}),
        pl.DataFrame({'point': [f'{2**power}KiB' for power in range(12)]}),
        pl.DataFrame({'repetition': range(6)}, schema={'repetition': pl.Int64}),
    ]
    rows = row.drop('check', 'point', 'repetition')
    for each in numbers:
        rows = rows.join(each, how='cross')
    named = {'site': 'site', 'profile': 'nightly', 'selection': ''}
    rows = rows.with_columns(pl.lit(value).alias(name) for name, value in named.items())
    return rows.with_columns(metric='write@' + pl.col('point')).select(list(COLUMNS))


def make_nights(site: Path, number: int, cases: int) -> None:
    """Leave so many, whose repetitions vary by 3 %."""
    rows, rng = a_night(cases), np.random.default_rng(2009)
    ends = np.arange(rows.height) * 1_900_000
    for each in range(number):
        began = FIRST + timedelta(days=each)
        session, at = f'{began:%Y%m%dT%H%M%S}-{each:06x}', pl.lit(began).cast(COLUMNS['started'])
        value = 1e9 * (DROP if 3 * each > 2 * number else 1) * (1 + 0.03 * rng.standard_normal(rows.height))
        own = {
            'session': pl.lit(session),
            'session_started': at,
            'started': at + pl.Series(ends + rng.integers(0, 900_000, rows.height)).cast(pl.Duration('us')),
            'value': pl.Series(value),
            'seconds': pl.Series(6e10 / value),
        }
        write(folder_of(site / 'state'), session, rows.with_columns(**own))


def commands(number: int) -> list[tuple[str, ...]]:
    """Over so many nights: the last one is compared with a month; a month and a tenth with as many before."""

    def days(start: int, end: int) -> str:
        return '..'.join(f'{FIRST + timedelta(days=number + each):%Y-%m-%d}' for each in (start, end - 1))

    tenth = number // 10
    sides = [
        (days(-31, -1), 'latest'),
        (days(-60, -30), days(-30, 0)),
        (days(-2 * tenth, -tenth), days(-tenth, 0)),
    ]
    compared = [('compare', *each) for each in sides]
    return [('history', 'list'), ('history', 'list', '--all'), ('status',), *compared, ('trend',)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sessions', type=int, default=1100)
    parser.add_argument('--cases', type=int, default=120)
    parser.add_argument('--quick', action='store_true', help='70 nights with 2 cases')
    options = parser.parse_args()
    sessions, cases = (70, 2) if options.quick else (options.sessions, options.cases)
    print(machine(f'polars {pl.__version__}'))
    print(f'{sessions:,} sessions with {12 * cases:,} metrics\n')
    print('| command | wall | CPU | memory | disk |')
    print('|---|---|---|---|---|')
    with scratch() as folder:
        site = folder / 'site'
        shutil.copytree(SITES / 'local', site)
        trial = site / 'trial.yaml'
        trial.write_text(trial.read_text().replace('../../.seatrial', 'state'))
        make_nights(site, sessions, cases)
        for words in commands(sessions):
            found = costs(*words, f'--site={site}')
            disk = sum(file.stat().st_size for file in folder_of(site / 'state').iterdir()) >> 20
            print(f'| `seatrial {" ".join(words)}` | {" | ".join(found)} | {disk} MiB |')
    return 0


if __name__ == '__main__':
    run(main)
