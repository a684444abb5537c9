"""OrangeFS, by outputs of a real 2.10: FUSE, and the kernel's client."""

import os
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem import orangefs
from seatrial.filesystem.base import LayoutError, NoAnswer, type_fault
from seatrial.filesystem.lustre.layout import striped
from seatrial.filesystem.mounts import parse_mountinfo
from seatrial.filesystem.registry import by_type, same_storage, type_of
from seatrial.model.layout import Layout
from transcript import transcripts

FUSE, KERNEL = transcripts('orangefs')['fuse-2.10'], transcripts('orangefs')['kernel-2.10']
(BY_FUSE,) = parse_mountinfo(FUSE['mountinfo.out'])
(BY_KERNEL,) = parse_mountinfo(KERNEL['kernel-mount.out'])
DRIVER = by_type('orangefs')

PROGRAM = """#!{python} -IS
import os, sys
name, argv, kept = os.path.basename(sys.argv[0]), sys.argv[1:], {kept!r}
if name == 'pvfs2-ping':
    print(open({ping!r}).read(), end='')
    sys.exit(253 if 'Failure!' in open({ping!r}).read() else 0)
value = open(kept).read() if os.path.exists(kept) else 'strip_size:65536'
if name == 'pvfs2-viewdist':
    print('dist_name = simple_stripe\\ndist_params:\\n' + ({follows} and value or 'strip_size:65536'))
elif '-s' in argv:
    open(kept, 'w').write(argv[argv.index('-v') + 1])
else:
    print('key : "user.pvfs2.dist_params" \\tValue : "' + value + '"')
"""


@pytest.fixture
def stand(monkeypatch, tmp_path):
    """A FUSE mount whose programs are stand-ins; `ping` is what the servers say, `follows` whether new files do."""
    where, bin_ = tmp_path / 'mount', tmp_path / 'bin'
    where.mkdir()
    bin_.mkdir()
    monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: [BY_FUSE._replace(point=str(where))])
    monkeypatch.setenv('PATH', str(bin_), prepend=os.pathsep)
    ping = tmp_path / 'ping'

    def now(file='ping.out', follows=True):
        ping.write_text(FUSE[file])
        for name in ('pvfs2-ping', 'pvfs2-viewdist', 'pvfs2-xattr'):
            kept = str(tmp_path / 'kept')
            text = PROGRAM.format(python=sys.executable, kept=kept, ping=str(ping), follows=follows)
            (bin_ / name).write_text(text)
            (bin_ / name).chmod(0o755)

    now()
    return SimpleNamespace(path=str(where), now=now)


def test_a_mount_of_either_client_is_known_and_no_other_of_fuse():
    assert type_of(BY_FUSE) == type_of(BY_KERNEL) == 'orangefs'
    assert type_of(BY_FUSE._replace(source='sshfs#host:/')) is None
    assert type_fault(DRIVER, BY_FUSE) is None and same_storage(BY_FUSE, BY_KERNEL)
    assert not same_storage(BY_FUSE, BY_KERNEL._replace(source='tcp://127.0.0.1:3334/other'))


def test_a_server_that_does_not_answer_is_away(stand):
    assert [row.fault for row in DRIVER.targets(stand.path).rows] == ['', '', '']
    stand.now('down-ping.out')
    away = [row.name for row in DRIVER.targets(stand.path).rows if row.fault]
    assert away == ['tcp://127.0.0.1:3336']


@given(st.integers(0, len(FUSE['down-ping.out'])))
def test_a_ping_cut_short_anywhere_accuses_no_server_that_answered(length):
    servers = orangefs.servers_of(FUSE['down-ping.out'][:length])
    assert set(servers) <= {f'tcp://127.0.0.1:{port}' for port in (3334, 3335, 3336)}
    assert all(well or address.endswith('3336') for address, well in servers.items())


@pytest.mark.parametrize(
    ('text', 'size'),
    [
        (FUSE['viewdist-plain.out'], 65536),
        (FUSE['viewdist-one.out'], 262144),
        (KERNEL['kernel-viewdist.out'], 1 << 20),
    ],
)
def test_the_stripes_of_a_file_are_those_that_pvfs2_viewdist_shows(text, size):
    assert orangefs.strip_of(text) == size
    with pytest.raises(NoAnswer):
        orangefs.strip_of(text.replace('simple_stripe', 'twod_stripe'))


def test_a_layout_is_set_and_proved_by_the_file(stand):
    wide = DRIVER.layout('wide', {'stripe_size': '1MiB'})
    assert (wide.canonical, DRIVER.layout_fault(wide, stand.path)) == ('S1M', None)
    assert DRIVER.set_layout(stand.path, wide) is None and DRIVER.granted(stand.path, wide).differs is None
    stand.now(follows=False)
    assert DRIVER.granted(stand.path, wide).differs == 'S1M was asked for, and the file has S64k'


def test_a_number_of_servers_can_be_asked_for_by_no_layout():
    with pytest.raises(LayoutError, match='stripe_count: unknown key'):
        DRIVER.layout('few', {'stripe_count': 2})
    assert DRIVER.adopted(striped('few', 2)) is None
    assert DRIVER.adopted(striped('all', -1, 1 << 20)) == Layout('all', 'orangefs', ('S1M',), places_file=True)


def test_what_orangefs_cannot_show_is_unknown(stand):
    state = DRIVER.state(stand.path)
    assert (state['file system'], state['default layout']) == ('tcp://127.0.0.1:3334/trialfs', 'strip_size:65536')
    assert 'counts the bytes' in DRIVER.cold(stand.path).why_not and DRIVER.meter(stand.path).why_not
    assert 'fails I/O' in DRIVER.behaviour(stand.path).gives_up
