"""NFS, GPFS and BeeGFS, none at hand: by genuine outputs, and by texts in the form of nfsiostat(8)."""

import json
import os
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beegfs_stand import FALLBACK, GOOD, MIRRORS, SHOWN, BeeGfsStand
from seatrial.filesystem import beegfs, gpfs, nfs
from seatrial.filesystem.base import Capacity, NoAnswer, mounted_from, tightest
from seatrial.filesystem.lustre.layout import striped
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.nfs import gives_up, section_of, traffic
from seatrial.filesystem.registry import by_type, same_storage
from seatrial.model.ask import Answer
from seatrial.model.layout import Layout
from seatrial.model.telemetry import READ, WRITTEN
from transcript import transcripts

MOUNTSTATS = """device proc mounted on /proc with fstype proc
device filer:/home mounted on /home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,acregmin=3,acregmax=60,hard,proto=tcp,nconnect=4,timeo=600
\tage:\t3379
\tcaps:\tcaps=0x3ffdf,wtmult=512,dtsize=32768,bsize=0,namlen=255
\tnfsv4:\tbm0=0xfdffbfff,bm1=0x40f9be3e,bm2=0x803,acl=0x3,sessions,pnfs=not configured,lease_time=90,lease_expired=0
\tsec:\tflavor=1,pseudoflavor=1
\tevents:\t39 11 0 1 0 2 25 524289 0 0 0 34 0 2 5 3 0 5 0 2 1 0 0 0 0 499616 173895
\tbytes:\t100 200 300 400 5120 600 7 8
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\tper-op statistics
\t        READ: 5 5 0 1120 5720 0 12 13 0
\t   READ_PLUS: 7 7 0 0 0 0 0 0 0
\t       WRITE: 3 4 0 980 520 0 40 44 0
device filer:/home/with\\040space mounted on /home/with\\040space with fstype nfs4 statvers=1.1
\tbytes:\t1 2 3 4 55 6 7 8
"""
HOME = Mount('/home', 'nfs4', 'filer:/home', 'rw,vers=4.2')


@pytest.fixture
def mountstats(monkeypatch, tmp_path):
    file = tmp_path / 'mountstats'
    file.write_text(MOUNTSTATS)
    monkeypatch.setattr(nfs, 'MOUNTSTATS', str(file))
    for module in ('posix', 'nfs'):
        monkeypatch.setattr(f'seatrial.filesystem.{module}.look', lambda path: (HOME, ''))
    return file


def test_what_an_nfs_client_exchanged_with_its_server_is_read_anew_at_every_look(mountstats):
    assert by_type('nfs').exchanged('/home')[:2] == (5120, 600)
    meter = by_type('nfs').meter('/home')
    assert meter.why_not == '' and 'filer:/home' in meter.what
    assert meter.look(1.0) == {READ: 5120, WRITTEN: 600, 'read_rpcs': 5 + 7, 'write_rpcs': 3}
    mountstats.write_text(MOUNTSTATS.replace('5120', '9000'))
    assert meter.look(1.0)[READ] == 9000
    mountstats.unlink()
    assert meter.look(1.0) == {} and 'no counters for /home' in by_type('nfs').meter('/home').why_not


def test_a_mount_point_is_found_whole_and_with_its_spaces():
    assert traffic(section_of(MOUNTSTATS, '/home/with space'))[READ] == 55
    assert section_of(MOUNTSTATS, '/hom') == section_of(MOUNTSTATS, '/proc') == ''


@given(st.integers(0, len(MOUNTSTATS)))
def test_mountstats_cut_short_anywhere_gives_the_number_or_none(length):
    assert traffic(section_of(MOUNTSTATS[:length], '/home')).get(READ) in (None, 5120)


def test_the_state_of_nfs_has_the_options_in_effect(mountstats, tmp_path):
    seen = by_type('nfs').state(str(tmp_path))
    assert 'nconnect=4' in seen['nfs opts'] and 'pnfs=not configured' in seen['nfs nfsv4']
    assert seen['mounted'] == 'filer:/home on /home type nfs4'
    assert not any('5120' in value for value in seen.values())


