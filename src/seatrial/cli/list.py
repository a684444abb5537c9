"""`seatrial list`: what would run where, and what it costs."""

import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import click
from rich.table import Table

from seatrial.check.catalogue import covered
from seatrial.check.declared import load
from seatrial.check.planning import plan_of
from seatrial.cli.options import open_session, say_not_applicable, session_options
from seatrial.cli.terminal import console
from seatrial.engine.registry import choose, why_none
from seatrial.job.sequence.survey import memory_bytes, min_per_task, unfit
from seatrial.model.plan import TrialPlan
from seatrial.model.units import approximate_size, duration
from seatrial.rules.before import peak
from seatrial.scheduler.order import too_long
from seatrial.scheduler.partitions import missing_options
from seatrial.workload.registry import kind_of, resized
from seatrial.workload.words import counted


@click.command('list')
@session_options
@click.option('--catalogue', is_flag=True, help='Show each test of the sources and the checks that cover it instead.')
def list_(
    site_folder: Path,
    profile: str,
    checks: Path,
    system: str | None,
    engine: str | None,
    only: tuple[str, ...],
    catalogue: bool,
) -> None:
    """Show what would run where, with which engine, and the most that it would take.

    From the site's files alone: doctor checks paths, and Slurm partitions when a trial is submitted.
    """
    if catalogue:
        _show_catalogue(checks)
        return
    session, cases = open_session(site_folder, profile, checks, system, engine, only)
    plans = [plan_of(session, declared, case) for declared, case in cases]
    screen = console()
    screen.print(
        f'{counted(len(plans), "case")} of {session.site.name}, profile {profile}',
        f'  {session.profile.label}',
        sep='\n',
    )
    table = Table(box=None, pad_edge=False)
    for heading in ('check', 'workload', 'where', 'points', 'engine'):
        table.add_column(heading, overflow='fold')
    for heading in ('holds', 'moves', 'budget'):
        table.add_column(heading, justify='right')
    memory, missing = memory_bytes(), dict[str, str]()
    for group in _grouped(plans):
        first = group[0]
        share, words = min_per_task(first, memory), kind_of(first.kind).title_of(first.points[0])
        chosen = choose(first.engines, first.points, shutil.which, partial(unfit, first))
        if chosen.engine is None:
            missing.setdefault(words, why_none(first.engines, chosen.skipped))
        table.add_row(
            first.case.check,
            words,
            _where(group),
            _points(first),
            chosen.engine.name if chosen.engine else 'none here',
            approximate_size(peak(first, share)['bytes']),
            approximate_size(_moved(first, share)),
            duration(sum(plan.stopping.budget_s for plan in group)),
        )
    screen.print(table)
    for workload, why in missing.items():
        screen.print(f'no engine here for {workload}: {why}', soft_wrap=True)
    for name in dict.fromkeys(plan.case.file_system for plan in plans):
        target = next(plan.target for plan in plans if plan.case.file_system == name)
        if target.no_layout:
            screen.print(f'{name}: {target.no_layout}', soft_wrap=True)
    say_not_applicable(screen, session)
    for said in [*missing_options(session.site, profile), *too_long(session.site, profile, plans)]:
        screen.print(f'note: {said}', soft_wrap=True)
    screen.print(_at_risk(plans), soft_wrap=True)
    screen.print(
        f'At most {duration(sum(plan.stopping.budget_s for plan in plans))} of measuring, and at most '
        f'{approximate_size(max(plan.target.limits.bytes for plan in plans))} on a file system at any time. '
        'holds: at least on the file system at one time; moves: at least in the largest launch. '
        "Engine and sizes are this host's view; the nodes look for themselves.",
        soft_wrap=True,
    )


def _show_catalogue(checks: Path) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ('source', 'id', 'test', 'checks (engines)'):
        table.add_column(heading, overflow='fold')
    for row, by in covered(load(checks).values()):
        table.add_row(row.source, row.id, row.test, by)
    console().print(table)


def _at_risk(plans: list[TrialPlan]) -> str:
    """What Slurm may do to nodes where I/O has to be killed (rule P17)."""
    most = max(plans, key=lambda plan: plan.case.nodes)
    limit = min(plan.launch_limit_s for plan in plans)
    return (
        f'At risk: {counted(most.case.nodes, "node")} at a time. A launch that hangs is killed, at the earliest '
        f'after {duration(limit)} plus ten times the time it should take; Slurm drains nodes whose processes '
        'cannot be killed.'
    )


def _grouped(plans: Iterable[TrialPlan]) -> list[list[TrialPlan]]:
    """Plans that differ in their layout alone, together."""
    groups: dict[tuple[object, ...], list[TrialPlan]] = {}
    for plan in plans:
        case = plan.case
        groups.setdefault((case.check, case.partition, case.file_system, case.nodes), []).append(plan)
    return list(groups.values())


def _points(plan: TrialPlan) -> str:
    labels = [point.label for point in plan.points]
    said = f'{len(labels)}: {", ".join(labels) if len(labels) < 5 else f"{labels[0]} .. {labels[-1]}"}'
    lost = [*plan.left_out[:1], *plan.left_out[1:][-1:]]
    return f'{said}; {" to ".join(lost)} left out: no room' if lost else said


def _moved(plan: TrialPlan, share: int) -> int:
    """Bytes of the largest launch, at least."""
    kind = kind_of(plan.kind)
    return max(kind.bytes_of(point) for point in resized(plan.points, share))


def _where(group: list[TrialPlan]) -> str:
    case = group[0].case
    layouts = ', '.join(plan.case.layout for plan in group)
    return f'{case.partition} {case.file_system} ({layouts}) {counted(case.nodes, "node")}'
