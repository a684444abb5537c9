"""The POSIX driver: free space, quota, layouts, and whether reads can be proved cold."""

import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem import posix
from seatrial.filesystem.base import Capacity, Meter
from seatrial.filesystem.caches import forget
from seatrial.filesystem.lustre.layout import striped
from seatrial.filesystem.mounts import Mount, mount_of
from seatrial.filesystem.posix import below_device, device_counters, parse_quota, read_settings
from seatrial.filesystem.registry import TYPES, by_type
from seatrial.model.layout import Layout
from seatrial.model.state import changes
from seatrial.model.telemetry import READ, WRITTEN

POSIX = by_type('posix')
HEAD = """Disk quotas for user anna (uid 1234):
     Filesystem   blocks   quota   limit   grace   files   quota   limit   grace
"""


def test_capacity_is_what_an_ordinary_user_may_use(tmp_path):
    seen = POSIX.capacity(str(tmp_path))
    assert seen.bytes is not None and 0 < seen.bytes <= shutil.disk_usage(tmp_path).total


@pytest.mark.parametrize(
    ('row', 'left'),
    [
        ('/dev/sdb1 100 1000 2000 0 5 50 60 0', Capacity(1900 * 1024, 55)),
        ('/dev/sdb1 100 1000 0 0 5 50 0 0', Capacity(900 * 1024, 45)),
        ('/dev/sdb1 100 0 0 0 5 0 0 0', Capacity(None, None)),
        ('/dev/sdb1 2100* 1000 2000 1700000000 70* 50 60 0', Capacity(0, 0)),
        ('/dev/sdb1 1500* 1000 2000 1700000000 55* 50 60 1700000000', Capacity(0, 0)),
        ('/dev/sdb1 1500* 1000 2000 99000000000 55* 50 60 99000000000', Capacity(500 * 1024, 5)),
        ('/dev/sdb1 1500* 1000 2000 0 55* 50 60 0', Capacity(500 * 1024, 5)),
    ],
)
def test_a_quota_row_gives_what_is_left(row, left):
    assert parse_quota(HEAD + row + '\n', 1234, 50) == left


@pytest.mark.parametrize('text', ['', 'Disk quotas for user root (uid 0): none\n', HEAD, HEAD + '/dev/sdb1 100 10'])
def test_no_quota_row_is_unknown(text):
    assert parse_quota(text, 1234, 50) == Capacity(None, None)


@given(st.text())
def test_any_text_is_a_quota_or_unknown(text):
    assert isinstance(parse_quota(text, 1234, 50), Capacity)


BOTH = f"""{HEAD}      /dev/ubda        0       0  200000       0       1       0      40       0
Disk quotas for group a (b) (gid 50):
     Filesystem   blocks   quota   limit   grace   files   quota   limit   grace
      /dev/ubda    29888       0   30000       0       1       0      50       0
Disk quotas for group nogroup (gid 65534): none
"""


@pytest.mark.parametrize(
    ('user', 'group', 'kib', 'files'),
    [(1234, 50, 112, 39), (1234, 60, 200000, 39), (0, 50, 112, 49), (7, 65534, None, None)],
)
def test_the_tighter_quota_of_user_and_group_is_left(user, group, kib, files):
    assert parse_quota(BOTH, user, group) == Capacity(kib and kib * 1024, files)


def test_the_default_quota_of_xfs_is_not_one_of_root():
    assert parse_quota(BOTH.replace('1234', '0').replace('gid 50', 'gid 0'), 0, 0) == Capacity(None, None)


@pytest.mark.parametrize('type', ['posix', 'nfs', 'gpfs', 'glusterfs'])
def test_a_type_without_layouts_refuses_them_before_during_and_after_with_its_reason(type, tmp_path):
    driver, wide, place = by_type(type), striped('wide', stripe_count=-1), str(tmp_path)
    assert driver.layout_fault(Layout(), place) is driver.set_layout(place, Layout()) is None
    assert driver.granted(place, Layout()).differs is None
    refusals = driver.layout_fault(wide, place), driver.set_layout(place, wide), driver.granted('', wide).differs
    for refusal in refusals:
        assert refusal is not None and 'wide' in refusal and type in refusal and driver.no_layout in refusal


