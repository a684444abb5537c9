"""The settings of a file system at two times, compared."""

from typing import Dict, List, NamedTuple, Optional


class Change(NamedTuple):
    """A setting that differs between two times; None where it is missing at one of them."""

    key: str
    before: Optional[str]
    after: Optional[str]


UNREAD = 'unknown: '  # begins the value of a setting that could not be read; the reason follows
REMEMBERED = 'evictions'  # what a node remembers of late, separated by semicolons: what it forgets is no change
NONE_REMEMBERED = 'none remembered'


def changes(before: Dict[str, str], after: Dict[str, str]) -> List[Change]:
    """The settings that were read at both times and differ, by key. A setting that is missing counts as read, unless
    others could not be read at that time: it may be one of them."""
    return [
        Change(key, before.get(key), after.get(key))
        for key in sorted(set(before) | set(after))
        if before.get(key) != after.get(key)
        and not _forgotten(key, before.get(key), after.get(key))
        and _was_read(key, before, after)
        and _was_read(key, after, before)
    ]


def unread(state: Dict[str, str], other: Dict[str, str]) -> Dict[str, str]:
    """The settings that could not be read in this state, with the reason; without those that neither state has."""
    lost = {key: value[len(UNREAD) :] for key, value in state.items() if value.startswith(UNREAD)}
    return {key: why for key, why in lost.items() if not other.get(key, '').startswith(UNREAD)}


def _was_read(key: str, state: Dict[str, str], other: Dict[str, str]) -> bool:
    return not state[key].startswith(UNREAD) if key in state else not unread(state, other)


def _forgotten(key: str, before: Optional[str], after: Optional[str]) -> bool:
    """True for states that the driver remembers, if all of those after were there before."""
    if key != REMEMBERED or before is None or after is None:
        return False
    return {*after.split('; ')} <= {*before.split('; '), NONE_REMEMBERED}
