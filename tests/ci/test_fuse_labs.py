"""ci/lab-gluster and ci/lab-ceph come up, say what is damaged, are mended, and leave nothing."""

import importlib.machinery
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from fuse_lab import CANNOT, CEPH, GLUSTER, FuseLab
from slurm_lab import traces_of, wait_for

needs_gluster = pytest.mark.needs('glusterd', 'glusterfs', 'nsenter')
needs_ceph = pytest.mark.needs('ceph-osd', 'ceph-fuse')
LABS = [
    pytest.param((GLUSTER, 'the lab'), marks=needs_gluster, id='gluster'),
    pytest.param((CEPH, 'lab'), marks=needs_ceph, id='ceph'),
]
gluster_alone = pytest.mark.parametrize('made', LABS[:1], indirect=True)
ceph_alone = pytest.mark.parametrize('made', LABS[1:], indirect=True)
root_alone = pytest.mark.skipif(os.geteuid() != 0, reason='anybody else is told that only root may')


class Made(NamedTuple):
    """A lab that is up, of GlusterFS in a place whose name has a space."""

    of: FuseLab
    place: Path

    def run(self, verb: str, *words: str) -> 'subprocess.CompletedProcess[str]':
        return self.of.run(verb, self.place, *words)

    def up(self) -> Path:
        return self.of.up(self.place)

    def pid_of(self, part: str) -> int | None:
        rows = [line.split() for line in self.run('status').stdout.splitlines()]
        pid = next(row[1] for row in rows if row[0] == part)
        return None if pid == 'dead' else int(pid)


@pytest.fixture(scope='module', params=LABS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    of, name = request.param
    place = tmp_path_factory.mktemp('fuse') / name
    with of.made(place):
        yield Made(of, place)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, for what this machine does not lack; it takes itself for root's."""
    monkeypatch.syspath_prepend(str(GLUSTER.script.parent))
    loader = importlib.machinery.SourceFileLoader('lab_gluster', str(GLUSTER.script))
    monkeypatch.setattr('sys.dont_write_bytecode', True)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('lab_gluster', loader))
    monkeypatch.setitem(__import__('sys').modules, 'lab_gluster', module)
    loader.exec_module(module)
    monkeypatch.setattr(os, 'geteuid', lambda: 0)
    return module


def spread(directory: Path) -> dict[str, int]:
    """The brick of each file in the volume's root."""
    return {
        path.name: int(path.parent.name) for path in directory.glob('bricks/?/*') if not path.name.startswith('.')
    }


def test_it_is_a_mount_of_the_kernels_type_that_anybody_may_write_to_and_that_is_left_as_it_is(made):
    mount = made.up()
    rows = [line.split() for line in Path('/proc/self/mounts').read_text().splitlines()]
    mounts = [row for row in rows if row[1].replace('\\040', ' ') == str(mount)]
    assert [row[2] for row in mounts] == ['fuse.glusterfs' if made.of is GLUSTER else 'fuse.ceph-fuse']
    assert mount.stat().st_mode & 0o7777 == 0o1777
    before = made.pid_of('client')
    assert 'already up' in made.run('up').stderr
    assert made.pid_of('client') == before is not None
    line = made.run('env').stdout
    name = 'SEATRIAL_LAB_GLUSTER' if made.of is GLUSTER else 'SEATRIAL_LAB_CEPH'
    done = subprocess.run(['sh', '-c', f'{line}\nprintf %s "${name}"'], capture_output=True, text=True)
    assert done.stdout == str(mount)


@gluster_alone
def test_files_are_spread_over_bricks_and_each_lies_on_one(made):
    mount = made.up()
    for number in range(32):
        (mount / f'spread{number}').write_text('x')
    bricks = [brick for name, brick in spread(made.place).items() if name.startswith('spread')]
    assert len(bricks) == 32 and len(set(bricks)) > 1


@gluster_alone
def test_a_killed_brick_is_said_and_mended_and_its_files_are_there_again(made):
    mount = made.up()
    (mount / 'survivor').write_text('still here')
    brick = f'brick{spread(made.place)["survivor"]}'
    assert made.run('signal', 'KILL', brick).returncode == 0
    answer = made.run('status')
    while '4 of 4 bricks reached' in answer.stdout:  # the client has not noticed yet
        time.sleep(0.05)
        answer = made.run('status')
    assert answer.returncode == 1 and '3 of 4 bricks reached' in answer.stdout
    assert made.pid_of(brick) is None
    assert 'repaired' in made.run('up').stderr
    assert made.run('status').returncode == 0
    assert (mount / 'survivor').read_text() == 'still here'


