"""The settings of a file system at two times, compared."""

from typing import Dict, List, NamedTuple, Optional


class Change(NamedTuple):
    """A setting that differs between two times; None where it is missing at one of them."""

    key: str
    before: Optional[str]
    after: Optional[str]


REMEMBERED = 'evictions'  # what a node remembers of late, separated by semicolons: what it forgets is no change
NONE_REMEMBERED = 'none remembered'


def changes(before: Dict[str, str], after: Dict[str, str]) -> List[Change]:
    """The settings that differ between two states of one file system, by key."""
    return [
        Change(key, before.get(key), after.get(key))
        for key in sorted(set(before) | set(after))
        if before.get(key) != after.get(key) and not _forgotten(key, before.get(key), after.get(key))
    ]


def _forgotten(key: str, before: Optional[str], after: Optional[str]) -> bool:
    """True for states that the driver remembers, if all of those after were there before."""
    if key != REMEMBERED or before is None or after is None:
        return False
    return {*after.split('; ')} <= {*before.split('; '), NONE_REMEMBERED}
