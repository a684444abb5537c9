"""The interface of all engines. An engine is a benchmark program; it knows no site and no check."""

import math
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Pattern, Sequence, Tuple, TypeVar

from seatrial.engine.failed_call import failed_calls
from seatrial.model.metric import PERCENTILES, Measurement, Metric, TaskTime, percentile_name
from seatrial.model.point import Point
from seatrial.workload.access import FILE_NAMES, LIBRARIES
from seatrial.workload.base import Entries
from seatrial.workload.registry import entries_after, kind_of, phase_of
from seatrial.workload.tree import levels_total

T = TypeVar('T')
MAX_BYTES_PER_CALL = 0x7FFFF000  # read(2) and write(2): "at most 2,147,479,552 bytes"
DIRECT_BYTES = 4096  # a multiple of the logical block size of all storage (this, or 512 B), as O_DIRECT needs
LIFE_SLACK = 1.01  # a clock that is slewed runs at another pace, 500 ppm at most (adjtimex(2))


class EngineError(Exception):
    """A launch that is not valid, by its output or a task: the rule, a sentence, the evidence of a Finding."""

    def __init__(self, rule: str, sentence: str, evidence: Optional[Dict[str, str]] = None) -> None:
        super().__init__(f'{rule}: {sentence}')
        self.rule, self.sentence, self.evidence = rule, sentence, evidence or {}


class Command(NamedTuple):
    """The processes of one launch; they run in the data directory."""

    # 'node': one process makes all tasks on this node; 'task': one process a task is started, argvs[rank], on as many
    # nodes as the point has; 'mpi': argvs[0] is put under the site's MPI launcher
    scope: str
    argvs: Tuple[Tuple[str, ...], ...]
    inputs: Dict[str, str]  # files that must exist before the launch: absolute path -> text
    outputs: Tuple[str, ...]  # files that the engine writes, absolute paths; never on the file system under test
    # symbolic links that must stand in the data directory during the launch: (name, what it points to)
    links: Tuple[Tuple[str, str], ...] = ()
    # directories below the data directory that must exist before the launch; a parent stands before its children
    directories: Tuple[str, ...] = ()
    # whether the processes of scope 'task' join the launch's barrier by themselves (engine/barrier.py)
    own_barrier: bool = False


class ProcessTime(NamedTuple):
    """The life of one process of a launch, in seconds since the first one's start, and its exit status."""

    host: str
    start_s: float
    end_s: float
    exit_status: int

    @property
    def lived_s(self) -> float:
        return self.end_s - self.start_s


class Outcome(NamedTuple):
    """The outputs of a launch: the streams of each process, the texts of Command.outputs (None: not written)."""

    processes: Tuple[ProcessTime, ...]
    stdouts: Tuple[str, ...]
    stderrs: Tuple[str, ...]
    outputs: Tuple[Optional[str], ...]
    # host of every rank of an MPI program, in order, as the ranks report it; empty unless all have
    hosts: Tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """0, or that of the first process that failed; negative for a signal, as subprocess has it."""
        return next((p.exit_status for p in self.processes if p.exit_status != 0), 0)

    def of(self, rank: int) -> 'Outcome':
        """The outcome of the process of one task, where each has left one output."""
        return Outcome((self.processes[rank],), (self.stdouts[rank],), (self.stderrs[rank],), (self.outputs[rank],))


