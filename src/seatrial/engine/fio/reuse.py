"""fio as an engine of files used again: what is there stays, and is written over, updated or read in place.

An update is a replay of a log of fio's (read_iolog): a read and a write of each transfer in turn, for fio's own mixed
jobs have a place of their own for each direction. fio 3.33 was watched with strace doing so.
"""

from typing import Any, Dict, Iterable, List, Optional, Tuple

from seatrial.engine.base import Command
from seatrial.engine.fio.access import Fio, Moved, figure_of
from seatrial.engine.fio.process import field, job_file
from seatrial.model.metric import Metric, bandwidth
from seatrial.model.point import Point
from seatrial.workload.access import file_name
from seatrial.workload.base import READ, WRITE
from seatrial.workload.registry import phase_of, phases_of

MAX_LOGGED = 2**16
"""Transfers of a task, each two lines of its log."""

_LOG = 'read_iolog='


class FioReuse(Fio):
    """Writes and reads are those of data access, on files that stay."""

    kinds = ('reuse',)

    def cannot(self, point: Point) -> Optional[str]:
        """Why fio cannot carry the point out exactly, as half a sentence, or None if it can."""
        if any(each.mixed for each in phases_of(point)) and point.data.transfers > MAX_LOGGED:
            return f'cannot update {point.data.transfers} transfers a task: its log would have more than {MAX_LOGGED}'
        return super().cannot(point)

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        """By writer_of, but for an update, which is of a task's own file."""
        does = phase_of(point, phase)
        return point.nodes > 1 and does.reads and not does.mixed

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """As of data access; an update has a log a task beside it, raw + '.RANK.iolog'."""
        command = super().command(program, phase, point, raw, seed)
        if not phase_of(point, phase).mixed:
            return command
        jobs = {path: text.replace(_LOG, f'{_LOG}{raw}.') for path, text in command.inputs.items()}
        logs = {f'{raw}.{rank}.iolog': _log(point, rank) for rank in range(point.tasks)}
        return command._replace(inputs={**jobs, **logs})

    def _job_file(self, phase: str, point: Point, ranks: Iterable[int], randseed: int) -> str:
        does = phase_of(point, phase)
        if does.makes:
            return super()._job_file(phase, point, ranks, randseed)
        if not does.mixed:
            text = super()._job_file(_directions(phase, point)[0], point, ranks, randseed)
            # fio empties the node's cache of a file before it begins, unless it is told not to.
            return text.replace('create_on_open=1', 'allow_file_create=0').replace(
                'invalidate=1', f'invalidate={int(not does.warm)}'
            )
        common: Dict[str, Any] = {'ioengine': 'psync', 'bs': point.data.transfer_size, 'randseed': randseed}
        common.update({'direct': 1} if point.data.direct else {})
        common.update({'allow_file_create': 0, 'end_fsync': 1, 'invalidate': 1})
        common.update({'disk_util': 0} if point.nodes > 1 else {})
        return job_file(common, {rank: {'read_iolog': f'{rank}.iolog'} for rank in ranks})

    def _moved_by(self, jobs: List[Any], phase: str, point: Point) -> List[Moved]:
        """Of an update each direction has to have moved all; its bytes count once."""
        each = [super(FioReuse, self)._moved_by(jobs, direction, point) for direction in _directions(phase, point)]
        return [max(own, key=lambda moved: moved.seconds) for own in zip(*each)]

    def _metrics(self, jobs: List[Any], phase: str, point: Point, seconds: float) -> Tuple[Metric, ...]:
        done = [field(job, _directions(phase, point)[0], dict) for job in jobs]
        return (bandwidth(phase, point.bytes_moved, seconds, figure_of(done)),)


def _directions(phase: str, point: Point) -> List[str]:
    return [each for each in phase_of(point, phase).does if each in (READ, WRITE)]


def _log(point: Point, rank: int) -> str:
    name, size = file_name(point, rank), point.data.transfer_size
    lines = ['fio version 2 iolog', f'{name} add', f'{name} open']
    for offset in range(0, point.data.bytes_per_task, size):
        lines += [f'{name} read {offset} {size}', f'{name} write {offset} {size}']
    return '\n'.join([*lines, f'{name} close']) + '\n'
