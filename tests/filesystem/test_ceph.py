"""CephFS: layouts, quotas, what ceph-fuse 16.2.15 tells of itself, and cold reads (ci/lab-ceph)."""

import json
import os
from pathlib import Path

import pytest

from fuse_lab import fetched_by_looking, fetched_by_reading, seen_by_nobody
from seatrial.filesystem import ceph
from seatrial.filesystem.base import Capacity
from seatrial.filesystem.caches import forget
from seatrial.filesystem.ceph import asked, difference, left, state_of, traffic_of
from seatrial.filesystem.lustre.layout import ALL, progressive, striped
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.registry import by_type
from seatrial.model.state import changes
from seatrial.model.telemetry import READ, WRITTEN

CEPH = by_type('cephfs')
SIZE = 8 * 1024 * 1024
SMALL = SIZE // 100
needs_ceph = pytest.mark.needs('ceph-osd', 'ceph-fuse')
TRANSCRIPTS = Path(__file__).resolve().parents[1] / 'transcripts' / 'ceph'
STATUS, SETTINGS, PERF = (
    json.loads((TRANSCRIPTS / f'{name}.json').read_text()) for name in ('status', 'config-show', 'perf-dump')
)
DEFAULT = 'stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data'


def test_a_layout_is_carried_in_words_and_read_back():
    settings = {'stripe_count': 4, 'stripe_unit': '64KiB', 'object_size': '8MiB', 'pool': 'flash'}
    layout = CEPH.layout('wide', settings)
    assert layout.asks == ('c4', 'S64k', 'O8M', 'pflash') and layout.type == 'cephfs'
    assert asked(layout).attribute == 'stripe_count=4 stripe_unit=65536 object_size=8388608 pool=flash'


def test_plain_stripes_of_a_check_are_adopted_and_nothing_else_is():
    assert CEPH.adopted(striped('c4-64KiB', 4, '64KiB')).asks == ('c4', 'S64k')
    assert CEPH.adopted(striped('c1-16MiB', 1, '16MiB')).asks == ('c1', 'S16M', 'O16M')
    assert CEPH.adopted(striped()) == striped()
    for foreign in (striped('all', ALL), striped('over', overstripe_count=16), striped('one', osts=[3])):
        assert CEPH.adopted(foreign) is None
    assert CEPH.adopted(progressive('pfl', {'end': '4MiB', 'stripe_count': 1}, {'stripe_count': 4})) is None


def test_a_file_with_another_layout_is_a_difference_with_both_layouts():
    wanted = asked(CEPH.layout('c2', {'stripe_count': 2}))
    assert difference(wanted, DEFAULT) == f'the file should have stripe_count=2, but has {DEFAULT}'
    assert difference(wanted, DEFAULT.replace('stripe_count=1', 'stripe_count=2')) is None


def test_the_tightest_quota_of_all_directories_above_counts():
    lowest = {'quota.max_bytes': '100', 'quota.max_files': '0', 'dir.rbytes': '30', 'dir.rentries': '2'}
    above = {'quota.max_bytes': '1000', 'quota.max_files': '10', 'dir.rbytes': '950', 'dir.rentries': '12'}
    assert left([lowest, {}, above]) == Capacity(50, 0)
    assert left([{}, {'dir.rbytes': '5'}]) == Capacity(None, None)


def test_ceph_fuse_reports_version_settings_and_traffic_and_unknown_counters_are_none():
    seen = state_of(STATUS, SETTINGS)
    assert seen['client version'].startswith('ceph version 16.2.15') and seen['file system'] == 'lab'
    assert (seen['client_oc_size'], seen['client_cache_size']) == ('209715200', '16384')
    received = sum(PERF[f'AsyncMessenger::Worker-{number}']['msgr_recv_bytes'] for number in range(3))
    assert traffic_of(PERF) == {READ: received, WRITTEN: PERF['objecter']['op_send_bytes']}
    assert min(traffic_of(PERF).values()) > SIZE
    assert traffic_of({}) == {} == traffic_of({'AsyncMessenger::Worker-0': {'msgr_recv_bytes': 1}})


def test_clients_of_two_clusters_with_the_same_number_differ_by_their_mounts(monkeypatch, tmp_path):
    def status_of(place, *_):
        return {**STATUS, 'metadata': {**STATUS['metadata'], 'mount_point': f'/mnt/{Path(place).stem}'}}

    def mounted(name):
        monkeypatch.setattr(ceph, 'look', lambda path: (Mount(f'/mnt/{name}', ceph.FUSE, 'ceph-fuse', ''), ''))

    monkeypatch.setattr(ceph, 'SOCKETS', str(tmp_path / '*.asok'))
    monkeypatch.setattr(ceph, '_client', lambda path: {'client_id': f'client{STATUS["id"]}'})
    monkeypatch.setattr(ceph, '_asked_by_socket', status_of)
    for name in ('a', 'b'):
        (tmp_path / f'{name}.asok').touch()
    for name in ('a', 'b'):
        mounted(name)
        assert ceph._socket_of(f'/mnt/{name}/trials') == str(tmp_path / f'{name}.asok')
    mounted('c')
    with pytest.raises(ceph.base.NoAnswer, match='several ceph-fuse have number'):
        ceph._socket_of('/mnt/c/trials')