def test_reads_are_counted_on_block_devices_only(tmp_path):
    assert POSIX.behaviour(str(tmp_path)).reads_are_counted == (os.major(tmp_path.stat().st_dev) != 0)
    if Path('/dev/shm').is_dir():
        assert not POSIX.behaviour('/dev/shm').reads_are_counted


@pytest.mark.parametrize(
    'type_, can_fail', [('ext4', False), ('tmpfs', False), ('nfs4', True), ('fuse.glusterfs', True), ('lustre', True)]
)
def test_a_close_can_fail_where_the_kernel_does_not_write_by_itself(monkeypatch, type_, can_fail):
    monkeypatch.setattr(posix, 'look', lambda path: (Mount('/', type_, 'x', ''), ''))
    assert POSIX.behaviour('/').close_can_fail == can_fail
    monkeypatch.setattr(posix, 'look', lambda path: (None, 'no mount is seen'))
    assert POSIX.behaviour('/').close_can_fail


def test_forgetting_a_file_changes_nothing_in_it_and_follows_no_link(tmp_path):
    file = tmp_path / 'data'
    file.write_bytes(b'x' * 8192)
    forget(str(file))
    assert file.read_bytes() == b'x' * 8192
    (tmp_path / 'link').symlink_to(file)
    with pytest.raises(OSError, match='link|symbolic'):
        forget(str(tmp_path / 'link'))


@pytest.mark.parametrize(
    ('type_', 'options', 'known'),
    [('ext4', 'rw', True), ('xfs', 'rw', True), ('xfs', 'rw,rtdev=/dev/sdb', False), ('btrfs', 'rw', False)],
)
def test_bytes_sent_are_known_if_all_data_go_to_one_device(monkeypatch, type_, options, known):
    monkeypatch.setattr(posix, 'look', lambda path: (Mount('/', type_, 'x', options), ''))
    monkeypatch.setattr(posix.Mounted, 'meter', lambda self, path: Meter('', '', lambda deadline_s: {WRITTEN: 7}))
    assert POSIX.exchanged('/').sent == (7 if known else None)


# The state: settings by name, read by any user, and what of them has changed

STATES = st.dictionaries(st.sampled_from('abcdef'), st.sampled_from(['1', '2']))


@given(STATES, STATES)
def test_the_changes_turn_the_state_before_into_the_state_after(before, after):
    changed = {**before, **{change.key: change.after for change in changes(before, after)}}
    assert {key: value for key, value in changed.items() if value is not None} == after


def test_the_state_of_a_directory_names_its_mount_and_options(tmp_path):
    mount = mount_of(os.path.realpath(tmp_path))
    seen = by_type('posix').state(str(tmp_path))
    assert mount is not None and seen['mount options'] == mount.options
    assert seen['mounted'] == f'{mount.source} on {mount.point} type {mount.type}'
    assert seen['client version'] == f'Linux {os.uname().release}'
    assert re.fullmatch(r'\d+', seen['vm dirty_ratio'])


def test_what_moves_by_itself_is_not_in_it(tmp_path):
    driver = by_type('posix')
    before = driver.state(str(tmp_path))
    (tmp_path / 'data').write_bytes(b'x' * 1_000_000)
    os.sync()
    assert changes(before, driver.state(str(tmp_path))) == []


def test_no_type_raises_for_a_missing_directory(tmp_path):
    for name in set(TYPES) - {'lustre'}:
        seen = by_type(name).state(str(tmp_path / 'gone'))
        assert seen and all(isinstance(value, str) for value in seen.values())


def test_a_setting_that_the_kernel_lacks_is_left_out_and_lines_become_one(tmp_path):
    (tmp_path / 'options').write_text('rw\ndelalloc\n')
    (tmp_path / 'closed').mkdir()
    assert read_settings('ext4', str(tmp_path), ['options', 'other', 'closed']) == {
        'ext4 options': 'rw,delalloc',
        'ext4 closed': 'unknown: Is a directory',
    }


