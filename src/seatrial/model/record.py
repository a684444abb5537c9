"""What a job leaves behind: one JSON object a line in samples.jsonl, each with a key 'record' that names its kind.

The kinds in their order: start, sizing, prepare, warmup, sample (one a launch that was measured), end, removal.
"""

import json
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from seatrial.model.codec import from_json, to_json
from seatrial.model.tree import TreeMeasurement
from seatrial.model.units import MIB

SAMPLES = 'samples.jsonl'
PLAN = 'plan.json'


class Finding(NamedTuple):
    """What a validity rule found. effect: 'refuse' (nothing ran), 'invalid' (not believable) or 'label'."""

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


class Measurement(NamedTuple):
    """What an engine said of one launch, typed. seconds: last end - first start over all clients.

    tool_figure: the engine's own figure, verbatim. fsync: whether a write's sync lies inside the timed region.
    direct: whether O_DIRECT was in effect. clock_s: the resolution of the engine's clock.
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

    @property
    def bandwidth(self) -> float:
        """MiB/s. Bytes of all clients over the time from the first start to the last end."""
        return self.bytes_moved / MIB / self.seconds

    def figures(self, operation: str) -> Dict[str, float]:
        """The figure of the operation, its only metric, in MiB/s."""
        return {operation: self.bandwidth}


class Sample(NamedTuple):
    """One launch: one operation of one repetition of one point. Times in seconds, started in Unix time.

    stage:  'prepare', 'warmup' or 'measured'; block: the randomised block it belongs to
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


class Start(NamedTuple):
    """The job began: where, when, with what. passed_over: why engines that were preferred do not measure.

    plan: the digest of the plan that is carried out. mount: type, source and options of the target's mount.
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
    """

    reason: str
    why: str
    ended: float
    stopped: Dict[str, str]


class Removal(NamedTuple):
    """The run directory was removed, or what of it was left and why."""

    removed_files: int
    removed_directories: int
    left: Tuple[str, ...]
    ended: float


KINDS = {'start': Start, 'sizing': Sized, 'sample': Sample, 'end': End, 'removal': Removal}


class Records(NamedTuple):
    """All records of one job. torn: how many lines were cut short or are not records.

    fate: what Slurm or ReFrame has said of a job that did not end by itself; empty where nobody was asked.
    """

    start: Optional[Start]
    sized: Optional[Sized]
    samples: List[Sample]
    end: Optional[End]
    removal: Optional[Removal]
    torn: int
    fate: str = ''


def line_of(value: Any) -> str:
    """The line of samples.jsonl that says this record."""
    kind = next(name for name, cls in KINDS.items() if cls is type(value))
    data = {'record': kind}
    data.update(to_json(value))
    return json.dumps(data, separators=(',', ':')) + '\n'


def read_records(lines: Iterable[str]) -> Records:
    """The records in these lines. A torn or foreign line is counted, never guessed at."""
    found: Dict[str, Any] = {'start': None, 'sizing': None, 'end': None, 'removal': None}
    samples: List[Sample] = []
    torn = 0
    for line in lines:
        try:
            data = json.loads(line)
            value: Any = from_json(KINDS[data.pop('record')], data)
        except (ValueError, KeyError, AttributeError, TypeError):
            torn += 1
            continue
        if isinstance(value, Sample):
            samples.append(value)
        else:
            found[next(name for name, cls in KINDS.items() if cls is type(value))] = value
    return Records(found['start'], found['sizing'], samples, found['end'], found['removal'], torn)
