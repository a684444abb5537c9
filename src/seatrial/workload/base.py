"""What every kind of workload says of its points. Nothing here knows an engine, a site or a check."""

from typing import List, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.metric import Measurement, Metric, MetricType
from seatrial.model.plan import Sizing
from seatrial.model.point import Point

COLD, CACHED, UNKNOWN = 'cold', 'cached', 'unknown'
"""What a read, a stat or a listing was (rules P2, P2a, T4); what writes is none of them."""

LISTED_BEFORE = 'listed before'
"""In place of these, where the same launch has listed the same directory before."""


MAX_TASKS = 1_000_000
"""That a check can ask for."""


class Launch(NamedTuple):
    """One phase of a point: what an engine is started for."""

    phase: str
    point: Point


class FileSpec(NamedTuple):
    """A file of a point, relative to the data directory, and its exact size in bytes."""

    name: str
    size: int


class Entries(NamedTuple):
    """Numbers of entries: directories of the tree itself, its root included, and what the tasks put into them."""

    directories: int
    files: int
    empties: int

    @property
    def inodes(self) -> int:
        """Inodes that all of them take."""
        return self.directories + self.files + self.empties


class Footprint(NamedTuple):
    """The most that a case has on disk at once."""

    bytes: int
    inodes: int


class Effort(NamedTuple):
    """How much a profile wants measured. Times in seconds; 0 is no limit, or the source's own number.

    first_bytes:  of a task in the first warm-up, from which the measured launches are sized
    target_s, min_s: what the shortest timed region should last, and what it must
    working_set:  whether no cache may hold the data (rule P16)
    files:        of a task in each flat tree, at first
    phase_s:      what the shortest phase of a tree should last
    tree_bytes:   a task's bytes in a tree at most: fewer files in each directory else
    entries:      of a directory that is listed, at most; larger ones are left out
    pause_s:      the longest pause before a listing; longer ones are left out
    """

    first_bytes: int = 0
    target_s: float = 0.0
    min_s: float = 0.5
    working_set: bool = False
    files: int = 0
    phase_s: float = 0.0
    tree_bytes: int = 0
    entries: int = 0
    pause_s: float = 0.0


