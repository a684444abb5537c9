"""The settings of a file system at two times, compared."""

from typing import Dict, List, NamedTuple, Optional


class Change(NamedTuple):
    """A setting that is not the same at two times; None where one of the two has no such key."""

    key: str
    before: Optional[str]
    after: Optional[str]


def changes(before: Dict[str, str], after: Dict[str, str]) -> List[Change]:
    """What two states of one file system do not have in common, by key."""
    return [
        Change(key, before.get(key), after.get(key))
        for key in sorted(set(before) | set(after))
        if before.get(key) != after.get(key)
    ]
