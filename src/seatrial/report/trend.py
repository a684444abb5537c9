"""The nights of a site in a row: when which family changed its level, by how much, and what changed beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import polars as pl

from seatrial.history.provenance import CASE, differences
from seatrial.history.rows import OF_ONE_SESSION
from seatrial.judge.compare import SAME, Change
from seatrial.judge.trend import changes
from seatrial.model.metric import HIGHER
from seatrial.model.units import BINARY
from seatrial.report.comparison import FAMILIES, Comparison, comparison, family_of

NEAR = 14
"""Nights on each side of a change, at most, from which its size is taken: others may have changes of their own."""

SUSPECTED = 3
"""Nights around a change in which a difference of what was measured with is a suspect: so uncertain is the place."""

_METRIC = (*CASE, 'metric', 'cache')
_KIND = ('axis', 'kind', 'unit', 'operation')


@dataclass(frozen=True)
class Turn:
    """One change of one family. began: of the first night that has the new level; session: its name.

    found: the nights near it, before and after, compared; change: the family's part of that
    suspects: what the nights around it were not measured with alike, each with the night from which on
    """

    began: datetime
    session: str
    file_system: str
    family: str
    change: Change
    found: Comparison
    suspects: Sequence[str]


@dataclass(frozen=True)
class Trend:
    """A history. level: the chance that it shows a change without there being any; families: how many it has."""

    sessions: Sequence[str]
    families: int
    level: float
    turns: Sequence[Turn]


def trend(rows: pl.DataFrame, level: float, effect: float, units: str = BINARY) -> Trend:
    """Of the rows of sessions of one profile: changes by families, the newest first, but those within `effect`."""
    nights = _nights(rows)
    turns = []
    for (file_system, family), own in nights.items():
        mine = rows.filter(pl.col('file_system') == file_system)
        names = [name for name, _ in own]
        places = [each.first for each in changes([value for _, value in own], level / len(nights))]
        ends = [0, *places, len(names)]
        for start, place, end in zip(ends, places, ends[2:], strict=False):
            before, after = (
                mine.filter(pl.col('session').is_in(part))
                for part in (names[max(start, place - NEAR) : place], names[place : min(end, place + NEAR)])
            )
            found = comparison(before, after, ('before', 'after'), effect, units)
            change = next((each.change for each in found.families if each.family == family), None)
            if change is None or change.verdict == SAME:
                continue
            near = mine.filter(pl.col('session').is_in(names[max(0, place - SUSPECTED) : place + SUSPECTED]))
            began = after['session_started'].to_list()[0]
            turns.append(Turn(began, names[place], file_system, family, change, found, _suspects(near)))
    turns.sort(key=lambda turn: turn.session, reverse=True)
    return Trend(rows['session'].unique(maintain_order=True).to_list(), len(nights), level, turns)


def _nights(rows: pl.DataFrame) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """By file system and family each session with how good it was: the mean over the metrics of the logarithms.

    Each metric is centred over all sessions, so that a session without one of them still counts.
    """
    usable = rows.lazy().filter(
        ~OF_ONE_SESSION
        & pl.col('valid')
        & (pl.col('metric_verdict') != 'INVALID')
        & (pl.col('value') > 0)
        & pl.col('value').is_finite()
        & (pl.col('unit') != '')
        & pl.col('steers').fill_null(True)
    )
    # A launch is many columns: the means are made first, and of them there are few.
    means = (
        usable.group_by('session', 'better', *_KIND, *_METRIC)
        .agg(pl.col('value').mean())
        .with_columns(pl.col('cache').fill_null(''))
        .collect()
    )
    kinds = means.select(_KIND).unique()
    named = kinds.with_columns(family=pl.Series([family_of(row) for row in kinds.rows(named=True)], dtype=pl.String))
    sign = pl.when(pl.col('better') == HIGHER).then(1.0).otherwise(-1.0)
    nights = (
        means.join(named, on=_KIND, nulls_equal=True)
        .with_columns(good=sign * pl.col('value').log())
        .with_columns(good=pl.col('good') - pl.col('good').mean().over(*_METRIC, 'unit', 'better'))
        .group_by('file_system', 'family', 'session')
        .agg(pl.col('good').mean())
        .sort('session')
    )
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for file_system, family, session, good in nights.iter_rows():
        found.setdefault((file_system, family), []).append((session, good))
    return dict(sorted(found.items(), key=lambda item: (item[0][0], FAMILIES.index(item[0][1]))))


def _suspects(nights: pl.DataFrame) -> list[str]:
    """What was not the same in two nights in a row, with the night from which on."""
    tables = [own for _, own in nights.group_by('session', maintain_order=True)]
    return [
        f'{said} (from {later["session"][0]} on)'
        for one, later in pairwise(tables)
        for said in differences(one, later)
    ]
