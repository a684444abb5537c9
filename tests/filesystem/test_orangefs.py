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
from seatrial.filesystem.base import Granted, NoAnswer, type_fault
from seatrial.filesystem.lustre.layout import striped
from seatrial.filesystem.mounts import parse_mountinfo
from seatrial.filesystem.orangefs import OrangeFsLayout
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
print('dist_name = {name}\\ndist_params:\\nstrip_size:{strip}\\nNumber of datafiles/servers = {number}')
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

    def now(mount=BY_FUSE, ping='ping.out', strip=65536, number=3, name='simple_stripe'):
        mounts = [mount._replace(point=str(where))]
        monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: mounts)
        text = PROGRAM.format(python=sys.executable, ping=FUSE[ping], strip=strip, number=number, name=name)
        for program in ('pvfs2-ping', 'pvfs2-viewdist'):
            (bin_ / program).write_text(text)
            (bin_ / program).chmod(0o755)

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


@pytest.mark.parametrize(
    'name, layout',
    [
        ('kernel-viewdist', OrangeFsLayout(3, None, 1 << 20)),
        ('kernel-viewdist-two-servers', OrangeFsLayout(2, None, 1 << 20)),
        ('kernel-viewdist-small', OrangeFsLayout(1, None, 1 << 20)),  # a byte in the directory of the one before
        ('kernel-viewdist-basic', OrangeFsLayout(1, 'basic_dist')),
        ('kernel-viewdist-twod', OrangeFsLayout(3, 'twod_stripe', 131072)),
        ('kernel-viewdist-varstrip', OrangeFsLayout(2, 'varstrip_dist')),
    ],
)
def test_the_layout_of_a_file_is_the_one_that_pvfs2_viewdist_shows_or_unknown_where_it_is_cut_short(name, layout):
    text = KERNEL[f'{name}.out']
    assert orangefs.layout_of(text) == layout
    for number in range(len(text[: text.index('Datafile 0')].splitlines())):
        with pytest.raises(NoAnswer):
            orangefs.layout_of(''.join(text.splitlines(keepends=True)[:number]))


@pytest.mark.parametrize(
    ('settings', 'canonical', 'attributes'),
    [
        ({'stripe_size': '1MiB'}, 'S1M', 'simple_stripe strip_size:1048576'),
        ({'stripe_count': 2}, 'c2', 'simple_stripe 2'),
        ({'stripe_count': -1, 'stripe_size': '64KiB'}, 'c-1.S64k', 'simple_stripe strip_size:65536 3'),
        ({'dist_name': 'basic_dist'}, 'dist-basic_dist', 'basic_dist'),
        (
            {'dist_name': 'twod_stripe', 'stripe_size': '64KiB'},
            'S64k.dist-twod_stripe',
            'twod_stripe strip_size:65536',
        ),
    ],
)
def test_a_layout_is_set_by_the_kernels_client_alone_as_strings_of_c(stand, settings, canonical, attributes):
    layout = DRIVER.layout('other', settings)
    assert layout.canonical == canonical and DRIVER.layout('again', settings).asks == layout.asks
    assert 'by FUSE new files ignore it' in DRIVER.layout_fault(layout, stand.path)
    stand.now(BY_KERNEL)
    assert (DRIVER.layout_fault(layout, stand.path), DRIVER.set_layout(stand.path, layout)) == (None, None)
    assert b' '.join(stand.attributes.values()) == (attributes.replace(' ', '\0 ') + '\0').encode()
    assert not os.listdir(stand.path)


@pytest.mark.parametrize(
    ('settings', 'file', 'size', 'fault'),
    [
        ({'stripe_size': '1MiB'}, {}, 1, 'S1M, but has c3.S64k'),
        ({'stripe_count': 2, 'stripe_size': '64KiB'}, {'number': 2}, 65537, ''),
        ({'stripe_count': 2, 'stripe_size': '64KiB'}, {'number': 1}, 65536, ''),  # until it is longer
        ({'stripe_count': 2, 'stripe_size': '64KiB'}, {'number': 1}, 65537, 'c2.S64k, but has c1.S64k'),
        ({'stripe_count': 2, 'stripe_size': '64KiB'}, {'number': 3}, 65536, 'c2.S64k, but has c3.S64k'),
        ({'stripe_count': -1}, {'number': 1}, 65536, ''),
        ({'stripe_count': -1}, {'number': 1}, 65537, 'all = 1 of 3 servers'),
        ({'dist_name': 'basic_dist'}, {}, 1, 'dist-basic_dist, but has c3.S64k'),
        ({'stripe_size': '64KiB'}, {'name': 'twod_stripe'}, 1, 'S64k, but has c3.S64k.dist-twod_stripe'),
    ],
)
def test_a_layout_is_proved_by_a_file_and_its_servers_once_it_is_long_enough(stand, settings, file, size, fault):
    stand.now(BY_KERNEL, **file)
    path = os.path.join(stand.path, 'data')
    with open(path, 'wb') as data:
        data.truncate(size)
    granted = DRIVER.granted(path, DRIVER.layout('other', settings))
    assert (granted.differs or granted.targets).endswith(fault) and bool(fault) == (granted != Granted())


def test_a_layout_that_cannot_be_set_on_these_servers_is_refused_before_or_when_it_is_set(stand, monkeypatch):
    four, every = DRIVER.adopted(striped('four', 4)), DRIVER.adopted(striped('all', -1, 1 << 20))
    stand.now(BY_KERNEL, ping='mountinfo.out')
    assert DRIVER.layout_fault(every, stand.path).endswith('pvfs2-ping lists no data servers')
    stand.now(BY_KERNEL)
    assert four == Layout('four', 'orangefs', ('c4',), 4, places_file=True)
    assert 'it needs 4 data servers, but there are 3' in DRIVER.layout_fault(four, stand.path)
    monkeypatch.setattr('os.open', Mock(side_effect=[0, OSError(errno.EINVAL, 'Invalid argument')]))
    monkeypatch.setattr('os.close', Mock())
    monkeypatch.setattr('os.unlink', Mock())
    assert DRIVER.set_layout(stand.path, every).endswith('takes no layout c-1.S1M: Invalid argument')


def test_the_state_of_orangefs_has_its_volume_and_stripe_size_but_no_byte_counts(stand, monkeypatch):
    state = DRIVER.state(stand.path)
    assert state['file system'] == 'tcp://127.0.0.1:3334/trialfs' and 'default layout' not in state
    stand.now(BY_KERNEL)
    stand.attributes.update({'user.pvfs2.dist_name': b'simple_stripe\0', 'user.pvfs2.num_dfiles': b'2\0'})
    stand.attributes['user.pvfs2.dist_params'] = b'strip_size:65536'
    shown = 'dist_name simple_stripe, dist_params strip_size:65536, num_dfiles 2'
    assert DRIVER.state(stand.path)['default layout'] == shown
    for number, shown in ((errno.ENODATA, 'unset'), (errno.EIO, 'unknown: Input/output error')):
        monkeypatch.setattr('os.getxattr', Mock(side_effect=OSError(number, os.strerror(number))))
        assert DRIVER.state(stand.path)['default layout'] == shown
    assert 'counts the bytes' in DRIVER.cold(stand.path).why_not and DRIVER.meter(stand.path).why_not
    assert 'fails I/O' in DRIVER.behaviour(stand.path).gives_up
