"""Sessions on a real tmpfs and a real ext4, compared: the type of the mount is said first, and so are its options."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TRIAL = """
version: 1
state: state
engines: [posixops]
file_systems:
  scratch: {type: posix, path: mount/trials, limits: {bytes: 100MiB, inodes: 5000}}
partitions:
  local:default: {launcher: local, tasks_per_node: 2}
trials:
  - {checks: [EmptyFiles], partitions: [local:default], file_systems: [scratch], nodes: [1], files_per_task: 100,
     budget: 1s}
"""
MOUNTS = {
    'memory': 'mount -t tmpfs -o size=200m none {point}',
    'disk': 'mount -o loop {image} {point}',
    'untimed': 'mount -o loop,noatime {image} {point}',
}


@pytest.fixture(scope='module')
def home(tmp_path_factory, repository):
    """A site with a session on each mount, called by its name."""
    home = tmp_path_factory.mktemp('site')
    shutil.copy(repository / 'site-config' / 'local' / 'settings.py', home)
    (home / 'trial.yaml').write_text(TRIAL)
    point, image = home / 'mount', home / 'image'
    point.mkdir()
    with open(image, 'wb') as stream:
        stream.truncate(256 << 20)
    subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)
    names = {'point': point, 'image': image}
    if os.geteuid() or subprocess.run(['unshare', '--mount', 'sh', '-c', MOUNTS['disk'].format(**names)]).returncode:
        pytest.skip('this host lets nobody mount a file as a disk')
    for name, mount in MOUNTS.items():
        run = [_seatrial(), 'run', f'--site={home}', f'--checks={repository / "checks"}', f'--label={name}']
        script = f'set -e; {mount.format(**names)}; mkdir -p {point}/trials; exec "$@"'
        done = subprocess.run(
            ['unshare', '--mount', 'sh', '-c', script, 'sh', *run], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return home


def _seatrial():
    return str(Path(sys.executable).with_name('seatrial'))


def compared(home, before, after):
    argv = [_seatrial(), 'compare', before, after, f'--site={home}', '--json']
    return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


@pytest.mark.needs('unshare', 'mkfs.ext4')
class TestMounts:
    def test_a_move_to_another_type_of_file_system_is_said_first(self, home):
        found = compared(home, 'memory', 'disk')
        first = found['differing'][0]
        assert first.startswith('scratch: mounted: none on ') and ' type tmpfs against /dev/loop' in first
        assert first.endswith(' type ext4')
        assert found['metrics'] and {each['family'] for each in found['metrics']} == {'metadata'}
        assert any('% full against' in each for each in found['circumstances'])
        assert 'One session a side' in found['notice']

    def test_another_mount_option_is_said_first(self, home):
        found = compared(home, 'disk', 'untimed')
        kept = [each for each in found['differing'] if ': mounted: ' not in each]  # a loop device may be another one
        assert kept[0] == 'scratch: mount options: relatime against noatime'
