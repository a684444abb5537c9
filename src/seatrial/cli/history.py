"""`seatrial history`: what earlier sessions measured."""

import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

import click
import polars as pl
from rich.console import Console
from rich.text import Text

from seatrial.check.session import contract_of
from seatrial.cli.options import FILE, PATH, site_option
from seatrial.history import store
from seatrial.history.provenance import CASE, sentence
from seatrial.history.rows import COLUMNS, OF_ONE_SESSION
from seatrial.judge.statistics import summary
from seatrial.judge.verdict import Verdict
from seatrial.model.quoted_value import show as shown_text
from seatrial.model.units import in_unit, unit_for
from seatrial.report.figures import figure
from seatrial.report.terminal import console, marked, say, table_of
from seatrial.session.evidence import named
from seatrial.site.load import answering
from seatrial.site.model import Site
from seatrial.site.profile import ACCEPTANCE
from seatrial.site.references import references_file
from seatrial.site.yaml_file import read_text
from seatrial.workload.words import counted

FORMATS = ('.csv', '.parquet')
DAY = click.DateTime(('%Y-%m-%d',))
SESSIONS_LISTED = 100
HEADINGS = 'verdict', 'session', 'label', 'started', 'profile', 'engine', 'cases', 'not PASS or MEASURED', '#launches'
GROUPS = 'the groups of a node sweep have other nodes in every session; name one SESSION to see their figures'


@click.group()
def history() -> None:
    """List, show and export what earlier sessions measured."""


@history.command('list')
@click.option('--all', 'everything', is_flag=True, help=f'All sessions; without it the newest {SESSIONS_LISTED}.')
@site_option
def list_(everything: bool, site_folder: Path) -> None:
    """List the sessions, oldest first, with their verdicts."""
    screen = console()
    site = answering(site_folder)
    folder = store.folder_of(site.state)
    shown = table_of(*HEADINGS)
    for rows in _readable(store.summaries(folder, 0 if everything else SESSIONS_LISTED, _LISTED), screen):
        for verdict, session, label, started, *others in _listed(rows).iter_rows():
            line = (marked(Verdict(verdict)), session, label or '', f'{started:%Y-%m-%d %H:%M}', *map(str, others))
            shown.add_row(*line)
    screen.print(shown if shown.row_count else 'The history is empty; seatrial run adds to it.')
    earlier = len(store.sessions_in(folder)) - SESSIONS_LISTED
    if earlier > 0 and not everything:
        say(screen, f'{counted(earlier, "earlier session")}: seatrial history list --all')


@history.command()
@click.argument('session', required=False)
@click.option('--check', help='Only this check.')
@click.option('--metric', help='Only this metric, as in write@1MiB.')
@site_option
def show(session: str | None, check: str | None, metric: str | None, site_folder: Path) -> None:
    """Show the metrics of SESSION, or with --check or --metric those of every session, one below the other."""
    if not (session or check or metric):
        raise click.UsageError('name a session, a --check or a --metric; seatrial history list shows the sessions')
    screen = console()
    site = answering(site_folder)
    folder, asked = store.folder_of(site.state), None
    if session:
        asked = {named(store.sessions_in(folder), session, 'the history')}
    of = [(column, value) for column, value in (('check', check), ('metric', metric)) if value is not None]
    first = pl.col(of[0][0]) == of[0][1] if of else pl.lit(True)
    parts = [part.filter(first) for part in _readable(store.one_by_one(folder, named=asked), screen)]
    wanted = pl.concat([pl.DataFrame(schema=COLUMNS), *parts])
    if asked and not wanted.height and not of:
        raise click.UsageError(f'session {min(asked)} cannot be read')
    for column, value in of:
        wanted = wanted.filter(pl.col(column) == value)
        if not wanted.height:
            raise click.UsageError(f"no {column} '{value}' in {'that session' if session else 'the history'}")
    if not session:
        of_groups, wanted = wanted.height, wanted.filter(~OF_ONE_SESSION)
        if not wanted.height:
            raise click.UsageError(GROUPS)
        if wanted.height < of_groups:
            say(screen, Text(f'Left out: {GROUPS}', 'yellow'))
    # Before any figure: what the sessions have not in common besides what they measured.
    differing = sentence([of_session for _, of_session in wanted.group_by('session', maintain_order=True)])
    if differing:
        say(screen, Text(differing, 'yellow'))
    for case, of_case in wanted.group_by(*CASE, maintain_order=True):
        shown = table_of('session', 'metric', 'verdict', '#mean', '#90 % interval', '#n', 'why')
        largest = of_case.group_by('metric').agg(pl.col('value').abs().max().fill_null(0.0), pl.col('unit').first())
        units = {name: unit_for(value, unit or '', site.units) for name, value, unit in largest.iter_rows()}
        for (metric_name, _), rows in of_case.group_by('metric', 'session', maintain_order=True):
            shown.add_row(*_metric(rows, units[str(metric_name)]))
        check, partition, file_system, layout, nodes = case
        say(screen, f'{check}/{partition}/{file_system}/{layout}/{nodes}n')
        screen.print(shown)


