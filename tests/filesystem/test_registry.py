"""File-system types and the mount table: an unregistered type, or a mount of another type, is refused."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem.base import LayoutError, may_block_s, type_fault
from seatrial.filesystem.lustre.layout import striped
from seatrial.filesystem.mounts import Mount, mount_of, parse_mountinfo, read_mounts
from seatrial.filesystem.posix import Mounted
from seatrial.filesystem.registry import DRIVERS, TYPES, by_type, same_storage, type_of
from seatrial.model.layout import Layout
from seatrial.model.telemetry import BEFORE

# In the form of proc(5).
TEXT = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 22 0:35 / /lustre/scratch rw,noatime - lustre 10.0.0.1@tcp:/scratch rw,flock
41 22 0:36 / /home/with\040space rw - nfs4 filer:/export/home rw,vers=4.2
42 22 0:37 / /projects rw - nfs4 filer:/export/projects rw,vers=4.2
43 22 0:38 / /gluster rw - fuse.glusterfs node1:/gv0 rw
garbage
"""
MOUNTS = list(parse_mountinfo(TEXT))
ROOT, LUSTRE, HOME, PROJECTS, GLUSTER = MOUNTS


def test_an_unknown_type_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'ext5' is not a file-system type; it can be posix, lustre, gpfs, beegfs, "):
        by_type('ext5')
    assert [by_type(name).name for name in TYPES] == list(dict.fromkeys(TYPES)) == [driver.name for driver in DRIVERS]


class Weka(Mounted):
    """A new type without kernel types."""

    name = 'weka'


def test_a_type_that_declares_no_kernel_types_accepts_no_directory():
    for mount in (ROOT, LUSTRE, ROOT._replace(type='wekafs'), None):
        assert (type_fault(Weka(), mount) or '').startswith('trial.yaml says type weka, but ')
    assert Weka().tried == '' and Weka().no_layout


@pytest.mark.parametrize('driver', DRIVERS, ids=lambda driver: driver.name)
def test_only_posix_accepts_a_mount_of_any_type(driver):
    for mount in (ROOT, ROOT._replace(type='newfs'), None):
        assert (type_fault(driver, mount) is None) == (driver.name == 'posix')
    for kernel_type in driver.kernel_types:
        assert type_fault(driver, ROOT._replace(type=kernel_type)) is None
        assert type_of(ROOT._replace(type=kernel_type)) == driver.name
    assert type_of(ROOT) is type_of(ROOT._replace(type='fuse.sshfs')) is None


@pytest.mark.parametrize('driver', DRIVERS, ids=lambda driver: driver.name)
def test_a_driver_declares_exactly_the_abilities_that_it_implements(driver):
    assert driver.recovery_source and driver.recovery_limit_s > 0 and driver.sources
    assert bool(driver.tried) == bool(driver.tried_on)
    assert bool(driver.kernel_types) == (driver.name != 'posix')
    methods = {'layouts': ('_set_layout',), 'targets': ('_targets', 'targets'), 'request sizes': ('rpc_sizes',)}
    for word, names in methods.items():
        overridden = any(getattr(type(driver), name) is not getattr(Mounted, name) for name in names)
        assert (word in driver.can) == overridden
    assert ('layouts' in driver.can) == (driver.no_layout == '')
    assert not driver.no_layout or driver.no_layout.startswith('no layout: ')
    assert driver.name == 'lustre' or driver.reach('/mnt', Layout(), 1) is None


@pytest.mark.parametrize('type', TYPES)
def test_a_mount_that_does_not_answer_has_no_byte_counts_and_no_request_sizes(type, monkeypatch):
    for module in ('posix', 'nfs', 'glusterfs', 'ceph', 'lustre.driver'):
        monkeypatch.setattr(f'seatrial.filesystem.{module}.look', lambda path: (None, 'it does not answer'))
    meter, sizes = by_type(type).meter('/mnt'), by_type(type).rpc_sizes('/mnt', BEFORE)
    assert meter.why_not == 'it does not answer' and meter.look(1.0) == {}
    assert (sizes.when, sizes.sizes) == (BEFORE, ()) and (type in sizes.why_not or type == 'lustre')


@pytest.mark.parametrize(
    ('mount', 'limit_s'),
    [(ROOT, 0.0), (ROOT._replace(type='tmpfs'), 0.0), (None, 0.0), (ROOT._replace(type='wekafs'), 300.0)],
)
def test_a_mount_of_an_unknown_kernel_type_may_block_for_300_s(mount, limit_s):
    assert may_block_s(by_type('posix'), mount) == limit_s


@pytest.mark.parametrize(
    ('type', 'settings', 'words'),
    [
        ('cephfs', {'stripe_unit': '100000B'}, "stripe_unit: '100000B' is not a stripe unit; write a multiple of 64"),
        ('cephfs', {'stripe_unit': '16MiB'}, 'stripe_unit: 16M does not divide objects of 4M; write another object'),
        ('cephfs', {'stripe_unit': '3MiB', 'object_size': '4MiB'}, 'stripe_unit: 3M does not divide the object size'),
        ('cephfs', {'object_size': '4GiB'}, "object_size: '4GiB' is not an object size"),
        ('cephfs', {'stripe_count': 0}, 'stripe_count: 0 is not a stripe count; write 1 to 4294967295'),
        ('cephfs', {'stripe_count': -1}, 'stripe_count: -1 is not a stripe count'),
        ('cephfs', {'pool': 'a b'}, "pool: 'a b' cannot be a pool's name here"),
        ('cephfs', {'stripe_size': '1MiB'}, 'stripe_size: unknown key'),
        ('beegfs', {'stripe_size': '96KiB'}, "stripe_size: '96KiB' is not a chunk size; write a power of two from"),
        ('beegfs', {'stripe_count': 0}, 'stripe_count: 0 is not a number of storage targets'),
        ('beegfs', {'mirrored': False}, 'mirrored: false is not true; leave it out'),
        ('beegfs', {'pool': 'flash'}, "pool: 'flash' is not a storage pool's number"),
        ('orangefs', {'stripe_count': 0}, 'stripe_count: 0 is not a number of servers'),
        ('posix', {'stripe_count': 2}, 'no layout can be set on posix; remove it'),
    ],
)
def test_a_layout_that_a_type_does_not_support_is_refused_with_a_sentence(type, settings, words):
    with pytest.raises(LayoutError) as error:
        by_type(type).layout('wrong', settings)
    assert str(error.value).startswith(words)


