"""Shared parts of the benchmarks: a site with a stand-in for fio, plain ReFrame beside it, and a clean end.

Only TRIAL, CHECK, commands_of and reading, all of them here, depend on Seatrial's own types.
"""

import ctypes
import itertools
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from seatrial.job.sequence.recorder import records_in
from seatrial.model.record import SAMPLES, read_records
from seatrial.model.units import MIB

REPOSITORY = Path(__file__).resolve().parent.parent
SITES = REPOSITORY / 'site-config'
TRANSCRIPT = REPOSITORY / 'tests' / 'transcripts' / 'fio' / 'mfwa-write.txt'
SIZE = 8 * MIB
SEATRIAL, REFRAME = (str(Path(sys.executable).with_name(name)) for name in ('seatrial', 'reframe'))
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_CHILD_SUBREAPER = 36


class Scale(NamedTuple):
    """The size of a sweep: its points, the repetitions of each, and the seconds that a command sleeps."""

    points: int
    repetitions: int
    command_s: float


QUICK = Scale(points=2, repetitions=2, command_s=0.01)
"""Scale of a short run, which only shows that a benchmark works."""

FIO = """#!/bin/sh
[ "$1" = --version ] && {{ echo fio-3.33; exit; }}
sleep {seconds}
cp {data} data.00000000 && sync data.00000000
awk -F= -f {echo} "$4" {report} > "${{3#--output=}}"
"""
# Seatrial reads the options of fio in its report, where those of the job file therefore replace @global and @job.
ECHO = """
NR == FNR && $1 == "bs" { transfers = SIZE / $2 }
NR == FNR && /^\\[/ { part = $0 == "[global]" ? "@global" : "@job"; comma = ""; next }
NR == FNR { options[part] = options[part] comma "\\"" $1 "\\": \\"" $2 "\\""; comma = ", "; next }
{ for (part in options) sub("\\"" part "\\"", "{" options[part] "}")
  sub("\\"@transfers\\"", transfers); sub("\\"@iops\\"", sprintf("%.6f", transfers / SECONDS)); print }
"""
# The command on the node, without the limit of rule T19, which the stand-in's launches are too short for, and without
# the proof of contents, which is no overhead of launches (see benchmarks/proof.py). The peak memory is read last.
RUNNER = """
import sys
sys.path.insert(0, sys.argv[1])
from seatrial.rules import launch
launch.CLOCK_MIN_S = 0.0
from seatrial.job.sequence import runner
runner.prove = lambda trial: None
from seatrial.job.__main__ import main
code = main(sys.argv[2:])
if sys.argv[2] == 'run':
    with open('/proc/self/status') as stream:
        peak = next(line.split()[1] for line in stream if line.startswith('VmHWM'))
    with open(sys.argv[3] + '.memory', 'w') as stream:
        stream.write(peak)
sys.exit(code)
"""
TRIAL = """
version: 1
state: {state}
engines: [{{name: fio, program: {fio}}}]
file_systems:
  target: {{type: posix, path: {target}, records_on_target: true, compresses: false,
            limits: {{bytes: 1GiB, inodes: 10000}}}}
partitions:
  {partition}: {{launcher: {launcher}, tasks_per_node: 1, python: {python}}}
trials:
  - {{checks: ['*'], partitions: ['{partition}'], file_systems: [target], nodes: [1],
      bytes_per_task: {size}, budget: 10min, profiles: [smoke]}}
"""
REAL_TRIAL = """
version: 1
state: {folder}/state
engines: {engines}
file_systems:
  target: {{type: posix, path: {folder}/target, records_on_target: true, limits: {{bytes: 8GiB, inodes: 10000}}}}
partitions:
  local:default: {{launcher: local, tasks_per_node: 2}}
trials:
  - {{checks: {checks}, partitions: ['local:default'], file_systems: [target], nodes: [1], {sizes}}}
"""
# The profile smoke, here with all points of the sweep and this number of repetitions.
CHECKS = """
from dataclasses import replace

import reframe

from seatrial.check.base import Check, trial
from seatrial.site.profile import PROFILES
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep, powers_of_two

PROFILES['smoke'] = replace(PROFILES['smoke'], points=0, repetitions={repetitions})
"""
CHECK = """

@trial
class TransferSizes{number}(Check):
    workload = data_access('multiple', operations=('write',), bytes_per_task={size})
    sweep = Sweep('transfer_size', powers_of_two({first}, {size}))
"""


