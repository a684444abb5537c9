"""Rules for one launch: did it do what the plan asked for, and could it be measured at all?"""

from functools import partial
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.hostlist import cores_of
from seatrial.model.metric import LONG_S, QUANTA, Measurement, Metric
from seatrial.model.plan import TrialPlan
from seatrial.model.point import Point
from seatrial.model.record import BoundTasks, Finding
from seatrial.model.units import approximate_size
from seatrial.rules.case import BIND
from seatrial.rules.registry import BEFORE, DATA_LAUNCH, LAUNCH, METADATA_LAUNCH, OfMetrics, findings, rule
from seatrial.workload.base import CACHED, COLD, UNKNOWN, Entries, FileSpec, Kind, Phase
from seatrial.workload.random import WAITING
from seatrial.workload.registry import exact_bytes, kind_of
from seatrial.workload.words import counted, listed

_invalid, _label, _incomplete = (partial(rule, LAUNCH, effect) for effect in ('invalid', 'label', 'incomplete'))
_invalid_data, _label_data = (partial(rule, DATA_LAUNCH, effect) for effect in ('invalid', 'label'))
_invalid_metadata, _label_metadata = (partial(rule, METADATA_LAUNCH, effect) for effect in ('invalid', 'label'))
_refuse = partial(rule, BEFORE, 'refuse')

LOCKS = ('flock', 'fcntl_lock')  # the guarantees of locks
COLD_SHARE = 0.95
CLOCK_MIN_S = LONG_S  # clocks of several nodes that are apart ask for no more
FOREIGN_SHARE = 1.25  # share of the bytes claimed: if a mount's counter shows more, other users' reads are in it
MAKING_SHARE = 0.25
BESIDE_S, BESIDE_TIMES, BESIDE_SHARE = 10.0, 2.0, 0.5
"""A launch may take longer than its timed region by this many seconds, plus this many times its start-up, plus this
share of the region. Seen on two busy nodes: 3.9 s longer than a region of 1.7 s."""
TOGETHER_SHARE = 0.10
TOGETHER_SHARE_OF_NODES = 0.25  # TOGETHER_SHARE of a sweep over nodes, which judges a node by its tasks alone
MAX_IDLE = 0.10


class FileCount(NamedTuple):
    """The entries below the data directory."""

    directories: int
    files: int
    # number of files by size in bytes; None where only names were counted, lest attributes get cached
    sizes: Optional[Dict[int, int]]
    directory_bytes: int = 0  # bytes on the device (st_blocks, stat(2)), with the run directory's own entries


class Launched(NamedTuple):
    """One launch as the runner saw it. Sizes in bytes. memory, below, kept, contradiction and warmed are clauses of a
    finding; empty where there is nothing to report."""

    plan: TrialPlan
    point: Point
    phase: str
    measurement: Measurement
    meant: Tuple[str, ...] = ()  # the nodes that it was to run on, where they were named
    kept: str = ''  # the memory of a node may have answered a read all the same
    bound: Tuple[BoundTasks, ...] = ()  # the cores of its tasks; empty where not all tasks have reported them
    cores: int = 0  # cores of the job on the runner's node; 0: unknown
    memory: str = ''  # the files lie in memory and nowhere else
    below: str = ''  # a cache that no counter sees may answer reads, and the site says nothing of it
    local_locks: str = ''  # why a lock is not seen by other nodes
    # Fields of data, up to beside_s. before, after: files by name with their size.
    before: Dict[str, int] = {}  # noqa: RUF012 (a value; nobody changes it)
    after: Dict[str, int] = {}  # noqa: RUF012 (a value; nobody changes it)
    storage_read_bytes: Optional[int] = None  # fetched by the block layer for the launch's processes; None: unseen
    contradiction: str = ''  # the counters are wrong
    data_rate: float = 0.0  # B/s at which a task makes its data in the timed region of a write; 0: unknown
    lived_s: float = 0.0  # seconds from the start of the launch's first process to the end of its last; 0: unknown
    beside_s: float = 0.0  # the fewest seconds that a launch of the warm-up lived beside its timed region
    # Fields of metadata, up to warmed. expected: entries below the data directory after it; None: not counted.
    expected: Optional[Entries] = None
    counted: Optional[FileCount] = None  # None: nothing was counted
    emptied: bool = False  # this node's caches were emptied right before it
    elsewhere: bool = False  # every task worked on entries that its node had neither made nor seen
    warmed: str = ''  # the engine itself looked entries up before its clock started

    @property
    def kind(self) -> Kind:
        return kind_of(self.point.kind)

    @property
    def does(self) -> Phase:
        return self.kind.phase(self.phase)


