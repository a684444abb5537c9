"""The curve of a case as places on paper."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from builders import MFWA
from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria
from seatrial.model.record import Finding
from seatrial.model.units import BINARY, DECIMAL, KIB, MIB
from seatrial.report.drawing.curve import PAPERS, curve, has_curve, sheets
from seatrial.report.drawing.markers import OPEN, STRUCK
from seatrial.report.figures import units_of
from seatrial.workload.access import data_access
from seatrial.workload.listing import listing
from seatrial.workload.operations import posix_operations
from seatrial.workload.registry import planned_metrics
from seatrial.workload.sweep import Sweep, powers_of_two
from seatrial.workload.tree import metadata_tree

WIDE, NARROW = PAPERS['wide'], PAPERS['narrow']
READ_WHOLE = data_access('single', operations=('read',))
TRANSFERS = Sweep('transfer_size', powers_of_two(1024, 4 * MIB))
WRONG = Finding('T18', 'invalid', 'task 1 moved too little')
CACHE = listing(891, (0.5, 1.0, 2.0, 5.0, 10.0))
ONE, SIZES = Sweep('entries', (891,)), Sweep('entries', (10_000, 100_000, 1_000_000))


@pytest.fixture
def plan(make):
    return make.plan()


def drawn(make, plan, rates=None, criteria=None, paper=WIDE, system=BINARY, **more):
    case = make.case(plan, make.records(plan, rates or make.even_rates(plan), **more), criteria or Criteria()).result
    (unit,) = units_of(case.metrics, system).values()
    return curve(plan, case, case.metrics, unit, paper)


def marks_of(found):
    return {mark.words.partition(':')[0]: mark for mark in found.marks}


def test_every_metric_has_a_line_and_a_mark_at_every_point(make, plan):
    found = drawn(make, plan)
    assert [line.name for line in found.lines] == ['write', 'read']
    assert set(marks_of(found)) == set(planned_metrics(plan))


def test_values_that_double_stand_at_equal_distances(make):
    plan = make.plan('Check', READ_WHOLE, TRANSFERS)
    places = [tick.at for tick in drawn(make, plan).x_ticks]
    steps = [after - before for before, after in pairwise(places)]
    assert len(places) == 13
    assert steps == pytest.approx([steps[0]] * 12)


def test_labels_that_would_touch_are_left_out_evenly(make):
    plan = make.plan('Check', READ_WHOLE, TRANSFERS)
    shown = [i for i, tick in enumerate(drawn(make, plan, paper=NARROW).x_ticks) if tick.label]
    assert shown[-1] == 12
    assert len({after - before for before, after in pairwise(shown)}) == 1
    assert 3 <= len(shown) < 13


def test_the_axis_says_what_it_measures_and_its_scale(make, plan):
    found = drawn(make, plan)
    assert (found.x_label, found.y_label) == ('bytes per transfer (log scale)', 'MiB/s')


def test_a_site_that_shows_decimal_units_has_them_on_the_axis(make, plan):
    one, other = drawn(make, plan), drawn(make, plan, system=DECIMAL)
    assert (other.y_label, [tick.label for tick in other.y_ticks]) == ('MB/s', ['0', '500', '1000'])
    assert [mark.mean for mark in one.marks] == pytest.approx([mark.mean for mark in other.marks])


def test_two_metrics_stand_beside_each_other_and_one_stands_on_its_point(make, plan):
    marks = marks_of(drawn(make, plan))
    assert marks['read@8MiB'].at - marks['write@8MiB'].at == 10.0
    alone = make.plan('Check', READ_WHOLE)
    found = drawn(make, alone)
    assert [mark.at for mark in found.marks] == [tick.at for tick in found.x_ticks]


def test_the_interval_is_that_of_the_verdict(make, plan):
    case = make.case(plan, make.records(plan, make.even_rates(plan, spread=0.1)))
    interval = case.result.metrics[0].summary.interval
    mark = marks_of(drawn(make, plan, make.even_rates(plan, spread=0.1)))['write@2MiB']
    # The axis is linear from zero: shares of heights are shares of figures.
    assert (mark.low - mark.mean) / (WIDE.height - WIDE.bottom - mark.mean) == pytest.approx(
        interval.half_width / interval.mean
    )


def test_a_single_sample_has_neither_interval_nor_dots(make, plan):
    found = drawn(make, plan, {name: [100.0 * MIB] for name in planned_metrics(plan)})
    assert all((mark.low, mark.dots) == (None, ()) for mark in found.marks)


def test_the_samples_are_dots_in_the_order_of_their_repetitions(make, plan):
    rates = make.even_rates(plan) | {'write@2MiB': [n * MIB for n in (500, 510, 505, 495, 502, 498)]}
    dots = marks_of(drawn(make, plan, rates))['write@2MiB'].dots
    assert [x for x, _ in dots] == sorted(x for x, _ in dots)
    assert min(range(6), key=lambda i: dots[i][1]) == 1


def test_an_interval_that_leaves_the_paper_is_cut_and_shown_so(make, plan):
    rates = make.even_rates(plan) | {'read@2MiB': [10.0 * MIB, 1000.0 * MIB, 1200.0 * MIB]}
    mark = marks_of(drawn(make, plan, rates))['read@2MiB']
    assert (mark.low_cut, mark.high_cut) == (True, True)
    assert WIDE.top <= mark.high <= mark.low <= WIDE.height - WIDE.bottom


def test_what_is_invalid_is_struck_and_no_line_leads_to_it(make, plan):
    found = drawn(make, plan, findings={'read@8MiB': [WRONG]})
    assert {name for name, mark in marks_of(found).items() if mark.form == STRUCK} == {
        'read@8MiB',
        'write@8MiB',
    }
    assert all(line.strokes == () for line in found.lines)
    assert all((mark.low, mark.dots) == (None, ()) for mark in found.marks if mark.form == STRUCK)


def test_a_line_goes_on_beyond_what_is_invalid(make):
    plan = make.plan(sweep=Sweep('transfer_size', powers_of_two('2MiB', '32MiB')))
    found = drawn(make, plan, findings={'write@8MiB': [WRONG]})
    assert [len(stroke) for line in found.lines for stroke in line.strokes] == [2, 2, 2, 2]


def test_what_cannot_decide_is_open(make, plan):
    rates = make.even_rates(plan) | {'read@2MiB': [1000.0 * MIB * (1 + 0.9 * (i % 2)) for i in range(20)]}
    rates['write@2MiB'] = rates['read@2MiB']
    reference = Reference('read@2MiB', 1400.0 * MIB, 0.0, None, 'MiB/s', 'baseline', '2026-11-01')
    marks = marks_of(drawn(make, plan, rates, criteria=Criteria(references=(reference,))))
    assert (marks['read@2MiB'].form, marks['read@8MiB'].form) == (OPEN, 'full')


def test_a_bound_of_a_reference_opens_to_the_side_that_is_allowed(make, plan):
    reference = Reference('write@2MiB', 500.0 * MIB, -0.1, 0.2, 'MiB/s', 'baseline', '2026-11-01')
    mark = marks_of(drawn(make, plan, criteria=Criteria(references=(reference,))))['write@2MiB']
    (low, low_side), (high, high_side) = mark.bounds
    assert (low_side, high_side) == (1, -1)
    assert low > mark.mean > high


def test_everything_lies_on_the_paper(make):
    for case in make.varied().cases:
        for paper in (WIDE, NARROW):
            (unit,) = units_of(case.result.metrics, BINARY).values()
            found = curve(case.plan, case.result, case.result.metrics, unit, paper)
            for mark in found.marks if found else ():
                ends = [end for end in (mark.low, mark.high) if end is not None]
                ys = [mark.mean, *ends, *(y for _, y in mark.dots), *(y for y, _ in mark.bounds)]
                assert all(paper.top <= y <= paper.height - paper.bottom for y in ys)
                assert all(math.isfinite(x) and found.left <= x <= paper.width - paper.right for x, _ in mark.dots)


def test_nothing_measured_draws_nothing(make, plan):
    assert drawn(make, plan, {name: [] for name in planned_metrics(plan)}) is None


def test_the_curve_is_told_in_words_too(make, plan):
    assert 'read@2MiB: mean 1000 MiB/s, 90 % interval' in drawn(make, plan).words


@pytest.fixture
def cache(make):
    return make.plan('Check', CACHE, ONE)


def test_repeated_listings_are_the_curve_of_the_cache(make, cache):
    found = drawn(make, cache, make.listing_rates(cache))
    (line,) = found.lines
    assert len(line.marks) == 9
    assert [tick.label for tick in found.x_ticks] == [
        '1st', '2nd', '3rd', '4th', '0.5 s', '1 s', '2 s', '5 s', '10 s',
    ]  # fmt: skip


def test_no_line_leads_from_the_listings_in_a_row_over_the_pauses(make, cache):
    found = drawn(make, cache, make.listing_rates(cache))
    assert [len(stroke) for stroke in found.lines[0].strokes] == [4, 5]
    (between,) = found.breaks
    assert found.lines[0].marks[3].at < between < found.lines[0].marks[4].at


def test_the_second_axis_says_how_long_one_listing_takes(make, cache):
    found = drawn(make, cache, make.listing_rates(cache, noise=0.0))
    places = {tick.label: tick.at for tick in found.again_ticks}
    zero, first = WIDE.height - WIDE.bottom, found.lines[0].marks[0].mean
    # 0.466 s of the first listing lie at 1913 op/s, and so 0.5 s at 1782.
    assert (zero - places['500 ms']) / (zero - first) == pytest.approx(1782 / 1913, rel=0.001)
    assert found.right < WIDE.width - 30


def test_two_directories_of_other_sizes_have_no_axis_of_time(make):
    plan = make.plan('Check', CACHE, Sweep('entries', (891, 2)))
    found = drawn(make, plan, make.listing_rates(plan))
    assert (found.again_ticks, found.right) == ((), WIDE.width - WIDE.right)
    assert [line.label for line in found.lines] == ['891', '2']


def test_sizes_of_a_directory_make_a_curve_with_a_line_a_metric(make):
    plan = make.plan('Check', listing(10), SIZES)
    found = drawn(make, plan, make.listing_rates(plan))
    assert [line.name for line in found.lines] == ['names_first', 'stat_first', 'names_second', 'stat_second']
    assert len({line.style for line in found.lines}) == 4
    assert [tick.label for tick in found.x_ticks] == ['10k', '100k', '1M']
    assert found.x_label == 'files in the directory (log scale)'


def test_four_lines_at_one_point_stand_beside_each_other(make):
    plan = make.plan('Check', listing(10), SIZES)
    found = drawn(make, plan, make.listing_rates(plan))
    places = [line.marks[1].at - found.x_ticks[1].at for line in found.lines]
    assert places == pytest.approx([-15.0, -5.0, 5.0, 15.0])


@pytest.mark.parametrize(
    ('workload', 'sweep', 'answer'),
    [
        (MFWA, Sweep('transfer_size', (KIB, MIB)), True),
        (MFWA, Sweep('transfer_size', (MIB,)), False),
        (CACHE, ONE, True),
        (listing(10), SIZES, True),
        (listing(10), ONE, False),
        (metadata_tree(files_per_directory=1), Sweep('tree', (('a', {}), ('b', {'subtrees': 'private'}))), False),
        (metadata_tree(files_per_directory=1), Sweep('tasks', (1, 2)), True),
    ],
)
def test_points_have_a_curve_that_are_several_numbers(make, workload, sweep, answer):
    assert has_curve(make.plan('Check', workload, sweep)) is answer


def test_small_numbers_on_the_axis_are_whole(make):
    plan = make.plan(sweep=Sweep('tasks', (1, 2)))
    assert [tick.label for tick in drawn(make, plan).x_ticks] == ['1', '2']


def test_more_metrics_than_styles_are_shared_out_evenly_between_drawings(make):
    plan = make.plan('Check', posix_operations(10, 0), Sweep('tasks', (1, 2)))
    metrics = make.case(plan, make.records(plan, make.call_rates(plan))).result.metrics
    assert [len(sheet) for sheet in sheets(plan, metrics)] == [16, 14]
    one = make.plan('Check', posix_operations(10, 0), Sweep('tree', (('shared', {}),)))
    assert [len(sheet) for sheet in sheets(one, metrics)] == [30]


def test_metrics_of_another_dimension_are_drawn_apart(make, plan):
    metrics = make.case(plan, make.records(plan, make.even_rates(plan))).result.metrics
    mixed = [replace(each, unit='s') if each.name == 'read' else each for each in metrics]
    assert [{each.name for each in sheet} for sheet in sheets(plan, mixed)] == [{'write'}, {'read'}]
