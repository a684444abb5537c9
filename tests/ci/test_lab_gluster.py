"""ci/lab-gluster: a real GlusterFS that comes up, says when it is damaged, is mended, and leaves nothing."""

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from fuse_lab import CANNOT, GLUSTER

needs_glusterfs = pytest.mark.needs('glusterd', 'glusterfs', 'nsenter')


run, up = GLUSTER.run, GLUSTER.up


@pytest.fixture(scope='module')
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A lab that is up, in a place whose name has a space."""
    place = tmp_path_factory.mktemp('gluster') / 'the lab'
    with GLUSTER.made(place):
        yield place


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


def pid_of(part: str, directory: Path) -> int | None:
    rows = [line.split() for line in run('status', directory).stdout.splitlines()]
    found = next(row[1] for row in rows if row[0] == part)
    return None if found == 'dead' else int(found)


def spread(directory: Path) -> dict[str, int]:
    """The brick of each file in the volume's root."""
    return {
        path.name: int(path.parent.name) for path in directory.glob('bricks/?/*') if not path.name.startswith('.')
    }


def test_it_is_a_mount_of_the_kernels_type_that_anybody_may_write_to_and_that_is_left_as_it_is(directory):
    mount = up(directory)
    rows = [line.split() for line in Path('/proc/self/mounts').read_text().splitlines()]
    found = [row for row in rows if row[1].replace('\\040', ' ') == str(directory / 'mount')]
    assert [row[2] for row in found] == ['fuse.glusterfs']
    done = subprocess.run(['touch', 'anybody'], cwd=mount, user=65534, group=65534, extra_groups=[])
    assert done.returncode == 0 and (mount / 'anybody').stat().st_uid == 65534
    before = pid_of('client', directory)
    assert 'already up' in run('up', directory).stderr
    assert pid_of('client', directory) == before is not None
    line = run('env', directory).stdout
    said = subprocess.run(['sh', '-c', f'{line}\nprintf %s "$SEATRIAL_LAB_GLUSTER"'], capture_output=True, text=True)
    assert said.stdout == str(mount)
    answer = run('signal', directory, 'KILL', 'brick9')
    assert answer.returncode == 1 and 'brick9' in answer.stderr and 'brick4' in answer.stderr


@needs_glusterfs
def test_files_are_spread_over_bricks_and_each_lies_on_one(directory):
    mount = up(directory)
    for number in range(32):
        (mount / f'spread{number}').write_text('x')
    bricks = [brick for name, brick in spread(directory).items() if name.startswith('spread')]
    assert len(bricks) == 32 and len(set(bricks)) > 1


@needs_glusterfs
def test_a_killed_brick_is_said_and_mended_and_its_files_are_there_again(directory):
    mount = up(directory)
    (mount / 'survivor').write_text('still here')
    brick = f'brick{spread(directory)["survivor"]}'
    assert run('signal', directory, 'KILL', brick).returncode == 0
    answer = run('status', directory)
    while '4 of 4 bricks reached' in answer.stdout:  # the client has not noticed yet
        time.sleep(0.05)
        answer = run('status', directory)
    assert answer.returncode == 1 and '3 of 4 bricks reached' in answer.stdout
    assert pid_of(brick, directory) is None
    assert 'repaired' in run('up', directory).stderr
    assert run('status', directory).returncode == 0
    assert (mount / 'survivor').read_text() == 'still here'


@needs_glusterfs
@pytest.mark.parametrize('part', ['glusterd', 'client', 'keeper'])
def test_whatever_is_killed_comes_back_and_no_file_is_lost(directory, part):
    (up(directory) / 'kept').write_text(part)
    assert run('signal', directory, 'KILL', part).returncode == 0
    answer = run('status', directory)
    assert answer.returncode == 1 and 'not well' in answer.stdout
    assert (up(directory) / 'kept').read_text() == part


@needs_glusterfs
def test_a_brick_that_hangs_is_said_and_mended(directory):
    up(directory)
    assert run('signal', directory, 'STOP', 'brick1').returncode == 0
    answer = run('status', directory)
    assert answer.returncode == 1 and 'stopped' in answer.stdout
    assert run('up', directory).returncode == 0
    assert run('status', directory).returncode == 0


@needs_glusterfs
def test_its_own_command_line_changes_the_volume(directory):
    up(directory)
    volume = run('status', directory).stdout.split('volume ')[1].split(',')[0]
    done = run('gluster', directory, 'volume', 'set', volume, 'performance.io-cache', 'on')
    assert done.returncode == 0 and 'success' in done.stdout
    wrong = run('gluster', directory, 'volume', 'set', volume, 'no.such-option', 'on')
    assert wrong.returncode != 0 and 'does not exist' in wrong.stderr


@needs_glusterfs
def test_a_mount_in_use_is_not_taken_away_and_its_user_is_named(directory):
    mount = up(directory)
    with subprocess.Popen(['sleep', '60'], cwd=mount) as user:
        answer = run('down', directory)
        user.kill()
    assert answer.returncode == 1 and f'{user.pid} (sleep)' in answer.stderr
    assert run('status', directory).returncode == 0


@needs_glusterfs
def test_a_second_lab_beside_it_is_another_volume_and_leaves_nothing(directory, tmp_path):
    first, second = up(directory), up(tmp_path / 'second')
    built_in = [Path('/var/lib/glusterd'), Path('/var/log/glusterfs'), Path('/run/gluster')]
    before = [sorted(place.rglob('*')) for place in built_in]
    (second / 'theirs').write_text('x')
    assert not (first / 'theirs').exists()
    process = pid_of('brick1', tmp_path / 'second')
    answer = run('down', tmp_path / 'second')
    assert answer.returncode == 0, answer.stderr
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in Path('/proc/self/mountinfo').read_text()
    assert process is not None and not Path(f'/proc/{process}').exists()
    assert not [line for line in command_lines() if str(tmp_path) in line]
    assert [sorted(place.rglob('*')) for place in built_in] == before
    assert run('status', directory).returncode == 0


@needs_glusterfs
def test_down_with_a_brick_that_hangs_ends_too_and_what_is_not_of_the_lab_stays(tmp_path):
    lab = tmp_path / 'lab'
    up(lab)
    (lab / 'notes').write_text('mine')
    run('signal', lab, 'STOP', 'brick2')
    answer = run('down', lab)
    assert answer.returncode == 0 and 'notes' in answer.stderr
    assert [path.name for path in lab.iterdir()] == ['notes']
    again = run('down', lab)
    assert again.returncode == 0 and 'no lab' in again.stderr
    assert (lab / 'notes').read_text() == 'mine'


def command_lines() -> list[str]:
    found = []
    for process in Path('/proc').iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                found.append((process / 'cmdline').read_text().replace('\0', ' '))
            except OSError:
                continue
    return found


def test_without_a_lab_status_and_env_say_so(tmp_path):
    for verb in ('status', 'env'):
        answer = run(verb, tmp_path / 'none')
        assert answer.returncode == 1 and 'no lab is up' in answer.stdout + answer.stderr
    assert not (tmp_path / 'none').exists()
    assert run('sideways', tmp_path).returncode == 64


def test_an_ordinary_user_is_told_in_one_line():
    if os.geteuid() == 0:  # nobody may enter the checkout or pytest's folder
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            script = shutil.copy(GLUSTER.script, folder)
            shutil.copytree(GLUSTER.script.parent / 'lab', Path(folder) / 'lab')
            argv = ['python3', script, 'up', '--dir', '/nonexistent/lab']
            answer = subprocess.run(argv, capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
    else:
        answer = run('up', Path('/nonexistent/lab'))
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
