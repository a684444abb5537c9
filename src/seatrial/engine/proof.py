"""The proof of contents: an engine that measures nothing, and is no site's. One python3 process a task (main) writes
data that can be known again, or compares them.

Every block begins with a digest (BLAKE2b, RFC 7693) of key, file and offset, and goes on with a part of a random pool
(SHAKE128, FIPS 202) from a byte that the digest names. Another place or run, zeros or one changed bit differ.
"""

import errno
import functools
import hashlib
import json
import mmap
import os
import socket
import time
from fcntl import F_GETFL, F_SETFL, fcntl
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from seatrial.engine import base
from seatrial.engine.base import DIRECT_BYTES, Command, Engine, EngineError, Outcome, ended
from seatrial.engine.node_program import module_argv
from seatrial.engine.posixops.work import opened, write_all
from seatrial.model.codec import from_json, to_json
from seatrial.model.metric import Measurement, TaskTime
from seatrial.model.point import Point
from seatrial.model.units import MIB
from seatrial.workload.access import file_name, writer_of
from seatrial.workload.registry import phase_of

BLOCK, DIGEST, POOL = 4096, 16, 1 << 22  # bytes
SHOWN = 16  # bytes of the expected data and of the data read
FAILED = 1  # its exit status


class ProofSpec(NamedTuple):
    """The order to all tasks of a launch."""

    phase: str
    point: Point
    key: str  # the data are made from it
    transfers: int  # that a task makes at most, of the point's; fewer are at places all over its part of the file
    limit_s: float  # seconds after which no further transfer begins
    written: Tuple[int, ...] = ()  # number of transfers that each task has written, by rank; empty for the write


class Differs(NamedTuple):
    """The first difference between a file and its data. expected, read_back: SHOWN bytes from there on, in hex."""

    file: str
    offset: int
    expected: str
    read_back: str

    @staticmethod
    def json_keys() -> Dict[str, str]:
        return {'read_back': 'found'}


class ProofReport(NamedTuple):
    """The report of a task: one line of JSON. direct: all was read past the cache of its node."""

    rank: int
    host: str
    transfers: int
    direct: bool = False
    differs: Optional[Differs] = None
    failed: str = ''


