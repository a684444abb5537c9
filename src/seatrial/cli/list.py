"""`seatrial list`: what would run where."""

import shutil
from functools import partial

import click
import reframe  # noqa: F401  (first: a warning of its own looks through all modules that are there)

from seatrial.check.catalogue import covered
from seatrial.check.contract import wrong_contract
from seatrial.check.declared import load as load_checks
from seatrial.check.forecast import refuse
from seatrial.check.planning import plan_of
from seatrial.check.session import SessionOptions
from seatrial.cli.options import session_options
from seatrial.engine.registry import choose, why_none
from seatrial.job.sequence.survey import unfit
from seatrial.model.plan import TrialPlan
from seatrial.model.units import duration
from seatrial.report.terminal import console, say, table_of
from seatrial.scheduler.order import beyond_schedule, overlapping
from seatrial.scheduler.partitions import missing_options
from seatrial.session.from_options import open_session, say_not_applicable
from seatrial.workload.registry import kind_of
from seatrial.workload.words import by_key, counted


@click.command('list')
@session_options
@click.option('--catalogue', is_flag=True, help='Show each test of the sources and the checks that cover it instead.')
@click.option('--why', is_flag=True, help='Name the cases that cannot run here, with the reason.')
def list_(asked: SessionOptions, catalogue: bool, why: bool) -> None:
    """Show what would run where, and with which engine; `seatrial plan` shows what it takes.

    Exit code 64 if something does not fit. Engines are those of this host; the nodes look for themselves.
    """
    checks, screen = load_checks(*asked.checks), console()
    if catalogue:
        tests = table_of('source', 'id', 'test', 'checks (engines)')
        for row, by in covered(checks.values()):
            tests.add_row(row.source, row.id, row.test, by)
        screen.print(tests)
        return
    session, cases = open_session(asked, checks)
    site, plans = session.site, [plan_of(session, declared, case) for declared, case in cases]
    screen.print(f'{counted(len(plans), "case")} of {site.name}, profile {asked.profile}')
    screen.print(f'  {session.profile.label}')
    table = table_of('check', 'workload', 'where', 'points', 'engine')
    missing = dict[str, str]()
    for group in by_key((plan.case._replace(layout=''), plan) for plan in plans).values():
        first = group[0]
        words = kind_of(first.kind).title_of(first.points[0])
        chosen = choose(first.engines, first.points, shutil.which, partial(unfit, first))
        if chosen.engine is None:
            missing.setdefault(words, why_none(first.engines, chosen.skipped))
        engine = chosen.engine.name if chosen.engine else 'none here'
        case, layouts = first.case, ', '.join(plan.case.layout for plan in group)
        where = f'{case.partition} {case.file_system} ({layouts}) {counted(case.nodes, "node")}'
        table.add_row(case.check, words, where, _points(first), engine)
    screen.print(table)
    say(screen, *(f'no engine here for {workload}: {reason}' for workload, reason in missing.items()))
    why_no_layout = {plan.case.file_system: plan.target.no_layout for plan in plans}
    say(screen, *(f'{name}: {reason}' for name, reason in why_no_layout.items() if reason))
    say_not_applicable(screen, session, why)
    notes = [*wrong_contract(site), *missing_options(site, asked.profile)]
    notes += overlapping(site, asked.profile, plans)
    most = counted(max(plan.case.nodes for plan in plans), 'node')
    limit = duration(min(plan.launch_limit_s for plan in plans))
    say(
        screen,
        f'At risk: {most} at a time. A launch that hangs is killed, at the earliest after {limit} plus ten times the '
        'time it should take; Slurm drains nodes whose processes cannot be killed.',  # rule P17
    )
    notes += refuse(site, plans, beyond_schedule(site, asked.profile, plans))
    say(screen, *(f'note: {note}' for note in notes))


def _points(plan: TrialPlan) -> str:
    labels = [point.label for point in plan.points]
    text = f'{len(labels)}: {", ".join(labels) if len(labels) < 5 else f"{labels[0]} .. {labels[-1]}"}'
    lost = [*plan.left_out[:1], *plan.left_out[1:][-1:]]
    return f'{text}; {" to ".join(lost)} left out: no room' if lost else text
