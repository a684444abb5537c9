"""Rules over the whole record of a case."""

import hashlib
import itertools
from collections import Counter
from functools import partial
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.model.layout import DATA_TARGETS, target_kind, target_name
from seatrial.model.plan import Target, TrialPlan, digest, metric
from seatrial.model.point import Point
from seatrial.model.record import Records, Sample
from seatrial.model.state import unread
from seatrial.model.units import approximate_size
from seatrial.rules.registry import CASE, finding, rule
from seatrial.rules.stopping import state
from seatrial.workload.registry import kind_of, metrics_at, metrics_of, planned_metrics
from seatrial.workload.words import binding_words, by_key, counted, joined, listed

_incomplete, _invalid, _label = (partial(rule, CASE, effect) for effect in ('incomplete', 'invalid', 'label'))


class CaseSeen(NamedTuple):
    """The plan of a case and everything that its job recorded."""

    plan: TrialPlan
    records: Records


def measured(plan: TrialPlan, records: Records) -> Dict[str, List[Sample]]:
    """The measured samples of each metric that count, valid or not, in the order of their repetitions: those at a
    point of the plan, with the last decided size. A launch with several metrics is a sample of each."""
    labels = {point.label for point in plan.points}
    number = records.sized.number if records.sized else None
    return by_key(
        (metric(metric_type.name, sample.point.label), sample)
        for sample in records.samples
        if sample.stage == 'measured' and sample.sizing == number
        if sample.point.label in labels and sample.phase in plan.phases
        for metric_type in metrics_of(sample.point, sample.phase)
    )


def cut_off(records: Records) -> bool:
    """True if the job did not come to its own end, so that others must be asked why."""
    return records.end is None or records.end.reason == 'interrupted'


_label(
    'T14a: The warm-up is as long as is meant',
    'give the trial a larger budget in trial.yaml',
    'the size of the measured launches is extrapolated from the last of the warm-up',
)


@_incomplete(
    'T15: The job wrote its own end record',
    "see the job's output in the records",
    'to ReFrame a job that is killed after printing its table is OK (seen)',
)
def job_ended(seen: CaseSeen) -> Optional[str]:
    end, job_state = seen.records.end, seen.records.job_state
    if not cut_off(seen.records):
        if end is None or end.reason == 'finished' or end.findings:
            return None
        # What is said of a measured launch is a reason of its metric already.
        samples = itertools.chain.from_iterable(measured(seen.plan, seen.records).values())
        given_up = any(breach.rule == 'E2' for sample in samples for breach in sample.findings)
        return 'a launch was given up: E2 says why' if given_up else end.why
    if end is not None:
        why = end.why
    elif seen.records.start is not None:
        why = 'the job died: it left no end record'
    else:
        # A job that Slurm has started may have left no record all the same: its node lacks Python, say.
        why = 'the job left no record' if job_state else 'the job never started: no record of it'
    return f'{why}; {job_state}' if job_state else why


@_invalid(
    'R1: The record is that of this plan',
    'measure again; records and plans are not exchanged',
    'a figure without the conditions that it was measured under proves nothing',
)
def of_this_plan(seen: CaseSeen) -> Optional[str]:
    start = seen.records.start
    if start is None:
        return 'there are samples and no start record' if seen.records.samples else None
    return None if start.plan == digest(seen.plan) else 'the record was made with another plan'


@_incomplete(
    'R2: No line of the record is damaged',
    'what stood in them is lost; measure again',
    'a lost line is a lost sample, and perhaps the one that failed',
)
def undamaged(seen: CaseSeen) -> Optional[str]:
    truncated = seen.records.truncated
    return f'{counted(truncated, "line")} of the record cannot be read' if truncated else None


@_invalid(
    'R4: Each line of the record follows from the line before it',
    'measure again; `seatrial verify` says which figures the raw output contradicts',
    'each line has the SHA-256 of the one before it and of itself; before, an edited record was a PASS (tried)',
)
def unchanged(seen: CaseSeen) -> Optional[str]:
    broken = seen.records.broken
    return f'{broken} of samples.jsonl, or what stood before it, was changed after it was written' if broken else None


