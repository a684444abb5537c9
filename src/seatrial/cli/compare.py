"""`seatrial compare`: sessions before and after, or configurations of which one is chosen."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import click
import polars as pl
from rich.console import Console

from seatrial.cli.options import FILE, effect_option, site_option
from seatrial.judge.choice import choice, quantity_of, requirement
from seatrial.judge.compare import WORSE
from seatrial.judge.verdict import EXIT_CODES, Verdict
from seatrial.model.atomic_file import write_whole
from seatrial.model.metric import HIGHER
from seatrial.report.comparison.before_after import COMPARED, compact, comparison, comparison_page, rounds_of, to_json
from seatrial.report.comparison.configurations import COLUMNS, configurations, sentences
from seatrial.report.comparison.configurations import table as choice_table
from seatrial.report.comparison.configurations import to_json as choice_json
from seatrial.report.terminal import console, say, table_of
from seatrial.session.chosen_sessions import WHICH, chosen
from seatrial.session.comparison import show_comparison
from seatrial.site.load import answering
from seatrial.site.model import Site

_SIZE = re.compile(r'([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)', re.ASCII)


@click.command(
    help=f'Compare the sessions AFTER with those BEFORE; or three configurations and more, of which --maximise '
    f'chooses one. Each side is {WHICH}; several with commas.'
)
@click.argument('sides', nargs=-1, required=True, metavar='BEFORE AFTER | CONFIGURATION...')
@click.option('--profile', help='Only sessions of this profile.')
@effect_option
@click.option('--paired', is_flag=True, help='The sides were measured in turn, as by `seatrial run --ab`.')
@click.option('--json', 'as_json', is_flag=True, help='Print all of it as JSON, in base units.')
@click.option('--html', type=FILE, help='Write it as a page into this file too.')
@click.option('--fail-on', type=click.Choice([WORSE]), help='Exit code 10 where a metric or a family is worse.')
@click.option('--require', multiple=True, metavar='COLUMN>=FIGURE', help='What it must have: "capacity>=2500TB".')
@click.option('--maximise', type=click.Choice([column.name for column in COLUMNS if column.better == HIGHER]))
@click.option('--minimise', type=click.Choice([column.name for column in COLUMNS if column.better != HIGHER]))
@click.option('--capacity', multiple=True, metavar='CONFIGURATION=SIZE', help='The capacity of one: raidz2=2400TB.')
@site_option
def compare(
    sides: tuple[str, ...],
    profile: str | None,
    effect: float,
    paired: bool,
    as_json: bool,
    html: Path | None,
    fail_on: str | None,
    require: tuple[str, ...],
    maximise: str | None,
    minimise: str | None,
    capacity: tuple[str, ...],
    site_folder: Path,
) -> int:
    choosing = bool(require or maximise or minimise or capacity) or len(sides) > 2
    if len(sides) < 2 or len(set(sides)) < len(sides):
        raise click.UsageError('name two sides, or several configurations, each once')
    if choosing and (html or fail_on or paired):
        raise click.UsageError('--html, --fail-on and --paired are of two sides, before and after, without a choice')
    site = answering(site_folder)
    screen = console()
    rows = chosen(site, sides, Console(stderr=True), *(() if choosing else (compact, COMPARED)))
    if profile is not None:
        rows = [side.filter(pl.col('profile') == profile) for side in rows]
    _check(rows)
    if choosing:
        _choose(dict(zip(sides, rows, strict=True)), require, maximise or minimise, capacity, as_json, site, screen)
        return 0
    try:
        rounds = rounds_of(*rows) if paired else None
    except ValueError as error:
        raise click.UsageError(f'{error}; leave out --paired, or name the sessions of the rounds') from None
    compared = comparison(rows[0], rows[1], (sides[0], sides[1]), effect / 100, site.units, rounds)
    if html is not None:
        try:
            write_whole(html, comparison_page(compared, site.name))
        except OSError as error:
            raise click.UsageError(f'{html}: {error.strerror}; name another file with --html') from None
    if as_json:
        click.echo(json.dumps(to_json(compared), indent=1))
    else:
        show_comparison(compared, screen)
        if html is not None:
            say(screen, f'page: {html}')
    return EXIT_CODES[Verdict.FAIL] if fail_on and compared.has(fail_on) else 0


def _check(sides: list[pl.DataFrame]) -> None:
    if not all(rows.height for rows in sides):
        raise click.UsageError('no session of that --profile on one of the sides; seatrial history list shows them')
    profiles = sorted({profile for rows in sides for profile in rows['profile'].unique()})
    if len(profiles) > 1:
        several = f'sessions of several profiles ({", ".join(profiles)})'
        raise click.UsageError(f'{several} measure differently; choose one with --profile')
    for one, other in combinations(sides, 2):
        if both := sorted(set(one['session']) & set(other['session'])):
            raise click.UsageError(f'session {both[0]} is on both sides; name other sessions')


def _choose(
    sides: Mapping[str, pl.DataFrame],
    require: Sequence[str],
    by: str | None,
    capacities: Sequence[str],
    as_json: bool,
    site: Site,
    screen: Console,
) -> None:
    """Shows the configurations, and which one the requirements choose. Raises UsageError."""
    if require and by is None:
        raise click.UsageError('--require needs a column to choose by; add --maximise write, or name another column')
    column = next((column for column in COLUMNS if column.name == by), None)
    try:
        requirements = [requirement(text, COLUMNS) for text in require]
        known = dict(_capacity(text, sides) for text in capacities)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    configured = configurations(sides, known)
    picked = choice(column, configured.figures, requirements) if column else None
    if as_json:
        click.echo(json.dumps(choice_json(configured, picked, column), indent=1))
        return
    shown = table_of('configuration', *(f'#{column.name}' for column in COLUMNS), '#full')
    for row in choice_table(configured, site.units):
        shown.add_row(*row)
    screen.print(shown)
    say(screen, *sentences(configured, picked, column, site.units))


def _capacity(text: str, sides: Mapping[str, pl.DataFrame]) -> tuple[str, float]:
    name, _, size = text.rpartition('=')
    match = _SIZE.fullmatch(size)
    if name not in sides or match is None:
        raise ValueError(f"--capacity '{text}': write a configuration that you compare, = and a size: raidz2=2400TB")
    return name, quantity_of(match[1], match[2], 'B')
