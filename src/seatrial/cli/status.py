"""`seatrial status`: last night on one screen."""

from contextlib import nullcontext
from pathlib import Path

import click
from rich.text import Text

from seatrial.check.contract import wrong_contract
from seatrial.cli.options import profile_option, site_option
from seatrial.judge.verdict import EXIT_CODES
from seatrial.nights.notify import news_lock, send_notification, unsent
from seatrial.nights.standing import watch_of, write_year
from seatrial.report.nights.notification import aligned
from seatrial.report.nights.notification import screen as lines_of
from seatrial.report.terminal import LINES, STYLES, console, fitting, say
from seatrial.report.words import SIGNS
from seatrial.scheduler.series import alone
from seatrial.session.from_options import no_more_systems, one_system
from seatrial.site.load import answering


@click.command()
@profile_option('nightly', 'The profile that is scheduled.')
@click.option('--system', help="One of ReFrame's systems, where trial.yaml names several.")
@click.option('--notify', is_flag=True, help='Send what is new with the command that trial.yaml names for it.')
@site_option
def status(site_folder: Path, profile: str, system: str | None, notify: bool) -> int:
    """Show how the last run of a profile went, what changed, what was missed and when the next one is due.

    The exit code is that of the last run, or 13 if the run that was due last was missed.
    """
    site = answering(site_folder)
    system = one_system(site, profile, system)
    if notify:
        no_more_systems(site, profile)
    screen = console()
    with alone(news_lock(site, profile)) if notify else nullcontext():
        try:
            watch = watch_of(site, profile, system)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        lines = [*lines_of(watch), *(('note', note) for note in wrong_contract(site))]
        if fault := unsent(site, watch.profile):
            lines.append(('news', f'the last could not be sent: {fault}'))
        room = max(1, LINES // (len(lines) + 2))  # the two that are not cut may be wrapped
        for (word, text), line in zip(lines, aligned(lines), strict=True):
            if word == 'verdict':
                marked = f'{SIGNS[watch.verdict.value]} {text}'
                say(screen, Text(line.removesuffix(text)).append(marked, STYLES[watch.verdict]))
            else:
                say(screen, *([line] if word in ('records', 'report') else fitting([line], room)))
        if notify:
            past = send_notification(screen, site, watch)
            try:
                write_year(site, profile, None if system else watch, past)
            except OSError as error:
                screen.print(f'the page of the nights could not be written: {error.filename}: {error.strerror}')
    return EXIT_CODES[watch.verdict]
