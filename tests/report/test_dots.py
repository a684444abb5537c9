from itertools import pairwise

import pytest

from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria
from seatrial.model.namespace import OPERATIONS, TREE, Trees
from seatrial.model.record import Finding
from seatrial.model.tree import MetadataTree
from seatrial.report.dots import LONGEST_LABEL, NARROW, WIDE, dots
from seatrial.report.marks import OPEN, STRUCK, STYLES

FILES = MetadataTree(files_per_directory=1000)
PRIVATE = FILES._replace(subtrees='private')
TREES = Trees((('shared', FILES), ('private', PRIVATE)), scales=True)
CALLS = Trees((('shared', FILES._replace(bytes_per_file=4096)),))
WRONG = Finding('T17a', 'invalid', 'after create there are 3 files, not 2000')


@pytest.fixture
def plan(make):
    return make.plan(pattern=TREE, sweep=TREES, clients=8)


def drawn(make, plan, rates=None, criteria=None, sheet=WIDE, **more):
    case = make.case(plan, make.records(plan, rates or make.tree_rates(plan), **more), criteria or Criteria())
    return dots(plan, case.result, sheet)


def lanes_of(found):
    return {f'{group.label}@{lane.label}': lane for group in found.groups for lane in group.lanes}


def test_every_metric_is_a_group_and_every_point_a_lane(make, plan):
    found = drawn(make, plan)
    assert [group.label for group in found.groups] == ['file_create', 'file_stat', 'file_read', 'file_remove']
    assert [[lane.label for lane in group.lanes] for group in found.groups] == [['shared', 'private']] * 4


def test_a_point_has_the_same_style_in_every_group(make, plan):
    assert {lane.style for name, lane in lanes_of(drawn(make, plan)).items() if 'private' in name} == {STYLES[1]}


def test_a_single_point_needs_no_label_in_its_lanes(make):
    plan = make.plan(pattern=OPERATIONS, sweep=CALLS)
    found = drawn(make, plan, make.call_rates(plan))
    assert [len(group.lanes) for group in found.groups] == [1] * 15
    assert {lane.label for group in found.groups for lane in group.lanes} == {''}


def test_rates_over_decades_lie_on_a_logarithmic_axis(make):
    plan = make.plan(pattern=OPERATIONS, sweep=CALLS)
    assert drawn(make, plan, make.call_rates(plan)).label == 'ops/s (log scale)'


def test_figures_lie_along_the_axis_and_samples_across(make, plan):
    found = drawn(make, plan, make.tree_rates(plan, noise=0.2))
    lanes = lanes_of(found)
    slow, fast = lanes['file_create@shared'].mark, lanes['file_create@private'].mark
    assert (fast.x - found.left) / (slow.x - found.left) == pytest.approx(1.5)
    assert slow.low < slow.x < slow.high
    assert [y for _, y in slow.dots] == sorted(y for _, y in slow.dots)
    assert min(x for x, _ in slow.dots) < slow.x < max(x for x, _ in slow.dots)


@pytest.mark.parametrize('sheet', [WIDE, NARROW], ids=['wide', 'narrow'])
def test_lanes_lie_below_each_other_inside_the_sheet(make, plan, sheet):
    found = drawn(make, plan, sheet=sheet)
    places = [lane.y for group in found.groups for lane in group.lanes]
    assert places == sorted(places)
    assert min(after - before for before, after in pairwise(places)) >= 20
    assert places[-1] < found.height - sheet.bottom
    assert all(found.left <= mark.x <= sheet.width - sheet.right for mark in found.marks)


def test_a_narrow_sheet_has_the_metric_above_its_lanes(make, plan):
    found = drawn(make, plan, sheet=NARROW)
    assert all(group.y < group.lanes[0].y - 10 for group in found.groups)
    assert found.left < drawn(make, plan).left


def test_a_bound_of_a_reference_opens_to_the_side_that_is_allowed(make, plan):
    reference = Reference('file_stat@shared', 80e3, -0.1, None, 'ops/s', 'baseline', '2026-11-01')
    mark = lanes_of(drawn(make, plan, criteria=Criteria(references=(reference,))))['file_stat@shared'].mark
    ((bound, side),) = mark.bounds
    assert (bound < mark.x, side) == (True, 1)


def test_what_cannot_be_believed_or_cannot_decide_has_its_own_form(make, plan):
    rates = make.tree_rates(plan) | {'file_stat@private': [1e5 * (1 + 0.9 * (i % 2)) for i in range(20)]}
    rates |= {name: (rates[name] * 4)[:20] for name in rates if name.endswith('private')}
    lanes = lanes_of(drawn(make, plan, rates, findings={'read@shared': [WRONG]}))
    assert {name for name, lane in lanes.items() if lane.mark.form == STRUCK} >= {'file_read@shared'}
    assert lanes['file_read@shared'].mark.low is None
    assert lanes['file_stat@private'].mark.form == OPEN


def test_a_metric_that_was_not_measured_keeps_its_lane(make, plan):
    rates = {name: values for name, values in make.tree_rates(plan).items() if not name.startswith('file_read')}
    rates |= {f'file_read@{point.label}': [] for point in plan.points}
    found = drawn(make, plan, rates)
    assert [lane.mark for lane in found.groups[2].lanes] == [None, None]


def test_a_label_too_long_for_the_sheet_is_cut(make):
    plan = make.plan(pattern=TREE, sweep=Trees((('x' * 80, FILES), ('y', PRIVATE))))
    found = drawn(make, plan, make.tree_rates(plan))
    assert len(found.groups[0].lanes[0].label) == LONGEST_LABEL
    assert found.left < WIDE.width / 2


def test_nothing_measured_draws_nothing(make, plan):
    assert drawn(make, plan, {name: [] for name in plan.metrics}) is None


def test_the_dots_are_told_in_words_too(make, plan):
    assert 'file_stat@shared: mean 80\u202f000 ops/s, 90 % interval' in drawn(make, plan).words
