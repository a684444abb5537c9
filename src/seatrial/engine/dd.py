"""dd of GNU coreutils: one process a task, which reads, as the source of SFWA did (Boito et al. 2009). A measured
write is refused, for its data come no faster than from /dev/urandom (rule P4); it can prepare files."""

import re
from typing import Optional, Tuple

from seatrial.engine import base
from seatrial.engine.base import Command, Engine, EngineError, Outcome, ProcessTime, beyond_calls, ended, immovable
from seatrial.model.metric import Measurement, TaskTime, bandwidth
from seatrial.model.point import Point
from seatrial.workload.access import file_name
from seatrial.workload.base import WRITE
from seatrial.workload.registry import does, phase_of

_RECORDS = re.compile(r'(\d+)\+(\d+) records (in|out)\Z')
_COPIED = re.compile(r'(\d+) bytes(?: \([^)]*\))? copied, (\d[\d.]*(?:e[+-]?\d+)?) s, (?:[\d.]+ .?|Infinity )B/s\Z')


class Dd(Engine):
    name = 'dd'
    kinds = ('access',)
    programs = ('dd',)
    how_to_get = 'part of coreutils'
    says_version = re.compile(r'^dd \(coreutils\) (\d\S*)\n')

    def cannot(self, point: Point) -> Optional[str]:
        """Only measured writes are refused here: dd may write files to prepare them."""
        why = base.first_reason(
            (point.data.order != 'contiguous', f'cannot go through a file in {point.data.order} order'),
            (does(point, WRITE), 'cannot write incompressible data faster than /dev/urandom gives it'),
            (point.nodes > 1, f'cannot start tasks on {point.nodes} nodes at once'),
        )
        return beyond_calls(point) or why or immovable(point)

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """One dd a task, over its file or segment; its time includes the fsync. The data are random for any seed."""
        argvs = []
        size = (f'bs={point.data.transfer_size}', f'count={point.data.transfers}')
        direct = (_DIRECT[phase],) if point.data.direct else ()
        for rank in range(point.tasks):
            name = file_name(point, rank)
            blocks_before = rank * point.data.transfers if point.data.extent == 'segment' else 0
            read = (f'if={name}', 'of=/dev/null', f'skip={blocks_before}')
            # /dev/urandom gives less than a large block asks for; only a full one is put in its place.
            write = ('if=/dev/urandom', f'of={name}', f'seek={blocks_before}', 'iflag=fullblock', _SYNCED)
            argvs.append((program, *(write if phase_of(point, phase).writes else read), *size, *direct))
        return Command(scope='task', argvs=tuple(argvs), inputs={}, outputs=())

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Raises EngineError: E1 a dd failed or its report is not whole or not possible, T9 wrong number of tasks,
        T18 wrong bytes of a task, T12 no time. dd knows only its own process, so the region is that of the processes,
        first start to last end; clock_s is the longest part of a process's life that its dd did not time. dd refuses
        unknown options, and takes O_DIRECT back only for a block that is not whole (dd.c), which T18 would tell."""
        count = len(outcome.processes)
        if count != point.tasks or len(outcome.stderrs) != count:
            raise EngineError('T9', f'{count} processes of dd ran instead of {point.tasks}')
        first_s = min(process.start_s for process in outcome.processes)
        last_s = max(process.end_s for process in outcome.processes)
        reports = [_report_of(rank, outcome.processes[rank], outcome.stderrs[rank], point) for rank in range(count)]
        if last_s <= first_s:
            raise EngineError('T12', 'the launch is too short to measure: its processes ran for 0 s')
        lines, untimed_s = zip(*reports)
        share = point.data.bytes_per_task
        tasks = [
            TaskTime(rank, process.host, share, process.start_s - first_s, process.end_s - first_s)
            for rank, process in enumerate(outcome.processes)
        ]
        metric = bandwidth(phase, share * count, last_s - first_s, '; '.join(lines))
        synced = phase_of(point, phase).writes and all(_SYNCED in argv for argv in command.argvs)
        direct = all(_DIRECT[phase] in argv for argv in command.argvs)
        return base.of_tasks([metric], tasks, clock_s=max(untimed_s), fsync=synced, direct=direct)


_SYNCED = 'conv=notrunc,fsync'
_DIRECT = {'write': 'oflag=direct', 'read': 'iflag=direct'}


def _report_of(rank: int, process: ProcessTime, stderr: str, point: Point) -> Tuple[str, float]:
    """The last line of a dd, and the part of its process's life that it did not time."""
    lines = stderr.splitlines()
    complaints = [line for line in lines if not _RECORDS.match(line) and not _COPIED.match(line)]
    if process.exit_status or complaints:
        raise EngineError('E1', f'the dd of task {rank} {ended(process.exit_status, complaints)}')
    records = [match for match in map(_RECORDS.match, lines[:2]) if match]
    copied = _COPIED.match(lines[2]) if len(lines) == 3 else None
    if [match.group(3) for match in records] != ['in', 'out'] or copied is None:
        raise EngineError('E1', f"the report of task {rank}'s dd is cut short: '{' / '.join(lines)}'")
    moved, timed_s = int(copied.group(1)), float(copied.group(2))
    counts = {(int(match.group(1)), int(match.group(2))) for match in records}
    if moved != point.data.bytes_per_task or counts != {(point.data.transfers, 0)}:
        planned = f'{point.data.bytes_per_task} in {point.data.transfers} whole blocks'
        raise EngineError('T18', f'task {rank} moved {moved} bytes ({lines[0]}, {lines[1]}) instead of {planned}')
    if timed_s > process.lived_s * 1.01 + 0.001:
        lasted = f'its process lasted {process.lived_s:.6f} s'
        raise EngineError('E1', f'the dd of task {rank} reports {timed_s} s, but {lasted}')
    return lines[2], max(process.lived_s - timed_s, 0.0)
