"""dd of GNU coreutils: one process a client. It reads, as the source of SFWA did (Boito et al. 2009).

A measured write is refused: dd has no incompressible data faster than /dev/urandom gives it (rule P4).
It can still prepare the files that are read.
"""

import re
from typing import List, NamedTuple, Optional, Tuple

from seatrial.engine.base import AccessEngine, Command, EngineError, Outcome, ProcessTime
from seatrial.model.record import JobTime, Measurement
from seatrial.model.workload import AccessPattern, Point, file_name

MOST_BYTES_A_CALL = 0x7FFFF000  # read(2): "at most 2,147,479,552 bytes"

_RECORDS = re.compile(r'(\d+)\+(\d+) records (in|out)\Z')
_COPIED = re.compile(r'(\d+) bytes(?: \([^)]*\))? copied, (\d[\d.]*(?:e[+-]?\d+)?) s, (?:[\d.]+ .?|Infinity )B/s\Z')


class Dd(AccessEngine):
    """dd as an engine of reads on one node."""

    name = 'dd'
    programs = ('dd',)

    def cannot(self, pattern: AccessPattern, point: Point) -> Optional[str]:
        """Why dd cannot carry the measured point out exactly, as half a sentence, or None if it can.

        It says nothing of a preparation: those are writes, and dd makes them.
        """
        if pattern.collective or pattern.interface == 'mpiio':
            return 'cannot do MPI-IO'
        if pattern.order != 'contiguous':
            return f'cannot go through a file in {pattern.order} order'
        if 'write' in pattern.operations:
            return 'cannot write incompressible data faster than /dev/urandom gives it'
        if point.nodes > 1:
            return f'cannot start clients on {point.nodes} nodes at once'
        if point.transfer_size > MOST_BYTES_A_CALL:
            return f'cannot read {point.transfer_size} bytes in one call'
        return None

    def version_argv(self, program: str) -> List[str]:
        """The command that makes dd say its version."""
        return [program, '--version']

    def parse_version(self, text: str) -> str:
        """'9.1' from 'dd (coreutils) 9.1'; raises EngineError for any other dd, whose report differs."""
        match = re.match(r'dd \(coreutils\) (\d\S*)\n', text)
        if match is None:
            raise EngineError('E1', f"'{text.strip().split(chr(10))[0]}' is not the version of GNU coreutils' dd")
        return match.group(1)

    def command(
        self, program: str, pattern: AccessPattern, operation: str, point: Point, raw: str, seed: int
    ) -> Command:
        """One dd a client, over its file or its segment of the shared one; nothing beside the streams is left.

        A write takes random data whatever the seed is, and its fsync lies inside the time that dd reports.
        """
        argvs: List[Tuple[str, ...]] = []
        for rank in range(point.tasks):
            name = file_name(pattern, rank)
            blocks_before = rank * point.objects if pattern.extent == 'segment' else 0
            size = (f'bs={point.transfer_size}', f'count={point.objects}')
            if operation == 'write':
                # /dev/urandom gives less than a large block asks for; only a full one is put in its place.
                to = (f'of={name}', f'seek={blocks_before}', 'iflag=fullblock', 'conv=notrunc,fsync')
                argvs.append((program, 'if=/dev/urandom') + to + size)
            else:
                argvs.append((program, f'if={name}', 'of=/dev/null', f'skip={blocks_before}') + size)
        return Command(scope='task', argvs=tuple(argvs), inputs={}, outputs=())

    def measure(
        self, pattern: AccessPattern, operation: str, point: Point, command: Command, outcome: Outcome
    ) -> Measurement:
        """What the processes said and how long they lived. Raises EngineError: E1 a dd failed or its report is
        not whole or not possible, T9 wrong number of clients, T18 wrong bytes of a client, T12 no time.

        tool_figure: each client's last line in the order of ranks. dd knows only its own process, so the
        region is that of the processes, first start to last end; clock_s is the longest part of a process's
        life that its dd did not time, by which the region can be too long.
        """
        count = len(outcome.processes)
        if count != point.tasks or len(outcome.stderrs) != count:
            raise EngineError('T9', f'{count} processes of dd ran instead of {point.tasks}')
        first_s = min(process.start_s for process in outcome.processes)
        last_s = max(process.end_s for process in outcome.processes)
        said = [
            _said(rank, process, stderr, point)
            for rank, (process, stderr) in enumerate(zip(outcome.processes, outcome.stderrs))
        ]
        if last_s <= first_s:
            raise EngineError('T12', 'the launch is too short to measure: its processes lived for no time')
        return Measurement(
            tool_figure='; '.join(s.line for s in said),
            bytes_moved=sum(s.bytes_moved for s in said),
            seconds=last_s - first_s,
            world_size=count,
            hosts=tuple(sorted({process.host for process in outcome.processes})),
            jobs=tuple(
                JobTime(
                    rank, process.host, said[rank].bytes_moved, process.start_s - first_s, process.end_s - first_s
                )
                for rank, process in enumerate(outcome.processes)
            ),
            fsync=operation == 'write' and all('conv=notrunc,fsync' in argv for argv in command.argvs),
            clock_s=max(s.untimed_s for s in said),
        )


class _Said(NamedTuple):
    line: str
    bytes_moved: int
    untimed_s: float


def _said(rank: int, process: ProcessTime, stderr: str, point: Point) -> _Said:
    lines = stderr.splitlines()
    complaint = next((f": '{line}'" for line in lines if not _RECORDS.match(line) and not _COPIED.match(line)), '')
    if process.exit_status or complaint:
        status = process.exit_status
        how = f'exited with {status}' if status >= 0 else f'died of signal {-status}'
        raise EngineError('E1', f'the dd of client {rank} {how}{complaint}')
    records = [match for match in map(_RECORDS.match, lines[:2]) if match]
    copied = _COPIED.match(lines[2]) if len(lines) == 3 else None
    if [match.group(3) for match in records] != ['in', 'out'] or copied is None:
        raise EngineError('E1', f"the report of client {rank}'s dd is cut short: '{' / '.join(lines)}'")
    moved, timed_s = int(copied.group(1)), float(copied.group(2))
    counts = {(int(match.group(1)), int(match.group(2))) for match in records}
    if moved != point.bytes_per_client or counts != {(point.objects, 0)}:
        raise EngineError(
            'T18',
            f'client {rank} moved {moved} bytes ({lines[0]}, {lines[1]}) instead of {point.bytes_per_client} '
            f'in {point.objects} whole blocks',
        )
    lived_s = process.end_s - process.start_s
    if timed_s > lived_s * 1.01 + 0.001:
        raise EngineError('E1', f'the dd of client {rank} claims {timed_s} s in a process of {lived_s:.6f} s')
    return _Said(lines[2], moved, max(lived_s - timed_s, 0.0))
