"""IOzone in its throughput mode: a process a task on one node, each with a file of its own.

Read in the source of 3.471 and seen with a program built from it. -x takes the stone wall away by which the first
process that ends stops the others: every process moves its whole file, and the figure is all bytes over the longest
time. The sum of the processes' own rates, which IOzone prints, is a metric of the kind (workload/reuse.py).

The data are those of -+w 0: one random buffer, changed with a random word of each transfer and seed (-+S), inside the
timed region. A read with another seed finds no fault, but one without -+w does. 3.489 leaves zeros in the second half
of each transfer; without -+w all transfers are alike (all seen).

A process that cannot go on leaves the others waiting for ever (seen): the limit of the launch ends them. Where a
write is refused, a process has a throughput of 0, and IOzone exits with 0.
"""

import re
from typing import Dict, NamedTuple, Optional, Tuple

from seatrial.engine import base
from seatrial.engine.base import Command, Engine, EngineError, Outcome, check_life, only_process, refuse_failure
from seatrial.engine.fio.process import randseed_of
from seatrial.model.metric import Measurement, TaskTime, bandwidth
from seatrial.model.point import Point
from seatrial.model.units import KIB, MIB
from seatrial.workload.access import file_name
from seatrial.workload.registry import phase_of, phases_of

MAX_TASKS = 1024  # MAXSTREAMS of iozone.c
MIN_RECORD, MAX_RECORD = 4 * KIB, 16 * MIB
SEEDS = 2**15  # seeds of -+S: the number of transfers times the seed must fit an int
HALF_ZEROS = ('3.489',)
CLOCK_S = 1e-6  # gettimeofday(2); IOzone prints this as its resolution
PRINTED = 0.005  # half of the last digit of a figure, in kB or kB/s

_VERSION = re.compile(r'Version \$Revision: (\d[\d.]*) \$')
_WRITERS, _READERS = 'initial writers', 'readers'


class IozoneRun(NamedTuple):
    """Output of one launch. notes: options as it prints them; printed: throughputs in B/s, as in _THROUGHPUTS."""

    notes: Tuple[str, ...]
    command_line: str
    processes: int
    what: str
    printed: Dict[str, float]
    children: Tuple[Tuple[float, float], ...]  # bytes moved by each process, and its bandwidth in B/s


