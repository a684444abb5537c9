"""The curve and the dots of a case: which metrics they have, and where on which axes."""

from dataclasses import replace

import pytest

from builders import MFWA
from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria
from seatrial.model.record import Finding
from seatrial.model.units import BINARY, DECIMAL, KIB, MIB
from seatrial.report.drawing.metrics import LONGEST_LABEL, charts, has_curve, sheets
from seatrial.report.drawing.plot import OPEN, STRUCK, STYLES, Curve, Guide, Mark
from seatrial.report.figures import units_of
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.registry import planned_metrics
from seatrial.workload.sweep import Sweep, powers_of_two
from seatrial.workload.tree import metadata_tree

WRONG = Finding('T18', 'invalid', 'task 1 moved too little')
CACHE = listing(891, (0.5, 1.0, 2.0, 5.0, 10.0))
ONE, SIZES = Sweep('entries', (891,)), Sweep('entries', (10_000, 100_000, 1_000_000))
FILES = metadata_tree(files_per_directory=1000, scales=True)
PRIVATE = {'subtrees': 'private'}


@pytest.fixture
def plan(make):
    return make.plan()


def drawn(make, plan, rates=None, system=BINARY, **more):
    case = make.measured(plan, rates, **more).result
    (chart,) = charts(plan, case, units_of(case.metrics, system))
    return chart


def marks_of(chart):
    return {mark.words.partition(':')[0]: mark for mark in chart.parts if isinstance(mark, Mark)}


def lines_of(chart):
    return [part for part in chart.parts if isinstance(part, Curve)]


def test_every_metric_has_a_line_and_a_mark_at_every_point(make, plan):
    drawing = drawn(make, plan)
    assert [(line.label, line.style) for line in lines_of(drawing)] == [('write', 'write'), ('read', 'read')]
    marks = marks_of(drawing)
    assert set(marks) == set(planned_metrics(plan))
    assert marks['read@8MiB'].aside - marks['write@8MiB'].aside == 10.0
    assert 'read@2MiB: mean 1000 MiB/s, 90 % interval' in drawing.words


@pytest.mark.parametrize(('system', 'unit'), [(BINARY, 'MiB/s'), (DECIMAL, 'MB/s')])
def test_the_axes_say_what_they_measure_in_the_units_of_the_site(make, plan, system, unit):
    drawing = drawn(make, plan, system=system)
    assert (drawing.x.label, drawing.x.logarithmic, drawing.y.label) == ('bytes per transfer (log scale)', True, unit)
    assert [tick.label for tick in drawing.x.ticks] == ['2 MiB', '8 MiB', '32 MiB']
    assert drawing.x.low < 2 * MIB and drawing.x.high > 32 * MIB
    assert marks_of(drawing)['write@2MiB'].figure == pytest.approx(500 * MIB)


def test_the_interval_is_that_of_the_verdict_and_the_samples_stand_in_their_order(make, plan):
    rates = make.even_rates(plan) | {'write@2MiB': [n * MIB for n in (500, 510, 505, 495, 502, 498)]}
    interval = make.measured(plan, rates).result.metrics[0].summary.interval
    mark = marks_of(drawn(make, plan, rates))['write@2MiB']
    assert (mark.low, mark.high) == (interval.low, interval.high)
    assert mark.samples == pytest.approx(rates['write@2MiB'])
    single = drawn(make, plan, [100.0 * MIB])
    assert {mark.low for mark in marks_of(single).values()} == {None}
    few = drawn(make, plan, rates | {'read@2MiB': [10.0 * MIB, 1000.0 * MIB, 1200.0 * MIB]})
    assert marks_of(few)['read@2MiB'].high > few.y.high > 1200 * MIB, 'the axis need not hold all of it'


def test_what_is_invalid_is_struck_and_no_line_leads_to_it(make):
    plan = make.plan(sweep=Sweep('transfer_size', powers_of_two('2MiB', '32MiB')))
    drawing = drawn(make, plan, findings={'write@8MiB': [WRONG]})
    struck = {name: mark for name, mark in marks_of(drawing).items() if mark.form == STRUCK}
    assert set(struck) == {'write@8MiB'}
    assert all((mark.low, mark.samples) == (None, ()) for mark in struck.values())
    assert sorted(len(stroke) for line in lines_of(drawing) for stroke in line.strokes) == [2, 2, 5]


@pytest.mark.parametrize('kind', ['curve', 'dots'])
def test_what_cannot_decide_is_open_and_its_bound_has_the_side_that_is_allowed(make, plan, trees, kind):
    plan, name = (plan, 'read@2MiB') if kind == 'curve' else (trees, 'file_stat@private')
    even = make.even_rates(plan) if kind == 'curve' else make.tree_rates(plan)
    scattered = [1e5 * (1 + 0.9 * (i % 2)) for i in range(20)]
    rates = {name_: scattered if name_.endswith(name.partition('@')[2]) else values for name_, values in even.items()}
    unit = 'B/s' if kind == 'curve' else 'op/s'
    reference = Reference(name, 1.4e5, 0.0, None, unit, 'baseline', '2026-11-01')
    mark = marks_of(drawn(make, plan, rates, criteria=Criteria(references=(reference,))))[name]
    assert (mark.form, mark.label, mark.bounds) == (OPEN, 'cannot decide', [(1.4e5, 1)])


