"""What Seatrial costs beside the commands that it runs: against a bare shell loop, and against a case a point.

    python benchmarks/runner.py [--rounds 3]

prints the table of docs/benchmarks.md. A stand-in for fio sleeps for 100 ms, makes its file and prints a report, so
that everything beside it is harness. Each round measures both sides in turn; of each side the fastest round counts,
because other work on the machine only adds. Exit code 1 if a target is missed.
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
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from seatrial.check.staging import write_plan, write_runner
from seatrial.job.sequence.recorder import records_in
from seatrial.model.plan import SCHEMA, Case, EngineChoice, Launcher, Limits, Sizing, StoppingRule, Target, TrialPlan
from seatrial.model.units import GIB, KIB, MIB
from seatrial.model.workload import AccessPattern, Geometry, Sweep, expand, powers_of_two

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / 'tests'))

from transcript import transcripts  # noqa: E402

SIZE = 8 * MIB
COMMAND_S = 0.1
SWEEP = Sweep('objects', powers_of_two(1, 2048), SIZE)
REPETITIONS = 4
MOST_WALL_RATIO, MOST_MEMORY_KIB, LEAST_HARNESS_RATIO = 1.05, 30 * KIB, 5.0

FIO = """#!/bin/sh
[ "$1" = --version ] && {{ echo fio-3.33; exit; }}
sleep {seconds}
truncate -s {size} data.00000000
cp {report} "${{3#--output=}}"
"""

# The command on the node. Rule T19 would call the stand-in's launches too short; the peak memory is read last.
RUNNER = """
import sys
sys.path.insert(0, sys.argv[1])
from seatrial.rules import launch
launch.CLOCK_MIN_S = 0.0
from seatrial.job.__main__ import main
code = main(sys.argv[2:])
if sys.argv[2] == 'run':
    with open('/proc/self/status') as stream:
        peak = next(line.split()[1] for line in stream if line.startswith('VmHWM'))
    with open(sys.argv[3] + '.memory', 'w') as stream:
        stream.write(peak)
sys.exit(code)
"""

SETTINGS = REPOSITORY / 'site-config' / 'local' / 'settings.py'
TRIAL = """
version: 1
state: {state}
engines: [{{name: fio, program: {fio}}}]
file_systems:
  target: {{type: posix, path: {target}, records_on_target: true, compresses: false,
            limits: {{bytes: 1GiB, inodes: 1000}}}}
partitions:
  local:default: {{launcher: local, tasks_per_node: 1, python: {python}}}
trials:
  - {{checks: ['*'], partitions: [local:default], file_systems: [target], nodes: [1]}}
"""
CHECK = """
import reframe
from seatrial.check.base import AccessPatternCheck, trial
from seatrial.model.workload import AccessPattern, Sweep, powers_of_two


@trial
class Objects(AccessPatternCheck):
    pattern = AccessPattern('multiple', 'whole', operations=('write',))
    sweep = Sweep('objects', powers_of_two(1, 2048), bytes_per_client={size})
"""
# What people write without Seatrial: a case a point, whose script repeats the point's command, or which is repeated.
CASE_A_POINT = """
import json
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_before, sanity_function

with open({commands!r}) as stream:
    COMMANDS = json.load(stream)


@rfm.simple_test
class Point(rfm.RunOnlyRegressionTest):
    label = parameter(list(COMMANDS))
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'true'

    @run_before('run')
    def take_commands(self):
        self.prerun_cmds = ['mkdir data', 'cd data', *COMMANDS[self.label]['lines'], 'cd ..']

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


