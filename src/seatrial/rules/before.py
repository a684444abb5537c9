"""Rules that are checked before the first byte is written. Breaking one refuses the run, unless it only labels."""

from functools import partial
from operator import attrgetter
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.plan import Limits, TrialPlan
from seatrial.model.record import TargetRow
from seatrial.model.units import approximate_size, format_size
from seatrial.rules.registry import BEFORE, rule
from seatrial.workload.limits import FLOOR, OVER, of_quota
from seatrial.workload.registry import fills, kind_of, resized
from seatrial.workload.training import buffers
from seatrial.workload.words import listed

OWN_INODES = 4  # the run directory, its marker and its two directories of data
KEPT_INODES = 4  # inodes for what an engine makes beside its files, as mdtest does
KEPT_BYTES = 1024 * 1024  # bytes for directories: their size is not known before, and some have large blocks

_refuse, _label = partial(rule, BEFORE, 'refuse'), partial(rule, BEFORE, 'label')

MEMORY_TOLERANCE = 0.1  # the kernel and firmware keep some for themselves; Slurm's RealMemory is often rounded down


class Environment(NamedTuple):
    """The target as the node sees it before the run. Sizes in bytes."""

    plan: TrialPlan
    lock_held: Optional[str]  # who holds the storage system, as a sentence, or None
    outside: Optional[str]  # why the run directory would not lie where the site says, or None
    # free_bytes, free_inodes: what an ordinary user may still use; None is unknown or unlimited
    free_bytes: Optional[int]
    free_inodes: Optional[int]
    # quota_bytes, quota_inodes: what the quotas of the user leave; None is no quota or unknown
    quota_bytes: Optional[int]
    quota_inodes: Optional[int]
    # needed_bytes, needed_inodes: the most that the case has on the target at one time
    needed_bytes: int
    needed_inodes: int
    same_device: bool  # True if records and target lie on one file system
    raw_inside: bool  # True if the engines' own output files would lie under the target's path
    layout_fault: Optional[str]  # why the layout cannot be set or proved, or None
    no_engine: Optional[str]  # why no engine can measure here, or None
    wrong_type: Optional[str]  # why what is mounted is not what the site says, or None
    still_working: Optional[str]  # a process that still works in an earlier run directory, or None
    narrowest: str = ''  # the target that limits free_bytes, as a clause, or empty
    room_unseen: str = ''  # what of room and quota could not be asked, as a clause, or empty
    # why this node's connections to the servers are not seen; empty if they are, None if there are none
    unseen: Optional[str] = None
    preloaded: str = ''  # the LD_PRELOAD that every rank inherits, or empty
    open_to: Optional[str] = None  # how another user could replace the run directory, or None
    block_size: int = 0  # bytes of the file system's blocks that a transfer should fit; 0: none are known
    gives_up: str = ''  # how I/O fails while a server is away, as a clause; empty where it waits
    memory_bytes: int = 0  # memory of this node; 0 is unknown
    used_percent: Optional[int] = None  # used share of the file system's bytes; None: unknown
    device_fault: Optional[str] = None  # why a raw device cannot be read here, or None
    targets: Tuple[TargetRow, ...] = ()  # targets of the file system, as far as they are seen
    # free and total 'bytes' and 'inodes' of the whole file system, whatever a quota shows
    beneath: Dict[str, Tuple[int, int]] = {}  # noqa: RUF012 (a value; nobody changes it)
    beside_module: str = ''  # says that the engine is not the program of the module loaded for it, or empty


