"""The parts of drawings: axes, and in them lines, marks with their interval, boxes and guides. A Chart has all of it
in figures, without sizes in px; `drawn` places it on a Paper, for a wide screen and for a telephone. Colour is never
the only difference: each style has its marker and dashes, and invalid or undecided marks have their own form."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from seatrial.report.figures import NUMBER, Unit, figure

LOG_BEYOND = 20.0  # a linear axis from zero shows a value below a twentieth of the largest as nothing
HEADROOM = 1.05
CHARACTER_WIDTH = 0.64  # share of the font's size: digits of common sans-serif fonts are 0.52 to 0.64 wide
LANE = 17.0  # px of the height of a lane below the axis

STYLES = ('read', 'write', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth')
"""Styles of lines and marks, in the order in which they are given; style.css has their colours and dashes."""

_CIRCLE, _SQUARE = 'm-4.6 0a4.6 4.6 0 1 0 9.2 0a4.6 4.6 0 1 0 -9.2 0z', 'm-4.2 -4.2h8.4v8.4h-8.4z'
_TRIANGLE, _DIAMOND = 'm0 -5.6l5.4 9.4h-10.8z', 'm0 -6l5.6 6l-5.6 6l-5.6 -6z'
_OUTLINES = (_CIRCLE, _SQUARE, _TRIANGLE, _DIAMOND, _SQUARE, _TRIANGLE, _DIAMOND, _CIRCLE)
MARKERS = dict(zip(STYLES, _OUTLINES, strict=True))  # the outline of each style, from its middle on

FULL, OPEN, STRUCK, DOT = 'full', 'open', 'struck', 'dot'

Stroke = Sequence[tuple[float, float]]
Shown = Callable[[float], str]  # a value as it stands beside its tick


class Tick(NamedTuple):
    value: float
    label: str
    heads: bool = False  # True for the first of a group of ticks below


class Scale(NamedTuple):
    low: float
    high: float
    ticks: Sequence[Tick] = ()
    label: str = ''  # quantity with unit
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """The position of a value, from 0 to 1; values outside lie at the nearer end."""
        if not self.logarithmic:
            share = (value - self.low) / (self.high - self.low)
        else:
            share = math.log(value / self.low) / math.log(self.high / self.low) if value > 0 else 0.0
        return max(0.0, min(1.0, share))


class Curve(NamedTuple):
    style: str
    strokes: Sequence[Stroke]  # each a run of points without a hole
    label: str = ''  # its entry in the legend
    kind: str = 'line'
    aside: float = 0.0  # px that it stands beside its place


class Mark(NamedTuple):
    """A figure at a place of the axis of points."""

    at: float
    figure: float
    style: str
    form: str = FULL  # FULL, OPEN (it cannot decide), STRUCK (it is invalid), or DOT: one of many
    words: str = ''
    low: float | None = None  # interval, None without one
    high: float | None = None
    samples: Sequence[float] = ()  # samples in the order taken, drawn beside each other, so that a drift shows
    bounds: Sequence[tuple[float, int]] = ()  # bounds of its reference with the allowed side: 1 above, -1 below
    aside: float = 0.0  # px that it stands beside its place
    label: str = ''


class Box(NamedTuple):
    """A part of the horizontal axis, over the whole height or in a lane below."""

    start: float
    end: float
    kind: str
    style: str = ''
    lane: int | None = None
    number: str = ''  # shown above it
    words: str = ''
    label: str = ''


class Guide(NamedTuple):
    """A straight line at a figure, or an upright one at a place."""

    at: float
    kind: str
    upright: bool = False
    words: str = ''
    label: str = ''


Part = Curve | Mark | Box | Guide


class Chart(NamedTuple):
    x: Scale
    y: Scale
    parts: Sequence[Part]  # later ones lie above
    height: float  # px between the axes
    words: str = ''  # describe the drawing
    lanes: Sequence[str] = ()  # the labels of those below the lying axis
    lying: bool = False
    interval: str = ''  # what the interval of a mark is, for the legend

    @property
    def legend(self) -> list['Sign']:
        """The entries of the legend, each once: width in px, sign and words; those of marks come last."""
        marks = [part for part in self.parts if isinstance(part, Mark)]
        marked = {mark.style for mark in marks}
        by_label: dict[str, Sign] = {}
        for part in sorted(self.parts, key=lambda part: isinstance(part, Mark)):
            if part.label:
                by_label.setdefault(part.label, _sign(part, marked))
        signs = list(by_label.values())
        if any(mark.low is not None for mark in marks):
            signs.append((16, Glyph('', [('interval', 'M8 1V15M4 1h8M4 15h8')], self.interval)))
        if any(len(mark.samples) > 1 for mark in marks):
            signs.append((24, Glyph('', [('dot', _DOTS)], 'each sample, in order')))
        if any(mark.bounds for mark in marks):
            signs.append((28, Glyph('', [('bound', 'M8 6v5h12v-5')], 'bound of the reference')))
        return signs


_DOTS = 'M4 10h0M12 5h0M20 8h0'


class Paper(NamedTuple):
    width: float  # px
    font: float  # px
    share: float  # share of the height of a chart


PAPERS = {'wide': Paper(820.0, 13.0, 1.0), 'narrow': Paper(330.0, 12.0, 0.8)}  # named as in style.css


class Glyph(NamedTuple):
    style: str  # class in style.css
    paths: Sequence[tuple[str, str]]  # each with its class
    words: str = ''


Sign = tuple[int, Glyph]


class Text(NamedTuple):
    x: float
    y: float
    words: str
    anchor: str = 'middle'  # the part of it that lies at (x, y)
    kind: str = ''
    upright: bool = False  # it reads from below


class Drawing(NamedTuple):
    height: float  # px, as are all places
    glyphs: Sequence[Glyph]
    texts: Sequence[Text]


def styles(names: Iterable[str]) -> dict[str, str]:
    """A style for each name: reads and writes have fixed ones, others get one in turn."""
    given = list(dict.fromkeys(names))
    if set(given) <= set(STYLES[:2]):
        return {name: name for name in given}
    return {name: STYLES[i % len(STYLES)] for i, name in enumerate(given)}


def round_scale(
    low: float, high: float, label: str, shown: Shown = figure, unit: Unit = NUMBER, count: int = 4
) -> Scale:
    """An axis with ticks at about `count` round values in the unit. low, high: in the base unit"""
    ticks = [Tick(value * unit.size, shown(value)) for value in nice_ticks(unit.of(low), unit.of(high), count)]
    return Scale(low=low, high=high, ticks=ticks, label=label)


def figures_scale(
    means: Sequence[float], others: Iterable[float] = (), unit: Unit = NUMBER, note: str = '', shown: Shown = figure
) -> Scale:
    """The axis for these values: linear from zero, or logarithmic if a mean would be too small to see."""
    values = [value for value in (*means, *others) if value > 0]
    high = max(values) * HEADROOM if values else unit.size
    if not (values and min(means) > 0 and max(means) / min(means) > LOG_BEYOND):
        return round_scale(0.0, high, f'{unit.name} ({note})' if note else unit.name, shown, unit, count=5)
    low = min(values) / HEADROOM
    ticks = [Tick(value * unit.size, shown(value)) for value in log_ticks(unit.of(low), unit.of(high))]
    label = f'{unit.name} (log scale{", " if note else ""}{note})'
    return Scale(low=low, high=high, ticks=ticks, label=label, logarithmic=True)


def time_scale(begin: float, end: float, since: str) -> Scale:
    """An axis between two times in seconds; its ticks count from the first."""
    lasted = end - begin
    each_s, name = next((each_s, name) for least_s, each_s, name in _TIMES if lasted >= least_s)
    ticks = [Tick(begin + each_s * value, f'{value:g}') for value in nice_ticks(0.0, lasted / each_s, 6)]
    return Scale(low=begin, high=end, ticks=ticks, label=f'{name} since {since}')


_TIMES = ((3 * 3600.0, 3600.0, 'hours'), (300.0, 60.0, 'minutes'), (0.0, 1.0, 'seconds'))
"""The unit of an axis of time: from so many seconds on, so many seconds each."""


def nice_ticks(low: float, high: float, count: int) -> list[float]:
    """Multiples of 1, 2 or 5 x 10^k from low to high, at most count + 1 values; count is at least 3."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [step * i for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """The values 1, 2 and 5 x 10^k from low to high; only 10^k if there are too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    inside = [value for value in values if low <= value <= high]
    return inside if len(inside) <= 8 else [value for value in inside if value in values[::3]]


