"""The questions that every kind of workload answers. Nothing here knows an engine, a site or a check."""

from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.metric import Measurement, Metric, MetricType
from seatrial.model.plan import Sizing
from seatrial.model.point import Point

COLD, CACHED, UNKNOWN = 'cold', 'cached', 'unknown'  # cache states of what reads, stats or lists (P2, P2a, T4)
LISTED_BEFORE = 'listed before'  # the state of a directory that the same launch has listed before
MAX_TASKS = 1_000_000  # the most tasks that a check can ask for
CREATE, WRITE, READ, STAT, FIND, LIST = 'create', 'write', 'read', 'stat', 'find', 'list'
VERIFY, REMOVE = 'verify', 'remove'
"""Words for the work of a phase. CREATE makes the files of its point, with their bytes; WRITE is of data that must
have reached the storage when its time ends (P1); VERIFY reads data of the same phase; REMOVE takes all away."""


class Phase(NamedTuple):
    """One phase of a kind of workload: the work of one launch, whichever engine carries it out."""

    name: str  # name in points, samples and engines
    does: Tuple[str, ...]  # words of those above, in this order, or a word of its own kind
    words: str = ''  # a task does it: 'reads once more'
    metrics: Tuple[MetricType, ...] = ()  # all that it can measure; Kind.metrics leaves out what a point has not
    in_turn: Tuple[str, ...] = ()  # metrics that are timed one after the other; none: all are of one region
    warm: str = ''  # why caches are not emptied before it, as a clause; empty: they are, where they can be
    fills: str = ''  # what it takes all of that a limit leaves: 'bytes' or 'inodes'; empty: nothing
    hurts: str = ''  # what it does to others, before the name of a storage system: that must be typed. Empty: nothing
    stays: bool = False  # True if what it made stays when the case ends with it, until `seatrial clean` removes it
    title: str = ''  # what a workload that begins with it is called; none: as its kind

    @property
    def needs(self) -> bool:
        """True if all files of the point must exist in full before the phase (T17); else none may exist."""
        return CREATE not in self.does

    @property
    def reads(self) -> bool:
        """True if its data or names exist before the phase, so that they may come from a cache."""
        return self.needs and any(act in self.does for act in (READ, STAT, FIND, LIST))

    @property
    def writes(self) -> bool:
        """True if it writes data that must have reached the storage when its time ends (P1)."""
        return WRITE in self.does

    @property
    def mixed(self) -> bool:
        return self.reads and self.writes

    @property
    def leaves(self) -> bool:
        """True if it leaves all files as they were."""
        return self.reads and not (self.writes or self.removes)

    @property
    def moves(self) -> bool:
        """True if it writes or reads the bytes of files."""
        return any(self.moved(1))

    @property
    def removes(self) -> bool:
        """True if it leaves no files or directories."""
        return REMOVE in self.does

    @property
    def makes(self) -> bool:
        """True if it leaves files that it has made."""
        return CREATE in self.does and not self.removes

    def moved(self, size: Optional[int]) -> Tuple[Optional[int], Optional[int]]:
        """The bytes that a launch writes and reads, of `size` bytes in its files."""
        writes, reads = ({CREATE, WRITE} & set(self.does)), ({READ, VERIFY} & set(self.does))
        return (size if writes else 0), (size if reads else 0)

    def timed_s(self, measurement: Measurement) -> float:
        """Seconds that the engine timed of a launch."""
        seconds = [metric.seconds for metric in measurement.metrics if metric.name in self.in_turn]
        return sum(seconds) if self.in_turn else measurement.seconds


class Launch(NamedTuple):
    """One phase of a point, for which an engine is started."""

    phase: str
    point: Point


class FileSpec(NamedTuple):
    """A file of a point, relative to the data directory, and its exact size in bytes."""

    name: str
    size: int


class Entries(NamedTuple):
    """Numbers of entries: directories of the tree itself, its root included, and entries that tasks add to them."""

    directories: int
    files: int
    empties: int

    @property
    def inodes(self) -> int:
        return self.directories + self.files + self.empties


class Footprint(NamedTuple):
    """The most that a case has on the file system at any time."""

    bytes: int
    inodes: int


class Effort(NamedTuple):
    """The amount of measuring of a profile. Times in seconds; 0 is no limit, or the source's own number."""

    first_bytes: int = 0  # bytes of a task in the first warm-up, from which the measured launches are sized
    target_s: float = 0.0  # what the shortest timed region should last
    min_s: float = 0.5  # what the shortest timed region must last
    working_set: bool = False  # True if no cache may hold the data (rule P16)
    files: int = 0  # files of a task in each flat tree, at first
    phase_s: float = 0.0  # what the shortest phase of a tree should last
    tree_bytes: int = 0  # a task's bytes in a tree at most: fewer files in each directory else
    entries: int = 0  # the most entries of a directory that is listed; larger ones are left out
    pause_s: float = 0.0  # the longest pause before a listing; longer ones are left out


def rates(names: Iterable[str]) -> Tuple[MetricType, ...]:
    return tuple(MetricType(name, 'op/s') for name in names)