_refuse(
    'E0: An engine that can carry the workload out exactly is installed',
    'install one of them or name another with --engine',
    'what an engine cannot express is said, never silently replaced',
)(attrgetter('no_engine'))
_refuse(
    'S1: The run directory lies where the site says',
    'correct file_systems.<name>.path or .mount in trial.yaml',
    'nothing outside the run directory is written or deleted',
)(attrgetter('outside'))
_refuse(
    'S2: The target is a file system of the type that the site says',
    'mount it, or correct file_systems.<name>.type or .path in trial.yaml',
    'an empty mount point is a directory of the root disk, and measures well',
)(attrgetter('wrong_type'))
_refuse(
    'S4: Nobody else can replace what lies in the directory that run directories are made in, or in one above it',
    'chmod go-w that directory if it is yours; else make one (mkdir -m 700) and name it in file_systems.<name>.path',
    'a launcher finds its directory by path; one that was swapped made an engine overwrite a file elsewhere (tried)',
)(attrgetter('open_to'))
_refuse(
    'S3: No process of an earlier run is still at work on the target',
    'wait for it to end; then `seatrial clean`',
    "fio's processes outlive a killed fio and write on (seen with 3.33)",
)(attrgetter('still_working'))
_refuse(
    'S5: The raw devices that the site names are block devices of this node that can be read',
    'correct file_systems.<name>.devices in trial.yaml; to read them takes root, or their group',
    'a plain file of the same name reads as fast as memory; nothing is ever written to a device',
)(attrgetter('device_fault'))
_refuse(
    'P21b: The engine that the PATH finds is that of the module which was loaded for it',
    'list the modules of engines after that of the MPI in settings.py, or write the program in full in trial.yaml',
    "Debian's MPICH as a module puts /usr/bin first, and so its fio 3.33 before the fio 3.37 that was pinned (tried)",
)(lambda environment: environment.beside_module or None)
_label(
    'P21a: No library is loaded into the engine from outside',
    'unset LD_PRELOAD, or the module that sets it, and compare',
    'a library that stands before read(2) and write(2), such as a tracer, is measured too (ld.so(8))',
)(lambda environment: f'LD_PRELOAD is {environment.preloaded}' if environment.preloaded else None)
_label(
    'P17c: I/O waits while a server is away',
    'on NFS mount it hard, on BeeGFS raise connCommRetrySecs, on OrangeFS ClientRetryLimit in its configuration; '
    'a program that does not look for the error loses data',
    'nfs(5), soft: "can cause silent data corruption in certain cases"',
)(lambda environment: environment.gives_up or None)


@_label(
    'P26: Transfers fit the blocks of a file system that has large ones: they divide them, or are made of whole ones',
    'choose transfer sizes that are powers of two, or read the figures as those of partial blocks',
    'a block that is written in part is read first, or locked twice; of GPFS, st_blksize is the block size (stat(2))',
)
def transfers_fit(environment: Environment) -> Optional[str]:
    block = environment.block_size
    sizes = {point.data.transfer_size for point in environment.plan.points if kind_of(point.kind).moves_data}
    odd = [size for size in sorted(sizes) if block and size and block % size and size % block]
    if not odd:
        return None
    shown = ', '.join(map(format_size, odd))
    return f'transfers of {shown} neither divide the block size of {format_size(block)} nor are multiples of it'


_refuse(
    'P6: One trial at a time on a storage system',
    'wait for it to end, or see `seatrial clean` if it is dead',
    'NERSC and USC suites; reframe#1627',
)(attrgetter('lock_held'))


@_refuse(
    'P9: Space, inodes, quota and the cap of the session suffice',
    'free space, or set smaller sizes or a larger limit in trial.yaml',
    'Lockwood, Cori: 53-66 % of the acceptance figures on full OSTs; IO500 issue 28',
)
def room_enough(environment: Environment) -> Optional[str]:
    needs = {'bytes': environment.needed_bytes, 'inodes': environment.needed_inodes}
    free = {'bytes': environment.free_bytes, 'inodes': environment.free_inodes}
    quota = {'bytes': environment.quota_bytes, 'inodes': environment.quota_inodes}
    for what, name, offered in offers(environment.plan.target.limits, free, quota):
        needed = needs[what]
        if needed > offered:
            if what == 'bytes':
                why = f', for {environment.narrowest}' if name.startswith('free') and environment.narrowest else ''
                return (
                    f'the case needs {approximate_size(needed)} ({needed} B) on {environment.plan.target.path}, '
                    f'more than {name}: {approximate_size(offered)} ({offered} B){why}'
                )
            return f'the case needs {needed} inodes on {environment.plan.target.path}, more than {name}: {offered}'
    return None


@_label(
    'P9d: Free room and quotas could be asked',
    'check the quota by hand, or set limits in trial.yaml that lie below it',
    'P9',
)
def room_is_seen(environment: Environment) -> Optional[str]:
    return f'not known: {environment.room_unseen}' if environment.room_unseen else None


