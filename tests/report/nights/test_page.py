"""The page of the nights: of a simulated year exactly what was planted."""

import re
from datetime import datetime, timedelta

import polars as pl
import pytest

from nights import DEAD, DUE, FLAPPING, METADATA_WORSE, UPGRADE, WRITES_WORSE, nights_in, session, year
from seatrial.history.store import Annotation
from seatrial.report.nights.nights import nights
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.nights.page import year_page
from seatrial.report.nights.trend import trend


@pytest.fixture(scope='module')
def page():
    """In the morning after the last night."""
    rows = pl.concat(year().values())
    noted = [Annotation(DUE[UPGRADE].date(), 'clients <upgraded>')]
    past = nights([rows.filter(pl.col('session_started') > DUE[-20])], 'site', 'nightly')
    watch = TrialWatch('site', 'nightly', DUE[-1] + timedelta(hours=4), past)
    found = trend(nights_in(rows), 1.0, 0.05, annotations=noted)
    return year_page(watch, nights_in(rows), found, noted, [DUE[number] for number in DEAD], [session(DUE[-1])])


def test_exactly_what_was_planted_stands_on_the_page(page):
    turns = re.findall(r'([a-z]+)</span> ([\d-]+): scratch: ([a-z ]+)  ', page)
    assert [(word, family) for word, _, family in turns] == [
        ('better', 'data read'),
        ('worse', 'metadata'),
        ('worse', 'data write'),
    ]
    found = [datetime.fromisoformat(day).date() for _, day, _ in turns]
    planted = [DUE[number].date() for number in (UPGRADE, METADATA_WORSE, WRITES_WORSE)]
    assert all(abs((one - other).days) <= 2 for one, other in zip(found, planted, strict=True))
    first, last = (DUE[number].date() for number in (DEAD[0], DEAD[-1]))
    odd = [DUE[number].date() for number in FLAPPING if number % 2]
    assert re.findall(r'<li><strong>(\w+)</strong>: (.*)</li>', page) == [
        ('missed', f'{len(DEAD)} runs, {first} to {last}'),
        ('INVALID', f'{len(odd)} nights, {odd[0]} to {odd[-1]}'),
    ]


def test_the_first_suspect_and_the_annotations_stand_beside_a_change(page):
    beside = page.partition('better</span>')[2].partition('</ul>')[0]
    assert beside.index('kernel: 6.1 against 6.8') < beside.index('clients &lt;upgraded&gt;')


def test_each_day_of_the_calendar_has_its_sign(page):
    assert page.count('class="v-missed"') == len(DEAD)
    assert page.count('class="v-invalid"') == len([number for number in FLAPPING if number % 2])


def test_the_worst_metrics_are_compared_with_a_year_ago(page):
    worst = page.partition('Worst metrics')[2]
    names = re.findall(r'<th scope="row">(\w+)@', worst)
    assert names == ['open', 'open', 'write', 'write']


def test_each_family_has_a_chart_of_its_nights_with_the_changes_and_annotations(page):
    charts = re.findall(r'<svg class="curve wide".*?</svg>', page, re.DOTALL)
    assert len(charts) == 3
    assert ['turn c-worse' in each for each in charts] == [True, False, True]
    for chart in charts:
        assert 'clients &lt;upgraded&gt;' in chart
        dots = re.search('class="dot" d="(.*?)"', chart).group(1).count('M')
        assert dots > 300 and chart.count('>of the mean<') == 1 and re.search(r'>20\d\d-\d\d<', chart)
