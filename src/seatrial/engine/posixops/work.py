"""Values and calls that all tasks of posixops share, and the Part by which a file describes its kind of workload."""

import array
import contextlib
import math
import os
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, TypeVar

from seatrial.engine.barrier import TaskBarrier
from seatrial.engine.base import EngineError, Outcome
from seatrial.model.metric import Fact, Measurement
from seatrial.model.point import Point
from seatrial.workload.words import by_key

POOL_BYTES = 1 << 25  # random data that a task keeps
STRIDE = 20735879  # bytes between the data of two files: odd, and near the golden section of the pool
NANOSECOND = 1e-9
NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY
DIGITS = 3  # significant digits of the time of a single call
ROW = '['  # first character of the lines of a course, which tasks print beside their reports
T = TypeVar('T', bound=Callable[..., object])


class Spec(NamedTuple):
    """The order to all tasks of a launch."""

    phase: str
    point: Point
    # directory of the entries of trees and listings; in a scenario the prefix of its raw output
    directory: str = 'tree'


class Span(NamedTuple):
    """Start and end of one act, in seconds of the coordinator's clock, to which all tasks convert."""

    start_s: float
    end_s: float


class Timed(NamedTuple):
    operations: int
    # one for each of its acts, in their order; None for an act in which this task had nothing to do
    spans: Tuple[Optional[Span], ...]
    # number of calls by their nanoseconds, rounded up to DIGITS digits; empty if single calls were not timed
    nanoseconds: Dict[str, int]


class Failed(NamedTuple):
    """The reason why a task failed. evidence: as in Finding."""

    rule: str
    sentence: str
    aborted: bool = False  # it gave up because of another task, whose report has the cause
    evidence: Dict[str, str] = {}  # noqa: RUF012 (it is a default of a tuple, and never changed)


class Report(NamedTuple):
    """The report of a task: one line of JSON."""

    rank: int
    tasks: int
    host: str
    # uncertainty_s: error of its times relative to other tasks'; counts: entries by histogram and class
    uncertainty_s: float
    timed: Dict[str, Timed]
    facts: Tuple[Fact, ...]
    failed: Optional[Failed] = None
    counts: Dict[str, Dict[str, int]] = {}  # noqa: RUF012 (it is a default of a tuple, and never changed)


class Work:
    """One task's part in a launch."""

    def __init__(self, rank: int, tasks: int) -> None:
        self.rank, self.tasks = rank, tasks
        self.barrier = TaskBarrier()
        self.hosts: Tuple[str, ...] = ()  # hosts of all tasks by rank; empty where nothing depends on them
        self.timed: Dict[str, Timed] = {}
        self.facts: Tuple[Fact, ...] = ()
        self.uncertainty_s = 0.0
        self.doing = ''  # the act that was begun last, for error messages
        self.counts: Dict[str, Dict[str, int]] = {}

    def together(self, metric: str, act: Optional[Callable[[], int]]) -> None:
        """Do an act, which returns its number of operations, when all tasks do theirs. None: this task has no act."""
        release = self.barrier.wait(metric)
        self.uncertainty_s = max(self.uncertainty_s, release.uncertainty_s)
        self.alone(metric, act, release.offset_s)

    def untimed(self, what: str, act: Optional[Callable[[], Any]]) -> Any:
        """Do an untimed act once all tasks reach it; returns its result. The next begins when all have ended."""
        self.barrier.exchange(what)
        self.doing = what
        return act() if act is not None else None

    def time_calls(self, metric: str, call: Callable[[Any], Any], items: Iterable[Any]) -> None:
        """Do a call with every item, together with all tasks, and time every single call."""
        times = array.array('d')

        def act() -> int:
            clock, note = time.monotonic, times.append
            for item in items:
                before = clock()
                call(item)
                note(clock() - before)
            return len(times)

        self.together(metric, act)
        counts = self.timed[metric].nanoseconds
        for seconds in times:
            key = str(rounded_up(seconds))
            counts[key] = counts.get(key, 0) + 1

    def alone(self, metric: str, act: Optional[Callable[[], int]], offset_s: float = 0.0) -> None:
        """Do an act as `together` does, but at once. offset_s: the coordinator's clock minus this node's."""
        self.doing = metric
        earlier = self.timed.get(metric, Timed(0, (), {}))
        if act is None:
            self.timed[metric] = earlier._replace(spans=(*earlier.spans, None))
            return
        start = time.monotonic()
        done = act()
        end = time.monotonic()
        span = Span(start + offset_s, end + offset_s)
        self.timed[metric] = earlier._replace(operations=earlier.operations + done, spans=(*earlier.spans, span))


