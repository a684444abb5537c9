"""Rules over the whole record of a case."""

from typing import Dict, List, NamedTuple, Optional

from seatrial.model.namespace import Namespace
from seatrial.model.plan import TrialPlan, digest, metric
from seatrial.model.record import Records, Sample
from seatrial.model.units import approximate_size
from seatrial.model.workload import Point, files_of, resized
from seatrial.rules.registry import CASE, rule
from seatrial.rules.stopping import state


class CaseSeen(NamedTuple):
    """The plan of a case and everything that its job recorded."""

    plan: TrialPlan
    records: Records


def measured(plan: TrialPlan, records: Records) -> Dict[str, List[Sample]]:
    """The measured samples of each metric that count, in the order of their repetitions, valid or not.

    Those count that were taken with the last decided size, and at a point of the plan. A launch with several metrics
    is a sample of each.
    """
    points = {point.label: point for point in plan.points}
    by_metric: Dict[str, List[Sample]] = {}
    for sample in records.samples:
        counts = sample.stage == 'measured' and records.sized and sample.sizing == records.sized.number
        if counts and sample.point in points and sample.operation in plan.workload.operations:
            for name in plan.measures(sample.operation, points[sample.point]):
                by_metric.setdefault(metric(name, sample.point), []).append(sample)
    return by_metric


def cut_off(records: Records) -> bool:
    """Whether the job did not come to its own end, so that others must be asked why."""
    return records.end is None or records.end.reason == 'interrupted'


@rule(
    'T15',
    'The job wrote its own end record',
    CASE,
    'incomplete',
    "see the job's output in the records",
    'to ReFrame a job that is killed after printing its table is OK (seen)',
)
def job_ended(seen: CaseSeen) -> Optional[str]:
    end, fate = seen.records.end, seen.records.fate
    if not cut_off(seen.records):
        return None if end is None or end.reason == 'finished' else end.why
    if end is not None:
        said = end.why
    elif seen.records.start is not None:
        said = 'the job died: it left no end record'
    else:
        # A job that Slurm has started may have left no record all the same: its node lacks Python, say.
        said = 'the job left no record' if fate else 'the job never started: no record of it'
    return f'{said}; {fate}' if fate else said


@rule(
    'R1',
    'The record is that of this plan',
    CASE,
    'invalid',
    'measure again; records and plans are not exchanged',
    'a figure without the conditions that it was measured under proves nothing',
)
def of_this_plan(seen: CaseSeen) -> Optional[str]:
    start = seen.records.start
    if start is None:
        return 'there are samples and no start record' if seen.records.samples else None
    return None if start.plan == digest(seen.plan) else 'the record was made with another plan'


@rule(
    'R2',
    'No line of the record is damaged',
    CASE,
    'incomplete',
    'what stood in them is lost; measure again',
    'a lost line is a lost sample, and perhaps the one that failed',
)
def undamaged(seen: CaseSeen) -> Optional[str]:
    torn = seen.records.torn
    return None if torn == 0 else f'{torn} line{"s" if torn > 1 else ""} of the record cannot be read'


@rule(
    'R3',
    'The samples are all there, once each, and the repetitions ended when the stopping rule says',
    CASE,
    'invalid',
    'the record was changed after the job, or Seatrial has a fault; measure again',
    'a verdict is computed from the samples and believes no summary of them',
)
def consistent(seen: CaseSeen) -> Optional[str]:
    end, sized = seen.records.end, seen.records.sized
    if end is None or end.reason != 'finished' or sized is None:
        return None
    by_metric = measured(seen.plan, seen.records)
    for point in seen.plan.points:
        names = [name for each in seen.plan.workload.operations for name in seen.plan.measures(each, point)]
        columns = {name: by_metric.get(metric(name, point.label), []) for name in names}
        for name, samples in columns.items():
            where = metric(name, point.label)
            if [sample.repetition for sample in samples] != list(range(len(samples))):
                return f'{where}: the repetitions are not numbered 1 to {len(samples)} without a gap'
            if any(sample.per_client != sized.per_client for sample in samples):
                return f'{where}: a sample has another share of each client than was decided'
            if any(sample.valid and sample.exit_status != 0 for sample in samples):
                return f'{where}: a sample is called valid although the engine failed'
            if any(sample.valid and name not in sample.figures for sample in samples):
                return f'{where}: a sample is called valid and lacks the figure'
        fault = _stop_fault(seen.plan, columns, end.stopped.get(point.label, ''))
        if fault is not None:
            return f'{point.label}: {fault}'
    return None


def _stop_fault(plan: TrialPlan, columns: Dict[str, List[Sample]], said: str) -> Optional[str]:
    samples = [sample for column in columns.values() for sample in column]
    if not all(columns.values()):
        return None  # an operation that was never measured is T5's
    if said == 'invalid':
        return 'it is said to be invalid, and every sample is valid' if all(s.valid for s in samples) else None
    if any(not sample.valid for sample in samples):
        return f'a sample is invalid, and the point is said to be {said or "unfinished"}'
    values = {name: [sample.figures[name] for sample in column] for name, column in columns.items()}
    now = state(values, plan.stopping)
    if said == 'budget':
        return None if now.action != 'done' else 'it was done, and is said to have run out of time'
    if (now.action, now.reason) == ('done', said):
        return None
    found = now.reason if now.action == 'done' else 'not done'
    return f'by the stopping rule it is {found}, and it is said to be {said or "unfinished"}'


@rule(
    'T5',
    'Every planned point and metric was measured',
    CASE,
    'incomplete',
    'see the reason beside the points',
    'ReFrame 4.10 passes a case whose metric does not match (seen)',
)
def complete(seen: CaseSeen) -> Optional[str]:
    by_metric = measured(seen.plan, seen.records)
    missing = [name for name in seen.plan.metrics if not by_metric.get(name)]
    if not missing or seen.records.end is None or seen.records.end.reason != 'finished':
        return None
    return f'{len(missing)} of {len(seen.plan.metrics)} metrics were not measured ({", ".join(missing[:3])})'


@rule(
    'C1',
    'The sweep has all of its points',
    CASE,
    'label',
    'give the case more nodes, or the partition more tasks a node, in trial.yaml',
    'a curve of two points shows no trend',
)
def whole_sweep(seen: CaseSeen) -> Optional[str]:
    left = seen.plan.left_out
    if not left:
        return None
    return f'{len(left)} values of the sweep over {seen.plan.axis} do not fit ({", ".join(map(str, left[:8]))})'


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
    if isinstance(plan.workload, Namespace):
        return None  # no cache of bytes answers for the servers of names; P2a says what a client's did
    seconds = [s.measurement.seconds for each in measured(plan, records).values() for s in each if s.measurement]
    if not seconds or records.start is None or records.sized is None:
        return None
    least = max(STORAGE_MIN_S, plan.sizing.min_s)
    if min(seconds) < least:
        return f'the shortest timed region lasted {min(seconds):.1f} s, less than {least:.0f} s'
    if plan.target.server_cache_bytes is None or plan.target.fast_tier_bytes is None:
        return 'server cache possible: its size is not declared'
    plain = [point for point in plan.points if isinstance(point, Point)]
    for point in (resized(each, plan.axis, records.sized.per_client) for each in plain):
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
