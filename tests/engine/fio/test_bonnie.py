"""fio on Bonnie's file: its job file and logs, and what it makes of a genuine output of fio 3.33."""

import itertools
import json

import pytest

from fio_runs import TRANSCRIPTS, outcome
from measuring import refused_by
from seatrial.engine.fio.reuse import FioBonnie
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.bonnie import PHASE, SEEKERS, bonnie_file, seeks_of

POINT = bonnie_file('1MiB', '8MiB')._replace(label='1MiB', tasks_per_node=1)
TOLD = TRANSCRIPTS['bonnie']
COMMAND = FioBonnie().command('fio', PHASE, POINT, '/raw/1', 7)


def measure(report=None, lived_s=None):
    return FioBonnie().measure(PHASE, POINT, COMMAND, outcome('bonnie', report, lived_s=lived_s))


refusal = refused_by(measure)


def steps(name):
    """Direction and offset of every step of a log."""
    lines = [line.split() for line in COMMAND.inputs[name].splitlines()[1:]]
    assert {line[0] for line in lines} == {'data.00000000'}
    assert [line[1] for line in lines[:2] + lines[-1:]] == ['add', 'open', 'close']
    assert {line[3] for line in lines[2:-1]} == {str(MIB)}
    return [(line[1], int(line[2])) for line in lines[2:-1]]


def test_the_job_file_is_that_of_the_transcript():
    assert COMMAND.inputs['/raw/1.fio'] == TOLD['fio']


def test_every_part_has_its_own_time_and_the_bytes_of_the_file_count_once():
    measurement = measure()
    figures = {metric.name: metric for metric in measurement.metrics}
    for name in ('write', 'update', 'read'):
        assert figures[name].value == 8 * MIB / figures[name].seconds
    assert figures['seeks'].operations == seeks_of(POINT) == 8
    assert (measurement.bytes_moved, measurement.fsync) == (8 * MIB, True)


def test_an_update_reads_each_transfer_and_writes_it_back_in_its_place():
    assert steps('/raw/1.iolog') == [(does, at * MIB) for at in range(8) for does in ('read', 'write')]


def test_the_seekers_share_the_seeks_and_write_back_only_what_they_have_just_read():
    logs = [steps(f'/raw/1.{rank}.iolog') for rank in range(3, 3 + SEEKERS)]
    assert sum(step[0] == 'read' for log in logs for step in log) == seeks_of(POINT)
    assert all(0 <= at < 8 * MIB for log in logs for _, at in log)
    for log in logs:
        assert all(before == ('read', at) for before, (does, at) in itertools.pairwise(log) if does == 'write')


def test_of_many_seeks_about_a_tenth_writes():
    large = POINT.changed(transfer_size=64 * KIB, bytes_per_task=GIB)
    logs = list(FioBonnie().command('fio', PHASE, large, '/raw/1', 7).inputs.values())[2:]
    writes, reads = (sum(log.count(f' {does} ') for log in logs) for does in ('write', 'read'))
    assert reads == 16384
    assert 0.08 < writes / reads < 0.12


@pytest.mark.parametrize(
    ('job', 'direction'), [(0, 'write'), (1, 'read'), (1, 'write'), (2, 'read'), (3, 'read'), (7, 'read')]
)
def test_a_part_that_did_not_move_all_is_refused(job, direction):
    report = json.loads(TOLD['json'])
    report['jobs'][job][direction]['io_bytes'] -= MIB
    assert refusal(json.dumps(report, indent=2)).rule in ('T18', 'T1')


def test_what_its_log_does_not_have_is_not_done():
    report = json.loads(TOLD['json'])
    quiet = [rank for rank in range(3, 8) if 'write' not in dict(steps(f'/raw/1.{rank}.iolog'))]
    report['jobs'][quiet[0]]['write']['io_bytes'] = MIB
    assert refusal(json.dumps(report, indent=2)).rule == 'P15'


def test_all_parts_together_last_no_longer_than_the_process():
    assert refusal(lived_s=0.001).rule == 'E1'


def test_more_transfers_than_a_log_should_have_are_refused():
    assert FioBonnie().cannot(POINT) is None
    large = POINT.changed(transfer_size=4 * KIB, bytes_per_task=GIB)
    assert FioBonnie().cannot(large).startswith('cannot update 262144 transfers')
