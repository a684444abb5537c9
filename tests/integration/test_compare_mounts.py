"""Sessions on a real tmpfs and a real ext4, compared: the type of the mount is said first."""

import json
import os
import subprocess

import pytest

from local_site import LocalSite, trial

TRIAL = trial(
    'EmptyFiles',
    '[posixops]',
    'type: posix, path: mount/trials',
    'bytes: 100MiB, inodes: 5000',
    more='files_per_task: 100, budget: 1s',
)
MOUNTS = {
    'memory': 'mount -t tmpfs -o size=200m none {point}',
    'disk': 'mount -o loop {image} {point}',
}


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    """A site with a session on each mount, called by its name."""
    home = tmp_path_factory.mktemp('site')
    site = LocalSite(home, TRIAL)
    point, image = home / 'mount', home / 'image'
    point.mkdir()
    with open(image, 'wb') as stream:
        stream.truncate(256 << 20)
    subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)
    names = {'point': point, 'image': image}
    if os.geteuid() or subprocess.run(['unshare', '--mount', 'sh', '-c', MOUNTS['disk'].format(**names)]).returncode:
        pytest.skip('this host lets nobody mount a file as a disk')
    for name, mount in MOUNTS.items():
        run = site.argv('run', f'--checks={site.checks}', f'--label={name}')
        script = f'set -e; {mount.format(**names)}; mkdir -p {point}/trials; exec "$@"'
        done = subprocess.run(
            ['unshare', '--mount', 'sh', '-c', script, 'sh', *run], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return site


def compared(site, before, after):
    done = site.ask('compare', before, after, '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.needs('unshare', 'mkfs.ext4')
class TestMounts:
    def test_a_move_to_another_type_of_file_system_is_said_first(self, site):
        found = compared(site, 'memory', 'disk')
        first = found['differing'][0]
        assert first.startswith('scratch: mounted: none on ') and ' type tmpfs against /dev/loop' in first
        assert first.endswith(' type ext4')
        assert found['metrics'] and {each['family'] for each in found['metrics']} == {'metadata'}
        assert any('% full against' in each for each in found['circumstances'])
        assert 'One session a side' in found['notice']