def launch_findings(launched: Launched) -> List[Finding]:
    when = DATA_LAUNCH if launched.kind.moves_data else METADATA_LAUNCH
    return findings(LAUNCH, launched) + findings(when, launched)


_invalid(
    'E1: The engine ended well and said what it did',
    'see its raw output in the records',
    'exit codes and error fields of the engines',
)
STORAGE_FAILED = (
    *('EIO', 'EREMOTEIO', 'ESTALE', 'EUCLEAN', 'EBADMSG', 'ENOTCONN', 'ESHUTDOWN', 'EROFS', 'ECONNREFUSED'),
    *('ECONNRESET', 'ECONNABORTED', 'EHOSTDOWN', 'EHOSTUNREACH', 'ENETDOWN', 'ENETUNREACH'),
)
"""Errors that no caller causes: a device, a server or the connection to it failed, or stored data are damaged. A
file system that has become read-only could be written before: the run directory was made on it."""

NO_ROOM = ('ENOSPC', 'EDQUOT')
OF_CALLER = (
    *('EINTR', 'EAGAIN', 'EFBIG', 'ENOMEM', 'EMFILE', 'ENFILE'),
    *('EINVAL', 'EBADF', 'EFAULT', 'EISDIR', 'ESPIPE', 'ENXIO', 'ENOTTY', 'ENOSYS', 'EOPNOTSUPP', 'ENOTSUP'),
    *('ENOLCK', 'EDEADLK', 'EDEADLOCK'),
)
"""Errors of a call on an open descriptor without a fault of the storage: a signal, a limit of process or node,
an argument that it does not take, a lock. All else is the storage's: of a Lustre whose objects were lost read(2) gave
ENOENT (seen)."""

rule(
    LAUNCH,
    'fail',
    'F1: The storage does what it is asked: no read, write, fsync or close of an open file fails but for the caller, '
    'and no open or unlink with an error of the storage',
    'see the kernel log of that node and the logs of the servers at that time',
    f'write(2), fsync(2); {", ".join(STORAGE_FAILED)} of any call; on an open file all but '
    f'{", ".join((*NO_ROOM, *OF_CALLER))}; an fsync with any but {", ".join(NO_ROOM)}',
)


def rule_of_errno(name: str, on_descriptor: bool, sync: bool = False) -> str:
    """The rule that a call breaks by failing with this error; empty if the storage is not to blame."""
    if name in NO_ROOM:
        return 'P9a'
    return 'F1' if sync or name in STORAGE_FAILED or (on_descriptor and name not in OF_CALLER) else ''


_invalid(
    'A1: The actions of a scenario were carried out and undone as planned',
    'see actions in trial.yaml; run its start, undo and check by hand; `seatrial clean` names what is not undone',
    'what was not taken away shows no outage; a clock that is apart shows another one',
)
_invalid(
    'A2: The throughput of a scenario is back at 90 % before it ends; if not, its recovery alone has no figure',
    'see the logs of its servers; where it only takes longer, give the scenario more time after its actions',
    'of a time whose end nobody has seen (right-censored) is known only which bounds it has passed: those are missed',
)
_label(
    'A3: A connection that is lost in a scenario is what its action was for',
    'see outage and errors for what it cost',
    'P20 covers undisturbed launches only',
)


