"""The page of a site's nights: last night, a calendar, changes of families, and missed runs. One HTML file that needs
no script, no network and no other file; it links to the reports of the sessions."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import pairwise, takewhile
from math import exp
from statistics import fmean
from typing import NamedTuple

import polars as pl

from seatrial.history.store import Annotation
from seatrial.judge.compare import WORSE
from seatrial.judge.verdict import Verdict
from seatrial.model.units import BINARY
from seatrial.report.comparison.before_after import change_words, comparison, means_words
from seatrial.report.drawing.plot import Chart, Curve, Guide, Scale, Tick, round_scale
from seatrial.report.figures import figure
from seatrial.report.nights.nights import MISSED
from seatrial.report.nights.notification import TrialWatch, screen
from seatrial.report.nights.trend import NEAR, Nights, Trend
from seatrial.report.session.page import jinja
from seatrial.report.words import SIGNS
from seatrial.workload.words import by_key, counted

YEAR = timedelta(days=365)
WORST = 10  # metrics that are shown of those that became worse
APART = 3  # days within which invalid nights belong to one spell
WITHOUT = (Verdict.INVALID.value, Verdict.INCOMPLETE.value, Verdict.INCONCLUSIVE.value)  # nights without valid result


class Cell(NamedTuple):
    state: str  # verdict of its last session, or MISSED
    session: str = ''  # its name, or empty


def year_page(
    watch: TrialWatch,
    history: Nights,
    trend: Trend | None,
    annotations: Sequence[Annotation] = (),
    missed: Sequence[datetime] = (),
    reported: Collection[str] = (),
    units: str = BINARY,
) -> str:
    """The page of a profile of a site. history: all its sessions; trend: of these; missed: all missed runs;
    reported: sessions that have a report beside the page's folder, where its links lead"""
    nights = history.began
    days = {began.astimezone().date(): Cell(verdict, session) for session, began, verdict in nights.iter_rows()}
    missed_days = [due.astimezone().date() for due in missed]
    days = dict.fromkeys(missed_days, Cell(MISSED)) | days
    # By nights: the calendar has the last of each day alone.
    without = by_key((verdict, began.astimezone().date()) for _, began, verdict in nights.iter_rows())
    recent = nights.filter(pl.col('session_started') >= pl.col('session_started').max() - YEAR)['session'].to_list()
    side = min(NEAR, len(recent) // 2)  # nights a year ago, or the first ones, and as many of the last
    worst = None
    if side:
        worst = comparison(history.rows_of(recent[:side]), history.rows_of(recent[-side:]), units=units)
    signs = {**SIGNS, MISSED: '0'}
    states = [cell.state for cell in days.values()]
    template = jinja().get_template('year.html')
    return template.render(
        watch=watch,
        lines=screen(watch),
        turning=_turning(nights),
        reported=set(reported),
        months=_months(days),
        counts={state: states.count(state) for state in signs if state in states},
        signs=signs,
        spells=[
            *(('missed', spell) for spell in _spells(missed_days, 1, 'run')),
            *((state, spell) for state in WITHOUT for spell in _spells(without.get(state, ()), APART, 'night')),
        ],
        trend=trend,
        charts=_charts(trend, nights, annotations) if trend else {},
        annotations=annotations,
        worst=worst,
        worse=[row for row in worst.metrics if row.change.verdict == WORSE][:WORST] if worst else (),
        change_words=change_words,
        means=means_words,
        units=units,
    )


def _turning(nights: pl.DataFrame) -> list[tuple[str, str, str]]:
    """If the last night is bad: the first bad night in a row with it, and the last good one before; for each a word,
    a text, its session. Empty if the last night is good. nights: as in Nights.began"""
    rows = nights.rows()
    bad = list(takewhile(lambda row: not Verdict(row[2]).unopposed, reversed(rows)))
    if not bad:
        return []
    turns = [('first bad night', *bad[-1])]
    turns += [('last good night', *night) for night in rows[: len(rows) - len(bad)][-1:]]
    named = [(word, f'{began.astimezone():%Y-%m-%d}: {verdict}', session) for word, session, began, verdict in turns]
    return named if len(named) > 1 else [*named, ('last good night', 'none', '')]


def _months(days: Mapping[date, Cell]) -> list[tuple[str, list[Cell | None]]]:
    """Each month from the first to the last day, newest first, with its days."""
    if not days:
        return []
    first = min(days).replace(day=1)
    end = (max(days).replace(day=1) + timedelta(days=31)).replace(day=1)
    every_day = [first + timedelta(days=number) for number in range((end - first).days)]
    months = by_key((f'{day:%Y-%m}', days.get(day)) for day in every_day)
    return list(months.items())[::-1]


def _spells(days: Collection[date], apart: int, what: str) -> list[str]:
    """Days within `apart` of each other as one spell: '14 runs, 2026-09-08 to 2026-09-21'; the newest first."""
    ordered = sorted(days)
    if not ordered:
        return []
    starts = [0, *(n for n, (one, other) in enumerate(pairwise(ordered), 1) if (other - one).days > apart)]
    parts = [ordered[start:end] for start, end in pairwise([*starts, len(ordered)])]
    return [
        f'{counted(len(part), what)}, {" to ".join(dict.fromkeys((f"{part[0]}", f"{part[-1]}")))}'
        for part in parts[::-1]
    ]


def _charts(trend: Trend, nights: pl.DataFrame, annotations: Sequence[Annotation]) -> dict[str, Chart]:
    """The nights of each family, as ratios to the mean of all nights, with their levels."""
    began = {name: moment.timestamp() for name, moment in nights.select('session', 'session_started').iter_rows()}
    zone = nights['session_started'][0].tzinfo
    noon = {note: datetime.combine(note.day, time(12), zone).timestamp() for note in annotations}
    # Whole days: what is annotated on the first or the last one is drawn.
    first, last = (_midnight(date.fromtimestamp(end)) for end in (min(began.values()), max(began.values()) + 86400))
    across = Scale(low=first, high=last, ticks=_days(first, last), label='night')
    noted = [
        Guide(at, 'noted', upright=True, words=f'{note.day}: {note.text}', label='annotation')
        for note, at in noon.items()
        if first <= at <= last
    ]
    charts = {}
    for (file_system, family), series in trend.levels.items():
        dots = [[(began[session], exp(value))] for session, value in series]
        levels = []
        for start, end in pairwise([0, *trend.places[file_system, family], len(series)]):
            level = exp(fmean(value for _, value in series[start:end]))
            levels.append([(began[series[start][0]], level), (began[series[end - 1][0]], level)])
        turns = []
        for turn in trend.turns:
            if (turn.file_system, turn.family) == (file_system, family):
                at, verdict = began[turn.session], turn.change.verdict
                words = f'{turn.began:%Y-%m-%d}: {verdict}'
                turns.append(Guide(at, f'turn c-{verdict}', upright=True, words=words, label=verdict))
        shares = [exp(value) for _, value in series]
        margin = 0.05 * (max(shares) - min(shares)) or 0.05
        charts[f'{file_system}: {family}'] = Chart(
            x=across,
            y=round_scale(min(shares) - margin, max(shares) + margin, 'ratio to the mean'),
            parts=[Curve('', dots, 'a night', 'dot'), Curve('read', levels, 'level'), *turns, *noted],
            height=110,
            words=f'{figure(min(shares))} to {figure(max(shares))}',
        )
    return charts


def _days(first: float, last: float) -> list[Tick]:
    """Ticks at the first of each month between two times; at each day if there are fewer than two."""
    days = [date.fromtimestamp(first) + timedelta(days=n) for n in range(round((last - first) / 86400))]
    months = [Tick(_midnight(day), f'{day:%Y-%m}') for day in days if day.day == 1]
    return months if len(months) > 1 else [Tick(_midnight(day), f'{day}') for day in days]


def _midnight(day: date) -> float:
    return datetime.combine(day, time()).timestamp()