class Proof(Engine):
    """The proof of one case, as in ProofSpec; written: transfers and host of each task's write; empty before it."""

    name = 'proof'
    verifies = True
    reads_next_node = True

    def __init__(self, key: str, transfers: int, limit_s: float, written: Tuple[Tuple[int, str], ...] = ()) -> None:
        self._key, self._transfers, self._limit_s, self._written = key, transfers, limit_s, written

    def reads_back(self, written: Measurement, point: Point) -> 'Proof':
        """The engine that reads back the data of this measurement."""
        tasks = tuple((task.bytes_moved // point.data.transfer_size, task.host) for task in written.tasks)
        return Proof(self._key, self._transfers, self._limit_s, tasks)

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        path = f'{raw}.spec.json'
        written = tuple(transfers for transfers, _ in self._written)
        spec = ProofSpec(phase, point, self._key, self._transfers, self._limit_s, written)
        argvs = tuple(module_argv(program, __name__, (path, str(rank))) for rank in range(point.tasks))
        return Command('task', argvs, {path: json.dumps(to_json(spec)) + '\n'}, ())

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Raises EngineError: F2 a file is not as it was written, E1 a task failed, T9 a report is missing."""
        try:
            printed = [from_json(ProofReport, json.loads(text)) for text in outcome.stdouts if text.strip()]
        except (ValueError, RecursionError) as error:
            raise EngineError('T8', f"a task's report is damaged: {error}") from error
        reports = sorted(printed, key=lambda report: report.rank)
        for report in reports:
            if report.failed:
                raise EngineError('E1', f'task {report.rank} on {report.host}: {report.failed}')
        for rank, process in enumerate(outcome.processes):
            if process.exit_status:
                how = ended(process.exit_status, [outcome.stderrs[rank]])
                raise EngineError('E1', f'task {rank} on {process.host} {how}')
        if [report.rank for report in reports] != list(range(point.tasks)):
            raise EngineError('T9', f'{len(reports)} tasks reported, not {point.tasks}')
        for report in reports:
            if report.differs is not None:
                _, writer = self._written[writer_of(point, report.rank)]
                raise EngineError('F2', *damage(report.differs, writer, report.host))
        size, writes = point.data.transfer_size, phase_of(point, phase).writes
        tasks = [TaskTime(task.rank, task.host, task.transfers * size, 0.0, 0.0) for task in reports]
        return base.of_tasks((), tasks, fsync=writes, direct=all(report.direct for report in reports))


def main(arguments: List[str]) -> int:
    """The arguments: the file with the launch's Spec, and the rank of this task."""
    path, rank = arguments[0], int(arguments[1])
    with open(path, encoding='utf-8') as stream:
        spec = from_json(ProofSpec, json.load(stream))
    host, writes = socket.gethostname(), phase_of(spec.point, spec.phase).writes
    name = file_name(spec.point, rank if writes else writer_of(spec.point, rank))
    try:
        report = write(spec, rank, host) if writes else compare(spec, rank, host)
    except OSError as error:
        why = error.strerror or str(error)
        # A name behind it is that of a call that was given one, as open(2); an open file's stands before it.
        words = [f'{spec.phase}, file {name}', why] if error.filename is None else [spec.phase, why, name]
        report = ProofReport(rank, host, 0, failed=': '.join(words))
    print(json.dumps(to_json(report)), flush=True)
    return FAILED if report.failed else 0


def write(spec: ProofSpec, rank: int, host: str) -> ProofReport:
    """Write this task's data and sync them; the file gets its full size in any case. Raises OSError."""
    point, name, end = spec.point, file_name(spec.point, rank), time.monotonic() + spec.limit_s
    written = 0
    with opened(name, os.O_WRONLY | os.O_CREAT) as descriptor:
        for offset in offsets(spec, rank):
            if written and time.monotonic() > end:
                break
            os.lseek(descriptor, offset, os.SEEK_SET)
            write_all(descriptor, memoryview(data_of(spec.key, name, offset, point.data.transfer_size)))
            written += 1
        size = point.data.bytes_per_task if point.data.files == 'multiple' else point.bytes_moved
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)  # it never gets shorter: no task writes beyond this
        os.fsync(descriptor)
    return ProofReport(rank, host, written)


def compare(spec: ProofSpec, rank: int, host: str) -> ProofReport:
    """Compare another task's data, read past the cache where possible, up to the first difference. Raises OSError."""
    point, writer, end = spec.point, writer_of(spec.point, rank), time.monotonic() + spec.limit_s
    name, size, direct = file_name(point, writer), point.data.transfer_size, True
    places, compared = offsets(spec, writer)[: spec.written[writer]], 0
    if spec.transfers >= point.data.transfers:
        places.sort()
    window = window_of(max(size, MIB))
    with opened(name, os.O_RDONLY) as descriptor:
        for run in _runs(places, size):
            if compared and time.monotonic() > end:
                break
            expected = b''.join(data_of(spec.key, name, offset, size) for offset in run)
            content, past = read_there(descriptor, run[0], len(expected), window)
            direct = direct and past
            if content != expected:
                return ProofReport(rank, host, compared, direct, differs(name, run[0], expected, content))
            compared += len(run)
    return ProofReport(rank, host, compared, direct)


def offsets(spec: ProofSpec, rank: int) -> List[int]:
    """Offsets of a task's transfers: all, or one at random in each of equal parts, and then in random order."""
    point, total = spec.point, spec.point.data.transfers
    if spec.transfers >= total:
        numbers = list(range(total))
    else:
        bounds = [total * part // spec.transfers for part in range(spec.transfers + 1)]
        numbers = [low + _draw(spec, rank, low) % (high - low) for low, high in zip(bounds, bounds[1:])]
    if spec.transfers < total or point.data.order == 'random':
        numbers.sort(key=lambda number: _draw(spec, rank, number))
    if point.data.files == 'multiple':
        return [number * point.data.transfer_size for number in numbers]
    if point.data.order == 'strided':
        return [(number * point.tasks + rank) * point.data.transfer_size for number in numbers]
    return [rank * point.data.bytes_per_task + number * point.data.transfer_size for number in numbers]


def data_of(key: str, name: str, offset: int, size: int) -> bytes:
    pool, parts = _pool(key), []
    for place in range(offset, offset + size, BLOCK):
        digest = hashlib.blake2b(f'{key} {name} {place}'.encode(), digest_size=DIGEST).digest()
        begin = int.from_bytes(digest[:4], 'big') % POOL
        parts += [digest, pool[begin : begin + BLOCK - DIGEST]]
    return b''.join(parts)[:size]


@functools.lru_cache(maxsize=1)
def _pool(key: str) -> bytes:
    return hashlib.shake_128(key.encode()).digest(POOL + BLOCK)


def _draw(spec: ProofSpec, rank: int, number: int) -> int:
    # Not by the module random: the Pythons of two nodes may draw otherwise.
    return int.from_bytes(hashlib.sha256(f'{spec.key} {rank} {number}'.encode()).digest()[:8], 'big')


def _runs(places: List[int], size: int) -> Iterator[List[int]]:
    """Consecutive transfers, as many as are read at a time."""
    run: List[int] = []
    for offset in places:
        if run and (offset != run[-1] + size or (len(run) + 1) * size > MIB):
            yield run
            run = []
        run.append(offset)
    if run:
        yield run


def window_of(size: int) -> mmap.mmap:
    """An aligned buffer for O_DIRECT, with room for the blocks around `size` bytes."""
    return mmap.mmap(-1, -(-size // DIRECT_BYTES) * DIRECT_BYTES + 2 * DIRECT_BYTES)


def read_past_cache(descriptor: int, offset: int, window: memoryview) -> Tuple[int, bool]:
    """Fill an aligned window: bytes read, and True if all came by O_DIRECT, which may be refused. Raises OSError."""
    flags, there, past = fcntl(descriptor, F_GETFL), 0, True
    os.lseek(descriptor, offset, os.SEEK_SET)
    try:
        fcntl(descriptor, F_SETFL, flags | os.O_DIRECT)
        there = os.readv(descriptor, [window])
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # tmpfs, or a device with larger blocks
            raise
        past = False
    finally:
        fcntl(descriptor, F_SETFL, flags)
    while there < len(window) and (not past or there % DIRECT_BYTES == 0):
        more = os.readv(descriptor, [window[there:]])
        if not more:
            break
        there, past = there + more, False
    return there, past


def read_there(descriptor: int, offset: int, size: int, window: mmap.mmap) -> Tuple[bytes, bool]:
    """The data at an offset, less where the file ends before, and True if they were read past the cache."""
    before = offset % DIRECT_BYTES
    wanted = -(-(before + size) // DIRECT_BYTES) * DIRECT_BYTES
    there, past = read_past_cache(descriptor, offset - before, memoryview(window)[:wanted])
    return window[before : min(there, before + size)], past


def differs(name: str, start: int, expected: bytes, content: bytes) -> Differs:
    """The first difference of a file that was read from `start` on."""
    pairs = enumerate(zip(expected, content))
    at = next((at for at, pair in pairs if pair[0] != pair[1]), min(len(expected), len(content)))
    return Differs(name, start + at, expected[at : at + SHOWN].hex(), content[at : at + SHOWN].hex())


def damage(seen: Differs, writer: str, reader: str) -> Tuple[str, Dict[str, str]]:
    """The sentence about data that differ, and its evidence. writer, reader: the nodes."""
    sentence = (
        f'{seen.file} differs from {seen.offset} B on: the {SHOWN} bytes there were written as '
        f'{seen.expected or "nothing"} on {writer} and read as {seen.read_back or "nothing"} on {reader}'
    )
    where = {'file': seen.file, 'offset': str(seen.offset), 'expected': seen.expected, 'found': seen.read_back}
    return sentence, {**where, 'writer': writer, 'reader': reader}
