"""Rule P15 by Darshan: the I/O that was issued, compared with the I/O that the check declares."""

import math
from typing import List, NamedTuple, Optional, Tuple

from seatrial.model.issued import DarshanLaunch, Done, Issued
from seatrial.model.plan import TrialPlan, metric
from seatrial.model.point import Point
from seatrial.model.record import Finding, Records
from seatrial.model.units import format_size
from seatrial.rules import launch as _launch  # noqa: F401 (P15 itself stands there, for what an engine sees of it)
from seatrial.rules.case import CaseSeen
from seatrial.rules.registry import CASE, finding, rule
from seatrial.workload.access import LIBRARIES, METADATA
from seatrial.workload.registry import kind_of, phase_of

MAX_BYTES_A_CALL = 0x7FFFF000  # write(2), Linux; engines make several calls of a larger transfer
NEARLY_ALL = 0.9  # share of the transfers that have the size that was meant
RANDOM_SIGMAS = 5.0  # standard deviations that a random order may be off the mean of random orders


class Aspect(NamedTuple):
    """One property of I/O, as it was meant and as it was issued."""

    what: str
    meant: str
    issued: str
    agrees: Optional[bool]  # None where it is undecided


class Comparison(NamedTuple):
    """One launch of the Darshan run: 'write@64KiB', and its aspects; empty where nothing could be seen."""

    launch: str
    aspects: Tuple[Aspect, ...]
    why: str = ''


def compare(phase: str, point: Point, issued: Issued) -> Tuple[Aspect, ...]:
    """The meaning of this phase of the point, beside the issued I/O. With one task a file is shared and its own,
    whole and a segment, strided and contiguous at the same time."""
    data, alone, files = point.data, point.tasks == 1, kind_of(point.kind).files(point)
    number, size = len(files), sum(file.size for file in files)
    operations = ' and '.join(done.operation for done in issued.done)
    extent = 'whole' if alone else data.extent
    in_files = issued.files == number and (alone or issued.sharing == data.files)
    in_extent = issued.size == size and (issued.extent == extent or data.passes > 1)
    aspects = [
        Aspect('tasks', str(point.tasks), str(issued.tasks), point.tasks == issued.tasks),
        Aspect('files', _file_words(number, data.files), _file_words(issued.files, issued.sharing), in_files),
        Aspect('extent', f'{extent}, {size} B', f'{issued.extent or "in part"}, {issued.size} B', in_extent),
        Aspect('operations', phase, operations or 'none', phase == operations),
    ]
    for done in issued.done:
        moved = done.bytes_moved
        aspects += [
            _order(point, done),
            Aspect('bytes', str(point.bytes_moved), str(moved), moved == point.bytes_moved),
        ]
    calls, issued_calls = _calls(data.interface, data.collective), _calls(issued.interface, issued.collective)
    aspects += [
        _transfer_size(point, issued),
        Aspect('calls', calls, issued_calls, calls == issued_calls if issued.done else None),
    ]
    if phase_of(point, phase).writes and issued.syncs is not None:
        # Every task syncs its data; one task may sync a file that all open by MPI-IO.
        least = number if data.interface == 'mpiio' else point.tasks
        aspects.append(Aspect('fsync', f'{least} or more', str(issued.syncs), issued.syncs >= least))
    return tuple(aspects)


def comparisons(plan: TrialPlan, records: Records) -> Tuple[Comparison, ...]:
    labels = {point.label for point in plan.points} if kind_of(plan.kind).by_darshan else set()
    return tuple(_comparison(launch) for launch in records.issued if launch.point.label in labels)


def issued_findings(plan: TrialPlan, records: Records) -> List[Finding]:
    """P15 with all issued I/O that differs from its meaning, or nothing."""
    differences = [
        f'{comparison.launch}: {aspect.what}: {aspect.meant} meant, {aspect.issued} issued'
        for comparison in comparisons(plan, records)
        for aspect in comparison.aspects
        if aspect.agrees is False
    ]
    return [finding('P15', f'by Darshan, {"; ".join(differences)}')] if differences else []


