"""Makes the trial plan of a case from the check's declaration and the site."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import seatrial
from seatrial.check.declared import Declared
from seatrial.check.session import Session, contract_digest, references_of
from seatrial.check.staging import commit_of, pydarshan_version, reframe_version
from seatrial.engine.registry import ENGINES, by_name
from seatrial.filesystem.base import pinned
from seatrial.filesystem.layout_words import plain_stripes
from seatrial.filesystem.registry import by_type
from seatrial.job.sequence.confirm import needed
from seatrial.judge.references import QUANTILES
from seatrial.judge.statistics import MIN_FOR_INTERVAL, MIN_SAMPLES, samples_for
from seatrial.model.action import Action
from seatrial.model.layout import Layout, target_key
from seatrial.model.metric import HIGHER
from seatrial.model.plan import SCHEMA, Case, NodeGroup, Sizing, StoppingRule, TrialPlan, metric, read_plan
from seatrial.model.point import Allocation, Point
from seatrial.model.record import PLAN
from seatrial.rules.before import KEPT_BYTES
from seatrial.site.model import DEFAULT_LAYOUT, Overrides
from seatrial.site.profile import ACCEPTANCE
from seatrial.workload.registry import fault_of, fills, hurts, kind_of, metrics_at, phase_of, resized
from seatrial.workload.sweep import ANYWHERE, Sweep, expand, labels, layouts_in, narrowed, subsample
from seatrial.workload.sweep import SweepSite as Where
from seatrial.workload.words import counted, exact_size

LAUNCH_FLOOR_S = 120.0  # seconds beyond the recovery limit for a launch of unknown length
LAUNCH_FACTOR = 20  # times the seconds that the shortest launch is sized for
ISOLATION_OVERHEAD_S = 4.0  # seconds of a launch of an isolation sweep outside its region: start, file list, removal
ISOLATION_FACTOR = 1.25  # times the fewest launches, of a slow place too: warm-ups, and more repetitions


class Unplannable(Exception):
    """A case without plan (its sizes do not divide, no point fits its allocation); has the reason and the remedy."""


def cases_of(session: Session, declared: Declared) -> list[Case]:
    """The cases of a check in this session, in the order of trial.yaml."""
    return [case for case in _asked_for(session, declared) if not why_not(session, declared, case)]


def not_applicable(session: Session, declared: Declared) -> dict[Case, str]:
    """The cases that trial.yaml asks for and that are impossible, each with its reason: shown, never measured."""
    asked = _asked_for(session, declared)
    return {case: why for case in asked if (why := why_not(session, declared, case))}


def why_not(session: Session, declared: Declared, case: Case) -> str:
    """The reason why a check has no such case on this site; empty if it has one."""
    return _not_there(session, declared, case) or _misfit(session, declared, case)


@dataclass(frozen=True)
class ResolvedCase:
    """A case with all that site, profile and check give it, resolved once."""

    case: Case
    declared: Declared
    overrides: Overrides
    points: tuple[Point, ...]  # points of the first launches, thinned out by the profile, with all parameters
    sizing: Sizing
    left_out: tuple[str, ...]  # values (labels) without room in the allocation or the limits, or with too few targets


def resolved(session: Session, declared: Declared, case: Case) -> ResolvedCase:
    overrides, largest = _largest(session, declared, case)
    kind, effort = kind_of(declared.workload.kind), session.profile.effort_for(declared.axis)
    share = overrides.share(declared.workload)
    sweep = narrowed(_sweep(session, declared, case), overrides.applied(declared.workload), None)
    asked = labels(sweep, _where(session, declared, case))
    placed = [kind.adapted(point, effort) for point in _placed(session, declared, case)]
    placed = _within_limits(placed, session.site.target(case.file_system, case.layout).limits.bytes)
    possible = [point for point in placed if kind.fits(point, effort, share)]
    fitting = [point for point in possible if session.points in ((), (point.label,))]
    if not fitting:
        values = ', '.join(asked) or declared.axis.plural
        if placed and share and kind.moves_data:
            why = f'bytes_per_task: {exact_size(share)} a task is not a multiple of the transfer size {values}'
            raise Unplannable(f'trial.yaml: {case.name}: {why}; write a multiple of one of them')
        raise Unplannable(
            f'trial.yaml: {case.name}: none of {values} fits {counted(largest.nodes, "node")} with '
            f'{counted(largest.tasks_per_node, "task")} each; raise nodes, tasks_per_node or bytes_per_task'
        )
    whole = declared.axis.equals or declared.every_point or declared.workload.actions
    wanted = subsample(fitting, 0 if whole else overrides.points or session.profile.points)
    try:
        sizing = kind.sizing(wanted, effort, share)
    except ValueError as error:
        raise Unplannable(f'trial.yaml: {case.name}: bytes_per_task: {error}; write such a size') from None
    there = {point.label for point in placed}
    lost = tuple(label for label in asked if label not in there)
    points = tuple(resized(wanted, sizing.first))
    if fault := next(filter(None, map(fault_of, points)), None):
        raise Unplannable(f'trial.yaml: {case.name}: {fault}; correct what its trial fixes')
    return ResolvedCase(case, declared, overrides, points, sizing, lost)


def _within_limits(points: list[Point], limit: int) -> list[Point]:
    """The points whose files of a fixed size fit the site's limit; all if none fits: then the case is refused."""
    fixed = [point for point in points if not point.scales and kind_of(point.kind).moves_data]
    large = [point for point in fixed if kind_of(point.kind).footprint([point]).bytes + KEPT_BYTES > limit]
    return [point for point in points if point not in large] or points