@_label('R4a: The record has a chain, by which a later change is seen', 'measure again with this Seatrial', 'R4')
def chained(seen: CaseSeen) -> Optional[str]:
    bare = seen.records.samples and seen.records.chain == ''
    return 'no line of the record has a link to the one before it' if bare else None


@_invalid(
    'R3: The samples are all there, once each, and the repetitions ended when the stopping rule says',
    'the record was changed after the job, or Seatrial has a fault; measure again',
    'a verdict is computed from the samples and from no summary of them',
)
def consistent(seen: CaseSeen) -> Optional[str]:
    end, sized = seen.records.end, seen.records.sized
    if end is None or end.reason != 'finished' or sized is None:
        return None
    by_metric = measured(seen.plan, seen.records)
    for point in seen.plan.points:
        names = [metric_type.name for metric_type in metrics_at(point)]
        columns = {name: by_metric.get(metric(name, point.label), []) for name in names}
        try:
            decided: Optional[Point] = kind_of(point.kind).resized(point, sized.per_task)
        except ValueError:
            decided = None  # no point can have that share
        for name, samples in columns.items():
            where = metric(name, point.label)
            if [sample.repetition for sample in samples] != list(range(len(samples))):
                return f'{where}: the repetitions are not numbered 1 to {len(samples)} without a gap'
            if any(sample.point != decided for sample in samples):
                return f'{where}: a sample was taken at another point than was decided'
            if any(sample.valid_for(name) and sample.exit_status != 0 for sample in samples):
                return f'{where}: a sample is said to be valid although the engine failed'
            given = [{**sample.figures, **sample.censored} for sample in samples if sample.valid_for(name)]
            if any(name not in figures for figures in given):
                return f'{where}: a sample is said to be valid and lacks the figure'
        fault = _stop_fault(seen.plan, point, columns, end.stopped.get(point.label, ''))
        if fault is not None:
            return f'{point.label}: {fault}'
    return None


def _stop_fault(plan: TrialPlan, point: Point, columns: Dict[str, List[Sample]], reason: str) -> Optional[str]:
    samples = [sample for column in columns.values() for sample in column]
    if not all(columns.values()):
        return None  # a phase that was never measured is T5's
    if reason == 'invalid':
        return 'it is said to be invalid, and every sample is valid' if all(s.valid for s in samples) else None
    steering = [metric_type.name for metric_type in metrics_at(point) if metric_type.steers]
    values = {
        name: [sample.figures[name] for sample in columns[name]]
        for name in steering
        if all(sample.valid_for(name) for sample in columns[name])
    }
    if not values:
        return f'no figure is valid, and the point is said to be {reason or "unfinished"}'
    now = state(values, plan.stopping)
    if reason == 'budget':
        return None if now.action != 'done' else 'it was done, and is said to have run out of time'
    if (now.action, now.reason) == ('done', reason):
        return None
    actual = now.reason if now.action == 'done' else 'not done'
    return f'by the stopping rule it is {actual}, and it is said to be {reason or "unfinished"}'


def in_random_order(labels: Iterable[str], seed: int, sizing: int, block: int) -> List[str]:
    """The points of a randomised block in their order; a part of them keeps that order (rule P7)."""
    seeded = hashlib.sha256(f'{seed} {sizing} {block} '.encode()).digest()
    return sorted(labels, key=lambda label: hashlib.sha256(seeded + label.encode('utf-8', 'surrogatepass')).digest())


@_invalid(
    'P7: Each block has the points once, in the random order that the seed of the plan gives',
    'the record was not made by the runner; measure again',
    'Hoefler and Belli SC15: what drifts meanwhile then looks like noise, and not like a difference between points',
)
def randomised(seen: CaseSeen) -> Optional[str]:
    if of_this_plan(seen) or seen.records.chain == '':
        return None  # another plan has another seed, and a record of before the chain another way to draw
    launches = [(s.sizing, s.block, s.point.label) for s in seen.records.samples if s.stage == 'measured']
    blocks = [(key, list(members)) for key, members in itertools.groupby(launches, lambda launch: launch[:2])]
    keys = [key for key, _ in blocks]
    if keys != sorted(set(keys)):
        return 'the blocks of repetitions do not follow each other'
    for (sizing, block), members in blocks:
        labels = [label for label, _ in itertools.groupby(label for _, _, label in members)]
        if labels != in_random_order(set(labels), seen.plan.seed, sizing, block):
            return f'block {block + 1} has the points in another order: {listed(labels)}'
    return None


