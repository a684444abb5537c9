"""A file system that stalls between launches is waited for, and no longer than its recovery may take."""

import pytest

from seatrial.job.launch import stall


class Clock:
    """Time passes only while somebody sleeps."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(stall, 'time', made)
    return made


@pytest.fixture
def silent_for(monkeypatch, clock):
    def silent(seconds):
        monkeypatch.setattr(stall, 'unresponsive', lambda *paths: 'no answer' if clock.now < seconds else None)

    return silent


def test_what_answers_is_not_waited_for(silent_for, clock):
    silent_for(0.0)
    assert stall.wait('/scratch', 900.0, lambda: False) == (0.0, True)
    assert clock.now == 0.0


@pytest.mark.parametrize(
    ('recovery', 'silence', 'answers'), [(0.0, 599.0, True), (0.0, 601.0, False), (900.0, 890.0, True)]
)
def test_it_is_waited_for_as_long_as_recovery_may_take(silent_for, recovery, silence, answers):
    silent_for(silence)
    stalled = stall.wait('/scratch', recovery, lambda: False)
    assert stalled.answers is answers
    assert stalled.seconds == pytest.approx(min(silence, max(recovery, stall.PATIENCE_S)), abs=stall.PAUSE_S)


def test_a_job_that_is_asked_to_stop_does_not_wait(silent_for, clock):
    silent_for(1000.0)
    assert not stall.wait('/scratch', 900.0, lambda: clock.now >= 3.0).answers
    assert clock.now == 3.0
