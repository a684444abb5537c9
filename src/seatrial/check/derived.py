"""A check from an application's Darshan log: the shape of its I/O and nothing of whose it was."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seatrial.judge.issued import DarshanLog, in_parts
from seatrial.model.issued import MIXED, Issued
from seatrial.model.point import Point
from seatrial.model.units import approximate_size, format_size
from seatrial.site.model import Partition, Site
from seatrial.workload.access import data_access, name_of
from seatrial.workload.ageing import LARGEST, LIKELY
from seatrial.workload.registry import fault_of

NEARLY_ALL = 0.9
HARDLY_ANY = 0.01
_OF_OTHERS = {'write': 'READ', 'read': 'WRIT'}  # in the names of the counters of the other operation


class Underivable(Exception):
    """A log of which no check can be made; says why in one sentence."""


@dataclass(frozen=True)
class Derived:
    """What is replayed. remarks: in which the replay is not the application.

    point: the workload, with as many tasks as the application had; files: of the application
    """

    point: Point
    files: int
    remarks: tuple[str, ...] = ()


def shape_of(log: DarshanLog, operation: str | None = None) -> Derived:
    """The shape of what moved the most bytes; `operation` looks at 'write' or 'read' alone. Raises Underivable."""
    seen = _only(log, operation) if operation else log
    parts = [issued for _, issued in in_parts(seen)]
    if not parts and any(seen.stdio):
        raise Underivable('all of its bytes are moved through stdio (fopen, fwrite), of which no pattern is known')
    if not parts:
        raise Underivable(f'no bytes are moved {f"by a {operation} " if operation else ""}in it; there is no pattern')
    first = parts[0]
    if operation is None and len({each.order for each in first.done if each.order}) > 1:
        orders = ', '.join(f'{each.operation} {each.order}' for each in first.done)
        raise Underivable(f'its operations have several orders ({orders}); choose one with --operation')
    transfer_size = first.sizes[0].size
    moved = max(each.bytes_moved for each in first.done)
    transfers = max(1, round(moved / first.tasks / transfer_size))
    point = data_access(
        files=first.sharing,
        extent=_extent(first),
        order=_order(first),
        operations=tuple(each.operation for each in first.done),
        transfer_size=transfer_size,
        bytes_per_task=transfers * transfer_size,
        interface=first.interface,
        collective=first.collective,
        tasks=first.tasks,
    )
    fault = fault_of(point)
    if fault:
        raise Underivable(f'no check has such a pattern ({name_of(point)}): {fault}')
    derived = Derived(point, first.files)
    return replace(derived, remarks=tuple(_remarks(derived, parts, seen)))


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
    point = derived.point
    fields = [f"files='{point.files}'", f"extent='{point.extent}'", f"order='{point.order}'"]
    fields.append(f'operations={point.phases!r}')
    fields.append(f"bytes_per_task='{format_size(point.bytes_per_task)}'")
    if point.interface != 'posix':
        fields += [f"interface='{point.interface}'", f'collective={point.collective}']
    tasks = f'{point.tasks} task{"s" if point.tasks > 1 else ""}'
    size = format_size(point.transfer_size)
    return _CHECK.format(
        title='What an application does to its files, from the counters of a Darshan log.',
        kind='access',
        function='data_access',
        above=''.join(f'# {each}\n' for each in derived.remarks) + ('\n' if derived.remarks else ''),
        name=name,
        what=f'{name_of(point)}: {tasks} with transfers of {size} (a Darshan log).',
        fields=''.join(f'\n        {each},' for each in fields) + '\n    ',
        sweep=f"'transfer_size', ({point.transfer_size},)",
    )


def file_sizes(logs: Sequence[DarshanLog]) -> tuple[int, ...]:
    """Sizes of the files of all logs, LIKELY at most: each as likely as any other, none over LARGEST.

    A file is as large as what was written to it last, else as what was read of it: POSIX_MAX_BYTE_* are offsets. Of a
    file of which neither is known nothing is taken. Raises Underivable where there is none.
    """
    sizes: list[int] = []
    for log in logs:
        found: dict[str, dict[str, int]] = {}
        for each in log.records:
            if each.module == 'POSIX':
                own = found.setdefault(each.file, {})
                for name in ('WRITTEN', 'READ'):
                    # A last byte at offset 0 is left out of a log as all that is 0.
                    if each.counters.get(f'POSIX_BYTES_{name}'):
                        own[name] = max(own.get(name, 0), each.counters.get(f'POSIX_MAX_BYTE_{name}', 0) + 1)
        sizes += [own.get('WRITTEN') or own['READ'] for own in found.values() if own]
    if not sizes:
        raise Underivable('no file was written or read in them; there is no size')
    sizes.sort()
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
    """The entry under `trials` of trial.yaml that runs the check with as many tasks as the application had.

    On the first partition that holds the tasks, on the fewest nodes that do so evenly, and on the first file
    system. Raises Underivable where none holds them.
    """
    point = derived.point
    places = ((name, _nodes(point.tasks, entry)) for name, entry in site.trial_file.partitions.items())
    partition, nodes = next(((name, number) for name, number in places if number), ('', 0))
    if not partition:
        raise Underivable(f'no partition of {site.folder}/trial.yaml holds its {point.tasks} tasks')
    return (
        f'  - checks: [{name}]\n'
        f'    partitions: [{partition}]\n'
        f'    file_systems: [{next(iter(site.trial_file.file_systems))}]\n'
        f'    nodes: [{nodes}]\n'
        f'    max_tasks: {point.tasks}\n'
        f'    bytes_per_task: {format_size(point.bytes_per_task)}\n'
    )


def _nodes(tasks: int, partition: Partition) -> int:
    """The fewest nodes that hold the tasks evenly; 0 where the partition's launcher reaches too few."""
    most = 1 if partition.launcher.kind == 'local' else tasks
    return next((n for n in range(1, most + 1) if tasks % n == 0 and tasks // n <= partition.tasks_per_node), 0)


def _only(log: DarshanLog, operation: str) -> DarshanLog:
    """The log with the counters of one operation alone."""
    written, read = log.stdio
    return replace(
        log,
        stdio=(written, 0) if operation == 'write' else (0, read),
        records=tuple(
            replace(each, counters={k: v for k, v in each.counters.items() if _OF_OTHERS[operation] not in k})
            for each in log.records
        ),
    )


def _extent(issued: Issued) -> str:
    """'whole' also for a part of a file of one's own, 'segment' also for a part of a shared one moved once."""
    if issued.sharing == 'multiple' or issued.extent:
        return 'whole' if issued.sharing == 'multiple' else issued.extent
    if all(each.bytes_moved <= issued.size for each in issued.done):
        return 'segment'
    moved = ', '.join(f'{each.operation} {approximate_size(each.bytes_moved)}' for each in issued.done)
    raise Underivable(
        f'{issued.tasks} tasks move neither one part nor the whole of a shared file each ({moved} of '
        f'{approximate_size(issued.size)}); choose one operation with --operation, or a log of a simpler run'
    )


def _order(issued: Issued) -> str:
    if issued.order == MIXED:
        shares = ', '.join(
            f'{each.operation}: {100 * each.following:.0f} % begin right behind the one before and '
            f'{100 * each.forward:.0f} % anywhere behind it'
            for each in issued.done
        )
        raise Underivable(f'its transfers have no one order: {shares}')
    return issued.order or 'contiguous'


def _remarks(derived: Derived, parts: Sequence[Issued], log: DarshanLog) -> list[str]:
    issued, remarks = parts[0], []
    moved = sum(each.bytes_moved for each in issued.done)
    total = sum(each.bytes_moved for part in parts for each in part.done)
    buffered = sum(log.stdio)
    if log.partial:
        remarks.append('Darshan marks the log as partial: what it had no memory for is not replayed.')
    if moved < total:
        remarks.append(
            f'{100 * moved / total:.0f} % of its bytes; {len(parts) - 1} other sets of files are left out.'
        )
    if buffered > HARDLY_ANY * total:
        remarks.append(f'{approximate_size(buffered)} more went through stdio (fopen, fwrite) and are left out.')
    if issued.sharing == 'multiple' and issued.files > issued.tasks:
        remarks.append(f'Its {issued.tasks} tasks had {issued.files} files; here each has one.')
    if not issued.order and any(each.transitions for each in issued.done):
        remarks.append('Its order cannot be seen behind MPI-IO that merges transfers; contiguous is taken.')
    if issued.sizes[0].share < NEARLY_ALL:
        sizes = ', '.join(f'{format_size(each.size)} {100 * each.share:.0f} %' for each in issued.sizes[:4])
        remarks.append(f'Transfers had several sizes ({sizes}); the most frequent is taken.')
    bytes_each = {each.bytes_moved for each in issued.done}
    if bytes_each != {derived.point.bytes_moved}:
        exact = ', '.join(f'{each.operation} {each.bytes_moved} B' for each in issued.done)
        remarks.append(f'It moved {exact}; here every task moves {format_size(derived.point.bytes_per_task)}.')
    if issued.misaligned > 1 - NEARLY_ALL:
        unit = format_size(issued.alignment)
        remarks.append(f'{100 * issued.misaligned:.0f} % of its transfers began off multiples of {unit}.')
    return remarks
