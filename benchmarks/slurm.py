"""What Seatrial costs through Slurm: a sweep as one case, against a ReFrame case for every point of it.

    python benchmarks/slurm.py [--cases 20] [--sample 20]

prints the table of docs/benchmarks.md. It brings a lab of its own up (ci/lab-slurm) and runs on it, one after the
other, `seatrial run` with cases of 10 points x 4 repetitions and plain ReFrame with a case a point: the very same
command lines. A stand-in for fio sleeps for 100 ms, makes its file and prints a report, so that everything beside it
is harness. What the commands take by themselves is measured after each side: a shell runs those of one case.
With --sample plain ReFrame has the points of so many sweeps only, and its figures are scaled up to all of them.
Exit code 1 if the target is missed.
"""

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from runner import COMMAND_S, REPOSITORY, SIZE, Bench, commands_of, shell_loop, timed

from seatrial.model.units import MIB

LAB = REPOSITORY / 'ci' / 'lab-slurm'
SETTINGS = REPOSITORY / 'site-config' / 'lab' / 'settings.py'
POINTS, REPETITIONS = 10, 4
MOST_SHARE = 0.20

TRIAL = """
version: 1
state: {state}
engines: [{{name: fio, program: {fio}}}]
file_systems:
  target: {{type: posix, path: {target}, records_on_target: true, compresses: false,
            limits: {{bytes: 1GiB, inodes: 10000}}}}
partitions:
  lab:compute: {{launcher: srun, tasks_per_node: 1, python: {python}}}
trials:
  - {{checks: ['*'], partitions: [lab:compute], file_systems: [target], nodes: [1],
      bytes_per_client: {size}, budget: 10min}}
"""
# The profile is smoke's, with its fixed number of repetitions, but with all points of the sweep.
CHECKS = """
from dataclasses import replace

import reframe

from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.workload import AccessPattern, Sweep, powers_of_two
from seatrial.site.profile import PROFILES

PROFILES['smoke'] = replace(PROFILES['smoke'], points=0, repetitions={repetitions})
"""
CHECK = """

@trial
class Objects{number}(AccessPatternCheck):
    pattern = AccessPattern('multiple', 'whole', operations=('write',))
    sweep = Sweep('objects', powers_of_two(1, {most}), bytes_per_client={size})
"""
# What people write without Seatrial: a case a point, whose script repeats the point's command. Started as Seatrial's
# are, without a step of Slurm, although ReFrame would take one.
CASE_A_POINT = """
import json
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, performance_function, run_before, sanity_function

with open({commands!r}) as stream:
    COMMANDS = json.load(stream)


@rfm.simple_test
class Point(rfm.RunOnlyRegressionTest):
    check = parameter(range({checks}))
    label = parameter(list(COMMANDS))
    valid_systems = ['lab:compute']
    valid_prog_environs = ['*']
    num_nodes = 1
    executable = 'true'

    @run_before('run')
    def take_commands(self):
        self.prerun_cmds = ['mkdir data', 'cd data', *COMMANDS[self.label]['lines'], 'cd ..']
        self.job.launcher = getlauncher('local')()

    @sanity_function
    def there(self):
        return sn.all(sn.path_isfile(report) for report in COMMANDS[self.label]['reports'])

    @performance_function('MiB/s')
    def write(self):
        seconds = []
        for report in COMMANDS[self.label]['reports']:
            with open(report) as stream:
                seconds.append(json.load(stream)['jobs'][0]['write']['runtime'] / 1000)
        return {mib} / (sum(seconds) / len(seconds))
"""


class Side(NamedTuple):
    """One way to measure it all: cases, launches of the command, wall seconds, and the commands' own of them."""

    cases: int
    launches: int
    wall_s: float
    command_s: float

    @property
    def harness_s(self) -> float:
        return self.wall_s - self.command_s

    def scaled(self, factor: float) -> 'Side':
        """What so many times the cases would have taken, each as long."""
        return Side(
            round(self.cases * factor), round(self.launches * factor), self.wall_s * factor, self.command_s * factor
        )


@contextmanager
def lab() -> Iterator['dict[str, str]']:
    """A Slurm of its own; the environment in which Slurm's programs speak to it."""
    with tempfile.TemporaryDirectory(prefix='seatrial-bench-') as place:
        directory = Path(place) / 'lab'
        subprocess.run([LAB, 'up', '--dir', directory], check=True)
        try:
            yield {**os.environ, 'SLURM_CONF': str(directory / 'etc' / 'slurm.conf')}
        finally:
            subprocess.run([LAB, 'down', '--dir', directory], check=True)