def steps_line(steps: Sequence[tuple[float, float, float]]) -> Sequence[Stroke]:
    """Strokes from (begin, end, figure) of each step; adjacent steps form one stroke."""
    strokes: list[list[tuple[float, float]]] = []
    for (_, before, _), (start, end, value) in pairwise([(0.0, -math.inf, 0.0), *steps]):
        if start > before + 1e-3:
            strokes.append([])
        strokes[-1] += [(start, value), (end, value)]
    return strokes


def clear_labels(ticks: Sequence[tuple[float, str]], font: float, width: float) -> list[tuple[float, str]]:
    """Labels below a horizontal axis, within the paper: all, or every second or third, so that none touch."""
    halves = [font * CHARACTER_WIDTH * len(label) / 2 for _, label in ticks]
    placed = [
        (min(max(at, half), width - half), label, half) for (at, label), half in zip(ticks, halves, strict=True)
    ]
    for every in range(1, len(placed) + 1):
        shown = placed[::every]
        if all(one + half + 0.4 * font <= other - wide for (one, _, half), (other, _, wide) in pairwise(shown)):
            return [(at, label) for at, label, _ in shown]
    return []


def drawn(chart: Chart, paper: Paper) -> Drawing:
    """The chart on this paper, at the height it asks for, with room on the left for its labels."""
    font = paper.font
    numbered = any(isinstance(part, Box) and part.number for part in chart.parts)
    top = 12.0 + (font if numbered else 0.0)
    bottom = top + chart.height * (1.0 if chart.lying else paper.share)
    labels = [*(tick.label for tick in chart.y.ticks), *chart.lanes]
    left = font * (CHARACTER_WIDTH * max(map(len, labels), default=0) + (1.9 if chart.y.label else 0.2)) + 8.0
    right = paper.width - 14.0
    height = bottom + 46.0 + (LANE * len(chart.lanes) + 6.0 if chart.lanes else 0.0)
    places = _Places(chart, left, right, top, bottom, font)
    xs, ys = ([places.x(tick.value) for tick in chart.x.ticks], [places.y(tick.value) for tick in chart.y.ticks])
    grid = [[(x, top), (x, bottom)] for x in xs] if chart.lying else [[(left, y), (right, y)] for y in ys]
    axis = [[(left, bottom), (right, bottom)], *([(x, bottom), (x, bottom + 5)] for x in xs)]
    frame = Glyph('', [('grid', path(grid)), ('axis', path(axis))])
    glyphs = [frame, *(_glyph(part, places) for part in chart.parts)]
    return Drawing(height, glyphs, list(_texts(places, paper.width, height)))


