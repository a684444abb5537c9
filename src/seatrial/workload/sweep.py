"""Sweeps: the ordered values of one parameter of a point, and the points that they expand to in an allocation."""

import re
from itertools import product
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from seatrial.model.layout import TARGETS, Layout, target_word
from seatrial.model.point import PART_OF, Allocation, Axis, Point
from seatrial.model.units import Size, format_size, in_bytes
from seatrial.workload.base import MAX_TASKS

MAX_GROUPS = 8  # most groups of a node sweep: every group costs launches, and each node is judged alone in any case
ALL_NODES = 'all'  # label of the point of a node sweep at which all nodes work at once

AXES: Dict[str, Axis] = {  # every parameter that can be swept, by its name in a check
    axis.name: axis
    for axis in (
        Axis('transfer_size', 'transfer sizes', 'bytes per transfer', 'B'),
        Axis('queue_depth', 'queue depths', 'transfers in flight per task'),
        Axis('tasks', 'numbers of tasks', 'tasks'),
        Axis('entries', 'numbers of entries', 'files in the directory'),
        Axis('tree', 'trees'),
        Axis('variant', 'variants', differs='in each variant'),
        Axis('layout', 'layouts', differs='in each layout'),
        Axis('action', 'actions', differs='with each action of the site'),
        Axis('tunable', 'values of the tunable', differs='with each value of a tunable of the site'),
        *(
            Axis(target_word(kind), f'{kind}s', differs=f'on each {kind} by itself', equals=kind)
            for kind in TARGETS  # 'ost', 'mdt', 'brick', 'storage_target'
        ),
        Axis('node', 'groups of nodes', differs='on all nodes at once and on groups of them alone', equals='node'),
    )
}
_FIELDS = {'entries': 'files_per_directory'}  # the field of a point, if the axis has another name
_NUMBER_AXES = ('transfer_size', 'queue_depth', 'tasks', 'entries')
_SITE_AXES = ('action', 'tunable', *(name for name, axis in AXES.items() if axis.equals))
# The parameters that a tree or variant may change; every other parameter is the same at all points of a sweep.
_TREE_PARAMETERS = ('tasks', *PART_OF)
_LABEL = re.compile(r'[A-Za-z0-9_.-]+\Z', re.ASCII)  # part of the names of metrics and files
Value = Union[int, str, Layout, Tuple[str, Dict[str, Any]]]


class _Sweep(NamedTuple):
    axis: str
    values: Tuple[Value, ...]


class Sweep(_Sweep):
    """The values of one parameter; the check's workload sets all others. axis: a name of AXES; values: numbers of
    bytes or sizes such as '64KiB' for 'transfer_size'; whole numbers for 'queue_depth', 'tasks' and 'entries';
    layouts for 'layout'; pairs of a label and the parameters that it changes for 'tree' and 'variant'; none for
    'action', 'tunable', 'node' and the kinds of targets, whose values come from the site"""

    __slots__ = ()

    def __new__(cls, axis: str, values: Tuple[Union[Value, str], ...] = ()) -> 'Sweep':
        sizes = axis == 'transfer_size' and type(values) is tuple
        converted: Tuple[Any, ...] = tuple(_size(value) for value in values) if sizes else values
        return super().__new__(cls, axis, converted)


class SweepSite(NamedTuple):
    """The values that a sweep takes from the site."""

    pinned: Tuple[Layout, ...] = ()  # for each target of the axis, in order, the layout that pins files to it
    fitting: Optional[Tuple[Layout, ...]] = None  # layouts of the sweep with enough targets; None: all
    actions: Tuple[str, ...] = ()  # names of the actions, or of the values of a tunable


ANYWHERE = SweepSite()


