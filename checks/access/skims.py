"""Skims: analyses that read part of several files at random places, and think about each piece (Fermilab 2011)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.random import random_access
from seatrial.workload.sweep import Sweep

THINK_S = 0.005  # chosen: the source gives none
FILES = Sweep('variant', (('own', {}), ('several', {'files': 'several'})))


@trial
class SkimReads(Check):
    """Random reads of 64 KiB with think time, of one file a task and of ten files that ten tasks read each."""

    workload = random_access(('randread',), '315GiB', '64KiB', direct=False, think_s=THINK_S)
    sweep = FILES
    covers = ('FN-06', 'FN-10')


@trial
class SkimReadsAndWrites(Check):
    """The same with 55 % writes: of one client the source has 2.63 MB/s of reads and 3.25 MB/s of writes."""

    workload = random_access(('randrw',), '315GiB', '64KiB', direct=False, read_share=0.45, think_s=THINK_S)
    sweep = FILES
    covers = ('FN-07',)
    every_point = True
