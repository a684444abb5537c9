"""What a metadata case does with names and inodes, where an access pattern says what is done with bytes."""

from typing import List, NamedTuple, Optional, Tuple

from seatrial.model.tree import PHASES, MetadataTree, TreePoint, operations, tree_fault
from seatrial.model.workload import Geometry, placement

KINDS = ('tree', 'operations', 'listing', 'semantics')

FILEOP = (
    'mkdir',
    'chdir',
    'rmdir',
    'create',
    'open',
    'read',
    'write',
    'close',
    'stat',
    'access',
    'chmod',
    'readdir',
    'link',
    'rename',
    'unlink',
)
"""The operations of IOzone's fileop (fileop.c), each done to every entry before the next; rename is ours."""

PASSES = ('first', 'second', 'third', 'fourth')
"""Listings straight after each other, as in the source of the attribute cache's check."""


class Namespace(NamedTuple):
    """The kind of a metadata case, and its launches in their order.

    'tree':       the phases of a metadata tree, a launch each
    'operations': one launch, 'fileop': every client does FILEOP on entries of its own
    'listing':    one launch, 'list': one client lists one directory again and again, with pauses
    'semantics':  one launch, 'probe': what POSIX promises, one fact after the other
    """

    kind: str
    operations: Tuple[str, ...]

    @property
    def name(self) -> str:
        """As people read it, after 'no engine can measure'."""
        return {
            'tree': 'a metadata tree',
            'operations': 'POSIX operations',
            'listing': 'the listing of a directory',
            'semantics': 'POSIX semantics',
        }[self.kind]


TREE = Namespace('tree', PHASES)
OPERATIONS = Namespace('operations', ('fileop',))
LISTING = Namespace('listing', ('list',))
SEMANTICS = Namespace('semantics', ('probe',))


class Trees(NamedTuple):
    """The points of a metadata check: the trees by their labels, each with all clients of the allocation.

    axis:     'tree', or 'entries' where they differ in their number of entries alone
    tasks:    the clients; 0: all of the allocation, spread as widely as in a sweep over clients
    pauses_s: of a listing
    scales:   whether profile and site choose the files of flat trees; else the trees are exactly these
    """

    trees: Tuple[Tuple[str, MetadataTree], ...]
    axis: str = 'tree'
    tasks: int = 0
    pauses_s: Tuple[float, ...] = ()
    scales: bool = False


def expand_trees(sweep: Trees, largest: Geometry) -> List[TreePoint]:
    """A point for each tree; none where so many clients cannot be placed evenly."""
    tasks = sweep.tasks or largest.nodes * largest.tasks_per_node
    placed = placement(tasks, largest)
    if placed is None:
        return []
    return [
        TreePoint(label, placed.nodes, tasks, placed.tasks_per_node, tree, sweep.pauses_s)
        for label, tree in sweep.trees
    ]


def namespace_fault(workload: Namespace, point: TreePoint) -> Optional[str]:
    """Why the point is none of this kind, or None."""
    tree = point.tree
    if workload.kind == 'tree':
        if tree.phases != workload.operations:
            return f'its phases are {list(tree.phases)}, not {list(workload.operations)}'
        return tree_fault(tree)
    if workload.kind == 'semantics':
        return None
    if tree.depth or tree.empties_per_directory or not tree.files_per_directory:
        return f'{workload.name} wants files in one directory, and nothing else'
    if workload.kind == 'listing' and point.tasks != 1:
        return f'one client lists, not {point.tasks}'
    return None


def metrics_of(workload: Namespace, operation: str, point: TreePoint) -> Tuple[str, ...]:
    """The names of what one launch measures. A fact of POSIX is none: 'holding' counts them."""
    if workload.kind == 'tree':
        return tuple(operations(point.tree, operation, point.tasks))
    if workload.kind == 'operations':
        return FILEOP
    if workload.kind == 'listing':
        return listing_metrics(point.pauses_s)
    return ('holding',)


def listing_metrics(pauses_s: Tuple[float, ...]) -> Tuple[str, ...]:
    """With pauses every listing as a whole, names and attributes; without, the first two by their parts."""
    if pauses_s:
        return tuple(f'ls_{each}' for each in PASSES) + tuple(f'ls_after_{pause:g}s' for pause in pauses_s)
    return tuple(f'{part}_{each}' for each in PASSES[:2] for part in ('names', 'stat'))


def unit_of(workload: Namespace) -> str:
    """Of every metric of the kind."""
    return {'tree': 'ops/s', 'operations': 'ops/s', 'listing': 'entries/s', 'semantics': 'facts'}[workload.kind]
