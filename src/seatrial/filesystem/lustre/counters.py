"""What the counters of a Lustre client and of its servers say: bytes, requests and their sizes, shares of a job."""

from typing import Dict, Iterable, List, Tuple

from seatrial.filesystem.lustre import params
from seatrial.filesystem.lustre.text import NotUnderstood
from seatrial.model.telemetry import READ, WRITTEN, RpcSize, Served

RPC_SIZES = 'pages per rpc'
JOB_STATS = '.job_stats'

WIRE = {'read_bytes': READ, 'write_bytes': WRITTEN}
"""Of osc.*.stats, and of mdc.*.stats for data on MDTs: what was brought from servers and sent to them."""

REQUESTS = {'ost_read': 'read_rpcs', 'ost_write': 'write_rpcs', 'req_waittime': 'rpcs'}
"""Of the same: how many requests that were; the last is all of them, also of metadata."""

BULK = {'read_bytes': 'ost_read', 'write_bytes': 'ost_write'}
"""Of the same: what is counted once for each request that moves data, in bytes and in time."""

IN_FLIGHT = 256
"""Requests that may be between these two counts: the highest max_rpcs_in_flight (OSC_MAX_RIF_MAX in obd.h)."""

CALLS = {'read_bytes': 'called_read_bytes', 'write_bytes': 'called_write_bytes'}
"""Of llite.*.stats: what programs have read and written, from the cache too."""


def check(found: Iterable[params.Param]) -> None:
    """Raises NotUnderstood where a device counts bytes without requests, as lctl of 2.17 shows an ordinary user
    counters under names of other devices (seen with wildcards). Requests that failed moved no bytes."""
    for param in found:
        counted = params.parse_stats(param.value) if param.name.startswith(('osc.', 'mdc.')) else {}
        for name, requests in BULK.items():
            moved, asked = counted.get(name), counted.get(requests)
            few = asked.samples if asked else 0
            if moved and (moved.unit != 'bytes' or not few or moved.samples > few + IN_FLIGHT):
                said = f'{moved.samples} {name} in {moved.unit} of {few} {requests}'
                raise NotUnderstood(f'{param.name} contradicts itself', said)


def traffic(found: Iterable[params.Param]) -> Dict[str, int]:
    """The counters in these parameters, summed over targets: those of osc and mdc, where osc cannot be read of llite.
    One before its first event is not shown, and 0 if its parameter is there. Raises NotUnderstood."""
    wire: Dict[str, int] = {}
    calls: Dict[str, int] = {}
    for param in found:
        counters = params.parse_stats(param.value)
        if param.name.startswith('llite.'):
            _add(calls, CALLS, counters, 'total')
        elif param.name.startswith(('osc.', 'mdc.')):
            _add(wire, WIRE, counters, 'total')
            _add(wire, REQUESTS, counters, 'samples')
    if not wire and calls:
        return {READ: calls['called_read_bytes'], WRITTEN: calls['called_write_bytes']}
    return dict(calls, **wire)


def _add(sums: Dict[str, int], names: Dict[str, str], counters: Dict[str, params.Counter], field: str) -> None:
    for name, own in names.items():
        seen = int(getattr(counters[name], field)) if name in counters else 0
        sums[own] = sums.get(own, 0) + seen


def rpc_sizes(found: Iterable[params.Param]) -> Tuple[RpcSize, ...]:
    """The sizes of the requests in these osc.*.rpc_stats, summed over targets. Raises NotUnderstood."""
    sizes: Dict[str, List[int]] = {}
    for param in found:
        for label, reads, writes in params.parse_histograms(param.value).get(RPC_SIZES, ()):
            own = sizes.setdefault(label, [0, 0])
            own[0] += reads
            own[1] += writes
    return tuple(RpcSize(label, *own) for label, own in sizes.items())


def served(text: str, job: str) -> Tuple[Served, ...]:
    """What servers count of this job, in the job_stats of `lctl get_param` output. Raises NotUnderstood."""
    lines = text.split('\n')
    begin = next((i for i, line in enumerate(lines) if JOB_STATS + '=' in line), None)
    if begin is None:
        return ()
    found = []
    for param in params.parse_params('\n'.join(lines[begin:])):
        if param.name.endswith(JOB_STATS):
            target = param.name[: -len(JOB_STATS)].rpartition('.')[2]
            for name, counter in params.parse_job_stats(param.value).get(job, {}).items():
                if counter.samples:
                    found.append(Served(target, name, counter.samples, counter.total, counter.unit))
    return tuple(found)
