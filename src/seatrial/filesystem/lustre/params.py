"""Lustre's parameters as `lctl get_param` shows them: counters, histograms, imports, job statistics, LFSCK. Each
parser returns all that a text said, or raises NotUnderstood. A text that was cut short has fewer counters, unnoticed:
only outputs that ended are read. Forms: 2.17 (tests/transcripts/lustre); 2.12 has no squares, and 2.12 to 2.14 have
whole seconds in job_stats and (secs.nsecs) in histograms."""

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from seatrial.filesystem.lustre.text import NotUnderstood, needed, number, whole_lines

HISTORY_MOST = 16  # changes of an import's state that are kept (IMP_STATE_HIST_LEN)
LOST = ('DISCONN', 'EVICTED')
IDLING = ('CONNECTING', 'IDLE', 'FULL')
"""What an import goes through that is not used for idle_timeout seconds, and is used again."""

_PARAM = re.compile(r'([A-Za-z][\w@:-]*(?:\.[\w@:-]+)*)=(.*)\Z')
_PARAM_ERROR = re.compile(r'error: \w+: (?:(?:param_path|opening|setting|reading) )?(.+): ([^:]+)\Z')
DECADES_S = 1e9
_TIME = re.compile(r'(snapshot_time|start_time|elapsed_time):?\s+(\d+(?:\.\d+)?)(?: \(?secs[.\w]*\)?)?\s*\Z')
_COUNTER = re.compile(r'(\S+)\s+(\d+) samples \[(\w+)\]?(?: (\d+) (\d+) (\d+)(?: (\d+))?)?\s*\Z')
_GAUGE = re.compile(r'([A-Za-z][\w ]*):\s+(-?\d+)\s*\Z')
_TITLE = re.compile(r'(\S.*?)\s+(\w+)\s+% cum %\s+\|\s+(\w+)\s+% cum %\s*\Z')
_BUCKET = re.compile(r'(\S+):\s+(\d+)\s+\d+\s+\d+\s+\|\s+(\d+)\s+\d+\s+\d+\s*\Z')
_SIDES = re.compile(r'\s*read\s+(?:\|\s+)?write\s*\Z')
_FIELD = re.compile(r'\s*(?:- )?([^:]+?):(?:\s+(.*?))?\s*\Z')
_CHANGE = re.compile(r' - \[ (\d+), (\w+) \]\Z')
_JOB_COUNTER = re.compile(r'  (\w+):\s+\{ samples:\s*(\d+)(?:, unit:\s*(\w+))?(.*)\}\Z')
_JOB_NUMBER = re.compile(r'(min|max|sum|sumsq):\s*(\d+)')
_JOB_BUCKET = re.compile(r'(\w+): (\d+)')


class Param(NamedTuple):
    """A parameter and its value: the rest of its line, and all lines up to the next one."""

    name: str
    value: str


class Counter(NamedTuple):
    """A counter of events, and the sizes or times of them in its unit ('bytes', 'usecs'), 0 where it tells none."""

    samples: int
    unit: str
    least: int = 0
    most: int = 0
    total: int = 0
    squares: int = 0  # the sum of their squares
    buckets: Tuple[Tuple[str, int], ...] = ()  # how many were up to each size ('1M'), of job statistics


class Stats(NamedTuple):
    """Counters since start_s, or since anybody cleared them: only differences of two mean something."""

    # taken_s, start_s: seconds since 1970 by the node's clock; 2.12 does not report start_s
    taken_s: float
    start_s: Optional[float]
    counters: Dict[str, Counter]


class Bucket(NamedTuple):
    """One line of a histogram: its label as lctl prints it ('256', '1K'), and how many reads and writes."""

    label: str
    reads: int
    writes: int


class RpcHistogram(NamedTuple):
    """One table of rpc_stats or brw_stats, as 'pages per rpc', in 'rpcs', 'ios' or 'count'."""

    title: str
    unit: str
    buckets: Tuple[Bucket, ...]


