"""A year of nights: what is sent are exactly the changes that were planted; the page lies beside the sessions."""

import re

import polars as pl
import pytest
from rich.console import Console

from nights import DEAD, DUE, figures, session, year
from seatrial.history.store import Annotation, annotate, write
from seatrial.nights import notify
from seatrial.nights.past import Past, write_year
from seatrial.report.nights.nights import DONE, MISSED, DueRun, nights
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.nights.trend import Nights, gathered, trend
from seatrial.site.load import load

EACH_NIGHT = pytest.param(1, marks=pytest.mark.long)
SELDOM = 48
"""Nights from one trend to the next."""

BUDGET = 0.05
"""False notifications a month that the site bears: with the default of one, some years have one more change."""


@pytest.fixture
def observed(site, tmp_path):
    """The site with its schedule, and a command that keeps the subjects of what is sent."""
    site.trial.write_text(
        f"{site.trial.read_text()}schedule: {{nightly: {{at: '02:00'}}}}\nfalse_notifications: {BUDGET}\n"
        f'notify: [sh, -c, \'echo "$SEATRIAL_SUBJECT" >> {tmp_path}/sent\']\n'
    )
    loaded = load(site.folder)
    loaded.make_directories()
    return loaded


@pytest.mark.parametrize('looks', [SELDOM, EACH_NIGHT])
def test_exactly_what_was_planted_is_sent(observed, tmp_path, monkeypatch, looks):
    by_name = {session(DUE[number]): rows for number, rows in year().items()}
    past = nights(by_name.values(), 'site', 'nightly')
    whole = gathered(by_name.values(), lambda names: pl.concat(by_name[name] for name in names))
    runs = [DueRun(due, DONE if number in year() else MISSED) for number, due in enumerate(DUE)]
    for number, due in enumerate(DUE):
        if number % looks == 0:
            until = pl.col('session') <= session(due)
            until_then = Nights(whole.began.filter(until), whole.means.filter(until), whole.rows_of)
            shown = Past(trend(until_then, observed.false_notifications, 0.05), (), (), until_then)
            monkeypatch.setattr(notify, 'past_of', lambda site, profile, shown=shown: shown)
        ended = [night for night in past if night.began <= due]
        seen = TrialWatch('site', 'nightly', due, ended[-20:], runs[max(0, number - 13) : number + 1])
        notify.send_notification(Console(quiet=True), observed, seen)
    sent = (tmp_path / 'sent').read_text().splitlines()
    assert [re.sub(r'.*: (\w+) since [\d-]+: (scratch: [a-z ]+?) \d.*', r'\1 \2', line) for line in sent] == [
        'worse scratch: data write',
        'worse scratch: metadata',
        f'Seatrial site nightly: INCOMPLETE: 1 run missed: {DUE[DEAD[0]]:%Y-%m-%d %H:%M}',
        'better scratch: data read',
    ]


def test_the_page_lies_where_its_links_lead_to_the_reports_that_are_there(observed):
    state = observed.folder / 'state'
    for due in DUE[-3:]:
        write(state / 'history', session(due), figures(due, {'write@1': [1e8, 1.01e8, 1.02e8]}))
    report = state / 'sessions' / session(DUE[-1]) / 'report' / 'index.html'
    report.parent.mkdir(parents=True)
    report.touch()
    annotate(state, Annotation(DUE[-2].date(), 'a new rack'))
    page = write_year(observed, 'nightly')
    text = page.read_text()
    (link, *others) = set(re.findall(r'href="([^":]+)"', text))
    assert ((page.parent / link).resolve(), others) == (report, [])
    assert 'a new rack' in text


def test_before_the_first_night_there_is_a_page_too(observed):
    assert 'No session of this profile has ended yet' in write_year(observed, 'nightly').read_text()
