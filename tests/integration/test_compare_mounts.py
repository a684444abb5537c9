"""Sessions on a real tmpfs and a real ext4, compared: the type of the mount is said first."""

import json
import os
import subprocess

import pytest

from local_site import SEATRIAL, LocalSite, trial

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


@pytest.fixture(scope='module')
def mounted(tmp_path_factory):
    """Two sites with one history, on a tmpfs and on an ext4 that syncs each write, measured in turn."""
    home = tmp_path_factory.mktemp('sides')
    image = home / 'image'
    with open(image, 'wb') as stream:
        stream.truncate(256 << 20)
    subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)
    sites, script = {}, ['set -e']
    for name, mount in MOUNTS.items():
        folder = home / name
        (folder / 'mount').mkdir(parents=True)
        sites[name] = LocalSite(folder, TRIAL.replace('state: state', 'state: ../state'))
        own = mount.replace('-o loop', '-o loop,sync').format(point=folder / 'mount', image=image)
        script += [own, f'mkdir -p {folder}/mount/trials']
    script = '; '.join([*script, 'exec "$@"'])
    if os.geteuid() or subprocess.run(['unshare', '--mount', 'sh', '-c', script, 'sh', 'true']).returncode:
        pytest.skip('this host lets nobody mount a file as a disk')

    def in_turn(one, other):
        site = sites[one]
        argv = [SEATRIAL, 'run', f'--checks={site.checks}', '--rounds=3']
        sides = [f'{name}={sites[side].folder}' for name, side in (('one', one), ('other', other))]
        done = subprocess.run(
            ['unshare', '--mount', 'sh', '-c', script, 'sh', *argv, '--ab', *sides],
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (line,) = [line for line in done.stdout.splitlines() if 'scratch: metadata' in line]
        return line.split()[1], done.stdout

    return in_turn


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

    @pytest.mark.long
    def test_measured_in_turn_a_synchronous_disk_is_worse_than_memory(self, mounted):
        verdict, said = mounted('memory', 'disk')
        assert verdict == 'worse'
        assert ' type tmpfs against /dev/loop' in said

    @pytest.mark.long
    def test_measured_in_turn_with_itself_it_is_neither_better_nor_worse(self, mounted):
        verdict, said = mounted('memory', 'memory')
        assert verdict in ('same', 'undecided')
        assert 'Measured with the same' in said
