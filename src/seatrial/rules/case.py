"""Rules over the whole record of a case."""

from typing import Dict, List, NamedTuple, Optional

from seatrial.model.plan import TrialPlan, metric
from seatrial.model.record import Records, Sample
from seatrial.model.units import approximate_size
from seatrial.model.workload import Point, files_of, resized
from seatrial.rules.registry import CASE, rule


class CaseSeen(NamedTuple):
    """The plan of a case and everything that its job recorded."""

    plan: TrialPlan
    records: Records


def measured(records: Records) -> Dict[str, List[Sample]]:
    """The measured samples of each metric that count, in the order of their repetitions, valid or not.

    Those count that were taken with the last decided size.
    """
    by_metric: Dict[str, List[Sample]] = {}
    for sample in records.samples:
        if sample.stage == 'measured' and records.sized and sample.sizing == records.sized.number:
            by_metric.setdefault(metric(sample.operation, sample.point), []).append(sample)
    return by_metric


@rule(
    'T15',
    'The job wrote its own end record',
    CASE,
    'incomplete',
    "see the job's output in the records",
    'to ReFrame a job that is killed after printing its table is OK (seen)',
)
def job_ended(seen: CaseSeen) -> Optional[str]:
    end = seen.records.end
    if end is None:
        return (
            'the job died: it left no end record' if seen.records.start else 'the job never started: no record of it'
        )
    return None if end.reason == 'finished' else end.why


@rule(
    'T5',
    'Every planned point and metric was measured',
    CASE,
    'incomplete',
    'see the reason beside the points',
    'ReFrame 4.10 passes a case whose metric does not match (seen)',
)
def complete(seen: CaseSeen) -> Optional[str]:
    by_metric = measured(seen.records)
    missing = [name for name in seen.plan.metrics if not by_metric.get(name)]
    if not missing or seen.records.end is None or seen.records.end.reason != 'finished':
        return None
    return f'{len(missing)} of {len(seen.plan.metrics)} metrics were not measured ({", ".join(missing[:3])})'


@rule(
    'T14',
    'The first launch is a discarded warm-up on other files',
    CASE,
    'invalid',
    'the record was not made by the runner; measure again',
    'the first run after mkdir or mount can be 4x off the later ones (seen)',
)
def warmed_up(seen: CaseSeen) -> Optional[str]:
    stages = [sample.stage for sample in seen.records.samples]
    if 'measured' in stages and 'warmup' not in stages[: stages.index('measured')]:
        return 'no warm-up came before the first measured launch'
    return None


@rule(
    'P16',
    'A storage figure needs a long timed region and a working set that no cache holds',
    CASE,
    'label',
    'not a storage figure: use the profile acceptance and declare server_cache_bytes and fast_tier_bytes',
    'IO500; OSS caches, ARC, NVRAM and flash tiers hold terabytes',
)
def storage_figure(seen: CaseSeen) -> Optional[str]:
    plan, records = seen.plan, seen.records
    seconds = [s.measurement.seconds for each in measured(records).values() for s in each if s.measurement]
    if not seconds or records.start is None or records.sized is None:
        return None
    least = max(STORAGE_MIN_S, plan.sizing.min_s)
    if min(seconds) < least:
        return f'the shortest timed region lasted {min(seconds):.1f} s, less than {least:.0f} s'
    if plan.target.server_cache_bytes is None or plan.target.fast_tier_bytes is None:
        return 'server cache possible: its size is not declared'
    for point in (resized(each, plan.axis, records.sized.bytes_per_client) for each in plan.points):
        used = sum(file.size for file in files_of(plan.workload, point))
        needed = working_set(plan, point, records.start.memory_bytes)
        if used < needed:
            return (
                f'the working set of {point.label} is {approximate_size(used)}, less than {approximate_size(needed)}'
            )
    return None


STORAGE_MIN_S = 60.0


def working_set(plan: TrialPlan, point: Point, memory_bytes: int) -> int:
    """Bytes that no cache between client and disk can hold: twice the clients' memory plus the declared tiers.

    Rule P16; memory_bytes is one node's. Undeclared tiers count as nothing, and P16 says so.
    """
    tiers = (plan.target.server_cache_bytes or 0) + (plan.target.fast_tier_bytes or 0)
    return 2 * point.nodes * memory_bytes + tiers
