"""The record of a job: one JSON object a line in samples.jsonl, whose key 'record' names its kind (KINDS); there is
one sample a launch. Each line is linked to the one before it (lines.Chain), the first to the plan."""

import os
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.model import lines
from seatrial.model.issued import DarshanLaunch
from seatrial.model.metric import Measurement, Metric
from seatrial.model.point import Point

SAMPLES = 'samples.jsonl'
PLAN = 'plan.json'
FINISHED, REFUSED, INTERRUPTED, FAILED = 'finished', 'refused', 'interrupted', 'failed'  # reasons of an End
FLASH = 'flash'  # the flag of a target that is no rotating disk
ORDINARY = (FLASH, 'no new objects', 'a sum')  # flags of no trouble: a kind of target, or its administrator's choice


class Finding(NamedTuple):
    rule: str
    effect: str  # 'refuse' (nothing ran), 'fail' (of the storage), 'invalid', 'incomplete' (not tested) or 'label'
    sentence: str
    # of a call that failed: its 'errno' by name, 'node', 'file', 'target' and 'time' (UTC), as far as they are known;
    # of data that differ (F2): 'file', 'offset', 'expected', 'found', 'writer' and 'reader'
    evidence: Dict[str, str] = {}  # noqa: RUF012 (a value; nobody changes it)
    metric: str = ''  # the only metric of the launch that it concerns; empty: all metrics


class NotTested(NamedTuple):
    """A node of the partition that is outside the allocation, with its state and reason in Slurm."""

    node: str
    state: str
    reason: str


class BoundTasks(NamedTuple):
    """Nodes of a launch whose tasks may use the same cores."""

    nodes: Tuple[str, ...]
    cores: Tuple[str, ...]  # cores allowed to each task of such a node, by rank, as in proc(5): '0-3,8'


class Sample(NamedTuple):
    """One launch: one phase of one repetition of one point. Times in seconds; `started` in Unix time."""

    stage: str  # 'prepare', 'warmup', 'measured', 'confirm', 'drill', 'darshan' (P15) or 'proof' (F2)
    phase: str
    point: Point  # as it was launched: with its final size and all its parameters
    repetition: int
    block: int  # the randomised block that it belongs to
    sizing: int  # the number of the Sized record that it follows; only samples of the last one count
    started: float
    elapsed_s: float
    # the lines of a POSIX shell that the runner started, without the check of the working directory by the ranks of
    # an MPI program
    command: Tuple[str, ...]
    exit_status: int
    raw: str
    measurement: Optional[Measurement]  # None if the engine gave none; a finding then has the reason
    cache: str  # 'cold', 'cached' or 'unknown' if it reads, stats or lists (rules P2, P2a); empty if it writes
    storage_read_bytes: Optional[int]  # read by the node's block layer for this launch; None if not visible
    findings: Tuple[Finding, ...]
    environment: Tuple[str, ...] = ()  # 'NAME=value' of each variable that the launch set
    directory: str = ''  # the working directory of the commands
    barrier: int = 0  # number of tasks that the runner let begin at the same time
    inputs: Tuple[str, ...] = ()  # the engine's input files, which are beside its raw output
    links: Tuple[Tuple[str, ...], ...] = ()  # symbolic links in the directory, each with the path that it points to
    directories: Tuple[str, ...] = ()  # directories made in the data directory before the launch
    raw_digest: str = ''  # SHA-256 of the file with the engine's output; empty without a measurement
    directory_bytes: Optional[int] = None  # bytes of directories on the device after it; None: not counted
    bound: Tuple[BoundTasks, ...] = ()  # the cores of its tasks; empty unless all tasks reported theirs

    @property
    def launch(self) -> str:
        return f'{self.phase}@{self.point.label}'

    @property
    def valid(self) -> bool:
        return self.measurement is not None and all(f.effect == 'label' for f in self.findings)

    def faults(self, metric: str) -> List[Finding]:
        """Findings that make the figure of this metric invalid: each metric has a validity of its own."""
        return [finding for finding in self.findings if finding.effect != 'label' and finding.metric in ('', metric)]

    def valid_for(self, metric: str) -> bool:
        """True if the launch has a figure of this metric that may be used."""
        return self.measurement is not None and not self.faults(metric)

    @property
    def figures(self) -> Dict[str, float]:
        """Values by metric, in base units; empty where the launch gave none."""
        return self.measurement.figures if self.measurement else {}

    @property
    def censored(self) -> Dict[str, Metric]:
        return self.measurement.censored if self.measurement else {}


