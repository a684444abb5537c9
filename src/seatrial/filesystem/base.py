"""What every file-system type offers. Only this room knows `lfs` and its like.

Nothing here may hang: whatever asks a file system that may be dead asks through probe.ask, with a deadline.
"""

from typing import Dict, List, NamedTuple, Optional

from seatrial.model.layout import Layout

EMPTYING_S = 600.0


class Capacity(NamedTuple):
    """What an ordinary user may still use: bytes and inodes; None is unknown or unlimited."""

    bytes: Optional[int]
    inodes: Optional[int]


class Cold(NamedTuple):
    """Whether this user can empty what this node has cached of the files under a path.

    how:     what is emptied, and by what, for the record; empty where nothing can be
    why_not: empty where it is possible; else a sentence with what forbids it
    kept:    what this node answers from memory all the same, in a few words, or empty; what servers keep, P16 treats
    """

    how: str
    why_not: str = ''
    kept: str = ''

    @property
    def possible(self) -> bool:
        """Whether empty_client_cache is worth a call. Whether a read was cold then, only counters tell (rule P2)."""
        return not self.why_not


class Change(NamedTuple):
    """A setting that is not the same at two times; None where one of the two has no such key."""

    key: str
    before: Optional[str]
    after: Optional[str]


class FileSystem:
    """The interface of a type. It has no state but its name; each method says what it does on a type that lacks it.

    tried:     where the driver has measured for real ('GlusterFS 10.3, Linux 6.1'); empty is untried
    no_layout: why no layout can be set, as a sentence that begins 'no layout'; empty where layouts can be set
    """

    tried = ''
    no_layout = 'no layout: this type has none that a user could set'

    def __init__(self, type: str) -> None:
        self.type = type

    def capacity(self, path: str) -> Capacity:
        """Free bytes and inodes, before the quota. Raises OSError."""
        raise NotImplementedError

    def quota(self, path: str) -> Capacity:
        """What the user's own quota leaves; None where there is none or it cannot be asked."""
        raise NotImplementedError

    def state(self, path: str) -> Dict[str, str]:
        """The settings that a figure depends on: versions, mount options, volume options, tunables. Never raises.

        Recorded at the start and the end of a session: changes() compares the two. What this user cannot read has
        the value 'unknown: ' with the reason; what moves by itself (free space, counters of traffic) is not in it.
        """
        raise NotImplementedError

    def layout_fault(self, layout: Layout, path: str = '') -> Optional[str]:
        """Why the layout cannot be set and proved here, as a sentence, or None. Asked before anything is written.

        path: a directory of the file system, where its targets and pools are to be looked at; '' looks at nothing.
        """
        if layout.is_default:
            return None
        return f"the layout '{layout.name}' cannot be set on a file system of type {self.type}: {self.no_layout}"

    def set_layout(self, directory: str, layout: Layout) -> Optional[str]:
        """Give an empty directory the layout that new files in it are to have. What went wrong, or None."""
        return self.layout_fault(layout)

    def layout_differs(self, file: str, layout: Layout) -> Optional[str]:
        """How the layout that the file has differs from the one that was asked for, both said; or None."""
        return self.layout_fault(layout)

    def cold(self, path: str) -> Cold:
        """Whether and how this user can empty this node's caches of files under the path. Changes nothing.

        By permission alone: that the site allows it is the caller's to know, since it may concern the whole node.
        """
        return Cold('', f'it is not known how a client of type {self.type} empties its caches')

    def empty_client_cache(self, path: str, deadline_s: float = EMPTYING_S) -> Optional[str]:
        """Empty what this node has cached of the files under the path; what is not yet written is written first.

        Returns None, or one sentence on what could not be done: the next read is then of unknown temperature, and
        is labelled so. Never blocks for longer than about deadline_s seconds. Outside of timed regions.
        """
        return self.cold(path).why_not or None

    def forget(self, path: str) -> None:
        """Ask this node to drop what it has cached of a file that is synced. Whether it did, only counters tell."""
        raise NotImplementedError

    def reads_are_counted(self, path: str) -> bool:
        """Whether the kernel counts a process's reads from storage for files under this path (rule P2)."""
        raise NotImplementedError

    def fetched_bytes(self, path: str) -> Optional[int]:
        """Bytes that this node's client has read from its servers so far, all processes together; None is unknown.

        The difference over a timed region is the proof of a cold read where reads_are_counted says no (rule P2).
        """
        return None


def changes(before: Dict[str, str], after: Dict[str, str]) -> List[Change]:
    """What two states of one file system do not have in common, by key."""
    return [
        Change(key, before.get(key), after.get(key))
        for key in sorted(set(before) | set(after))
        if before.get(key) != after.get(key)
    ]
