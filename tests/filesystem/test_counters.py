"""What a node counts of its traffic, by the type of the file system. Lustre's is in test_lustre.py."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.filesystem import nfs, posix
from seatrial.filesystem.glusterfs import traffic_of
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.nfs import traffic
from seatrial.filesystem.posix import parse_device_counters
from seatrial.filesystem.registry import TYPES, by_type
from seatrial.model.telemetry import BEFORE, READ, WRITTEN

TRANSCRIPTS = Path(__file__).resolve().parent.parent / 'transcripts'
STAT = '  132072    18472 48723970   104688    38741    92797 48055456   396568        0    35696   505830    10369\n'
NFS = """device filer:/home mounted on /home with fstype nfs4 statvers=1.1
\tbytes:\t100 200 300 400 5120 600 7 8
\tper-op statistics
\t        READ: 5 5 0 1120 5720 0 12 13 0
\t       WRITE: 3 4 0 980 520 0 40 44 0
"""


class TestBlockDevices:
    def test_sectors_are_counted_in_units_of_512_bytes(self):
        assert parse_device_counters(STAT) == {
            READ: 48723970 * 512,
            WRITTEN: 48055456 * 512,
            'reads': 132072,
            'writes': 38741,
        }

    @given(st.integers(0, STAT.index('505830')))
    def test_a_file_cut_short_gives_nothing(self, length):
        assert parse_device_counters(STAT[:length]) == {}

    def test_the_device_is_that_of_the_files(self, tmp_path, monkeypatch):
        seen = os.stat(tmp_path).st_dev
        place = tmp_path / f'{os.major(seen)}:{os.minor(seen)}'
        place.mkdir()
        (place / 'stat').write_text(STAT)
        monkeypatch.setattr(posix, 'BLOCK_DEVICES', str(tmp_path))
        monkeypatch.setattr(posix, 'look', lambda path: (Mount('/', 'ext4', '/dev/vda', 'rw'), ''))
        if os.major(seen) == 0:
            pytest.skip('the temporary files lie on no block device')
        meter = by_type('posix').meter(str(tmp_path))
        assert meter.why_not == '' and 'block device' in meter.what
        assert meter.look(1.0)[READ] == 48723970 * 512
        (place / 'stat').unlink()
        assert meter.look(1.0) == {}

    def test_what_is_written_and_synced_is_counted(self, tmp_path):
        meter = by_type('posix').meter(str(tmp_path))
        if meter.why_not:
            pytest.skip(meter.why_not)
        before = meter.look(1.0)
        with (tmp_path / 'file').open('wb') as stream:
            stream.write(os.urandom(1 << 20))
            stream.flush()
            os.fsync(stream.fileno())
        assert meter.look(1.0)[WRITTEN] - before[WRITTEN] >= 1 << 20

    def test_what_ocfs2_exchanges_is_what_its_disk_reads_and_writes(self, tmp_path, monkeypatch):
        monkeypatch.setattr(posix, 'look', lambda path: (Mount('/shared', 'ocfs2', '/dev/sdb', 'rw'), ''))
        monkeypatch.setattr(posix, '_block_device', lambda path, mount: str(tmp_path))
        (tmp_path / 'stat').write_text(' '.join(str(number) for number in range(1, 12)))
        assert by_type('ocfs2').exchanged('/shared/trial').fetched == 3 * 512
        assert by_type('ocfs2').exchanged('/shared/trial').sent == 7 * 512
        (tmp_path / 'stat').unlink()
        assert by_type('ocfs2').exchanged('/shared/trial').fetched is None

    @pytest.mark.parametrize('kind', ['tmpfs', 'ramfs'])
    def test_files_in_memory_have_no_counters(self, kind, tmp_path, monkeypatch):
        monkeypatch.setattr(posix, 'look', lambda path: (Mount('/', kind, kind, 'rw'), ''))
        meter = by_type('posix').meter(str(tmp_path))
        assert 'memory' in meter.why_not and (meter.what, meter.look(1.0)) == ('', {})

    def test_a_source_that_is_no_device_has_no_counters(self, tmp_path, monkeypatch):
        monkeypatch.setattr(posix, 'look', lambda path: (Mount('/', 'zfs', 'pool/home', 'rw'), ''))
        monkeypatch.setattr(posix, 'BLOCK_DEVICES', str(tmp_path / 'none'))
        assert 'pool/home is not a block device' in by_type('posix').meter(str(tmp_path)).why_not


class TestNfs:
    def test_bytes_and_calls_are_those_with_the_server(self):
        assert traffic(NFS) == {READ: 5120, WRITTEN: 600, 'read_rpcs': 5, 'write_rpcs': 3}

    def test_they_are_read_anew_at_every_look(self, tmp_path, monkeypatch):
        file = tmp_path / 'mountstats'
        file.write_text(NFS)
        monkeypatch.setattr(nfs, 'MOUNTSTATS', str(file))
        monkeypatch.setattr(posix, 'look', lambda path: (Mount('/home', 'nfs4', 'filer:/home', 'rw'), ''))
        meter = by_type('nfs').meter('/home')
        assert meter.why_not == '' and 'filer:/home' in meter.what
        file.write_text(NFS.replace('5120', '9000'))
        assert meter.look(1.0)[READ] == 9000
        file.unlink()
        assert meter.look(1.0) == {}
        assert 'no counters for /home' in by_type('nfs').meter('/home').why_not


class TestGlusterFs:
    def test_the_bytes_are_those_of_all_connections(self):
        counted = traffic_of((TRANSCRIPTS / 'glusterfs' / 'state-tuned.txt').read_text())
        assert counted[READ] == 2720 + 2188 + 4597540 + 2188 and counted[WRITTEN] > 0

    def test_a_real_client_counts_what_it_writes_and_reads(self, gluster_mount):
        meter = by_type('glusterfs').meter(str(gluster_mount))
        assert meter.why_not == ''
        before = meter.look(10.0)
        with (gluster_mount / 'counted').open('wb') as stream:
            stream.write(os.urandom(1 << 20))
            stream.flush()
            os.fsync(stream.fileno())
        assert meter.look(10.0)[WRITTEN] - before[WRITTEN] >= 1 << 20


@pytest.mark.parametrize('type', [name for name in TYPES if name != 'lustre'])
def test_a_type_without_sizes_of_requests_says_so(type, tmp_path):
    answer = by_type(type).rpc_sizes(str(tmp_path), BEFORE)
    assert (answer.when, answer.sizes) == (BEFORE, ()) and type in answer.why_not


@pytest.mark.parametrize('type', TYPES)
def test_where_the_file_system_does_not_answer_nothing_is_counted(type, monkeypatch, tmp_path):
    for module in ('posix', 'nfs', 'glusterfs', 'ceph', 'lustre.driver'):
        monkeypatch.setattr(f'seatrial.filesystem.{module}.look', lambda path: (None, 'it does not answer'))
    meter = by_type(type).meter(str(tmp_path))
    assert meter.why_not == 'it does not answer' and meter.look(1.0) == {}
