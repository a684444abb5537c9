"""fio as an engine of files used again in place, and of Bonnie's file. Reads and writes in turn are replays of logs.

The jobs of Bonnie's file follow each other in one process (stonewall). Each seeker has its share of the places from
the start. The data do not compress. Nothing empties a cache. The last job reads one transfer and removes the file.
"""

import random
from typing import Any, Dict, Iterable, List, Optional

from seatrial.engine.base import Command, EngineError, Outcome, immovable, of_tasks
from seatrial.engine.fio import process as fio
from seatrial.engine.fio.access import Fio, Moved, common_options, figure_of, moved_of
from seatrial.model.metric import Measurement, TaskTime, bandwidth, rate
from seatrial.model.point import Point
from seatrial.workload.access import file_name
from seatrial.workload.bonnie import SEEKERS, UPDATED, seeks_of
from seatrial.workload.registry import phase_of, phases_of

MAX_LOGGED = 2**16  # transfers of a task, each two lines of its log
_LOG = 'read_iolog='
WRITE_JOB, UPDATE_JOB, READ_JOB, SEEK_JOB = range(4)  # the first of the seekers
AFTER = {'stonewall': 1, 'invalidate': 0, 'create_on_open': 1}  # no file is there when fio begins


class FioReuse(Fio):
    kinds = ('reuse',)

    def cannot(self, point: Point) -> Optional[str]:
        if any(phase.mixed for phase in phases_of(point)) and point.data.transfers > MAX_LOGGED:
            return f'cannot update {point.data.transfers} transfers a task: its log would have more than {MAX_LOGGED}'
        return super().cannot(point)

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        """Not in an update, which changes the task's own file."""
        return super().reads_elsewhere(point, phase) and not phase_of(point, phase).mixed

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """As of data access; an update has a log a task beside it, raw + '.RANK.iolog'."""
        command = super().command(program, phase, point, raw, seed)
        if not phase_of(point, phase).mixed:
            return command
        jobs = {path: text.replace(_LOG, f'{_LOG}{raw}.') for path, text in command.inputs.items()}
        updates = updates_of(point)
        logs = {f'{raw}.{rank}.iolog': log_of(file_name(point, rank), updates) for rank in range(point.tasks)}
        return command._replace(inputs={**jobs, **logs})

    def _job_file(self, phase: str, point: Point, ranks: Iterable[int], randseed: int) -> str:
        does = phase_of(point, phase)
        if does.makes:
            return super()._job_file(phase, point, ranks, randseed)
        if not does.mixed:
            text = super()._job_file(self._directions(phase, point)[0], point, ranks, randseed)
            # fio empties the node's cache of a file before it begins, unless invalidate is 0.
            text = text.replace('invalidate=1', f'invalidate={int(not does.warm)}')
            return text.replace('create_on_open=1', 'allow_file_create=0')
        common = {**common_options(point, randseed), 'allow_file_create': 0, 'end_fsync': 1, 'invalidate': 1}
        return fio.job_file(common, {rank: {'read_iolog': f'{rank}.iolog'} for rank in ranks})


