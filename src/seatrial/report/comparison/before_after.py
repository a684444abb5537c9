"""Sessions before and after a change: differences in circumstances, families and metrics, and the metrics left out.
Rows of the history become series for judge/compare.py, whose results become a table, a page and JSON."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl

from seatrial.history.provenance import CASE, SAID, circumstances, differing, facts_of
from seatrial.history.rows import NEEDED, OF_ONE_SESSION, alike_in
from seatrial.judge.compare import CONFIDENCE, EFFECT, ORDER, MetricChange, Series, compared
from seatrial.judge.verdict import Verdict
from seatrial.model.metric import HIGHER
from seatrial.model.plan import Case
from seatrial.model.units import BINARY
from seatrial.report.drawing.plot import Scale
from seatrial.report.figures import common_unit, figure
from seatrial.report.session.page import jinja
from seatrial.report.words import clean, listed
from seatrial.workload.registry import KINDS
from seatrial.workload.sweep import AXES
from seatrial.workload.words import by_key, counted

# The families in the order in which they are shown.
FAMILIES = ('data write', 'data read', 'metadata', 'node', 'target', 'guarantees')
WRITE, READ, METADATA, NODE, TARGET, GUARANTEES = FAMILIES

GROUPS_LEFT_OUT = 'groups of a node sweep have other nodes in every session'


@dataclass(frozen=True)
class Side:
    asked: str  # the user's name for this side
    sessions: tuple[str, ...]  # oldest first
    labels: tuple[str, ...]  # labels of its sessions

    @property
    def words(self) -> str:
        ends = ' to '.join(dict.fromkeys((self.sessions[0], self.sessions[-1])))
        return f'{self.asked}: {counted(len(self.sessions), "session")}, {ends}'


@dataclass(frozen=True)
class FamilyRow:
    file_system: str
    family: str
    change: MetricChange | None
    metrics: Mapping[str, int]  # number of metrics by verdict


@dataclass(frozen=True)
class ComparedMetric:
    case: str
    metric: str
    family: str
    file_system: str
    unit: str
    better: str  # 'higher' or 'lower'
    before: float  # before, after: mean of the sessions' means, in the base unit
    after: float
    change: MetricChange


@dataclass(frozen=True)
class BeforeAfter:
    before: Side
    after: Side
    effect: float  # smallest relative change that matters
    differing: Sequence[str]  # differences in software and settings, the most important first
    circumstances: Sequence[str]  # differences in nodes, their load and fullness
    families: Sequence[FamilyRow]
    metrics: Sequence[ComparedMetric]  # the most important first
    left_out: Sequence[str]  # metrics that are not compared, with the reasons
    units: str = BINARY

    @property
    def notice(self) -> str:
        """A notice that a drift can explain a difference, or that intervals lack the spread of sessions; or empty."""
        drifts = [f'{row.file_system}: {row.family}' for row in self.families if row.change and row.change.drift]
        drifts = drifts or [f'{row.case} {row.metric}' for row in self.metrics if row.change.drift]
        if drifts:
            return (
                f'Drift: {listed(drifts)} also changed from session to session within a side, which can explain '
                'the difference; it need not come from the upgrade. Where both sides are available, measure '
                'them alternately: seatrial run --ab'
            )
        if any(row.change.between for row in self.metrics):
            return ''
        return (
            'One session a side: the intervals have only the spread of its repetitions, not the spread from night '
            'to night, and decide nothing. Name several sessions for at least one side'
        )

    @property
    def counts(self) -> dict[str, int]:
        verdicts = [row.change.verdict for row in self.metrics]
        return {verdict: verdicts.count(verdict) for verdict in ORDER}

    def has(self, verdict: str) -> bool:
        of_families = [row.change.verdict for row in self.families if row.change]
        return verdict in of_families or self.counts[verdict] > 0


def comparison(
    before: pl.DataFrame,
    after: pl.DataFrame,
    asked: tuple[str, str] = ('before', 'after'),
    effect: float = EFFECT,
    units: str = BINARY,
    rounds: Mapping[str, str] | None = None,
    drifts: bool = True,
) -> BeforeAfter:
    """Compares two sides by their rows of the history, compact or not; neither may be empty. rounds: as in rounds_of;
    drifts: True if a difference that a drift over the sessions explains is undecided"""
    before, after = compact(before), compact(after)
    series, shown, left_out = _series(before, after, rounds)
    families, changes = compared(series, effect, paired=rounds is not None, drifts=drifts)
    rows = [
        ComparedMetric(*names, before=_mean(one.before), after=_mean(one.after), change=change)
        for names, one, change in zip(shown, series, changes, strict=True)
    ]
    rows.sort(key=lambda row: (ORDER.index(row.change.verdict), -row.change.size))
    return BeforeAfter(
        before=_side(before, asked[0]),
        after=_side(after, asked[1]),
        effect=effect,
        differing=differing(facts_of(before), facts_of(after)),
        circumstances=circumstances(before, after),
        families=_families(rows, families),
        metrics=rows,
        left_out=left_out,
        units=units,
    )


FAMILY = ('axis', 'kind', 'unit', 'operation')  # the columns that determine the family of a metric
_FACTS = (*FAMILY, 'better', 'steers')
# Columns that can differ between the values of a metric in one session; columns that are the same for all its values;
# columns with few distinct values in many copies; and all columns of the history that a comparison reads.
_OF_VALUES = ('session', *CASE, 'metric', 'metric_verdict', 'cache', 'hosts')
_ALIKE = (*_FACTS, *SAID, 'point', 'label', 'profile', 'session_started', 'used_percent', 'load_percent')
_LITTLE = [name for name in SAID if name not in ('engine', 'tasks')]
COMPARED = tuple(dict.fromkeys((*NEEDED, *_OF_VALUES, *_ALIKE, 'valid', 'value', 'schema')))


def compact(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each metric and session, with the columns that a comparison needs and all valid values: a side of
    many sessions takes a tenth of the memory. Rows that are compact already are returned unchanged."""
    if rows.schema['value'] == pl.List(pl.Float64):
        return rows
    usable = pl.col('valid') & pl.col('value').is_finite()
    firsts, first_of = alike_in(rows, _OF_VALUES, (*_OF_VALUES, *_ALIKE))
    launches = rows.select('value', _of=first_of, usable=usable).group_by('_of', maintain_order=True)
    values = launches.agg(pl.col('value').filter('usable'))['value']
    return firsts.select(*_OF_VALUES, *_ALIKE).with_columns(pl.col(_LITTLE).cast(pl.Categorical), value=values)


