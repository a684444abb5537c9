"""`seatrial list`: what would run where, and what it costs."""

import shutil
from pathlib import Path

import click
from rich.table import Table

from seatrial.check.planning import plan_of
from seatrial.cli.options import open_session, session_options
from seatrial.cli.terminal import console, duration
from seatrial.engine.catalogue import choose
from seatrial.job.survey import least_bytes_per_client, memory_bytes
from seatrial.model.plan import TrialPlan
from seatrial.model.units import approximate_size
from seatrial.rules.before import peak


@click.command('list')
@session_options
def list_(
    site_folder: Path, profile: str, checks: Path, system: str | None, engine: str | None, only: tuple[str, ...]
) -> None:
    """Show what would run where, with which engine, and the most that it would take."""
    session, cases = open_session(site_folder, profile, checks, system, engine, only)
    plans = [plan_of(session, declared, case) for declared, case in cases]
    table = Table(title=f'{len(cases)} cases of {session.site.name}, profile {profile} ({session.profile.label})')
    for heading in ('check', 'pattern', 'where', 'points', 'engine here', 'at least', 'budget'):
        table.add_column(heading, overflow='fold')
    memory = memory_bytes()
    for plan in plans:
        needed = peak(plan, least_bytes_per_client(plan, memory))['bytes']
        table.add_row(
            plan.case.check,
            plan.workload.name,
            plan.case.name.partition('/')[2],
            ' '.join(point.label for point in plan.points),
            _engine(plan),
            approximate_size(needed),
            duration(plan.stopping.budget_s),
        )
    console().print(table)
    total = sum(plan.stopping.budget_s for plan in plans)
    most = max(plan.target.limits.bytes for plan in plans)
    console().print(
        f'At most {duration(total)} of measuring, at most {approximate_size(most)} on a file system at any time. '
        "The engine is this host's view; the nodes decide for themselves."
    )


def _engine(plan: TrialPlan) -> str:
    chosen = choose(plan.engines, plan.workload, plan.points, shutil.which)
    return chosen.engine.name if chosen.engine else f'none: {"; ".join(chosen.passed_over)}'