@_label(
    'A4: An action of a scenario reached the load: a node waited for a quarter of it, or a call failed',
    'where files lie on one target of many, give the trial a layout that spreads them over all',
    'an OST was unmounted for 25 s or more, and the outage of two tasks was 1.6 s (seen on Lustre 2.17, four OSTs)',
)
def reached_the_load(launched: Launched) -> Optional[str]:
    measurement = launched.measurement
    outage, errors = measurement.metric('outage'), measurement.metric('errors')
    if measurement.course is None or outage is None or (errors is not None and errors.value):
        return None
    if launched.plan.axis.name == 'tunable':
        return None  # nothing is taken away
    lasted_s = sum(window.end_s - window.start_s for window in measurement.course.windows)
    if not lasted_s or outage.value >= REACHED * lasted_s:
        return None
    return (
        f'no node waited for more than {outage.value:.1f} s of {lasted_s:.0f} s: the load may use nothing that the '
        'action touches, or a copy stood in for it'
    )


_incomplete(
    'P9a: The room that was there before the run is there while it runs',
    'free space or raise the quota; another user fills it, or a target or quota is smaller than it reports',
    'write(2): ENOSPC, EDQUOT; ENOSPC came at 55-64 % of use in lfs df (seen on Lustre 2.17)',
)
_invalid(
    'E2: A launch ends inside its limit',
    'does the file system still answer? The limit lies above its recovery_limit in trial.yaml',
    'Lustre recovers in 150-900 s; Slurm drains a node whose step cannot be killed',
)
_invalid(
    'P5a: A file that the engine has written has the layout that was asked for',
    'ask for what this file system can give, or see what is wrong with its targets',
    'fewer stripes or other targets than were asked for are given in silence, as on a full or inactive OST',
)
_incomplete(
    'P5b: A target that is to be tested by itself takes new files of this user',
    'see what is wrong with it, or give this user the permission',
    'a file that is pinned to an inactive or full target fails or waits; lfs mkdir -i is for root alone (seen)',
)
_label(
    'P5c: A file that asks for all targets has all of them',
    'compare it only with figures of as many targets',
    'max_create_count=0 of a target; lod.*.max_stripecount; 160 on an ldiskfs without ea_inode; PFL (lod_qos.c)',
)
_refuse(
    'P17: The launcher places the tasks as asked, shown by a launch that does no I/O',
    'see launcher and its arguments under partitions in trial.yaml',
    'mpiexec hangs where names do not resolve (seen), and Slurm drains nodes where I/O must be killed',
)
_refuse(
    'P21: Every node runs the same build of the engine and loads the same MPI, as it says itself',
    'install one and the same on all nodes, or leave those that differ out of the job',
    'a figure of two programs is of neither; a local installation or mount differs from node to node unseen',
)
rule(
    LAUNCH,
    'refuse',
    'P17a: The file system answers before a launch, at the latest after its recovery limit',
    'nothing more was launched; see its servers, then `seatrial clean`',
    'a process that waits for a dead file system cannot be killed',
)
_label(
    'P17b: The file system answers at once, between launches and in them',
    'see the logs of its servers for that time',
    'a failover blocks I/O for as long as recovery takes: 150-900 s on Lustre',
)
_invalid(
    'P20: No connection to a server is lost during a launch',
    'see the console of the node and of the server; then measure again',
    'an evicted client has lost its locks and what it had not written; a reconnection stops its I/O for a while',
)
_invalid(
    "T1: An engine's figures agree with each other, with the bytes that were to be moved and with the time it had",
    'see its raw output in the records; stonewalling, short files and clocks that are apart give such figures',
    'IOR 4.0.0 with MPI-IO on a short file: 29,658 MiB/s, exit 0 (seen; hpc/ior issue 109, PR 501)',
)
_invalid(
    'T7: The version of an engine is one whose figures are not known to be wrong',
    'install the version that spack-env/ pins',
    'hpc/ior PRs 312, 336, 497, 501, 508; Spack prefers ior 3.3.0 of 2020',
)
_invalid(
    'T8: An engine that exits with 0 has not complained, and has finished',
    'see its raw output in the records',
    'IOR counts its errors modulo 256, each twice in 4.0.0: 128 bad transfers exit 0 (seen)',
)
_invalid(
    "T13: A figure is read from the engine's structured output, where it has its place",
    'see its raw output in the records; is it a version that is supported?',
    'IOR 4.0.0 prints "Max Write" only with -v (seen)',
)
_invalid(
    'P15: The I/O that was issued is the I/O that was meant',
    'the engine did something else than it was asked; see its raw output in the records',
    "the engine's own account of its parameters; Darshan's log of one repetition",
)