def run(main: Callable[[], int]) -> NoReturn:
    """Exit with main's exit code. On an interrupt: unwind, end all processes started, exit with 128 + the signal."""
    # Orphans become children of this process, whatever their session is, so that they can be found.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), 'prctl')
    for number in INTERRUPTS:
        signal.signal(number, _unwind)
    try:
        sys.exit(main())
    finally:
        _end_descendants()


def _unwind(number: int, frame: object) -> None:
    for signal_number in INTERRUPTS:  # a second signal must not break off the clean-up
        signal.signal(signal_number, signal.SIG_IGN)
    sys.exit(128 + number)


def _end_descendants() -> None:
    """Kill all processes below this one; returns when none is left."""
    while True:
        try:
            tasks = [task.read_text() for task in Path('/proc/self/task').glob('*/children')]
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread has ended, and its children now belong to another one
        children = [int(pid) for task in tasks for pid in task.split()]
        if not children:
            return
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        for pid in children:
            os.waitpid(pid, 0)


@contextmanager
def scratch(on: 'Path | None' = None) -> Iterator[Path]:
    """A new folder below `on` (or the usual place); all processes started are ended before it is removed."""
    with tempfile.TemporaryDirectory(prefix='seatrial-bench-', dir=on) as name:
        try:
            yield Path(name)
        finally:
            _end_descendants()


class System(NamedTuple):
    """Where the cases run: the settings.py of a site of the checkout, ReFrame's partition, and the launcher."""

    settings: Path
    partition: str
    launcher: str


def make_site(folder: Path, system: System, scale: Scale, checks: int = 1) -> 'tuple[Path, Path]':
    """Make a site in the folder, whose engine is the stand-in, and checks for it; returns the folders of both."""
    site, family = folder / 'site', folder / 'checks' / 'family'
    for made in (site, family, folder / 'target'):
        made.mkdir(parents=True)
    # ReFrame's files lie in this folder too, and are removed with it.
    settings = system.settings.read_text().replace('/../../.seatrial/', '/.seatrial/')
    (site / 'settings.py').write_text(settings)
    trial = TRIAL.format(
        state=folder / 'state',
        fio=_fio(folder, scale.command_s),
        target=folder / 'target',
        python=python(folder),
        partition=system.partition,
        launcher=system.launcher,
        size=SIZE,
    )
    (site / 'trial.yaml').write_text(trial)
    first = SIZE >> (scale.points - 1)
    classes = (CHECK.format(number=number, first=first, size=SIZE) for number in range(checks))
    (family / 'transfer_sizes.py').write_text(CHECKS.format(repetitions=scale.repetitions) + ''.join(classes))
    return site, folder / 'checks'


def _fio(folder: Path, command_s: float) -> str:
    """Write a stand-in for fio, which sleeps, writes and syncs a file, and reports; returns its path."""
    _, _, printed = TRANSCRIPT.read_text().partition('=== json\n')
    report, _ = json.JSONDecoder().raw_decode(printed)
    job = report['jobs'][0]
    rate = int(SIZE / command_s)
    job['write'].update(io_bytes=SIZE, runtime=int(1000 * command_s), bw_bytes=rate, bw=rate >> 10)
    job['write'].update(total_ios='@transfers', iops='@iops')
    job['job options'] = '@job'
    report.update({'jobs': [job], 'global options': '@global'})
    canned, echo, data, program = (folder / name for name in ('canned.json', 'echo.awk', 'data', 'fio'))
    data.write_bytes(os.urandom(SIZE))
    canned.write_text(json.dumps(report, indent=2) + '\n')
    echo.write_text(ECHO.replace('SIZE', str(SIZE)).replace('SECONDS', str(command_s)))
    program.write_text(FIO.format(seconds=command_s, data=data, echo=echo, report=canned))
    program.chmod(0o755)
    return str(program)


