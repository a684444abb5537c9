"""Limits that are reached, made by replacing what the tasks call: each lie about one is found (quotas:
test_kernels.py)."""

import errno
import os
from types import SimpleNamespace

import pytest

from seatrial.engine.base import EngineError
from seatrial.engine.posixops import limits
from seatrial.engine.posixops.limits import LIMITS, OWN, RECORD, carry_out
from seatrial.engine.posixops.work import Spec, Work
from seatrial.workload.limits import ALL_BYTES, BEYOND, OVER, QUOTA_BYTES, QUOTA_INODES, TAKEN, UNUSED, until
from seatrial.workload.registry import hurts, resized

ROOM = 2 * RECORD + 12_345
NAMES = [guarantee.name for guarantee in LIMITS]
READ = limits.read_there


class Limited:
    """The module os where so many bytes or inodes fit; name: the errno; frees: whether what is removed can be used
    again."""

    def __init__(self, left, name='EDQUOT', frees=True, lazy=False):
        self.left, self.error, self.frees, self.lazy = left, getattr(errno, name), frees, lazy

    def __getattr__(self, name):
        return getattr(os, name)

    def refuse(self):
        raise OSError(self.error, os.strerror(self.error))

    def write(self, descriptor, data):
        part = len(data) if self.lazy else min(self.left, len(data))
        if not part:
            self.refuse()
        self.left -= part
        return os.write(descriptor, data[:part])

    def fdatasync(self, descriptor):
        if self.left < 0:
            self.refuse()

    def mkdir(self, path):
        self.make()
        os.mkdir(path)

    def unlink(self, path):
        if self.frees:
            self.left += os.stat(path).st_size or 1
        os.unlink(path)

    def make(self):
        if not self.left:
            self.refuse()
        self.left -= 1


def reached(monkeypatch, phase=QUOTA_BYTES, room=ROOM, **limit):
    """The result of one task at a limit with this much room: the facts by name, and its counts."""
    limited = Limited(**{'left': room, **limit})
    monkeypatch.setattr(limits, 'os', limited)
    if 'inodes' in phase:
        opened = limits.opened

        def made(path, flags):
            if flags & os.O_CREAT:
                limited.make()
            return opened(path, flags)

        monkeypatch.setattr(limits, 'opened', made)
    (point,) = resized([until(phase)], room)
    work = Work(0, 1)
    work.hosts = ('n1',)
    carry_out(work, Spec(phase, point._replace(tasks=1, tasks_per_node=1)))
    assert [fact.name for fact in work.facts] == NAMES
    return {fact.name: fact.holds for fact in work.facts}, work.counts['limit']


def broken(**names):
    return {**dict.fromkeys(NAMES, True), **names}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limits, 'AGAIN_S', 0.0)
    return tmp_path


HELD = [*((QUOTA_BYTES, ROOM, name) for name in ('EDQUOT', 'ENOSPC')), (ALL_BYTES, ROOM, 'ENOSPC')]


@pytest.mark.parametrize(('phase', 'room', 'name'), [*HELD, (QUOTA_INODES, 9, 'EDQUOT')])
def test_a_limit_that_holds_is_reached_to_the_byte_and_nothing_is_left(monkeypatch, place, phase, room, name):
    holds, counts = reached(monkeypatch, phase, room, name=name)
    assert holds == broken()
    assert counts == {TAKEN: room, BEYOND: 0, UNUSED: 0}
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ('phase', 'room', 'limit', 'breaks', 'taken'),
    [
        (QUOTA_BYTES, ROOM, {'lazy': True}, {}, 2 * RECORD),  # only the sync knows the limit
        (QUOTA_BYTES, ROOM, {'left': ROOM + 5}, {'within': False}, ROOM + 5),
        (QUOTA_INODES, 9, {'left': 14}, {'within': False}, 14),
        (QUOTA_BYTES, 4 * RECORD + OWN['bytes'], {'left': RECORD}, {'reached': False}, RECORD),
        (QUOTA_INODES, 30, {'left': 10}, {'reached': False}, 10),
        (ALL_BYTES, ROOM, {'name': 'EDQUOT'}, {'refused': False}, ROOM),  # a full file system has an errno of its own
        (QUOTA_BYTES, ROOM, {'frees': False}, {'again': False}, ROOM),
        (QUOTA_INODES, 9, {'frees': False}, {'again': False}, 9),
    ],
)
def test_one_that_does_not_hold_is_found(monkeypatch, phase, room, limit, breaks, taken):
    holds, counts = reached(monkeypatch, phase, room, **limit)
    assert (holds, counts[TAKEN], counts[BEYOND]) == (broken(**breaks), taken, max(0, taken - room))
    assert (counts[UNUSED] > 0) == ('reached' in breaks)


@pytest.mark.parametrize(('phase', 'what'), [(QUOTA_BYTES, 'bytes'), (QUOTA_INODES, 'inodes')])
@pytest.mark.slow
def test_one_that_never_refuses_is_given_up(monkeypatch, phase, what):
    holds, counts = reached(monkeypatch, phase, 9, left=2**40)
    assert (holds['refused'], holds['within'], holds['reached']) == (False, False, None)
    assert 0 <= counts[BEYOND] - OVER[what] < RECORD


def test_a_limit_that_is_not_reached_in_time_is_not_judged(monkeypatch):
    monkeypatch.setattr(limits, 'time', SimpleNamespace(monotonic=iter(range(0, 10**6, 10**3)).__next__))
    holds, _ = reached(monkeypatch, room=30 * RECORD)
    assert (holds['refused'], holds['reached']) == (None, None)


@pytest.mark.parametrize('at', [0, RECORD - 1, RECORD, 2 * RECORD + 12_344])
@pytest.mark.slow
def test_a_byte_that_was_acknowledged_and_is_another_is_lost_data_and_the_file_stays(monkeypatch, place, at):
    def flipped(descriptor, offset, size, window):
        content, past = READ(descriptor, offset, size, window)
        place = at - offset
        if 0 <= place < len(content):
            content = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        return content, past

    monkeypatch.setattr(limits, 'read_there', flipped)
    with pytest.raises(EngineError) as caught:
        reached(monkeypatch)
    assert (caught.value.rule, caught.value.evidence['offset']) == ('F2', str(at))
    assert (place / 'data.00000000').stat().st_size == ROOM


def test_what_nobody_wrote_behind_the_limit_is_found(monkeypatch):
    compare = limits._compare_bytes

    def padded(work, key, rank, taken):
        with open('data.00000000', 'ab') as stream:
            stream.write(bytes(7))
        return compare(work, key, rank, taken)

    monkeypatch.setattr(limits, '_compare_bytes', padded)
    assert reached(monkeypatch)[0] == broken(nothing_behind=False)


def test_a_file_that_was_made_and_is_missing_is_lost_data(monkeypatch):
    listdir = os.listdir
    monkeypatch.setattr(Limited, 'listdir', lambda self, path: sorted(listdir(path))[1:], raising=False)
    with pytest.raises(EngineError, match='d0/f1 was created but is missing'):
        reached(monkeypatch, QUOTA_INODES, 9)


def test_an_error_that_is_no_limit_fails_the_launch(monkeypatch):
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        reached(monkeypatch, name='EIO')


def test_what_a_case_fills_must_be_typed_where_others_share_it():
    does = {phase: hurts(until(phase)) for phase in (QUOTA_BYTES, QUOTA_INODES, ALL_BYTES)}
    assert (does[QUOTA_BYTES], does[QUOTA_INODES]) == ('', '') and does[ALL_BYTES]