def test_the_kernels_client_counts_bytes_in_its_last_column(tmp_path):
    """Composed from fs/ceph/debugfs.c, metrics_size_show."""
    (tmp_path / 'size').write_text(
        'item          total       avg_sz(bytes)   min_sz(bytes)   max_sz(bytes)  total_sz(bytes)\n'
        '----------------------------------------------------------------------------------------\n'
        'read          4           4194304         4194304         4194304        16777216\n'
        'write         2           100             100             100            200\n'
        'copyfrom      0           0               0               0              0\n'
    )
    (tmp_path / 'latency').write_text('item          total       sum_lat(us)\n')
    seen = [ceph._kernel_counters(str(tmp_path / name)) for name in ('size', 'latency', 'none')]
    assert seen == [{READ: 16777216, WRITTEN: 200}, {}, {}]


def test_free_inodes_of_all_ones_are_no_limit(monkeypatch):
    seen = os.statvfs_result((4194304, 4194304, 1948, 1916, 1916, 223, -1, -1, 4102, 255))
    monkeypatch.setattr(os, 'statvfs', lambda path: seen)
    assert CEPH.capacity('/ceph') == Capacity(1916 * 4194304, None)


@needs_ceph
def test_a_layout_is_set_on_a_directory_and_proved_on_a_file(ceph_mount):
    layout = CEPH.layout('wide', {'stripe_count': 2, 'stripe_unit': '1MiB', 'object_size': '8MiB', 'pool': 'data'})
    directory = ceph_mount / 'wide'
    directory.mkdir()
    assert CEPH.set_layout(str(directory), layout) is None
    (directory / 'file').write_bytes(b'x')
    assert CEPH.granted(str(directory / 'file'), layout).differs is None
    (ceph_mount / 'plain').write_bytes(b'x')
    differs = CEPH.granted(str(ceph_mount / 'plain'), layout).differs
    assert differs is not None and differs.endswith(f'but has {DEFAULT}')
    assert 'stripe_count=2' in CEPH.state(str(directory))['default layout']


@needs_ceph
def test_a_pool_that_does_not_exist_is_refused_by_the_file_system(ceph_mount):
    directory = ceph_mount / 'poolless'
    directory.mkdir()
    fault = CEPH.set_layout(str(directory), CEPH.layout('none', {'pool': 'none'}))
    assert fault == f'pool=none: {directory}: Invalid argument'


@needs_ceph
def test_quotas_of_parent_directories_limit_the_free_space(ceph_mount):
    below = ceph_mount / 'limited' / 'below'
    below.mkdir(parents=True)
    os.setxattr(below.parent, 'ceph.quota.max_files', b'50')
    assert CEPH.quota(str(below)) == Capacity(None, 48)
    assert CEPH.capacity(str(below)).inodes is None


@needs_ceph
def test_dropping_pages_or_all_of_the_kernels_caches_is_not_enough_and_emptying_is(ceph_mount, may_empty):
    file = ceph_mount / 'data'
    file.write_bytes(os.urandom(SIZE))
    with file.open() as stream:
        os.fsync(stream.fileno())
    assert fetched_by_reading(CEPH, file) < SMALL
    forget(str(file))
    assert fetched_by_reading(CEPH, file) < SMALL and not CEPH.cold(str(file)).forgets
    assert ceph.caches.empty(str(file), 60.0) is None
    assert fetched_by_reading(CEPH, file) < SMALL
    before = CEPH.state(str(ceph_mount))
    assert CEPH.empty_client_cache(str(ceph_mount)) is None
    assert changes(before, CEPH.state(str(ceph_mount))) == []
    assert fetched_by_reading(CEPH, file) >= SIZE


@needs_ceph
def test_after_emptying_names_come_from_the_metadata_server(ceph_mount, may_empty):
    directory = ceph_mount / 'many'
    warm = fetched_by_looking(CEPH, directory)
    assert CEPH.empty_client_cache(str(ceph_mount)) is None
    assert fetched_by_looking(CEPH, directory) > 10 * warm


@needs_ceph
def test_the_traffic_is_metered(ceph_mount, counted_as_written):
    meter, before = CEPH.meter(str(ceph_mount)), CEPH.exchanged(str(ceph_mount)).sent
    assert meter.what.startswith("this node's ceph-fuse")
    assert counted_as_written(meter, ceph_mount / 'metered', SIZE) >= SIZE
    assert before + SIZE <= CEPH.exchanged(str(ceph_mount)).sent < before + 2 * SIZE


def test_bytes_sent_by_the_kernel_client_are_unknown(monkeypatch):
    for module in ('posix', 'ceph'):
        monkeypatch.setattr(f'seatrial.filesystem.{module}.look', lambda path: (Mount('/', 'ceph', 'n1:/', ''), ''))
    monkeypatch.setattr(ceph, '_client', lambda path: {'cluster_fsid': 'f', 'client_id': '1'})
    monkeypatch.setattr(ceph, '_kernel_counters', lambda file: {WRITTEN: 7})
    assert CEPH.exchanged('/mnt').sent is None


@needs_ceph
def test_an_ordinary_user_gets_the_reason_for_missing_counters(ceph_mount):
    python = '/usr/bin/python3'  # this one may lie where only its owner can start it
    if not os.access(python, os.X_OK):
        pytest.skip(f'{python} is not installed')
    counted, client, why_not = seen_by_nobody(CEPH, ceph_mount, 'client', python)
    assert counted == 'None' and 'only root and the group ceph may ask' in client and 'only root may' in why_not
