import json
from datetime import datetime, timedelta, timezone

import polars as pl
import pytest

from builders import FLAT, FLAT_TREE, SIZE, plan_of, rated, sample_of, start_of
from seatrial.history.rows import COLUMNS, SCHEMA, SINCE, Kept, table
from seatrial.model.metric import Measurement, rate
from seatrial.model.record import BoundTasks, Provenance, Records
from seatrial.model.units import MIB
from seatrial.workload.listing import listing
from seatrial.workload.registry import planned_metrics
from seatrial.workload.sweep import Sweep

BEGAN = datetime(2026, 11, 21, 2, 6, 38, tzinfo=timezone.utc)


def first(frame):
    return frame.row(0, named=True)


def begun(plan, start):
    """A case of which only this start was recorded."""
    words = dict.fromkeys(planned_metrics(plan), ('INCOMPLETE', ''))
    return Kept(plan, Records(start, None, [], None, None, 0), {}, 'INCOMPLETE', words)


def test_a_planned_metric_without_a_launch_is_a_row_without_figures(rows, sample):
    frame = rows(write_16MiB=[sample()])
    missing = frame.filter(pl.col('repetition').is_null())
    assert missing['metric'].to_list() == ['read@16MiB', 'write@32MiB', 'read@32MiB']
    assert missing['valid'].to_list() == [False] * 3
    assert missing['value'].null_count() == missing['started'].null_count() == 3
    assert set(missing['metric_verdict']) == {'INCOMPLETE'}
    frame = rows(started=False, verdict='INCOMPLETE')  # a case whose job never began
    assert frame.height == frame['engine'].null_count() == frame['host'].null_count() == 4


def test_a_row_has_its_case_site_software_and_verdicts(rows, sample):
    writes = [sample(repetition=n) for n in range(4)]
    frame = rows(verdict='FAIL', write_16MiB=writes, read_16MiB=[sample(phase='read')])
    assert frame.filter(pl.col('metric') == 'write@16MiB')['repetition'].to_list() == [0, 1, 2, 3]
    case = {'check': 'Check', 'partition': 'cluster:compute', 'file_system': 'scratch', 'layout': 'wide', 'nodes': 1}
    where = {'site': 'cluster', 'profile': 'nightly', 'file_system_type': 'lustre', 'host': 'login1'}
    software = {'engine': 'fio', 'engine_version': '3.33', 'kernel': '6.1', 'seatrial': '0.1.0'}
    verdicts = {'session_verdict': 'FAIL', 'case_verdict': 'FAIL', 'metric_verdict': 'PASS'}
    expected = {**case, **where, **software, **verdicts, 'hosts': 'node1 node2'}
    row = first(frame)
    assert {name: row[name] for name in expected} == expected
    assert frame.filter(pl.col('operation') == 'read')['cache'][0] == 'cold'


def test_a_row_has_the_software_and_the_state_of_the_file_system(plan):
    modules = 'seatrial/mpich', 'seatrial/ior'
    environment = ('LD_PRELOAD=/lib/x.so', 'ROMIO_HINTS=/h')
    provenance = Provenance('spack:l7f4hbh', 'MPICH 4.0.2', 'Hydra 4.0.2', modules, environment, 'spack:n437bhb')
    state = {'mounted': 'tmpfs on /t type tmpfs', 'client version': '2.15.5'}
    start = start_of(plan, state=state, capacity={'bytes': 5, 'used_percent': 62}, load_percent=7)
    start = start._replace(provenance=provenance)
    with_these = plan._replace(commit='437a3cb1a6c1', reframe='4.10.4', pydarshan='3.5.0')
    row = first(table(plan.session, BEGAN, 'cluster', 'INCOMPLETE', [begun(with_these, start)], label='before'))
    built = {'engine_build': 'spack:l7f4hbh', 'mpi': 'MPICH 4.0.2', 'launcher': 'Hydra 4.0.2'}
    versions = {'client_version': '2.15.5', 'commit': '437a3cb1a6c1', 'reframe': '4.10.4'}
    darshan = {'darshan': 'spack:n437bhb', 'pydarshan': '3.5.0'}
    lists = {'modules': 'seatrial/mpich seatrial/ior', 'environment': 'LD_PRELOAD=/lib/x.so ROMIO_HINTS=/h'}
    others = {'label': 'before', 'state': json.dumps(state, sort_keys=True), 'used_percent': 62, 'load_percent': 7}
    expected = {**built, **versions, **darshan, **lists, **others, 'steers': True}
    assert {name: row[name] for since in (2, 5, 8, 9, 10) for name in SINCE[since]} == expected


@pytest.mark.parametrize(('only', 'selection'), [((), ''), (('access', 'Files'), 'access Files')])
def test_a_row_has_the_checks_to_which_its_session_was_restricted(plan, only, selection):
    assert set(table('s', BEGAN, 'cluster', 'PASS', [begun(plan, None)], only)['selection']) == {selection}


