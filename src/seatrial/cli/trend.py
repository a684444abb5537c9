"""`seatrial trend`: when the nights of a site became better or worse, by how much, and what else changed then."""

from pathlib import Path

import click
from rich.text import Text

from seatrial.cli.options import effect_option, profile_option, site_option
from seatrial.nights.past import past_of
from seatrial.report.terminal import console
from seatrial.session.comparison_table import STYLES
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
    for skip in past.skipped:
        screen.print(f'skipped {skip.file}: {skip.why}', soft_wrap=True)
    nights = past.trend
    if nights is None:
        raise click.UsageError(
            f'the history has no session of site {site.name} with the profile {profile}; choose one with --profile'
        )
    screen.print(
        f'{counted(len(nights.sessions), "session")} of {profile}, {nights.sessions[0]} to {nights.sessions[-1]}; '
        f'{counted(len(nights.levels), "family", "families")}; false notifications expected: at most '
        f'{nights.rate:.2g} a month',
        soft_wrap=True,
    )
    for turn in nights.turns:
        change = turn.change
        screen.print(
            Text.assemble(
                f'{turn.began:%Y-%m-%d}  ',
                (change.verdict, STYLES.get(change.verdict, 'cyan')),
                f'  {turn.subject}  from {turn.session} on',
            ),
            soft_wrap=True,
        )
        for line in turn.beside:
            screen.print(f'  {line}', soft_wrap=True)
    if not nights.turns:
        screen.print('no change')
    beside = {note for turn in nights.turns for note in turn.annotations}
    for note in (note for note in past.annotations if note not in beside):
        screen.print(f'annotated {note.day}, beside no change: {note.text}', soft_wrap=True)
