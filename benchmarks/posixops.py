"""The cost of the interpreter for posixops: its rates on a file system in memory beside those of mdtest and fio.

    python benchmarks/posixops.py [--mdtest PROGRAM] [--fio PROGRAM] [--on /dev/shm] [--rounds 5]
                                 [--quick]

prints the tables of docs/benchmarks.md. One task of every program creates, stats and removes the same number of
empty files in one flat directory. The programs take turns in each round; the fastest round of each counts, because
other work on the machine only adds time. A program that is not installed is left out. --quick shows only that it
works.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from harness import machine, run, scratch

from seatrial.engine.barrier import VARIABLE, line_of
from seatrial.engine.base import Engine, Outcome, ProcessTime
from seatrial.engine.fio.tree import FioFiles
from seatrial.engine.mdtest import Mdtest
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.posixops.work import Work
from seatrial.job.launch.barrier import Barrier
from seatrial.model.metric import Measurement
from seatrial.model.point import Point
from seatrial.workload.operations import FILEOP, posix_operations
from seatrial.workload.tree import metadata_tree

PHASES = ('create', 'stat', 'remove')
TASK = """
import sys, time
from seatrial.engine.barrier import join
with join(int(sys.argv[1]), 2, 'here') as barrier:
    starts = []
    for _ in range(int(sys.argv[2])):
        barrier.wait('begin')
        starts.append(time.monotonic())
    barrier.leave(starts)
"""


class Scale(NamedTuple):
    """Sizes: empty files of the flat tree, files of fileop, calls that do nothing, barriers, tasks of a large one."""

    files: int
    calls: int
    nothing: int
    barriers: int
    many: int

    def flat(self) -> Point:
        return metadata_tree(PHASES, files_per_directory=self.files, tasks=1)._replace(tasks_per_node=1)

    def single_calls(self) -> Point:
        return posix_operations(self.calls, 1, 'private', tasks=1)._replace(tasks_per_node=1)


FULL = Scale(files=50_000, calls=10_000, nothing=1_000_000, barriers=200, many=1000)
QUICK = Scale(files=200, calls=20, nothing=1000, barriers=5, many=10)


class Program(NamedTuple):
    """An engine, the path of its program, and the words that start it, such as mpiexec."""

    engine: Engine
    path: str
    starter: 'tuple[str, ...]' = ()

    def launch(self, phase: str, point: Point, data: Path, records: Path) -> Measurement:
        """One launch in the directory `data`, as the runner makes it."""
        command = self.engine.command(self.path, phase, point, str(records / phase), 1)
        for path, text in command.inputs.items():
            Path(path).write_text(text)
        for name in command.directories:
            (data / name).mkdir()
        began = time.monotonic()
        done = subprocess.run([*self.starter, *command.argvs[0]], cwd=data, capture_output=True, text=True)
        process = ProcessTime(platform.node(), 0.0, time.monotonic() - began, done.returncode)
        left = tuple(Path(path).read_text() if Path(path).exists() else None for path in command.outputs)
        outcome = Outcome((process,), (done.stdout,), (done.stderr,), left)
        return self.engine.measure(phase, point, command, outcome)


def seconds_an_operation(program: Program, point: Point, on: Path) -> 'dict[str, float]':
    """Seconds per operation of each phase of the flat tree, from one launch each."""
    with scratch(on) as data, scratch() as records:
        rates = {phase: program.launch(phase, point, data, records).metrics[0] for phase in point.phases}
    return {phase: rate.seconds / rate.operations for phase, rate in rates.items()}


def seconds_a_call(program: Program, point: Point, on: Path) -> 'dict[str, dict[str, float]]':
    """The percentiles, in seconds, of each of fileop's operations, from one launch."""
    with scratch(on) as data, scratch() as records:
        measured = program.launch(point.phases[0], point, data, records)
    return {rate.name: rate.percentiles_s for rate in measured.metrics}


def seconds_of_nothing(calls: int) -> 'dict[str, float]':
    """Seconds per call that does nothing in the loops of posixops: timed as a whole, timed singly, as reported."""

    def nothing(item: object) -> None:
        pass

    items = range(calls)
    began = time.perf_counter()
    for item in items:
        nothing(item)
    whole = time.perf_counter() - began
    work = Work(0, 1)
    work.time_calls('nothing', nothing, items)
    (span,) = work.timed['nothing'].spans
    singly = span.end_s - span.start_s if span else 0.0
    ordered = sorted((int(key), number) for key, number in work.timed['nothing'].nanoseconds.items())
    seen = 0
    for nanoseconds, number in ordered:
        seen += number
        if 2 * seen >= calls:
            return {'whole': whole / calls, 'singly': singly / calls, 'shown': nanoseconds * 1e-9}
    raise AssertionError('half of the calls are not among all of them')


