"""The evidence of a launch on its node: before it, that all is ready; after it, the facts for the rules, and the data
of the files after a timed write: a few blocks of each, at places that no engine can predict."""

import contextlib
import ctypes
import errno
import mmap
import os
import platform
import random
import time
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from seatrial.engine.base import Command, Engine, EngineError
from seatrial.engine.failed_call import FailedCall
from seatrial.engine.proof import read_past_cache
from seatrial.filesystem import caches
from seatrial.filesystem.base import Behaviour, Driver, Exchanged
from seatrial.job.directory.rundir import RunDirectory, closed_after, explained
from seatrial.job.sequence.clients import clients
from seatrial.model.metric import Measurement
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.model.record import BoundTasks, Finding
from seatrial.rules.contents import BLOCK, Block, Contents, Written
from seatrial.rules.launch import Launched, cache_state, files_fault, launch_findings, rule_of_errno
from seatrial.rules.places import short
from seatrial.rules.registry import WRITTEN, finding, findings
from seatrial.workload.access import writer_of
from seatrial.workload.base import Launch
from seatrial.workload.registry import exact_bytes, kind_of, phases_of

MAX_FILES = 64
MAX_BLOCKS, BLOCKS_PER_FILE = 256, 16
LARGE_PAGE = 2 << 20  # bytes that one changed byte makes dirty, at most: a large folio (ext4 and XFS of Linux 6.18)
CACHESTAT = 451  # asm-generic/unistd.h; Linux 6.5


class Setup(NamedTuple):
    """The environment of launches. behaviour: of the target; its `below` is empty if it must not count here."""

    plan: TrialPlan
    engine: Engine
    run: RunDirectory
    driver: Driver
    behaviour: Behaviour
    cold: bool  # whether this node's caches can be emptied, and the site allows it
    kept: str  # the cache that still answers after that, or the reason why allowed caches cannot be emptied
    forgets: bool = True  # see Cold


class Seen(NamedTuple):
    """The findings of a launch, the state of the cache, and bytes that the block layer fetched for it, if known."""

    findings: Tuple[Finding, ...]
    cache: str
    storage_read_bytes: Optional[int]
    directory_bytes: Optional[int] = None  # see Sample


