"""Counters read while a case ran: telemetry.jsonl, beside the record. They explain figures; no verdict rests on them.
Every counter only grows, and none is cleared, for others read them too."""

from functools import partial
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from seatrial.model import lines

TELEMETRY = 'telemetry.jsonl'
READ, WRITTEN = 'read_bytes', 'write_bytes'  # the counters of throughput; all other counters have names of their type
BEFORE, AFTER = 'before', 'after'


class Watch(NamedTuple):
    """The start of reading the counters of a host, every interval_s."""

    time: float  # Unix time
    host: str
    what: str  # words for the traffic that they count; empty where nothing can be counted
    why_not: str  # why not, as a sentence; empty where it can be
    interval_s: float


class Look(NamedTuple):
    time: float  # Unix time in the middle of the reading
    clock_s: float  # the time by a clock that is never set
    cost_s: float  # how long the reading took
    counters: Dict[str, int]


class Gap(NamedTuple):
    """A reading that failed, and why; times as those of Look."""

    time: float
    clock_s: float
    cost_s: float
    why: str


class Pace(NamedTuple):
    """A new interval between readings, and the reason for it."""

    time: float
    interval_s: float
    why: str


class RpcSize(NamedTuple):
    """Number of requests to servers with up to so many pages, in the file system's own words ('256', '1K')."""

    pages: str
    reads: int
    writes: int


class RpcSizes(NamedTuple):
    """The sizes of all requests so far, before or after the case; why_not: the reason where they are unknown."""

    when: str
    sizes: Tuple[RpcSize, ...]
    why_not: str = ''


class Served(NamedTuple):
    """A server's count for one job, or for all together: number of events, and their sum in the unit, if any."""

    target: str  # what the counter is of ('lustre-OST0001')
    name: str  # name of the counter ('write_bytes')
    samples: int
    total: int
    unit: str


class Servers(NamedTuple):
    """Output of the site's command to the servers, before or after the case."""

    when: str
    time: float
    exit_status: Optional[int]  # None where it did not end in time, or could not be started
    raw: str  # the name of its output in raw/
    job: str  # the Slurm job that `counts` is of, empty where there is none
    counts: Tuple[Served, ...]  # what the servers count of it
    why_not: str = ''  # what went wrong with the command or its output, or empty

    @staticmethod
    def json_keys() -> Dict[str, str]:
        return {'counts': 'own'}


class ServerLook(NamedTuple):
    """The load of a server in the length_s seconds up to `time`, of samples taken one second apart."""

    time: float  # Unix time of the node that asked
    server: str
    length_s: float
    samples: int
    busy: float  # the largest share of a second in which a disk had work
    disk: str  # its name. Then means of a second: bytes of all disks, bytes and packets of all network cards
    read: float
    written: float
    received: float
    sent: float
    packets_in: float
    packets_out: float


class ServerGap(NamedTuple):
    """A server's answers have ended, and why."""

    time: float
    server: str
    why: str


class Ended(NamedTuple):
    """The last reading has been taken."""

    time: float


KINDS = {
    'watch': Watch,
    'look': Look,
    'gap': Gap,
    'pace': Pace,
    'rpc_sizes': RpcSizes,
    'servers': Servers,
    'server': ServerLook,
    'server_gap': ServerGap,
    'ended': Ended,
}
line_of = partial(lines.line_of, kinds=KINDS)


class Telemetry(NamedTuple):
    """All counters of one case. truncated: number of lines that were cut short or are not of this form."""

    watch: Optional[Watch]
    looks: List[Look]
    gaps: List[Gap]
    paces: List[Pace]
    rpc_sizes: List[RpcSizes]
    servers: List[Servers]
    ended: Optional[Ended]
    truncated: int
    server_looks: Tuple[ServerLook, ...] = ()
    server_gaps: Tuple[ServerGap, ...] = ()


def read_telemetry(written: Iterable[str]) -> Telemetry:
    values, truncated = lines.values_in(written, KINDS)
    by_kind: Dict[Any, List[Any]] = {kind: [one for one in values if type(one) is kind] for kind in KINDS.values()}
    return Telemetry(
        watch=by_kind[Watch][-1] if by_kind[Watch] else None,
        looks=by_kind[Look],
        gaps=by_kind[Gap],
        paces=by_kind[Pace],
        rpc_sizes=by_kind[RpcSizes],
        servers=by_kind[Servers],
        ended=by_kind[Ended][-1] if by_kind[Ended] else None,
        truncated=truncated,
        server_looks=tuple(by_kind[ServerLook]),
        server_gaps=tuple(by_kind[ServerGap]),
    )
