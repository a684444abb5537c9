"""From what a check declares and what a site has to the trial plan of one case."""

import hashlib
from pathlib import Path

import seatrial
from seatrial.check.declared import Declared
from seatrial.check.session import Session
from seatrial.engine.catalogue import by_name
from seatrial.model.namespace import Trees, expand_trees
from seatrial.model.plan import SCHEMA, Case, EngineChoice, Sizing, TrialPlan, read_plan
from seatrial.model.record import PLAN
from seatrial.model.tree import TreePoint
from seatrial.model.work import Place, Work
from seatrial.model.workload import Sweep, expand, left_out, subsample

LAUNCH_FLOOR_S = 120.0  # beyond the recovery limit, for a launch of which nothing is known yet
LAUNCH_FACTOR = 20  # times what the shortest launch is sized for


class Unplannable(Exception):
    """A case that has no plan: its sizes do not divide, or no point fits its allocation; says why and the mend."""


def cases_of(session: Session, declared: Declared) -> list[Case]:
    """The cases of a check in this session, in the order of trial.yaml."""
    if session.only and declared.name not in session.only and declared.family not in session.only:
        return []
    cases = session.site.cases(declared.name, declared.family, session.profile.name)
    return [case for case in cases if session.system in (None, case.partition.split(':')[0])]


def points_of(session: Session, declared: Declared, case: Case) -> tuple[Place, ...]:
    """The points of a case: the sweep inside the allocation, thinned out by the profile. Raises Unplannable."""
    overrides = session.site.overrides(case, declared.family, session.profile.name)
    largest = session.site.geometry(case, overrides.max_clients)
    sweep = declared.sweep
    if isinstance(sweep, Trees):
        return tuple(_tree_points(session, declared, case, sweep))
    size = _sizing(session, declared, case).first
    fitting = expand(_capped(sweep, overrides.max_clients), largest, size)
    if not fitting:
        raise Unplannable(
            f'{case.name}: none of {sweep.axis} {list(sweep.values)} fits {largest.nodes} nodes '
            f'with {largest.tasks_per_node} clients each'
        )
    wanted = subsample(tuple(range(len(fitting))), session.profile.points)
    return tuple(fitting[index] for index in wanted)


def plan_of(session: Session, declared: Declared, case: Case) -> TrialPlan:
    """Everything that the job of this case will do. The same session and case always give the same plan."""
    site, profile = session.site, session.profile
    overrides = site.overrides(case, declared.family, profile.name)
    target = site.target(case.file_system, case.layout)
    stopping = profile.stopping(declared.max_relative_error, overrides.budget_s)
    sizing = _sizing(session, declared, case)
    return TrialPlan(
        schema=SCHEMA,
        seatrial=seatrial.__version__,
        session=session.id,
        case=case,
        profile=profile.name,
        workload=declared.workload,
        axis=declared.sweep.axis,
        points=points_of(session, declared, case),
        engines=_engines(session, declared.workload),
        launcher=site.launcher(case.partition),
        target=target,
        records=str(records_of(session, case)),
        state=str(site.state),
        stopping=stopping,
        sizing=sizing,
        launch_limit_s=target.recovery_limit_s + max(LAUNCH_FLOOR_S, LAUNCH_FACTOR * sizing.target_s),
        left_out=_left_out(session, declared, case),
        seed=int(hashlib.sha256(f'{session.id} {case.name}'.encode()).hexdigest()[:8], 16),
    )


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


def _tree_points(session: Session, declared: Declared, case: Case, sweep: Trees) -> list[TreePoint]:
    overrides = session.site.overrides(case, declared.family, session.profile.name)
    largest = session.site.geometry(case, overrides.max_clients)
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


def _engines(session: Session, workload: Work) -> tuple[EngineChoice, ...]:
    """The one that was asked for, where it measures such a workload at all; else those of the site."""
    if not session.engine or by_name(session.engine, workload) is None:
        return session.engines
    return tuple(choice for choice in session.engines if choice.name == session.engine)


def _left_out(session: Session, declared: Declared, case: Case) -> tuple[int, ...]:
    """The values of the sweep that this allocation cannot place, or the site does not want."""
    overrides = session.site.overrides(case, declared.family, session.profile.name)
    largest = session.site.geometry(case, overrides.max_clients)
    sweep = declared.sweep
    if isinstance(sweep, Trees):
        return ()
    size = _sizing(session, declared, case).first
    capped = _capped(sweep, overrides.max_clients)
    return tuple(sorted({*sweep.values} - {*capped.values} | {*left_out(capped, largest, size)}))


def _capped(sweep: Sweep, max_clients: int | None) -> Sweep:
    if sweep.axis != 'clients' or max_clients is None:
        return sweep
    return sweep._replace(values=tuple(value for value in sweep.values if value <= max_clients))