_label(
    'P23: The tasks of a node share cores only where it has fewer cores than tasks',
    BIND,
    'proc(5), Cpus_allowed_list of each task; on other nodes the job is taken to have as many cores as on its first',
)(lambda launched: shared_cores(launched.bound, launched.cores))
_label(
    'P24: The MPI library of the engine says nothing of its network',
    'see its raw output in the records; a slow transport slows collective I/O and barriers',
    'Open MPI: "No preset parameters", "more than one active ports", "error initializing an OpenFabrics device"',
)


@_label(
    'P25: A lock that is found to hold on one node holds between nodes too',
    'try PosixSemantics on two nodes; on BeeGFS, tuneUseGlobalFileLocks = true on all nodes makes locks global',
    'beegfs-client.conf; nfs(5), local_lock; a client that keeps locks to itself shows none of that on one node',
)
def locks_hold_between_nodes(launched: Launched) -> Optional[str]:
    held = any(fact.holds and fact.name in LOCKS for fact in launched.measurement.facts)
    return (held and launched.local_locks) or None


@_invalid_data(
    'P1: A write ends with fsync inside the timed region',
    'use an engine whose output proves its fsync',
    'IOR tutorial, IO500 rules',
)
def write_reaches_storage(launched: Launched) -> Optional[str]:
    synced = launched.measurement.fsync or not launched.does.writes
    return None if synced else 'nothing shows that the write was synced to storage inside the timed region'


@_label_data(
    'P4c: A task writes much slower than it makes its data, which it does in the timed region',
    'the storage is faster than this figure: use more tasks',
    'IOR 4.0.0 -l random makes 5,000 to 6,300 MiB/s a core (EPYC), and lost a fifth at 1,145 MiB/s (measured)',
)
def data_are_at_hand(launched: Launched) -> Optional[str]:
    longest_s = max((task.seconds for task in launched.measurement.tasks), default=0.0)
    if not launched.does.writes or not launched.data_rate or not longest_s:
        return None
    rate = launched.measurement.bytes_moved / launched.point.tasks / longest_s
    if rate <= MAKING_SHARE * launched.data_rate:
        return None
    return (
        f'a task wrote {approximate_size(rate)}/s and makes about {approximate_size(launched.data_rate)}/s of data: '
        f'about {100 * rate / launched.data_rate:.0f} % of its time'
    )


@_label_data(
    'P2: A read is cold: this node has not kept the bytes',
    'labelled cached: it says nothing about storage',
    'Lustre locking; lustre-iokit ior-survey; hpc/ior#328',
)
def read_is_cold(launched: Launched) -> Optional[str]:
    if cache_state(launched) != CACHED:
        return None
    if launched.memory:
        return f'{launched.memory}: no read of them is ever cold'
    if launched.storage_read_bytes is None:
        return f'a node can have read its own memory: {launched.kept}'
    share = 100.0 * (launched.storage_read_bytes or 0) / launched.measurement.bytes_moved
    return f'only {share:.0f} % of the bytes read came from storage (cold is {100 * COLD_SHARE:.0f} % or more)'


