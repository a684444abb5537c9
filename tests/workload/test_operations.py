"""POSIX operations, each timed by itself."""

import pytest

from seatrial.model.metric import MetricType
from seatrial.model.plan import Sizing
from seatrial.model.units import KIB
from seatrial.workload.base import Effort
from seatrial.workload.operations import FILEOP, posix_operations
from seatrial.workload.registry import fault_of, kind_of, metrics_at

OPERATIONS = kind_of('operations')
POINT = posix_operations(500, '4KiB')._replace(tasks=4, tasks_per_node=4)


@pytest.mark.parametrize(
    ('point', 'fault'),
    [
        (posix_operations(0, 0), 'files_per_directory: POSIX operations needs at least one file'),
        (posix_operations(1, -1), 'bytes_per_file: -1 is too few; it is 0 or more'),
        (posix_operations(1, 0, 'own'), "subtrees: 'own' is none; it can be shared or private"),
        (POINT.changed(depth=1), 'depth: POSIX operations has no such parameter'),
        (POINT.changed(empties_per_directory=1), 'empties_per_directory: POSIX operations has no such parameter'),
    ],
)
def test_a_contradiction_is_named_with_its_field(point, fault):
    assert fault_of(point) == fault


def test_one_launch_measures_every_operation_of_fileop_and_rename():
    assert metrics_at(POINT) == tuple(MetricType(name, 'op/s') for name in FILEOP)
    assert 'rename' in FILEOP and len(set(FILEOP)) == len(FILEOP) == 15


def test_there_is_room_for_a_second_name_and_a_directory_beside_every_file():
    assert OPERATIONS.footprint([POINT]) == (4 * 500 * 4 * KIB, 3 * (4 * 500 + 1))


def test_the_files_are_those_of_the_check_whatever_profile_and_site_say():
    assert OPERATIONS.sizing([POINT], Effort(files=1000, phase_s=1.0), 300) == Sizing(0, 1, 0.0, 0.0)
    assert OPERATIONS.resized(POINT, 300) == POINT
