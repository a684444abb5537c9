"""The data that the tasks of the proof of contents write, and the findings when they read them back."""

import errno
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.engine.failed_call import failed_calls
from seatrial.engine.proof import FAILED, SHOWN, ProofSpec, compare, data_of, main, offsets, write
from seatrial.model.codec import to_json
from seatrial.model.units import KIB
from seatrial.workload.access import data_access, file_name

TASKS, TRANSFER, TRANSFERS = 3, 5 * KIB, 8
SIZES = {'transfer_size': TRANSFER, 'bytes_per_task': TRANSFERS * TRANSFER}
GEOMETRIES = {
    'own files': data_access('multiple', **SIZES),
    'segments': data_access('single', 'segment', **SIZES),
    'strided': data_access('single', 'segment', 'strided', **SIZES),
    'random': data_access('single', 'segment', 'random', **SIZES),
}


def spec_of(geometry, phase='write', transfers=TRANSFERS, written=(), key='key', limit_s=60.0):
    point = GEOMETRIES[geometry]._replace(tasks=TASKS, tasks_per_node=TASKS)
    return ProofSpec(phase, point, key, transfers, limit_s, tuple(written))


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(geometry, **how):
    spec = spec_of(geometry, **how)
    return [write(spec, rank, 'n1').transfers for rank in range(TASKS)]


def read(geometry, counts, **how):
    spec = spec_of(geometry, 'read', written=counts, **how)
    return [compare(spec, rank, 'n2') for rank in range(TASKS)]


@pytest.mark.parametrize('geometry', GEOMETRIES)
def test_every_byte_is_written_once_and_compared(there, geometry):
    spec, counts = spec_of(geometry), written(geometry)
    assert counts == [TRANSFERS] * TASKS
    assert [(report.transfers, report.differs) for report in read(geometry, counts)] == [(TRANSFERS, None)] * TASKS
    at = [(file_name(spec.point, rank), offset) for rank in range(TASKS) for offset in offsets(spec, rank)]
    assert len(set(at)) == len(at) == TASKS * TRANSFERS
    assert sum(file.stat().st_size for file in there.iterdir()) == TASKS * TRANSFERS * TRANSFER


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(GEOMETRIES)), st.integers(0, TASKS * TRANSFERS * TRANSFER - 1), st.integers(0, 7))
def test_one_flipped_bit_is_found_with_its_place_and_both_bytes(there, geometry, place, bit):
    counts = written(geometry)
    size = TRANSFERS * TRANSFER
    name, offset = (f'data.{place // size:08d}', place % size) if geometry == 'own files' else ('data', place)
    whole = bytearray((there / name).read_bytes())
    was = whole[offset]
    whole[offset] ^= 1 << bit
    (there / name).write_bytes(whole)
    (difference,) = [report.differs for report in read(geometry, counts) if report.differs]
    assert (difference.file, difference.offset) == (name, offset)
    assert (int(difference.expected[:2], 16), int(difference.read_back[:2], 16)) == (was, was ^ 1 << bit)


@pytest.mark.parametrize('how', ['moved', 'earlier', 'zeros', 'short'])
def test_data_of_another_place_or_run_zeros_and_an_end_too_early_are_found(there, how):
    counts = written('segments', key='an earlier run' if how == 'earlier' else 'key')
    whole = bytearray((there / 'data').read_bytes())
    if how == 'moved':
        whole[TRANSFER : 2 * TRANSFER], whole[:TRANSFER] = whole[:TRANSFER], whole[TRANSFER : 2 * TRANSFER]
    elif how == 'zeros':
        whole[:TRANSFER] = bytes(TRANSFER)
    elif how == 'short':
        del whole[-1:]
    (there / 'data').write_bytes(whole)
    differs = [report.differs for report in read('segments', counts) if report.differs]
    assert differs[0].offset == (len(whole) if how == 'short' else 0)
    assert differs[0].read_back == ('' if how == 'short' else whole[:SHOWN].hex())


@pytest.mark.parametrize('geometry', GEOMETRIES)
def test_a_part_lies_at_places_all_over_the_files_which_have_their_full_size(there, geometry):
    counts = written(geometry, transfers=4)
    assert counts == [4] * TASKS
    assert sum(file.stat().st_size for file in there.iterdir()) == TASKS * TRANSFERS * TRANSFER
    compared = [(report.transfers, report.differs) for report in read(geometry, counts, transfers=4)]
    assert compared == [(4, None)] * TASKS
    whole, part = sorted(offsets(spec_of(geometry), 0)), offsets(spec_of(geometry, transfers=4), 0)
    assert sorted(whole.index(offset) // 2 for offset in part) == [0, 1, 2, 3]


def test_when_the_time_is_over_one_transfer_is_written_and_compared_all_the_same(there):
    counts = written('own files', limit_s=0.0)
    assert counts == [1] * TASKS
    assert [report.transfers for report in read('own files', counts, limit_s=0.0)] == [1] * TASKS


@pytest.mark.parametrize(('call', 'name'), [('fsync', ()), ('open', ('data.00000000',))])
def test_a_failed_call_of_an_open_file_is_distinguished_from_one_of_a_name(there, monkeypatch, capsys, call, name):
    def fail(*arguments):
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), *name)

    (there / 'spec.json').write_text(json.dumps(to_json(spec_of('own files'))))
    monkeypatch.setattr(os, call, fail)
    assert main(['spec.json', '0']) == FAILED
    (failed,) = failed_calls(f'task 0 on n1: {json.loads(capsys.readouterr().out)["failed"]}')
    assert (failed.errno, failed.file, failed.on_descriptor) == ('ENOENT', 'data.00000000', not name)


def test_no_two_places_and_no_two_runs_have_the_same_data():
    data = {data_of(key, name, offset, 64) for key in 'ab' for name in ('data', 'data.1') for offset in range(100)}
    assert len(data) == 400
