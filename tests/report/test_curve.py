import math
from itertools import pairwise

import pytest

from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria
from seatrial.model.namespace import LISTING, TREE, Trees
from seatrial.model.record import Finding
from seatrial.model.tree import MetadataTree
from seatrial.model.units import MIB
from seatrial.model.workload import AccessPattern, Sweep, powers_of_two
from seatrial.report.curve import NARROW, WIDE, curve, has_curve
from seatrial.report.marks import OPEN, STRUCK

READ_WHOLE = AccessPattern('single', 'whole', operations=('read',))
TRANSFERS = Sweep('transfer_size', powers_of_two(1024, 4 * MIB), 64 * MIB)
WRONG = Finding('T18', 'invalid', 'client 1 moved too little')
DIRECTORY = MetadataTree(files_per_directory=891)
CACHE = Trees((('891', DIRECTORY),), tasks=1, pauses_s=(0.5, 1.0, 2.0, 5.0, 10.0))
SIZES = (10_000, 100_000, 1_000_000)
LARGE = Trees(tuple((str(n), MetadataTree(files_per_directory=n)) for n in SIZES), axis='entries', tasks=1)


@pytest.fixture
def plan(make):
    return make.plan()


def drawn(make, plan, rates=None, criteria=None, paper=WIDE, **more):
    case = make.case(plan, make.records(plan, rates or make.even_rates(plan), **more), criteria or Criteria())
    return curve(plan, case.result, paper)


def marks_of(found):
    return {mark.words.partition(':')[0]: mark for mark in found.marks}


def test_every_operation_has_a_line_and_every_metric_a_mark(make, plan):
    found = drawn(make, plan)
    assert [line.name for line in found.lines] == ['write', 'read']
    assert set(marks_of(found)) == set(plan.metrics)


def test_values_that_double_stand_at_equal_distances(make):
    plan = make.plan(pattern=READ_WHOLE, sweep=TRANSFERS)
    places = [tick.at for tick in drawn(make, plan).x_ticks]
    steps = [after - before for before, after in pairwise(places)]
    assert len(places) == 13
    assert steps == pytest.approx([steps[0]] * 12)


def test_labels_that_would_touch_are_left_out_evenly(make):
    plan = make.plan(pattern=READ_WHOLE, sweep=TRANSFERS)
    shown = [i for i, tick in enumerate(drawn(make, plan, paper=NARROW).x_ticks) if tick.label]
    assert shown[-1] == 12
    assert len({after - before for before, after in pairwise(shown)}) == 1
    assert 3 <= len(shown) < 13


def test_the_axis_says_what_it_measures_and_its_scale(make, plan):
    found = drawn(make, plan)
    assert (found.x_label, found.y_label) == ('objects per client (log scale)', 'MiB/s')


def test_a_single_point_stands_in_the_middle(make):
    plan = make.plan(sweep=Sweep('objects', (8,), 64 * MIB))
    found = drawn(make, plan)
    middle = (found.left + found.right) / 2
    assert [tick.at for tick in found.x_ticks] == [middle]
    assert found.x_label == 'objects per client'


def test_two_operations_stand_beside_each_other_and_one_stands_on_its_point(make, plan):
    marks = marks_of(drawn(make, plan))
    assert marks['read@8objects'].x - marks['write@8objects'].x == 10.0
    alone = make.plan(pattern=READ_WHOLE)
    found = drawn(make, alone)
    assert [mark.x for mark in found.marks] == [tick.at for tick in found.x_ticks]


def test_the_interval_is_that_of_the_verdict(make, plan):
    case = make.case(plan, make.records(plan, make.even_rates(plan, spread=0.1)))
    interval = case.result.metrics[0].summary.interval
    mark = marks_of(curve(plan, case.result, WIDE))['write@2objects']
    # The axis is linear from zero: shares of heights are shares of figures.
    assert (mark.low - mark.y) / (WIDE.height - WIDE.bottom - mark.y) == pytest.approx(
        interval.half_width / interval.mean
    )


def test_a_single_sample_has_neither_interval_nor_dots(make, plan):
    found = drawn(make, plan, {name: [100.0] for name in plan.metrics})
    assert all((mark.low, mark.dots) == (None, ()) for mark in found.marks)


def test_the_samples_are_dots_in_the_order_of_their_repetitions(make, plan):
    rates = make.even_rates(plan) | {'write@2objects': [500.0, 510.0, 505.0, 495.0, 502.0, 498.0]}
    dots = marks_of(drawn(make, plan, rates))['write@2objects'].dots
    assert [x for x, _ in dots] == sorted(x for x, _ in dots)
    assert min(range(6), key=lambda i: dots[i][1]) == 1


def test_an_interval_that_leaves_the_paper_is_cut_and_shown_so(make, plan):
    rates = make.even_rates(plan) | {'read@2objects': [10.0, 1000.0, 1200.0]}
    mark = marks_of(drawn(make, plan, rates))['read@2objects']
    assert (mark.low_cut, mark.high_cut) == (True, True)
    assert WIDE.top <= mark.high <= mark.low <= WIDE.height - WIDE.bottom


