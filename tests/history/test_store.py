import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.history.rows import COLUMNS, OF_ONE_SESSION, SCHEMA, SINCE
from seatrial.history.store import read, write
from seatrial.model.units import MIB

SESSION = '20261121T020638-9f3a1c'
OF_SCHEMA_3 = Path(__file__).parent / f'{SESSION}.parquet'


@pytest.fixture
def frame(rows, sample):
    return rows(write_16MiB=[sample(repetition=n) for n in range(6)])


def skipped(folder):
    return [(each.file.name, each.why) for each in read(folder).skipped]


def test_what_was_written_is_read(tmp_path, frame):
    file = write(tmp_path / 'history', SESSION, frame)
    assert file == tmp_path / 'history' / f'{SESSION}.parquet'
    assert read(tmp_path / 'history').rows.equals(frame)


def test_a_folder_that_is_not_there_is_an_empty_history(tmp_path):
    found = read(tmp_path / 'history')
    assert (found.rows.height, found.skipped) == (0, ())


def test_sessions_come_oldest_first(tmp_path, rows, sample):
    for session in ('20261203T000000-c', '20261201T000000-a', '20261202T000000-b'):
        write(tmp_path, session, rows(session, write_16MiB=[sample()]))
    found = read(tmp_path).rows['session'].unique(maintain_order=True).to_list()
    assert found == ['20261201T000000-a', '20261202T000000-b', '20261203T000000-c']


def test_nothing_but_the_file_is_left(tmp_path, frame):
    write(tmp_path, SESSION, frame)
    assert os.listdir(tmp_path) == [f'{SESSION}.parquet']


def test_a_write_that_fails_leaves_nothing_and_says_so(tmp_path, frame, monkeypatch):
    def full(*unused):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, 'fsync', full)
    with pytest.raises(OSError, match='No space left'):
        write(tmp_path, SESSION, frame)
    assert os.listdir(tmp_path) == []


def test_a_session_that_is_being_written_is_not_seen(tmp_path, frame, monkeypatch):
    seen = []
    fsync = os.fsync
    monkeypatch.setattr(os, 'fsync', lambda descriptor: (seen.append(read(tmp_path)), fsync(descriptor)))
    write(tmp_path, SESSION, frame)
    assert [(each.rows.height, each.skipped) for each in seen] == [(0, ())]


def test_readers_never_see_half_a_session(tmp_path, rows, sample):
    frame = rows(write_16MiB=[sample(repetition=n) for n in range(6)])
    done = threading.Event()

    def again():
        while not done.is_set():
            write(tmp_path, SESSION, frame)

    write(tmp_path, SESSION, frame)
    writer = threading.Thread(target=again)
    writer.start()
    try:
        found = [read(tmp_path) for _ in range(50)]
    finally:
        done.set()
        writer.join()
    assert all(each.skipped == () and each.rows.height == frame.height for each in found)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0.0, 0.999))
def test_a_file_that_is_cut_short_is_skipped_with_its_reason(tmp_path, frame, share):
    file = write(tmp_path, SESSION, frame)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    assert skipped(tmp_path) == [(file.name, 'it is cut short or damaged, or no Parquet')]
    assert read(tmp_path).rows.height == 0
    assert file.exists()


