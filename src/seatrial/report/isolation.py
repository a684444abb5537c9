"""The places of an isolation sweep (nodes, OSTs, MDTs): a sorted drawing, and a table of those that matter.

Every way of comparing is a curve from its slowest place to its fastest, as a share of its median, so that writes and
reads, together and in groups, lie on one scale. Of many places only quantiles are drawn, and beside them the slowest.
The template draws the places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seatrial.judge.outliers import CLEARED, SLOW, SUSPECTED, USUAL, Column, Isolation, Place
from seatrial.judge.statistics import quantile
from seatrial.report import words
from seatrial.report.curve import TICK_GAP, Paper
from seatrial.report.marks import FULL, OPEN, styles
from seatrial.report.scale import CHARACTER_WIDTH, HEADROOM, Scale, Tick, apart

EACH_MOST = 200
"""Places of which each has its own dot; of more there are quantiles."""

ROWS_MOST = 24
"""Rows of the table: all places that are not usual, and the slowest others as far as there is room."""

SLOWEST = 12
"""Places that are drawn by themselves where the others are quantiles."""

WIDE = Paper(820, 300)
NARROW = Paper(330, 260, right=10, font=12.0)

_QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_FORMS = {SLOW: FULL, SUSPECTED: OPEN, CLEARED: OPEN}
_SAID = {SLOW: 'slow', SUSPECTED: 'may be slow', CLEARED: 'slow only once', USUAL: 'usual'}


@dataclass(frozen=True)
class Dot:
    """One place in one way of comparing. form: of a named one, 'full' or 'open'; empty of a usual one."""

    x: float
    y: float
    form: str
    words: str


@dataclass(frozen=True)
class Line:
    """One way of comparing: strokes from the slowest to the fastest, and the dots upon them."""

    label: str
    style: str
    strokes: tuple[tuple[float, float], ...]
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Drawing:
    """Everything that there is to draw. least: the y of the effect below which a place can be named."""

    paper: Paper
    left: float
    right: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    y_label: str
    least: float
    lines: tuple[Line, ...]

    @property
    def words(self) -> str:
        """What is named in it."""
        named = [dot.words for line in self.lines for dot in line.dots if dot.form]
        return '; '.join(named) or 'no place stands out'


@dataclass(frozen=True)
class Cell:
    """A figure beside those of the others. share: of the median of the others; z: empty where there is none."""

    figure: str
    share: str
    z: str
    slow: bool


@dataclass(frozen=True)
class Row:
    """One place. cells: in the order of the columns, None where it was not measured; again: in words."""

    name: str
    said: str
    named: bool
    cells: tuple[Cell | None, ...]
    again: str


@dataclass(frozen=True)
class Found:
    """What the template needs. columns: each with its style; more: usual places that have no row."""

    isolation: Isolation
    columns: tuple[tuple[Column, str], ...]
    rows: tuple[Row, ...]
    more: int
    summary: str
    drawings: Mapping[str, Drawing]


def found(isolation: Isolation | None) -> Found | None:
    """What is shown of an isolation sweep; None where there is none, or nothing was measured."""
    if isolation is None or not isolation.places:
        return None
    style = styles(column.label for column in isolation.columns)
    named = [place for place in isolation.places if place.verdict != USUAL]
    shown = isolation.places[: max(ROWS_MOST, len(named))]
    return Found(
        isolation=isolation,
        columns=tuple((column, style[column.label]) for column in isolation.columns),
        rows=tuple(_row(place, isolation) for place in shown),
        more=len(isolation.places) - len(shown),
        summary=summary(isolation),
        drawings={name: _drawing(isolation, style, paper) for name, paper in (('wide', WIDE), ('narrow', NARROW))},
    )


def summary(isolation: Isolation) -> str:
    """'1 of 4 nodes is slow: n3', 'none of 5 000 nodes is slow'."""
    many = words.count(len(isolation.places), isolation.kind)
    if isolation.unjudged:
        return f'{many} compared, none named: {isolation.unjudged}'
    slow, suspected = isolation.of(SLOW), isolation.of(SUSPECTED)
    said = [_counted(slow, many, 'slow')] if slow else []
    said += [_counted(suspected, many, 'perhaps slow')] if suspected else []
    said += isolation.undecided
    return '; '.join([*said, *isolation.servers]) or f'none of {many} is slow'


def _counted(places: Sequence[Place], many: str, what: str) -> str:
    names = ', '.join(place.name for place in places[:ROWS_MOST])
    return f'{len(places)} of {many} {"is" if len(places) == 1 else "are"} {what}: {names}'


def _row(place: Place, isolation: Isolation) -> Row:
    again = [f'{metric} {_share(standing.effect)}' for metric, standing in place.again.items()]
    return Row(
        name=place.name,
        said='' if isolation.unjudged else _SAID[place.verdict],
        named=place.verdict != USUAL,
        cells=tuple(_cell(place, column) for column in isolation.columns),
        again=', '.join(again),
    )


def _cell(place: Place, column: Column) -> Cell | None:
    standing = place.standings.get(column.label)
    if standing is None:
        return None
    z = '' if standing.z is None else f'{standing.z:.1f}'
    return Cell(words.figure(standing.figure), _share(standing.effect), z, standing.slow)


def _share(effect: float) -> str:
    return words.percent(1 - effect)


def _drawing(isolation: Isolation, style: Mapping[str, str], paper: Paper) -> Drawing:
    shares = {column: _shares(isolation, column) for column in isolation.columns}
    most = max(share for own in shares.values() for share, _ in own)
    left = paper.font * CHARACTER_WIDTH * len('100 %') + TICK_GAP + paper.font + 8
    right = paper.width - paper.right - 8.0
    up = Scale(0.0, max(most, 1.0) * HEADROOM, False, paper.height - paper.bottom, paper.top)
    across = Scale(0.0, 1.0, False, left + 8, right)
    ends = (Tick(across(0.0), 'slowest'), Tick(across(0.5), 'median'), Tick(across(1.0), 'fastest'))
    return Drawing(
        paper=paper,
        left=left,
        right=right,
        x_ticks=apart(ends, paper.font, paper.width + 40),
        y_ticks=up.ticks(4, lambda share: f'{100 * share:.0f} %'),
        x_label=f'{words.count(len(isolation.places), isolation.kind)}, sorted',
        y_label='of the median',
        least=up(1 - isolation.least_effect),
        lines=tuple(
            _line(column, style[column.label], own, isolation, across, up) for column, own in shares.items() if own
        ),
    )


def _shares(isolation: Isolation, column: Column) -> list[tuple[float, Place]]:
    """The places of one curve with their share of the median, the slowest first."""
    label = column.label
    own = [(place.standings[label].figure, place) for place in isolation.places if label in place.standings]
    own.sort(key=lambda pair: pair[0])
    median = quantile([figure for figure, _ in own], 0.5) if own else 1.0
    return [(figure / median, place) for figure, place in own]


def _line(
    column: Column,
    style: str,
    own: Sequence[tuple[float, Place]],
    isolation: Isolation,
    across: Scale,
    up: Scale,
) -> Line:
    ordered = [share for share, _ in own]
    last = max(1, len(own) - 1)
    if len(own) <= EACH_MOST:
        strokes = [(across(rank / last), up(share)) for rank, share in enumerate(ordered)]
    else:
        strokes = [(across(part), up(quantile(ordered, part))) for part in _QUANTILES]
    dots = []
    for rank, (share, place) in enumerate(own):
        if len(own) <= EACH_MOST or rank < SLOWEST or place.verdict != USUAL:
            said = (
                f'{place.name}, {column.label}: {words.figure(place.standings[column.label].figure)} {isolation.unit}'
            )
            named = f', {_SAID[place.verdict]}' if place.verdict != USUAL else ''
            form = _FORMS.get(place.verdict, '')
            dots.append(Dot(across(rank / last), up(share), form, f'{said}, {words.percent(share)}{named}'))
    return Line(column.label, style, tuple(strokes), tuple(dots))
