"""A point: one concrete parameter set in full, launched, recorded, judged. Its `kind` names the file in workload/."""

from typing import Any, Dict, NamedTuple, Optional, Tuple

from seatrial.model.action import Planned
from seatrial.model.layout import Layout


class Axis(NamedTuple):
    """The parameter that a sweep varies."""

    name: str  # 'transfer_size', 'tasks', 'layout',
    plural: str  # words for people: 'transfer sizes'
    label: str = ''  # title of the axis of a plot: 'bytes per transfer'; empty where points have names and no order
    unit: str = ''  # unit of the value at a point: 'B', or empty for a number
    differs: str = ''  # how its points differ where they have names of their own: 'in each layout'
    equals: str = ''  # what is compared with its equals to find a slow one: one of TARGETS or 'node'; empty: nothing

    @staticmethod
    def json_keys() -> Dict[str, str]:
        return {'differs': 'each'}

    @property
    def named(self) -> bool:
        """True where the points have names, but no number and no order."""
        return not self.label


class Allocation(NamedTuple):
    """The largest launch of a case: nodes, and tasks on each of them."""

    nodes: int
    tasks_per_node: int

    @property
    def tasks(self) -> int:
        return self.nodes * self.tasks_per_node


class DataPart(NamedTuple):
    """The data that are moved, and their place in the files. Sizes in bytes."""

    files: str = ''  # one shared ('single'), one per task ('multiple'), in random I/O its own and others' ('several')
    extent: str = ''  # every task touches the whole file, or only a segment of its own
    order: str = ''  # order of a task's transfers: 'contiguous', 'strided' (dealt round-robin by rank) or 'random'
    interface: str = ''  # 'posix', 'mpiio', 'hdf5' or 'netcdf'; also 'mmap' where a kind has it
    collective: bool = False  # MPI-IO's collective calls
    direct: bool = False  # O_DIRECT
    opening: bool = False  # True if the share of opening in the time is a metric, beside the bandwidth of a node
    transfer_size: int = 0  # bytes of one read or write call
    bytes_per_task: int = 0  # what a task moves in one phase; of a time-based workload its share of the working set
    working_set: int = 0  # bytes of all files together; 0: as many as are moved
    queue_depth: int = 1  # transfers in flight for each task
    devices: Tuple[str, ...] = ()  # raw devices, by their paths on the node
    read_share: float = 0.0  # reads in a mixed phase, as a fraction
    passes: int = 1  # how often a task reads its bytes_per_task in one phase, each time from their beginning

    @property
    def transfers(self) -> int:
        """Calls that a task makes in one phase; the sources call the data of one call an object."""
        return self.bytes_per_task // self.transfer_size


class TreePart(NamedTuple):
    """Directories and their contents; of an ageing, depth and files_per_directory are the largest that are drawn."""

    depth: int = 0  # levels of directories below the root of a tree; 0 is the root alone
    branching: int = 1  # directories in each directory above the last level
    files_per_directory: int = 0  # files that each task puts into every directory
    empties_per_directory: int = 0  # directories that each task puts into every directory, which stay empty
    bytes_per_file: int = 0  # written when a file is created, read in the phase 'read'; 0: only opened and closed
    subtrees: str = ''  # all tasks work in one tree ('shared'), or every task in its own ('private')
    fsync: bool = False  # True if each file is synced before it is closed


class TimePart(NamedTuple):
    """The parameters of a workload that are given in seconds."""

    duration_s: float = 0.0  # length of a time-based workload; 0: it ends with its bytes
    interval_s: float = 0.0  # time of training between two checkpoints
    think_s: float = 0.0  # pause of a task after each transfer; in a training, time of a batch on its accelerator
    pauses_s: Tuple[float, ...] = ()  # times without any call, each before one more listing
    actions: Tuple[Planned, ...] = ()  # actions of a scenario, in their order


class TrainingPart(NamedTuple):
    """The samples of a training, of transfer_size each: their place in files, and how they are read."""

    samples_per_file: int = 0
    batch: int = 0  # samples in a full batch
    prefetch: int = 0  # batches that are read ahead of the one that the accelerator works on


class FillPart(NamedTuple):
    """The content that fills a file system, by an ageing or up to a limit."""

    inodes: int = 0  # inodes of all tasks together
    sizes: Tuple[int, ...] = ()  # sizes of files in bytes, each as likely as any other
    seed: int = 0  # what the trees are drawn from
    fullness: float = 0.0  # the share of the file system's bytes up to which the trees fill it; 0: to its inodes


