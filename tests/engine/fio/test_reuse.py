"""fio on files that are kept: its job files, its I/O logs, and the measurements from outputs of fio 3.33."""

import json

import pytest

from fio_runs import TRANSCRIPTS, jobs_in, outcome
from measuring import access_point, refused_by
from seatrial.engine.fio.reuse import FioReuse
from seatrial.model.units import GIB, KIB
from seatrial.workload.reuse import file_reuse

PHASES = ('write', 'rewrite', 'update', 'read', 'reread')
POINT = access_point(file_reuse(PHASES), transfers=32)
OUTPUTS = {phase: TRANSCRIPTS[f'reuse-{phase}'] for phase in ('rewrite', 'update', 'reread')}


def command_of(phase, at=POINT):
    return FioReuse().command('fio', phase, at, '/raw/1', 7)


def measure(phase, report=None, at=POINT):
    return FioReuse().measure(phase, at, command_of(phase, at), outcome(f'reuse-{phase}', report))


refusal = refused_by(measure)


def jobs(phase):
    return jobs_in(command_of(phase))


@pytest.mark.parametrize('phase', OUTPUTS)
class TestEveryGoodRun:
    def test_the_job_file_is_that_of_the_transcript(self, phase):
        assert command_of(phase).inputs['/raw/1.fio'] == OUTPUTS[phase]['fio']

    def test_the_bytes_of_the_files_count_once(self, phase):
        measurement = measure(phase)
        (metric,) = measurement.metrics
        assert (metric.name, measurement.bytes_moved) == (phase, POINT.bytes_moved)
        assert metric.value == POINT.bytes_moved / measurement.seconds
        assert measurement.fsync == (phase != 'reread')


@pytest.mark.parametrize('direction', ['read', 'write'])
def test_an_update_with_too_few_bytes_in_one_direction_is_refused(direction):
    report = json.loads(OUTPUTS['update']['json'])
    report['jobs'][1][direction]['io_bytes'] -= 64 * KIB
    assert refusal('update', json.dumps(report, indent=2)).rule == 'T18'


def test_only_a_new_write_makes_files_and_only_a_second_read_keeps_the_cache():
    made = {phase: {job.get('allow_file_create', '1') for job in jobs(phase)} for phase in PHASES}
    assert made == {**{phase: {'0'} for phase in PHASES}, 'write': {'1'}}
    emptied = {phase: {job.get('invalidate') for job in jobs(phase)} for phase in ('read', 'reread')}
    assert emptied == {'read': {'1'}, 'reread': {'0'}}


def test_an_update_reads_each_transfer_and_writes_it_back_in_its_place():
    command = command_of('update')
    log = command.inputs['/raw/1.1.iolog'].splitlines()
    steps = [line.split()[1:] for line in log[3:-1]]
    assert [job['read_iolog'] for job in jobs('update')] == ['/raw/1.0.iolog', '/raw/1.1.iolog']
    assert steps[::2] == [['read', str(at * 64 * KIB), str(64 * KIB)] for at in range(32)]
    assert [['read', *step[1:]] for step in steps[1::2]] == steps[::2]
    assert all(line.startswith('data.00000001 ') for line in log[1:])


def test_an_update_with_too_many_transfers_for_a_log_is_refused():
    large = POINT.changed(transfer_size=4 * KIB, bytes_per_task=GIB)
    assert FioReuse().cannot(large).startswith('cannot update 262144 transfers a task')
    assert FioReuse().cannot(large._replace(phases=('write', 'read'))) is None


def test_on_several_nodes_a_task_updates_its_own_file_and_reads_elsewhere():
    wide = POINT._replace(nodes=2, tasks_per_node=1)
    assert FioReuse().reads_elsewhere(wide, 'reread') and not FioReuse().reads_elsewhere(wide, 'update')
    assert '/raw/1.1.fio' in command_of('update', wide).inputs
