"""I/O that the tasks of a launch issued, as Darshan recorded it (rule P15)."""

from typing import NamedTuple, Optional, Tuple

from seatrial.model.point import Point

ISSUED = 'issued.json'
MIXED = 'mixed'


class Share(NamedTuple):
    """The share of all transfers that had this size."""

    size: int  # bytes
    share: float


class Done(NamedTuple):
    """One operation over all files of the launch."""

    operation: str
    bytes_moved: int
    transfers: int
    order: str  # 'contiguous', 'strided' or 'random' as in DataPart; 'mixed' for none of them; empty where undecided
    transitions: int  # transfers that had one of the same task before them in the same file; only these have an order
    following: float  # the share of these that began where that one had ended
    forward: float  # the share of these that began anywhere behind it


class Issued(NamedTuple):
    """I/O on those files in which bytes were moved."""

    processes: int  # processes of the launch
    tasks: int  # those that moved bytes, all of them where only their sum is known
    opened: int  # files that were opened, bytes moved in them or not
    files: int  # those in which bytes were moved
    sharing: str  # 'single': a file of several tasks; 'multiple': one task each; 'mixed': neither; empty: no bytes
    extent: str  # 'whole' or 'segment' as in DataPart; empty for neither
    interface: str
    collective: bool
    size: int  # bytes of the files together, up to the last byte that was touched
    done: Tuple[Done, ...]
    sizes: Tuple[Share, ...]  # sizes of the transfers, the most frequent first
    alignment: int  # bytes, of the file system; 0 is unknown
    misaligned: float  # the share of transfers that began off it
    partial: bool  # Darshan marked its records as incomplete
    syncs: Optional[int] = None  # calls of fsync and fdatasync; None in records of before they were counted

    @property
    def order(self) -> str:
        """The order of all operations; 'mixed' where they differ, empty where none has one."""
        orders = {operation.order for operation in self.done} - {''}
        return orders.pop() if len(orders) == 1 else MIXED if orders else ''


class DarshanLaunch(NamedTuple):
    """One launch of the Darshan repetition."""

    phase: str
    point: Point  # the point of its Sample
    issued: Optional[Issued]  # None where it could not be seen; `why` has the reason
    why: str = ''


class DarshanRun(NamedTuple):
    """The Darshan repetition of one case: the content of issued.json."""

    launches: Tuple[DarshanLaunch, ...]
