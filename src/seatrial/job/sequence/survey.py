"""What the node sees before the run: the engine, the target, the records, as evidence for the rules."""

import errno
import os
import shutil
from typing import List, NamedTuple, Optional, Tuple

from seatrial.engine.base import AnyEngine, EngineError, NamespaceEngine
from seatrial.engine.catalogue import choose
from seatrial.filesystem.base import Capacity, FileSystem
from seatrial.filesystem.catalogue import by_type
from seatrial.filesystem.mounts import mount_of, same_storage, type_fault
from seatrial.job.directory import orphans, rundir
from seatrial.job.launch.processes import launch_argv, still_working
from seatrial.model.ask import ask, unresponsive
from seatrial.model.layout import Layout
from seatrial.model.plan import TrialPlan
from seatrial.model.tree import TreePoint
from seatrial.model.units import round_up
from seatrial.model.work import footprint
from seatrial.model.workload import PLACES, AccessPattern, Point
from seatrial.rules.before import Ground, peak
from seatrial.rules.case import working_set

VERSION_DEADLINE_S = 30.0


class Chosen(NamedTuple):
    """The engine that measures here, with what it says of itself."""

    engine: AnyEngine
    program: str
    version: str


class Survey(NamedTuple):
    """The evidence for the rules, and what the run needs of it."""

    ground: Ground
    chosen: Optional[Chosen]
    passed_over: Tuple[str, ...]
    memory_bytes: int
    capacity: Capacity
    mount: str


def survey(plan: TrialPlan, lock_held: Optional[str]) -> Survey:
    """Look, and change nothing. Raises OSError if the target cannot be looked at."""
    target = plan.target
    silence = unresponsive(target.path)
    if silence is not None:
        raise OSError(errno.ETIMEDOUT, 'the file system does not answer', target.path)
    driver = by_type(target.type)
    mount = mount_of(os.path.realpath(target.path))
    (capacity, narrowest), quota = _capacity(plan, driver), driver.quota(target.path)
    chosen, passed_over = _choose(plan)
    memory = memory_bytes()
    needed = peak(plan, least_per_client(plan, memory))
    earlier = orphans.of_session(target.path, plan.state, plan.session)
    ground = Ground(
        plan=plan,
        lock_held=lock_held,
        outside=rundir.inside(target.path, target.mount) if target.mount else None,
        free_bytes=capacity.bytes,
        free_inodes=capacity.inodes,
        quota_bytes=quota.bytes,
        quota_inodes=quota.inodes,
        needed_bytes=needed['bytes'] + sum(orphan.size_bytes for orphan in earlier),
        needed_inodes=needed['inodes'] + sum(orphan.files for orphan in earlier),
        same_device=_same_file_system(plan.records, target.path),
        raw_inside=_is_under(plan.records, target.path),
        layout_fault=_layout_fault(plan, driver),
        wrong_type=type_fault(target.type, mount),
        still_working=still_working(target.path),
        narrowest=driver.narrowest(target.path, *narrowest) if _too_few(capacity.bytes, needed['bytes']) else '',
        unseen=_unseen(plan, driver),
        preloaded=os.environ.get('LD_PRELOAD', '').strip(),
        no_engine=None if chosen else f'no engine can measure {plan.workload.name} here ({"; ".join(passed_over)})',
    )
    left = Capacity(_least(capacity.bytes, quota.bytes), capacity.inodes)
    return Survey(ground, chosen, passed_over, memory, left, mount.said() if mount else '')


def _layouts(plan: TrialPlan) -> List[Layout]:
    """Those that must be possible: the case's and its points', unless these are targets, of which one may be dead."""
    own = () if plan.axis in PLACES else tuple(point.layout for point in plan.points)
    return list(dict.fromkeys(layout for layout in (plan.target.layout, *own) if layout is not None))


def _layout_fault(plan: TrialPlan, driver: FileSystem) -> Optional[str]:
    faults = (driver.layout_fault(layout, plan.target.path) for layout in _layouts(plan))
    return next((fault for fault in faults if fault is not None), None)


def _unseen(plan: TrialPlan, driver: FileSystem) -> Optional[str]:
    look = driver.connections(plan.target.path)
    return driver.unseen(look, look)