class Histograms(NamedTuple):
    """The value of rpc_stats or brw_stats; gauges are the single numbers above the tables."""

    taken_s: float
    gauges: Dict[str, int]
    tables: Tuple[RpcHistogram, ...]


class Import(NamedTuple):
    """How this node is connected to one target."""

    name: str
    target: str
    state: str  # FULL, IDLE (disconnected because nothing is asked), CONNECTING, DISCONN, RECOVER, REPLAY, EVICTED,
    server_version: str  # '2.17.0.0', or empty where the server does not tell it
    connection: str
    attempts: int  # connections that were tried since the mount; idle targets add to them, so more are no fault
    features: Tuple[str, ...]


class StateChange(NamedTuple):
    """When an import went into a state: seconds since 1970 by the node's clock, whole ones."""

    time_s: int
    state: str


class States(NamedTuple):
    """The state of an import and the last changes of it, at most 16, the oldest first."""

    current: str
    changes: Tuple[StateChange, ...]


class Incident(NamedTuple):
    """A connection that was lost, and when: by DISCONN the server was away, by EVICTED it has dropped this client."""

    time_s: int
    device: str
    state: str


class JobCounters(NamedTuple):
    """What one job has asked of one target; id is the Slurm job where jobid_var is SLURM_JOB_ID."""

    id: str
    taken_s: float
    counters: Dict[str, Counter]


def parse_params(text: str) -> Tuple[Param, ...]:
    """`lctl get_param` without -n: every parameter that could be read, in the order of the output."""
    found: List[Param] = []
    for line in whole_lines(text):
        match = _PARAM.match(line)
        if match is not None:
            found.append(Param(match.group(1), match.group(2)))
        elif found:
            name, value = found[-1]
            found[-1] = Param(name, f'{value}\n{line}' if value else line)
        elif line.strip():
            raise NotUnderstood('not a parameter', line)
    return tuple(found)


def parse_param_errors(stderr: str) -> Dict[str, str]:
    """What lctl could not read or set, in its own words, by the path that it names: 'osc/*/nosuch', '/sys/fs/...'."""
    found = {}
    for line in whole_lines(stderr):
        match = _PARAM_ERROR.match(line)
        if match is None:
            raise NotUnderstood('not an error of a parameter', line)
        found[match.group(1).strip("'")] = match.group(2)
    return found


def parse_stats(value: str) -> Stats:
    """The counters of llite, osc, mdc or obdfilter stats, or md_stats. To an ordinary user lctl of 2.17 prints each
    line without its last character (seen): a sum is whole only where the sum of squares comes after it."""
    times: Dict[str, float] = {}
    counters: Dict[str, Counter] = {}
    for line in value.split('\n'):
        time, counter = _TIME.match(line), _COUNTER.match(line)
        if time is not None:
            times[time.group(1)] = float(time.group(2))
        elif counter is not None:
            name, samples, unit, *numbers = counter.groups()
            least, most, total, squares = (int(text or 0) for text in numbers)
            counters[name] = Counter(int(samples), unit, least, most, total, squares)
        elif line.strip():
            raise NotUnderstood('not a counter', line)
    if 'snapshot_time' not in times:
        raise NotUnderstood('the time of the counters is missing', value)
    if times.get('elapsed_time', 0.0) > DECADES_S and any(
        each.unit == 'bytes' and each.total and not each.squares for each in counters.values()
    ):
        raise NotUnderstood('lctl leaves out the last digit of a sum', value)
    return Stats(times['snapshot_time'], times.get('start_time'), counters)