def test_nothing_measured_draws_nothing(make, plan):
    case = make.measured(plan, []).result
    assert charts(plan, case, units_of(case.metrics, BINARY)) == []


def test_repeated_listings_are_the_curve_of_the_cache_broken_before_the_pauses(make):
    plan = make.plan('Check', CACHE, ONE)
    drawing = drawn(make, plan, make.listing_rates(plan, noise=0.0))
    (line,) = lines_of(drawing)
    assert [len(stroke) for stroke in line.strokes] == [4, 5]
    assert ', '.join(tick.label for tick in drawing.x.ticks) == '1st, 2nd, 3rd, 4th, 0.5 s, 1 s, 2 s, 5 s, 10 s'
    (between,) = (part.at for part in drawing.parts if isinstance(part, Guide))
    assert line.strokes[0][-1][0] < between < line.strokes[1][0][0]
    two = make.plan('Check', CACHE, Sweep('entries', (891, 2)))
    assert [line.label for line in lines_of(drawn(make, two, make.listing_rates(two)))] == ['891', '2']


def test_sizes_of_a_directory_make_a_curve_with_a_line_a_metric(make):
    plan = make.plan('Check', listing(10), SIZES)
    drawing = drawn(make, plan, make.listing_rates(plan))
    labels = [f'{what}, {time} time' for time in ('1st', '2nd') for what in ('names', 'attributes')]
    assert [line.label for line in lines_of(drawing)] == labels
    assert [line.aside for line in lines_of(drawing)] == [-15.0, -5.0, 5.0, 15.0]
    assert [tick.label for tick in drawing.x.ticks] == ['10k', '100k', '1M']


@pytest.mark.parametrize(
    ('workload', 'sweep', 'answer'),
    [
        (MFWA, Sweep('transfer_size', (KIB, MIB)), True),
        (MFWA, Sweep('transfer_size', (MIB,)), False),
        (CACHE, ONE, True),
        (listing(10), SIZES, True),
        (listing(10), ONE, False),
        (FILES, Sweep('tree', (('a', {}), ('b', PRIVATE))), False),
        (FILES, Sweep('tasks', (1, 2)), True),
    ],
)
def test_points_have_a_curve_that_are_several_numbers(make, workload, sweep, answer):
    assert has_curve(make.plan('Check', workload, sweep)) is answer


def test_more_metrics_than_styles_are_shared_out_evenly_between_drawings(make):
    plan = make.plan('Check', posix_operations(10, 0), Sweep('tasks', (1, 2)))
    metrics = make.measured(plan, make.call_rates(plan)).result.metrics
    assert [len(sheet) for sheet in sheets(plan, metrics)] == [16, 14]
    one = make.plan('Check', posix_operations(10, 0), Sweep('tree', (('shared', {}),)))
    assert [len(sheet) for sheet in sheets(one, metrics)] == [30]


def test_metrics_of_another_dimension_are_drawn_apart(make, plan):
    metrics = make.measured(plan).result.metrics
    mixed = [replace(metric, unit='s') if metric.name == 'read' else metric for metric in metrics]
    assert [{metric.name for metric in sheet} for sheet in sheets(plan, mixed)] == [{'write'}, {'read'}]


def test_dots_of_every_metric_stand_below_its_name_one_a_point(make, trees):
    drawing = drawn(make, trees, make.tree_rates(trees))
    names = ('file_create', 'file_stat', 'file_read', 'file_remove')
    labels = [label for name in names for label in (name, 'shared', 'private')]
    assert [tick.label for tick in drawing.y.ticks] == labels
    places = {tick.value: tick.label for tick in drawing.y.ticks}
    marks = marks_of(drawing)
    assert all(places[mark.at] == name.partition('@')[2] for name, mark in marks.items())
    assert {mark.style for name, mark in marks.items() if name.endswith('private')} == {STYLES[5]}
    assert marks['file_create@private'].figure / marks['file_create@shared'].figure == pytest.approx(1.5)
    assert 'file_stat@shared: mean 80\u202f000 op/s, 90 % interval' in drawing.words


def test_dots_of_a_single_point_stand_beside_the_names_of_their_metrics(make):
    plan = make.plan('Check', posix_operations(1000, 4096), Sweep('tree', (('shared', {}),)))
    drawing = drawn(make, plan, make.call_rates(plan))
    assert (len(drawing.y.ticks), drawing.y.ticks[0].label) == (15, 'mkdir')
    assert drawing.x.label == 'op/s (log scale)'


def test_a_metric_that_was_not_measured_keeps_its_lane_and_a_label_too_long_for_the_paper_is_cut(make, trees):
    rates = {name: [] if name.startswith('file_read') else values for name, values in make.tree_rates(trees).items()}
    drawing = drawn(make, trees, rates)
    assert (len(drawing.y.ticks), len(marks_of(drawing))) == (12, 6)
    plan = make.plan('Check', FILES, Sweep('tree', (('x' * 80, {}), ('y', PRIVATE))))
    assert max(len(tick.label) for tick in drawn(make, plan, make.tree_rates(plan)).y.ticks) == LONGEST_LABEL