class Engine:
    """The interface. Subclasses have no state; `program` is the path that was found on the node."""

    name = ''  # name in trial.yaml; engines of one name have different kinds
    kinds: Tuple[str, ...] = ()  # the kinds of workload (workload/registry.py) that it knows
    # kinds that a user may expect of it, each with the reason why it cannot measure them, as half a sentence
    declines: Dict[str, str] = {}  # noqa: RUF012 (a value; nobody changes it)
    programs: Tuple[str, ...] = ()  # names to look for on the PATH
    how_to_get = ''  # where the programs come from, as half a sentence
    version_options: Tuple[str, ...] = ('--version',)
    # pattern of the output of version_argv; its first group is the version
    says_version: Pattern[str] = re.compile('(?!)')
    without_version = 'E1'  # the rule that is broken where it answers with none
    oldest: Tuple[int, ...] = ()  # the first version that can be used
    too_old = ''  # why an older one, {}, cannot, as a sentence with the remedy
    mpi = False  # whether it is started by the site's MPI launcher
    names_hosts = True  # whether it tells of every task which node it ran on
    checks_close = True  # whether a close(2) that fails is an error to it
    coarse = False  # whether its clock has milliseconds, which is too coarse for a few hundred operations
    # regular expressions of the names of all that it makes in the data directory and below, or of their paths below
    # the run directory; what has another name is never removed
    makes: Tuple[str, ...] = FILE_NAMES
    keeps_files = True  # whether it writes into an empty file that is there, rather than into a new one in its place
    data_rate = 0.0  # B/s at which a task makes its data inside the timed region of a write; 0: not measured
    compressible = ''  # why the data that it writes compress, as half a sentence; empty: they do not (rule P4)
    verifies = False  # whether it measures nothing and compares all that it reads with what it has written (rule F2)
    rereads = False  # whether it reads a file several times over in one phase
    # whether a task reads what one of the next node has written (writer_of); the tasks must fill node after node
    reads_next_node = False
    flat = False  # whether it lays the files of a tree flat into directories that are made before it, and stay

    def cannot(self, point: Point) -> Optional[str]:
        """The reason why it cannot carry out a point of its kinds exactly, as half a sentence, or None."""
        return None

    def needs(self, point: Point) -> Tuple[str, ...]:
        """Programs beside its own that must be on the PATH of every node."""
        return ()

    def version_argv(self, program: str) -> List[str]:
        return [program, *self.version_options]

    def parse_version(self, text: str) -> str:
        """The version in that command's output. Raises EngineError if there is none, or if it cannot be used."""
        match = self.says_version.search(text)
        if match is None:
            answer = text.strip().partition('\n')[0][:80]
            raise EngineError(self.without_version, f"'{answer}' is not the version of {self.programs[0]}")
        return self.usable(match.group(1))

    def usable(self, version: str) -> str:
        """The version. Raises EngineError T7 if it is too old."""
        if release_of(version) < self.oldest:
            raise EngineError('T7', self.too_old.format(version))
        return version

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """The launch of one phase of a point; `raw` is the absolute prefix of the files it may leave."""
        raise NotImplementedError

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """The measurement in the output. Raises EngineError where the engine failed or its output is not valid."""
        raise NotImplementedError

    def under_darshan(self, command: Command) -> Command:
        """The same I/O in a way that Darshan can be loaded into (rule P15)."""
        return command

    def in_threads(self, point: Point) -> bool:
        """True if its tasks are threads of one process, which Darshan does not tell apart (rule P15)."""
        return False

    def reads_elsewhere(self, point: Point, phase: str) -> bool:
        """True if every task works on entries that no task of its node has written, made or seen (rules P2, T4)."""
        return self.reads_next_node and phase_of(point, phase).reads and point.nodes > 1

    def repeats(self, point: Point) -> str:
        """A clause that names repeated data in a point's files; empty where nothing is there twice (rule P4a)."""
        return ''

    def warms(self, point: Point, phase: str) -> str:
        """A clause: entries that the engine looks up before its clock starts, which are not cold then; or empty."""
        return ''

    def entries(self, point: Point, phase: str) -> Entries:
        """Entries on disk after the phase (T17a): the workload's, and directories of the engine's own."""
        left = entries_after(point, phase)
        return left._replace(directories=levels_total(point, point.tasks).directories) if self.flat else left


def release_of(version: str) -> Tuple[int, int, int]:
    """The numbers of '4.0.0', '3.0-37'; a version that does not begin with two is older than all."""
    match = re.match(r'(\d+)[.-](\d+)(?:[.-](\d+))?', version, re.ASCII)
    return (int(match.group(1)), int(match.group(2)), int(match.group(3) or 0)) if match else (0, 0, 0)


def of_all(processes: Sequence[ProcessTime], read: Callable[[int], T], priority: Callable[[str], Any]) -> List[T]:
    """Calls `read` with each rank. Where several ranks raise EngineError, the one with the first priority of its
    sentence is raised: a launcher ends the other ranks when one fails."""
    results, failed = [], []
    for rank, process in enumerate(processes):
        try:
            results.append(read(rank))
        except EngineError as error:
            failed.append(EngineError(error.rule, f'task {rank} on {process.host}: {error.sentence}'))
    if failed:
        raise min(failed, key=lambda error: priority(error.sentence))
    return results


