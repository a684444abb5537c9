"""ci/lab-slurm: a real Slurm with hosts of its own, mended when broken, that leaves nothing behind."""

import contextlib
import importlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from slurm_lab import PROGRAM, Lab, lab_up, traces_of, wait_for

FOUR = ['n1', 'n2', 'n3', 'n4']
pytestmark = pytest.mark.needs('srun', 'munge', 'mpiexec')  # the daemons may lie outside a user's PATH


@pytest.fixture(scope='module')
def lab() -> Iterator[Lab]:
    with lab_up(nodes=4) as made:
        yield made


@pytest.fixture
def fresh() -> Iterator[Lab]:
    """A lab that is not up yet."""
    made = Lab(accounting=False, nodes=4)
    yield made
    made.take_down()


@pytest.fixture(scope='module')
def accounting_lab() -> Iterator[Lab]:
    with lab_up(accounting=True, nodes=4) as made:
        yield made


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    monkeypatch.setattr(sys, 'dont_write_bytecode', True)
    return importlib.import_module('lab.cluster')


def started(lab: Lab, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(argv, env=lab.environment, text=True, stderr=subprocess.DEVNULL)


def shell(lab: Lab, script: str, *before: str) -> subprocess.CompletedProcess[str]:
    argv = [*before, 'sh', '-c', script]
    return subprocess.run(argv, cwd=lab.place, env=lab.environment, capture_output=True, text=True, timeout=60)


def up_with_hidden(lab: Lab, cover: str, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `up` where the cover lies over a program, and programs in the lab's place come first on the PATH."""
    become_root = [] if os.geteuid() == 0 else ['--map-root-user']
    up = f'PATH={lab.place}:$PATH exec {PROGRAM} up --dir {lab.directory} {" ".join(words)}'
    done = shell(lab, f'mount --bind {cover} {program} && {up}', 'unshare', '--mount', *become_root)
    if 'lab-slurm' not in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


# What the jobs see


@pytest.mark.skipif(os.geteuid() != 0, reason='only root may mount another /etc/hosts')
def test_the_machine_may_have_another_address_by_its_own_name(lab):
    hosts = lab.place / 'hosts'
    hosts.write_text(f'127.0.0.1 localhost\n127.0.1.1 {socket.gethostname()}\n')  # as Debian's installer writes it
    beside = ('unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts))
    assert sorted(lab.ask(*beside, 'srun', '-N2', 'hostname').split()) == ['n1', 'n2']


def test_a_job_without_the_submitters_environment_can_still_ask_slurm(lab):
    printed = lab.place / 'job.out'
    lab.ask('sbatch', '-w', 'n3', '--export=NONE', f'--output={printed}', '--wrap=srun /bin/hostname')
    wait_for('it has printed', lambda: printed.exists() and printed.read_text() == 'n3\n', seconds=20)


def test_the_partitions_are_compute_on_all_nodes_and_io_on_the_last_half(lab):
    rows = lab.ask('sinfo', '--noheader', '--Node', '--format=%P %N').split('\n')
    assert sorted(filter(None, rows)) == [f'compute* {name}' for name in FOUR] + ['io n3', 'io n4']


# Up and status


def test_up_again_says_that_the_lab_is_up_and_refuses_other_wishes_with_the_remedy(lab):
    done = lab.lab('up')
    assert (done.returncode, done.stderr) == (0, 'lab-slurm: already up: 4 nodes, without accounting\n')
    done = lab.lab('up', '--nodes', '5')
    assert done.returncode == 1 and 'is up with 4 nodes, without accounting; take it down first' in done.stderr
    done = lab.lab('signal', 'KILL', 'n9')
    assert done.returncode == 1 and 'n9: no such process in the lab; there is ctl:munged, ctl:slurm' in done.stderr


def test_status_of_a_sound_lab_ends_with_0_and_names_every_daemon(lab):
    done = lab.lab('status')
    assert done.returncode == 0, done.stdout
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:7]] == [
        ['ctl', 'munged', 'runs'],
        ['ctl', 'slurmctld', 'runs'],
        *[[name, 'slurmd', 'runs'] for name in FOUR],
    ]


def test_status_of_a_lab_with_a_drained_node_or_a_stopped_daemon_ends_with_1(lab):
    lab.ask('scontrol', 'update', 'nodename=n2', 'state=drain', 'reason=trial')
    done = lab.lab('status')
    lab.ask('scontrol', 'update', 'nodename=n2', 'state=resume')
    assert done.returncode == 1 and 'not fit for work: n2 drained' in done.stdout
    lab.lab('signal', 'STOP', 'slurmctld')
    assert 'ctl:slurmctld stopped' in lab.lab('status').stdout
    lab.lab('signal', 'CONT', 'slurmctld')
    # Until the controller has heard of its nodes again they are idle*.
    assert any(lab.lab('status').returncode == 0 or time.sleep(1) for _ in range(30))


def test_env_prints_what_a_shell_needs(lab):
    done = shell(lab, f'unset SLURM_CONF; eval "$({PROGRAM} env --dir {lab.directory})"; srun hostname')
    assert (done.returncode, done.stdout) == (0, 'n1\n'), done.stderr


def test_without_a_lab_env_and_status_say_so_and_end_with_1(fresh):
    assert fresh.lab('env').returncode == 1 and fresh.lab('status').returncode == 1
    assert 'no lab is up' in fresh.lab('env').stderr


# What breaks is mended


@pytest.mark.parametrize('target', [pytest.param('ctl:munged', marks=pytest.mark.long), 'n2:slurmd'])
def test_status_names_a_dead_daemon_and_up_starts_it_again(lab, target):
    assert lab.lab('signal', 'KILL', target).returncode == 0
    wait_for(f'{target} is dead', lambda: f'not fit for work: {target} dead' in lab.lab('status').stdout)
    assert lab.lab('status').returncode == 1
    assert f'started again: {target}' in lab.lab('up').stderr
    assert lab.lab('status').returncode == 0


# Nothing is left


def occupy(lab: Lab) -> list[subprocess.Popen[str]]:
    """Tasks that do their best to survive: deaf to SIGTERM, in a session of their own, without any environment."""
    deaf = "trap '' TERM; (setsid env -i /bin/sleep 600 &); sleep 600"
    outside = [started(lab, 'srun', '-N4', 'bash', '-c', deaf), started(lab, 'srun', '-N2', 'sleep', '600')]
    wait_for('two steps', lambda: lab.ask('squeue', '--steps', '--noheader', '--format=%i').count('.0') == 2)
    time.sleep(0.5)
    return outside


def beginnings(pids: set[str]) -> set[tuple[str, str]]:
    """Each process that lives with the time of its beginning: together they name it for ever."""
    alive = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            state, *_, begun = Path('/proc', pid, 'stat').read_text().rsplit(')', 1)[1].split()[:20]
            if state != 'Z':  # dead, and it is init that has to take note of it
                alive.add((pid, begun))
    return alive


@pytest.mark.parametrize(
    'before', [pytest.param('', marks=pytest.mark.long), 'slurmctld is dead', 'the directory is deleted']
)
def test_down_leaves_nothing_though_jobs_resist(fresh, before):
    fresh.up()
    outside = occupy(fresh)
    if before == 'the directory is deleted':
        shutil.rmtree(fresh.directory)
    elif before:
        fresh.lab('signal', 'KILL', 'slurmctld')
    alive = beginnings({line.split()[0] for line in traces_of(fresh.place) if line[0].isdigit()})
    done = fresh.lab('down')
    for process in outside:
        process.wait(timeout=5)
    assert len(alive) > 20 and (done.returncode, done.stderr) == (0, 'lab-slurm: down\n')
    wait_for('the last of them has ended', lambda: not alive & beginnings({pid for pid, _ in alive}))
    assert traces_of(fresh.place) == [] and not fresh.directory.exists()


def test_with_the_keeper_everything_dies_and_up_begins_anew(fresh):
    fresh.up()
    outside = occupy(fresh)
    of_the_lab = [line.split()[0] for line in traces_of(fresh.place) if 'lab-keeper' in line]
    os.kill(int(of_the_lab[0]), 9)
    wait_for('no mounts', lambda: not [line for line in traces_of(fresh.place) if 'by its mountinfo' in line])
    done = fresh.lab('up')
    assert done.returncode == 0 and 'has died; making it anew' in done.stderr
    assert fresh.ask('squeue', '--noheader') == ''
    fresh.lab('down')
    for process in outside:
        process.wait(timeout=5)


def test_a_lab_that_does_not_come_up_leaves_nothing(fresh):
    done = up_with_hidden(fresh, '/bin/false', '/usr/sbin/slurmd')
    assert done.returncode == 70 and 'has ended at once; it said:' in done.stderr
    assert traces_of(fresh.place) == [] and not fresh.directory.exists()


def test_a_directory_with_other_files_is_refused_and_left_alone(fresh):
    fresh.directory.mkdir()
    (fresh.directory / 'etc').mkdir()
    (fresh.directory / 'etc' / 'thesis.tex').write_text('x')
    assert fresh.lab('up').returncode == 64
    assert fresh.lab('down').returncode == 0
    assert (fresh.directory / 'etc' / 'thesis.tex').exists()


def test_a_directory_and_a_file_that_are_not_the_labs_stay(fresh):
    fresh.directory.mkdir()
    fresh.up()
    (fresh.directory / 'slurm-1.out').write_text('x')
    assert 'stay: slurm-1.out' in fresh.lab('down').stderr
    assert os.listdir(fresh.directory) == ['slurm-1.out']


# Accounting


def test_up_starts_accounting_again(accounting_lab):
    accounting_lab.lab('signal', 'KILL', 'slurmdbd', 'mariadbd')
    dead = 'ctl:mariadbd dead, ctl:slurmdbd dead'
    wait_for(dead, lambda: dead in accounting_lab.lab('status').stdout)
    assert 'started again: ctl:mariadbd, ctl:slurmdbd' in accounting_lab.lab('up').stderr
    assert accounting_lab.lab('status').returncode == 0
    assert 'already up: 4 nodes, with accounting' in accounting_lab.lab('up').stderr  # for who asks for none, too


# Packages


def test_what_is_missing_is_named_by_debians_package(cluster, monkeypatch):
    common = sys.modules['lab.common']
    monkeypatch.setattr(common, 'PATH', '/nowhere')
    assert common.missing_packages(cluster.PACKAGES) == ['slurm-wlm', 'munge', 'mpich']
    assert {'slurmdbd', 'mariadb-server-core'} <= set(common.missing_packages(cluster.ACCOUNTING_PACKAGES))


def stub_apt(fresh: Lab) -> None:
    """An apt-get that only writes down what it is asked for, and whether services may be started."""
    apt = fresh.place / 'apt-get'
    apt.write_text(f'#!/bin/sh\n/usr/sbin/policy-rc.d; echo "$? $*" >>{fresh.place}/asked\n')
    apt.chmod(0o755)


def test_labs_draw_their_ports_one_after_the_other(cluster):
    drawn = []

    def draw():
        with cluster.drawing_ports():
            drawn.append(True)

    other = threading.Thread(target=draw)
    with cluster.drawing_ports():
        other.start()
        other.join(0.2)
        assert not drawn
    other.join(60)
    assert drawn


def test_up_says_what_to_install(fresh):
    stub_apt(fresh)
    done = up_with_hidden(fresh, '/dev/null', '/usr/sbin/munged')
    wanted = (69, 'lab-slurm: not installed; please type: sudo apt-get install munge\n')
    assert (done.returncode, done.stderr) == wanted
    assert not (fresh.place / 'asked').exists()


def test_install_asks_apt_for_what_is_missing_and_lets_no_service_start(fresh):
    if os.geteuid() != 0:
        pytest.skip('only root installs packages')
    policy = Path('/usr/sbin/policy-rc.d')
    was_there = policy.exists()
    stub_apt(fresh)
    done = up_with_hidden(fresh, '/dev/null', '/usr/sbin/munged', '--install')
    asked = (fresh.place / 'asked').read_text().splitlines()
    assert asked == [
        '101 -q -o DPkg::Lock::Timeout=300 update',
        '101 -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends munge',
    ]
    assert done.returncode == 69 and policy.exists() == was_there
