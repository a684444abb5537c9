"""Files used again: written, overwritten in place, updated, and read twice, as IOzone and Bonnie++ do."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import CALDERON
from seatrial.judge.expectations import CurveRatio
from seatrial.workload.bonnie import bonnie_file
from seatrial.workload.reuse import file_reuse
from seatrial.workload.sweep import Sweep, surface

AGAIN = ('write', 'rewrite', 'read', 'reread')


@trial
class FileSizesByTransferSizes(Check):
    """IOzone's surface: one task writes, rewrites, reads and re-reads files, by file and transfer size (Calderon)."""

    workload = file_reuse(AGAIN, tasks=1, scales=False)
    sweep = surface(('16MiB', '64MiB', '256MiB', '1GiB'), ('4KiB', '64KiB', '1MiB', '16MiB'))
    every_point = True
    covers = ('GP-06',)


@trial
class FileReuseTasks(Check):
    """IOzone's throughput mode: one file per task, over numbers of tasks (Garzoglio and Chadwick 2011)."""

    workload = file_reuse(AGAIN)
    sweep = Sweep('tasks', (1, 2, 4, 8, 16, 32, 48))
    every_point = True
    covers = ('FN-01',)


@trial
class UpdateInPlace(Check):
    """Bonnie's file: written, every block read and written back in place, and read (Calderon)."""

    workload = file_reuse(('write', 'update', 'read'), transfer_size='64KiB', bytes_per_task='2GiB', tasks=1)
    sweep = Sweep('transfer_size', ('64KiB', '1MiB'))
    every_point = True
    covers = ('GP-05',)


@trial
class BonnieFile(Check):
    """Bonnie's own run: a file written, updated in place, read, and sought in by five processes (Calderon)."""

    workload = bonnie_file()
    sweep = Sweep('transfer_size', ('1MiB',))
    every_point = True
    expectations = tuple(
        CurveRatio(
            metric=metric,
            than='update',
            id=f'GP-05{letter}',
            words=f'{words} a file is no slower than reading and writing it back in place',
            source=CALDERON,
        )
        for letter, metric, words in (('a', 'write', 'writing'), ('b', 'read', 'reading'))
    )