def python(folder: Path) -> str:
    """Write a python3 that runs the zipapp by RUNNER, with its peak memory (KiB) in PLAN.memory; returns its path."""
    program = folder / 'python'
    started = f'exec {sys.executable} -I -c {shlex.quote(RUNNER)} "$@"'
    program.write_text(f'#!/bin/sh\n[ "$1" != -I ] || shift\n{started}\n')
    program.chmod(0o755)
    return str(program)


def real_session(
    folder: Path, checks: 'list[str]', engines: 'list[str]', profile: str, sizes: str
) -> 'dict[str, Any]':
    """The content of results.json of a session of Seatrial's own checks with real engines, on the folder's disk.

    engines: installed, in the order of preference. sizes: further keys of the trial, as YAML
    """
    (folder / 'target').mkdir(parents=True)
    settings = (SITES / 'local' / 'settings.py').read_text()
    (folder / 'settings.py').write_text(settings.replace('/../../.seatrial/', '/.seatrial/'))
    listed = [{'name': engine, 'program': shutil.which(engine)} for engine in engines if engine != 'posixops']
    if not all(program['program'] for program in listed):
        sys.exit(f'{" or ".join(engines)} is not installed')
    of_python = [{'name': 'posixops'}] if 'posixops' in engines else []
    text = REAL_TRIAL.format(folder=folder, engines=json.dumps(listed + of_python), checks=checks, sizes=sizes)
    (folder / 'trial.yaml').write_text(text)
    argv = [SEATRIAL, 'run', f'--site={folder}', f'--checks={REPOSITORY / "checks"}']
    environment = {**os.environ, 'TMPDIR': str(folder)}  # where ReFrame leaves a log
    answer = subprocess.run(
        [*argv, f'--profile={profile}'], env=environment, capture_output=True, text=True, check=False
    )
    try:
        (results,) = (folder / 'state').glob('sessions/*/results.json')
    except ValueError:
        sys.exit(f'the session left no results\n{answer.stdout}{answer.stderr}')
    values: dict[str, Any] = json.loads(results.read_text())
    return values


def cases_in(folder: Path) -> 'list[Path]':
    """The folders with the records of all cases of the only session, sorted."""
    return sorted((folder / 'state').glob('sessions/*/cases/*'))


def commands_of(records: Path) -> 'list[tuple[str, list[str]]]':
    """The point and the shell lines of every launch, in the order in which the job has recorded them."""
    recorded = records_in(str(records))
    assert recorded.end is not None and recorded.end.reason == 'finished', recorded.end
    assert all(sample.valid for sample in recorded.samples), 'a launch of the stand-in is not valid'
    return [(sample.point.label, list(sample.command)) for sample in recorded.samples]


class Reading(NamedTuple):
    """CPU seconds to read the records of many launches.

    json_s: CPU seconds of Python's json for the same lines; launch_bytes: mean length of a line
    """

    samples: int
    seconds: float
    json_s: float
    launch_bytes: float


def reading(records: Path, samples: int) -> Reading:
    """Measure how a record of so many launches is read; it repeats the launches of the job's record."""
    written = (records / SAMPLES).read_text().splitlines()
    sample_lines = [line for line in written if json.loads(line)['record'] == 'sample']
    lines = list(itertools.islice(itertools.cycle(sample_lines), samples))
    began = time.process_time()
    values = [json.loads(line) for line in lines]
    json_s = time.process_time() - began
    del values
    began = time.process_time()
    record_set = read_records(lines)
    seconds = time.process_time() - began
    assert len(record_set.samples) == samples, 'a line of the record is none'
    return Reading(samples, seconds, json_s, sum(map(len, sample_lines)) / len(sample_lines))


def by_point(commands: 'list[tuple[str, list[str]]]', last: 'int | None' = None) -> 'dict[str, list[str]]':
    """The shell lines of each point: of all its launches, or only of the `last` ones."""
    by_label: dict[str, list[list[str]]] = {}
    for label, lines in commands:
        by_label.setdefault(label, []).append(lines)
    return {
        label: [line for lines in launches[-(last or 0) :] for line in lines] for label, launches in by_label.items()
    }


