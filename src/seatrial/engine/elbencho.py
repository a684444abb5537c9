"""elbencho without its service: processes of one phase each, on one node or on many, and the JSON of each.

Read in the source of 3.1-10 and seen with strace. elbencho's own form for many nodes is a service whose port takes
orders from everybody, unless there is a shared secret. So none is started: the site's launcher starts an elbencho a
task, all together. Tasks on several nodes have files of their own (--rankoffset names those of a tree); one that all
share is worked on by the threads of one process, on one node.

Its --sync is syncfs(2), a phase of its own. So a write is synced by the process around it (elbencho_task.py), and
lasts from the start of elbencho's phase to the end of that. The JSON has whole milliseconds, rounded down; here the
end of the last one counts. Without a path results would go to /var/tmp.

The data are those of --blockvaralgo balanced, made in the timed region at about 5,000 MiB/s a core (9 launches on
tmpfs: 1,473 MiB/s with, 2,083 without). The default, fast, leaves three bits of each 64 at zero.
"""

import datetime
import json
import re
import sys
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.engine import base
from seatrial.engine.base import EngineError
from seatrial.engine.elbencho_task import PREFIX, Synced
from seatrial.engine.node_program import module_argv
from seatrial.model.codec import FormError, from_json
from seatrial.model.metric import Measurement, TaskTime, bandwidth, rate
from seatrial.model.point import Point
from seatrial.model.units import MIB
from seatrial.workload.access import file_name, writer_of
from seatrial.workload.base import FIND
from seatrial.workload.registry import does, phase_of
from seatrial.workload.tree import PHASES, operations

CLOCK_S = 0.001
TASK = 'seatrial.engine.elbencho_task'


class ElbenchoPhase(NamedTuple):
    """One phase in elbencho's JSON, at the moment when its last task ended."""

    name: str
    began: float  # start in Unix time
    config: Dict[str, str]  # its settings, by its own names
    elapsed_ms: int
    entries: int
    bytes_moved: int
    entries_per_second: int  # a whole number, as elbencho prints it, like the next
    bytes_per_second: int


class _Process(NamedTuple):
    """One process of a launch: seconds of its phase, and those of each thread."""

    time: base.ProcessTime
    phase: ElbenchoPhase
    seconds: float
    threads_s: Tuple[float, ...]


