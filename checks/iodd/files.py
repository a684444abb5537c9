"""IODD: files of all tasks through MPI-IO, by numbers of tasks, file sizes and interface (Calderon, HLRS)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import CALDERON
from seatrial.judge.expectations import PointRatio, StaysBelow
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep, tasks_by_sizes

WRITES = data_access(files='multiple', operations=('write',), interface='mpiio', opening=True)


@trial
class TasksByFileSizes(Check):
    """Files of 1 to 16 GiB, written by 1 to 32 tasks through MPI-IO: bandwidth of a node, share of time in open."""

    workload = WRITES._replace(scales=False)
    sweep = tasks_by_sizes((1, 2, 4, 8, 16, 32), ('1GiB', '4GiB', '16GiB'))
    every_point = True
    expectations = (
        PointRatio(
            metric='write_per_node',
            at='4tasks-4GiB',
            than='16tasks-4GiB',
            id='GP-07a',
            words='the bandwidth of a node falls with the number of its processes',
            source=CALDERON,
        ),
        StaysBelow(
            metric='write_open_share',
            limit=0.05,  # chosen: the source gives no figure
            id='GP-07b',
            words='with large files metadata are not the main bottleneck',
            source=CALDERON,
        ),
    )


@trial
class InterfacesOfFiles(Check):
    """One file per task, written through POSIX calls and through MPI-IO, in one allocation."""

    workload = WRITES
    sweep = Sweep('variant', tuple((name, {'interface': name}) for name in ('posix', 'mpiio')))
    every_point = True
    expectations = (
        PointRatio(
            metric='write',
            at='mpiio',
            than='posix',
            id='GP-08',
            words='writing through MPI-IO is no slower than through POSIX calls',
            source=CALDERON,
        ),
    )
