"""From what a check declares and what a site has to the trial plan of one case."""

import hashlib
from pathlib import Path

import seatrial
from seatrial.check.checkout import commit_of, reframe_version
from seatrial.check.declared import Declared
from seatrial.check.session import Session
from seatrial.engine.catalogue import by_name
from seatrial.filesystem.catalogue import by_type
from seatrial.model.namespace import Trees, expand_trees, on_mdts
from seatrial.model.plan import SCHEMA, Case, EngineChoice, Sizing, StoppingRule, TrialPlan, read_plan
from seatrial.model.record import PLAN
from seatrial.model.tree import TreePoint
from seatrial.model.work import Place, Work
from seatrial.model.workload import PLACES, Geometry, Sweep, expand, left_out, on_groups, on_targets, subsample
from seatrial.site.model import DEFAULT_LAYOUT, Site

LAUNCH_FLOOR_S = 120.0  # beyond the recovery limit, for a launch of which nothing is known yet
LAUNCH_FACTOR = 20  # times what the shortest launch is sized for
ISOLATION_OVERHEAD_S = 4.0  # of a launch of an isolation sweep beside its timed region: start, file list, removal
ISOLATION_FACTOR = 2.0  # times the fewest launches: more repetitions, and a second measurement of what seems slow


class Unplannable(Exception):
    """A case that has no plan: its sizes do not divide, or no point fits its allocation; says why and the mend."""


def cases_of(session: Session, declared: Declared) -> list[Case]:
    """The cases of a check in this session, in the order of trial.yaml."""
    return [case for case in _asked_for(session, declared) if not why_not(session, declared, case)]


def not_applicable(session: Session, declared: Declared) -> dict[Case, str]:
    """The cases that trial.yaml asks for and that cannot be there, each with its reason: shown, never measured."""
    asked = _asked_for(session, declared)
    return {case: why for case in asked if (why := why_not(session, declared, case))}


def why_not(session: Session, declared: Declared, case: Case) -> str:
    """Why a check has no such case on this site, as a sentence; empty where it has one."""
    return _not_there(session.site, declared, case) or _misfit(session, declared, case)


def _not_there(site: Site, declared: Declared, case: Case) -> str:
    """What the check is about, and the file system or the allocation does not have."""
    axis, entry = declared.sweep.axis, site.file_system(case.file_system)
    if axis == 'group':
        return '' if case.nodes > 1 else 'a single node has none to be compared with'
    if axis not in ('layout', 'ost', 'mdt'):
        return ''
    if by_type(entry.type).no_layout:
        return by_type(entry.type).no_layout
    if case.layout != DEFAULT_LAYOUT:
        return f"it sets layouts of its own; it is measured once, under '{DEFAULT_LAYOUT}'"
    numbers = (0, 1) if axis == 'layout' else entry.numbers(axis)
    if numbers is None:
        where = f'{axis}s: under file_systems.{case.file_system}'
        return f'how many {axis.upper()}s there are is not declared; write {where}'
    return '' if len(numbers) > 1 else f'a single {axis.upper()} has none to be compared with'


def _misfit(session: Session, declared: Declared, case: Case) -> str:
    """That an allocation has no place for the clients that a check of metadata must have."""
    if not isinstance(declared.sweep, Trees):
        return ''
    overrides = session.site.overrides(case, declared.family, session.profile.name)
    largest = session.site.geometry(case, overrides.max_clients)
    if expand_trees(declared.sweep, largest):
        return ''
    clients = f'its {declared.sweep.tasks} clients' if declared.sweep.tasks else 'a client on each node'
    cap = ', or max_clients of its trial' if overrides.max_clients else ''
    return (
        f'{clients} cannot be placed evenly, {largest.tasks_per_node} at most on a node: raise tasks_per_node under '
        f'partitions.{case.partition}, or nodes of its trial{cap}'
    )


def points_of(session: Session, declared: Declared, case: Case) -> tuple[Place, ...]:
    """The points of a case: the sweep inside the allocation, thinned out by the profile. Raises Unplannable."""
    overrides = session.site.overrides(case, declared.family, session.profile.name)
    largest = session.site.geometry(case, overrides.max_clients)
    sweep = sweep_of(session.site, declared, case)
    if isinstance(sweep, Trees):
        return tuple(_tree_points(session, case, sweep, largest))
    size = _sizing(session, declared, case).first
    fitting = expand(_capped(sweep, overrides.max_clients), largest, size)
    if not fitting:
        raise Unplannable(
            f'{case.name}: none of {sweep.axis} {list(sweep.values)} fits {largest.nodes} nodes '
            f'with {largest.tasks_per_node} clients each'
        )
    wanted = subsample(tuple(range(len(fitting))), 0 if sweep.axis in PLACES else session.profile.points)
    return tuple(fitting[index] for index in wanted)


def sweep_of(site: Site, declared: Declared, case: Case) -> Sweep | Trees:
    """The sweep of a check, over the targets that the site has where it is one over targets."""
    sweep, entry = declared.sweep, site.file_system(case.file_system)
    if sweep.axis == 'ost' and isinstance(sweep, Sweep):
        return on_targets(sweep, entry.numbers('ost') or ())
    if sweep.axis == 'group' and isinstance(sweep, Sweep):
        return on_groups(sweep, case.nodes)
    if sweep.axis == 'mdt' and isinstance(sweep, Trees):
        return on_mdts(sweep, entry.numbers('mdt') or ())
    osts = entry.numbers('ost')
    if sweep.axis == 'layout' and isinstance(sweep, Sweep) and osts is not None:
        fitting = [at for at in sweep.values if sweep.layouts[at].targets_needed <= len(osts)]
        return sweep._replace(values=tuple(fitting))
    return sweep


