"""The page of the nights, which is written anew whenever a session has ended or people are notified."""

from pathlib import Path

from seatrial.nights.past import Past, past_of
from seatrial.nights.standing import missed_of, watch_of
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.nights.page import year_page
from seatrial.scheduler.series import page_file, put
from seatrial.site.model import Site

LATER = 'SEATRIAL_PAGE_OF_NIGHTS_LATER'
"""In the environment of a session: who has started it writes the page, after what it reads for the notification."""


def write_year(site: Site, profile: str, watch: TrialWatch | None = None, past: Past | None = None) -> Path:
    """Write the page of a profile; returns the file. Raises OSError. watch, past: where they are known already"""
    past = past or past_of(site, profile)
    ended = dict(past.nights.began.select('session', 'session_started').iter_rows())
    folder = Path(site.state) / 'sessions'
    reported = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    text = year_page(
        watch or watch_of(site, profile),
        past.nights,
        past.trend,
        past.annotations,
        missed_of(site, profile, ended),
        reported,
        site.units,
    )
    file = page_file(site, profile)
    put(file, text)
    return file
