"""Access patterns, sweeps and the points that they expand to. Nothing here knows an engine or a site.

The classes SFWA, MFWA and SFSA are those of Boito, Kassick and Navaux (WSPPD 2009), after Kotz and
Nieuwejaar's CHARISMA study; "object", "strided" and "non-strided" are LANL mpi_io_test's terms.
"""

from typing import List, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.layout import Layout, target_name
from seatrial.model.units import MIB, format_size

FILES = ('single', 'multiple')
EXTENTS = ('whole', 'segment')
ORDERS = ('contiguous', 'strided', 'random')
OPERATIONS = ('write', 'read')
INTERFACES = ('posix', 'mpiio')
AXES = ('transfer_size', 'objects', 'clients', 'layout', 'ost', 'mdt', 'group')
PLACES = ('ost', 'mdt', 'group')
"""The axes of isolation: equals are compared with each other, to find the one that is slow."""
NAMED = ('layout', *PLACES)
"""The axes on which points have names of their own, and neither a number nor an order."""
MOST_GROUPS = 8
"""Of a node sweep: each node is judged by itself in any case, and every group costs launches."""
TOGETHER = 'all'
"""The label of the point of a node sweep at which all groups work at once."""


class AccessPattern(NamedTuple):
    """How the clients of a job share files.

    files:      one shared file ('single') or one a client ('multiple')
    extent:     every client touches the whole file, or only a segment of its own
    order:      of a client's accesses: 'contiguous', 'strided' (objects dealt round-robin by rank) or 'random'
    operations: measured in this order; a pattern that only reads gets its files prepared first
    """

    files: str
    extent: str
    order: str = 'contiguous'
    operations: Tuple[str, ...] = ('write', 'read')
    interface: str = 'posix'
    collective: bool = False

    @property
    def name(self) -> str:
        """The literature's name for the class where it has one."""
        letters = {'single': 'SF', 'multiple': 'MF'}[self.files] + {'whole': 'WA', 'segment': 'SA'}[self.extent]
        return letters if letters in ('SFWA', 'MFWA') and self.order == 'contiguous' else f'{letters} {self.order}'


def pattern_fault(pattern: AccessPattern) -> Optional[str]:
    """What is contradictory in the pattern, or None."""
    for field, allowed in (
        ('files', FILES),
        ('extent', EXTENTS),
        ('order', ORDERS),
        ('interface', INTERFACES),
    ):
        if getattr(pattern, field) not in allowed:
            return f"{field} is '{getattr(pattern, field)}'; it can be {' or '.join(allowed)}"
    if not pattern.operations or any(operation not in OPERATIONS for operation in pattern.operations):
        return f'operations are {list(pattern.operations)}; they are drawn from {" and ".join(OPERATIONS)}'
    if len(set(pattern.operations)) != len(pattern.operations):
        return 'an operation is named twice'
    if pattern.operations == ('read', 'write'):
        return 'a file is read before it is written; write comes first'
    if pattern.files == 'single' and pattern.extent == 'whole' and 'write' in pattern.operations:
        return 'all clients would write the whole of one file over each other'
    if pattern.files == 'multiple' and pattern.extent == 'segment':
        return 'a file a client has no segments'
    if pattern.extent == 'whole' and pattern.order == 'strided':
        return 'a whole file is not strided between clients'
    if pattern.collective and pattern.interface != 'mpiio':
        return 'collective access exists only through MPI-IO'
    return None


class Geometry(NamedTuple):
    """The largest launch of a case: nodes and tasks on each of them."""

    nodes: int
    tasks_per_node: int


class Point(NamedTuple):
    """One concrete parameter set of a check. Sizes in bytes; a client is one task.

    objects is how many transfers of transfer_size one client makes: objects x transfer_size = bytes_per_client.
    layout: of this point's own files, in place of the case's; None: the case's
    first_node: the nodes are those of the allocation, in their order, from this one on
    """

    label: str
    nodes: int
    tasks: int
    tasks_per_node: int
    bytes_per_client: int
    transfer_size: int
    objects: int
    layout: Optional[Layout] = None
    first_node: int = 0

    @property
    def bytes_moved(self) -> int:
        """Bytes that all clients together move in one operation."""
        return self.tasks * self.bytes_per_client


