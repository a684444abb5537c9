"""`seatrial history`: what earlier sessions measured."""

from collections.abc import Sequence
from pathlib import Path

import click
import polars as pl
from rich.console import Console
from rich.text import Text

from seatrial.cli.evidence import named
from seatrial.cli.options import site_option
from seatrial.cli.terminal import console, marked, table_of
from seatrial.history.provenance import CASE, sentence
from seatrial.history.rows import OF_ONE_SESSION, Kept, table
from seatrial.history.store import files_in, folder_of, read, write
from seatrial.judge.statistics import summary
from seatrial.judge.verdict import Verdict
from seatrial.model.units import in_unit, unit_for
from seatrial.report.evidence import SessionEvidence
from seatrial.site.load import answering
from seatrial.site.model import Site
from seatrial.workload.words import counted

FORMATS = ('.csv', '.parquet')
SESSIONS_LISTED = 100
GROUPS = 'a group of a node sweep is other nodes in every session, so its figures are shown of one SESSION at a time'


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
    rows = _rows(site, screen, 0 if everything else SESSIONS_LISTED)
    shown = table_of(
        'verdict', 'session', 'label', 'started', 'profile', 'engine', 'cases', 'not PASS or MEASURED', '#launches'
    )
    for (session,), own in rows.group_by('session', maintain_order=True):
        cases = own.unique(CASE)
        shown.add_row(
            marked(Verdict(own['session_verdict'][0])),
            str(session),
            own['label'][0] or '',
            f'{own["session_started"][0]:%Y-%m-%d %H:%M}',
            own['profile'][0],
            ', '.join(_engines(own)) or '-',
            str(cases.height),
            str(sum(not Verdict(each).unopposed for each in cases['case_verdict'])),
            str(own['started'].is_not_null().sum()),
        )
    screen.print(shown if rows.height else 'The history is empty; seatrial run adds to it.')
    earlier = len(files_in(folder_of(site.state))) - SESSIONS_LISTED
    if earlier > 0 and not everything:
        screen.print(f'{counted(earlier, "earlier session")}: seatrial history list --all', soft_wrap=True)


@history.command()
@click.argument('session', required=False)
@click.option('--check', help='Only this check.')
@click.option('--metric', help='Only this metric, as in write@1MiB.')
@site_option
def show(session: str | None, check: str | None, metric: str | None, site_folder: Path) -> None:
    """Show the metrics of SESSION, or with --check or --metric those of every session, one below the other."""
    if not (session or check or metric):
        raise click.UsageError('which? Name a session, a --check or a --metric; seatrial history list shows sessions')
    screen = console()
    site = answering(site_folder)
    wanted = _rows(site, screen)
    if session:
        known = wanted['session'].unique(maintain_order=True).to_list()
        wanted = wanted.filter(pl.col('session') == named(known, session, 'the history'))
    for column, value in (('check', check), ('metric', metric)):
        if value is not None:
            wanted = wanted.filter(pl.col(column) == value)
            if not wanted.height:
                raise click.UsageError(f"no {column} '{value}' in {'that session' if session else 'the history'}")
    if not session:
        wanted = _of_all_sessions(wanted, screen)
    # Before any figure: what the sessions have not in common besides what they measured.
    differing = sentence([own for _, own in wanted.group_by('session', maintain_order=True)])
    if differing:
        screen.print(Text(differing, 'yellow'), soft_wrap=True)
    for case, own in wanted.group_by(*CASE, maintain_order=True):
        shown = table_of('session', 'metric', 'verdict', '#mean', '#90 % interval', '#n', 'why')
        units = _units(own, site.units)
        for (metric_name, _), rows in own.group_by('metric', 'session', maintain_order=True):
            shown.add_row(*_metric(rows, units[str(metric_name)]))
        check, partition, file_system, layout, nodes = case
        screen.print(f'{check}/{partition}/{file_system}/{layout}/{nodes}n', soft_wrap=True)
        screen.print(shown)


@history.command()
@click.option(
    '--output',
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help='File to write; its end decides the form: .csv or .parquet.',
)
@site_option
def export(output: Path, site_folder: Path) -> None:
    """Write every measured launch of all sessions to one file that is not there yet."""
    if output.suffix not in FORMATS:
        raise click.UsageError(f'--output {output}: its name must end with {" or ".join(FORMATS)}')
    screen = console()
    rows = _rows(answering(site_folder), screen)
    try:
        with output.open('xb') as stream:
            if output.suffix == '.csv':
                rows.write_csv(stream)
            else:
                rows.write_parquet(stream)
    except FileExistsError:
        raise click.UsageError(f'{output} is there already; name another file') from None
    sessions = counted(rows['session'].n_unique(), 'session')
    screen.print(f'{counted(rows.height, "row")} of {sessions} in {output}', soft_wrap=True)


def remember(evidence: SessionEvidence, state: str, only: Sequence[str] = (), label: str = '') -> Path:
    """Write a session, restricted to `only`, into the history of its site; returns the file. Raises OSError."""
    kept = [
        Kept(
            plan=case.plan,
            records=case.records,
            samples=case.samples,
            verdict=case.result.verdict.value,
            metrics={each.metric: (each.verdict.value, each.why) for each in case.result.metrics},
        )
        for case in evidence.cases
    ]
    result = evidence.result
    rows = table(result.session, evidence.began, evidence.site, result.verdict.value, kept, only, label)
    return write(folder_of(state), result.session, rows)


def _rows(site: Site, screen: Console, newest: int = 0) -> pl.DataFrame:
    """The rows of the site's history, of all sessions or the newest; what is skipped is said."""
    found = read(folder_of(site.state), newest)
    for each in found.skipped:
        screen.print(f'skipped {each.file}: {each.why}', soft_wrap=True)
    return found.rows


def _of_all_sessions(wanted: pl.DataFrame, screen: Console) -> pl.DataFrame:
    """What means the same in every session; that something else was wanted too is said."""
    kept = wanted.filter(~OF_ONE_SESSION)
    if kept.height < wanted.height:
        if not kept.height:
            raise click.UsageError(GROUPS)
        screen.print(Text(f'Left out: {GROUPS}', 'yellow'), soft_wrap=True)
    return kept


def _units(own: pl.DataFrame, system: str) -> dict[str, str]:
    """In which each metric is read best, the same in every session."""
    largest = own.group_by('metric').agg(pl.col('value').abs().max().fill_null(0.0), pl.col('unit').first())
    return {name: unit_for(value, unit or '', system) for name, value, unit in largest.iter_rows()}


def _metric(own: pl.DataFrame, unit: str) -> tuple[str | Text, ...]:
    """The line of one metric of one session, in this unit."""
    first = own.row(0, named=True)
    values = [in_unit(value, unit) for value in own.filter(pl.col('valid'))['value'].drop_nulls()]
    found = summary(values) if values else None
    return (
        first['session'],
        first['metric'],
        marked(Verdict(first['metric_verdict'])),
        f'{found.mean:.4g} {unit}'.strip() if found else '-',
        f'{found.interval.low:.4g}..{found.interval.high:.4g}'
        if found and found.n > 2
        else 'one sample'
        if found and found.n == 1
        else '-',
        str(found.n if found else 0),
        first['metric_why'],
    )


def _engines(own: pl.DataFrame) -> list[str]:
    pairs = own.select('engine', 'engine_version').drop_nulls().unique(maintain_order=True)
    return [f'{engine} {version}'.strip() for engine, version in pairs.iter_rows() if engine]
