"""The accesses that Darshan's counters show: in genuine logs, and in counters of known accesses."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.issued import ALL, DarshanLog, Record, issued_of, order_of
from seatrial.model.issued import MIXED, Share
from seatrial.model.units import KIB, MIB

TRANSCRIPTS = Path(__file__).parents[1] / 'transcripts' / 'darshan'
RUN = '/scratch/trial'
BIG = {'big.00000000': 'big', 'big.00000001': 'big'}  # the links of the run behind sfwa-read


def logs_of(name):
    """The Darshan logs of this name as the reader returned them: a single one, or those of all processes."""
    read = [json.loads(line) for line in (TRANSCRIPTS / f'{name}.json').read_text().splitlines()]
    return [
        DarshanLog(log['version'], log['processes'], log['partial'], tuple(Record(*row) for row in log['records']))
        for log in read
    ]


def issued(name, links=None):
    return issued_of(logs_of(name), RUN, links)


# Genuine logs: IOR, mdtest and fio under Darshan 3.4.7


@pytest.mark.parametrize(
    ('name', 'links', 'pattern'),
    [
        ('mfwa', None, ('multiple', 'whole', 'contiguous', 'posix', False)),
        ('sfsa-contiguous', None, ('single', 'segment', 'contiguous', 'posix', False)),
        ('sfsa-strided', None, ('single', 'segment', 'strided', 'posix', False)),
        ('random', None, ('single', 'segment', 'random', 'posix', False)),
        ('sfsa-mpiio-collective', None, ('single', 'segment', 'strided', 'mpiio', True)),
        ('sfwa-read', BIG, ('single', 'whole', 'contiguous', 'posix', False)),
        ('sfwa-read', None, ('multiple', 'whole', 'contiguous', 'posix', False)),  # its names look like files
        ('fio-sfsa-strided', None, ('single', 'segment', 'strided', 'posix', False)),
    ],
)
def test_a_genuine_log_gives_the_pattern_of_its_run(name, links, pattern):
    seen = issued(name, links)
    assert (seen.sharing, seen.extent, seen.order, seen.interface, seen.collective) == pattern
    assert (seen.processes, seen.tasks, seen.partial) == (2, 2, False)


@pytest.mark.parametrize(
    ('name', 'files', 'size', 'transfer', 'done'),
    [
        ('mfwa', 2, 16 * MIB, 256 * KIB, {'write': 16 * MIB, 'read': 16 * MIB}),
        ('sfsa-strided', 1, 16 * MIB, 256 * KIB, {'write': 16 * MIB, 'read': 16 * MIB}),
        ('random', 1, 16 * MIB, 64 * KIB, {'write': 16 * MIB, 'read': 16 * MIB}),
        ('sfsa-mpiio-collective', 1, 8 * MIB, 256 * KIB, {'write': 8 * MIB, 'read': 8 * MIB}),
        ('fio-sfsa-strided', 1, 4 * MIB, 64 * KIB, {'write': 4 * MIB}),
    ],
)
def test_a_genuine_log_gives_files_sizes_and_bytes(name, files, size, transfer, done):
    seen = issued(name)
    assert (seen.files, seen.size) == (files, size)
    assert seen.sizes == (Share(transfer, 1.0),)
    assert {operation.operation: operation.bytes_moved for operation in seen.done} == done
    assert (seen.alignment, seen.misaligned) == (4096, 0.0)


def test_a_sync_by_another_process_counts_and_that_process_is_no_task():
    logs = logs_of('fio-sfsa-strided')
    file = next(record.file for log in logs for record in log.records if record.file.startswith(f'{RUN}/'))
    synced = {file: 3, f'{RUN}/other': 5}
    around = tuple(Record('POSIX', name, 0, {'POSIX_FSYNCS': number}) for name, number in synced.items())
    seen = issued_of([*logs, DarshanLog('3.4.7', 1, False, around)], RUN)
    assert (seen.syncs, seen.tasks, seen.processes) == (2 + 3, 2, 2)


def test_metadata_opens_files_and_moves_nothing():
    seen = issued('mdtest')
    assert (seen.opened, seen.files, seen.sharing, seen.done) == (200, 0, '', ())
    assert issued('partial').partial and not seen.partial  # as Darshan says itself


def test_files_elsewhere_do_not_count():
    assert issued_of(logs_of('mfwa'), '/scratch/tri').files == 0
    assert issued_of(logs_of('mfwa'), '/scratch/trial/').files == 2


# Counters of known accesses, counted as darshan-posix.c does


def counters(offsets, size, word='WRIT'):
    """Darshan's counters of one process that moves `size` bytes at each of these offsets."""
    last, following, forward = 0, 0, 0
    for offset in offsets:
        forward += offset > last
        following += offset == last + 1
        last = offset + size - 1
    plural, moved = ('WRITES', 'WRITTEN') if word == 'WRIT' else ('READS', 'READ')
    return {
        f'POSIX_{plural}': len(offsets),
        f'POSIX_BYTES_{moved}': len(offsets) * size,
        f'POSIX_MAX_BYTE_{moved}': max(offsets) + size - 1,
        f'POSIX_SEQ_{plural}': forward,
        f'POSIX_CONSEC_{plural}': following,
        'POSIX_ACCESS1_ACCESS': size,
        'POSIX_ACCESS1_COUNT': len(offsets),
    }


