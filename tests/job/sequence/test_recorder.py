"""The record of a job: whole lines, never overwritten, readable after any death."""

import itertools
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import moved, plan_of, sample_of, start_of
from seatrial.engine.base import Command, Outcome, ProcessTime
from seatrial.job.sequence import recorder as module
from seatrial.job.sequence.recorder import AlreadyRecorded, RawLaunch, Recorder, RecordReader, records_in
from seatrial.model import lines
from seatrial.model.record import SAMPLES, End, Removal, Sized, read_records

SIZED = Sized(1, 4096, 'fixed by the site or the profile')
END = End('finished', 'no launch was left that the plan asks for and its budget allows', 1.5, {'4KiB': 'fixed'})
REMOVAL = Removal(3, 2, (), 2.5)


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path)


def written(folder, *values):
    recorder = Recorder(folder)
    for value in values:
        recorder.write(value)
    recorder.sync()
    recorder.close()
    return Path(folder, SAMPLES)


def test_a_record_is_there_as_soon_as_it_is_written(folder):
    empty = records_in(folder)
    assert (empty.start, empty.samples, empty.end, empty.truncated) == (None, [], None, 0)
    recorder = Recorder(folder)
    recorder.write(SIZED)
    assert records_in(folder).sized == SIZED
    assert os.path.isdir(recorder.raw) and os.path.dirname(recorder.raw) == folder
    recorder.close()


def test_a_record_that_the_kernel_takes_in_pieces_is_written_whole(folder, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, 'write', lambda descriptor, data: write(descriptor, data[:7]))
    path = written(folder, SIZED)
    assert json.loads(path.read_text())['reason'] == SIZED.reason


def test_the_record_of_an_earlier_job_is_not_touched(folder):
    path = written(folder, SIZED)
    before = path.read_bytes()
    with pytest.raises(AlreadyRecorded, match='samples.jsonl holds an earlier record; plan the case again'):
        Recorder(folder)
    assert path.read_bytes() == before


@pytest.mark.parametrize('cut', [1, 20, 40])
def test_a_truncated_last_line_and_bytes_that_are_no_text_are_counted_and_cost_only_their_lines(folder, cut):
    path = written(folder, SIZED, END)
    path.write_bytes(b'\xff\xfe\n' + path.read_bytes()[:-cut])
    records = records_in(folder)
    # Without its newline alone a line is still whole.
    assert (records.sized, records.end, records.truncated) == ((SIZED, END, 1) if cut == 1 else (SIZED, None, 2))


@pytest.mark.parametrize(('values', 'cut'), [((), 0), ((SIZED, END), 0), ((SIZED, END), 20)])
def test_what_is_appended_stands_on_a_line_of_its_own(folder, values, cut):
    if values:
        path = written(folder, *values)
        path.write_bytes(path.read_bytes()[: -cut or None])
    module.append(folder, REMOVAL)
    records = records_in(folder)
    assert (records.removal, records.truncated, records.broken) == (REMOVAL, int(cut > 0), '')
    assert (records.sized, records.end) == (SIZED if values else None, END if values and not cut else None)


PLAN = plan_of()
POINT = PLAN.points[0]
WHOLE = (start_of(PLAN), SIZED, *(sample_of(PLAN, POINT, 'write', n, moved(POINT, 2e6)) for n in range(2)), END)


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    return written(str(tmp_path_factory.mktemp('record')), *WHOLE)


def is_found(whole, place, other):
    """True if the record is recognised as damaged once one byte of it is another."""
    text = whole.read_bytes()
    edited = whole.with_name('edited')
    edited.mkdir(exist_ok=True)
    (edited / SAMPLES).write_bytes(text[:place] + bytes([other]) + text[place + 1 :])
    records = records_in(str(edited))
    return bool(records.broken or records.truncated)


def test_a_record_that_grows_byte_by_byte_reads_as_it_would_at_once(whole, tmp_path):
    reader, text = RecordReader(str(tmp_path)), whole.read_bytes()
    for start in range(0, len(text), 97):
        with (tmp_path / SAMPLES).open('ab') as stream:
            stream.write(text[start : start + 97])
        assert reader.read() == records_in(str(tmp_path))
    assert (reader.read().end, reader.read().truncated, reader.read().broken) == (END, 0, '')


