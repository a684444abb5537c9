"""What a metadata case does with names and inodes, where an access pattern says what is done with bytes."""

from typing import List, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.layout import Layout, target_name
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

LISTED_BEFORE = 'listed before'
"""In place of 'cold', 'cached' or 'unknown', where the same launch has listed the same directory before."""

_AFTER = 'ls_after_'


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

    axis:     'tree', or 'entries' where they differ in their number of entries alone; 'layout' or 'mdt' where one
              tree is made in each of `layouts`
    tasks:    the clients; 0: all of the allocation, spread as widely as in a sweep over clients
    pauses_s: of a listing
    scales:   whether profile and site choose the files of flat trees; else the trees are exactly these
    layouts:  under axis 'layout' the tree is made in each of them; under 'mdt' on_mdts fills them in
    """

    trees: Tuple[Tuple[str, MetadataTree], ...]
    axis: str = 'tree'
    tasks: int = 0
    pauses_s: Tuple[float, ...] = ()
    scales: bool = False
    layouts: Tuple[Layout, ...] = ()


def on_mdts(sweep: Trees, numbers: Sequence[int]) -> Trees:
    """The sweep over the metadata targets with these numbers, each with a directory of its own on it."""
    pinned = tuple(Layout(target_name('MDT', number), mdt_index=number) for number in numbers)
    return sweep._replace(layouts=pinned)


def expand_trees(sweep: Trees, largest: Geometry) -> List[TreePoint]:
    """A point for each tree, or for each layout; none where so many clients cannot be placed evenly."""
    tasks = sweep.tasks or largest.nodes * largest.tasks_per_node
    placed = placement(tasks, largest)
    if placed is None:
        return []
    placed_clients = (placed.nodes, tasks, placed.tasks_per_node)
    return [
        TreePoint(layout.name if layout else label, *placed_clients, tree, sweep.pauses_s, layout)
        for label, tree in sweep.trees
        for layout in sweep.layouts or (None,)
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
        return tuple(f'ls_{each}' for each in PASSES) + tuple(f'{_AFTER}{pause:g}s' for pause in pauses_s)
    return tuple(f'{part}_{each}' for each in PASSES[:2] for part in ('names', 'stat'))


def pause_of(metric: str) -> Optional[float]:
    """Seconds without a call before this listing; None of one that follows the listing before at once."""
    return float(metric[len(_AFTER) : -1]) if metric.startswith(_AFTER) else None


def is_first(metric: str) -> bool:
    """Whether nothing in the same launch has asked for the same before: only listings are repeated in one."""
    listing = metric in listing_metrics(()) or metric in listing_metrics((0.0,)) or pause_of(metric) is not None
    return not listing or metric.endswith(f'_{PASSES[0]}')


def cache_of(metric: str, launch: str) -> str:
    """What a metric was, of a launch that was 'cold', 'cached', 'unknown' or, where it is not asked, empty."""
    return launch if is_first(metric) or not launch else LISTED_BEFORE


def unit_of(workload: Namespace) -> str:
    """Of every metric of the kind."""
    return {'tree': 'ops/s', 'operations': 'ops/s', 'listing': 'entries/s', 'semantics': 'facts'}[workload.kind]
