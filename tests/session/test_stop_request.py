"""The signals that tell a session to stop: each is answered, and none ends the process."""

import io
import os
import signal
import time

import pytest
from rich.console import Console

from seatrial.session.stop_request import stop_requests

NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def heeded():
    """The signals are not ignored, as by a shell that has started the tests in the background."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in NUMBERS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def screen():
    return Console(file=io.StringIO(), width=200, highlight=False, markup=False)


@pytest.mark.parametrize('number', NUMBERS)
def test_a_signal_tells_it_to_stop_and_is_answered(screen, number):
    with stop_requests(screen, 'it waits, 90 s at most') as requested:
        assert not requested.stop
        os.kill(os.getpid(), number)
        assert requested.stop
    assert screen.file.getvalue() == f'{number.name}: it waits, 90 s at most\n'


def test_every_signal_is_answered_while_something_else_is_waited_for(screen):
    with stop_requests(screen, 'it waits'):
        for count in (1, 2, 3):
            os.kill(os.getpid(), signal.SIGINT)
            end = time.monotonic() + 60.0
            while screen.file.getvalue().count('\n') < count:  # this thread prints nothing
                assert time.monotonic() < end
                time.sleep(0.01)
    assert screen.file.getvalue() == 3 * 'SIGINT: it waits\n'


def test_the_answer_is_that_of_the_moment(screen):
    with stop_requests(screen, 'first') as requested:
        requested.answer = 'then'
        os.kill(os.getpid(), signal.SIGTERM)
    assert screen.file.getvalue() == 'SIGTERM: then\n'


def test_afterwards_the_signals_are_as_they_were(screen):
    before = [signal.getsignal(number) for number in NUMBERS]
    with stop_requests(screen, 'x'):
        assert [signal.getsignal(number) for number in NUMBERS] != before
    assert [signal.getsignal(number) for number in NUMBERS] == before


def test_what_the_caller_ignores_stays_ignored(screen):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_requests(screen, 'x') as requested:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not requested.stop
    finally:
        signal.signal(signal.SIGHUP, before)
