"""What runner, rules and judge do with a case whether it moves bytes or works on names."""

from typing import List, NamedTuple, Tuple, Union

from seatrial.model.namespace import Namespace, metrics_of, unit_of
from seatrial.model.tree import TreePoint
from seatrial.model.units import MIB
from seatrial.model.workload import AccessPattern, Point, preparation, resized

Work = Union[AccessPattern, Namespace]
Place = Union[Point, TreePoint]
MIB_S = 'MiB/s'


class Launch(NamedTuple):
    """One operation of a workload at a point."""

    workload: Work
    operation: str
    point: Place


def measures(workload: Work, operation: str, point: Place) -> Tuple[str, ...]:
    """The metrics of one launch: an operation on bytes is one itself, a phase on names can have several."""
    if isinstance(workload, Namespace) and isinstance(point, TreePoint):
        return metrics_of(workload, operation, point)
    return (operation,)


def unit(workload: Work) -> str:
    """Of every metric of the workload."""
    return unit_of(workload) if isinstance(workload, Namespace) else MIB_S


def sized(point: Place, axis: str, per_client: int) -> Place:
    """The point with other bytes a client or, in a flat tree, other files (and as many empties, where it has any).

    0 leaves a point on names as the plan has it. Raises ValueError for bytes that do not divide.
    """
    if isinstance(point, Point):
        return resized(point, axis, per_client)
    if not per_client or point.tree.depth:
        return point
    tree = point.tree
    return point._replace(
        tree=tree._replace(
            files_per_directory=per_client if tree.files_per_directory else 0,
            empties_per_directory=per_client if tree.empties_per_directory else 0,
        )
    )


def preparations(workload: Work, points: List[Place]) -> List[Launch]:
    """The launches that make what a workload only reads or lists; none of a workload that makes it itself.

    One file set serves every point of a pattern that only reads; every listing has a directory of its own.
    """
    if isinstance(workload, AccessPattern):
        if 'write' in workload.operations:
            return []
        largest = max((point for point in points if isinstance(point, Point)), key=lambda point: point.tasks)
        pattern, writers = preparation(workload, largest)
        return [Launch(pattern, 'write', writers)]
    if workload.kind == 'listing':
        return [Launch(workload, 'create', point) for point in points]
    return []


def amount(point: Place) -> int:
    """What the time of a launch grows with: bytes moved, or entries."""
    return point.bytes_moved if isinstance(point, Point) else point.entries.inodes


def footprint(workload: Work, points: Tuple[Place, ...], per_client: int) -> Tuple[int, int]:
    """The most bytes and inodes that the case has on disk at once, with this share of every client (see sized)."""
    if isinstance(workload, Namespace):
        alike = [sized(point, '', per_client) for point in points]
        trees = [point for point in alike if isinstance(point, TreePoint)]
        at_once = sum if workload.kind == 'listing' else max
        # Of each entry fileop has another name or a directory beside it; the facts of POSIX take a handful.
        names = {'operations': 3, 'semantics': 0}.get(workload.kind, 1)
        spare, spare_bytes = (64, 2 * MIB) if workload.kind == 'semantics' else (0, 0)
        return (
            at_once(point.bytes_in_files for point in trees) + spare_bytes,
            at_once(names * point.entries.inodes for point in trees) + spare,
        )
    plain = [point for point in points if isinstance(point, Point)]
    shared_whole = workload.files == 'single' and workload.extent == 'whole'
    most_tasks = max(point.tasks for point in plain)
    files = most_tasks if workload.files == 'multiple' else 1
    return (
        per_client * (1 if shared_whole else most_tasks),
        files + (most_tasks if shared_whole else 0),
    )
