"""The kinds of workload by name, and questions about a case that they answer."""

from typing import Dict, List, Optional, Sequence, Tuple

from seatrial.model.codec import FormError, from_json, to_json
from seatrial.model.metric import MetricType
from seatrial.model.plan import TrialPlan, metric
from seatrial.model.point import PART_OF, PARTS, Point
from seatrial.model.units import approximate_size
from seatrial.workload.access import Access, shared_whole
from seatrial.workload.ageing import Ageing
from seatrial.workload.base import MAX_TASKS, Entries, Kind, Phase
from seatrial.workload.bonnie import Bonnie
from seatrial.workload.burst import Burst
from seatrial.workload.checkpoint import Checkpoint
from seatrial.workload.contention import Contention
from seatrial.workload.devices import Devices
from seatrial.workload.interactive import Interactive
from seatrial.workload.io500 import Io500
from seatrial.workload.limits import WriteLimits
from seatrial.workload.listing import Listing
from seatrial.workload.operations import Operations
from seatrial.workload.random import Random
from seatrial.workload.reuse import Reuse
from seatrial.workload.scenario import Scenario
from seatrial.workload.semantics import Semantics
from seatrial.workload.training import Training
from seatrial.workload.tree import Tree
from seatrial.workload.words import counted, grouped

KINDS: Dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Access(),
        Checkpoint(),
        Training(),
        Burst(),
        Reuse(),
        Bonnie(),
        Random(),
        Tree(),
        Listing(),
        Operations(),
        Interactive(),
        Contention(),
        Semantics(),
        WriteLimits(),
        Scenario(),
        Ageing(),
        Io500(),
        Devices(),
    )
}


class UnknownKind(ValueError):
    """A point of a kind that is not registered here; the message names it, and the known ones."""


def kind_of(name: str) -> Kind:
    if name not in KINDS:
        raise UnknownKind(f"'{name}' is not a kind of workload; it can be {', '.join(KINDS)}")
    return KINDS[name]


def phase_of(point: Point, name: str) -> Phase:
    """The phase of that name, as the kind of the point has it. Raises UnknownKind and UnknownPhase."""
    return kind_of(point.kind).phase(name)


def phases_of(point: Point) -> Tuple[Phase, ...]:
    return tuple(phase_of(point, name) for name in point.phases)


def does(point: Point, what: str) -> bool:
    """True if a phase of the point does this: one of the words of workload/base.py."""
    return any(what in phase.does for phase in phases_of(point))


def form_fault(point: Point) -> Optional[str]:
    """A fault of form, as 'field: sentence', or None: a wrong type, another kind's parameter."""
    try:
        from_json(Point, to_json(point))
        kind = kind_of(point.kind)
    except UnknownKind as error:
        return f'kind: {error}'
    except FormError as error:
        return str(error)
    names = [phase.name for phase in kind.phases]
    if not point.phases or not set(point.phases) <= set(names) or len(set(point.phases)) < len(point.phases):
        return f'phases: {list(point.phases)}; {kind.words} has {", ".join(names)}, each once at most'
    if not 0 <= point.tasks <= MAX_TASKS:
        return f'tasks: {point.tasks} cannot be; write 1 to {MAX_TASKS}, or 0 for all of the allocation'
    needed = {PART_OF[name] for name in kind.parameters}
    for name, form in PARTS.items():
        part = getattr(point, name)
        if part is None and name in needed:
            return f'{name}: missing, and {kind.words} has parameters of it'
        for field, value, default in zip(form._fields, part or (), form()):
            if value != default and field not in kind.parameters:
                return f'{field}: {kind.words} has no such parameter'
        if part is not None and name not in needed:
            return f'{name}: {kind.words} has no parameters of it'
    return None


def fault_of(point: Point) -> Optional[str]:
    return form_fault(point) or kind_of(point.kind).fault(point)


def resized(points: Sequence[Point], share: int) -> List[Point]:
    """The points with this share of each task, where they scale. Raises ValueError for bytes that do not divide."""
    return [kind_of(point.kind).resized(point, share) for point in points]


def metrics_of(point: Point, phase: str) -> Tuple[MetricType, ...]:
    return kind_of(point.kind).metrics(point, phase)


def metrics_at(point: Point) -> Tuple[MetricType, ...]:
    return tuple(metric_type for phase in point.phases for metric_type in metrics_of(point, phase))


def planned_metrics(plan: TrialPlan) -> List[str]:
    """Every metric that a complete record has, as ReFrame names it: 'read@64KiB'."""
    return [metric(metric_type.name, point.label) for point in plan.points for metric_type in metrics_at(point)]


def kept(plan: TrialPlan) -> bool:
    """True if the files of the last repetition stay when the case ends (Phase.stays)."""
    return any(phase_of(point, point.phases[-1]).stays for point in plan.points)


def fills(point: Point) -> str:
    """The limit whose room the point fills (Phase.fills); empty: none."""
    return next(filter(None, (phase.fills for phase in phases_of(point))), '')


def hurts(point: Point) -> str:
    """Harm that the point does to others, before the name of a storage system (Phase.hurts)."""
    return next(filter(None, (phase.hurts for phase in phases_of(point))), '')


def exact_bytes(point: Point) -> Optional[int]:
    """Bytes that each task moves in one phase; None where its time ends it."""
    return None if kind_of(point.kind).by_time else point.data.bytes_per_task * point.data.passes


def entries_after(point: Point, phase: str) -> Entries:
    return Entries(0, 0, 0) if phase_of(point, phase).removes else kind_of(point.kind).entries(point)


def share_for(point: Point, working_set: int) -> int:
    """The share of a task with which all files together have at least working_set bytes; 0: no share does."""
    if not kind_of(point.kind).moves_data:
        return 0
    tasks = 1 if shared_whole(point) else point.tasks
    return -(-working_set // tasks)


def share_words(kind: Kind, share: int) -> str:
    """The share of each task in words: '64 MiB', '1000 files'."""
    if kind.share_unit == 'B':
        return approximate_size(share)
    return kind.no_share if not share else counted(share, kind.share_unit) if kind.share_unit else grouped(share)


def weight(point: Point) -> Tuple[int, int]:
    """Orders the points of a case: the smallest has the shortest timed region."""
    heavier = kind_of(point.kind).heavier
    value: int = point.value(heavier.lstrip('-')) if heavier else 0
    return point.tasks, -value if heavier.startswith('-') else value
