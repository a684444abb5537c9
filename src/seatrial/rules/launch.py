"""Rules for one launch: is what it said what the plan asked for, and could it be measured at all?"""

from typing import Dict, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.plan import TrialPlan
from seatrial.model.record import Measurement
from seatrial.model.units import MIB, approximate_size
from seatrial.model.workload import FileSpec, Point
from seatrial.rules.registry import BEFORE, LAUNCH, rule, seen_elsewhere

COLD_SHARE = 0.95
FOREIGN_SHARE = 1.25  # of the bytes: a counter of a whole mount that has more counts others too
CLOCK_MIN_S = 0.5
MAKING_SHARE = 0.25
TOGETHER_SHARE = 0.10
TOGETHER_SHARE_OF_NODES = 0.25  # where nodes are compared: each by its own clients' times, over several launches


class Launched(NamedTuple):
    """One launch as the runner saw it. Sizes in bytes.

    expected:  the files that the point has on disk
    before, after: the files that were there before and after the launch, by name with their size
    storage_read_bytes: what the block layer fetched for the launch's processes; None where it cannot be seen
    meant:     the nodes that it was to run on, where they were named
    kept:      why a node other than this one can have had the bytes of a read in memory, as a clause
    makes_mib_s: how fast a client makes its data in the timed region of a write; 0: not known
    """

    plan: TrialPlan
    point: Point
    operation: str
    measurement: Measurement
    expected: Tuple[FileSpec, ...]
    before: Dict[str, int]
    after: Dict[str, int]
    storage_read_bytes: Optional[int]
    meant: Tuple[str, ...] = ()
    kept: str = ''
    makes_mib_s: float = 0.0


seen_elsewhere(
    'E1',
    'The engine ended well and said what it did',
    LAUNCH,
    'invalid',
    'see its raw output in the records',
    'exit codes and error fields of the engines',
)

seen_elsewhere(
    'E2',
    'A launch ends inside its limit',
    LAUNCH,
    'invalid',
    'is the file system stalled? The limit lies above its recovery_limit in trial.yaml',
    'Lustre recovers in 150-900 s; Slurm drains a node whose step cannot be killed',
)

seen_elsewhere(
    'P5a',
    'A file that the engine has written has the layout that was asked for',
    LAUNCH,
    'invalid',
    'ask for what this file system can give, or see what is wrong with its targets',
    'fewer stripes or other targets than were asked for are given in silence, as on a full or inactive OST',
)

seen_elsewhere(
    'P5b',
    'A target that is to be tested by itself takes new files of this user',
    LAUNCH,
    'incomplete',
    'see what is wrong with it, or give this user the permission',
    'a file that is pinned to an inactive or full target fails or waits; lfs mkdir -i is for root alone (seen)',
)

seen_elsewhere(
    'P5c',
    'A file that asks for all targets has all of them',
    LAUNCH,
    'label',
    'compare it with figures of as many only; is a target retired on the MDS, or the stripe count limited there?',
    'max_create_count=0 of a target; lod.*.max_stripecount; 160 on an ldiskfs without ea_inode (lod_qos.c)',
)

seen_elsewhere(
    'P17',
    'The launcher places the tasks as asked, shown by a launch that does no I/O',
    BEFORE,
    'refuse',
    'see launcher and its arguments under partitions in trial.yaml',
    'mpiexec hangs where names do not resolve (seen), and Slurm drains nodes where I/O must be killed',
)

seen_elsewhere(
    'P21',
    'Every node runs the same build of the engine and loads the same MPI, as it says itself',
    BEFORE,
    'refuse',
    'install one and the same on all nodes, or leave those that differ out of the job',
    'a figure of two programs is of neither; a local installation or mount differs from node to node unseen',
)

seen_elsewhere(
    'P17a',
    'The file system answers before a launch, at the latest after its recovery limit',
    LAUNCH,
    'refuse',
    'nothing more was launched; see its servers, then `seatrial clean`',
    'a process that waits for a dead file system cannot be killed',
)

seen_elsewhere(
    'P17b',
    'The file system answers at once between launches',
    LAUNCH,
    'label',
    'see the logs of its servers for that time',
    'a failover blocks I/O for as long as recovery takes: 150-900 s on Lustre',
)

seen_elsewhere(
    'P20',
    'No connection to a server is lost during a launch',
    LAUNCH,
    'invalid',
    'see the console of the node and of the server; then measure again',
    'an evicted client has lost its locks and what it had not written; a reconnection stops its I/O for a while',
)


seen_elsewhere(
    'T1',
    "An engine's figures agree with each other, with the bytes that were to be moved and with the time it had",
    LAUNCH,
    'invalid',
    'see its raw output in the records; stonewalling, short files and clocks that are apart give such figures',
    'IOR 4.0.0 with MPI-IO on a short file: 29,658 MiB/s, exit 0 (seen; hpc/ior issue 109, PR 501)',
)

seen_elsewhere(
    'T7',
    'The version of an engine is one whose figures are not known to be wrong',
    LAUNCH,
    'invalid',
    'install the version that spack-env/ pins',
    'hpc/ior PRs 312, 336, 497, 501, 508; Spack prefers ior 3.3.0 of 2020',
)

