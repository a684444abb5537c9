"""Lustre's parameters as `lctl get_param` shows them: counters, histograms, imports, job statistics, LFSCK; and what
the counters of a client and of its servers come to: bytes, requests and their sizes, shares of a job. First what all
readers of lfs and lctl share. Each parser understands every line of a text, or raises NotUnderstood. A text that was
cut short has fewer counters, unnoticed: only outputs that ended are read. Forms: 2.17 (tests/transcripts/lustre);
2.12 has no squares, and 2.12 to 2.14 have whole seconds in job_stats and (secs.nsecs) in histograms."""

import re
from typing import Dict, Iterable, List, Match, NamedTuple, Pattern, Tuple

from seatrial.filesystem.base import NoAnswer
from seatrial.model.telemetry import READ, WRITTEN, RpcSize, Served

SHOWN_MOST = 120  # characters of a line that a message quotes
RPC_SIZES = 'pages per rpc'
JOB_STATS = '.job_stats'

_WIRE = {  # bytes from servers and to them, and numbers of requests, the last one also of metadata
    'read_bytes': (READ, 'total'),
    'write_bytes': (WRITTEN, 'total'),
    'ost_read': ('read_rpcs', 'samples'),
    'ost_write': ('write_rpcs', 'samples'),
    'req_waittime': ('rpcs', 'samples'),
}
# Bytes that programs have read and written, from the cache too.
_CALLS = {'read_bytes': ('called_read_bytes', 'total'), 'write_bytes': ('called_write_bytes', 'total')}
SUMMED = {'osc': _WIRE, 'mdc': _WIRE, 'llite': _CALLS}  # in traffic(), of their *.stats; mdc's are data on MDTs
# Counters of osc and mdc that grow once for each request that moves data, in bytes and in time.
BULK = {'read_bytes': 'ost_read', 'write_bytes': 'ost_write'}
IN_FLIGHT = 256  # requests that may be between these counts: highest max_rpcs_in_flight (OSC_MAX_RIF_MAX in obd.h)
HISTORY_MOST = 16  # changes of an import's state that are kept (IMP_STATE_HIST_LEN)
LOST = ('DISCONN', 'EVICTED')
IDLING = ('CONNECTING', 'IDLE', 'FULL')  # states of an import that idles for idle_timeout seconds, and is used again

_PARAM = re.compile(r'([A-Za-z][\w@:-]*(?:\.[\w@:-]+)*)=(.*)\Z')
_PARAM_ERROR = re.compile(r'error: \w+: (?:(?:param_path|opening|setting|reading) )?(.+): ([^:]+)\Z')
DECADES_S = 1e9
_TIME = re.compile(r'(snapshot_time|start_time|elapsed_time):?\s+(\d+(?:\.\d+)?)(?: \(?secs[.\w]*\)?)?\s*\Z')
_COUNTER = re.compile(r'(\S+)\s+(\d+) samples \[(\w+)\]?(?: \d+ \d+ (\d+)(?: (\d+))?)?\s*\Z')
_GAUGE = re.compile(r'[A-Za-z][\w ]*:\s+-?\d+\s*\Z')
_TITLE = re.compile(r'(\S.*?)\s+\w+\s+% cum %\s+\|\s+\w+\s+% cum %\s*\Z')
_BUCKET = re.compile(r'(\S+):\s+(\d+)\s+\d+\s+\d+\s+\|\s+(\d+)\s+\d+\s+\d+\s*\Z')
_SIDES = re.compile(r'\s*read\s+(?:\|\s+)?write\s*\Z')
_FIELD = re.compile(r'\s*(?:- )?([^:]+?):(?:\s+(.*?))?\s*\Z')
_CHANGE = re.compile(r' - \[ (\d+), (\w+) \]\Z')
_JOB_COUNTER = re.compile(r'  (\w+):\s+\{ samples:\s*(\d+)(?:, unit:\s*(\w+))?(.*)\}\Z')
_JOB_SUM = re.compile(r' sum:\s*(\d+)')