@history.command()
@click.option('--output', type=FILE, required=True, help='File to write; its end decides the form: .csv or .parquet.')
@site_option
def export(output: Path, site_folder: Path) -> None:
    """Write every measured launch of all sessions to one file that is not there yet.

    `seatrial history import` takes a .parquet into the history of another site.
    """
    if output.suffix not in FORMATS:
        raise click.UsageError(f'--output {output}: its name must end with {" or ".join(FORMATS)}')
    screen = console()
    folder = store.folder_of(answering(site_folder).state)
    rows, sessions, packed, is_csv = 0, 0, list[IO[bytes]](), output.suffix == '.csv'
    try:
        with output.open('xb') as stream:
            if is_csv:
                pl.DataFrame(schema=COLUMNS).write_csv(stream)  # the heading
            for table in _readable(store.one_by_one(folder), screen):
                if is_csv:
                    table.write_csv(stream, include_header=False)
                else:
                    packed.append(io.BytesIO())
                    table.write_parquet(packed[-1])
                rows, sessions = rows + table.height, sessions + 1
            if not is_csv:  # one file, sealed as those of the history are; row by row it would not fit into memory
                whole = io.BytesIO()
                lazy = pl.scan_parquet(list(packed)) if packed else pl.LazyFrame(schema=COLUMNS)
                lazy.sink_parquet(whole, metadata=store.UNSEALED, maintain_order=True)
                stream.write(store.sealed(whole.getvalue()))
    except FileExistsError:
        raise click.UsageError(f'{output} is there already; name another file') from None
    say(screen, f'{counted(rows, "row")} of {counted(sessions, "session")} in {output}')


@history.command('import')
@click.argument('files', nargs=-1, required=True, type=PATH)
@site_option
def import_(files: tuple[Path, ...], site_folder: Path) -> None:
    """Take the sessions in FILES into the history: files of another history, or what `export` wrote (.parquet).

    A session that is there already stays as it is. If it has other rows there, nothing is taken.
    """
    screen, site = console(), answering(site_folder)
    folder = store.folder_of(site.state)
    known = set(store.sessions_in(folder))
    taken: dict[str, pl.DataFrame] = {}
    for file in files:
        content = store.content_of(file)
        rows = content if isinstance(content, str) else store.rows_in(content)
        if isinstance(rows, str):
            raise click.UsageError(f'{file}: {rows}; nothing was imported')
        removed = store.removed_from(file)
        for of_session in rows.partition_by('session', maintain_order=True):
            name = of_session['session'][0]
            if name in removed:
                continue
            if not store.SESSION.fullmatch(name):
                raise click.UsageError(f'{file}: {shown_text(name)} is no name of a session; nothing was imported')
            there = taken.get(name)
            if there is None and name in known:
                there = store.read(folder, named={name}).rows
            if there is not None and there.height and not there.equals(of_session):
                why = f'session {name} is in the history with other rows'
                raise click.UsageError(f'{file}: {why}; nothing was imported')
            taken[name] = of_session
    new = [name for name in sorted(taken) if name not in known]
    site.make_directories()
    for name in new:
        store.write(folder, name, taken[name])
    say(screen, f'{counted(len(new), "session")} taken, {len(taken) - len(new)} there already')


