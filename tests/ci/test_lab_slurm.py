"""ci/lab-slurm: a real Slurm with hosts of its own, mended when broken, that leaves nothing behind."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from slurm_lab import traces_of

CI = Path(__file__).resolve().parents[2] / 'ci'
NOBODY = 65534
UNAVAILABLE, CANNOT = 69, 71
FOUR = ['n1', 'n2', 'n3', 'n4']
needs_slurm = pytest.mark.needs('srun', 'munge', 'mpiexec')  # the daemons may lie outside a user's PATH

RANK = """
import ctypes, os
mpi, world = ctypes.CDLL('libmpich.so.12'), 0x44000000
rank, size, length, name = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
mpi.MPI_Get_processor_name(name, ctypes.byref(length))
os.write(1, f'{rank.value} {size.value} {name.value.decode()}\\n'.encode())
mpi.MPI_Finalize()
"""


@dataclasses.dataclass
class Lab:
    """A lab and who it is of; made by the test's own user, or by root as somebody else."""

    place: Path  # of the lab's directory, and of what the jobs write
    script: Path = CI / 'lab-slurm'
    uid: int = dataclasses.field(default_factory=os.geteuid)

    @property
    def directory(self) -> Path:
        return self.place / 'lab'

    def do(self, verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.script), verb, '--dir', str(self.directory), *words)

    def up(self, *words: str) -> None:
        done = self.do('up', *words)
        if done.returncode in (UNAVAILABLE, CANNOT):
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv,
            cwd=self.place,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=60,
            **self.identity(),
        )

    def ask(self, *argv: str) -> str:
        done = self.run(*argv)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            argv, cwd=self.place, env=self.environment(), text=True, stderr=subprocess.DEVNULL, **self.identity()
        )

    def batch(self, text: str, *options: str) -> str:
        """Run a job to its end, and return what it has printed."""
        script = self.place / 'job.sh'
        script.write_text(f'#!/bin/bash\n{text}\n')
        script.chmod(0o644)
        job = self.ask('sbatch', '--parsable', '--output=job.out', *options, script.name).strip()
        assert eventually(lambda: self.state(job) == 'COMPLETED'), self.ask('scontrol', 'show', 'job', job)
        return (self.place / 'job.out').read_text()

    def state(self, job: str) -> str:
        return self.ask('squeue', '--noheader', '--states=all', '--jobs', job, '--format=%T').strip()

    def environment(self) -> dict[str, str]:
        conf = {'SLURM_CONF': str(self.directory / 'etc' / 'slurm.conf')}
        if self.uid == os.geteuid():
            return {**os.environ, **conf}
        return {'PATH': '/usr/bin:/bin', 'HOME': str(self.place), **conf}

    def identity(self) -> dict[str, object]:
        if self.uid == os.geteuid():
            return {}
        return {'user': self.uid, 'group': self.uid, 'extra_groups': []}


def new_lab() -> Lab:
    """Not below pytest's own folder: its names are too long for sockets, and nobody else may enter it."""
    return Lab(Path(tempfile.mkdtemp(prefix='seatrial-slurm-')))


def take_down(lab: Lab) -> None:
    done = lab.do('down')
    shutil.rmtree(lab.place)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope='module')
def lab() -> Iterator[Lab]:
    made = new_lab()
    try:
        made.up()
        yield made
    finally:
        take_down(made)


@pytest.fixture
def fresh() -> Iterator[Lab]:
    """A lab that is not up yet."""
    made = new_lab()
    yield made
    take_down(made)


@pytest.fixture(scope='module')
def accounting_lab() -> Iterator[Lab]:
    made = new_lab()
    try:
        made.up('--accounting')
        yield made
    finally:
        take_down(made)


@pytest.fixture(scope='module')
def others_lab() -> Iterator[Lab]:
    """A lab with accounting of a user without any rights, with a copy of the script, which that user may not read."""
    if os.geteuid() != 0:
        pytest.skip('only root can become somebody else; the other tests are an ordinary user here')
    made = new_lab()
    made = dataclasses.replace(made, script=made.place / 'ci' / 'lab-slurm', uid=NOBODY)
    made.script.parent.mkdir()
    shutil.copy(CI / 'lab-slurm', made.script)
    shutil.copytree(CI / 'lab', made.script.parent / 'lab', ignore=shutil.ignore_patterns('__pycache__'))
    made.place.chmod(0o755)
    os.chown(made.place, NOBODY, NOBODY)
    try:
        made.up('--accounting')
        yield made
    finally:
        take_down(made)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(CI))
    monkeypatch.setattr(sys, 'dont_write_bytecode', True)
    return importlib.import_module('lab.cluster')


