"""NFS between kernels of their own: what is cold, what expires, what is promised, and what a dead server does."""

import sys
import time

import pytest

from kernel_lab import NODES
from seatrial.job.sequence.recorder import records_in
from seatrial.job.sequence.telemetry import telemetry_in
from seatrial.judge.traffic import STALL, traffic
from slurm_lab import wait_for

pytestmark = pytest.mark.needs('linux.uml', 'slurmctld', 'rpc.nfsd', 'fio')
MIB = 1 << 20
FETCH = """
from seatrial.filesystem.registry import by_type
before = by_type('nfs').fetched_bytes('{mount}')
open('{mount}/cold', 'rb').read()
print(by_type('nfs').fetched_bytes('{mount}') - before)
"""
REPLACE = """
exportfs -ua && exportfs -f
for try in $(seq 50); do umount /srv/export && break; sleep 0.2; done
mkfs.ext4 -q -F /dev/ubda && mount /dev/ubda /srv/export && chmod 1777 /srv/export
exportfs -i -o rw,no_root_squash,fsid=0,insecure 10.77.1.0/24:/srv/export
"""
READER = """
import os, time
size, began = os.stat('{path}').st_size, time.monotonic()
open('{ready}', 'w').close()
while os.stat('{path}').st_size == size and time.monotonic() < began + 30:
    time.sleep(0.05)
print(size, time.monotonic() - began)
"""
WRITER = """
import os, time
while not os.path.exists('{ready}'):
    time.sleep(0.05)
with open('{path}', 'a') as stream:
    stream.write('more')
"""


class TestNodes:
    def test_each_is_a_kernel_of_its_own(self, kernels):
        boots = {kernels.run(node, 'cat', '/proc/sys/kernel/random/boot_id') for node in NODES}
        assert len(boots) == len(NODES)
        assert [kernels.run(node, 'hostname').strip() for node in NODES] == list(NODES)

    def test_slurm_reaches_them_all(self, kernels):
        said = kernels.run('ctl', 'srun', '-N3', 'sh', '-c', 'echo $(hostname) $SLURM_PROCID')
        assert sorted(said.split()[::2]) == list(NODES)

    def test_what_a_node_writes_outside_of_the_shared_folders_stays_in_its_memory(self, kernels):
        place = kernels.place / 'elsewhere'
        kernels.run('n2', 'sh', '-c', f'echo mine > {place} && cat {place}')
        assert not place.exists()
        kernels.run('n2', 'sh', '-c', f'echo ours > {kernels.shared}/seen')
        assert (kernels.shared / 'seen').read_text() == 'ours\n'
        assert kernels.run('n3', 'cat', f'{kernels.shared}/seen') == 'ours\n'

    def test_the_exit_code_of_a_command_is_its_own(self, kernels):
        assert kernels.lab('run', 'n3', '--', 'sh', '-c', 'exit 7').returncode == 7
        assert kernels.lab('run', 'n3', '--', '/no/such/program').returncode == 127
        assert kernels.lab('run', 'n9', '--', 'true').returncode == 64


class TestNfs:
    @pytest.mark.parametrize('mount', ['/mnt/nfs', '/mnt/nfs3'], ids=['4.2', '3'])
    def test_a_read_is_cold_where_another_node_wrote_and_cached_the_second_time(self, kernels, mount):
        kernels.run('n2', 'dd', 'if=/dev/zero', f'of={mount}/cold', 'bs=1M', 'count=16', 'conv=fsync')
        fetch = FETCH.format(mount=mount)
        first, second = (int(kernels.run('n3', sys.executable, '-c', fetch)) for _ in range(2))
        assert 16 * MIB <= first < 18 * MIB
        assert second == 0

    def test_attributes_expire_after_acregmin(self, kernels):
        """Another node's new size is not seen before, and is seen soon after (nfs(5), acregmin)."""
        kernels.run(
            'n2', 'sh', '-c', 'mkdir -p /mnt/n5 && mount -t nfs -o vers=4.2,acregmin=5,acregmax=5 n1:/ /mnt/n5'
        )
        kernels.run('n3', 'sh', '-c', 'echo > /mnt/nfs/aged')
        ready, reader, writer = (kernels.shared / name for name in ('ready', 'reader.py', 'writer.py'))
        reader.write_text(READER.format(path='/mnt/n5/aged', ready=ready))
        writer.write_text(WRITER.format(path='/mnt/nfs/aged', ready=ready))
        both = f'srun -w n3 {sys.executable} {writer} & srun -w n2 {sys.executable} {reader}; wait'
        size, seconds = kernels.run('ctl', 'sh', '-c', both).split()
        assert size == '1'
        assert 4.0 <= float(seconds) <= 8.0


