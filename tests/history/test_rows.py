import json
from datetime import datetime, timedelta, timezone

import polars as pl
import pytest

from builders import FLAT, FLAT_TREE, SIZE, plan_of, rated, sample_of, start_of
from seatrial.history.rows import COLUMNS, SCHEMA, SINCE, Kept, table
from seatrial.model.metric import Measurement, rate
from seatrial.model.record import Provenance, Records
from seatrial.model.units import MIB
from seatrial.workload.listing import listing
from seatrial.workload.registry import planned_metrics
from seatrial.workload.semantics import posix_semantics
from seatrial.workload.sweep import Sweep

BEGAN = datetime(2026, 11, 21, 2, 6, 38, tzinfo=timezone.utc)


def first(frame):
    return frame.row(0, named=True)


def test_every_launch_that_counts_is_a_row(rows, sample):
    frame = rows(write_16MiB=[sample(repetition=n) for n in range(4)])
    assert frame.filter(pl.col('metric') == 'write@16MiB')['repetition'].to_list() == [0, 1, 2, 3]


def test_a_planned_metric_without_a_launch_is_a_row_without_figures(rows, sample):
    frame = rows(write_16MiB=[sample()])
    missing = frame.filter(pl.col('repetition').is_null())
    assert missing['metric'].to_list() == ['read@16MiB', 'write@32MiB', 'read@32MiB']
    assert missing['valid'].to_list() == [False] * 3
    assert missing['value'].null_count() == missing['started'].null_count() == 3
    assert set(missing['metric_verdict']) == {'INCOMPLETE'}


def test_a_case_whose_job_never_began_is_there_too(rows):
    frame = rows(started=False, verdict='INCOMPLETE')
    assert frame.height == 4
    assert frame['engine'].null_count() == frame['host'].null_count() == 4


def test_a_row_says_what_was_measured_and_where(rows, sample):
    found = first(rows(write_16MiB=[sample()]))
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
    words = dict.fromkeys(planned_metrics(plan), ('INCOMPLETE', ''))
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


def test_a_row_says_in_which_state_the_file_system_was(plan):
    state = {'mounted': 'tmpfs on /t type tmpfs', 'mount options': 'rw'}
    start = start_of(plan, state=state, capacity={'bytes': 5, 'used_percent': 62})
    start = start._replace(provenance=Provenance(environment=('LD_PRELOAD=/lib/x.so', 'ROMIO_HINTS=/h')))
    words = dict.fromkeys(planned_metrics(plan), ('INCOMPLETE', ''))
    kept = Kept(plan, Records(start, None, [], None, None, 0), {}, 'INCOMPLETE', words)
    found = first(table(plan.session, BEGAN, 'cluster', 'INCOMPLETE', [kept], label='before'))
    assert json.loads(found['state']) == state
    assert {name: found[name] for name in SINCE[5] if name != 'state'} == {
        'label': 'before',
        'used_percent': 62,
        'environment': 'LD_PRELOAD=/lib/x.so ROMIO_HINTS=/h',
        'steers': True,
    }


@pytest.mark.parametrize(('only', 'selection'), [((), ''), (('access', 'Files'), 'access Files')])
def test_a_row_says_to_which_checks_its_session_was_restricted(plan, only, selection):
    kept = Kept(
        plan, Records(None, None, [], None, None, 0), {}, 'PASS', dict.fromkeys(planned_metrics(plan), ('PASS', ''))
    )
    assert set(table('s', BEGAN, 'cluster', 'PASS', [kept], only)['selection']) == {selection}


def test_a_row_has_the_figures_of_its_launch(rows, sample):
    found = first(rows(write_16MiB=[sample()]))
    assert (found['seconds'], found['bytes_moved'], found['value']) == (1.0, 2 * SIZE, 2.0 * SIZE)
    assert (found['tasks'], found['tasks_per_node'], found['transfer_size'], found['bytes_per_task']) == (
        2,
        2,
        16 * MIB,
        SIZE,
    )
    assert (found['started'], found['session_started']) == (BEGAN, BEGAN)


def test_the_parameters_are_those_of_the_point_as_it_was_launched(rows, sample):
    launched = sample()
    point = launched.point.changed(bytes_per_task=2 * SIZE, direct=True, queue_depth=8, working_set=4 * SIZE)
    found = first(rows(write_16MiB=[launched._replace(point=point)]))
    assert [found[name] for name in ('bytes_per_task', 'direct', 'queue_depth', 'working_set', 'interface')] == [
        2 * SIZE,
        True,
        8,
        4 * SIZE,
        'posix',
    ]


def test_no_launch_of_a_record_that_was_edited_is_valid(rows, sample):
    launches = [sample('16MiB', 'write', 0), sample('16MiB', 'write', 1)]
    assert rows(write_16MiB=launches)['valid'].sum() == 2
    assert rows(write_16MiB=launches, broken='line 3')['valid'].sum() == 0


def test_a_launch_that_is_not_valid_is_kept_and_marked(rows, sample):
    found = first(rows(write_16MiB=[sample('16MiB', 'write', 0, ('T18', 'invalid'), ('P2', 'label'))]))
    assert (found['valid'], found['rules'], found['value']) == (False, 'T18 P2', 128.0 * MIB)


def test_a_launch_without_a_measurement_has_no_figures(rows, sample):
    found = first(rows(write_16MiB=[sample('16MiB', 'write', 0, ('E1', 'invalid'), measured=False)]))
    assert (found['seconds'], found['value'], found['valid']) == (None, None, False)


