"""Kernels of their own under load while the NFS server is stopped, or a mirror loses a disk and rebuilds it."""

import shutil
import signal
import sys
import time

import pytest

from kernel_lab import LAB, REPOSITORY, SEATRIAL, Running
from local_site import CHECK, PROBE, STALLS_S, metrics_of, until_acted
from slurm_lab import wait_for

pytestmark = [pytest.mark.long, pytest.mark.needs('linux.uml', 'slurmctld', 'rpc.nfsd')]
TRIAL = """
version: 1
state: {site}/state
engines: [posixops]
file_systems:
  storage: {{{storage}, limits: {{bytes: 1GiB, inodes: 1000}}}}
actions:
  away:
    start: {start}
    undo: {undo}
    check: {check}
    file_systems: [storage]
    timeout: 2min
partitions:
  lab:io:
    launcher: {{kind: srun, arguments: [--mpi=pmi2]}}
    tasks_per_node: 1
trials:
  - {{checks: [Away], partitions: [lab:io], file_systems: [storage], nodes: [{nodes}]}}
"""
REFERENCES = """
$seatrial: {{Away: {{acceptance: {{origin: baseline, date: 2026-11-22}}}}}}
Away:
  $index: [profile, $partition, file_system, layout, num_nodes]
  acceptance: {{lab:io: {{storage: {{default: {{{nodes}: {{outage@away: [{at_most}, null, 0.0, s]}}}}}}}}}}
"""
NFS = 'type: nfs, path: /mnt/nfs, mount: /mnt/nfs'
RUNNING = 'grep -q "^[1-9]" /proc/fs/nfsd/threads'
GRACE_S = 10  # ci/lab/node
MIRROR = """
modprobe dm-mod && modprobe raid1
for number in 0 1; do
    dmsetup create half$number --table "0 524288 linear /dev/ubda $((number * 524288))" && dmsetup mknodes
done
echo 20000 >/proc/sys/dev/raid/speed_limit_max  # KiB/s: 256 MiB take 13 s
export MDADM_NO_UDEV=1
mdadm --create /dev/md0 --run --level=1 --bitmap=none --raid-devices=2 --assume-clean /dev/mapper/half?
mkfs.ext4 -q /dev/md0 && mkdir -p /mnt/disk && mount /dev/md0 /mnt/disk
"""
LOSE = 'mdadm /dev/md0 --fail /dev/mapper/half1 && mdadm /dev/md0 --remove /dev/mapper/half1'
REBUILD = 'mdadm --zero-superblock /dev/mapper/half1; mdadm /dev/md0 --add /dev/mapper/half1 && mdadm --wait /dev/md0'
MIRRORED = 'grep -q "[[]UU[]]" /proc/mdstat'


class Site:
    """A site on ctl, whose action is of commands on a node."""

    def __init__(self, kernels, storage, node, start, undo, check, nodes=2, at_most=None, **course):
        self.kernels = kernels
        kernels.sites = getattr(kernels, 'sites', 0) + 1
        self.folder = kernels.shared / f'away{kernels.sites}'
        (self.folder / 'checks' / 'scenarios').mkdir(parents=True)
        (self.folder / 'checks' / 'scenarios' / 'away.py').write_text(CHECK.format(before_s=6, **course))
        shutil.copy(REPOSITORY / 'site-config' / 'lab' / 'settings.py', self.folder)
        on = [str(LAB), 'run', f'--dir={kernels.place / "lab"}', node, '--', 'sh', '-c']
        filled = TRIAL.format(
            site=self.folder, storage=storage, nodes=nodes, start=[*on, start], undo=[*on, undo], check=[*on, check]
        )
        (self.folder / 'trial.yaml').write_text(filled)
        if at_most is not None:
            (self.folder / 'references.yaml').write_text(REFERENCES.format(nodes=nodes, at_most=at_most))
        self.journal = self.folder / 'state' / 'actions' / 'storage.json'

    def begin(self):
        # ctl has the lab's /proc, in which no process of this machine is found.
        words = {'profile': 'acceptance', 'options': ['--destructive=storage']}
        return Running(self.kernels, self.folder, 'unshare', '--mount-proc', checks=self.folder / 'checks', **words)

    def clean(self, *words):
        argv = ['unshare', '--mount-proc', SEATRIAL, 'clean', f'--site={self.folder}']
        return self.kernels.lab('run', 'ctl', '--', *argv, *words)


