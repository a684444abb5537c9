"""The due times of a scheduled trial."""

import time
from datetime import datetime, timedelta, timezone
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.site.calendar import DAYS, Calendar

days_of_week = st.lists(st.sampled_from(DAYS), min_size=1, unique=True).map(tuple)
calendars = st.builds(Calendar, st.integers(0, 23), st.integers(0, 59), days_of_week)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1), timezones=st.just(timezone.utc))
utc = partial(datetime, 2026, tzinfo=timezone.utc)


@pytest.fixture
def zone(monkeypatch):
    """A function that sets the time zone of this process; the old one is restored after the test."""
    with monkeypatch.context() as patched:
        yield lambda name: (patched.setenv('TZ', name), time.tzset())
    time.tzset()


@given(calendars, moments)
def test_due_times_follow_each_other_on_the_given_days_at_the_given_time(calendar, moment):
    due, second, third = calendar.after(moment, 3)
    assert moment < due < second < third
    assert (due.hour, due.minute, DAYS[due.weekday()] in calendar.days) == (calendar.hour, calendar.minute, True)


@given(calendars, moments, st.integers(0, 40))
def test_the_due_times_between_two_times_are_those_of_single_steps(calendar, moment, days):
    until = moment + timedelta(days=days)
    stepped = []
    (due,) = calendar.after(moment)
    while due <= until:
        stepped.append(due)
        (due,) = calendar.after(due)
    assert calendar.between(moment, until) == stepped


def test_a_due_time_is_not_after_itself_but_belongs_to_an_interval_that_it_ends():
    daily = Calendar(2, 0)
    (due,) = daily.after(utc(11, 21, 12))
    assert daily.after(due) == [due + timedelta(days=1)]
    assert daily.between(due - timedelta(days=1), due) == [due]


def test_the_day_of_the_week_is_that_of_the_host(zone):
    zone('Asia/Tokyo')
    # Saturday evening in Greenwich is Sunday morning in Tokyo.
    (due,) = Calendar(2, 0, ('sun',)).after(utc(11, 21, 15))
    assert due == utc(11, 21, 17)


def test_a_time_that_does_not_exist_when_clocks_go_forward_is_due_an_hour_early(zone):
    zone('Europe/Berlin')
    due = Calendar(2, 30).after(utc(3, 28, 12), 2)
    assert due == [utc(3, 29, 0, 30), utc(3, 30, 0, 30)]


def test_a_time_that_exists_twice_when_clocks_go_back_is_due_once(zone):
    zone('Europe/Berlin')
    assert Calendar(2, 30).between(utc(10, 24, 12), utc(10, 25, 12)) == [utc(10, 25, 0, 30)]


@pytest.mark.parametrize(
    ('calendar', 'cron', 'words'),
    [
        (Calendar(2, 0), '0 2 * * *', 'every day at 02:00'),
        (Calendar(23, 5, ('sun', 'mon')), '5 23 * * 0,1', 'mon, sun at 23:05'),
        (Calendar(0, 59, ('sat',)), '59 0 * * 6', 'sat at 00:59'),
    ],
)
def test_a_calendar_has_a_form_for_cron_and_one_for_people(calendar, cron, words):
    assert (calendar.cron, calendar.words) == (cron, words)
