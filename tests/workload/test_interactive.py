"""Interactive use: steps on whole trees that are there in one launch alone."""

import pytest

from seatrial.model.units import KIB
from seatrial.workload.base import Effort
from seatrial.workload.interactive import BUILD, GIT, STEPS, TREES, VENV, entries_of, interactive_use
from seatrial.workload.registry import fault_of, kind_of, metrics_at

KIND = kind_of('interactive')
POINT = interactive_use(2, 5, 50, '8KiB')._replace(tasks=4, tasks_per_node=4)


@pytest.mark.parametrize('does', STEPS)
def test_one_launch_measures_every_step(does):
    point = POINT._replace(phases=(does,))
    assert [each.name for each in metrics_at(point)] == list(STEPS[does]) == list(entries_of(point, does))
    assert fault_of(point) is None


def test_a_step_handles_all_entries_and_an_import_the_files_of_one_tree_by_each_task():
    assert entries_of(POINT, TREES) == {
        'untar': 4 * (1550 + 31),
        'import': 4 * 1550,
        'find': 4 * (1550 + 31),
        'du': 4 * (1550 + 31),
        'rm': 4 * (1550 + 31),
    }


def test_programs_handle_files_and_a_virtual_environment_is_one():
    assert entries_of(POINT, GIT) == {'git_clone': 4 * 1550, 'git_status': 4 * 1550}
    assert entries_of(POINT, VENV) == {'venv_create': 4, 'pip_install': 4 * 1550, 'package_import': 4 * 1550}
    assert entries_of(POINT, BUILD) == {'compile': 4 * 1550}


@pytest.mark.parametrize('does', [GIT, VENV, BUILD])
def test_there_is_room_for_what_programs_make_beside_the_files(does):
    plain, beside = KIND.footprint([POINT]), KIND.footprint([POINT._replace(phases=(does,))])
    assert beside.bytes > 3 * plain.bytes and beside.inodes > 3 * plain.inodes


def test_there_is_room_for_the_trees_of_all_tasks():
    assert KIND.footprint([POINT]) == (4 * 1550 * 8 * KIB, 4 * (1550 + 31))
    assert KIND.short_ok
    assert KIND.resized(POINT, 300) == KIND.adapted(POINT, Effort(files=300)) == POINT


@pytest.mark.parametrize(
    ('changes', 'fault'),
    [
        ({'subtrees': 'shared'}, "subtrees: 'shared' trees are not unpacked and removed by each task; write private"),
        (
            {'files_per_directory': 0},
            'files_per_directory: interactive use needs at least one file in each',
        ),
        ({'depth': -1}, 'depth: -1 is too few; it is 0 or more'),
        ({'fsync': True}, 'fsync: interactive use has no such parameter'),
    ],
)
def test_what_is_impossible_is_a_sentence_with_its_field(changes, fault):
    assert fault_of(POINT.changed(**changes)).startswith(fault)
