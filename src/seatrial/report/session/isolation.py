"""The places of an isolation sweep (nodes, OSTs, MDTs): a sorted drawing, and a table of those that matter. A
comparison is a curve from its slowest place to its fastest, as a share of its median: all lie on one scale."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from seatrial.judge.outliers import CLEARED, SLOW, SUSPECTED, USUAL, Isolation, PlaceVerdict
from seatrial.judge.statistics import quantile
from seatrial.report.drawing import plot
from seatrial.report.figures import Unit, common_unit, percent
from seatrial.report.words import cut
from seatrial.workload.words import by_key, counted

MAX_DOTS = 200  # places that have a dot each; more are drawn as quantiles
MAX_ROWS = 24  # rows of the table: all places that are not usual, and the slowest others as far as there is room
MAX_NOT_TESTED = 32
SLOWEST = 12  # places that are drawn by themselves where the others are quantiles
_QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_FORMS = {SLOW: plot.FULL, SUSPECTED: plot.OPEN, CLEARED: plot.OPEN}
_VERDICTS = {SLOW: 'slow', SUSPECTED: 'may be slow', CLEARED: 'slow only once', USUAL: 'usual'}


class ComparedColumn(NamedTuple):
    label: str
    style: str
    unit: Unit


def view(isolation: Isolation | None, system: str) -> dict[str, Any] | None:
    """A sweep for templates/isolation.html; None if nothing was measured. verdicts: words of each verdict"""
    if isolation is None or not isolation.places:
        return None
    style = plot.styles(column.label for column in isolation.columns)
    figures = by_key(
        (column.unit, place.scores[column.label].figure)
        for column in isolation.columns
        for place in isolation.places
        if column.label in place.scores
    )
    columns = [
        ComparedColumn(
            column.label, style[column.label], common_unit(figures.get(column.unit, ()), column.unit, system)
        )
        for column in isolation.columns
    ]
    named = sum(place.verdict != USUAL for place in isolation.places)
    lost = [f'{place.node}: {", ".join(filter(None, (place.state, place.reason)))}' for place in isolation.not_tested]
    return {
        'isolation': isolation,
        'columns': columns,
        'shown': isolation.places[: max(MAX_ROWS, named)],
        'verdicts': _VERDICTS,
        'summary': summary(isolation),
        'chart': _chart(isolation, columns),
        'not_tested': cut(lost, MAX_NOT_TESTED),
    }


def summary(isolation: Isolation) -> str:
    """'1 of 4 nodes is slow: n3', 'none of 5 000 nodes is slow'."""
    many = counted(len(isolation.places), isolation.kind)
    if isolation.unjudged:
        return f'{many} compared, none judged: {isolation.unjudged}'
    sentences = []
    for places, what in ((isolation.of(SLOW), 'slow'), (isolation.of(SUSPECTED), 'perhaps slow')):
        names, verb = ', '.join(place.name for place in places[:MAX_ROWS]), 'is' if len(places) == 1 else 'are'
        sentences += [f'{len(places)} of {many} {verb} {what}: {names}'] if places else []
    return '; '.join([*sentences, *isolation.undecided, *isolation.servers]) or f'none of {many} is slow'


def _chart(isolation: Isolation, columns: Sequence[ComparedColumn]) -> plot.Chart:
    shares = {column: _shares(isolation, column.label) for column in columns}
    top = plot.HEADROOM * max(1.0, *(share for points in shares.values() for share, _ in points))
    least = f'{percent(isolation.min_effect)} below the median: no {isolation.kind} above it is called slow'
    parts: list[plot.Part] = [plot.Guide(1 - isolation.min_effect, 'least', label=least)]
    for column, points in shares.items():
        parts += _line(column, points) if points else []
    named = [part.words for part in parts if isinstance(part, plot.Mark) and part.form != plot.DOT]
    ends = [plot.Tick(0.0, 'slowest'), plot.Tick(0.5, 'median'), plot.Tick(1.0, 'fastest')]
    places = counted(len(isolation.places), isolation.kind)
    return plot.Chart(
        x=plot.Scale(low=-0.03, high=1.03, ticks=ends, label=f'{places}, sorted'),
        y=plot.round_scale(0.0, top, 'of the median', lambda share: f'{100 * share:.0f} %'),
        parts=parts,
        height=242,
        words='; '.join(named) or f'no {isolation.kind} is named',
    )


def _shares(isolation: Isolation, label: str) -> list[tuple[float, PlaceVerdict]]:
    """The places of one curve with their share of the median, the slowest first."""
    figures = [(place.scores[label].figure, place) for place in isolation.places if label in place.scores]
    figures.sort(key=lambda pair: pair[0])
    median = quantile([figure for figure, _ in figures], 0.5) if figures else 1.0
    return [(figure / median, place) for figure, place in figures]


def _line(column: ComparedColumn, points: Sequence[tuple[float, PlaceVerdict]]) -> list[plot.Curve | plot.Mark]:
    """The curve from the slowest to the fastest place with its marks; those of named places on top."""
    ordered = [share for share, _ in points]
    last = max(1, len(points) - 1)
    stroke = [(part, quantile(ordered, part)) for part in _QUANTILES]
    if len(points) <= MAX_DOTS:
        stroke = [(rank / last, share) for rank, share in enumerate(ordered)]
    marks = []
    for rank, (share, place) in enumerate(points):
        if len(points) <= MAX_DOTS or rank < SLOWEST or place.verdict != USUAL:
            text = f'{place.name}, {column.label}: {column.unit.words(place.scores[column.label].figure)}'
            named = _VERDICTS[place.verdict] if place.verdict != USUAL else ''
            text += f', {percent(share)}{", " if named else ""}{named}'
            form = _FORMS.get(place.verdict, plot.DOT)
            marks.append(plot.Mark(rank / last, share, column.style, form, text, label=named))
    return [plot.Curve(column.style, [stroke], column.label), *sorted(marks, key=lambda mark: mark.form != plot.DOT)]
