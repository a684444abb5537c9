"""Files used again: what is contradictory, and what each phase finds and leaves."""

import pytest

from seatrial.model.metric import Measurement, TaskTime, bandwidth
from seatrial.workload.registry import fault_of, kind_of
from seatrial.workload.reuse import file_reuse
from seatrial.workload.sweep import surface

KIND = kind_of('reuse')
POINT = file_reuse([each.name for each in KIND.phases])._replace(nodes=1, tasks=2, tasks_per_node=2)


@pytest.mark.parametrize(
    ('change', 'field'),
    [
        ({'phases': ('read', 'reread')}, 'phases'),
        ({'phases': ('write', 'read', 'update', 'reread')}, 'phases'),
        ({'phases': ('write', 'reread')}, 'phases'),
        ({'files': 'single', 'extent': 'segment'}, 'files'),
        ({'order': 'random'}, 'files'),
        ({'transfer_size': 0}, 'transfer_size'),
        ({'bytes_per_task': 1}, 'bytes_per_task'),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_field(change, field):
    assert fault_of(POINT) is None
    assert fault_of(POINT.changed(**change)).partition(':')[0] == field


def test_an_update_reads_and_writes_all_bytes_and_a_second_read_forgets_nothing():
    size = POINT.bytes_moved
    assert KIND.moved(POINT, 'update') == (size, size)
    assert (KIND.moved(POINT, 'rewrite'), KIND.moved(POINT, 'reread')) == ((size, 0), (0, size))


def test_a_surface_has_every_transfer_size_that_fits_into_the_file():
    labels = [label for label, _ in surface(('64KiB', '1MiB'), ('4KiB', '256KiB')).values]
    assert labels == ['64KiB-4KiB', '1MiB-4KiB', '1MiB-256KiB']


def test_the_stone_wall_does_not_wait_for_the_last_task():
    tasks = (TaskTime(0, 'node1', 100, 0.0, 1.0), TaskTime(1, 'node1', 100, 0.0, 2.0))
    measurement = Measurement((bandwidth('write', 200, 2.0, ''),), 2, ('node1',), tasks=tasks)
    (wall,) = KIND.derived(POINT, 'write', measurement)
    assert (wall.name, wall.value, wall.seconds) == ('write_stonewall', 150.0, 2.0)
    assert [each.name for each in KIND.metrics(POINT, 'write')] == ['write', 'write_stonewall']
    assert KIND.derived(POINT, 'write', measurement._replace(tasks=(tasks[0], tasks[0]._replace(end_s=0.0)))) == ()


def test_one_task_has_no_other_to_wait_for():
    alone = POINT._replace(tasks=1, tasks_per_node=1)
    assert [each.name for each in KIND.metrics(alone, 'write')] == ['write']
    task = TaskTime(0, 'node1', 100, 0.0, 1.0)
    measurement = Measurement((bandwidth('write', 100, 1.0, ''),), 1, ('node1',), tasks=(task,))
    assert KIND.derived(alone, 'write', measurement) == ()
