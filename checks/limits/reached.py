"""Limits that are reached in the middle of a write: the error for the user, and the data that are complete."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import LIMITS
from seatrial.workload.limits import ALL_BYTES, ALL_INODES, QUOTA_BYTES, QUOTA_INODES, until
from seatrial.workload.sweep import Sweep


@trial
class QuotaOfBytes(Check):
    """Every task writes until the quota of its user, group or project refuses more; all accepted data are whole."""

    workload = until(QUOTA_BYTES)
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = LIMITS


@trial
class QuotaOfInodes(Check):
    """Every task makes files until the quota of its user, group or project refuses more; all files made exist."""

    workload = until(QUOTA_INODES)
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = LIMITS


@trial
class FullOfBytes(Check):
    """Every task writes until the file system is full; all accepted data are whole."""

    workload = until(ALL_BYTES)
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = LIMITS


@trial
class FullOfInodes(Check):
    """Every task makes files until the file system has no inode left; all files made exist."""

    workload = until(ALL_INODES)
    sweep = Sweep('tree', (('all-tasks', {}),))
    expectations = LIMITS