class Elbencho(base.Engine):
    name = 'elbencho'
    kinds: Tuple[str, ...] = ('access', 'checkpoint')
    declines = {'random': 'counts latencies in bins that are 19 % wide'}  # noqa: RUF012
    programs = ('elbencho',)
    how_to_get = 'from github.com/breuner/elbencho (3.0-37 or later)'
    says_version = re.compile(r'^elbencho\n \* Version: (\d+\.\d+-\d+)$', re.MULTILINE)
    oldest = (3, 0, 37)  # 3.0-3, which Spack has, writes no JSON
    too_old = 'the JSON of elbencho {} does not record its options; use 3.0-37 or later'
    data_rate = 5000.0 * MIB
    reads_next_node = True

    def cannot(self, point: Point) -> Optional[str]:
        is_random, is_shared = point.data.order == 'random', point.data.files == 'single' and point.nodes > 1
        why = base.first_reason(
            (is_random, 'cannot read each part of a file once in random order: it draws every offset anew'),
            (is_shared, f'cannot share one file between {point.nodes} nodes without its service'),
        )
        return base.beyond_calls(point) or why or base.immovable(point)

    def in_threads(self, point: Point) -> bool:
        return point.data is not None and point.data.extent == 'segment'

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> base.Command:
        """Processes with raw + '.RANK.json' each; of a shared file one with a thread a task. `seed` has no use."""
        writes = phase_of(point, phase).writes
        how = ['-w', '--blockvaralgo', 'balanced'] if writes else ['-r']
        how += ['--direct'] if point.data.direct else []
        how += ['--strided'] if point.data.order == 'strided' else []
        how += ['-b', str(point.data.transfer_size)]
        scope, words = 'node', [['-t', str(point.tasks), *how, '-s', str(point.bytes_moved), file_name(point, 0)]]
        if not self.in_threads(point):
            names = [file_name(point, rank if writes else writer_of(point, rank)) for rank in range(point.tasks)]
            scope, words = 'task', [['-t', '1', *how, '-s', str(point.data.bytes_per_task), name] for name in names]
        made = _command(program, raw, words, [options[-1] for options in words] if writes else ())
        return made._replace(scope=scope)

    def measure(self, phase: str, point: Point, command: base.Command, outcome: base.Outcome) -> Measurement:
        """Raises EngineError: E1 one failed or its report is not whole, T8 it complained and exited with 0, T9 other
        processes than planned, P15 other options, T18 other bytes, T1 figures that contradict each other or more time
        than there was, T12 no time. The figure: bytes/s of every process, without the fsync. On one node all began by
        one clock; on many a window begins with its process, and clock_s is how much later it can have begun."""
        writes, threads = phase_of(point, phase).writes, point.tasks if self.in_threads(point) else 1
        planned = point.tasks // threads
        processes = _processes(command, outcome, 'WRITE' if writes else 'READ', planned)
        due = threads * point.data.bytes_per_task
        for rank, process in enumerate(processes):
            moved = process.phase.bytes_moved
            if moved != due:
                raise EngineError('T18', f'task {rank} on {process.time.host}: moved {moved} bytes instead of {due}')
        starts_s, clock_s = _starts(processes, point)
        tasks = [
            TaskTime(rank * threads + thread, process.time.host, point.data.bytes_per_task, start_s, start_s + own_s)
            for rank, (process, start_s) in enumerate(zip(processes, starts_s))
            for thread, own_s in enumerate(process.threads_s if not writes else (process.seconds,) * threads)
        ]
        if len(tasks) != point.tasks:
            raise EngineError('T9', f'elbencho reported the times of {len(tasks)} threads, not of {point.tasks}')
        figure = ' '.join(['bytes/s', *(str(process.phase.bytes_per_second) for process in processes)])
        seconds = max(task.end_s for task in tasks) - min(task.start_s for task in tasks)
        metrics = [bandwidth(phase, point.bytes_moved, seconds, figure)]
        direct = all(process.phase.config.get('direct_io') == 'true' for process in processes)
        return base.of_tasks(metrics, tasks, clock_s=clock_s, fsync=writes, direct=direct)


class ElbenchoFiles(Elbencho):
    """elbencho as an engine of metadata: the files of a flat tree, by a process a task. Timed are, for each file in
    turn (strace): open(O_CREAT|O_RDWR), the writes and close; a stat; open, the reads and close; an unlink."""

    kinds = ('tree',)
    declines: Dict[str, str] = {}  # noqa: RUF012
    makes = (r'tree(\.\d+)?', r'r\d+-f\d+')
    data_rate = 0.0
    flat = True

    def cannot(self, point: Point) -> Optional[str]:
        """elbencho makes directories too, but stats none, and lays those of each thread into one more."""
        return base.first_reason(
            (point.tree.depth, 'cannot make a tree of directories: here its files lie flat'),
            (does(point, FIND), 'cannot find files'),
            (point.tree.empties_per_directory, 'cannot stat directories'),
            (point.tree.fsync, 'cannot sync files'),
        )

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        """Each phase goes one node further than the one before: no node meets its own entries before the fifth."""
        return 0 < PHASES.index(phase) < point.nodes

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> base.Command:
        """Processes with raw + '.RANK.json' each, over files in 'tree' or, of a task alone, in 'tree.RANK'."""
        act = phase_of(point, phase)
        size = ['-s', str(point.tree.bytes_per_file)] if act.moves else []
        size += ['-b', str(point.tree.bytes_per_file)] if size and point.tree.bytes_per_file else []
        size += ['--blockvaralgo', 'balanced'] if act.makes and point.tree.bytes_per_file else []
        further = PHASES.index(phase) * point.tasks_per_node if point.nodes > 1 else 0
        owners = [(rank + further) % point.tasks for rank in range(point.tasks)]
        trees = ['tree' if point.tree.subtrees == 'shared' else f'tree.{rank}' for rank in owners]
        words = [
            ['-t', '1', '--rankoffset', str(owner), '-n', '0', '-N', str(point.tree.files_per_directory)]
            + [_OPTIONS[phase], *size, tree]
            for owner, tree in zip(owners, trees)
        ]
        made = _command(program, raw, words)
        return made._replace(directories=tuple(sorted(set(trees)))) if act.makes else made

    def measure(self, phase: str, point: Point, command: base.Command, outcome: base.Outcome) -> Measurement:
        """As for data, and T1 for other files or bytes. Figures: entries/s, each over its own time."""
        processes = _processes(command, outcome, _NAMES[phase], point.tasks)
        files = point.tree.files_per_directory
        for rank, process in enumerate(processes):
            done = process.phase
            moved = files * point.tree.bytes_per_file if phase_of(point, phase).moves else 0
            if (done.entries, done.bytes_moved) != (files, moved):
                counts = f'did {done.entries} files and {done.bytes_moved} bytes, not {files} and {moved}'
                raise EngineError('T1', f'task {rank} on {process.time.host}: {counts}')
        starts_s, clock_s = _starts(processes, point)
        ends_s = [start_s + process.seconds for start_s, process in zip(starts_s, processes)]
        figure = ' '.join(['entries/s', *(str(process.phase.entries_per_second) for process in processes)])
        own_s = tuple(process.seconds for process in processes)
        ((name, number),) = operations(point, phase).items()
        metric = rate(name, number, max(ends_s) - min(starts_s), figure, own_s)
        hosts = tuple(sorted({process.time.host for process in processes}))
        return Measurement((metric,), world_size=len(processes), hosts=hosts, clock_s=clock_s)