def timed(argv: 'list[str]', folder: Path, environment: 'dict[str, str] | None' = None) -> float:
    """Wall seconds of a command that must succeed, in a folder that also has its temporary files."""
    variables = {**(environment or os.environ), 'TMPDIR': str(folder)}
    began = time.monotonic()
    done = subprocess.run(
        argv, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    seconds = time.monotonic() - began
    if done.returncode:
        sys.exit(f'{shlex.join(argv)}: exit status {done.returncode}\n{done.stdout}')
    return seconds


class Cost(NamedTuple):
    """The cost of one run of a command: wall and CPU time, and peak resident memory."""

    wall_s: float
    cpu_s: float
    memory_mib: float

    @property
    def cells(self) -> str:
        """The three as cells of a Markdown table."""
        return f'{self.wall_s:.2f} s | {self.cpu_s:.2f} s | {self.memory_mib:.0f} MiB'


def costs(*words: str, program: str = SEATRIAL) -> Cost:
    # In a process of its own, because getrusage(2) adds up all children that a process has had.
    script = (
        'import resource, subprocess, sys, time\n'
        'began = time.monotonic()\n'
        'subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n'
        'wall_s, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)\n'
        'print(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)'
    )
    argv = [sys.executable, '-c', script, program, *words]
    # With compiled modules, as an installed command has them.
    compiled = {name: value for name, value in os.environ.items() if name != 'PYTHONDONTWRITEBYTECODE'}
    done = subprocess.run(argv, check=True, capture_output=True, text=True, env=compiled)
    return Cost(*map(float, done.stdout.split()))


def shell_loop(folder: Path, commands: 'list[tuple[str, list[str]]]') -> float:
    """Wall seconds of a shell that runs these lines in a new folder and does nothing else."""
    folder.mkdir()
    lines = [line for _, command in commands for line in command]
    (folder / 'loop.sh').write_text('\n'.join(['set -e', *lines]) + '\n')
    return timed(['/bin/sh', 'loop.sh'], folder)


def reframe(
    folder: Path, settings: Path, checks: Path, *options: str, environment: 'dict[str, str] | None' = None
) -> float:
    """Wall seconds of ReFrame over the checks, one case at a time, in a new folder."""
    folder.mkdir()
    argv = [
        REFRAME,
        f'--config-file={settings}',
        f'--checkpath={checks}',
        '--recursive',
        '--exec-policy=serial',
        f'--prefix={folder / "prefix"}',
        f'--report-file={folder / "report.json"}',
        *options,
        '--run',
    ]
    return timed(argv, folder, environment)


def a_case_a_point(
    folder: Path,
    settings: Path,
    lines: 'dict[str, list[str]]',
    *options: str,
    checks: int = 1,
    environment: 'dict[str, str] | None' = None,
) -> float:
    """Wall seconds of plain ReFrame with a case for every point (case_a_point.py), which runs its lines.

    checks: number of copies of each case
    """
    commands = {label: {'lines': line, 'reports': _reports_of(line)} for label, line in lines.items()}
    file = folder.with_suffix('.json')
    file.write_text(json.dumps({'commands': commands, 'checks': checks, 'mib': SIZE / MIB}))
    variables = {**(environment or os.environ), 'SEATRIAL_BENCH': str(file)}
    return reframe(folder, settings, Path(__file__).with_name('case_a_point.py'), *options, environment=variables)


def _reports_of(lines: 'list[str]') -> 'list[str]':
    """The files that these commands of fio write their reports to."""
    words = [word for line in lines for word in shlex.split(line)]
    return [word.partition('=')[2] for word in words if word.startswith('--output=')]


def machine(*more: str) -> str:
    """Date, machine and versions of the programs by which a table was measured, in one line."""
    words = (
        time.strftime('%Y-%m-%d'),
        f'{os.cpu_count()} cores',
        f'{platform.system()} {platform.release()}',
        f'Python {platform.python_version()}',
        *more,
    )
    return ', '.join(words)


def reframe_version() -> str:
    return f'ReFrame {metadata.version("ReFrame-HPC")}'