def test_a_row_has_the_figures_of_its_launch(rows, sample):
    elsewhere = BEGAN.astimezone(timezone(timedelta(hours=9)))
    row = first(rows(began=elsewhere, write_16MiB=[sample()]))
    assert (row['seconds'], row['bytes_moved'], row['value']) == (1.0, 2 * SIZE, 2.0 * SIZE)
    assert (row['unit'], row['better'], row['files_per_task']) == ('B/s', 'higher', None)
    assert (row['tasks'], row['tasks_per_node']) == (2, 2)
    assert (row['transfer_size'], row['bytes_per_task']) == (16 * MIB, SIZE)
    assert (row['started'], row['session_started']) == (BEGAN, BEGAN)
    # The parameters are those of the point as it was launched.
    launched = sample()
    point = launched.point.changed(direct=True, queue_depth=8, working_set=4 * SIZE)
    row = first(rows(write_16MiB=[launched._replace(point=point)]))
    names = ('direct', 'queue_depth', 'working_set', 'interface')
    assert [row[name] for name in names] == [True, 8, 4 * SIZE, 'posix']


def test_a_row_has_the_binding_of_its_tasks_if_they_reported_it(rows, sample):
    alike, other = BoundTasks(('n1', 'n2'), ('0-1', '2-3')), BoundTasks(('n3',), ('4', '4'))
    row = first(rows(write_16MiB=[sample()._replace(bound=(alike, other))]))
    text = '2 tasks a node, each may use 2 of 4 cores; 2 tasks a node, each may use 1 of 1 core'
    assert (row['binding'], first(rows(write_16MiB=[sample()]))['binding']) == (text, None)


def test_no_launch_of_a_record_that_was_edited_is_valid(rows, sample):
    launches = [sample('16MiB', 'write', 0), sample('16MiB', 'write', 1)]
    assert rows(write_16MiB=launches)['valid'].sum() == 2
    assert rows(write_16MiB=launches, broken='line 3')['valid'].sum() == 0


def test_a_launch_that_is_not_valid_is_kept_and_marked(rows, sample):
    row = first(rows(write_16MiB=[sample('16MiB', 'write', 0, ('T18', 'invalid'), ('P2', 'label'))]))
    assert (row['valid'], row['rules'], row['value']) == (False, 'T18 P2', 128.0 * MIB)
    row = first(rows(write_16MiB=[sample('16MiB', 'write', 0, ('E1', 'invalid'), measured=False)]))
    assert (row['seconds'], row['value'], row['valid']) == (None, None, False)


def test_the_columns_and_their_version_are_the_declared_ones_also_without_a_case(rows, sample):
    frame, empty = rows(write_16MiB=[sample()]), table('s', BEGAN, 'cluster', 'INCOMPLETE', [])
    assert frame.schema == empty.schema == pl.Schema(COLUMNS)
    assert (set(frame['schema']), empty.height) == ({SCHEMA}, 0)


def test_a_launch_with_several_metrics_is_a_row_of_each_with_files_where_others_have_bytes(rows):
    """Two tasks make 500 files and 500 directories each, the files in two seconds."""
    plan = plan_of(FLAT.changed(empties_per_directory=1000), FLAT_TREE)
    rates = (rate('directory_create', 1000, 4.0, '250.0'), rate('file_create', 1000, 2.0, '500.0'))
    measurement = Measurement(rates, 2, ('node1', 'node2'), 1e-6)
    launched = plan.points[0].changed(files_per_directory=500, empties_per_directory=500)
    create = sample_of(plan, launched, 'create', 3, measurement)._replace(point=launched)
    frame = rows(plan=plan, file_create_flat=[create], directory_create_flat=[create])
    measured = frame.filter(pl.col('repetition') == 3)
    columns = ('metric', 'operation', 'phase', 'value', 'unit', 'better', 'seconds')
    assert [tuple(row[name] for name in columns) for row in measured.rows(named=True)] == [
        ('directory_create@flat', 'directory_create', 'create', 250.0, 'op/s', 'higher', 4.0),
        ('file_create@flat', 'file_create', 'create', 500.0, 'op/s', 'higher', 2.0),
    ]
    assert frame.height == len(planned_metrics(plan))
    result = first(measured)
    assert (result['files_per_task'], result['tasks'], result['axis'], result['kind']) == (500, 2, 'tree', 'tree')
    assert result['bytes_per_file'] == 0
    empty = ('transfer_size', 'bytes_per_task', 'bytes_moved', 'direct', 'queue_depth', 'interface', 'working_set')
    assert [result[name] for name in empty] == [None] * 7


def test_a_launch_that_took_no_time_has_no_figures(rows, sample):
    launch = sample('16MiB', 'write', 0, ('T12', 'invalid'))
    metric = launch.measurement.metrics[0]._replace(seconds=0.0)
    row = first(rows(write_16MiB=[launch._replace(measurement=launch.measurement._replace(metrics=(metric,)))]))
    assert (row['seconds'], row['value'], row['valid']) == (0.0, None, False)


def test_what_was_listed_before_in_the_same_launch_is_not_cold(rows):
    plan = plan_of(listing(10, (1.0,)), Sweep('entries', (10,)))
    measurement = rated(plan.points[0], {'ls_first': 9.0})
    launch = sample_of(plan, plan.points[0], 'list', measurement=measurement, cache='cold')
    frame = rows(plan=plan, **{name.replace('@', '_'): [launch] for name in ('ls_first@10', 'ls_fourth@10')})
    caches = dict(zip(frame['metric'], frame['cache'], strict=True))
    assert (caches['ls_first@10'], caches['ls_fourth@10']) == ('cold', 'listed before')
