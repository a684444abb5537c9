"""Striping: what the sources set, and how far it matters; stripe count x stripe size, on which a site chooses the
layout of its users; overstriping: several stripes of one file on each OST, for more locks and objects at a time
(Lustre 2.13)."""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.check.literature import FERMILAB_2011
from seatrial.filesystem.lustre.layout import ALL, striped
from seatrial.judge.expectations import MARGIN_5, Insensitive, PointRatio
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep

SOURCES = (
    striped(),
    striped('c1', 1),
    striped('c4-64KiB', 4, '64KiB'),  # Boito et al. 2009, from a random target
    striped('c3-4MiB', 3, '4MiB'),  # Fermilab 2011
    striped('c2-1MiB', 2, '1MiB'),  # Fermilab 2011
    striped('all-1MiB', ALL, '1MiB'),  # Dai, Gatla and Zheng (LFSCK)
)
NO_EFFECT = (
    Insensitive(
        to='layout',
        margin=MARGIN_5,  # 5 %, and as much again for the precision of two means
        id='FN-05',
        words='striping has an effect of at most 5 %',
        source=FERMILAB_2011,
    ),
)
STRIPE_COUNTS = (1, 2, 4, 8, ALL)
STRIPE_SIZES = ('64KiB', '1MiB', '4MiB', '16MiB')
STRIPE_MAP = (
    striped(),
    *(
        striped(f'{"all" if count == ALL else f"c{count}"}-{size}', count, size)
        for count in STRIPE_COUNTS
        for size in STRIPE_SIZES
    ),
)
OVERSTRIPED = (
    striped(),
    striped('all', ALL),
    *(striped(f'over-{count}', overstripe_count=count) for count in (16, 32, 64, 128)),
)


@trial
class StripingMultipleFiles(Check):
    """MFWA (file per process) in the layouts of the sources: every task its own file (Fermilab 2011)."""

    workload = data_access(files='multiple')
    sweep = Sweep('layout', SOURCES)
    max_relative_error = 0.05
    expectations = (
        *NO_EFFECT,
        PointRatio(
            metric='read',
            at='c3-4MiB',
            than='c1',
            lowest=1.0,
            highest=1.06,  # 4.4 and 5.3 % there
            id='FN-09',
            words='reading files in 4 MiB stripes on 3 targets is about 5 % faster than on one',
            source=FERMILAB_2011,
        ),
    )


@trial
class StripingSharedFile(Check):
    """SFSA contiguous in the layouts of the sources: a segment a task of a single shared file (Fermilab 2011)."""

    workload = data_access(files='single', extent='segment')
    sweep = Sweep('layout', SOURCES)
    max_relative_error = 0.05
    expectations = NO_EFFECT


@trial
class StripeMapMultipleFiles(Check):
    """MFWA (file per process) over stripe counts and stripe sizes: every task its own file."""

    workload = data_access(files='multiple')
    sweep = Sweep('layout', STRIPE_MAP)


@trial
class StripeMapSharedFile(Check):
    """SFSA contiguous over stripe counts and stripe sizes: a segment a task of a single shared file."""

    workload = data_access(files='single', extent='segment')
    sweep = Sweep('layout', STRIPE_MAP)


@trial
class OverstripingSharedFile(Check):
    """SFSA contiguous over numbers of stripes, more than there are OSTs: a segment a task of a single shared file."""

    workload = data_access(files='single', extent='segment')
    sweep = Sweep('layout', OVERSTRIPED)