class FioBonnie(fio.FioProcess):
    kinds = ('bonnie',)

    def cannot(self, point: Point) -> Optional[str]:
        if point.data.transfers > MAX_LOGGED:
            return f'cannot update {point.data.transfers} transfers: its I/O log would have more than {MAX_LOGGED}'
        return immovable(point)

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """Beside the job file are a log of the update, raw + '.iolog', and one a seeker, raw + '.RANK.iolog'."""
        data = point.data
        randseed, name, size = fio.randseed_of(seed, raw), file_name(point, 0), data.bytes_per_task
        common = {'ioengine': 'psync', 'bs': data.transfer_size, 'randseed': randseed}
        logs = {f'{raw}.iolog': log_of(name, updates_of(point))}
        jobs: Dict[int, Dict[str, Any]] = {
            WRITE_JOB: {'filename': name, 'size': size, 'rw': 'write', 'create_on_open': 1, 'end_fsync': 1},
            UPDATE_JOB: {**AFTER, 'read_iolog': f'{raw}.iolog', 'end_fsync': 1},
            READ_JOB: {**AFTER, 'filename': name, 'size': size, 'rw': 'read'},
        }
        places = _seeks(point, random.Random(randseed))
        for rank, lines in enumerate(places, SEEK_JOB):
            logs[f'{raw}.{rank}.iolog'] = log_of(name, lines)
            jobs[rank] = {**AFTER, 'read_iolog': f'{raw}.{rank}.iolog', 'end_fsync': 1}
            if rank > SEEK_JOB:
                del jobs[rank]['stonewall']
        jobs[SEEK_JOB + SEEKERS] = {**AFTER, 'filename': name, 'size': data.transfer_size, 'rw': 'read', 'unlink': 1}
        inputs = {f'{raw}.fio': fio.job_file(common, jobs), **logs}
        return Command('node', (fio.fio_argv(program, raw, 'json'),), inputs, (f'{raw}.json',))

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Raises EngineError as data access does, and P15 for other seeks than planned."""
        texts = list(command.inputs.values())
        jobs = fio.jobs_of(fio.report_of(outcome), texts[0])
        size, process = point.bytes_moved, outcome.processes[0]
        regions = {
            'write': [moved_of(fio.field(jobs[WRITE_JOB], 'write', dict), jobs[WRITE_JOB], WRITE_JOB, size)],
            'update': _of_log(jobs, UPDATE_JOB, texts[1], point),
            'read': [moved_of(fio.field(jobs[READ_JOB], 'read', dict), jobs[READ_JOB], READ_JOB, size)],
            'seeks': [way for rank in _SEEKERS for way in _of_log(jobs, rank, texts[rank - SEEK_JOB + 2], point)],
        }
        seconds = {name: max(way.seconds for way in ways) for name, ways in regions.items()}
        fio.check_clock(sum(seconds.values()), process)
        parts = (('write', WRITE_JOB, 'write'), ('update', UPDATE_JOB, 'write'), ('read', READ_JOB, 'read'))
        iops = ' '.join(['iops', *(str(jobs[rank]['read']['iops']) for rank in _SEEKERS)])
        metrics = [
            *(bandwidth(name, size, seconds[name], figure_of([jobs[rank][way]])) for name, rank, way in parts),
            rate('seeks', seeks_of(point), seconds['seeks'], iops),
        ]
        task = TaskTime(0, process.host, size, 0.0, sum(seconds.values()))
        return of_tasks(metrics, [task], clock_s=fio.CLOCK_S, fsync=True)


def updates_of(point: Point) -> List[str]:
    """Lines of a log that reads each transfer of a file and then writes it back."""
    size = point.data.transfer_size
    offsets = range(0, point.data.bytes_per_task, size)
    return [f'{does} {offset} {size}' for offset in offsets for does in ('read', 'write')]


def log_of(name: str, lines: List[str]) -> str:
    return '\n'.join(['fio version 2 iolog', *(f'{name} {line}' for line in ('add', 'open', *lines, 'close')), ''])


_SEEKERS = range(SEEK_JOB, SEEK_JOB + SEEKERS)


def _of_log(jobs: List[Any], rank: int, log: str, point: Point) -> List[Moved]:
    """The bytes that a replay moved in each direction. Raises EngineError if its log has more or less."""
    amounts = []
    for direction in ('read', 'write'):
        meant = log.count(f' {direction} ') * point.data.transfer_size
        done = fio.field(jobs[rank], direction, dict)
        if meant:
            amounts.append(moved_of(done, jobs[rank], rank, meant))
        elif fio.field(done, 'io_bytes', int):
            raise EngineError('P15', f'task {rank} was to {direction} nothing')
    return amounts


def _seeks(point: Point, rng: random.Random) -> List[List[str]]:
    """The places of each seeker; it reads at a random place, and writes one in UPDATED back."""
    size = point.data.transfer_size
    logs: List[List[str]] = [[] for _ in range(SEEKERS)]
    for number in range(seeks_of(point)):
        offset = size * rng.randrange(point.data.transfers)
        lines = logs[number % SEEKERS]
        lines.append(f'read {offset} {size}')
        if rng.randrange(UPDATED) == 0:
            lines.append(f'write {offset} {size}')
    return logs
