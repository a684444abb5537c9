"""Points, allocations and axes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.codec import from_json, to_json
from seatrial.model.layout import Layout
from seatrial.model.point import DataPart, Point
from seatrial.model.units import KIB, MIB

WRITES = Point(
    'access',
    ('write',),
    nodes=2,
    tasks=6,
    tasks_per_node=3,
    data=DataPart(transfer_size=64 * KIB, bytes_per_task=MIB),
)


def test_what_a_kind_does_not_have_is_not_in_its_json():
    assert to_json(Point('semantics', ('probe',), 'two-tasks', tasks=2)) == {
        'kind': 'semantics',
        'phases': ['probe'],
        'label': 'two-tasks',
        'tasks': 2,
    }


@given(st.from_type(Point))
def test_any_point_comes_back_from_its_json(point):
    text = json.dumps(to_json(point))
    assert json.dumps(to_json(from_json(Point, json.loads(text)))) == text, 'NaN among them, which equals nothing'


def test_a_layout_of_its_own_is_told_from_that_of_the_case():
    own = WRITES._replace(layout=Layout())
    assert from_json(Point, to_json(own)).layout == Layout()
    assert from_json(Point, to_json(WRITES)).layout is None


def test_a_parameter_is_changed_and_read_by_its_name_whichever_part_has_it():
    point = WRITES.changed(transfer_size=KIB, tasks=2, think_s=0.5)
    assert (point.data, point.tasks) == (WRITES.data._replace(transfer_size=KIB), 2)
    assert [point.value(name) for name in ('transfer_size', 'tasks', 'think_s', 'depth')] == [KIB, 2, 0.5, None]


def test_a_value_as_by_default_makes_no_part_that_was_not_there():
    assert WRITES.changed(think_s=0.0, depth=0) == WRITES


def test_a_point_without_a_part_moves_no_bytes_and_lasts_no_time():
    point = Point('semantics', ('probe',), tasks=2)
    assert (point.bytes_moved, point.duration_s, point.pauses_s, point.actions, point.fullness) == (0, 0, (), (), 0)


def test_the_transfers_are_those_of_a_task_in_one_phase():
    assert WRITES.data.transfers == 16
    assert WRITES.bytes_moved == 6 * MIB


@pytest.mark.parametrize(
    ('order', 'segments', 'block_size'), [('contiguous', 1, MIB), ('strided', 16, 64 * KIB), ('random', 1, MIB)]
)
def test_only_dealt_transfers_are_segments_of_ior(order, segments, block_size):
    point = WRITES.changed(order=order)
    assert (point.data.segments, point.data.block_size) == (segments, block_size)
    assert point.data.segments * point.data.block_size == point.data.bytes_per_task
