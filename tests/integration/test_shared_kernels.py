"""CephFS, OCFS2, HDFS and OpenAFS between kernels of their own: what is cold, and what holds between two clients."""

import json
import re
import subprocess
import sys
import time

import pytest

from fuse_lab import CEPH
from kernel_lab import untried

pytestmark = [pytest.mark.needs('linux.uml', 'slurmctld', 'fio'), pytest.mark.long]
CLIENTS = ('n2', 'n3')
CHECKS = ('MultipleFilesTransferSizes', 'SmallFiles', 'PosixSemantics')
READ = 'SingleFileWholeAccess'
MIB = 1 << 20
MOUNT_CEPH = """
mkdir -p /mnt/ceph /mnt/fuse /run/ceph
mount -i -t ceph 10.77.1.254:/ /mnt/ceph -o name=admin
modprobe fuse
ceph-fuse -c {conf} --admin-socket=/run/ceph/client.asok /mnt/fuse
"""
SET = """
from seatrial.filesystem.registry import by_type
ceph = by_type('cephfs')
layout = ceph.layout('wide', {'stripe_count': 2, 'stripe_unit': '64KiB', 'object_size': '1MiB'})
assert ceph.set_layout('/mnt/ceph/wide', layout) is None
"""
SEEN = """
from seatrial.filesystem.registry import by_type
ceph = by_type('cephfs')
same, other = (ceph.layout('wide', {'stripe_count': 2, 'object_size': size}) for size in ('1MiB', '2MiB'))
assert ceph.granted('/mnt/ceph/wide/file', same).differs is None
assert 'object_size=1048576' in ceph.granted('/mnt/ceph/wide/file', other).differs
print(ceph.quota('/mnt/ceph/wide').bytes, ceph.state('/mnt/ceph/wide')['default layout'])
"""
EMPTY = """
from seatrial.filesystem.registry import by_type
assert by_type('{type}').empty_client_cache('{mount}') is None
"""
FETCH = """
from seatrial.filesystem.registry import by_type
before = by_type('ocfs2').exchanged('/mnt/ocfs2').fetched
open('/mnt/ocfs2/cold', 'rb').read()
print(by_type('ocfs2').exchanged('/mnt/ocfs2').fetched - before)
"""


@pytest.fixture(scope='class')
def osds(kernels):
    """Of a CephFS that n2 and n3 have mounted, by the kernel's client and by ceph-fuse: bytes read from its OSDs."""
    place = kernels.place / 'ceph'

    def read():
        raw = [CEPH.run('ceph', place, 'tell', f'osd.{number}', 'perf', 'dump', 'osd').stdout for number in range(3)]
        return sum(json.loads(output)['osd']['op_r_out_bytes'] for output in raw)

    with CEPH.made(place, '--kernels', str(kernels.place / 'lab')):
        try:
            for node in CLIENTS:
                kernels.run(node, 'sh', '-ec', MOUNT_CEPH.format(conf=place / 'state' / 'ceph.conf'))
            yield read
        finally:
            for node in CLIENTS:
                kernels.run(node, 'umount', '/mnt/ceph', '/mnt/fuse')


@pytest.fixture(scope='class')
def ocfs2(kernels, repository):
    """OCFS2 on the disk that n2 and n3 share."""
    for node in CLIENTS:
        kernels.run(node, str(repository / 'ci' / 'lab' / 'ocfs2'))
    yield
    for node in CLIENTS:
        kernels.run(node, 'umount', '/mnt/ocfs2')


@pytest.fixture(scope='module')
def hdfs(kernels, repository):
    """Makes it anew with so many replicas; the folder of its data nodes."""

    def make(replicas):
        argv = [str(repository / 'ci' / 'lab' / 'hdfs'), str(replicas), str(kernels.place / 'lab')]
        made = subprocess.run(argv, capture_output=True, text=True, timeout=300)
        assert made.returncode == 0, made.stderr
        return kernels.place / 'lab' / 'state' / 'hdfs'

    yield make
    for node in CLIENTS:
        kernels.run(node, 'umount', '/mnt/hdfs')


@pytest.fixture(scope='module')
def afs(kernels, repository):
    """A server on n1, mounted on n2 and n3."""
    for node in ('n1', *CLIENTS):
        kernels.run(node, str(repository / 'ci' / 'lab' / 'afs'))
    yield
    for node in CLIENTS:
        kernels.run(node, 'umount', '-l', '/mnt/afs')