def test_the_state_of_gpfs_has_its_package_or_unknown(monkeypatch):
    answers = {'rpm': None, 'dpkg-query': Answer('gpfs.base-5.1.9-2', 0)}
    monkeypatch.setattr(gpfs, 'ask', lambda argv, deadline_s: answers.get(argv[0]))
    assert by_type('gpfs')._own_state('/gpfs', HOME)['client version'] == 'gpfs.base-5.1.9-2'
    answers['dpkg-query'] = Answer('', 1)
    assert by_type('gpfs')._own_state('/gpfs', HOME)['client version'].startswith('unknown: ')


IN_BEEGFS_7 = '[Target ID: 5] @ beegfs-storage node_storage_3 [ID: 3]: {}\n'


@pytest.mark.parametrize(
    ('text', 'fault', 'troubles'),
    [
        (IN_BEEGFS_7.format('Online / Good '), '', ()),
        (IN_BEEGFS_7.format('Offline / Good '), 'offline', ()),
        (IN_BEEGFS_7.format('Probably-offline / Good '), '', ('probably offline',)),
        (IN_BEEGFS_7.format('Online / Needs-resync '), '', ('needs resync',)),
        (IN_BEEGFS_7.format('Offline / Bad '), 'offline, bad', ()),
    ],
)
def test_a_target_of_beegfs_has_the_state_that_its_client_reports(text, fault, troubles):
    (row,) = beegfs.rows_of(text, 'storage target', {})
    assert (row.name, row.fault, row.troubles) == ('storage target 5 of node_storage_3', fault, troubles)


@given(st.integers(0, 600))
def test_the_states_of_a_beegfs_cut_short_anywhere_give_fewer_targets(length):
    whole = list(beegfs.rows_of(GOOD, 'storage target', {}))
    rows = list(beegfs.rows_of(GOOD[:length], 'storage target', {}))
    assert len(whole) == 3 and rows[:-1] == whole[: len(rows)][:-1]


def test_the_route_to_a_server_of_beegfs_is_that_of_its_connections():
    assert beegfs.routes_of(SHOWN['storage_nodes']) == {'node_storage_1': 'TCP'}
    assert beegfs.routes_of(FALLBACK) == {'node_storage_1': 'TCP [fallback route]'}
    assert beegfs.routes_of(SHOWN['meta_nodes'].replace('TCP: 1 (10.80.0.1:8005);', '<none>')) == {'node_meta_1': ''}


ENTRY = transcripts('beegfs')['entry-8.3.1']
MIRRORED = 'Buddy Mirror (4x524288)'
Entry = beegfs.BeeGfsLayout


def entry(lies_on, pattern, pool='default (1)', mirrors='(directory)'):
    """In the form of `beegfs entry info --output json --raw`."""
    shown = {'storage_mirrors': mirrors, 'storage_pool': pool, 'storage_targets': lies_on, 'stripe_pattern': pattern}
    return json.dumps([shown])


def in_ctl(number, more, kind='RAID0'):
    """In the form of `beegfs-ctl --getentryinfo`."""
    head = f'EntryID: 1-63DB17BC-1\nMetadata node: meta01 [ID: 1]\nStripe pattern details:\n+ Type: {kind}\n'
    return f'{head}+ Chunksize: 512K\n+ Number of storage targets: desired: {number}\n{more}'


ON_TARGET = '+ Storage targets:\n  + 1201 @ n2 [ID: 3]\n'
ON_GROUPS = '+ Storage mirror buddy groups:\n  + 1\n  + 3\n'


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (ENTRY['entry-info-file-json.out'] + ENTRY['entry-info-file-json.err'], Entry(2, 1 << 20, targets=(2, 3))),
        (entry('(directory)', 'RAID0 (9x524288)'), Entry(9, 1 << 19, 1)),
        (entry('(directory)', MIRRORED), Entry(4, 1 << 19, 1, mirrored=True)),
        (entry('(mirrored)', MIRRORED, '(file)', 's:2,s:1'), Entry(2, 1 << 19, mirrored=True, groups=(1, 2))),
        (entry('s:1', 'RAID0 (1x524288)', '(file)') + 'Warning: [1] of [2]', Entry(1, 1 << 19, targets=(1,))),
        (in_ctl('4; actual: 3', ON_TARGET), Entry(3, 1 << 19, targets=(1201,))),
        (in_ctl('2', '+ Storage Pool: 1 (Default)\n'), Entry(2, 1 << 19, 1)),
        (in_ctl('4; actual: 2', ON_GROUPS, 'Buddy Mirror'), Entry(2, 1 << 19, mirrored=True, groups=(1, 3))),
    ],
)
def test_the_layout_of_an_entry_is_what_a_file_has_or_a_directory_asks_for(text, expected):
    read = beegfs.ctl_entry_of if 'Chunksize' in text else beegfs.entry_of
    assert read(text) == expected


