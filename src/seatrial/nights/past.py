"""All nights of a profile from the history of a site, and their page."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from seatrial.history.store import Annotation, Skipped, annotations, folder_of, read, readable, summaries
from seatrial.judge.compare import EFFECT
from seatrial.nights.standing import missed_of, watch_of
from seatrial.report.comparison.before_after import COMPARED, compact
from seatrial.report.nights.nights import OF_WHOLE, whole
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.nights.page import year_page
from seatrial.report.nights.trend import GATHERED, Nights, Trend, gathered
from seatrial.report.nights.trend import trend as trend_of
from seatrial.scheduler.series import page_file, put
from seatrial.site.model import Site

# Set in the environment of a session: the process that started it writes the page, after the notification.
LATER = 'SEATRIAL_PAGE_OF_NIGHTS_LATER'


class Past(NamedTuple):
    """All nights of a profile, without sessions of named checks."""

    trend: Trend | None
    annotations: Sequence[Annotation]
    skipped: Sequence[Skipped]  # files that could not be read
    nights: Nights


def past_of(site: Site, profile: str, effect: float = EFFECT) -> Past:
    """Reads the nights of a profile from the history of a site. Raises OSError."""
    folder, skipped = folder_of(site.state), list[Skipped]()

    def tables() -> Iterator[pl.DataFrame]:
        for table in readable(summaries(folder, columns=(*OF_WHOLE, *GATHERED)), skipped):
            if (rows := whole(table, site.name, profile)).height:
                yield rows.select(GATHERED)

    def rows_of(names: Sequence[str]) -> pl.DataFrame:
        history = read(folder, named=names, kept=compact, columns=COMPARED)
        skipped.extend(file for file in history.skipped if file not in skipped)
        return history.rows

    past = gathered(tables(), rows_of)
    notes, no_lines = annotations(site.state)
    trend = trend_of(past, site.false_notifications, effect, site.units, notes) if past.began.height else None
    return Past(trend, notes, [*skipped, *no_lines], past)


def write_year(site: Site, profile: str, watch: TrialWatch | None = None, past: Past | None = None) -> Path:
    """Writes the page of a profile; returns the file. Raises OSError. watch, past: if they are known already"""
    past = past or past_of(site, profile)
    ended = dict(past.nights.began.select('session', 'session_started').iter_rows())
    folder = Path(site.state) / 'sessions'
    reported = [session.name for session in folder.iterdir()] if folder.is_dir() else []
    watch, missed = watch or watch_of(site, profile), missed_of(site, profile, ended)
    text = year_page(watch, past.nights, past.trend, past.annotations, missed, reported, site.units)
    file = page_file(site, profile)
    put(file, text)
    return file
