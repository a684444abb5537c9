"""Rule P15 by a witness: the I/O that the files saw beside the I/O that the check declares."""

import math
from typing import List, NamedTuple, Optional, Tuple

from seatrial.model.issued import Done, Issued, Witnessed
from seatrial.model.plan import TrialPlan, metric
from seatrial.model.record import Finding, Records
from seatrial.model.units import format_size
from seatrial.model.work import sized
from seatrial.model.workload import AccessPattern, Point, files_of
from seatrial.rules.case import CaseSeen
from seatrial.rules.registry import CASE, finding, rule

MOST_BYTES_A_CALL = 0x7FFFF000  # write(2), Linux; engines make several calls of a larger transfer
NEARLY_ALL = 0.9  # of the transfers have the size that was meant
RANDOM_SIGMAS = 5.0  # that a random order may be off what random orders have on average


class Aspect(NamedTuple):
    """One thing that was meant beside what was issued. agrees: None where it cannot be told."""

    what: str
    meant: str
    issued: str
    agrees: Optional[bool]


class Comparison(NamedTuple):
    """One launch of the witness repetition: 'write@64KiB', and its aspects; none where nothing could be seen."""

    launch: str
    aspects: Tuple[Aspect, ...]
    why: str = ''


def compare(pattern: AccessPattern, point: Point, issued: Issued) -> Tuple[Aspect, ...]:
    """What the pattern means at this point beside what was issued. pattern.operations: those that were launched.

    Of one client a file is shared and its own, whole and a segment, strided and contiguous at the same time.
    """
    aspects = [
        Aspect('clients', str(point.tasks), str(issued.clients), point.tasks == issued.clients),
        _files(pattern, point, issued),
        _extent(pattern, point, issued),
        Aspect(
            'operations',
            ' and '.join(pattern.operations),
            ' and '.join(each.operation for each in issued.done) or 'none',
            {*pattern.operations} == {each.operation for each in issued.done},
        ),
    ]
    for done in issued.done:
        aspects.append(_order(pattern, point, done))
        moved = done.bytes_moved
        aspects.append(Aspect('bytes', str(point.bytes_moved), str(moved), moved == point.bytes_moved))
    aspects.append(_transfer_size(point, issued))
    calls = _calls(pattern.interface, pattern.collective)
    issued_calls = _calls(issued.interface, issued.collective)
    aspects.append(Aspect('calls', calls, issued_calls, calls == issued_calls if issued.done else None))
    return tuple(aspects)


def comparisons(plan: TrialPlan, records: Records) -> Tuple[Comparison, ...]:
    """Every launch of the witness repetition whose testimony is there and speaks of a point of the plan."""
    compared = []
    for seen in records.issued:
        point = next((each for each in plan.points if each.label == seen.point), None)
        if isinstance(plan.workload, AccessPattern) and isinstance(point, Point):
            compared.append(_comparison(plan.workload, plan.axis, point, seen))
    return tuple(compared)


def issued_findings(plan: TrialPlan, records: Records) -> List[Finding]:
    """P15 with everything that was issued otherwise than it was meant, or nothing."""
    said = [
        f'{each.launch}: {aspect.what}: {aspect.meant} meant, {aspect.issued} issued'
        for each in comparisons(plan, records)
        for aspect in each.aspects
        if aspect.agrees is False
    ]
    return [finding('P15', f'by Darshan, {"; ".join(said)}')] if said else []


@rule(
    'P15a',
    'One repetition was witnessed by Darshan, so that P15 rests on more than the word of the engine',
    CASE,
    'label',
    'see docs/darshan.md',
    'no figure proves which I/O it is of',
)
def witnessed(seen: CaseSeen) -> Optional[str]:
    plan, records = seen.plan, seen.records
    if not isinstance(plan.workload, AccessPattern) or records.end is None or records.end.reason != 'finished':
        return None
    if not plan.darshan:
        # Of other profiles nobody signs anything, and few sites have Darshan.
        missing = 'not witnessed: the partition names no Darshan library in trial.yaml'
        return missing if plan.profile == 'acceptance' else None
    if not any(sample.stage == 'witness' for sample in records.samples):
        return 'not witnessed: the time budget ended before a repetition under Darshan'
    compared = comparisons(plan, records)
    if not compared:
        return 'not witnessed: the logs of Darshan have not been read'
    return next((f'not witnessed: {each.launch}: {each.why}' for each in compared if each.why), None)