class TargetRow(NamedTuple):
    """One target of a file system: sizes in bytes, None where unknown; flags in words."""

    kind: str
    number: int
    name: str
    active: bool
    bytes_total: Optional[int] = None
    bytes_free: Optional[int] = None
    inodes_total: Optional[int] = None
    inodes_free: Optional[int] = None
    flags: Tuple[str, ...] = ()
    fault: str = ''  # why it is not available, or empty; one that an administrator removed is inactive
    takes_objects: Optional[bool] = None  # True if new objects can be made on it; None if unknown
    route: str = ''  # the network over which this node reaches its server; empty if unknown

    @property
    def troubles(self) -> Tuple[str, ...]:
        """Flags of a target that is available but has a fault: 'degraded', 'read-only', 'needs resync'."""
        return tuple(flag for flag in self.flags if flag not in ORDINARY)

    @property
    def takes_files(self) -> bool:
        """False if it is known that no new files are placed on it."""
        return self.active and self.takes_objects is not False


def package_of(program: str) -> str:
    """The name of the package in Spack and EasyBuild that contains a program."""
    name = os.path.basename(program)
    return {'mdtest': 'ior', 'bonnie++': 'bonniepp'}.get(name, name)


def module_of(program: str, modules: Sequence[str]) -> str:
    """The first module with the package of a program in its name, in upper or lower case; or empty."""
    package = package_of(program)
    return next((module for module in modules if package in module.lower().split('/')), '')


def build_words(build: str) -> str:
    """A build in short: 'Spack l7f4hbh', 'SHA-256 0a1b2c3d4e5f'."""
    kind, _, value = build.partition(':')
    shown = {'spack': ('Spack', 7), 'sha256': ('SHA-256', 12)}
    name, length = shown.get(kind, (kind, len(value)))
    return f'{name} {value[:length]}'.strip()


class Provenance(NamedTuple):
    """The software of a job, except the engine's version. A field is empty if there is none, or if it is unknown."""

    build: str = ''  # of the engine's program: 'spack:HASH' of its installation, or 'sha256:HEX' of the file
    mpi: str = ''  # the MPI library that the ranks load, with its version
    launcher: str = ''  # the program that starts the ranks, with its version
    modules: Tuple[str, ...] = ()  # the loaded modules, in their order
    environment: Tuple[str, ...] = ()  # 'NAME=value' of what silently changes a rank's I/O, in order; 'NAME' if long
    darshan: str = ''  # the build of the Darshan library that is loaded in the Darshan run


class Start(NamedTuple):
    """The job began. skipped: the reasons why preferred engines are not used."""

    session: str
    case: str
    plan: str  # the digest of the plan that is carried out. mount: type, source and options of the target's mount.
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
    skipped: Tuple[str, ...]
    seed: int
    run_directory: str
    memory_bytes: int
    capacity: Dict[str, int]  # free 'bytes' and 'inodes', 'used_percent' of all bytes; no key where one is unknown
    findings: Tuple[Finding, ...]
    # state: settings of the file system (filesystem.base). targets: its storage targets, with free space and faults
    state: Dict[str, str] = {}  # noqa: RUF012 (a value; nobody changes it)
    targets: Tuple[TargetRow, ...] = ()
    # the server of each target, by the target's name (model.layout.target_name), if this node sees it
    servers: Dict[str, str] = {}  # noqa: RUF012 (a value; nobody changes it)
    not_tested: Tuple[NotTested, ...] = ()  # in a node sweep, nodes of the partition outside the allocation
    provenance: Provenance = Provenance()
    oversubscribe: str = ''  # Slurm's value for the job: 'NO' if no other job may use its nodes; empty if unknown
    numa: Tuple[str, ...] = ()  # the cores of each NUMA node of this host, as in BoundTasks
    load_percent: Optional[int] = None  # of this host in the last minute: runnable processes per core (getloadavg(3))


class Sized(NamedTuple):
    """The amount of work of each task at every point of the case, the reason, and findings of the warm-up."""

    number: int  # 1 for the first; a later one replaces it if launches were too short to be valid
    per_task: int  # bytes, or files of a flat tree; 0 if the plan fixes all sizes
    reason: str
    findings: Tuple[Finding, ...] = ()


