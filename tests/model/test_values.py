"""Points, metrics, what Darshan saw of a launch, and what changed of a file system."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.codec import from_json, to_json
from seatrial.model.issued import MIXED, Done, Issued
from seatrial.model.layout import Layout
from seatrial.model.metric import Measurement, Metric, bandwidth, rate
from seatrial.model.point import DataPart, Point
from seatrial.model.state import NONE_REMEMBERED, changes, unread
from seatrial.model.units import KIB, MIB

DATA = DataPart(transfer_size=64 * KIB, bytes_per_task=MIB)
WRITES = Point('access', ('write',), nodes=2, tasks=6, tasks_per_node=3, data=DATA)


def test_a_layout_of_its_own_is_told_from_that_of_the_case():
    pinned = WRITES._replace(layout=Layout())
    assert from_json(Point, to_json(pinned)).layout == Layout()
    assert from_json(Point, to_json(WRITES)).layout is None


def test_a_parameter_is_changed_and_read_by_its_name_whichever_part_has_it():
    point = WRITES.changed(transfer_size=KIB, tasks=2, think_s=0.5)
    assert (point.data, point.tasks) == (DATA._replace(transfer_size=KIB), 2)
    assert [point.value(name) for name in ('transfer_size', 'tasks', 'think_s', 'depth')] == [KIB, 2, 0.5, None]
    assert WRITES.changed(think_s=0.0, depth=0) == WRITES  # a value as by default makes no part


def test_a_point_without_a_part_moves_no_bytes_and_lasts_no_time():
    point = Point('semantics', ('probe',), tasks=2)
    assert (point.bytes_moved, point.duration_s, point.pauses_s, point.actions, point.fullness) == (0, 0, (), (), 0)


HOLDING = Metric('holding', 3.0, '')


@pytest.mark.parametrize('make', [bandwidth, rate])
@pytest.mark.parametrize('seconds', [0.0, -1.0])
def test_what_took_no_time_is_no_figure(make, seconds):
    metric = make('x', 100, seconds, '')
    assert metric.value == 0.0
    assert Measurement((metric, HOLDING), 1, ('h',)).figures == {'holding': 3.0}


@given(st.integers(1, 1 << 60), st.floats(1e-6, 1e6))
def test_value_times_seconds_is_what_was_done(number, seconds):
    assert bandwidth('read', number, seconds, '').value * seconds == pytest.approx(number)
    assert rate('stat', number, seconds, '').value * seconds == pytest.approx(number)


def test_the_idle_share_is_what_the_slowest_task_leaves():
    assert rate('file_stat', 52, 0.008, '', (0.001, 0.002)).idle_share == pytest.approx(0.75)
    # Nothing without the times of tasks or of the phase.
    assert bandwidth('write', 8 * MIB, 2.0, '4.00').idle_share == rate('x', 1, 0.0, '', (1.0,)).idle_share == 0.0


def test_the_seconds_of_a_launch_are_its_shortest_timed_region():
    metrics = (rate('file_create', 4, 2.0, ''), rate('directory_create', 4, 0.5, ''), HOLDING)
    assert Measurement(metrics, 1, ('h',)).seconds == 0.5
    assert Measurement((HOLDING,), 1, ('h',)).seconds == 0.0  # it times nothing


@pytest.mark.parametrize(
    ('orders', 'order'),
    [(('strided', ''), 'strided'), (('strided', 'contiguous'), MIXED), ((MIXED,), MIXED), ((), '')],
)
def test_the_order_is_the_one_that_all_operations_have(orders, order):
    done = tuple(Done('write', 2 * MIB, 32, of_one, 30, 0.0, 1.0) for of_one in orders)
    issued = Issued(2, 2, 1, 1, 'single', 'segment', 'posix', False, 2 * MIB, done, (), 0, 0.0, False)
    assert issued.order == order


@pytest.mark.parametrize(
    ('before', 'after', 'changed'),
    [
        ('OST0002 at 06:58', NONE_REMEMBERED, False),
        ('OST0001 at 05:00; OST0002 at 06:58', 'OST0002 at 06:58', False),
        (NONE_REMEMBERED, 'OST0002 at 06:58', True),
        ('OST0002 at 06:58', 'OST0002 at 06:58; OST0002 at 07:10', True),
    ],
)
def test_an_eviction_that_a_node_has_forgotten_is_no_change(before, after, changed):
    assert bool(changes({'evictions': before}, {'evictions': after})) is changed


LAYOUT, OTHER, SILENT = {'layout': 'c4.S512k'}, {'layout': 'c1.S4M'}, {'layout': 'unknown: no answer'}


@pytest.mark.parametrize(
    ('before', 'after', 'changed', 'lost'),
    [
        (LAYOUT, OTHER, ['layout'], {}),
        (LAYOUT, {}, ['layout'], {}),
        (LAYOUT, SILENT, [], {'layout': 'no answer'}),
        (SILENT, {'layout': 'unknown: for root alone'}, [], {}),
        ({**LAYOUT, 'pool': '1'}, {**SILENT, 'release': '8'}, ['release'], {'layout': 'no answer'}),
    ],
    ids=['another', 'removed', 'unread once', 'never read', 'several unread'],
)
def test_only_a_setting_that_was_read_twice_can_change(before, after, changed, lost):
    assert [change.key for change in changes(before, after)] == changed
    assert [change.key for change in changes(after, before)] == changed
    assert (unread(after, before), unread(before, after)) == (lost, {})
