"""fio as an engine of Bonnie's file: its jobs follow each other in one process, each after the last (stonewall).
Reads and writes in turn are replays of fio's logs, as in reuse.py. Each seeker has its share of the places from the
start. The data do not compress. Nothing empties a cache. The last job reads one transfer and removes the file."""

import random
from typing import Any, Dict, List, Optional

from seatrial.engine.base import Command, EngineError, Outcome, immovable
from seatrial.engine.fio.access import Moved, figure_of, moved_of
from seatrial.engine.fio.process import (
    CLOCK_S,
    FioProcess,
    check_clock,
    field,
    fio_argv,
    job_file,
    jobs_of,
    randseed_of,
    report_of,
)
from seatrial.engine.fio.reuse import MAX_LOGGED, log_of, updates_of
from seatrial.model.metric import Measurement, TaskTime, bandwidth, rate
from seatrial.model.point import Point
from seatrial.workload.access import file_name
from seatrial.workload.bonnie import SEEKERS, UPDATED, seeks_of

WRITE, UPDATE, READ, SEEK = range(4)  # the first of the seekers
AFTER = {'stonewall': 1, 'invalidate': 0, 'create_on_open': 1}  # no file is there when fio begins


class FioBonnie(FioProcess):
    """All is timed by fio, job by job."""

    kinds = ('bonnie',)

    def cannot(self, point: Point) -> Optional[str]:
        if point.data.transfers > MAX_LOGGED:
            return f'cannot update {point.data.transfers} transfers: its log would have more than {MAX_LOGGED}'
        return immovable(point)

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """Beside the job file a log of the update, raw + '.iolog', and one of each seeker, raw + '.RANK.iolog'."""
        data = point.data
        randseed, name, size = randseed_of(seed, raw), file_name(point, 0), data.bytes_per_task
        common = {'ioengine': 'psync', 'bs': data.transfer_size, 'randseed': randseed}
        logs = {f'{raw}.iolog': log_of(name, updates_of(point))}
        jobs: Dict[int, Dict[str, Any]] = {
            WRITE: {'filename': name, 'size': size, 'rw': 'write', 'create_on_open': 1, 'end_fsync': 1},
            UPDATE: {**AFTER, 'read_iolog': f'{raw}.iolog', 'end_fsync': 1},
            READ: {**AFTER, 'filename': name, 'size': size, 'rw': 'read'},
        }
        own = _seeks(point, random.Random(randseed))
        for rank, lines in enumerate(own, SEEK):
            logs[f'{raw}.{rank}.iolog'] = log_of(name, lines)
            jobs[rank] = {**AFTER, 'read_iolog': f'{raw}.{rank}.iolog', 'end_fsync': 1}
            if rank > SEEK:
                del jobs[rank]['stonewall']
        jobs[SEEK + SEEKERS] = {**AFTER, 'filename': name, 'size': data.transfer_size, 'rw': 'read', 'unlink': 1}
        inputs = {f'{raw}.fio': job_file(common, jobs), **logs}
        return Command('node', (fio_argv(program, raw, 'json'),), inputs, (f'{raw}.json',))

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """What fio said of its jobs. Raises EngineError as data access does, and P15 for other seeks than planned."""
        texts = list(command.inputs.values())
        jobs = jobs_of(report_of(outcome), texts[0])
        size, process = point.bytes_moved, outcome.processes[0]
        regions = {
            'write': [moved_of(field(jobs[WRITE], 'write', dict), jobs[WRITE], WRITE, size)],
            'update': _of_log(jobs, UPDATE, texts[1], point),
            'read': [moved_of(field(jobs[READ], 'read', dict), jobs[READ], READ, size)],
            'seeks': [each for rank in _SEEKERS for each in _of_log(jobs, rank, texts[rank - SEEK + 2], point)],
        }
        seconds = {name: max(each.seconds for each in own) for name, own in regions.items()}
        check_clock(sum(seconds.values()), process)
        figures = {
            'write': figure_of([jobs[WRITE]['write']]),
            'update': figure_of([jobs[UPDATE]['write']]),
            'read': figure_of([jobs[READ]['read']]),
        }
        iops = ' '.join(['iops', *(str(jobs[rank]['read']['iops']) for rank in _SEEKERS)])
        return Measurement(
            metrics=(
                *(bandwidth(name, size, seconds[name], figure) for name, figure in figures.items()),
                rate('seeks', seeks_of(point), seconds['seeks'], iops),
            ),
            world_size=1,
            hosts=(process.host,),
            clock_s=CLOCK_S,
            bytes_moved=size,
            tasks=(TaskTime(0, process.host, size, 0.0, sum(seconds.values())),),
            fsync=True,
        )


_SEEKERS = range(SEEK, SEEK + SEEKERS)


def _of_log(jobs: List[Any], rank: int, log: str, point: Point) -> List[Moved]:
    """What a replay moved in each direction; it has to be all that its log has."""
    found = []
    for direction in ('read', 'write'):
        meant = log.count(f' {direction} ') * point.data.transfer_size
        done = field(jobs[rank], direction, dict)
        if meant:
            found.append(moved_of(done, jobs[rank], rank, meant))
        elif field(done, 'io_bytes', int):
            raise EngineError('P15', f'task {rank} was to {direction} nothing')
    return found


def _seeks(point: Point, rng: random.Random) -> List[List[str]]:
    """Of each seeker; it reads at a random place, and writes one in UPDATED back."""
    size = point.data.transfer_size
    own: List[List[str]] = [[] for _ in range(SEEKERS)]
    for number in range(seeks_of(point)):
        offset = size * rng.randrange(point.data.transfers)
        lines = own[number % SEEKERS]
        lines.append(f'read {offset} {size}')
        if rng.randrange(UPDATED) == 0:
            lines.append(f'write {offset} {size}')
    return own
