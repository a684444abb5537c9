"""posixops, scenarios: a task writes, syncs and reads back records of its own file, and reports their state.

A record's content follows from launch, file, offset and generation (the number of its writes). A write counts when
its fdatasync has returned, a read when its content is right; after a failed write the old or the new one is right.
Reads go past the cache if possible. At the end the whole file is compared. The task prints a line of JSON
(scenario_figures.ScenarioRow) for each second; in a long scenario for each minute without planned actions.
"""

import contextlib
import errno
import json
import math
import os
import socket
import sys
import time
from pathlib import Path
from typing import Dict, List, Set, Tuple

from seatrial.engine.base import EngineError, Outcome
from seatrial.engine.posixops import scenario_figures as figures
from seatrial.engine.posixops.work import ROW, Part, Report, Spec, Work, write_all
from seatrial.engine.proof import data_of, read_there, window_of
from seatrial.model.action import BEGUN, TRANSCRIPT, Begun, transcript_of
from seatrial.model.atomic_file import write_whole
from seatrial.model.codec import to_json
from seatrial.model.metric import Measurement
from seatrial.model.point import Point
from seatrial.workload.scenario import VERIFIED

SEEN_WITHIN_S = 60.0  # seconds in which the conductor of the actions must answer that the load has begun
OVER_WITHIN_S = 900.0  # seconds after the load until the last undo must have ended
POLL_S = 0.2
PAUSE_S = 0.1  # pause after an error: a call refused at once would be repeated thousands of times a second
MOST_DAMAGE = 20  # records that are named
NO_RECORD = 74  # EX_IOERR of sysexits.h: the task's own record could not be written


class _Record:
    """Reports the course second by second."""

    def __init__(self, point: Point, zero_s: float) -> None:
        self._point, self._zero_s = point, zero_s
        self._at_s, self._until_s = 0.0, figures.bound_s(point, 0.0)
        self._acknowledged_s = self._longest_s = 0.0
        self._begin()

    def now(self) -> float:
        return time.monotonic() - self._zero_s

    def acknowledged(self, began_s: float, size: int) -> None:
        """An operation that began at began_s has ended well."""
        now = self._turned()
        self._note_gap(now)
        self._acknowledged_s = now
        took_s = now - began_s
        self._operations += 1
        self._bytes += size
        self._longest_s = max(self._longest_s, took_s)
        step = str(math.floor(figures.LATENCY_STEPS * math.log2(max(took_s, 1e-6) * 1e6)))
        self._latencies[step] = self._latencies.get(step, 0) + 1

    def failed(self, error: OSError) -> None:
        self._turned()
        name = errno.errorcode.get(error.errno or 0, str(error.errno))
        self._errors[name] = self._errors.get(name, 0) + 1

    def end(self) -> None:
        """Ends the load: a time without acknowledged operations is a gap up to now."""
        now = self._turned()
        self._note_gap(now)
        self._write(now)

    def _note_gap(self, now: float) -> None:
        if now - self._acknowledged_s >= figures.GAP_S:
            self._gaps.append((round(self._acknowledged_s, 3), round(now, 3)))

    def _turned(self) -> float:
        """The time; all rows before it are written."""
        now = self.now()
        if now >= self._until_s:
            self._write(self._until_s)
            self._at_s = max(self._until_s, float(math.floor(now)))
            self._until_s = figures.bound_s(self._point, self._at_s)
        return now

    def _write(self, until_s: float) -> None:
        length_s, longest_s = round(until_s - self._at_s, 3), round(self._longest_s, 4)
        counted = self._errors, self._latencies, tuple(self._gaps)
        row = figures.ScenarioRow(self._at_s, length_s, self._operations, self._bytes, longest_s, *counted)
        say(figures.line_of_row(row))
        self._begin()

    def _begin(self) -> None:
        self._operations = self._bytes = 0
        self._longest_s = 0.0
        self._errors: Dict[str, int] = {}
        self._latencies: Dict[str, int] = {}
        self._gaps: List[Tuple[float, float]] = []


