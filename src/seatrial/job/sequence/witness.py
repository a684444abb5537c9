"""What the node itself sees of a launch: before it, that all is ready; after it, the evidence for the rules."""

import os
from typing import Any, Dict, NamedTuple, Optional, Tuple

from seatrial.engine.base import AnyEngine, Command, EngineError, NamespaceEngine
from seatrial.filesystem.base import FileSystem
from seatrial.job.directory.rundir import RunDirectory
from seatrial.job.sequence.eviction import evicted
from seatrial.model.namespace import Namespace
from seatrial.model.plan import TrialPlan
from seatrial.model.record import Finding, Measurement
from seatrial.model.tree import TreeMeasurement, TreePoint
from seatrial.model.work import Launch
from seatrial.model.workload import AccessPattern, Point, files_of, writer_of
from seatrial.rules.launch import Launched, cache_label, files_fault
from seatrial.rules.names import LOOKING, Named, names_findings, temperature
from seatrial.rules.places import short
from seatrial.rules.registry import LAUNCH, findings


class Ground(NamedTuple):
    """Where launches take place. counted: whether the kernel counts reads from storage on this target.

    cold: whether this node's caches can be emptied, and the site allows it; kept: what answers from memory even then,
    or why they cannot be emptied although the site allows it
    """

    plan: TrialPlan
    engine: AnyEngine
    run: RunDirectory
    driver: FileSystem
    counted: bool
    cold: bool
    kept: str


class Seen(NamedTuple):
    """What the rules say of a launch, how warm it was, and what the block layer fetched for it, if that is known."""

    findings: Tuple[Finding, ...]
    cache: str
    storage_read_bytes: Optional[int]


class Witness:
    """What the runner asks before and after a launch."""

    def make_ready(self, command: Command) -> None:
        """Raises EngineError if the launch must not be made."""
        raise NotImplementedError

    def seen(self, measurement: Any, read_bytes: int) -> Seen:
        """What the rules say now that it has ended; read_bytes: that the block layer fetched for its processes."""
        raise NotImplementedError


def witness(ground: Ground, launch: Launch, directory: str, nodes: Tuple[str, ...] = ()) -> Witness:
    """The one for this kind of workload; nodes: that it is to run on, where they are named."""
    if isinstance(launch.workload, Namespace):
        return NamesWitness(ground, launch, directory)
    return BytesWitness(ground, launch, directory, nodes)


class BytesWitness(Witness):
    """Of a launch that moves bytes: the files and their sizes, and where reads come from."""

    def __init__(self, ground: Ground, launch: Launch, directory: str, nodes: Tuple[str, ...] = ()) -> None:
        assert isinstance(launch.workload, AccessPattern) and isinstance(launch.point, Point)
        self.ground, self.launch, self.directory, self.nodes = ground, launch, directory, nodes
        self.point = launch.point
        # A node that is named need not be the one that the runner is on, whose caches and counters it sees.
        self.here = launch.point.nodes == 1 and not nodes
        self.expected = tuple(files_of(launch.workload, launch.point))
        self.before = ground.run.file_list(directory)
        self.fetched: Optional[int] = None
        self.kept = ''

    def make_ready(self, command: Command) -> None:
        """Nothing is read that is not there in full: fio unlinks a file that is too short. Drop what is cached.

        Nothing is written where files are: to write over them is another thing than to make them.
        """
        self.command = command
        if self.launch.operation == 'write' and self.before:
            raise EngineError('T17', f'before the write {_there(self.before)}')
        if self.launch.operation != 'read':
            return
        fault = files_fault(self.expected, self.before)
        if fault is not None:
            raise EngineError('T17', f'before the read {fault}')
        if self.here:
            for file in self.expected:
                self.ground.driver.forget(os.path.join(self.ground.run.path_of(self.directory), file.name))
        elif not self._elsewhere():
            self.kept = evicted(self.ground.plan, self.ground.run.path_of(self.directory), self.nodes) or ''
        if not self.ground.counted and self.here:
            self.fetched = self.ground.driver.fetched_bytes(self.ground.plan.target.path)

    def seen(self, measurement: Measurement, read_bytes: int) -> Seen:
        """Over the files as they are now."""
        if self.launch.operation == 'read' and self._elsewhere():
            self.kept = _own(measurement, self.point)
        launched = Launched(
            self.ground.plan,
            self.point,
            self.launch.operation,
            measurement,
            self.expected,
            self.before,
            self.ground.run.file_list(self.directory),
            self._from_storage(read_bytes),
            self.nodes,
            self.kept,
            self.ground.engine.makes_mib_s,
        )
        return Seen(tuple(findings(LAUNCH, launched)), cache_label(launched), launched.storage_read_bytes)

    def _elsewhere(self) -> bool:
        """Whether this very repetition has written the files, and every node reads what another one wrote."""
        workload = self.launch.workload
        return 'write' in workload.operations and self.ground.engine.reads_elsewhere(workload, self.point)

    def _from_storage(self, read_bytes: int) -> Optional[int]:
        """What was fetched for this launch: as the block layer counts for its processes, or the file system's client.

        Of srun's tasks the block layer counts nothing here: they are not this process's descendants.
        """
        own = self.command.scope != 'mpi' or self.ground.plan.launcher.kind != 'srun'
        if self.ground.counted:
            return read_bytes if own and self.here else None
        after = self.ground.driver.fetched_bytes(self.ground.plan.target.path) if self.fetched is not None else None
        # A client that has begun to count anew, after a reconnection, has counted less.
        return None if after is None or self.fetched is None or after < self.fetched else after - self.fetched


