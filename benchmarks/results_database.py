"""Time for the means of all metrics over months of nights, by ReFrame's results database and by the history.

    python benchmarks/results_database.py --sessions 300 [--quick]

Both hold the same sessions of 120 cases with 12 metrics: ReFrame's database one value of each, the history 6 samples.
The table of means is by ReFrame's `--list-stored-testcases`, and by a query of Polars. Two halves are compared by
`--performance-compare` and by `seatrial compare`, which also gives each ratio its interval and its verdict. The
first session of ReFrame is a genuine one, of one case; the others are copies with other times, names and values,
stored by ReFrame. Each figure is the least of some rounds. The exit status is 1 if the target is missed.
"""

import argparse
import copy
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
from harness import SITES, machine, reframe_version, run, scratch

from nights import FIRST, make_nights
from seatrial.history.store import folder_of, read

BIN, SETTINGS = Path(sys.executable).parent, SITES / 'local' / 'settings.py'
TARGET = 10.0
"""The least factor by which the history has to be faster, in CPU time."""

ROUNDS = 3
STORAGE = """
site_configuration = {{'storage': [{{'enable': True, 'backend': 'sqlite', 'sqlite_db_file': {file!r}}}]}}
"""
CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function

@rfm.simple_test
class Check(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs, executable = ['*'], ['*'], 'true'

    @sanity_function
    def ended(self):
        return True

    @run_before('performance')
    def figures(self):
        points = [f'write@{2**power}KiB' for power in range(12)]
        self.perf_variables = {name: sn.make_performance_function(sn.defer(1.0), 'B/s') for name in points}
"""
MEANS = """
import sys
import polars as pl
pl.Config.set_tbl_rows(-1)
samples = pl.scan_parquet(sys.argv[1] + '/*.parquet').filter(pl.col('valid'))
case = 'check', 'partition', 'file_system', 'layout', 'nodes', 'metric', 'unit'
print(samples.group_by(case).agg(pl.col('value').mean()).sort(case).collect(engine='streaming'))
"""
# ReFrame's own storage, filled as `reframe --run` fills it after a session.
STORE = """
import json, sys
from reframe.core.config import load_config
from reframe.core.runtime import init_runtime
from reframe.frontend.reporting.storage import StorageBackend
init_runtime(load_config('<builtin>', *sys.argv[1:]))
storage = StorageBackend.create('sqlite')
for line in sys.stdin:
    storage.store(json.loads(line), None)
"""


def reframe(folder: Path, *words: str) -> 'list[str]':
    """ReFrame's command line, with its database in the folder."""
    storage = folder / 'storage.py'
    storage.write_text(STORAGE.format(file=str(folder / 'results.db')))
    return [str(BIN / 'reframe'), f'--config-file={SETTINGS}', f'--config-file={storage}', '--system=local', *words]


def output(argv: 'list[str]') -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def genuine(folder: Path) -> 'dict[str, Any]':
    """The report of a session with one case that ReFrame has measured."""
    check, report = folder / 'check.py', folder / 'report.json'
    check.write_text(CHECK)
    output(reframe(folder, '--run', f'--checkpath={check}', f'--report-file={report}', f'--prefix={folder}/reframe'))
    document: dict[str, Any] = json.loads(report.read_text())
    return document


def session_of(report: 'dict[str, Any]', number: int, values: pl.DataFrame) -> 'dict[str, Any]':
    """A copy of a report with the cases of night `number`. values: their means by check and metric"""
    made = copy.deepcopy(report)
    began = (FIRST + timedelta(days=number)).timestamp()
    night, (one,) = f'night{number}', made['runs'][0]['testcases']
    made['session_info'] |= {'uuid': night, 'time_start_unix': began, 'time_end_unix': began + 3600}
    cases = []
    for place, ((check,), rows) in enumerate(values.group_by('check', maintain_order=True)):
        means = dict(rows.select('metric', 'value').iter_rows())
        perfvalues = {name: [means[name.rpartition(':')[2]], *rest] for name, (_, *rest) in one['perfvalues'].items()}
        named = {'name': check, 'unique_name': check, 'display_name': check}
        at = {'job_completion_time_unix': began + place, 'uuid': f'{night}:0:{place}'}
        cases.append({**one, **named, **at, 'perfvalues': perfvalues})
    made['runs'][0]['testcases'] = cases
    return made


def fastest(argv: 'list[str]') -> 'tuple[float, float]':
    """The least wall seconds and the least CPU seconds of ROUNDS rounds."""
    figures = []
    for _ in range(ROUNDS):
        before, began = os.times(), time.monotonic()
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        wall, after = time.monotonic() - began, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        figures.append((wall, cpu))
    return min(wall for wall, _ in figures), min(cpu for _, cpu in figures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sessions', type=int, default=300)
    parser.add_argument('--quick', action='store_true', help='4 nights with 2 cases')
    options = parser.parse_args()
    sessions, cases = (4, 2) if options.quick else (options.sessions, 120)
    middle, last = (FIRST + timedelta(days=days) for days in (sessions // 2, sessions))
    with scratch() as folder:
        os.environ['TMPDIR'] = str(folder)  # where ReFrame leaves a log of each run
        site = folder / 'site'
        shutil.copytree(SITES / 'local', site)
        trial = site / 'trial.yaml'
        trial.write_text(trial.read_text().replace('../../.seatrial', 'state'))
        make_nights(site, sessions, cases)
        report, history = genuine(folder), folder_of(site / 'state')
        lines = []
        for number, file in enumerate(sorted(history.iterdir())):
            rows = read(history, named={file.stem}).rows
            values = rows.group_by('check', 'metric').agg(pl.col('value').mean())
            lines.append(json.dumps(session_of(report, number, values)))
        store = [sys.executable, '-c', STORE, str(SETTINGS), str(folder / 'storage.py')]
        database = folder / 'results.db'
        database.unlink(missing_ok=True)
        subprocess.run(store, check=True, text=True, input='\n'.join(lines))
        days = [f'{day:%Y%m%d}' for day in (FIRST, middle, last)]
        theirs = reframe(folder, f'--list-stored-testcases={days[0]}:{days[2]}/mean:/')
        ours = [sys.executable, '-c', MEANS, str(history)]
        halves = reframe(folder, f'--performance-compare={days[0]}:{days[1]}/{days[1]}:{days[2]}/mean:/')
        spans = [
            f'{day:%Y-%m-%d}..{end - timedelta(days=1):%Y-%m-%d}' for day, end in ((FIRST, middle), (middle, last))
        ]
        own_halves = [str(BIN / 'seatrial'), 'compare', *spans, f'--site={site}']
        counts = [output(argv).count('write@') for argv in (theirs, ours, halves)]
        counts.append(len(json.loads(output([*own_halves, '--json']))['metrics']))
        if counts != [12 * cases] * 4:
            sys.exit(f'not the same was shown: {counts} metrics of {12 * cases}')
        size = sum(file.stat().st_size for file in history.iterdir()) >> 20
        print(machine(f'{reframe_version()}, polars {pl.__version__}'))
        sizes = f'{database.stat().st_size >> 20} MiB and {size} MiB'
        print(f'{sessions} sessions of {cases} cases with 12 metrics, {sizes}\n')
        print('| | ReFrame: wall, CPU | history: wall, CPU | times faster: wall, CPU |\n|---|---|---|---|')
        ratio = 0.0
        for name, one, other in (('two halves compared', halves, own_halves), ('mean of each case', theirs, ours)):
            (wall, cpu), (own_wall, own_cpu) = fastest(one), fastest(other)
            ratio = cpu / own_cpu
            cells = (
                f'{wall:.1f} s, {cpu:.1f} s',
                f'{own_wall:.1f} s, {own_cpu:.1f} s',
                f'{wall / own_wall:.1f}, {ratio:.1f}',
            )
            print(f'| {name} | {" | ".join(cells)} |')
    return 0 if options.quick or ratio >= TARGET else 1


if __name__ == '__main__':
    run(main)
