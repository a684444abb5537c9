"""What a metadata case does, in words: trees exact to the file as they were measured, listings, operations.

Numbers are those after the sizing: `per_client` is that of the record, or None where the job never came so far.
"""

from collections.abc import Sequence

from seatrial.model.namespace import LISTING, PASSES, Namespace, listing_metrics, pause_of
from seatrial.model.plan import TrialPlan
from seatrial.model.tree import MetadataTree, TreePoint, entries
from seatrial.model.units import approximate_size, format_size
from seatrial.model.work import sized

_DOES = {'create': 'make', 'stat': 'stat', 'read': 'read', 'remove': 'remove'}
_ORDINALS = ('1st', '2nd', '3rd', '4th')
_PARTS = {'names': 'names', 'stat': 'attributes'}


def sentence(plan: TrialPlan, workload: Namespace, per_client: int | None) -> str:
    """What the case does, without its end mark: 'Each of 8 clients makes and removes 1000 empty files in ...'."""
    points = measured_points(plan, per_client)
    clients = max(point.tasks for point in points)
    trees = [point.tree for point in points]
    who = 'One client' if clients == 1 else f'Each of {clients} clients'
    if workload.kind == 'tree':
        does = _joined([f'{_DOES[phase]}s' for phase in trees[0].phases], 'and')
        return f'{who} {does} {_things(trees)} {_places(trees, clients)}'
    if workload.kind == 'operations':
        return (
            f'{who} does {len(plan.measures(workload.operations[0], points[0]))} operations one by one on '
            f'{_things(trees)} {_places(trees, clients)}'
        )
    if workload.kind == 'listing':
        return f'One client lists {_listed_directories(points)} {_listings(points[0])}'
    nodes = max(point.nodes for point in points)
    where = f' on {nodes} nodes' if nodes > 1 else ' on one node' if clients > 1 else ''
    with_ = 'one client' if clients == 1 else f'{clients} clients'
    return f'What POSIX promises is tried by {with_}{where}, one promise after the other'


def measured_points(plan: TrialPlan, per_client: int | None) -> list[TreePoint]:
    """The points of a metadata case as they were measured."""
    points = (sized(point, plan.axis, per_client or 0) for point in plan.points)
    return [point for point in points if isinstance(point, TreePoint)]


def totals(point: TreePoint) -> str:
    """What is on disk once every client has made its share: '8000 files of 3901 B in 1 directory (29.8 MiB)'."""
    there, size = point.entries, point.tree.bytes_per_file
    what = [_files(there.files, size)] * bool(there.files)
    what += [_count(there.empties, 'directory', 'directories')] * bool(there.empties)
    if not what:
        return 'a few files and directories'
    held = f' ({approximate_size(point.bytes_in_files)})' if size else ''
    return f'{" and ".join(what)} in {_count(there.directories, "directory", "directories")}{held}'


def is_repeated_listing(plan: TrialPlan) -> bool:
    """Whether one directory is listed again and again, with pauses: the cache of the client over time."""
    return plan.workload == LISTING and any(isinstance(each, TreePoint) and each.pauses_s for each in plan.points)


def metric_label(metric: str) -> str:
    """A metric as people read it: '1st listing', 'after 0.5 s', 'attributes, 2nd time'; others are what they are."""
    pause = pause_of(metric)
    if pause is not None:
        return f'after {pause:g} s'
    part, _, which = metric.partition('_')
    if metric in listing_metrics((0.0,)):
        return f'{_ORDINALS[PASSES.index(which)]} listing'
    return f'{_PARTS[part]}, {_ORDINALS[PASSES.index(which)]} time' if metric in listing_metrics(()) else metric


def listing_tick(metric: str) -> str:
    """A listing on the axis of a curve: '1st', '0.5 s'."""
    pause = pause_of(metric)
    return metric_label(metric).partition(' ')[0] if pause is None else f'{pause:g} s'


def exact_size(size: int) -> str:
    """'40 KiB', '3901 B'."""
    text = format_size(size)
    unit = text.lstrip('0123456789')
    return f'{text[: -len(unit)]} {unit}'


def grouped(number: int) -> str:
    """A number that is exact to the last digit: '4686', '18 744'."""
    return f'{number:,}'.replace(',', '\u202f') if number > 9999 else str(number)


def _things(trees: Sequence[MetadataTree]) -> str:
    """What one client makes: '1000 files (empty or of 4 KiB)'."""
    files = [(entries(tree, 1).files, tree.bytes_per_file) for tree in trees]
    numbers, sizes = dict.fromkeys(number for number, _ in files), dict.fromkeys(size for _, size in files)
    if len(numbers) == 1 and len(sizes) > 1 and all(numbers):
        said = _joined([_of_size(size) for size in sorted(sizes)], 'or')
        own = [f'{_count(next(iter(numbers)), "file")} ({said})']
    else:
        own = list(dict.fromkeys(_files(number, size) for number, size in files if number))
    empties = list(
        dict.fromkeys(
            _count(entries(tree, 1).empties, 'empty directory', 'empty directories')
            for tree in trees
            if tree.empties_per_directory
        )
    )
    return ' and '.join(_joined(each, 'or') for each in (own, empties) if each)


def _places(trees: Sequence[MetadataTree], clients: int) -> str:
    """Where: 'in one shared directory or in a directory of its own'."""
    return _joined(list(dict.fromkeys(_place(tree, clients) for tree in trees)), 'or')


def _place(tree: MetadataTree, clients: int) -> str:
    directories = entries(tree, 1).directories
    what = 'directory' if directories == 1 else f'tree of {grouped(directories)} directories'
    if tree.subtrees == 'private' and clients > 1:
        return f'in a {what} of its own'
    return f'in one {"shared " if clients > 1 else ""}{what}'


def _listed_directories(points: Sequence[TreePoint]) -> str:
    numbers = sorted({point.entries.files for point in points})
    if len(numbers) == 1:
        return f'a directory of {grouped(numbers[0])} files'
    return f'directories of {grouped(numbers[0])} to {grouped(numbers[-1])} files'


def _listings(point: TreePoint) -> str:
    if not point.pauses_s:
        return 'twice, each time first the names and then the attributes of all'
    pauses = _joined([f'{pause:g}' for pause in point.pauses_s], 'and')
    return f'with all attributes, four times in a row and again after {pauses} s without a call'


def _files(number: int, size: int) -> str:
    return _count(number, 'file') + f' {_of_size(size)}' if size else _count(number, 'empty file')


def _of_size(size: int) -> str:
    return f'of {exact_size(size)}' if size else 'empty'


def _joined(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) == 1 else f'{", ".join(words[:-1])} {last} {words[-1]}'


def _count(number: int, one: str, many: str = '') -> str:
    return f'{grouped(number)} {one if number == 1 else many or one + "s"}'
