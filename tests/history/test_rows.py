from datetime import datetime, timedelta, timezone

import polars as pl

from seatrial.history.rows import COLUMNS, SCHEMA, table
from seatrial.model.units import MIB

SIZE = 64 * MIB
BEGAN = datetime(2026, 11, 21, 2, 6, 38, tzinfo=timezone.utc)


def first(frame):
    return frame.row(0, named=True)


def test_every_launch_that_counts_is_a_row(rows, sample):
    frame = rows(write_2objects=[sample(repetition=n) for n in range(4)])
    assert frame.filter(pl.col('metric') == 'write@2objects')['repetition'].to_list() == [0, 1, 2, 3]


def test_a_planned_metric_without_a_launch_is_a_row_without_figures(rows, sample):
    frame = rows(write_2objects=[sample()])
    missing = frame.filter(pl.col('repetition').is_null())
    assert missing['metric'].to_list() == ['read@2objects', 'write@4objects', 'read@4objects']
    assert missing['valid'].to_list() == [False] * 3
    assert missing['bandwidth_mib_s'].null_count() == missing['started'].null_count() == 3
    assert set(missing['metric_verdict']) == {'INCOMPLETE'}


def test_a_case_whose_job_never_began_is_there_too(rows):
    frame = rows(started=False, verdict='INCOMPLETE')
    assert frame.height == 4
    assert frame['engine'].null_count() == frame['host'].null_count() == 4


def test_a_row_says_what_was_measured_and_where(rows, sample):
    found = first(rows(write_2objects=[sample()]))
    assert {
        name: found[name] for name in ('site', 'profile', 'check', 'partition', 'file_system', 'layout', 'nodes')
    } == {
        'site': 'cluster',
        'profile': 'nightly',
        'check': 'Check',
        'partition': 'cluster:compute',
        'file_system': 'scratch',
        'layout': 'wide',
        'nodes': 1,
    }
    assert (found['file_system_type'], found['engine'], found['engine_version']) == ('lustre', 'fio', '3.33')
    assert (found['host'], found['hosts'], found['kernel'], found['seatrial']) == (
        'login1',
        'node1 node2',
        '6.1',
        '0.1.0',
    )


def test_a_row_has_the_figures_of_its_launch(rows, sample):
    found = first(rows(write_2objects=[sample()]))
    assert (found['seconds'], found['bytes_moved'], found['bandwidth_mib_s']) == (1.0, 2 * SIZE, 128.0)
    assert (found['tasks'], found['transfer_size'], found['bytes_per_client']) == (2, SIZE // 2, SIZE)
    assert (found['started'], found['session_started']) == (BEGAN, BEGAN)


def test_the_transfer_size_is_that_of_the_bytes_that_were_moved(rows, sample):
    twice = sample()._replace(bytes_per_client=2 * SIZE)
    assert first(rows(write_2objects=[twice]))['transfer_size'] == SIZE


def test_a_launch_that_cannot_be_believed_is_kept_and_marked(rows, sample):
    found = first(rows(write_2objects=[sample('2objects', 'write', 0, ('T18', 'invalid'), ('P2', 'label'))]))
    assert (found['valid'], found['rules'], found['bandwidth_mib_s']) == (False, 'T18 P2', 128.0)


def test_a_launch_without_a_measurement_has_no_figures(rows, sample):
    found = first(rows(write_2objects=[sample('2objects', 'write', 0, ('E1', 'invalid'), measured=False)]))
    assert (found['seconds'], found['bandwidth_mib_s'], found['valid']) == (None, None, False)


def test_a_read_says_whether_it_was_cold(rows, sample):
    frame = rows(read_2objects=[sample(operation='read')]).filter(pl.col('operation') == 'read')
    assert frame['cache'][0] == 'cold'


def test_the_verdicts_stand_in_every_row(rows, sample):
    frame = rows(verdict='FAIL', write_2objects=[sample()])
    assert set(frame['session_verdict']) == set(frame['case_verdict']) == {'FAIL'}
    assert first(frame)['metric_verdict'] == 'PASS'


def test_the_columns_and_their_version_are_the_declared_ones(rows, sample):
    frame = rows(write_2objects=[sample()])
    assert frame.schema == pl.Schema(COLUMNS)
    assert set(frame['schema']) == {SCHEMA}


def test_times_are_in_utc(rows, sample):
    elsewhere = BEGAN.astimezone(timezone(timedelta(hours=9)))
    assert first(rows(began=elsewhere, write_2objects=[sample()]))['session_started'] == BEGAN


def test_a_session_without_cases_has_the_columns_and_no_rows():
    frame = table('s', BEGAN, 'cluster', 'INCOMPLETE', [])
    assert (frame.height, frame.schema) == (0, pl.Schema(COLUMNS))