class NotUnderstood(NoAnswer):
    """Output without the form of lfs or lctl 2.12 to 2.17; the message quotes the line."""

    def __init__(self, wrong: str, line: str = '') -> None:
        shown = line.strip()
        shown = shown if len(shown) <= SHOWN_MOST else f'{shown[:SHOWN_MOST]}...'
        super().__init__(f'{wrong}: {shown!r}' if shown else wrong)


def matched(form: Pattern[str], line: str, wrong: str) -> Match[str]:
    """The match of a line that must have the form. Raises NotUnderstood."""
    match = form.match(line)
    if match is None:
        raise NotUnderstood(wrong, line)
    return match


def whole_lines(text: str) -> List[str]:
    """The lines that end. Text after the last newline was cut off, and half a number would look like a number."""
    return text.split('\n')[:-1]


def needed(fields: Dict[str, str], key: str) -> str:
    """The value of a field that whole output always has. Raises NotUnderstood."""
    if not fields.get(key):
        raise NotUnderstood(f'{key} is missing; was the output cut short?', str(fields))
    return fields[key]


def number(text: str, line: str) -> int:
    """A whole decimal number. Raises NotUnderstood, which quotes the line."""
    try:
        return int(text, 10)
    except ValueError:
        raise NotUnderstood(f'{text!r} is not a number', line) from None


class Param(NamedTuple):
    """A parameter and its value: the rest of its line, and all lines up to the next one."""

    name: str
    value: str


class Counter(NamedTuple):
    """A counter of events since anybody cleared it, and the sum of them in its unit ('bytes', 'usecs'), 0 without."""

    samples: int
    unit: str
    total: int = 0


class Import(NamedTuple):
    name: str
    state: str  # FULL, IDLE (disconnected because nothing is asked), CONNECTING, DISCONN, RECOVER, REPLAY, EVICTED,
    server_version: str  # '2.17.0.0', or empty where the server does not tell it
    connection: str
    in_flight: int = 0  # requests that were sent to it and are not answered


class StateChange(NamedTuple):
    """A change of an import's state: whole seconds since 1970 by the node's clock."""

    time_s: int
    state: str


class States(NamedTuple):
    """The state of an import and the last changes of it, at most 16, the oldest first."""

    current: str
    changes: Tuple[StateChange, ...]


class Incident(NamedTuple):
    """A lost connection: with DISCONN the server was away, with EVICTED it has dropped this client."""

    time_s: int
    device: str
    state: str


def parse_params(text: str) -> Tuple[Param, ...]:
    """`lctl get_param` without -n: every parameter that could be read, in the order of the output."""
    parameters: List[Param] = []
    for line in whole_lines(text):
        match = _PARAM.match(line)
        if match is not None:
            parameters.append(Param(match.group(1), match.group(2)))
        elif parameters:
            name, value = parameters[-1]
            parameters[-1] = Param(name, f'{value}\n{line}' if value else line)
        elif line.strip():
            raise NotUnderstood('not a parameter', line)
    return tuple(parameters)


def parse_param_errors(stderr: str) -> Dict[str, str]:
    """Messages of lctl on parameters that it could not read or set, by path: 'osc/*/nosuch', '/sys/fs/...'."""
    rows = (matched(_PARAM_ERROR, line, 'not an error of a parameter').groups() for line in whole_lines(stderr))
    return {path.strip("'"): why for path, why in rows}


