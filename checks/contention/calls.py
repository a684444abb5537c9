"""Contention: the cost of calls if all tasks use the same file at once, or if every task holds many files open."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import CONTENDED
from seatrial.workload.contention import APPEND, LOCK, OPEN, contention
from seatrial.workload.sweep import Sweep


@trial
class SharedLog(Check):
    """20 000 records of 256 B are appended to one file by all tasks at once; no record is lost or torn."""

    first = True
    workload = contention(APPEND, calls=20_000, record='256B')
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = CONTENDED[APPEND]


@trial
class LockHandovers(Check):
    """10 000 locks on parts of one file, each handed over from another task; no change made under a lock is lost."""

    workload = contention(LOCK, calls=10_000)
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = CONTENDED[LOCK]


@trial
class OpenFiles(Check):
    """Every task holds 1000 files open and writes 4 KiB to one after the other, four times."""

    workload = contention(OPEN, record='4KiB', open_files=1000)
    sweep = Sweep('tree', (('own', {}),))
