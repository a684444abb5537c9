"""What a job leaves behind: one JSON object a line in samples.jsonl, each with a key 'record' that names its kind.

The kinds in their order: start, sizing, sample (one a launch, with its stage), drill (where there was one), end,
removal.
"""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from seatrial.model import lines
from seatrial.model.issued import Witnessed
from seatrial.model.tree import TreeMeasurement
from seatrial.model.units import MIB

SAMPLES = 'samples.jsonl'
PLAN = 'plan.json'


class Finding(NamedTuple):
    """What a validity rule found.

    effect: 'refuse' (nothing ran), 'invalid' (not believable), 'incomplete' (not tested) or 'label'.
    """

    rule: str
    effect: str
    sentence: str


class JobTime(NamedTuple):
    """What one client did: bytes, and seconds since the first client's start."""

    rank: int
    host: str
    bytes_moved: int
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """Seconds that this client took."""
        return self.end_s - self.start_s


class NodeTime(NamedTuple):
    """What the clients of one node did in a launch, reduced from their JobTimes. Host names are without a domain.

    median_s, longest_s: of the seconds that its clients took
    """

    host: str
    tasks: int
    bytes_moved: int
    median_s: float
    longest_s: float

    @property
    def bandwidth(self) -> float:
        """MiB/s. Bytes of all clients of the node over the longest of their times."""
        return self.bytes_moved / MIB / self.longest_s


class NotTested(NamedTuple):
    """A node of the partition that is not in the allocation, with Slurm's word on it."""

    node: str
    state: str
    reason: str


UNNAMED = 'unnamed-'
"""How the names of hosts begin that an engine counted and did not name."""


class Measurement(NamedTuple):
    """What an engine said of one launch, typed. seconds: last end - first start over all clients.

    tool_figure: the engine's own figure, verbatim. fsync: whether a write's sync lies inside the timed region.
    direct: whether O_DIRECT was in effect. clock_s: the resolution of the engine's clock.
    nodes: in a node sweep, what the jobs come to a node; there are then no jobs.
    """

    tool_figure: str
    bytes_moved: int
    seconds: float
    world_size: int
    hosts: Tuple[str, ...]
    jobs: Tuple[JobTime, ...]
    fsync: bool = False
    direct: bool = False
    clock_s: float = 0.0
    nodes: Tuple[NodeTime, ...] = ()

    @property
    def bandwidth(self) -> float:
        """MiB/s. Bytes of all clients over the time from the first start to the last end."""
        return self.bytes_moved / MIB / self.seconds

    def figures(self, operation: str) -> Dict[str, float]:
        """The figure of the operation, its only metric, in MiB/s; none of what took no time (T12)."""
        return {operation: self.bandwidth} if self.seconds > 0 else {}


class Sample(NamedTuple):
    """One launch: one operation of one repetition of one point. Times in seconds, started in Unix time.

    stage:  'prepare', 'warmup', 'measured' or 'witness' (P15); block: the randomised block it belongs to
    sizing: the number of the Sized record that it follows; only samples of the last one count
    cache:  'cold', 'cached' or 'unknown' for what reads or looks (rules P2, P2a); empty for what writes
    per_client: of the Sized record
    storage_read_bytes: bytes that the node's block layer fetched for this launch; None where it cannot be seen
    measurement: None where the engine gave none; a finding then says why
    """

    stage: str
    point: str
    operation: str
    repetition: int
    block: int
    sizing: int
    started: float
    elapsed_s: float
    per_client: int
    command: Tuple[str, ...]
    exit_status: int
    raw: str
    measurement: Optional[Union[Measurement, TreeMeasurement]]
    cache: str
    storage_read_bytes: Optional[int]
    findings: Tuple[Finding, ...]

    @property
    def valid(self) -> bool:
        """Whether the figure may be used."""
        return self.measurement is not None and all(f.effect == 'label' for f in self.findings)

    @property
    def figures(self) -> Dict[str, float]:
        """The figure of each metric that the launch measured; empty where it gave none."""
        return self.measurement.figures(self.operation) if self.measurement else {}


FLASH = 'flash'
"""The flag of a target that is no rotating disk."""


class TargetRow(NamedTuple):
    """One target of a file system: sizes in bytes, None where it did not tell; flags in words.

    fault: why it cannot be used, or empty
    takes_objects: whether new objects can be made on it; None is not known
    """

    kind: str
    number: int
    name: str
    active: bool
    bytes_total: Optional[int] = None
    bytes_free: Optional[int] = None
    inodes_total: Optional[int] = None
    inodes_free: Optional[int] = None
    flags: Tuple[str, ...] = ()
    fault: str = ''
    takes_objects: Optional[bool] = None