def parse_phase(text: str) -> ElbenchoPhase:
    """The JSON of one phase. Raises EngineError E1 if it is not whole, or has another number of phases."""
    try:
        data = json.loads(text)
        began = datetime.datetime.strptime(data['iso_start_date'], '%Y-%m-%dT%H:%M:%S.%f%z').timestamp()
        config = {str(name): str(value) for name, value in data['config'].items()}
        done = data['last_done']  # what there is none of has no key
        numbers = (int(done.get(key, 0)) for key in ('entries', 'bytes', 'entries/s', 'bytes/s'))
        return ElbenchoPhase(str(data['phase_type']), began, config, int(done['elapsed_time_ms']), *numbers)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise EngineError('E1', f"elbencho's JSON is cut short or damaged: {error!r}") from None


_OPTIONS = {'create': '-w', 'stat': '--stat', 'read': '-r', 'remove': '-F'}
_NAMES = {'create': 'WRITE', 'stat': 'STAT', 'read': 'READ', 'remove': 'RMFILES'}
_NOWHERE = '/dev/null'
_EACH = re.compile(r'^ +Time ms each +: \[ ([\d ]+) \]$', re.MULTILINE)
_COMPLAINT = re.compile(r'^(?:\d\d:\d\d:\d\d\.\d+ )?((?:ERROR|WARNING): .+)$', re.MULTILINE)
_CAUSE = re.compile(r'SysErr: |: fsync of ')


def _command(program: str, raw: str, words: Sequence[Sequence[str]], synced: Sequence[str] = ()) -> base.Command:
    """One process each, its results in a file of its own; where files are written, their fsync follows."""
    outputs = tuple(f'{raw}.{rank}.json' for rank in range(len(words)))
    results = [('--jsonfile', output, '--csvfile', _NOWHERE, '--resfile', _NOWHERE) for output in outputs]
    argvs = [(program, '--nolive', '--allelapsed', *into, *options) for into, options in zip(results, words)]
    if synced:
        argvs = [module_argv(sys.executable, TASK, (path, *argv)) for path, argv in zip(synced, argvs)]
    return base.Command('task', tuple(argvs), {}, outputs)