class Guarantee(NamedTuple):
    """A guarantee of POSIX or Linux that is tried on a file system."""

    name: str  # its stable id
    words: str  # the guarantee, for people
    tasks: int  # number of tasks that its trial needs
    source: str  # an interface or a section of POSIX.1-2017 (IEEE Std 1003.1-2017), or a page of the Linux manual
    since: str = '0.1'  # the first version of Seatrial that tries it; outputs of earlier ones have no such fact


def declared(
    trials: Dict[Guarantee, T], words: str, source: str, tasks: int = 1, since: str = '0.1'
) -> Callable[[T], T]:
    """A decorator that registers the function as the trial of a guarantee of the same name."""

    def enter(trial: T) -> T:
        trials[Guarantee(trial.__name__[len('_') :], words, tasks, source, since)] = trial
        return trial

    return enter


class Part(NamedTuple):
    """The code of posixops for one kind of workload."""

    carry_out: Callable[[Work, Spec], None]  # a task's work in a launch, on its node. Raises EngineError and OSError
    # the metrics that the tasks time, with the number of operations of all tasks for each
    planned: Callable[[Point, str], Dict[str, int]] = lambda point, phase: {}
    # guarantees by the name of the phase that tries them, in their order
    facts: Dict[str, Tuple[Guarantee, ...]] = {}  # noqa: RUF012 (a value; nobody changes it)
    # the measurement, from the timed rates and the reports of the tasks. Raises EngineError
    measured: Callable[[str, Point, List[Report], Measurement, Outcome], Measurement] = lambda *given: given[3]
    makes: Tuple[str, ...] = ()  # as in Engine
    cannot: Callable[[Point], Optional[str]] = lambda point: None  # as in Engine
    # programs beside the interpreter, by the names of the phases that need any
    needs: Dict[str, Tuple[str, ...]] = {}  # noqa: RUF012
    elsewhere: Callable[[Point, str], bool] = lambda point, phase: False  # Engine.reads_elsewhere
    hosts_from: int = 2  # fewest nodes on which tasks exchange the names of their hosts; 0: never
    directory: Callable[[Point], str] = lambda point: 'tree'  # directory in which the entries of a point lie
    # whether it runs beside actions: tasks print lines that begin with ROW, and the actions' transcript is read
    course: bool = False


class Data:
    """Random bytes for each of a task's files, made beforehand. File i begins at i * STRIDE of a pool that differs by
    launch and task. If the files do not all fit in the pool, they share bytes but no block: 512 consecutive files
    have no block of 512 B in common, and 4096 have none of 4 KiB."""

    def __init__(self, size: int, files: int) -> None:
        fits = size * files <= POOL_BYTES
        self.size, self._stride = size, size if fits else STRIDE
        self._pool = memoryview(os.urandom(size * files if fits else POOL_BYTES + size))

    def of(self, number: int) -> memoryview:
        start = number * self._stride % POOL_BYTES
        return self._pool[start : start + self.size]


@contextlib.contextmanager
def opened(name: str, flags: int, mode: int = 0o600) -> Iterator[int]:
    """An open file; a symbolic link is refused. Raises OSError."""
    descriptor = os.open(name, flags | os.O_NOFOLLOW, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: memoryview) -> None:
    """Calls write(2) until all is written; one call may write less."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])


def read_all(descriptor: int, buffer: bytearray) -> int:
    """Calls read(2) until the buffer is full or the file ends; returns the number of bytes."""
    length = os.readv(descriptor, [buffer])
    while length < len(buffer):
        more = os.readv(descriptor, [memoryview(buffer)[length:]])
        if not more:
            break
        length += more
    return length


def rounded_up(seconds: float) -> int:
    """The seconds in nanoseconds, rounded up to DIGITS digits."""
    whole = max(math.ceil(seconds / NANOSECOND - 1e-3), 0)  # minus the rounding error of a float
    unit = int(10 ** max(len(str(whole)) - DIGITS, 0))
    return -(-whole // unit) * unit


def partner(rank: int, hosts: Tuple[str, ...], nodes_away: int) -> int:
    """The rank at the same place `nodes_away` nodes further. Raises EngineError for unequal numbers of tasks."""
    nodes = by_key((host, other) for other, host in enumerate(hosts))
    order = list(nodes.values())
    if len({len(ranks) for ranks in order}) > 1:
        uneven = ', '.join(f'{len(ranks)} on {host}' for host, ranks in nodes.items())
        raise EngineError('T10', f'the tasks are spread unevenly over the nodes: {uneven}')
    here = list(nodes).index(hosts[rank])
    return order[(here + nodes_away) % len(order)][order[here].index(rank)]