class UnknownPhase(ValueError):
    """A phase that its kind of workload does not have; the message names it, and those that it has."""


class Kind:
    """A kind of workload. It has no state: each method answers for the point that it is given."""

    name = ''  # name in points and records
    words = ''  # words for people, after 'no engine can measure'
    title = ''  # heading of the table of its cases in a report, which those of another kind with this title share
    # columns of that table, each with metrics: it shows the first that a case has; none: one column per metric
    columns: Tuple[Tuple[str, Tuple[str, ...]], ...] = ()
    parameters: Tuple[str, ...] = ()  # names of the parameters that its points have; a sweep can vary no other
    of_trial: Tuple[str, ...] = ()  # parameters that a trial of a site may fix, because no check is about them
    # True if its figures are of bytes that reach the storage (rules P1, P2, P16); else they are of entries (T4, T17a)
    moves_data = False
    by_darshan = False  # True if a Darshan log shows what was meant (P15)
    compares_in_launch = False  # True if one launch compares the cache with the servers, so that both are as meant
    short_ok = False  # True if a launch may be short, which a label then says (T20a)
    spaced = False  # True if people read the names of its metrics with blanks for underscores
    once = False  # True if one launch decides, without warm-up: what it measures happens once
    by_time = False  # True if its time ends a phase, not its bytes
    bytes_known = True  # True if the bytes that a launch moves are known before it
    share_unit = ''  # what the share of a task is counted in: 'B', 'file' or 'inode'; empty: a limit leaves it
    no_share = 'what the check says'  # people read this where the share is 0
    # the parameter with which the shortest timed region of a point gets longer, or shorter if it begins with '-'
    heavier = ''
    phases: Tuple[Phase, ...] = ()  # all that its points can have

    def phase(self, name: str) -> Phase:
        """The phase of that name. Raises UnknownPhase."""
        phases = {phase.name: phase for phase in self.phases}
        if name not in phases:
            raise UnknownPhase(f"'{name}' is not a phase of {self.words}; it has {', '.join(phases)}")
        return phases[name]

    def fault(self, point: Point) -> Optional[str]:
        """A contradiction in the point, as 'field: sentence', or None. Checked when a check is declared."""
        return None

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        return self.phase(phase).metrics

    def derived(self, point: Point, phase: str, measurement: Measurement) -> Tuple[Metric, ...]:
        """Metrics that follow from the measurement of any engine."""
        return ()

    def sentence(self, points: Sequence[Point]) -> str:
        """A case in words, without an end mark: 'Every task writes a file of its own'."""
        raise NotImplementedError

    def title_of(self, point: Point) -> str:
        """The workload in a few words."""
        return self.phase(point.phases[0]).title or self.words

    def totals(self, point: Point) -> str:
        """The files on disk in words: '8 files of 64 MiB (512 MiB)'."""
        raise NotImplementedError

    def fits(self, point: Point, effort: Effort, pinned: Optional[int]) -> bool:
        """False where the point is too large for a profile; pinned: the site's own share of a task."""
        return True

    def adapted(self, point: Point, effort: Effort) -> Point:
        """The point as a profile wants it: a smaller tree, fewer pauses."""
        return point

    def sizing(self, points: Sequence[Point], effort: Effort, pinned: Optional[int]) -> Sizing:
        """The share of work of each task; pinned: the site's own. Raises ValueError for an impossible share."""
        return Sizing(0, 1, 0.0, 0.0)

    def resized(self, point: Point, share: int) -> Point:
        """The point with another share of each task, if it scales. Raises ValueError for bytes that do not divide."""
        return point

    def preparations(self, points: Sequence[Point]) -> List[Launch]:
        """The launches that make what is only read or listed; none of a workload that makes it itself."""
        return []

    def files(self, point: Point) -> Tuple[FileSpec, ...]:
        """Every file with its size that is there after a write, and before a read; none where `entries` count."""
        return ()

    def entries(self, point: Point) -> Entries:
        """Entries below the data directory before a phase that needs them; of a workload of data its files."""
        return Entries(0, len(self.files(point)), 0)

    def footprint(self, points: Sequence[Point]) -> Footprint:
        raise NotImplementedError

    def moved(self, point: Point, phase: str) -> Tuple[Optional[int], Optional[int]]:
        """Bytes that one launch writes and reads, all tasks together; None: a measurement alone tells."""
        return self.phase(phase).moved(point.bytes_moved if self.bytes_known else None)

    def amount(self, point: Point) -> int:
        """The amount that a launch's time grows with: bytes moved, or entries; 0 where its time is given."""
        return point.bytes_moved if self.bytes_known else 0

    def as_access(self, point: Point) -> Point:
        """The data access by which contents are proved, for a kind that moves data."""
        return point

    def cache_of(self, metric: str, launch: str) -> str:
        """The cache state of a metric of a launch that was COLD, CACHED, UNKNOWN or, where it is not asked, empty."""
        return launch

    def metric_words(self, metric: str) -> str:
        return metric.replace('_', ' ') if self.spaced else metric