def passed(kernels, on):
    """A smoke session on two clients of which every case has passed; what was seen of guarantees that do not hold."""
    smoke = kernels.begin(', '.join(CHECKS), on=on, files_per_task='50', bytes_per_task='128MiB').ended(1200)
    assert smoke.status == 0, smoke.output
    assert {check: case['verdict'] for check, case in smoke.cases.items()} == dict.fromkeys(CHECKS, 'MEASURED')
    (sample,) = smoke.samples('PosixSemantics')
    return smoke, {fact['name']: fact['seen'] for fact in sample['measurement']['facts'] if fact['holds'] is False}


def states(smoke, check, *phases):
    return {sample['cache'] for sample in smoke.samples(check) if sample['phase'] in phases}


OF_CEPH_FUSE = 'permissions', 'fifo_permissions', 'sticky_directories', 'times_after_2038'
"""Counts of links after renames are right where two clients watch the directories."""


@pytest.mark.needs('ceph-osd', 'ceph-fuse')
class TestCephFs:
    @pytest.mark.parametrize('mount', ['/mnt/ceph', '/mnt/fuse'], ids=['kernel', 'ceph-fuse'])
    def test_a_read_is_cold_after_another_node_wrote_then_cached_then_cold_once_emptied(self, kernels, osds, mount):
        """Once nobody wants to write any more, which the writer's client still does for a while after close(2)."""

        def fetched(before=''):
            kernels.run('n3', sys.executable, '-c', before)
            count = osds()
            kernels.run('n3', 'dd', f'if={mount}/cold', 'of=/dev/null', 'bs=1M')
            return osds() - count

        kernels.run('n2', 'dd', 'if=/dev/zero', f'of={mount}/cold', 'bs=1M', 'count=16', 'conv=fsync')
        assert 16 * MIB <= fetched() < 17 * MIB
        latest = time.monotonic() + 120
        while fetched() >= MIB / 16:  # the metadata server reads there too
            assert time.monotonic() < latest
        assert 16 * MIB <= fetched(EMPTY.format(type='cephfs', mount=mount)) < 17 * MIB

    def test_the_kernels_client_sets_a_layout_and_a_quota_and_another_node_reads_them_back(self, kernels, osds):
        kernels.run('n2', 'mkdir', '/mnt/ceph/wide')
        kernels.run('n2', sys.executable, '-c', SET)
        kernels.run('n2', 'setfattr', '-n', 'ceph.quota.max_bytes', '-v', str(8 * MIB), '/mnt/ceph/wide')
        kernels.run('n3', 'dd', 'if=/dev/zero', 'of=/mnt/ceph/wide/file', 'bs=1M', 'count=1', 'conv=fsync')
        left, *layout = kernels.run('n3', sys.executable, '-c', SEEN).split()
        assert 'stripe_unit=65536' in layout and 'stripe_count=2' in layout
        assert 7 * MIB <= int(left) <= 8 * MIB

    def test_a_session_by_ceph_fuse_passes_and_its_counters_prove_that_reads_are_cold(self, kernels, osds):
        smoke, broken = passed(kernels, 'fuse')
        assert broken.keys() - {'append_at_once'} == {'sparse_files', *OF_CEPH_FUSE}
        between_users = [broken[name] for name in OF_CEPH_FUSE[:3]]
        assert all(re.search(r'\w\(.* user 6100[01].*(EACCES|EPERM)', seen) for seen in between_users), between_users
        reads = [sample for sample in smoke.samples(CHECKS[0]) if sample['phase'] == 'read']
        fetched = [(read['cache'], read['storage_read_bytes'] / read['measurement']['bytes_moved']) for read in reads]
        assert fetched and all(cache == 'cold' and 0.95 <= share < 1.2 for cache, share in fetched)
        assert states(smoke, 'SmallFiles', 'stat', 'read') == {'cold'}

    def test_what_one_client_of_ceph_fuse_reads_after_it_wrote_is_called_cached(self, kernels, osds):
        """Valid or not: out of memory it can be too short for the clock (T19)."""
        smoke = kernels.begin(CHECKS[0], on='kept', nodes=1, bytes_per_task='128MiB').ended()
        assert states(smoke, CHECKS[0], 'read') == {'cached'}

    def test_a_session_by_the_kernels_client_passes_and_calls_no_data_cold_that_it_cannot_count(self, kernels, osds):
        """This kernel has no debugfs, and so no counters."""
        smoke, broken = passed(kernels, 'ceph')
        # Whether two appends meet is chance; which of the others are its servers' doing is not known.
        assert broken.keys() - {'append_at_once', *OF_CEPH_FUSE} == {'sparse_files', 'fallocate'}
        assert states(smoke, CHECKS[0], 'read') == {'unknown'}
        assert states(smoke, 'SmallFiles', 'stat') == {'cold'}


