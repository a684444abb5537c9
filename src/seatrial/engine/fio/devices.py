"""fio as an engine of raw devices, which it opens to read and nothing else (strace, fio 3.33). It does not invalidate
their caches, for the ioctl(2) BLKFLSBUF writes what is dirty first."""

from typing import Any, Dict, Iterable, List

from seatrial.engine.base import Command
from seatrial.engine.fio.access import Fio
from seatrial.engine.fio.process import job_file
from seatrial.model.point import Point
from seatrial.workload.base import READ
from seatrial.workload.devices import DEVICE, part_of
from seatrial.workload.registry import phase_of

READ_ONLY = '--readonly'


class FioDevices(Fio):
    """Files are those of data access; a device is read with the same calls."""

    kinds = ('device',)

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """As of data access. fio ends with READ_ONLY if any job could write."""
        command = super().command(program, phase, point, raw, seed)
        if DEVICE not in phase_of(point, phase).does:
            return command
        return command._replace(argvs=tuple((argv[0], READ_ONLY, *argv[1:]) for argv in command.argvs))

    def _job_file(self, phase: str, point: Point, ranks: Iterable[int], randseed: int) -> str:
        if DEVICE not in phase_of(point, phase).does:
            return super()._job_file(phase, point, ranks, randseed)
        common: Dict[str, Any] = {'ioengine': 'psync', 'bs': point.data.transfer_size, 'randseed': randseed}
        common.update({'direct': 1, 'allow_file_create': 0, 'invalidate': 0, 'rw': 'read'})
        jobs = {}
        for rank in ranks:
            device, offset = part_of(point, rank)
            own = point.data.bytes_per_task
            jobs[rank] = {'filename': device, 'offset': offset, 'size': own, 'io_size': own}
        return job_file(common, jobs)

    def _directions(self, phase: str, point: Point) -> List[str]:
        return [{DEVICE: READ}.get(phase, phase)]
