"""The kinds of workload that posixops carries out: each has its part in a file of this folder."""

from typing import Dict

from seatrial.engine.posixops import (
    ageing,
    burst,
    contention,
    interactive,
    limits,
    listing,
    operations,
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
    'interactive': interactive.PART,
    'contention': contention.PART,
    'training': training.PART,
    'burst': burst.PART,
    'ageing': ageing.PART,
    'semantics': semantics.PART,
    'limits': limits.PART,
    'scenario': scenario.PART,
}