@_label_data(
    'T3: Reordering ranks makes a read cold only with two nodes or more',
    'labelled unknown: it says nothing about storage',
    'IOR -C shifts by one node: on one node every rank re-reads its own file (seen)',
)
def reordering_needs_nodes(launched: Launched) -> Optional[str]:
    if cache_state(launched) != UNKNOWN:
        return None
    if _as_seen(launched) == COLD:
        return _declare(launched)
    if launched.storage_read_bytes is not None:
        seen, read = map(approximate_size, (launched.storage_read_bytes, launched.measurement.bytes_moved))
        return f'{seen} came from storage for {read} that were read: others read too, and nothing shows whose it was'
    if launched.contradiction:
        return f'the counters do not show whether the bytes came from storage: {launched.contradiction}'
    if launched.point.nodes < 2:
        return 'the node that reads has written the file, and no counter here shows where the bytes came from'
    return 'no counter here shows whether the bytes came from storage'


@_invalid(
    'T9: The engine saw as many tasks as the plan has',
    'check the launcher of the partition in trial.yaml',
    'srun --mpi=none with MPICH: N singletons, each rank 0 of 1, exit 0 (seen)',
)
def world_size(launched: Launched) -> Optional[str]:
    seen, planned = launched.measurement.world_size, launched.point.tasks
    return None if seen == planned else f'{seen} tasks took part, not {planned}'


@_invalid(
    'T10: The tasks ran on as many nodes as the plan has, and on those that were named',
    'check tasks per node and the launcher of the partition in trial.yaml',
    'srun -N4 -n8 places 4/2/1/1 ranks (seen)',
)
def hosts(launched: Launched) -> Optional[str]:
    seen = {host.partition('.')[0] for host in launched.measurement.hosts}
    meant = {node.partition('.')[0] for node in launched.meant}
    if len(seen) != launched.point.nodes:
        return f'the tasks ran on {len(seen)} nodes, not {launched.point.nodes}'
    if meant and seen != meant:
        return f'the tasks ran on {min(seen - meant)} and not on {min(meant - seen)}'
    return None


@_invalid(
    'T12: A phase that is too short to measure is not a zero',
    'give the point more bytes (bytes_per_task in trial.yaml)',
    'fdtree and Bonnie++ print 0 or +++++ for a phase under a second (seen)',
)
def measurable(launched: Launched) -> OfMetrics:
    short = [metric.name for metric in launched.measurement.metrics if metric.unit and metric.seconds <= 0]
    return [(name, f'{name}: the timed region has no length: too short to measure') for name in short]


@_invalid_data(
    'T17: The files of a point are there in full before a read and after every operation, and none before a write',
    'something else works in the run directory, the engine deletes files, or nodes do not see what others write',
    'fio unlinks a short file and re-creates empty ones, exit 0 with rates (seen)',
)
def files_in_full(launched: Launched) -> Optional[str]:
    planned = launched.kind.files(launched.point)
    before = files_fault(planned, launched.before) if launched.does.needs else None
    after = files_fault(planned, launched.after)
    if before:
        return f'before the {launched.phase} {before}'
    return f'after the {launched.phase} {after}' if after else None


@_invalid_data(
    'T18: Every task moved exactly its bytes',
    'the engine did not do what was asked; see its raw output in the records',
    'fio strided with the obvious size moves half of the bytes of job 2, error 0 (seen)',
)
def bytes_of_each(launched: Launched) -> Optional[str]:
    planned = exact_bytes(launched.point)
    if planned is None:
        return None
    for task in launched.measurement.tasks:
        if task.bytes_moved != planned:
            return f'task {task.rank} moved {task.bytes_moved} B, not {planned} B'
    total = launched.measurement.bytes_moved
    if total != launched.point.bytes_moved:
        return f'{total} B were moved, not {launched.point.bytes_moved} B'
    return None


