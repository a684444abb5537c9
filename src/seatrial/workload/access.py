"""Data access: how tasks share files, over transfer sizes, tasks, layouts, targets and nodes. SFWA (single file,
whole access), MFWA (multiple files, whole access; file per process) and SFSA (single file, segmented access) are
classes of Boito, Kassick and Navaux (WSPPD 2009), after CHARISMA; "strided" is LANL mpi_io_test's term."""

from typing import Any, List, Optional, Sequence, Tuple

from seatrial.model.metric import LOWER, Measurement, Metric, MetricType
from seatrial.model.plan import Sizing
from seatrial.model.point import DataPart, Point
from seatrial.model.units import MIB, Size, approximate_size, common_multiple, in_bytes, round_up
from seatrial.workload.base import CREATE, READ, WRITE, Effort, FileSpec, Footprint, Kind, Launch, Phase
from seatrial.workload.words import counted, joined

FILES = ('single', 'multiple')
EXTENTS = ('whole', 'segment')
ORDERS = ('contiguous', 'strided', 'random')
OPERATIONS = ('write', 'read')
INTERFACES = ('posix', 'mpiio', 'hdf5', 'netcdf')
LIBRARIES = {'mpiio': 'MPI-IO', 'hdf5': 'HDF5', 'netcdf': 'NetCDF'}  # above system calls; all move data by MPI-IO
# Bytes before the data of a file with one dataset: H5Pset_meta_block_size's default (seen with HDF5 1.10.8), and that
# of PnetCDF's nc_var_align_size (seen with 1.12.3).
METADATA = {'hdf5': 2048, 'netcdf': 512}
OPENING, OF_A_NODE = '_open_share', '_per_node'  # suffixes of metrics: the share of opening; per node
FORM = ('files', 'extent', 'order', 'interface', 'transfer_size', 'bytes_per_task')
OF_FILES = (*FORM, 'collective', 'direct')
FILE_NAMES = (r'data(\.\d{8,})?',)  # regular expressions for the results of file_name
MIN_GRANULE = 16 * MIB  # bytes. The share of a task is a multiple of it, so that it is a round figure.
MAX_ROUNDED = 0.05  # part of a share fixed by the site that a point may omit and still be compared with other points


def data_access(
    files: str,
    extent: str = 'whole',
    order: str = 'contiguous',
    operations: Sequence[str] = OPERATIONS,
    transfer_size: Size = MIB,
    bytes_per_task: Size = '2GiB',
    interface: str = 'posix',
    tasks: int = 0,
    scales: bool = True,
    **more: Any,
) -> Point:
    """Data access. Sizes in bytes or as '64KiB'; others and `more` as in DataPart. operations: in this order; files
    that are only read are prepared first. Without `scales`, bytes_per_task is fixed."""
    more.update(transfer_size=in_bytes(transfer_size), bytes_per_task=in_bytes(bytes_per_task))
    data = DataPart(files, extent, order, interface, **more)
    return Point('access', tuple(operations), tasks=tasks, scales=scales, data=data)


def _phase(does: Tuple[str, ...], words: str) -> Phase:
    name = does[-1]
    more = MetricType(name + OF_A_NODE, 'B/s', steers=False), MetricType(name + OPENING, '', LOWER, steers=False)
    return Phase(name, does, words, (MetricType(name, 'B/s'), *more))