def eventually(is_so: Callable[[], bool], limit_s: float = 20) -> bool:
    end = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def ranks(printed: str) -> list[str]:
    return sorted(printed.splitlines())


def up_with_hidden(lab: Lab, cover: str, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `up` where the cover lies over a program, and programs in the lab's place come first on the PATH."""
    become_root = [] if os.geteuid() == 0 else ['--map-root-user']
    up = f'PATH={lab.place}:$PATH exec {lab.script} up --dir {lab.directory} {" ".join(words)}'
    done = lab.run('unshare', '--mount', *become_root, 'sh', '-c', f'mount --bind {cover} {program} && {up}')
    if 'lab-slurm' not in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


# What the jobs see


@needs_slurm
@pytest.mark.skipif(os.geteuid() != 0, reason='only root may mount another /etc/hosts')
def test_the_machine_may_have_another_address_by_its_own_name(lab):
    hosts = lab.place / 'hosts'
    hosts.write_text(f'127.0.0.1 localhost\n127.0.1.1 {socket.gethostname()}\n')  # as Debian's installer writes it
    beside = ('unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts))
    assert sorted(lab.ask(*beside, 'srun', '-N2', 'hostname').split()) == ['n1', 'n2']


@needs_slurm
def test_mpi_ranks_under_srun_and_mpiexec_are_one_world_on_their_own_hosts(lab):
    world = [f'{rank} 4 n{rank + 1}' for rank in range(4)]
    printed = lab.ask('srun', '--mpi=pmi2', '-N4', '--ntasks-per-node=1', '/usr/bin/python3', '-c', RANK)
    assert ranks(printed) == world
    (lab.place / 'rank.py').write_text(RANK)
    printed = lab.batch('mpiexec -n 4 -ppn 1 /usr/bin/python3 rank.py', '-N4', '--ntasks-per-node=1')
    assert ranks(printed) == world


@needs_slurm
def test_a_job_without_the_submitters_environment_can_still_ask_slurm(lab):
    assert lab.batch('srun /bin/hostname', '-w', 'n3', '--export=NONE') == 'n3\n'


@needs_slurm
def test_the_partitions_are_compute_on_all_nodes_and_io_on_the_last_half(lab):
    rows = lab.ask('sinfo', '--noheader', '--Node', '--format=%P %N').split('\n')
    assert sorted(filter(None, rows)) == [f'compute* {name}' for name in FOUR] + ['io n3', 'io n4']


@needs_slurm
def test_the_licence_is_for_one_job_at_a_time(lab):
    holder = lab.start('srun', '-L', 'seatrial:1', 'sleep', '60')
    assert eventually(lambda: 'RUNNING' in lab.ask('squeue', '--format=%T'))
    second = lab.ask('sbatch', '--parsable', '-L', 'seatrial:1', '--wrap=hostname').strip()
    try:
        assert eventually(lambda: 'Licenses' in lab.ask('squeue', '--jobs', second, '--format=%r'))
    finally:
        lab.ask('scancel', f'--user={lab.uid}')
        holder.wait()


@needs_slurm
def test_a_reservation_can_be_made_and_used(lab):
    wanted = f'ReservationName=trial Users={lab.uid} StartTime=now Duration=5 Nodes=n4'
    lab.ask('scontrol', 'create', 'reservation', *wanted.split())
    assert lab.ask('srun', '--reservation=trial', 'hostname') == 'n4\n'
    lab.ask('scontrol', 'delete', 'ReservationName=trial')


# Up and status


@needs_slurm
def test_up_again_says_that_the_lab_is_up_and_refuses_other_wishes_with_the_remedy(lab):
    done = lab.do('up')
    assert (done.returncode, done.stderr) == (0, 'lab-slurm: already up: 4 nodes, without accounting\n')
    done = lab.do('up', '--nodes', '5')
    assert done.returncode == 1 and 'is up with 4 nodes, without accounting; take it down first' in done.stderr
    done = lab.do('signal', 'KILL', 'n9')
    assert (
        done.returncode == 1 and 'n9: no such process in the lab; there is ctl:munged, ctl:slurmctld' in done.stderr
    )


@needs_slurm
def test_status_of_a_sound_lab_ends_with_0_and_names_every_daemon(lab):
    done = lab.do('status')
    assert done.returncode == 0, done.stdout
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:7]] == [
        ['ctl', 'munged', 'runs'],
        ['ctl', 'slurmctld', 'runs'],
        *[[name, 'slurmd', 'runs'] for name in FOUR],
    ]


