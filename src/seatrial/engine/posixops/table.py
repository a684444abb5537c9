"""The kinds of workload that posixops carries out: each has its part in a file of this folder."""

from typing import Dict

from seatrial.engine.posixops import (
    ageing,
    burst,
    contention,
    limits,
    listing,
    operations,
    programs,
    scenario,
    semantics,
    training,
    tree,
)
from seatrial.engine.posixops.part import Part

PARTS: Dict[str, Part] = {
    'tree': tree.PART,
    'listing': listing.PART,
    'operations': operations.PART,
    'interactive': programs.PART,
    'contention': contention.PART,
    'training': training.PART,
    'burst': burst.PART,
    'ageing': ageing.PART,
    'semantics': semantics.PART,
    'limits': limits.PART,
    'scenario': scenario.PART,
}
