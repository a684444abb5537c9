"""GlusterFS 10.3: .meta of its client, and cold reads proved by what the four bricks sent (ci/lab-gluster)."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuse_lab import fetched_by_looking, fetched_by_reading, seen_by_nobody
from seatrial.filesystem import glusterfs
from seatrial.filesystem.base import pinned
from seatrial.filesystem.caches import forget
from seatrial.filesystem.glusterfs import connections_of, inodes_of, parse_files, state_of, subvolumes_of
from seatrial.filesystem.registry import by_type
from seatrial.model.state import Change, changes
from seatrial.model.telemetry import READ, WRITTEN

GLUSTER = by_type('glusterfs')
SIZE = 8 * 1024 * 1024
SMALL = SIZE // 100
needs_glusterfs = pytest.mark.needs('glusterd', 'glusterfs', 'nsenter')
TRANSCRIPTS = Path(__file__).resolve().parents[1] / 'transcripts' / 'glusterfs'
TEXTS = {path.stem: path.read_text() for path in sorted(TRANSCRIPTS.glob('*.txt'))}
DEFAULT, TUNED, DOWN = (parse_files(TEXTS[f'state-{name}']) for name in ('default', 'tuned', 'brick-down'))


def test_a_brick_that_is_down_is_not_connected():
    assert all(connections_of(TUNED).values())
    assert list(connections_of(DOWN).values()) == [True, True, False, True]
    assert state_of(DOWN)['brick lab-d0036c-client-2'] == '10.77.0.1:/run/bricks/3, not connected'


def test_the_bricks_stand_in_the_order_of_the_distribution_with_what_reaches_each():
    subvolumes = subvolumes_of(parse_files(TEXTS['bricks-distributed']))
    assert [subvolume.key for subvolume in subvolumes] == [f'@lab-dht:lab-client-{n}' for n in range(4)]
    assert [subvolume.name for subvolume in subvolumes] == [f'n2:/srv/{n}/b' for n in range(1, 5)]
    assert {subvolume.connected for subvolume in subvolumes} == {(True,)}


def test_replicas_are_one_target():
    text = TEXTS['bricks-replicated'].replace('connected = 1', 'connected = 0', 1)
    first, second = subvolumes_of(parse_files(text))
    assert first.bricks == (('n2', '/srv/1/r'), ('n2', '/srv/2/r')) and first.connected == (False, True)
    assert (second.key, second.name) == ('@rep-dht:rep-replicate-1', 'n2:/srv/3/r + n2:/srv/4/r')


def test_a_client_that_shows_no_distribution_has_no_targets(tmp_path):
    assert subvolumes_of(DEFAULT) == () and GLUSTER.targets(str(tmp_path)).rows == ()
    assert GLUSTER.exchanged(str(tmp_path)).fetched is None
    assert 'unknown' in GLUSTER.state(str(tmp_path))['client']


HOSTS = [(('node1', '/b'),), (('node2.site', '/b'),), (('node1', '/c'),)]


@pytest.mark.parametrize(
    'host, place, number', [('node1', '/b', 0), ('node2', '/b', 1), ('10.0.0.1', '/c', 2), ('other', '/b', None)]
)
def test_the_brick_of_a_file_is_known_by_its_directory_and_then_by_its_host(monkeypatch, host, place, number):
    known = [glusterfs.Subvolume('', bricks, (True,)) for bricks in HOSTS]
    monkeypatch.setattr(glusterfs, '_addresses', lambda host: set())
    holds = [at for at, subvolume in enumerate(known) if glusterfs._is_one_of(host, place, subvolume, known)]
    assert holds == ([] if number is None else [number])


def test_the_state_has_version_command_translators_and_the_options_of_the_volume_that_are_set():
    before, after = state_of(DEFAULT), state_of(TUNED)
    assert before['client version'] == 'glusterfs 10.3'
    assert before['client command'].startswith('glusterfs --volfile-server=10.77.0.1')
    assert 'performance/quick-read' in before['translators'] and 'performance/io-cache' not in before['translators']
    assert after['lab-d0036c-md-cache md-cache-timeout'] == '600'
    changed = {change.key for change in changes(before, after)}
    assert {'translators', 'lab-d0036c-md-cache md-cache-timeout'} <= changed


def test_traffic_changes_no_setting():
    seen = state_of(TUNED)
    later = parse_files(TEXTS['state-tuned'].replace('total_bytes_read = 4597540', 'total_bytes_read = 9999999'))
    assert seen == state_of(later)
    assert not {key.rpartition(' ')[2] for key in seen} & {'cache_used', 'inode_count', 'stat_hit_count', 'cache-hit'}


def test_the_traffic_is_that_of_all_connections():
    counted = glusterfs.traffic_of(TEXTS['state-tuned'])
    assert counted[READ] == 2720 + 2188 + 4597540 + 2188 and counted[WRITTEN] > 0


def test_the_inodes_that_the_client_keeps_are_counted():
    assert inodes_of(parse_files(TEXTS['inodes-default'])) == 2
    assert inodes_of({'gv0-dht/meminfo': 'num_types = 124\n'}) == 0
    assert inodes_of({}) is None


@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 300))
def test_a_transcript_cut_short_after_any_line_never_raises(name, lines):
    files = parse_files(''.join(TEXTS[name].splitlines(keepends=True)[:lines]))
    assert all(isinstance(value, str) for value in state_of(files).values())
    connections_of(files)
    assert inodes_of(files) is None or inodes_of(files) >= 0


def test_a_client_that_keeps_forgetting_is_a_fault(monkeypatch, tmp_path):
    falling = iter(range(1000, 0, -1))
    monkeypatch.setattr(glusterfs, 'inodes_of', lambda files: next(falling))
    monkeypatch.setattr(glusterfs, 'FORGOTTEN_S', 0.0)
    monkeypatch.setattr('seatrial.filesystem.caches.why_not', lambda: '')
    monkeypatch.setattr('seatrial.filesystem.caches.empty', lambda path, deadline_s: None)
    fault = GLUSTER.empty_client_cache(str(tmp_path))
    assert fault is not None and 'inodes' in fault


@needs_glusterfs
def test_the_state_of_a_real_volume_changes_only_when_the_volume_does(gluster_mount, set_option):
    before = GLUSTER.state(str(gluster_mount))
    assert before['bricks'] == '4: 0-3' and 'fuse.glusterfs' in before['mounted']
    (gluster_mount / 'traffic').write_bytes(os.urandom(SMALL))
    assert changes(before, GLUSTER.state(str(gluster_mount))) == []
    set_option('performance.qr-cache-timeout', '7')
    name = next(key for key in before if key.endswith('quick-read cache_timeout'))
    assert Change(name, '1', '7') in changes(before, GLUSTER.state(str(gluster_mount)))


@needs_glusterfs
def test_a_real_client_counts_data_that_are_written(gluster_mount, counted_as_written):
    meter = GLUSTER.meter(str(gluster_mount))
    assert meter.why_not == '' and counted_as_written(meter, gluster_mount / 'counted', 1 << 20) >= 1 << 20


@needs_glusterfs
def test_no_secret_of_the_volume_is_in_the_state(gluster_mount):
    hidden = {path.read_text().strip() for path in gluster_mount.glob('.meta/graphs/active/*/options/*word')}
    hidden |= {path.read_text().strip() for path in gluster_mount.glob('.meta/graphs/active/*/options/username')}
    state = GLUSTER.state(str(gluster_mount)).values()
    assert hidden and not any(secret in value for secret in hidden for value in state)


@needs_glusterfs
def test_a_brick_that_dies_is_a_change_of_the_state(gluster_mount, lab_gluster):
    before = GLUSTER.state(str(gluster_mount))
    lab_gluster('signal', 'KILL', 'brick4')
    after = GLUSTER.state(str(gluster_mount))
    while after['bricks'] == before['bricks']:  # the client has not noticed yet
        after = GLUSTER.state(str(gluster_mount))
    lab_gluster('up')
    (change,) = [change for change in changes(before, after) if change.key == 'bricks']
    assert change.before == '4: 0-3' and re.fullmatch(r'4: 0-3; brick \d \S+/bricks/4 not connected', change.after)


@needs_glusterfs
def test_after_emptying_a_read_comes_from_the_bricks_past_the_clients_cache(gluster_mount, set_option, may_empty):
    """With io-cache on, dropping the kernel's pages alone leaves a read that no brick sees."""
    for option in ('io-cache', 'io-cache-size', 'cache-refresh-timeout'):
        set_option(f'performance.{option}', {'io-cache': 'on', 'io-cache-size': '64MB'}.get(option, '60'))
    assert 'performance/io-cache' in GLUSTER.state(str(gluster_mount))['translators']
    file = gluster_mount / 'data'
    file.write_bytes(os.urandom(SIZE))
    forget(str(file))
    fetched_by_reading(GLUSTER, file)  # by now the client has it too
    # One of three: whoever empties the machine's caches meanwhile, as other tests do, makes a reading cold.
    assert min(fetched_by_reading(GLUSTER, file) for _ in range(3)) < SMALL
    forget(str(file))
    assert fetched_by_reading(GLUSTER, file) < SIZE // 2
    assert GLUSTER.cold(str(gluster_mount)).possible and GLUSTER.cold(str(gluster_mount)).kept == ''
    assert GLUSTER.empty_client_cache(str(gluster_mount)) is None
    assert fetched_by_reading(GLUSTER, file) >= SIZE