class Access(Kind):
    name = 'access'
    words = 'data access'
    title = 'Data'
    parameters: Tuple[str, ...] = (*OF_FILES, 'opening', 'passes')
    of_trial: Tuple[str, ...] = ('transfer_size', 'direct', 'interface')
    moves_data = True
    by_darshan = True
    share_unit = 'B'
    heavier = '-transfer_size'
    phases: Tuple[Phase, ...] = (_phase((CREATE, WRITE), 'writes'), _phase((READ,), 'reads'))

    def fault(self, point: Point) -> Optional[str]:
        data = point.data
        for field, allowed in (('files', FILES), ('extent', EXTENTS), ('order', ORDERS), ('interface', INTERFACES)):
            if getattr(data, field) not in allowed:
                return f"{field}: '{getattr(data, field)}' is not valid; it can be {' or '.join(allowed)}"
        if point.phases == ('read', 'write'):
            return 'operations: a file is read before it is written; write comes first'
        if shared_whole(point) and 'write' in point.phases:
            return 'operations: all tasks would write the whole of one file over each other'
        if data.files == 'multiple' and data.extent == 'segment':
            return 'extent: a file a task has no segments'
        if data.extent == 'whole' and data.order == 'strided':
            return 'order: a whole file is not strided between tasks'
        if data.collective and data.interface not in LIBRARIES:
            return 'collective: collective access exists only through MPI-IO'
        if data.direct and data.interface in LIBRARIES:
            return 'direct: O_DIRECT is not passed on by MPI-IO; use the interface posix'
        if data.passes < 1 or (data.passes > 1 and point.phases != ('read',)):
            return f'passes: {data.passes}; bytes are read once or several times over, and only written once'
        if data.transfer_size < 1:
            return f'transfer_size: {data.transfer_size} B cannot be moved; write a size from 1 B'
        if data.bytes_per_task < data.transfer_size:
            return f'bytes_per_task: {data.bytes_per_task} B are less than one transfer of {data.transfer_size} B'
        if data.bytes_per_task % data.transfer_size:
            return f'bytes_per_task: {data.bytes_per_task} B do not divide by transfers of {data.transfer_size} B'
        return None

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        """A bandwidth named as the operation; with `opening` also one node's, and the share of opening files."""
        types = self.phase(phase).metrics
        return types if point.data.opening else tuple(m for m in types if not m.name.endswith((OF_A_NODE, OPENING)))

    def derived(self, point: Point, phase: str, measurement: Measurement) -> Tuple[Metric, ...]:
        bandwidth = measurement.metric(phase)
        if not point.data.opening or bandwidth is None:
            return ()
        return (Metric(phase + OF_A_NODE, bandwidth.value / point.nodes, 'B/s', seconds=bandwidth.seconds),)

    def metric_words(self, metric: str) -> str:
        return super().metric_words(metric.replace(OPENING, ' (share of opening)').replace(OF_A_NODE, ' (of a node)'))

    def sentence(self, points: Sequence[Point]) -> str:
        point = points[0]
        does = joined([self.phase(name).words for name in point.phases], 'and')
        order = ', in random order' if point.data.order == 'random' else ''
        again = f', {point.data.passes} times over' if point.data.passes > 1 else ''
        return f'Every task {does} {_what(point)}{order}{through(point)}{again}'

    def title_of(self, point: Point) -> str:
        return self.phase(point.phases[0]).title or name_of(point)

    def totals(self, point: Point) -> str:
        return file_totals(self.files(point))

    def sizing(self, points: Sequence[Point], effort: Effort, pinned: Optional[int]) -> Sizing:
        """The granule divides by the transfer size of every point, if a fixed share does."""
        divisor = common_multiple(point.data.transfer_size for point in points)
        scales = points[0].scales
        share = pinned if pinned is not None and scales else points[0].data.bytes_per_task
        if pinned is not None or not effort.first_bytes or not scales:
            fixed = pinned if scales else share
            target_s = effort.target_s if effort.first_bytes else 0.0
            granule = max(point.data.transfer_size for point in points) if share % divisor else divisor
            return Sizing(share, granule, target_s, effort.min_s, effort.working_set, fixed)
        granule = round_up(MIN_GRANULE, divisor)
        first = round_up(effort.first_bytes, granule)
        return Sizing(first, granule, effort.target_s, effort.min_s, effort.working_set)

    def fits(self, point: Point, effort: Effort, pinned: Optional[int]) -> bool:
        """True if a task has one or more whole transfers; MAX_ROUNDED of a written share may be left over."""
        chosen = (pinned or effort.first_bytes) if point.scales else 0
        share = chosen or point.data.bytes_per_task
        rest = 0 if chosen and not pinned else share % point.data.transfer_size
        return point.data.transfer_size <= share and rest <= (MAX_ROUNDED * share if 'write' in point.phases else 0)

    def resized(self, point: Point, share: int) -> Point:
        """The bytes of a task, in whole transfers; files that every point reads have all of the share."""
        if not point.scales:
            return point
        rest = share % point.data.transfer_size
        if rest and 'write' not in point.phases:
            raise ValueError(f'{share} bytes a task do not divide by {point.data.transfer_size}')
        return point.changed(bytes_per_task=share - rest)

    def preparations(self, points: Sequence[Point]) -> List[Launch]:
        """One file set serves every point of a workload that only reads."""
        if not self.phase(points[0].phases[0]).needs:
            return []
        return [Launch('write', writers(max(points, key=lambda point: point.tasks)))]

    def files(self, point: Point) -> Tuple[FileSpec, ...]:
        if self.phase(point.phases[0]).removes:
            return ()
        metadata = METADATA.get(point.data.interface, 0)
        if point.data.files == 'multiple':
            size = point.data.bytes_per_task + metadata
            return tuple(FileSpec(file_name(point, rank), size) for rank in range(point.tasks))
        size = point.data.bytes_per_task * (1 if point.data.extent == 'whole' else point.tasks)
        return (FileSpec(file_name(point, 0), size + metadata),)

    def footprint(self, points: Sequence[Point]) -> Footprint:
        """Counts the links of an engine that reads one file by many names."""
        widest = max(points, key=lambda point: point.bytes_moved)
        files = self.files(widest)
        links = widest.tasks if shared_whole(widest) else 0
        return Footprint(sum(file.size for file in files), len(files) + links)

    def as_access(self, point: Point) -> Point:
        """Uses POSIX calls, because the file format of a library adds bytes."""
        plain = point.changed(interface='posix', collective=False) if point.data.interface in METADATA else point
        return plain if 'write' in plain.phases else writers(plain)