class _Places(NamedTuple):
    """The places of a chart's axes, in px."""

    chart: Chart
    left: float
    right: float
    top: float
    bottom: float
    font: float

    def x(self, value: float) -> float:
        return self.left + (self.right - self.left) * self.chart.x.share(value)

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * self.chart.y.share(value)

    def lane(self, number: int) -> float:
        """The middle of a lane, below the labels of the axis."""
        return self.bottom + 20.0 + self.font + LANE * number


def _glyph(part: Part, places: _Places) -> Glyph:
    if isinstance(part, Mark):
        return _mark(part, places)
    if isinstance(part, Curve):
        strokes = [[(places.x(x) + part.aside, places.y(y)) for x, y in stroke] for stroke in part.strokes]
        return Glyph(part.style, [(part.kind, path(strokes))])
    if isinstance(part, Guide):
        x, y = places.x(part.at), places.y(part.at)
        ends = [(x, places.top), (x, places.bottom)] if part.upright else [(places.left, y), (places.right, y)]
        return Glyph('', [(part.kind, path([ends]))], part.words)
    start, end = places.x(part.start), places.x(part.end)
    top, bottom = places.top, places.bottom
    if part.lane is not None:
        top, bottom = places.lane(part.lane) - 4.5, places.lane(part.lane) + 4.5
    outline = _rectangle(start, top, max(1.0, end - start), bottom - top)
    return Glyph(part.style, [(part.kind, outline)], part.words)


