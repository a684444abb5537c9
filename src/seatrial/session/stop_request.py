"""Signals that ask a session to stop: each is answered at once; none ends it before its verdict is written."""

import queue
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console


class StopRequest:
    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.stop = False


@contextmanager
def stop_requests(screen: Console, answer: str) -> Iterator[StopRequest]:
    """Handles the signals inside the `with` statement; those that the caller ignores stay ignored (nohup). answer:
    printed at each signal: what is waited for, and how long"""
    requested = StopRequest(answer)
    came: queue.SimpleQueue[int | None] = queue.SimpleQueue()  # its put() may interrupt itself

    def note(number: int, frame: FrameType | None) -> None:
        requested.stop = True
        came.put(number)

    def reply() -> None:
        for number in iter(came.get, None):
            screen.print(f'{signal.Signals(number).name}: {requested.answer}', soft_wrap=True)

    replying = threading.Thread(target=reply, name='replies to signals', daemon=True)
    replying.start()
    before = {
        number: signal.signal(number, note)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        came.put(None)
        replying.join()