@_refuse(
    'P9b: A limit that is to be reached lies within those of the site, and leaves others room',
    'set a quota below the limits of trial.yaml, keep the state elsewhere, or leave to_be_filled out',
    f'beyond it a case tries as much as {approximate_size(OVER["bytes"])} or {OVER["inodes"]} inodes more',
)
def limit_within_the_sites(environment: Environment) -> Optional[str]:
    plan = environment.plan
    what = fills(plan.points[0])
    if not what:
        return None
    seen = environment._asdict()
    lefts = [room for room in (seen[f'free_{what}'], seen[f'quota_{what}']) if room is not None]
    most, limit = min(lefts, default=0) + OVER[what], plan.target.limits._asdict()[what]
    if not lefts:
        return f'no limit of {what} is seen on {plan.target.path}'
    if environment.same_device:
        return f'the records {plan.records} lie under the same limit'
    if most > limit:
        return (
            f'{min(lefts)} {what} are left on {plan.target.path}: with {OVER[what]} more than limits.{what}, {limit}'
        )
    if not of_quota(plan.phases[0]):
        return None
    if what not in environment.beneath:
        return f'how many {what} the whole file system of {plan.target.path} has is not seen'
    free, whole = environment.beneath[what]
    if whole and free - most < FLOOR * whole:  # none of file systems that make inodes as they need them
        why = f'no quota keeps {FLOOR:.0%} of the file system free'
        return f'{why}: {min(lefts)} of {free} free {what} are left on {plan.target.path}'
    return None


@_refuse(
    'P9c: The file system is less full than the fullness that is to be reached',
    'raise fullness in trial.yaml, or free space',
    'nothing would be filled, and so nothing measured',
)
def not_full_yet(environment: Environment) -> Optional[str]:
    plan, used = environment.plan, environment.used_percent
    path, meant = plan.target.path, plan.points[0].fullness
    if not meant or (used is not None and used < round(100 * meant)):
        return None
    how = 'full to an unknown degree' if used is None else f'{used} % full'
    return f'{path} is {how}, and {meant:.0%} is meant'


@_label(
    'P16c: The memory of the node is what the site says of its partition',
    'correct memory under partitions.<name> in trial.yaml: the plan was made with it',
    "rule P16 measures with twice the node's own memory, whatever the site says",
)
def memory_as_declared(environment: Environment) -> Optional[str]:
    declared, actual = environment.plan.node_memory, environment.memory_bytes
    if not declared or abs(actual - declared) <= MEMORY_TOLERANCE * declared:
        return None
    return f'the node has {approximate_size(actual)} of memory, and the site says {approximate_size(declared)}'


@_refuse(
    'P16d: The memory of the node holds what its tasks read at one time',
    'choose smaller samples, fewer read threads, or fewer tasks a node in trial.yaml',
    'a node without memory kills the job, or swaps: neither is a figure of storage',
)
def buffers_fit(environment: Environment) -> Optional[str]:
    plan, memory = environment.plan, environment.memory_bytes
    needed = max(map(buffers, plan.points))
    if not memory or needed <= memory:
        return None
    return f'the tasks of a node hold {approximate_size(needed)} at one time, and it has {approximate_size(memory)}'


@_refuse(
    "P11: The engines' own output is not on the file system under test",
    'set state in trial.yaml to a directory outside file_systems.<name>.path',
    'hpc/ior PR 464',
)
def output_elsewhere(environment: Environment) -> Optional[str]:
    plan = environment.plan
    return f'the records {plan.records} lie inside the target {plan.target.path}' if environment.raw_inside else None


@_refuse(
    'P18: Records lie on another file system than the target',
    'put state of trial.yaml on another file system, or allow it with records_on_target: true',
    'a hung target must not take the evidence with it',
)
def records_elsewhere(environment: Environment) -> Optional[str]:
    plan = environment.plan
    if plan.target.records_on_target or not environment.same_device:
        return None
    return f'records ({plan.records}) and target ({plan.target.path}) are on one file system'


@_label(
    'P18a: Records on the target by permission of the site',
    'should the target hang, the evidence hangs with it',
    'P18',
)
def records_on_target(environment: Environment) -> Optional[str]:
    allowed = environment.same_device and environment.plan.target.records_on_target
    return 'records and target are on one file system, as trial.yaml allows' if allowed else None


