"""Rules over the data that the warm-up wrote."""

import zlib
from typing import NamedTuple, Optional, Tuple

from seatrial.model.plan import TrialPlan
from seatrial.rules.registry import WARMUP, rule

INCOMPRESSIBLE = 0.90  # fio's random words have 61 random bits of 64 (lib/rand.c): they compress to 95 %


class Warmed(NamedTuple):
    """blocks: the first bytes of up to two files, or of two places in one file, as the engine wrote them.

    repeats: what of the data is there twice in a launch of the size that was decided, as the engine tells it
    cut: why the warm-up ended before its launches were as long as is meant, or empty
    """

    plan: TrialPlan
    blocks: Tuple[bytes, ...]
    repeats: str = ''
    cut: str = ''


@rule(
    'P4',
    'The data do not compress',
    WARMUP,
    'invalid',
    'use an engine that writes random data, or declare compresses: false in trial.yaml',
    'IO500 rules; ZFS compresses and deduplicates',
)
def incompressible(warmed: Warmed) -> Optional[str]:
    if warmed.plan.target.compresses is False:
        return None
    for block in warmed.blocks:
        ratio = len(zlib.compress(block, 1)) / float(len(block)) if block else 1.0
        if ratio < INCOMPRESSIBLE:
            return f'the data that the engine writes compress to {100 * ratio:.0f} %'
    return None


@rule(
    'P4a',
    'On a back end that deduplicates, no two places hold the same data',
    WARMUP,
    'invalid',
    'use an engine whose data do not repeat: fio',
    'IO500 rules; IOR 4.0.0 -l random repeats every 128 MiB, where rand_r(3) is alike for its seeds (utilities.c)',
)
def not_deduplicable(warmed: Warmed) -> Optional[str]:
    return _repeated(warmed) if warmed.plan.target.deduplicates else None


@rule(
    'P4b',
    'It is known whether the back end deduplicates, or no two places hold the same data',
    WARMUP,
    'label',
    'say deduplicates: true or false in trial.yaml; data that repeat cost such a back end next to nothing',
    'as P4a',
)
def deduplication_known(warmed: Warmed) -> Optional[str]:
    return _repeated(warmed) if warmed.plan.target.deduplicates is None else None


@rule(
    'T14a',
    'The warm-up is as long as is meant',
    WARMUP,
    'label',
    'give the trial a larger budget in trial.yaml',
    'the size of the measured launches is extrapolated from the last of the warm-up',
)
def long_enough(warmed: Warmed) -> Optional[str]:
    return warmed.cut or None


def _repeated(warmed: Warmed) -> Optional[str]:
    if warmed.repeats:
        return f'the engine writes the same data in two places: {warmed.repeats}'
    same = len(warmed.blocks) > 1 and len(set(warmed.blocks)) == 1
    return 'the engine writes the same data in two places' if same else None
