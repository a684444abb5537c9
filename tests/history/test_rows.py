from datetime import datetime, timedelta, timezone

import polars as pl
import pytest

from builders import FLAT, plan_of, rated, sample_of, start_of
from seatrial.history.rows import COLUMNS, SCHEMA, SINCE, Kept, table
from seatrial.model.namespace import LISTING, SEMANTICS, TREE, Trees
from seatrial.model.record import Provenance, Records
from seatrial.model.tree import MetadataTree, Rate, TreeMeasurement
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


def test_a_row_says_with_what_it_was_measured(plan, sample):
    start = start_of(plan)._replace(
        provenance=Provenance('spack:l7f4hbh', 'MPICH 4.0.2', 'Hydra 4.0.2', ('seatrial/mpich', 'seatrial/ior')),
        state={'client version': '2.15.5'},
    )
    records = Records(start, None, [], None, None, 0)
    words = dict.fromkeys(plan.metrics, ('INCOMPLETE', ''))
    kept = Kept(plan._replace(commit='437a3cb1a6c1', reframe='4.10.4'), records, {}, 'INCOMPLETE', words)
    found = first(table(plan.session, BEGAN, 'cluster', 'INCOMPLETE', [kept]))
    assert {name: found[name] for name in SINCE[2]} == {
        'engine_build': 'spack:l7f4hbh',
        'mpi': 'MPICH 4.0.2',
        'launcher': 'Hydra 4.0.2',
        'modules': 'seatrial/mpich seatrial/ior',
        'client_version': '2.15.5',
        'commit': '437a3cb1a6c1',
        'reframe': '4.10.4',
    }


@pytest.mark.parametrize(('only', 'selection'), [((), ''), (('access', 'Files'), 'access Files')])
def test_a_row_says_to_which_checks_its_session_was_restricted(plan, only, selection):
    kept = Kept(plan, Records(None, None, [], None, None, 0), {}, 'PASS', dict.fromkeys(plan.metrics, ('PASS', '')))
    assert set(table('s', BEGAN, 'cluster', 'PASS', [kept], only)['selection']) == {selection}


def test_a_row_has_the_figures_of_its_launch(rows, sample):
    found = first(rows(write_2objects=[sample()]))
    assert (found['seconds'], found['bytes_moved'], found['bandwidth_mib_s']) == (1.0, 2 * SIZE, 128.0)
    assert (found['tasks'], found['transfer_size'], found['bytes_per_client']) == (2, SIZE // 2, SIZE)
    assert (found['started'], found['session_started']) == (BEGAN, BEGAN)


def test_the_transfer_size_is_that_of_the_bytes_that_were_moved(rows, sample):
    twice = sample()._replace(per_client=2 * SIZE)
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


# Metadata


@pytest.fixture
def tree_plan():
    return plan_of(TREE, Trees((('flat', FLAT._replace(empties_per_directory=1000)),), scales=True))


@pytest.fixture
def create(tree_plan):
    """A launch in which two clients make 500 files and 500 directories each, the files in two seconds."""
    planned = tree_plan.points[0]
    rates = (Rate('directory_create', 1000, 4.0, '250.0'), Rate('file_create', 1000, 2.0, '500.0'))
    measurement = TreeMeasurement(rates, 2, ('node1', 'node2'), 1e-6)
    return sample_of(tree_plan, planned, 'create', 3, measurement)._replace(per_client=500)


def test_a_launch_with_several_metrics_is_a_row_of_each(rows, tree_plan, create):
    frame = rows(plan=tree_plan, file_create_flat=[create], directory_create_flat=[create])
    measured = frame.filter(pl.col('repetition') == 3)
    columns = ('metric', 'operation', 'value', 'unit', 'seconds')
    assert [tuple(row[name] for name in columns) for row in measured.rows(named=True)] == [
        ('directory_create@flat', 'directory_create', 250.0, 'ops/s', 4.0),
        ('file_create@flat', 'file_create', 500.0, 'ops/s', 2.0),
    ]
    assert frame.height == len(tree_plan.metrics)


def test_a_row_of_metadata_has_files_where_others_have_bytes(rows, tree_plan, create):
    found = rows(plan=tree_plan, file_create_flat=[create]).row(by_predicate=pl.col('repetition') == 3, named=True)
    assert (found['files_per_client'], found['tasks'], found['axis']) == (500, 2, 'tree')
    empty = ('transfer_size', 'bytes_per_client', 'bytes_moved', 'bandwidth_mib_s')
    assert [found[name] for name in empty] == [None] * 4


def test_a_row_of_bytes_has_its_bandwidth_as_value_and_no_files(rows, sample):
    found = first(rows(write_2objects=[sample()]))
    assert (found['value'], found['unit'], found['files_per_client']) == (128.0, 'MiB/s', None)


def test_a_metric_of_metadata_without_a_launch_is_a_row_with_its_unit(rows, tree_plan):
    frame = rows(plan=tree_plan)
    assert set(frame['unit']) == {'ops/s'}
    assert frame['value'].null_count() == frame['files_per_client'].null_count() == frame.height == 7


def test_promises_are_rows_of_how_many_hold(rows):
    plan = plan_of(SEMANTICS, Trees((('two', MetadataTree()),), tasks=2))
    probe = sample_of(plan, plan.points[0], 'probe', 0, rated(plan.points[0], {'holding': 1}))
    found = first(rows(plan=plan, holding_two=[probe]))
    assert (found['metric'], found['value'], found['unit'], found['seconds']) == ('holding@two', 1.0, 'facts', None)


def test_metadata_and_bytes_are_in_one_table(rows, sample, tree_plan, create):
    frames = [rows(write_2objects=[sample()]), rows(plan=tree_plan, file_create_flat=[create])]
    assert pl.concat(frames).schema == pl.Schema(COLUMNS)


def test_a_launch_that_took_no_time_has_no_figures(rows, sample):
    launch = sample('2objects', 'write', 0, ('T12', 'invalid'))
    found = first(rows(write_2objects=[launch._replace(measurement=launch.measurement._replace(seconds=0.0))]))
    assert (found['seconds'], found['bandwidth_mib_s'], found['value'], found['valid']) == (0.0, None, None, False)


def test_what_was_listed_before_in_the_same_launch_is_not_cold(rows):
    plan = plan_of(LISTING, Trees((('10', MetadataTree(files_per_directory=10)),), tasks=1, pauses_s=(1.0,)))
    launch = sample_of(
        plan, plan.points[0], 'list', measurement=rated(plan.points[0], {'ls_first': 9.0}), cache='cold'
    )
    frame = rows(plan=plan, **{name.replace('@', '_'): [launch] for name in ('ls_first@10', 'ls_fourth@10')})
    caches = dict(zip(frame['metric'], frame['cache'], strict=True))
    assert (caches['ls_first@10'], caches['ls_fourth@10']) == ('cold', 'listed before')
