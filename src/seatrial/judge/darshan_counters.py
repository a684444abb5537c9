"""Checks Darshan's counters against each other, and counts bytes by transfer size. Pure functions. The bins of the
histograms are those of DARSHAN_BUCKET_INC in darshan-common.h of Darshan 3.4. Its byte counters can overflow:
MPI-IO's are a product of two ints (Darshan issue 957), and a sum over all ranks can pass 2**63."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

from seatrial.judge.issued import ALL, SAME_BYTES, DarshanLog, Record, calls_of, frequent_sizes, prefix_of
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.words import by_key

_TOPS: dict[str, float] = {  # the largest size in each bin, by its name; the next one begins a byte above it
    '0_100': 100,
    '100_1K': KIB,
    '1K_10K': 10 * KIB,
    '10K_100K': 100 * KIB,
    '100K_1M': MIB,
    '1M_4M': 4 * MIB,
    '4M_10M': 10 * MIB,
    '10M_100M': 100 * MIB,
    '100M_1G': GIB,
    '1G_PLUS': inf,
}
_BOTTOMS = dict(zip(_TOPS, (0, *(top + 1 for top in _TOPS.values())), strict=False))

_WORDS = {'write': ('WRITE', 'WRITES', 'WRITTEN'), 'read': ('READ', 'READS', 'READ')}
_USED = ('BYTES_', 'MAX_BYTE_', 'SEQ_', 'CONSEC_', 'SIZE_', 'ACCESS', '_READS', '_WRITES')  # parts of counters


def contradiction(log: DarshanLog) -> str:
    """A sentence that names two counters that contradict each other; empty if there are none."""
    return next(_contradictions(log), '')


def weighed(records: Sequence[Record], operation: str) -> Counter[int]:
    """Bytes that the operation moved, by transfer size, as far as the records show. Darshan keeps one table of the
    four most frequent sizes for reads and writes together: where both have some in a bin, the fewest count."""
    other, moved = 'read' if operation == 'write' else 'write', Counter[int]()
    for record in records:
        histogram, others = _histogram(record, operation), _histogram(record, other)
        for size, count, _ in frequent_sizes(record):
            name = _bin(size)
            moved[size] += size * max(0, min(histogram[name], count - others[name]))
    return moved


def _contradictions(log: DarshanLog) -> Iterator[str]:
    for record in log.records:
        if record.rank >= log.processes:
            yield f'a record is of rank {record.rank}, and nprocs is {log.processes}'
        yield from _of_record(record)
    for records in by_key((record.file, record) for record in log.records).values():
        for module in ('POSIX', 'MPI-IO'):
            ranks = {entry.rank for entry in records if entry.module == module}
            if ALL in ranks and len(ranks) > 1:
                yield f'{module} has a file both in the record of all ranks (-1) and in one of rank {max(ranks)}'
        yield from _of_layers(records)


def _of_record(record: Record) -> Iterator[str]:
    prefix, counters = prefix_of(record), record.counters
    negative = [name for name, value in counters.items() if value < 0 and any(part in name for part in _USED)]
    if negative:
        beside = ', '.join(
            f'{n} {counters[n]}' for n in counters if counters[n] > 0 and n.endswith(('READS', 'WRITES'))
        )
        yield f'{negative[0]} is {counters[negative[0]]}, beside {beside or "no call"}: it has overflowed'
    for operation, (word, plural, moved) in _WORDS.items():
        name, calls, histogram = f'{prefix}_BYTES_{moved}', calls_of(record, operation), _histogram(record, operation)
        moved_bytes, bins = counters.get(name, 0), f'{prefix}_SIZE_{word}_*'
        if sum(histogram.values()) != calls:
            yield f'{prefix} counts {calls} {plural}, and {bins} {sum(histogram.values())} of them'
        low, high = (sum(n * ends[bin_name] for bin_name, n in histogram.items() if n) for ends in (_BOTTOMS, _TOPS))
        if not low <= moved_bytes <= high:
            how = 'it has wrapped' if moved_bytes < low else 'one of them is wrong'
            yield f'{name} is {moved_bytes}, and the calls in {bins} move {low} to {high} bytes: {how}'
        last = f'{prefix}_MAX_BYTE_{moved}'
        largest = max((_BOTTOMS[bin_name] for bin_name, number in histogram.items() if number), default=0)
        if prefix == 'POSIX' and moved_bytes and counters.get(last, 0) + 1 < largest:
            yield f'{last} is {counters.get(last, 0)}, and a call in {bins} moves {largest} bytes or more'
        ordered = [f'POSIX_{kind}{plural}' for kind in ('CONSEC_', 'SEQ_', '')]
        for less, more in pairwise(ordered):  # consecutive transfers are sequential ones, and these are some of all
            if counters.get(less, 0) > counters.get(more, 0):
                yield f'{less} is {counters[less]}, and {more} is {counters.get(more, 0)}'
    for size, count, number in frequent_sizes(record):
        there = sum(_histogram(record, operation)[_bin(size)] for operation in _WORDS)
        if count > there:
            yield f'{prefix}_ACCESS{number}_COUNT is {count}, and {prefix}_SIZE_*_{_bin(size)} has {there} such calls'
    both = sum(counters.get(f'{prefix}_BYTES_{way}', 0) for way in ('WRITTEN', 'READ'))
    for name in (f'{prefix}_FASTEST_RANK_BYTES', f'{prefix}_SLOWEST_RANK_BYTES'):
        if counters.get(name, 0) > both:
            yield f'{name} is {counters[name]}, more than the {both} of {prefix}_BYTES_WRITTEN and _READ of all ranks'


def _of_layers(records: Sequence[Record]) -> Iterator[str]:
    """Contradictions between MPI-IO and POSIX: it moves all bytes of independent calls, fewer of collective ones."""
    mpiio, posix = ([record for record in records if record.module == module] for module in ('MPI-IO', 'POSIX'))
    for _, plural, moved in _WORDS.values():
        above = sum(record.counters.get(f'MPIIO_BYTES_{moved}', 0) for record in mpiio)
        below = sum(record.counters.get(f'POSIX_BYTES_{moved}', 0) for record in posix)
        shared = any(record.counters.get(f'MPIIO_{kind}_{plural}') for record in mpiio for kind in ('COLL', 'SPLIT'))
        if posix and not shared and below < above * (1 - SAME_BYTES):
            yield f'MPIIO_BYTES_{moved} is {above}, and POSIX_BYTES_{moved} of the same file {below}'


def _histogram(record: Record, operation: str) -> dict[str, int]:
    through = '' if record.module == 'POSIX' else 'AGG_'
    names = {name: f'{prefix_of(record)}_SIZE_{_WORDS[operation][0]}_{through}{name}' for name in _TOPS}
    return {name: record.counters.get(counter, 0) for name, counter in names.items()}


def _bin(size: int) -> str:
    return next(name for name, top in _TOPS.items() if size <= top)