def _mark(mark: Mark, places: _Places) -> Glyph:
    """One mark. In a horizontal chart its interval, samples and bounds are turned; its marker stands upright."""
    lying = places.chart.lying
    axis, along = (places.chart.x, places.x) if lying else (places.chart.y, places.y)
    at = (places.y(mark.at) if lying else places.x(mark.at)) + mark.aside
    above = 1 if lying else -1  # px of a larger figure

    def turned(strokes: Sequence[Stroke]) -> str:
        return path([[(y, x) for x, y in stroke] for stroke in strokes] if lying else strokes)

    middle = along(mark.figure)
    if mark.form == DOT:
        return Glyph(mark.style, [('dot', turned([[(at, middle)]]))], mark.words)
    paths = []
    bounds = [(along(bound), 5 * above * side) for bound, side in mark.bounds if axis.low <= bound <= axis.high]
    if bounds:  # drawn open to the allowed side
        hooks = [[(at - 6, end + side), (at - 6, end), (at + 6, end), (at + 6, end + side)] for end, side in bounds]
        paths.append(('bound', turned(hooks)))
    if len(mark.samples) > 1:
        step, half = min(1.6, 10.0 / len(mark.samples)), (len(mark.samples) - 1) / 2
        samples = [[(at + step * (i - half), along(value))] for i, value in enumerate(mark.samples)]
        paths.append(('dot', turned(samples)))
    if mark.low is not None and mark.high is not None:
        ends = [(along(mark.low), -above, mark.low < axis.low), (along(mark.high), above, mark.high > axis.high)]
        paths.append(('interval', turned([[(at, end) for end, _, _ in ends], *(_end(at, *end) for end in ends)])))
    x, y = (middle, at) if lying else (at, middle)
    return Glyph(mark.style, [*paths, *marker(mark.style, mark.form, x, y)], mark.words)


def _end(at: float, end: float, outward: int, is_cut: bool) -> Stroke:
    """The end of an interval: a bar, or an arrow if it continues beyond the axis."""
    if is_cut:
        return [(at - 4, end - 6 * outward), (at, end), (at + 4, end - 6 * outward)]
    return [(at - 5, end), (at + 5, end)]


def marker(style: str, form: str, x: float, y: float) -> list[tuple[str, str]]:
    """The marker of a style, its middle at (x, y)."""
    at = f'M{px(x)} {px(y)}'
    strike = [('strike', f'{at}m-7 -7l14 14m0 -14l-14 14')] if form == STRUCK else []
    return [(form, at + MARKERS[style]), *strike]


def _texts(places: _Places, width: float, height: float) -> Iterator[Text]:
    chart, left, right, bottom, font = places.chart, places.left, places.right, places.bottom, places.font
    low = 0.35 * font  # distance from the middle of a line of text to its foot
    for tick in chart.y.ticks:
        yield Text(left - 8, places.y(tick.value) + low, tick.label, 'end', 'label' if tick.heads else '')
    for number, label in enumerate(chart.lanes):
        yield Text(left - 8, places.lane(number) + low, label, 'end')
    ticks = [(places.x(tick.value), tick.label) for tick in chart.x.ticks]
    for at, label in clear_labels(ticks, font, width):
        yield Text(at, bottom + 8 + font, label)
    yield Text((left + right) / 2, height - 4, chart.x.label, kind='label')
    if chart.y.label:
        yield Text(font, (places.top + bottom) / 2, chart.y.label, kind='label', upright=True)
    taken = -math.inf
    for part in chart.parts:
        if isinstance(part, Box) and part.number:
            at = (places.x(part.start) + places.x(part.end)) / 2
            if at - taken >= 1.6 * font:
                yield Text(at, places.top - 0.3 * font, part.number, kind='number')
                taken = at


def _sign(part: Part, marked: Iterable[str]) -> Sign:
    style = '' if isinstance(part, Guide) else part.style
    if isinstance(part, Mark):
        return 16, Glyph(style, marker(style, part.form, 8, 8), part.label)
    if isinstance(part, Box):
        return 28, Glyph(style, [(part.kind, _rectangle(1, 3.5, 26, 9))], part.label)
    if part.kind == DOT:
        return 24, Glyph(style, [(part.kind, _DOTS)], part.label)
    on_line = marker(style, FULL, 22, 8) if style in marked else []
    return 44, Glyph(style, [(part.kind, 'M1 8H43'), *on_line], part.label)


def px(value: float) -> str:
    """A length in px, as short as it can be."""
    return f'{value:.1f}'.removesuffix('.0')


def path(strokes: Iterable[Stroke]) -> str:
    """The SVG path of these strokes; a single point becomes a dot."""
    lines = ['L'.join(f'{px(x)} {px(y)}' for x, y in stroke) for stroke in strokes]
    return ''.join(f'M{line}' if 'L' in line else f'M{line}h0' for line in lines)


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    return f'M{px(x)} {px(y)}h{px(width)}v{px(height)}h{px(-width)}z'
