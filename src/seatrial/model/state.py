"""The settings of a file system at two times, compared."""

from typing import Dict, List, NamedTuple, Optional


class Change(NamedTuple):
    """A setting that is not the same at two times; None where one of the two has no such key."""

    key: str
    before: Optional[str]
    after: Optional[str]


REMEMBERED = 'evictions'  # what a node remembers of late, separated by semicolons: what it forgets is no change
NONE_REMEMBERED = 'none remembered'


def changes(before: Dict[str, str], after: Dict[str, str]) -> List[Change]:
    """What two states of one file system do not have in common, by key."""
    return [
        Change(key, before.get(key), after.get(key))
        for key in sorted(set(before) | set(after))
        if before.get(key) != after.get(key) and not _forgotten(key, before.get(key), after.get(key))
    ]


def _forgotten(key: str, before: Optional[str], after: Optional[str]) -> bool:
    """Whether this is remembered, and all that is so now was so before."""
    if key != REMEMBERED or before is None or after is None:
        return False
    return {*after.split('; ')} <= {*before.split('; '), NONE_REMEMBERED}