def test_a_layout_of_another_type_is_refused():
    foreign = striped('wide', 2)._replace(type='cephfs')
    fault = by_type('lustre').layout_fault(foreign, '/lustre')
    assert fault == "the layout 'wide' cannot be set on a file system of type lustre: it is one of cephfs"


FSID = 'b3acfc0d-575f-41d3-9c91-0e7ed3dbb3fa'


@pytest.mark.parametrize(
    ('type', 'one', 'other', 'same'),
    [
        ('lustre', '10.0.2.15@tcp:/lustre/a', '10.0.2.15@tcp:/lustre/b', True),
        ('lustre', '10.0.2.15@tcp:10.0.2.16@tcp:/lustre', '10.0.2.16@tcp:/lustre', True),
        ('lustre', '10.0.2.15@o2ib,10.0.2.15@tcp:/lustre', '10.0.2.15@tcp0:/lustre', True),
        ('lustre', 'fe80::1@tcp:fe80::2@tcp:/lustre', 'fe80::2@tcp:/lustre', True),
        ('lustre', '10.0.2.15@tcp:/lustre', '10.0.2.15@tcp:/scratch', False),
        ('lustre', '10.0.2.15@tcp:/lustre', '10.0.2.15@tcp1:/lustre', False),
        ('lustre', '10.0.2.15@tcp10:/lustre', '10.0.2.15@tcp1:/lustre', False),
        ('lustre', '10.0.2.15@tcp:/lustre', '10.0.9.1@tcp:/lustre', False),
        ('lustre', '0@lo:/lustre', '0@lo:/lustre', True),
        ('lustre', '', '', False),
        ('ceph', '10.0.0.1:6789:/', '10.0.0.1:6789:/home', True),
        ('ceph', '10.0.0.1:6789,10.0.0.2:6789:/', '10.0.0.2:6789:/', True),
        ('ceph', '10.0.0.1:6789:/', '10.0.0.3:6789:/', False),
        ('ceph', f'admin@{FSID}.a=/', f'user@{FSID}.b=/x', True),
        ('ceph', f'admin@{FSID}.a=/', f'admin@00000000{FSID[8:]}.a=/', False),
        ('ceph', 'ceph-fuse', 'ceph-fuse', False),
        ('nfs4', 'filer:/export/home', 'filer:/export/projects', True),
        ('nfs4', 'filer:/export/home', 'other:/export/projects', False),
        ('gpfs', 'cap_one', '/dev/cap_one', True),
        ('gpfs', 'cap_one', 'perf_one', False),
        ('ext4', '/dev/vda', '/dev/vda', True),
        ('tmpfs', 'tmpfs', 'tmpfs', False),
    ],
)
def test_two_sources_name_the_same_storage_only_if_type_server_and_file_system_agree(type, one, other, same):
    mount = Mount('/one', type, one, 'rw')
    assert same_storage(mount, mount._replace(source=other, point='/other')) is same


def test_mounts_of_different_types_and_a_missing_mount_are_not_the_same_storage():
    assert not same_storage(ROOT, LUSTRE) and not same_storage(None, ROOT)


# The mount table


def test_each_line_is_a_mount_with_its_escapes_decoded():
    assert [mount.point for mount in MOUNTS] == ['/', '/lustre/scratch', '/home/with space', '/projects', '/gluster']
    assert Mount('/lustre/scratch', 'lustre', '10.0.0.1@tcp:/scratch', 'rw,noatime,flock') == LUSTRE
    assert LUSTRE.description() == '10.0.0.1@tcp:/scratch on /lustre/scratch type lustre (rw,noatime,flock)'


@pytest.mark.parametrize(
    ('path', 'mount'),
    [
        ('/lustre/scratch', LUSTRE),
        ('/lustre/scratch/a/b', LUSTRE),
        ('/lustre/scratch2', ROOT),
        ('/lustre', ROOT),
        ('/', ROOT),
        ('/home/with space/x', HOME),
    ],
)
def test_a_path_lies_on_the_longest_mount_above_it(path, mount):
    assert mount_of(path, MOUNTS) == mount


def test_the_last_of_several_mounts_on_one_directory_is_used():
    over = LUSTRE._replace(source='other:/fs')
    assert mount_of('/lustre/scratch', [*MOUNTS, over]) == over


def test_the_mount_table_of_this_process_has_the_root():
    root = mount_of('/', read_mounts())
    assert root is not None and root.point == '/' and os.path.ismount('/')


@pytest.mark.parametrize('end', ['', ' '], ids=['nothing', 'an empty field'])
def test_a_mount_without_file_system_options_is_read(end):
    mounts = parse_mountinfo(f'50 22 0:50 / / rw - ext4 /dev/sda\n51 22 0:51 / /data rw,noatime - tmpfs none{end}\n')
    assert mount_of('/data/x', mounts) == Mount('/data', 'tmpfs', 'none', 'rw,noatime')


@given(st.text())
def test_any_text_gives_mounts_or_nothing(text):
    assert all(isinstance(mount, Mount) for mount in parse_mountinfo(text))
