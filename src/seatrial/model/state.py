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
    changed = []
    for key in sorted(set(before) | set(after)):
        first, later = before.get(key), after.get(key)
        if first == later or _is_unread(first) or _is_unread(later) or _forgotten(key, first, later):
            continue
        if (first is None and unread(before, after)) or (later is None and unread(after, before)):
            continue
        changed.append(Change(key, first, later))
    return changed


def unread(state: Dict[str, str], other: Dict[str, str]) -> Dict[str, str]:
    """The settings that could not be read in this state, with the reason; without those that neither state has."""
    return {
        key: value[len(UNREAD) :]
        for key, value in state.items()
        if _is_unread(value) and not _is_unread(other.get(key))
    }


def filled(state: Dict[str, str], later: Dict[str, str]) -> Dict[str, str]:
    """The state, with what could not be read in it as it was read later."""
    gaps = unread(state, later)
    return {**later, **{key: value for key, value in state.items() if key not in gaps}} if gaps else state


def _is_unread(value: Optional[str]) -> bool:
    return value is not None and value.startswith(UNREAD)


def _forgotten(key: str, before: Optional[str], after: Optional[str]) -> bool:
    """True for states that the driver remembers, if all of those after were there before."""
    if key != REMEMBERED or before is None or after is None:
        return False
    return {*after.split('; ')} <= {*before.split('; '), NONE_REMEMBERED}
