"""The record of a job: samples.jsonl, one complete line at a time, and the engines' raw output beside it."""

import gzip
import hashlib
import io
import json
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from seatrial.engine.base import Command, Outcome
from seatrial.model.atomic_file import write_whole
from seatrial.model.codec import from_json, to_json
from seatrial.model.foreign import lines_in, open_regular, parsed, read_bytes, read_json, unpacked
from seatrial.model.issued import ISSUED, DarshanRun
from seatrial.model.lines import Chain
from seatrial.model.point import Point
from seatrial.model.record import NOTHING, SAMPLES, Records, Sample, line_of, read_records
from seatrial.workload.registry import form_fault, kind_of

JOB = 'job.json'
RAW = 'raw'
LAUNCH = '.launch.json.gz'


class AlreadyRecorded(Exception):
    """The directory holds the record of an earlier job; evidence is never overwritten."""


class RawLaunch(NamedTuple):
    """A launch as an engine's measure() gets it, beside its phase and point."""

    command: Command
    outcome: Outcome


class NotAsWritten(Exception):
    """A file of raw output is gone, or its SHA-256 differs from the record; the message names it."""


class Recorder:
    """Appends records to <directory>/samples.jsonl. Each line is one write(2) on an O_APPEND descriptor."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.raw = os.path.join(directory, RAW)
        self._chain = Chain()
        path = os.path.join(directory, SAMPLES)
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            raise AlreadyRecorded(f'{path} holds an earlier record; plan the case again for a new one') from None
        os.makedirs(self.raw, exist_ok=True)

    def write(self, value: Any) -> None:
        """Append one record. A killed runner leaves whole lines, and at most one truncated one at the end."""
        data = self._chain.linked(line_of(value)).encode('utf-8')
        while data:
            data = data[os.write(self._descriptor, data) :]

    def keep(self, name: str, launch: RawLaunch) -> str:
        """Keep the input of a measurement as raw/<name>.launch.json.gz; returns the SHA-256 of the file."""
        packed = io.BytesIO()
        with gzip.GzipFile(filename='', mode='wb', fileobj=packed, mtime=0) as stream:
            stream.write(json.dumps(to_json(launch)).encode('ascii'))
        Path(self.raw, name + LAUNCH).write_bytes(packed.getvalue())
        return hashlib.sha256(packed.getvalue()).hexdigest()

    def sync(self) -> None:
        """Sync the written records to storage: once a block and at the end, not once a sample."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class RecordReader:
    """Reads the record of a case repeatedly while a job may append to it, and each complete line once. An incomplete
    last line is read again; a replaced file, or a changed one that has not grown, is read from its beginning."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._path = os.path.join(directory, SAMPLES)
        self._file = self._size = (0, 0)  # device and inode; bytes, and when they were last changed (ns)
        self._whole, self._end = NOTHING, 0  # the records of whole lines, and where these end
        self._records = NOTHING

    def has_begun(self) -> bool:
        return os.path.exists(self._path)

    def read(self) -> Records:
        """The record so far; the same object if nothing is new. Raises OSError, NotReadable."""
        records = self._read_on()
        with suppress(OSError, ValueError, KeyError, TypeError):
            job_state = str(read_json(os.path.join(self.directory, JOB))['job_state'])
            records = records._replace(job_state=job_state)
        with suppress(OSError, ValueError):
            issued = from_json(DarshanRun, read_json(os.path.join(self.directory, ISSUED))).launches
            records = records._replace(issued=issued)
        if records != self._records:
            self._records = records
        return self._records

    def _read_on(self) -> Records:
        try:
            with open_regular(self._path) as stream:  # opened each time: only then NFS asks for its size
                seen = os.fstat(stream.fileno())
                file, size = (seen.st_dev, seen.st_ino), (seen.st_size, seen.st_mtime_ns)
                if file != self._file or not (size == self._size or seen.st_size > self._size[0]):
                    self._whole, self._end = NOTHING, 0
                stream.seek(self._end)
                data = stream.read(seen.st_size - self._end)
        except FileNotFoundError:
            self._file = (0, 0)
            return NOTHING
        self._file, self._size = file, size
        # Data that another client appends to a file on NFS can be zeros for a moment; no written line has one.
        zero = data.find(b'\0')
        whole = 1 + data.rfind(b'\n', 0, zero if zero >= 0 else len(data))
        self._whole, self._end = _records(data[:whole], self._whole), self._end + whole
        return _records(data[whole:], self._whole)


def _records(data: bytes, known: Records) -> Records:
    def is_impossible(value: Any) -> bool:
        return isinstance(value, Sample) and _never_launched(value.point, value.phase)

    return read_records(lines_in(io.BytesIO(data)), known, is_impossible)


@lru_cache(maxsize=4096)
def _never_launched(point: Point, phase: str) -> bool:
    if form_fault(point):
        return True
    return not point.tasks or phase not in [known.name for known in kind_of(point.kind).phases]


def records_in(directory: str) -> Records:
    return RecordReader(directory).read()


def kept_launch(directory: str, name: str, digest: str) -> RawLaunch:
    """The launch that Recorder.keep() has kept under this name; raises NotAsWritten."""
    path = os.path.join(directory, RAW, name + LAUNCH)
    try:
        packed = read_bytes(path)
    except OSError as error:
        raise NotAsWritten(f'{path}: {error.strerror}') from error
    if hashlib.sha256(packed).hexdigest() != digest:
        raise NotAsWritten(f'{path} was changed after it was written: its SHA-256 is not that in the record')
    try:
        return from_json(RawLaunch, parsed(unpacked(packed)))
    except ValueError as error:
        raise NotAsWritten(f'{path}: {error}') from None


def write_job_state(directory: str, job_state: str, job: str) -> None:
    """Keep the sentence about the end of a job, and the job's number, empty if it had none."""
    write_whole(Path(directory, JOB), json.dumps({'job': job, 'job_state': job_state}))


def append(directory: str, value: Any) -> None:
    """Add one record after the job, on a line of its own even if the last one is truncated."""
    line = Chain(records_in(directory).chain or '').linked(line_of(value))
    with open(os.path.join(directory, SAMPLES), 'ab+') as stream:
        if stream.tell() > 0:
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b'\n':
                stream.write(b'\n')
        stream.write(line.encode('utf-8'))