@history.command()
@click.option('--before', type=DAY, required=True, help='The day (UTC) that they began before.')
@click.option('--yes', is_flag=True, help='Remove what is shown; without it nothing is changed.')
@site_option
def prune(before: datetime, yes: bool, site_folder: Path) -> None:
    """Show the sessions of the history that began before a day; with --yes remove them from it.

    What a contract, a baseline or a label names is kept, and what cannot be read. Records and reports stay.
    """
    screen = console()
    site = answering(site_folder)
    folder = store.folder_of(site.state)
    kept, removed, file = Counter[str](), list[str](), references_file(site.folder)
    cited = set(store.SESSION.findall(read_text(file))) if file else set[str]()
    tables = store.summaries(folder, columns=('session', 'session_started', 'profile', 'label'))
    for rows in _readable(tables, screen):
        old = rows.filter(pl.col('session_started') < before.replace(tzinfo=timezone.utc))
        sessions = old.select('session', 'profile', 'label').unique(maintain_order=True)
        for session, profile, label in sessions.iter_rows():
            why = _kept_by(site, session, profile, label, cited)
            if why:
                kept[why] += 1
            else:
                removed.append(session)
    say(screen, *(f'kept: {counted(number, "session")} {why}' for why, number in kept.items()))
    span = f', {removed[0]} to {removed[-1]}' if removed else ''
    if yes:
        store.remove(folder, removed)
    words = f'removed{span}' if yes else f'would be removed{span}; --yes removes them'
    say(screen, f'{counted(len(removed), "session")} {words}')


def _kept_by(site: Site, session: str, profile: str, label: str | None, cited: Collection[str]) -> str:
    if profile == ACCEPTANCE.name or contract_of(site.session_folder(session)):
        return 'of an acceptance'
    if session in cited:
        return 'of a baseline in references.yaml'
    return 'with a label' if label else ''


def _readable(tables: Iterable[pl.DataFrame | store.Skipped], screen: Console) -> Iterator[pl.DataFrame]:
    """The tables among these; files that could not be read are printed."""
    for table in tables:
        if isinstance(table, store.Skipped):
            say(screen, f'skipped {table.file}: {table.why}')
        else:
            yield table


def _metric(rows: pl.DataFrame, unit: str) -> tuple[str | Text, ...]:
    first = rows.row(0, named=True)
    values = [in_unit(value, unit) for value in rows.filter(pl.col('valid'))['value'].drop_nulls()]
    mean, interval = '-', 'one sample' if len(values) == 1 else '-'
    if values:
        stats = summary(values)
        mean = f'{figure(stats.mean)} {unit}'.strip()
        if stats.n > 2:
            interval = f'{figure(stats.interval.low)} to {figure(stats.interval.high)}'
    verdict = marked(Verdict(first['metric_verdict']))
    return first['session'], first['metric'], verdict, mean, interval, str(len(values)), first['metric_why']


_OF_CASE = ('session', *CASE, 'engine', 'engine_version')
_LISTED = (*_OF_CASE, 'session_verdict', 'label', 'session_started', 'profile', 'case_verdict', 'launches')


def _listed(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each session, from summaries with the columns _LISTED."""
    launches = rows.group_by('session').agg(pl.col('launches').sum())
    engine = (pl.col('engine') + ' ' + pl.col('engine_version').fill_null('')).str.strip_chars()
    unopposed = [verdict.value for verdict in Verdict if verdict.unopposed]
    firsts = pl.col('session_verdict', 'label', 'session_started', 'profile').first()
    engines = engine.filter(pl.col('engine') != '').unique(maintain_order=True).drop_nulls()
    opposed = pl.struct(CASE).filter(~pl.col('case_verdict').is_in(unopposed)).n_unique()
    # One metric of a case is enough, and keeps the rows few.
    cases = rows.unique(_OF_CASE, keep='first', maintain_order=True).group_by('session', maintain_order=True)
    sessions = cases.agg(firsts, engines=engines, cases=pl.struct(CASE).n_unique(), opposed=opposed)
    sessions = sessions.join(launches, on='session', how='left', maintain_order='left')
    begun = 'session_verdict', 'session', 'label', 'session_started', 'profile'
    shown = pl.col('engines').list.join(', ').replace('', '-')
    return sessions.select(*begun, shown, 'cases', 'opposed', 'launches')
