"""Rules that look at the data which the warm-up wrote."""

import zlib
from typing import NamedTuple, Optional, Tuple

from seatrial.model.plan import TrialPlan
from seatrial.rules.registry import WARMUP, rule

INCOMPRESSIBLE = 0.90  # fio's random words have 61 random bits of 64 (lib/rand.c): they compress to 95 %


class Warmed(NamedTuple):
    """blocks: the first bytes of up to two files, or of two places in one file, as the engine wrote them."""

    plan: TrialPlan
    blocks: Tuple[bytes, ...]


@rule(
    'P4',
    'The data do not compress, and no two places hold the same',
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
    if len(warmed.blocks) > 1 and len(set(warmed.blocks)) == 1:
        return 'the engine writes the same data in two places'
    return None
