"""The node's view before the run: the engine, the target, the records, as evidence for the rules."""

import errno
import functools
import math
import os
import shutil
import stat
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.engine.base import Engine, EngineError
from seatrial.engine.registry import choose, why_none
from seatrial.filesystem.base import Capacity, Driver, Targets, mounted_from, tightest, type_fault
from seatrial.filesystem.mounts import is_below, mount_of
from seatrial.filesystem.registry import by_type, same_storage
from seatrial.job.directory import orphans, rundir
from seatrial.job.launch.processes import launch_argv, still_working
from seatrial.job.sequence.provenance import beside_module
from seatrial.model.ask import ask, unresponsive
from seatrial.model.layout import DATA_TARGETS, TARGETS, Layout
from seatrial.model.owned import open_to
from seatrial.model.plan import TrialPlan
from seatrial.model.units import approximate_size, round_up
from seatrial.rules.before import Environment, peak
from seatrial.rules.case import working_set
from seatrial.workload.ageing import share_within
from seatrial.workload.devices import bytes_of_each, devices_of
from seatrial.workload.registry import kind_of, resized, share_for

VERSION_DEADLINE_S = 30.0


class Chosen(NamedTuple):
    """The engine that measures here, with its own version."""

    engine: Engine
    program: str
    version: str


class Survey(NamedTuple):
    """The evidence for the rules, and values that the run needs of it."""

    environment: Environment
    chosen: Optional[Chosen]
    skipped: Tuple[str, ...]
    capacity: Capacity
    mount: str
    targets: Targets
    share: int = 0  # bytes of a task up to the planned fullness; 0: none is planned


def survey(plan: TrialPlan, lock_held: Optional[str]) -> Survey:
    """Change nothing. Raises OSError if the target cannot be examined."""
    target = plan.target
    driver = by_type(target.type)
    if unresponsive(target.path) is not None:
        silent = f'the file system{mounted_from(driver, target.path)} does not answer'
        raise OSError(errno.ETIMEDOUT, silent, target.path)
    mount = mount_of(os.path.realpath(target.path))
    room = to_fullness(plan)
    sized = filling(plan, room)
    capacity, quota = capacity_for(plan, driver), driver.quota(target.path)
    chosen, skipped = _choose(plan)
    memory = memory_bytes()
    needed = peak(sized, min_per_task(sized, memory))
    needed['bytes'] = max(needed['bytes'], room)
    earlier = orphans.look([target.path], plan.state, session=plan.session).orphans
    is_short = capacity.bytes is not None and capacity.bytes < needed['bytes']
    connections, targets = driver.connections(target.path), driver.targets(target.path)
    behaviour = driver.behaviour(target.path)
    # Two mounts of one server, or two subvolumes, have different devices.
    mounts = (mount_of(os.path.realpath(path)) for path in (plan.records, target.path))
    environment = Environment(
        plan=plan,
        lock_held=lock_held,
        outside=rundir.inside(target.path, target.mount) if target.mount else None,
        free_bytes=capacity.bytes,
        free_inodes=capacity.inodes,
        quota_bytes=quota.bytes,
        quota_inodes=quota.inodes,
        needed_bytes=needed['bytes'] + sum(orphan.size_bytes or 0 for orphan in earlier),
        needed_inodes=needed['inodes'] + sum(orphan.files or 0 for orphan in earlier),
        same_device=os.stat(plan.records).st_dev == os.stat(target.path).st_dev or same_storage(*mounts),
        raw_inside=is_below(os.path.realpath(plan.records), os.path.realpath(target.path)),
        layout_fault=_layout_fault(plan, driver),
        wrong_type=type_fault(driver, mount),
        still_working=still_working(target.path),
        narrowest=capacity.narrowest if is_short else '',
        room_unseen='; '.join(filter(None, (capacity.unseen, quota.unseen))),
        unseen=driver.lost(connections, connections).unseen,
        preloaded=os.environ.get('LD_PRELOAD', '').strip(),
        open_to=open_to(target.path),
        block_size=behaviour.block_size,
        gives_up=behaviour.gives_up,
        memory_bytes=memory,
        beneath=_beneath(mount.point) if mount else {},
        used_percent=used_percent(os.statvfs(target.path)),
        targets=targets.rows,
        beside_module=beside_module(chosen.program, os.environ)
        if chosen and chosen.program not in [engine.program for engine in plan.engines]  # a site may give a path
        else '',
        device_fault=devices_fault(devices_of(plan.points[0]), max(map(bytes_of_each, sized.points))),
        no_engine=None
        if chosen
        else f'no engine can measure {kind_of(plan.kind).words} here ({why_none(plan.engines, skipped)})',
    )
    left = tightest(capacity, quota)
    mounted = mount.description() if mount else ''
    share = sized.sizing.pinned if plan.points[0].fullness else None
    return Survey(environment, chosen, skipped, left, mounted, targets, share or 0)


