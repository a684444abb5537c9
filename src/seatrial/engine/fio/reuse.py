"""fio as an engine of files used again in place. An update replays a log: read and write of each transfer."""

from typing import Iterable, List, Optional

from seatrial.engine.base import Command, reads_of_next_node
from seatrial.engine.fio.access import Fio, common_options
from seatrial.engine.fio.process import job_file
from seatrial.model.point import Point
from seatrial.workload.access import file_name
from seatrial.workload.base import READ, WRITE
from seatrial.workload.registry import phase_of, phases_of

MAX_LOGGED = 2**16  # transfers of a task, each two lines of its log

_LOG = 'read_iolog='


class FioReuse(Fio):
    """Writes and reads are those of data access, on files that stay."""

    kinds = ('reuse',)

    def cannot(self, point: Point) -> Optional[str]:
        if any(each.mixed for each in phases_of(point)) and point.data.transfers > MAX_LOGGED:
            return f'cannot update {point.data.transfers} transfers a task: its log would have more than {MAX_LOGGED}'
        return super().cannot(point)

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        """An update is of a task's own file."""
        return reads_of_next_node(point, phase) and not phase_of(point, phase).mixed

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """As of data access; an update has a log a task beside it, raw + '.RANK.iolog'."""
        command = super().command(program, phase, point, raw, seed)
        if not phase_of(point, phase).mixed:
            return command
        jobs = {path: text.replace(_LOG, f'{_LOG}{raw}.') for path, text in command.inputs.items()}
        logs = {
            f'{raw}.{rank}.iolog': log_of(file_name(point, rank), updates_of(point)) for rank in range(point.tasks)
        }
        return command._replace(inputs={**jobs, **logs})

    def _job_file(self, phase: str, point: Point, ranks: Iterable[int], randseed: int) -> str:
        does = phase_of(point, phase)
        if does.makes:
            return super()._job_file(phase, point, ranks, randseed)
        if not does.mixed:
            text = super()._job_file(self._directions(phase, point)[0], point, ranks, randseed)
            # fio empties the node's cache of a file before it begins, unless it is told not to.
            return text.replace('create_on_open=1', 'allow_file_create=0').replace(
                'invalidate=1', f'invalidate={int(not does.warm)}'
            )
        common = common_options(point, randseed)
        common.update({'allow_file_create': 0, 'end_fsync': 1, 'invalidate': 1})
        return job_file(common, {rank: {'read_iolog': f'{rank}.iolog'} for rank in ranks})

    def _directions(self, phase: str, point: Point) -> List[str]:
        return [each for each in phase_of(point, phase).does if each in (READ, WRITE)]


def updates_of(point: Point) -> List[str]:
    """Each transfer of a file is read and then written back, as lines of a log."""
    size = point.data.transfer_size
    offsets = range(0, point.data.bytes_per_task, size)
    return [f'{does} {offset} {size}' for offset in offsets for does in ('read', 'write')]


def log_of(name: str, lines: List[str]) -> str:
    """A log of fio's, of what is done with one file."""
    return '\n'.join(['fio version 2 iolog', *(f'{name} {line}' for line in ('add', 'open', *lines, 'close')), ''])