def rounds_of(before: pl.DataFrame, after: pl.DataFrame) -> dict[str, str]:
    """The number of the round of each session, for two sides that were measured alternately. Raises ValueError unless
    every two successive sessions, in order of time, are one of each side."""
    sides = [set(rows['session']) for rows in (before, after)]
    names = sorted(sides[0] | sides[1])
    pairs = list(zip(names[::2], names[1::2], strict=False))
    if len(names) % 2 or any((one in sides[0]) == (other in sides[0]) for one, other in pairs):
        raise ValueError('the sessions do not alternate, one of each side in a round')
    return {name: str(number) for number, pair in enumerate(pairs, 1) for name in pair}


def to_json(result: BeforeAfter) -> dict[str, Any]:
    """The comparison as plain values; figures in base units."""
    return {**dataclasses.asdict(result), 'confidence': CONFIDENCE, 'notice': result.notice, 'counts': result.counts}


def change_words(change: MetricChange | None) -> tuple[str, str, str]:
    """The ratio, its interval and the numbers of sessions: '0.95', '0.93 to 0.97', '3, 3'; a dash for a missing
    value. An interval that does not contain the spread between sessions ends with *."""
    if change is None:
        return '-', '-', '-'
    interval = '-'
    if change.low is not None and change.high is not None:
        interval = f'{figure(change.low)} to {figure(change.high)}{"" if change.between else " *"}'
    return figure(change.ratio), interval, ', '.join(map(str, change.sessions))


