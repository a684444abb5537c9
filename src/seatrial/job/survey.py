"""What the node sees before the run: the engine, the target, the records, as evidence for the rules."""

import errno
import os
import shutil
from typing import List, NamedTuple, Optional, Tuple

from seatrial.engine.base import AnyEngine, EngineError
from seatrial.engine.catalogue import choose
from seatrial.filesystem.base import Capacity
from seatrial.filesystem.catalogue import by_type
from seatrial.filesystem.mounts import mount_of, same_storage, type_fault
from seatrial.filesystem.probe import ask, mute
from seatrial.job import orphans, rundir
from seatrial.job.launch import launch_argv, still_working
from seatrial.model.plan import TrialPlan
from seatrial.model.workload import AccessPattern, Point
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
    silence = mute(target.path)
    if silence is not None:
        raise OSError(errno.ETIMEDOUT, 'the file system does not answer', target.path)
    driver = by_type(target.type)
    mount = mount_of(os.path.realpath(target.path))
    capacity, quota = driver.capacity(target.path), driver.quota(target.path)
    chosen, passed_over = _choose(plan)
    memory = memory_bytes()
    needed = peak(plan, least_per_client(plan, memory))
    earlier = [orphan for orphan in orphans.find([target.path], plan.state) if orphan.session == plan.session]
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
        layout_fault=driver.layout_fault(target.layout, target.path),
        wrong_type=type_fault(target.type, mount),
        still_working=still_working(target.path),
        no_engine=None if chosen else f'no engine can measure {plan.workload.name} here ({"; ".join(passed_over)})',
    )
    left = Capacity(_least(capacity.bytes, quota.bytes), capacity.inodes)
    return Survey(ground, chosen, passed_over, memory, left, mount.said() if mount else '')


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


def round_up(size: int, granule: int) -> int:
    """The smallest multiple of granule that is not below size."""
    return -(-size // granule) * granule


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


def version_of(engine: AnyEngine, program: str) -> str:
    """The version as the program itself reports it. Raises EngineError."""
    answer = ask(engine.version_argv(program), VERSION_DEADLINE_S)
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