@_label(
    'P8: What others move meanwhile is known, and is little',
    'let telemetry in trial.yaml print it; repeat a FAIL in another allocation before it is final',
    'TOKIO: only the servers see the background load',
)
def little_background(seen: CaseSeen) -> Optional[str]:
    plan, end = seen.plan, seen.records.end
    if plan.stopping.fixed or end is None or end.reason != 'finished':
        return None
    if len(end.background) < len(ASKED):
        why = 'the command prints no number' if plan.target.telemetry else 'trial.yaml names no source'
        return f'background load unknown: {why}'
    most = max(end.background.values())
    launches = [sample.measurement for of_metric in measured(plan, seen.records).values() for sample in of_metric]
    rates = [launch.bytes_moved / launch.seconds for launch in launches if launch and launch.seconds]
    if most <= plan.stopping.max_relative_error * min(rates, default=0.0):
        return None
    return f'the servers moved {approximate_size(int(most))}/s while nothing of the case ran'


ASKED = ('before', 'after')  # the site's command is asked for the background load while nothing of the case runs


@_incomplete(
    'T5: Every planned point and metric was measured',
    'if time is why, give the trial a larger budget in trial.yaml; else see the reason beside the points',
    'ReFrame 4.10 passes a case whose metric does not match (seen)',
)
def complete(seen: CaseSeen) -> Optional[str]:
    by_metric = measured(seen.plan, seen.records)
    # Of a target that could not be tested its first metric says so.
    untested = {
        sample.point.label
        for samples in by_metric.values()
        for sample in samples
        if any(breach.effect == 'incomplete' for breach in sample.findings)
    }
    planned = planned_metrics(seen.plan)
    tested = [name for name in planned if name.partition('@')[2] not in untested]
    missing = [name for name in tested if not by_metric.get(name)]
    if not missing or seen.records.end is None or seen.records.end.reason != 'finished':
        return None
    stopped = seen.records.end.stopped
    out_of_time = all(stopped.get(name.partition('@')[2]) == 'budget' for name in missing)
    when = ' before the time budget was exhausted' if out_of_time else ''
    return f'{len(missing)} of {len(planned)} metrics were not measured{when} ({", ".join(missing[:3])})'


@_label(
    'C1: The sweep has all of its points',
    'in trial.yaml, raise nodes or max_tasks of the trial, tasks_per_node of the partition, or limits',
    'a curve of two points shows no trend',
)
def whole_sweep(seen: CaseSeen) -> Optional[str]:
    plan = seen.plan
    if not plan.left_out or plan.points[0].layout is not None:
        return None
    return f'not all {plan.axis.plural} fit; left out: {listed(plan.left_out)}'


@_label(
    'C1a: The file system has targets for every layout of the sweep',
    'if the file system has more, correct its osts in trial.yaml',
    'a layout over more targets than there are is another layout',
)
def every_layout(seen: CaseSeen) -> Optional[str]:
    plan = seen.plan
    if not plan.left_out or plan.points[0].layout is None:
        return None
    if plan.target.osts is None:
        return f'{plan.target.type} has no such layout: {listed(plan.left_out)}, left out'
    return f'{counted(plan.target.osts, "OST")} are too few for {listed(plan.left_out)}, left out'


@_incomplete(
    'C2: Every target on which new files can lie was tested, unless trial.yaml leaves it out',
    'correct osts, mdts, bricks or storage_targets in trial.yaml, or list there those that are to be tested',
    'a target that nobody counted may be the slow one',
)
def every_target(seen: CaseSeen) -> Optional[str]:
    plan, start = seen.plan, seen.records.start
    if start is None or plan.axis.equals in plan.target.listed:
        return None
    lost = left_untested(plan, seen.records)
    return f'not tested, although files go there: {listed(lost)}' if lost else None