def test_a_damaged_file_never_ends_the_reader(tmp_path, frame):
    """In a process of its own: a fault in the reader's native code would end it."""
    file = write(tmp_path, SESSION, frame)
    script = (
        'import random, sys\nfrom pathlib import Path\nfrom seatrial.history.store import read\n'
        'file = Path(sys.argv[1]); good = file.read_bytes(); rng = random.Random(1)\n'
        'for _ in range(300):\n'
        '    bad = bytearray(good)\n'
        '    for _ in range(rng.choice([1, 4, 64])):\n'
        '        bad[rng.randrange(len(bad))] = rng.randrange(256)\n'
        '    file.write_bytes(bad); read(file.parent)\n'
    )
    done = subprocess.run([sys.executable, '-c', script, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]


def test_the_others_are_read_beside_a_damaged_one(tmp_path, rows, sample):
    for session in ('20261201T000000-a', '20261202T000000-b'):
        write(tmp_path, session, rows(session, write_16MiB=[sample()]))
    (tmp_path / '20261201T000000-a.parquet').write_bytes(b'PAR1')
    found = read(tmp_path)
    assert found.rows['session'].unique().to_list() == ['20261202T000000-b']
    assert len(found.skipped) == 1


def test_a_foreign_table_is_skipped(tmp_path):
    pl.DataFrame({'a': [1]}).write_parquet(tmp_path / 'other.parquet')
    assert skipped(tmp_path) == [('other.parquet', 'it is not of Seatrial')]


# Sessions of earlier schemas: the file is one that a version of schema 3 wrote


@pytest.fixture
def earlier(tmp_path):
    """Read the session as a version of this schema would have written it."""

    def read_as(schema):
        later = [name for since, names in SINCE.items() if schema < since <= 3 for name in names]
        old = pl.read_parquet(OF_SCHEMA_3).drop(later).with_columns(pl.lit(schema, pl.Int32).alias('schema'))
        write(tmp_path, SESSION, old)
        return read(tmp_path)

    return read_as


@pytest.mark.parametrize('schema', (1, 2, 3))
def test_a_session_of_an_earlier_schema_is_read_without_what_it_did_not_have(earlier, schema):
    found = earlier(schema)
    later = [name for since, names in SINCE.items() if since > schema for name in names if name != 'better']
    assert (found.skipped, found.rows.schema) == ((), pl.Schema(COLUMNS))
    assert found.rows.select(later).null_count().row(0) == (found.rows.height,) * len(later)
    assert (set(found.rows['better']), set(found.rows['schema'])) == ({'higher'}, {SCHEMA})


@pytest.mark.parametrize('schema', (1, 2, 3))
def test_its_values_are_in_base_units_and_its_tasks_are_no_clients(earlier, schema):
    columns = ('metric', 'point', 'axis', 'value', 'unit', 'bytes_per_task', 'files_per_task')
    rows = earlier(schema).rows.unique('metric', maintain_order=True)
    assert {row['metric']: tuple(row[name] for name in columns[1:]) for row in rows.rows(named=True)} == {
        'write@1task': ('1task', 'tasks', 128.0 * MIB, 'B/s', 64 * MIB, None),
        'write@2tasks': ('2tasks', 'tasks', 128.0 * MIB, 'B/s', 64 * MIB, None),
        'write@2objects': ('2objects', 'objects', 128.0 * MIB, 'B/s', 64 * MIB, None),
        **{
            f'file_{phase}@flat': ('flat', 'tree', 5000.0, 'op/s', None, 1000)
            for phase in ('create', 'stat', 'read', 'remove')
        },
        **{
            f'ls_{which}@10': ('10', 'tree', 900.0, 'op/s', None, 1000)
            for which in ('first', 'second', 'third', 'fourth', 'after_1s')
        },
        'holding@two-tasks': ('two-tasks', 'tree', 1.0, '', None, 0),
        'write@all': ('all', 'node', 100.0 * MIB, 'B/s', 64 * MIB, None),
        'write@group01': ('group01', 'node', 100.0 * MIB, 'B/s', 64 * MIB, None),
        'write@group02': ('group02', 'node', 100.0 * MIB, 'B/s', 64 * MIB, None),
    }


def test_the_groups_of_a_node_sweep_are_of_one_session_in_earlier_schemas_too(earlier):
    rows = earlier(3).rows.filter(OF_ONE_SESSION)
    assert set(rows['metric']) == {'write@group01', 'write@group02'}


def test_a_session_of_schema_4_is_read_without_the_state_of_its_file_system(tmp_path, frame):
    write(tmp_path, SESSION, frame.drop(SINCE[5] + SINCE[6]).with_columns(pl.lit(4, pl.Int32).alias('schema')))
    found = read(tmp_path)
    assert (found.skipped, found.rows.schema) == ((), pl.Schema(COLUMNS))
    assert found.rows.select(SINCE[5]).null_count().row(0) == (frame.height,) * len(SINCE[5])
    assert found.rows['value'].to_list() == frame['value'].to_list()


def test_columns_of_another_schema_than_a_file_says_are_no_history(tmp_path, frame):
    write(tmp_path, SESSION, frame.with_columns(pl.lit(3, pl.Int32).alias('schema')))
    assert skipped(tmp_path)[0][1] == 'its columns are not those of schema 3'


def test_any_changed_byte_is_noticed(tmp_path, frame):
    file = write(tmp_path, SESSION, frame)
    good = file.read_bytes()
    for place in range(0, len(good), 97):
        file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        assert skipped(tmp_path) == [(file.name, 'it is cut short or damaged, or no Parquet')], place


def test_a_newer_schema_is_skipped_and_not_guessed_at(tmp_path, frame):
    newer = frame.with_columns(pl.lit(SCHEMA + 1, pl.Int32).alias('schema'), pl.lit(1).alias('new'))
    newer.write_parquet(tmp_path / f'{SESSION}.parquet')
    assert skipped(tmp_path)[0][1] == f'it has schema {SCHEMA + 1}, and this Seatrial knows {SCHEMA}; use a newer one'


def test_a_table_with_other_columns_is_skipped(tmp_path, frame):
    frame.drop('valid').write_parquet(tmp_path / f'{SESSION}.parquet')
    assert skipped(tmp_path)[0][1] == f'its columns are not those of schema {SCHEMA}'


def test_a_copy_under_another_name_counts_once(tmp_path, frame):
    file = write(tmp_path, SESSION, frame)
    (tmp_path / 'copy.parquet').write_bytes(file.read_bytes())
    found = read(tmp_path)
    assert found.rows.height == frame.height
    assert found.skipped[0].why == 'it does not hold the one session that its name says'


def test_a_file_that_no_session_has_written_is_not_read_into_memory(tmp_path):
    with open(tmp_path / 'sparse.parquet', 'wb') as stream:
        stream.truncate(1 << 40)
    assert [why for _, why in skipped(tmp_path)] == ['it has more than 256 MiB']


def test_what_is_no_regular_file_is_skipped_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / 'pipe.parquet')
    (tmp_path / 'folder.parquet').mkdir()
    (tmp_path / 'nowhere.parquet').symlink_to('/nowhere')
    gone = 'it cannot be read: No such file or directory'  # what a link leads to
    assert {why for _, why in skipped(tmp_path)} == {'it is no regular file', gone}
    assert len(skipped(tmp_path)) == 3


def test_other_files_in_the_folder_are_none_of_its_business(tmp_path, frame):
    write(tmp_path, SESSION, frame)
    (tmp_path / 'README').write_text('hello')
    (tmp_path / '.hidden.1.tmp').write_text('cut short')
    assert skipped(tmp_path) == []


def test_the_files_are_plain_parquet_with_the_schema_in_a_column(tmp_path, frame):
    file = write(tmp_path, SESSION, frame)
    lazily = pl.scan_parquet(file).filter(pl.col('valid')).select('schema', 'value').collect()
    assert lazily['value'].to_list() == [128.0 * MIB] * 6
