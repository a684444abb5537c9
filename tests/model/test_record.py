"""Records and telemetry: one line each, whole or counted as truncated."""

import json

from builders import plan_of, records_of
from seatrial.model import telemetry
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


def test_a_foreign_line_is_counted_and_not_guessed_at():
    foreign = ['null', '{"record": "verdict"}', '{"record": "end"}', LINES[2].replace('"point":', '"at":')]
    records = read_records(foreign)
    assert (records.truncated, records.samples, records.end) == (4, [], None)


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


OF_SERVERS = (telemetry.Served('lustre-OST0001', 'write_bytes', 4, 4096, 'bytes'),)
TELEMETRY = (
    telemetry.RpcSizes(telemetry.BEFORE, (telemetry.RpcSize('256', 4, 38),)),
    telemetry.Servers(telemetry.BEFORE, 0.5, 0, 'telemetry-before', '4242', OF_SERVERS),
    telemetry.Watch(1.0, 'node1', 'block device vda', '', 1.0),
    telemetry.Look(2.0, 100.0, 0.001, {'read_bytes': 1, 'write_bytes': 2}),
    telemetry.Gap(3.0, 101.0, 1.0, 'the counters did not answer'),
    telemetry.Pace(4.0, 2.5, 'a look takes 0.13 s'),
    telemetry.Look(5.0, 103.0, 0.001, {'read_bytes': 3, 'write_bytes': 2}),
    telemetry.ServerGap(5.5, 'oss2', 'no route to host'),
    telemetry.ServerLook(5.6, 'oss1', 1.0, 1, 0.5, 'sda', 1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    telemetry.Ended(6.0),
    telemetry.Servers(telemetry.AFTER, 6.5, None, 'telemetry-after', '', (), 'it did not end within 30 s'),
)


def test_telemetry_is_read_back_and_every_kind_of_line_is_tried_here():
    sizes, before, watch, one, gap, pace, other, lost, server, ended, after = TELEMETRY
    seen = telemetry.read_telemetry(map(telemetry.line_of, TELEMETRY))
    assert seen == (watch, [one, other], [gap], [pace], [sizes], [before, after], ended, 0, (server,), (lost,))
    assert {type(value) for value in TELEMETRY} == set(telemetry.KINDS.values())