_invalid_data(
    'T19: The timed region is long against the clock that timed it, whichever engine measures',
    'give the point more bytes (bytes_per_task in trial.yaml)',
    'fio counts whole milliseconds: tens of per cent on a short region (seen); of 100 ticks one is 1 %',
)(lambda launched: None if _may_be_short(launched) else _too_short(launched))
_label_data(
    'T19b: In a smoke test the timed region may be short, and where small files are what is asked',
    'a smoke test only shows that it works; for small files it is no criterion',
    'T19',
)(lambda launched: _too_short(launched) if _may_be_short(launched) else None)


@_label_data(
    'P16b: Tasks that think between their transfers wait for the storage as well',
    'this is no test of storage: measure with a shorter think_s, or more tasks',
    'Fermilab 2011: a skim whose writes are bound by the CPU "does not stress storage"',
)
def waits_for_storage(launched: Launched) -> Optional[str]:
    for metric in launched.measurement.metrics:
        if metric.name.endswith(WAITING) and metric.value < MIN_WAITING:
            share = f'{100 * metric.value:.2g} %'
            return f'the tasks waited for transfers for {share} of the time, and thought for the rest'
    return None


REACHED = 0.25  # share of the time from start to end of the undo, which may outlast the server's absence

MIN_WAITING = 0.1
"""Share of the time. If tasks wait less, storage twice as fast changes a figure by less than 5 %, its precision."""


def _too_short(launched: Launched) -> Optional[str]:
    seconds, clock_s = launched.measurement.seconds, launched.measurement.clock_s
    least_s = min(CLOCK_MIN_S, QUANTA * clock_s) if clock_s else CLOCK_MIN_S
    if 0 < seconds < least_s:
        return f'the timed region lasted {seconds:.3g} s, less than {least_s:g} s'
    return None


@_invalid_data(
    'T24: An engine times all of its launch but the start-up, which the warm-up shows',
    'figures of a time that is too short are too good; see its raw output in the records',
    'figures that were doubled (seen); 0.2 to 0.5 s of the life of a fio lie beside its job (seen with 3.33)',
)
def times_its_launch(launched: Launched) -> Optional[str]:
    timed_s = launched.does.timed_s(launched.measurement)
    untimed_s = launched.lived_s - timed_s
    if untimed_s <= BESIDE_S + BESIDE_TIMES * launched.beside_s + BESIDE_SHARE * timed_s:
        return None
    return (
        f'{timed_s:.2f} s were timed of a launch of {launched.lived_s:.2f} s, '
        f'whose start-up took {launched.beside_s:.2f} s in the warm-up'
    )


_invalid_data(
    'T21: Tasks that were started one by one ran together',
    'give the point more bytes (bytes_per_task in trial.yaml); random I/O, of a fixed time, is longer in acceptance',
    'process accounting; 0.2 to 0.5 s of the life of a fio lie beside its job (seen with 3.33)',
)(lambda launched: None if launched.plan.stopping.fixed else _apart(launched))
_label_data(
    'T21a: In a smoke test tasks may have started one after the other', 'a smoke test only shows that it works', 'T21'
)(lambda launched: _apart(launched) if launched.plan.stopping.fixed else None)


@_label_metadata(
    'T4: Names and attributes are looked up at the servers, not in the memory of the node that made them',
    'use more nodes, 4 are always enough',
    'mdtest -N 1 shifts stat by one node, read by two, removal by three (source, seen)',
)
def looked_up_afresh(launched: Launched) -> Optional[str]:
    state = cache_state(launched)
    if state == UNKNOWN:
        unsure = launched.kept or (_declare(launched) if _as_seen(launched) == COLD else '')
        return f'labelled unknown: {unsure}' if unsure else None
    forbidden = '' if launched.plan.target.drop_caches else 'trial.yaml does not allow drop_caches'
    why = launched.memory or launched.kept or launched.warmed or forbidden
    because = f' ({why})' if why else ''
    return f'labelled cached: the node that asks has made the entries{because}' if state == CACHED else None


