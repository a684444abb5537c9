"""What thousands of sessions cost the commands that people type: `seatrial status` and `seatrial history list`.

    python benchmarks/history.py --sessions 10000 [--rounds 5] [--quick]

prints wall seconds of each command as a process of its own, with one session and with all of them; the fastest of
the rounds counts. --quick shows only that it works.
"""

import argparse
import json
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
from harness import REPOSITORY, SEATRIAL, SITES, machine, run, scratch, timed

from seatrial.check.session import FILE
from seatrial.history.store import folder_of, read, write

ONE = REPOSITORY / 'tests' / 'history'
COMMANDS = (('status',), ('history', 'list'))


def make_sessions(site: Path, number: int) -> None:
    """Leave so many nights, which ended yesterday, with the folders of their sessions."""
    state = site / 'state'
    rows = read(ONE).rows.with_columns(pl.lit('site').alias('site'), pl.lit('nightly').alias('profile'))
    last = datetime.now(timezone.utc) - timedelta(days=1)
    for each in range(number):
        began = last - timedelta(hours=number - each)
        session = f'{began:%Y%m%dT%H%M%S}-{each:06x}'
        own = (
            pl.lit(session).alias('session'),
            pl.lit(began).cast(pl.Datetime('us', 'UTC')).alias('session_started'),
        )
        write(folder_of(state), session, rows.with_columns(own))
        folder = state / 'sessions' / session
        folder.mkdir(parents=True)
        (folder / FILE).write_text(json.dumps({'profile': 'nightly', 'site': str(site), 'only': []}))


def fastest(site: Path, words: tuple[str, ...], rounds: int) -> float:
    """Wall seconds of the command, whose exit code may be that of a verdict."""
    line = '"$@"; [ $? -lt 64 ]'
    argv = ['sh', '-c', line, 'sh', SEATRIAL, *words, f'--site={site}']
    return min(timed(argv, site.parent) for _ in range(rounds))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sessions', type=int, default=10_000)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--quick', action='store_true', help='one round with 20 sessions')
    options = parser.parse_args()
    sessions, rounds = (20, 1) if options.quick else (options.sessions, options.rounds)
    print(machine(f'polars {pl.__version__}'))
    print(f'| command | 1 session | {sessions:,} sessions |')
    print('|---|---|---|')
    with scratch() as folder:
        found = []
        for number in (1, sessions):
            site = folder / str(number) / 'site'
            shutil.copytree(SITES / 'local', site)
            trial = site / 'trial.yaml'
            trial.write_text(trial.read_text().replace('../../.seatrial', 'state'))
            make_sessions(site, number)
            found.append([fastest(site, words, rounds) for words in COMMANDS])
        for words, one, many in zip(COMMANDS, *found, strict=True):
            print(f'| `seatrial {" ".join(words)}` | {one:.2f} s | {many:.2f} s |')
    return 0


if __name__ == '__main__':
    run(main)