def skew_s(barriers: int) -> float:
    """The start skew in seconds of two tasks that begin together: the median of `barriers` starts."""
    with Barrier(2) as barrier:
        tasks = [
            subprocess.Popen(
                [sys.executable, '-c', TASK, str(rank), str(barriers)], env={**os.environ, **barrier.environment}
            )
            for rank in range(2)
        ]
        for task in tasks:
            task.wait()
    return statistics.median(abs(one - other) for one, other in zip(*barrier.reports.values(), strict=True))


def barrier_of_many(many: int) -> 'tuple[float, float]':
    """Seconds that a barrier of `many` tasks takes, and seconds by which all tasks know the start in advance."""
    with Barrier(many) as barrier, contextlib.ExitStack() as stack:
        address, port, token = barrier.environment[VARIABLE].rsplit(':', 2)
        connections = [stack.enter_context(socket.create_connection((address, int(port)))) for _ in range(many)]
        answers = [stack.enter_context(connection.makefile('rb')) for connection in connections]
        for rank, connection in enumerate(connections):
            connection.sendall(line_of({'token': token, 'rank': rank, 'tasks': many, 'host': 'here'}))
        for answer in answers:
            answer.readline()
        began = time.monotonic()
        for connection in connections:
            connection.sendall(line_of({'come': 'begin', 'says': '', 'together': True, 'trip': 0.0}))
        moments = [json.loads(answer.readline())['at'] for answer in answers]
        ended = time.monotonic()
        for connection in connections:
            connection.sendall(line_of({'leave': None}))
    return ended - began, moments[0] - ended


def programs(options: argparse.Namespace) -> 'dict[str, Program]':
    """The programs that are installed, by name."""
    by_name = {'posixops': Program(PosixOps(), sys.executable)}
    mdtest, fio, mpiexec = (shutil.which(name) for name in (options.mdtest, options.fio, 'mpiexec'))
    if mdtest and mpiexec:
        by_name['mdtest'] = Program(Mdtest(), mdtest, (mpiexec, '-n', '1'))
    if fio:
        by_name['fio'] = Program(FioFiles(), fio)
    return by_name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--mdtest', default='mdtest')
    parser.add_argument('--fio', default='fio')
    parser.add_argument('--on', type=Path, default=Path('/dev/shm'))
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--quick', action='store_true', help='one round of a few files, to see that it works')
    options = parser.parse_args()
    scale, number = (QUICK, 1) if options.quick else (FULL, options.rounds)
    by_name = programs(options)
    rounds = [
        {name: seconds_an_operation(program, scale.flat(), options.on) for name, program in by_name.items()}
        for _ in range(number)
    ]
    best = {name: {phase: min(round[name][phase] for round in rounds) for phase in PHASES} for name in by_name}
    calls = [seconds_a_call(by_name['posixops'], scale.single_calls(), options.on) for _ in range(number)]
    nothing = [seconds_of_nothing(scale.nothing) for _ in range(number)]
    print(f'{machine()}, {scale.files} empty files on {options.on}, fastest of {number} rounds\n')
    others = [name for name in by_name if name != 'posixops']
    head = ''.join(f' {name} | {name} / posixops | posixops takes longer by |' for name in others)
    print(f'| operations a second | posixops |{head}\n|---|---|{"---|" * (3 * len(others))}')
    for phase in PHASES:
        ours, cells = best['posixops'][phase], []
        for other in (best[name][phase] for name in others):
            cells.append(f' {1 / other:,.0f} | {ours / other:.2f} | {1e6 * (ours - other):.1f} µs |')
        print(f'| {phase} | {1 / ours:,.0f} |{"".join(cells)}')
    fastest = {key: min(timed[key] for timed in nothing) for key in nothing[0]}
    whole, singly, shown = (f'{1e9 * fastest[key]:.0f} ns' for key in ('whole', 'singly', 'shown'))
    print(
        f'\nA call that does nothing: {whole} in a loop, {singly} where every call is timed, of which {shown} are in '
        'its time.\n'
    )
    print('| fileop on 1-byte files | ' + ' | '.join(FILEOP) + ' |\n|---|' + '---|' * len(FILEOP))
    for part in ('p50', 'p95', 'p99'):
        row = [f'{1e6 * min(call[name][part] for call in calls):.2f}' for name in FILEOP]
        print(f'| {part} in µs | ' + ' | '.join(row) + ' |')
    skew = min(skew_s(scale.barriers) for _ in range(number))
    took, ahead = min(barrier_of_many(scale.many) for _ in range(number))
    print(
        f'\nTwo tasks start {1e3 * skew:.3f} ms apart. A barrier of {scale.many} takes {1e3 * took:.0f} ms, and '
        f'all of them know the moment {1e3 * ahead:.0f} ms ahead.'
    )
    return 0


if __name__ == '__main__':
    run(main)