def name_of(point: Point) -> str:
    """The literature's name for the class, with what people call it."""
    data = point.data
    letters = {'single': 'SF', 'multiple': 'MF'}[data.files] + {'whole': 'WA', 'segment': 'SA'}[data.extent]
    known = {'SFWA': 'SFWA (whole shared file)', 'MFWA': 'MFWA (file per process)'}
    if data.order == 'contiguous' and letters in known:
        return known[letters]
    return f'{letters} {data.order} ({"single shared file" if data.files == "single" else "file per process"})'


def numbered_file(number: int) -> str:
    return f'data.{number:08d}'


def file_name(point: Point, rank: int) -> str:
    return numbered_file(rank) if point.data.files == 'multiple' else 'data'


def writer_of(point: Point, rank: int) -> int:
    """The task whose bytes this one reads: one of the next node; on one node its own, as no other helps."""
    return (rank + point.tasks_per_node) % point.tasks if point.nodes > 1 else rank


def shared_whole(point: Point) -> bool:
    return point.data.files == 'single' and point.data.extent == 'whole'


def writers(point: Point) -> Point:
    """The point that writes the files of one that only reads: a shared file in equal segments, or by one task."""
    writer, size = point.changed(order='contiguous', phases=('write',), passes=1), point.data.bytes_per_task
    if not shared_whole(point):
        return writer
    if size % (point.tasks * point.data.transfer_size):
        writer = writer._replace(nodes=1, tasks=1, tasks_per_node=1)
    share = size // writer.tasks
    transfer_size = MIB if share % MIB == 0 else point.data.transfer_size
    return writer.changed(extent='segment', bytes_per_task=share, transfer_size=transfer_size)


def writing(point: Point, transfer_size: int, bytes_per_task: int, shared: bool = False) -> Point:
    """The data access that writes a file a task, or segments of a shared one, where the tasks of the point run."""
    how = ('single', 'segment') if shared else ('multiple', 'whole')
    access = data_access(*how, operations=('write',), transfer_size=transfer_size, bytes_per_task=bytes_per_task)
    placed = {field: getattr(point, field) for field in ('label', 'nodes', 'tasks', 'tasks_per_node', 'layout')}
    return access._replace(**placed)


def through(point: Point) -> str:
    """The interface as the end of a sentence: ', with O_DIRECT'."""
    how = [', with O_DIRECT'] if point.data.direct else []
    if point.data.interface in LIBRARIES:
        how.append(f', {"collectively " if point.data.collective else ""}through {LIBRARIES[point.data.interface]}')
    return ''.join(how)


def file_totals(files: Sequence[FileSpec]) -> str:
    """'8 files of 64 MiB (512 MiB)'."""
    whole = f' ({approximate_size(sum(file.size for file in files))})' if len(files) > 1 else ''
    return f'{counted(len(files), "file")} of {approximate_size(files[0].size)}{whole}'


def _what(point: Point) -> str:
    if point.data.files == 'multiple':
        return 'a file of its own'
    if point.data.extent == 'whole':
        return 'the whole of one shared file'
    return {'strided': 'blocks of one shared file, dealt round-robin'}.get(
        point.data.order, 'its segment of one shared file'
    )
