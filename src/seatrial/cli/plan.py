"""`seatrial plan`: forecasts what the cases will take, before anything runs."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial, reduce
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from seatrial.acceptance.campaign import Allocations, asked_by_contract
from seatrial.check.actions import action_lines
from seatrial.check.contract import wrong_contract
from seatrial.check.decidable import decidable
from seatrial.check.declared import Declared
from seatrial.check.declared import load as load_checks
from seatrial.check.fit import expected_s, fitted, in_no_trial, lines_of
from seatrial.check.forecast import NOTHING, Forecast, ForecastRange, forecasts, shortfalls
from seatrial.check.pace import Rate
from seatrial.check.planning import cases_of, plan_of
from seatrial.check.session import Session, SessionOptions
from seatrial.cli.options import fit_option, session_options
from seatrial.model.plan import Case
from seatrial.model.units import approximate_size, duration
from seatrial.report.terminal import console
from seatrial.scheduler.order import beyond_schedule
from seatrial.session.from_options import NoCases, open_session
from seatrial.site.contract import CONTRACT_FILE
from seatrial.site.error import raise_any
from seatrial.site.load import answering
from seatrial.site.profile import ACCEPTANCE
from seatrial.workload.words import by_key, counted, grouped, listed

SCHEMA = 1


@click.command()
@click.option('--json', 'as_json', is_flag=True, help='As one JSON object: bytes, seconds, node-hours.')
@fit_option
@session_options
def plan(asked: SessionOptions, as_json: bool, fit_s: float | None) -> int:
    """Show what the cases will write, hold and take, from least to most; start nothing.

    Exit code 64 if something does not fit, with the smallest change that makes it fit. The middle one of three
    figures is expected: from earlier sessions, or for a time from the known speed.
    """
    site, profile, declared = answering(asked.site_folder), asked.profile, load_checks(*asked.checks)
    contracted = asked_by_contract(site, declared, asked.only, asked.system) if profile == ACCEPTANCE.name else []
    of_contract = forecasts(site, [each.plan for each in contracted], [each.promised for each in contracted])
    kept, cuts = _begun_in(contracted, of_contract, math.inf if fit_s is None else fit_s)
    own, lines = list[Forecast](), list[str]()
    try:
        session, _ = open_session(asked, declared)
    except NoCases:
        if not contracted:
            raise
    else:
        of = partial(_of_session, declared, contracted)
        own = of(session)
        if fit_s is not None:
            left = fitted(session, declared, fit_s - expected_s(kept), own, of)
            own, lines, cuts = list(left.found), lines_of(site, left.session.site, profile), [*cuts, *left.cuts]
    found = [*own, *kept]
    problems, notes = shortfalls(site, found)
    problems += beyond_schedule(site, profile, [each.plan for each in own])
    if profile != ACCEPTANCE.name:
        notes += wrong_contract(site, declared) or [NOT_COUNTED] * (site.folder / CONTRACT_FILE).exists()
    criteria = sum(len(part.tests) for part in contracted)
    deciding = [
        line
        for part, each in zip(contracted, of_contract, strict=True)
        for test in part.tests
        for line in decidable(test, each, criteria, part.nights)
    ]
    unused = in_no_trial(site, declared, [each.plan.case for each in found])
    if as_json:
        said = {
            'schema': SCHEMA,
            'site': site.name,
            'profile': profile,
            'cases': [_json(each) for each in found],
            'actions': [line for each in found for line in action_lines(each.plan)],
            'total': {name: asdict(_total(found, of)) for name, of in TOTALS.items()},
            'criteria': deciding,
            'cuts': cuts,
            'trials': lines,
            'in_no_trial': unused,
            'notes': notes,
            'problems': problems,
        }
        click.echo(json.dumps(said, indent=1))
        return 64 if problems else 0
    screen = console()
    screen.print(f'{counted(len(own), "case")} of {site.name}, profile {profile}')
    if kept:
        number = counted(sum(each.allocations for each in kept), 'allocation')
        screen.print(f'{number} that {CONTRACT_FILE} still asks for, as seatrial accept runs them')
    screen.print(_table(found))
    for line in [*(f'note: {each}' for each in notes), *(line for each in found for line in action_lines(each.plan))]:
        screen.print(line, soft_wrap=True)
    _say_total(screen, found)
    blocks = {'whether it can be decided': deciding}
    if fit_s is not None:
        fits = 'fits' if expected_s(found) <= fit_s else 'does not fit'
        unknown = sum(each.wall_s.expected is None for each in found)
        least = f' ({counted(unknown, "case")} of unknown speed with the least)' if unknown else ''
        blocks[f'the time, {duration(expected_s(found))}{least}, {fits} into {duration(fit_s)}'] = _arithmetic(found)
        blocks['cut, in this order'] = cuts
        blocks['lines that say so'] = lines
    blocks['in no trial'] = unused
    for heading, below in blocks.items():
        for line in [f'{heading}:', *(f'  {each}' for each in below)] if below else ():
            screen.print(line, soft_wrap=True)
    raise_any(problems)
    return 0


def _of_session(
    declared: Mapping[str, Declared], contracted: Sequence[Allocations], session: Session
) -> list[Forecast]:
    """The forecasts of its cases; without a measured rate they use that of the contract for as many nodes."""
    plans = [plan_of(session, check, case) for check in declared.values() for case in cases_of(session, check)]
    promised = dict[tuple[str, str, int], dict[str, Rate]]()
    for part in contracted:
        if not part.tests[0].entry.state:
            promised.setdefault(_where(part.plan.case), {}).update(part.promised)
    return forecasts(session.site, plans, [promised.get(_where(plan.case), {}) for plan in plans])


def _where(case: Case) -> tuple[str, str, int]:
    return case.partition, case.file_system, case.nodes


def _begun_in(
    contracted: Sequence[Allocations], found: Sequence[Forecast], available_s: float
) -> tuple[list[Forecast], list[str]]:
    """The allocations that fit into the time, in the order of the contract, and sentences on those left for later."""
    kept, later = list[Forecast](), list[str]()
    for part, each in zip(contracted, found, strict=True):
        ids = [test.criterion.id for test in part.tests]
        one_s = max(1.0, expected_s([each]))
        number = part.number if available_s >= part.number * one_s else int(max(0.0, available_s) // one_s)
        available_s -= number * one_s
        if number:
            kept.append(each.over(number, ids))
        if number < part.number:
            left = counted(part.number - number, 'allocation')
            later.append(f'{left} of {listed(ids)}: another time, by seatrial accept --criterion {ids[0]}')
    return kept, later


def _arithmetic(found: Sequence[Forecast]) -> list[str]:
    """The calculation of each case's time; cases with the same one share a line."""
    groups = by_key((each.arithmetic, _name(each)) for each in found)
    return [
        f'{names[0]}{f" and {len(names) - 1} more, each" if len(names) > 1 else ""}: {said}'
        for said, names in groups.items()
    ]


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
    """The forecast for JSON. criteria: of contract.yaml, for the allocations; empty for a case of trial.yaml"""
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
    without = sum(not each.sessions for each in found)
    screen.print(
        'The least, what is expected, and the most; '
        f'{without} of {counted(len(found), "case")} without an earlier session. space, inodes: at one time; '
        'without the least, and what is kept for directories, a case is refused (rule P9). time: the least with the '
        'fewest and shortest launches that count; expected by earlier sessions, else by bytes over the speed that is '
        f'known; after {duration(budgets_s)} in all (budget) no new launch begins; the most is when the scheduler '
        'ends the jobs.',
        soft_wrap=True,
    )


def _said(span: ForecastRange, words: Callable[[float], str]) -> str:
    """'4 GiB .. 9 GiB .. 12 GiB'; '?' for what is not known."""
    middle = [words(span.expected)] if span.expected is not None else []
    parts = [words(span.least), *middle, '?' if span.most is None else words(span.most)]
    return ' .. '.join(dict.fromkeys(parts))


def _number(value: float) -> str:
    return grouped(round(value)) if value >= 100 or value == int(value) else f'{value:.3g}'
