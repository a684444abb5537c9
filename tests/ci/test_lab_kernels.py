"""ci/lab-kernels: kernels of their own that come up, are repaired, do not meet another lab's, and leave nothing."""

import importlib
import os
import subprocess
import sys
import types
from collections.abc import Iterator

import pytest

from kernel_lab import LAB, Kernels
from slurm_lab import CANNOT, traces_of

CI = LAB.parent


@pytest.fixture
def fresh() -> Iterator[Kernels]:
    """A lab that is not up yet."""
    made = Kernels()
    yield made
    made.take_down()


@pytest.mark.needs('linux.uml', 'slurmctld', 'rpc.nfsd')
@pytest.mark.long
def test_a_node_that_lost_power_is_seen_and_started_again_with_its_disk(fresh):
    fresh.up('--nodes=2')
    fresh.run('n1', 'sh', '-c', 'echo kept > /srv/export/kept; sync')
    fresh.signal('KILL', 'n1')
    status = fresh.lab('status')
    assert (status.returncode, 'n1:linux.uml dead' in status.stdout) == (1, True)
    assert 'n1:linux.uml' in fresh.up('--nodes=2')
    assert fresh.lab('status').returncode == 0
    assert fresh.run('n2', 'cat', '/mnt/nfs/kept') == 'kept\n'


@pytest.mark.needs('linux.uml', 'slurmctld', 'rpc.nfsd')
@pytest.mark.long
def test_two_labs_do_not_meet_and_leave_nothing(fresh):
    other = Kernels()
    for lab in (fresh, other):
        lab.up('--nodes=1')
    assert len({lab.run('n1', 'cat', '/proc/sys/kernel/random/boot_id') for lab in (fresh, other)}) == 2
    other.take_down()
    assert traces_of(other.place) == []
    assert fresh.run('n1', 'hostname') == 'n1\n'
    assert fresh.lab('down').returncode == 0
    assert [path.name for path in fresh.place.iterdir()] == ['shared']


def test_wrong_usage_is_64_and_a_command_without_a_lab_is_told_so(fresh):
    assert fresh.lab('sideways').returncode == 64
    assert fresh.lab('up', '--nodes=65').returncode == 64
    done = fresh.lab('run', 'n1', '--', 'true')
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)


@pytest.fixture
def kernels(monkeypatch):
    monkeypatch.syspath_prepend(str(CI))
    monkeypatch.setattr('sys.dont_write_bytecode', True)
    return importlib.import_module('lab.kernels')


KERNEL = """
import signal, sys
if sys.argv[2] == 'True':
    signal.signal(signal.SIGALRM, lambda *told: sys.exit(7))
open('/proc/self/comm', 'w').write(sys.argv[1])
print('ready', flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ('name', 'handles', 'ends'), [('linux.uml', 'True', 7), ('linux.uml', 'False', 0), ('slurmctld', 'True', 0)]
)
def test_only_a_kernel_that_handles_a_timers_signal_gets_one(kernels, tmp_path, name, handles, ends):
    argv = [sys.executable, '-c', KERNEL, name, handles]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        node.stdout.readline()
        for umid, pid in (('n1', node.pid), ('n2', 'not yet'), ('n3', 1 << 30)):
            (tmp_path / 'uml' / umid).mkdir(parents=True)
            (tmp_path / 'uml' / umid / 'pid').write_text(f'{pid}\n')
        kernels.nudge(types.SimpleNamespace(state=tmp_path))
        if ends:
            node.wait()
    assert node.returncode == ends


def test_a_machine_without_taps_is_said_with_a_code_of_its_own(kernels, monkeypatch):

    def no_tun(path: object, *arguments: int) -> int:
        raise FileNotFoundError(2, 'No such file or directory')

    monkeypatch.setattr(os, 'open', no_tun)
    with pytest.raises(kernels.TroubleError, match='/dev/net/tun') as trouble:
        kernels.needs_tun()
    assert trouble.value.code == CANNOT