OF_7 = """MirrorGroupID MGMemberType TargetID   NodeID
============= ============ ========   ======
            1      primary      101        1
            1    secondary      201        2
            2      primary      202        2
            2    secondary      102        1
"""


@pytest.mark.parametrize('text', [MIRRORS, OF_7])
def test_a_buddy_group_of_beegfs_is_two_targets_the_primary_one_first(text):
    assert beegfs.groups_of(text) == {1: (101, 201), 2: (202, 102)}


@pytest.mark.parametrize('read', [beegfs.entry_of, beegfs.ctl_entry_of])
@pytest.mark.parametrize(
    'text',
    [
        *('', 'Stat failed: No such file or directory\n', '[]'),
        ENTRY['entry-info-two.out'],  # it was asked without --raw: rounded sizes
        entry('(unavailable)', 'RAID0 (4x524288)', '(file)', '(unmirrored)'),  # info.go of beegfs-go 8.3.1
        entry('(mirrored)', MIRRORED, '(file)', '(unavailable)'),
    ],
)
def test_an_answer_of_another_form_is_no_layout(read, text):
    with pytest.raises(NoAnswer, match='says'):
        read(text)


def test_stripes_that_a_check_declares_are_those_of_beegfs_where_it_can_have_them():
    adopted = by_type('beegfs').adopted
    assert adopted(striped('c4', 4, '64KiB')).asks == ('c4', 'S64k')
    assert adopted(striped('all', -1)) is None and adopted(striped('odd', 4, '192KiB')) is None
    assert adopted(Layout()) == Layout()


def test_mounts_of_one_beegfs_are_one_storage_by_its_client_or_identity(monkeypatch, tmp_path):
    stand = BeeGfsStand(tmp_path, tmp_path / 'mnt', monkeypatch)
    (tmp_path / 'proc-beegfs' / 'other').mkdir()
    for name, text in (('config', 'cfgFile = /etc/beegfs/other.conf\n'), ('fs_uuid', 'another\n')):
        (tmp_path / 'proc-beegfs' / 'other' / name).write_text(text)
    mount = Mount('/a', 'beegfs', 'beegfs_nodev', 'rw,cfgFile=/etc/beegfs/beegfs-client.conf')
    other = mount._replace(point='/b', options='rw,cfgFile=/etc/beegfs/other.conf')
    assert same_storage(mount, mount) and not same_storage(mount, other)
    (stand.client / 'fs_uuid').unlink()
    stand.now(config='cfgFile = /etc/beegfs/beegfs-client.conf\n')
    assert same_storage(mount, mount._replace(point='/b')), 'of one client'
    stand.now(config='connCommRetrySecs = 600\n')
    unnamed = mount._replace(options='rw')
    assert same_storage(unnamed, unnamed) and not same_storage(mount, unnamed), 'whose client it is is not known'
    why = by_type('beegfs')._own_state('/a', unnamed)['beegfs client']
    assert why.startswith(f'unknown: {tmp_path / "proc-beegfs"} has 2 clients, ')
    assert by_type('beegfs')._own_state('/b', other)['beegfs cfgFile'] == '/etc/beegfs/other.conf'


def test_the_command_of_beegfs_is_found_where_its_package_puts_it(monkeypatch, tmp_path):
    stand = BeeGfsStand(tmp_path, tmp_path, monkeypatch)
    monkeypatch.setenv('PATH', '/nowhere')
    monkeypatch.setattr('seatrial.filesystem.base.SBIN', str(stand.programs))
    assert by_type('beegfs').state(str(tmp_path))['default layout'] == 'c4.S512k.p1'


