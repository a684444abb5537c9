"""What is mounted where, in the form of proc(5), and what the site says of it."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem.mounts import Mount, mount_of, parse_mountinfo, read_mounts, same_storage, type_fault

TEXT = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 22 0:35 / /lustre/scratch rw,noatime - lustre 10.0.0.1@tcp:/scratch rw,flock
41 22 0:36 / /home/with\040space rw - nfs4 filer:/export/home rw,vers=4.2
42 22 0:37 / /projects rw - nfs4 filer:/export/projects rw,vers=4.2
43 22 0:38 / /gluster rw - fuse.glusterfs node1:/gv0 rw
garbage
"""
MOUNTS = list(parse_mountinfo(TEXT))
ROOT, LUSTRE, HOME, PROJECTS, GLUSTER = MOUNTS


def test_each_line_is_a_mount_with_its_escapes_undone():
    assert [mount.point for mount in MOUNTS] == ['/', '/lustre/scratch', '/home/with space', '/projects', '/gluster']
    assert Mount('/lustre/scratch', 'lustre', '10.0.0.1@tcp:/scratch', 'rw,noatime,flock') == LUSTRE
    assert LUSTRE.said() == '10.0.0.1@tcp:/scratch on /lustre/scratch type lustre (rw,noatime,flock)'


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


def test_of_mounts_over_each_other_the_last_is_seen():
    over = LUSTRE._replace(source='other:/fs')
    assert mount_of('/lustre/scratch', [*MOUNTS, over]) == over


def test_the_mounts_of_this_process_agree_with_the_device_of_the_root():
    root = mount_of('/', read_mounts())
    assert root is not None and root.point == '/' and os.path.ismount('/')


def test_an_empty_mount_point_is_not_the_file_system_that_the_site_says():
    assert type_fault('lustre', LUSTRE) is None
    assert type_fault('nfs', HOME) is None and type_fault('glusterfs', GLUSTER) is None
    assert 'it lies on /dev/vda on / type ext4' in (type_fault('lustre', ROOT) or '')
    assert type_fault('lustre', None) is not None


def test_any_file_system_can_be_called_posix():
    assert type_fault('posix', ROOT) is None and type_fault('posix', None) is None


def test_two_exports_of_one_nfs_server_are_one_storage():
    assert same_storage(HOME, PROJECTS)
    assert not same_storage(HOME, PROJECTS._replace(source='other:/export/projects'))


@pytest.mark.parametrize(
    ('one', 'other', 'same'),
    [
        ('10.0.2.15@tcp:/lustre', '10.0.2.15@tcp:/lustre', True),
        ('10.0.2.15@tcp:/lustre', '10.0.2.15@tcp:/lustre/home', True),
        ('10.0.2.15@tcp:/lustre/a', '10.0.2.15@tcp:/lustre/b', True),
        ('10.0.2.15@tcp:10.0.2.16@tcp:/lustre', '10.0.2.16@tcp:/lustre', True),
        ('10.0.2.15@o2ib,10.0.2.15@tcp:/lustre', '10.0.2.15@tcp0:/lustre', True),
        ('fe80::1@tcp:fe80::2@tcp:/lustre', 'fe80::2@tcp:/lustre', True),
        ('10.0.2.15@tcp:/lustre', '10.0.2.15@tcp:/scratch', False),
        ('10.0.2.15@tcp:/lustre', '10.0.2.15@tcp1:/lustre', False),
        ('10.0.2.15@tcp10:/lustre', '10.0.2.15@tcp1:/lustre', False),
        ('10.0.2.15@tcp:/lustre', '10.0.9.1@tcp:/lustre', False),
        ('0@lo:/lustre', '0@lo:/lustre', True),
        ('', '', False),
    ],
)
def test_one_lustre_has_many_sources(one, other, same):
    assert same_storage(LUSTRE._replace(source=one), LUSTRE._replace(source=other, point='/other')) is same


def test_two_mounts_of_one_device_are_one_storage_and_two_tmpfs_are_not():
    assert same_storage(ROOT, ROOT._replace(point='/var'))
    tmpfs = Mount('/tmp', 'tmpfs', 'tmpfs', 'rw')
    assert not same_storage(tmpfs, tmpfs._replace(point='/run'))
    assert not same_storage(ROOT, LUSTRE) and not same_storage(None, ROOT)


@given(st.text())
def test_any_text_gives_mounts_or_none(text):
    assert all(isinstance(mount, Mount) for mount in parse_mountinfo(text))