def _capacity(plan: TrialPlan, driver: FileSystem) -> Tuple[Capacity, Tuple[Layout, int]]:
    """What is free for the case's files in the layout that has the least room, which is told with their number."""
    files = footprint(plan.workload, plan.points, plan.sizing.first)[1]
    seen = [(driver.capacity(plan.target.path, layout, files), layout) for layout in _layouts(plan)]
    least = Capacity(_least(*(each.bytes for each, _ in seen)), _least(*(each.inodes for each, _ in seen)))
    return least, (next(layout for each, layout in seen if each.bytes == least.bytes), files)


def _too_few(offered: Optional[int], needed: int) -> bool:
    return offered is not None and offered < needed


def least_per_client(plan: TrialPlan, memory: int) -> int:
    """The share of a client that the case cannot do without: pinned, or the first warm-up's, or P16's working set."""
    sizing = plan.sizing
    if not sizing.working_set or sizing.pinned is not None or not isinstance(plan.workload, AccessPattern):
        return sizing.first
    shared_whole = plan.workload.files == 'single' and plan.workload.extent == 'whole'
    wanted = max(
        -(-working_set(plan, point, memory) // (1 if shared_whole else point.tasks))
        for point in plan.points
        if isinstance(point, Point)
    )
    return max(sizing.first, round_up(wanted, sizing.granule))


def memory_bytes() -> int:
    """This node's memory (MemTotal of /proc/meminfo, proc(5))."""
    with open('/proc/meminfo') as stream:
        return int(next(line for line in stream if line.startswith('MemTotal:')).split()[1]) * 1024


def _choose(plan: TrialPlan) -> Tuple[Optional[Chosen], Tuple[str, ...]]:
    """The first engine that is installed, can carry out every point, can be launched and tells its version."""
    passed_over: List[str] = []
    for number in range(len(plan.engines)):
        choice = choose(plan.engines[number : number + 1], plan.workload, plan.points, shutil.which)
        passed_over += choice.passed_over
        if choice.engine is None:
            continue
        if plan.axis == 'group' and not choice.engine.names_hosts:
            passed_over.append(f'{choice.engine.name}: does not tell which client ran on which node')
            continue
        if _loses_errors(plan, choice.engine):
            passed_over.append(
                f'{choice.engine.name}: passes over what close(2) says, and a write may fail only then'
            )
            continue
        starter = launch_argv(plan.launcher, plan.points[0], ())[0]
        if choice.engine.mpi and shutil.which(starter) is None:
            passed_over.append(f'{choice.engine.name}: its launcher is not installed ({starter})')
            continue
        try:
            return Chosen(choice.engine, choice.program, version_of(choice.engine, choice.program)), tuple(
                passed_over
            )
        except EngineError as error:
            passed_over.append(f'{choice.engine.name}: {error.sentence}')
    return None, tuple(passed_over)


def _loses_errors(plan: TrialPlan, engine: AnyEngine) -> bool:
    if not isinstance(engine, NamespaceEngine) or engine.heeds_close:
        return False
    writes = any(isinstance(point, TreePoint) and point.tree.bytes_per_file for point in plan.points)
    return writes and by_type(plan.target.type).close_can_fail(plan.target.path)


def version_of(engine: AnyEngine, program: str) -> str:
    """The version as the program itself reports it. Raises EngineError."""
    argv = engine.version_argv(program)
    answer = ask(argv, VERSION_DEADLINE_S)
    if answer and answer.exit_status is not None and answer.exit_status < 0:
        # Of the signal that ends a job its programs may hear first; until the second answer the job has heard it too.
        answer = ask(argv, VERSION_DEADLINE_S)
    return engine.parse_version(answer.stdout if answer else '')


def _same_file_system(one: str, other: str) -> bool:
    """By device, and by what is mounted: two mounts of one server, or two subvolumes, have different devices."""
    if os.stat(one).st_dev == os.stat(other).st_dev:
        return True
    return same_storage(mount_of(os.path.realpath(one)), mount_of(os.path.realpath(other)))


def _is_under(path: str, parent: str) -> bool:
    parent = os.path.realpath(parent)
    return os.path.commonpath([os.path.realpath(path), parent]) == parent


def _least(*sizes: Optional[int]) -> Optional[int]:
    known: List[int] = [size for size in sizes if size is not None]
    return min(known) if known else None