def left_untested(plan: TrialPlan, records: Records) -> Tuple[str, ...]:
    """Targets that take new files, for which a sweep over targets of their kind has no point."""
    points = {point.label for point in plan.points}
    rows = records.start.targets if records.start else ()
    names = [target_name(row.kind, row.number) for row in rows if row.kind == plan.axis.equals and row.takes_files]
    return tuple(name for name in names if name not in points)


@_invalid(
    'T14: The first launch is a discarded warm-up on other files, unless one launch decides',
    'the record was not made by the runner; measure again',
    'the first run after mkdir or mount can be 4x off the later ones (seen)',
)
def warmed_up(seen: CaseSeen) -> Optional[str]:
    if kind_of(seen.plan.kind).once:
        return None
    stages = [sample.stage for sample in seen.records.samples]
    if 'measured' in stages and 'warmup' not in stages[: stages.index('measured')]:
        return 'no warm-up came before the first measured launch'
    return None


@_label(
    'P16: A storage figure needs a long timed region and a working set that no cache holds',
    'not a storage figure',
    'IO500; OSS caches, ARC, NVRAM and flash tiers hold terabytes',
)
def storage_figure(seen: CaseSeen) -> Optional[str]:
    plan, records = seen.plan, seen.records
    if not kind_of(plan.kind).moves_data:
        return None  # no cache of data answers for metadata servers: T4 says what a client's did, P16a the rest
    samples = [sample for of_metric in measured(plan, records).values() for sample in of_metric]
    seconds = [sample.measurement.seconds for sample in samples if sample.measurement]
    if not seconds or records.start is None:
        return None
    min_s = max(STORAGE_MIN_S, plan.sizing.min_s)
    if min(seconds) < min_s:
        return f'the shortest timed region lasted {min(seconds):.1f} s, less than {min_s:.0f} s; {_more_bytes(plan)}'
    if _undeclared(plan.target):
        return _undeclared(plan.target)
    for point in dict.fromkeys(sample.point for sample in samples):
        used = files_bytes(point)
        needed = working_set(plan, point, records.start.memory_bytes)
        if used < needed:
            sizes = f'{approximate_size(used)}, less than {approximate_size(needed)}'
            return f'the working set of {point.label} is {sizes}; {_more_bytes(plan)}'
    return None


def _more_bytes(plan: TrialPlan) -> str:
    """A remedy that gives a launch more bytes and is not applied yet."""
    if plan.sizing.pinned is not None:
        return 'leave bytes_per_task to the profile acceptance'
    if plan.profile != 'acceptance':
        return 'measure in the profile acceptance'
    return 'raise limits of the file system, or the budget of the trial, in trial.yaml'


def _undeclared(target: Target) -> str:
    """A sentence if servers may answer from memory because trial.yaml does not say how much they keep; or empty."""
    sizes = {'server_cache_bytes': target.server_cache_bytes, 'fast_tier_bytes': target.fast_tier_bytes}
    names = [name for name, size in sizes.items() if size is None]
    if not names:
        return ''
    return f'server cache possible: {joined(names, "and")} {"is" if len(names) == 1 else "are"} not in trial.yaml'


_label(
    'P16a: A metadata rate that a contract or a criterion is decided by comes from long phases',
    'no valid result: leave files_per_task to the profile acceptance, or raise it in trial.yaml',
    'IO500 asks for phases of minutes; a short one is of the memory of the servers alone',
)


def hidden_by_servers(plan: TrialPlan, records: Records) -> Optional[str]:
    """The reason why a slow target may hide behind the cache of its server (P16), or None; None for other
    sweeps. The declared server caches are assumed to be shared evenly by the servers that are seen."""
    target = plan.target
    samples = [sample for of_metric in measured(plan, records).values() for sample in of_metric]
    if plan.axis.equals not in DATA_TARGETS or not kind_of(plan.kind).moves_data or not samples:
        return None
    if target.server_cache_bytes is None or target.fast_tier_bytes is None:
        return _undeclared(target)
    known = records.start.servers if records.start else {}
    servers = {server for name, server in known.items() if target_kind(name) == plan.axis.equals}
    kept = target.server_cache_bytes // max(1, len(servers)) + target.fast_tier_bytes
    given = min(sample.point.bytes_moved for sample in samples)
    if given >= kept:
        return None
    return (
        f'a server may keep {approximate_size(kept)}, and a target is given {approximate_size(given)}; '
        f'give the trial more bytes_per_task'
    )