class _File:
    """The file of a task. Each record has the generations that it may hold: one, or two after a write that failed."""

    def __init__(self, work: Work, point: Point) -> None:
        self.name, self._size = figures.file_of(work.rank), point.data.transfer_size
        self.records = point.data.transfers
        self._key = os.urandom(16).hex()
        self._may: List[Tuple[int, ...]] = [(0,)] * self.records
        self._seen: Set[int] = set()  # records whose newest generation was read: an older one must not return
        self._window = window_of(self._size)
        self._descriptor = -1
        self.verified = self.damaged = 0
        self.damage: List[str] = []

    def open(self) -> None:
        """Open the file anew; an open descriptor is closed only once the new one is there."""
        fresh = os.open(self.name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        old, self._descriptor = self._descriptor, fresh
        if old >= 0:
            os.close(old)

    def write(self, number: int) -> None:
        generation = max(self._may[number]) + 1
        self._may[number] += (generation,)
        self._seen.discard(number)
        os.lseek(self._descriptor, number * self._size, os.SEEK_SET)
        write_all(self._descriptor, memoryview(self._content(number, generation)))
        os.fdatasync(self._descriptor)
        self._may[number] = (generation,)

    def compare(self, number: int) -> None:
        """Reads a record and notes its faults."""
        may = self._may[number]
        content, _ = read_there(self._descriptor, number * self._size, self._size, self._window)
        right = next((which for which in may if which and content == self._content(number, which)), None)
        if right is None and not (0 in may and not content.strip(b'\0')):
            self._note(number, content)
            return
        self._may[number] = (right or 0,)
        if right:
            self._seen.add(number)
        self.verified += 1

    def written(self) -> List[int]:
        return [number for number, may in enumerate(self._may) if may != (0,)]

    def _content(self, number: int, generation: int) -> bytes:
        return data_of(self._key, f'{self.name} {generation}', number * self._size, self._size)

    def _note(self, number: int, content: bytes) -> None:
        self.damaged += 1
        if self.damaged > MOST_DAMAGE:
            return
        newest = max(self._may[number])
        earlier = range(newest - 1, 0, -1)
        older = next((which for which in earlier if content == self._content(number, which)), None)
        if older is None:
            what = 'is lost' if not content.strip(b'\0') else 'was changed'
        else:
            how = 'an older write has come back' if number in self._seen else 'the last write is lost'
            what = f'has generation {older} and not {newest}: {how}'
        self.damage.append(f'the record at {number * self._size} B of {self.name} {what}')


def carry_out(work: Work, spec: Spec) -> None:
    point, raw = spec.point, spec.directory
    file, number = _File(work, point), 0
    work.doing = 'make its file'
    file.open()
    release = work.barrier.wait('begin the load')
    work.uncertainty_s = release.uncertainty_s
    if work.rank == 0:
        begun = Begun(time.time() - (time.monotonic() - release.at_s), socket.gethostname())
        write_whole(Path(raw + BEGUN), json.dumps(to_json(begun)))
    record = _Record(point, release.at_s)
    while record.now() < point.time.duration_s:
        try:
            if number % file.records == 0:
                file.open()  # names are asked for too, not only data
            began_s = record.now()
            file.write(number % file.records)
            record.acknowledged(began_s, point.data.transfer_size)
            time.sleep(point.time.think_s)
            began_s = record.now()
            # Another written record: a fixed stride goes through all of them.
            file.compare(number * 7919 % min(number + 1, file.records))
            record.acknowledged(began_s, point.data.transfer_size)
        except OSError as error:
            record.failed(error)
            time.sleep(PAUSE_S)
        number += 1
    record.end()
    if work.rank == 0:
        _wait_for_actions(raw)
    work.barrier.exchange('end the load')
    work.doing = 'compare all of its file'
    file.open()
    for index in file.written():
        file.compare(index)
    say(json.dumps([VERIFIED, file.verified]))
    if file.damage:
        more = f', and {file.damaged - 1} more' if file.damaged > 1 else ''
        raise EngineError('F2', file.damage[0] + more, {'file': file.name})


def say(line: str) -> None:
    """Prints a line of the record; without room for it the task ends, because the file system is not to blame."""
    try:
        sys.stdout.write(line + '\n')
        sys.stdout.flush()
    except OSError as error:
        os.write(2, f'its record cannot be written: {errno.errorcode.get(error.errno or 0)}\n'.encode())
        os._exit(NO_RECORD)


def _wait_for_actions(raw: str) -> None:
    """Waits until the actions are reported as over; the figures report missing ones."""
    began_s, within_s = time.monotonic(), SEEN_WITHIN_S
    while time.monotonic() - began_s < within_s:
        with contextlib.suppress(OSError), open(raw + TRANSCRIPT, encoding='utf-8') as stream:
            transcript = transcript_of(stream.read())
            if transcript is not None and transcript.complete:
                return
            within_s = OVER_WITHIN_S
        time.sleep(POLL_S)


def _measured(phase: str, point: Point, reports: List[Report], plain: Measurement, outcome: Outcome) -> Measurement:
    rows = [[line for line in text.splitlines() if line.startswith(ROW)] for text in outcome.stdouts]
    transcript = outcome.outputs[0] if outcome.outputs else None
    metrics, course = figures.figures(point, rows, [report.host for report in reports], transcript)
    return plain._replace(metrics=metrics, course=course)


PART = Part(carry_out, measured=_measured, makes=(r'course\.\d+',), course=True)