class Iozone(Engine):
    name = 'iozone'
    kinds = ('reuse',)
    programs = ('iozone',)
    how_to_get = 'from Spack (iozone) or iozone.org'
    version_options = ('-v',)
    says_version = _VERSION

    def cannot(self, point: Point) -> Optional[str]:
        size = point.data.transfer_size
        is_record = size % KIB == 0 and MIN_RECORD <= size <= MAX_RECORD
        return base.first_reason(
            (point.nodes > 1, f'cannot start tasks on {point.nodes} nodes: its -+m logs in to them by rsh or ssh'),
            (point.tasks > MAX_TASKS, f'cannot start {point.tasks} tasks: {MAX_TASKS} at most'),
            (any(phase.mixed for phase in phases_of(point)), 'cannot read and write back in place'),
            (not is_record, f'cannot move {size} bytes at a time: its records are whole KiB, 4 KiB to 16 MiB'),
        )

    def parse_version(self, text: str) -> str:
        version = super().parse_version(text)
        if version in HALF_ZEROS:
            raise EngineError('T7', f'IOzone {version} writes zeros into half of each transfer')
        return version

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """One process, which starts those of the tasks. -w keeps the files, -+N writes over them."""
        does = phase_of(point, phase)
        argv = [program, '-t', str(point.tasks), '-i', '0' if does.writes else '1', '-+n', '-x', '-C', '-w', '-c']
        argv += ['-e'] if does.writes else []
        argv += ['-+w', '0', '-+S', str(1 + randseed_of(seed, raw) % SEEDS)]
        argv += ['-+N'] if does.writes and does.needs else []
        argv += ['-I'] if point.data.direct else []
        argv += ['-s', f'{point.data.bytes_per_task // KIB}k', '-r', f'{point.data.transfer_size // KIB}k', '-F']
        return Command('node', ((*argv, *(file_name(point, rank) for rank in range(point.tasks))),), {}, ())

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Raises EngineError: E1 it failed; T8 it complained, or its output is not whole; T9 other processes than
        planned; P15 other options; T18 other bytes of a task; T1 figures that contradict each other, or more time
        than it had; T12 no time. All processes begin when all are ready: each window, with fsync and close, at 0."""
        text, process = outcome.stdouts[0], only_process('IOzone', outcome)
        # On stderr stands perror(3) alone.
        refuse_failure('IOzone', outcome.exit_status, (outcome.stderrs[0], *_COMPLAINT.findall(text)))
        run = parse_run(text)
        _check_run(run, phase, point, command)
        task_s = [moved / throughput for moved, throughput in run.children]
        seconds = max(task_s)
        check_life('IOzone', seconds, process)
        children, parent = (run.printed[f'throughput of the {who}'] / KIB for who in ('children', 'parent'))
        figure = f'Children see {children:.2f} kB/sec, Parent sees {parent:.2f} kB/sec'
        metric, share = bandwidth(phase, point.bytes_moved, seconds, figure), point.data.bytes_per_task
        tasks = [TaskTime(rank, process.host, share, 0.0, own_s) for rank, own_s in enumerate(task_s)]
        fsync, direct = _SYNCED in run.notes, _DIRECT in run.notes
        return base.of_tasks([metric], tasks, clock_s=CLOCK_S, fsync=fsync, direct=direct)


def parse_run(text: str) -> IozoneRun:
    """The output of the throughput mode with -C. Raises EngineError T8 if it is not whole."""
    if not text.rstrip().endswith(_ENDED):
        raise EngineError('T8', f"IOzone's output does not end with '{_ENDED}'")
    matches = {name: pattern.search(text) for name, pattern in _PATTERNS.items()}
    missing = next((name for name, match in matches.items() if match is None), None)
    if missing:
        raise EngineError('T8', f"IOzone's output has no {missing}")
    groups = {name: match.groups() for name, match in matches.items() if match is not None}
    number, what, _ = groups['throughput of the children']
    rows = [(int(rank), *map(_kib, figures)) for rank, *figures in _CHILD.findall(text)]
    if [row[0] for row in rows] != list(range(len(rows))):
        raise EngineError('T8', "IOzone's output does not have its processes in order")
    return IozoneRun(
        notes=tuple(line.strip() for line in text.partition('Throughput test with')[0].splitlines()),
        command_line=groups['command line'][0].strip(),
        processes=int(number),
        what=what.strip(),
        printed={name: _kib(groups[name][-1]) for name in _THROUGHPUTS},
        children=tuple((moved, throughput) for _, moved, throughput in rows),
    )


_CUT = 'Command line too long to save completely.'  # printed with about 70 files or more
_ENDED = 'iozone test complete.'
_SYNCED, _DIRECT = 'Include fsync in write timing', 'O_DIRECT feature enabled'
_THROUGHPUTS = ('throughput of the children', 'throughput of the parent', 'lowest throughput', 'highest throughput')
_NUMBER = r'= *(\d+\.\d\d) kB'
_PATTERNS = {
    'version': _VERSION,
    'command line': re.compile(r'^\s*Command line used: (.+)$', re.MULTILINE),
    'throughput of the children': re.compile(r'Children see throughput for +(\d+) ([a-z -]+?)\s*' + _NUMBER + '/sec'),
    'throughput of the parent': re.compile(r'Parent sees throughput for +\d+ [a-z -]+?\s*' + _NUMBER + '/sec'),
    'lowest throughput': re.compile(r'Min throughput per process\s*' + _NUMBER + '/sec'),
    'highest throughput': re.compile(r'Max throughput per process\s*' + _NUMBER + '/sec'),
    'fewest bytes': re.compile(r'Min xfer\s*' + _NUMBER),
}
_CHILD = re.compile(rf'Child\[(\d+)\] xfer count {_NUMBER}, Throughput {_NUMBER}/sec')
_COMPLAINT = re.compile(r'^.*(?:Error |[Cc]an ?not |iozone: interrupted|mis-compare).*$', re.MULTILINE)


def _kib(figure: str) -> float:
    return float(figure) * KIB


def _check_run(run: IozoneRun, phase: str, point: Point, command: Command) -> None:
    data = point.data
    what = _WRITERS if phase_of(point, phase).writes else _READERS
    if (run.processes, len(run.children)) != (point.tasks, point.tasks):
        raise EngineError('T9', f'IOzone ran {run.processes} processes instead of {point.tasks}')
    planned = ' '.join(command.argvs[0])
    ran, cut, _ = run.command_line.partition(_CUT)
    if not (planned.startswith(ran) if cut else planned == ran) or run.what != what:
        done, asked = (line.partition(' -F')[0] for line in (ran, planned))
        raise EngineError('P15', f"IOzone ran '{done}' with its {run.what}, where '{asked}' was planned")
    for note, meant in (('Stonewall disabled', True), (_SYNCED, what == _WRITERS), (_DIRECT, data.direct)):
        if (note in run.notes) != meant:
            raise EngineError('P15', f"IOzone {'did not say' if meant else 'said'} '{note}'")
    for rank, (moved, throughput) in enumerate(run.children):
        if moved != data.bytes_per_task:
            raise EngineError('T18', f'task {rank} moved {moved:.0f} bytes, not {data.bytes_per_task}')
        if throughput <= 0:
            raise EngineError('T12', f'task {rank} is too short to measure: IOzone gives it no throughput')
    throughputs = [throughput for _, throughput in run.children]
    slack = PRINTED * KIB * (len(throughputs) + 1) + 1e-6 * sum(throughputs)  # IOzone adds up in float, of 24 bits
    for key, due, name in (
        ('throughput of the children', sum(throughputs), 'Children see'),
        ('lowest throughput', min(throughputs), 'Min'),
        ('highest throughput', max(throughputs), 'Max'),
    ):
        printed = run.printed[key]
        if abs(printed - due) > slack:
            raise EngineError('T1', f'IOzone reports {name} {printed:.0f} B/s, where its processes give {due:.0f}')