def sweep_fault(sweep: Sweep) -> Optional[str]:
    """A fault in the declaration of a sweep, or None."""
    if type(sweep.axis) is not str or sweep.axis not in AXES:
        return f'{sweep.axis!r} cannot be swept; it can be {", ".join(AXES)}'
    if type(sweep.values) is not tuple:
        return f'the values are {sweep.values!r}; write them in parentheses: (1, 2, 4)'
    if sweep.axis in _SITE_AXES:
        return f'the values of {sweep.axis} are set by the site; leave them out' if sweep.values else None
    if not sweep.values:
        return f'a sweep over {AXES[sweep.axis].plural} needs values'
    if sweep.axis in _NUMBER_AXES:
        most = MAX_TASKS if sweep.axis == 'tasks' else 2**63 - 1
        wrong = [value for value in sweep.values if type(value) is not int or not 1 <= value <= most]
        if wrong:
            sizes = " or sizes such as '64KiB'" if sweep.axis == 'transfer_size' else ''
            plural = AXES[sweep.axis].plural
            return f'{wrong[0]!r} is not one of the {plural}; write whole numbers from 1 to {most}{sizes}'
    elif sweep.axis == 'layout':
        wrong = [value for value in sweep.values if not isinstance(value, Layout)]
        if wrong:
            return f'{wrong[0]!r} is not a layout'
    else:
        for value in sweep.values:
            if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[1], dict):
                return f"{value!r} is not a {sweep.axis}; write a label and what it changes: ('private', {{...}})"
            unknown = [field for field in value[1] if field not in _TREE_PARAMETERS]
            if unknown:
                return f'{unknown[0]!r} is not a parameter that {AXES[sweep.axis].plural} can change'
    names = [_labelled(sweep.axis, value)[0] for value in sweep.values]
    invalid = [label for label in names if type(label) is not str or not _LABEL.match(label)]
    if invalid:
        return f'{invalid[0]!r} cannot be a label; write letters, digits, _ . and -'
    repeated = [label for label in names if names.count(label) > 1]
    return f"'{repeated[0]}' is given twice" if repeated else None


def _size(value: Any) -> Any:
    """The bytes of a size that is written as text; other values unchanged, for sweep_fault to judge."""
    try:
        return in_bytes(value)
    except ValueError:
        return value


def examples(sweep: Sweep, template: Point) -> List[Point]:
    """The points in an allocation for the largest number of tasks; a single point if the site sets the values."""
    if sweep.axis in _SITE_AXES:
        return [template._replace(tasks=template.tasks or 1, tasks_per_node=template.tasks or 1)]
    task_counts = [value[1].get('tasks', 0) for value in sweep.values if isinstance(value, tuple) and len(value) == 2]
    tasks = max([template.tasks, 1, *_tasks(sweep), *task_counts])
    return expand(sweep, template, Allocation(1, tasks))


def expand(sweep: Sweep, template: Point, largest: Allocation, site: SweepSite = ANYWHERE) -> List[Point]:
    """The points of a sweep inside an allocation. Values that cannot be placed are left out."""
    if sweep.axis == 'node':
        return _groups(template, largest)
    values: Sequence[Value] = (site.actions or site.pinned) if sweep.axis in _SITE_AXES else sweep.values
    points: List[Point] = []
    for value in values if site.fitting is None else [value for value in values if value in site.fitting]:
        point = _point(sweep.axis, template, value, len(points))
        allocation = placement(point.tasks or largest.tasks, largest)
        if allocation is not None:
            points.append(point._replace(tasks=allocation.tasks, **allocation._asdict()))
    return points


def labels(sweep: Sweep, site: SweepSite = ANYWHERE) -> List[str]:
    """The labels of all values of the sweep or the site, including values that cannot be placed."""
    declared = [_labelled(sweep.axis, value)[0] for value in sweep.values]
    return declared or [*site.actions, *(layout.name for layout in site.pinned)]


def layouts_in(sweep: Sweep) -> Tuple[Layout, ...]:
    return tuple(value for value in sweep.values if isinstance(value, Layout))


def narrowed(sweep: Sweep, fixed: Dict[str, Any], max_tasks: Optional[int]) -> Sweep:
    """The sweep with only the value that a site fixes, or without the numbers of tasks above max_tasks."""
    if sweep.axis in fixed:
        return sweep._replace(values=(fixed[sweep.axis],))
    if max_tasks is None or not _tasks(sweep):
        return sweep
    return sweep._replace(values=tuple(value for value in _tasks(sweep) if value <= max_tasks))