class Evidence:
    """Evidence before and after a launch. nodes: names of its nodes; empty if they are not named."""

    def __init__(self, setup: Setup, launch: Launch, directory: str, nodes: Tuple[str, ...] = ()) -> None:
        self._setup, self._directory, self._nodes = setup, directory, nodes
        self._point, self._kind = launch.point, kind_of(launch.point.kind)
        self._phase = self._kind.phase(launch.phase)
        self._path = setup.run.path_of(directory)
        # A named node need not be that of the runner, which sees its own caches and counters alone.
        self._here = self._point.nodes == 1 and not nodes
        makes_files = any(phase.makes for phase in phases_of(self._point))
        self._elsewhere = makes_files and setup.engine.reads_elsewhere(self._point, launch.phase)
        self._before: Dict[str, int] = {}
        self._fetched: Optional[int] = None
        self._emptied, self._kept, self._warmed = False, '', ''
        self._sent: Optional[int] = None

    def make_ready(self, command: Command) -> None:
        """Make the engine's directories, and empty caches. Raises EngineError if the launch must not begin."""
        self._command = command
        with closed_after(self._setup.run.open(self._directory)) as where, explained(self._path):
            for name in command.directories:
                os.mkdir(name, 0o700, dir_fd=where)
        if self._kind.moves_data:
            self._check_files()
            if self._phase.writes and not self._setup.engine.verifies:
                self._sent = self._exchanged().sent
            if self._phase.reads:
                self._forget_data()
        elif self._phase.reads:
            self._forget_metadata()

    def seen(
        self, made: Measurement, read_bytes: int, lived_s: float, beside_s: float, bound: Tuple[BoundTasks, ...]
    ) -> Seen:
        """The findings after its end. read_bytes: bytes that the block layer fetched for its processes."""
        setup = self._setup
        breaches: List[Finding] = []
        cores = len(os.sched_getaffinity(0))
        launched = Launched(setup.plan, self._point, self._phase.name, made, self._nodes, self._kept, bound, cores)
        memory, below, local_locks = setup.behaviour.in_memory, setup.behaviour.below, setup.behaviour.local_locks
        launched = launched._replace(memory=memory, below=below, local_locks=local_locks)
        if self._kind.moves_data:
            fetched = self._from_storage(read_bytes)
            nothing_shows = fetched is None and self._phase.reads and not setup.behaviour.reads_are_counted
            launched = launched._replace(
                kept=self._kept or (_read_own(made, self._point) if self._elsewhere else ''),
                before=self._before,
                after=setup.run.file_list(self._directory),
                storage_read_bytes=fetched,
                contradiction=self._exchanged().contradiction if nothing_shows else '',
                data_rate=setup.engine.data_rate,
                lived_s=lived_s,
                beside_s=beside_s,
            )
            if self._phase.writes and not setup.engine.verifies:
                breaches = self._contents(made, launched.after)
        else:
            launched = launched._replace(emptied=self._emptied, elsewhere=self._elsewhere, warmed=self._warmed)
            if self._may_count():
                expected = setup.engine.entries(self._point, self._phase.name)
                counted = setup.run.file_count(self._directory, self._phase.makes and self._known_anyway())
                launched = launched._replace(expected=expected, counted=counted)
        if not setup.engine.verifies:  # its launches are no figures
            breaches = [*launch_findings(launched), *breaches]
        held = launched.counted.directory_bytes if launched.counted else None
        return Seen(tuple(breaches), cache_state(launched), launched.storage_read_bytes, held)

    def _contents(self, measurement: Measurement, files: Dict[str, int]) -> List[Finding]:
        setup = self._setup
        try:
            lies = contents(self._path, files, setup.driver.behaviour(setup.plan.target.path).allocates)
        except OSError as error:
            name, file = errno.errorcode.get(error.errno or 0, ''), os.path.basename(error.filename or '')
            failed = FailedCall(name, True, platform.node(), file, sync=True)
            target = setup.driver.behind(setup.plan.target.path, os.path.join(self._path, file), None)
            why = f'the data cannot be synced and read back: {error.strerror}'
            return [of_failed_call(failed, why, target, f'{self._phase.name}@{self._point.label}: ')]
        written = Written(setup.plan, lies, measurement.seconds, setup.engine.repeats(self._point))
        here = short(platform.node()) in map(short, measurement.hosts)
        now = None if self._sent is None else self._exchanged().sent
        # Where a block was written several times before the sync, it leaves the node once.
        once = exact_bytes(self._point) is not None
        # A counter that has begun anew has counted less.
        if once and here and self._sent is not None and now is not None and now >= self._sent:
            claimed = measurement.bytes_moved // self._point.nodes
            written = written._replace(claimed=claimed, sent=now - self._sent)
        return findings(WRITTEN, written)

    def _exchanged(self) -> Exchanged:
        return self._setup.driver.exchanged(self._setup.plan.target.path)

    def _check_files(self) -> None:
        """A read needs whole files (fio unlinks a short one), a write none: overwriting is another operation."""
        self._before = self._setup.run.file_list(self._directory)
        fault = None
        if self._phase.needs:
            fault = files_fault(self._kind.files(self._point), self._before)
        elif self._before:
            number = f'{len(self._before)} files are' if len(self._before) > 1 else 'a file is'
            fault = f'{number} there already ({min(self._before)})'
        if fault is not None:
            lost = self._setup.engine.verifies and self._phase.needs
            raise EngineError('F2' if lost else 'T17', f'before the {self._phase.name} {fault}')

    def _forget_data(self) -> None:
        setup, warm = self._setup, self._phase.warm
        forget = not warm and not self._elsewhere
        if self._here:
            if forget:
                for file in self._kind.files(self._point):
                    caches.forget(os.path.join(self._path, file.name))
                if setup.cold and not setup.forgets:
                    setup.driver.empty_client_cache(self._path)  # whether it did, the counters tell
            if not setup.behaviour.reads_are_counted:
                self._fetched = self._exchanged().fetched
        elif forget or self._exchanged().fetched is not None:
            asked = clients(setup.plan, self._path, forget, self._nodes)
            self._fetched = asked.fetched
            if forget:
                self._kept = asked.fault or ''
        self._kept = warm or self._kept

    def _forget_metadata(self) -> None:
        setup = self._setup
        self._kept, self._warmed = setup.kept, setup.engine.warms(self._point, self._phase.name)
        if setup.cold:
            if self._here:
                fault = setup.driver.empty_client_cache(self._path)
            else:
                fault = clients(setup.plan, self._path, True, self._nodes).fault
            self._emptied, self._kept = fault is None, fault or self._kept

    def _from_storage(self, read_bytes: int) -> Optional[int]:
        """Bytes fetched for this launch, by the block layer or, as of srun's tasks, by the client's counters."""
        are_children = self._command.scope != 'mpi' or self._setup.plan.launcher.kind != 'srun'
        if self._setup.behaviour.reads_are_counted:
            return read_bytes if are_children and self._here else None
        if self._fetched is None:
            return None
        if self._here:
            after = self._exchanged().fetched
        else:
            after = clients(self._setup.plan, self._path, False, self._nodes).fetched
        # After a reconnection a client counts from zero, and has counted less.
        return None if after is None or after < self._fetched else after - self._fetched

    def _may_count(self) -> bool:
        """Counting reads directories. If a later launch needs them unread by this node, a count follows only the last
        phase that asks, and those after it; files prepared for several points are never counted."""
        prepared = self._kind.preparations(self._setup.plan.points)
        if prepared:
            return len(prepared) == 1 and self._phase.name == prepared[0].phase
        phases = self._point.phases
        asking = [number for number, phase in enumerate(phases) if self._kind.phase(phase).reads]
        return self._known_anyway() or not asking or phases.index(self._phase.name) >= asking[-1]

    def _known_anyway(self) -> bool:
        """True if this node knows the entries already, or will forget them before it asks."""
        return self._point.nodes == 1 or self._setup.cold


