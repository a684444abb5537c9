"""`seatrial annotate`: notes an event of a day, for those who look at the nights later."""

from datetime import date
from pathlib import Path

import click

from seatrial.cli.options import site_option
from seatrial.history.store import Annotation
from seatrial.history.store import annotate as append
from seatrial.report.terminal import console, say
from seatrial.report.words import clean
from seatrial.site.load import answering


@click.command()
@click.argument('day', metavar='DATE')
@click.argument('text')
@site_option
def annotate(day: str, text: str, site_folder: Path) -> None:
    """Write down that TEXT happened on DATE, as in 2026-10-31.

    `seatrial trend`, the page of the nights and notifications show it beside the changes of those days.
    """
    words = ' '.join(text.split())
    if not words:
        raise click.UsageError('the annotation is empty; write what happened')
    try:
        note = Annotation(date.fromisoformat(day), clean(words))
    except ValueError:
        raise click.UsageError(f"'{day}' is no day; write it as in 2026-10-31") from None
    site = answering(site_folder)
    site.make_directories()
    file = append(site.state, note)
    say(console(), f'{note.day}: {note.text} (in {file})')
