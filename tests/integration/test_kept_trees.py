"""A real ext4, measured fresh, then beside trees that stay, then without them: what compare and clean make of it."""

import re
import subprocess

import pytest

from local_site import LocalSite, trial

TRIAL = (
    trial(
        'EmptyFiles',
        '[posixops]',
        'type: posix, path: mount/trials',
        'bytes: 200MiB, inodes: 20000',
        more='files_per_task: 100, budget: 1s',
    )
    + '  - {checks: [KeptTrees], partitions: [local:default], file_systems: [scratch], nodes: [1], '
    'fullness: 70%}\n'
)
STEPS = """set -e
mount -o loop {image} {point}
mkdir -p {point}/trials
{run} --label=fresh EmptyFiles > {home}/fresh.out
{run} KeptTrees > {home}/cut.out 2>&1 &
session=$!
until ls {point}/trials/seatrial-*/data/aged.0/d3 > {home}/ways.out 2>&1; do sleep 0.1; done
kill -TERM $session
if wait $session; then exit 1; fi
df --output=pcent {point} > {home}/part.out
{run} KeptTrees > {home}/kept.out
touch {point}/trials/precious
{run} --label=aged EmptyFiles > {home}/aged.out &
session=$!
until ls {home}/state/locks/*.json > {home}/locks.out 2>&1; do sleep 0.1; done
if {clean} --yes > {home}/meanwhile.out; then exit 1; fi
ls {point}/trials > {home}/stayed.out
wait $session
{clean} --yes > {home}/clean.out
ls {point}/trials > {home}/left.out
"""


@pytest.mark.long
@pytest.mark.needs('unshare', 'mkfs.ext4', 'losetup')
def test_fresh_and_aged_are_compared_and_what_aged_it_goes_only_afterwards(tmp_path):
    site = LocalSite(tmp_path, TRIAL)
    point, image = tmp_path / 'mount', tmp_path / 'image'
    point.mkdir()
    with open(image, 'wb') as stream:
        stream.truncate(256 << 20)
    subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)
    if subprocess.run(['unshare', '--mount', 'mount', '-o', 'loop', image, point]).returncode:
        pytest.skip('this host lets nobody mount a file as a disk')
    run = ' '.join(site.argv('run', f'--checks={site.checks}'))
    clean = ' '.join(site.argv('clean'))
    script = STEPS.format(image=image, point=point, home=tmp_path, run=run, clean=clean)
    done = subprocess.run(['unshare', '--mount', 'sh', '-c', script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr

    def said(name):
        return (tmp_path / f'{name}.out').read_text()

    assert 'may measure beside it' in said('meanwhile') and 'removed' not in said('meanwhile')
    stayed = said('stayed').split()
    assert 'precious' in stayed and any(name.startswith('seatrial-') for name in stayed)
    assert said('clean').count('removed ') == 2 and said('left').split() == ['precious']
    compared = site.ask('compare', 'fresh', 'aged')
    full = re.search(r'scratch: (\d+) % full against (\d+) %', compared.stdout)
    part = int(re.search(r'\d+', said('part'))[0])
    # To the largest file of both tasks, which is 3 % of the file system each.
    assert full and int(full[1]) < 5 < part < 60 and 64 <= int(full[2]) <= 71, compared.stdout + compared.stderr
