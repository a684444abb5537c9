"""Trees of directories and files, the workload of metadata, and the exact numbers that they come to.

The shape is that of LLNL's fdtree (Seager and Loewe, 2004) and of mdtest: `branching` directories in every directory
above the last level, and the same entries in all of them, the root's and the last level's included. Nothing here
knows an engine or a site.
"""

from typing import Dict, NamedTuple, Optional, Tuple

from seatrial.model.layout import Layout

SUBTREES = ('shared', 'private')
PHASES = ('create', 'stat', 'read', 'remove')
LATENCIES = (0.50, 0.95, 0.99)
LEAST_DIRECTORIES = 100  # of a tree, for making and removing them to be a rate


class MetadataTree(NamedTuple):
    """What the clients of a job make, look at and remove, and where.

    depth:     levels of directories below the root; 0 is the root alone
    branching: directories in each directory above the last level
    files_per_directory, empties_per_directory: what each client puts into every directory of the tree: files, and
               directories that stay empty
    bytes_per_file: written when a file is created, read in the phase 'read'; 0: it is only opened and closed
    subtrees:  all clients work in one tree ('shared') or each in one of its own ('private')
    phases:    each is carried out over the whole tree before the next
    fsync:     whether each file is synced before it is closed
    """

    depth: int = 0
    branching: int = 1
    files_per_directory: int = 0
    empties_per_directory: int = 0
    bytes_per_file: int = 0
    subtrees: str = 'shared'
    phases: Tuple[str, ...] = PHASES
    fsync: bool = False


class Entries(NamedTuple):
    """Numbers of entries: directories of the tree itself, its root included, and what the clients put into them."""

    directories: int
    files: int
    empties: int

    @property
    def inodes(self) -> int:
        """Inodes that all of them take."""
        return self.directories + self.files + self.empties


class TreePoint(NamedTuple):
    """One concrete parameter set of a metadata check; a client is one task.

    pauses_s: of a listing: seconds without any call, each before one more listing
    layout:   of this point's own directory and files, in place of the case's; None: the case's
    """

    label: str
    nodes: int
    tasks: int
    tasks_per_node: int
    tree: MetadataTree
    pauses_s: Tuple[float, ...] = ()
    layout: Optional[Layout] = None

    @property
    def entries(self) -> Entries:
        """All that is there once every client has created its share."""
        return entries(self.tree, self.tasks)

    @property
    def bytes_in_files(self) -> int:
        """Bytes in all files."""
        return self.entries.files * self.tree.bytes_per_file


class Rate(NamedTuple):
    """What an engine said of one kind of operation in one launch.

    metric:       a key of `operations`
    operations:   by all clients together
    seconds:      from the first client's start to the last one's end
    tool_figure:  the engine's own figure, verbatim
    task_seconds: how long each client took, by rank; empty where the engine does not tell
    percentiles_s: seconds of a single operation that LATENCIES of them did not exceed; empty where not timed singly
    """

    metric: str
    operations: int
    seconds: float
    tool_figure: str
    task_seconds: Tuple[float, ...] = ()
    percentiles_s: Tuple[float, ...] = ()

    @property
    def per_second(self) -> float:
        """Operations a second of all clients together."""
        return self.operations / self.seconds

    @property
    def waiting_share(self) -> float:
        """The part of the seconds in which even the slowest client was done and only the barrier was waited for."""
        return 1.0 - max(self.task_seconds) / self.seconds if self.task_seconds else 0.0


class Fact(NamedTuple):
    """One promise of POSIX. holds: None where it could not be tried; seen: what happened, as a clause."""

    name: str
    holds: Optional[bool]
    seen: str


class TreeMeasurement(NamedTuple):
    """What an engine said of one launch. clock_s: the resolution of the engine's clock in seconds."""

    rates: Tuple[Rate, ...]
    world_size: int
    hosts: Tuple[str, ...]
    clock_s: float
    facts: Tuple[Fact, ...] = ()

    @property
    def seconds(self) -> float:
        """The shortest timed region; 0 where nothing was timed."""
        return min((rate.seconds for rate in self.rates), default=0.0)

    def figures(self, operation: str) -> Dict[str, float]:
        """The figure of each metric: operations a second, or how many facts hold; none of what took no time (T12)."""
        if self.facts:
            return {'holding': float(sum(fact.holds is True for fact in self.facts))}
        return {rate.metric: rate.per_second for rate in self.rates if rate.seconds > 0}


def tree_fault(tree: MetadataTree) -> Optional[str]:
    """What is contradictory in the tree, or None."""
    for field, least in (
        ('depth', 0),
        ('branching', 1),
        ('files_per_directory', 0),
        ('empties_per_directory', 0),
        ('bytes_per_file', 0),
    ):
        if getattr(tree, field) < least:
            return f'{field} is {getattr(tree, field)}; it is {least} or more'
    if tree.subtrees not in SUBTREES:
        return f"subtrees is '{tree.subtrees}'; it can be {' or '.join(SUBTREES)}"
    if not tree.phases or list(tree.phases) != [phase for phase in PHASES if phase in tree.phases]:
        return f'phases are {list(tree.phases)}; they are drawn from {", ".join(PHASES)}, in this order'
    if tree.depth == 0 and tree.branching != 1:
        return f'branching is {tree.branching}, and depth 0 leaves the root alone'
    if tree.bytes_per_file and not tree.files_per_directory:
        return f'{tree.bytes_per_file} bytes are to be written to each file, and there are no files'
    if tree.fsync and not tree.files_per_directory:
        return 'files are to be synced, and there are none'
    idle = [phase for phase in tree.phases if not operations(tree, phase, 1)]
    return f'there is nothing to {idle[0]}' if idle else None


def levels(tree: MetadataTree, clients: int) -> Tuple[Entries, ...]:
    """For each level, the root's first: its directories, and what lies in them once every client has created."""
    trees = clients if tree.subtrees == 'private' else 1
    widths = [tree.branching**level for level in range(tree.depth + 1)]
    files, empties = clients * tree.files_per_directory, clients * tree.empties_per_directory
    return tuple(Entries(trees * width, files * width, empties * width) for width in widths)


def entries(tree: MetadataTree, clients: int) -> Entries:
    """All levels together; for one client of several, its own files and empties are those of `clients` = 1."""
    return Entries(*(sum(column) for column in zip(*levels(tree, clients))))


def operations(tree: MetadataTree, phase: str, clients: int) -> Dict[str, int]:
    """The metrics of a phase, with the operations that all clients together do for each: {'file_stat': 4686}.

    'tree' are the directories of the tree itself, 'directory' those that stay empty. A tree of few directories is no
    metric: a root alone, or the two of fdtree's second scenario, say nothing about a rate.
    """
    all_of_them = entries(tree, clients)
    numbers = {
        'tree': all_of_them.directories if phase in ('create', 'remove') and _is_a_rate(tree) else 0,
        'directory': all_of_them.empties if phase != 'read' else 0,
        'file': all_of_them.files,
    }
    return {f'{kind}_{phase}': number for kind, number in numbers.items() if number}


def _is_a_rate(tree: MetadataTree) -> bool:
    return entries(tree, 1).directories >= LEAST_DIRECTORIES
