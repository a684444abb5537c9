"""Records: one line each, whole or counted as truncated."""

import json

import pytest

from builders import plan_of, records_of
from seatrial.model.record import KINDS, Drill, DrillGroup, Finding, Removal, TargetRow, line_of, read_records

RECORDS = records_of(plan_of(), [100.0], targets=(TargetRow('OST', 3, 'x-OST0003', True, flags=('flash',)),))
START, SIZED, SAMPLE, END = RECORDS.start, RECORDS.sized, RECORDS.samples[-1], RECORDS.end
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