PARTS: Dict[str, Any] = {  # those that a point can have, by the names of its fields
    'data': DataPart,
    'tree': TreePart,
    'time': TimePart,
    'training': TrainingPart,
    'fill': FillPart,
}
PART_OF = {field: part for part, form in PARTS.items() for field in form._fields}  # by the parameter's name


class Point(NamedTuple):
    """Fields that every kind of workload has, and the parts of its own kind; the other parts are None."""

    kind: str  # the kind of workload, by its name in workload/registry.py
    phases: Tuple[str, ...]  # the launches of one repetition, in their order
    label: str = ''  # its name in the sweep, the part of a metric's name behind the @: '64KiB'
    at: float = 0.0  # where it lies on the axis of its sweep; its place where points have names
    nodes: int = 1
    tasks: int = 0  # processes (ranks) of all nodes together
    tasks_per_node: int = 0
    first_node: int = 0  # the nodes are those of the allocation, in their order, from this one on
    layout: Optional[Layout] = None  # layout of its files; None: that of the case
    scales: bool = True  # True if profile and site choose how much each task does; else it does exactly this
    # Typed as if every part were there: who reads one knows that its kind has it, or has asked whether it is None.
    data: DataPart = None  # type: ignore[assignment]
    tree: TreePart = None  # type: ignore[assignment]
    time: TimePart = None  # type: ignore[assignment]
    training: TrainingPart = None  # type: ignore[assignment]
    fill: FillPart = None  # type: ignore[assignment]

    @property
    def bytes_moved(self) -> int:
        """Bytes of all tasks together in one phase; 0 without data."""
        return self.tasks * self.data.bytes_per_task * self.data.passes if self.data else 0

    @property
    def file_sizes(self) -> Tuple[int, ...]:
        """The bytes that a file of its tree can have."""
        if self.fill:
            return self.fill.sizes
        return (self.tree.bytes_per_file,) if self.tree else ()

    @property
    def duration_s(self) -> float:
        return self.time.duration_s if self.time else 0.0

    @property
    def pauses_s(self) -> Tuple[float, ...]:
        return self.time.pauses_s if self.time else ()

    @property
    def actions(self) -> Tuple[Planned, ...]:
        return self.time.actions if self.time else ()

    @property
    def fullness(self) -> float:
        return self.fill.fullness if self.fill else 0.0

    def value(self, name: str) -> Any:
        """A field or parameter by its name, whichever part has it; None where the point has no such part."""
        part = getattr(self, PART_OF[name]) if name in PART_OF else self
        return None if part is None else getattr(part, name)

    def changed(self, **values: Any) -> 'Point':
        """The point with other values of fields and parameters, in whichever part; a missing part is added."""
        fields = {name: value for name, value in values.items() if name not in PART_OF}
        for name in values.keys() - fields.keys():
            part = PART_OF[name]
            plain = PARTS[part]()
            before = fields.get(part) or getattr(self, part)
            if before or values[name] != getattr(plain, name):
                fields[part] = (before or plain)._replace(**{name: values[name]})
        return self._replace(**fields)

    @staticmethod
    def from_earlier(data: Dict[str, Any]) -> Dict[str, Any]:
        """Sort JSON of plans of schema 2 and their records, where all parameters are side by side, into parts."""
        if not data.keys() & PART_OF.keys() or data.keys() & PARTS.keys():
            return data
        fields = {name: value for name, value in data.items() if name not in PART_OF}
        fields.update({part: {} for part in _MAY_BE_DEFAULT.get(str(data.get('kind')), ())})
        for name in data.keys() & PART_OF.keys():
            fields.setdefault(PART_OF[name], {})[name] = data[name]
        return fields

    @staticmethod
    def as_earlier(data: Dict[str, Any]) -> Dict[str, Any]:
        """The reverse of from_earlier: JSON as in plans of schema 2."""
        flat = {name: value for name, value in data.items() if name not in PARTS}
        for part in data.keys() & PARTS.keys():
            flat.update(data[part])
        return flat


_MAY_BE_DEFAULT = {'listing': ('time',), 'contention': ('tree',), 'limits': ('data', 'fill')}
"""Parts of which a plan of schema 2 may say nothing, by the kinds that have them: every value is as by default."""
