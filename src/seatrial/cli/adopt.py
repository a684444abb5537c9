"""`seatrial adopt`: gives sessions of plain ReFrame results, a report and their place in the history."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from seatrial.check.declared import load as load_checks
from seatrial.check.session import FILE, save
from seatrial.cli.options import checks_option, site_option
from seatrial.job.directory.orphans import leader_alive
from seatrial.judge.verdict import EXIT_CODES, Verdict, worst
from seatrial.report.terminal import console, say
from seatrial.scheduler.job_end import REFRAME, REPORT, complete_job_states, plain_sessions
from seatrial.session.after_session import leave
from seatrial.session.evidence import reopened, sessions_of
from seatrial.session.results import show
from seatrial.site.load import answering
from seatrial.site.model import Site


@click.command()
@click.argument('reports', nargs=-1, type=click.Path(path_type=Path, dir_okay=False, exists=True))
@checks_option
@site_option
def adopt(reports: Sequence[Path], checks: Sequence[Path], site_folder: Path) -> int:
    """Make sessions of what plain ReFrame has run: results, report, history and exit code as after `seatrial run`.

    REPORTS are those that ReFrame wrote with --report-file, of one site. Without any, all sessions of plain ReFrame
    that have ended without results, as one that was killed. A session that has results is left as it is.
    """
    site, screen = answering(site_folder), console()
    declared, verdicts = load_checks(*checks), list[Verdict]()
    abandoned = (
        (name, list[str](), None)
        for name in sessions_of(site)
        if leader_alive(site.state, name) is None and not (site.session_folder(name) / FILE).exists()
    )
    for name, missing, report in _reported(site, reports) if reports else abandoned:
        if not name:
            say(screen, '\n'.join(f'INCOMPLETE: {case}' for case in missing))
            verdicts.append(Verdict.INCOMPLETE)
            continue
        folder = site.session_folder(name)
        if (folder / FILE).exists():
            say(screen, f'{name} has its results; `seatrial report {name}` judges it anew')
            continue
        if report is not None:
            (folder / REFRAME).mkdir(exist_ok=True)
            shutil.copyfile(report, folder / REFRAME / REPORT)
        complete_job_states(folder, reopened(site, declared, folder)[1])
        session, cases, result = reopened(site, declared, folder, missing)
        save(session)
        show(screen, session, cases, result)
        leave(screen, session, cases, result)
        verdicts.append(result.verdict)
    return EXIT_CODES[worst(verdicts)] if verdicts else 0


def _reported(site: Site, reports: Sequence[Path]) -> Iterator[tuple[str, list[str], Path | None]]:
    """(session, cases it lacks, ReFrame's report). Raises UsageError."""
    for report in reports:
        try:
            sessions = plain_sessions(report, site.state)
        except ValueError as error:
            raise click.UsageError(f'{error}; name the file of --report-file') from None
        if not sessions:
            raise click.UsageError(f'{report}: no case of it has its records in {site.state}; see --site')
        for name, missing in sessions:
            yield name, missing, report