class End(NamedTuple):
    """The job ended by itself. reason: FINISHED, REFUSED, INTERRUPTED or FAILED; why: a sentence"""

    reason: str
    why: str
    ended: float
    stopped: Dict[str, str]  # by point, why repetitions ended: converged, settled, exhausted, budget, invalid, fixed
    # as in Start, read after the last launch; empty if the job ended before
    state: Dict[str, str] = {}  # noqa: RUF012 (a value; nobody changes it)
    findings: Tuple[Finding, ...] = ()  # of failures between two launches, which belong to no sample
    # bytes a second of the servers 'before' the first launch and 'after' the last one, as far as the site's command
    # prints them (rule P8)
    background: Dict[str, float] = {}  # noqa: RUF012 (a value; nobody changes it)
    placed: str = ''  # the place of the run directory, if its type of file system has a choice (filesystem.base)


class Removal(NamedTuple):
    """The run directory was removed; `left` has the paths that remain, with the reasons."""

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
    """The drill-down after a figure that is surely below its bound: it shows slow targets, and gives no figure."""

    # metric, bound: those of the figure, in the unit of the metric; rounds: the groups of each; sentence: the result
    metric: str
    bound: float
    rounds: Tuple[Tuple[DrillGroup, ...], ...]
    sentence: str


KINDS = {'start': Start, 'sizing': Sized, 'sample': Sample, 'drill': Drill, 'end': End, 'removal': Removal}
line_of = partial(lines.line_of, kinds=KINDS)


class Lines(NamedTuple):
    """Line numbers, from 1, of a file that records were read from."""

    last: int = 0  # number of lines that were read
    samples: Tuple[int, ...] = ()  # the line number of each sample
    bare: str = ''  # the first complete line without a link, in words


class Records(NamedTuple):
    """All records of one job. truncated: number of lines that were cut short or are no records."""

    start: Optional[Start]
    sized: Optional[Sized]
    samples: List[Sample]
    end: Optional[End]
    removal: Optional[Removal]
    truncated: int
    job_state: str = ''  # from Slurm or ReFrame, for a job that did not end by itself; else empty
    issued: Tuple[DarshanLaunch, ...] = ()  # what Darshan recorded in its repetition (P15); empty if not read
    drill: Optional[Drill] = None  # the result of a search for slow targets; None if there was none
    chain: Optional[str] = None  # the link of the last line; empty if no line has one, None if there is no file
    broken: str = ''  # the first line whose link does not fit the line before, in words; or empty
    lines: Lines = Lines()


NOTHING = Records(None, None, [], None, None, 0, chain='')  # the records of an empty file


def read_records(
    written: Iterable[str], known: Records = NOTHING, impossible: Callable[[Any], bool] = lambda value: False
) -> Records:
    """The records of `known` and of these lines, which follow them; of all kinds but samples the last one counts.
    A line is ignored and breaks the chain if `impossible` is True for its value, which no job writes."""
    chain, truncated = lines.Chain(known.chain or '', known.lines.last), known.truncated
    numbered: List[Tuple[int, Any]] = []
    forged = ''
    for line in chain.checked(written):
        values, cut = lines.values_in([line], KINDS)
        if any(map(impossible, values)) or (cut and lines.is_impossible(line)):
            forged = forged or _in_words(chain.number, line)
            continue
        truncated += cut
        numbered += [(chain.number, value) for value in values]
    samples = [(number, value) for number, value in numbered if isinstance(value, Sample)]
    last: Dict[Any, Any] = {type(value): value for _, value in numbered}
    bare = known.lines.bare or _in_words(*chain.bare)
    return known._replace(
        start=last.get(Start, known.start),
        sized=last.get(Sized, known.sized),
        samples=known.samples + [value for _, value in samples],
        end=last.get(End, known.end),
        removal=last.get(Removal, known.removal),
        truncated=truncated,
        drill=last.get(Drill, known.drill),
        chain=chain.link,
        # Once a line has a link, an earlier one without it is a fault.
        broken=known.broken or (known.lines.bare if chain.link else '') or _in_words(*chain.broken) or forged,
        lines=Lines(chain.number, known.lines.samples + tuple(number for number, _ in samples), bare),
    )


def _in_words(number: int, line: str) -> str:
    """'line 7 (measured read@64KiB, repetition 3)'; empty for line 0."""
    if not number:
        return ''
    values, _ = lines.values_in([line], KINDS)
    samples = [value for value in values if type(value) is Sample]
    named = [f' ({sample.stage} {sample.launch}, repetition {sample.repetition + 1})' for sample in samples]
    return f'line {number}{"".join(named)}'