def short_phase(samples: Sequence[Sample], name: str) -> Optional[str]:
    """The reason why a metadata rate was timed too briefly for a contract (P16a), or None."""
    known = (seconds_of(sample, name) for sample in samples)
    seconds = [duration_s for duration_s in known if duration_s is not None]
    if not seconds or min(seconds) >= PHASE_MIN_S:
        return None
    return finding('P16a', f'the shortest {name} lasted {min(seconds):.2g} s, less than {PHASE_MIN_S:g} s').sentence


def seconds_of(sample: Sample, name: str) -> Optional[float]:
    """Seconds of the timed region of a metric; None for one that was not timed."""
    figure = sample.measurement.metric(name) if sample.measurement else None
    return figure.seconds if figure and figure.unit else None


STORAGE_MIN_S = 60.0
PHASE_MIN_S = 7.5  # seconds of a metadata phase: a quarter of the shortest one in the profile acceptance


def files_bytes(point: Point) -> int:
    return sum(file.size for file in kind_of(point.kind).files(point))


def working_set(plan: TrialPlan, point: Point, memory_bytes: int) -> int:
    """Bytes that no cache between client and disk can hold (rule P16): twice the clients' memory plus the declared
    tiers. memory_bytes is one node's. Undeclared tiers count as nothing, and P16 says so."""
    tiers = (plan.target.server_cache_bytes or 0) + (plan.target.fast_tier_bytes or 0)
    return 2 * point.nodes * memory_bytes + tiers


BIND = 'have the launcher bind tasks in its arguments in trial.yaml: srun --cpu-bind=cores, mpirun --bind-to core'


@_label(
    'P23a: Tasks may use as many cores on every node, and in every launch of a point',
    BIND,
    'a task that moves between cores, or shares one, is slower in some launches than in others',
)
def bound_alike(seen: CaseSeen) -> Optional[str]:
    samples = {id(sample): sample for launches in measured(seen.plan, seen.records).values() for sample in launches}
    for label, launches in by_key((sample.point.label, sample) for sample in samples.values()).items():
        for sample in launches:
            if len(_ways(sample)) > 1:
                places = '; '.join(f'{listed(nodes)}: {way}' for way, nodes in _ways(sample).items())
                return f'{sample.launch}: not all nodes are alike: {places}'
        ways = Counter(way for sample in launches for way in _ways(sample))
        if len(ways) > 1:
            counts = '; '.join(f'{way} in {counted(number, "launch", "launches")}' for way, number in ways.items())
            return f'{label}: not all launches are alike: {counts}'
    return None


@_label(
    'P22b: The settings of the file system are read before the first launch and after the last one',
    'see to what the reason names, such as a server that is down, and measure again',
    'a setting that was not read may have changed meanwhile; a BeeGFS that was slow to answer looked changed (seen)',
)
def settings_are_read(seen: CaseSeen) -> Optional[str]:
    start, end = seen.records.start, seen.records.end
    if start is None or end is None or not (start.state and end.state):
        return None
    when = {
        'before the first launch': unread(start.state, end.state),
        'after the last one': unread(end.state, start.state),
    }
    gaps = [f'{key} {moment} ({reason})' for moment, reasons in when.items() for key, reason in reasons.items()]
    return f'not read: {listed(gaps)}' if gaps else None


def binding(samples: Sequence[Sample]) -> Tuple[str, ...]:
    """A sentence for each way in which the tasks of these launches were bound, with the nodes."""
    ways = (item for sample in samples for item in _ways(sample).items())
    nodes_by_way = by_key((way, node) for way, nodes in ways for node in nodes)
    return tuple(f'{way} ({listed(list(dict.fromkeys(nodes)))})' for way, nodes in nodes_by_way.items())


def _ways(sample: Sample) -> Dict[str, List[str]]:
    return by_key((binding_words(tasks.cores), node) for tasks in sample.bound for node in tasks.nodes)
