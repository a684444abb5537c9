"""Listings: one task lists one directory repeatedly, as `ls -l` does, with and without its cache."""

from typing import List, Optional, Sequence, Tuple

from seatrial.model.metric import MetricType
from seatrial.model.point import Point, TimePart, TreePart
from seatrial.workload.base import CREATE, LIST, LISTED_BEFORE, Effort, Footprint, Launch, Phase, rates
from seatrial.workload.operations import flat_fault
from seatrial.workload.tree import Tree, levels_total
from seatrial.workload.words import grouped, joined

PASSES = ('first', 'second', 'third', 'fourth')  # without a pause between them, as in the source (Calderon, HLRS)
PHASE, MAKING = 'list', 'create'
MAX_PAUSE_S = 3600
_AFTER = 'ls_after_'
_ORDINALS = ('1st', '2nd', '3rd', '4th')


def listing(files_per_directory: int, pauses_s: Sequence[float] = ()) -> Point:
    """A directory with files, and the pauses (seconds) before further listings of it."""
    tree = TreePart(files_per_directory=files_per_directory, subtrees='shared')
    return Point('listing', (PHASE,), tasks=1, scales=False, tree=tree, time=TimePart(pauses_s=tuple(pauses_s)))


class Listing(Tree):
    name = 'listing'
    words = 'the listing of a directory'
    title = 'Listings of directories'
    columns = (('first', ('ls_first', 'stat_first')), ('again', ('ls_fourth', 'stat_second')))
    parameters = ('files_per_directory', 'subtrees', 'pauses_s')
    compares_in_launch = True
    phases = (Phase(MAKING, (CREATE,)), Phase(PHASE, (LIST,)))

    def fault(self, point: Point) -> Optional[str]:
        time = point.time
        if point.tasks != 1:
            return f'tasks: exactly one task lists, not {point.tasks}'
        names = listing_metrics(time.pauses_s)
        if not all(0 < pause < MAX_PAUSE_S for pause in time.pauses_s) or len(set(names)) < len(names):
            return f'pauses_s: {list(time.pauses_s)}; write different times above 0 s and below {MAX_PAUSE_S} s'
        return flat_fault(point, self.words)

    def metrics(self, point: Point, phase: str) -> Tuple[MetricType, ...]:
        return rates(listing_metrics(point.time.pauses_s)) if phase == PHASE else ()

    def sentence(self, points: Sequence[Point]) -> str:
        numbers = sorted({point.tree.files_per_directory for point in points})
        directories = f'a directory of {grouped(numbers[0])} files'
        if len(numbers) > 1:
            directories = f'directories of {grouped(numbers[0])} to {grouped(numbers[-1])} files'
        if not points[0].time.pauses_s:
            return f'One task lists {directories} twice, each time first the names and then the attributes of all'
        pauses = joined([f'{pause:g}' for pause in points[0].time.pauses_s], 'and')
        again = f'four times in a row and again after {pauses} s without a call'
        return f'One task lists {directories} with all attributes, {again}'

    def fits(self, point: Point, effort: Effort, pinned: Optional[int]) -> bool:
        return not effort.entries or point.time.pauses_s != () or point.tree.files_per_directory <= effort.entries

    def adapted(self, point: Point, effort: Effort) -> Point:
        kept = [pause for pause in point.time.pauses_s if not effort.pause_s or pause <= effort.pause_s]
        return point.changed(pauses_s=tuple(kept))

    def preparations(self, points: Sequence[Point]) -> List[Launch]:
        return [Launch(MAKING, point) for point in points]

    def footprint(self, points: Sequence[Point]) -> Footprint:
        """The directories of all points exist at the same time."""
        return Footprint(0, sum(levels_total(point, 1).inodes for point in points))

    def cache_of(self, metric: str, launch: str) -> str:
        return launch if metric.endswith(f'_{PASSES[0]}') or not launch else LISTED_BEFORE

    def metric_words(self, metric: str) -> str:
        """'1st listing', 'after 0.5 s', 'attributes, 2nd time'."""
        pause = pause_of(metric)
        if pause is not None:
            return f'after {pause:g} s'
        part, _, list_pass = metric.partition('_')
        ordinal = _ORDINALS[PASSES.index(list_pass)]
        return f'{ordinal} listing' if part == 'ls' else f'{"attributes" if part == "stat" else part}, {ordinal} time'


def listing_metrics(pauses_s: Sequence[float]) -> Tuple[str, ...]:
    """The names of the metrics: one per listing if there are pauses, else names and attributes of the first two."""
    if pauses_s:
        return tuple(f'ls_{list_pass}' for list_pass in PASSES) + tuple(f'{_AFTER}{pause:g}s' for pause in pauses_s)
    return tuple(f'{part}_{list_pass}' for list_pass in PASSES[:2] for part in ('names', 'stat'))


def pause_of(metric: str) -> Optional[float]:
    """Seconds without a call before this listing; None for a listing that follows the previous one at once."""
    return float(metric[len(_AFTER) : -1]) if metric.startswith(_AFTER) else None