def with_seatrial(folder: Path, checks: int, environment: 'dict[str, str]') -> 'tuple[float, list[Path]]':
    """Wall seconds of a session of so many cases, and their records."""
    bench, site, files = Bench(folder), folder / 'site', folder / 'checks' / 'family'
    for made in (site, files, folder / 'target'):
        made.mkdir(parents=True)
    shutil.copy(SETTINGS, site)
    state = folder / 'state'
    (site / 'trial.yaml').write_text(
        TRIAL.format(state=state, fio=bench.fio(), target=folder / 'target', python=bench.python(), size=SIZE)
    )
    classes = (CHECK.format(number=number, most=2 ** (POINTS - 1), size=SIZE) for number in range(checks))
    (files / 'objects.py').write_text(CHECKS.format(repetitions=REPETITIONS) + ''.join(classes))
    program = Path(sys.executable).with_name('seatrial')
    argv = [str(program), 'run', f'--site={site}', f'--checks={folder / "checks"}', '--profile=smoke']
    return timed(argv, cwd=folder, env=environment), sorted(state.glob('sessions/*/cases/*'))


def with_reframe(folder: Path, checks: int, measured: 'dict[str, list[str]]', environment: 'dict[str, str]') -> float:
    """Wall seconds of plain ReFrame, with a case for every point of every check."""
    points, file = folder / 'points', folder / 'commands.json'
    points.mkdir()
    told = {
        label: {'lines': lines, 'reports': [report_of(line) for line in lines]} for label, lines in measured.items()
    }
    file.write_text(json.dumps(told))
    (points / 'points.py').write_text(CASE_A_POINT.format(commands=str(file), checks=checks, mib=SIZE / MIB))
    argv = [
        str(Path(sys.executable).with_name('reframe')),
        f'--config-file={SETTINGS}',
        f'--checkpath={points}',
        '--exec-policy=serial',
        f'--prefix={folder / "prefix"}',
        f'--report-file={folder / "report.json"}',
        '--run',
    ]
    return timed(argv, cwd=folder, env=environment)


def report_of(line: str) -> str:
    """The file that a command of fio writes its report to."""
    return next(word.partition('=')[2] for word in shlex.split(line) if word.startswith('--output='))


def bare_launch_s(folder: Path, commands: 'list[tuple[str, list[str]]]') -> float:
    """Wall seconds of one of these commands in a shell that does nothing else."""
    folder.mkdir()
    return shell_loop(folder, commands) / len(commands)


def measure(folder: Path, checks: int, sample: int) -> 'tuple[Side, Side]':
    """Both sides in one lab, Seatrial first, which says what the commands are.

    The second has only `sample` of the checks.
    """
    with lab() as environment:
        wall_s, cases = with_seatrial(folder, checks, environment)
        recorded = [commands_of(case) for case in cases]
        near_ours = bare_launch_s(folder / 'near-seatrial', recorded[0])
        # The warm-up is Seatrial's own: its command makes no report that counts.
        by_point: dict[str, list[str]] = {}
        for label, lines in recorded[0]:
            by_point[label] = (by_point.get(label, []) + lines)[-REPETITIONS:]
        plain_s = with_reframe(folder, sample, by_point, environment)
        near_plain = bare_launch_s(folder / 'near-reframe', recorded[0])
    ran, plain = sum(len(each) for each in recorded), sample * sum(len(lines) for lines in by_point.values())
    return (
        Side(len(cases), ran, wall_s, ran * near_ours),
        Side(sample * len(by_point), plain, plain_s, plain * near_plain),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        '--cases', type=int, default=20, help='of Seatrial; plain ReFrame has 10 for each (%(default)s)'
    )
    parser.add_argument('--sample', type=int, help='sweeps whose points plain ReFrame really has (all)')
    options = parser.parse_args()
    cases, sample = options.cases, options.sample or options.cases
    with tempfile.TemporaryDirectory(prefix='seatrial-bench-') as name:
        ours, measured = measure(Path(name), cases, sample)
    plain = measured.scaled(cases / sample)
    slurm = subprocess.run(['slurmctld', '-V'], capture_output=True, text=True).stdout.split()[-1]
    print(f'{time.strftime("%Y-%m-%d")}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, ', end='')
    print(f'Python {platform.python_version()}, ReFrame {metadata.version("ReFrame-HPC")}, Slurm {slurm}\n')
    print(
        f'| {cases} sweeps of {POINTS} points x {REPETITIONS} repetitions of {COMMAND_S:g} s | cases | launches ',
        end='',
    )
    print('| wall | commands | harness | harness a case |\n|---|---|---|---|---|---|---|')
    for name, side in (('Seatrial: one case a sweep', ours), ('ReFrame: one case a point', plain)):
        print(f'| {name} | {side.cases} | {side.launches} | {side.wall_s:.1f} s | {side.command_s:.1f} s ', end='')
        print(f'| {side.harness_s:.1f} s | {side.harness_s / side.cases:.2f} s |')
    if sample < cases:
        print(f'\nReFrame: scaled from {measured.cases} cases, which took {measured.wall_s:.1f} s')
    share = ours.harness_s / plain.harness_s
    print(f'\nharness time: {100 * share:.1f} %; the target is at most {100 * MOST_SHARE:.0f} %')
    return 0 if share <= MOST_SHARE else 1


if __name__ == '__main__':
    sys.exit(main())
