"""`seatrial trend`: when the nights of a site have become better or worse, by how much, and with what beside it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import polars as pl
from rich.text import Text

from seatrial.cli.compare import STYLES
from seatrial.cli.options import effect_option, profile_option, site_option
from seatrial.cli.terminal import console
from seatrial.history.annotations import Annotation, annotations
from seatrial.history.store import Skipped, folder_of, read, summaries
from seatrial.judge.compare import EFFECT
from seatrial.report.nights import OF_WHOLE, whole
from seatrial.report.trend import GATHERED, Nights, Trend, gathered
from seatrial.report.trend import trend as trend_of
from seatrial.site.load import answering
from seatrial.site.model import Site
from seatrial.workload.words import counted


class Past(NamedTuple):
    """All nights of a profile, without sessions of named checks.

    trend: None where there is none; skipped: what could not be read
    """

    trend: Trend | None
    annotations: Sequence[Annotation]
    skipped: Sequence[Skipped]
    nights: Nights


def past_of(site: Site, profile: str, effect: float = EFFECT) -> Past:
    """What the history of a site has of a profile. Raises OSError."""
    folder, skipped = folder_of(site.state), []

    def tables() -> Iterator[pl.DataFrame]:
        for each in summaries(folder, columns=(*OF_WHOLE, *GATHERED)):
            if isinstance(each, Skipped):
                skipped.append(each)
            elif (rows := whole(each, site.name, profile)).height:
                yield rows.select(GATHERED)

    def rows_of(names: Sequence[str]) -> pl.DataFrame:
        found = read(folder, named=names)
        skipped.extend(each for each in found.skipped if each not in skipped)
        return found.rows

    past = gathered(tables(), rows_of)
    own, no_lines = annotations(site.state)
    found = trend_of(past, site.false_notifications, effect, site.units, own) if past.began.height else None
    return Past(found, own, [*skipped, *no_lines], past)


@click.command()
@profile_option('nightly', 'Whose sessions.')
@effect_option
@site_option
def trend(profile: str, effect: float, site_folder: Path) -> None:
    """Show when families of metrics have changed their level over the sessions of a profile, newest change first.

    Beside each stand the metrics that changed most, what the sessions around it were not measured with alike, the
    nearest first, what was annotated for those days, and nodes and fullness, which may explain it.
    """
    site = answering(site_folder)
    screen = console()
    past = past_of(site, profile, effect / 100)
    for each in past.skipped:
        screen.print(f'skipped {each.file}: {each.why}', soft_wrap=True)
    found = past.trend
    if found is None:
        raise click.UsageError(f'the history has no session of the profile {profile}; choose one with --profile')
    screen.print(
        f'{counted(len(found.sessions), "session")} of {profile}, {found.sessions[0]} to {found.sessions[-1]}; '
        f'{counted(len(found.levels), "family", "families")}; false notifications expected: at most '
        f'{found.rate:.2g} a month',
        soft_wrap=True,
    )
    for turn in found.turns:
        change = turn.change
        screen.print(
            Text.assemble(
                f'{turn.began:%Y-%m-%d}  ',
                (change.verdict, STYLES.get(change.verdict, 'cyan')),
                f'  {turn.subject}  from {turn.session} on',
            ),
            soft_wrap=True,
        )
        for said in turn.beside:
            screen.print(f'  {said}', soft_wrap=True)
    if not found.turns:
        screen.print('no change')
    beside = {own for turn in found.turns for own in turn.annotations}
    for own in (own for own in past.annotations if own not in beside):
        screen.print(f'annotated {own.day}, beside no change: {own.text}', soft_wrap=True)
