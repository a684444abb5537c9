"""What a record says of each place of an isolation sweep (node, OST, MDT), and which have to be measured again.

A sweep over targets has one figure a place and launch. A node sweep has one a node in every launch: bytes of the
node's clients over the longest of their times, once while all nodes work and once while the node's group works alone.
"""

from types import MappingProxyType
from typing import Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple

from seatrial.model.layout import target_name
from seatrial.model.plan import TrialPlan
from seatrial.model.record import FLASH, JobTime, Measurement, NodeTime, Records, Sample
from seatrial.model.workload import TOGETHER
from seatrial.rules.outliers import suspects

CONFIRM = 'confirm'
"""The stage of samples of the second measurement."""

TOGETHER_WORDS, ALONE_WORDS = 'all together', 'in groups'


NO_KINDS: Mapping[str, str] = MappingProxyType({})


class Comparison(NamedTuple):
    """Figures of equals that may be compared with each other, by metric and by how they were measured.

    metric: where some of it was read cold and some not, with the state of the cache: 'read (cached)' is another one
    how: TOGETHER_WORDS or ALONE_WORDS of a node sweep; of targets their kind, where there are several
    figures: of every repetition, by the name of the place
    """

    metric: str
    how: str
    figures: Dict[str, List[float]]


def by_node(measurement: Measurement) -> Measurement:
    """The measurement with its clients reduced to one row a node: a sweep over thousands must stay readable."""
    jobs: Dict[str, List[JobTime]] = {}
    for job in measurement.jobs:
        jobs.setdefault(short(job.host), []).append(job)
    return measurement._replace(jobs=(), nodes=tuple(_node_time(host, own) for host, own in sorted(jobs.items())))


def short(host: str) -> str:
    """A host's name without its domain: programs tell it with and without."""
    return host.partition('.')[0]


def first(plan: TrialPlan, records: Records) -> Tuple[Comparison, ...]:
    """What the first measurement compares: the valid samples that count."""
    number = records.sized.number if records.sized else 0
    return _comparisons(plan, records, [s for s in records.samples if s.stage == 'measured' and s.sizing == number])


def second(plan: TrialPlan, records: Records) -> Tuple[Comparison, ...]:
    """What the second measurement compares, if there was one; a node sweep has no ways of it."""
    return _comparisons(plan, records, [sample for sample in records.samples if sample.stage == CONFIRM])


def suspected(plan: TrialPlan, records: Records) -> Dict[str, Tuple[str, ...]]:
    """The places that the first measurement suspects, by metric, the slowest first; those in any way it was made."""
    found: Dict[str, Dict[str, float]] = {}
    for each in first(plan, records):
        for one in suspects(each.figures):
            own = found.setdefault(each.metric, {})
            own[one.name] = max(one.effect, own.get(one.name, 0.0))
    return {metric: tuple(sorted(own, key=lambda name: -own[name])) for metric, own in found.items()}


def alone(plan: TrialPlan, compared: Sequence[Comparison]) -> Dict[str, Tuple[str, ...]]:
    """By operation the places that were measured often enough, and not beside others in the same way."""
    least = plan.stopping.least
    made: Dict[Tuple[str, str, str], int] = {}
    beside: Set[Tuple[str, str, str]] = set()
    for each in compared:
        keys = {name: (operation_of(each.metric), each.how, name) for name in each.figures}
        often = {keys[name] for name, figures in each.figures.items() if len(figures) >= least}
        beside |= often if len(often) > 1 else set()
        for name, figures in each.figures.items():
            made[keys[name]] = made.get(keys[name], 0) + len(figures)
    found: Dict[str, List[str]] = {}
    for operation, _, name in sorted(key for key, count in made.items() if count >= least and key not in beside):
        found.setdefault(operation, []).append(name)
    return {operation: tuple(dict.fromkeys(names)) for operation, names in found.items()}


def operation_of(metric: str) -> str:
    """The metric without the state of the cache."""
    return metric.partition(' (')[0]


def kinds(plan: TrialPlan, records: Records) -> Mapping[str, str]:
    """Of each target by its name, where some are flash and others are not; else NO_KINDS: they are equals."""
    rows = records.start.targets if records.start else ()
    flash = {target_name(row.kind, row.number) for row in rows if FLASH in row.flags}
    own = [point.label for point in plan.points]
    if plan.axis == 'group' or not 0 < sum(label in flash for label in own) < len(own):
        return NO_KINDS
    return {label: FLASH if label in flash else f'not {FLASH}' for label in own}


def all_of(by_metric: Dict[str, Tuple[str, ...]]) -> Tuple[str, ...]:
    """Every suspect once."""
    return tuple(dict.fromkeys(name for names in by_metric.values() for name in names))


def controlled(comparison: Comparison, suspects: Sequence[str], everyone: Sequence[str]) -> Dict[str, List[float]]:
    """The figures of these suspects and of what nobody suspects: what is slow in another metric is no control."""
    others = set(everyone) - set(suspects)
    return {name: values for name, values in comparison.figures.items() if name not in others}


def _comparisons(plan: TrialPlan, records: Records, samples: Sequence[Sample]) -> Tuple[Comparison, ...]:
    found: Dict[Tuple[str, str], Dict[str, List[float]]] = {}
    kind, mixed = kinds(plan, records), _mixed(records)
    for sample in samples:
        if not sample.valid:
            continue
        # A figure from a cache says nothing of one that was fetched.
        state = _STATES[sample.cache] if sample.operation in mixed else ''
        if plan.axis == 'group':
            how = '' if sample.stage == CONFIRM else TOGETHER_WORDS if sample.point == TOGETHER else ALONE_WORDS
            assert isinstance(sample.measurement, Measurement)
            for node in sample.measurement.nodes:
                own = found.setdefault((f'{sample.operation}{state}', how), {})
                own.setdefault(node.host, []).append(node.bandwidth)
        else:
            for metric, figure in sample.figures.items():
                own = found.setdefault((f'{metric}{state}', kind.get(sample.point, '')), {})
                own.setdefault(sample.point, []).append(figure)
    return tuple(Comparison(metric, how, figures) for (metric, how), figures in found.items())


_STATES = {'': '', 'cold': '', 'cached': ' (cached)', 'unknown': ' (cache unknown)'}


def _mixed(records: Records) -> Set[str]:
    """The operations that were not read in one state of the cache."""
    seen: Dict[str, Set[str]] = {}
    for sample in records.samples:
        if sample.stage in ('measured', CONFIRM) and sample.valid:
            seen.setdefault(sample.operation, set()).add(sample.cache)
    return {operation for operation, states in seen.items() if len(states) > 1}


def _node_time(host: str, jobs: Sequence[JobTime]) -> NodeTime:
    seconds = sorted(job.seconds for job in jobs)
    half = len(seconds) // 2
    median = seconds[half] if len(seconds) % 2 else (seconds[half - 1] + seconds[half]) / 2
    return NodeTime(host, len(jobs), sum(job.bytes_moved for job in jobs), median, seconds[-1])