def powers_of_two(first: Size, last: Size) -> Tuple[int, ...]:
    """first, 2 x first, 4 x first, ... up to last: numbers, or sizes such as '64KiB'; empty for a first below 1."""
    value, end = in_bytes(first), in_bytes(last)
    values = []
    while 0 < value <= end:
        values.append(value)
        value *= 2
    return tuple(values)


def surface(sizes: Sequence[Size], transfers: Sequence[Size]) -> Sweep:
    """Every size of a task's file with every transfer size up to it, as variants: '64MiB-4KiB'."""
    variants = (
        (f'{format_size(size)}-{format_size(transfer)}', {'bytes_per_task': size, 'transfer_size': transfer})
        for size, transfer in product(map(in_bytes, sizes), map(in_bytes, transfers))
        if transfer <= size
    )
    return Sweep('variant', tuple(variants))


def tasks_by_sizes(tasks: Sequence[int], sizes: Sequence[Size]) -> Sweep:
    """Every number of tasks with every size of a task's file, as variants: '4tasks-1GiB'."""
    variants = (
        (f'{_counted("task")(number)}-{format_size(size)}', {'tasks': number, 'bytes_per_task': size})
        for number, size in product(tasks, map(in_bytes, sizes))
    )
    return Sweep('variant', tuple(variants))


def subsample(values: Sequence[Any], count: int) -> Tuple[Any, ...]:
    """`count` of the values, evenly spread, with the first and the last; only the last for 1, all for 0."""
    if count <= 0 or count >= len(values):
        return tuple(values)
    if count == 1:
        return tuple(values[-1:])
    last = len(values) - 1
    return tuple(values[(2 * i * last + count - 1) // (2 * (count - 1))] for i in range(count))


def placement(tasks: int, largest: Allocation) -> Optional[Allocation]:
    """The tasks on as many nodes as possible, equally many on each, or None; plain srun -N4 -n8 places 4/2/1/1."""
    for nodes in range(min(tasks, largest.nodes), 0, -1):
        if tasks % nodes == 0 and tasks // nodes <= largest.tasks_per_node:
            return Allocation(nodes, tasks // nodes)
    return None


def group_size(nodes: int) -> int:
    """Nodes per group of a node sweep; the last group can have fewer."""
    return max(1, -(-nodes // MAX_GROUPS))


def _tasks(sweep: Sweep) -> List[int]:
    return [value for value in sweep.values if isinstance(value, int)] if sweep.axis == 'tasks' else []


def _labelled(axis: str, value: Any) -> Tuple[str, Dict[str, Any]]:
    """The label of a value, and the fields that it changes in a point."""
    if axis in _NUMBER_AXES:
        label = {'transfer_size': format_size, 'tasks': _counted('task'), 'queue_depth': 'qd{}'.format}
        return label.get(axis, str)(value), {_FIELDS.get(axis, axis): value}
    if axis in ('tree', 'variant', 'action', 'tunable'):
        return value[0], value[1]
    return value.name, {'layout': value}


def _counted(noun: str) -> Any:
    return lambda number: f'{number}{noun}{"s" if number > 1 else ""}'


def _point(axis: str, template: Point, value: Value, place: int) -> Point:
    if axis in ('action', 'tunable'):
        name = str(value)
        value = name, {'actions': tuple(action._replace(name=name) for action in template.actions)}
    label, changes = _labelled(axis, value)
    at = float(value) if isinstance(value, int) else float(place)
    return template.changed(label=label, at=at, **changes)


def _groups(template: Point, largest: Allocation) -> List[Point]:
    """One point with all nodes at once, then one point for each group alone."""
    size, per = group_size(largest.nodes), largest.tasks_per_node
    firsts = enumerate(range(0, largest.nodes, size), 1)
    groups = [(f'group{number:02d}', first, min(size, largest.nodes - first)) for number, first in firsts]
    return [
        template._replace(
            label=label, at=float(place), first_node=first, nodes=nodes, tasks=nodes * per, tasks_per_node=per
        )
        for place, (label, first, nodes) in enumerate([(ALL_NODES, 0, largest.nodes), *groups])
    ]