def _read_own(measurement: Measurement, point: Point) -> str:
    """A sentence if a task read data of its node, because the tasks do not fill node after node; or empty."""
    hosts = {task.rank: short(task.host) for task in measurement.tasks}
    for rank, host in sorted(hosts.items()):
        if host and hosts.get(writer_of(point, rank)) == host:
            return f'task {rank} read on {host} what was written there; have the launcher fill node after node'
    return ''


def of_failed_call(failed: FailedCall, sentence: str, target: str, launch: str = '') -> Finding:
    """The finding of a failed call of the file system, with its known details."""
    now = time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime())
    evidence = {'errno': failed.errno, 'node': failed.node, 'file': failed.file, 'time': now}
    evidence.update({'target': target} if target else {})
    words = (('file', 'of'), ('target', 'of'), ('node', 'on'), ('time', 'at'))
    where = ''.join(f' {word} {evidence[key]}' for key, word in words if evidence.get(key))
    rule = rule_of_errno(failed.errno, failed.on_descriptor, failed.sync)
    return finding(rule, f'{launch}{failed.errno}{where}: {sentence}', evidence)


def contents(directory: str, sizes: Dict[str, int], allocated: bool = False) -> Contents:
    """Blocks at random places of equal parts of these regular files (by name, with their size), read past the cache
    where possible. Before, the files are synced twice: if the first sync takes longer and writes back, the writer had
    not synced. Raises OSError with the file. allocated: stat(2)'s blocks show what was written."""
    rng = random.SystemRandom()
    written = sorted(name for name, size in sizes.items() if size)
    chosen = sorted(rng.sample(written, min(MAX_FILES, len(written))))
    parts = min(BLOCKS_PER_FILE, MAX_BLOCKS // max(1, len(chosen)))
    blocks: List[Block] = []
    with contextlib.ExitStack() as opened:
        page = opened.enter_context(contextlib.closing(mmap.mmap(-1, BLOCK)))  # O_DIRECT wants it aligned
        whole = opened.enter_context(memoryview(page))
        files = {name: os.open(os.path.join(directory, name), os.O_RDONLY | os.O_NOFOLLOW) for name in chosen}
        for descriptor in files.values():
            opened.callback(os.close, descriptor)
        dirty = _dirty_bytes(files)
        took_s = _sync_s(files), _sync_s(files)
        still = _dirty_bytes(files)
        written_back = {name: bytes_before - still.get(name, 0) for name, bytes_before in dirty.items()}
        # A single page can be a library's header, written when it closes the file.
        synced = sum(size for name, size in written_back.items() if size > min(LARGE_PAGE, sizes[name] // 4))
        for name, descriptor in files.items():
            whole_blocks = -(-sizes[name] // BLOCK)  # the last of which the end of the file may cut short
            equal = min(parts, whole_blocks)
            for part in range(equal):
                offset = BLOCK * rng.randrange(whole_blocks * part // equal, whole_blocks * (part + 1) // equal)
                with _named(name):
                    there, _ = read_past_cache(descriptor, offset, whole)
                blocks.append(Block(name, offset, page[:there]))
        taken = {name: 512 * os.fstat(files[name]).st_blocks for name in files if allocated}
    missing = {name: sizes[name] - taken[name] for name in sorted(taken) if sizes[name] - taken[name] > BLOCK}
    unsynced = synced / (sum(sizes[name] for name in chosen) or 1)
    return Contents(tuple(blocks), *took_s, unsynced, missing, allocated and bool(dirty))


def _dirty_bytes(files: Dict[str, int]) -> Dict[str, int]:
    """Bytes of these open files that this node has yet to write back, by cachestat(2) of Linux 6.5; {}: unknown."""
    dirty = {}
    for name, descriptor in files.items():
        whole = (ctypes.c_uint64 * 2)()  # from offset 0 on to the end
        pages = (ctypes.c_uint64 * 5)()  # in the cache, dirty, under writeback, evicted, recently evicted
        if ctypes.CDLL(None).syscall(CACHESTAT, descriptor, whole, pages, 0) != 0:
            return {}
        dirty[name] = (pages[1] + pages[2]) * mmap.PAGESIZE
    return dirty


def _sync_s(files: Dict[str, int]) -> float:
    began = time.monotonic()
    for name, descriptor in files.items():
        with _named(name):
            os.fsync(descriptor)
    return time.monotonic() - began


@contextlib.contextmanager
def _named(file: str) -> Iterator[None]:
    """An error of a call on its descriptor gets the name of the file."""
    try:
        yield
    except OSError as error:
        error.filename = file
        raise
