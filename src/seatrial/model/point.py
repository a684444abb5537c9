"""A point: one concrete parameter set of a check, everything in full, as it is launched.

A check declares one as a template and a sweep over one of its parameters; what is launched, recorded, judged and
reported afterwards is a point and nothing else. Its `kind` names the file in workload/ that knows what it means.
"""

from typing import NamedTuple, Optional, Tuple

from seatrial.model.action import Planned
from seatrial.model.layout import Layout


class Axis(NamedTuple):
    """The parameter that a sweep varies.

    name:   'transfer_size', 'tasks', 'layout', ...
    plural: as people read it: 'transfer sizes'
    label:  of the axis of a plot: 'bytes per transfer'; empty where points have names and no order
    unit:   of the value at a point: 'B', or empty for a number
    each:   how its points differ where they have names of their own: 'in each layout'
    equals: what is compared with its equals to find a slow one: 'OST', 'MDT', 'brick' or 'node'; empty for any other
    """

    name: str
    plural: str
    label: str = ''
    unit: str = ''
    each: str = ''
    equals: str = ''

    @property
    def named(self) -> bool:
        """Whether its points have names of their own, and neither a number nor an order."""
        return not self.label


class Allocation(NamedTuple):
    """The largest launch of a case: nodes, and tasks on each of them."""

    nodes: int
    tasks_per_node: int

    @property
    def tasks(self) -> int:
        """On all nodes."""
        return self.nodes * self.tasks_per_node


class Point(NamedTuple):
    """Sizes in bytes, times in seconds. A parameter that its kind does not have is as its default.

    kind:     the kind of workload, by its name in workload/registry.py
    label:    its name in the sweep, the part of a metric's name behind the @: '64KiB'
    at:       where it lies on the axis of its sweep; its place where points have names
    phases:   the launches of one repetition, in their order
    nodes, tasks, tasks_per_node: tasks are the processes (ranks) of all nodes together
    first_node: the nodes are those of the allocation, in their order, from this one on
    layout:   of its own files, in place of the case's; None: the case's
    scales:   whether profile and site choose how much each task does; else it does exactly this

    Of data:
    files:    one shared file ('single') or one a task ('multiple'); of random I/O its own and others' too ('several')
    extent:   every task touches the whole file, or only a segment of its own
    order:    of a task's transfers: 'contiguous', 'strided' (dealt round-robin by rank) or 'random'
    interface, collective: 'posix', 'mpiio', 'hdf5' or 'netcdf', and MPI-IO's collective calls; also 'mmap'
              where a kind has it
    direct:   O_DIRECT
    opening:  whether the share of opening in the time is a metric, beside the bandwidth of a node
    transfer_size:  of one read or write call
    bytes_per_task: what a task moves in one phase; of a time-based workload its share of the working set
    working_set:    of all files together, where it is declared apart from what is moved; 0: it is what is moved
    queue_depth:    transfers in flight for each task
    duration_s:     of a time-based workload; 0: it ends with its bytes
    actions:        of a scenario, in their order
    devices:        raw devices, by their paths on the node
    read_share:     reads in a mixed phase, as a fraction
    interval_s:     of training between two checkpoints
    think_s:        that a task does nothing after each transfer; of a training the time of a batch on its accelerator
    samples_per_file, batch: of a training: samples, of transfer_size each, in a file and in a full batch
    prefetch:       of a training: batches that are read ahead of the one that its accelerator works on

    Of metadata:
    depth:    levels of directories below the root of a tree; 0 is the root alone
    branching: directories in each directory above the last level
    files_per_directory, empties_per_directory: what each task puts into every directory: files, and directories
              that stay empty
    bytes_per_file: written when a file is created, read in the phase 'read'; 0: it is only opened and closed
    subtrees: all tasks work in one tree ('shared') or each in one of its own ('private')
    fsync:    whether each file is synced before it is closed
    pauses_s: of a listing: times without any call, each before one more listing
    inodes, sizes, seed: of an ageing: inodes of all tasks together, sizes of files, each as likely as any other, and
              what its trees are drawn from; its depth and files_per_directory are the most that are drawn
    fullness: of an ageing: the share of the file system's bytes up to which its trees fill it; 0: to its inodes
    """

    kind: str
    phases: Tuple[str, ...]
    label: str = ''
    at: float = 0.0
    nodes: int = 1
    tasks: int = 0
    tasks_per_node: int = 0
    first_node: int = 0
    layout: Optional[Layout] = None
    scales: bool = True
    files: str = ''
    extent: str = ''
    order: str = ''
    interface: str = ''
    collective: bool = False
    direct: bool = False
    opening: bool = False
    transfer_size: int = 0
    bytes_per_task: int = 0
    working_set: int = 0
    queue_depth: int = 1
    duration_s: float = 0.0
    devices: Tuple[str, ...] = ()
    read_share: float = 0.0
    interval_s: float = 0.0
    think_s: float = 0.0
    samples_per_file: int = 0
    batch: int = 0
    prefetch: int = 0
    actions: Tuple[Planned, ...] = ()
    depth: int = 0
    branching: int = 1
    files_per_directory: int = 0
    empties_per_directory: int = 0
    bytes_per_file: int = 0
    subtrees: str = ''
    fsync: bool = False
    pauses_s: Tuple[float, ...] = ()
    inodes: int = 0
    sizes: Tuple[int, ...] = ()
    seed: int = 0
    fullness: float = 0.0

    @property
    def transfers(self) -> int:
        """Calls that a task makes in one phase; the sources call what one of them moves an object."""
        return self.bytes_per_task // self.transfer_size

    @property
    def segments(self) -> int:
        """IOR's -s: how often each task has a block in the file."""
        return self.transfers if self.order == 'strided' else 1

    @property
    def block_size(self) -> int:
        """IOR's -b: bytes of a task that lie together in the file."""
        return self.bytes_per_task // self.segments

    @property
    def bytes_moved(self) -> int:
        """By all tasks together in one phase."""
        return self.tasks * self.bytes_per_task
