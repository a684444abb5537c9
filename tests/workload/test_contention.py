"""Contention: calls that are shared out between tasks, and what cannot be."""

import pytest

from seatrial.model.units import KIB
from seatrial.workload.contention import APPEND, HEAD, LEAST, LOCK, OPEN, calls_of, contention
from seatrial.workload.registry import fault_of, kind_of

KIND = kind_of('contention')


def placed(workload, tasks=4):
    return workload._replace(label='here', tasks=tasks, tasks_per_node=tasks)


POINTS = {
    APPEND: placed(contention(APPEND, 2000, '256B')),
    LOCK: placed(contention(LOCK, 2000)),
    OPEN: placed(contention(OPEN, record='4KiB', open_files=50)),
}


def test_all_tasks_share_the_calls_that_follow_each_other():
    assert [calls_of(placed(POINTS[LOCK], tasks)) for tasks in (1, 2, 20)] == [2000, 1000, LEAST]


def test_of_a_thousand_tasks_each_makes_enough_calls_for_a_percentile():
    assert calls_of(placed(POINTS[APPEND], 1000)) == LEAST


def test_each_task_writes_to_all_its_open_files():
    assert [calls_of(placed(POINTS[OPEN], tasks)) for tasks in (1, 1000)] == [200, 200]


def test_there_is_room_for_every_record_and_every_counter():
    assert KIND.footprint([POINTS[APPEND]]) == (2000 * 256, 1)
    assert KIND.footprint([placed(POINTS[APPEND], 1000)]) == (1000 * LEAST * 256, 1)
    assert KIND.footprint([POINTS[LOCK]]) == (5 * 8, 1)
    assert KIND.footprint([POINTS[OPEN]]) == (200 * 16 * KIB, 204)


@pytest.mark.parametrize(
    ('does', 'changes', 'fault'),
    [
        (APPEND, {'phases': (APPEND, LOCK)}, "phases: ['append', 'lock']; contention has one of append, lock, open"),
        (
            APPEND,
            {'transfer_size': HEAD - 1},
            f'transfer_size: a record of {HEAD - 1} B cannot be numbered; write {HEAD}',
        ),
        (OPEN, {'transfer_size': 0}, 'transfer_size: a record of 0 B cannot be numbered'),
        (OPEN, {'files_per_directory': 0}, 'files_per_directory: 0 files are held open; open alone has some'),
        (LOCK, {'files_per_directory': 5}, 'files_per_directory: 5 files are held open; open alone has some'),
        (LOCK, {'working_set': 7}, 'working_set: 7 B are no call of 8 B'),
    ],
)
def test_what_is_impossible_is_a_sentence_with_its_field(does, changes, fault):
    assert fault_of(POINTS[does].changed(**changes)).startswith(fault)