def used_percent(seen: os.statvfs_result) -> Optional[int]:
    """Usage of a file system in percent, as df(1) has it: room for root alone counts neither as used nor as free."""
    used = seen.f_blocks - seen.f_bfree
    return math.ceil(100 * used / (used + seen.f_bavail)) if used + seen.f_bavail > 0 else None


def to_fullness(plan: TrialPlan) -> int:
    """Bytes from the current usage to the planned fullness; 0: none is planned, or it is reached."""
    seen, meant = os.statvfs(plan.target.path), plan.points[0].fullness
    used = seen.f_blocks - seen.f_bfree
    return max(0, int(seen.f_frsize * (meant * (used + seen.f_bavail) - used))) if meant else 0


def filling(plan: TrialPlan, room: int) -> TrialPlan:
    """The plan with a share of each task with which its trees take this room, or their limits."""
    if not plan.points[0].fullness:
        return plan
    room = min(room, plan.target.limits.bytes)
    share = min(share_within(point, room) for point in plan.points)
    return plan._replace(sizing=plan.sizing._replace(pinned=share))


def _beneath(place: str) -> Dict[str, Tuple[int, int]]:
    """Free bytes and inodes of the whole file system at its mount point, and all of them; empty if unseen."""
    try:
        seen = os.statvfs(place)
    except OSError:
        return {}
    size = seen.f_frsize
    return {'bytes': (seen.f_bavail * size, seen.f_blocks * size), 'inodes': (seen.f_favail, seen.f_files)}


def _layouts(plan: TrialPlan) -> List[Layout]:
    """The layouts of the case, and of its points unless they are targets, as one target may be dead."""
    of_points = () if plan.axis.equals in TARGETS else tuple(point.layout for point in plan.points)
    return list(dict.fromkeys(layout for layout in (plan.target.layout, *of_points) if layout is not None))


def _layout_fault(plan: TrialPlan, driver: Driver) -> Optional[str]:
    # To compare nodes, their files lie on all targets; targets that take no files now are missing for all nodes.
    layouts = [plan.target.layout] if plan.axis.equals == 'node' else _layouts(plan)
    faults = (driver.layout_fault(layout, plan.target.path) for layout in layouts)
    return next((fault for fault in faults if fault is not None), None)


def capacity_for(plan: TrialPlan, driver: Driver) -> Capacity:
    """The free room for the case's files, in the layout with the least room."""
    files = kind_of(plan.kind).footprint(resized(plan.points, plan.sizing.first)).inodes
    seen = [driver.capacity(plan.target.path, layout, files) for layout in _layouts(plan)]
    least = tightest(*seen)
    unseen = next((room.unseen for room in seen if room.unseen), '')
    return least._replace(narrowest=next(room.narrowest for room in seen if room.bytes == least.bytes), unseen=unseen)


