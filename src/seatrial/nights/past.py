"""All nights of a profile, as the history of a site has them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from seatrial.history.annotations import Annotation, annotations
from seatrial.history.store import Skipped, folder_of, read, summaries
from seatrial.judge.compare import EFFECT
from seatrial.report.nights.nights import OF_WHOLE, whole
from seatrial.report.nights.trend import GATHERED, Nights, Trend, gathered
from seatrial.report.nights.trend import trend as trend_of
from seatrial.site.model import Site


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