seen_elsewhere(
    'T8',
    'An engine that exits with 0 has not complained, and has finished',
    LAUNCH,
    'invalid',
    'see its raw output in the records',
    'IOR counts its errors modulo 256, each twice in 4.0.0: 128 bad transfers exit 0 (seen)',
)

seen_elsewhere(
    'T13',
    "A figure is read from the engine's structured output, where it has its place",
    LAUNCH,
    'invalid',
    'see its raw output in the records; is it a version that is supported?',
    'IOR 4.0.0 prints "Max Write" only with -v (seen)',
)

seen_elsewhere(
    'P15',
    'The I/O that was issued is the I/O that was meant',
    LAUNCH,
    'invalid',
    'the engine did something else than it was told; see its raw output in the records',
    "the engine's own account of its parameters; Darshan's log of one repetition",
)


@rule(
    'P1',
    'A write ends with fsync inside the timed region',
    LAUNCH,
    'invalid',
    'use an engine whose output proves its fsync',
    'IOR tutorial, IO500 rules',
)
def write_reaches_storage(launched: Launched) -> Optional[str]:
    if launched.operation == 'write' and not launched.measurement.fsync:
        return 'nothing shows that the write was synced to storage inside the timed region'
    return None


@rule(
    'P4c',
    'A client writes much slower than it makes its data, which it does in the timed region',
    LAUNCH,
    'label',
    'the storage is faster than this figure: use more clients',
    'IOR 4.0.0 -l random makes 5,000 to 6,300 MiB/s a core (EPYC), and lost a fifth at 1,145 MiB/s (measured)',
)
def data_are_at_hand(launched: Launched) -> Optional[str]:
    longest_s = max((job.seconds for job in launched.measurement.jobs), default=0.0)
    if launched.operation != 'write' or not launched.makes_mib_s or not longest_s:
        return None
    rate = launched.point.bytes_per_client / MIB / longest_s
    if rate <= MAKING_SHARE * launched.makes_mib_s:
        return None
    return (
        f'a client wrote {rate:.0f} MiB/s and makes about {launched.makes_mib_s:.0f} MiB/s of data: '
        f'about {100 * rate / launched.makes_mib_s:.0f} % of its time'
    )


@rule(
    'P2',
    'A read is cold: this node has not kept the bytes',
    LAUNCH,
    'label',
    'labelled cached: it says nothing about storage',
    'Lustre locking; lustre-iokit ior-survey; hpc/ior#328',
)
def read_is_cold(launched: Launched) -> Optional[str]:
    if cache_label(launched) != 'cached':
        return None
    if launched.storage_read_bytes is None:
        return f'a node can have read its own memory: {launched.kept}'
    share = 100.0 * (launched.storage_read_bytes or 0) / launched.measurement.bytes_moved
    return f'only {share:.0f} % of the bytes read came from storage (cold is {100 * COLD_SHARE:.0f} % or more)'


@rule(
    'T3',
    'Reordering ranks makes a read cold only with two nodes or more',
    LAUNCH,
    'label',
    'labelled unknown: it says nothing about storage',
    'IOR -C shifts by one node: on one node every rank re-reads its own file (seen)',
)
def reordering_needs_nodes(launched: Launched) -> Optional[str]:
    if cache_label(launched) != 'unknown':
        return None
    if launched.storage_read_bytes is not None:
        seen, read = map(approximate_size, (launched.storage_read_bytes, launched.measurement.bytes_moved))
        return f'{seen} came from storage for {read} that were read: others read too, and nothing shows whose it was'
    if launched.point.nodes < 2:
        return 'the node that reads has written the file, and no counter here shows where the bytes came from'
    return 'no counter here shows whether the bytes came from storage'


@rule(
    'T9',
    'The engine saw as many clients as the plan has',
    LAUNCH,
    'invalid',
    'check the launcher of the partition in trial.yaml',
    'srun --mpi=none with MPICH: N singletons, each rank 0 of 1, exit 0 (seen)',
)
def world_size(launched: Launched) -> Optional[str]:
    seen, planned = launched.measurement.world_size, launched.point.tasks
    return None if seen == planned else f'{seen} clients took part, not {planned}'


@rule(
    'T10',
    'The clients ran on as many nodes as the plan has, and on those that were named',
    LAUNCH,
    'invalid',
    'check tasks per node and the launcher of the partition in trial.yaml',
    'srun -N4 -n8 places 4/2/1/1 ranks (seen)',
)
def hosts(launched: Launched) -> Optional[str]:
    seen = {host.partition('.')[0] for host in launched.measurement.hosts}
    meant = {node.partition('.')[0] for node in launched.meant}
    if len(seen) != launched.point.nodes:
        return f'the clients ran on {len(seen)} nodes, not {launched.point.nodes}'
    if meant and seen != meant:
        return f'the clients ran on {min(seen - meant)} and not on {min(meant - seen)}'
    return None