def test_a_read_says_whether_it_was_cold(rows, sample):
    frame = rows(read_16MiB=[sample(phase='read')]).filter(pl.col('operation') == 'read')
    assert frame['cache'][0] == 'cold'


def test_the_verdicts_stand_in_every_row(rows, sample):
    frame = rows(verdict='FAIL', write_16MiB=[sample()])
    assert set(frame['session_verdict']) == set(frame['case_verdict']) == {'FAIL'}
    assert first(frame)['metric_verdict'] == 'PASS'


def test_the_columns_and_their_version_are_the_declared_ones(rows, sample):
    frame = rows(write_16MiB=[sample()])
    assert frame.schema == pl.Schema(COLUMNS)
    assert set(frame['schema']) == {SCHEMA}


def test_times_are_in_utc(rows, sample):
    elsewhere = BEGAN.astimezone(timezone(timedelta(hours=9)))
    assert first(rows(began=elsewhere, write_16MiB=[sample()]))['session_started'] == BEGAN


def test_a_session_without_cases_has_the_columns_and_no_rows():
    frame = table('s', BEGAN, 'cluster', 'INCOMPLETE', [])
    assert (frame.height, frame.schema) == (0, pl.Schema(COLUMNS))


# Metadata


@pytest.fixture
def tree_plan():
    return plan_of(FLAT.changed(empties_per_directory=1000), FLAT_TREE)


@pytest.fixture
def create(tree_plan):
    """A launch in which two tasks make 500 files and 500 directories each, the files in two seconds."""
    rates = (rate('directory_create', 1000, 4.0, '250.0'), rate('file_create', 1000, 2.0, '500.0'))
    measurement = Measurement(rates, 2, ('node1', 'node2'), 1e-6)
    launched = tree_plan.points[0].changed(files_per_directory=500, empties_per_directory=500)
    return sample_of(tree_plan, launched, 'create', 3, measurement)._replace(point=launched)


def test_a_launch_with_several_metrics_is_a_row_of_each(rows, tree_plan, create):
    frame = rows(plan=tree_plan, file_create_flat=[create], directory_create_flat=[create])
    measured = frame.filter(pl.col('repetition') == 3)
    columns = ('metric', 'operation', 'phase', 'value', 'unit', 'better', 'seconds')
    assert [tuple(row[name] for name in columns) for row in measured.rows(named=True)] == [
        ('directory_create@flat', 'directory_create', 'create', 250.0, 'op/s', 'higher', 4.0),
        ('file_create@flat', 'file_create', 'create', 500.0, 'op/s', 'higher', 2.0),
    ]
    assert frame.height == len(planned_metrics(tree_plan))


def test_a_row_of_metadata_has_files_where_others_have_bytes(rows, tree_plan, create):
    found = rows(plan=tree_plan, file_create_flat=[create]).row(by_predicate=pl.col('repetition') == 3, named=True)
    assert (found['files_per_task'], found['tasks'], found['axis'], found['kind']) == (500, 2, 'tree', 'tree')
    assert found['bytes_per_file'] == 0
    empty = ('transfer_size', 'bytes_per_task', 'bytes_moved', 'direct', 'queue_depth', 'interface', 'working_set')
    assert [found[name] for name in empty] == [None] * 7


def test_a_row_of_data_has_its_bandwidth_as_value_and_no_files(rows, sample):
    found = first(rows(write_16MiB=[sample()]))
    assert (found['value'], found['unit'], found['better']) == (128.0 * MIB, 'B/s', 'higher')
    assert (found['files_per_task'], found['bytes_per_file']) == (None, None)


def test_a_metric_of_metadata_without_a_launch_is_a_row_with_its_unit(rows, tree_plan):
    frame = rows(plan=tree_plan)
    assert set(frame['unit']) == {'op/s'}
    assert frame['value'].null_count() == frame['files_per_task'].null_count() == frame.height == 7


def test_guarantees_are_rows_of_how_many_hold(rows):
    plan = plan_of(posix_semantics(), Sweep('tasks', (2,)))
    probe = sample_of(plan, plan.points[0], 'probe', 0, rated(plan.points[0], {'holding': 1}))
    found = first(rows(plan=plan, holding_2tasks=[probe]))
    assert (found['metric'], found['value'], found['unit'], found['seconds']) == ('holding@2tasks', 1.0, '', None)


def test_metadata_and_data_are_in_one_table(rows, sample, tree_plan, create):
    frames = [rows(write_16MiB=[sample()]), rows(plan=tree_plan, file_create_flat=[create])]
    assert pl.concat(frames).schema == pl.Schema(COLUMNS)


def test_a_launch_that_took_no_time_has_no_figures(rows, sample):
    launch = sample('16MiB', 'write', 0, ('T12', 'invalid'))
    metric = launch.measurement.metrics[0]._replace(seconds=0.0)
    found = first(rows(write_16MiB=[launch._replace(measurement=launch.measurement._replace(metrics=(metric,)))]))
    assert (found['seconds'], found['value'], found['valid']) == (0.0, None, False)


def test_what_was_listed_before_in_the_same_launch_is_not_cold(rows):
    plan = plan_of(listing(10, (1.0,)), Sweep('entries', (10,)))
    launch = sample_of(
        plan, plan.points[0], 'list', measurement=rated(plan.points[0], {'ls_first': 9.0}), cache='cold'
    )
    frame = rows(plan=plan, **{name.replace('@', '_'): [launch] for name in ('ls_first@10', 'ls_fourth@10')})
    caches = dict(zip(frame['metric'], frame['cache'], strict=True))
    assert (caches['ls_first@10'], caches['ls_fourth@10']) == ('cold', 'listed before')
