"""Limits that are reached in the middle of a write: the state of the files that a user has then."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import LIMITS
from seatrial.workload.limits import ALL_BYTES, ALL_INODES, QUOTA_BYTES, QUOTA_INODES, until
from seatrial.workload.sweep import Sweep


@trial
class QuotaOfBytes(Check):
    """Every task writes until the quota of its user, group or project refuses more; all data it wrote are intact."""

    workload = until(QUOTA_BYTES)
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = LIMITS


@trial
class QuotaOfInodes(Check):
    """Every task creates files until the quota of its user, group or project refuses more; all of them exist."""

    workload = until(QUOTA_INODES)
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = LIMITS


@trial
class FullOfBytes(Check):
    """Every task writes until the file system is full; all data it wrote are intact."""

    workload = until(ALL_BYTES)
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = LIMITS


@trial
class FullOfInodes(Check):
    """Every task creates files until the file system has no inode left; all of them exist."""

    workload = until(ALL_INODES)
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = LIMITS