def test_files_are_made_on_targets_of_choice_and_proved(monkeypatch, tmp_path):
    stand = BeeGfsStand(tmp_path, tmp_path, monkeypatch)
    driver, file = by_type('beegfs'), tmp_path / 'data'
    pinned = driver.on_targets('storage_target0003', 'storage target', (3,), Entry(4, 1 << 20).named('wide'))
    assert pinned.asks == ('c1', 'S1M', 'targets3')
    assert driver.make_files([str(file)], pinned, str(tmp_path)) is None
    assert driver.granted(str(file), pinned).differs is None
    (tmp_path / 'other').touch()
    differs = driver.granted(str(tmp_path / 'other'), pinned).differs
    assert 'c1.S1M.targets3, but has c3.S512k.targets1_2_3' in differs
    assert 'was not made' in driver.make_files([str(tmp_path / 'none' / 'data')], pinned, str(tmp_path))
    set_ = driver.set_layout(str(file), Entry(4, 1 << 20).named('wide'))
    assert 'data should have the layout c4.S1M, but has c1.S1M.targets3: Summary: processed 1' in set_
    (stand.programs / 'beegfs').rename(stand.programs / 'beegfs-ctl')
    assert 'it takes `beegfs entry create file` of release 8' in driver.layout_fault(pinned, str(tmp_path))
    assert driver.make_files([str(file)], pinned, str(tmp_path)) == 'not installed on this node: beegfs'
    monkeypatch.setattr('os.geteuid', lambda: 1000)
    assert 'only root may' in driver.layout_fault(pinned, str(tmp_path))


ATTRIBUTES = """file name:            /gpfs/trials
metadata replication: 1 max 2
flags:
storage pool name:    system
fileset name:         trials
Misc attributes:      DIRECTORY COMPRESSION (library z)
"""
HEADING = 'Block Limits\nFilesystem Fileset type {}B quota limit in_doubt grace | files quota limit in_doubt grace\n'


@pytest.mark.parametrize(
    ('unit', 'rows', 'left'),
    [
        ('K', ['gpfs USR 4500 4000 8000 1000 7 days | 100 2000 3000 0 none'], 2500 << 10),
        ('T', ['gpfs USR 4500 4000 8000 0 7 days | 100 2000 3000 0 none'], 3500 << 40),
        ('K', ['gpfs USR 4500 4000 8000 -512 7 days | 100 2000 3000 0 none'], 3500 << 10),
        ('K', ['gpfs USR 4500 4000 8000 0 expired | 100 2000 3000 0 none'], 0),
        ('K', ['gpfs USR 3500 4000 0 0 none | 100 2000 3000 0 none'], 500 << 10),
        ('K', ['gpfs root USR 1 0 2 0 none | 1 0 0 0 none', 'gpfs trials USR 1 0 3 0 none | 1 0 0 0 none'], 2 << 10),
        ('K', ['gpfs root USR 1 0 2 0 none | 1 0 0 0 none'], None),
        ('K', ['gpfs other USR 1 0 2 0 none | 1 0 0 0 none'], None),
        ('K', ['gpfs USR no limits'], None),
    ],
)
def test_the_room_in_the_table_of_mmlsquota_is_that_of_this_fileset(unit, rows, left):
    assert tightest(*gpfs.quotas_of(HEADING.format(unit) + '\n'.join(rows), 'trials')).bytes == left


def test_attributes_of_a_gpfs_directory_are_those_of_its_own_tools(monkeypatch):
    monkeypatch.setattr(
        gpfs, 'ask', lambda argv, deadline_s: Answer(ATTRIBUTES, 0) if 'mmlsattr' in argv[0] else None
    )
    state = by_type('gpfs')._own_state('/', HOME)
    assert state['gpfs fileset name'] == 'trials'
    assert state['gpfs Misc attributes'] == 'DIRECTORY COMPRESSION (library z)'
    assert state['block size'] == str(os.stat('/').st_blksize)
    assert by_type('gpfs').behaviour('/').block_size == os.stat('/').st_blksize


