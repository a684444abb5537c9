"""Where tasks are, as they say themselves, and where they were to be. Real srun: tests/integration."""

import os

import pytest

from seatrial.engine.base import Command
from seatrial.engine.dispatch import RankPlace
from seatrial.job.directory import rundir
from seatrial.job.launch import placement
from seatrial.job.launch.processes import carry_out, processes_of
from seatrial.model.plan import Launcher
from seatrial.model.point import Point
from seatrial.model.record import NotTested
from seatrial.rules.launch import shared_cores
from stand_in import program
from transcript import transcripts

SRUN = """# srun -N1 -n2 --ntasks-per-node=2 --kill-on-bad-exit=1 PROGRAM...: as many copies, each with its rank.
n=${2#-n}; shift 4
rank=0
while [ $rank -lt $n ]; do %s "$@" || exit; rank=$((rank + 1)); done
"""


PLACES = [
    (0, 'n1.cluster', '0'),
    (1, 'n1.cluster', '1'),
    (2, 'n2', '0'),
    (3, 'n2', '1'),
    (4, 'n3', '0'),
    (5, 'n3', '0'),
]


@pytest.mark.parametrize(
    ('places', 'tasks', 'expected'),
    [
        (PLACES, 6, ((('n1', 'n2'), ('0', '1')), (('n3',), ('0', '0')))),
        (PLACES[:1], 2, ((('n1',), ('0', '0')),)),  # one process makes both tasks
        ([*PLACES[:5], (5, 'n3', '')], 6, ()),
        ([], 2, ()),
    ],
)
def test_nodes_whose_tasks_may_use_the_same_cores_are_one_row(places, tasks, expected):
    assert placement.bound([RankPlace(*place) for place in places], tasks) == expected


@pytest.mark.needs('mpiexec')
@pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason='two cores are needed, of which one stays free')
@pytest.mark.parametrize(('to', 'cores'), [('user:0,0', ('0', '0')), ('user:0,1', ('0', '1'))])
def test_where_a_real_launcher_binds_two_tasks_to_one_core_both_report_it(tmp_path, to, cores):
    command = Command('mpi', (('true',),), {}, ())
    started = processes_of(command, Launcher('hydra', ('-bind-to', to)), point(1, 2), str(tmp_path / 'raw'))
    with rundir.closed_after(os.open(tmp_path, os.O_RDONLY)) as where:
        finished = carry_out(command, started, str(tmp_path / 'raw'), where, 60.0, bool)
    (row,) = placement.bound(finished.places, 2)
    assert row.cores == cores
    assert (shared_cores([row], 2) is None) == (cores[0] != cores[1])


def test_the_cores_of_each_numa_node_are_listed_by_its_number(tmp_path):
    for number, cores in ((10, '20-21'), (2, '4-5\n'), (0, '0-3')):
        (tmp_path / f'node{number}').mkdir()
        (tmp_path / f'node{number}' / 'cpulist').write_text(cores)
    assert placement.numa(str(tmp_path)) == ('0-3', '4-5', '20-21')


