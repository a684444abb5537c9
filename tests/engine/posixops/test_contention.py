"""Contention: what posixops says of calls that are as POSIX has them, and that each lie of a file system is found."""

import os
import re
import resource

import pytest

from measuring import Disk, point
from seatrial.engine.base import EngineError
from seatrial.engine.posixops import contention as contention_task
from seatrial.engine.posixops.contention import carry_out, record_of
from seatrial.engine.posixops.engine import PosixOps
from seatrial.engine.posixops.work import Spec, Work
from seatrial.workload.contention import APPEND, CALLS, LOCK, OPEN, ROUNDS, contention

APPENDS, LOCKS = contention(APPEND, 300, 64), contention(LOCK, 300)
HELD = contention(OPEN, record='1KiB', open_files=20)


class Lying:
    """The module os of a file system that loses some of what is written by calls of one name."""

    def __init__(self, name, does):
        self.name, self.does, self.calls = name, does, 0

    def __getattr__(self, name):
        return self.lie if name == self.name else getattr(os, name)

    def lie(self, *arguments):
        self.calls += 1
        return self.does(self.calls, *arguments)


def alone(workload):
    """The facts and the operations of one task on a file system."""
    work = Work(0, 1)
    carry_out(work, Spec(workload.phases[0], point(workload, 1)))
    return work.facts, {name: timed.operations for name, timed in work.timed.items()}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ('workload', 'seen'),
    [(APPENDS, 'all 300 records are there once, complete'), (LOCKS, 'all 300 changes under a lock are there')],
)
def test_what_holds_is_a_fact_beside_the_figures_and_nothing_is_left(here, workload, seen):
    (fact,), done = alone(workload)
    assert (fact.holds, fact.seen) == (True, seen)
    assert done == {workload.phases[0]: 300}
    assert list(here.iterdir()) == []


def loses(call, descriptor, data):
    os.write(descriptor, {5: b'', 9: data[:10]}.get(call, data))
    return len(data)


def repeats(call, descriptor, data):
    os.write(descriptor, data * (2 if call == 7 else 1))
    return len(data)


@pytest.mark.parametrize(
    ('workload', 'lie', 'seen'),
    [
        # What follows the one that was cut stands in its line.
        (APPENDS, Lying('write', loses), '3 of 300 records were lost or truncated, and '),
        (APPENDS, Lying('write', repeats), '0 of 300 records were lost or truncated, and 1 lines are damaged or dup'),
        (
            LOCKS,
            Lying('pwrite', lambda call, *what: None if call == 4 else os.pwrite(*what)),
            '1 of 300 changes were',
        ),
    ],
)
def test_what_is_lost_cut_or_there_twice_is_no_failure_but_a_fact(monkeypatch, workload, lie, seen):
    monkeypatch.setattr(contention_task, 'os', lie)
    (fact,), _ = alone(workload)
    assert (fact.holds, fact.seen[: len(seen)]) == (False, seen)


def test_a_record_that_is_taken_in_part_ends_the_launch(monkeypatch):
    monkeypatch.setattr(contention_task, 'os', Lying('write', lambda call, *what: len(what[1]) - 1))
    with pytest.raises(EngineError, match='E1: not all of 64 B were appended in one call'):
        alone(APPENDS)


@pytest.mark.parametrize('size', [32, 64, 1000])
def test_no_two_records_are_alike_and_each_is_one_line(size):
    records = [record_of(rank, number, size) for rank in range(12) for number in (0, 1, 10, 11, 999)]
    assert len(set(records)) == len(records)
    assert all(len(record) == size and record.count(b'\n') == 1 == record.endswith(b'\n') for record in records)


def test_files_are_held_open_and_written_round_robin(here):
    assert alone(HELD) == ((), {'open_create': 20, 'open_write': ROUNDS * 20, 'open_close': 20})
    assert list(here.iterdir()) == []


def test_an_open_file_that_is_not_as_it_was_written_is_lost_data(monkeypatch):
    lost = Lying(
        'pwrite', lambda call, fd, data, at: os.pwrite(fd, bytes([data[0] ^ 1]) + data[1:] if call == 3 else data, at)
    )
    monkeypatch.setattr(contention_task, 'os', lost)
    with pytest.raises(EngineError, match='F2: d0/f2 is not as it was written'):
        alone(HELD)


def test_more_open_files_than_a_process_may_have_are_refused_in_words_beforehand(monkeypatch):
    monkeypatch.setattr(resource, 'getrlimit', lambda which: (50, 50))
    why = 'cannot hold 20 files open: a process may have 50 (ulimit -Hn)'
    assert PosixOps().cannot(point(HELD)) == why
    with pytest.raises(EngineError, match='E1: cannot hold 20 files open'):
        alone(HELD)


@pytest.mark.slow
class TestTwoTasks:
    @pytest.mark.parametrize('workload', [APPENDS, LOCKS, HELD], ids=CALLS)
    def test_every_call_is_timed_and_nothing_is_left(self, here, workload):
        disk, (phase,) = Disk(here), workload.phases
        measured = disk.launch(phase, point(workload))
        assert [metric.name for metric in measured.metrics] == list(CALLS[phase])
        assert all(set(metric.percentiles_s) == {'p50', 'p95', 'p99'} for metric in measured.metrics)
        assert all(fact.holds for fact in measured.facts) and len(measured.facts) == (phase != OPEN)
        assert list(disk.data.iterdir()) == []

    def test_a_report_without_its_fact_is_refused(self, here):
        disk = Disk(here)
        disk.launch(APPEND, point(APPENDS))
        silent = tuple(re.sub(r'"facts": \[[^]]*\]', '"facts": []', text) for text in disk.outcome.stdouts)
        command = PosixOps().command('python3', APPEND, point(APPENDS), '/raw/1', 7)
        with pytest.raises(EngineError, match='P15: only 0 of 1 guarantees were tried'):
            PosixOps().measure(APPEND, point(APPENDS), command, disk.outcome._replace(stdouts=silent))
