"""ci/lab-ceph: a real CephFS that comes up, says when it is damaged, is mended, and leaves nothing."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuse_lab import CANNOT, CEPH

needs_ceph = pytest.mark.needs('ceph-osd', 'ceph-fuse')


run, up = CEPH.run, CEPH.up


@pytest.fixture(scope='module')
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A lab that is up."""
    place = tmp_path_factory.mktemp('ceph') / 'lab'
    with CEPH.made(place):
        yield place


def pid_of(part: str, directory: Path) -> int:
    rows = [line.split() for line in run('status', directory).stdout.splitlines()]
    return int(next(row[1] for row in rows if row[0] == part))


@needs_ceph
def test_it_is_a_mount_of_the_kernels_type_for_ceph_fuse_that_anybody_may_write_to(directory):
    mount = up(directory)
    rows = [line.split() for line in Path('/proc/self/mounts').read_text().splitlines()]
    assert [row[2] for row in rows if row[1] == str(mount)] == ['fuse.ceph-fuse']
    assert 'already up' in run('up', directory).stderr
    assert run('env', directory).stdout == f'export SEATRIAL_LAB_CEPH={mount}\n'
    assert mount.stat().st_mode & 0o7777 == 0o1777


@needs_ceph
def test_its_own_command_line_sees_three_osds_and_one_replica(directory):
    up(directory)
    assert '3 osds: 3 up' in run('ceph', directory, 'osd', 'stat').stdout
    assert run('ceph', directory, 'osd', 'pool', 'get', 'data', 'size').stdout == 'size: 1\n'
    assert run('ceph', directory, 'no', 'such', 'command').returncode != 0


@needs_ceph
@pytest.mark.parametrize(
    'part', ['osd1', *(pytest.param(part, marks=pytest.mark.long) for part in ('mds', 'client', 'keeper'))]
)
def test_whatever_is_killed_is_said_and_comes_back_and_no_file_is_lost(directory, part):
    with (up(directory) / 'kept').open('w') as stream:
        stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())
    os.kill(pid_of(part, directory), signal.SIGKILL)
    answer = run('status', directory)
    assert answer.returncode == 1 and part in answer.stdout.split('not well: ')[1]
    assert (up(directory) / 'kept').read_text() == part
    assert run('status', directory).returncode == 0


@needs_ceph
def test_a_mount_in_use_is_not_taken_away_and_its_user_is_named(directory):
    mount = up(directory)
    with subprocess.Popen(['sleep', '60'], cwd=mount) as user:
        answer = run('down', directory)
        user.kill()
    assert answer.returncode == 1 and f'{user.pid} (sleep)' in answer.stderr
    assert run('status', directory).returncode == 0


@needs_ceph
def test_a_second_lab_beside_it_is_another_cluster_and_leaves_nothing(directory, tmp_path):
    first, second = up(directory), up(tmp_path / 'second', '--replicas', '2')
    sockets = set(Path('/run/ceph').glob('*.asok'))
    (second / 'theirs').write_text('x')
    assert not (first / 'theirs').exists()
    assert run('ceph', tmp_path / 'second', 'osd', 'pool', 'get', 'data', 'size').stdout == 'size: 2\n'
    process = pid_of('osd0', tmp_path / 'second')
    answer = run('down', tmp_path / 'second')
    assert answer.returncode == 0, answer.stderr
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in Path('/proc/self/mountinfo').read_text()
    assert not Path(f'/proc/{process}').exists()
    assert len(sockets - set(Path('/run/ceph').glob('*.asok'))) == 1
    assert run('status', directory).returncode == 0


def test_without_a_lab_status_env_and_down_say_so(tmp_path):
    for verb in ('status', 'env'):
        answer = run(verb, tmp_path / 'none')
        assert answer.returncode == 1 and 'no lab is up' in answer.stdout + answer.stderr
    answer = run('down', tmp_path / 'none')
    assert answer.returncode == 0 and 'no lab' in answer.stderr
    assert not (tmp_path / 'none').exists()
    assert run('sideways', tmp_path).returncode == 64


@needs_ceph
@pytest.mark.skipif(os.geteuid() != 0, reason='anybody else is told that only root may')
def test_nodes_that_are_not_up_cannot_have_it(tmp_path):
    answer = run('up', tmp_path / 'lab', '--kernels', str(tmp_path / 'none'))
    assert answer.returncode in (1, CANNOT) and len(answer.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason='anybody else is told that only root may')
def test_a_place_with_a_space_is_refused_because_ceph_fuse_gives_up_there(tmp_path):
    answer = run('up', tmp_path / 'the lab')
    assert answer.returncode == 64 and 'space' in answer.stderr
    assert list(tmp_path.iterdir()) == []