def test_a_smoke_session_on_two_clients_passes_with_every_state_of_the_cache_right(kernels):
    """In one test, because one session is long. Guarantees: close-to-open (nfs(5)): what was written is read after a
    close and an open, and not always before."""
    checks = ('MultipleFilesTransferSizes', 'SmallFiles', 'AttributeCache', 'PosixSemantics')
    smoke = kernels.begin(', '.join(checks), files_per_task='50', bytes_per_task='128MiB').ended()
    assert smoke.status == 0, smoke.said
    assert {check: case['verdict'] for check, case in smoke.cases.items()} == dict.fromkeys(checks, 'MEASURED')

    reads = [each for each in smoke.samples('MultipleFilesTransferSizes') if each['phase'] == 'read']
    fetched = [(each['cache'], each['storage_read_bytes'] / each['measurement']['bytes_moved']) for each in reads]
    assert fetched and all(cache == 'cold' and 1 <= share < 1.2 for cache, share in fetched)
    asked = [each for each in smoke.samples('SmallFiles') if each['phase'] in ('stat', 'read')]
    assert {each['cache'] for each in asked} == {'cold'}

    (sample,) = smoke.samples('PosixSemantics')
    holds = {fact['name']: fact['holds'] for fact in sample['measurement']['facts']}
    promised = 'read_after_close', 'append', 'exclusive_create', 'rename_without_gap', 'flock', 'fcntl_lock'
    assert [holds[name] for name in promised] == [True] * len(promised)
    assert holds['read_before_close'] is False


def begun(kernels, **more):
    """A session on one or two clients, once it measures."""
    running = kernels.begin('MultipleFilesTransferSizes', bytes_per_task='256MiB', **more)
    wait_for('it measures', running.launches)
    time.sleep(1)
    return running


def written(kernels):
    """MiB that the server has of what is measured."""
    return int(kernels.run('n1', 'sh', '-c', 'du -cm /srv/export/seatrial-*/data | tail -1').split()[0])


class TestFailures:
    def test_a_server_that_stands_still_is_waited_for_and_its_stall_is_seen(self, kernels):
        running = kernels.begin('MultipleFilesTransferSizes', bytes_per_task='256MiB', nodes=1)
        wait_for('it measures', running.launches)
        wait_for('it writes', lambda: written(kernels) > 16, seconds=60)
        kernels.signal('STOP', 'n1')
        try:
            time.sleep(20)
        finally:
            kernels.signal('CONT', 'n1')
        ended = running.ended()
        assert ended.status == 0, ended.said
        (case,) = ended.folder.glob('cases/*')
        samples = records_in(str(case)).samples
        pauses = traffic(telemetry_in(str(case)), samples).pauses
        stalls = [pause.seconds for pause in pauses if pause.kind == STALL and pause.seconds > 10]
        between = [each for sample in samples for each in sample.findings if each.rule == 'P17b']
        assert stalls or between  # in a launch, or between two
        assert all(17 <= seconds <= 27 for seconds in stalls)

    @pytest.mark.long
    def test_a_client_whose_network_is_cut_goes_on_where_it_was(self, kernels):
        running = begun(kernels, nodes=1)
        kernels.run('ctl', 'ip', 'link', 'set', 'n2', 'nomaster')
        try:
            time.sleep(15)
        finally:
            kernels.run('ctl', 'ip', 'link', 'set', 'n2', 'master', 'br0')
        ended = running.ended()
        assert ended.status == 0

    @pytest.mark.long
    def test_a_server_that_is_started_again_has_lost_nothing(self, kernels):
        """Its clients send again what it had not yet on its disk, after its grace period (RFC 8881, 8.4.2)."""
        running = begun(kernels, nodes=1)
        kernels.signal('KILL', 'n1')
        kernels.up()
        ended = running.ended()
        assert ended.status == 0, ended.said

    @pytest.mark.long
    def test_an_export_that_was_replaced_is_a_stale_file_handle_and_gives_no_figure(self, kernels):
        running = begun(kernels, nodes=1)
        try:
            kernels.run('n1', 'sh', '-c', REPLACE)
            ended = running.ended()
        finally:
            for node in NODES:
                kernels.signal('KILL', node)
            kernels.up()
        assert ended.status in (11, 13) and 'tale file handle' in ended.said, ended.said

    @pytest.mark.long
    @pytest.mark.parametrize('signal', ['STOP', 'KILL'])
    def test_a_client_that_dies_is_named(self, kernels, signal):
        running = begun(kernels)
        kernels.signal(signal, 'n3')
        try:
            ended = running.ended()
        finally:
            kernels.up()
        assert ended.status in (11, 13) and 'n3 is down now' in ended.said


DISK = """
insmod $(find /usr/lib/uml/modules -name dm-mod.ko)
size=$(blockdev --getsz /dev/ubda)
dmsetup create disk --table "0 $size linear /dev/ubda 0" && dmsetup mknodes
mkfs.ext4 -q -m 0 /dev/mapper/disk 3G && mkdir -p /mnt/disk && mount -o errors=remount-ro /dev/mapper/disk /mnt/disk
"""
ERRORS = {
    'read-only file system': 'echo 1 >/sys/fs/ext4/dm-0/trigger_fs_error',
    'No space left on device': """
end=$(($(date +%s) + 20))
while [ $(date +%s) -lt $end ]; do
    for size in 64M 1M; do
        while number=$((number + 1)) && fallocate -l $size /mnt/disk/filled$number; do :; done
    done
done 2>/dev/null
""",
}


@pytest.mark.long
class TestErrorsOfTheDevice:
    @pytest.mark.parametrize('error', ERRORS)
    def test_what_the_kernel_says_is_said_and_no_figure_is_given(self, kernels, error):
        kernels.run('n2', 'sh', '-ec', DISK)
        try:
            running = begun(kernels, on='disk', nodes=1)
            kernels.lab('run', 'n2', '--', 'sh', '-c', ERRORS[error])
            ended = running.ended()
        finally:
            kernels.signal('KILL', 'n2')
            (kernels.place / 'lab' / 'state' / 'n2.disk').unlink()
            kernels.up()
        assert ended.status in (11, 13) and error in ended.said
