"""`seatrial report`: a session for people: a page, JUnit XML and a summary in Markdown."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from seatrial.check.declared import load as load_checks
from seatrial.check.session import REPORT
from seatrial.check.verified import verified
from seatrial.cli.options import checks_option, site_option
from seatrial.judge.verdict import EXIT_CODES, Verdict
from seatrial.report.terminal import console, marked, say
from seatrial.report.words import cut
from seatrial.session.after_session import write_report
from seatrial.session.evidence import FAULTS_SHOWN, case_folder, judged_anew, judging, session_folder
from seatrial.site.load import answering

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument('session', required=False)
@click.option('--output', type=FOLDER, help="Folder for the report; in the session's own folder without it.")
@checks_option
@site_option
def report(session: str | None, output: Path | None, checks: Sequence[Path], site_folder: Path) -> int:
    """Write index.html, junit.xml, summary.md and commands.txt of a session: of the newest, or of SESSION.

    SESSION is a name, its beginning or the folder. It is judged anew from its records, by the checks and references
    of today. If the raw output of its engines contradicts figures, it prints a list of these in place of a report,
    with exit code 11.
    """
    site = answering(site_folder)
    folder = session_folder(site, session)
    declared, screen = load_checks(*checks), console()
    with judging(folder):
        evidence = judged_anew(site, declared, folder)
        wrong = [
            f'{case.plan.case.name}: {figure}'
            for case in evidence.cases
            for figure in verified(case.plan, case.records, case_folder(folder, case.plan)).figures
        ]
    if wrong:
        say(screen, *cut(wrong, FAULTS_SHOWN))
        say(screen, f'no report: the records of session {folder.name} do not verify; measure again')
        return EXIT_CODES[Verdict.INVALID]
    try:
        with judging(folder):
            file = write_report(evidence, output or folder / REPORT)
    except OSError as error:
        raise click.UsageError(f'{error.filename}: {error.strerror}; name another folder with --output') from None
    say(screen, *(f'note: {notice}' for notice in evidence.notices))
    say(screen, Text.assemble(marked(evidence.result.verdict), f'  session {folder.name}, report: {file}'))
    return 0