class Kind:
    """A kind of workload. It has no state; everything that it says is of the point that it is given.

    name:      as points and records have it
    words:     as people read it, after 'no engine can measure'
    title:     over the table of its cases in a report, which those of another kind with this title share
    columns:   of that table, each with the metrics that can stand in it, of which the first that a case has does;
               none: every metric has its own
    parameters: the fields of a point that it has, beside those that every kind has; a sweep can vary no other
    of_trial:  those of them that a trial of a site may fix, because no check is about them
    moves_data: whether its figures are of bytes that reach the storage: fsync, cold reads and caches (P1, P2, P16)
               are asked of it; else of entries (T4, T17a, P16a)
    by_darshan: whether a Darshan log shows what was meant (P15)
    compares_in_launch: whether one launch compares the cache with the servers, so that both are as meant
    short_ok:  whether a launch may be short, which a label then says (T20a)
    once:      whether one launch decides, without warm-up: what it measures happens once
    """

    name = ''
    words = ''
    title = ''
    columns: Tuple[Tuple[str, Tuple[str, ...]], ...] = ()
    parameters: Tuple[str, ...] = ()
    of_trial: Tuple[str, ...] = ()
    moves_data = False
    by_darshan = False
    compares_in_launch = False
    short_ok = False
    once = False

    def fault(self, point: Point) -> Optional[str]:
        """What is contradictory in the point, as 'field: sentence', or None. Checked when a check is declared."""
        raise NotImplementedError

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        """What one launch measures."""
        raise NotImplementedError

    def derived(self, point: Point, phase: str, measurement: Measurement) -> Tuple[Metric, ...]:
        """Those of its metrics that follow from what any engine gives."""
        return ()

    def sentence(self, points: Sequence[Point]) -> str:
        """What a case does, for people, without its end mark: 'Every task writes a file of its own'."""
        raise NotImplementedError

    def title_of(self, point: Point) -> str:
        """What the workload is called, for people, in a few words."""
        return self.words

    def totals(self, point: Point) -> str:
        """What is on disk, for people: '8 files of 64 MiB (512 MiB)'."""
        raise NotImplementedError

    def keeps(self, point: Point) -> bool:
        """Whether what its last repetition made stays when the case ends, until `seatrial clean` removes it."""
        return False

    def share_words(self, share: int) -> str:
        """What each task does, for people: '64 MiB', '1000 files'."""
        raise NotImplementedError

    def fits(self, point: Point, effort: Effort, pinned: Optional[int]) -> bool:
        """Whether a profile takes the point, or it is too large for it; pinned: the site's own share of a task."""
        return True

    def adapted(self, point: Point, effort: Effort) -> Point:
        """The point as a profile wants it: a smaller tree, fewer pauses."""
        return point

    def sizing(self, points: Sequence[Point], effort: Effort, pinned: Optional[int]) -> Sizing:
        """How much each task does, or how that is found out; pinned: the site's own share.

        Raises ValueError for a share that the points cannot have.
        """
        raise NotImplementedError

    def resized(self, point: Point, share: int) -> Point:
        """The point with another share of each task: bytes, or files. What it means stays the same.

        A point that does not scale stays as it is. Raises ValueError for bytes that do not divide.
        """
        return point

    def share_for(self, point: Point, working_set: int) -> int:
        """The share of a task with which all files together have at least so many bytes; 0: none has."""
        return 0

    def share_of(self, point: Point) -> int:
        """The share that the point has."""
        return 0

    def preparations(self, points: Sequence[Point]) -> List[Launch]:
        """The launches that make what is only read or listed; none of a workload that makes it itself."""
        return []

    def files(self, point: Point) -> Tuple[FileSpec, ...]:
        """Every file with its size that is there after a write, and before a read; none where `entries` count."""
        return ()

    def entries(self, point: Point, phase: str) -> Entries:
        """What is on disk after the phase, below the data directory; of data its files."""
        return Entries(0, len(self.files(point)), 0)

    def entry_sizes(self, point: Point) -> Tuple[int, ...]:
        """Bytes that a file among its entries can have."""
        return (point.bytes_per_file,)

    def footprint(self, points: Sequence[Point]) -> Footprint:
        """The most that these points have on disk at once."""
        raise NotImplementedError

    def bytes_of(self, point: Point) -> int:
        """Bytes that one phase moves, all tasks together; of metadata those that its files hold."""
        return point.bytes_moved

    def moved(self, point: Point, phase: str) -> Tuple[Optional[int], Optional[int]]:
        """Bytes that one launch writes and reads, all tasks together; None: a measurement alone tells."""
        size = self.bytes_of(point)
        return (size if self.writes(phase) else 0), (size if self.reads(phase) else 0)

    def amount(self, point: Point) -> int:
        """What the time of a launch grows with: bytes moved, or entries; 0 where its time is given."""
        raise NotImplementedError

    def weight(self, point: Point) -> Tuple[int, int]:
        """Orders the points of a case: the least has the shortest timed region."""
        raise NotImplementedError

    def reads(self, phase: str) -> bool:
        """Whether what the phase asks for may come from a cache."""
        raise NotImplementedError

    def writes(self, phase: str) -> bool:
        """Whether it writes data that must have reached the storage when its time ends (P1)."""
        return False

    def needs_files(self, phase: str) -> bool:
        """Whether all files of the point must be there in full before it (T17); else none may be there."""
        return self.reads(phase)

    def exact_bytes(self, point: Point) -> Optional[int]:
        """Bytes that each task moves in one phase; None where its time ends it."""
        return point.bytes_per_task

    def step(self, point: Point) -> int:
        """Bytes of which a task's share is a multiple, however small it is, for a kind that moves data."""
        return point.transfer_size

    def timed_s(self, measurement: Measurement) -> float:
        """What the engine timed of a launch, in seconds: its metrics are of one region."""
        return measurement.seconds

    def found_warm(self, phase: str) -> str:
        """Why caches are not emptied before a phase that reads, as a clause; empty: they are, where they can be."""
        return ''

    def buffers(self, point: Point) -> int:
        """Bytes of memory that the tasks of a node take for their data; 0: little."""
        return 0

    def as_access(self, point: Point) -> Point:
        """The data access in whose way contents are proved, for a kind that moves data."""
        return point

    def fills(self, point: Point) -> str:
        """What it takes all of that a limit leaves: 'bytes' or 'inodes'; empty: nothing."""
        return ''

    def hurts(self, point: Point) -> str:
        """What it does to others, before the name of a storage system: that must be typed. Empty: nothing."""
        return ''

    def makes(self, phase: str) -> bool:
        """Whether files lie there after it that it has made."""
        raise NotImplementedError

    def cache_of(self, metric: str, launch: str) -> str:
        """What a metric was, of a launch that was COLD, CACHED, UNKNOWN or, where it is not asked, empty."""
        return launch

    def metric_words(self, metric: str) -> str:
        """A metric as people read it."""
        return metric