def test_what_cannot_be_believed_is_struck_and_no_line_leads_to_it(make, plan):
    found = drawn(make, plan, findings={'read@8objects': [WRONG]})
    assert {name for name, mark in marks_of(found).items() if mark.form == STRUCK} == {
        'read@8objects',
        'write@8objects',
    }
    assert all(line.strokes == () for line in found.lines)
    assert all((mark.low, mark.dots) == (None, ()) for mark in found.marks if mark.form == STRUCK)


def test_a_line_goes_on_beyond_what_cannot_be_believed(make):
    plan = make.plan(sweep=Sweep('objects', (2, 4, 8, 16, 32), 64 * MIB))
    found = drawn(make, plan, findings={'write@8objects': [WRONG]})
    assert [len(stroke) for line in found.lines for stroke in line.strokes] == [2, 2, 2, 2]


def test_what_cannot_decide_is_open(make, plan):
    rates = make.even_rates(plan) | {'read@2objects': [1000.0 * (1 + 0.9 * (i % 2)) for i in range(20)]}
    rates['write@2objects'] = rates['read@2objects']
    marks = marks_of(drawn(make, plan, rates))
    assert (marks['read@2objects'].form, marks['read@8objects'].form) == (OPEN, 'full')


def test_a_bound_of_a_reference_opens_to_the_side_that_is_allowed(make, plan):
    reference = Reference('write@2objects', 500.0, -0.1, 0.2, 'MiB/s', 'baseline', '2026-11-01')
    mark = marks_of(drawn(make, plan, criteria=Criteria(references=(reference,))))['write@2objects']
    (low, low_side), (high, high_side) = mark.bounds
    assert (low_side, high_side) == (1, -1)
    assert low > mark.y > high


def test_everything_lies_on_the_paper(make):
    for case in make.varied().cases:
        for paper in (WIDE, NARROW):
            found = curve(case.plan, case.result, paper)
            for mark in found.marks if found else ():
                ends = [end for end in (mark.low, mark.high) if end is not None]
                ys = [mark.y, *ends, *(y for _, y in mark.dots), *(y for y, _ in mark.bounds)]
                assert all(paper.top <= y <= paper.height - paper.bottom for y in ys)
                assert all(math.isfinite(x) and found.left <= x <= paper.width - paper.right for x, _ in mark.dots)


def test_nothing_measured_draws_nothing(make, plan):
    case = make.case(plan, make.records(plan, {}))
    assert curve(plan, case.result, WIDE) is None


def test_the_curve_is_told_in_words_too(make, plan):
    assert 'read@2objects: mean 1000 MiB/s, 90 % interval' in drawn(make, plan).words


@pytest.fixture
def cache(make):
    return make.plan(pattern=LISTING, sweep=CACHE)


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
    assert found.lines[0].marks[3].x < between < found.lines[0].marks[4].x


def test_the_second_axis_says_how_long_one_listing_takes(make, cache):
    found = drawn(make, cache, make.listing_rates(cache, noise=0.0))
    places = {tick.label: tick.at for tick in found.again_ticks}
    zero, first = WIDE.height - WIDE.bottom, found.lines[0].marks[0].y
    # 0.466 s of the first listing lie at 1913 entries/s, and so 0.5 s at 1782.
    assert (zero - places['500 ms']) / (zero - first) == pytest.approx(1782 / 1913, rel=0.001)
    assert found.right < WIDE.width - 30


def test_two_directories_of_other_sizes_have_no_axis_of_time(make):
    sweep = CACHE._replace(trees=(('891', DIRECTORY), ('2', MetadataTree(files_per_directory=2))))
    plan = make.plan(pattern=LISTING, sweep=sweep)
    found = drawn(make, plan, make.listing_rates(plan))
    assert (found.again_ticks, found.right) == ((), WIDE.width - WIDE.right)
    assert [line.label for line in found.lines] == ['891', '2']


def test_sizes_of_a_directory_make_a_curve_with_a_line_a_metric(make):
    plan = make.plan(pattern=LISTING, sweep=LARGE)
    found = drawn(make, plan, make.listing_rates(plan))
    assert [line.name for line in found.lines] == ['names_first', 'stat_first', 'names_second', 'stat_second']
    assert len({line.style for line in found.lines}) == 4
    assert [tick.label for tick in found.x_ticks] == ['10k', '100k', '1M']
    assert found.x_label == 'files in the directory (log scale)'


def test_four_lines_at_one_point_stand_beside_each_other(make):
    plan = make.plan(pattern=LISTING, sweep=LARGE)
    found = drawn(make, plan, make.listing_rates(plan))
    places = [line.marks[1].x - found.x_ticks[1].at for line in found.lines]
    assert places == pytest.approx([-15.0, -5.0, 5.0, 15.0])


@pytest.mark.parametrize(
    ('workload', 'sweep', 'answer'),
    [
        (LISTING, CACHE, True),
        (LISTING, LARGE, True),
        (LISTING, LARGE._replace(trees=LARGE.trees[:1]), False),
        (TREE, Trees((('a', DIRECTORY), ('b', DIRECTORY._replace(subtrees='private')))), False),
    ],
)
def test_points_that_differ_by_more_than_a_number_have_no_curve(make, workload, sweep, answer):
    assert has_curve(make.plan(pattern=workload, sweep=sweep)) is answer
