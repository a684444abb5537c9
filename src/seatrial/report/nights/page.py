"""The page of a site's nights: how last night went, a calendar, when families changed, and what was missed.

One HTML file that needs no script, no network and no other file; it links to the reports of the sessions.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import exp
from statistics import fmean

import polars as pl

from seatrial.history.store import Annotation
from seatrial.judge.compare import WORSE
from seatrial.judge.verdict import Verdict
from seatrial.model.units import BINARY
from seatrial.report.comparison.before_after import (
    BeforeAfter,
    ComparedMetric,
    comparison,
    interval_words,
    means_words,
    ratio_words,
    sessions_words,
)
from seatrial.report.nights.notification import TrialWatch, screen
from seatrial.report.nights.trend import NEAR, Nights, Trend, Turn
from seatrial.report.session.page import jinja
from seatrial.report.words import SIGNS
from seatrial.workload.words import counted

YEAR = timedelta(days=365)

WORST = 10
"""Metrics that are shown of those that became worse."""

APART = 3
"""Days: what is invalid again within so many belongs to one spell."""

MISSED = 'missed'
WIDTH, HEIGHT, EDGE = 1000.0, 110.0, 8.0
"""Of the drawing of a family, and how far its line stays from the upper and the lower end."""


@dataclass(frozen=True)
class Cell:
    """A day of the calendar. state: the verdict of its last session, or MISSED; session: its name, or empty."""

    state: str
    session: str = ''

    @property
    def sign(self) -> str:
        """One letter."""
        return SIGNS.get(self.state, '0')


@dataclass(frozen=True)
class Drawing:
    """The nights of a family on WIDTH x HEIGHT: 100 % is the mean of all nights.

    dots: of each night; levels: x from, x to, y; low, high: the shares at the lower and the upper end
    """

    name: str
    dots: Sequence[tuple[float, float]]
    levels: Sequence[tuple[float, float, float]]
    turns: Sequence[tuple[float, Turn]]
    annotations: Sequence[tuple[float, Annotation]]
    low: float
    high: float


def year_page(
    watch: TrialWatch,
    history: Nights,
    found: Trend | None,
    annotations: Sequence[Annotation] = (),
    missed: Sequence[datetime] = (),
    reported: Collection[str] = (),
    units: str = BINARY,
) -> str:
    """The page of a profile of a site.

    history: all its sessions; found: the trend of these; missed: all runs that were
    reported: the sessions that have a report, which lies where the page's links lead, beside its folder
    """
    nights = history.began
    days = {began.astimezone().date(): Cell(verdict, session) for session, began, verdict in nights.iter_rows()}
    missed_days = [due.astimezone().date() for due in missed]
    days = {**dict.fromkeys(missed_days, Cell(MISSED)), **days}
    invalid = [day for day, cell in days.items() if cell.state == Verdict.INVALID.value]
    worst = _worst(history, units) if nights.height else None
    states = [cell.state for cell in days.values()]
    return (
        jinja()
        .get_template('year.html')
        .render(
            watch=watch,
            lines=screen(watch),
            last=watch.last.session if watch.last else '',
            reported=set(reported),
            months=_months(days),
            counts={state: states.count(state) for state in (*SIGNS, MISSED) if state in states},
            signs={**SIGNS, MISSED: '0'},
            spells=[
                *(('missed', said) for said in _spells(missed_days, 1, 'run')),
                *(('INVALID', said) for said in _spells(invalid, APART, 'night')),
            ],
            turns=found.turns if found else (),
            rate=f'{found.rate:.2g}' if found else '',
            drawings=list(_drawings(found, nights, annotations)) if found else [],
            annotations=annotations,
            worst=worst,
            worse=_worse(worst)[:WORST] if worst else (),
            size=(WIDTH, HEIGHT),
            ratio=ratio_words,
            interval=interval_words,
            means=means_words,
            sessions=sessions_words,
            near=NEAR,
            units=units,
        )
    )


def _months(days: Mapping[date, Cell]) -> list[tuple[str, list[Cell | None]]]:
    """Each month from the first to the last day, newest first, with its days."""
    if not days:
        return []
    found, month = [], min(days).replace(day=1)
    while month <= max(days):
        following = (month + timedelta(days=31)).replace(day=1)
        number = (following - month).days
        found.append((f'{month:%Y-%m}', [days.get(month + timedelta(days=day)) for day in range(number)]))
        month = following
    return found[::-1]


def _spells(days: Collection[date], apart: int, what: str) -> list[str]:
    """Days that follow each other within `apart` as one: '14 runs, 2026-09-08 to 2026-09-21'; the newest first."""
    ordered = sorted(days)
    if not ordered:
        return []
    starts = [0, *(n for n, (one, other) in enumerate(pairwise(ordered), 1) if (other - one).days > apart)]
    parts = [ordered[start:end] for start, end in pairwise([*starts, len(ordered)])]
    return [
        f'{counted(len(part), what)}, {" to ".join(dict.fromkeys((f"{part[0]}", f"{part[-1]}")))}'
        for part in parts[::-1]
    ]


def _drawings(found: Trend, nights: pl.DataFrame, annotations: Sequence[Annotation]) -> Iterator[Drawing]:
    began: dict[str, datetime] = dict(nights.select('session', 'session_started').iter_rows())
    first, last = min(began.values()), max(began.values())
    span = (last - first) or timedelta(days=1)

    def across(moment: datetime) -> float:
        return WIDTH * (moment - first).total_seconds() / span.total_seconds()

    noted = [
        (across(datetime(each.day.year, each.day.month, each.day.day, 12, tzinfo=first.tzinfo)), each)
        for each in annotations
        if first.date() <= each.day <= last.date()
    ]
    for (file_system, family), own in found.levels.items():
        values = [value for _, value in own]
        low, high = min(values), max(values)

        def down(value: float, low: float = low, high: float = high) -> float:
            return HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * ((value - low) / (high - low) if high > low else 0.5)

        ends = [0, *found.places[file_system, family], len(own)]
        yield Drawing(
            name=f'{file_system}: {family}',
            dots=[(across(began[session]), down(value)) for session, value in own],
            levels=[
                (across(began[own[start][0]]), across(began[own[end - 1][0]]), down(fmean(values[start:end])))
                for start, end in pairwise(ends)
            ],
            turns=[
                (across(began[turn.session]), turn)
                for turn in found.turns
                if (turn.file_system, turn.family) == (file_system, family)
            ],
            annotations=noted,
            low=exp(low),
            high=exp(high),
        )


def _worst(history: Nights, units: str) -> BeforeAfter | None:
    """The last nights compared with those a year ago, or with the first ones; None of too few."""
    recent = pl.col('session_started') >= pl.col('session_started').max() - YEAR
    names = history.began.filter(recent)['session'].to_list()
    side = min(NEAR, len(names) // 2)
    if not side:
        return None
    return comparison(history.rows_of(names[:side]), history.rows_of(names[-side:]), units=units)


def _worse(found: BeforeAfter) -> list[ComparedMetric]:
    return [row for row in found.metrics if row.change.verdict == WORSE]
