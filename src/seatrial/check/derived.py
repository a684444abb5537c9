"""Derives a check from an application's Darshan log: the shape of its I/O, without user, paths or file names. And
compares a replay with its application: the same counters of both logs, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seatrial.check.darshan.logs import read_logs
from seatrial.check.darshan.part import FileSet, Underivable, bytes_of, main_part, on_one_mount, touched_by
from seatrial.engine.registry import ENGINES, cannot
from seatrial.filesystem.mounts import is_below
from seatrial.job.sequence.darshan import FOLDER, left_by
from seatrial.judge.darshan_counters import weighed
from seatrial.judge.issued import ALL, NEARLY_ALL, DarshanLog, order_of
from seatrial.model.issued import MIXED, Done
from seatrial.model.point import Point
from seatrial.model.units import approximate_size, format_size
from seatrial.site.model import Partition, Site
from seatrial.workload.access import LIBRARIES, data_access, name_of
from seatrial.workload.ageing import LARGEST, LIKELY
from seatrial.workload.registry import fault_of
from seatrial.workload.words import joined

ALIKE = 0.05  # relative difference that bytes, passes and shares of tasks of a replay may have from the application's
SCALED = ('tasks', 'bytes a task', 'files a task')  # set by check, site or profile; all else is the access pattern


@dataclass(frozen=True)
class Derived:
    point: Point  # has as many tasks as the application had
    files: int  # number of files of the application
    part: FileSet  # part of the log from which it is made
    remarks: tuple[str, ...] = ()  # how the replay differs from the application
    share: float = 1.0  # share of the bytes that transfers of the replayed size moved
    mount: str = ''  # path of the file system that it was on


def shape_of(
    log: DarshanLog, operation: str | None = None, mount: str | None = None, folders: Sequence[str] = ()
) -> Derived:
    """The shape of the part that moved the most bytes on one file system. Raises Underivable. operation: 'write' or
    'read' alone; mount: a path of the log's mount table; folders: the site's, to choose among file systems"""
    placed, path, left_out = on_one_mount(log, mount, folders)
    try:
        part = main_part(placed, operation)
        point, share = _replayed(part)
    except Underivable as error:
        raise Underivable(' '.join([str(error), *(f'({remark})' for remark in left_out)])) from None
    return Derived(point, part.issued.files, part, (*left_out, *_remarks(point, part, log)), share, path)


def _replayed(part: FileSet) -> tuple[Point, float]:
    """The workload, and the share of the bytes moved by transfers of its size."""
    issued = part.issued
    sizes = {done.operation: _main_size(part, done) for done in issued.done}
    transfer_size, share = min(sizes.values(), key=lambda pair: pair[1])
    passes = {done.operation: _passes_in(part, done) for done in issued.done}
    orders = {done.operation: _order_in(part, done, passes[done.operation][1]) for done in issued.done}
    moved = max(done.bytes_moved for done in issued.done)
    alike = min(done.bytes_moved for done in issued.done) >= (1 - ALIKE) * moved
    patterns = {
        done.operation: f'{format_size(sizes[done.operation][0])} {orders[done.operation]}, '
        f'{passes[done.operation][0]} {passes[done.operation][1]} times{"" if alike else f", {done.bytes_moved} B"}'
        for done in issued.done
    }
    if len(set(patterns.values())) > 1:
        shown = '; '.join(f'{name} {pattern}' for name, pattern in patterns.items())
        raise Underivable(f'its operations have several patterns ({shown}); choose one with --operation')
    (extent, times), order = passes[issued.done[0].operation], orders[issued.done[0].operation]
    share_of_task = max(1, round(moved / issued.tasks / transfer_size / times)) * transfer_size
    form = issued.sharing, extent, order, tuple(patterns), transfer_size, share_of_task, issued.interface
    point = data_access(*form, tasks=issued.tasks, collective=issued.collective, passes=times)
    if fault := fault_of(point):
        raise Underivable(f'no check has such a pattern ({name_of(point)}): {fault}')
    if abs(point.bytes_moved - moved) > ALIKE * moved:
        spread = f'{issued.tasks} tasks, {format_size(transfer_size)} a call'
        raise Underivable(f'its {moved} B are not spread evenly over its tasks ({spread})')
    reasons = [(engine.name, cannot(engine, [point])) for engine in ENGINES if point.kind in engine.kinds]
    if all(why for _, why in reasons):
        refusals = '; '.join(f'{name} {why}'.rpartition(' (')[0] for name, why in reasons)
        raise Underivable(f'no engine replays it: {refusals}')
    return point, share


def _main_size(part: FileSet, done: Done) -> tuple[int, float]:
    """The transfer size that moved the most bytes, and its share of them."""
    sizes = weighed(part.records, done.operation).most_common(4)
    shares = [(size, min(1.0, moved / done.bytes_moved)) for size, moved in sizes if moved]
    if shares and shares[0][1] >= NEARLY_ALL:
        return shares[0]
    text = ', '.join(f'{format_size(size)} {100 * share:.0f} %' for size, share in shares) or 'none is known'
    of_bytes = f'{100 * NEARLY_ALL:.0f} % of the bytes of its {done.operation}s'
    raise Underivable(f'no size of its transfers moves {of_bytes} ({text})')


def _passes_in(part: FileSet, done: Done) -> tuple[str, int]:
    """The extent, and the passes over it: 'segment' for a part of a shared file moved once, else 'whole'."""
    issued, size = part.issued, part.touched[done.operation]
    if not size:
        raise Underivable(f'how far its {done.operation}s went in its files is not in the log')
    times = done.bytes_moved / size
    passes = max(1, round(times))
    shared = issued.sharing == 'single' and issued.tasks > 1
    extent, per_task = ('segment' if shared else 'whole'), passes
    if shared and passes % issued.tasks == 0:
        extent, per_task = 'whole', passes // issued.tasks
    moved = f'{done.operation} {approximate_size(done.bytes_moved)}'
    if times > 1 and abs(times - passes) > ALIKE * passes:
        what = 'neither one part nor the whole of a shared file each' if shared else 'no whole number of times'
        raise Underivable(f'{issued.tasks} tasks move {what} ({moved} of {approximate_size(size)})')
    if per_task > 1 and done.operation == 'write':
        raise Underivable(f'its tasks write over each other or over their own bytes ({moved} into {size} B)')
    return extent, per_task


def _order_in(part: FileSet, done: Done, passes: int) -> str:
    """The order of transfers, without the step that begins each pass but the first."""
    starts = done.transfers - done.transitions
    steps = done.transitions - (passes - 1) * starts
    following, forward = (round(share * done.transitions) for share in (done.following, done.forward))
    if done.transitions and not part.known[done.operation]:
        raise Underivable(f'the order of its {done.operation}s is unknown: MPI-IO merged them into other transfers')
    order = order_of(max(0, steps), following, forward)
    whole = done.bytes_moved >= (1 - ALIKE) * part.touched[done.operation]
    if order == MIXED or (order in ('strided', 'random') and not whole):
        raise Underivable(
            f'its transfers have no one order that data access has: {done.operation}: '
            f'{100 * done.following:.0f} % begin right behind the one before and {100 * done.forward:.0f} % anywhere '
            f'behind it, over {approximate_size(part.touched[done.operation])}'
        )
    if order == 'strided' and part.strides < NEARLY_ALL * (steps - following):
        raise Underivable(f'it goes forward by no one stride: {part.strides} of {steps - following} steps are alike')
    return order or 'contiguous'


_CHECK = '''"""{title}"""

import reframe  # noqa: F401  (without it ReFrame does not take this for a check file)

from seatrial.check.base import Check, trial
from seatrial.workload.{kind} import {function}
from seatrial.workload.sweep import Sweep

{above}
@trial
class {name}(Check):
    """{what}"""

    workload = {function}({fields})
    sweep = Sweep({sweep})
'''


def check_text(derived: Derived, name: str) -> str:
    point, data = derived.point, derived.point.data
    fields = [f"files='{data.files}'", f"extent='{data.extent}'", f"order='{data.order}'"]
    fields += [f'operations={point.phases!r}', f"bytes_per_task='{format_size(data.bytes_per_task)}'"]
    fields += [f'passes={data.passes}'] if data.passes > 1 else []
    if data.interface != 'posix':
        fields += [f"interface='{data.interface}'", f'collective={data.collective}']
    tasks, size = f'{point.tasks} task{"s" if point.tasks > 1 else ""}', format_size(data.transfer_size)
    most = f', which move {100 * derived.share:.0f} % of its bytes' if derived.share < 0.995 else ''
    return _CHECK.format(
        title='What an application does to its files, from the counters of a Darshan log.',
        kind='access',
        function='data_access',
        above=''.join(f'# {remark}\n' for remark in derived.remarks) + ('\n' if derived.remarks else ''),
        name=name,
        what=f'{name_of(point)}: {tasks} with transfers of {size}{most} (a Darshan log).',
        fields=''.join(f'\n        {field},' for field in fields) + '\n    ',
        sweep=f"'transfer_size', ({data.transfer_size},)",
    )


def file_sizes(logs: Sequence[DarshanLog]) -> tuple[int, ...]:
    """Sizes of the files of all logs: at most LIKELY, equally likely, none over LARGEST. A size is the end of the
    last write, else of the last read; files without are left out. Raises Underivable if none is left."""
    by_file = [{**touched_by(log.records, 'read'), **touched_by(log.records, 'write')} for log in logs]
    sizes = sorted(size for of_log in by_file for size in of_log.values())
    if not sizes:
        raise Underivable('no file was written or read in them; there is no size')
    number = min(LIKELY, len(sizes))
    return tuple(min(LARGEST, sizes[(2 * i + 1) * len(sizes) // (2 * number)]) for i in range(number))


def ageing_text(sizes: Sequence[int], name: str) -> str:
    rows = [sizes[first : first + 8] for first in range(0, len(sizes), 8)]
    listed = ''.join(f'    {", ".join(map(str, row))},\n' for row in rows)
    return _CHECK.format(
        title='Ageing: trees with files as large as those of applications, from the counters of Darshan logs.',
        kind='ageing',
        function='ageing',
        above=f'# Bytes of files, each as likely as any other.\nSIZES = (\n{listed})\n\n',
        name=name,
        what='Directories 1 to 10 deep with 1 to 100 files each, as Dai et al. (2019) age a file system.',
        fields='400_000, SIZES',
        sweep="'tree', (('aged', {}),)",
    )


def trial_text(derived: Derived, name: str, site: Site) -> str:
    """The entry under `trials` that runs the check with as many tasks as the application: on the first partition that
    holds them evenly, and on the application's file system, else the first. Raises Underivable."""
    point, systems = derived.point, site.trial_file.file_systems
    fitting = (name for name in systems if derived.mount and is_below(str(systems[name].path), derived.mount))
    places = ((name, _nodes(point.tasks, entry)) for name, entry in site.trial_file.partitions.items())
    partition, nodes = next(((name, number) for name, number in places if number), ('', 0))
    if not partition:
        raise Underivable(f'no partition of {site.folder}/trial.yaml holds its {point.tasks} tasks')
    return (
        f'  - checks: [{name}]\n'
        f'    partitions: [{partition}]\n'
        f'    file_systems: [{next(fitting, next(iter(systems)))}]\n'
        f'    nodes: [{nodes}]\n'
        f'    max_tasks: {point.tasks}\n'
        f'    bytes_per_task: {format_size(point.data.bytes_per_task)}\n'
    )