class Sweep(NamedTuple):
    """The ordered values of one parameter; the others are held.

    axis 'transfer_size': values in bytes; bytes a client are held.
    axis 'objects':       number of objects a client; bytes a client are held.
    axis 'clients':       number of clients; `objects` objects a client are held.
    axis 'layout':        the layouts by their places in `layouts`; transfer_size is held. Made by over_layouts.
    axis 'ost':           OSTs by their places in `layouts`, each alone; transfer_size is held. Made by over_osts.
    bytes_per_client is the source's own value (bytes), used as it is by the paper profile.
    """

    axis: str
    values: Tuple[int, ...]
    bytes_per_client: int
    objects: int = 0
    transfer_size: int = 0
    layouts: Tuple[Layout, ...] = ()


class FileSpec(NamedTuple):
    """A file of a point, relative to the data directory, and its exact size in bytes."""

    name: str
    size: int


def over_layouts(layouts: Tuple[Layout, ...], bytes_per_client: int, transfer_size: int) -> Sweep:
    """A sweep over layouts with names of their own, sizes in bytes."""
    return Sweep('layout', tuple(range(len(layouts))), bytes_per_client, 0, transfer_size, layouts)


def over_osts(bytes_per_client: int, transfer_size: int) -> Sweep:
    """A sweep over every OST that the site has (on_targets fills it in), sizes in bytes."""
    return Sweep('ost', (), bytes_per_client, 0, transfer_size)


def on_targets(sweep: Sweep, numbers: Sequence[int]) -> Sweep:
    """The sweep over the targets with these numbers, each with a file of one stripe on it and nowhere else."""
    pinned = tuple(Layout(target_name('OST', number), osts=(number,)) for number in numbers)
    return sweep._replace(values=tuple(range(len(pinned))), layouts=pinned)


def over_nodes(bytes_per_client: int, transfer_size: int) -> Sweep:
    """A sweep over all nodes of a case (on_groups fills it in), sizes in bytes."""
    return Sweep('group', (), bytes_per_client, 0, transfer_size)