_refuse(
    'P5: The layout that is asked for can be set and proved',
    'correct the layout in trial.yaml, or see to the target that is away or takes no objects',
    'Lustre accepts more stripes than there are targets, and gives fewer',
)(attrgetter('layout_fault'))


@_label(
    'P20a: The connections of every node are checked before and after each launch, so that P20 sees a loss',
    'see the consoles of the nodes, or the logs of the servers for the time of the case',
    'osc.*.state of a Lustre client is not for every user to read, and tells of one node',
)
def connections_are_seen(environment: Environment) -> Optional[str]:
    why = environment.unseen
    if why == '' and environment.plan.case.nodes > 1:
        why = 'only those of the first node are checked'
    return f'not seen whether a connection to a server was lost: {why}' if why else None


@_refuse(
    'P22: Every target and server of the file system is there, unless trial.yaml allows one to be away',
    'see to it, or allow it with targets_may_be_away: true; what its administrator has taken out is not counted',
    'a BeeGFS with 2 of 12 targets offline would be measured on 10, or hang; a Lustre writer waits (seen)',
)
def targets_are_there(environment: Environment) -> Optional[str]:
    return None if _goes_without(environment.plan) else away(environment.targets) or None


@_label(
    'P22a: Every target and server is whole, and is reached over its own route',
    'see what is wrong with it: a storage that is rebuilt, full or reached over a slower network is slower',
    'a route that fell back from RDMA to TCP gave 479 MiB/s in place of 900 (njutli/beegfs-production)',
)
def targets_are_whole(environment: Environment) -> Optional[str]:
    rows = environment.targets
    troubles = [f'{row.name}: {trouble}' for row in rows for trouble in row.troubles]
    allowed = away(rows) if _goes_without(environment.plan) else ''
    return '; '.join(filter(None, [allowed, listed(troubles) if troubles else ''])) or None


def _goes_without(plan: TrialPlan) -> bool:
    """True if targets may be away: an isolation sweep tests the others, and P5b names those that are missing."""
    return bool(plan.axis.equals) or plan.target.targets_may_be_away


def away(rows: Sequence[TargetRow]) -> str:
    """The targets that are away, with the reasons, as a clause; empty where none is."""
    faults = [f'{row.name}: {row.fault}' for row in rows if row.fault]
    are = 'is' if len(faults) == 1 else 'are'
    return f'{len(faults)} of {len(rows)} targets {are} away: {listed(faults)}' if faults else ''


class Offer(NamedTuple):
    """A bound on a case: its name, its amount, and the unit, 'bytes' or 'inodes'."""

    what: str
    name: str
    offered: int


def offers(limits: Limits, free: Dict[str, Optional[int]], quota: Dict[str, Optional[int]]) -> List[Offer]:
    """Every known bound of bytes and inodes. The site may keep some of the free room for others."""
    known = []
    for what, room, prefix in (('bytes', 'free space', ''), ('inodes', 'the number of free inodes', 'inode ')):
        keep, spare = limits._asdict()[f'keep_{what}'], free[what]
        if keep and spare is not None:
            room, spare = f'{room} less limits.keep_{what}', spare - keep
        bounds = ((room, spare), (f'the {prefix}quota of user and group', quota[what]))
        known += [Offer(what, name, offered) for name, offered in bounds if offered is not None]
        known.append(Offer(what, f'limits.{what}', limits._asdict()[what]))
    return known


def held(plan: TrialPlan, per_task: int) -> Dict[str, int]:
    """The most 'bytes' in files and 'inodes' that the case has on the target at once, its run directory included."""
    most = kind_of(plan.kind).footprint(resized(plan.points, per_task))
    return {'bytes': most.bytes, 'inodes': most.inodes + OWN_INODES}


def peak(plan: TrialPlan, per_task: int) -> Dict[str, int]:
    """The room that must be free: `held`, and what is kept for directories and for other files of engines."""
    needed = held(plan, per_task)
    return {'bytes': needed['bytes'] + KEPT_BYTES, 'inodes': needed['inodes'] + KEPT_INODES}
