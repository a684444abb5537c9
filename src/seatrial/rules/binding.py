"""Rules for the cores that tasks may use, and sentences about them; a core is what the kernel counts as a CPU."""

from collections import Counter
from typing import Dict, List, Optional, Sequence, Tuple

from seatrial.model.hostlist import cores_of
from seatrial.model.record import BoundTasks, Sample
from seatrial.rules.case import CaseSeen, measured
from seatrial.rules.registry import CASE, rule
from seatrial.workload.words import binding_words, by_key, counted, listed

BIND = 'have the launcher bind tasks in its arguments in trial.yaml: srun --cpu-bind=cores, mpirun --bind-to core'


def shared_cores(places: Sequence[BoundTasks], of_job: int) -> Optional[str]:
    """Tasks of a launch that share cores though others have no task (P23). of_job: the number of cores of the job on
    its first node, assumed for each; 0: unknown."""
    for bound in places if of_job else ():
        allowed = [cores_of(each) for each in bound.cores]
        tasks, cores = len(allowed), max(of_job, len(frozenset().union(*allowed)))
        for own in sorted(set(allowed), key=len) if all(allowed) else ():
            sharing = sum(each <= own for each in allowed)
            busy = tasks - max(sharing - len(own), 0)
            if busy < min(tasks, cores):
                where = f'on {listed(bound.nodes)} {sharing} tasks share {counted(len(own), "core")}'
                return f'{where}, and {cores - busy} of {cores} have no task'
    return None


@rule(
    CASE,
    'label',
    'P23a',
    'Tasks may use as many cores on every node, and in every launch of a point',
    BIND,
    'a task that moves between cores, or shares one, is slower in some launches than in others',
)
def bound_alike(seen: CaseSeen) -> Optional[str]:
    samples = {id(each): each for own in measured(seen.plan, seen.records).values() for each in own}
    for label, own in by_key((each.point.label, each) for each in samples.values()).items():
        for sample in own:
            if len(_ways(sample)) > 1:
                places = '; '.join(f'{listed(nodes)}: {way}' for way, nodes in _ways(sample).items())
                return f'{sample.launch}: not all nodes are alike: {places}'
        ways = Counter(way for sample in own for way in _ways(sample))
        if len(ways) > 1:
            said = '; '.join(f'{way} in {counted(number, "launch", "launches")}' for way, number in ways.items())
            return f'{label}: not all launches are alike: {said}'
    return None


def binding(samples: Sequence[Sample]) -> Tuple[str, ...]:
    """A sentence for each way in which the tasks of these launches were bound, with the nodes."""
    found: Dict[str, List[str]] = {}
    for way, nodes in (each for sample in samples for each in _ways(sample).items()):
        found.setdefault(way, []).extend(nodes)
    return tuple(f'{way} ({listed(list(dict.fromkeys(nodes)))})' for way, nodes in found.items())


def _ways(sample: Sample) -> Dict[str, List[str]]:
    return by_key((binding_words(each.cores), node) for each in sample.bound for node in each.nodes)
