"""The parts of drawings: axes, marks, boxes, and labels that do not overlap."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.units import MIB
from seatrial.report.drawing import plot
from seatrial.report.figures import Unit

rates = st.floats(1e-3, 1e8)
ACROSS, UP = plot.round_scale(0.0, 10.0, ''), plot.round_scale(0.0, 100.0, 'MiB/s')
WIDE = plot.PAPERS['wide']


def chart(*parts, **changes):
    return plot.Chart(**{'x': ACROSS, 'y': UP, 'parts': parts, 'height': 200, **changes})


def paths(part, **changes):
    """The places of the strokes of a part, by kind."""
    glyph = plot.drawn(chart(part, **changes), WIDE).glyphs[1]
    return {
        kind: [
            [tuple(map(float, pair.split())) for pair in stroke.removesuffix('h0').split('L')]
            for stroke in path[1:].split('M')
        ]
        for kind, path in glyph.paths
        if kind in ('line', 'dot', 'interval', 'bound')
    }


def is_round(value):
    return round(value / 10 ** math.floor(math.log10(value) + 1e-9), 6) in (1, 2, 5)


@given(rates, st.integers(3, 10))
def test_linear_ticks_begin_at_zero_and_are_round_and_evenly_spaced(high, count):
    ticks = plot.nice_ticks(0.0, high, count)
    assert ticks[0] == 0 and 0 < ticks[-1] <= high * (1 + 1e-9) and 2 <= len(ticks) <= count + 1
    steps = [after - before for before, after in pairwise(ticks)]
    assert is_round(ticks[1]) and steps == pytest.approx([ticks[1]] * len(steps))


@given(rates, st.floats(plot.LOG_BEYOND, 1e6))
def test_logarithmic_ticks_are_round_and_few(low, spread):
    ticks = plot.log_ticks(low, low * spread)
    assert 1 <= len(ticks) <= 8 and all(is_round(tick) and low <= tick <= low * spread for tick in ticks)


@given(st.lists(rates, min_size=1, max_size=20), rates, rates)
def test_an_axis_keeps_the_order_of_values_and_holds_its_ticks(means, one, other):
    axis = plot.figures_scale(means)
    assert (axis.share(one) - axis.share(other)) * (one - other) >= 0
    assert all(axis.low * (1 - 1e-9) <= tick.value <= axis.high * (1 + 1e-9) for tick in axis.ticks)


@pytest.mark.parametrize(
    ('means', 'others', 'low', 'logarithmic'),
    [([100.0, 200.0], [], 0.0, False), ([10.0, 1000.0], [], 10 / 1.05, True), ([100.0], [1.0], 0.0, False)],
    ids=['from zero', 'means far apart', 'a far sample'],
)
def test_only_means_far_apart_make_an_axis_logarithmic(means, others, low, logarithmic):
    axis = plot.figures_scale(means, others)
    assert (axis.logarithmic, axis.low, axis.high) == (logarithmic, pytest.approx(low), max(means) * 1.05)
    assert axis.share(math.sqrt(axis.low * axis.high)) == pytest.approx(0.5 if logarithmic else 0.0)


def test_what_lies_outside_is_put_at_the_end_an_axis_can_run_downwards_and_nothing_above_zero_makes_one_too():
    assert (UP.share(-5.0), UP.share(500.0), plot.figures_scale([1.0, 100.0]).share(-1.0)) == (0.0, 1.0, 0.0)
    downwards = plot.Scale(low=4.0, high=0.0)
    assert (downwards.share(4.0), downwards.share(1.0)) == (0.0, 0.75)
    assert plot.figures_scale([0.0]).ticks[-1].value == 1.0


@pytest.mark.parametrize(
    ('means', 'labels'),
    [([300.0], ['0', '100', '200', '300']), ([1.0, 1000.0], ['1.00', '10.0', '100', '1000'])],
    ids=['linear', 'logarithmic'],
)
def test_ticks_are_round_in_the_unit_which_stands_on_the_axis(means, labels):
    axis = plot.figures_scale([mean * MIB for mean in means], unit=Unit('MiB/s'), note='lower is better')
    assert [(tick.value, tick.label) for tick in axis.ticks] == [(float(label) * MIB, label) for label in labels]
    assert axis.label == f'MiB/s ({"log scale, " if axis.logarithmic else ""}lower is better)'


def test_an_axis_of_time_counts_from_its_beginning_in_a_unit_that_fits():
    for seconds, unit, last in ((30, 'seconds', '30'), (1200, 'minutes', '20'), (36000, 'hours', '10')):
        axis = plot.time_scale(1e9, 1e9 + seconds, 'the beginning')
        assert axis.label == f'{unit} since the beginning'
        assert (axis.ticks[0], axis.ticks[-1]) == (plot.Tick(1e9, '0'), plot.Tick(1e9 + seconds, last))


@given(st.lists(st.tuples(st.floats(0, 300), st.text('0', min_size=1, max_size=9)), max_size=12))
def test_labels_stand_clear_of_each_other_and_inside(given):
    placed = plot.clear_labels(sorted(given), 10.0, 300.0)
    assert bool(placed) == bool(given)
    ends = [(at - 3.2 * len(label), at + 3.2 * len(label)) for at, label in placed]
    assert all(start >= -1e-9 and end <= 300.0 + 1e-9 for start, end in ends)
    assert all(before[1] < after[0] for before, after in pairwise(ends))


def test_labels_that_would_touch_are_left_out_evenly():
    given = [(25.0 * n, f'{2**n} KiB') for n in range(13)]
    clear = plot.clear_labels(given, 12.0, 330.0)
    shown = [number for number, label in enumerate(given) if label in clear]
    assert 3 <= len(shown) < 13 and len({after - before for before, after in pairwise(shown)}) == 1


def test_steps_that_follow_each_other_are_one_stroke():
    assert plot.steps_line([(0, 1, 5), (1, 2, 7), (4, 5, 7)]) == [[(0, 5), (1, 5), (1, 7), (2, 7)], [(4, 7), (5, 7)]]


@pytest.mark.parametrize('lying', [False, True])
def test_a_mark_has_its_interval_its_samples_and_the_open_side_of_its_bounds(lying):
    bounds, samples = [(30.0, 1), (80.0, -1)], [45.0, 55.0, 50.0]
    mark = plot.Mark(5.0, 50.0, 'read', low=40.0, high=70.0, samples=samples, bounds=bounds)
    axes = {'x': UP, 'y': ACROSS} if lying else {}
    results = {
        kind: [[(y, x) if lying else (x, -y) for x, y in stroke] for stroke in strokes]
        for kind, strokes in paths(mark, lying=lying, **axes).items()
    }  # as if figures grew upwards
    (_, low), (_, high) = results['interval'][0]
    samples = [point for (point,) in results['dot']]
    assert [x for x, _ in samples] == sorted(x for x, _ in samples)
    scale = (high - low) / 30
    assert [y for _, y in samples] == pytest.approx([low + scale * more for more in (5, 15, 10)], abs=0.2)
    (below, above) = results['bound']
    assert below[1][1] < low and below[0][1] > below[1][1]
    assert above[1][1] > high and above[0][1] < above[1][1]


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow():
    stroke, low, high = paths(plot.Mark(5.0, 50.0, 'read', low=-10.0, high=90.0))['interval']
    assert (len(low), len(high)) == (3, 2)
    assert low[1] == stroke[0] and low[0][1] < low[1][1]


def test_what_is_invalid_is_struck_and_every_style_has_its_own_marker_or_dashes():
    glyph = plot.drawn(chart(plot.Mark(5.0, 50.0, 'write', plot.STRUCK, 'said')), WIDE).glyphs[1]
    assert (glyph.style, glyph.words, [kind for kind, _ in glyph.paths]) == ('write', 'said', ['struck', 'strike'])


def test_marks_stand_beside_their_place_with_the_line_through_them():
    line = plot.Curve('read', [[(5.0, 50.0), (6.0, 50.0)]], aside=5.0)
    mark = plot.Mark(5.0, 50.0, 'read', low=40.0, high=60.0)
    (x, _), *_ = paths(line)['line'][0]
    (at, _), *_ = paths(mark)['interval'][0]
    (aside, _), *_ = paths(mark._replace(aside=5.0))['interval'][0]
    assert aside - at == pytest.approx(5.0) and x == aside


@pytest.mark.parametrize('paper', plot.PAPERS.values(), ids=plot.PAPERS)
def test_everything_lies_on_the_paper(paper):
    parts = [
        plot.Curve('read', [[(0.0, 0.0), (10.0, 1e9)]]),
        plot.Mark(10.0, 100.0, 'write', low=0.0, high=1e9, samples=[1.0, 2.0]),
        plot.Guide(50.0, 'least'),
        plot.Guide(-1.0, 'turn', upright=True),
        plot.Box(2.0, 20.0, 'pause', number='1'),
        plot.Box(0.0, 3.0, 'launch', lane=1),
    ]
    drawing = plot.drawn(chart(*parts, lanes=('write', 'read')), paper)
    places = [
        tuple(map(float, pair.groups()))
        for glyph in drawing.glyphs
        for _, path in glyph.paths
        for pair in re.finditer(r'[ML](-?[\d.]+) (-?[\d.]+)', path)
    ]
    assert all(0 <= x <= paper.width and 0 <= y <= drawing.height for x, y in places)
    assert all(0 <= text.x <= paper.width and 0 <= text.y <= drawing.height for text in drawing.texts)
    lanes = [text.y for text in drawing.texts if text.words in ('write', 'read')]
    assert lanes == sorted(lanes) and lanes[0] > max(text.y for text in drawing.texts if text.words == '10.0')


def test_numbers_of_boxes_that_would_touch_are_left_out():
    boxes = [plot.Box(at, at + 0.01, 'pause', number=str(n)) for n, at in enumerate((1.0, 1.05, 5.0), 1)]
    assert [text.words for text in plot.drawn(chart(*boxes), WIDE).texts if text.kind == 'number'] == ['1', '3']


def test_the_legend_has_each_meaning_once():
    parts = [
        plot.Curve('read', [], 'read'),
        *(plot.Mark(at, 50.0, 'read', plot.OPEN, label='cannot decide', low=1.0, high=2.0) for at in (1.0, 2.0)),
        plot.Box(1.0, 2.0, 'timed'),
        plot.Box(1.0, 2.0, 'pause stall', label='stall'),
    ]
    signs = chart(*parts, interval='90 % interval').legend
    assert [sign.words for _, sign in signs] == ['read', 'stall', 'cannot decide', '90 % interval']
    assert [kind for kind, _ in signs[0][1].paths] == ['line', 'full']


def test_reads_and_writes_look_the_same_everywhere_and_anything_else_has_a_style_in_turn():
    assert plot.styles(['write', 'read']) == {'write': 'write', 'read': 'read'}
    names = [str(n) for n in range(len(plot.STYLES) + 1)]
    assert list(plot.styles(names).values()) == [*plot.STYLES, plot.STYLES[0]]
