"""The figures of each component of an isolation sweep (node, OST, MDT), and the components to measure again. A sweep
over targets has one figure a target and launch. A node sweep has one a node in every launch: bytes of the node's
tasks over the longest of their times, once while all nodes work and once while the node's group works alone."""

from statistics import median
from types import MappingProxyType
from typing import Dict, Iterable, List, Mapping, NamedTuple, Sequence, Set, Tuple

from seatrial.model.layout import target_name
from seatrial.model.metric import HIGHER, Measurement, NodeTime
from seatrial.model.plan import TrialPlan
from seatrial.model.record import FLASH, Records
from seatrial.rules.outliers import suspects
from seatrial.workload.base import CACHED, COLD, UNKNOWN
from seatrial.workload.registry import metrics_of
from seatrial.workload.sweep import ALL_NODES
from seatrial.workload.words import by_key

CONFIRM = 'confirm'  # stage of samples of the second measurement

TOGETHER_WORDS, ALONE_WORDS = 'all together', 'in groups'
NO_KINDS: Mapping[str, str] = MappingProxyType({})


class PlaceComparison(NamedTuple):
    """Figures of equals that may be compared with each other, by metric and by how they were measured."""

    metric: str  # its name, with the cache state, 'read (cached)', where only some of it was read cold
    how: str  # TOGETHER_WORDS or ALONE_WORDS of a node sweep; the kind of targets, if there are several
    figures: Dict[str, List[float]]  # a figure of every repetition, by the name of the component


def by_node(measurement: Measurement) -> Measurement:
    """The measurement with its tasks reduced to one row a node: a sweep over thousands must stay readable."""
    tasks = by_key((short(task.host), task) for task in measurement.tasks)
    rows = []
    for host, of_host in sorted(tasks.items()):
        seconds, moved = [task.seconds for task in of_host], sum(task.bytes_moved for task in of_host)
        rows.append(NodeTime(host, len(of_host), moved, median(seconds), max(seconds)))
    return measurement._replace(tasks=(), nodes=tuple(rows))


def short(host: str) -> str:
    """A host's name without its domain: programs tell it with and without."""
    return host.partition('.')[0]


def first(plan: TrialPlan, records: Records) -> Tuple[PlaceComparison, ...]:
    """The comparisons of the first measurement: the valid samples that count."""
    return _comparisons(plan, records, 'measured', records.sized.number if records.sized else 0)


def second(plan: TrialPlan, records: Records) -> Tuple[PlaceComparison, ...]:
    """The comparisons of the second measurement, if any, in its last size; a node sweep has only one way of it."""
    sizings = [sample.sizing for sample in records.samples if sample.stage == CONFIRM]
    return _comparisons(plan, records, CONFIRM, max(sizings, default=0))


def suspected(plan: TrialPlan, records: Records) -> Dict[str, Tuple[str, ...]]:
    """The components that the first measurement suspects, by metric, the slowest first; in any way it was made."""
    by_metric: Dict[str, Dict[str, float]] = {}
    for comparison in first(plan, records):
        for one in suspects(comparison.figures):
            effects = by_metric.setdefault(comparison.metric, {})
            effects[one.name] = max(one.effect, effects.get(one.name, 0.0))
    return {metric: tuple(sorted(effects, key=lambda name: -effects[name])) for metric, effects in by_metric.items()}


def phases_again(plan: TrialPlan, suspicious: Iterable[str]) -> Tuple[str, ...]:
    """The launches of a repetition up to the last that gives a suspicious metric: later ones read earlier data."""
    metrics = {operation_of(metric) for metric in suspicious}
    shown = [metrics & {phase, *(m.name for p in plan.points for m in metrics_of(p, phase))} for phase in plan.phases]
    last = max((place for place, given in enumerate(shown) if given), default=-1)
    return plan.phases[: last + 1]


def alone(plan: TrialPlan, compared: Sequence[PlaceComparison]) -> Dict[str, Tuple[str, ...]]:
    """Components by metric that were measured often enough, but not beside others in the same way."""
    minimum = plan.stopping.minimum
    made: Dict[Tuple[str, str, str], int] = {}
    beside: Set[Tuple[str, str, str]] = set()
    for comparison in compared:
        keys = {name: (operation_of(comparison.metric), comparison.how, name) for name in comparison.figures}
        often = {keys[name] for name, figures in comparison.figures.items() if len(figures) >= minimum}
        beside |= often if len(often) > 1 else set()
        for name, figures in comparison.figures.items():
            made[keys[name]] = made.get(keys[name], 0) + len(figures)
    apart = sorted(key for key, count in made.items() if count >= minimum and key not in beside)
    by_metric = by_key((metric, name) for metric, _, name in apart)
    return {metric: tuple(dict.fromkeys(names)) for metric, names in by_metric.items()}


def operation_of(metric: str) -> str:
    """The metric without the state of the cache."""
    return metric.partition(' (')[0]


def kinds(plan: TrialPlan, records: Records) -> Mapping[str, str]:
    """The kind of each target by its name, if only some of them are flash; else NO_KINDS: they are equals."""
    rows = records.start.targets if records.start else ()
    flash = {target_name(row.kind, row.number) for row in rows if FLASH in row.flags}
    labels = [point.label for point in plan.points]
    if plan.axis.equals == 'node' or not 0 < sum(label in flash for label in labels) < len(labels):
        return NO_KINDS
    return {label: FLASH if label in flash else f'not {FLASH}' for label in labels}


def all_of(by_metric: Mapping[str, Tuple[str, ...]]) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in by_metric.values() for name in names))


def controlled(
    comparison: PlaceComparison, suspects: Sequence[str], everyone: Sequence[str]
) -> Dict[str, List[float]]:
    """Figures of these suspects and of components that no metric suspects, for only these are controls."""
    others = set(everyone) - set(suspects)
    return {name: values for name, values in comparison.figures.items() if name not in others}


def _comparisons(plan: TrialPlan, records: Records, stage: str, sizing: int) -> Tuple[PlaceComparison, ...]:
    """The comparisons of the valid samples of this stage and size."""
    by_way: Dict[Tuple[str, str], List[Tuple[str, float]]] = {}
    valid = [sample for sample in records.samples if sample.stage in ('measured', CONFIRM) and sample.valid]
    states = by_key((sample.phase, sample.cache) for sample in valid)
    kind, mixed = kinds(plan, records), {phase for phase, seen in states.items() if len(set(seen)) > 1}
    for sample in valid:
        if (sample.stage, sample.sizing) != (stage, sizing) or sample.measurement is None:
            continue
        # A figure from a cache says nothing of one that was fetched.
        state, label = _STATES[sample.cache] if sample.phase in mixed else '', sample.point.label
        if plan.axis.equals == 'node':
            how = '' if sample.stage == CONFIRM else TOGETHER_WORDS if label == ALL_NODES else ALONE_WORDS
            rows = [(sample.phase, how, node.host, node.bandwidth) for node in sample.measurement.nodes]
        else:
            figures, types = sample.figures, metrics_of(sample.point, sample.phase)
            # What is slow has a rate that is low.
            rates = [rate.name for rate in types if rate.better == HIGHER and rate.name in figures]
            rows = [(rate, kind.get(label, ''), label, figures[rate]) for rate in rates]
        for metric, way, name, figure in rows:
            by_way.setdefault((f'{metric}{state}', way), []).append((name, figure))
    return tuple(PlaceComparison(metric, how, by_key(pairs)) for (metric, how), pairs in by_way.items())


_STATES = {'': '', COLD: '', CACHED: ' (cached)', UNKNOWN: ' (cache unknown)'}