def _placed(session: Session, declared: Declared, case: Case) -> list[Point]:
    """The points of the sweep in the allocation, with the parameters that the site's trial fixes."""
    overrides, largest = _largest(session, declared, case)
    fixed = overrides.applied(declared.workload)
    sweep = narrowed(_sweep(session, declared, case), fixed, overrides.max_tasks)
    workload, devices = declared.workload, session.site.file_system(case.file_system).devices
    if devices and _on_devices(workload):  # only as many tasks as can be dealt to the devices evenly
        workload = workload.changed(devices=devices, tasks=largest.tasks - largest.tasks % len(devices))
    workload = workload.changed(**fixed)
    if declared.axis.equals == 'node' and case.layout == DEFAULT_LAYOUT:
        # Otherwise a node whose files lie on a slow target would be the slow node.
        workload = workload._replace(layout=by_type(session.site.file_system(case.file_system).type).alike)
    return expand(sweep, workload, largest, _where(session, declared, case))


def _largest(session: Session, declared: Declared, case: Case) -> tuple[Overrides, Allocation]:
    """The parameters that the site's trials fix for a case, and its largest launch."""
    overrides = session.site.overrides(case, declared.family, session.profile.name)
    return overrides, session.site.allocation(case, overrides)


def _on_devices(workload: Point) -> bool:
    return 'devices' in kind_of(workload.kind).parameters


def _where(session: Session, declared: Declared, case: Case) -> Where:
    entry = session.site.file_system(case.file_system)
    driver = by_type(entry.type)
    if declared.axis.equals in driver.pins:
        numbers = entry.numbers(declared.axis.equals) or ()
        return Where(pinned=tuple(pinned(driver, declared.axis.equals, number) for number in numbers))
    osts = entry.numbers('OST')
    layouts = [layout for layout in layouts_in(_sweep(session, declared, case)) if driver.adopted(layout) is not None]
    if declared.workload.actions:
        return Where(actions=tuple(action.name for action in _actions(session, declared, case)))
    if not layouts_in(declared.sweep):
        return ANYWHERE
    return Where(fitting=tuple(layout for layout in layouts if osts is None or layout.targets_needed <= len(osts)))


def _sweep(session: Session, declared: Declared, case: Case) -> Sweep:
    """The sweep of the check, its layouts in the words of the case's file system where that has any for them."""
    driver, sweep = by_type(session.site.file_system(case.file_system).type), declared.sweep
    values = (driver.adopted(value) or value if isinstance(value, Layout) else value for value in sweep.values)
    return sweep._replace(values=tuple(values))


def _not_there(session: Session, declared: Declared, case: Case) -> str:
    """The thing needed by the check that the profile, the file system or the allocation lacks, or empty."""
    if declared.every_point and not session.profile.judges:
        return f'too long for a {session.profile.name} test (it measures every point); choose another profile'
    if session.site.launcher(case.partition).kind == 'local':
        able = [engine for engine in ENGINES if declared.workload.kind in engine.kinds]
        needs = (name for engine in able for name in engine.needs(declared.workload))
        if missing := next((name for name in needs if shutil.which(name) is None), ''):
            return f'{missing} is not installed on this machine; install it, or run where it is'
    equals, entry = declared.axis.equals, session.site.file_system(case.file_system)
    if fills(declared.workload):
        meant = 'all' if hurts(declared.workload) else 'quota'
        if entry.to_be_filled != meant:
            key = f'file_systems.{case.file_system}.to_be_filled'
            return f'fills the file system or quota; to allow it, write {key}: {meant}'
    if hurts(declared.workload):
        return _undisturbed(session, declared, case)
    if _on_devices(declared.workload):
        return _no_devices(session, declared, case)
    if equals == 'node':
        return '' if case.nodes > 1 else 'comparing nodes needs two or more; raise nodes in the trial'
    own_layouts = layouts_in(declared.sweep)
    if not equals and not own_layouts:
        return ''
    driver = by_type(entry.type)
    if equals not in driver.pins if equals else driver.no_layout:
        return driver.no_layout or driver.no_pinning
    foreign = [layout for layout in own_layouts if driver.adopted(layout) is None and plain_stripes(layout) is None]
    if foreign:
        return f"no layout: '{foreign[0].name}' of this check is a layout of {foreign[0].type}"
    if case.layout != DEFAULT_LAYOUT:
        return f"this check sets layouts itself, so it runs only under the layout '{DEFAULT_LAYOUT}'"
    if not equals:
        return ''
    numbers, where = entry.numbers(equals), f'file_systems.{case.file_system}'
    if numbers is None:
        return f'the number of {equals}s is not declared; write {target_key(equals)}: under {where}'
    return '' if len(numbers) > 1 else f'comparing {equals}s needs two or more; list them in trial.yaml'