@pytest.fixture
def probe(kernels):
    """Ends it, and says how long it was without an operation at most, in s."""
    done, output = kernels.shared / 'probe.done', kernels.shared / 'probe.said'
    for file in (done, output):
        file.unlink(missing_ok=True)
    script = kernels.shared / 'probe.py'
    script.write_text(PROBE)
    kernels.run('n2', 'sh', '-c', f'setsid {sys.executable} {script} {done} /mnt/nfs 1 >{output} 2>&1 &')

    def ended():
        done.touch()
        wait_for('the probe has ended', lambda: output.read_text().strip(), seconds=60)
        return float(output.read_text())

    yield ended
    done.touch()


@pytest.mark.parametrize(('action_s', 'at_most', 'status'), [(10, 8, 10), (30, 120, 0)])
def test_an_nfs_server_that_is_stopped_is_away_as_long_as_for_anybody_else(kernels, probe, action_s, at_most, status):
    site = Site(
        kernels, NFS, 'n1', 'rpc.nfsd 0', 'rpc.nfsd 4', RUNNING, action_s=action_s, after_s=40, at_most=at_most
    )
    ended = site.begin().ended()
    assert ended.status == status, ended.output
    figures = {name: metric.value for name, metric in metrics_of(ended.folder).items()}
    truth_s = probe()
    assert action_s <= truth_s <= action_s + GRACE_S + 5
    assert truth_s - 1 <= figures['outage'] <= truth_s + STALLS_S
    assert figures['errors'] == 0 and figures['verified'] > 50


def test_an_nfs_server_that_a_killed_session_leaves_stopped_is_started_by_clean(kernels):
    site = Site(kernels, NFS, 'n1', 'rpc.nfsd 0', 'rpc.nfsd 4', RUNNING, action_s=30, after_s=40)
    running = site.begin()
    until_acted(site.journal, running.process)
    time.sleep(5)
    running.process.send_signal(signal.SIGKILL)
    running.process.wait()
    assert kernels.lab('run', 'n1', '--', 'sh', '-c', RUNNING).returncode
    assert site.clean().stdout.startswith('the action away on storage is still in effect')
    undone = site.clean('--yes')
    kernels.run('ctl', 'scancel', '--user=root')
    assert 'undone: storage' in undone.stdout and not site.journal.exists(), undone.stdout + undone.stderr
    kernels.run('n1', 'sh', '-c', RUNNING)


@pytest.mark.needs('mdadm', 'dmsetup')
def test_a_mirror_that_loses_a_disk_and_rebuilds_it_loses_nothing_and_its_cost_is_a_ratio(kernels):
    if kernels.lab('run', 'n2', '--', 'modprobe', 'raid1').returncode:
        pytest.skip('the kernel of the nodes has no RAID 1')
    kernels.run('n2', 'sh', '-ec', MIRROR)
    try:
        storage = 'type: posix, path: /mnt/disk, mount: /mnt/disk'
        site = Site(kernels, storage, 'n2', LOSE, REBUILD, MIRRORED, nodes=1, action_s=10, after_s=20)
        ended = site.begin().ended()
        state = kernels.run('n2', 'cat', '/proc/mdstat')
    finally:
        kernels.new_disk('n2')
    figures = {name: metric.value for name, metric in metrics_of(ended.folder).items()}
    assert '[UU]' in state
    assert (figures['errors'], figures['verified'] > 50) == (0, True), ended.output
    assert figures['during_to_before'] > 0 and figures['after_to_before'] > 0
