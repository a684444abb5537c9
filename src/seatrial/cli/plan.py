"""`seatrial plan`: what the cases will take, before anything runs."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import reduce
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from seatrial.acceptance.campaign import asked_by_contract
from seatrial.check.actions import action_lines
from seatrial.check.contract import wrong_contract
from seatrial.check.declared import load as load_checks
from seatrial.check.forecast import NOTHING, Forecast, ForecastRange, forecasts, shortfalls
from seatrial.check.planning import plan_of
from seatrial.check.session import SessionOptions
from seatrial.cli.options import session_options
from seatrial.model.units import approximate_size, duration
from seatrial.report.terminal import console
from seatrial.scheduler.order import beyond_schedule
from seatrial.session.from_options import NoCases, open_session
from seatrial.site.contract import CONTRACT_FILE
from seatrial.site.error import raise_any
from seatrial.site.load import answering
from seatrial.site.profile import ACCEPTANCE
from seatrial.workload.words import counted, grouped, listed

SCHEMA = 1


@click.command()
@click.option('--json', 'as_json', is_flag=True, help='As one JSON object: bytes, seconds, node-hours.')
@session_options
def plan(asked: SessionOptions, as_json: bool) -> int:
    """Show what the cases will write, hold and take, from least to most; start nothing.

    Exit code 64 if something does not fit: what, by how much, and the smallest change that makes it fit. A figure in
    the middle is what earlier sessions took.
    """
    site, profile = answering(asked.site_folder), asked.profile
    contracted = []
    if profile == ACCEPTANCE.name:
        contracted = asked_by_contract(site, asked.checks, asked.only, asked.system)
    try:
        session, cases = open_session(asked)
        of_trials = [plan_of(session, declared, case) for declared, case in cases]
    except NoCases:
        if not contracted:
            raise
        of_trials = []
    plans = [*of_trials, *(each.plan for each in contracted)]
    found = forecasts(site, plans)
    problems, notes = shortfalls(site, found)
    problems += beyond_schedule(site, profile, of_trials)
    found[len(of_trials) :] = (
        own.over(each.number, each.criteria) for own, each in zip(found[len(of_trials) :], contracted, strict=True)
    )
    if profile != ACCEPTANCE.name:
        notes += (
            wrong_contract(site, load_checks(asked.checks)) or [NOT_COUNTED] * (site.folder / CONTRACT_FILE).exists()
        )
    if as_json:
        said = {
            'schema': SCHEMA,
            'site': site.name,
            'profile': profile,
            'cases': [_json(each) for each in found],
            'actions': [line for each in plans for line in action_lines(each)],
            'total': {name: asdict(_total(found, of)) for name, of in TOTALS.items()},
            'notes': notes,
            'problems': problems,
        }
        click.echo(json.dumps(said, indent=1))
        return 64 if problems else 0
    screen = console()
    screen.print(f'{counted(len(of_trials), "case")} of {site.name}, profile {profile}')
    if contracted:
        number = sum(each.number for each in contracted)
        screen.print(
            f'{counted(number, "allocation")} that {CONTRACT_FILE} still asks for, as seatrial accept runs them'
        )
    screen.print(_table(found))
    for each in notes:
        screen.print(f'note: {each}', soft_wrap=True)
    for plan_ in plans:
        for line in action_lines(plan_):
            screen.print(line, soft_wrap=True)
    _say_total(screen, found)
    raise_any(problems)
    return 0


NOT_COUNTED = f'what {CONTRACT_FILE} asks for is not counted; it is with --profile {ACCEPTANCE.name}'

ALL: dict[str, Callable[[Forecast], ForecastRange]] = {
    'repetitions': lambda each: each.repetitions,
    'bytes_written': lambda each: each.written,
    'bytes_read': lambda each: each.read,
    'room_bytes': lambda each: each.room,
    'room_inodes': lambda each: each.inodes,
    'wall_s': lambda each: each.wall_s,
    'node_hours': lambda each: each.node_hours,
}
TOTALS = {name: ALL[name] for name in ('bytes_written', 'bytes_read', 'wall_s', 'node_hours')}


def _json(found: Forecast) -> dict[str, Any]:
    """criteria: of contract.yaml, which the allocations are for; empty of a case of trial.yaml."""
    return {
        'case': found.plan.case.name,
        'points': [point.label for point in found.plan.points],
        'criteria': list(found.criteria),
        'allocations': found.allocations,
        **{name: asdict(of(found)) for name, of in ALL.items()},
    }


def _total(found: Sequence[Forecast], of: Callable[[Forecast], ForecastRange]) -> ForecastRange:
    return reduce(ForecastRange.plus, map(of, found), NOTHING)


def _table(found: Sequence[Forecast]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column('case', overflow='fold')
    for heading in ('points', 'repetitions', 'writes', 'reads', 'space', 'inodes', 'time'):
        table.add_column(heading, justify='right')
    for each in found:
        table.add_row(
            _name(each),
            str(len(each.plan.points)),
            _said(each.repetitions, _number),
            _said(each.written, approximate_size),
            _said(each.read, approximate_size),
            _said(each.room, approximate_size),
            _said(each.inodes, _number),
            _said(each.wall_s, duration),
        )
    return table


def _name(found: Forecast) -> str:
    if not found.criteria:
        return found.plan.case.name
    return f'{listed(found.criteria)}: {found.allocations} x {found.plan.case.name}'


def _say_total(screen: Console, found: Sequence[Forecast]) -> None:
    written, read, wall_s, node_hours = (_total(found, of) for of in TOTALS.values())
    for what, span, words in (
        ('writes', written, approximate_size),
        ('reads', read, approximate_size),
        ('time', wall_s, duration),
        ('node-hours', node_hours, _number),
    ):
        screen.print(f'{what} in all: {_said(span, words)}', soft_wrap=True)
    budgets_s = sum(each.plan.stopping.budget_s * each.allocations for each in found)
    without = sum(each.wall_s.expected is None for each in found)
    screen.print(
        'The least, as in earlier sessions, and the most; '
        f'{without} of {counted(len(found), "case")} without an earlier session. space, inodes: at one time; '
        'without the least, and what is kept for directories, a case is refused (rule P9). time: after '
        f'{duration(budgets_s)} in all (budget) no new launch begins; the most is when the scheduler ends the jobs.',
        soft_wrap=True,
    )


def _said(span: ForecastRange, words: Callable[[float], str]) -> str:
    """'4 GiB .. 9 GiB .. 12 GiB'; '?' for what is not known."""
    middle = [words(span.expected)] if span.expected is not None else []
    parts = [words(span.least), *middle, '?' if span.most is None else words(span.most)]
    return ' .. '.join(dict.fromkeys(parts))


def _number(value: float) -> str:
    return grouped(round(value)) if value >= 100 or value == int(value) else f'{value:.3g}'