def _no_devices(session: Session, declared: Declared, case: Case) -> str:
    """The reason why raw devices cannot be read in a case; empty if they can."""
    devices = session.site.file_system(case.file_system).devices
    if not devices:
        where = f'file_systems.{case.file_system}.devices'
        return f'no raw devices configured ({where}); they are only read, never written'
    if case.nodes > 1:
        return 'raw devices are read on one node; write nodes: [1] in its trial'
    tasks = _largest(session, declared, case)[1].tasks
    if tasks < len(devices):
        wanted = f'raise tasks_per_node under partitions.{case.partition}'
        return f'{counted(tasks, "task")} cannot read {counted(len(devices), "device")} at once; {wanted}'
    return ''


def _actions(session: Session, declared: Declared, case: Case) -> tuple[Action, ...]:
    return session.site.actions(case.file_system, tunable=declared.axis.name == 'tunable')


def _undisturbed(session: Session, declared: Declared, case: Case) -> str:
    """The reason why others may not be disturbed here; empty if they may."""
    workload = declared.workload
    if not session.profile.disturbs:
        return f'disruptive: only with --profile {ACCEPTANCE.name} and --destructive'
    if workload.actions and not _actions(session, declared, case):
        return f'trial.yaml has no {declared.axis.plural} for {case.file_system} (docs/how-to/scenarios.md)'
    storage_system = session.site.target(case.file_system, case.layout).storage_system
    if session.destructive != storage_system:
        return f'disruptive: it {hurts(workload)} {storage_system}; to allow it, add --destructive {storage_system}'
    return ''


def _misfit(session: Session, declared: Declared, case: Case) -> str:
    if not declared.axis.named or _placed(session, declared, case):
        return ''
    overrides, largest = _largest(session, declared, case)
    tasks = counted(declared.workload.tasks, 'task') if declared.workload.tasks else 'a task on each node'
    cap = ', or max_tasks of its trial' if overrides.max_tasks else ''
    return (
        f'{tasks} do not fit evenly with at most {largest.tasks_per_node} on a node; raise tasks_per_node under '
        f'partitions.{case.partition}, or nodes of its trial{cap}'
    )


def plan_of(session: Session, declared: Declared, case: Case) -> TrialPlan:
    """Everything that the job of this case will do. The same session and case always give the same plan."""
    site, full = session.site, resolved(session, declared, case)
    target, partition = site.target(case.file_system, case.layout), site.partition(case.partition)
    named = {action.name for point in full.points for action in point.actions}
    actions = tuple(action for action in _actions(session, declared, case) if action.name in named)
    # What an action takes away is not there for longer than any failover takes.
    away_s = max((action.for_s for point in full.points for action in point.actions), default=0.0)
    away_s += max((2 * action.timeout_s for action in actions), default=0.0)
    target = target._replace(recovery_limit_s=target.recovery_limit_s + away_s)
    kind, engines = kind_of(full.points[0].kind), site.on_partition(case.partition, session.engines)
    if not session.profile.judges:  # it makes few files, too few for a coarse clock
        engines = tuple(sorted(engines, key=lambda choice: getattr(by_name(choice.name, kind.name), 'coarse', False)))
    launch_s = max(LAUNCH_FLOOR_S, LAUNCH_FACTOR * _launch_s(full))
    return TrialPlan(
        schema=SCHEMA,
        seatrial=seatrial.__version__,
        session=session.id,
        case=case,
        profile=session.profile.name,
        axis=declared.axis,
        points=full.points,
        engines=engines,
        launcher=site.launcher(case.partition),
        target=target,
        records=str(records_of(session, case)),
        state=str(site.state),
        stopping=_stopping(session, full, case),
        sizing=full.sizing,
        launch_limit_s=target.recovery_limit_s + (LAUNCH_FLOOR_S if kind.once else launch_s),
        left_out=full.left_out,
        commit=commit_of(),
        reframe=reframe_version(),
        darshan=partition.darshan or '',
        pydarshan=pydarshan_version() if partition.darshan else '',
        floors=_floors(session, full, case),
        node_memory=partition.memory or 0,
        contract=contract_digest(session.contract),
        actions=actions,
        groups=tuple(NodeGroup(name, hosts) for name, hosts in partition.groups.items()),
        seed=int(hashlib.sha256(f'{session.id} {case.name}'.encode()).hexdigest()[:8], 16),
    )