class NamesWitness(Witness):
    """Of a launch that works on names: the entries that are there, and whether the node's caches were empty."""

    def __init__(self, ground: Ground, launch: Launch, directory: str) -> None:
        assert isinstance(launch.workload, Namespace) and isinstance(launch.point, TreePoint)
        assert isinstance(ground.engine, NamespaceEngine)
        self.ground, self.launch, self.directory = ground, launch, directory
        self.workload, self.point, self.engine = launch.workload, launch.point, ground.engine
        self.emptied, self.kept = False, ground.kept or self.engine.warms(self.workload, launch.operation)

    def make_ready(self, command: Command) -> None:
        """Make the directories that the engine wants; empty the caches before what looks entries up."""
        for name in command.directories:
            os.mkdir(os.path.join(self.ground.run.path_of(self.directory), name), 0o700)
        if self.launch.operation in LOOKING and self.ground.cold:
            fault = self.ground.driver.empty_client_cache(self.ground.run.path_of(self.directory))
            # The other nodes' caches are as they were.
            self.emptied, self.kept = fault is None and self.point.nodes == 1, fault or self.kept

    def seen(self, measurement: TreeMeasurement, read_bytes: int) -> Seen:
        """Over the entries as they are now, where they may be counted."""
        operation = self.launch.operation
        counted = self._may_count()
        expected = self.engine.left(self.workload, operation, self.point) if counted else None
        named = Named(
            self.ground.plan,
            self.point,
            operation,
            measurement,
            expected,
            self.ground.run.file_count(self.directory, self._may_ask_sizes()) if counted else None,
            self.emptied,
            self.kept,
            self.engine.elsewhere(self.workload, operation, self.point),
        )
        return Seen(tuple(names_findings(named)), temperature(named), None)

    def _may_count(self) -> bool:
        """Counting reads directories. Where a later launch is to find them unread by this node, only the last one
        that looks is followed by a count; several listings share one directory, so their sum is counted by none."""
        if self.workload.kind == 'listing':
            return self.launch.operation == 'create' and len(self.ground.plan.points) == 1
        looks = [each for each in self.workload.operations if each in LOOKING]
        return self._cached_anyway() or not looks or self.launch.operation in (looks[-1], 'remove')

    def _may_ask_sizes(self) -> bool:
        return self.launch.operation == 'create' and self._cached_anyway()

    def _cached_anyway(self) -> bool:
        """Whether this node knows the entries already, or will forget them before it looks."""
        return self.point.nodes == 1 or self.ground.cold


def _there(files: Dict[str, int]) -> str:
    first = min(files)
    number = f'{len(files)} files are' if len(files) > 1 else 'a file is'
    return f'{number} there already ({first})'


def _own(measurement: Measurement, point: Point) -> str:
    """Where a client read what its own node had written, because they do not fill node after node; or empty."""
    hosts = {job.rank: short(job.host) for job in measurement.jobs}
    for rank, host in sorted(hosts.items()):
        if host and hosts.get(writer_of(point, rank)) == host:
            return f'client {rank} read on {host} what was written there; have the launcher fill node after node'
    return ''
