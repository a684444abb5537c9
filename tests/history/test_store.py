"""The directory of the history, and its annotations."""

import base64
import io
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.history import store
from seatrial.history.rows import BASE_UNITS_SINCE, COLUMNS, OF_ONE_SESSION, SCHEMA, SINCE, summary
from seatrial.history.store import Annotation, Skipped, annotate, annotations, read, sealed, summaries, write
from seatrial.model.units import MIB

SESSION, LATER = '20261121T020638-9f3a1c', '20261122T020638-9f3a1c'
OF_SCHEMA_3 = Path(__file__).parent / f'{SESSION}.parquet'


@pytest.fixture
def frame(rows, sample):
    return rows(write_16MiB=[sample(repetition=n) for n in range(6)])


def skipped(folder):
    return [(file.file.name, file.why) for file in read(folder).skipped]


def test_what_was_written_is_read_with_its_summary(tmp_path, frame):
    file = write(tmp_path / 'history', SESSION, frame)
    assert file == tmp_path / 'history' / f'{SESSION}.parquet' and os.listdir(file.parent) == [file.name]
    for name in ('README', '.hidden.1.tmp'):
        (file.parent / name).write_text('cut short')
    history = read(tmp_path / 'history')
    assert (history.rows.equals(frame), history.skipped) == (True, ())
    assert pl.read_parquet(file).equals(frame), 'it is plain Parquet, for other programs'
    metadata = pl.read_parquet_metadata(file)
    assert pl.read_parquet(base64.b64decode(metadata['summary'])).equals(summary(frame))


def test_a_session_that_is_being_written_is_not_seen_and_a_write_that_fails_leaves_nothing(
    tmp_path, frame, monkeypatch
):
    def full(descriptor):
        assert os.listdir(tmp_path) and read(tmp_path).rows.height == len(read(tmp_path).skipped) == 0
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(os, 'fsync', full)
    with pytest.raises(OSError, match='No space left'):
        write(tmp_path, SESSION, frame)
    assert os.listdir(tmp_path) == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0.0, 0.999))
def test_a_file_that_is_cut_short_is_skipped_with_its_reason(tmp_path, frame, share):
    file = write(tmp_path, SESSION, frame)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    assert skipped(tmp_path) == [(file.name, 'it is cut short or damaged, or no Parquet')]
    assert read(tmp_path).rows.height == 0
    assert file.exists()


DAMAGES = """
import random, sys
from pathlib import Path
from seatrial.history.store import read
file = Path(sys.argv[1]); good = file.read_bytes(); rng = random.Random(1)
for _ in range(300):
    bad = bytearray(good)
    for _ in range(rng.choice([1, 4, 64])):
        bad[rng.randrange(len(bad))] = rng.randrange(256)
    file.write_bytes(bad); read(file.parent)
"""