def plan_of(session: Session, declared: Declared, case: Case) -> TrialPlan:
    """Everything that the job of this case will do. The same session and case always give the same plan."""
    site, profile = session.site, session.profile
    overrides = site.overrides(case, declared.family, profile.name)
    target = site.target(case.file_system, case.layout)
    sizing, points = _sizing(session, declared, case), points_of(session, declared, case)
    stopping = _stopping(session, declared, overrides.budget_s, sizing, points)
    return TrialPlan(
        schema=SCHEMA,
        seatrial=seatrial.__version__,
        session=session.id,
        case=case,
        profile=profile.name,
        workload=declared.workload,
        axis=declared.sweep.axis,
        points=points,
        engines=_engines(session, declared.workload, case),
        launcher=site.launcher(case.partition),
        target=target,
        records=str(records_of(session, case)),
        state=str(site.state),
        stopping=stopping,
        sizing=sizing,
        launch_limit_s=target.recovery_limit_s + max(LAUNCH_FLOOR_S, LAUNCH_FACTOR * sizing.target_s),
        left_out=_left_out(session, declared, case),
        commit=commit_of(),
        reframe=reframe_version(),
        darshan=site.darshan(case.partition),
        floors=_floors(session, case),
        seed=int(hashlib.sha256(f'{session.id} {case.name}'.encode()).hexdigest()[:8], 16),
    )


def _floors(session: Session, case: Case) -> dict[str, float]:
    """What the figures of a case may not fall below; a smoke test is held against nothing."""
    if session.profile.repetitions:
        return {}
    own = [each for each in session.references if (each.profile, each.case) == (session.profile.name, case)]
    return {each.metric: each.value * (1 + each.low) for each in own if each.low is not None}


def _stopping(
    session: Session, declared: Declared, budget_s: float | None, sizing: Sizing, points: tuple[Place, ...]
) -> StoppingRule:
    """The stopping rule; an isolation sweep has as much time as its places need, unless the site says how much."""
    rule = session.profile.stopping(declared.max_relative_error, budget_s)
    if declared.sweep.axis not in PLACES or budget_s is not None or rule.fixed:
        return rule
    launches = len(points) * len(declared.workload.operations) * (rule.least + rule.extra)
    needed_s = ISOLATION_FACTOR * launches * (sizing.target_s + ISOLATION_OVERHEAD_S)
    return rule._replace(budget_s=max(rule.budget_s, needed_s))


def planned(session: Session, declared: Declared, case: Case) -> TrialPlan:
    """The plan that the session wrote for this case, so that an edit of trial.yaml meanwhile changes nothing.

    Plain ReFrame has none yet and makes it. Raises Unplannable.
    """
    if case.partition == '*':
        raise Unplannable(f'no trial of {session.site.folder}/trial.yaml has the profile {session.profile.name}')
    file = records_of(session, case) / PLAN
    return plan_of(session, declared, case) if session.plain or not file.is_file() else read_plan(str(file))


def records_of(session: Session, case: Case) -> Path:
    """Where the job of a case writes its records."""
    return session.folder / 'cases' / case.slug


def _asked_for(session: Session, declared: Declared) -> list[Case]:
    if session.only and declared.name not in session.only and declared.family not in session.only:
        return []
    cases = session.site.cases(declared.name, declared.family, session.profile.name)
    return [case for case in cases if session.system in (None, case.partition.split(':')[0])]


def _tree_points(session: Session, case: Case, sweep: Trees, largest: Geometry) -> list[TreePoint]:
    points = expand_trees(session.profile.trees(sweep), largest)
    if not points:
        raise Unplannable(f'{case.name}: {sweep.tasks or "its"} clients do not fit {largest.nodes} nodes evenly')
    return points


def _sizing(session: Session, declared: Declared, case: Case) -> Sizing:
    overrides = session.site.overrides(case, declared.family, session.profile.name)
    if isinstance(declared.sweep, Trees):
        return session.profile.tree_sizing(declared.sweep, overrides.files_per_client)
    try:
        return session.profile.sizing(declared.sweep, overrides.bytes_per_client)
    except ValueError as error:
        key = 'bytes_per_client' if overrides.bytes_per_client else "the source's size"
        raise Unplannable(f'trial.yaml: {case.name}: {key}: {error}; choose such a size') from None


def _engines(session: Session, workload: Work, case: Case) -> tuple[EngineChoice, ...]:
    """The one that was asked for, where it measures such a workload at all; else those of the site.

    Each with the program of the case's partition, where its nodes have one of their own.
    """
    programs = session.site.partition(case.partition).programs
    own = tuple(choice._replace(program=programs.get(choice.name, choice.program)) for choice in session.engines)
    if not session.engine or by_name(session.engine, workload) is None:
        return own
    return tuple(choice for choice in own if choice.name == session.engine)


def _left_out(session: Session, declared: Declared, case: Case) -> tuple[int, ...]:
    """The values of the sweep that this allocation cannot place, or the site does not want."""
    overrides = session.site.overrides(case, declared.family, session.profile.name)
    largest = session.site.geometry(case, overrides.max_clients)
    sweep = sweep_of(session.site, declared, case)
    if isinstance(sweep, Trees) or isinstance(declared.sweep, Trees):
        return ()
    size = _sizing(session, declared, case).first
    capped = _capped(sweep, overrides.max_clients)
    wanted = {*declared.sweep.values, *sweep.values}
    return tuple(sorted(wanted - {*capped.values} | {*left_out(capped, largest, size)}))


def _capped(sweep: Sweep, max_clients: int | None) -> Sweep:
    if sweep.axis != 'clients' or max_clients is None:
        return sweep
    return sweep._replace(values=tuple(value for value in sweep.values if value <= max_clients))
