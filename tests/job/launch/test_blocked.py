"""A job in a process that can be left behind: what it does in single calls that do not return."""

import os
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

from seatrial.job.launch import blocked as module
from seatrial.job.launch.blocked import Blocked, LeftBehind, watched

LONG_S = 300.0


@pytest.fixture
def fifo(tmp_path):
    """To open it does not return until somebody opens its other end."""
    path = str(tmp_path / 'fifo')
    os.mkfifo(path)
    return path


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(module, 'SAMPLE_S', 0.05)
    monkeypatch.setattr(module, 'ANSWER_S', 0.2)


def test_a_job_that_fails_is_an_error_of_its_own(capfd):
    assert watched(lambda: 1 // 0, Blocked(), LONG_S, LONG_S) == 70
    assert 'ZeroDivisionError' in capfd.readouterr().err


@pytest.mark.parametrize(('patience_s', 'time_s', 'least'), [(0.5, LONG_S, 0.5), (LONG_S, 0.5, 0.2)])
def test_a_call_that_never_returns_is_left_behind(fifo, patience_s, time_s, least):
    left = watched(lambda: os.open(fifo, os.O_RDONLY), Blocked(), patience_s, time_s)
    assert isinstance(left, LeftBehind) and left.seconds >= least


def test_a_job_whose_end_never_comes_is_left_behind(monkeypatch):
    # As a process ends that the kernel cannot take its open directories from.
    monkeypatch.setattr(os, '_exit', lambda status: time.sleep(LONG_S))
    assert isinstance(watched(lambda: 0, Blocked(), LONG_S, LONG_S), LeftBehind)


@pytest.mark.parametrize(('pause_s', 'times', 'is_left'), [(1.02, 60, True), (0.2, 25, False)])
def test_looks_once_a_second_are_one_call_and_those_for_a_launch_none(monkeypatch, pause_s, times, is_left):
    monkeypatch.setattr(module, 'SAMPLE_S', 1.0)

    def looks():
        for _ in range(times):
            time.sleep(pause_s)
        return 0

    assert isinstance(watched(looks, Blocked(), 4.0, LONG_S), LeftBehind) is is_left


def test_a_job_that_computes_is_never_left():
    assert watched(lambda: sum(range(30_000_000)) and 0, Blocked(), 0.3, LONG_S) == 0


def test_the_duration_of_a_call_is_reported_once(fifo):
    blocked = Blocked()

    def job():
        os.close(os.open(fifo, os.O_RDONLY))
        while not blocked.since():  # what watches has seen it by its next sample
            time.sleep(0.01)
        return int(blocked.since() > 0.0)

    opens = threading.Timer(1.0, lambda: os.close(os.open(fifo, os.O_WRONLY)))
    opens.start()
    assert watched(job, blocked, LONG_S, LONG_S) == 0
    opens.join()


PROGRAM = """
import os, signal, sys, time
from seatrial.job.launch.blocked import Blocked, watched
def job():
    print(os.getpid(), flush=True)
    {job}
    time.sleep(300)
    return 0
sys.exit(watched(job, Blocked(), 300.0, 300.0))
"""


def begun(job='pass'):
    return subprocess.Popen([sys.executable, '-c', PROGRAM.format(job=job)], stdout=subprocess.PIPE, text=True)


def test_a_signal_is_passed_on():
    with begun('signal.signal(signal.SIGTERM, lambda number, frame: os._exit(7)); print(flush=True)') as running:
        running.stdout.readline(), running.stdout.readline()
        running.terminate()
        assert running.wait() == 7


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_that_ends_the_job_ends_who_watches_it(number):
    with begun() as running:
        os.kill(int(running.stdout.readline()), number)
        assert running.wait() == -number


def test_the_job_ends_with_who_watches_it():
    with begun() as running:
        running.stdout.readline()
        running.kill()
        closed, _, _ = select.select([running.stdout], [], [], 60.0)  # its end of the pipe
        assert closed and running.stdout.read() == ''


# A file system that stalls between launches is waited for, and no longer than its recovery may take


class Clock:
    """Time passes only while somebody sleeps; until silent_s the file system does not answer."""

    now = silent_s = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds

    def unresponsive(self, *paths):
        return 'no answer' if self.now < self.silent_s else None


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(module, 'time', made)
    monkeypatch.setattr(module, 'unresponsive', made.unresponsive)
    return made


@pytest.mark.parametrize(
    ('recovery', 'silence', 'answers'),
    [(0.0, 0.0, True), (0.0, 599.0, True), (0.0, 601.0, False), (900.0, 890.0, True)],
)
def test_it_is_waited_for_as_long_as_recovery_may_take(clock, recovery, silence, answers):
    clock.silent_s = silence
    seconds = pytest.approx(min(silence, max(recovery, module.PATIENCE_S)), abs=module.PAUSE_S)
    assert module.wait('/scratch', recovery, lambda: False) == (seconds, answers)


def test_a_job_that_is_asked_to_stop_does_not_wait(clock):
    clock.silent_s = 1000.0
    assert module.wait('/scratch', 900.0, lambda: clock.now >= 3.0) == (3.0, False)
