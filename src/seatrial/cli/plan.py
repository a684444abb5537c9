"""`seatrial plan`: forecasts what the cases will take, before anything runs."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial, reduce

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
from seatrial.report.terminal import console, say, table_of
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
    of_contract = forecasts(site, [part.plan for part in contracted], [part.promised for part in contracted])
    kept, cuts = _begun_in(contracted, of_contract, math.inf if fit_s is None else fit_s)
    planned, lines = list[Forecast](), list[str]()
    try:
        session, _ = open_session(asked, declared)
    except NoCases:
        if not contracted:
            raise
    else:
        of = partial(_of_session, declared, contracted)
        planned = of(session)
        if fit_s is not None:
            left = fitted(session, declared, fit_s - expected_s(kept), planned, of)
            planned, lines = list(left.forecasts), lines_of(site, left.session.site, profile)
            cuts = [*cuts, *left.cuts]
    whole = [*planned, *kept]
    problems, notes = shortfalls(site, whole)
    problems += beyond_schedule(site, profile, [forecast.plan for forecast in planned])
    if profile != ACCEPTANCE.name:
        notes += wrong_contract(site, declared) or [NOT_COUNTED] * (site.folder / CONTRACT_FILE).exists()
    criteria = sum(len(part.tests) for part in contracted)
    deciding = list[str]()
    for part, forecast in zip(contracted, of_contract, strict=True):
        for test in part.tests:
            deciding += decidable(test, forecast, criteria, part.nights)
    unused = in_no_trial(site, declared, [forecast.plan.case for forecast in whole])
    actions = [line for forecast in whole for line in action_lines(forecast.plan)]
    if as_json:
        data = {
            'schema': SCHEMA,
            'site': site.name,
            'profile': profile,
            'cases': [
                {
                    'case': forecast.plan.case.name,
                    'points': [point.label for point in forecast.plan.points],
                    'criteria': list(forecast.criteria),  # ids in contract.yaml; empty for a case of trial.yaml
                    'allocations': forecast.allocations,
                    **{name: asdict(of(forecast)) for name, of in ALL.items()},
                }
                for forecast in whole
            ],
            'actions': actions,
            'total': {name: asdict(_total(whole, of)) for name, of in TOTALS.items()},
            'criteria': deciding,
            'cuts': cuts,
            'trials': lines,
            'in_no_trial': unused,
            'notes': notes,
            'problems': problems,
        }
        click.echo(json.dumps(data, indent=1))
        return 64 if problems else 0
    screen = console()
    screen.print(f'{counted(len(planned), "case")} of {site.name}, profile {profile}')
    if kept:
        number = counted(sum(forecast.allocations for forecast in kept), 'allocation')
        screen.print(f'{number} that {CONTRACT_FILE} still asks for, as seatrial accept runs them')
    screen.print(_table(whole))
    say(screen, *(f'note: {note}' for note in notes), *actions)
    _say_total(screen, whole)
    blocks = {'whether it can be decided': deciding}
    if fit_s is not None:
        fits = 'fits' if expected_s(whole) <= fit_s else 'does not fit'
        unknown = sum(forecast.wall_s.expected is None for forecast in whole)
        least = f' ({counted(unknown, "case")} of unknown speed with the least)' if unknown else ''
        blocks[f'the time, {duration(expected_s(whole))}{least}, {fits} into {duration(fit_s)}'] = [
            f'{names[0]}{f" and {len(names) - 1} more, each" if len(names) > 1 else ""}: {arithmetic}'
            for arithmetic, names in by_key((case.arithmetic, _name(case)) for case in whole).items()
        ]
        blocks['cut, in this order'] = cuts
        blocks['lines that say so'] = lines
    blocks['in no trial'] = unused
    for heading, below in blocks.items():
        if below:
            say(screen, f'{heading}:', *(f'  {row}' for row in below))
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
    contracted: Sequence[Allocations], planned: Sequence[Forecast], available_s: float
) -> tuple[list[Forecast], list[str]]:
    """The allocations that fit into the time, in the order of the contract, and sentences on those left for later."""
    kept, later = list[Forecast](), list[str]()
    for part, forecast in zip(contracted, planned, strict=True):
        ids = [test.criterion.id for test in part.tests]
        one_s = max(1.0, expected_s([forecast]))
        number = part.number if available_s >= part.number * one_s else int(max(0.0, available_s) // one_s)
        available_s -= number * one_s
        if number:
            kept.append(forecast.over(number, ids))
        if number < part.number:
            left = counted(part.number - number, 'allocation')
            later.append(f'{left} of {listed(ids)}: another time, by seatrial accept --criterion {ids[0]}')
    return kept, later


NOT_COUNTED = f'what {CONTRACT_FILE} asks for is not counted; it is with --profile {ACCEPTANCE.name}'

ALL: dict[str, Callable[[Forecast], ForecastRange]] = {
    'repetitions': lambda forecast: forecast.repetitions,
    'bytes_written': lambda forecast: forecast.written,
    'bytes_read': lambda forecast: forecast.read,
    'room_bytes': lambda forecast: forecast.room,
    'room_inodes': lambda forecast: forecast.inodes,
    'wall_s': lambda forecast: forecast.wall_s,
    'node_hours': lambda forecast: forecast.node_hours,
}
TOTALS = {name: ALL[name] for name in ('bytes_written', 'bytes_read', 'wall_s', 'node_hours')}


def _total(cases: Sequence[Forecast], of: Callable[[Forecast], ForecastRange]) -> ForecastRange:
    return reduce(ForecastRange.plus, map(of, cases), NOTHING)


def _table(cases: Sequence[Forecast]) -> Table:
    table = table_of('case', '#points', '#repetitions', '#writes', '#reads', '#space', '#inodes', '#time')
    for forecast in cases:
        sizes = (_span_words(span, approximate_size) for span in (forecast.written, forecast.read, forecast.room))
        counts = [_span_words(span, _number) for span in (forecast.repetitions, forecast.inodes)]
        time = _span_words(forecast.wall_s, duration)
        table.add_row(_name(forecast), str(len(forecast.plan.points)), counts[0], *sizes, counts[1], time)
    return table


def _name(forecast: Forecast) -> str:
    if not forecast.criteria:
        return forecast.plan.case.name
    return f'{listed(forecast.criteria)}: {forecast.allocations} x {forecast.plan.case.name}'


def _say_total(screen: Console, cases: Sequence[Forecast]) -> None:
    written, read, wall_s, node_hours = (_total(cases, of) for of in TOTALS.values())
    for what, span in (('writes', written), ('reads', read)):
        say(screen, f'{what} in all: {_span_words(span, approximate_size)}')
    say(screen, f'time in all: {_span_words(wall_s, duration)}')
    say(screen, f'node-hours in all: {_span_words(node_hours, _number)}')
    budgets_s = sum(forecast.plan.stopping.budget_s * forecast.allocations for forecast in cases)
    without = sum(not forecast.sessions for forecast in cases)
    say(
        screen,
        'The least, what is expected, and the most; '
        f'{without} of {counted(len(cases), "case")} without an earlier session. space, inodes: at one time; '
        'without the least, and what is kept for directories, a case is refused (rule P9). time: the least with the '
        'fewest and shortest launches that count; expected by earlier sessions, else by bytes over the speed that is '
        f'known; after {duration(budgets_s)} in all (budget) no new launch begins; the most is when the scheduler '
        'ends the jobs.',
    )


def _span_words(span: ForecastRange, words: Callable[[float], str]) -> str:
    """'4 GiB .. 9 GiB .. 12 GiB'; '?' for what is not known."""
    middle = [words(span.expected)] if span.expected is not None else []
    parts = [words(span.least), *middle, '?' if span.most is None else words(span.most)]
    return ' .. '.join(dict.fromkeys(parts))


def _number(value: float) -> str:
    return grouped(round(value)) if value >= 100 or value == int(value) else f'{value:.3g}'