def test_quotas_of_gpfs_are_asked_for_the_user_the_group_of_new_files_and_the_fileset(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(gpfs, '_output', lambda program, *words: asked.append(words) or HEADING.format('K'))
    monkeypatch.setattr(gpfs, '_attributes', lambda path: {'fileset name': 'trials'})
    monkeypatch.setattr(gpfs, 'look', lambda path: (Mount('/gpfs', 'gpfs', '/dev/scratch', 'rw'), ''))
    monkeypatch.setattr(gpfs, 'group_of_new_files', lambda path: 4242)
    monkeypatch.setattr('os.geteuid', lambda: 1000)
    assert by_type('gpfs').quota(str(tmp_path)) == Capacity(None, None)
    assert [words[:2] for words in asked] == [('-u', '1000'), ('-g', '4242'), ('-j', 'trials')]


LOST = 'the NFS server filer was lost'
CALLS = """\txprt:\ttcp 832 1 {attempts} 0 0 7 7 0 0 7 0 2 0 0
\tper-op statistics
\t        READ: 100 {sent} 0 480 4340 0 2 2 0
"""


@pytest.mark.parametrize(
    ('attempts', 'sent', 'lost', 'worse'),
    [
        (1, 100, '', ''),
        (2, 100, '', ''),  # it had been idle
        (6, 100, f'{LOST}: 5 attempts to connect', ''),
        (1, 103, '', '3 calls were sent again to the NFS server filer'),
        (2, 103, f'{LOST}: 1 attempts to connect, and 3 calls were sent again', ''),
    ],
)
def test_attempts_to_connect_and_calls_that_were_sent_again_tell_of_a_server_that_is_away_and_is_not_asked(
    monkeypatch, tmp_path, attempts, sent, lost, worse
):
    monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: [HOME])
    monkeypatch.setattr(nfs, 'look', None)
    monkeypatch.setattr(nfs, 'MOUNTSTATS', str(tmp_path / 'mountstats'))
    seen = []
    for pair in ((1, 100), (attempts, sent)):
        text = 'device filer:/home mounted on /home with fstype nfs4 statvers=1.1\n' + CALLS
        (tmp_path / 'mountstats').write_text(text.format(attempts=pair[0], sent=pair[1]))
        seen.append(by_type('nfs').connections('/home/trials'))
    answer = by_type('nfs').lost(*seen)
    assert (answer.lost, answer.worse) == (lost, worse)


@pytest.mark.parametrize(
    ('type_', 'path', 'source'),
    [('nfs', '/home/trials', ', mounted from filer:/home,'), ('nfs', '/home/..', ''), ('beegfs', '/home', '')],
)
def test_where_a_path_of_a_type_is_mounted_from_is_known_by_the_table_of_mounts(monkeypatch, type_, path, source):
    mounts = [Mount('/', 'ext4', '/dev/vda', 'rw'), HOME]
    monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: mounts)
    assert mounted_from(by_type(type_), path) == source


@pytest.mark.parametrize(
    ('options', 'why'),
    [
        ('rw,vers=4.2,hard,timeo=600,retrans=2', ''),
        ('rw,vers=4.2,softreval,hard,timeo=600', ''),
        ('rw,vers=3,soft,proto=tcp,timeo=50,retrans=1', 'filer:/home is mounted soft (timeo=50, retrans=1)'),
        ('rw,vers=4.2,softerr,timeo=50,retrans=1', 'filer:/home is mounted softerr (timeo=50, retrans=1)'),
    ],
)
def test_an_nfs_mount_that_gives_up_is_seen_by_its_options(options, why):
    assert gives_up(HOME._replace(options=options)) == why


def test_no_free_inode_of_rclone_is_no_full_file_system(monkeypatch):
    """The answer of rclone 1.60 for an HDFS with room."""
    given = SimpleNamespace(f_bavail=51629463, f_frsize=4096, f_files=1000000000, f_favail=0)
    monkeypatch.setattr('os.statvfs', lambda path: given)
    assert by_type('hdfs').capacity('/mnt') == Capacity(51629463 * 4096, None)
    assert by_type('posix').capacity('/mnt').inodes == 0
