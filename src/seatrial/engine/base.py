"""What every engine offers. An engine is a benchmark program; it knows no site and no check."""

from typing import Any, Dict, Generic, List, NamedTuple, Optional, Tuple, TypeVar

from seatrial.model.namespace import Namespace
from seatrial.model.record import Measurement
from seatrial.model.tree import Entries, TreeMeasurement, TreePoint
from seatrial.model.workload import AccessPattern, Point

Workload = TypeVar('Workload')
Place = TypeVar('Place')
Result = TypeVar('Result')


class EngineError(Exception):
    """An output that cannot be believed: the validity rule it breaks and one sentence that says how."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(f'{rule}: {sentence}')
        self.rule = rule
        self.sentence = sentence


class Command(NamedTuple):
    """How one launch is carried out, in the data directory as working directory.

    scope:   'node': one process makes all clients on this node; 'task': one process a client is started,
             argvs[rank], on as many nodes as the point has; 'mpi': argvs[0] is put under the site's MPI launcher
    inputs:  files that must exist before the launch: absolute path -> text
    outputs: files that the engine writes, absolute paths; never on the file system under test
    links:   symbolic links that must stand in the data directory during the launch: (name, what it points to)
    meets:   whether the processes of scope 'task' join the launch's meeting by themselves (engine/meeting.py)
    directories: of the data directory, that must be there before the launch, a parent before what lies in it
    """

    scope: str
    argvs: Tuple[Tuple[str, ...], ...]
    inputs: Dict[str, str]
    outputs: Tuple[str, ...]
    links: Tuple[Tuple[str, str], ...] = ()
    directories: Tuple[str, ...] = ()
    meets: bool = False


class ProcessTime(NamedTuple):
    """When one process of a launch ran, in seconds since the first one's start, and how it ended."""

    host: str
    start_s: float
    end_s: float
    exit_status: int


class Outcome(NamedTuple):
    """What a launch left: the streams of each process, the texts of Command.outputs (None: not written)."""

    processes: Tuple[ProcessTime, ...]
    stdouts: Tuple[str, ...]
    stderrs: Tuple[str, ...]
    outputs: Tuple[Optional[str], ...]

    @property
    def exit_status(self) -> int:
        """0, or that of the first process that failed; negative for a signal, as subprocess has it."""
        return next((p.exit_status for p in self.processes if p.exit_status != 0), 0)


class Engine(Generic[Workload, Place, Result]):
    """The interface. Subclasses have no state; `program` is the path that was found on the node.

    Workload, Place and Result are AccessPattern, Point and Measurement, or Namespace, TreePoint and TreeMeasurement.
    """

    name = ''
    programs: Tuple[str, ...] = ()
    mpi = False  # whether it is started by the site's MPI launcher
    names_hosts = True  # whether it tells of every client which node it ran on
    makes_mib_s = 0.0  # how fast a client makes its data in the timed region of a write; 0: not measured

    def cannot(self, workload: Workload, point: Place) -> Optional[str]:
        """Why this engine cannot carry the point out exactly, as half a sentence, or None if it can."""
        raise NotImplementedError

    def reads_elsewhere(self, workload: Workload, point: Place) -> bool:
        """Whether every client reads what a client of another node has written, of what the workload wrote before."""
        return False

    def repeats(self, workload: Workload, point: Place) -> str:
        """What of the data that a point writes is there twice, as a clause; empty where nothing is (rule P4a)."""
        return ''

    def version_argv(self, program: str) -> List[str]:
        """The command that makes the program say its version."""
        raise NotImplementedError

    def parse_version(self, text: str) -> str:
        """The version in that command's output; raises EngineError if there is none."""
        raise NotImplementedError

    def command(self, program: str, workload: Workload, operation: str, point: Place, raw: str, seed: int) -> Command:
        """The launch of one operation of a point; `raw` is the absolute prefix of the files it may leave."""
        raise NotImplementedError

    def witnessed(self, command: Command) -> Command:
        """The same I/O in a way that Darshan can be loaded into (rule P15)."""
        return command

    def measure(self, workload: Workload, operation: str, point: Place, command: Command, outcome: Outcome) -> Result:
        """What the engine said, typed. Raises EngineError where it failed or cannot be believed."""
        raise NotImplementedError


AccessEngine = Engine[AccessPattern, Point, Measurement]


class NamespaceEngine(Engine[Namespace, TreePoint, TreeMeasurement]):
    """An engine of metadata. heeds_close: whether a close(2) that fails is an error to it."""

    heeds_close = True

    def elsewhere(self, workload: Namespace, operation: str, point: TreePoint) -> bool:
        """Whether every client works on entries that no client of its node has made or seen (rule T4)."""
        return False

    def warms(self, workload: Namespace, operation: str) -> str:
        """What the engine itself looks up before its clock starts, as a clause, or empty: that is cold no more."""
        return ''

    def left(self, workload: Namespace, operation: str, point: TreePoint) -> Entries:
        """What is to be on disk after the operation, below the data directory: rule T17 counts it.

        Here only what the plan has: an engine that needs directories of its own adds them.
        """
        if workload.kind in ('operations', 'semantics') or operation == 'remove':
            return Entries(0, 0, 0)
        return point.entries


AnyEngine = Engine[Any, Any, Any]
