"""A record beside the raw output of its engine, of dd's genuine transcripts."""

import json
from pathlib import Path

import pytest

from builders import chained, plan_of, sample_of, start_of
from seatrial.check.verified import Verified, verified
from seatrial.engine.base import Outcome, ProcessTime
from seatrial.engine.dd import Dd
from seatrial.job.sequence.recorder import LAUNCH, RawLaunch, Recorder, records_in
from seatrial.model.metric import Metric
from seatrial.model.record import SAMPLES, End, Sized
from seatrial.model.units import MIB
from seatrial.workload.access import data_access
from seatrial.workload.sweep import Sweep
from transcript import transcripts

SAID = transcripts('dd')['read-files']
TIMES = tuple(
    ProcessTime('node1', float(start), float(end), int(status))
    for start, end, status in map(str.split, SAID['times'].splitlines())
)
PLAN = plan_of(data_access('multiple', operations=('read',), bytes_per_task=64 * MIB), Sweep('transfer_size', (MIB,)))
POINT = PLAN.points[0]
OUTCOME = Outcome(TIMES, ('', ''), (SAID['0.err'], SAID['1.err']), ())
RAW = RawLaunch(Dd().command('dd', 'read', POINT, '/raw/1', 7), OUTCOME)
MEASUREMENT = Dd().measure('read', POINT, *RAW)
FIGURE = MEASUREMENT.metrics[0].value


@pytest.fixture
def record(tmp_path):
    """The directory of a case whose engine was dd: a warm-up and two repetitions."""
    recorder = Recorder(str(tmp_path))
    recorder.write(start_of(PLAN, engine='dd'))
    recorder.write(Sized(1, 64 * MIB, ''))
    for number, stage in enumerate(('warmup', 'measured', 'measured')):
        sample = sample_of(PLAN, POINT, 'read', max(0, number - 1), MEASUREMENT, stage)
        recorder.write(sample._replace(raw=str(number), raw_digest=recorder.keep(str(number), RAW)))
    recorder.write(End('interrupted', 'done', 9.0, {}))
    recorder.close()
    return tmp_path


def edit(record, line, change):
    """Changes a line, and links all lines again, as a forger could."""
    lines = (record / SAMPLES).read_text().splitlines(keepends=True)
    data = json.loads(lines[line - 1])
    data.pop('chain')
    change(data)
    lines[line - 1] = json.dumps(data, separators=(',', ':')) + '\n'
    (record / SAMPLES).write_text(chained(lines))


def test_every_measurement_of_an_honest_record_is_made_again_to_the_last_bit(record):
    assert verified(PLAN, records_in(str(record)), record) == Verified(3, (), (), ())


@pytest.mark.parametrize('share', [2.0, 1 + 2**-52])
def test_a_figure_that_was_edited_and_linked_again_is_named_with_its_line(record, share):
    def change(data):
        data['measurement']['metrics'][0]['value'] *= share

    edit(record, 5, change)
    (problem,) = verified(PLAN, records_in(str(record)), record).contradictions
    where = 'samples.jsonl, line 5 (measured read@1MiB, repetition 2)'
    assert problem == f'{where}: read is {FIGURE * share!r} in the record and {FIGURE!r} by the output'


@pytest.mark.parametrize('other', [{'world_size': 7}, {'bytes_moved': 7}, {'seconds': 7.0}, {'figure': '7'}])
def test_whatever_else_of_a_measurement_or_a_metric_was_edited_is_named(record, other):
    ((name, value),) = other.items()
    of_metric = name in Metric._fields

    def change(data):
        (data['measurement']['metrics'][0] if of_metric else data['measurement']).update(other)

    edit(record, 4, change)
    (problem,) = verified(PLAN, records_in(str(record)), record).contradictions
    assert f': {name}{" of read" if of_metric else ""} is {value!r} in the record and ' in problem


def test_a_metric_that_the_output_does_not_have_is_named(record):
    edit(record, 4, lambda data: data['measurement']['metrics'][0].update(name='write'))
    problems = verified(PLAN, records_in(str(record)), record).contradictions
    metrics = [problem.partition('): ')[2].split(' is ')[0] for problem in problems]
    assert metrics == ['the metric write', 'the metric read']


def test_an_edit_that_breaks_the_chain_is_a_contradiction_too(record):
    text = (record / SAMPLES).read_text()
    (record / SAMPLES).write_text(text.replace('"elapsed_s":1.5', '"elapsed_s":1.6', 1))
    (problem,) = verified(PLAN, records_in(str(record)), record).contradictions
    assert problem.startswith('R4: line 3 ')


def test_output_that_was_edited_is_a_contradiction(record):
    file = record / 'raw' / f'1{LAUNCH}'
    file.write_bytes(file.read_bytes() + b'\0')
    result = verified(PLAN, records_in(str(record)), record)
    assert (result.launches, len(result.contradictions), result.unproved) == (2, 1, ())


def test_output_that_the_engine_refuses_is_a_contradiction(record):
    (record / 'other').mkdir()
    other = Recorder(str(record / 'other'))
    digest = other.keep('1', RAW._replace(outcome=RAW.outcome._replace(stderrs=('', ''))))
    other.close()
    Path(other.raw, f'1{LAUNCH}').replace(record / 'raw' / f'1{LAUNCH}')
    edit(record, 4, lambda data: data.update(raw_digest=digest))
    (problem,) = verified(PLAN, records_in(str(record)), record).contradictions
    assert ': the output gives no figure: ' in problem


def test_output_that_is_gone_proves_nothing_and_contradicts_nothing(record):
    (record / 'raw' / f'1{LAUNCH}').unlink()
    result = verified(PLAN, records_in(str(record)), record)
    assert (result.launches, result.contradictions, len(result.unproved)) == (2, (), 1)


def test_a_launch_whose_output_was_not_kept_or_that_never_began_is_not_proved(record, tmp_path_factory):
    edit(record, 4, lambda data: data.pop('raw_digest'))
    (problem,) = verified(PLAN, records_in(str(record)), record).unproved
    assert problem.endswith('was not kept')
    empty = tmp_path_factory.mktemp('never')
    assert verified(PLAN, records_in(str(empty)), empty).unproved == ('no launch is on record',)