def is_killed_and_comes_back(made: Made, part: str) -> None:
    with (made.up() / 'kept').open('w') as stream:
        stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())
    if made.of is GLUSTER:
        assert made.run('signal', 'KILL', part).returncode == 0
    else:
        os.kill(made.pid_of(part) or 0, signal.SIGKILL)
    answer = made.run('status')
    problem = answer.stdout.partition('not well')[2]
    assert answer.returncode == 1 and (part if made.of is CEPH else 'repairs it') in problem
    assert (made.up() / 'kept').read_text() == part
    assert made.run('status').returncode == 0


@gluster_alone
@pytest.mark.parametrize(
    'part', ['glusterd', *(pytest.param(part, marks=pytest.mark.long) for part in ('client', 'keeper'))]
)
def test_whatever_is_killed_of_glusterfs_is_said_and_comes_back_and_no_file_is_lost(made, part):
    is_killed_and_comes_back(made, part)


@ceph_alone
@pytest.mark.parametrize(
    'part', ['osd1', *(pytest.param(part, marks=pytest.mark.long) for part in ('mds', 'client', 'keeper'))]
)
def test_whatever_is_killed_of_ceph_is_said_and_comes_back_and_no_file_is_lost(made, part):
    is_killed_and_comes_back(made, part)


@pytest.mark.long
@gluster_alone
def test_a_brick_that_hangs_is_said_and_mended(made):
    made.up()
    assert made.run('signal', 'STOP', 'brick1').returncode == 0
    answer = made.run('status')
    assert answer.returncode == 1 and 'stopped' in answer.stdout
    assert made.run('up').returncode == 0
    assert made.run('status').returncode == 0
    answer = made.run('signal', 'KILL', 'brick9')
    assert answer.returncode == 1 and 'brick9' in answer.stderr and 'brick4' in answer.stderr


@gluster_alone
def test_its_own_command_line_changes_the_volume(made):
    made.up()
    volume = made.run('status').stdout.split('volume ')[1].split(',')[0]
    done = made.run('gluster', 'volume', 'set', volume, 'performance.io-cache', 'on')
    assert done.returncode == 0 and 'success' in done.stdout
    wrong = made.run('gluster', 'volume', 'set', volume, 'no.such-option', 'on')
    assert wrong.returncode != 0 and 'does not exist' in wrong.stderr


@ceph_alone
def test_its_own_command_line_sees_three_osds_and_one_replica(made):
    made.up()
    wait_for('all OSDs are up', lambda: '3 osds: 3 up' in made.run('ceph', 'osd', 'stat').stdout)
    assert made.run('ceph', 'osd', 'pool', 'get', 'data', 'size').stdout == 'size: 1\n'
    assert made.run('ceph', 'no', 'such', 'command').returncode != 0


def test_a_mount_in_use_is_not_taken_away_and_its_user_is_named(made):
    mount = made.up()
    with subprocess.Popen(['sleep', '60'], cwd=mount) as user:
        answer = made.run('down')
        user.kill()
    assert answer.returncode == 1 and f'{user.pid} (sleep)' in answer.stderr
    assert made.run('status').returncode == 0


@pytest.mark.long
def test_a_second_lab_beside_it_is_another_one_and_leaves_nothing(made, tmp_path):
    second = Made(made.of, tmp_path / 'second')
    of_gluster = made.of is GLUSTER
    first, mount = made.up(), made.of.up(second.place, *([] if of_gluster else ['--replicas', '2']))
    places = ('/var/lib/glusterd', '/var/log/glusterfs', '/run/gluster')
    before = [sorted(Path(place).rglob('*')) for place in places]
    sockets = set(Path('/run/ceph').glob('*.asok'))
    (mount / 'theirs').write_text('x')
    assert not (first / 'theirs').exists()
    if not of_gluster:
        assert second.run('ceph', 'osd', 'pool', 'get', 'data', 'size').stdout == 'size: 2\n'
    process = second.pid_of('brick1' if of_gluster else 'osd0')
    answer = second.run('down')
    assert answer.returncode == 0, answer.stderr
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in Path('/proc/self/mountinfo').read_text()
    assert process is not None and not Path(f'/proc/{process}').exists()
    assert traces_of(tmp_path) == []
    assert [sorted(Path(place).rglob('*')) for place in places] == before
    assert len(sockets - set(Path('/run/ceph').glob('*.asok'))) == (0 if of_gluster else 1)
    assert made.run('status').returncode == 0


