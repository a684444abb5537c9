"""`seatrial trend`: when the nights of a site became better or worse, by how much, and what else changed then."""

from pathlib import Path

import click
from rich.text import Text

from seatrial.cli.options import effect_option, profile_option, site_option
from seatrial.nights.standing import past_of
from seatrial.report.terminal import console, say
from seatrial.session.comparison import STYLES
from seatrial.site.load import answering
from seatrial.workload.words import counted


@click.command()
@profile_option('nightly', 'Whose sessions.')
@effect_option
@site_option
def trend(profile: str, effect: float, site_folder: Path) -> None:
    """Show when families of metrics have changed their level over the sessions of a profile, newest change first.

    Beside each stand the metrics that changed most; differences in software and settings between the sessions around
    it, the nearest first; annotations of those days; and nodes and fullness, which may explain it.
    """
    site = answering(site_folder)
    screen = console()
    past = past_of(site, profile, effect / 100)
    say(screen, *(f'skipped {skip.file}: {skip.why}' for skip in past.skipped))
    nights = past.trend
    if nights is None:
        lacking = f'the history has no session of site {site.name} with the profile {profile}'
        raise click.UsageError(f'{lacking}; choose one with --profile')
    sessions = f'{counted(len(nights.sessions), "session")} of {profile}'
    families = counted(len(nights.levels), 'family', 'families')
    false = f'false notifications expected: at most {nights.rate:.2g} a month'
    say(screen, f'{sessions}, {nights.sessions[0]} to {nights.sessions[-1]}; {families}; {false}')
    for turn in nights.turns:
        verdict = Text(turn.change.verdict, STYLES.get(turn.change.verdict, 'cyan'))
        subject = f'  {turn.subject}  from {turn.session} on'
        say(screen, Text.assemble(f'{turn.began:%Y-%m-%d}  ', verdict, subject))
        say(screen, *(f'  {line}' for line in turn.beside))
    if not nights.turns:
        screen.print('no change')
    beside = {note for turn in nights.turns for note in turn.annotations}
    for note in (note for note in past.annotations if note not in beside):
        say(screen, f'annotated {note.day}, beside no change: {note.text}')