def test_a_damaged_file_never_ends_the_reader(tmp_path, frame):
    """In a process of its own: a fault in the reader's native code would end it."""
    file = write(tmp_path, SESSION, frame)
    done = subprocess.run([sys.executable, '-c', DAMAGES, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]


# Sessions of earlier schemas: the file is one that a version of schema 3 wrote


@pytest.mark.parametrize('schema', (1, 2, 3))
def test_a_session_of_an_earlier_schema_is_read_in_base_units_without_clients_and_what_it_did_not_have(
    tmp_path, schema
):
    later = [name for since, names in SINCE.items() if since > schema for name in names if name != 'better']
    old = pl.read_parquet(OF_SCHEMA_3)
    old = old.drop(later, strict=False).with_columns(pl.lit(schema, pl.Int32).alias('schema'))
    write(tmp_path, SESSION, old)
    rows, skipped = read(tmp_path)
    assert (skipped, rows.schema) == ((), pl.Schema(COLUMNS))
    assert rows.select(later).null_count().row(0) == (rows.height,) * len(later)
    assert (set(rows['better']), set(rows['schema'])) == ({'higher'}, {SCHEMA})
    columns = ('axis', 'value', 'unit', 'bytes_per_task', 'files_per_task')
    files, entries = (128.0 * MIB, 'B/s', 64 * MIB, None), ('tree', 5000.0, 'op/s', None, 1000)
    listed, swept = ('tree', 900.0, 'op/s', None, 1000), ('node', 100.0 * MIB, 'B/s', 64 * MIB, None)
    firsts = rows.unique('metric', maintain_order=True).rows(named=True)
    assert {row['metric']: tuple(row[name] for name in columns) for row in firsts} == {
        **dict.fromkeys(('write@1task', 'write@2tasks'), ('tasks', *files)),
        'write@2objects': ('objects', *files),
        **{f'file_{phase}@flat': entries for phase in ('create', 'stat', 'read', 'remove')},
        **{f'ls_{which}@10': listed for which in ('first', 'second', 'third', 'fourth', 'after_1s')},
        **dict.fromkeys(('write@all', 'write@group01', 'write@group02'), swept),
        'holding@two-tasks': ('tree', 1.0, '', None, 0),
    }
    assert (rows['metric'].str.split('@').list.get(1) == rows['point']).all()
    assert set(rows.filter(pl.col('axis') == 'tasks')['check']) == {'Tasks'}
    assert set(rows.filter(OF_ONE_SESSION)['metric']) == {'write@group01', 'write@group02'}


@pytest.mark.parametrize('schema', range(BASE_UNITS_SINCE, SCHEMA))
def test_a_session_from_before_a_column_has_no_value_there(tmp_path, frame, monkeypatch, schema):
    monkeypatch.setattr(store, 'table_in', None)  # which reads files one by one
    later = [name for since, names in SINCE.items() if since > schema for name in names]
    write(tmp_path, SESSION, frame.drop(later).with_columns(pl.lit(schema, pl.Int32).alias('schema')))
    history = read(tmp_path)
    assert (history.skipped, history.rows.schema) == ((), pl.Schema(COLUMNS))
    assert history.rows.select(later).null_count().row(0) == (frame.height,) * len(later)
    assert history.rows['value'].to_list() == frame['value'].to_list()


def test_any_changed_byte_is_noticed(tmp_path, frame):
    file = write(tmp_path, SESSION, frame)
    good = file.read_bytes()
    for place in range(0, len(good), 97):
        file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        assert skipped(tmp_path) == [(file.name, 'it is cut short or damaged, or no Parquet')], place


def test_a_newer_schema_and_a_table_of_another_form_are_skipped_and_not_guessed_at(tmp_path, frame):
    newer = f'it has schema {SCHEMA + 1}, and this Seatrial knows {SCHEMA}; use a newer one'
    for table, why in (
        (frame.with_columns(pl.lit(SCHEMA + 1, pl.Int32).alias('schema'), pl.lit(1).alias('new')), newer),
        (frame.with_columns(pl.lit(3, pl.Int32).alias('schema')), 'its columns are not those of schema 3'),
        (frame.drop('valid'), f'its columns are not those of schema {SCHEMA}'),
        (pl.DataFrame({'a': [1]}), 'it is not of Seatrial'),
    ):
        write(tmp_path, SESSION, table)
        assert skipped(tmp_path) == [(f'{SESSION}.parquet', why)]


def test_a_copy_under_another_name_counts_once(tmp_path, frame):
    file = write(tmp_path, SESSION, frame)
    (tmp_path / 'copy.parquet').write_bytes(file.read_bytes())
    history = read(tmp_path)
    assert history.rows.height == frame.height
    assert history.skipped[0].why == 'it does not hold the one session that its name says'


def test_a_file_that_no_session_has_written_is_not_read_into_memory(tmp_path):
    with open(tmp_path / 'sparse.parquet', 'wb') as stream:
        stream.truncate(1 << 40)
    assert [why for _, why in skipped(tmp_path)] == ['it has more than 256 MiB']


def test_a_few_bytes_that_stand_for_many_rows_are_not_unpacked(tmp_path, frame, monkeypatch):
    monkeypatch.setattr(store, 'MANY_ROWS', 1000)
    many = frame.head(1)
    for _ in range(14):
        many = pl.concat([many, many])
    write(tmp_path, SESSION, many)
    write(tmp_path, LATER, frame.with_columns(session=pl.lit(LATER)))
    assert [file.why for file in read(tmp_path).skipped] == [store.TOO_MANY]
    assert read(tmp_path).rows['session'].unique().to_list() == [LATER]


def test_what_is_no_regular_file_is_skipped_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / 'pipe.parquet')
    (tmp_path / 'folder.parquet').mkdir()
    (tmp_path / 'nowhere.parquet').symlink_to('/nowhere')
    gone = 'it cannot be read: No such file or directory'  # what a link leads to
    assert {why for _, why in skipped(tmp_path)} == {'it is not a regular file', gone}
    assert len(skipped(tmp_path)) == 3


def test_annotations_are_read_by_day_and_a_line_that_is_none_is_named_and_hides_no_other(tmp_path):
    later, earlier = Annotation(date(2026, 10, 11), 'OSS \u2028 firmware'), Annotation(date(2026, 10, 2), 'a "rack"')
    assert annotations(tmp_path) == ([], [])
    with annotate(tmp_path, later).open('a') as stream:
        stream.write('{"day": "2026-13-11", "text": "x"}\n[1]\n\xff\n')
    annotate(tmp_path, earlier)
    notes, skipped = annotations(tmp_path)
    assert notes == [earlier, later]
    assert [file.why for file in skipped] == [f'line {number} is no annotation' for number in (2, 3, 4)]