def means_words(row: ComparedMetric, units: str) -> tuple[str, str]:
    unit = common_unit((row.before, row.after), row.unit, units)
    return unit.figure(row.before), unit.words(row.after)


def comparison_page(result: BeforeAfter, site: str) -> str:
    """The comparison as one HTML file that needs no script, no network and no other file."""
    ends = [abs(math.log(end)) for row in result.metrics for end in (row.change.low, row.change.high) if end]
    span = min(max([LEAST_DRAWN * math.log1p(result.effect), *ends]), MOST_DRAWN)
    axis = Scale(low=math.exp(-span), high=math.exp(span), logarithmic=True)
    template = jinja().get_template('comparison.html')
    return template.render(
        compared=result,
        site=site,
        across=lambda ratio: 2 + 96 * axis.share(ratio),  # a place on a line of 100
        confidence=f'{100 * CONFIDENCE:g}',
        change_words=change_words,
        means=means_words,
    )


LEAST_DRAWN, MOST_DRAWN = 2, math.log(4)  # bounds of half the axis: 2 smallest effects; a ratio of 4


def _side(rows: pl.DataFrame, asked: str) -> Side:
    labels = [label for label in rows['label'].unique(maintain_order=True) if label]
    return Side(clean(asked), tuple(rows['session'].unique(maintain_order=True)), tuple(labels))


def _families(rows: Sequence[ComparedMetric], changes: Mapping[str, MetricChange]) -> list[FamilyRow]:
    """The families of each file system, in the order of FAMILIES."""
    verdicts = by_key(((row.file_system, row.family), row.change.verdict) for row in rows)
    counts = {key: {verdict: verdicts[key].count(verdict) for verdict in ORDER} for key in verdicts}
    ordered = sorted(counts, key=lambda key: (key[0], FAMILIES.index(key[1])))
    return [FamilyRow(*key, changes.get(': '.join(key)), counts[key]) for key in ordered]


def _series(
    before: pl.DataFrame, after: pl.DataFrame, rounds: Mapping[str, str] | None
) -> tuple[list[Series], list[tuple[str, str, str, str, str, str]], list[str]]:
    """Comparable series; case, metric, family, file system, unit and direction of each; sentences on the others."""
    sides = [dict(_metrics(rows, rounds)) for rows in (before, after)]
    series, shown = [], []
    reasons: dict[tuple[str, str], list[str]] = {}
    if any(rows.filter(OF_ONE_SESSION).height for rows in (before, after)):
        reasons['', GROUPS_LEFT_OUT] = []
    for key in dict.fromkeys((*sides[0], *sides[1])):
        case, name = key
        one, other = (side.get(key) for side in sides)
        unused = [reason for metric in (one, other) if metric for reason in metric.without]
        why = _uncomparable(one, other, paired=rounds is not None)
        if one and other and not why:
            family = f'{one.file_system}: {one.family}'
            series.append(Series(family, one.sessions, other.sessions, one.better, one.steers, counts=not one.unit))
            shown.append((case, name, one.family, one.file_system, one.unit, one.better))
        for reason in [*unused, *([why] if why else [])]:
            reasons.setdefault((case, reason), []).append(name)
    left_out = [f'{case}: {listed(names, 8)}: {why}' if case else why for (case, why), names in reasons.items()]
    return series, shown, left_out


class _Metric(NamedTuple):
    family: str
    file_system: str
    unit: str
    better: str
    steers: bool
    caches: frozenset[str]
    sessions: Mapping[str, Sequence[float]]  # values by session or round; only means if there are several
    least: float  # smallest of all values
    without: Sequence[str]  # the reasons why sessions of this side do not count


