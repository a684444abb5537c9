"""From what a check declares and what a site has to the trial plan of one case."""

import hashlib
from pathlib import Path

import seatrial
from seatrial.check.declared import Declared
from seatrial.check.session import Session
from seatrial.model.plan import SCHEMA, Case, TrialPlan
from seatrial.model.workload import Point, Sweep, expand, subsample

LAUNCH_FACTOR = 20  # a launch may last this many times what it is sized for
LAUNCH_FLOOR_S = 120.0  # and never less than this beyond the file system's recovery limit


class NothingFits(Exception):
    """No point of the sweep can be placed in the case's allocation; says why."""


def cases_of(session: Session, declared: Declared) -> list[Case]:
    """The cases of a check in this session, in the order of trial.yaml."""
    if session.only and declared.name not in session.only and declared.family not in session.only:
        return []
    cases = session.site.cases(declared.name, declared.family, session.profile.name)
    return [case for case in cases if session.system in (None, case.partition.split(':')[0])]


def points_of(session: Session, declared: Declared, case: Case) -> tuple[Point, ...]:
    """The points of a case: the sweep inside the allocation, thinned out by the profile. Raises NothingFits."""
    overrides = session.site.overrides(case, declared.family, session.profile.name)
    largest = session.site.geometry(case, overrides.max_clients)
    sweep = declared.sweep
    size = session.profile.sizing(sweep, overrides.bytes_per_client).first_bytes
    fitting = expand(_capped(sweep, overrides.max_clients), largest, size)
    if not fitting:
        raise NothingFits(
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
    sizing = profile.sizing(declared.sweep, overrides.bytes_per_client)
    return TrialPlan(
        schema=SCHEMA,
        seatrial=seatrial.__version__,
        session=session.id,
        case=case,
        profile=profile.name,
        workload=declared.pattern,
        axis=declared.sweep.axis,
        points=points_of(session, declared, case),
        engines=session.engines,
        launcher=site.launcher(case.partition),
        target=target,
        records=str(records_of(session, case)),
        state=str(site.state),
        stopping=stopping,
        sizing=sizing,
        launch_limit_s=target.recovery_limit_s + max(LAUNCH_FLOOR_S, LAUNCH_FACTOR * sizing.target_s),
        seed=int(hashlib.sha256(f'{session.id} {case.name}'.encode()).hexdigest()[:8], 16),
    )


def records_of(session: Session, case: Case) -> Path:
    """Where the job of a case writes its records."""
    return session.folder / 'cases' / case.slug


def _capped(sweep: Sweep, max_clients: int | None) -> Sweep:
    if sweep.axis != 'clients' or max_clients is None:
        return sweep
    return sweep._replace(values=tuple(value for value in sweep.values if value <= max_clients))