def _nodes(tasks: int, partition: Partition) -> int:
    """The fewest nodes that hold the tasks evenly; 0 if the partition's launcher reaches too few."""
    most = 1 if partition.launcher.kind == 'local' else tasks
    return next((n for n in range(1, most + 1) if tasks % n == 0 and tasks // n <= partition.tasks_per_node), 0)


def _remarks(point: Point, part: FileSet, log: DarshanLog) -> list[str]:
    issued, remarks, data = part.issued, [], point.data
    moved = sum(done.bytes_moved for done in issued.done)
    everything = part.beside + moved + sum(module.written + module.read for module in log.unreplayed)
    if log.partial:
        remarks.append('Darshan marks the log as partial: what it had no memory for is not replayed.')
    if part.beside:
        share = 100 * moved / (moved + part.beside)
        remarks.append(f'{share:.0f} % of its bytes; {part.others} other sets of files are left out.')
    for module, written, read, partial in log.unreplayed:
        if written or read:
            went, share = approximate_size(written + read), 100 * (written + read) / everything
            marked = '; Darshan marks them as partial' if partial else ''
            remarks.append(f'{went} more ({share:.1f} % of all) went through {module} and are left out{marked}.')
    libraries = sorted({record.module for record in log.libraries})
    if libraries and data.interface not in ('hdf5', 'netcdf'):
        remarks.append(f'Some of it went through datasets ({joined(libraries, "and")}), of no one clear pattern.')
    if issued.sharing == 'multiple' and issued.files > issued.tasks:
        remarks.append(f'Its {issued.tasks} tasks had {issued.files} files; here each has one.')
    if part.largest > (1 + ALIKE) * moved / issued.tasks:
        remarks.append(f'One of its tasks moved {approximate_size(part.largest)}; here all move the same.')
    if {done.bytes_moved for done in issued.done} != {point.bytes_moved}:
        exact = ', '.join(f'{done.operation} {done.bytes_moved} B' for done in issued.done)
        remarks.append(f'It moved {exact}; here every task moves {format_size(data.bytes_per_task * data.passes)}.')
    if issued.misaligned > 1 - NEARLY_ALL:
        unit = format_size(issued.alignment)
        remarks.append(f'{100 * issued.misaligned:.0f} % of its transfers began off multiples of {unit}.')
    if data.interface in LIBRARIES and data.interface != 'mpiio':
        remarks.append(f'Replayed through {LIBRARIES[data.interface]}, whose own bytes are not counted.')
    return remarks


def replayed_in(case: Path) -> list[DarshanLog]:
    """The logs of each launch of a case that ran under Darshan. Raises LogError; Underivable if there are none."""
    folders = sorted(case.glob(f'raw/*{FOLDER}'))
    launches = [left for folder in folders if (left := left_by(str(folder).removesuffix(FOLDER))) and left.logs]
    if not launches:
        raise Underivable(f'{case} has no log of a launch under Darshan; name its library in trial.yaml, and run it')
    return [_one_log(read_logs([Path(log) for log in left.logs]), left.directory, left.links) for left in launches]


def compared(part: FileSet, replays: Sequence[DarshanLog]) -> list[tuple[str, str, str, str]]:
    """Rows: what is compared, both values, 'same', 'scaled' or 'differs'. Raises Underivable if not replayed."""
    rows = []
    for done in part.issued.done:
        moving = [log for log in replays if bytes_of(log.records, done.operation)]
        if not moving:
            raise Underivable(f'no launch of the replay has a {done.operation}')
        again = main_part(moving[-1], done.operation)
        replayed = _facts(again, again.issued.done[0])
        for what, wanted in _facts(part, done).items():
            seen = replayed[what]
            alike = wanted == seen
            if isinstance(wanted, float) and isinstance(seen, float):
                alike = abs(seen - wanted) <= ALIKE * wanted
            verdict = 'same' if alike else 'scaled' if what in SCALED else 'differs'
            rows.append((f'{done.operation}: {what}', _shown(wanted), _shown(seen), verdict))
    return rows


def _facts(part: FileSet, done: Done) -> dict[str, float | str]:
    issued, (size, share) = part.issued, _main_size(part, done)
    extent, passes = _passes_in(part, done)
    private, shared = issued.sharing == 'multiple', issued.sharing == 'single' and issued.tasks > 1
    return {
        'tasks': float(issued.tasks),
        'bytes a task': done.bytes_moved / issued.tasks,
        'size of transfers': format_size(size),
        '% of bytes in that size': 100 * share,
        'order': _order_in(part, done, passes),
        'files': f'shared, {extent}' if shared else 'one task each',
        'files a task': issued.files / issued.tasks if private else 1.0,
        'times over': float(passes),
    }


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f'{value:.10g}'


def _one_log(logs: Sequence[DarshanLog], directory: str, links: dict[str, str]) -> DarshanLog:
    """The logs of single processes as one log: its tasks are those that moved bytes, and links are resolved."""
    records, processes = [], 0
    for log in logs:
        inside = [record for record in log.records if is_below(record.file, directory)]
        if len(logs) == 1 and not links:  # datasets go by the names of their files
            return replace(log, records=tuple(inside), mounts=())
        if len(logs) > 1 and not bytes_of(inside):
            continue
        for record in inside:
            name = record.file[len(directory) + 1 :]
            rank = record.rank if record.rank == ALL and len(logs) == 1 else max(0, record.rank) + processes
            records.append(replace(record, rank=rank, file=links.get(name, name)))
        processes += log.processes
    return replace(logs[0], processes=processes, records=tuple(records), mounts=())