@_label_metadata(
    'T4a: The engine looks no name up before its clock starts',
    'use mdtest or posixops',
    "fio stats its files before it times them, so a node's empty cache is full again (seen with strace)",
)
def not_looked_up_before(launched: Launched) -> Optional[str]:
    return f'labelled unknown: {launched.warmed}' if launched.warmed and cache_state(launched) == UNKNOWN else None


@_label_metadata(
    'T26: Calls that are timed do what POSIX guarantees of them',
    'the figure is valid, and of a system that lets them go wrong: nothing may build on them here',
    'open(2): O_APPEND on NFS; 10,000 of 20,000 records were lost between two nodes (seen)',
)
def guaranteed(launched: Launched) -> Optional[str]:
    timed = launched.measurement.seconds > 0  # where nothing is, facts are all that is asked for
    broken = [fact for fact in launched.measurement.facts if fact.holds is False]
    return f'{broken[0].name} does not hold: {broken[0].seen}' if timed and broken else None


@_invalid_metadata(
    'T17a: After every phase the entries of a tree are there, all of them and no others, each with its bytes',
    'something else works in the run directory, or the engine did something else; see its raw output',
    'mdtest -T over a missing tree exits 0 with plausible rates; fio deletes and re-creates files (seen)',
)
def entries_in_full(launched: Launched) -> Optional[str]:
    if launched.expected is None or launched.counted is None:
        return None
    wanted, counted, after = launched.expected, launched.counted, f'after {launched.phase}'
    if counted.files != wanted.files:
        return f'{after} there are {counted.files} files, not {wanted.files}'
    directories = wanted.directories + wanted.empties
    if counted.directories != directories:
        return f'{after} there are {counted.directories} directories, not {directories}'
    sizes = launched.point.file_sizes
    others = {size: number for size, number in (counted.sizes or {}).items() if size not in sizes}
    if others:
        planned = f'{sizes[0]} B' if len(sizes) == 1 else f'one of {len(sizes)} sizes'
        return f'{after} {sum(others.values())} files have {next(iter(others))} B, not {planned}'
    return None


_invalid_metadata(
    'T19a: A phase is long against the clock that timed it',
    'give the tasks more files (files_per_task in trial.yaml)',
    'fio counts whole milliseconds (seen)',
)(lambda launched: None if _may_be_short(launched) else _quantised(launched))


def _quantised(launched: Launched) -> OfMetrics:
    clock_s = launched.measurement.clock_s
    return [
        (metric.name, f'{metric.name} took {metric.seconds:.4f} s, timed with a resolution of {clock_s:g} s')
        for metric in launched.measurement.metrics
        if 0 < metric.seconds < QUANTA * clock_s
    ]


_invalid_metadata(
    'T20: A rate is of work, not of waiting for the last task',
    'give the tasks more files (files_per_task in trial.yaml)',
    'mdtest: 52 files in 0.07 ms of work and 8 ms in the barrier (seen)',
)(lambda launched: None if _may_be_short(launched) else _idle(launched))
_label_metadata(
    'T20a: What is too short to be a rate is said to be so, in a smoke test and beside operations timed one by one',
    'a smoke test only shows that it works; the latencies of single operations are valid',
    'T19a, T20',
)(lambda launched: (_quantised(launched) or _idle(launched))[:1] if _may_be_short(launched) else None)


def _may_be_short(launched: Launched) -> bool:
    return launched.plan.stopping.fixed or launched.kind.short_ok


def _idle(launched: Launched) -> OfMetrics:
    def lasted(metric: Metric) -> str:
        return f'{1e3 * metric.seconds:.3g} ms' if metric.seconds < 1 else f'{metric.seconds:.3g} s'

    return [
        (metric.name, f'{metric.name}: phase too short ({lasted(metric)}): {100 * metric.idle_share:.0f} % idle')
        for metric in launched.measurement.metrics
        if metric.seconds > 0 and metric.idle_share > MAX_IDLE
    ]