class Provenance(NamedTuple):
    """With what a job measured, beside the engine's own version. Each is empty where there is none, or nobody told.

    build:    of the engine's program: 'spack:HASH' of its installation, or 'sha256:HEX' of the file
    mpi:      the MPI library that the ranks load, with its version; launcher: what starts them, with its version
    modules:  that were loaded, in their order
    environment: 'NAME=value' of what changes a rank's I/O unseen, in order; a long value is left out, 'NAME'
    """

    build: str = ''
    mpi: str = ''
    launcher: str = ''
    modules: Tuple[str, ...] = ()
    environment: Tuple[str, ...] = ()


class Start(NamedTuple):
    """The job began: where, when, with what. passed_over: why engines that were preferred do not measure.

    plan: the digest of the plan that is carried out. mount: type, source and options of the target's mount.
    state: the settings of the file system (filesystem.base). targets: what it stores on, with room and faults
    not_tested: in a node sweep, what the partition has and the job was not given
    servers: of each target by its name (model.layout.target_name), as far as this node sees them
    """

    session: str
    case: str
    plan: str
    mount: str
    host: str
    pid: int
    job: str
    started: float
    kernel: str
    python: str
    engine: str
    program: str
    version: str
    passed_over: Tuple[str, ...]
    seed: int
    run_directory: str
    memory_bytes: int
    capacity: Dict[str, int]
    findings: Tuple[Finding, ...]
    state: Dict[str, str] = {}  # noqa: RUF012 (a value; nobody changes it)
    targets: Tuple[TargetRow, ...] = ()
    servers: Dict[str, str] = {}  # noqa: RUF012 (a value; nobody changes it)
    not_tested: Tuple[NotTested, ...] = ()
    provenance: Provenance = Provenance()


class Sized(NamedTuple):
    """How much each client does at every point of the case, and why; what the warm-up's data showed.

    per_client: bytes; of a flat tree files; 0 where the plan fixes everything.
    number: 1 for the first; a later one takes its place, because launches were too short to be believed.
    """

    number: int
    per_client: int
    reason: str
    findings: Tuple[Finding, ...]


class End(NamedTuple):
    """The job ended by itself. reason: 'finished', 'refused', 'interrupted' or 'failed'; why is a sentence.

    stopped: for every point the reason its repetitions ended: converged, exhausted, budget, invalid or fixed.
    state:   as in Start, once every launch has been made; empty where it did not come so far
    """

    reason: str
    why: str
    ended: float
    stopped: Dict[str, str]
    state: Dict[str, str] = {}  # noqa: RUF012 (a value; nobody changes it)


class Removal(NamedTuple):
    """The run directory was removed, or what of it was left and why."""

    removed_files: int
    removed_directories: int
    left: Tuple[str, ...]
    ended: float


class DrillGroup(NamedTuple):
    """Targets that were measured together in one round of a drill-down, and the figures of their repetitions."""

    label: str
    targets: Tuple[str, ...]
    figures: Tuple[float, ...]


class Drill(NamedTuple):
    """The drill-down after a figure that is surely below its bound: evidence of what is slow, and never a figure.

    metric, bound: what began it, in the unit of the metric; rounds: each with its groups; sentence: what it comes to
    """

    metric: str
    bound: float
    rounds: Tuple[Tuple[DrillGroup, ...], ...]
    sentence: str


KINDS = {'start': Start, 'sizing': Sized, 'sample': Sample, 'drill': Drill, 'end': End, 'removal': Removal}


class Records(NamedTuple):
    """All records of one job. torn: how many lines were cut short or are not records.

    fate: what Slurm or ReFrame has said of a job that did not end by itself; empty where nobody was asked.
    issued: what was seen of the witness repetition (P15); empty where there was none, or nobody has looked
    drill: what a search for slow targets came to; None where there was none
    """

    start: Optional[Start]
    sized: Optional[Sized]
    samples: List[Sample]
    end: Optional[End]
    removal: Optional[Removal]
    torn: int
    fate: str = ''
    issued: Tuple[Witnessed, ...] = ()
    drill: Optional[Drill] = None


def line_of(value: Any) -> str:
    """The line of samples.jsonl that says this record."""
    return lines.line_of(value, KINDS)


def read_records(written: Iterable[str]) -> Records:
    """The records in these lines; of each kind but the samples the last one counts."""
    found, torn = lines.values_in(written, KINDS)
    last: Dict[Any, Any] = {type(value): value for value in found}
    return Records(
        start=last.get(Start),
        sized=last.get(Sized),
        samples=[value for value in found if isinstance(value, Sample)],
        end=last.get(End),
        removal=last.get(Removal),
        torn=torn,
        drill=last.get(Drill),
    )