def _processes(command: base.Command, outcome: base.Outcome, name: str, planned: int) -> List[_Process]:
    """The processes of a launch that ended well. If several failed, the error that names a failed call is raised."""
    count = len(outcome.processes)
    if count != planned or len(outcome.outputs) != count:
        raise EngineError('T9', f'{count} processes of elbencho ran instead of {planned}')

    def read(rank: int) -> _Process:
        time, stdout = outcome.processes[rank], outcome.stdouts[rank]
        complaints = _COMPLAINT.findall(outcome.stderrs[rank])
        causes = [line for line in complaints if _CAUSE.search(line)] or complaints
        # The whole stderr of a failed process counts, as a library that cannot be loaded writes to it.
        base.refuse_failure('elbencho', time.exit_status, causes + [outcome.stderrs[rank]] * bool(time.exit_status))
        return _process(command.argvs[rank], name, time, stdout, parse_phase(outcome.outputs[rank] or ''))

    return base.of_all(outcome.processes, read, lambda sentence: _CAUSE.search(sentence) is None)


def _process(argv: Tuple[str, ...], name: str, time: base.ProcessTime, stdout: str, phase: ElbenchoPhase) -> _Process:
    """The report of a process, if its options and figures are as planned. A write's time includes the fsync."""
    _check_config(argv, name, phase)
    elapsed_ms = phase.elapsed_ms
    for number, per_second, what in (  # rates are printed too, divided as integers
        (phase.bytes_moved, phase.bytes_per_second, 'bytes'),
        (phase.entries, phase.entries_per_second, 'entries'),
    ):
        low, high = (number * 1000 / ms if ms else float('inf') for ms in (elapsed_ms + 1, elapsed_ms))
        if not low - 1 <= per_second <= high:
            raise EngineError('T1', f'{number} {what} in {elapsed_ms} ms, and {per_second} a second')
    if not elapsed_ms:
        raise EngineError('T12', 'elbencho ran for less than a millisecond: too short to measure')
    seconds = (elapsed_ms + 1) / 1000
    match = _EACH.search(stdout)
    if match is None:
        raise EngineError('E1', "elbencho's output is cut short: it lacks the times of its threads")
    threads_s = tuple((int(ms) + 1) / 1000 for ms in match.group(1).split())
    if max(threads_s) != seconds:
        raise EngineError('T1', f'the longest thread took {max(threads_s)} s, and the phase {seconds} s')
    if TASK in ' '.join(argv):
        synced = _synced(stdout)
        least_s, seconds = seconds + synced.seconds, synced.ended - phase.began
        if seconds < least_s - 2 * CLOCK_S:
            raise EngineError('T1', f'its fsync ended after {seconds:.3f} s, and took {least_s:.3f} s with the phase')
    base.check_life('elbencho', seconds, time)
    return _Process(time, phase, seconds, threads_s)


def _synced(stdout: str) -> Synced:
    last = (stdout.splitlines() or [''])[-1]
    try:
        return from_json(Synced, json.loads(last[len(PREFIX) :] if last.startswith(PREFIX) else ''))
    except (FormError, ValueError):
        raise EngineError('E1', f"its fsync did not report: '{last}'") from None


def _check_config(argv: Tuple[str, ...], name: str, phase: ElbenchoPhase) -> None:
    """Checks elbencho's account of its arguments, which has spaces for commas; it may be behind a script."""
    words = argv[argv.index('--nolive') :]
    ran = phase.config.get('command', '').partition('" ')[2]
    if phase.name != name or ran != ''.join(f'"{word}" ' for word in words).replace(',', ' '):
        raise EngineError('P15', f'elbencho ran {phase.name} with {ran.strip()}, not {name} with {" ".join(words)}')
    for key, option in (('threads', '-t'), ('file_size', '-s'), ('block_size', '-b'), ('files', '-N')):
        meant = words[words.index(option) + 1] if option in words else None
        if meant is not None and phase.config.get(key) != meant:
            raise EngineError('P15', f'elbencho took {phase.config.get(key)} for its {key}, not {meant}')


def _starts(processes: Sequence[_Process], point: Point) -> Tuple[List[float], float]:
    """The start of each process, in seconds since the first one, and the error of these times."""
    if point.nodes == 1:
        first = min(process.phase.began for process in processes)
        return [process.phase.began - first for process in processes], CLOCK_S
    first_s = min(process.time.start_s for process in processes)
    unknown_s = max(process.time.lived_s - process.seconds for process in processes)
    return [process.time.start_s - first_s for process in processes], CLOCK_S + max(unknown_s, 0.0)