@needs_slurm
def test_status_of_a_lab_with_a_drained_node_or_a_stopped_daemon_ends_with_1(lab):
    lab.ask('scontrol', 'update', 'nodename=n2', 'state=drain', 'reason=trial')
    done = lab.do('status')
    lab.ask('scontrol', 'update', 'nodename=n2', 'state=resume')
    assert done.returncode == 1 and 'not fit for work: n2 drained' in done.stdout
    lab.do('signal', 'STOP', 'slurmctld')
    assert 'ctl:slurmctld stopped' in lab.do('status').stdout
    lab.do('signal', 'CONT', 'slurmctld')
    # Until the controller has heard of its nodes again they are idle*.
    assert any(lab.do('status').returncode == 0 or time.sleep(1) for _ in range(30))


@needs_slurm
def test_env_prints_what_a_shell_needs(lab):
    done = lab.run('sh', '-c', f'unset SLURM_CONF; eval "$({lab.script} env --dir {lab.directory})"; srun hostname')
    assert (done.returncode, done.stdout) == (0, 'n1\n'), done.stderr


@needs_slurm
def test_without_a_lab_env_and_status_say_so_and_end_with_1(fresh):
    assert fresh.do('env').returncode == 1 and fresh.do('status').returncode == 1
    assert 'no lab is up' in fresh.do('env').stderr


@needs_slurm
def test_two_labs_know_nothing_of_each_other(lab, fresh):
    fresh.up('--nodes', '2')
    held = fresh.ask('sbatch', '--parsable', '--hold', '--wrap=hostname').strip()
    assert lab.ask('squeue', '--noheader', f'--user={lab.uid}') == ''
    assert fresh.ask('squeue', '--noheader', '--format=%i').strip() == held
    fresh.do('down')
    assert lab.do('status').returncode == 0


# What breaks is mended


@needs_slurm
@pytest.mark.parametrize('target', ['ctl:munged', 'n2:slurmd'])
def test_status_names_a_dead_daemon_and_up_starts_it_again(lab, target):
    assert lab.do('signal', 'KILL', target).returncode == 0
    assert eventually(lambda: f'not fit for work: {target} dead' in lab.do('status').stdout)
    assert lab.do('status').returncode == 1
    assert f'started again: {target}' in lab.do('up').stderr
    assert lab.do('status').returncode == 0


@needs_slurm
def test_jobs_outlive_slurmctld(lab):
    held = lab.ask('sbatch', '--parsable', '--hold', '--wrap=hostname').strip()
    lab.do('signal', 'TERM', 'slurmctld')  # under KILL it forgets what it has not saved in the last seconds
    assert eventually(lambda: 'ctl:slurmctld dead' in lab.do('status').stdout)
    lab.up()
    assert lab.state(held) == 'PENDING'
    lab.ask('scancel', f'--user={lab.uid}')


# Nothing is left


def occupy(lab: Lab) -> list[subprocess.Popen[str]]:
    """Tasks that do their best to survive: deaf to SIGTERM, in a session of their own, without any environment."""
    deaf = "trap '' TERM; (setsid env -i /bin/sleep 600 &); sleep 600"
    outside = [lab.start('srun', '-N4', 'bash', '-c', deaf), lab.start('srun', '-N2', 'sleep', '600')]
    assert eventually(lambda: lab.ask('squeue', '--steps', '--noheader', '--format=%i').count('.0') == 2)
    time.sleep(0.5)
    return outside


