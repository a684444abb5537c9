"""The record of a job: whole lines, never overwritten, readable after any death."""

import json
import os
from pathlib import Path

import pytest

from seatrial.job.sequence.recorder import AlreadyRecorded, Recorder, append, records_in
from seatrial.model.record import SAMPLES, End, Removal, Sized

SIZED = Sized(1, 4096, 'fixed by the site or the profile')
END = End('finished', 'every launch that the plan asks for was made', 1.5, {'4KiB': 'fixed'})
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


def test_what_was_written_is_read_again(folder):
    written(folder, SIZED, END)
    records = records_in(folder)
    assert (records.sized, records.end, records.truncated) == (SIZED, END, 0)


def test_every_record_is_one_line_that_says_its_kind(folder):
    lines = written(folder, SIZED, END).read_text().splitlines()
    assert [json.loads(line)['record'] for line in lines] == ['sizing', 'end']


def test_a_record_is_there_as_soon_as_it_is_written(folder):
    recorder = Recorder(folder)
    recorder.write(SIZED)
    assert records_in(folder).sized == SIZED
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


def test_the_raw_output_has_a_directory_beside_the_record(folder):
    recorder = Recorder(folder)
    assert os.path.isdir(recorder.raw)
    assert os.path.dirname(recorder.raw) == folder
    recorder.close()


def test_a_job_that_never_began_has_empty_records(folder):
    records = records_in(folder)
    assert (records.start, records.samples, records.end, records.truncated) == (None, [], None, 0)


@pytest.mark.parametrize('cut', [1, 20, 40])
def test_a_truncated_last_line_is_counted_and_costs_only_itself(folder, cut):
    path = written(folder, SIZED, END)
    path.write_bytes(path.read_bytes()[:-cut])
    records = records_in(folder)
    # Without its newline alone a line is still whole.
    assert (records.sized, records.end, records.truncated) == ((SIZED, END, 0) if cut == 1 else (SIZED, None, 1))


def test_bytes_that_are_no_text_are_counted_and_cost_only_their_line(folder):
    path = written(folder, SIZED)
    path.write_bytes(b'\xff\xfe\n' + path.read_bytes())
    assert (records_in(folder).sized, records_in(folder).truncated) == (SIZED, 1)


def test_what_is_appended_after_the_job_stands_on_a_line_of_its_own(folder):
    written(folder, END)
    append(folder, REMOVAL)
    records = records_in(folder)
    assert (records.end, records.removal, records.truncated) == (END, REMOVAL, 0)


def test_what_is_appended_after_a_truncated_line_stands_on_its_own(folder):
    path = written(folder, SIZED, END)
    path.write_bytes(path.read_bytes()[:-20])
    append(folder, REMOVAL)
    records = records_in(folder)
    assert (records.sized, records.end, records.removal, records.truncated) == (SIZED, None, REMOVAL, 1)


def test_what_is_appended_to_no_record_begins_one(folder):
    append(folder, REMOVAL)
    assert records_in(folder).removal == REMOVAL
