"""The trend over the nights of a site: when a family changed its level, by how much, and what changed beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

import polars as pl

from seatrial.history.provenance import differing, facts_of
from seatrial.history.rows import OF_METRIC, OF_ONE_SESSION, SUMMARY
from seatrial.history.store import Annotation
from seatrial.judge.change_points import changes
from seatrial.judge.compare import SAME, MetricChange
from seatrial.model.metric import HIGHER
from seatrial.model.units import BINARY
from seatrial.report.comparison.before_after import FAMILIES, FAMILY, BeforeAfter, change_words, comparison, family_of
from seatrial.report.words import cut
from seatrial.workload.words import by_key

NEAR = 14  # nights on each side of a change from which its size is taken: others may have changes of their own
SUSPECTED = 3  # nights around a change in which other software is a suspect: the place is that uncertain
SHOWN = 5  # metrics and suspects beside a change
MONTH = timedelta(days=365.25 / 12)
MAX_LEVEL = 0.05  # a change is never told with more doubt, however many false notifications a site allows

GATHERED = (  # the columns of the summaries of which nights are gathered
    *('session', 'session_started', 'session_verdict', *OF_METRIC, *FAMILY),
    *('metric_verdict', 'point', 'better', 'steers', 'value'),
)


class Turn(NamedTuple):
    began: datetime  # begin of the first night on the new level
    session: str  # session of that night
    file_system: str
    family: str
    change: MetricChange  # change of the family
    comparison: BeforeAfter  # comparison of the nights before and after
    suspects: Sequence[str]  # differences in software and settings around it with their first nights, nearest first
    annotations: Sequence[Annotation] = ()  # what people have written down for those nights

    @property
    def subject(self) -> str:
        return f'{self.file_system}: {self.family}  {_ratio(self.change)}'

    @property
    def beside(self) -> list[str]:
        """Lines with the metrics that changed most, the suspects, the annotations, and possible explanations."""
        of_family = [row for row in self.comparison.metrics if row.family == self.family]
        changed = [row for row in of_family if row.change.verdict != SAME]
        return [
            *(f'{row.case} {row.metric}: {_ratio(row.change)}' for row in changed[:SHOWN]),
            *(f'not measured with the same: {line}' for line in cut(self.suspects, SHOWN)),
            *(f'annotated {note.day}: {note.text}' for note in self.annotations),
            *(f'may explain it: {line}' for line in self.comparison.circumstances),
        ]


def _ratio(change: MetricChange) -> str:
    ratio, interval, _ = change_words(change)
    return f'{ratio} ({interval})'


class Trend(NamedTuple):
    sessions: Sequence[str]
    # how good each session was, as a logarithm, 0 on average, by file system and family
    levels: Mapping[tuple[str, str], Sequence[tuple[str, float]]]
    # numbers of the first sessions of each new level, also within the effect
    places: Mapping[tuple[str, str], Sequence[int]]
    rate: float  # upper bound of the false notifications of a change that are expected a month
    turns: Sequence[Turn]


class Nights(NamedTuple):
    """A history, reduced to what fits into memory however long it is."""

    began: pl.DataFrame  # name, begin and verdict of each session, in their order
    means: pl.DataFrame  # logarithm of each metric of each session
    rows_of: Callable[[Sequence[str]], pl.DataFrame]  # all rows of the sessions that are named


def gathered(summaries: Iterable[pl.DataFrame], rows_of: Callable[[Sequence[str]], pl.DataFrame]) -> Nights:
    """The history from summaries of sessions, of one or several at a time."""
    # Rows of a session follow each other.
    begins = pl.col('session').ne_missing(pl.col('session').shift())
    parts = [
        (rows.select('session', 'session_started', 'session_verdict').filter(begins), *_means(rows))
        for rows in chain([pl.DataFrame(schema=SUMMARY)], summaries)
    ]
    # As one piece each: a filter would go through a piece for each session.
    began, means, kinds = (pl.concat(tables, rechunk=True) for tables in zip(*parts, strict=True))
    families = {row.pop('of_kind'): family_of(row) for row in kinds.unique().iter_rows(named=True)}
    family = pl.col('of_kind').replace_strict(families, return_dtype=pl.Enum(FAMILIES))
    means = means.with_columns(family=family).drop('of_kind')
    return Nights(began.unique('session', keep='first').sort('session'), means, rows_of)


def trend(
    history: Nights, budget: float, effect: float, units: str = BINARY, annotations: Sequence[Annotation] = ()
) -> Trend:
    """The changes by family over the sessions of one profile, the newest first, without those within `effect`.
    budget: false notifications a month that people accept. The level is the budget over the sessions of a month
    (Boole's inequality). The rate is an upper bound: what a history shows by chance it mostly showed before."""
    nights = _levels(history.means)
    began = history.began['session_started'].to_list()
    lasted = max(began) - min(began)
    monthly = (len(began) - 1) * (MONTH / lasted) if lasted else MONTH / timedelta(days=1)
    level = min(MAX_LEVEL, budget / monthly)
    # Families change in the same night: its rows are read once.
    rows_near = lru_cache(maxsize=1)(history.rows_of)
    places_of = {}
    turns = []
    for (file_system, family), of_family in nights.items():
        names = [name for name, _ in of_family]
        places = [change.first for change in changes([value for _, value in of_family], level / len(nights))]
        places_of[file_system, family] = places
        ends = [0, *places, len(names)]
        for start, place, end in zip(ends, places, ends[2:], strict=False):
            around = names[max(0, place - SUSPECTED) : place + SUSPECTED]
            sides = names[max(start, place - NEAR) : place], names[place : min(end, place + NEAR)]
            all_near = rows_near(tuple(sorted({*around, *sides[0], *sides[1]})))
            own_rows = all_near.filter(pl.col('file_system') == file_system)
            before, after, near = (own_rows.filter(pl.col('session').is_in(part)) for part in (*sides, around))
            if not (before.height and after.height):
                continue  # its archive cannot be read, though its summary can
            compared = comparison(before, after, effect=effect, units=units, drifts=False)  # is told as steps
            change = next((row.change for row in compared.families if row.family == family), None)
            if change is None or change.verdict == SAME:
                continue
            days = near['session_started'].dt.date().to_list()
            turns.append(
                Turn(
                    began=after['session_started'].to_list()[0],
                    session=names[place],
                    file_system=file_system,
                    family=family,
                    change=change,
                    comparison=compared,
                    suspects=_suspects(near, around, around.index(names[place])),
                    annotations=[note for note in annotations if min(days) <= note.day <= max(days)],
                )
            )
    turns.sort(key=lambda turn: turn.session, reverse=True)
    return Trend(history.began['session'].to_list(), nights, places_of, level * monthly, turns)


def _means(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The logarithm of each metric's mean in each session, more being better; and their kinds, by `of_kind`."""
    counted = rows.filter(
        ~OF_ONE_SESSION
        & (pl.col('metric_verdict') != 'INVALID')
        & pl.col('value').is_not_null()
        & (pl.col('unit') != '')
        & pl.col('steers').fill_null(True)
    )
    of_kind = pl.struct(FAMILY).hash().alias('of_kind')
    sign = pl.when(pl.col('better') == HIGHER).then(1.0).otherwise(-1.0)
    means = counted.select(
        # Categories: names that many rows share take a quarter of the memory so.
        pl.col('file_system', 'session').cast(pl.Categorical),
        of_kind,
        key=pl.struct(*OF_METRIC[:-1], pl.col('cache').fill_null(''), 'unit', 'better').hash(),
        good=sign * pl.col('value').log(),
    )
    return means, counted.select(FAMILY).with_columns(means['of_kind']).unique('of_kind')


def _levels(means: pl.DataFrame) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """The level of each session, by file system and family: the mean over the metrics. Each metric is centred over
    all sessions, so that a session without one of them still counts."""
    nights = (
        means.with_columns(good=pl.col('good') - pl.col('good').mean().over('key'))
        .group_by('file_system', 'family', 'session')
        .agg(pl.col('good').mean())
        .with_columns(pl.col('file_system', 'family', 'session').cast(pl.String))
        .sort('session')
    )
    levels = by_key((row[:2], row[2:]) for row in nights.iter_rows())
    return dict(sorted(levels.items(), key=lambda item: (item[0][0], FAMILIES.index(item[0][1]))))


def _suspects(nights: pl.DataFrame, names: Sequence[str], place: int) -> list[str]:
    """Differences between successive nights, each with its first night; the nearest to the place first."""
    tables = [facts_of(nights.filter(pl.col('session') == name)) for name in names]
    differences = [
        (abs(number - place), f'{line} (from {names[number]} on)')
        for number, (one, later) in enumerate(pairwise(tables), 1)
        for line in differing(one, later)
    ]
    return [line for _, line in sorted(differences, key=lambda pair: pair[0])]