@pytest.mark.long
@needs_gluster
def test_down_with_a_brick_that_hangs_ends_too_and_what_is_not_of_the_lab_stays(tmp_path):
    lab = Made(GLUSTER, tmp_path / 'lab')
    lab.up()
    (lab.place / 'notes').write_text('mine')
    lab.run('signal', 'STOP', 'brick2')
    answer = lab.run('down')
    assert answer.returncode == 0 and 'notes' in answer.stderr
    assert [path.name for path in lab.place.iterdir()] == ['notes']
    again = lab.run('down')
    assert again.returncode == 0 and 'no lab' in again.stderr
    assert (lab.place / 'notes').read_text() == 'mine'


@pytest.mark.parametrize('of', [GLUSTER, CEPH])
def test_without_a_lab_status_env_and_down_say_so(of, tmp_path):
    lab = Made(of, tmp_path / 'none')
    for verb, status in (('status', 1), ('env', 1), ('down', 0)):
        answer = lab.run(verb)
        assert answer.returncode == status and 'no lab' in answer.stdout + answer.stderr
    assert not lab.place.exists()
    assert lab.run('sideways').returncode == 64


@root_alone
@needs_ceph
def test_nodes_that_are_not_up_cannot_have_it(tmp_path):
    answer = CEPH.run('up', tmp_path / 'lab', '--kernels', str(tmp_path / 'none'))
    assert answer.returncode in (1, CANNOT) and len(answer.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@root_alone
def test_a_place_with_a_space_is_refused_because_ceph_fuse_gives_up_there(tmp_path):
    answer = CEPH.run('up', tmp_path / 'the lab')
    assert answer.returncode == 64 and 'space' in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_ordinary_user_is_told_in_one_line():
    if os.geteuid() == 0:  # nobody may enter the checkout or pytest's folder
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            script = shutil.copy(GLUSTER.script, folder)
            shutil.copytree(GLUSTER.script.parent / 'lab', Path(folder) / 'lab')
            argv = ['python3', script, 'up', '--dir', '/nonexistent/lab']
            answer = subprocess.run(argv, capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
    else:
        answer = GLUSTER.run('up', Path('/nonexistent/lab'))
    assert answer.returncode == 77 and 'root' in answer.stderr and len(answer.stderr.splitlines()) == 1


def test_missing_packages_are_named_with_the_line_to_type(script, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr('lab.common.PATH', str(tmp_path))
    assert script.main(['up', '--dir', str(tmp_path / 'lab')]) == 69
    assert 'apt-get install glusterfs-server glusterfs-client fuse3' in capsys.readouterr().err
    assert not (tmp_path / 'lab').exists()


def test_a_machine_without_fuse_is_said_with_a_code_of_its_own(script, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(script, 'provide', lambda packages, install: None)
    real = os.open

    def no_fuse(path: object, *arguments: int) -> int:
        if path == '/dev/fuse':
            raise FileNotFoundError(2, 'No such file or directory')
        return real(path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, 'open', no_fuse)
    assert script.main(['up', '--dir', str(tmp_path / 'lab')]) == CANNOT
    assert '/dev/fuse' in capsys.readouterr().err
    assert not (tmp_path / 'lab').exists()


@pytest.fixture
def able(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script on a machine that has everything."""
    monkeypatch.setattr(script, 'provide', lambda packages, install: None)
    monkeypatch.setattr(script, 'needs_fuse', lambda: None)
    return script


def test_a_directory_with_other_files_is_refused_and_left(able, tmp_path, capsys):
    (tmp_path / 'mine').write_text('x')
    assert able.main(['up', '--dir', str(tmp_path)]) == 64
    assert 'not of a lab' in capsys.readouterr().err
    assert able.main(['down', '--dir', str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ['mine']


def test_a_file_system_without_trusted_attributes_is_refused_and_left_clean(able, monkeypatch, tmp_path, capsys):
    def unsupported(*arguments: object) -> None:
        raise OSError(95, 'Operation not supported')

    monkeypatch.setattr(os, 'setxattr', unsupported)
    assert able.main(['up', '--dir', str(tmp_path / 'lab')]) == 64
    assert 'trusted attributes (Operation not supported)' in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_where_something_else_is_mounted_below_the_lab_nothing_is_removed(able, monkeypatch, tmp_path, capsys):
    lab = tmp_path / 'lab'
    (lab / 'bricks').mkdir(parents=True)
    able.Lab(lab).marker.write_text('{"made_directory": true}')
    monkeypatch.setattr(able, 'mount_points', lambda: [f'{lab}/bricks'])
    assert able.main(['down', '--dir', str(lab)]) == 70
    assert 'is mounted' in capsys.readouterr().err
    assert (lab / 'bricks').is_dir()