@given(st.lists(st.sampled_from(['linked', 'bare', 'altered']), min_size=1), st.data())
def test_the_first_line_that_does_not_follow_is_the_same_however_a_record_is_read(whole, ways, data):
    written = []
    for way, line in zip(ways, itertools.cycle(whole.read_text().splitlines(keepends=True))):
        text = line.rpartition(',"chain":')[0]
        altered = f'{text},"chain":"{64 * "0"}"}}\n'
        written.append({'linked': line, 'bare': f'{text}}}\n', 'altered': altered}[way])
    place = data.draw(st.integers(0, len(written)))
    at_once = read_records(written)
    assert read_records(written[place:], read_records(written[:place])) == at_once


def test_each_line_is_read_once_however_often_a_record_is_asked_for(whole, tmp_path, monkeypatch):
    read, values_in = [], lines.values_in
    monkeypatch.setattr(lines, 'values_in', lambda given, kinds: (read.extend(given), values_in(given, kinds))[1])
    reader, text = RecordReader(str(tmp_path)), whole.read_text().splitlines(keepends=True)
    for line in text:
        with (tmp_path / SAMPLES).open('a') as stream:
            stream.write(line)
        assert reader.read() is reader.read()
    assert len(read) == len(text)


@pytest.mark.parametrize('way', ['shorter', 'another', 'edited', 'gone'])
def test_a_record_that_is_not_the_one_of_last_time_is_read_from_its_beginning(whole, tmp_path, way):
    reader, file = RecordReader(str(tmp_path)), tmp_path / SAMPLES
    file.write_bytes(whole.read_bytes())
    assert reader.read().end == END
    text = whole.read_text()
    if way == 'gone':
        file.unlink()
    elif way == 'shorter':
        file.write_text(text.splitlines(keepends=True)[0])
    elif way == 'another':
        (tmp_path / 'new').write_text(text.replace('"elapsed_s":1.5', '"elapsed_s":1.6') + text)
        (tmp_path / 'new').replace(file)
    else:
        file.write_text(text.replace('"elapsed_s":1.5', '"elapsed_s":1.6'))
        os.utime(file, ns=(0, 0))
    assert reader.read() == records_in(str(tmp_path)) != records_in(str(whole.parent))


def test_zeros_that_nfs_shows_before_what_was_appended_are_read_again(whole, tmp_path):
    reader, file, text = RecordReader(str(tmp_path)), tmp_path / SAMPLES, whole.read_bytes()
    file.write_bytes(text[:900] + bytes(100) + text[1000:])
    then = file.stat().st_mtime_ns
    assert reader.read().truncated
    file.write_bytes(text)
    os.utime(file, ns=(then, then))
    assert reader.read() == records_in(str(whole.parent))


def test_a_reader_that_failed_goes_on_where_it_was(whole, tmp_path, monkeypatch):
    reader, file = RecordReader(str(tmp_path)), tmp_path / SAMPLES
    text = whole.read_text().splitlines(keepends=True)
    file.write_text(text[0])
    reader.read()
    file.write_text(''.join(text))
    with monkeypatch.context() as patched, pytest.raises(OSError):
        patched.setattr(os, 'fstat', lambda descriptor: (_ for _ in ()).throw(OSError('stale file handle')))
        reader.read()
    assert reader.read() == records_in(str(tmp_path))


@given(st.data())
def test_a_byte_that_was_edited_anywhere_is_found(whole, data):
    text = whole.read_bytes()
    ends = [place for place, byte in enumerate(text) if byte == ord('\n')]
    place = data.draw(st.integers(0, len(text) - 1) | st.sampled_from(ends))
    assert is_found(whole, place, data.draw(st.integers(0, 255).filter(lambda byte: byte != text[place])))


def test_the_line_and_the_launch_that_were_edited_are_named(whole, tmp_path):
    lines = whole.read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace('"elapsed_s":1.5', '"elapsed_s":1.6')
    (tmp_path / SAMPLES).write_text(''.join(lines))
    assert records_in(str(tmp_path)).broken == 'line 4 (measured write@16MiB, repetition 2)'


KEPT = RawLaunch(
    Command('task', (('dd', 'of=data'),), {'/raw/x': 'text'}, ('/raw/y',), links=(('data.0', 'data'),)),
    Outcome((ProcessTime('node1', 0.1, 1.0 / 3.0, 0),), ('',), ('caf\xe9 \ufffd\n',), (None, '{}')),
)


def test_what_a_measurement_was_made_of_reads_back_as_it_was(folder):
    recorder = Recorder(folder)
    digest = recorder.keep('0001', KEPT)
    recorder.close()
    assert module.kept_launch(folder, '0001', digest) == KEPT
