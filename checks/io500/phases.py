"""IO500's patterns phase by phase, each cold, repeated and with an interval, which IO500 itself has not, and IO500 by
its own program, where that is installed.

A session that has all phases has a score of its own, where they kept the rules (seatrial.judge.io500)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.access import data_access
from seatrial.workload.io500 import HARD_BYTES, SMALL_BYTES, io500
from seatrial.workload.random import random_access
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

ALL = ('create', 'stat', 'read', 'remove')


@trial
class Io500EasyData(Check):
    """Easy bandwidth: a file a task, in transfers of 2 MiB."""

    workload = data_access(files='multiple', transfer_size='2MiB', bytes_per_task='64GiB')
    sweep = Sweep('transfer_size', ('2MiB',))
    every_point = True


@trial
class Io500HardData(Check):
    """Hard bandwidth: one shared file, dealt round-robin in transfers of 47008 bytes."""

    workload = data_access(
        'single', 'segment', 'strided', transfer_size=HARD_BYTES, bytes_per_task=HARD_BYTES * 2**20
    )
    sweep = Sweep('transfer_size', (HARD_BYTES,))
    every_point = True


@trial
class Io500EasyMetadata(Check):
    """Easy metadata: empty files, each task in a directory of its own."""

    workload = metadata_tree(
        ('create', 'stat', 'remove'), files_per_directory=10_000, subtrees='private', scales=True
    )
    sweep = Sweep('tree', (('private', {}),))
    every_point = True


@trial
class Io500HardMetadata(Check):
    """Hard metadata: files of 3901 bytes of all tasks in one directory."""

    workload = metadata_tree(ALL, files_per_directory=10_000, bytes_per_file=SMALL_BYTES, scales=True)
    sweep = Sweep('tree', (('shared', {}),))
    every_point = True


@trial
class Io500Find(Check):
    """Find: all files of easy and of hard metadata are gone through, by their names and sizes."""

    workload = metadata_tree(('create', 'find', 'remove'), files_per_directory=10_000, scales=True)
    sweep = Sweep('tree', (('private', {'subtrees': 'private'}), ('shared', {'bytes_per_file': SMALL_BYTES})))
    every_point = True


@trial
class Io500RandomReads(Check):
    """Random reads of 4 KiB from a file a task, through the page cache; they are no part of the score."""

    workload = random_access(('randread',), working_set='64GiB', direct=False)
    sweep = Sweep('transfer_size', ('4KiB',))
    every_point = True


@trial
class Io500(Check):
    """IO500's phases by its own program, once: its score where its rules were kept; not a submission."""

    workload = io500('64GiB')
    sweep = Sweep('variant', (('all', {}),))
    every_point = True
