"""What is mounted where, in the form of proc(5)."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem.mounts import Mount, mount_of, parse_mountinfo, read_mounts

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


@given(st.text())
def test_any_text_gives_mounts_or_none(text):
    assert all(isinstance(mount, Mount) for mount in parse_mountinfo(text))