@rule(
    CASE,
    'label',
    'P15a: One repetition was traced by Darshan, so that P15 rests on more than the word of the engine',
    'see docs/how-to/darshan.md',
    'no figure proves which I/O it is of',
)
def traced(seen: CaseSeen) -> Optional[str]:
    plan, records = seen.plan, seen.records
    if not kind_of(plan.kind).by_darshan or records.end is None or records.end.reason != 'finished':
        return None
    if not plan.darshan:
        # Of other profiles nobody signs anything, and few sites have Darshan.
        missing = 'not traced: the partition names no Darshan library in trial.yaml'
        return missing if plan.profile == 'acceptance' else None
    if not any(sample.stage == DARSHAN for sample in records.samples):
        return 'not traced: time budget exhausted before the Darshan run'
    compared = comparisons(plan, records)
    if not compared:
        return 'not traced: the logs of Darshan have not been read'
    return next(
        (f'not traced: {comparison.launch}: {comparison.why}' for comparison in compared if comparison.why), None
    )


DARSHAN = 'darshan'  # stage of samples of the Darshan run, which are no figures


def _comparison(seen: DarshanLaunch) -> Comparison:
    launch = metric(seen.phase, seen.point.label)
    if seen.issued is None:
        return Comparison(launch, (), seen.why)
    interface = seen.point.data.interface
    if interface in METADATA:
        return Comparison(launch, (), f'{LIBRARIES[interface]} writes and reads bytes of its own, too')
    if seen.issued.partial:
        return Comparison(launch, (), 'its log is marked as partial: Darshan had no memory for more records')
    return Comparison(launch, compare(seen.phase, seen.point, seen.issued))


def _file_words(number: int, sharing: str) -> str:
    how = {'single': 'shared by all', 'multiple': 'each of one task', 'mixed': 'of some tasks each'}
    return f'{number} {how.get(sharing, "")}'.strip()


def _order(point: Point, done: Done) -> Aspect:
    meant = 'contiguous' if point.tasks == 1 and point.data.order == 'strided' else point.data.order
    if not done.order or point.data.transfers == 1 or point.data.transfer_size > MAX_BYTES_A_CALL:
        return Aspect('order', meant, 'undecided', None)
    following, forward = f'{100 * done.following:.0f} %', f'{100 * done.forward:.0f} %'
    shown = f'{done.order} ({following} right behind the one before, {forward} anywhere behind it)'
    if point.data.passes > 1:  # each pass but the first begins with a step back
        return Aspect('order', meant, shown, True if done.order == meant else None)
    return Aspect('order', meant, shown, _is_random(point, done) if meant == 'random' else done.order == meant)


def _is_random(point: Point, done: Done) -> Optional[bool]:
    """True if as many transfers go forward as in random orders; None where these could be sequential by chance. The
    number of ascents of a random permutation of k has the mean (k - 1) / 2 and the variance (k + 1) / 12 (the
    Eulerian distribution). It is unknown if a task's first transfer is counted among them."""
    half, tasks = done.transitions / 2, point.tasks
    off = RANDOM_SIGMAS * math.sqrt(tasks * (point.data.transfers + 1) / 12)
    if half + off + tasks >= done.transitions:
        return None
    forward = done.forward * done.transitions
    return forward - tasks <= half + off and forward >= half - off


def _transfer_size(point: Point, issued: Issued) -> Aspect:
    share = sum(part.share for part in issued.sizes if part.size == point.data.transfer_size)
    shown = ', '.join(f'{format_size(part.size)} ({100 * part.share:.0f} %)' for part in issued.sizes[:2]) or 'none'
    agrees = share >= NEARLY_ALL if point.data.transfer_size <= MAX_BYTES_A_CALL else None
    return Aspect('transfer size', format_size(point.data.transfer_size), shown, agrees)


def _calls(interface: str, collective: bool) -> str:
    return f'{interface}, {"collective" if collective else "independent"}'
