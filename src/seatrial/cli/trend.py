"""`seatrial trend`: when the nights of a site have become better or worse, by how much, and with what beside it."""

from pathlib import Path

import click
import polars as pl
from rich.text import Text

from seatrial.cli.compare import STYLES
from seatrial.cli.options import effect_option, profile_option, site_option
from seatrial.cli.terminal import console
from seatrial.history.store import folder_of, read
from seatrial.judge.compare import SAME
from seatrial.report.comparison import interval_words, ratio_words
from seatrial.report.trend import trend as trend_of
from seatrial.report.words import cut
from seatrial.site.load import answering
from seatrial.workload.words import counted

LEVEL = 0.05
SHOWN = 5


@click.command()
@profile_option('nightly', 'Whose sessions.')
@effect_option
@site_option
def trend(profile: str, effect: float, site_folder: Path) -> None:
    """Show when families of metrics have changed their level over the sessions of a profile, newest change first.

    Beside each stand the metrics that changed most, what the sessions around it were not measured with alike, and
    nodes and fullness, which may explain it.
    """
    site = answering(site_folder)
    screen = console()
    history = read(folder_of(site.state))
    for each in history.skipped:
        screen.print(f'skipped {each.file}: {each.why}', soft_wrap=True)
    rows = history.rows.filter(pl.col('profile') == profile)
    if not rows.height:
        raise click.UsageError(f'the history has no session of the profile {profile}; choose one with --profile')
    found = trend_of(rows, LEVEL, effect / 100, site.units)
    screen.print(
        f'{counted(len(found.sessions), "session")} of {profile}, {found.sessions[0]} to {found.sessions[-1]}; '
        f'{counted(found.families, "family", "families")}; of {1 / found.level:.0f} such histories '
        'without a change one shows some',
        soft_wrap=True,
    )
    for turn in found.turns:
        change = turn.change
        screen.print(
            Text.assemble(
                f'{turn.began:%Y-%m-%d}  ',
                (change.verdict, STYLES.get(change.verdict, 'cyan')),
                f'  {turn.file_system}: {turn.family}  {ratio_words(change)} ({interval_words(change)})',
                f'  from {turn.session} on',
            ),
            soft_wrap=True,
        )
        metrics = [row for row in turn.found.metrics if row.family == turn.family and row.change.verdict != SAME]
        for row in metrics[:SHOWN]:
            screen.print(
                f'  {row.case} {row.metric}: {ratio_words(row.change)} ({interval_words(row.change)})', soft_wrap=True
            )
        for said in cut(turn.suspects, SHOWN):
            screen.print(f'  not measured with the same: {said}', soft_wrap=True)
        for said in turn.found.circumstances:
            screen.print(f'  beside it: {said}', soft_wrap=True)
    if not found.turns:
        screen.print('no change')