def measured(engine: Engine, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
    """The engine's measurement with the metrics that its kind of workload derives. Raises EngineError."""
    plain = engine.measure(phase, point, command, outcome)
    return plain._replace(metrics=(*plain.metrics, *kind_of(point.kind).derived(point, phase, plain)))


def first_reason(*reasons: Tuple[Any, str]) -> Optional[str]:
    """The words of the first of these conditions that holds, or None."""
    return next((words for holds, words in reasons if holds), None)


def beyond_calls(point: Point) -> Optional[str]:
    """The reason why an engine that times only read(2) and write(2) cannot measure a point, or None."""
    if point.data.interface in LIBRARIES:
        return f'cannot do {LIBRARIES[point.data.interface]}'
    return 'does not report how long opening files takes' if point.data.opening else None


def immovable(point: Point) -> Optional[str]:
    """The reason why a point cannot be moved transfer by transfer, one call each, as half a sentence, or None."""
    data = point.data
    if data.transfer_size > MAX_BYTES_PER_CALL:
        return f'cannot move {data.transfer_size} bytes in one call'
    if data.direct and data.transfer_size % DIRECT_BYTES:
        return f'cannot move {data.transfer_size} bytes at a time with O_DIRECT: only multiples of {DIRECT_BYTES}'
    return None


def ending(status: int) -> str:
    """The end of a process that failed: 'exited with 1', 'died of signal 9'."""
    return f'exited with {status}' if status >= 0 else f'died of signal {-status}'


def first_of_mpi(outcome: Outcome) -> str:
    """The first line of a message of an MPI library about its network in any stream of a launch; or empty."""
    streams = (*outcome.stderrs, *outcome.stdouts)
    messages = (match.group() for text in streams for match in OF_MPI.finditer(text))
    return next((line.strip() for text in messages for line in text.splitlines() if re.search(r'\w', line)), '')


OF_MPI = re.compile(  # such a message; Open MPI puts these between rulers
    r'^-{74}\n(?:(?!-{74}$).*\n)*?-{74}\n?|'
    r'^.*\b(?:OpenFabrics|more than one active ports|No preset parameters|MVAPICH2?|UCX|PSM2|libfabric)\b.*\n?',
    re.MULTILINE,
)


def cause_in(errs: Sequence[str], others: Sequence[str] = ()) -> str:
    """The line that best explains a failed launch, or empty. others: streams of which only failed calls count."""
    return next(iter(causes_in(errs, others)), '')


def causes_in(errs: Sequence[str], others: Sequence[str] = ()) -> List[str]:
    """The lines that explain a failed launch, the best first: failed calls in any stream, errors in any stream, then
    lines of stderr that are no warning, note, retry or ruler; where there are none, all other lines."""
    lines = [line.strip() for text in errs for line in text.splitlines() if re.search(r'\w', line)]
    more = [line.strip() for text in others for line in text.splitlines()]
    calls = [line for line in lines + more if _CALL.search(line) or any(failed_calls(line))]
    errors = [line for line in lines + more if _ERROR.search(line)]
    best = calls + [line for line in errors + lines if not _LESSER.search(line)]
    return list(dict.fromkeys(best or errors + lines))


_CALL = re.compile(r'^\w+: \[Errno ')  # form of Python's own messages
_ERROR = re.compile(r'(?:^|[\s:\[(])(?:fatal|error)\b(?!-)|^[\w.]+(?:Error|Exception)(?::|$)', re.IGNORECASE)
_LESSER = re.compile(
    r'\bwarn(?:ing)?\b|\bnote:|\bretrying\b|\blua:|^srun: error: \S+: tasks? \S+: |\bJob step aborted\b|'
    r'\bhelp message\b|^slurmstepd: error: \*\*\* |\bforcing job termination\b|(?-i:\bERROR INVALID\b)|'
    r'^Traceback \(most|^File "|^Error executing job with overrides|\bCaught \w+ in DataLoader\b',
    re.IGNORECASE,
)


def of_tasks(metrics: Sequence[Metric], tasks: Sequence[TaskTime], **more: Any) -> Measurement:
    """A measurement of data with what follows from the times of all tasks; more: the rest of it."""
    hosts = tuple(sorted({task.host for task in tasks}))
    moved = sum(task.bytes_moved for task in tasks)
    return Measurement(tuple(metrics), len(tasks), hosts, bytes_moved=moved, tasks=tuple(tasks), **more)


def only_process(program: str, outcome: Outcome) -> ProcessTime:
    """The only process of a launch. Raises EngineError T9 for another number."""
    if len(outcome.processes) != 1:
        raise EngineError('T9', f'{program} is one launch, and {len(outcome.processes)} processes were started')
    return outcome.processes[0]


def ended(status: int, errs: Sequence[str], others: Sequence[str] = ()) -> str:
    """The end of a process and its cause, as in cause_in: "exited with 1: 'No such file'"."""
    cause = cause_in(errs, others)
    return ending(status) + (f": '{cause}'" if cause else '')


def refuse_failure(program: str, status: int, complaints: Sequence[str]) -> None:
    """Raises EngineError where a program failed (E1), or complained and exited with 0 (T8)."""
    if status or cause_in(complaints):
        raise EngineError('E1' if status else 'T8', f'{program} {ended(status, complaints)}')


def check_life(program: str, seconds: float, process: ProcessTime) -> None:
    """Raises EngineError T1 if a program claims more seconds than its launch lived: a clock was set meanwhile."""
    if seconds > process.lived_s * LIFE_SLACK + 1e-4:  # the last digit that IOR prints
        claim = f'{program} reports {seconds:.3f} s in a launch of {process.lived_s:.3f} s'
        raise EngineError('T1', f'{claim}: a clock of its nodes is wrong')


def percentiles_of(counts: Dict[int, int], shares: Sequence[float] = PERCENTILES) -> Dict[str, float]:
    """Seconds that these shares of the operations did not exceed, by nearest rank; counts: by nanoseconds."""
    percentiles, left = {}, list(shares) if counts else []
    seen, total = 0, sum(counts.values())
    for nanoseconds in sorted(counts):
        seen += counts[nanoseconds]
        while left and seen >= math.ceil(left[0] * total - 1e-9):  # less what a float is off
            percentiles[percentile_name(left.pop(0))] = nanoseconds / 1e9
    return percentiles
