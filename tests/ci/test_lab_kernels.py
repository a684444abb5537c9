"""ci/lab-kernels: kernels of their own that come up, are repaired, do not meet another lab's, and leave nothing."""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import pytest

from slurm_lab import traces_of

CI = Path(__file__).resolve().parents[2] / 'ci'
CANNOT, UNAVAILABLE = 71, 69


def run(verb: str, directory: Path, *words: str) -> 'subprocess.CompletedProcess[str]':
    argv = [str(CI / 'lab-kernels'), verb, '--dir', str(directory), *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=180)


@pytest.fixture
def directory():
    # Not below pytest's own folder: its names are too long for sockets.
    place = Path(tempfile.mkdtemp(prefix='seatrial-kernels-'))
    yield place / 'lab'
    run('down', place / 'lab')
    shutil.rmtree(place)


def up(directory: Path, *words: str) -> str:
    if os.geteuid() != 0:
        pytest.skip('only root may make taps and a bridge')
    answer = run('up', directory, *words)
    if answer.returncode in (CANNOT, UNAVAILABLE):
        pytest.skip(answer.stderr.strip())
    assert answer.returncode == 0, answer.stderr
    return answer.stderr


class TestALab:
    pytestmark = pytest.mark.needs('linux.uml', 'slurmctld', 'rpc.nfsd')

    def test_a_node_that_lost_power_is_seen_and_started_again_with_its_disk(self, directory):
        up(directory, '--nodes=2')
        run('run', directory, 'n1', '--', 'sh', '-c', 'echo kept > /srv/export/kept; sync')
        assert run('signal', directory, 'KILL', 'n1').returncode == 0
        status = run('status', directory)
        assert (status.returncode, 'n1:linux.uml dead' in status.stdout) == (1, True)
        assert 'n1:linux.uml' in up(directory)
        assert run('status', directory).returncode == 0
        assert run('run', directory, 'n2', '--', 'cat', '/mnt/nfs/kept').stdout == 'kept\n'

    def test_two_labs_do_not_meet_and_leave_nothing(self, directory):
        other = directory.with_name('other')
        for each in (directory, other):
            up(each, '--nodes=1')
        boots = {
            run('run', each, 'n1', '--', 'cat', '/proc/sys/kernel/random/boot_id').stdout
            for each in (directory, other)
        }
        assert len(boots) == 2
        assert run('down', other).returncode == 0
        assert run('run', directory, 'n1', '--', 'hostname').stdout == 'n1\n'
        assert run('down', directory).returncode == 0
        assert traces_of(directory.parent) == []
        assert list(directory.parent.iterdir()) == []


def test_wrong_usage_is_64(tmp_path):
    assert run('sideways', tmp_path).returncode == 64
    assert run('up', Path('/tmp'), '--nodes=65').returncode == 64


def test_a_command_without_a_lab_is_told_so(directory):
    done = run('run', directory, 'n1', '--', 'true')
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
    ('name', 'handles', 'ends'),
    [('linux.uml', 'True', 7), ('linux.uml', 'False', 0), ('slurmctld', 'True', 0)],
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
