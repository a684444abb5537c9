"""Where tasks are, as they say themselves, and where they were to be. Real srun: tests/integration."""

import platform
import stat

import pytest

from seatrial.job.launch import placement
from seatrial.model.plan import Launcher
from seatrial.model.point import Point

HERE = platform.node()
SRUN = """#!/bin/sh
# srun -N1 -n2 --ntasks-per-node=2 --kill-on-bad-exit=1 PROGRAM...: as many copies, each with its rank.
n=${2#-n}; shift 4
rank=0
while [ $rank -lt $n ]; do %s "$@" || exit; rank=$((rank + 1)); done
"""


def point(nodes, tasks):
    return Point('', (), nodes=nodes, tasks=tasks, tasks_per_node=tasks // nodes)


@pytest.fixture
def srun(tmp_path, monkeypatch):
    def make(text):
        program = tmp_path / 'srun'
        program.write_text(text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv('PATH', str(tmp_path), prepend=':')
        for name in placement.RANK_VARIABLES:
            monkeypatch.delenv(name, raising=False)

    return make


def test_tasks_that_are_where_they_were_to_be(srun):
    srun(SRUN % 'SLURM_PROCID=$rank')
    assert placement.misplaced(Launcher('srun'), [point(1, 2), point(1, 1)]) is None


def test_all_tasks_on_one_node(srun):
    srun(SRUN % 'SLURM_PROCID=$rank')
    fault = placement.misplaced(Launcher('srun'), [point(2, 4)])
    assert fault == f'2 tasks on each of 2 nodes were asked for; there were 4 on {HERE}'


def test_tasks_that_know_no_rank(srun):
    srun(SRUN % '')
    fault = placement.misplaced(Launcher('srun'), [point(1, 2)])
    assert fault == '2 tasks were asked for, and the ranks ?, ? were there'


def test_a_launcher_that_refuses_is_quoted(srun):
    srun('#!/bin/sh\necho "srun: error: Unable to allocate resources" >&2; exit 1\n')
    fault = placement.misplaced(Launcher('srun'), [point(2, 2)])
    assert fault == 'srun could not start 2 tasks on 2 nodes: srun: error: Unable to allocate resources'


def test_a_launcher_that_hangs_is_not_waited_for(srun, monkeypatch):
    monkeypatch.setattr(placement, 'DEADLINE_S', 0.2)
    srun('#!/bin/sh\nexec sleep 600\n')
    fault = placement.misplaced(Launcher('srun'), [point(1, 1)])
    assert fault is not None and 'has not started 1 task on 1 node of a program that writes no data' in fault


def test_a_launcher_that_is_not_there(monkeypatch):
    monkeypatch.setenv('PATH', '/nowhere')
    assert placement.misplaced(Launcher('srun'), [point(1, 1)]) == 'srun is not installed'


def test_a_geometry_is_tried_once_and_the_smallest_first(monkeypatch):
    tried = []

    def said(launcher, each, argv):
        tried.append((each.nodes, each.tasks))
        return ''.join(f'seatrial-task {rank} n{rank % each.nodes}\n' for rank in range(each.tasks)), None

    monkeypatch.setattr(placement, 'said_by_tasks', said)
    assert placement.misplaced(Launcher('srun'), [point(4, 4), point(1, 2), point(4, 4), point(2, 2)]) is None
    assert tried == [(1, 2), (2, 2), (4, 4)]


@pytest.mark.parametrize(
    ('said', 'fault'),
    [
        ('seatrial-task 0 a\nseatrial-task 1 b\n', None),
        ('motd\nseatrial-task 1 b\nseatrial-task 0 a\n', None),
        ('seatrial-task 0 a\nseatrial-task 0 b\n', '2 tasks were asked for, and the ranks 0, 0 were there'),
        ('seatrial-task 0 a\n', '2 tasks were asked for, and the ranks 0 were there'),
        ('', '2 tasks were asked for, and the ranks none were there'),
        (
            'seatrial-task 0 a\nseatrial-task 1 a\n',
            '1 task on each of 2 nodes was asked for; there were 2 on a',
        ),
    ],
)
def test_what_two_tasks_on_two_nodes_say(said, fault):
    assert placement._misplaced(said, point(2, 2)) == fault


@pytest.mark.parametrize(
    ('tasks', 'said', 'fault'),
    [
        (1, '', '1 task was asked for, and the ranks none were there'),
        (
            2,
            'seatrial-task 0 a\nseatrial-task 1 b\n',
            '2 tasks on one node were asked for; there were 1 on a, 1 on b',
        ),
    ],
)
def test_what_tasks_on_one_node_say(tasks, said, fault):
    assert placement._misplaced(said, point(1, tasks)) == fault