@needs_glusterfs
def test_after_emptying_attributes_come_from_the_bricks(gluster_mount, set_option, may_empty):
    set_option('performance.md-cache-timeout', '600')
    directory = gluster_mount / 'many'
    fetched_by_looking(GLUSTER, directory)
    warm = fetched_by_looking(GLUSTER, directory)
    assert GLUSTER.empty_client_cache(str(gluster_mount)) is None
    assert fetched_by_looking(GLUSTER, directory) > 5 * warm


@needs_glusterfs
def test_an_ordinary_user_may_read_counters_and_state_but_empty_nothing(gluster_mount):
    counted, bricks, why_not = seen_by_nobody(GLUSTER, gluster_mount, 'bricks')
    assert int(counted) > 0 and bricks == '4: 0-3' and 'only root may' in why_not


@needs_glusterfs
def test_files_lie_on_the_brick_of_choice_and_the_client_shows_it(gluster_mount):
    """Twice in short order, because the kernel remembers names for a second."""
    directory = gluster_mount / 'chosen'
    directory.mkdir()
    files = [directory / f'data.{number}' for number in range(6)]
    rows = GLUSTER.targets(str(directory)).rows
    assert [row.active for row in rows] == [True] * 4
    for row in (*rows, *rows):
        layout = pinned(GLUSTER, 'brick', row.number)
        assert GLUSTER.make_files(list(map(str, files)), layout, str(directory)) is None
        for file in files:
            file.write_bytes(b'x')
        assert sorted(directory.iterdir()) == files
        brick = Path(row.name.partition(':')[2]).name
        on_it = gluster_mount.parent / 'bricks' / brick / 'chosen'
        assert [(on_it / file.name).read_bytes() for file in files] == [b'x'] * 6
        assert {GLUSTER.granted(str(file), layout).differs for file in files} == {None}
        other = pinned(GLUSTER, 'brick', (row.number + 1) % 4)
        why = GLUSTER.granted(str(files[0]), other).differs or ''
        assert f'should lie on {other.name} (10.77.0.1:' in why and f'/bricks/{brick}' in why.partition('lies on')[2]
        for file in files:
            file.unlink()
    both = GLUSTER.on_targets('both', 'brick', [1, 3])
    assert GLUSTER.make_files(list(map(str, files)), both, str(directory)) is None
    for file in files:
        file.write_bytes(b'x')
    on_it = [[part.stat().st_size for part in gluster_mount.parent.glob(f'bricks/{n}/chosen/data.*')] for n in '24']
    assert [sum(sizes) for sizes in on_it] == [3, 3]
    assert {GLUSTER.granted(str(file), both).differs for file in files} == {None}
    fault = GLUSTER.layout_fault(pinned(GLUSTER, 'brick', 4), str(directory))
    assert fault.endswith(': the client has 4 bricks, numbered from 0; there is no number 4')
