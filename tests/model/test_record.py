"""Records: one line each, whole or counted as truncated."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.layout import Layout
from seatrial.model.metric import Measurement, TaskTime, bandwidth
from seatrial.model.record import (
    KINDS,
    Drill,
    DrillGroup,
    End,
    Finding,
    NotTested,
    Provenance,
    Removal,
    Sample,
    Sized,
    Start,
    TargetRow,
    line_of,
    read_records,
)
from seatrial.model.units import MIB
from seatrial.workload.access import data_access

START = Start(
    session='s',
    case='c',
    plan='digest',
    mount='dev on / type ext4 (rw)',
    host='h',
    pid=1,
    job='',
    started=1.0,
    kernel='k',
    python='p',
    engine='fio',
    program='/f',
    version='3',
    skipped=('ior: not installed (ior)',),
    seed=1,
    run_directory='/r',
    memory_bytes=1,
    capacity={'bytes': 2},
    findings=(),
    targets=(TargetRow('OST', 3, 'x-OST0003', True, flags=('flash',)),),
    not_tested=(NotTested('n9', 'down', 'burnt'),),
    provenance=Provenance('spack:x', modules=('a', 'b')),
)
TASKS = (TaskTime(0, 'h', MIB, 0.0, 1.0), TaskTime(1, 'h', MIB, 0.5, 2.0))
POINT = data_access('multiple', bytes_per_task=MIB)._replace(
    label='c2', layout=Layout('c2'), tasks=2, tasks_per_node=2
)
MEASUREMENT = Measurement((bandwidth('write', 2 * MIB, 2.0, '1.0'),), 2, ('h',), 0.001, 2 * MIB, TASKS, fsync=True)
SAMPLE = Sample(
    stage='measured',
    phase='write',
    point=POINT,
    repetition=0,
    block=0,
    sizing=1,
    started=1.0,
    elapsed_s=2.5,
    command=("fio 'x y'",),
    exit_status=0,
    raw='r',
    measurement=MEASUREMENT,
    cache='',
    storage_read_bytes=None,
    findings=(),
    environment=('LD_PRELOAD=/x',),
    directory='/r/data',
    barrier=2,
    inputs=('r.fio',),
    links=(('data.0', 'data'),),
    directories=('a', 'a/b'),
)
SIZED = Sized(1, 4096, 'because')
END = End('finished', 'done', 3.0, {'p': 'converged'})
REMOVAL = Removal(2, 1, ('x: foreign',), 4.0)
LINES = [line_of(value) for value in (START, SIZED, SAMPLE, END, REMOVAL)]


def test_records_read_back_as_they_were_written():
    records = read_records(LINES)
    assert (records.start, records.sized, records.samples) == (START, SIZED, [SAMPLE])
    assert (records.end, records.removal, records.truncated) == (END, REMOVAL, 0)


def test_each_record_is_one_line_that_names_its_kind():
    assert all(line.endswith('\n') and '\n' not in line[:-1] for line in LINES)
    assert [json.loads(line)['record'] for line in LINES] == ['start', 'sizing', 'sample', 'end', 'removal']
    assert len(set(KINDS.values())) == len(KINDS)


def test_of_each_kind_but_the_samples_the_last_one_counts():
    later = SIZED._replace(number=2)
    records = read_records([*LINES, line_of(later), line_of(SAMPLE)])
    assert (records.sized, records.samples) == (later, [SAMPLE, SAMPLE])


@given(st.integers(0, sum(len(line) for line in LINES)))
def test_a_record_cut_at_any_byte_loses_at_most_one_line(cut):
    text = ''.join(LINES)[:cut]
    records = read_records(text.splitlines())
    complete = text.count('\n')
    read = sum(x is not None for x in (records.start, records.sized, records.end, records.removal)) + len(
        records.samples
    )
    assert complete <= read <= complete + 1
    assert records.truncated <= 1


@pytest.mark.parametrize(
    'line',
    [
        'null',
        '[]',
        '{"record": "verdict"}',
        '{"record": "end"}',
        '{"record": "sizing", "number": 1, "per_client": 2, "reason": "", "findings": []}',
        json.dumps({**json.loads(LINES[2]), 'point': '64KiB'}),
    ],
)
def test_a_foreign_line_is_counted_and_not_guessed_at(line):
    records = read_records([line])
    assert (records.truncated, records.sized, records.samples, records.end) == (1, None, [], None)


def test_a_sample_is_valid_only_with_a_measurement_and_labels_at_most():
    assert SAMPLE.valid
    assert SAMPLE._replace(findings=(Finding('P2', 'label', 'x'),)).valid
    assert not SAMPLE._replace(findings=(Finding('T18', 'invalid', 'x'),)).valid
    assert not SAMPLE._replace(measurement=None).valid


def test_a_drill_down_reads_back_and_a_record_without_one_has_none():
    groups = (DrillGroup('a', ('ost0000', 'ost0001'), (1.0, 2.0)), DrillGroup('b', ('ost0002', 'ost0003'), ()))
    drill = Drill('write@1MiB', 9e8, (groups,), 'nothing is slow')
    assert read_records([*LINES[:-2], line_of(drill), *LINES[-2:]]).drill == drill
    assert read_records(LINES).drill is None