def on_groups(sweep: Sweep, nodes: int) -> Sweep:
    """The sweep over that many nodes: all at once, then in groups, each of them alone."""
    return sweep._replace(values=tuple(range(-(-nodes // group_size(nodes)) + 1)))


def group_size(nodes: int) -> int:
    """Nodes of a group; the last one can have fewer."""
    return max(1, -(-nodes // MOST_GROUPS))


def powers_of_two(first: int, last: int) -> Tuple[int, ...]:
    """first, 2 x first, 4 x first, ... up to and including last."""
    values = []
    while first <= last:
        values.append(first)
        first *= 2
    return tuple(values)


def subsample(values: Tuple[int, ...], count: int) -> Tuple[int, ...]:
    """`count` of the values, evenly spread over their order, both ends among them; 0 means all."""
    if count <= 0 or count >= len(values):
        return values
    if count == 1:
        return values[-1:]
    last = len(values) - 1
    return tuple(values[(2 * i * last + count - 1) // (2 * (count - 1))] for i in range(count))


def placement(clients: int, largest: Geometry) -> Optional[Geometry]:
    """The widest even placement of the clients inside an allocation; None where none fits.

    Even, because srun -N4 -n8 without tasks a node places 4/2/1/1.
    """
    for nodes in range(min(clients, largest.nodes), 0, -1):
        if clients % nodes == 0 and clients // nodes <= largest.tasks_per_node:
            return Geometry(nodes, clients // nodes)
    return None


def expand(sweep: Sweep, largest: Geometry, bytes_per_client: int) -> List[Point]:
    """The points of a sweep inside an allocation. Values that cannot be placed or divided are left out.

    See `left_out` for those; bytes_per_client (bytes) replaces the source's own.
    """
    return [point for value in sweep.values for point in _points(sweep, value, largest, bytes_per_client)]


def left_out(sweep: Sweep, largest: Geometry, bytes_per_client: int) -> List[int]:
    """The values of the sweep that give no point in this allocation."""
    return [value for value in sweep.values if not _points(sweep, value, largest, bytes_per_client)]


def resized(point: Point, axis: str, bytes_per_client: int) -> Point:
    """The point with other bytes a client; what its sweep holds stays. Raises ValueError if it does not divide."""
    holds_objects = axis in ('objects', 'clients')
    held = point.objects if holds_objects else point.transfer_size
    if bytes_per_client % held:
        raise ValueError(f'{bytes_per_client} bytes a client do not divide by {held}')
    other = bytes_per_client // held
    if not holds_objects:
        return point._replace(bytes_per_client=bytes_per_client, objects=other)
    return point._replace(bytes_per_client=bytes_per_client, transfer_size=other)


def files_of(pattern: AccessPattern, point: Point) -> List[FileSpec]:
    """Every file that the point has on disk after its write, or needs before its read."""
    if pattern.files == 'multiple':
        return [FileSpec(file_name(pattern, rank), point.bytes_per_client) for rank in range(point.tasks)]
    if pattern.extent == 'whole':
        return [FileSpec(file_name(pattern, 0), point.bytes_per_client)]
    return [FileSpec(file_name(pattern, 0), point.bytes_moved)]


def file_name(pattern: AccessPattern, rank: int) -> str:
    """The file that a rank works on."""
    return f'data.{rank:08d}' if pattern.files == 'multiple' else 'data'


def writer_of(point: Point, rank: int) -> int:
    """The client whose bytes this one reads: one of the next node, where the clients fill node after node.

    On one node every client reads its own, and there is no other way to read elsewhere.
    """
    return (rank + point.tasks_per_node) % point.tasks if point.nodes > 1 else rank


def preparation(pattern: AccessPattern, point: Point) -> Tuple[AccessPattern, Point]:
    """The pattern and point that write the files of a pattern which only reads; never measured.

    A file that all clients share is written in equal segments, or by one client where it does not divide.
    """
    if pattern.files == 'multiple' or pattern.extent == 'segment':
        return pattern._replace(order='contiguous', operations=('write',)), point
    size = point.bytes_per_client
    writers = 1 if size % (point.tasks * point.transfer_size) else point.tasks
    by_one = point if writers > 1 else point._replace(nodes=1, tasks=1, tasks_per_node=1)
    share = size // writers
    transfer_size = MIB if share % MIB == 0 else point.transfer_size
    return (
        AccessPattern('single', 'segment', 'contiguous', ('write',)),
        by_one._replace(bytes_per_client=share, transfer_size=transfer_size, objects=share // transfer_size),
    )


def _points(sweep: Sweep, value: int, largest: Geometry, bytes_per_client: int) -> List[Point]:
    if sweep.axis == 'group':
        return _group(sweep, value, largest, bytes_per_client)
    clients = value if sweep.axis == 'clients' else largest.nodes * largest.tasks_per_node
    placed = placement(clients, largest)
    layout = sweep.layouts[value] if sweep.layouts else None
    if layout is not None:
        objects, rest = divmod(bytes_per_client, sweep.transfer_size)
        transfer_size, label = sweep.transfer_size, layout.name
    elif sweep.axis == 'transfer_size':
        objects, rest = divmod(bytes_per_client, value)
        transfer_size, label = value, format_size(value)
    else:
        objects = value if sweep.axis == 'objects' else sweep.objects
        transfer_size, rest = divmod(bytes_per_client, objects)
        label = f'{value}{sweep.axis if value > 1 else sweep.axis[:-1]}'
    if placed is None or rest or objects < 1 or transfer_size < 1:
        return []
    return [
        Point(label, placed.nodes, clients, placed.tasks_per_node, bytes_per_client, transfer_size, objects, layout)
    ]


def _group(sweep: Sweep, value: int, largest: Geometry, bytes_per_client: int) -> List[Point]:
    objects, rest = divmod(bytes_per_client, sweep.transfer_size)
    size = group_size(largest.nodes)
    first, nodes, label = 0, largest.nodes, TOGETHER
    if value:
        first, label = (value - 1) * size, f'group{value:02d}'
        nodes = min(size, largest.nodes - first)
    if rest or objects < 1 or nodes < 1:
        return []
    tasks = nodes * largest.tasks_per_node
    return [
        Point(
            label,
            nodes,
            tasks,
            largest.tasks_per_node,
            bytes_per_client,
            sweep.transfer_size,
            objects,
            first_node=first,
        )
    ]
