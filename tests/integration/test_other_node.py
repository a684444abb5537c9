"""Ranks under a real srun: one that dies, and a node with other programs or directories than the first (rule P21)."""

import contextlib
import os
import subprocess
import sys

import pytest

from seatrial.engine.base import Command
from seatrial.engine.dispatch import PLACE
from seatrial.job.launch.processes import carry_out, processes_of
from seatrial.job.sequence.provenance import provenance
from seatrial.model.plan import Launcher
from seatrial.model.point import Point
from slurm_lab import WAIT_S, commands, wait_for

pytestmark = pytest.mark.needs('sbatch', 'slurmctld', 'munge', 'nsenter')

LIBRARY = """
#include <string.h>
int MPI_Get_library_version(char *text, int *length) {{
    strcpy(text, "MPICH Version:\\t{version}");
    *length = strlen(text);
    return 0;
}}
"""
RANK = 'int MPI_Get_library_version(char *, int *);\nint main(void) { return MPI_Get_library_version(0, 0); }\n'
ASK = """
import sys
from seatrial.job.sequence.provenance import disagreement
from seatrial.job.sequence.provenance import provenance
from seatrial.model.plan import Launcher

program = sys.argv[1]
finding = disagreement(Launcher('srun'), 2, program, True, provenance(program, True, None))
print(finding.rule if finding else '', finding.sentence if finding else 'all agree', sep='|')
"""


@pytest.fixture
def on_n2(slurm):
    """Inside it, the second node of the lab has `other` where all others have `file`."""
    if os.geteuid() != 0:
        pytest.skip('only root may mount a file on one node of the lab')

    @contextlib.contextmanager
    def mounted(other, file):
        wanted = f'slurmd -D -N n2 -f {slurm.place / "lab"}/'
        (pid,) = [pid for pid, command in commands() if wanted in command]
        enter = ['nsenter', f'--target={pid}', '--mount', '--pid']
        subprocess.run([*enter, 'mount', '--bind', other, file], check=True, timeout=WAIT_S)
        try:
            yield
        finally:
            subprocess.run([*enter, 'umount', file], check=True, timeout=WAIT_S)

    return mounted


@pytest.fixture
def asked(slurm, tmp_path):
    """The disagreement between the nodes about a program, in a job on both: rule and sentence."""

    def ask(program):
        output, script = tmp_path / 'said', tmp_path / 'job.sh'
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "$ASK" {program}\n')
        argv = ['sbatch', '--wait', '--nodes=2', '--exclusive', f'--output={output}', str(script)]
        subprocess.run(
            argv, check=True, env={**slurm.environment, 'ASK': ASK}, timeout=WAIT_S, stdout=subprocess.PIPE
        )
        return output.read_text().strip()

    return ask


@pytest.fixture
def mpi(tmp_path):
    """A program with a library that says which MPI it is, and another such library beside it."""
    for name, version in (('libmpi', '4.0.2'), ('other', '4.1.1')):
        (tmp_path / f'{name}.c').write_text(LIBRARY.format(version=version))
        shared = ['gcc', '-shared', '-fPIC', '-Wl,-soname,libmpi.so.12']
        subprocess.run(
            [*shared, '-o', tmp_path / f'{name}.so.12', tmp_path / f'{name}.c'], check=True, timeout=WAIT_S
        )
    (tmp_path / 'rank.c').write_text(RANK)
    linked = [tmp_path / 'rank.c', tmp_path / 'libmpi.so.12', f'-Wl,-rpath,{tmp_path}']
    subprocess.run(['gcc', '-o', tmp_path / 'rank', *linked], check=True, timeout=WAIT_S)
    return tmp_path


@pytest.mark.needs('gcc')
def test_a_node_that_loads_another_mpi_is_named(mpi, asked, on_n2):
    assert asked(mpi / 'rank') == '|all agree'
    with on_n2(mpi / 'other.so.12', mpi / 'libmpi.so.12'):
        rule, _, sentence = asked(mpi / 'rank').partition('|')
    build = f'SHA-256 {provenance(str(mpi / "rank"), False, None).build[7:19]}'
    assert rule == 'P21'
    assert sentence.startswith(f'{mpi}/rank is {build} with MPICH 4.0.2 on n1, and {build} with MPICH 4.1.1 on n2; ')


# Ranks that die, and ranks that find another directory


TWO_NODES = Point('access', ('write',), nodes=2, tasks=2, tasks_per_node=1)
KILLED = """
import os, signal, time
if os.environ['SLURM_PROCID'] == '1':
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(3600)
"""


@pytest.fixture
def launched(slurm, tmp_path, monkeypatch):
    """Launches a command on two nodes in the directory `data`; returns its end."""
    for name in ('PATH', 'SLURM_CONF'):
        monkeypatch.setenv(name, slurm.environment[name])
    raw = str(tmp_path / 'raw')

    def launch(command):
        where = os.open(tmp_path / 'data', os.O_RDONLY)
        try:
            processes = processes_of(command, Launcher('srun'), TWO_NODES, raw)
            return carry_out(command, processes, raw, where, WAIT_S, lambda: False)
        finally:
            os.close(where)

    return launch


def test_a_rank_that_is_killed_ends_the_launch_and_is_its_reason(slurm, launched, tmp_path):
    (tmp_path / 'data').mkdir()
    command = Command('mpi', ((sys.executable, '-c', KILLED),), {}, ())
    ended = launched(command)
    assert ended.outcome.exit_status != 0
    assert 'task 1: Killed' in ended.outcome.stderrs[0]
    wait_for('srun has left no job', lambda: not slurm.jobs())


@pytest.mark.parametrize('scope', ['mpi', 'task'])
def test_ranks_that_find_another_directory_by_its_path_start_nothing(launched, tmp_path, swapping, scope):
    for name in ('data', 'data.copy'):
        (tmp_path / name).mkdir()
    swapping('srun')
    write = ('sh', '-c', 'echo > file.$$')
    command = Command(scope, (write,) * (1 if scope == 'mpi' else 2), {}, ())
    ended = launched(command)
    assert [os.listdir(tmp_path / name) for name in ('data', 'data.away')] == [[], []]
    assert f'seatrial: {tmp_path}/data was replaced by another on ' in ended.outcome.stderrs[0]


def test_a_rank_on_another_node_knows_the_directory_of_the_launch(launched, tmp_path):
    (tmp_path / 'data').mkdir()
    script = ('sh', '-c', f'test "${PLACE}" = "$(stat -c %i .)" && echo the same')
    command = Command('task', (script, script), {}, ())
    ended = launched(command)
    assert ended.outcome.stdouts == ('the same\n', 'the same\n'), ended.outcome


def test_each_rank_says_on_which_node_it_runs(launched, tmp_path):
    (tmp_path / 'data').mkdir()
    ended = launched(Command('mpi', (('echo', 'a row'),), {}, ())).outcome
    assert (ended.hosts, ended.stdouts) == (('n1', 'n2'), ('a row\na row\n',))