@pytest.mark.parametrize(
    ('disks', 'below'),
    [
        ({'sda': ('Micron_5300', ())}, ''),
        ({'nvme0n1': ('Samsung', ())}, ''),
        ({'loop3': ('', ())}, 'loop3 is a loop device'),
        ({'vda': ('', ())}, 'vda is a virtual disk'),
        ({'sda': ('QEMU HARDDISK', ())}, 'sda is a virtual disk'),
        ({'zram0': ('', ())}, 'zram0 is a disk in memory'),
        ({'dm-0': ('', ('sda', 'loop0')), 'sda': ('Micron_5300', ()), 'loop0': ('', ())}, 'loop0 is a loop device'),
        ({'dm-0': ('', ('sda',)), 'sda': ('Micron_5300', ())}, ''),
    ],
)
def test_what_may_answer_below_a_device_is_seen_through_those_it_is_made_of(tmp_path, disks, below):
    for name, (model, slaves) in disks.items():
        for folder in ('queue', 'device', 'slaves'):
            (tmp_path / name / folder).mkdir(parents=True)
        (tmp_path / name / 'device' / 'model').write_text(f'{model}\n')
        for slave in slaves:
            (tmp_path / name / 'slaves' / slave).symlink_to(tmp_path / slave)
    (tmp_path / next(iter(disks)) / 'part1').mkdir()
    for place in (tmp_path / next(iter(disks)), tmp_path / next(iter(disks)) / 'part1'):
        assert below_device(str(place)).startswith(below) and bool(below) == bool(below_device(str(place)))


# The counters of a block device

STAT = '  132072    18472 48723970   104688    38741    92797 48055456   396568        0    35696   505830    10369\n'


def test_sectors_are_counted_in_units_of_512_bytes_and_counters_cut_short_are_none(tmp_path):
    moved = {READ: 48723970 * 512, WRITTEN: 48055456 * 512}
    (tmp_path / 'stat').write_text(STAT)
    assert device_counters(str(tmp_path)) == {**moved, 'reads': 132072, 'writes': 38741}
    for length in range(STAT.index('505830')):
        (tmp_path / 'stat').write_text(STAT[:length])
        assert device_counters(str(tmp_path)) == {}


def test_the_device_is_that_of_the_files(tmp_path, monkeypatch):
    seen = os.stat(tmp_path).st_dev
    if os.major(seen) == 0:
        pytest.skip('the temporary files lie on no block device')
    place = tmp_path / f'{os.major(seen)}:{os.minor(seen)}'
    place.mkdir()
    (place / 'stat').write_text(STAT)
    monkeypatch.setattr(posix, 'BLOCK_DEVICES', str(tmp_path))
    monkeypatch.setattr(posix, 'look', lambda path: (Mount('/', 'ext4', '/dev/vda', 'rw'), ''))
    meter = POSIX.meter(str(tmp_path))
    assert meter.why_not == '' and 'block device' in meter.what
    assert meter.look(1.0)[READ] == 48723970 * 512
    (place / 'stat').unlink()
    assert meter.look(1.0) == {}


def test_data_that_are_written_and_synced_are_counted(tmp_path, counted_as_written):
    meter = POSIX.meter(str(tmp_path))
    if meter.why_not:
        pytest.skip(meter.why_not)
    assert counted_as_written(meter, tmp_path / 'file', 1 << 20) >= 1 << 20


def test_the_traffic_of_ocfs2_is_that_of_its_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(posix, 'look', lambda path: (Mount('/shared', 'ocfs2', '/dev/sdb', 'rw'), ''))
    monkeypatch.setattr(posix, '_block_device', lambda path, mount: str(tmp_path))
    (tmp_path / 'stat').write_text(' '.join(str(number) for number in range(1, 12)))
    assert by_type('ocfs2').exchanged('/shared/trial')[:2] == (3 * 512, 7 * 512)
    (tmp_path / 'stat').unlink()
    assert by_type('ocfs2').exchanged('/shared/trial').fetched is None


@pytest.mark.parametrize(
    ('type_', 'source', 'why'),
    [
        ('tmpfs', 'tmpfs', 'tmpfs keeps its files in memory'),
        ('ramfs', 'ramfs', 'ramfs keeps its files in memory'),
        ('zfs', 'pool/home', 'pool/home is not a block device'),
    ],
)
def test_files_in_memory_and_a_source_that_is_no_device_have_no_counters(tmp_path, monkeypatch, type_, source, why):
    monkeypatch.setattr(posix, 'look', lambda path: (Mount('/', type_, source, 'rw'), ''))
    monkeypatch.setattr(posix, 'BLOCK_DEVICES', str(tmp_path / 'none'))
    meter = POSIX.meter(str(tmp_path))
    assert meter.why_not.startswith(why) and (meter.what, meter.look(1.0)) == ('', {})