class Bench(NamedTuple):
    """A folder for one round."""

    folder: Path

    def fio(self) -> str:
        report = json.loads(transcripts('fio')['mfwa-write']['json'])
        job = report['jobs'][0]
        job['write'].update(io_bytes=SIZE, runtime=int(1000 * COMMAND_S), bw_bytes=int(SIZE / COMMAND_S))
        report['jobs'] = [job]
        canned, program = self.folder / 'canned.json', self.folder / 'fio'
        canned.write_text(json.dumps(report, indent=2) + '\n')
        program.write_text(FIO.format(seconds=COMMAND_S, size=SIZE, report=canned))
        program.chmod(0o755)
        return str(program)

    def python(self) -> str:
        """A python3 that runs the zipapp as RUNNER does."""
        program = self.folder / 'python'
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -c {shlex.quote(RUNNER)} "$@"\n')
        program.chmod(0o755)
        return str(program)

    def plan(self) -> TrialPlan:
        case = Case('Objects', 'local:default', 'target', 'default', 1)
        target, state = self.folder / 'target', self.folder / 'state'
        target.mkdir()
        records = state / 'sessions' / 'bench' / 'cases' / case.slug
        records.mkdir(parents=True)
        return TrialPlan(
            schema=SCHEMA,
            seatrial='',
            session='bench',
            case=case,
            profile='smoke',
            workload=AccessPattern('multiple', 'whole', operations=('write',)),
            axis='objects',
            points=tuple(expand(SWEEP, Geometry(1, 1), SIZE)),
            engines=(EngineChoice('fio', self.fio()),),
            launcher=Launcher(),
            target=Target(
                'target',
                'posix',
                str(target),
                'target',
                Limits(GIB, 1000),
                records_on_target=True,
                compresses=False,
            ),
            records=str(records),
            state=str(state),
            stopping=StoppingRule(0.1, least=REPETITIONS, most=REPETITIONS, extra=0, budget_s=3600.0, fixed=True),
            sizing=Sizing(SIZE, SIZE, 0.0, 0.0, pinned_bytes=SIZE),
            launch_limit_s=60.0,
            seed=1,
        )


def timed(argv: 'list[str]', **how) -> float:
    """Wall seconds of a command that must succeed."""
    began = time.monotonic()
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **how)
    seconds = time.monotonic() - began
    if done.returncode:
        sys.exit(f'{shlex.join(argv)}: exit status {done.returncode}\n{done.stderr}')
    return seconds


def commands_of(records: Path) -> 'list[tuple[str, list[str]]]':
    """The point and the shell lines of every launch that a job has recorded, in its order."""
    recorded = records_in(str(records))
    assert recorded.end is not None and recorded.end.reason == 'finished', recorded.end
    assert all(sample.valid for sample in recorded.samples), 'a launch of the stand-in was not believed'
    return [(sample.point, list(sample.command)) for sample in recorded.samples]


def shell_loop(folder: Path, commands: 'list[tuple[str, list[str]]]') -> float:
    """Wall seconds of a shell that runs these lines and does nothing else."""
    data = folder / 'shell'
    data.mkdir()
    script = folder / 'loop.sh'
    script.write_text('set -e\n' + '\n'.join(line for _, lines in commands for line in lines) + '\n')
    return timed(['/bin/sh', str(script)], cwd=data)


def against_a_shell_loop(folder: Path) -> 'tuple[float, float, int, int]':
    """Wall seconds of the runner and of the loop, peak memory of the runner in KiB, number of launches."""
    bench = Bench(folder)
    plan = bench.plan()
    path, zipapp = write_plan(plan), write_runner(folder)
    ran = timed([bench.python(), str(zipapp), 'run', str(path)])
    commands = commands_of(Path(plan.records))
    return ran, shell_loop(folder, commands), int(Path(f'{path}.memory').read_text()), len(commands)


def reframe(folder: Path, checks: Path, environment: 'dict[str, str]', settings: Path, *options: str) -> float:
    """Wall seconds of ReFrame over the checks."""
    folder.mkdir()
    argv = [
        str(Path(sys.executable).with_name('reframe')),
        f'--config-file={settings}',
        f'--checkpath={checks}',
        '--recursive',
        '--exec-policy=serial',
        f'--prefix={folder / "prefix"}',
        f'--report-file={folder / "report.json"}',
        *options,
        '--run',
    ]
    return timed(argv, cwd=folder, env={**os.environ, **environment})


class Walls(NamedTuple):
    """Wall seconds of the sweep as one case, a case a point, a case a repetition, and of the bare commands.

    empty: of a session with one case that does nothing, which is the least that ReFrame takes.
    """

    sweep: float
    point: float
    repetition: float
    bare: float
    empty: float
    launches: int