def parse_stats(value: str) -> Dict[str, Counter]:
    """The counters of llite, osc, mdc or obdfilter stats, or md_stats. For an ordinary user lctl of 2.17 prints each
    line without its last character (seen): a sum is whole only if the sum of squares follows it."""
    times: Dict[str, float] = {}
    counters: Dict[str, Counter] = {}
    has_all_squares = True
    for line in value.split('\n'):
        time, counter = _TIME.match(line), _COUNTER.match(line)
        if time is not None:
            times[time.group(1)] = float(time.group(2))
        elif counter is not None:
            name, samples, unit, total, squares = counter.groups()
            counters[name] = Counter(int(samples), unit, int(total or 0))
            has_all_squares &= unit != 'bytes' or not int(total or 0) or bool(int(squares or 0))
        elif line.strip():
            raise NotUnderstood('not a counter', line)
    if 'snapshot_time' not in times:
        raise NotUnderstood('the time of the counters is missing', value)
    if times.get('elapsed_time', 0.0) > DECADES_S and not has_all_squares:
        raise NotUnderstood('lctl leaves out the last digit of a sum', value)
    return counters


def parse_histograms(value: str) -> Dict[str, Tuple[RpcSize, ...]]:
    """The tables of rpc_stats or brw_stats by their titles, as 'pages per rpc'."""
    dated = False
    tables: Dict[str, Tuple[RpcSize, ...]] = {}
    for line in value.split('\n'):
        title, bucket = _TITLE.match(line), _BUCKET.match(line)
        if title is not None:
            last = title.group(1)
            tables[last] = ()
        elif bucket is not None and tables:
            label, reads, writes = bucket.groups()
            tables[last] += (RpcSize(label, int(reads), int(writes)),)
        elif _TIME.match(line):
            dated = dated or line.startswith('snapshot_time')
        elif line.strip() and not _SIDES.match(line) and (tables or not _GAUGE.match(line)):
            raise NotUnderstood('not a line of a histogram', line)
    if not dated:
        raise NotUnderstood('the time of the histograms is missing', value)
    return tables


def parse_import(value: str) -> Import:
    fields: Dict[str, str] = {}
    for line in value.split('\n'):
        match = _FIELD.match(line)
        if match is not None:
            fields.setdefault(match.group(1), match.group(2) or '')
    name, state, version = needed(fields, 'name'), needed(fields, 'state'), fields.get('target_version', '')
    connection, in_flight = fields.get('current_connection', '').strip('"'), fields.get('inflight', '')
    return Import(name, state, version, connection, int(in_flight) if in_flight.isdigit() else 0)


def parse_states(value: str) -> States:
    lines = value.split('\n')
    head = _FIELD.match(lines[0])
    if head is None or head.group(1) != 'current_state' or not head.group(2):
        raise NotUnderstood('not the state of an import', lines[0])
    changes = []
    for line in lines[1:]:
        match = _CHANGE.match(line)
        if match is not None:
            changes.append(StateChange(int(match.group(1)), match.group(2)))
        elif line.strip() not in ('', 'state_history:'):
            raise NotUnderstood('not a change of state', line)
    return States(head.group(2), tuple(changes))


def parse_fields(value: str) -> Dict[str, str]:
    """A value of 'name: value' lines: max_cached_mb, recovery_status, lfsck_layout, lfsck_namespace, oi_scrub."""
    fields = {}
    for line in value.split('\n'):
        match = _FIELD.match(line)
        if match is None and line.strip():
            raise NotUnderstood('not a field', line)
        if match is not None:
            fields[match.group(1)] = match.group(2) or ''
    if not fields:
        raise NotUnderstood('no field is shown', value)
    return fields


def parse_job_stats(value: str) -> Dict[str, Dict[str, Counter]]:
    """The counters in *.job_stats by the job's id, which is Slurm's where jobid_var is SLURM_JOB_ID."""
    jobs: Dict[str, Dict[str, Counter]] = {}
    for line in value.split('\n'):
        counter = _JOB_COUNTER.match(line)
        if line.startswith('- job_id:'):
            last = jobs.setdefault(line[len('- job_id:') :].strip().strip('"'), {})
        elif counter is not None and jobs:
            name, samples, unit, rest = counter.groups()
            total = _JOB_SUM.search(rest)
            last[name] = Counter(int(samples), unit or '', int(total.group(1)) if total else 0)
        elif not (_TIME.match(line.strip()) and jobs) and line.strip() not in ('', 'job_stats:'):
            raise NotUnderstood('not a line of job statistics', line)
    return jobs


