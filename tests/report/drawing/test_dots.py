"""The dots of a case as places on paper."""

from itertools import pairwise

import pytest

from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria
from seatrial.model.record import Finding
from seatrial.model.units import BINARY
from seatrial.report.drawing.dots import LONGEST_LABEL, PAPERS, dots
from seatrial.report.drawing.markers import OPEN, STRUCK, STYLES
from seatrial.report.figures import units_of
from seatrial.workload.operations import posix_operations
from seatrial.workload.registry import planned_metrics
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

WIDE, NARROW = PAPERS['wide'], PAPERS['narrow']
FILES = metadata_tree(files_per_directory=1000, scales=True)
PRIVATE = {'subtrees': 'private'}
TREES = Sweep('tree', (('shared', {}), ('private', PRIVATE)))
CALLS = posix_operations(1000, 4096)
ONE = Sweep('tree', (('shared', {}),))
WRONG = Finding('T17a', 'invalid', 'after create there are 3 files, not 2000')


@pytest.fixture
def plan(make):
    return make.plan('Check', FILES, TREES, tasks=8)


def drawn(make, plan, rates=None, criteria=None, paper=WIDE, **more):
    case = make.case(plan, make.records(plan, rates or make.tree_rates(plan), **more), criteria or Criteria()).result
    (unit,) = units_of(case.metrics, BINARY).values()
    return dots(plan, case, case.metrics, unit, paper)


def lanes_of(plan, found):
    """By metric; they lie in the order of the metrics' names, and the points of each below each other."""
    names = list(dict.fromkeys(name.partition('@')[0] for name in planned_metrics(plan)))
    return dict(zip([f'{name}@{point.label}' for name in names for point in plan.points], found.lanes, strict=True))


def test_every_metric_has_a_name_and_every_point_a_lane(make, plan):
    found = drawn(make, plan)
    assert [tick.label for tick in found.names] == ['file_create', 'file_stat', 'file_read', 'file_remove']
    assert [lane.label for lane in found.lanes] == ['shared', 'private'] * 4
    assert [(tick.at, tick.label) for tick in found.y_ticks] == [(lane.y, lane.label) for lane in found.lanes]


def test_a_point_has_the_same_style_in_every_metric(make, plan):
    assert {lane.style for lane in drawn(make, plan).lanes if lane.label == 'private'} == {STYLES[1]}


def test_a_single_point_needs_no_label_in_its_lanes(make):
    plan = make.plan('Check', CALLS, ONE)
    found = drawn(make, plan, make.call_rates(plan))
    assert [lane.label for lane in found.lanes] == [''] * 15


def test_rates_over_decades_lie_on_a_logarithmic_axis(make):
    plan = make.plan('Check', CALLS, ONE)
    assert drawn(make, plan, make.call_rates(plan)).x_label == 'op/s (log scale)'


def test_figures_lie_along_the_axis_and_samples_across(make, plan):
    found = drawn(make, plan, make.tree_rates(plan, noise=0.2))
    lanes = lanes_of(plan, found)
    slow, fast = lanes['file_create@shared'].mark, lanes['file_create@private'].mark
    assert (fast.mean - found.left) / (slow.mean - found.left) == pytest.approx(1.5)
    assert slow.low < slow.mean < slow.high
    assert [across for across, _ in slow.dots] == sorted(across for across, _ in slow.dots)
    assert min(along for _, along in slow.dots) < slow.mean < max(along for _, along in slow.dots)


@pytest.mark.parametrize('paper', [WIDE, NARROW], ids=['wide', 'narrow'])
def test_lanes_lie_below_each_other_inside_the_paper(make, plan, paper):
    found = drawn(make, plan, paper=paper)
    places = [lane.y for lane in found.lanes]
    assert places == sorted(places)
    assert min(after - before for before, after in pairwise(places)) >= 20
    assert places[-1] < found.paper.height - paper.bottom
    assert all(found.left <= mark.mean <= found.right <= paper.width for mark in found.marks)


def test_narrow_paper_has_the_metric_above_its_lanes(make, plan):
    found = drawn(make, plan, paper=NARROW)
    assert all(name.at < lane.y - 10 for name, lane in zip(found.names, found.lanes[::2], strict=True))
    assert found.left < drawn(make, plan).left


def test_a_bound_of_a_reference_opens_to_the_side_that_is_allowed(make, plan):
    reference = Reference('file_stat@shared', 80e3, -0.1, None, 'op/s', 'baseline', '2026-11-01')
    found = drawn(make, plan, criteria=Criteria(references=(reference,)))
    mark = lanes_of(plan, found)['file_stat@shared'].mark
    ((bound, side),) = mark.bounds
    assert (bound < mark.mean, side) == (True, 1)


def test_what_is_invalid_or_cannot_decide_has_its_own_form(make, plan):
    rates = make.tree_rates(plan) | {'file_stat@private': [1e5 * (1 + 0.9 * (i % 2)) for i in range(20)]}
    rates |= {name: (rates[name] * 4)[:20] for name in rates if name.endswith('private')}
    undecided = Criteria(
        references=(Reference('file_stat@private', 1.4e5, 0.0, None, 'op/s', 'baseline', '2026-11-01'),)
    )
    lanes = lanes_of(plan, drawn(make, plan, rates, findings={'read@shared': [WRONG]}, criteria=undecided))
    assert {name for name, lane in lanes.items() if lane.mark.form == STRUCK} >= {'file_read@shared'}
    assert lanes['file_read@shared'].mark.low is None
    assert lanes['file_stat@private'].mark.form == OPEN


def test_a_metric_that_was_not_measured_keeps_its_lane(make, plan):
    rates = {name: values for name, values in make.tree_rates(plan).items() if not name.startswith('file_read')}
    rates |= {f'file_read@{point.label}': [] for point in plan.points}
    found = drawn(make, plan, rates)
    assert [lane.mark for lane in found.lanes[4:6]] == [None, None]


def test_a_label_too_long_for_the_paper_is_cut(make):
    plan = make.plan('Check', FILES, Sweep('tree', (('x' * 80, {}), ('y', PRIVATE))))
    found = drawn(make, plan, make.tree_rates(plan))
    assert len(found.lanes[0].label) == LONGEST_LABEL
    assert found.left < WIDE.width / 2


def test_nothing_measured_draws_nothing(make, plan):
    assert drawn(make, plan, {name: [] for name in planned_metrics(plan)}) is None


def test_the_dots_are_told_in_words_too(make, plan):
    assert 'file_stat@shared: mean 80\u202f000 op/s, 90 % interval' in drawn(make, plan).words