def point(nodes, tasks):
    return Point('', (), nodes=nodes, tasks=tasks, tasks_per_node=tasks // nodes)


UNABLE = 'srun: error: Unable to allocate resources'


@pytest.mark.parametrize(
    ('script', 'asked', 'expected'),
    [
        (SRUN % 'SLURM_PROCID=$rank', point(1, 2), ''),
        (SRUN % '', point(1, 2), '2 tasks were asked for, and the ranks ?, ? were there'),
        (f'echo "{UNABLE}" >&2; exit 1', point(2, 2), f'srun could not start 2 tasks on 2 nodes: {UNABLE}'),
        ('exec sleep 600', point(1, 1), ' has not started 1 task on 1 node of a program that writes no data'),
        (None, point(1, 1), 'srun is not installed'),
    ],
    ids=['as it should', 'no rank', 'refused', 'it hangs', 'not there'],
)
def test_a_launcher_that_places_no_task_is_refused_without_a_wait(tmp_path, monkeypatch, script, asked, expected):
    for name in placement.RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(placement, 'DEADLINE_S', 0.2 if 'sleep' in (script or '') else 60.0)
    monkeypatch.setenv('PATH', '/nowhere' if script is None else os.environ['PATH'])
    if script is not None:
        program(tmp_path, monkeypatch, 'srun', script)
    fault = placement.misplaced(Launcher('srun'), [asked])
    assert (fault is None) is (expected == '') and expected in (fault or '')


def test_a_geometry_is_tried_once_and_the_smallest_first(monkeypatch):
    tried = []

    def output(launcher, placed, argv):
        tried.append((placed.nodes, placed.tasks))
        return ''.join(f'seatrial-task {rank} n{rank % placed.nodes}\n' for rank in range(placed.tasks)), None

    monkeypatch.setattr(placement, 'output_of_tasks', output)
    assert placement.misplaced(Launcher('srun'), [point(4, 4), point(1, 2), point(4, 4), point(2, 2)]) is None
    assert tried == [(1, 2), (2, 2), (4, 4)]


@pytest.mark.parametrize(
    ('nodes', 'tasks', 'hosts', 'fault'),
    [
        (2, 2, {1: 'b', 0: 'a'}, None),
        (2, 2, {0: 'a'}, '2 tasks were asked for, and the ranks 0 were there'),
        (2, 2, {0: 'a', 1: 'a'}, '1 task on each of 2 nodes was asked for; there were 2 on a'),
        (1, 1, {}, '1 task was asked for, and the ranks none were there'),
        (1, 2, {0: 'a', 1: 'b'}, '2 tasks on one node were asked for; there were 1 on a, 1 on b'),
    ],
)
def test_the_reports_of_tasks_on_their_places(nodes, tasks, hosts, fault):
    output = 'motd\n' + ''.join(f'seatrial-task {rank} {host}\n' for rank, host in hosts.items())
    assert placement._misplaced(output, point(nodes, tasks)) == fault
    twice = placement._misplaced(output.replace('task 1', 'task 0'), point(nodes, tasks))
    assert len(hosts) < 2 or twice == '2 tasks were asked for, and the ranks 0, 0 were there'


# The nodes of an allocation by their names, and those that were not tested

SINFO = 'n1|allocated|none\nn2.cluster|allocated|none\nn3|drained*|bad disk | and more\nn4|idle|none\n\ntorn'


def test_without_slurm_no_node_is_known():
    assert placement.allocated({}) == ()
    assert placement.allocated({'SLURM_JOB_NODELIST': 'n[3-4]'}) == ('n3', 'n4')


def test_what_the_job_was_not_given_is_not_tested(tmp_path, monkeypatch):
    (tmp_path / 'output').write_text(SINFO)
    program(tmp_path, monkeypatch, 'sinfo', f'cat {tmp_path}/output')
    left_out = placement.not_tested(('n1.cluster', 'n2'), {'SLURM_JOB_PARTITION': 'compute'})
    assert left_out == (NotTested('n3', 'drained*', 'bad disk | and more'), NotTested('n4', 'idle', ''))
    assert placement.not_tested(('n1',), {}) == ()


@pytest.mark.parametrize(
    ('script', 'words'),
    [('exec sleep 60', 'sinfo does not answer within'), ('echo "No contact" >&2; exit 1', 'No contact')],
)
def test_a_slurm_that_does_not_answer_is_reported_and_hangs_nothing(tmp_path, monkeypatch, script, words):
    monkeypatch.setattr(placement, 'ANSWER_S', 1.0 if 'sleep' in script else 20.0)
    program(tmp_path, monkeypatch, 'sinfo', script)
    (untested,) = placement.not_tested(('n1',), {'SLURM_JOB_PARTITION': 'compute'})
    assert untested.node == 'others of compute' and words in untested.reason


@pytest.mark.parametrize(
    ('transcript', 'section', 'word'), [('preempted', 'preempted-end', 'NO'), ('cancelled', 'scancel-end', 'OK')]
)
def test_whether_a_job_shares_its_nodes_is_asked_of_slurm(tmp_path, monkeypatch, transcript, section, word):
    lines = transcripts('slurm')[transcript][f'{section}-scontrol.out'].splitlines()
    shown = tmp_path / 'output'
    program(tmp_path, monkeypatch, 'scontrol', f'[ "$*" = "show job 7" ] && cat {shown}')
    words = set()
    for number in range(len(lines) + 1):
        shown.write_text('\n'.join(lines[:number]))
        words.add(placement.oversubscribe({'SLURM_JOB_ID': '7'}))
    assert (words, placement.oversubscribe({})) == ({'', word}, '')
