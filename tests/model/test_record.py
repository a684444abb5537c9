"""Records: one line each, whole or counted as torn."""

import json

from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.record import (
    Drill,
    DrillGroup,
    End,
    Finding,
    JobTime,
    Measurement,
    Removal,
    Sample,
    Sized,
    Start,
    line_of,
    read_records,
)

START = Start(
    's',
    'c',
    'digest',
    'dev on / type ext4 (rw)',
    'h',
    1,
    '',
    1.0,
    'k',
    'p',
    'fio',
    '/f',
    '3',
    (),
    1,
    '/r',
    1,
    {'bytes': 2},
    (),
)
JOBS = (JobTime(0, 'h', 1 << 20, 0.0, 1.0), JobTime(1, 'h', 1 << 20, 0.5, 2.0))
MEASUREMENT = Measurement('1.0', 2 << 20, 2.0, 2, ('h',), JOBS, fsync=True)
SAMPLE = Sample('measured', 'p', 'write', 0, 0, 1, 1.0, 2.5, 1 << 20, ('fio x',), 0, 'r', MEASUREMENT, '', None, ())
SIZED = Sized(1, 4096, 'because', (Finding('P4', 'invalid', 'x'),))
END = End('finished', 'done', 3.0, {'p': 'converged'})
REMOVAL = Removal(2, 1, ('x: foreign',), 4.0)
LINES = [line_of(value) for value in (START, SIZED, SAMPLE, END, REMOVAL)]


def test_records_read_back_as_they_were_written():
    records = read_records(LINES)
    assert (records.start, records.sized, records.samples) == (START, SIZED, [SAMPLE])
    assert (records.end, records.removal, records.torn) == (END, REMOVAL, 0)


def test_each_record_is_one_line():
    assert all(line.endswith('\n') and '\n' not in line[:-1] for line in LINES)


@given(st.integers(0, sum(len(line) for line in LINES)))
def test_a_record_cut_at_any_byte_loses_at_most_one_line(cut):
    text = ''.join(LINES)[:cut]
    records = read_records(text.splitlines())
    complete = text.count('\n')
    read = sum(x is not None for x in (records.start, records.sized, records.end, records.removal)) + len(
        records.samples
    )
    assert complete <= read <= complete + 1
    assert records.torn <= 1


def test_a_foreign_line_is_counted_and_not_guessed_at():
    lines = ['null', '[]', '{"record": "verdict"}', '{"record": "end"}', json.dumps({'record': 'sizing', 'x': 1})]
    assert read_records(lines).torn == 5


def test_bandwidth_is_mib_over_first_start_to_last_end():
    assert MEASUREMENT.bandwidth == 1.0
    assert [job.seconds for job in JOBS] == [1.0, 1.5]


def test_a_sample_is_valid_only_with_a_measurement_and_labels_at_most():
    assert SAMPLE.valid
    assert SAMPLE._replace(findings=(Finding('P2', 'label', 'x'),)).valid
    assert not SAMPLE._replace(findings=(Finding('T18', 'invalid', 'x'),)).valid
    assert not SAMPLE._replace(measurement=None).valid


def test_a_drill_down_reads_back_and_a_record_without_one_has_none():
    groups = (DrillGroup('a', ('ost0000', 'ost0001'), (1.0, 2.0)), DrillGroup('b', ('ost0002', 'ost0003'), ()))
    drill = Drill('write@2objects', 900.0, (groups,), 'nothing is slow')
    assert read_records([*LINES[:-2], line_of(drill), *LINES[-2:]]).drill == drill
    assert read_records(LINES).drill is None
