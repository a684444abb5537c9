"""The change point: transfers in fine steps around 128 KiB, to a shared file (SFSA) and a file per process (MFWA)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import CALDERON
from seatrial.judge.expectations import ChangePoint, CurveRatio
from seatrial.model.units import KIB
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

SIZES = (32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 256)
ROUND_128_KIB = Sweep('transfer_size', tuple(f'{size}KiB' for size in SIZES))
HALF = '1048320KiB'
"""Half of the 2 GB that the source's two tasks write: the largest share below it that every transfer size divides."""


@trial
class SharedFileChangePoint(Check):
    """SFSA contiguous: writes of one segment per task, in transfers around 128 KiB (IOP; Calderon)."""

    workload = data_access(files='single', extent='segment', operations=('write',), bytes_per_task=HALF)
    sweep = ROUND_128_KIB
    every_point = True
    expectations = (
        ChangePoint(
            over='transfer_size',
            first=112 * KIB,
            last=160 * KIB,
            times=1.2,  # chosen: the source gives no figure
            id='GP-11',
            words='writing a shared file becomes faster at once at transfers of 128 KiB',
            source=CALDERON,
        ),
    )


@trial
class MultipleFilesChangePoint(Check):
    """MFWA (file per process): writes of one file per task, in transfers around 128 KiB (IOP; Calderon)."""

    workload = data_access(files='multiple', operations=('write',), bytes_per_task=HALF)
    sweep = ROUND_128_KIB
    every_point = True
    expectations = (
        CurveRatio(
            of='SharedFileChangePoint',
            id='GP-10',
            words='writing a file a task is no slower than writing a shared file',
            source=CALDERON,
        ),
    )