def added(parts):
    """The record of rank -1 that Darshan makes of those of all processes."""
    return {
        name: (max if 'MAX_BYTE' in name or name.endswith('ACCESS') else sum)(part[name] for part in parts)
        for name in parts[0]
    }


def shared_log(offsets_of_each, size):
    parts = [counters(offsets, size) for offsets in offsets_of_each]
    return DarshanLog('3.4.7', len(parts), False, (Record('POSIX', '/f', ALL, added(parts)),))


tasks = st.integers(2, 9)
transfers = st.integers(2, 200)
sizes = st.sampled_from([1 * KIB, 47008, 64 * KIB, 1 * MIB])


@pytest.mark.parametrize(
    ('place', 'extent', 'order'),
    [
        (lambda rank, i, n, k: rank * k + i, 'segment', 'contiguous'),
        (lambda rank, i, n, k: i * n + rank, 'segment', 'strided'),
        (lambda rank, i, n, k: i, 'whole', 'contiguous'),
    ],
)
@given(tasks, transfers, sizes)
def test_segments_of_one_file_transfers_in_turn_and_the_whole_by_all_are_told_apart(place, extent, order, n, k, size):
    seen = issued_of([shared_log([[place(r, i, n, k) * size for i in range(k)] for r in range(n)], size)])
    assert (seen.sharing, seen.extent, seen.order, seen.tasks) == ('single', extent, order, n)


@given(tasks, st.integers(64, 200), sizes, st.integers(0, 1000))
def test_a_random_order_is_random(n, k, size, seed):
    rng = random.Random(seed)
    offsets = [[(r * k + i) * size for i in range(k)] for r in range(n)]
    for offset in offsets:
        rng.shuffle(offset)
    assert issued_of([shared_log(offsets, size)]).order == 'random'


@given(tasks, transfers, sizes)
def test_logs_of_single_processes_say_together_what_one_log_of_all_says(n, k, size):
    offsets = [[(i * n + r) * size for i in range(k)] for r in range(n)]
    alone = [DarshanLog('3.4.7', 1, False, (Record('POSIX', '/f', 0, counters(offset, size)),)) for offset in offsets]
    assert issued_of(alone) == issued_of([shared_log(offsets, size)])


def test_where_a_segment_begins_is_not_a_step_forward():
    (done,) = issued_of([shared_log([[0, 2 * KIB, KIB], [5 * KIB, 3 * KIB, 4 * KIB]], KIB)]).done
    assert (done.transitions, done.following, done.forward) == (4, 0.25, 0.5)


def test_pieces_that_are_themselves_strided_are_of_no_one_order():
    pieces = [[(piece * 2 + r) * 4 * KIB + i * KIB for piece in range(8) for i in range(4)] for r in range(2)]
    assert issued_of([shared_log(pieces, KIB)]).order == MIXED


@pytest.mark.parametrize(
    ('transitions', 'following', 'forward', 'order'),
    [
        (0, 0, 0, ''),
        (100, 90, 95, 'contiguous'),
        (100, 89, 95, MIXED),
        (100, 10, 90, 'strided'),
        (100, 11, 90, MIXED),
        (100, 25, 75, 'random'),
        (100, 26, 75, MIXED),
        (100, 0, 76, MIXED),
        (100, 0, 24, MIXED),
        (31, 0, 15, MIXED),
        (32, 0, 16, 'random'),
    ],
)
def test_the_bounds_of_an_order(transitions, following, forward, order):
    assert order_of(transitions, following, forward) == order


def test_some_tasks_on_each_file_are_neither_shared_nor_alone():
    record = counters([0, KIB], KIB)
    pairs = tuple(Record('POSIX', f'/f{rank // 2}', rank, record) for rank in range(4))
    assert issued_of([DarshanLog('3.4.7', 4, False, pairs)]).sharing == MIXED


def test_tasks_that_cover_a_part_of_a_shared_file_twice_touch_neither_whole_nor_segment():
    assert issued_of([shared_log([[0, KIB, 2 * KIB], [KIB, 2 * KIB, 3 * KIB]], KIB)]).extent == ''


def test_the_order_behind_mpi_io_that_merges_transfers_is_undecided():
    (log,) = logs_of('sfsa-mpiio-collective')
    posix, mpiio = log.records
    fewer = {**posix.counters, 'POSIX_WRITES': 16, 'POSIX_CONSEC_WRITES': 15}
    merged = DarshanLog('3.4.7', 2, False, (Record('POSIX', posix.file, ALL, fewer), mpiio))
    orders = {operation.operation: operation.order for operation in issued_of([merged]).done}
    assert orders == {'write': '', 'read': 'strided'}