NAMES = [f'{day}T020000-00000{day[-1]}' for day in ('20251230', '20251231', '20260101', '20260102', '20260103')]


def of(rows, *names):
    return rows.filter(pl.col('session').is_in(names))


@pytest.fixture
def five(tmp_path, rows, sample):
    """The folder with five sessions, and the result of reading them all."""
    for name in reversed(NAMES):
        write(tmp_path, name, rows(name, write_16MiB=[sample(repetition=n) for n in range(2)]))
    return tmp_path, read(tmp_path).rows


def test_the_newest_or_the_named_sessions_are_read(five):
    folder, before = five
    assert store.sessions_in(folder) == before['session'].unique(maintain_order=True).to_list() == NAMES
    assert read(folder, newest=3).rows.equals(of(before, *NAMES[2:]))
    assert read(folder, named=[NAMES[1]]).rows.equals(of(before, NAMES[1]))
    assert pl.concat(summaries(folder)).equals(summary(before))


def test_an_archive_of_an_earlier_version_is_named_with_what_takes_its_sessions(five):
    folder, before = five
    file = folder / '2026-0123456789ab.parquet'
    file.write_bytes(b'')
    history = read(folder)
    assert history.skipped == (Skipped(file, store.ARCHIVE),)
    assert history.rows.equals(before) and store.sessions_in(folder) == NAMES


def test_a_removal_leaves_all_other_sessions(five):
    folder, before = five
    store.remove(folder, [NAMES[1], NAMES[3]])
    assert read(folder).rows.equals(of(before, NAMES[0], NAMES[2], NAMES[4]))


def test_of_fewer_columns_a_summary_says_the_same_of_each_session(five):
    folder, before = five
    few = pl.concat(summaries(folder, columns=('session', 'profile', 'launches')))
    assert few.columns == ['session', 'profile', 'launches']
    expected = summary(before).group_by('session').agg(pl.col('launches').sum()).sort('session')
    assert few.group_by('session').agg(pl.col('launches').sum()).sort('session').equals(expected)


def test_of_files_that_are_read_together_one_that_is_damaged_is_named_and_hides_no_other(five):
    folder, before = five
    file, others = folder / f'{NAMES[3]}.parquet', of(before, *NAMES[:3], NAMES[4])
    file.write_bytes(file.read_bytes()[:-9])
    skipped = []
    assert pl.concat(store.readable(summaries(folder), skipped)).equals(summary(others))
    history = read(folder)
    assert ([file.file for file in skipped], list(history.skipped)) == ([file], skipped)
    assert history.rows.equals(others)


@pytest.mark.parametrize(
    ('changed', 'used'),
    [
        (lambda table: table.with_columns(pl.lit(7.0).alias('value')), True),
        (lambda table: table.with_columns(value=pl.lit(7.0), schema=pl.lit(SCHEMA - 1, pl.Int32)), True),
        (lambda table: table.with_columns(session=pl.lit(LATER)), False),
        (lambda table: table.with_columns(case_verdict=pl.lit('GOOD')), False),
        (lambda table: table.with_columns(pl.lit(SCHEMA + 1, pl.Int32).alias('schema')), False),
        (lambda table: table.drop('launches'), False),
        (lambda table: pl.concat([table] * 5_000), False),
        (lambda table: 'no base64', False),
        (lambda table: None, False),
    ],
    ids=['written', 'earlier', 'other session', 'verdict', 'newer', 'columns', 'many rows', 'damaged', 'none'],
)
def test_a_summary_counts_if_it_is_of_this_session_else_the_launches(tmp_path, frame, monkeypatch, changed, used):
    monkeypatch.setattr(store, 'MANY_ROWS', 1000)
    stored, content, parquet = changed(summary(frame)), io.BytesIO(), io.BytesIO()
    if isinstance(stored, pl.DataFrame):
        stored.write_parquet(parquet)
        stored = base64.b64encode(parquet.getvalue()).decode()
    frame.write_parquet(content, metadata={**store.UNSEALED, **({'summary': stored} if stored else {})})
    (tmp_path / f'{SESSION}.parquet').write_bytes(sealed(content.getvalue()))
    (result,) = summaries(tmp_path)
    result, expected = (rows.with_columns(pl.col('better').fill_null('higher')) for rows in (result, summary(frame)))
    assert (result['value'][0] == 7.0, result.drop('value').equals(expected.drop('value'))) == (used, True)