def incidents(before: Dict[str, States], after: Dict[str, States]) -> Tuple[Incident, ...]:
    """Connections that were lost between two readings of the same imports, earliest first; idling loses nothing."""
    losses = []
    for device, states in after.items():
        known = list(before[device].changes) if device in before else []
        for change in states.changes:
            if change in known:
                known.remove(change)
            elif change.state in LOST:
                losses.append(Incident(change.time_s, device, change.state))
    return tuple(sorted(losses))


def turned_over(before: Dict[str, States], after: Dict[str, States]) -> Tuple[str, ...]:
    """Imports that changed so often between two readings that earlier changes are forgotten."""
    known = {device: states.changes for device, states in before.items()}
    full = {device: states.changes for device, states in after.items() if len(states.changes) >= HISTORY_MOST}
    return tuple(device for device, changes in full.items() if not set(known.get(device, ())) & set(changes))


def only_idled(states: States) -> bool:
    return all(change.state in IDLING for change in states.changes)


def check(parameters: Iterable[Param]) -> None:
    """Raises NotUnderstood where a device counts bytes without requests, as lctl of 2.17 shows an ordinary user
    counters under names of other devices (seen with wildcards). Requests that failed moved no bytes."""
    for param in parameters:
        counted = parse_stats(param.value) if param.name.startswith(('osc.', 'mdc.')) else {}
        for name, requests in BULK.items():
            moved, asked = counted.get(name), counted.get(requests)
            few = asked.samples if asked else 0
            if moved and (moved.unit != 'bytes' or not few or moved.samples > few + IN_FLIGHT):
                contradiction = f'{moved.samples} {name} in {moved.unit} of {few} {requests}'
                raise NotUnderstood(f'{param.name} contradicts itself', contradiction)


def traffic(parameters: Iterable[Param]) -> Dict[str, int]:
    """The counters in these parameters, summed over targets: those of osc and mdc, or of llite where osc cannot be
    read. A counter before its first event is not shown: it is 0 if its parameter is there. Raises NotUnderstood."""
    sums: Dict[str, int] = {}
    for param in parameters:
        counters = parse_stats(param.value)
        for name, (name_of_sum, field) in SUMMED.get(param.name.partition('.')[0], {}).items():
            sums[name_of_sum] = sums.get(name_of_sum, 0) + (getattr(counters[name], field) if name in counters else 0)
    if sums and READ not in sums:
        return {READ: sums['called_read_bytes'], WRITTEN: sums['called_write_bytes']}
    return sums


def rpc_sizes(parameters: Iterable[Param]) -> Tuple[RpcSize, ...]:
    """The sizes of the requests in these osc.*.rpc_stats, summed over targets. Raises NotUnderstood."""
    sizes: Dict[str, List[int]] = {}
    for param in parameters:
        for label, reads, writes in parse_histograms(param.value).get(RPC_SIZES, ()):
            counts = sizes.setdefault(label, [0, 0])
            counts[0] += reads
            counts[1] += writes
    return tuple(RpcSize(label, *counts) for label, counts in sizes.items())


def served(text: str, job: str) -> Tuple[Served, ...]:
    """The servers' counters of this job, in the job_stats of `lctl get_param` output. Raises NotUnderstood."""
    lines = text.split('\n')
    begin = next((i for i, line in enumerate(lines) if JOB_STATS + '=' in line), None)
    if begin is None:
        return ()
    counters = []
    for param in parse_params('\n'.join(lines[begin:])):
        if param.name.endswith(JOB_STATS):
            target = param.name[: -len(JOB_STATS)].rpartition('.')[2]
            for name, counter in parse_job_stats(param.value).get(job, {}).items():
                if counter.samples:
                    counters.append(Served(target, name, counter.samples, counter.total, counter.unit))
    return tuple(counters)
