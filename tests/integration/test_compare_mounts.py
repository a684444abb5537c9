"""Sessions on a real tmpfs and a real ext4, compared: what is mounted, and how, is said first."""

import os
import subprocess

import pytest

from local_site import SEATRIAL, LocalSite, ext4_image, trial

LIMITS, MORE = 'bytes: 100MiB, inodes: 5000', 'files_per_task: 100, budget: 1s'
TRIAL = trial('EmptyFiles', '[posixops]', 'type: posix, path: {path}', LIMITS, more=MORE)
pytestmark = [pytest.mark.long, pytest.mark.needs('unshare', 'mkfs.ext4', 'losetup')]
MOUNTS = {'memory': 'mount -t tmpfs -o size=200m none {point}', 'disk': 'mount -o loop {image} {point}'}


@pytest.fixture(scope='module')
def mounted(tmp_path_factory):
    """Two sites with one history, on a tmpfs and on an ext4 that syncs each write, measured in turn."""
    home = tmp_path_factory.mktemp('sides')
    image = ext4_image(home / 'image', 256)
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

    def in_turn(one, other, rounds):
        site = sites[one]
        argv = [SEATRIAL, 'run', f'--checks={site.checks}', f'--rounds={rounds}']
        sides = [f'{name}={sites[side].folder}' for name, side in (('one', one), ('other', other))]
        mounting = ['unshare', '--mount', 'sh', '-c', script, 'sh']
        done = subprocess.run([*mounting, *argv, '--ab', *sides], capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
        (line,) = [line for line in done.stdout.splitlines() if 'scratch: metadata' in line]
        return line.split()[1], done.stdout

    return in_turn


def test_measured_in_turn_a_synchronous_disk_is_worse_than_memory(mounted):
    # Beside other work three rounds left a ratio of 0.035 undecided once (chance 0.0251 where 0.025 is asked for).
    verdict, output = mounted('memory', 'disk', rounds=5)
    assert verdict == 'worse'
    assert ' type tmpfs against /dev/loop' in output


def test_measured_in_turn_with_itself_it_is_neither_better_nor_worse(mounted):
    for _ in range(2):  # a difference by chance is named in one comparison of 20, and twice in a row in one of 400
        verdict, output = mounted('memory', 'memory', rounds=3)
        if verdict in ('same', 'undecided'):
            break
    assert verdict in ('same', 'undecided')
    assert 'No recorded difference' in output