@pytest.mark.needs('mkfs.ocfs2')
class TestOcfs2:
    def test_a_read_is_cold_after_another_node_wrote_then_cached_then_cold_once_emptied(self, kernels, ocfs2):
        kernels.run('n2', 'dd', 'if=/dev/zero', 'of=/mnt/ocfs2/cold', 'bs=1M', 'count=16', 'conv=fsync')
        empty = EMPTY.format(type='ocfs2', mount='/mnt/ocfs2')
        fetched = [int(kernels.run('n3', sys.executable, '-c', more + FETCH)) for more in ('', '', empty)]
        assert [round(size / MIB) for size in fetched] == [16, 0, 16]  # o2cb reads some sectors as a heartbeat

    def test_a_session_passes_and_the_disks_counters_prove_that_reads_are_cold(self, kernels, ocfs2):
        smoke, broken = passed(kernels, 'ocfs2')
        assert broken.keys() - {'append_at_once'} == {
            'fcntl_lock'
        }  # o2cb carries flock(2) between nodes, and not fcntl(2)
        assert states(smoke, CHECKS[0], 'read') == {'cold'}
        assert states(smoke, 'SmallFiles', 'stat', 'read') == {'cold'}

    def test_integrity_holds_and_writers_that_no_lock_keeps_apart_are_not_tried(self, kernels, ocfs2):
        smoke = kernels.begin('Integrity', on='ocfs2').ended()
        assert smoke.status == 0 and untried(smoke) == {'locked_writers'}, smoke.output


UNTIL_REPORTED = 'until dd if=/dev/urandom of=/mnt/hdfs/file bs=1M count=4 conv=fsync; do sleep 1; done'
"""A file of one replica is closed only after its data node has reported it; rclone 1.60 calls "not yet" EIO."""


@pytest.mark.needs('java', 'mvn', 'rclone')
class TestHdfs:
    def test_sessions_of_small_files_and_of_reads_pass_and_what_it_does_not_guarantee_is_said(self, kernels, hdfs):
        hdfs(2)
        kernels.run('n2', 'sh', '-c', UNTIL_REPORTED)
        checks = 'SmallFiles, PosixSemantics'
        smoke = kernels.begin(checks, on='hdfs', engines='posixops', files_per_task='50').ended(1200)
        assert smoke.status == 0, smoke.output
        (sample,) = smoke.samples('PosixSemantics')
        broken = {fact['name'] for fact in sample['measurement']['facts'] if fact['holds'] is False}
        assert {'overwrite_in_place', 'append', 'untar', 'mmap_shared', 'chmod', 'chown'} <= broken
        assert not broken & {'read_after_close', 'rename_over', 'fsync_and_rename'}
        reads = kernels.begin(READ, on='hdfs', nodes=1, engines='dd', bytes_per_task='32MiB').ended()
        assert reads.status == 0, reads.output
        assert states(reads, READ, 'read') == {'unknown'}


@pytest.mark.needs('afsd.fuse', 'vos')
class TestOpenAfs:
    def test_another_node_reads_what_one_has_closed_and_a_session_of_root_is_refused(self, kernels, afs):
        """Without Kerberos all that is made belongs to nobody (32766), as behind a root squash."""
        kernels.run('n2', 'dd', 'if=/dev/urandom', 'of=/mnt/afs/file', 'bs=1M', 'count=4')
        one, other = (kernels.run(node, 'md5sum', '/mnt/afs/file') for node in CLIENTS)
        assert one == other
        refused = kernels.begin('SmallFiles', on='afs', files_per_task='50').ended()
        assert refused.status == 13 and 'the file system gave it to uid 32766' in refused.output, refused.output
