"""Random I/O: small transfers at random places of files that are larger than a cache. A skim is an analysis that
reads parts of several files and computes on each part (Fermilab 2011)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.random import random_access
from seatrial.workload.sweep import Sweep, powers_of_two

THINK_S = 0.005  # chosen; the source has no value
SKIMMED = Sweep('variant', (('own', {}), ('several', {'files': 'several'})))


@trial
class RandomReadQueueDepths(Check):
    """Random reads of 4 KiB with O_DIRECT, over queue depths: IOPS, and latencies up to p99.9."""

    first = True
    workload = random_access(('randread',), working_set='64GiB')
    sweep = Sweep('queue_depth', powers_of_two(1, 64))


@trial
class RandomTransferSizes(Check):
    """Random reads, then random writes, of 4 KiB to 1 MiB with O_DIRECT, one transfer in flight per task."""

    workload = random_access(('randread', 'randwrite'), working_set='64GiB')
    sweep = Sweep('transfer_size', powers_of_two('4KiB', '1MiB'))


@trial
class RandomMixed(Check):
    """70 % random reads and 30 % random writes of 4 KiB with O_DIRECT, over queue depths."""

    workload = random_access(('randrw',), working_set='64GiB', read_share=0.7)
    sweep = Sweep('queue_depth', (1, 16))


@trial
class RandomReadCached(Check):
    """Random reads of 4 KiB to 1 MiB through the page cache, as in an application without O_DIRECT."""

    workload = random_access(('randread',), working_set='64GiB', direct=False)
    sweep = Sweep('transfer_size', powers_of_two('4KiB', '1MiB'))


@trial
class RandomMapped(Check):
    """Random reads, then random writes, of 4 KiB and 64 KiB by mmap(2): page faults, and msync at the end."""

    workload = random_access(('randread', 'randwrite'), working_set='64GiB', direct=False, interface='mmap')
    sweep = Sweep('transfer_size', ('4KiB', '64KiB'))


@trial
class SkimReads(Check):
    """Random reads of 64 KiB with think time: one file per task, then ten files per task, each read by ten tasks."""

    workload = random_access(('randread',), '315GiB', '64KiB', direct=False, think_s=THINK_S)
    sweep = SKIMMED
    covers = ('FN-06', 'FN-10')


@trial
class SkimReadsAndWrites(Check):
    """As SkimReads, with 55 % writes: the source has 2.63 MB/s of reads and 3.25 MB/s of writes for a client."""

    workload = random_access(('randrw',), '315GiB', '64KiB', direct=False, read_share=0.45, think_s=THINK_S)
    sweep = SKIMMED
    covers = ('FN-07',)
    every_point = True