PARTIAL = 'not applicable: Darshan marks its log as partial, for it had no memory for more records'


def _comparison(pattern: AccessPattern, axis: str, planned: Point, seen: Witnessed) -> Comparison:
    launch = metric(seen.operation, seen.point)
    if seen.issued is None:
        return Comparison(launch, (), seen.why)
    if seen.issued.partial:
        return Comparison(launch, (), PARTIAL)
    point = sized(planned, axis, seen.per_client)
    assert isinstance(point, Point)
    return Comparison(launch, compare(pattern._replace(operations=(seen.operation,)), point, seen.issued))


def _files(pattern: AccessPattern, point: Point, issued: Issued) -> Aspect:
    number = len(files_of(pattern, point))
    agrees = issued.files == number and (point.tasks == 1 or issued.sharing == pattern.files)
    return Aspect('files', _file_words(number, pattern.files), _file_words(issued.files, issued.sharing), agrees)


def _file_words(number: int, sharing: str) -> str:
    how = {'single': 'shared by all', 'multiple': 'each of one client', 'mixed': 'of some clients each'}
    return f'{number} {how.get(sharing, "")}'.strip()


def _extent(pattern: AccessPattern, point: Point, issued: Issued) -> Aspect:
    size = sum(file.size for file in files_of(pattern, point))
    meant = 'whole' if point.tasks == 1 else pattern.extent
    agrees = issued.extent == meant and issued.size == size
    return Aspect('extent', f'{meant}, {size} B', f'{issued.extent or "in part"}, {issued.size} B', agrees)


def _order(pattern: AccessPattern, point: Point, done: Done) -> Aspect:
    meant = 'contiguous' if point.tasks == 1 and pattern.order == 'strided' else pattern.order
    if not done.order or point.objects == 1 or point.transfer_size > MOST_BYTES_A_CALL:
        return Aspect('order', meant, 'not to be told', None)
    following, forward = f'{100 * done.following:.0f} %', f'{100 * done.forward:.0f} %'
    shown = f'{done.order} ({following} right behind the one before, {forward} anywhere behind it)'
    return Aspect('order', meant, shown, _is_random(point, done) if meant == 'random' else done.order == meant)


def _is_random(point: Point, done: Done) -> Optional[bool]:
    """Whether as many transfers go forward as in random orders; None where these could be sequential by chance.

    Of a random permutation of k the number of ascents has the mean (k - 1) / 2 and the variance (k + 1) / 12 (the
    Eulerian distribution). Whether a client's first transfer is counted among them is not known.
    """
    half, clients = done.transitions / 2, point.tasks
    off = RANDOM_SIGMAS * math.sqrt(clients * (point.objects + 1) / 12)
    if half + off + clients >= done.transitions:
        return None
    forward = done.forward * done.transitions
    return forward - clients <= half + off and forward >= half - off


def _transfer_size(point: Point, issued: Issued) -> Aspect:
    share = sum(each.share for each in issued.sizes if each.size == point.transfer_size)
    shown = ', '.join(f'{format_size(each.size)} ({100 * each.share:.0f} %)' for each in issued.sizes[:2]) or 'none'
    agrees = share >= NEARLY_ALL if point.transfer_size <= MOST_BYTES_A_CALL else None
    return Aspect('transfer size', format_size(point.transfer_size), shown, agrees)


def _calls(interface: str, collective: bool) -> str:
    return f'{interface}, {"collective" if collective else "independent"}'
