"""Large files in one directory and in several: do metadata matter when nearly all of the time goes to data?"""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import CALDERON
from seatrial.judge.expectations import Insensitive
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree


@trial
class LargeFilesInDirectories(Check):
    """Files of 64 MiB, created and synced by all tasks in one directory and in one per task (IODD; Calderon)."""

    workload = metadata_tree(('create',), files_per_directory=16, bytes_per_file='64MiB', fsync=True)
    sweep = Sweep('tree', (('shared', {}), ('private', {'subtrees': 'private'})))
    every_point = True
    expectations = (
        Insensitive(
            metric='file_create',
            to='tree',
            id='GP-09',
            words='with large files it makes no difference whether they lie in one directory',
            source=CALDERON,
        ),
    )
