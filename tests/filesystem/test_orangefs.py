"""OrangeFS, by outputs of a real 2.10: FUSE, and the kernel's client."""

import errno
import os
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem import orangefs
from seatrial.filesystem.base import NoAnswer, type_fault
from seatrial.filesystem.lustre.layout import striped
from seatrial.filesystem.mounts import parse_mountinfo
from seatrial.filesystem.registry import by_type, same_storage, type_of
from seatrial.model.layout import Layout
from transcript import transcripts

FUSE, KERNEL = dict(transcripts('orangefs')['fuse-2.10']), transcripts('orangefs')['kernel-2.10']
LAST = '   tcp://127.0.0.1:3336 FAILURE: PVFS_mgmt_noop failed for server: tcp://127.0.0.1:3336\n'
FUSE['first-down.out'] = FUSE['down-ping-of-metadata.out'].replace(LAST, '').replace('3335 Ok', '3335 Failure!')
(BY_FUSE,) = parse_mountinfo(FUSE['mountinfo.out'])
(BY_KERNEL,) = parse_mountinfo(KERNEL['kernel-mount.out'])
DRIVER = by_type('orangefs')

PROGRAM = """#!{python} -IS
import os, sys
if os.path.basename(sys.argv[0]) == 'pvfs2-ping':
    print({ping!r}, end='')
    sys.exit(253 if 'FAIL' in {ping!r}.upper() else 0)
print('dist_name = simple_stripe\\ndist_params:\\nstrip_size:{strip}\\nNumber of datafiles/servers = {number}')
"""


@pytest.fixture
def stand(monkeypatch, tmp_path):
    """A mount whose programs are stand-ins: by FUSE, or by the kernel's client, with a dictionary of attributes."""
    where, bin_ = tmp_path / 'mount', tmp_path / 'bin'
    where.mkdir()
    bin_.mkdir()
    attributes = {}
    monkeypatch.setattr('os.setxattr', lambda path, name, value: attributes.update({name: value}))
    monkeypatch.setattr('os.getxattr', lambda path, name: attributes[name])
    monkeypatch.setenv('PATH', str(bin_), prepend=os.pathsep)

    def now(mount=BY_FUSE, ping='ping.out', strip=65536, number=3):
        mounts = [mount._replace(point=str(where))]
        monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: mounts)
        for name in ('pvfs2-ping', 'pvfs2-viewdist'):
            (bin_ / name).write_text(
                PROGRAM.format(python=sys.executable, ping=FUSE[ping], strip=strip, number=number)
            )
            (bin_ / name).chmod(0o755)

    now()
    return SimpleNamespace(path=str(where), now=now, attributes=attributes)


def test_a_mount_of_either_client_is_known_and_no_other_of_fuse():
    assert type_of(BY_FUSE) == type_of(BY_KERNEL) == 'orangefs'
    assert type_of(BY_FUSE._replace(source='sshfs#host:/')) is None
    assert type_fault(DRIVER, BY_FUSE) is None and same_storage(BY_FUSE, BY_KERNEL)
    assert not same_storage(BY_FUSE, BY_KERNEL._replace(source='tcp://127.0.0.1:3334/other'))


@pytest.mark.parametrize(
    ('ping', 'away', 'not_asked'),
    [
        ('ping.out', [], []),
        ('down-ping.out', ['tcp://127.0.0.1:3336'], []),  # a data server
        ('down-ping-of-metadata.out', ['tcp://127.0.0.1:3336'], []),  # a server of both: there it ends
        ('first-down.out', ['tcp://127.0.0.1:3335'], ['tcp://127.0.0.1:3336']),
    ],
)
def test_a_server_that_does_not_answer_is_away_and_named_without_asking_the_mount(
    stand, monkeypatch, ping, away, not_asked
):
    monkeypatch.setattr('seatrial.filesystem.posix.unresponsive', lambda path: pytest.fail('the mount was asked'))
    stand.now(ping=ping)
    rows = DRIVER.targets(stand.path).rows
    assert [row.name for row in rows if row.fault] == away and [row.name for row in rows if row.flags] == not_asked
    behind = DRIVER.behind(stand.path, f'{stand.path}/data', None)
    assert behind == ''.join(f'server {name}: does not answer' for name in away)


@given(st.integers(0, len(FUSE['down-ping.out'])))
def test_a_ping_cut_short_anywhere_accuses_no_server_that_answered(length):
    servers = orangefs.servers_of(FUSE['down-ping.out'][:length])
    assert set(servers) <= {f'tcp://127.0.0.1:{port}' for port in (3334, 3335, 3336)}
    assert all(not fault or address.endswith('3336') for address, (_, fault) in servers.items())


@pytest.mark.parametrize('text, size', [(FUSE['viewdist-one.out'], 262144), (KERNEL['kernel-viewdist.out'], 1 << 20)])
def test_the_stripes_of_a_file_are_those_that_pvfs2_viewdist_shows(text, size):
    assert orangefs.strip_of(text) == size
    with pytest.raises(NoAnswer):
        orangefs.strip_of(text.replace('simple_stripe', 'twod_stripe'))


def test_a_layout_is_set_by_the_kernels_client_alone_and_proved_by_the_file(stand):
    wide = DRIVER.layout('wide', {'stripe_size': '1MiB'})
    assert 'by FUSE new files ignore it' in DRIVER.layout_fault(wide, stand.path)
    stand.now(BY_KERNEL, strip=1 << 20)
    assert (wide.canonical, DRIVER.layout_fault(wide, stand.path)) == ('S1M', None)
    assert DRIVER.set_layout(stand.path, wide) is None and DRIVER.granted(stand.path, wide).differs is None
    assert stand.attributes['user.pvfs2.dist_name'] == b'simple_stripe\0'  # a string of C
    stand.now(BY_KERNEL, strip=1 << 20, number=1)
    assert DRIVER.granted(f'{stand.path}/data', wide).targets == 'all = 1 of 3 servers'
    stand.now(BY_KERNEL)
    assert 'S1M, but has S64k' in DRIVER.granted(stand.path, wide).differs


def test_a_number_of_servers_can_be_asked_for_by_no_layout():
    assert DRIVER.adopted(striped('few', 2)) is None
    assert DRIVER.adopted(striped('all', -1, 1 << 20)) == Layout('all', 'orangefs', ('S1M',), places_file=True)


def test_the_state_of_orangefs_has_its_volume_and_stripe_size_but_no_byte_counts(stand, monkeypatch):
    state = DRIVER.state(stand.path)
    assert state['file system'] == 'tcp://127.0.0.1:3334/trialfs' and 'default layout' not in state
    stand.now(BY_KERNEL)
    stand.attributes['user.pvfs2.dist_params'] = b'strip_size:65536'
    assert DRIVER.state(stand.path)['default layout'] == 'strip_size:65536'
    for number, shown in ((errno.ENODATA, 'unset'), (errno.EIO, 'unknown: Input/output error')):
        monkeypatch.setattr('os.getxattr', Mock(side_effect=OSError(number, os.strerror(number))))
        assert DRIVER.state(stand.path)['default layout'] == shown
    assert 'counts the bytes' in DRIVER.cold(stand.path).why_not and DRIVER.meter(stand.path).why_not
    assert 'fails I/O' in DRIVER.behaviour(stand.path).gives_up
