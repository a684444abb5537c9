"""What every file-system type offers. Only this room knows `lfs` and its like."""

from typing import NamedTuple, Optional

from seatrial.model.layout import Layout


class Capacity(NamedTuple):
    """What an ordinary user may still use: bytes and inodes; None is unknown or unlimited."""

    bytes: Optional[int]
    inodes: Optional[int]


class FileSystem:
    """The interface of a type. It has no state but its name."""

    def __init__(self, type: str) -> None:
        self.type = type

    def capacity(self, path: str) -> Capacity:
        """Free bytes and inodes, before the quota. Raises OSError."""
        raise NotImplementedError

    def quota(self, path: str) -> Capacity:
        """What the user's own quota leaves; None where there is none or it cannot be asked."""
        raise NotImplementedError

    def layout_fault(self, layout: Layout) -> Optional[str]:
        """Why the layout cannot be set and proved here, as a sentence, or None."""
        raise NotImplementedError

    def reads_are_counted(self, path: str) -> bool:
        """Whether the kernel counts a process's reads from storage for files under this path (rule P2)."""
        raise NotImplementedError

    def forget(self, path: str) -> None:
        """Ask this node to drop what it has cached of a file that is synced. Whether it did, only counters tell."""
        raise NotImplementedError
