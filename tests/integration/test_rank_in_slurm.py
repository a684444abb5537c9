"""A rank that dies under a real srun, where the others would wait for it for ever in MPI."""

import os
import sys

import pytest

from seatrial.engine.base import Command
from seatrial.engine.dispatch import PLACE
from seatrial.job.launch.processes import carry_out, processes_of
from seatrial.model.plan import Launcher
from seatrial.model.point import Point
from slurm_lab import WAIT_S, wait_for

pytestmark = pytest.mark.needs('sbatch', 'slurmctld', 'munge')

TWO_NODES = Point('access', ('write',), nodes=2, tasks=2, tasks_per_node=1)
KILLED = """
import os, signal, time
if os.environ['SLURM_PROCID'] == '1':
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(3600)
"""


@pytest.fixture
def slurm(plain_slurm, monkeypatch):
    for name in ('PATH', 'SLURM_CONF'):
        monkeypatch.setenv(name, plain_slurm.environment[name])
    yield plain_slurm
    plain_slurm.heal()


def launched(command, folder):
    """What is known of a launch on two nodes in the directory `data` once it has ended."""
    raw = str(folder / 'raw')
    where = os.open(folder / 'data', os.O_RDONLY)
    try:
        return carry_out(
            command, processes_of(command, Launcher('srun'), TWO_NODES, raw), raw, where, WAIT_S, lambda: False
        )
    finally:
        os.close(where)


def test_a_rank_that_is_killed_ends_the_launch_and_is_its_reason(slurm, tmp_path):
    (tmp_path / 'data').mkdir()
    command = Command('mpi', ((sys.executable, '-c', KILLED),), {}, ())
    ended = launched(command, tmp_path)
    assert ended.outcome.exit_status != 0
    assert 'task 1: Killed' in ended.outcome.stderrs[0]
    wait_for('srun has left no job', lambda: not slurm.jobs())


@pytest.mark.parametrize('scope', ['mpi', 'task'])
def test_ranks_that_find_another_directory_by_its_path_start_nothing(slurm, tmp_path, swapping, scope):
    for name in ('data', 'data.copy'):
        (tmp_path / name).mkdir()
    swapping('srun')
    write = ('sh', '-c', 'echo > file.$$')
    command = Command(scope, (write,) * (1 if scope == 'mpi' else 2), {}, ())
    ended = launched(command, tmp_path)
    assert [os.listdir(tmp_path / name) for name in ('data', 'data.away')] == [[], []]
    assert f'seatrial: {tmp_path}/data was replaced by another on ' in ended.outcome.stderrs[0]


def test_a_rank_on_another_node_knows_the_directory_of_the_launch(slurm, tmp_path):
    (tmp_path / 'data').mkdir()
    script = ('sh', '-c', f'test "${PLACE}" = "$(stat -c %i .)" && echo the same')
    command = Command('task', (script, script), {}, ())
    ended = launched(command, tmp_path)
    assert ended.outcome.stdouts == ('the same\n', 'the same\n'), ended.outcome


def test_each_rank_says_on_which_node_it_runs(slurm, tmp_path):
    (tmp_path / 'data').mkdir()
    ended = launched(Command('mpi', (('echo', 'a row'),), {}, ()), tmp_path).outcome
    assert (ended.hosts, ended.stdouts) == (('n1', 'n2'), ('a row\na row\n',))