def _floors(session: Session, full: ResolvedCase, case: Case) -> dict[str, float]:
    """Lower bounds of the figures of a case, in base units; none in a smoke test, which is compared with nothing."""
    if not session.profile.judges:
        return {}
    measured = ((measure, point.label) for point in full.points for measure in metrics_at(point))
    higher = {metric(measure.name, label) for measure, label in measured if measure.better == HIGHER}
    return {
        reference.metric: reference.value * (1 + reference.low)
        for reference in references_of(session, case)
        if reference.low is not None and reference.metric in higher
    }


def _stopping(session: Session, full: ResolvedCase, case: Case) -> StoppingRule:
    """The stopping rule, with as many repetitions as a reference for a quantile needs. An isolation sweep has the
    time that its places need if one of them is slow, unless the site sets a budget."""
    budget_s, points, error = full.overrides.budget, full.points, full.declared.max_relative_error
    if kind_of(points[0].kind).once:
        # However long it lasts: nothing is repeated until it is precise. Values of a tunable are compared.
        times = MIN_SAMPLES if full.declared.axis.name == 'tunable' else 1
        needed_s = times * sum(point.duration_s for point in points)
        needed_s += (times - 1) * len(points) * ISOLATION_OVERHEAD_S
        return StoppingRule(error, times, times, extra=0, budget_s=needed_s, fixed=times == 1)
    rule = session.profile.stopping(error, budget_s)
    if session.profile.between and not full.declared.axis.equals:
        rule = _of_a_night(session, full.declared, case, rule)
    if points[0].fullness and phase_of(points[0], points[0].phases[-1]).stays:
        # A further repetition would remove the data that fill the file system, and write them again.
        return rule._replace(minimum=1, maximum=1, extra=0, fixed=True)
    statistics = {reference.statistic for reference in references_of(session, case)}
    samples = max((samples_for(QUANTILES[name]) for name in statistics & QUANTILES.keys()), default=0)
    if samples > rule.minimum + rule.extra and not rule.fixed:
        rule = rule._replace(minimum=samples - rule.extra, maximum=max(rule.maximum, samples))
    if not full.declared.axis.equals or budget_s is not None or rule.fixed:
        return rule
    launches = sum(needed(full.declared.axis.equals, len(points))) * len(points[0].phases)
    needed_s = ISOLATION_FACTOR * launches * (rule.minimum + rule.extra) * (_launch_s(full) + ISOLATION_OVERHEAD_S)
    return rule._replace(budget_s=max(rule.budget_s, needed_s))


def _of_a_night(session: Session, declared: Declared, case: Case, rule: StoppingRule) -> StoppingRule:
    """The rule with the noise between nights; only as many repetitions as an interval, or a criterion, needs."""
    from seatrial.history.noise import night_noise  # Polars, which no other profile needs

    site, profile = session.site, session.profile
    seen = night_noise(site.state, site.name, profile.name).get(case)
    rule = rule._replace(between=profile.between if seen is None else round(seen, 3))
    asked = references_of(session, case) or site.enforced(case, declared.family, profile.name)
    return rule if asked else rule._replace(minimum=MIN_FOR_INTERVAL, extra=0)


def _launch_s(full: ResolvedCase) -> float:
    return max(full.sizing.target_s, *(point.duration_s for point in full.points))


def planned(session: Session, declared: Declared, case: Case) -> TrialPlan:
    """The plan that the session wrote, even if trial.yaml has changed; plain ReFrame makes it here. Unplannable."""
    file = records_of(session, case) / PLAN
    return plan_of(session, declared, case) if session.plain or not file.is_file() else read_plan(str(file))


def records_of(session: Session, case: Case) -> Path:
    return session.folder / 'cases' / case.slug


def _asked_for(session: Session, declared: Declared) -> list[Case]:
    if session.only and declared.name not in session.only and declared.family not in session.only:
        return []
    if session.profile.introduces and not (declared.first or session.only):
        return []
    cases = session.site.cases(declared.name, declared.family, session.profile.name)
    return [case for case in cases if session.system in (None, case.partition.split(':')[0])]