def cache_state(launched: Launched) -> str:
    """The source of what was read, statted or listed: COLD, CACHED or UNKNOWN; empty for a phase that writes."""
    if not launched.does.reads:
        return ''
    if launched.memory:
        return CACHED
    return UNKNOWN if launched.below and _as_seen(launched) == COLD else _as_seen(launched)


def _declare(launched: Launched) -> str:
    return f'{launched.below}; server_cache_bytes in trial.yaml says how much that is (0: nothing)'


def _as_seen(launched: Launched) -> str:
    """The state as this node shows it, without caches below the device that it reads from. Data are cold if O_DIRECT
    was in effect, or if the block layer fetched COLD_SHARE to FOREIGN_SHARE of the bytes claimed (rule P2): more were
    read by others, or read ahead. A file that several tasks of one node read is fetched once, so only the first reads
    it cold."""
    if not launched.kind.moves_data:
        if launched.elsewhere:
            return COLD
        if not launched.emptied:
            return CACHED
        return UNKNOWN if launched.kept or launched.warmed else COLD
    if launched.measurement.direct:
        return COLD
    if launched.storage_read_bytes is None:
        return CACHED if launched.kept else UNKNOWN
    low, high = (share * launched.measurement.bytes_moved for share in (COLD_SHARE, FOREIGN_SHARE))
    if launched.storage_read_bytes < low:
        return CACHED
    return COLD if launched.storage_read_bytes <= high else UNKNOWN


def files_fault(expected: Sequence[FileSpec], seen: Dict[str, int]) -> Optional[str]:
    """The difference between the files that are there and those that should be, or None. Sizes in bytes, exact."""
    planned = dict(expected)
    missing, foreign = sorted(set(planned) - set(seen)), sorted(set(seen) - set(planned))
    if missing:
        return f'{len(missing)} of {len(planned)} files are missing ({missing[0]})'
    if foreign:
        return f'{len(foreign)} files are there that the plan does not know ({foreign[0]})'
    others = (
        f'{name} has {seen[name]} B, not {size} B' for name, size in sorted(planned.items()) if size != seen[name]
    )
    return next(others, None)


def _apart(launched: Launched) -> Optional[str]:
    """The start skew of tasks on several nodes as a clause, or None. It includes the clocks' error."""
    tasks = launched.measurement.tasks
    if launched.point.nodes == 1 or not tasks:
        return None
    starts_s = [task.start_s for task in tasks]
    skew_s = max(starts_s) - min(starts_s) + launched.measurement.clock_s
    shortest_s = min(task.seconds for task in tasks)
    share = TOGETHER_SHARE_OF_NODES if launched.plan.axis.equals == 'node' else TOGETHER_SHARE
    if skew_s <= share * shortest_s:
        return None
    return f'start skew {skew_s:.3f} s, and the shortest task ran for {shortest_s:.3f} s'


def shared_cores(places: Sequence[BoundTasks], of_job: int) -> Optional[str]:
    """Tasks of a launch that share cores though others have no task (P23). of_job: the number of cores of the job on
    its first node, assumed for each; 0: unknown."""
    for bound in places if of_job else ():
        allowed = [cores_of(task_cores) for task_cores in bound.cores]
        tasks, cores = len(allowed), max(of_job, len(frozenset().union(*allowed)))
        for shared in sorted(set(allowed), key=len) if all(allowed) else ():
            sharing = sum(task_cores <= shared for task_cores in allowed)
            busy = tasks - max(sharing - len(shared), 0)
            if busy < min(tasks, cores):
                where = f'on {listed(bound.nodes)} {sharing} tasks share {counted(len(shared), "core")}'
                return f'{where}, and {cores - busy} of {cores} have no task'
    return None