def min_per_task(plan: TrialPlan, memory: int) -> int:
    """The smallest possible share of a task: pinned, or the first warm-up's, or that for P16's working set."""
    sizing = plan.sizing
    if plan.points[0].fullness:
        return sizing.pinned or sizing.first
    if not sizing.working_set or sizing.pinned is not None:
        return sizing.first
    wanted = max(share_for(point, working_set(plan, point, memory)) for point in plan.points)
    return max(sizing.first, round_up(wanted, sizing.granule))


def memory_bytes() -> int:
    """This node's memory (MemTotal of /proc/meminfo, proc(5))."""
    with open('/proc/meminfo') as stream:
        return int(next(line for line in stream if line.startswith('MemTotal:')).split()[1]) * 1024


def devices_fault(paths: Sequence[str], needed: int) -> Optional[str]:
    """A sentence if one of these is no device from which `needed` bytes can be read here; None if all are."""
    seen: Dict[int, str] = {}
    for path in paths:
        try:
            status = os.stat(path)
        except OSError as error:
            return f'{path} is not there: {error.strerror}'
        if not stat.S_ISBLK(status.st_mode):
            return f'{path} is not a block device'
        if status.st_rdev in seen:
            return f'{path} and {seen[status.st_rdev]} are one device'
        seen[status.st_rdev] = path
        try:
            device = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            return f'{path} cannot be read: {error.strerror}'
        with rundir.closed_after(device):
            size = os.lseek(device, 0, os.SEEK_END)
        if size < needed:
            why = f'{path} has {approximate_size(size)}, and {approximate_size(needed)} are to be read of it'
            return f'{why}: write less for bytes_per_task in its trial'
    return None


def _choose(plan: TrialPlan) -> Tuple[Optional[Chosen], Tuple[str, ...]]:
    """The first engine that is installed, can carry out every point, can be launched and tells its version."""
    skipped: List[str] = []
    for number in range(len(plan.engines)):
        choice = choose(plan.engines[number : number + 1], plan.points, shutil.which, functools.partial(unfit, plan))
        skipped += choice.skipped
        if choice.engine is None:
            continue
        starter = launch_argv(plan.launcher, plan.points[0], ())[0]
        if choice.engine.mpi and shutil.which(starter) is None:
            skipped.append(f'{choice.engine.name}: its launcher is not installed ({starter})')
            continue
        try:
            return Chosen(choice.engine, choice.program, version_of(choice.engine, choice.program)), tuple(skipped)
        except EngineError as error:
            skipped.append(f'{choice.engine.name}: {error.sentence}')
    return None, tuple(skipped)


def unfit(plan: TrialPlan, engine: Engine) -> Optional[str]:
    """The reason why an engine that can carry the points out must not measure this plan, as a clause, or None."""
    if plan.axis.equals == 'node' and not engine.names_hosts:
        return 'does not say which task ran on which node'
    if plan.axis.equals in DATA_TARGETS and not by_type(plan.target.type).hands_down and not engine.keeps_files:
        return f'removes the empty files that lie on the {plan.axis.equals}, and makes others'
    if engine.compressible and plan.target.compresses is not False:
        return f'{engine.compressible}, and trial.yaml does not say compresses: false'
    moved = kind_of(plan.kind).moved
    writes = any(moved(point, phase)[0] != 0 for point in plan.points for phase in point.phases)
    if writes and not engine.checks_close and by_type(plan.target.type).behaviour(plan.target.path).close_can_fail:
        return 'ignores what close(2) says, and a write may fail only then'
    return None


def version_of(engine: Engine, program: str) -> str:
    """The version that the program reports. Raises EngineError."""
    argv = engine.version_argv(program)
    answer = ask(argv, VERSION_DEADLINE_S)
    if answer and answer.exit_status is not None and answer.exit_status < 0:
        # A signal that ends the job may reach its programs first; by the second answer it has reached the job too.
        answer = ask(argv, VERSION_DEADLINE_S)
    return engine.parse_version(answer.stdout if answer else '')
