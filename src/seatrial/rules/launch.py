"""Rules for one launch: is what it said what the plan asked for, and could it be measured at all?"""

from typing import Dict, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.plan import TrialPlan
from seatrial.model.record import Measurement
from seatrial.model.workload import FileSpec, Point
from seatrial.rules.registry import LAUNCH, rule, seen_elsewhere

COLD_SHARE = 0.95
CLOCK_MIN_S = 0.5
TOGETHER_SHARE = 0.10


class Launched(NamedTuple):
    """One launch as the runner saw it. Sizes in bytes.

    expected:  the files that the point has on disk
    before, after: the files that were there before and after the launch, by name with their size
    storage_read_bytes: what the block layer fetched for the launch's processes; None where it cannot be seen
    """

    plan: TrialPlan
    point: Point
    operation: str
    measurement: Measurement
    expected: Tuple[FileSpec, ...]
    before: Dict[str, int]
    after: Dict[str, int]
    storage_read_bytes: Optional[int]


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
    'T1',
    "An engine's figures agree with each other and with the bytes that were to be moved",
    LAUNCH,
    'invalid',
    'see its raw output in the records; stonewalling and short files give such figures',
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
    "the engine's own account of its parameters",
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
    'The clients ran on as many nodes as the plan has',
    LAUNCH,
    'invalid',
    'check tasks per node and the launcher of the partition in trial.yaml',
    'srun -N4 -n8 places 4/2/1/1 ranks (seen)',
)
def hosts(launched: Launched) -> Optional[str]:
    seen, planned = len(set(launched.measurement.hosts)), launched.point.nodes
    return None if seen == planned else f'the clients ran on {seen} nodes, not {planned}'


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
    'The files of a point are there in full before a read and after every operation',
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
    (rule P2). A file that several clients of one node read is fetched once, so only the first of them reads it cold.
    """
    if launched.operation != 'read':
        return ''
    if launched.measurement.direct:
        return 'cold'
    if launched.storage_read_bytes is None:
        return 'unknown'
    return 'cold' if launched.storage_read_bytes >= COLD_SHARE * launched.measurement.bytes_moved else 'cached'


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
    if apart_s <= TOGETHER_SHARE * shortest_s:
        return None
    return f'the clients can have begun {apart_s:.3f} s apart, and the shortest ran for {shortest_s:.3f} s'
