"""POSIX semantics: the number of guarantees that hold is the only figure."""

import pytest

from seatrial.model.metric import MetricType
from seatrial.model.plan import Sizing
from seatrial.model.point import Allocation
from seatrial.model.units import MIB
from seatrial.workload.base import Effort
from seatrial.workload.registry import fault_of, kind_of, metrics_at
from seatrial.workload.semantics import posix_integrity, posix_semantics
from seatrial.workload.sweep import Sweep, expand

SEMANTICS = kind_of('semantics')
TWO = Sweep('tree', (('two', {}),))


def placed(nodes, tasks=2):
    (point,) = expand(TWO, posix_semantics(tasks), Allocation(nodes, 8))
    return point


def test_only_the_number_of_the_guarantees_that_hold_is_a_metric_and_it_has_no_unit():
    assert metrics_at(placed(1)) == (MetricType('holding', ''),)


@pytest.mark.parametrize(('nodes', 'per_node'), [(1, 2), (2, 1), (4, 1)])
def test_the_tasks_are_on_two_nodes_where_there_are(nodes, per_node):
    assert placed(nodes).tasks_per_node == per_node
    assert fault_of(placed(nodes)) is None


def test_it_has_no_parameter_but_its_tasks():
    assert fault_of(placed(1).changed(bytes_per_file=1)) == 'bytes_per_file: POSIX semantics has no such parameter'


def test_it_needs_a_handful_of_inodes_and_nothing_before_it():
    assert SEMANTICS.footprint([placed(1)]) == (2 * MIB, 64)
    assert SEMANTICS.preparations([placed(1)]) == []


def test_no_profile_and_no_site_changes_it():
    assert SEMANTICS.sizing([placed(1)], Effort(files=1000, first_bytes=MIB), 300) == Sizing(0, 1, 0.0, 0.0)
    assert SEMANTICS.resized(placed(1), 300) == placed(1)


@pytest.mark.parametrize(
    ('point', 'where'),
    [(placed(1), '2 tasks on one node'), (placed(2), '2 tasks on 2 nodes'), (placed(1, 1), 'one task')],
)
def test_what_a_case_does_is_one_sentence(point, where):
    assert SEMANTICS.sentence([point]) == f'The guarantees of POSIX are tried by {where}, one after the other'


class TestIntegrity:
    @pytest.mark.parametrize(('nodes', 'tasks'), [(1, 8), (3, 24)])
    def test_it_runs_on_all_nodes_of_the_case(self, nodes, tasks):
        (point,) = expand(TWO, posix_integrity(), Allocation(nodes, 8))
        assert (point.nodes, point.tasks, fault_of(point)) == (nodes, tasks, None)

    def test_it_needs_room_for_a_large_file(self):
        (point,) = expand(TWO, posix_integrity(), Allocation(1, 2))
        assert SEMANTICS.footprint([point]) == (18 * MIB, 64)

    def test_what_a_case_does_is_one_sentence(self):
        (point,) = expand(TWO, posix_integrity(), Allocation(2, 1))
        said = 'Files are written in many ways by 2 tasks on 2 nodes, and compared byte for byte'
        assert SEMANTICS.sentence([point]) == said
        assert (SEMANTICS.title_of(point), SEMANTICS.title_of(placed(1))) == ('integrity of data', 'POSIX semantics')
