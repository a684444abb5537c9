"""Sessions on a real tmpfs and a real ext4, compared: what is mounted, and how, is said first."""

import json
import os
import re
import subprocess

import pytest

from local_site import SEATRIAL, LocalSite, trial

TRIAL = trial(
    'EmptyFiles',
    '[posixops]',
    'type: posix, path: {path}',
    'bytes: 100MiB, inodes: 5000',
    more='files_per_task: 100, budget: 1s',
)
MOUNTS = {'memory': 'mount -t tmpfs -o size=200m none {point}', 'disk': 'mount -o loop {image} {point}'}


READ_AHEAD = '/sys/class/bdi/$(mountpoint -d {point})/read_ahead_kb'
SESSIONS = {
    'memory': 'mount -t tmpfs -o size=200m none {point}',
    'disk': 'mount {device} {point}',
    'remounted': 'mount -o noatime {device} {point}',
    'tuned': f'mount {{device}} {{point}}; echo 4096 > {READ_AHEAD}',
}
"""What is done before a session of this label."""


@pytest.fixture(scope='module')
def compared(tmp_path_factory):
    """What `compare` finds between sessions of two labels, each of which is measured when it is first asked for."""
    home = tmp_path_factory.mktemp('site')
    point, image = home / 'mount', home / 'image'
    site = LocalSite(home, TRIAL.replace('{path}', f'{point}/trials'))
    point.mkdir()
    with open(image, 'wb') as stream:
        stream.truncate(256 << 20)
    subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)
    # One device for all of them, or its name would differ too.
    loop = subprocess.run(['losetup', '--find', '--show', image], capture_output=True, text=True)
    if loop.returncode:
        pytest.skip(f'this host has no loop device for us: {loop.stderr.strip()}')
    names = {'point': point, 'device': loop.stdout.strip()}
    measured = set()

    def measure(label):
        run = site.argv('run', f'--checks={site.checks}', f'--label={label}')
        script = f'set -e; {SESSIONS[label].format(**names)}; mkdir -p {point}/trials; exec "$@"'
        done = subprocess.run(
            ['unshare', '--mount', 'sh', '-c', script, 'sh', *run], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        measured.add(label)

    def compare(*labels):
        for label in labels:
            if label not in measured:
                measure(label)
        done = site.ask('compare', *labels, '--json')
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    try:
        test = f'{SESSIONS["disk"].format(**names)}'
        if subprocess.run(['unshare', '--mount', 'sh', '-c', test]).returncode:
            pytest.skip('this host lets nobody mount a file as a disk')
        yield compare
    finally:
        # Whoever gets the device next finds it as it was.
        script = f'mount {names["device"]} {point} && echo 128 > {READ_AHEAD.format(**names)}'
        subprocess.run(['unshare', '--mount', 'sh', '-c', script])
        subprocess.run(['losetup', '--detach', names['device']])


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
        text = TRIAL.replace('state: state', 'state: ../state')
        sites[name] = LocalSite(folder, text.replace('{path}', f'{folder}/mount/trials'))
        line = mount.replace('-o loop', '-o loop,sync').format(point=folder / 'mount', image=image)
        script += [line, f'mkdir -p {folder}/mount/trials']
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


@pytest.mark.needs('unshare', 'mkfs.ext4', 'losetup')
class TestMounts:
    @pytest.mark.long
    def test_a_move_to_another_type_of_file_system_is_said_first(self, compared):
        content = compared('memory', 'disk')
        first = content['differing'][0]
        assert first.startswith('scratch: mounted: none on ') and ' type tmpfs against /dev/loop' in first
        assert first.endswith(' type ext4')
        assert content['metrics'] and {metric['family'] for metric in content['metrics']} == {'metadata'}
        assert any('% full against' in line for line in content['circumstances'])
        assert 'One session a side' in content['notice']

    @pytest.mark.long
    def test_another_mount_option_is_said_first(self, compared):
        first, *others = compared('disk', 'remounted')['differing']
        assert (first, others) == ('scratch: mount options: relatime against noatime', [])

    @pytest.mark.long
    def test_another_setting_of_the_client_is_said_first(self, compared):
        first, *others = compared('disk', 'tuned')['differing']
        assert re.fullmatch(r'scratch: device read_ahead_kb: \d+ against 4096', first) and others == []

    @pytest.mark.long
    def test_measured_in_turn_a_synchronous_disk_is_worse_than_memory(self, mounted):
        verdict, output = mounted('memory', 'disk')
        assert verdict == 'worse'
        assert ' type tmpfs against /dev/loop' in output

    @pytest.mark.long
    def test_measured_in_turn_with_itself_it_is_neither_better_nor_worse(self, mounted):
        verdict, output = mounted('memory', 'memory')
        assert verdict in ('same', 'undecided')
        assert 'No recorded difference' in output