def against_a_case_a_point(folder: Path) -> Walls:
    """The same sweep as one case of Seatrial and as cases of plain ReFrame, the same commands in all of them."""
    bench = Bench(folder)
    site, checks, points = folder / 'site', folder / 'checks' / 'family', folder / 'points'
    for made in (site, checks, points, folder / 'target'):
        made.mkdir(parents=True)
    settings = Path(shutil.copy(SETTINGS, site))
    (site / 'trial.yaml').write_text(
        TRIAL.format(state=folder / 'state', fio=bench.fio(), target=folder / 'target', python=bench.python())
    )
    (checks / 'objects.py').write_text(CHECK.format(size=SIZE))
    sweep = reframe(folder / 'sweep', checks, {'SEATRIAL_PROFILE': 'paper'}, settings)
    commands = commands_of(next((folder / 'state' / 'sessions').glob('*/cases/*')))
    bare = shell_loop(folder, commands)

    by_point: dict[str, dict[str, list[str]]] = {}
    for label, lines in commands:
        each = by_point.setdefault(label, {'lines': [], 'reports': []})
        each['lines'] += lines
        each['reports'] += [word.partition('=')[2] for word in shlex.split(lines[0]) if word.startswith('--output=')]
    file = folder / 'commands.json'
    (points / 'points.py').write_text(CASE_A_POINT.format(commands=str(file), mib=SIZE / MIB))
    file.write_text(json.dumps(by_point))
    point = reframe(folder / 'point', points, {}, settings)
    file.write_text(
        json.dumps({label: {key: all_[:1] for key, all_ in each.items()} for label, each in by_point.items()})
    )
    repeat = len(commands) // len(by_point)
    repetition = reframe(folder / 'repetition', points, {}, settings, f'--repeat={repeat}')
    # The warm-up is not repeated by ReFrame.
    repetition += bare * (len(commands) - repeat * len(by_point)) / len(commands)
    file.write_text(json.dumps({'none': {'lines': ['true'], 'reports': []}}))
    empty = reframe(folder / 'empty', points, {}, settings, '--skip-performance-check')
    return Walls(sweep, point, repetition, bare, empty, len(commands))


def in_a_folder(measure):
    with tempfile.TemporaryDirectory(prefix='seatrial-bench-') as name:
        return measure(Path(name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=3)
    rounds = parser.parse_args().rounds
    loops = [in_a_folder(against_a_shell_loop) for _ in range(rounds)]
    cases = [in_a_folder(against_a_case_a_point) for _ in range(rounds)]
    ran, loop = (min(each[i] for each in loops) for i in (0, 1))
    memory, launches = max(each[2] for each in loops), loops[0][3]
    *walls, bare, empty = (min(each[i] for each in cases) for i in range(5))
    sweep, point, repetition = (wall - bare for wall in walls)
    rows = [
        (
            f'runner / bare shell loop: wall time of {launches} launches of {COMMAND_S:g} s',
            f'{ran:.2f} s / {loop:.2f} s = {ran / loop:.3f}',
            f'at most {MOST_WALL_RATIO}',
            ran / loop <= MOST_WALL_RATIO,
        ),
        (
            'resident memory of the runner, peak',
            f'{memory / KIB:.1f} MiB',
            f'at most {MOST_MEMORY_KIB // KIB} MiB',
            memory <= MOST_MEMORY_KIB,
        ),
        (
            f'a ReFrame case a point / one case for the sweep: harness time of {cases[0].launches} launches',
            f'{point:.2f} s / {sweep:.2f} s = {point / sweep:.1f}',
            f'at least {LEAST_HARNESS_RATIO:g}',
            point / sweep >= LEAST_HARNESS_RATIO,
        ),
        (
            'a ReFrame case a repetition (`--repeat`) / one case for the sweep: the same',
            f'{repetition:.2f} s / {sweep:.2f} s = {repetition / sweep:.1f}',
            f'at least {LEAST_HARNESS_RATIO:g}',
            repetition / sweep >= LEAST_HARNESS_RATIO,
        ),
    ]
    print(f'{time.strftime("%Y-%m-%d")}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, ', end='')
    print(
        f'Python {platform.python_version()}, ReFrame {metadata.version("ReFrame-HPC")}, fastest of {rounds} rounds\n'
    )
    print('| what | measured | target | met |\n|---|---|---|---|')
    for what, measured, target, met in rows:
        print(f'| {what} | {measured} | {target} | {"yes" if met else "no"} |')
    print(
        f'\nA ReFrame session of one empty case takes {empty:.2f} s; so much is on both sides of the last two rows.'
    )
    return 0 if all(met for *_, met in rows) else 1


if __name__ == '__main__':
    sys.exit(main())