@rule(
    'T12',
    'A phase that is too short to measure is not a zero',
    LAUNCH,
    'invalid',
    'give the point more bytes (bytes_per_client in trial.yaml)',
    'fdtree and Bonnie++ print 0 or +++++ for a phase under a second (seen)',
)
def measurable(launched: Launched) -> Optional[str]:
    return None if launched.measurement.seconds > 0 else 'the timed region has no length: too short to measure'


@rule(
    'T17',
    'The files of a point are there in full before a read and after every operation, and none before a write',
    LAUNCH,
    'invalid',
    'something else works in the run directory, or the engine deletes files',
    'fio unlinks a short file and re-creates empty ones, exit 0 with rates (seen)',
)
def files_in_full(launched: Launched) -> Optional[str]:
    if launched.operation == 'read':
        fault = files_fault(launched.expected, launched.before)
        if fault is not None:
            return f'before the read {fault}'
    fault = files_fault(launched.expected, launched.after)
    return None if fault is None else f'after the {launched.operation} {fault}'


@rule(
    'T18',
    'Every client moved exactly its bytes',
    LAUNCH,
    'invalid',
    'the engine did not do what was asked; see its raw output in the records',
    'fio strided with the obvious size moves half of the bytes of job 2, error 0 (seen)',
)
def bytes_of_each(launched: Launched) -> Optional[str]:
    planned = launched.point.bytes_per_client
    for job in launched.measurement.jobs:
        if job.bytes_moved != planned:
            return f'client {job.rank} moved {job.bytes_moved} B, not {planned} B'
    total = launched.measurement.bytes_moved
    if total != launched.point.bytes_moved:
        return f'{total} B were moved, not {launched.point.bytes_moved} B'
    return None


@rule(
    'T19',
    'The timed region is long against clocks and start-up effects',
    LAUNCH,
    'invalid',
    'give the point more bytes (bytes_per_client in trial.yaml)',
    'fio counts whole milliseconds: tens of per cent on a short region (seen); no engine is exact below',
)
def long_against_the_clock(launched: Launched) -> Optional[str]:
    seconds = launched.measurement.seconds
    if 0 < seconds < CLOCK_MIN_S:
        return f'the timed region lasted {seconds:.3f} s, less than {CLOCK_MIN_S} s'
    return None


@rule(
    'T21',
    'Clients that were started one by one ran together',
    LAUNCH,
    'invalid',
    'give the point more bytes (bytes_per_client in trial.yaml)',
    'process accounting; 0.2 to 0.5 s of the life of a fio lie beside its job (seen with 3.33)',
)
def ran_together(launched: Launched) -> Optional[str]:
    return None if launched.plan.stopping.fixed else _apart(launched)


@rule(
    'T21a',
    'In a smoke test clients may have begun one after the other',
    LAUNCH,
    'label',
    'a smoke test shows no more than that it works',
    'T21',
)
def together_in_smoke(launched: Launched) -> Optional[str]:
    return _apart(launched) if launched.plan.stopping.fixed else None


def cache_label(launched: Launched) -> str:
    """Where a read's bytes came from: 'cold', 'cached' or 'unknown'; empty for a write.

    Cold if O_DIRECT was in effect, or if the block layer fetched at least COLD_SHARE of the bytes claimed
    (rule P2), and at most FOREIGN_SHARE: more are those of others, or read ahead and never used. A file that several
    clients of one node read is fetched once, so only the first of them reads it cold.
    """
    if launched.operation != 'read':
        return ''
    if launched.measurement.direct:
        return 'cold'
    if launched.storage_read_bytes is None:
        # On other nodes nothing counts.
        return 'cached' if launched.kept else 'unknown'
    least, most = (share * launched.measurement.bytes_moved for share in (COLD_SHARE, FOREIGN_SHARE))
    if launched.storage_read_bytes < least:
        return 'cached'
    return 'cold' if launched.storage_read_bytes <= most else 'unknown'


def files_fault(expected: Sequence[FileSpec], seen: Dict[str, int]) -> Optional[str]:
    """How the files that are there differ from those that should be, or None. Sizes in bytes, exact."""
    planned = dict(expected)
    missing = sorted(set(planned) - set(seen))
    if missing:
        return f'{len(missing)} of {len(planned)} files are missing ({missing[0]})'
    foreign = sorted(set(seen) - set(planned))
    if foreign:
        return f'{len(foreign)} files are there that the plan does not know ({foreign[0]})'
    for name in sorted(planned):
        if planned[name] != seen[name]:
            return f'{name} has {seen[name]} B, not {planned[name]} B'
    return None


def _apart(launched: Launched) -> Optional[str]:
    """How far apart the clients may have begun, on several nodes: by their starts, and what is not known of them."""
    jobs = launched.measurement.jobs
    if launched.point.nodes == 1 or not jobs:
        return None
    starts_s = [job.start_s for job in jobs]
    apart_s = max(starts_s) - min(starts_s) + launched.measurement.clock_s
    shortest_s = min(job.seconds for job in jobs)
    share = TOGETHER_SHARE_OF_NODES if launched.plan.axis == 'group' else TOGETHER_SHARE
    if apart_s <= share * shortest_s:
        return None
    return f'the clients can have begun {apart_s:.3f} s apart, and the shortest ran for {shortest_s:.3f} s'