def parse_histograms(value: str) -> Histograms:
    """The tables of rpc_stats or brw_stats; percentages are left out, and reckoned where they are wanted."""
    times: Dict[str, float] = {}
    gauges: Dict[str, int] = {}
    tables: List[RpcHistogram] = []
    for line in value.split('\n'):
        time, title, bucket, gauge = (form.match(line) for form in (_TIME, _TITLE, _BUCKET, _GAUGE))
        if time is not None:
            times[time.group(1)] = float(time.group(2))
        elif title is not None:
            tables.append(RpcHistogram(title.group(1), title.group(2), ()))
        elif bucket is not None and tables:
            label, reads, writes = bucket.groups()
            added = (*tables[-1].buckets, Bucket(label, int(reads), int(writes)))
            tables[-1] = tables[-1]._replace(buckets=added)
        elif gauge is not None and not tables:
            gauges[gauge.group(1)] = int(gauge.group(2))
        elif line.strip() and not _SIDES.match(line):
            raise NotUnderstood('not a line of a histogram', line)
    if 'snapshot_time' not in times:
        raise NotUnderstood('the time of the histograms is missing', value)
    return Histograms(times['snapshot_time'], gauges, tuple(tables))


def parse_import(value: str) -> Import:
    told: Dict[str, str] = {}
    for line in value.split('\n'):
        match = _FIELD.match(line)
        if match is not None:
            told.setdefault(match.group(1), match.group(2) or '')
    return Import(
        needed(told, 'name'),
        needed(told, 'target'),
        needed(told, 'state'),
        told.get('target_version', ''),
        told.get('current_connection', '').strip('"'),
        number(needed(told, 'connection_attempts'), value),
        tuple(told.get('connect_flags', '').strip('[] ').split(', ')),
    )


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
    found = {}
    for line in value.split('\n'):
        match = _FIELD.match(line)
        if match is None and line.strip():
            raise NotUnderstood('not a field', line)
        if match is not None:
            found[match.group(1)] = match.group(2) or ''
    if not found:
        raise NotUnderstood('no field is shown', value)
    return found


def parse_job_stats(value: str) -> Tuple[JobCounters, ...]:
    """The value of obdfilter.*.job_stats or mdt.*.job_stats; empty where nothing is kept."""
    jobs: List[JobCounters] = []
    for line in value.split('\n'):
        counter, time = _JOB_COUNTER.match(line), _TIME.match(line.strip())
        if line.startswith('- job_id:'):
            jobs.append(JobCounters(line[len('- job_id:') :].strip().strip('"'), 0.0, {}))
        elif time is not None and jobs:
            if time.group(1) == 'snapshot_time':
                jobs[-1] = jobs[-1]._replace(taken_s=float(time.group(2)))
        elif counter is not None and jobs:
            name, samples, unit, rest = counter.groups()
            numbers = {key: int(text) for key, text in _JOB_NUMBER.findall(rest)}
            buckets = tuple((label, int(count)) for label, count in _JOB_BUCKET.findall(rest.partition('hist:')[2]))
            least, most, total, squares = (numbers.get(key, 0) for key in ('min', 'max', 'sum', 'sumsq'))
            jobs[-1].counters[name] = Counter(int(samples), unit or '', least, most, total, squares, buckets)
        elif line.strip() not in ('', 'job_stats:'):
            raise NotUnderstood('not a line of job statistics', line)
    return tuple(jobs)


def incidents(before: Dict[str, States], after: Dict[str, States]) -> Tuple[Incident, ...]:
    """Connections that were lost between two readings of the same imports, earliest first; idling loses nothing."""
    found = []
    for device, states in after.items():
        known = list(before[device].changes) if device in before else []
        for change in states.changes:
            if change in known:
                known.remove(change)
            elif change.state in LOST:
                found.append(Incident(change.time_s, device, change.state))
    return tuple(sorted(found))


def turned_over(before: Dict[str, States], after: Dict[str, States]) -> Tuple[str, ...]:
    """Imports that changed so often between two readings that earlier changes are forgotten."""
    found = []
    for device, states in after.items():
        known = before[device].changes if device in before else ()
        if len(states.changes) >= HISTORY_MOST and not set(known) & set(states.changes):
            found.append(device)
    return tuple(found)


def only_idled(states: States) -> bool:
    """Whether all that is remembered is what four times of idling leave too, which lose nothing."""
    return all(change.state in IDLING for change in states.changes)