def beginnings(pids: set[str]) -> set[tuple[str, str]]:
    """Each process that lives with the time of its beginning: together they name it for ever."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            state, *_, begun = Path('/proc', pid, 'stat').read_text().rsplit(')', 1)[1].split()[:20]
            if state != 'Z':  # dead, and it is init that has to take note of it
                found.add((pid, begun))
    return found


@needs_slurm
@pytest.mark.parametrize('before', ['', 'slurmctld is dead', 'the directory is deleted'])
def test_down_leaves_nothing_though_jobs_resist(fresh, before):
    fresh.up()
    outside = occupy(fresh)
    if before == 'the directory is deleted':
        shutil.rmtree(fresh.directory)
    elif before:
        fresh.do('signal', 'KILL', 'slurmctld')
    alive = beginnings({line.split()[0] for line in traces_of(fresh.place) if line[0].isdigit()})
    done = fresh.do('down')
    for process in outside:
        process.wait(timeout=5)
    assert len(alive) > 20 and (done.returncode, done.stderr) == (0, 'lab-slurm: down\n')
    assert not alive & beginnings({pid for pid, _ in alive})
    assert traces_of(fresh.place) == [] and not fresh.directory.exists()


@needs_slurm
def test_with_the_keeper_everything_dies_and_up_begins_anew(fresh):
    fresh.up()
    outside = occupy(fresh)
    of_the_lab = [line.split()[0] for line in traces_of(fresh.place) if 'lab-keeper' in line]
    os.kill(int(of_the_lab[0]), 9)
    assert eventually(lambda: not [line for line in traces_of(fresh.place) if 'by its mountinfo' in line])
    done = fresh.do('up')
    assert done.returncode == 0 and 'has died; making it anew' in done.stderr
    assert fresh.ask('squeue', '--noheader') == ''
    fresh.do('down')
    for process in outside:
        process.wait(timeout=5)


@needs_slurm
def test_a_lab_that_does_not_come_up_leaves_nothing(fresh):
    done = up_with_hidden(fresh, '/bin/false', '/usr/sbin/slurmd')
    assert done.returncode == 70 and 'has ended at once; it said:' in done.stderr
    assert traces_of(fresh.place) == [] and not fresh.directory.exists()


@needs_slurm
def test_a_directory_with_other_files_is_refused_and_left_alone(fresh):
    fresh.directory.mkdir()
    (fresh.directory / 'etc').mkdir()
    (fresh.directory / 'etc' / 'thesis.tex').write_text('x')
    assert fresh.do('up').returncode == 64
    assert fresh.do('down').returncode == 0
    assert (fresh.directory / 'etc' / 'thesis.tex').exists()


@needs_slurm
def test_a_directory_and_a_file_that_are_not_the_labs_stay(fresh):
    fresh.directory.mkdir()
    fresh.up('--nodes', '1')
    (fresh.directory / 'slurm-1.out').write_text('x')
    assert 'stay: slurm-1.out' in fresh.do('down').stderr
    assert os.listdir(fresh.directory) == ['slurm-1.out']


# Another user, and accounting


@needs_slurm
def test_a_users_jobs_are_the_users_and_have_no_rights(others_lab):
    printed = others_lab.batch('srun sh -c "hostname; id -u; grep CapEff /proc/self/status"', '-N2')
    lines = sorted(printed.splitlines())
    assert lines == ['65534'] * 2 + ['CapEff:\t0000000000000000'] * 2 + ['n1', 'n2']


@needs_slurm
def test_mpi_works_for_a_user(others_lab):
    printed = others_lab.ask('srun', '-N4', '--ntasks-per-node=1', '/usr/bin/python3', '-c', RANK)
    assert ranks(printed) == [f'{rank} 4 n{rank + 1}' for rank in range(4)]


@needs_slurm
@pytest.mark.parametrize('whose', ['accounting_lab', 'others_lab'])
def test_accounting_knows_how_a_job_has_ended(request, whose):
    lab = request.getfixturevalue(whose)
    job = lab.ask('sbatch', '--parsable', '--output=/dev/null', '--wrap=exit 3').strip()
    ask = ('sacct', '--noheader', '--parsable2', '--allocations', '--jobs', job, '--format=State,ExitCode,Account')
    assert eventually(lambda: lab.ask(*ask) == 'FAILED|3:0|lab\n'), lab.ask(*ask)


@needs_slurm
def test_a_qos_limits_the_nodes_of_a_job(accounting_lab):
    job = accounting_lab.ask('sbatch', '--parsable', '--qos=onenode', '-N2', '--wrap=hostname').strip()
    assert eventually(lambda: 'QOSMax' in accounting_lab.ask('squeue', '--jobs', job, '--format=%r'))
    accounting_lab.ask('scancel', job)


@needs_slurm
def test_an_urgent_job_cancels_a_normal_one(accounting_lab):
    normal = accounting_lab.start('srun', '-N4', '--exclusive', 'sleep', '600')
    assert eventually(lambda: 'RUNNING' in accounting_lab.ask('squeue', '--format=%T'))
    accounting_lab.ask('srun', '--qos=urgent', '-N4', '--exclusive', 'hostname')
    assert normal.wait(timeout=20) != 0


@needs_slurm
def test_up_starts_accounting_again(accounting_lab):
    accounting_lab.do('signal', 'KILL', 'slurmdbd', 'mariadbd')
    assert eventually(lambda: 'ctl:mariadbd dead, ctl:slurmdbd dead' in accounting_lab.do('status').stdout)
    assert 'started again: ctl:mariadbd, ctl:slurmdbd' in accounting_lab.do('up').stderr
    assert accounting_lab.do('status').returncode == 0
    assert 'already up: 4 nodes, with accounting' in accounting_lab.do('up').stderr  # for who asks for none, too


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


@needs_slurm
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


@needs_slurm
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