def _uncomparable(one: _Metric | None, other: _Metric | None, paired: bool) -> str:
    """The reason for not comparing the two sides of a metric, or empty."""
    if one is None or other is None:
        return f'only {"after" if one is None else "before"}'
    if not (one.sessions and other.sessions):
        sides = [name for name, metric in (('before', one), ('after', other)) if not metric.sessions]
        return f'no valid figures {" and ".join(sides)}'
    if (one.unit, one.better) != (other.unit, other.better):
        words = [f'in {metric.unit or "counts"}, {metric.better} is better' for metric in (one, other)]
        return f'{words[0]}, before; {words[1]}, after'
    if one.caches != other.caches:
        words = [' or '.join(sorted(metric.caches - {''})) or 'nothing' for metric in (one, other)]
        return f'{words[0]} before and {words[1]} after, so they do not compare the storage'
    if min(one.least, other.least) <= 0:
        return 'a figure of 0 has no ratio'
    if paired and not one.sessions.keys() & other.sessions.keys():
        return 'no round has valid figures from both sides'
    return ''


def _metrics(rows: pl.DataFrame, rounds: Mapping[str, str] | None) -> Iterator[tuple[tuple[str, str], _Metric]]:
    """The metrics of one side by case and name, without the groups of node sweeps. rounds: as in `comparison`"""
    # One query for all metrics: one for each takes minutes. Lists stay nested: joining a million takes as long.
    metric, of_row = (*CASE, 'metric'), pl.col('value')
    table = (
        rows.lazy()
        .filter(~OF_ONE_SESSION)
        .with_columns(number=of_row.list.len(), total=of_row.list.sum(), least=of_row.list.min())
        .group_by(*metric, 'session', 'metric_verdict', maintain_order=True)
        .agg(
            pl.col(_FACTS).first(),
            pl.col('cache').fill_null('').unique(),
            pl.col('value'),
            pl.col('number', 'total').sum(),
            pl.col('least').min(),
        )
        .with_columns(mean=pl.col('total') / pl.col('number'))
        .with_columns(used=(pl.col('number') > 0) & (pl.col('metric_verdict') != Verdict.INVALID.value))
        .group_by(metric, maintain_order=True)
        .agg(
            pl.col(_FACTS).first(),
            pl.col('session', 'value', 'mean').filter('used'),
            pl.col('cache').filter('used').explode(keep_nulls=False, empty_as_null=False).unique(),
            pl.col('least').filter('used').min(),
            pl.format(
                '{} in {}', *(pl.col(name).filter(~pl.col('used')) for name in ('metric_verdict', 'session'))
            ).alias('without'),
        )
        # Repetitions are kept only for a single session and for metrics without unit: a million takes seconds.
        .with_columns(
            pl.when((pl.col('session').list.len() < 2) | (pl.col('unit').fill_null('') == '')).then('value')
        )
        .collect()
    )
    for row in table.iter_rows(named=True):
        values: Sequence[Sequence[float]] = [list(chain.from_iterable(parts)) for parts in row['value'] or ()]
        values = values or list(zip(row['mean'], strict=True))  # each mean as a tuple of one
        names = row['session'] if rounds is None else [rounds[session] for session in row['session']]
        yield (
            (Case(*(row[name] for name in CASE)).name, row['metric']),
            _Metric(
                family=family_of(row),
                file_system=row['file_system'],
                unit=row['unit'] or '',
                better=row['better'] or HIGHER,
                steers=row['steers'] is not False,
                caches=frozenset(row['cache']),
                sessions=dict(zip(names, values, strict=True)),
                least=row['least'],
                without=row['without'],
            ),
        )


def family_of(row: Mapping[str, Any]) -> str:
    """The family of a metric, by the columns FAMILY of its row in the history."""
    axis, kind = AXES.get(row['axis'] or ''), KINDS.get(row['kind'] or '')
    if axis is not None and axis.equals:
        return NODE if axis.equals == 'node' else TARGET
    if not row['unit']:
        return GUARANTEES
    if kind.moves_data if kind else row['unit'] == 'B/s':
        return WRITE if any(word in row['operation'] for word in ('write', 'update')) else READ
    return METADATA


def _mean(sessions: Mapping[str, Sequence[float]]) -> float:
    # A list, because fmean counts the items of a generator one by one.
    return fmean([values[0] if len(values) == 1 else math.fsum(values) / len(values) for values in sessions.values()])
